//! The patches of simple changes, as `git diff-tree -p` prints them: those that every diff of lines has in common.
//!
//! They save us a process. For all others, git has to decide which lines it shows as changed.

use std::collections::HashSet;

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use super::{Repo, diff_attributes::DiffAttributes, environment, line_edits::is_binary};
use crate::{
    error::Result,
    model::change::{Change, Leaf, Mode},
};

/// Git itself is not much slower to start where more files have changed.
const MOST_FILES: usize = 32;
const LONGEST_FILE: usize = 1 << 20;
/// Lines around a change.
const CONTEXT: usize = 3;

impl Repo {
    /// Returns the patch of `commit` against its parent, after a line with its id; none if only git knows what it prints.
    pub(super) fn plain_patch(&self, commit: ObjectId) -> Result<Option<Vec<u8>>> {
        let parents = self.parents_of(commit)?;
        let settings = ["diff.suppressBlankEmpty", "core.bigFileThreshold"];
        if parents.len() > 1
            || settings.iter().any(|name| self.config_value(name).is_some())
            || environment::variable("GIT_DIFF_OPTS").is_some()
        {
            return Ok(None);
        }
        let before = parents.first().map_or_else(|| Ok(self.empty_tree_id()), |id| self.tree_of_commit(*id))?;
        let changes = self.diff_trees(before, self.tree_of_commit(commit)?)?;
        if changes.len() > MOST_FILES {
            return Ok(None);
        }
        let mut attributes = DiffAttributes::new(self)?;
        let mut patch = format!("{commit}\n").into_bytes();
        for change in &changes {
            if !attributes.is_unspecified(change.path.as_bstr())? || !self.add_file(change, &mut patch)? {
                return Ok(None);
            }
        }
        Ok(Some(patch))
    }

    /// Adds the patch of one file; returns false if it is not simple.
    fn add_file(&self, change: &Change, patch: &mut Vec<u8>) -> Result<bool> {
        let path = change.path.as_bstr();
        let leaves = [change.before, change.after];
        let is_file = |leaf: &Leaf| matches!(leaf.mode, Mode::File | Mode::Executable);
        let is_same_mode = change.before.zip(change.after).is_none_or(|(before, after)| before.mode == after.mode);
        if change.old_path.is_some() || !is_plain(path) || !is_same_mode || !leaves.iter().flatten().all(is_file) {
            return Ok(false);
        }
        let [before, after] = leaves.map(|leaf| leaf.map_or(Ok(Vec::new()), |leaf| self.read_blob(leaf.id)));
        let (before, after) = (before?, after?);
        if [&before, &after].iter().any(|text| text.len() > LONGEST_FILE || is_binary(text)) {
            return Ok(false);
        }
        let Some(hunk) = hunk(&before, &after) else { return Ok(false) };
        let null = ObjectId::null(self.object_hash());
        let id = |leaf: Option<Leaf>| leaf.map_or(null, |leaf| leaf.id);
        let mode = change.after.or(change.before).map_or(0, |leaf| leaf.mode.bits());
        let (kind, old, new) = match leaves {
            [None, _] => (format!("new file mode {mode:o}\n"), "/dev/null".into(), format!("b/{path}")),
            [_, None] => (format!("deleted file mode {mode:o}\n"), format!("a/{path}"), "/dev/null".into()),
            _ => (String::new(), format!("a/{path}"), format!("b/{path}")),
        };
        let ids = format!("{}..{}", id(change.before), id(change.after));
        let head = format!("diff --git a/{path} b/{path}\n{kind}index {ids}\n--- {old}\n+++ {new}\n");
        patch.extend_from_slice(head.as_bytes());
        patch.extend_from_slice(&hunk);
        Ok(true)
    }
}

/// Returns true if git prints `path` as it is.
fn is_plain(path: &BStr) -> bool {
    path.iter().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(byte))
}

