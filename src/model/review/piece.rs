//! The pieces of a hunk: each run of removed and added lines, as far as it has one author.

use std::{collections::HashMap, ops::Range};

use bstr::{BString, ByteSlice as _};

use crate::model::line_diff::{Hunk, Line, Side};

/// The lines that a piece covers, counted from 0: those that are removed from the old text, and those that come in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// In the old text.
    pub(crate) old: Range<usize>,
    /// In the new one.
    pub(crate) new: Range<usize>,
}

/// A run of changed lines, or the part of one author in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where it is.
    pub(crate) span: Span,
    /// The removed lines.
    pub(crate) removed: BString,
    /// The added ones.
    pub(crate) added: BString,
    /// The unchanged line before the run.
    pub(crate) before: Option<BString>,
    /// The unchanged line after the run.
    pub(crate) after: Option<BString>,
    /// Its lines among those of the hunk.
    lines: Range<usize>,
}

/// Returns the pieces of `hunk`, in order; `owner` has the author of each of its added lines, by its number among them: none of an older
/// line that was only moved or indented.
///
/// A run of changed lines is cut where the author changes. The removed lines belong to its first piece; so do older lines that came in
/// their place, up to the first line of another author.
pub(crate) fn pieces<O: PartialEq>(hunk: &Hunk, owner: &dyn Fn(usize) -> Option<O>) -> Vec<Piece> {
    let (mut old, mut new, mut number) = (hunk.old.start, hunk.new.start, 0);
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut before, mut is_inside) = (None, false);
    // Of the run: its first piece, what it has removed, and the author of its last piece.
    let (mut first, mut gone, mut author) = (0, HashMap::<Vec<u8>, usize>::new(), None);
    for (at, line) in hunk.lines.iter().enumerate() {
        if line.side == Side::Common {
            if is_inside {
                pieces[first..].iter_mut().for_each(|piece| piece.after = Some(whole(line)));
            }
            (old, new, before, is_inside) = (old + 1, new + 1, Some(whole(line)), false);
            continue;
        }
        let mut is_cut = !is_inside;
        if !is_inside {
            (first, author, is_inside) = (pieces.len(), None, true);
            gone.clear();
        }
        if line.side == Side::Deleted {
            *gone.entry(without_blanks(line)).or_default() += 1;
        } else {
            let by = owner(number);
            number += 1;
            let is_in_place = by.is_none() && pieces.len() == first + 1 && is_taken(&mut gone, line);
            if !is_in_place {
                is_cut = is_cut || author.as_ref().is_some_and(|author| *author != by);
                author = Some(by);
            }
        }
        if is_cut {
            pieces.push(Piece {
                span: Span { old: old..old, new: new..new },
                removed: BString::default(),
                added: BString::default(),
                before: before.clone(),
                after: None,
                lines: at..at,
            });
        }
        let piece = pieces.last_mut().expect("one was begun");
        if line.side == Side::Deleted {
            old += 1;
            piece.removed.extend_from_slice(&whole(line));
        } else {
            new += 1;
            piece.added.extend_from_slice(&whole(line));
        }
        (piece.span.old.end, piece.span.new.end, piece.lines.end) = (old, new, at + 1);
    }
    pieces
}

fn without_blanks(line: &Line) -> Vec<u8> {
    line.content.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
}

/// Returns true if one of the lines that are `gone` is `line`, but for blanks, and takes it from them.
fn is_taken(gone: &mut HashMap<Vec<u8>, usize>, line: &Line) -> bool {
    let Some(count) = gone.get_mut(&without_blanks(line)).filter(|count| **count > 0) else { return false };
    *count -= 1;
    true
}

/// Returns the bytes of `line`, with its line feed if it has one.
fn whole(line: &Line) -> BString {
    let mut bytes = line.content.clone();
    if line.is_terminated {
        bytes.push(b'\n');
    }
    bytes
}

