//! Which lines git counts as added and deleted, whatever algorithm the user has chosen.
//!
//! `line_edits` implements Myers' algorithm (git's default) exactly. For other algorithms we run git once for all files
//! of many commits, and cache its answers by the ids of the two blobs.

use std::collections::HashMap;

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use super::{
    Repo,
    line_edits::{Algorithm, counted_edits},
};
use crate::{error::Result, model::line_diff::Edit};

/// Diff options: no context, so that each hunk is one edit, and no effect of settings on the output.
const PLAIN: [&str; 9] = [
    "--patch",
    "--unified=0",
    "--inter-hunk-context=0",
    "--full-index",
    "--find-renames",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--submodule=short",
];

/// Compares merges with their first parent; the meaning of `-m` depends on a setting.
const LOG: [&str; 9] = [
    "-c",
    "log.diffMerges=first-parent",
    "log",
    "--no-walk=unsorted",
    "--stdin",
    "--first-parent",
    "-m",
    "--format=",
    "--no-show-signature",
];

/// Two blobs.
type Pair = (ObjectId, ObjectId);

/// What git compares.
enum Question {
    /// Commits with their first parents.
    Commits(Vec<ObjectId>),
    Trees(ObjectId, ObjectId),
    /// The worktree with HEAD. Untracked files are new.
    Worktree,
}

/// Counts lines as `git diff --numstat` does in this repository.
pub(crate) struct Counting<'r> {
    repo: &'r Repo,
    /// The most similar algorithm that we implement.
    algorithm: Algorithm,
    asks_git: bool,
    /// The question to ask git once the first answer is needed.
    question: Option<Question>,
    known: HashMap<Pair, Vec<Edit>>,
}

impl<'r> Counting<'r> {
    pub(crate) fn new(repo: &'r Repo) -> Self {
        let algorithm = repo.diff_algorithm();
        let asks_git = algorithm != Algorithm::Myers || !repo.has_indent_heuristic() || repo.has_algorithm_by_path();
        Self { repo, algorithm, asks_git, question: None, known: HashMap::new() }
    }

    /// Returns one that never asks git, for callers to which it does not matter which of two equal lines counts as
    /// changed.
    pub(crate) fn usual(repo: &'r Repo) -> Self {
        Self { asks_git: false, ..Self::new(repo) }
    }

    /// Prepares for the changes of `commits` against their first parents, and forgets earlier answers.
    pub(crate) fn of_commits(&mut self, commits: &[ObjectId]) {
        self.known.clear();
        self.question = self.asks_git.then(|| Question::Commits(commits.to_vec()));
    }

    /// Prepares for the difference of two trees.
    pub(crate) fn of_trees(mut self, old: ObjectId, new: ObjectId) -> Self {
        self.question = self.asks_git.then_some(Question::Trees(old, new));
        self
    }

    /// Prepares for uncommitted changes.
    pub(crate) fn of_worktree(mut self) -> Self {
        self.question = self.asks_git.then_some(Question::Worktree);
        self
    }

    fn ask(&mut self, question: &Question) -> Result<()> {
        let (commits, trees);
        let (command, sides, input): (&[&str], &[&str], Option<&[u8]>) = match question {
            Question::Commits(ids) => {
                commits = ids.iter().map(|id| format!("{id}\n")).collect::<String>();
                (&LOG, &[], Some(commits.as_bytes()))
            }
            Question::Trees(old, new) => {
                trees = [old.to_string(), new.to_string()];
                (&["diff"], &[&trees[0], &trees[1]], None)
            }
            Question::Worktree if self.repo.head()?.id.is_none() => return Ok(()),
            Question::Worktree => (&["diff"], &["HEAD"], None),
        };
        let output = self.repo.run_git(&[command, &PLAIN, sides].concat(), input)?;
        self.known.extend(parse(output.as_bstr()));
        Ok(())
    }

    /// Returns the edits between the contents of two blobs.
    pub(crate) fn edits(&mut self, ids: Pair, before: &[u8], after: &[u8]) -> Result<Vec<Edit>> {
        let unusual = self.unusual_edits(ids, before, after)?;
        Ok(unusual.unwrap_or_else(|| counted_edits(Algorithm::Myers, before, after)))
    }

