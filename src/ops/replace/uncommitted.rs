//! The work that no commit of a branch has: in the worktrees, in what is staged, in the stash, and where a rebase or a merge has
//! put it aside until its end.
//!
//! Only checkpoints, live or archived, say whose work that is. Wherever it is applied, attribution finds them by content.

use std::collections::{HashMap, HashSet};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::{Error, Result},
    git::Repo,
    model::{change::Mode, checkpoint::Checkpoint, contributor::Contributor, session::Session},
    ops::{
        Context,
        chain::{changes, peek::worktree_tree},
        restored_target::restored,
        session_info::turns_at_work,
    },
};

/// A file in one of these places.
pub(crate) struct File {
    pub(crate) path: BString,
    /// What the commit has at the path that this is compared with.
    before: Option<ObjectId>,
    id: ObjectId,
}

/// One of these places, with the files that differ there from the commit below.
pub(crate) struct Place {
    /// The place in words.
    pub(crate) name: String,
    /// True unless it is in another worktree.
    pub(crate) is_here: bool,
    /// The repository; it has the content of all files.
    repo: Repo,
    files: Vec<File>,
}

/// Returns all places with uncommitted work.
///
/// # Errors
/// If one of them cannot be read: it may have anything.
pub(crate) fn uncommitted(context: &Context) -> Result<Vec<Place>> {
    let mut places = of_worktree(context, None)?;
    for (id, other) in others(context)? {
        places.extend(of_worktree(&other, Some(id.as_bstr()))?);
    }
    let repo = &context.repo;
    let stashed = repo.stash_entries_up_to(usize::MAX)?.into_iter().enumerate();
    let stashed = stashed.map(|(number, entry)| (format!("'stash@{{{number}}}'"), entry));
    let aside = repo.autostashes()?.into_iter().map(|(path, id)| (format!("the autostash '{}'", path.display()), id));
    for (name, entry) in stashed.chain(aside) {
        repo.check_interrupt()?;
        let parents = repo.parents_of(entry)?;
        let mut place = Place { name, is_here: true, repo: repo.with_object_memory(), files: Vec::new() };
        let tree_of = |id: Option<&ObjectId>| id.map_or(Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(*id));
        let base = tree_of(parents.first())?;
        place.add(base, repo.tree_of_commit(entry)?)?;
        if let Some(staged) = parents.get(1) {
            place.add(base, repo.tree_of_commit(*staged)?)?;
        }
        place.add(repo.empty_tree_id(), tree_of(parents.get(2))?)?;
        places.push(place);
    }
    Ok(places)
}

/// Returns the turns of all worktrees that are under way, except those whose process is dead.
pub(crate) fn all_turns_at_work(context: &Context) -> Result<Vec<Session>> {
    let mut open = turns_at_work(context)?;
    for (_, other) in others(context)? {
        open.extend(turns_at_work(&other)?);
    }
    Ok(open)
}

/// Returns the other worktrees of the repository.
fn others(context: &Context) -> Result<Vec<(BString, Context)>> {
    let mut others = Vec::new();
    for (id, root) in context.repo.other_worktrees() {
        others.push((id, Context::new(Repo::open(&root)?, context.settings.clone())));
    }
    Ok(others)
}

