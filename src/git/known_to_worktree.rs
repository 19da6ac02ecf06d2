//! What only git's directory of one worktree leads to: commits in its reflogs, what is staged, and its own refs.
//!
//! Git keeps that from being collected while the worktree is registered. When its directory is moved away, a commit of ours leads
//! to all of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use bstr::ByteSlice as _;
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
    holders::of_git_dir,
    new_objects::{NewObjects, Target},
    refs::RefUpdate,
};
use crate::error::{Context as _, Error, Kind, Result};

/// The message of such a commit.
const MESSAGE: &str =
    "what a removed worktree leads to\n\nIts parents are the commits, its tree has the other objects.\n";

impl Repo {
    /// Returns all that only git's directory `git_dir` of a worktree with HEAD at `head` leads to.
    pub(crate) fn known_to_worktree(&self, git_dir: &Path, head: Option<ObjectId>) -> Result<BTreeSet<ObjectId>> {
        let mut ids: BTreeSet<ObjectId> = self.logged_ids_in(git_dir, None)?;
        ids.extend(self.refs_of_single_worktree(git_dir)?);
        ids.extend(head);
        ids.extend(self.indexed(git_dir, head)?);
        Ok(ids)
    }

    /// Lets the ref `name`, which is new, lead to the objects `ids`, as far as they are there. The operation log does not
    /// record it.
    pub(crate) fn hold(&self, ids: &BTreeSet<ObjectId>, name: &str) -> Result<()> {
        let (mut parents, mut entries) = (Vec::new(), BTreeMap::new());
        for id in self.whole(ids.iter().copied().collect()) {
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
        let ids: Vec<_> = ids.into_iter().filter(|id| self.has_object(*id)).collect();
        those_of(&ids, &are_whole)
    }

    /// Returns what the index in the git directory `git_dir` leads to, as git's own garbage collection sees it: staged blobs of
    /// all stages, those that undo a resolved conflict, and trees that were written of it; without what the commit `head` has.
    fn indexed(&self, git_dir: &Path, head: Option<ObjectId>) -> Result<Vec<ObjectId>> {
        let committed = head.and_then(|head| self.tree_of_commit(head).ok());
        let list = |tree_id: ObjectId| {
            let tree_id = tree_id.to_string();
            // Missing objects are not listed, and are no error. The order of the options counts.
            let words =
                ["rev-list", "--objects", "--single-worktree", "--indexed-objects", "--missing=allow-any", "--not"];
            let words = [&words[..], &[&tree_id]].concat();
            self.run_git(&of_git_dir(git_dir, &words), None)
        };
        // Parts of the commit's tree may be lost.
        let listed = committed.and_then(|tree_id| list(tree_id).ok());
        let listed = listed.map_or_else(|| list(self.empty_tree_id()), Ok).map_err(|error| {
            Error::corrupt(format!("cannot list what the index in '{}' leads to", git_dir.display())).with_cause(error)
        })?;
        Ok(listed.lines().filter_map(|line| ObjectId::from_hex(line.split_str(" ").next()?).ok()).collect())
    }
}

/// Returns those of `ids` for which `are_whole` is true, alone and together: it is asked for halves, so that a few others among
/// many cost little.
fn those_of(ids: &[ObjectId], are_whole: &dyn Fn(&[ObjectId]) -> bool) -> Vec<ObjectId> {
    match ids.len() {
        0 => Vec::new(),
        _ if are_whole(ids) => ids.to_vec(),
        1 => Vec::new(),
        count => {
            let (one, other) = ids.split_at(count / 2);
            [those_of(one, are_whole), those_of(other, are_whole)].concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[rstest::rstest]
    #[case::all("", 400, 1)]
    #[case::all_but_one("7", 399, 19)]
    #[case::all_but_two("7,300", 398, 35)]
    fn a_few_lost_ones_cost_little(#[case] lost: &str, #[case] expected: usize, #[case] most: usize) {
        let id = |number: usize| ObjectId::from_hex(format!("{number:040x}").as_bytes()).expect("40 digits");
        let lost: Vec<_> = lost.split(',').filter_map(|text| text.parse().ok()).map(id).collect();
        let (ids, asked) = ((0..400).map(id).collect::<Vec<_>>(), Cell::new(0));
        let are_whole = |ids: &[ObjectId]| {
            asked.set(asked.get() + 1);
            !ids.iter().any(|id| lost.contains(id))
        };
        assert_eq!(those_of(&ids, &are_whole).len(), expected);
        assert!(asked.get() <= most, "{}", asked.get());
    }
}
