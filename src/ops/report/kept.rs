//! Which changed lines a report has: those of the newest commits, as far as the page stays small.

use crate::{
    model::line_diff::Hunk,
    ops::attribution::{PatchFile, Who},
};

/// How many bytes of changed lines a report has.
const MOST: usize = 3 << 20;
/// How many of them one commit may have.
const MOST_OF_COMMIT: usize = 256 << 10;
/// What a line takes beside its content.
const OF_LINE: usize = 12;

/// The changed lines of a file.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    /// True if it has no lines.
    pub(crate) is_binary: bool,
    /// The hunks; in each, the owners of its added lines, in order.
    pub(crate) hunks: Vec<(Hunk, Vec<Who>)>,
    /// True if hunks are left out, because the report would become too large.
    pub(crate) is_cut: bool,
}

/// Counts the bytes of a report.
#[derive(Debug)]
pub(super) struct Kept {
    left: usize,
}

impl Default for Kept {
    fn default() -> Self {
        Self { left: MOST }
    }
}

impl Kept {
    /// Returns the changed lines of a commit's files, as many as there is room for.
    pub(super) fn of_commit(&mut self, files: Vec<PatchFile>) -> Vec<Changed> {
        let mut left = self.left.min(MOST_OF_COMMIT);
        let before = left;
        let changed = files.into_iter().map(|file| of_file(file, &mut left)).collect();
        self.left -= before - left;
        changed
    }
}

fn of_file(file: PatchFile, left: &mut usize) -> Changed {
    let mut changed = Changed { is_binary: file.is_binary, hunks: Vec::new(), is_cut: false };
    for (hunk, owners) in file.hunks {
        let size: usize = hunk.lines.iter().map(|line| line.content.len() + OF_LINE).sum();
        if size > *left {
            changed.is_cut = true;
            break;
        }
        *left -= size;
        changed.hunks.push((hunk, owners));
    }
    changed
}
