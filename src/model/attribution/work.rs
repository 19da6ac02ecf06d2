//! One step in one file: finds the old line that each new line comes from.
//!
//! In this order: common lines of the diff; lines that differ only in blanks; lines that were deleted before and are
//! back; (in `moves`) moved blocks; lines that the step has from elsewhere; (in `words`) rewrapped or edited lines. The rest
//! belongs to the author.

use std::{collections::HashSet, ops::Range};

use super::{
    AuthorId, Differ, FileOwnership, Limits, Owner,
    align::{Alignment, Pair, digest, is_telling, pairs_without_blanks},
    file::{Deleted, File, Grave, Line, Writer, hunk_lines, line_count},
    words::{self, Derived},
};
use crate::model::{common_ends::common_ends, line_diff::Edit};

/// How many common lines around the difference the algorithm gets, for git's indent heuristic.
const MARGIN: usize = 100;

/// If very many lines are replaced by as many, they are compared word by word in groups of this size.
const PARALLEL_LINES: usize = 32;
/// How many deleted lines around a place (and four more for each line there) are compared with the new lines: the last
/// ones.
const MOST_NEAR: usize = 400;

/// What differs in a file before and after a step. Of the lines that both have, only one between two hunks is counted here, so
/// that each step in a long file costs what it changes.
pub(super) struct Work<'t> {
    pub(super) old: Vec<&'t [u8]>,
    pub(super) new: Vec<&'t [u8]>,
    /// The owners of the old lines.
    pub(super) known: Vec<Line>,
    /// The lines that replace each other.
    pub(super) hunks: Vec<Edit>,
    /// The same, counted in the whole file.
    edits: Vec<Edit>,
    /// The owners of the new lines; none while open.
    pub(super) placed: Vec<Option<Line>>,
    /// Old lines that are kept in the new content, or in another file.
    pub(super) lives: Vec<bool>,
    /// New lines that were moved from another file of the step, and the number of that.
    pub(super) arrived: Vec<(Range<usize>, usize)>,
    /// The owners of the old lines of the part of the file that differs, and where it begins.
    around: &'t [Line],
    skip: usize,
    /// Deleted lines that were restored.
    reopened: HashSet<usize>,
    /// Pairs of lines in the hunks that differ only in blanks.
    formatted: Vec<Pair>,
    pub(super) is_cut_off: bool,
}

/// What a step does to a file, apart from its content.
pub(super) struct Outcome {
    /// The edits, in lines of the whole file.
    pub(super) edits: Vec<Edit>,
    /// The owners of their new lines.
    lines: Vec<Line>,
    /// The part of the new content in which the edits are.
    pub(super) part: Range<usize>,
    /// The deleted lines; a line that was edited is among them.
    pub(super) deleted: Vec<Deleted>,
    /// Lines that are back.
    pub(super) reopened: HashSet<usize>,
    /// The telling lines that the author wrote: the number of each in the new content, and a digest of it without blanks.
    pub(super) written: Vec<(usize, u64)>,
    /// The lines that were moved there from other files of the step.
    pub(super) arrived: Vec<Arrived>,
    pub(super) is_cut_off: bool,
}

/// Lines that a step has moved from another file.
pub(super) struct Arrived {
    /// The number of that file in the step.
    pub(super) from: usize,
    pub(super) lines: Vec<(Box<[u8]>, Line)>,
}

impl Outcome {
    /// Makes `lines`, the owners of the old lines of the whole file, those of the new ones.
    pub(super) fn place(&self, lines: &mut Vec<Line>) {
        let mut rest = self.lines.as_slice();
        if self.edits.iter().all(|(gone, come)| gone.len() == come.len()) {
            for (gone, come) in &self.edits {
                let (own, others) = rest.split_at(come.len());
                lines[gone.clone()].copy_from_slice(own);
                rest = others;
            }
            return;
        }
        let (mut placed, mut from) = (Vec::with_capacity(lines.len() + self.lines.len()), 0);
        for (gone, come) in &self.edits {
            let (own, others) = rest.split_at(come.len());
            placed.extend_from_slice(&lines[from..gone.start]);
            placed.extend_from_slice(own);
            (from, rest) = (gone.end, others);
        }
        placed.extend_from_slice(&lines[from..]);
        *lines = placed;
    }
}

