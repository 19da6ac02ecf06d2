//! Which names the trees of the logs may have, by their place (gitcheckpoint-format(5), RECORDS): the one list of what is ours there.
//!
//! What has another name is neither joined, nor accepted from a remote, nor sent to one.

use super::{note, refname};

/// A place in the tree of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// The tree of a commit of `refs/checkpoints/history`.
    History,
    /// The tree of a commit of `refs/checkpoints/transcripts/<month>`.
    Transcripts,
    /// Records whose ids begin with the same two digits.
    Shard,
    /// A record.
    Record,
    /// The sessions of a record.
    Sessions,
    /// One of them.
    Session,
    /// How commits came to a record.
    Links,
    /// One of those.
    Link,
    /// Other versions of a record, by the ids of their trees.
    Others,
    /// One of them.
    Other,
    /// An index.
    Index,
    /// Its part for ids that begin with the same two digits.
    IndexShard,
    /// The ids of records, one a line.
    Ids,
    /// A file of a record.
    File,
    /// The pieces of the transcript of a session.
    Pieces,
    /// One of them.
    Piece,
    /// The tree of a commit of `refs/checkpoints/notes`.
    Notes,
    /// Notes for commits whose ids begin with the same two digits.
    NoteShard,
    /// A note.
    Note,
}

/// More sessions than this are in no record.
const MOST_SESSIONS: usize = 10_000;

impl Place {
    /// Returns the place of the tree of the log `name`; none if the ref is no log.
    pub(crate) fn of_ref(name: &str) -> Option<Self> {
        match name {
            refname::HISTORY => Some(Self::History),
            _ => refname::transcripts_month(name).map(|_| Self::Transcripts),
        }
    }

    /// Returns true if there is a tree at this place, and no file.
    pub(crate) fn is_tree(self) -> bool {
        !matches!(self, Self::Link | Self::Ids | Self::File | Self::Piece | Self::Note)
    }

    /// Returns the most bytes that a file with this `name` at this place may have. A commit may change many thousand files, and each of
    /// them is in the record; a prompt may be long.
    pub(crate) fn most_bytes(self, name: &[u8]) -> u64 {
        match self {
            Self::Link => 4 << 10,
            Self::Ids => 1 << 20,
            Self::File if name == b"session.toml" => 1 << 20,
            Self::File => 32 << 20,
            Self::Note => note::MOST_BYTES,
            _ => 256 << 20,
        }
    }

    /// Returns what is at `name` in a tree at this place; none if nothing of ours has this name there. Ids have `digits` digits.
    pub(crate) fn below(self, name: &[u8], digits: usize) -> Option<Self> {
        let is_hex = |length| is_hex(name, length);
        Some(match self {
            Self::History if is_hex(2) => Self::Shard,
            Self::History if matches!(name, b"commits" | b"parents" | b"changes") => Self::Index,
            Self::Index if is_hex(2) => Self::IndexShard,
            Self::IndexShard if is_hex(digits - 2) => Self::Ids,
            Self::Shard if is_hex(14) => Self::Record,
            Self::Record | Self::Other if matches!(name, b"record.toml" | b"attribution") => Self::File,
            Self::Record | Self::Other if name == b"sessions" => Self::Sessions,
            Self::Record if name == b"links" => Self::Links,
            Self::Record if name == b"others" => Self::Others,
            Self::Links if is_hex(digits) => Self::Link,
            Self::Others if is_hex(digits) => Self::Other,
            Self::Sessions if is_number(name) => Self::Session,
            Self::Session if matches!(name, b"session.toml" | b"prompts.toml") => Self::File,
            Self::Transcripts if is_component(name) => Self::Pieces,
            Self::Pieces if piece(name, digits).is_some() => Self::Piece,
            Self::Notes if is_hex(2) => Self::NoteShard,
            Self::NoteShard if is_hex(digits - 2) => Self::Note,
            _ => return None,
        })
    }

