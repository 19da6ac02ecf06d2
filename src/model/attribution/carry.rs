//! Carries the spans of recorded blobs to the blobs of a rewritten commit.

use std::ops::Range;

use super::{
    AuthorId, Content, Differ, Limits, Owner, Span,
    file::{File, Line, Writer},
    moves, spans as spans_of,
    work::{Outcome, Work},
};

/// A recorded file, and what another version of the commit has there.
#[derive(Clone, Copy, Debug)]
pub struct Version<'v> {
    /// The spans of `before`.
    pub spans: &'v [Span],
    /// The recorded content.
    pub before: &'v [u8],
    /// The content in the other version.
    pub after: &'v [u8],
}

/// Returns the spans of `after` if those of `before` are `spans`, and `author` made the difference (as in a conflict's
/// resolution).
///
/// The rules are those of a step: reformatted, rewrapped or moved lines keep their owner. Lines of `before` without a
/// span have none in `after`, either.
pub fn carry(differ: &Differ<'_>, spans: &[Span], before: &[u8], after: &[u8], author: AuthorId) -> Vec<Span> {
    carry_all(differ, &[Version { spans, before, after }], author).remove(0)
}

/// Does the same for several files at once: lines that were moved from one to another keep their owner, too.
pub fn carry_all(differ: &Differ<'_>, files: &[Version<'_>], author: AuthorId) -> Vec<Vec<Span>> {
    let limits = Limits::default();
    let mut known: Vec<File> = (0..).zip(files).map(|(at, version)| recorded(version, at)).collect();
    let afters: Vec<Content> = files.iter().map(|version| Content::Bytes(version.after.to_vec())).collect();
    let new = |(file, after)| Work::new(differ, &limits, file, super::file::text(Some(after)));
    let mut works: Vec<Work<'_>> = known.iter().zip(&afters).map(new).collect();
    moves::place_moved(&mut works);
    let finish = |work: Work<'_>| work.finish(differ, &limits, Writer { author, step: 0 }, None);
    let outcomes: Vec<Outcome> = works.into_iter().map(finish).collect();
    let carried = known.iter_mut().zip(outcomes).map(|(file, outcome)| {
        let mut lines = std::mem::take(&mut file.lines);
        outcome.place(&mut lines);
        let lines = lines.iter().enumerate();
        spans_of(lines.filter(|(_, line)| line.origin.is_none()).map(|(at, line)| (at, line.owner)))
    });
    carried.collect()
}

/// Returns the file number `at` as it was recorded.
fn recorded(version: &Version<'_>, at: u32) -> File {
    let mut file = File::base(Some(Content::Bytes(version.before.to_vec())), at);
    for span in version.spans {
        let lines = span.start.saturating_sub(1) as usize..(span.end as usize).min(file.lines.len());
        for line in file.lines.get_mut(lines).unwrap_or_default() {
            // A line with an origin is a base line, which has no span.
            *line = Line { owner: span.owner, origin: None, born: 0 };
        }
    }
    file
}

/// Returns the spans of the lines `added` (from 0, in order): those of `spans`, and `otherwise` for lines without one.
pub fn restrict(spans: &[Span], added: &[Range<usize>], otherwise: Owner) -> Vec<Span> {
    let owner = |line: usize| {
        let at = spans.partition_point(|span| (span.end as usize) <= line);
        spans.get(at).filter(|span| span.start as usize <= line + 1).map_or(otherwise, |span| span.owner)
    };
    spans_of(added.iter().cloned().flatten().map(|line| (line, owner(line))))
}
