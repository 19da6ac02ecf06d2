//! One step in one file: finds the old line that each new line comes from.
//!
//! In this order: common lines of the diff; lines that differ only in blanks; lines that were deleted before and are
//! back; (in `moves`) moved blocks; lines that the step has from elsewhere; (in `words`) rewrapped or edited lines. The rest
//! belongs to the author.

use std::{collections::HashSet, ops::Range};

use bstr::ByteSlice as _;

use super::{
    AuthorId, Differ, FileOwnership, Limits,
    align::{Alignment, Pair},
    file::{Deleted, File, Grave, Hands, Line, line_count},
    words::{self, Derived},
};
use crate::model::line_diff::Edit;

/// How many common lines around the difference the algorithm gets, for git's indent heuristic.
const MARGIN: usize = 100;

/// If very many lines are replaced by as many, they are compared word by word in groups of this size.
const PARALLEL_LINES: usize = 32;

/// The part of a file that differs before and after a step.
pub(super) struct Work<'t> {
    /// How many lines are above.
    pub(super) skip: usize,
    pub(super) old: Vec<&'t [u8]>,
    pub(super) new: Vec<&'t [u8]>,
    /// The owners of the old lines.
    pub(super) known: &'t [Line],
    /// The lines that replace each other, counted in this part.
    pub(super) hunks: Vec<Edit>,
    /// The owners of the new lines; none while open.
    pub(super) placed: Vec<Option<Line>>,
    /// Old lines that are kept in the new content, or in another file.
    pub(super) lives: Vec<bool>,
    /// The old lines that the new content has, each with its place there.
    pub(super) carried: Vec<Pair>,
    /// Deleted lines that were restored.
    pub(super) reopened: HashSet<usize>,
    /// Pairs of lines in the hunks that differ only in blanks.
    formatted: Vec<Pair>,
    pub(super) is_cut_off: bool,
}

/// What a step does to a file, apart from its content.
pub(super) struct Outcome {
    /// The replaced lines of the old content, and the owners of the new ones.
    pub(super) replaced: Range<usize>,
    pub(super) lines: Vec<Line>,
    /// The edits, in lines of the whole file.
    pub(super) edits: Vec<Edit>,
    /// The deleted lines; a line that was edited is among them.
    pub(super) deleted: Vec<Deleted>,
    /// Lines that are back.
    pub(super) reopened: HashSet<usize>,
    pub(super) is_cut_off: bool,
}

impl<'t> Work<'t> {
    /// Compares the contents, and places the lines that are certain within the file.
    pub(super) fn new(differ: &Differ<'_>, limits: &Limits, hands: Hands<'_>, file: &'t File, after: &'t [u8]) -> Self {
        let before = file.text();
        let (top, bottom) = common_ends(before, after);
        let skip = line_count(&before[..top]) as usize;
        let (before, after) = (&before[top..before.len() - bottom], &after[top..after.len() - bottom]);
        let split = |text: &'t [u8]| {
            // Room for as many lines as before, and some more.
            let mut lines: Vec<&[u8]> = Vec::with_capacity(file.lines.len() - skip + MARGIN);
            lines.extend(text.lines_with_terminator());
            lines
        };
        let (old, new) = (split(before), split(after));
        let is_cut_off = before.len().max(after.len()) > limits.file_bytes || old.len().max(new.len()) > limits.lines;
        let Alignment { hunks, formatted } = if old.is_empty() && new.is_empty() {
            Alignment { hunks: Vec::new(), formatted: Vec::new() }
        } else if is_cut_off || old.is_empty() || new.is_empty() {
            Alignment { hunks: vec![(0..old.len(), 0..new.len())], formatted: Vec::new() }
        } else {
            Alignment::new(differ, &old, &new, (differ.steps)(before, after))
        };
        let known = &file.lines[skip..skip + old.len()];
        let (placed, lives) = (vec![None; new.len()], vec![false; old.len()]);
        let (carried, reopened) = (Vec::new(), HashSet::new());
        let mut work = Self { skip, old, new, known, hunks, placed, lives, carried, reopened, formatted, is_cut_off };
        work.place_common();
        work.place_formatted();
        if !is_cut_off {
            work.place_restored(differ, hands, &file.graves);
        }
        work
    }

    fn carry(&mut self, old: usize, new: usize) {
        self.placed[new] = Some(self.known[old]);
        self.lives[old] = true;
        self.carried.push((old, new));
    }

    fn place_common(&mut self) {
        let (mut old, mut new) = (0, 0);
        let end = (self.old.len()..self.old.len(), self.new.len()..self.new.len());
        for (gone, come) in self.hunks.clone().into_iter().chain([end]) {
            while old < gone.start && new < come.start {
                self.carry(old, new);
                (old, new) = (old + 1, new + 1);
            }
            (old, new) = (gone.end, come.end);
        }
    }

    fn place_formatted(&mut self) {
        for (old, new) in self.formatted.clone() {
            self.carry(old, new);
        }
    }

    /// Places the remaining lines: those in `moved`, and those of replaced hunks: rewrapped, edited, or the author's.
    pub(super) fn finish(
        mut self,
        differ: &Differ<'_>,
        limits: &Limits,
        (author, hands): (AuthorId, Hands<'_>),
        file: &File,
        moved: Option<&FileOwnership>,
    ) -> Outcome {
        let brought = self.place_brought(moved);
        let mut edited = vec![false; self.old.len()];
        if !self.is_cut_off {
            for (gone, come) in self.parts() {
                self.place_edited(differ, limits, author, &mut edited, (gone, come));
            }
        }
        self.doubt(hands, file, &edited);
        let lines: Vec<Line> = self.placed.iter().map(|line| line.unwrap_or(Line::by(author))).collect();
        let is_written_here = brought.iter().zip(&lines).any(|(by, line)| by.is_none() && *line == Line::by(author));
        let whole = moved.and_then(|moved| moved.whole?.author());
        let bringer = brought.iter().flatten().next().copied().or(whole).filter(|_| !is_written_here);
        let mut deleted = Vec::new();
        for (gone, come) in &self.hunks {
            // What is from elsewhere has replaced the lines in its place; if all is from there, so are the other deletions.
            let by = brought[come.clone()].iter().flatten().next().copied().or(bringer).unwrap_or(author);
            let dead = gone.clone().filter(|&old| !self.lives[old] || edited[old]);
            let grave = |old: usize| Grave {
                first_gap: self.skip + come.start,
                last_gap: self.skip + come.end,
                text: self.old[old].into(),
                line: self.known[old],
                burial: 0,
            };
            deleted.extend(dead.map(|old| Deleted { at: self.skip + old, grave: grave(old), by }));
        }
        let moved = |range: &Range<usize>| range.start + self.skip..range.end + self.skip;
        Outcome {
            replaced: self.skip..self.skip + self.old.len(),
            lines,
            edits: self.hunks.iter().map(|(gone, come)| (moved(gone), moved(come))).collect(),
            deleted,
            reopened: self.reopened,
            is_cut_off: self.is_cut_off,
        }
    }

    /// Places the lines that `moved` owns, and returns the author of each such line.
    fn place_brought(&mut self, moved: Option<&FileOwnership>) -> Vec<Option<AuthorId>> {
        let mut brought = vec![None; self.new.len()];
        let Some(moved) = moved else { return brought };
        for (at, placed) in self.placed.iter_mut().enumerate().filter(|(_, placed)| placed.is_none()) {
            let owner = moved.owner(u32::try_from(self.skip + at + 1).unwrap_or(u32::MAX));
            if let Some(by) = owner.author() {
                *placed = Some(Line { owner, origin: None });
                brought[at] = Some(by);
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
        author: AuthorId,
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
            self.place_words(differ, author, edited, &gone, &come);
        } else if gone.len() == come.len() {
            // The whole place was replaced: each line is compared with its counterpart.
            for (gone, come) in gone.chunks(PARALLEL_LINES).zip(come.chunks(PARALLEL_LINES)) {
                self.place_words(differ, author, edited, gone, come);
            }
        } else {
            self.is_cut_off = true;
        }
    }

    fn place_words(
        &mut self,
        differ: &Differ<'_>,
        author: AuthorId,
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
                Derived::Kept(old) => {
                    self.carried.push((gone[old], come[at]));
                    Some(self.known[gone[old]])
                }
                Derived::Edited(old, share) => {
                    edited[gone[old]] = true;
                    Some(self.known[gone[old]].edited(author, share))
                }
            };
        }
        for old in pairs.kept {
            self.lives[gone[old]] = true;
        }
    }
}

