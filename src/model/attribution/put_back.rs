//! Moves that are taken back in the end: the file that lost the lines has them again. Then the other file has a copy.

use std::collections::HashMap;

use bstr::BString;

use super::{
    file::{File, Line},
    lost::{Known, Lost, may_be_copy},
};

/// Lines that a file lost and another one has.
pub(super) struct Moved {
    pub(super) lost: Lost,
    /// The other file, and what its lines are if they are a copy.
    pub(super) path: BString,
    pub(super) copy: Vec<Line>,
    /// True if one step moved them. Then nothing in the file that lost them says whose they were.
    pub(super) is_of_one_step: bool,
}

/// Gives lines back to those who have copied them, if the file that lost them has most of them again in the end.
pub(super) fn give_back(moves: Vec<Moved>, files: &mut HashMap<BString, File>) {
    let mut known = Known::default();
    for Moved { lost, path, copy, is_of_one_step } in moves.into_iter().rev() {
        if path == lost.path || !lost.is_still_there(files, &mut known) {
            continue;
        }
        let is_lost = |line: &Line, own: &Line| line == own;
        let Some(there) = find(files, &lost, &path, &mut known, is_lost) else { continue };
        if is_of_one_step {
            let is_newer = |line: &Line, own: &Line| may_be_copy(line) && line.born > own.born;
            let Some(back) = find(files, &lost, &lost.path, &mut known, is_newer) else { continue };
            let own: Vec<Line> = lost.lines.iter().map(|(_, line)| *line).collect();
            put(files, &lost.path, back, &own);
        }
        put(files, &path, there, &copy);
    }
}

/// Returns where the file at `path` has the lines of `lost`, if `accepts` each line there, and the lost one.
fn find(
    files: &HashMap<BString, File>,
    lost: &Lost,
    path: &BString,
    known: &mut Known,
    accepts: impl Fn(&Line, &Line) -> bool,
) -> Option<usize> {
    let file = files.get(path)?;
    let are_accepted = |at: &usize| {
        let there = file.lines.get(*at..at + lost.lines.len()).unwrap_or_default();
        !there.is_empty() && there.iter().zip(&lost.lines).all(|(line, (_, own))| accepts(line, own))
    };
    (0..file.lines.len()).filter(are_accepted).find(|at| lost.is_at(file, path, *at, known))
}

/// Makes the lines of the file at `path` from `at` on `lines`.
fn put(files: &mut HashMap<BString, File>, path: &BString, at: usize, lines: &[Line]) {
    if let Some(file) = files.get_mut(path) {
        file.lines[at..at + lines.len()].copy_from_slice(lines);
    }
}
