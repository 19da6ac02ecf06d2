//! Lines that one step takes out of a file, and another step adds to a file, in either order: they were moved and keep their owners.
//! `moves` finds those that one step moves.
//!
//! Between two steps there may be any others, so the evidence is stronger: all lines that were lost in one place are all that one step
//! has written in the other place. A file that begins like one that was thrown away, for example with a licence, has none of its lines.

use std::collections::{BTreeMap, HashMap};

use bstr::{BString, ByteSlice as _};

use super::{
    Owner, TELLING_LETTERS, TELLING_LINES,
    align::{digest, is_letter_or_digit, is_telling, key},
    file::{Deleted, File, Line, Origin},
    work::Outcome,
};

/// How many lost lines are remembered; those of earlier steps are forgotten first.
const MOST_LOST: usize = 20_000;

/// A replay compares no more lines than this: very many equal ones would take long.
const MOST_COMPARED: usize = 1_000_000;
/// If a line was lost or written in more places, only so many are looked at.
const MOST_CANDIDATES: usize = 16;

/// What a step has done: lines in a row that a file has lost, and lines that its author has written.
#[derive(Default)]
pub(super) struct Step {
    lost: Vec<Lost>,
    written: Vec<(BString, Vec<(usize, u64)>)>,
}

/// Lines in a row that a step took out of a file, from the first to the last one with a letter or a digit.
struct Lost {
    path: BString,
    lines: Vec<(Box<[u8]>, Line)>,
    /// The digest of each telling line.
    digests: Vec<u64>,
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
    /// The lines that got their owners back.
    placed: Vec<Placed>,
    /// How many lines were compared.
    compared: usize,
}

/// Where a line was written.
#[derive(Default)]
struct Written {
    times: u32,
    /// The first files in which it was written.
    paths: Vec<BString>,
}

/// Lines that a file lost and another one has.
struct Placed {
    lost: Lost,
    /// The other file, and what was known of its lines before.
    path: BString,
    was: Vec<Line>,
}

impl Step {
    /// Adds what happened to the file at `path`. If `is_of_commit`, this is what the commit has. A commit may leave out uncommitted
    /// lines that the worktree still has, so only base lines count as lost then.
    pub(super) fn add(&mut self, path: &BString, outcome: &Outcome, is_of_commit: bool) {
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
}

impl Lost {
    /// Returns the lines of `row`; none if they are too common to be evidence.
    fn of(path: &BString, row: &[Deleted]) -> Option<Self> {
        let tells = |it: &Deleted| is_telling(&it.grave.text);
        let (first, last) = (row.iter().position(tells)?, row.iter().rposition(tells)?);
        let row = &row[first..=last];
        let digests: Vec<u64> = row.iter().filter(|it| tells(it)).map(|it| digest(&it.grave.text)).collect();
        let letters = |it: &Deleted| it.grave.text.iter().filter(|byte| is_letter_or_digit(**byte)).count();
        if digests.len() < TELLING_LINES || row.iter().map(letters).sum::<usize>() < TELLING_LETTERS {
            return None;
        }
        let lines = row.iter().map(|it| (it.grave.text.clone(), it.grave.line)).collect();
        Some(Self { path: path.clone(), lines, digests })
    }

    /// Returns true if the lines of the file at `path` from `at` on are these.
    fn is_at(&self, file: &File, path: &BString, at: usize, known: &mut Known) -> bool {
        if known.compared > MOST_COMPARED || at + self.lines.len() > file.lines.len() {
            return false;
        }
        let text = known.text(path, file);
        let equal = self.lines.iter().zip(at..).take_while(|((own, _), at)| key(text.line(*at)) == key(own)).count();
        known.compared += equal + 1;
        equal == self.lines.len()
    }

