//! `git checkpoint list --format`: a line of placeholders, as those of git-log(1), for each checkpoint.

use jiff::{Timestamp, tz};

use super::{date, names::Names, output::printable};
use crate::{
    error::{Error, Result},
    model::{checkpoint::Checkpoint, moment},
    ops::history::Entry,
};

/// What a placeholder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Id,
    ShortId,
    Parent,
    ShortParent,
    Tree,
    ShortTree,
    Subject,
    Body,
    Date,
    DateLikeIso,
    Day,
    Seconds,
    Ago,
    Decoration,
    Number,
    Agent,
    Base,
    Contributor,
    Marks,
    Model,
    Note,
    Session,
    Tags,
    Tool,
    Turn,
    Worktree,
}

/// Those of git-log(1), and those for what only checkpoints have.
const FIELDS: &[(&str, Field)] = &[
    ("H", Field::Id),
    ("h", Field::ShortId),
    ("P", Field::Parent),
    ("p", Field::ShortParent),
    ("T", Field::Tree),
    ("t", Field::ShortTree),
    ("s", Field::Subject),
    ("b", Field::Body),
    ("cI", Field::Date),
    ("ci", Field::DateLikeIso),
    ("cs", Field::Day),
    ("ct", Field::Seconds),
    ("cr", Field::Ago),
    ("d", Field::Decoration),
    ("gd", Field::Number),
    ("(agent)", Field::Agent),
    ("(base)", Field::Base),
    ("(contributor)", Field::Contributor),
    ("(marks)", Field::Marks),
    ("(model)", Field::Model),
    ("(note)", Field::Note),
    ("(session)", Field::Session),
    ("(tags)", Field::Tags),
    ("(tool)", Field::Tool),
    ("(turn)", Field::Turn),
    ("(worktree)", Field::Worktree),
];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Byte(u8),
    Field(Field),
}

/// A format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format(Vec<Piece>);

impl Format {
    /// Reads a format.
    ///
    /// # Errors
    /// If a placeholder is unknown, or there is none.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('%') {
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            let (piece, length) = placeholder(after).ok_or_else(|| unknown(after))?;
            pieces.push(piece);
            rest = &after[length..];
        }
        if pieces.is_empty() {
            return Err(Error::user(format!("the format '{text}' has no placeholder"))
                .with_hint("for example '%h %cI %s'; git-checkpoint-list(1) has them all"));
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self(pieces))
    }

    /// Returns the line of `entry`. On a terminal, nothing in it controls that.
    pub(super) fn line(&self, entry: &Entry, names: &Names, is_terminal: bool) -> Vec<u8> {
        let mut line = Vec::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) if is_terminal => line.extend(lines(text, "\n").into_bytes()),
                Piece::Text(text) => line.extend(text.as_bytes()),
                Piece::Byte(byte) if is_terminal && !matches!(byte, b'\n' | b'\t' | b' '..=b'~') => {
                    line.extend(printable([*byte]).into_bytes());
                }
                Piece::Byte(byte) => line.push(*byte),
                Piece::Field(field) => line.extend(value(*field, entry, names).into_bytes()),
            }
        }
        line.push(b'\n');
        line
    }
}

/// Returns the placeholder that `text`, what follows `%`, begins with, and its length.
fn placeholder(text: &str) -> Option<(Piece, usize)> {
    match text.as_bytes() {
        [b'%', ..] => return Some((Piece::Byte(b'%'), 1)),
        [b'n', ..] => return Some((Piece::Byte(b'\n'), 1)),
        [b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            return Some((Piece::Byte(u8::from_str_radix(&text[1..3], 16).ok()?), 3));
        }
        _ => {}
    }
    let found = FIELDS.iter().find(|(name, _)| text.starts_with(name));
    found.map(|(name, field)| (Piece::Field(*field), name.len()))
}

fn unknown(after: &str) -> Error {
    let end = after.strip_prefix('(').and_then(|rest| rest.find(')')).map(|at| at + 2);
    let length = end.unwrap_or_else(|| after.chars().next().map_or(0, char::len_utf8));
    let error = Error::user(format!("the format has an unknown placeholder: '%{}'", &after[..length]));
    error.with_hint("git-checkpoint-list(1) has all of them; '%%' is a percent sign")
}

/// Returns `text` with all but its line breaks, which become `end`, printable.
fn lines(text: &str, end: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join(end)
}