    /// Returns what is at `path` below this place.
    pub(crate) fn at(self, path: &[u8], digits: usize) -> Option<Self> {
        if path.is_empty() {
            return Some(self);
        }
        path.split(|byte| *byte == b'/').try_fold(self, |place, name| place.below(name, digits))
    }
}

/// Returns the number of a piece of a transcript, and its id if it stands beside another one of that number.
pub(crate) fn piece(name: &[u8], digits: usize) -> Option<(&[u8], Option<&[u8]>)> {
    let mut parts = name.splitn(2, |byte| *byte == b'~');
    let (number, id) = (parts.next()?, parts.next());
    let is_sound = number.len() == 6 && number.iter().all(u8::is_ascii_digit);
    (is_sound && id.is_none_or(|id| is_hex(id, digits))).then_some((number, id))
}

fn is_hex(name: &[u8], length: usize) -> bool {
    name.len() == length && name.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns true if `name` is the number of a session of a record, as we write it.
fn is_number(name: &[u8]) -> bool {
    let number = std::str::from_utf8(name).ok().and_then(|name| name.parse::<usize>().ok());
    number.is_some_and(|number| number < MOST_SESSIONS && number.to_string().as_bytes() == name)
}

/// Returns true if `name` is the encoded id of a session.
fn is_component(name: &[u8]) -> bool {
    name.len() <= 255
        && std::str::from_utf8(name).is_ok_and(|name| name.is_ascii() && refname::decode_component(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";

    #[rstest::rstest]
    #[case::root("", Some(Place::History))]
    #[case::record("01/23456789abcdef", Some(Place::Record))]
    #[case::file("01/23456789abcdef/record.toml", Some(Place::File))]
    #[case::attribution("01/23456789abcdef/attribution", Some(Place::File))]
    #[case::prompts("01/23456789abcdef/sessions/10/prompts.toml", Some(Place::File))]
    #[case::link("01/23456789abcdef/links/{id}", Some(Place::Link))]
    #[case::other("01/23456789abcdef/others/{id}/sessions/0/session.toml", Some(Place::File))]
    #[case::index("commits/01/{rest}", Some(Place::Ids))]
    #[case::code("src/main.rs", None)]
    #[case::capitals("AB", None)]
    #[case::long_shard("012", None)]
    #[case::dot("01/..", None)]
    #[case::empty_name("01//record.toml", None)]
    #[case::another_file("01/23456789abcdef/.git", None)]
    #[case::others_have_no_links("01/23456789abcdef/others/{id}/links", None)]
    #[case::others_have_no_others("01/23456789abcdef/others/{id}/others", None)]
    #[case::number_with_zero("01/23456789abcdef/sessions/01", None)]
    #[case::number_with_sign("01/23456789abcdef/sessions/+1", None)]
    #[case::too_many("01/23456789abcdef/sessions/10000", None)]
    #[case::below_a_file("01/23456789abcdef/record.toml/x", None)]
    #[case::half_an_id("commits/01/23", None)]
    fn paths_of_history(#[case] path: &str, #[case] expected: Option<Place>) {
        let path = path.replace("{id}", ID).replace("{rest}", &ID[2..]);
        assert_eq!(Place::History.at(path.as_bytes(), 40), expected);
    }

    #[rstest::rstest]
    #[case::piece("s1/000001", Some(Place::Piece))]
    #[case::beside("s1/000001~{id}", Some(Place::Piece))]
    #[case::encoded("%2E%2E%2Fs/000001", Some(Place::Piece))]
    #[case::dots("..", None)]
    #[case::git(".git", None)]
    #[case::option("-x", None)]
    #[case::no_number("s1/one", None)]
    #[case::beside_nothing("s1/000001~", None)]
    #[case::escape("s\u{1b}[31m", None)]
    fn paths_of_transcripts(#[case] path: &str, #[case] expected: Option<Place>) {
        assert_eq!(Place::Transcripts.at(path.replace("{id}", ID).as_bytes(), 40), expected);
    }
}