impl<'t> Work<'t> {
    /// Compares the contents, and places the lines that are certain within the file.
    pub(super) fn new(differ: &Differ<'_>, limits: &Limits, file: &'t File, after: &'t [u8]) -> Self {
        let before = file.text();
        let (top, bottom) = common_ends(before, after, MARGIN);
        let skip = line_count(&before[..top]) as usize;
        let count = file.lines.len() - skip - line_count(&before[before.len() - bottom..]) as usize;
        let parts @ [old, new] = [before, after].map(|text| &text[top..text.len() - bottom]);
        let is_long = |text: &[u8]| text.len() > limits.lines && line_count(text) as usize > limits.lines;
        let is_cut_off = old.len().max(new.len()) > limits.file_bytes || is_long(old) || is_long(new);
        let Alignment { hunks, formatted } = if old.is_empty() && new.is_empty() {
            Alignment { hunks: Vec::new(), formatted: Vec::new() }
        } else if is_cut_off || old.is_empty() || new.is_empty() {
            Alignment { hunks: vec![(0..count, 0..line_count(new) as usize)], formatted: Vec::new() }
        } else {
            Alignment::new(differ, parts, differ.edits_of_versions([before, after], [top, bottom]))
        };
        let mut work = Self {
            old: Vec::new(),
            new: Vec::new(),
            known: Vec::new(),
            hunks: Vec::new(),
            edits: Vec::new(),
            placed: Vec::new(),
            lives: Vec::new(),
            arrived: Vec::new(),
            around: &file.lines[skip..skip + count],
            skip,
            reopened: HashSet::new(),
            formatted: Vec::new(),
            is_cut_off,
        };
        let mut formatted = formatted.into_iter().peekable();
        for ((gone, come), [old, new]) in hunks.iter().zip(hunk_lines(parts, &hunks)) {
            if !work.hunks.is_empty() {
                work.add_common(work.around[gone.start - 1]);
            }
            let (from, to) = (work.old.len(), work.new.len());
            work.add_hunk(old, new, gone.clone(), come.clone());
            while let Some((old, new)) = formatted.next_if(|(old, _)| *old < gone.end) {
                work.formatted.push((from + old - gone.start, to + new - come.start));
            }
        }
        work.place_formatted();
        if !is_cut_off {
            work.place_restored(differ, &file.graves);
        }
        work
    }

    /// Adds a line that both contents have.
    fn add_common(&mut self, line: Line) {
        self.old.push(b"");
        self.new.push(b"");
        self.known.push(line);
        self.lives.push(true);
        self.placed.push(Some(line));
    }

    /// Adds a hunk, which is in the lines `gone` and `come` of the part.
    fn add_hunk(&mut self, old: Vec<&'t [u8]>, new: Vec<&'t [u8]>, gone: Range<usize>, come: Range<usize>) {
        let (from, to) = (self.old.len(), self.new.len());
        self.known.extend_from_slice(&self.around[gone.clone()]);
        self.old.extend(old);
        self.new.extend(new);
        self.lives.resize(self.old.len(), false);
        self.placed.resize(self.new.len(), None);
        self.hunks.push((from..self.old.len(), to..self.new.len()));
        let whole = |range: Range<usize>| range.start + self.skip..range.end + self.skip;
        self.edits.push((whole(gone), whole(come)));
    }

    fn carry(&mut self, old: usize, new: usize) {
        self.placed[new] = Some(self.known[old]);
        self.lives[old] = true;
    }

    fn place_formatted(&mut self) {
        for (old, new) in self.formatted.clone() {
            self.carry(old, new);
        }
    }

    /// Finds lines that were deleted here before, by any author: they get their owner back.
    fn place_restored(&mut self, differ: &Differ<'_>, graves: &[Grave]) {
        if graves.is_empty() {
            return;
        }
        let places = Places::new(graves);
        for (at, (_, come)) in self.hunks.clone().into_iter().enumerate() {
            let open: Vec<usize> = come.filter(|&new| self.placed[new].is_none()).collect();
            if open.is_empty() {
                continue;
            }
            let (gone, _) = &self.edits[at];
            let mut near = places.between(gone.start, gone.end);
            near.retain(|at| !self.reopened.contains(at));
            near.sort_unstable();
            let most = MOST_NEAR + 4 * open.len();
            near.drain(..near.len().saturating_sub(most));
            near.sort_by_key(|&at| graves[at].first_gap);
            let texts: Vec<&[u8]> = near.iter().map(|&at| &*graves[at].text).collect();
            let lines: Vec<&[u8]> = open.iter().map(|&new| self.new[new]).collect();
            for (old, new) in pairs_without_blanks(differ, &texts, &lines) {
                self.placed[open[new]] = Some(graves[near[old]].line);
                self.reopened.insert(near[old]);
            }
        }
    }

