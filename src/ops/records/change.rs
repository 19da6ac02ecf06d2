//! Records of commits that make the same change as another one: some commands of git rewrite commits without running a hook.

use gix::ObjectId;

use super::{
    copied,
    log::{CHANGES, Log},
};
use crate::{
    error::{Context as _, Kind, Result},
    model::{
        change::{Change, Leaf},
        copied::Copied,
        record::RecordId,
    },
};

/// The changes of larger commits are not in the index.
const MOST_CHANGES: usize = 10_000;

/// The records of commits that make the same change as another one.
#[derive(Debug, Default)]
pub(crate) struct SameChange {
    /// The records of those that it is a copy of.
    pub(crate) copied: Vec<RecordId>,
    /// True if it is perhaps a copy of others.
    pub(crate) is_doubtful: bool,
}

impl Log<'_> {
    /// Returns the records of commits that make the same change as `commit`, if it may be a copy of them. That is a guess: readers
    /// show it, and only `doctor --relink` stores it in a link.
    pub(crate) fn of_change(&self, commit: ObjectId) -> Result<SameChange> {
        let mut same = SameChange::default();
        // No commit has been noted with its change.
        if self.index_trees(CHANGES)?.is_empty() {
            return Ok(same);
        }
        let Some(change) = self.change_of(commit)? else { return Ok(same) };
        for id in self.index(CHANGES, change)? {
            // A damaged record says nothing.
            let Some(record) = self.find(&id).ok().flatten() else { continue };
            match copied(self.repo, commit, &record)? {
                Copied::Yes => same.copied.push(id),
                Copied::Perhaps => same.is_doubtful = true,
                Copied::No => {}
            }
        }
        Ok(same)
    }

    /// Returns an id for what `commit` changes: a hash of the paths, and the blobs there before and after. None for a merge, an
    /// empty commit, a very large one, and one that is not all here.
    pub(super) fn change_of(&self, commit: ObjectId) -> Result<Option<ObjectId>> {
        let repo = self.repo;
        let parents = if repo.is_commit(commit)? { repo.parents_of(commit)? } else { return Ok(None) };
        let before = match &parents[..] {
            [] => repo.empty_tree_id(),
            [parent] if repo.is_commit(*parent)? => repo.tree_of_commit(*parent)?,
            _ => return Ok(None),
        };
        // Trees may be missing in a partial clone.
        let Ok(changes) = repo.diff_trees(before, repo.tree_of_commit(commit)?) else { return Ok(None) };
        if changes.is_empty() || changes.len() > MOST_CHANGES {
            return Ok(None);
        }
        let mut text = Vec::new();
        for Change { path, before, after, .. } in changes {
            let leaf =
                |leaf: Option<Leaf>| leaf.map_or("-".into(), |leaf| format!("{:o} {}", leaf.mode.bits(), leaf.id));
            text.extend_from_slice(&path);
            text.extend_from_slice(format!("\0{}\0{}\n", leaf(before), leaf(after)).as_bytes());
        }
        let what = || "cannot hash what a commit changes".into();
        gix::objs::compute_hash(repo.object_hash(), gix::objs::Kind::Blob, &text)
            .context(Kind::Internal, what)
            .map(Some)
    }
}