/// An index of the graves, so that those of a place are found without looking at all.
pub(super) struct Places<'g> {
    graves: &'g [Grave],
    /// By the first gap.
    order: Vec<usize>,
    /// The last gap of each and of all before it.
    until: Vec<usize>,
}

impl<'g> Places<'g> {
    pub(super) fn new(graves: &'g [Grave]) -> Self {
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
    pub(super) fn between(&self, first: usize, last: usize) -> Vec<usize> {
        let end = self.order.partition_point(|&at| self.graves[at].first_gap <= last);
        let start = self.until.partition_point(|&until| until < first).min(end);
        self.order[start..end].iter().copied().filter(|&at| self.graves[at].last_gap >= first).collect()
    }
}

/// Returns how many bytes at both ends are whole common lines, less a margin.
fn common_ends(before: &[u8], after: &[u8]) -> (usize, usize) {
    if before == after {
        return (before.len(), 0);
    }
    let top = common_start(before, after);
    let top = lines_up(&before[..top], MARGIN + 1);
    let (before, after) = (&before[top..], &after[top..]);
    let bottom = common_end(before, after);
    (top, lines_down(&before[before.len() - bottom..], MARGIN + 1))
}

/// How many bytes are compared at a time: byte by byte would dominate a step in a long file.
const BLOCK: usize = 512;

/// Returns how many bytes both begin with.
fn common_start(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.chunks_exact(BLOCK).zip(other.chunks_exact(BLOCK)).take_while(|(a, b)| a == b).count();
    let rest = one[blocks * BLOCK..].iter().zip(&other[blocks * BLOCK..]);
    blocks * BLOCK + rest.take_while(|(a, b)| a == b).count()
}

/// Returns how many bytes both end with.
fn common_end(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.rchunks_exact(BLOCK).zip(other.rchunks_exact(BLOCK)).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[..one.len() - blocks * BLOCK], &other[..other.len() - blocks * BLOCK]);
    blocks * BLOCK + one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Returns the length of `text` without its last `count` lines, the last of which is a part.
fn lines_up(text: &[u8], count: usize) -> usize {
    text.rfind_iter(b"\n").nth(count - 1).map_or(0, |at| at + 1)
}

/// Returns the length of `text` without its first `count` lines, the first of which is a part.
fn lines_down(text: &[u8], count: usize) -> usize {
    text.find_iter(b"\n").nth(count - 1).map_or(0, |at| text.len() - at - 1)
}