    /// Places the remaining lines: those in `moved`, and those of replaced hunks: rewrapped, edited, or the author's.
    pub(super) fn finish(
        mut self,
        differ: &Differ<'_>,
        limits: &Limits,
        writer: Writer,
        moved: Option<&FileOwnership>,
    ) -> Outcome {
        let brought = self.place_brought(moved, writer.step);
        let mut edited = vec![false; self.old.len()];
        if !self.is_cut_off {
            for (gone, come) in self.parts() {
                self.place_edited(differ, limits, writer, &mut edited, (gone, come));
            }
        }
        let lines: Vec<Line> = self.placed.iter().map(|line| line.unwrap_or(Line::by(writer))).collect();
        let is_own = |line: &Line| line.owner == Owner::Author(writer.author);
        let is_written_here = || {
            let mut here = lines.iter().zip(&brought);
            here.any(|(line, by)| by.is_none() && is_own(line)) || self.common().any(is_own)
        };
        let whole = moved.and_then(|moved| moved.whole?.author());
        let bringer = brought.iter().flatten().next().copied().or(whole).filter(|_| !is_written_here());
        let (mut deleted, mut placed) = (Vec::new(), Vec::with_capacity(lines.len()));
        for ((gone, come), (old, new)) in self.hunks.iter().zip(&self.edits) {
            // What is from elsewhere has replaced the lines in its place; if all is from there, so are the other deletions.
            let by = brought[come.clone()].iter().flatten().next().copied().or(bringer).unwrap_or(writer.author);
            for (at, line) in old.clone().zip(gone.clone()).filter(|(_, line)| !self.lives[*line] || edited[*line]) {
                let (text, is_edited, line) = (self.old[line].into(), edited[line], self.known[line]);
                let grave = Grave { first_gap: new.start, last_gap: new.end, text, line };
                deleted.push(Deleted { at, grave, by, is_edited });
            }
            placed.extend_from_slice(&lines[come.clone()]);
        }
        let written = if self.is_cut_off || writer.step == 0 { Vec::new() } else { self.written() };
        let arrived = self.arrived.iter().map(|(lines_there, from)| Arrived {
            from: *from,
            lines: lines_there.clone().map(|at| (self.new[at].into(), lines[at])).collect(),
        });
        let arrived = arrived.collect();
        let (gone, come) = self.edits.iter().fold((0, 0), |(old, new), it| (old + it.0.len(), new + it.1.len()));
        Outcome {
            part: self.skip..self.skip + self.around.len() - gone + come,
            lines: placed,
            edits: self.edits,
            deleted,
            reopened: self.reopened,
            written,
            arrived,
            is_cut_off: self.is_cut_off,
        }
    }

    /// Returns the lines that are the author's, as [`Outcome::written`] has them.
    fn written(&self) -> Vec<(usize, u64)> {
        let places = self.hunks.iter().zip(&self.edits).flat_map(|((_, come), (_, new))| come.clone().zip(new.clone()));
        let own = places.filter(|(at, _)| self.placed[*at].is_none() && is_telling(self.new[*at]));
        own.map(|(at, line)| (line, digest(self.new[at]))).collect()
    }

    /// Returns the owners of the lines of the part that differs which both contents have.
    fn common(&self) -> impl Iterator<Item = &Line> {
        let end = self.skip + self.around.len();
        let starts = std::iter::once(self.skip).chain(self.edits.iter().map(|(gone, _)| gone.end));
        let ends = self.edits.iter().map(|(gone, _)| gone.start).chain([end]);
        starts.zip(ends).flat_map(|(start, end)| &self.around[start - self.skip..end - self.skip])
    }

