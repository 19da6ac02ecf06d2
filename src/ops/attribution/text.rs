//! The two contents of a file that a commit changes, and how they differ.

use std::{cell::OnceCell, collections::BTreeSet, ops::Range};

use super::authors::CARRIER;
use crate::{
    git::line_edits,
    model::{
        attribution::{Committed, Content, Differ, FileOwnership, Replay},
        change::{Change, Leaf},
        line_diff::Edit,
    },
};

/// The two contents of a file that has lines on both sides.
pub(crate) struct Text {
    pub(crate) before: Vec<u8>,
    pub(crate) after: Vec<u8>,
    /// How they differ, as git counts.
    pub(crate) edits: Vec<Edit>,
    /// True for a merge of which only the differences from all parents remain: the two sides of an edit need not belong
    /// together.
    pub(crate) is_of_merge: bool,
    by_content: OnceCell<Option<FileOwnership>>,
}

impl Text {
    pub(super) fn new(before: Vec<u8>, after: Vec<u8>, edits: Vec<Edit>) -> Self {
        Self { before, after, edits, is_of_merge: false, by_content: OnceCell::new() }
    }

    pub(crate) fn added(&self) -> Vec<Range<usize>> {
        self.edits.iter().map(|(_, new)| new.clone()).filter(|lines| !lines.is_empty()).collect()
    }

    /// Returns the numbers of the added lines, from 1.
    pub(super) fn added_lines(&self) -> BTreeSet<u32> {
        self.added().into_iter().flatten().map(|line| u32::try_from(line + 1).unwrap_or(u32::MAX)).collect()
    }

    pub(crate) fn deleted(&self) -> Vec<Range<usize>> {
        self.edits.iter().map(|(old, _)| old.clone()).filter(|lines| !lines.is_empty()).collect()
    }

    /// Returns the owners that follow from the contents alone: those of lines that `change` only moved or reformatted.
    pub(super) fn by_content(&self, change: &Change) -> Option<&FileOwnership> {
        let recorded = self.by_content.get_or_init(|| {
            if self.is_binary() || change.before.is_none() || change.after.is_none() {
                return None;
            }
            by_content(&[self.committed(change)]).pop()
        });
        recorded.as_ref()
    }

    /// Gives it these owners that follow from the contents of all files of the commit.
    pub(super) fn set_by_content(&mut self, owners: FileOwnership) {
        self.by_content = OnceCell::from(Some(owners));
    }

    pub(super) fn is_binary(&self) -> bool {
        [&self.before, &self.after].iter().any(|text| line_edits::is_binary(text))
    }

    /// Returns the file as a commit without any checkpoint has it.
    pub(super) fn committed(&self, change: &Change) -> Committed {
        let content = |leaf: Option<Leaf>, text: &[u8]| leaf.map(|_| Content::Bytes(text.to_vec()));
        Committed {
            path: change.path.clone(),
            from: change.old_path.clone(),
            before: content(change.before, &self.before),
            after: content(change.after, &self.after),
            edits: Some(self.edits.clone()),
            author: CARRIER,
        }
    }
}

/// Returns the owners that follow from the contents of the files of a commit alone: all that is new is [`CARRIER`]'s.
pub(super) fn by_content(files: &[Committed]) -> Vec<FileOwnership> {
    let steps = line_edits::step_edits;
    Replay::new(Differ::new(&steps, &usual_edits)).finish(files).files
}

/// Returns how two texts differ, as git counts.
pub(super) fn usual_edits(before: &[u8], after: &[u8]) -> Vec<Edit> {
    line_edits::counted_edits(line_edits::Algorithm::Myers, before, after)
}
