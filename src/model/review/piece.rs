//! The pieces of a hunk: each run of removed and added lines.

use std::ops::Range;

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

/// A run of changed lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where it is.
    pub(crate) span: Span,
    /// The removed lines.
    pub(crate) removed: BString,
    /// The added ones.
    pub(crate) added: BString,
    /// The unchanged line before it.
    pub(crate) before: Option<BString>,
    /// The unchanged line after it.
    pub(crate) after: Option<BString>,
    /// Its lines among those of the hunk.
    lines: Range<usize>,
}

/// Returns the pieces of `hunk`, in order.
pub(crate) fn pieces(hunk: &Hunk) -> Vec<Piece> {
    let (mut old, mut new) = (hunk.old.start, hunk.new.start);
    let mut pieces: Vec<Piece> = Vec::new();
    let mut is_inside = false;
    for (at, line) in hunk.lines.iter().enumerate() {
        if line.side == Side::Common {
            (old, new, is_inside) = (old + 1, new + 1, false);
            continue;
        }
        if !is_inside {
            is_inside = true;
            pieces.push(Piece {
                span: Span { old: old..old, new: new..new },
                removed: BString::default(),
                added: BString::default(),
                before: at.checked_sub(1).map(|before| whole(&hunk.lines[before])),
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
        piece.after = hunk.lines.get(at + 1).filter(|next| next.side == Side::Common).map(whole);
    }
    pieces
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
    let (mut text, mut from) = (Vec::new(), 0);
    for span in spans {
        text.extend(new[from..span.new.start].concat());
        text.extend(old[span.old.clone()].concat());
        from = span.new.end;
    }
    text.extend(new[from..].concat());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::line_diff::{Edit, hunks};

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
        hunks(old.as_bytes(), new.as_bytes(), edits, 3).iter().flat_map(pieces).map(text).collect()
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
        let pieces: Vec<Piece> = hunks.iter().flat_map(pieces).collect();
        let spans: Vec<Span> = chosen.iter().map(|at| pieces[*at].span.clone()).collect();
        assert_eq!(reverted(OLD.as_bytes(), NEW.as_bytes(), &spans).as_bstr(), expected);
    }

    #[test]
    fn a_last_line_without_line_feed_comes_back_without_it() {
        let (old, new) = ("a\nb", "a\nb\nc\n");
        let hunks = hunks(old.as_bytes(), new.as_bytes(), &[(1..2, 1..3)], 3);
        let spans: Vec<Span> = hunks.iter().flat_map(pieces).map(|piece| piece.span).collect();
        assert_eq!(reverted(old.as_bytes(), new.as_bytes(), &spans).as_bstr(), old);
    }

    #[test]
    fn a_hunk_is_split_into_its_pieces() {
        let hunks = hunks(OLD.as_bytes(), NEW.as_bytes(), &EDITS, 3);
        let [hunk] = hunks.as_slice() else { panic!("one hunk") };
        let parts = split(hunk, &pieces(hunk));
        let headers: Vec<String> = parts.iter().map(|part| part.header().to_string()).collect();
        assert_eq!(headers, ["@@ -1,3 +1,3 @@", "@@ -2,3 +2,4 @@", "@@ -4,2 +5 @@"]);
        let spans: Vec<Span> = parts.iter().flat_map(pieces).map(|piece| piece.span).collect();
        assert_eq!(spans, pieces(hunk).into_iter().map(|piece| piece.span).collect::<Vec<_>>());
    }
}
