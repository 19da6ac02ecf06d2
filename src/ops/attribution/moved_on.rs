//! Lines that a record has in one file and its commit, amended or squashed since, in another one.

use std::{collections::HashSet, rc::Rc};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{commit::Reader, recorded::Recorded, text::Text};
use crate::{
    error::Result,
    model::{
        attribution::{Span, moved_on::Enough},
        change::Change,
    },
    ops::provenance::moved_on::{Gained, Left, spans_from},
};

impl Reader<'_> {
    /// Returns the owners of the lines of `change` in `commit` that `record` has in other files; none if there are none. Another record
    /// says of the lines `base`, from 0, that they were moved.
    pub(super) fn moved_on(
        &mut self,
        commit: ObjectId,
        record: &Recorded,
        change: &Change,
        text: &Text,
        base: &HashSet<usize>,
    ) -> Result<Option<Vec<Span>>> {
        let Some(gained) = Gained::of(&text.before, &text.after) else { return Ok(None) };
        let left = self.left_by(commit, record)?;
        let others: Vec<&Left> = left.iter().filter(|left| left.path != change.path).collect();
        let is_moved = |_, line| base.contains(&line);
        Ok(spans_from(&others, &[&gained], Enough::Half, &is_moved).map(|mut spans| spans.remove(0)))
    }

    /// Returns the files of `record` that lost lines in `commit`.
    fn left_by(&mut self, commit: ObjectId, record: &Recorded) -> Result<Rc<Vec<Left>>> {
        let key = (record.id, commit);
        if let Some(left) = self.left.get(&key) {
            return Ok(left.clone());
        }
        let (repo, mut left) = (self.repo, Vec::new());
        let tree_id = repo.tree_of_commit(commit)?;
        // Most files of a large commit are as they were recorded.
        let changed: Option<HashSet<BString>> = if repo.is_commit(record.commit)? {
            let changes = repo.diff_trees(repo.tree_of_commit(record.commit)?, tree_id)?;
            Some(changes.into_iter().map(|change| change.path).collect())
        } else {
            None
        };
        for file in if record.commit == commit { &[] } else { record.files() } {
            let (path, spans) = (&file.ownership.path, &file.ownership.spans);
            let is_changed = changed.as_ref().is_none_or(|changed| changed.contains(path));
            let Some(blob) = file.blob.filter(|_| is_changed && !spans.is_empty()) else { continue };
            let now = match self.renamed_to(commit, record, path)? {
                None => repo.find_leaf(tree_id, path.as_bstr())?,
                renamed => renamed,
            };
            if now.is_none_or(|now| now.id != blob) {
                left.extend(Left::of(repo, (path, spans), blob, now, &mut self.bytes_for_moves));
            }
        }
        let left = Rc::new(left);
        self.left.insert(key, left.clone());
        Ok(left)
    }
}
