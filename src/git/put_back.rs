//! Whether files of the worktree were as a commit has them at some time, though they have changed since. The index remembers it.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, index::File};

use super::{Repo, presence::may_exist, stat_cache::Stat, user_index::decoding};
use crate::{
    error::{Context as _, Kind, Result},
    model::change::{Change, Leaf, Mode},
};

impl Repo {
    /// Returns those of `changes` whose new content the worktree had at `since` or later. The index notes the times of a file that
    /// has the staged content: they are of then. Without an entry in the index, and without a file in the new content, nothing
    /// is known.
    pub(crate) fn put_back_since(&self, changes: Vec<Change>, since: SystemTime) -> Result<Vec<Change>> {
        let is_file = |leaf: Leaf| matches!(leaf.mode, Mode::File | Mode::Executable);
        // Most often, git has not written the index since.
        let written = std::fs::metadata(self.own_index_path()).and_then(|metadata| metadata.modified());
        if written.is_err()
            || written.is_ok_and(|written| written < since)
            || !changes.iter().any(|it| it.after.is_some_and(is_file))
        {
            return Ok(Vec::new());
        }
        let Some(index) = self.own_index()? else { return Ok(Vec::new()) };
        let is_put_back = |change: &Change| {
            let Some(entry) = index.entry_by_path(change.path.as_bstr()) else { return false };
            let leaf = Mode::from_bits(entry.mode.bits()).map(|mode| Leaf { id: entry.id, mode });
            let stat = Stat::of_index(&entry.stat);
            let changed = time(stat.mtime.max(stat.ctime)).filter(|_| stat != Stat::default());
            leaf == change.after.filter(|leaf| is_file(*leaf)) && changed.is_some_and(|changed| changed >= since)
        };
        Ok(changes.into_iter().filter(is_put_back).collect())
    }

    /// Returns true if the index has each of `paths` as the tree `tree_id` has it, and noted no earlier than `since` that
    /// the worktree had them so. A path that neither has counts as well.
    pub(crate) fn are_put_back(&self, paths: &[BString], tree_id: ObjectId, since: SystemTime) -> Result<bool> {
        let index = self.own_index()?;
        let mut changes = Vec::new();
        for path in paths {
            let leaf = self.find_leaf(tree_id, path.as_bstr())?;
            let is_staged = index.as_ref().is_some_and(|index| index.entry_by_path(path.as_bstr()).is_some());
            match leaf {
                None if is_staged => return Ok(false),
                None => {}
                Some(_) => changes.extend(Change::between(path.clone(), None, leaf)),
            }
        }
        let count = changes.len();
        Ok(count == 0 || self.put_back_since(changes, since)?.len() == count)
    }

    /// Returns the index of the worktree. While git prepares a commit, it gives hooks another one, with what it has staged just now.
    fn own_index(&self) -> Result<Option<File>> {
        let path = self.own_index_path();
        if !may_exist(&path) {
            return Ok(None);
        }
        let what = || format!("cannot read the index '{}'", path.display());
        File::at(&path, self.object_hash(), true, decoding()).map(Some).context(Kind::Corrupt, what)
    }

    fn own_index_path(&self) -> PathBuf {
        self.git_dir().join("index")
    }

    /// Returns when the object `id` was stored, as the moment `seconds` says it at least: the file of a loose object knows it
    /// more exactly.
    pub(crate) fn stored_after(&self, id: ObjectId, seconds: i64) -> SystemTime {
        let second_after = u64::try_from(seconds + 1).unwrap_or_default();
        self.stored_at(id).unwrap_or(UNIX_EPOCH + Duration::from_secs(second_after))
    }
}

fn time((seconds, nanoseconds): (i64, u32)) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::new(u64::try_from(seconds).ok()?, nanoseconds))
}
