//! Lines that one step takes out of a file, and another step adds to a file, in either order: they were moved and keep their owners.
//! `moves` finds those that one step moves.
//!
//! Between two steps there may be any others, so the evidence is stronger: one step has written all lines that were lost in one place,
//! and nothing beside them. If a file begins with the same licence as one that was thrown away, nothing was moved: more follows there.

use std::collections::{BTreeMap, HashMap};

use bstr::BString;

use super::{
    align::is_telling,
    file::{Deleted, File, Line, Origin, Writer},
    lost::{Known, Lost, may_be_copy},
    put_back::{Moved, give_back},
    work::{Arrived, Outcome},
};

/// How many lost lines are remembered; those of earlier steps are forgotten first.
const MOST_LOST: usize = 20_000;

/// If a line was lost or written in more places, only so many are looked at.
const MOST_CANDIDATES: usize = 16;

/// What a step has done: lines in a row that a file has lost, and lines that its author has written.
#[derive(Default)]
pub(super) struct Step {
    lost: Vec<Lost>,
    written: Vec<(BString, Vec<(usize, u64)>)>,
    moved: Vec<Moved>,
    /// The files that the step has changed.
    changed: Vec<BString>,
}

/// What earlier steps lost and wrote.
#[derive(Default)]
pub(super) struct MovedLater {
    /// The lines that no file has got yet, in the order of the steps.
    lost: BTreeMap<usize, Lost>,
    /// Those whose first line has a digest.
    by_first: HashMap<u64, Vec<usize>>,
    /// The key of the next one in `lost`, and how many lines all have.
    next: usize,
    count: usize,
    /// Where lines with a digest were written.
    written: HashMap<u64, Written>,
    /// The lines that got their owners back, and those that one step moved.
    moved: Vec<Moved>,
    /// What was read of the files as they are.
    known: Known,
}

/// Where a line was written.
#[derive(Default)]
struct Written {
    times: u32,
    /// The first files in which it was written.
    paths: Vec<BString>,
}

impl Step {
    /// Adds what happened to the file at `path`. If `is_of_commit`, this is what the commit has. A commit may leave out uncommitted
    /// lines that the worktree still has, so only base lines count as lost then.
    pub(super) fn add(&mut self, path: &BString, outcome: &Outcome, is_of_commit: bool) {
        self.changed.push(path.clone());
        if outcome.is_cut_off {
            return;
        }
        let is_row = |one: &Deleted, next: &Deleted| one.at + 1 == next.at && one.is_edited == next.is_edited;
        for row in outcome.deleted.chunk_by(is_row).filter(|row| !row[0].is_edited) {
            let is_lost = |it: &Deleted| !is_of_commit || it.grave.line.origin.is_some();
            self.lost.extend(Lost::of(path, row).filter(|_| row.iter().all(is_lost)));
        }
        if !outcome.written.is_empty() {
            self.written.push((path.clone(), outcome.written.clone()));
        }
    }

    /// Adds the lines `arrived` that `writer` has moved from the file at `from` to the one at `path`.
    pub(super) fn add_moved(&mut self, from: &BString, path: &BString, arrived: Arrived, writer: Writer) {
        let copy = vec![Line::by(writer); arrived.lines.len()];
        let lost = Lost::whole(from.clone(), arrived.lines);
        self.moved.push(Moved { lost, path: path.clone(), copy, is_of_one_step: true });
    }
}

impl MovedLater {
    /// Finds the lines that the last step of `files` has lost after an earlier step had copied them, and those that it has written
    /// after an earlier step had lost them. They get the owners that they had. Returns the base lines among them.
    pub(super) fn find(&mut self, files: &mut HashMap<BString, File>, mut step: Step) -> Vec<Origin> {
        let (mut known, mut moved) = (std::mem::take(&mut self.known), Vec::new());
        known.forget(&step.changed);
        // If the file still has the lines, or others like them, it will not show in the end that they are back.
        let mut is_gone = |moved: &Moved| !moved.lost.is_still_there(files, &mut known);
        self.moved.extend(std::mem::take(&mut step.moved).into_iter().filter(&mut is_gone));
        self.take_back(files, &step, &mut known, &mut moved);
        for (path, digest) in step.written.iter().flat_map(|(path, written)| written.iter().map(move |it| (path, it.1)))
        {
            let written = self.written.entry(digest).or_default();
            written.times += 1;
            if written.paths.last() != Some(path) && written.paths.len() < MOST_CANDIDATES {
                written.paths.push(path.clone());
            }
        }
        for lost in step.lost {
            let is_moved = self.is_copied(&lost) && !lost.is_still_there(files, &mut known);
            let copy = if is_moved { self.find_copy(files, &mut known, &lost) } else { None };
            match copy {
                Some((path, at)) => self.place(lost, files, (path, at), &mut moved),
                None => self.remember(lost),
            }
        }
        self.known = known;
        moved
    }

