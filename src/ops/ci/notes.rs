//! What the reader of a check has to know beside the breaches: whether its commits change the policies, and which commits without a
//! record name agents.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::policies::Policies;
use crate::{
    error::Result,
    git::Repo,
    model::{change::Leaf, path_text},
    ops::attribution::{Attribution, CommitLines, lacking_content},
};

/// The name of the file that has the policies of a project.
const PROJECT_FILE: &str = ".checkpoint.toml";

/// The name of files with attributes, in any directory.
const ATTRIBUTES: &str = ".gitattributes";

/// So many things are named of a kind.
const NAMED: usize = 5;

/// Returns the notes on the commits of `range`.
pub(super) fn notes(repo: &Repo, range: &str, found: &Attribution, policies: &Policies) -> Result<Vec<String>> {
    let mut notes = found.troubles.clone();
    notes.extend(lacking_content(&found.lacking_records));
    notes.extend(of_policies(repo, range, found)?);
    notes.extend(of_lines(found, policies.max_agent < 100));
    notes.extend(of_messages(repo, &found.commits));
    if found.commits.is_empty() {
        notes.push("this range has no commits: nothing was checked".to_owned());
    }
    Ok(notes)
}

/// Returns `words` as a list that names the first few.
pub(super) fn listed(words: &[String]) -> String {
    let more = words.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", words[..words.len().min(NAMED)].join(", "))
}

fn of_policies(repo: &Repo, range: &str, found: &Attribution) -> Result<Vec<String>> {
    let mut files = found.commits.iter().flat_map(|commit| &commit.files);
    let is_changed =
        files.any(|file| file.path == PROJECT_FILE || file.old_path.as_ref().is_some_and(|old| old == PROJECT_FILE));
    let (heads, bases) = repo.ends_of(range)?;
    let mut notes = Vec::new();
    let Some(head) = heads.first() else { return Ok(notes) };
    let at_head = policies_at(repo, *head)?;
    if is_changed {
        notes.push(format!("this range changes '{PROJECT_FILE}', which may have the policies: look at the change"));
    }
    // What a merge takes from one side is no change of its own, and the base may have got policies later.
    for base in bases.iter().chain(&heads[1..]).filter(|_| !is_changed) {
        if policies_at(repo, *base)? != at_head {
            let [base, head] = [base, head].map(|id| repo.short_id(id));
            notes.push(format!(
                "'{PROJECT_FILE}', which may have the policies, is not the same at '{base}' and at '{head}', the ends of this range: \
                 look at both"
            ));
        }
    }
    if is_other_in_worktree(repo, *head, at_head)? {
        notes.push(format!(
            "the policies of '{PROJECT_FILE}' are those of the worktree, and at '{}', the end of this range, the file is not the same",
            repo.short_id(head)
        ));
    }
    Ok(notes)
}

/// Returns the notes on what decides which files have lines that count, and, if the agents' share `is_limited`, on their files without any.
fn of_lines(found: &Attribution, is_limited: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let is_of_attributes = |path: &BString| path.rsplit_str("/").next() == Some(ATTRIBUTES.as_bytes());
    let mut files = found.commits.iter().flat_map(|commit| &commit.files);
    if files.any(|file| is_of_attributes(&file.path) || file.old_path.as_ref().is_some_and(is_of_attributes)) {
        notes.push(format!(
            "this range changes '{ATTRIBUTES}', by which files may have no lines that count: look at the change"
        ));
    }
    let without_lines = found.files.iter().filter(|file| is_limited && file.figures.agent_binaries > 0);
    let paths: Vec<String> = without_lines.map(|file| path_text::escape(file.path.as_bstr())).collect();
    if !paths.is_empty() {
        notes.push(format!("agents changed files without lines that count: {}", listed(&paths)));
    }
    notes
}

/// Returns the file with the policies that the commit `id`, or the one that the tag `id` names, has.
fn policies_at(repo: &Repo, id: ObjectId) -> Result<Option<Leaf>> {
    let Some(commit) = repo.find_commit(&id.to_string())? else { return Ok(None) };
    repo.find_leaf(repo.tree_of_commit(commit)?, PROJECT_FILE.into())
}

/// Returns true if the worktree has other policies than `head`, which has them as `at_head`.
fn is_other_in_worktree(repo: &Repo, head: ObjectId, at_head: Option<Leaf>) -> Result<bool> {
    if at_head.is_some() {
        let words = ["diff", "--quiet", "--no-ext-diff", "--no-textconv", &head.to_string(), "--", PROJECT_FILE];
        // In a bare repository, this is an error.
        return Ok(repo.try_git(&words, None)?.status.code() == Some(1));
    }
    let here = repo.try_git(&["ls-files", "--cached", "--others", "--", PROJECT_FILE], None)?;
    Ok(here.status.success() && !here.stdout.trim().is_empty())
}

/// Returns the note on commits without a record whose messages name agents.
fn of_messages(repo: &Repo, commits: &[CommitLines]) -> Option<String> {
    let found: Vec<&CommitLines> = commits.iter().filter(|commit| !commit.inferred.is_empty()).collect();
    let agents: BTreeSet<&str> = found.iter().flat_map(|commit| &commit.inferred).map(String::as_str).collect();
    let agents = agents.into_iter().collect::<Vec<_>>().join(", ");
    let ids: Vec<String> = found.iter().map(|commit| repo.short_id(&commit.commit)).collect();
    let ids = listed(&ids);
    match found.len() {
        0 => None,
        1 => Some(format!(
            "the message of a commit without a record names {agents}, and its lines do not count as an agent's: {ids}"
        )),
        count => Some(format!(
            "the messages of {count} commits without a record name {agents}, and their lines do not count as an agent's: {ids}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::one(1, "0")]
    #[case::all(5, "0, 1, 2, 3, 4")]
    #[case::more(7, "0, 1, 2, 3, 4 and 2 more")]
    fn a_long_list_is_cut(#[case] count: usize, #[case] expected: &str) {
        assert_eq!(listed(&(0..count).map(|at| at.to_string()).collect::<Vec<_>>()), expected);
    }
}