    /// Returns true if a later step has written the lines of the file at `path` from `at` on, and nothing else beside them, and if they
    /// are as these.
    fn is_copied_to(&self, file: &File, path: &BString, at: usize, known: &mut Known) -> bool {
        let there = file.lines.get(at..at + self.lines.len()).unwrap_or_default();
        let is_younger = |(copy, (_, own)): (&Line, &(Box<[u8]>, Line))| {
            may_be_copy(copy) && (copy.born > own.born || copy.owner == own.owner)
        };
        let (Some(first), Some(last)) = (there.first(), there.last()) else { return false };
        if !there.iter().zip(&self.lines).all(is_younger) {
            return false;
        }
        let text = known.text(path, file);
        let mut above = (0..at).rev().map(|at| (at, first));
        let mut below = (at + self.lines.len()..file.lines.len()).map(|at| (at, last));
        let is_telling_at = |(at, _): &(usize, &Line)| is_telling(text.line(*at));
        let beside = [above.find(is_telling_at), below.find(is_telling_at)];
        let is_of_step = |(at, end): (usize, &Line)| may_be_copy(&file.lines[at]) && file.lines[at].born == end.born;
        !beside.into_iter().flatten().any(is_of_step) && self.is_at(file, path, at, known)
    }

    /// Returns true if the file that lost the lines has most of them.
    fn is_still_there(&self, files: &HashMap<BString, File>, known: &mut Known) -> bool {
        files.get(&self.path).is_some_and(|file| {
            let there = known.digests(&self.path, file);
            self.digests.iter().filter(|digest| there.contains_key(digest)).count() * 2 > self.digests.len()
        })
    }
}

impl MovedLater {
    /// Finds the lines that the last step of `files` has lost after an earlier step had copied them, and those that it has written
    /// after an earlier step had lost them. They get the owners that they had. Returns the base lines among them.
    pub(super) fn find(&mut self, files: &mut HashMap<BString, File>, step: Step) -> Vec<Origin> {
        let (mut known, mut moved) = (Known { compared: self.compared, ..Known::default() }, Vec::new());
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
        self.compared = known.compared;
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
        self.placed.push(Placed { lost, path, was });
    }

    /// Gives lines back to those who have copied them, if the file that lost them has most of them again in the end.
    pub(super) fn give_back(&mut self, files: &mut HashMap<BString, File>) {
        let mut known = Known::default();
        for Placed { lost, path, was } in std::mem::take(&mut self.placed).into_iter().rev() {
            if path == lost.path || !lost.is_still_there(files, &mut known) {
                continue;
            }
            let Some(file) = files.get_mut(&path) else { continue };
            let is_own = |at: &usize| {
                let there = file.lines.get(*at..at + was.len()).unwrap_or_default();
                there.len() == was.len() && there.iter().zip(&lost.lines).all(|(line, (_, own))| line == own)
            };
            let found = (0..file.lines.len()).filter(is_own).find(|at| lost.is_at(file, &path, *at, &mut known));
            if let Some(at) = found {
                file.lines[at..at + was.len()].copy_from_slice(&was);
            }
        }
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

/// Returns true if the author of a step has written the line, and no earlier one.
fn may_be_copy(line: &Line) -> bool {
    line.origin.is_none() && matches!(line.owner, Owner::Author(_))
}

/// What is known of the files after a step: where their lines begin, and their digests, found on first use.
#[derive(Default)]
struct Known {
    /// How many lines were compared, in all steps.
    compared: usize,
    starts: HashMap<BString, Vec<usize>>,
    digests: HashMap<BString, HashMap<u64, Vec<usize>>>,
}

/// A text, and where its lines begin.
struct Text<'t> {
    text: &'t [u8],
    starts: &'t [usize],
}

impl Known {
    fn text<'t>(&'t mut self, path: &BString, file: &'t File) -> Text<'t> {
        let text = file.text();
        let begin = |line: &'t [u8]| line.as_ptr().addr() - text.as_ptr().addr();
        let starts =
            self.starts.entry(path.clone()).or_insert_with(|| text.lines_with_terminator().map(begin).collect());
        Text { text, starts }
    }

    fn digests(&mut self, path: &BString, file: &File) -> &HashMap<u64, Vec<usize>> {
        self.digests.entry(path.clone()).or_insert_with(|| {
            let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
            for (at, line) in file.text().lines_with_terminator().enumerate().take(file.lines.len()) {
                places.entry(digest(line)).or_default().push(at);
            }
            places
        })
    }
}

impl Text<'_> {
    fn line(&self, at: usize) -> &[u8] {
        let end = self.starts.get(at + 1).copied().unwrap_or(self.text.len());
        self.starts.get(at).map_or(b"", |start| &self.text[*start..end])
    }
}