    /// Places the lines that `moved` owns, and returns the author of each such line.
    fn place_brought(&mut self, moved: Option<&FileOwnership>, step: u32) -> Vec<Option<AuthorId>> {
        let mut brought = vec![None; self.new.len()];
        let Some(moved) = moved else { return brought };
        for ((_, come), (_, lines)) in self.hunks.iter().zip(&self.edits) {
            for (at, line) in come.clone().zip(lines.clone()) {
                let owner = moved.owner(u32::try_from(line + 1).unwrap_or(u32::MAX));
                if let (None, Some(by)) = (self.placed[at], owner.author()) {
                    self.placed[at] = Some(Line { owner, origin: None, born: step });
                    brought[at] = Some(by);
                }
            }
        }
        brought
    }

    /// The hunks, cut where lines only differ in blanks.
    fn parts(&self) -> Vec<Edit> {
        let mut parts = Vec::new();
        let mut pairs = self.formatted.iter().copied().peekable();
        for (gone, come) in &self.hunks {
            let (mut old, mut new) = (gone.start, come.start);
            while let Some((pair_old, pair_new)) = pairs.next_if(|(pair_old, _)| *pair_old < gone.end) {
                parts.push((old..pair_old, new..pair_new));
                (old, new) = (pair_old + 1, pair_new + 1);
            }
            parts.push((old..gone.end, new..come.end));
        }
        parts
    }

    fn place_edited(
        &mut self,
        differ: &Differ<'_>,
        limits: &Limits,
        writer: Writer,
        edited: &mut [bool],
        (gone, come): Edit,
    ) {
        let gone: Vec<usize> = gone.filter(|&old| !self.lives[old]).collect();
        let come: Vec<usize> = come.filter(|&new| self.placed[new].is_none()).collect();
        if gone.is_empty() || come.is_empty() {
            return;
        }
        let size = |lines: &[usize], texts: &[&[u8]]| lines.iter().map(|&at| texts[at].len()).sum::<usize>();
        let is_long = |lines: &[usize], texts: &[&[u8]]| lines.iter().any(|&at| texts[at].len() > limits.line_bytes);
        if is_long(&gone, &self.old) || is_long(&come, &self.new) {
            self.is_cut_off = true;
        } else if size(&gone, &self.old).max(size(&come, &self.new)) <= limits.hunk_bytes {
            self.place_words(differ, writer, edited, &gone, &come);
        } else if gone.len() == come.len() {
            // The whole place was replaced: each line is compared with its counterpart.
            for (gone, come) in gone.chunks(PARALLEL_LINES).zip(come.chunks(PARALLEL_LINES)) {
                self.place_words(differ, writer, edited, gone, come);
            }
        } else {
            self.is_cut_off = true;
        }
    }

    fn place_words(
        &mut self,
        differ: &Differ<'_>,
        writer: Writer,
        edited: &mut [bool],
        gone: &[usize],
        come: &[usize],
    ) {
        let old: Vec<&[u8]> = gone.iter().map(|&old| self.old[old]).collect();
        let new: Vec<&[u8]> = come.iter().map(|&new| self.new[new]).collect();
        let pairs = words::pair(differ, &old, &new);
        for (at, derived) in pairs.lines.into_iter().enumerate() {
            self.placed[come[at]] = match derived {
                Derived::New => None,
                Derived::Kept(old) => Some(self.known[gone[old]]),
                Derived::Edited(old, share) => {
                    edited[gone[old]] = true;
                    Some(self.known[gone[old]].edited(writer, share))
                }
            };
        }
        for old in pairs.kept {
            self.lives[gone[old]] = true;
        }
    }
}

/// An index of the graves, so that those of a place are found without looking at all.
struct Places<'g> {
    graves: &'g [Grave],
    /// By the first gap.
    order: Vec<usize>,
    /// The last gap of each and of all before it.
    until: Vec<usize>,
}

impl<'g> Places<'g> {
    fn new(graves: &'g [Grave]) -> Self {
        let mut order: Vec<usize> = (0..graves.len()).collect();
        order.sort_by_key(|&at| graves[at].first_gap);
        let gaps = order.iter().map(|&at| graves[at].last_gap);
        let until = gaps.scan(0, |most, gap| {
            *most = gap.max(*most);
            Some(*most)
        });
        Self { graves, until: until.collect(), order }
    }

    /// Returns the graves that may be between two gaps.
    fn between(&self, first: usize, last: usize) -> Vec<usize> {
        let end = self.order.partition_point(|&at| self.graves[at].first_gap <= last);
        let start = self.until.partition_point(|&until| until < first).min(end);
        self.order[start..end].iter().copied().filter(|&at| self.graves[at].last_gap >= first).collect()
    }
}
