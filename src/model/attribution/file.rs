//! A file between two steps: its content, the owner of each line, and the lines deleted so far.

use std::ops::Range;

use bstr::ByteSlice as _;

use super::{AuthorId, Content, Owner};
use crate::model::line_diff::Edit;

/// Like git, we look for NUL in this many bytes at the start to distinguish binary files from text.
const FIRST_FEW_BYTES: usize = 8000;
/// How many deleted lines of a file are kept; those of earlier steps are dropped first.
const MOST_GRAVES: usize = 20_000;
/// A longer line is not remembered.
const LONGEST_GRAVE: usize = 4096;

/// A line of the base: which file, which line, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) file: u32,
    pub(super) line: u32,
}

/// Who changes a file in a step.
#[derive(Clone, Copy)]
pub(super) struct Writer {
    pub(super) author: AuthorId,
    /// The number of the step, from 1; 0 outside of a replay.
    pub(super) step: u32,
}

/// A line's owner and origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) owner: Owner,
    /// Only of base lines.
    pub(super) origin: Option<Origin>,
    /// The number of the step that added the line or edited it; 0 for a base line.
    pub(super) born: u32,
}

impl Line {
    pub(super) fn by(writer: Writer) -> Self {
        Self { owner: Owner::Author(writer.author), origin: None, born: writer.step }
    }

    /// Returns the line after `writer` edited it and rewrote `share` percent of it.
    pub(super) fn edited(self, writer: Writer, share: u8) -> Self {
        let owner = edited(self.owner, writer.author, share);
        Self { owner, origin: self.origin.filter(|_| owner == Owner::Base), born: writer.step }
    }
}

fn edited(owner: Owner, author: AuthorId, share: u8) -> Owner {
    // The author's earlier part of the line stays the author's.
    let more = |had: u8| share + u8::try_from(u32::from(100 - share) * u32::from(had) / 100).unwrap_or(0);
    match owner {
        Owner::Author(before) if before == author => owner,
        Owner::Author(before) => Owner::Mixed { of: author, over: Some(before), share },
        Owner::Base => Owner::Mixed { of: author, over: None, share },
        Owner::Mixed { of, over, share: had } if of == author => Owner::Mixed { of, over, share: more(had) },
        Owner::Mixed { of, over: Some(over), share: had } if over == author => {
            Owner::Mixed { of: author, over: Some(of), share: more(100 - had) }
        }
        Owner::Mixed { of, over, share: had } => {
            Owner::Mixed { of: author, over: if had >= 50 { Some(of) } else { over }, share }
        }
    }
}

/// A deleted line, which a later step may restore.
#[derive(Clone, Debug)]
pub(super) struct Grave {
    /// Its place was between these lines of the file, counted as gaps: gap 0 is above the first line.
    pub(super) first_gap: usize,
    pub(super) last_gap: usize,
    pub(super) text: Box<[u8]>,
    pub(super) line: Line,
}

/// A line that a step deleted.
pub(super) struct Deleted {
    /// Its number in the content before, from 0.
    pub(super) at: usize,
    pub(super) grave: Grave,
    pub(super) by: AuthorId,
    /// A new line has a part of it.
    pub(super) is_edited: bool,
}

/// A file as the last step left it.
#[derive(Clone, Debug)]
pub(super) struct File {
    /// None while it is deleted.
    pub(super) content: Option<Content>,
    pub(super) lines: Vec<Line>,
    pub(super) graves: Vec<Grave>,
    /// The author who changed it last: the owner of a file without lines.
    pub(super) whole: Owner,
    pub(super) is_cut_off: bool,
}

impl File {
    pub(super) fn absent() -> Self {
        Self { content: None, lines: Vec::new(), graves: Vec::new(), whole: Owner::Base, is_cut_off: false }
    }

    /// Returns a file of the base.
    pub(super) fn base(content: Option<Content>, file: u32) -> Self {
        let count = line_count(text(content.as_ref()));
        let lines =
            (0..count).map(|line| Line { owner: Owner::Base, origin: Some(Origin { file, line }), born: 0 }).collect();
        Self { content, lines, ..Self::absent() }
    }

    pub(super) fn text(&self) -> &[u8] {
        text(self.content.as_ref())
    }

    /// Returns the lines of the file as those of a deleted one.
    pub(super) fn as_deleted(&self) -> Vec<Grave> {
        let lines = self.text().lines_with_terminator().zip(&self.lines).take(MOST_GRAVES);
        let lines = lines.filter(|(text, _)| text.len() <= LONGEST_GRAVE);
        lines.map(|(text, line)| Grave { first_gap: 0, last_gap: 0, text: text.into(), line: *line }).collect()
    }