/// Returns the only hunk between the two texts; none if there may be more than one, or if it could begin at another line.
fn hunk(before: &[u8], after: &[u8]) -> Option<Vec<u8>> {
    let lines = |text| -> Vec<&[u8]> { <[u8]>::lines_with_terminator(text).collect() };
    let (old, new) = (lines(before), lines(after));
    let most = old.len().min(new.len());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let end = old.iter().rev().zip(new.iter().rev()).take(most - start).take_while(|(old, new)| old == new).count();
    let (gone, come) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let here: HashSet<&&[u8]> = gone.iter().collect();
    // Lines in both, or equal ones at the edges, and git decides.
    let moves = |part: &[&[u8]], all: &[&[u8]]| {
        let (Some(first), Some(last)) = (part.first(), part.last()) else { return false };
        start > 0 && all[start - 1] == *last || end > 0 && all[all.len() - end] == *first
    };
    if gone.is_empty() && come.is_empty()
        || come.iter().any(|line| here.contains(line))
        || moves(gone, &old)
        || moves(come, &new)
    {
        return None;
    }
    let above = &old[start.saturating_sub(CONTEXT)..start];
    let below = &old[old.len() - end..][..end.min(CONTEXT)];
    let around = above.len() + below.len();
    let mut text = format!("@@ -0,{} +0,{} @@\n", around + gone.len(), around + come.len()).into_bytes();
    for (sign, lines) in [(b' ', above), (b'-', gone), (b'+', come), (b' ', below)] {
        for line in lines {
            text.push(sign);
            text.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
            text.push(b'\n');
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, io::Write as _, path::Path, process as run};

    use super::*;
    use crate::git::patch_id;

    /// Imports commits that change files from one text to the other, and returns their ids.
    fn import(root: &Path, texts: &[(Option<String>, Option<String>)]) -> Vec<ObjectId> {
        let git = |words: &[&str]| {
            #[expect(clippy::disallowed_methods, reason = "the test makes its repository with git")]
            let mut command = run::Command::new("git");
            command.arg("-C").arg(root).args(words);
            command
        };
        assert!(git(&["init", "-q"]).status().expect("git runs").success());
        let mut stream = String::new();
        for (number, texts) in texts.iter().enumerate() {
            for (step, text) in [&texts.0, &texts.1].into_iter().enumerate() {
                let name = if step == 0 { "before" } else { "after" };
                write!(stream, "commit refs/heads/{name}{number}\ncommitter a <a@b.c> {step} +0000\ndata 0\n")
                    .expect("ok");
                if step == 1 {
                    writeln!(stream, "from refs/heads/before{number}").expect("ok");
                }
                match text {
                    Some(text) => writeln!(stream, "M 100644 inline d/f.txt\ndata {}\n{text}", text.len()).expect("ok"),
                    None => writeln!(stream, "D d/f.txt").expect("ok"),
                }
            }
        }
        let mut child = git(&["fast-import", "--quiet"]).stdin(run::Stdio::piped()).spawn().expect("git runs");
        child.stdin.take().expect("piped").write_all(stream.as_bytes()).expect("it reads");
        assert!(child.wait().expect("it ends").success());
        let output =
            git(&["rev-parse"]).args((0..texts.len()).map(|at| format!("after{at}"))).output().expect("git runs");
        output.stdout.lines().map(|line| ObjectId::from_hex(line).expect("an id")).collect()
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { cases: 8, ..Default::default() })]
        #[test]
        fn patch_ids_are_those_of_git(
            texts in proptest::collection::vec(
                (proptest::option::weighted(0.9, "([a-d]|[a-d]x  y\r?|-- z| {2}\\{|\\}|)?\n{0,9}([abc]\n){0,12}e?"),
                 proptest::option::weighted(0.9, "([abc]\n){0,6}([a-z]{1,2}\n){0,5}([abc]\n){0,6}e?")),
                100,
            ),
        ) {
            let directory = tempfile::tempdir().expect("a temporary directory");
            // A change of few lines is simple more often than one between two random texts.
            let near: Vec<_> = texts.iter().filter_map(|(one, other)| {
                let (one, other) = (one.as_ref()?, other.as_ref()?);
                Some((Some(one.clone()), Some(one.replacen("b\n", other, 1))))
            }).collect();
            let all: Vec<_> = texts.into_iter().chain(near).filter(|(one, other)| one != other).collect();
            let commits = import(directory.path(), &all);
            let repo = Repo::open(directory.path()).expect("a repository");
            let by_git = repo.patch_ids_by_git(&commits).and_then(patch_id::PatchIds::finish).expect("git knows them");
            let mut count = 0;
            for (commit, texts) in commits.iter().zip(&all) {
                let Some(patch) = repo.plain_patch(*commit).expect("readable") else { continue };
                let plain = patch_id::hash_patches(&patch[..], repo.object_hash()).expect("readable");
                proptest::prop_assert_eq!(plain.get(commit), by_git.get(commit), "{:?}", texts);
                count += 1;
            }
            proptest::prop_assert!(count > 10, "{} of {}", count, all.len());
        }
    }

    #[rstest::rstest]
    #[case::added("a\nb\n", "a\nx\nb\n", Some("@@ -0,2 +0,3 @@\n a\n+x\n b\n"))]
    #[case::last_line("a", "b", Some("@@ -0,1 +0,1 @@\n-a\n+b\n"))]
    #[case::far("1\n2\n3\n4\n5\n", "1\n2\n3\n4\n", Some("@@ -0,4 +0,3 @@\n 2\n 3\n 4\n-5\n"))]
    #[case::repeated("a\nb\n", "a\nb\nb\n", None)]
    #[case::at_the_start("a\n", "x\na\na\n", Some("@@ -0,1 +0,3 @@\n+x\n+a\n a\n"))]
    #[case::two_places("a\nb\nc\n", "x\nb\ny\n", None)]
    #[case::mode_alone("a\n", "a\n", None)]
    fn one_hunk_or_none(#[case] before: &str, #[case] after: &str, #[case] expected: Option<&str>) {
        assert_eq!(hunk(before.as_bytes(), after.as_bytes()), expected.map(|text| text.as_bytes().to_vec()));
    }
}
