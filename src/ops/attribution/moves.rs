//! Lines that a commit has moved from one file to another, and that no record of it has: they keep their authors.

use std::rc::Rc;

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    authors::CARRIER,
    commit::Reader,
    recorded::Recorded,
    text::{Text, by_content},
};
use crate::{
    error::Result,
    model::{
        attribution::{Committed, Content, Owner, Span, spans},
        change::Change,
    },
    ops::provenance::{left::left_with_counts, moved_from::Parents},
};

/// If a commit changes more files than this, each is looked at alone.
const MOST_FILES: usize = 256;
/// The same for their sizes together, before and after, in bytes: all of them are in memory at once.
const MOST_BYTES: u64 = 16 << 20;

impl Reader<'_> {
    /// Returns true if lines of `commit` that its `records` do not have may have been moved from other files of its parent.
    pub(super) fn may_have_moves(&mut self, commit: ObjectId, records: &[Rc<Recorded>]) -> Result<bool> {
        for record in records {
            if record.commit == commit && !self.records.has_newer_base(record, commit)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads all files of a commit that changes `changes`, and finds the lines that it has moved between them.
    pub(super) fn read_together(&mut self, changes: &[&Change]) -> Result<()> {
        if changes.len() < 2 || changes.len() > MOST_FILES {
            return Ok(());
        }
        let mut bytes = 0;
        for leaf in changes.iter().flat_map(|change| [change.before, change.after]).flatten() {
            bytes += self.repo.object_size(leaf.id)?.unwrap_or_default();
        }
        if bytes > MOST_BYTES {
            return Ok(());
        }
        let mut found = Vec::with_capacity(changes.len());
        for change in changes.iter().copied() {
            match self.text(change)? {
                Some(text) if !text.is_binary() => found.push((change, text)),
                other => drop(self.texts.insert(change.path.clone(), other)),
            }
        }
        let files: Vec<Committed> = found.iter().map(|(change, text)| text.committed(change)).collect();
        for ((change, mut text), owners) in found.into_iter().zip(by_content(&files)) {
            text.set_by_content(owners);
            self.texts.insert(change.path.clone(), Some(text));
        }
        Ok(())
    }

    /// Returns true if `commit`, which has these records, is not one step from its parent: it is a merge, or has the work of other commits.
    pub(super) fn is_of_steps(&self, commit: ObjectId, records: &[Rc<Recorded>]) -> Result<bool> {
        Ok(!records.is_empty() || self.repo.parents_of(commit)?.len() > 1)
    }

    /// Returns the lines of one file, with the contents `text`, that `commit`, which is not one step, has moved there or within the file.
    /// Looks only at lines that `is_unclaimed` accepts by their number, from 0.
    pub(super) fn moved_in_steps(
        &mut self,
        commit: ObjectId,
        change: &Change,
        text: &Text,
        is_unclaimed: impl Fn(usize) -> bool,
    ) -> Result<Vec<Span>> {
        let mut added = text.added_lines();
        added.retain(|line| is_unclaimed(*line as usize - 1));
        if added.is_empty() || text.is_binary() {
            return Ok(Vec::new());
        }
        if self.parents.as_ref().is_none_or(|(of, _)| *of != commit) {
            let (repo, parents) = (self.repo, self.repo.parents_of(commit)?);
            self.parents = Some((commit, Parents::of(repo, &parents, repo.tree_of_commit(commit)?)?));
        }
        let Some((_, parents)) = &mut self.parents else { return Ok(Vec::new()) };
        let moved = parents.moved(change, &text.after, &added)?;
        Ok(spans(moved.into_iter().map(|line| (line as usize - 1, Owner::Base))))
    }

    /// Finds the lines of one file, with the contents `text`, that `commit` has moved there from others in one step. Returns false if
    /// there are none.
    pub(super) fn look_for_moves(&mut self, commit: ObjectId, change: &Change, text: &mut Text) -> Result<bool> {
        let (repo, parents, added) = (self.repo, self.repo.parents_of(commit)?, text.added_lines());
        let (Some(parent), false) = (parents.first(), added.is_empty() || text.is_binary()) else { return Ok(false) };
        let (tree_id, budget) = (repo.tree_of_commit(commit)?, &mut self.bytes_for_moves);
        let (trees, path) = ((repo.tree_of_commit(*parent)?, tree_id), change.path.as_bstr());
        let mut sources = left_with_counts(repo, trees, path, &text.after, added.into_iter(), budget)?;
        sources.retain(|(count, _)| *count > 0);
        if sources.is_empty() {
            return Ok(false);
        }
        let mut files = vec![text.committed(change)];
        files.extend(sources.into_iter().map(|(_, source)| Committed {
            path: source.path,
            from: None,
            before: Some(Content::Bytes(source.text)),
            after: Some(Content::Bytes(Vec::new())),
            edits: None,
            author: CARRIER,
        }));
        let owners = by_content(&files).swap_remove(0);
        text.set_by_content(owners);
        Ok(true)
    }
}
