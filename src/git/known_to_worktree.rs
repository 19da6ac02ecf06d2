//! What only git's directory of one worktree leads to: commits in its reflogs, what is staged, and its own refs.
//!
//! Git keeps that from being collected while the worktree is registered. When its directory is moved away, a commit of ours leads
//! to all of it.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ffi::OsStr,
    path::Path,
};

use bstr::{BString, ByteSlice as _};
use gix::{
    ObjectId,
    objs::{
        Kind as ObjectKind, Tree, WriteTo as _,
        tree::{Entry, EntryKind},
    },
};

use super::{
    Repo,
    commit::NewCommit,
    new_objects::{NewObjects, Target},
    process::run_plain_git,
    refs::RefUpdate,
};
use crate::error::{Context as _, Kind, Result};

/// The message of such a commit.
const MESSAGE: &str =
    "what a removed worktree leads to\n\nIts parents are the commits, its tree has the other objects.\n";

impl Repo {
    /// Lets the ref `name`, which is new, lead to all that git's directory `git_dir` of a worktree with HEAD at `head` leads to.
    /// Nothing is written if it leads nowhere. The operation log does not record it.
    pub(crate) fn hold_known_to(&self, git_dir: &Path, head: Option<ObjectId>, name: &str) -> Result<()> {
        let mut ids: BTreeSet<ObjectId> = self.logged_ids_in(git_dir, None)?;
        ids.extend(self.refs_of_single_worktree(git_dir)?);
        ids.extend(head);
        let staged = staged(git_dir)?;
        if !staged.is_empty() {
            let committed = head.map_or_else(HashSet::new, |head| committed(git_dir, head));
            ids.extend(staged.into_iter().filter(|id| !committed.contains(id)));
        }
        let (mut parents, mut entries) = (Vec::new(), BTreeMap::new());
        for id in self.whole(ids.into_iter().collect()) {
            match self.kind_of(id)? {
                Some(ObjectKind::Commit) => parents.push(id),
                Some(ObjectKind::Blob) => drop(entries.insert(id, EntryKind::Blob)),
                Some(ObjectKind::Tree) => drop(entries.insert(id, EntryKind::Tree)),
                Some(ObjectKind::Tag) | None => {}
            }
        }
        let entry =
            |(oid, kind): (ObjectId, EntryKind)| Entry { mode: kind.into(), filename: oid.to_string().into(), oid };
        let tree = Tree { entries: entries.into_iter().map(entry).collect() };
        let mut data = Vec::new();
        tree.write_to(&mut data).context(Kind::Internal, || "cannot encode a tree".into())?;
        let mut objects = NewObjects::new(self, Target::Loose);
        let tree_id = objects.add(ObjectKind::Tree, &data)?;
        let (author, time) = (self.identity(), self.now());
        let commit = NewCommit { tree_id, parents, author: author.clone(), committer: author, time, message: MESSAGE };
        let id = Self::write_commit(&commit, &mut objects)?;
        let written = objects.write()?;
        self.move_refs(&[RefUpdate { name: name.to_owned(), old: None, new: Some(id) }])?;
        written.check_and_release()
    }

    /// Deletes the ref `name` of such a commit if it is there.
    pub(crate) fn no_longer_hold(&self, name: &str) -> Result<()> {
        match self.find_ref(name)? {
            Some(old) => self.move_refs(&[RefUpdate { name: name.to_owned(), old: Some(old), new: None }]),
            None => Ok(()),
        }
    }

    /// Returns those of `ids` that lead to no missing object: a ref to others would make the repository a broken one.
    fn whole(&self, ids: Vec<ObjectId>) -> Vec<ObjectId> {
        let are_whole = |ids: &[ObjectId]| {
            let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
            let words = ["rev-list", "--objects", "--quiet", "--missing=allow-promisor", "--stdin", "--not", "--all"];
            self.try_git(&words, Some(input.as_bytes())).is_ok_and(|output| output.status.success())
        };
        if are_whole(&ids) {
            return ids;
        }
        ids.into_iter().filter(|id| self.has_object(*id) && are_whole(&[*id])).collect()
    }
}

/// Returns the blobs that are staged, of all stages.
fn staged(git_dir: &Path) -> Result<Vec<ObjectId>> {
    let words = [OsStr::new("--git-dir"), git_dir.as_os_str(), "ls-files".as_ref(), "--stage".as_ref(), "-z".as_ref()];
    let what = || format!("cannot list what is staged in '{}'", git_dir.display());
    let output = run_plain_git(git_dir, &words).context(Kind::Internal, what)?;
    if !output.status.success() {
        let cause = output.stderr.trim().to_str_lossy().into_owned();
        return Err(crate::error::Error::corrupt(what()).with_cause(cause));
    }
    Ok(output.stdout.split_str("\0").filter_map(|line| blob_of(line, 1)).collect())
}

/// Returns the blobs of the commit `head`; nothing if they cannot be listed.
fn committed(git_dir: &Path, head: ObjectId) -> HashSet<ObjectId> {
    let id = head.to_string();
    let words = ["ls-tree", "-r", "-z", "--full-tree", &id].map(OsStr::new);
    let words = [&[OsStr::new("--git-dir"), git_dir.as_os_str()], &words[..]].concat();
    let output = run_plain_git(git_dir, &words).map(|output| BString::from(output.stdout)).unwrap_or_default();
    output.split_str("\0").filter_map(|line| blob_of(line, 2)).collect()
}

/// Returns the id in an entry that git has listed, which begins with a mode, at word `at`; none for a submodule.
fn blob_of(line: &[u8], at: usize) -> Option<ObjectId> {
    let mut words = line.split_str("\t").next()?.split_str(" ");
    let mode = words.next().filter(|mode| *mode != b"160000")?;
    let id = ObjectId::from_hex(words.nth(at - 1)?).ok()?;
    Some(id).filter(|id| !mode.is_empty() && !id.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::staged("100644 1111111111111111111111111111111111111111 0\ta b", 1, true)]
    #[case::in_a_tree("100755 blob 1111111111111111111111111111111111111111\ta", 2, true)]
    #[case::submodule("160000 1111111111111111111111111111111111111111 0\tsub", 1, false)]
    #[case::intent_to_add("100644 0000000000000000000000000000000000000000 0\ta", 1, false)]
    #[case::end("", 1, false)]
    fn entries_of_git(#[case] line: &str, #[case] at: usize, #[case] is_blob: bool) {
        assert_eq!(blob_of(line.as_bytes(), at).is_some(), is_blob);
    }
}
