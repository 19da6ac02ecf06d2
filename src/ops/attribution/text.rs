//! The two contents of a file that a commit changes, and how they differ.

use std::{cell::OnceCell, ops::Range};

use super::authors::CARRIER;
use crate::{
    git::line_edits,
    model::{
        attribution::{Committed, Content, Differ, FileOwnership, Replay},
        change::Change,
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

    pub(crate) fn deleted(&self) -> Vec<Range<usize>> {
        self.edits.iter().map(|(old, _)| old.clone()).filter(|lines| !lines.is_empty()).collect()
    }

    /// Returns the owners that follow from the contents alone: those of lines that `change` only moved or reformatted.
    pub(super) fn by_content(&self, change: &Change) -> Option<&FileOwnership> {
        let recorded = self.by_content.get_or_init(|| {
            let is_binary = [&self.before, &self.after].iter().any(|text| line_edits::is_binary(text));
            if is_binary || change.before.is_none() || change.after.is_none() {
                return None;
            }
            let steps = line_edits::step_edits;
            let committed = Committed {
                path: change.path.clone(),
                from: change.old_path.clone(),
                before: Some(Content::Bytes(self.before.clone())),
                after: Some(Content::Bytes(self.after.clone())),
                edits: Some(self.edits.clone()),
                author: CARRIER,
            };
            Replay::new(Differ { steps: &steps, counted: &usual_edits }).finish(&[committed]).files.pop()
        });
        recorded.as_ref()
    }
}

/// Returns how two texts differ, as git counts.
pub(super) fn usual_edits(before: &[u8], after: &[u8]) -> Vec<Edit> {
    line_edits::counted_edits(line_edits::Algorithm::Myers, before, after)
}