    /// Keeps the lines that `edits` deleted, so that a later step can restore them.
    ///
    /// Moves the graves that are there (the places of lines deleted before) to the new content; those of replaced lines may be
    /// anywhere in the new ones. Graves that share a place stay in the order that their lines had.
    pub(super) fn bury(&mut self, edits: &[(Range<usize>, Range<usize>)], deleted: Vec<Deleted>) {
        if edits.is_empty() {
            return;
        }
        // Gap 1 is below line 0, and above line 1.
        let mut all: Vec<((usize, bool), Grave)> = Vec::with_capacity(self.graves.len() + deleted.len());
        for mut grave in self.graves.drain(..) {
            let place = (grave.first_gap, false);
            grave.first_gap = shifted(edits, grave.first_gap, |new| new.start);
            grave.last_gap = shifted(edits, grave.last_gap, |new| new.end);
            all.push((place, grave));
        }
        let deleted = deleted.into_iter().filter(|it| it.grave.text.len() <= LONGEST_GRAVE);
        all.extend(deleted.map(|it| ((it.at, true), it.grave)));
        let surplus = all.len().saturating_sub(MOST_GRAVES);
        all.drain(..surplus);
        all.sort_by_key(|(place, _)| *place);
        self.graves = all.into_iter().map(|(_, grave)| grave).collect();
    }
}

/// Returns the gap of the new lines for a gap of the old ones; `within` an edit's lines it is one end of the new ones.
fn shifted(edits: &[(Range<usize>, Range<usize>)], gap: usize, within: impl Fn(&Range<usize>) -> usize) -> usize {
    let after = edits.partition_point(|(old, _)| old.start <= gap);
    let Some((old, new)) = after.checked_sub(1).map(|at| &edits[at]) else { return gap };
    if gap <= old.end { within(new) } else { gap - old.end + new.end }
}

/// Returns the text whose lines count, which is empty if git treats the content as binary.
pub(super) fn text(content: Option<&Content>) -> &[u8] {
    match content {
        Some(Content::Bytes(bytes)) if !is_binary(bytes) => bytes,
        _ => b"",
    }
}

/// Returns true if the content exists and has no lines.
pub(super) fn has_no_lines(content: Option<&Content>) -> bool {
    match content {
        Some(Content::Bytes(bytes)) => is_binary(bytes),
        Some(Content::Opaque(_)) => true,
        None => false,
    }
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(FIRST_FEW_BYTES)].find_byte(0).is_some()
}

pub(super) fn line_count(text: &[u8]) -> u32 {
    let unterminated = text.last().is_some_and(|&byte| byte != b'\n');
    u32::try_from(feeds(text) + usize::from(unterminated)).unwrap_or(u32::MAX)
}

/// So many bytes are counted at a time: a byte holds the count, which compilers turn into few instructions.
const COUNTED: usize = 240;

/// Returns how many line feeds `text` has.
fn feeds(text: &[u8]) -> usize {
    text.chunks(COUNTED).map(feeds_of_block).sum()
}

fn feeds_of_block(block: &[u8]) -> usize {
    usize::from(block.iter().fold(0u8, |count, byte| count + u8::from(*byte == b'\n')))
}

/// Returns how many bytes the first `count` lines of `text` have.
fn length_of_lines(text: &[u8], count: usize) -> usize {
    let (mut left, mut at) = (count, 0);
    for block in text.chunks(COUNTED) {
        let feeds = feeds_of_block(block);
        if feeds >= left {
            break;
        }
        (left, at) = (left - feeds, at + block.len());
    }
    let last = left.checked_sub(1).map(|last| text[at..].find_iter(b"\n").nth(last));
    last.map_or(0, |end| end.map_or(text.len(), |end| at + end + 1))
}

/// Returns the old and the new lines of each of `hunks`, which are in `parts`.
pub(super) fn hunk_lines<'t>(parts: [&'t [u8]; 2], hunks: &[Edit]) -> Vec<[Vec<&'t [u8]>; 2]> {
    let [mut old, mut new] = parts;
    let mut line = 0;
    hunks
        .iter()
        .map(|(gone, come)| {
            let common = length_of_lines(old, gone.start - line);
            (old, new) = (&old[common..], &new[common..]);
            line = gone.end;
            [take_lines(&mut old, gone.len()), take_lines(&mut new, come.len())]
        })
        .collect()
}

/// Takes the first `count` lines off `text`.
fn take_lines<'t>(text: &mut &'t [u8], count: usize) -> Vec<&'t [u8]> {
    let lines: Vec<&[u8]> = text.lines_with_terminator().take(count).collect();
    *text = &text[lines.iter().map(|line| line.len()).sum()..];
    lines
}
