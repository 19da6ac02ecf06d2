//! Carries the spans of a recorded blob to the blob of a rewritten commit.

use std::ops::Range;

use super::{
    AuthorId, Content, Differ, Limits, Owner, Span,
    file::{File, Line, Writer},
    moves, spans as spans_of,
    work::Work,
};

/// Returns the spans of `after` if those of `before` are `spans`, and `author` made the difference (as in a conflict's
/// resolution).
///
/// The rules are those of a step: reformatted, rewrapped or moved lines keep their owner. Lines of `before` without a
/// span have none in `after`, either.
pub fn carry(differ: &Differ<'_>, spans: &[Span], before: &[u8], after: &[u8], author: AuthorId) -> Vec<Span> {
    let mut file = File::base(Some(Content::Bytes(before.to_vec())), 0);
    for span in spans {
        let lines = span.start.saturating_sub(1) as usize..(span.end as usize).min(file.lines.len());
        for line in file.lines.get_mut(lines).unwrap_or_default() {
            // A line with an origin is a base line, which has no span.
            *line = Line { owner: span.owner, origin: None, born: 0 };
        }
    }
    let limits = Limits::default();
    let after = Content::Bytes(after.to_vec());
    let mut work = Work::new(differ, &limits, &file, super::file::text(Some(&after)));
    moves::place_moved(std::slice::from_mut(&mut work));
    let outcome = work.finish(differ, &limits, Writer { author, step: 0 }, None);
    let mut lines = std::mem::take(&mut file.lines);
    outcome.place(&mut lines);
    let lines = lines.iter().enumerate();
    spans_of(lines.filter(|(_, line)| line.origin.is_none()).map(|(at, line)| (at, line.owner)))
}

/// Returns the spans of the lines `added` (from 0, in order): those of `spans`, and `otherwise` for lines without one.
pub fn restrict(spans: &[Span], added: &[Range<usize>], otherwise: Owner) -> Vec<Span> {
    let owner = |line: usize| {
        let at = spans.partition_point(|span| (span.end as usize) <= line);
        spans.get(at).filter(|span| span.start as usize <= line + 1).map_or(otherwise, |span| span.owner)
    };
    spans_of(added.iter().cloned().flatten().map(|line| (line, owner(line))))
}