    /// The same; none if they are those of git's default algorithm.
    pub(crate) fn unusual_edits(&mut self, ids: Pair, before: &[u8], after: &[u8]) -> Result<Option<Vec<Edit>>> {
        if before.is_empty() || after.is_empty() || !self.asks_git {
            return Ok(None);
        }
        if let Some(question) = self.question.take() {
            self.ask(&question)?;
        }
        if !self.known.contains_key(&ids) && self.repo.has_object(ids.0) && self.repo.has_object(ids.1) {
            let (old, new) = (ids.0.to_string(), ids.1.to_string());
            let output = self.repo.try_git(&[&["diff"], &PLAIN[..], &[&old, &new]].concat(), None)?;
            self.known.extend(parse(output.stdout.as_bstr()));
        }
        // Git does not pair these two blobs, for example if an untracked file continues a deleted one: count ourselves.
        let nearest = || counted_edits(self.algorithm, before, after);
        Ok(Some(self.known.get(&ids).cloned().unwrap_or_else(nearest)))
    }
}

impl Repo {
    /// Returns true if attributes set an algorithm for some files (`diff.<driver>.algorithm`).
    fn has_algorithm_by_path(&self) -> bool {
        let snapshot = self.inner.config_snapshot();
        let mut sections = snapshot.plumbing().sections_by_name("diff").into_iter().flatten();
        sections.any(|section| section.header().subsection_name().is_some() && section.contains_value_name("algorithm"))
    }
}

/// Parses patches without context into pairs of blobs and their edits. Lines of content begin with a sign, headings do
/// not.
fn parse(output: &BStr) -> HashMap<Pair, Vec<Edit>> {
    let mut found: HashMap<Pair, Vec<Edit>> = HashMap::new();
    let mut current = None;
    for line in output.lines() {
        if line.starts_with(b"diff ") {
            current = None;
        } else if let Some(rest) = line.strip_prefix(b"index ") {
            current = pair(rest);
            found.extend(current.map(|pair| (pair, Vec::new())));
        } else if let Some(rest) = line.strip_prefix(b"@@ -")
            && let Some(edits) = current.as_ref().and_then(|pair| found.get_mut(pair))
        {
            edits.extend(edit(rest));
        }
    }
    found
}

/// Reads `<id>..<id>[ <mode>]`.
fn pair(text: &[u8]) -> Option<Pair> {
    let (old, rest) = text.split_once_str("..")?;
    let new = rest.split_str(" ").next()?;
    Some((ObjectId::from_hex(old).ok()?, ObjectId::from_hex(new).ok()?))
}

/// Reads `<line>[,<count>] +<line>[,<count>] @@...`. Without lines, the number is that of the line above.
fn edit(text: &[u8]) -> Option<Edit> {
    let mut words = text.split_str(" ");
    let mut range = |sign: &str| {
        let text = words.next()?.to_str().ok()?.strip_prefix(sign)?;
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        let (first, count): (usize, usize) = (first.parse().ok()?, count.parse().ok()?);
        let start = if count == 0 { first } else { first.checked_sub(1)? };
        Some(start..start + count)
    };
    Some((range("")?, range("+")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("1 +1 @@", Some((0..1, 0..1)))]
    #[case("3,2 +5,0 @@ fn a() {", Some((2..4, 5..5)))]
    #[case("0,0 +1,7 @@", Some((0..0, 0..7)))]
    #[case("0 +1 @@", None)]
    #[case("x", None)]
    fn heads_of_hunks(#[case] text: &str, #[case] expected: Option<Edit>) {
        assert_eq!(edit(text.as_bytes()), expected);
    }

    #[test]
    fn content_is_no_heading() {
        let (a, b) = ("1".repeat(40), "2".repeat(40));
        let text = format!(
            "diff --git a/x b/x\nindex {a}..{b} 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-index {a}..{a}\n+@@ -9 +9 @@\n"
        );
        let id = |hex: &str| ObjectId::from_hex(hex.as_bytes()).expect("an id");
        let found = parse(text.as_bytes().as_bstr());
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [((id(&a), id(&b)), vec![(0..1, 0..1)])]);
    }
}
