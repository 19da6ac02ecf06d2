//! Lines that one step takes out of a file, and another step adds to a file, in either order: they were moved and keep their owners.
//! `moves` finds those that one step moves.
//!
//! Between two steps there may be any others, so the evidence is stronger: all lines that were lost in one place are in a row in the
//! other place. If a file was thrown away, another one may begin as it did, for example with a licence, and has none of its lines.

use std::collections::{BTreeMap, HashMap, HashSet};

use bstr::{BString, ByteSlice as _};

use super::{
    Owner, TELLING_LETTERS, TELLING_LINES,
    align::{digest, is_letter_or_digit, is_telling, key},
    file::{Deleted, File, Line, Origin},
    work::Outcome,
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
    /// How often lines with a digest were written.
    written: HashMap<u64, u32>,
}

impl Step {
    /// Adds what happened to the file at `path`. If `is_of_commit`, that may be that the commit leaves out lines that the worktree
    /// still has: only base lines are lost for certain.
    pub(super) fn add(&mut self, path: &BString, outcome: &Outcome, is_of_commit: bool) {
        if outcome.is_cut_off {
            return;
        }
        for row in outcome.deleted.chunk_by(|one, next| one.at + 1 == next.at) {
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

    /// Returns true if the lines of `text` from `at` on are these.
    fn is_at(&self, text: &Text<'_>, at: usize) -> bool {
        at + self.lines.len() <= text.starts.len()
            && self.lines.iter().zip(at..).all(|((own, _), at)| key(text.line(at)) == key(own))
    }

    /// Returns true if a later step has written the lines of `file` from `at` on, and they are as these.
    fn is_copied_to(&self, (file, text): (&File, &Text<'_>), at: usize) -> bool {
        let there = file.lines.get(at..at + self.lines.len()).unwrap_or_default();
        let is_younger = |(copy, (_, own)): (&Line, &(Box<[u8]>, Line))| {
            may_be_copy(copy) && (copy.born > own.born || copy.owner == own.owner)
        };
        !there.is_empty() && there.iter().zip(&self.lines).all(is_younger) && self.is_at(text, at)
    }

    /// Gives the lines of `file` from `at` on the owners of these, and adds the origins of base lines to `moved`.
    fn place(&self, file: &mut File, at: usize, moved: &mut Vec<Origin>) {
        for (line, (_, own)) in file.lines[at..].iter_mut().zip(&self.lines) {
            *line = *own;
            moved.extend(own.origin);
        }
    }
}

impl MovedLater {
    /// Finds the lines that the last step of `files` has lost after an earlier step had copied them, and those that it has written
    /// after an earlier step had lost them. They get the owners that they had. Returns the base lines among them.
    pub(super) fn find(&mut self, files: &mut HashMap<BString, File>, step: Step) -> Vec<Origin> {
        let (mut starts, mut moved) = (Starts::default(), Vec::new());
        self.take_back(files, &step, &mut starts, &mut moved);
        for digest in step.written.iter().flat_map(|(_, written)| written).map(|(_, digest)| *digest) {
            *self.written.entry(digest).or_default() += 1;
        }
        let mut copies = None;
        for lost in step.lost {
            let copy = if self.is_copied(&lost) {
                let copies = copies.get_or_insert_with(|| Copies::of(files, &mut starts));
                copies.find(files, &mut starts, &lost)
            } else {
                None
            };
            match copy {
                Some((path, at)) => lost.place(files.get_mut(&path).expect("it has a copy"), at, &mut moved),
                None => self.remember(lost),
            }
        }
        moved
    }

    /// Finds lines that `step` has written and that earlier steps had lost.
    fn take_back(
        &mut self,
        files: &mut HashMap<BString, File>,
        step: &Step,
        starts: &mut Starts,
        moved: &mut Vec<Origin>,
    ) {
        for (path, written) in &step.written {
            for (at, digest) in written {
                let Some(known) = self.by_first.get(digest) else { continue };
                let mut is_here = |lost: &Lost| {
                    let is_copied = |file| lost.is_copied_to((file, &starts.text(path, file)), *at);
                    files.get(path).is_some_and(is_copied) && !is_still_there(files, starts, lost)
                };
                let mut newest = known.iter().rev().take(MOST_CANDIDATES);
                let found = newest.find(|key| is_here(&self.lost[key])).copied();
                if let (Some(lost), Some(file)) = (found.and_then(|key| self.forget(key)), files.get_mut(path)) {
                    lost.place(file, *at, moved);
                }
            }
        }
    }

    /// Returns true if all lines of `lost` were written once, beyond how they came into the file that lost them.
    fn is_copied(&self, lost: &Lost) -> bool {
        let telling = lost.lines.iter().filter(|(text, _)| is_telling(text));
        let times = |digest: &u64| self.written.get(digest).copied().unwrap_or_default();
        telling.zip(&lost.digests).all(|((_, line), digest)| times(digest) > u32::from(line.origin.is_none()))
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

/// Returns true if the file that lost the lines has them again.
fn is_still_there(files: &HashMap<BString, File>, starts: &mut Starts, lost: &Lost) -> bool {
    files.get(&lost.path).is_some_and(|file| {
        let has_first = starts.digests(&lost.path, file).contains(&lost.digests[0]);
        let text = starts.text(&lost.path, file);
        has_first && (0..text.starts.len()).any(|at| lost.is_at(&text, at))
    })
}

/// Returns true if the author of a step has written the line, and no earlier one.
fn may_be_copy(line: &Line) -> bool {
    line.origin.is_none() && matches!(line.owner, Owner::Author(_))
}

/// Where the lines of files begin, and their digests, found on first use.
#[derive(Default)]
struct Starts {
    starts: HashMap<BString, Vec<usize>>,
    digests: HashMap<BString, HashSet<u64>>,
}

/// A text, and where its lines begin.
struct Text<'t> {
    text: &'t [u8],
    starts: &'t [usize],
}

impl Starts {
    fn text<'t>(&'t mut self, path: &BString, file: &'t File) -> Text<'t> {
        let text = file.text();
        let begin = |line: &'t [u8]| line.as_ptr().addr() - text.as_ptr().addr();
        let starts =
            self.starts.entry(path.clone()).or_insert_with(|| text.lines_with_terminator().map(begin).collect());
        Text { text, starts }
    }

    fn digests(&mut self, path: &BString, file: &File) -> &HashSet<u64> {
        let all = || file.text().lines_with_terminator().map(digest).collect();
        self.digests.entry(path.clone()).or_insert_with(all)
    }
}

impl Text<'_> {
    fn line(&self, at: usize) -> &[u8] {
        let end = self.starts.get(at + 1).copied().unwrap_or(self.text.len());
        self.starts.get(at).map_or(b"", |start| &self.text[*start..end])
    }
}

/// The telling lines that may be copies, by their digests: their files and places.
struct Copies(HashMap<u64, Vec<(BString, usize)>>);

impl Copies {
    fn of(files: &HashMap<BString, File>, starts: &mut Starts) -> Self {
        let mut all: HashMap<u64, Vec<(BString, usize)>> = HashMap::new();
        for (path, file) in files.iter().filter(|(_, file)| file.lines.iter().any(may_be_copy)) {
            let text = starts.text(path, file);
            for (at, _) in file.lines.iter().enumerate().filter(|(_, line)| may_be_copy(line)) {
                if is_telling(text.line(at)) {
                    all.entry(digest(text.line(at))).or_default().push((path.clone(), at));
                }
            }
        }
        for places in all.values_mut() {
            places.sort_unstable();
        }
        Self(all)
    }

    /// Returns the file that has a copy of the lines, and where; the first one by its path.
    fn find(&self, files: &HashMap<BString, File>, starts: &mut Starts, lost: &Lost) -> Option<(BString, usize)> {
        let telling = lost.lines.iter().enumerate().filter(|(_, (text, _))| is_telling(text));
        // The line that the fewest places have is the quickest to find.
        let places = telling.zip(&lost.digests).map(|((offset, _), digest)| (offset, self.0.get(digest)));
        let (offset, places) = places.min_by_key(|(_, places)| places.map_or(0, Vec::len))?;
        let places = places?.iter().take(MOST_CANDIDATES);
        let mut places = places.filter_map(|(path, at)| Some((path, at.checked_sub(offset)?)));
        let is_copy = |(path, at): &(&BString, usize)| {
            files.get(*path).is_some_and(|file| lost.is_copied_to((file, &starts.text(path, file)), *at))
        };
        places.find(is_copy).map(|(path, at)| (path.clone(), at))
    }
}
