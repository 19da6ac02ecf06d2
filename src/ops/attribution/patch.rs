//! The changed lines of a commit, each added one with its owner.

use bstr::BString;

use super::{
    commit::OfFile,
    text::Text,
    who::{Who, who},
};
use crate::model::{
    attribution::{Author, Owner, kind::Kind},
    change::Change,
    line_diff::{self, Hunk, Side},
};

/// Unchanged lines around each change.
const CONTEXT: usize = 3;

/// A file of the patch.
#[derive(Clone, Debug)]
pub(crate) struct PatchFile {
    /// The path.
    pub path: BString,
    /// Where a renamed file was.
    pub old_path: Option<BString>,
    /// Whether the file exists before and after.
    pub sides: (bool, bool),
    /// True if it has no lines.
    pub is_binary: bool,
    /// The hunks; in each, the owners of its added lines, in order.
    pub hunks: Vec<(Hunk, Vec<Who>)>,
    owners: Vec<Vec<Owner>>,
}

impl PatchFile {
    /// Returns the changed lines of `file`, whose content is `text`.
    pub(super) fn of(file: &OfFile, text: Option<&Text>) -> Self {
        let Change { path, old_path, before, after, .. } = file.change.clone();
        let edits = text.map(|text| text.edits.as_slice()).unwrap_or_default();
        let hunks = match text {
            // Deleted and added lines of a merge are of different pairs of files; only the added ones can be shown.
            Some(text) if text.is_of_merge => added_only(text),
            Some(text) => line_diff::hunks(&text.before, &text.after, edits, CONTEXT),
            None => Vec::new(),
        };
        let owners = hunks
            .iter()
            .map(|hunk| {
                let mut number = u32::try_from(hunk.new.start).unwrap_or(u32::MAX);
                let mut owners = Vec::new();
                for line in &hunk.lines {
                    number = number.saturating_add(u32::from(line.side != Side::Deleted));
                    if line.side == Side::Added {
                        owners.push(file.ownership.owner(number));
                    }
                }
                owners
            })
            .collect();
        let hunks = hunks.into_iter().map(|hunk| (hunk, Vec::new())).collect();
        Self { path, old_path, sides: (before.is_some(), after.is_some()), is_binary: text.is_none(), hunks, owners }
    }

    /// Fills in the owners. The differing words are emphasized only in lines that two authors have written.
    pub(super) fn named(mut self, authors: &[Author]) -> Self {
        for ((hunk, named), owners) in self.hunks.iter_mut().zip(std::mem::take(&mut self.owners)) {
            *named = owners.into_iter().map(|owner| who(owner, authors)).collect();
            let mut at = 0;
            for line in &mut hunk.lines {
                let is_mixed = line.side == Side::Added && named[at].owner == Kind::Mixed;
                at += usize::from(line.side == Side::Added);
                if !is_mixed {
                    line.emphasis.clear();
                }
            }
        }
        self
    }
}

fn added_only(text: &Text) -> Vec<Hunk> {
    let mut edits = Vec::new();
    let mut shift = 0;
    // Compares with the file without its added lines, so that only they appear.
    let mut kept: Vec<u8> = Vec::new();
    let lines: Vec<&[u8]> = bstr::ByteSlice::lines_with_terminator(text.after.as_slice()).collect();
    let mut from = 0;
    for added in text.added() {
        kept.extend(lines[from..added.start].concat());
        let at = added.start - shift;
        shift += added.len();
        from = added.end;
        edits.push((at..at, added));
    }
    kept.extend(lines[from..].concat());
    line_diff::hunks(&kept, &text.after, &edits, CONTEXT)
}