    /// Gives the owners of `lost` to the lines of the file at `path` from `at` on, and adds the origins of base lines to `moved`.
    fn place(
        &mut self,
        lost: Lost,
        files: &mut HashMap<BString, File>,
        (path, at): (BString, usize),
        moved: &mut Vec<Origin>,
    ) {
        let Some(file) = files.get_mut(&path) else { return };
        let mut was = Vec::with_capacity(lost.lines.len());
        for (line, (_, own)) in file.lines[at..].iter_mut().zip(&lost.lines) {
            was.push(std::mem::replace(line, *own));
            moved.extend(own.origin);
        }
        self.moved.push(Moved { lost, path, copy: was, is_of_one_step: false });
    }

    /// Gives lines back to those who have copied them, if the file that lost them has them again in the end.
    pub(super) fn give_back(self, files: &mut HashMap<BString, File>) {
        give_back(self.moved, files);
    }

    /// Finds lines that `step` has written and that earlier steps had lost.
    fn take_back(
        &mut self,
        files: &mut HashMap<BString, File>,
        step: &Step,
        known: &mut Known,
        moved: &mut Vec<Origin>,
    ) {
        for (path, written) in &step.written {
            for (at, digest) in written {
                let (Some(keys), Some(file)) = (self.by_first.get(digest), files.get(path)) else { continue };
                let mut newest = keys.iter().rev().take(MOST_CANDIDATES);
                let found = newest.find(|key| {
                    let lost = &self.lost[key];
                    lost.is_copied_to(file, path, *at, known) && !lost.is_still_there(files, known)
                });
                if let Some(lost) = found.copied().and_then(|key| self.forget(key)) {
                    self.place(lost, files, (path.clone(), *at), moved);
                }
            }
        }
    }

    /// Returns true if all lines of `lost` may have been copied: each was written once more than the file that lost it needs.
    fn is_copied(&self, lost: &Lost) -> bool {
        let telling = lost.lines.iter().filter(|(text, _)| is_telling(text));
        let times = |digest: &u64| self.written.get(digest).map_or(0, |written| written.times);
        telling.zip(&lost.digests).all(|((_, line), digest)| times(digest) > u32::from(line.origin.is_none()))
    }

    /// Returns the file that has a copy of the lines, and where; the first one by its path.
    fn find_copy(&self, files: &HashMap<BString, File>, known: &mut Known, lost: &Lost) -> Option<(BString, usize)> {
        let telling = lost.lines.iter().enumerate().filter(|(_, (text, _))| is_telling(text));
        // The line that was written the fewest times is the quickest to find.
        let offsets = telling.map(|(offset, _)| offset).zip(lost.digests.iter().copied());
        let written = offsets.filter_map(|(offset, digest)| Some((offset, digest, self.written.get(&digest)?)));
        let (offset, digest, written) = written.min_by_key(|(_, _, written)| written.times)?;
        let mut paths: Vec<&BString> = written.paths.iter().collect();
        paths.sort_unstable();
        paths.dedup();
        for path in paths {
            let Some(file) = files.get(path) else { continue };
            let places = known.digests(path, file).get(&digest).cloned().unwrap_or_default();
            let may_begin = |at: &usize| may_be_copy(&file.lines[*at]);
            let places = places.into_iter().filter(may_begin).take(MOST_CANDIDATES);
            let mut starts = places.filter_map(|at| at.checked_sub(offset));
            if let Some(at) = starts.find(|at| lost.is_copied_to(file, path, *at, known)) {
                return Some((path.clone(), at));
            }
        }
        None
    }

    fn remember(&mut self, lost: Lost) {
        self.count += lost.lines.len();
        self.by_first.entry(lost.digests[0]).or_default().push(self.next);
        self.lost.insert(self.next, lost);
        self.next += 1;
        while self.count > MOST_LOST
            && let Some((oldest, _)) = self.lost.first_key_value()
        {
            self.forget(*oldest);
        }
    }

    fn forget(&mut self, key: usize) -> Option<Lost> {
        let lost = self.lost.remove(&key)?;
        self.count -= lost.lines.len();
        if let Some(known) = self.by_first.get_mut(&lost.digests[0]) {
            known.retain(|other| *other != key);
        }
        Some(lost)
    }
}