fn of_worktree(context: &Context, id: Option<&BStr>) -> Result<Vec<Place>> {
    let seen = worktree_tree(context)?;
    let repo = &context.repo;
    let head = repo.head()?.id.map_or(Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
    let of = |what: &str| match id {
        None => format!("the {what}"),
        Some(id) if what == "worktree" => format!("the worktree '{id}'"),
        Some(id) => format!("the {what} of the worktree '{id}'"),
    };
    let is_here = id.is_none();
    let mut index = Place { name: of("index"), is_here, repo: seen.repo.with_object_memory(), files: Vec::new() };
    let mut worktree = Place { name: of("worktree"), is_here, repo: seen.repo, files: Vec::new() };
    worktree.add(head, seen.tree_id)?;
    std::mem::swap(&mut index.repo, &mut worktree.repo);
    index.add(head, seen.index_tree_id)?;
    std::mem::swap(&mut index.repo, &mut worktree.repo);
    for entry in seen.manifest.unmerged.into_iter().filter(|entry| !entry.is_commit()) {
        index.files.push(File { path: entry.path, before: None, id: entry.id });
    }
    Ok(vec![worktree, index])
}

impl Place {
    /// Adds the files of the tree `after` that are not so in the tree `before`.
    fn add(&mut self, before: ObjectId, after: ObjectId) -> Result<()> {
        for change in self.repo.diff_trees(before, after)? {
            let before = change.before.filter(|leaf| leaf.mode != Mode::Gitlink).map(|leaf| leaf.id);
            if let Some(after) = change.after.filter(|leaf| leaf.mode != Mode::Gitlink) {
                self.files.push(File { path: change.path, before, id: after.id });
            }
        }
        Ok(())
    }

    /// Returns the first file whose path and content `is_wanted`.
    pub(crate) fn find(&self, is_wanted: &mut dyn FnMut(&BStr, &[u8]) -> bool) -> Result<Option<&File>> {
        for file in &self.files {
            self.repo.check_interrupt()?;
            if is_wanted(file.path.as_bstr(), &self.repo.read_blob(file.id)?) {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }

    /// Returns the first file with a line of `lines` that the commit does not have at its path.
    pub(crate) fn find_line(&self, lines: &HashSet<Vec<u8>>) -> Result<Option<&File>> {
        for file in &self.files {
            self.repo.check_interrupt()?;
            if added(&self.repo, file.before, file.id)?.iter().any(|line| lines.contains(line)) {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }
}

/// Refuses to drop the checkpoints `left_out` while uncommitted work has a line that one of them added for a session: without it,
/// the line would count as that of a person. A line that one of `copies`, by the same author, then adds is no such line.
/// `memory` has the copies.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if there is such a line.
pub(crate) fn refuse_if_needed(
    context: &Context,
    memory: &Repo,
    left_out: &HashSet<ObjectId>,
    copies: impl Iterator<Item = ObjectId>,
) -> Result<()> {
    let lines = lines_of_sessions(memory, left_out, copies)?;
    if lines.is_empty() {
        return Ok(());
    }
    for place in uncommitted(context)? {
        if let Some(file) = place.find_line(&lines)? {
            let path = crate::model::path_text::printable(file.path.as_bstr());
            let what = format!("{} has lines in '{path}' that only this checkpoint says are an agent's", place.name);
            let error = Error::refused(what).with_hint("commit them or take them back before");
            return Err(if place.is_here { error.about(file.path.clone()) } else { error });
        }
    }
    Ok(())
}

/// Returns the lines that the checkpoints `left_out` added for a session, without those that one of `others`, by the same author,
/// added as well. `memory` has all of them.
pub(crate) fn lines_of_sessions(
    memory: &Repo,
    left_out: &HashSet<ObjectId>,
    others: impl Iterator<Item = ObjectId>,
) -> Result<HashSet<Vec<u8>>> {
    let (mut lines, mut brought) = (HashSet::new(), HashSet::new());
    for id in left_out {
        let Some(checkpoint) = memory.checkpoint(*id)? else { continue };
        if checkpoint.origin.contributor != Contributor::Human {
            lines.extend(added_by(memory, &checkpoint)?);
        } else if brings_work_of_others(memory, &checkpoint)? {
            brought.extend(added_by(memory, &checkpoint)?.into_iter().map(|(_, line)| line));
        }
    }
    for id in others {
        if lines.is_empty() {
            break;
        }
        if let Some(other) = memory.checkpoint(id)? {
            for line in added_by(memory, &other)? {
                lines.remove(&line);
            }
        }
    }
    Ok(lines.into_iter().map(|(_, line): (Who, _)| line).chain(brought).collect())
}

/// Returns true if lines of `checkpoint`, which is a person's, may be of a session: it found that they had moved, or it restored or
/// carried on what may have been a session's.
fn brings_work_of_others(repo: &Repo, checkpoint: &Checkpoint) -> Result<bool> {
    let has_moved = |id| Ok(repo.read_side(id)?.moved_id.is_some());
    let sources = |it: &Checkpoint| restored(&it.origin).into_iter().chain(it.origin.carried);
    let mut next = vec![checkpoint.clone()];
    let mut seen = HashSet::new();
    while let Some(checkpoint) = next.pop() {
        if checkpoint.origin.may_be_of_session() || checkpoint.side_id.map_or(Ok(false), has_moved)? {
            return Ok(true);
        }
        for source in sources(&checkpoint).filter(|id| Some(*id) != checkpoint.base.commit_id()) {
            if repo.find_checkpoint(source)?.is_none() {
                // A commit whose lines may be an agent's, or a checkpoint that is gone.
                return Ok(true);
            }
            for earlier in repo.chain_in_time(source) {
                let earlier = earlier?;
                if !seen.insert(earlier.id) {
                    break;
                }
                next.push(earlier);
            }
        }
    }
    Ok(false)
}

/// What says whose a checkpoint is.
type Who = (Contributor, [Option<String>; 4], Option<u32>);

/// Returns the lines that `checkpoint` added, with their author.
fn added_by(repo: &Repo, checkpoint: &Checkpoint) -> Result<Vec<(Who, Vec<u8>)>> {
    let origin = &checkpoint.origin;
    let names = [&origin.session, &origin.agent, &origin.model, &origin.agent_id].map(Clone::clone);
    let who = (origin.contributor, names, origin.turn);
    let mut lines = Vec::new();
    for change in changes(repo, checkpoint)? {
        repo.check_interrupt()?;
        let before = change.before.filter(|leaf| leaf.mode != Mode::Gitlink).map(|leaf| leaf.id);
        if let Some(after) = change.after.filter(|leaf| leaf.mode != Mode::Gitlink) {
            lines.extend(added(repo, before, after.id)?.into_iter().map(|line| (who.clone(), line)));
        }
    }
    Ok(lines)
}

/// Returns the lines that the blob `after` has more often than `before`, each once, without their ends.
fn added(repo: &Repo, before: Option<ObjectId>, after: ObjectId) -> Result<Vec<Vec<u8>>> {
    let before = before.map_or(Ok(Vec::new()), |id| repo.read_blob(id))?;
    Ok(added_lines(&before, &repo.read_blob(after)?))
}

fn added_lines(before: &[u8], after: &[u8]) -> Vec<Vec<u8>> {
    let mut counts: HashMap<&[u8], i64> = HashMap::new();
    for (lines, number) in [(after, 1), (before, -1)] {
        for line in lines.lines() {
            *counts.entry(line).or_default() += number;
        }
    }
    counts.into_iter().filter(|(_, count)| *count > 0).map(|(line, _)| line.to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::new("", "a\nb\n", &["a", "b"])]
    #[case::one_more("a\n", "a\na\n", &["a"])]
    #[case::moved("a\nb\n", "b\na\n", &[])]
    #[case::other_ends("a\r\n", "a\nb", &["b"])]
    fn lines_count(#[case] before: &str, #[case] after: &str, #[case] expected: &[&str]) {
        let mut lines = added_lines(before.as_bytes(), after.as_bytes());
        lines.sort();
        let expected: Vec<Vec<u8>> = expected.iter().map(|line| line.as_bytes().to_vec()).collect();
        assert_eq!(lines, expected);
    }
}
