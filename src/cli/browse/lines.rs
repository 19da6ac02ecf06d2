//! The changed lines of a file, ready to be drawn.

use super::super::{
    layout::{self, TAB},
    output::printable,
};
use crate::{
    model::{
        attribution::kind::Kind,
        line_diff::{self, Side},
    },
    ops::{attribution::Who, browse::Lines},
};

/// How many lines of a file are shown.
const MOST: usize = 20_000;
/// How many bytes of a line are shown.
const LONGEST: usize = 2_000;

/// A line of the pane with the changed lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Begins a hunk, or says something of the file.
    Header(String),
    Changed(Box<Changed>),
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) side: Side,
    /// Its number, from 1, in the new text; none if it was deleted.
    pub(super) number: Option<u32>,
    /// Its owner, if it was added and that is known.
    pub(super) owner: Option<Owner>,
    /// Its text, printable, and without tabs.
    pub(super) text: String,
}

/// Who has added a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) kind: Kind,
    /// The session, printable.
    pub(super) session: Option<String>,
    pub(super) turn: Option<u32>,
    pub(super) agent: Option<String>,
}

impl From<&Who> for Owner {
    fn from(who: &Who) -> Self {
        let text = |text: &Option<String>| text.as_deref().map(printable);
        Self { kind: who.owner, session: text(&who.session), turn: who.turn, agent: text(&who.agent) }
    }
}

impl Lines {
    /// Returns the lines as they are drawn.
    pub(super) fn shown(&self) -> Vec<Line> {
        if self.is_binary {
            return vec![Line::Header("no lines: a binary file, a link or a submodule".to_owned())];
        }
        let mut shown = Vec::new();
        for (hunk, owners) in &self.hunks {
            shown.push(Line::Header(printable(hunk.header())));
            let mut owners = owners.iter().flatten();
            let mut number = u32::try_from(hunk.new.start).unwrap_or(u32::MAX);
            for line in &hunk.lines {
                number = number.saturating_add(u32::from(line.side != Side::Deleted));
                let owner = if line.side == Side::Added { owners.next().map(Owner::from) } else { None };
                let number = (line.side != Side::Deleted).then_some(number);
                shown.push(Line::Changed(Box::new(Changed { side: line.side, number, owner, text: text(line) })));
            }
            if shown.len() > MOST {
                shown.truncate(MOST);
                shown.push(Line::Header("more lines follow: the command below prints all".to_owned()));
                break;
            }
        }
        if shown.is_empty() {
            shown.push(Line::Header("no changed lines".to_owned()));
        }
        shown
    }
}

/// Returns the text of `line`, as much as is shown.
fn text(line: &line_diff::Line) -> String {
    let bytes = &line.content[..line.content.len().min(LONGEST)];
    let text = without_tabs(bytes);
    if bytes.len() < line.content.len() { text + "..." } else { text }
}

/// Returns the lines of what a command has printed.
pub(super) fn printed(text: &str) -> Vec<String> {
    text.lines().map(|line| without_tabs(line.as_bytes())).collect()
}

/// Returns `bytes` as a terminal may have them, with blanks for tabs.
pub(super) fn without_tabs(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (at, part) in bytes.split(|byte| *byte == b'\t').enumerate() {
        if at > 0 {
            text.push_str(&" ".repeat(TAB - layout::width(&text) % TAB));
        }
        text.push_str(&printable(part));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::plain(b"let a = 1;", "let a = 1;")]
    #[case::tabs(b"\ta\tb", "        a       b")]
    #[case::escapes(b"\x1b[2J\x07", "\\u{1b}[2J\\u{7}")]
    #[case::no_text(b"\xff", "\\xff")]
    #[case::reordered("\u{202e}x".as_bytes(), "\\u{202e}x")]
    fn no_line_controls_the_terminal(#[case] content: &[u8], #[case] expected: &str) {
        let hunks = line_diff::hunks(b"", content, &[(0..0, 0..1)], 3);
        assert_eq!(text(&hunks[0].lines[0]), expected);
    }
}