/// Returns a hunk for each of the `pieces` of `hunk`, with the unchanged lines around it that `hunk` has.
pub(crate) fn split(hunk: &Hunk, pieces: &[Piece]) -> Vec<Hunk> {
    let part = |at: usize| {
        let piece = &pieces[at];
        let first = at.checked_sub(1).map_or(0, |before| pieces[before].lines.end);
        let last = pieces.get(at + 1).map_or(hunk.lines.len(), |next| next.lines.start);
        let (above, below) = (piece.lines.start - first, last - piece.lines.end);
        Hunk {
            old: piece.span.old.start - above..piece.span.old.end + below,
            new: piece.span.new.start - above..piece.span.new.end + below,
            section: hunk.section.clone(),
            lines: hunk.lines[first..last].to_vec(),
        }
    };
    (0..pieces.len()).map(part).collect()
}

/// Returns the text `new` with the lines of `old` in the place of the changes at `spans`, which are in order.
pub(crate) fn reverted(old: &[u8], new: &[u8], spans: &[Span]) -> Vec<u8> {
    let old: Vec<&[u8]> = old.lines_with_terminator().collect();
    let new: Vec<&[u8]> = new.lines_with_terminator().collect();
    let (mut lines, mut from) = (Vec::new(), 0);
    for span in spans {
        lines.extend(&new[from..span.new.start]);
        lines.extend(&old[span.old.clone()]);
        from = span.new.end;
    }
    lines.extend(&new[from..]);
    let mut text: Vec<u8> = Vec::new();
    for line in lines {
        // A last line without line feed may not be the last one any more.
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend_from_slice(line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::line_diff::{Edit, hunks};

    /// The pieces of `hunk`, of whose added lines each has the author in `owners`, `-` if it was moved; without any, they are of one author.
    fn by(hunk: &Hunk, owners: &str) -> Vec<Piece> {
        pieces(hunk, &|at| Some(owners.as_bytes().get(at).copied().unwrap_or_default()).filter(|owner| *owner != b'-'))
    }

    /// Each piece as `before|removed>added|after`, without line feeds; `$` for a line without one.
    fn texts(old: &str, new: &str, edits: &[Edit]) -> Vec<String> {
        let shown = |text: &BString| {
            let end = if text.ends_with(b"\n") || text.is_empty() { "" } else { "$" };
            format!("{}{end}", text.to_str_lossy().replace('\n', ""))
        };
        let near = |text: &Option<BString>| text.as_ref().map(shown).unwrap_or_default();
        let text = |piece: Piece| {
            format!("{}|{}>{}|{}", near(&piece.before), shown(&piece.removed), shown(&piece.added), near(&piece.after))
        };
        hunks(old.as_bytes(), new.as_bytes(), edits, 3).iter().flat_map(|hunk| by(hunk, "")).map(text).collect()
    }

    #[rstest::rstest]
    #[case::replaced("a\nb\nc\n", "a\nB\nc\n", &[(1..2, 1..2)], &["a|b>B|c"])]
    #[case::two("a\nb\nc\n", "A\nb\nC\n", &[(0..1, 0..1), (2..3, 2..3)], &["|a>A|b", "b|c>C|"])]
    #[case::new_file("", "a\nb\n", &[(0..0, 0..2)], &["|>ab|"])]
    #[case::deleted("a\nb\n", "", &[(0..2, 0..0)], &["|ab>|"])]
    #[case::no_line_feed("a\nb", "a\nb\n", &[(1..2, 1..2)], &["a|b$>b|"])]
    fn pieces_have_neighbours(#[case] old: &str, #[case] new: &str, #[case] edits: &[Edit], #[case] expected: &[&str]) {
        assert_eq!(texts(old, new, edits), expected);
    }

    #[rstest::rstest]
    #[case::of_one("a\nb\n", "a\nx\ny\nb\n", &[(1..1, 1..3)], "AA", &["1..1 1..3"])]
    #[case::beside_each_other("a\nb\nc\n", "a\nx\ny\nc\n", &[(1..2, 1..3)], "AH", &["1..2 1..2", "2..2 2..3"])]
    #[case::in_between("a\nc\n", "a\nx\ny\nz\nc\n", &[(1..1, 1..4)], "AHA", &["1..1 1..2", "1..1 2..3", "1..1 3..4"])]
    #[case::moved("a\nc\n", "a\nx\ny\nc\n", &[(1..1, 1..3)], "A-", &["1..1 1..2", "1..1 2..3"])]
    #[case::indented("a\nb\nc\n", "if\n a\n b\nend\nc\n", &[(0..2, 0..4)], "A--A", &["0..2 0..4"])]
    #[case::indented_below_another("a\nc\n", "x\ny\n a\nc\n", &[(0..1, 0..3)], "AH-", &["0..1 0..1", "1..1 1..2", "1..1 2..3"])]
    #[case::indented_twice("a\nc\n", " a\n a\nc\n", &[(0..1, 0..2)], "--", &["0..1 0..2"])]
    fn a_run_is_cut_where_the_author_changes(
        #[case] old: &str,
        #[case] new: &str,
        #[case] edits: &[Edit],
        #[case] owners: &str,
        #[case] expected: &[&str],
    ) {
        let hunks = hunks(old.as_bytes(), new.as_bytes(), edits, 3);
        let pieces: Vec<Piece> = hunks.iter().flat_map(|hunk| by(hunk, owners)).collect();
        let spans: Vec<String> =
            pieces.iter().map(|piece| format!("{:?} {:?}", piece.span.old, piece.span.new)).collect();
        assert_eq!(spans, expected);
        assert!(pieces.iter().all(|piece| piece.before == pieces[0].before && piece.after == pieces[0].after));
        // Each can go alone, and all of them.
        let all: Vec<Span> = pieces.iter().map(|piece| piece.span.clone()).collect();
        assert_eq!(reverted(old.as_bytes(), new.as_bytes(), &all).as_bstr(), old);
    }

    #[test]
    fn a_line_that_comes_back_without_line_feed_is_not_joined_with_the_next_one() {
        let (old, new) = ("a", "A\nb\n");
        let hunks = hunks(old.as_bytes(), new.as_bytes(), &[(0..1, 0..2)], 3);
        let first = by(&hunks[0], "AH").remove(0);
        assert_eq!(reverted(old.as_bytes(), new.as_bytes(), &[first.span]).as_bstr(), "a\nb\n");
    }

    const OLD: &str = "a\nb\nc\nd\ne\n";
    const NEW: &str = "A\nb\nc\nx\nd\n";
    const EDITS: [Edit; 3] = [(0..1, 0..1), (3..3, 3..4), (4..5, 5..5)];

    #[rstest::rstest]
    #[case::nothing(&[], NEW)]
    #[case::the_first(&[0], "a\nb\nc\nx\nd\n")]
    #[case::an_added_line(&[1], "A\nb\nc\nd\n")]
    #[case::a_deleted_line(&[2], "A\nb\nc\nx\nd\ne\n")]
    #[case::all(&[0, 1, 2], OLD)]
    fn some_pieces_are_reverted(#[case] chosen: &[usize], #[case] expected: &str) {
        let hunks = hunks(OLD.as_bytes(), NEW.as_bytes(), &EDITS, 3);
        let pieces: Vec<Piece> = hunks.iter().flat_map(|hunk| by(hunk, "")).collect();
        let spans: Vec<Span> = chosen.iter().map(|at| pieces[*at].span.clone()).collect();
        assert_eq!(reverted(OLD.as_bytes(), NEW.as_bytes(), &spans).as_bstr(), expected);
    }

    #[test]
    fn a_last_line_without_line_feed_comes_back_without_it() {
        let (old, new) = ("a\nb", "a\nb\nc\n");
        let hunks = hunks(old.as_bytes(), new.as_bytes(), &[(1..2, 1..3)], 3);
        let spans: Vec<Span> = hunks.iter().flat_map(|hunk| by(hunk, "")).map(|piece| piece.span).collect();
        assert_eq!(reverted(old.as_bytes(), new.as_bytes(), &spans).as_bstr(), old);
    }

    #[test]
    fn a_hunk_is_split_into_its_pieces() {
        let hunks = hunks(OLD.as_bytes(), NEW.as_bytes(), &EDITS, 3);
        let [hunk] = hunks.as_slice() else { panic!("one hunk") };
        let parts = split(hunk, &by(hunk, ""));
        let headers: Vec<String> = parts.iter().map(|part| part.header().to_string()).collect();
        assert_eq!(headers, ["@@ -1,3 +1,3 @@", "@@ -2,3 +2,4 @@", "@@ -4,2 +5 @@"]);
        let spans: Vec<Span> = parts.iter().flat_map(|hunk| by(hunk, "")).map(|piece| piece.span).collect();
        assert_eq!(spans, by(hunk, "").into_iter().map(|piece| piece.span).collect::<Vec<_>>());
    }
}
