//! Three-way merges of files, and the parents and messages of commits.

use bstr::{BString, ByteSlice as _};
use gix::{
    ObjectId,
    merge::blob::{
        Resolution,
        builtin_driver::{
            text as merge,
            text::{Labels, Options},
        },
    },
    objs::Kind as ObjectKind,
};

use super::{Repo, line_edits::is_binary};
use crate::error::{Context as _, Kind, Result};

impl Repo {
    /// Applies the change from `base` to `theirs` to the blob `ours`; none if both changed the same lines.
    pub(crate) fn merge_blobs(&self, base: ObjectId, ours: ObjectId, theirs: ObjectId) -> Result<Option<BString>> {
        let (base, ours, theirs) = (self.read_blob(base)?, self.read_blob(ours)?, self.read_blob(theirs)?);
        if [&base, &ours, &theirs].into_iter().any(|data| is_binary(data)) {
            return Ok(None);
        }
        Ok(merge_texts(&base, &ours, &theirs))
    }

    /// Returns the parents of the commit `id`, as git does: none for the boundary of a shallow clone.
    pub(crate) fn parents_of(&self, id: ObjectId) -> Result<Vec<ObjectId>> {
        let parents = self.written_parents_of(id)?;
        self.unless_shallow(id, parents)
    }

    /// Returns the parents that the commit `id` names, wherever a shallow clone begins.
    pub(crate) fn written_parents_of(&self, id: ObjectId) -> Result<Vec<ObjectId>> {
        self.with_commit(id, |commit| commit.parents().collect())
    }

    /// Returns the parents of the commit `id`, as [`parents_of`](Self::parents_of) does, and its time in Unix seconds; none if this
    /// repository does not have it, or if it is no commit.
    pub(super) fn parents_and_time(&self, id: ObjectId) -> Result<Option<(Vec<ObjectId>, i64)>> {
        let Some((parents, seconds)) = self.written_parents_and_time(id)? else { return Ok(None) };
        Ok(Some((self.unless_shallow(id, parents)?, seconds)))
    }

    /// Returns `parents`, which the commit `id` names; none if that is the boundary of a shallow clone.
    fn unless_shallow(&self, id: ObjectId, parents: Vec<ObjectId>) -> Result<Vec<ObjectId>> {
        if parents.is_empty() {
            return Ok(parents);
        }
        let what = || "cannot read where the shallow clone begins".into();
        let is_first = self.inner.shallow_commits().context(Kind::Corrupt, what)?.is_some_and(|all| all.contains(&id));
        Ok(if is_first { Vec::new() } else { parents })
    }

    /// Returns the first parent of the commit `id` and its time in Unix seconds; none if this repository does not have
    /// it, or if it is no commit.
    pub(crate) fn parent_and_time(&self, id: ObjectId) -> Result<Option<(Option<ObjectId>, i64)>> {
        let found = self.written_parents_and_time(id)?;
        Ok(found.map(|(parents, seconds)| (parents.first().copied(), seconds)))
    }

    /// Returns the parents that the commit `id` names, and its time in Unix seconds.
    fn written_parents_and_time(&self, id: ObjectId) -> Result<Option<(Vec<ObjectId>, i64)>> {
        let found =
            self.inner.try_find_object(id).context(Kind::Corrupt, || format!("cannot read the object '{id}'"))?;
        let Some(commit) = found.filter(|object| object.kind == ObjectKind::Commit) else { return Ok(None) };
        let malformed = || format!("the commit '{id}' is malformed");
        let commit = commit.try_to_commit_ref().context(Kind::Corrupt, malformed)?;
        let seconds = commit.time().context(Kind::Corrupt, malformed)?.seconds;
        Ok(Some((commit.parents().collect(), seconds)))
    }

    /// Returns the message of the commit `id`.
    pub(crate) fn message_of(&self, id: ObjectId) -> Result<String> {
        self.with_commit(id, |commit| commit.message.to_str_lossy().into_owned())
    }
}

/// Applies the change from `base` to `theirs` to the text `ours`; none if both changed the same lines, or lines beside each other.
fn merge_texts(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<BString> {
    let mut merged = Vec::new();
    let mut input = gix::diff::blob::InternedInput::default();
    let resolution = merge(&mut merged, &mut input, Labels::default(), ours, base, theirs, Options::default());
    (resolution == Resolution::Complete).then(|| merged.into())
}

#[cfg(test)]
mod tests {
    use std::{fs, process as run};

    use proptest::prelude::*;

    use super::*;

    /// What `git merge-file` writes; none for a conflict.
    fn by_git(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<BString> {
        let directory = tempfile::tempdir().expect("writable");
        for (name, text) in [("base", base), ("ours", ours), ("theirs", theirs)] {
            fs::write(directory.path().join(name), text).expect("writable");
        }
        #[expect(clippy::disallowed_methods, reason = "the test compares with git")]
        let mut git = run::Command::new("git");
        let output =
            git.current_dir(directory.path()).args(["merge-file", "-p", "-q", "ours", "base", "theirs"]).output();
        let output = output.expect("git runs");
        output.status.success().then(|| output.stdout.into())
    }

    /// Lines in one order, each at most once; the last one may have no line break. Where lines repeat, a diff can align them in
    /// several ways, and git's way decides whether changes meet: there, one of the two may report a conflict alone.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let lines = vec!["a", "b", "c", "", "d", "e", "}", "f", "g", "h"];
        (prop::sample::subsequence(lines, 0..=10), any::<bool>()).prop_map(|(lines, is_cut)| {
            let mut text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            text.truncate(text.len() - usize::from(is_cut && !text.is_empty()));
            text.into_bytes()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

        #[test]
        fn texts_are_merged_as_git_does(base in text(), ours in text(), theirs in text()) {
            prop_assert_eq!(merge_texts(&base, &ours, &theirs), by_git(&base, &ours, &theirs));
        }
    }
}