fn value(field: Field, entry: &Entry, names: &Names) -> String {
    let Entry { checkpoint, tags, .. } = entry;
    let Checkpoint { seconds, offset, .. } = *checkpoint;
    let of_agent = entry.restored.is_none().then_some(&checkpoint.origin);
    let text = |text: Option<&String>| text.map(printable).unwrap_or_default();
    let tags = || tags.iter().map(printable).collect::<Vec<_>>();
    match field {
        Field::Id => checkpoint.id.to_string(),
        Field::ShortId => names.id(&checkpoint.id),
        Field::Parent => checkpoint.parent_id.to_string(),
        Field::ShortParent => names.id(&checkpoint.parent_id),
        Field::Tree => checkpoint.tree_id.to_string(),
        Field::ShortTree => names.id(&checkpoint.tree_id),
        Field::Subject => printable(&entry.called),
        Field::Body => lines(&checkpoint.body, "\n"),
        Field::Date => moment::iso(seconds, offset),
        Field::DateLikeIso => like_git(seconds, offset, "%F %T %z"),
        Field::Day => like_git(seconds, offset, "%F"),
        Field::Seconds => seconds.to_string(),
        Field::Ago => date::relative(seconds, date::now()),
        Field::Decoration if tags().is_empty() => String::new(),
        Field::Decoration => {
            let tags: Vec<String> = tags().iter().map(|tag| format!("tag: {tag}")).collect();
            format!(" ({})", tags.join(", "))
        }
        Field::Number => entry.number.map(|number| format!("@{{{number}}}")).unwrap_or_default(),
        Field::Agent => text(of_agent.and_then(|origin| origin.agent.as_ref())),
        Field::Base => checkpoint.base.to_string(),
        Field::Contributor => of_agent.map_or("human", |origin| origin.contributor.as_str()).to_owned(),
        Field::Marks => marks(entry).join(", "),
        Field::Model => text(of_agent.and_then(|origin| origin.model.as_ref())),
        Field::Note => lines(entry.note.as_deref().unwrap_or_default().trim_end(), "\n"),
        Field::Session => text(of_agent.and_then(|origin| origin.session.as_ref())),
        Field::Tags => tags().join(", "),
        Field::Tool => text(of_agent.and_then(|origin| origin.tool.as_ref())),
        Field::Turn => of_agent.and_then(|origin| origin.turn).map(|turn| turn.to_string()).unwrap_or_default(),
        Field::Worktree => printable(&checkpoint.worktree),
    }
}

fn marks(entry: &Entry) -> Vec<&'static str> {
    let all =
        [(entry.start, "start"), (entry.verified, "verified"), (entry.archived, "archived"), (entry.undone, "undone")];
    all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| mark).collect()
}

fn like_git(seconds: i64, offset: i32, format: &str) -> String {
    let offset = tz::Offset::from_seconds(offset).unwrap_or(tz::Offset::UTC);
    let moment = Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
    moment.to_zoned(offset.to_time_zone()).strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::fields("%H %cI", vec![Piece::Field(Field::Id), Piece::Text(" ".into()), Piece::Field(Field::Date)])]
    #[case::ours("%(session)x", vec![Piece::Field(Field::Session), Piece::Text("x".into())])]
    #[case::bytes("%%%n%x00", vec![Piece::Byte(b'%'), Piece::Byte(b'\n'), Piece::Byte(0)])]
    fn formats(#[case] text: &str, #[case] expected: Vec<Piece>) {
        assert_eq!(Format::parse(text).expect("it is one"), Format(expected));
    }

    #[rstest::rstest]
    #[case::letter("%q", "unknown placeholder: '%q'")]
    #[case::word("%(none) %h", "unknown placeholder: '%(none)'")]
    #[case::not_ascii("%ж", "unknown placeholder: '%ж'")]
    #[case::at_the_end("%h %", "unknown placeholder: '%'")]
    #[case::no_byte("%xg0", "unknown placeholder: '%x'")]
    #[case::none("oneline", "'oneline' has no placeholder")]
    #[case::empty("", "has no placeholder")]
    fn mistakes(#[case] text: &str, #[case] expected: &str) {
        let error = Format::parse(text).expect_err("it is wrong");
        assert!(error.message().contains(expected), "{error}");
    }

    #[test]
    fn dates_are_as_in_git() {
        assert_eq!(like_git(1_748_779_200, 5400, "%F %T %z"), "2025-06-01 13:30:00 +0130");
        assert_eq!(like_git(1_748_779_200, 0, "%F"), "2025-06-01");
    }
}
