//! What git asks of a remote helper: the lines of gitremote-helpers(7), as bytes.

use std::io::{self, BufRead};

use bstr::{BString, ByteSlice as _};

/// A line that is longer makes no sense.
const MAX_LINE: u64 = 1 << 16;
/// More refs than this are in no batch.
const MAX_BATCH: usize = 1 << 16;

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// What can you do?
    Capabilities,
    /// Which refs are there? Before a push, git asks for what it may be compared with.
    List { is_for_push: bool },
    /// Heed this setting.
    Option { name: String, value: BString },
    /// Bring these commits; the names of their refs.
    Fetch(Vec<Wanted>),
    /// Let refs there lead to commits of ours.
    Push(Vec<Update>),
}

/// A commit to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// In hexadecimal digits, not checked.
    pub(super) id: String,
    /// The ref there.
    pub(super) name: BString,
}

/// A ref to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Update {
    /// What git knows the commit by here: a ref, or any other revision; empty to delete the ref there.
    pub(super) source: BString,
    /// The ref there.
    pub(super) name: BString,
    /// True if the user has asked for it to be moved by force.
    pub(super) is_forced: bool,
}

/// Reads the next request from `input`; none at its end, or when git says that it has no more.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] if git asks for something else; [`io::ErrorKind::UnexpectedEof`] if the input ends in a batch.
pub(super) fn read(input: &mut dyn BufRead) -> io::Result<Option<Request>> {
    let Some(line) = read_line(input)? else { return Ok(None) };
    let (word, rest) = line.split_once_str(" ").unwrap_or((&line, b""));
    Ok(match word {
        b"" => None,
        b"capabilities" => Some(Request::Capabilities),
        b"list" => Some(Request::List { is_for_push: rest == b"for-push" }),
        b"option" => {
            let (name, value) = rest.split_once_str(" ").unwrap_or((rest, b""));
            let value = unquoted(value).ok_or_else(|| nonsense(&line))?;
            Some(Request::Option { name: name.to_str_lossy().into_owned(), value })
        }
        b"fetch" => Some(Request::Fetch(batch(input, line.clone(), wanted)?)),
        b"push" => Some(Request::Push(batch(input, line.clone(), update)?)),
        _ => return Err(nonsense(&line)),
    })
}

/// Returns the lines from `first` to the next empty one.
fn batch<T>(input: &mut dyn BufRead, first: BString, parse: fn(&[u8]) -> Option<T>) -> io::Result<Vec<T>> {
    let mut all = Vec::new();
    let mut line = first;
    while !line.is_empty() {
        all.push(parse(&line).filter(|_| all.len() < MAX_BATCH).ok_or_else(|| nonsense(&line))?);
        line = read_line(input)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    }
    Ok(all)
}

fn wanted(line: &[u8]) -> Option<Wanted> {
    let (id, name) = line.strip_prefix(b"fetch ")?.split_once_str(" ")?;
    Some(Wanted { id: id.to_str().ok()?.to_owned(), name: name.into() })
}

fn update(line: &[u8]) -> Option<Update> {
    let words = line.strip_prefix(b"push ")?;
    let (is_forced, words) = words.strip_prefix(b"+").map_or((false, words), |rest| (true, rest));
    // A name of a ref has no colon; a revision may.
    let colon = words.rfind_byte(b':')?;
    Some(Update { source: words[..colon].into(), name: words[colon + 1..].into(), is_forced })
}

fn read_line(input: &mut dyn BufRead) -> io::Result<Option<BString>> {
    let mut line = Vec::new();
    let length = io::Read::take(&mut *input, MAX_LINE).read_until(b'\n', &mut line)?;
    if length == 0 {
        return Ok(None);
    }
    match line.pop() {
        Some(b'\n') => Ok(Some(line.into())),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Returns the value of an option, which git quotes as in C where it must.
fn unquoted(value: &[u8]) -> Option<BString> {
    if !value.starts_with(b"\"") {
        return Some(value.into());
    }
    let (text, length) = gix::quote::ansi_c::undo(value.as_bstr()).ok()?;
    (length == value.len()).then(|| text.into_owned())
}

fn nonsense(line: &[u8]) -> io::Error {
    let shown = crate::model::path_text::printable(line.as_bstr());
    io::Error::new(io::ErrorKind::InvalidData, format!("git has said '{shown}', which makes no sense here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> io::Result<Vec<Request>> {
        let mut input = text;
        let mut requests = Vec::new();
        while let Some(request) = read(&mut input)? {
            requests.push(request);
        }
        Ok(requests)
    }

    fn option(name: &str, value: &[u8]) -> Request {
        Request::Option { name: name.into(), value: value.into() }
    }

    fn wants(id: &str, name: &[u8]) -> Wanted {
        Wanted { id: id.into(), name: name.into() }
    }

    fn moves(source: &str, name: &[u8], is_forced: bool) -> Update {
        Update { source: source.into(), name: name.into(), is_forced }
    }

    #[rstest::rstest]
    #[case::nothing(b"", vec![])]
    #[case::the_end(b"\nlist\n", vec![])]
    #[case::capabilities(b"capabilities\n", vec![Request::Capabilities])]
    #[case::lists(b"list\nlist for-push\n", vec![Request::List { is_for_push: false }, Request::List { is_for_push: true }])]
    #[case::options(
        b"option verbosity 1\noption x \"a \\\"b\\\" c\"\noption y\n",
        vec![option("verbosity", b"1"), option("x", b"a \"b\" c"), option("y", b"")]
    )]
    #[case::a_batch(
        b"fetch 01 refs/a\nfetch 02 refs/\xff\n\nlist\n",
        vec![Request::Fetch(vec![wants("01", b"refs/a"), wants("02", b"refs/\xff")]), Request::List { is_for_push: false }]
    )]
    #[case::pushes(
        b"push refs/a:refs/b\npush +HEAD^{/x:y}:refs/c\npush :refs/d\n\n",
        vec![Request::Push(vec![
            moves("refs/a", b"refs/b", false), moves("HEAD^{/x:y}", b"refs/c", true), moves("", b"refs/d", false)
        ])]
    )]
    fn requests_are_read(#[case] text: &[u8], #[case] expected: Vec<Request>) {
        assert_eq!(all(text).expect("sense"), expected);
    }

    #[rstest::rstest]
    #[case::unknown(b"import refs/a\n")]
    #[case::no_end_of_line(b"list")]
    #[case::ends_in_a_batch(b"push a:b\n")]
    #[case::another_word_in_a_batch(b"push a:b\nfetch 01 x\n\n")]
    #[case::no_name(b"fetch 01\n\n")]
    #[case::no_colon(b"push a\n\n")]
    #[case::badly_quoted(b"option x \"a\n")]
    fn nonsense_is_an_error(#[case] text: &[u8]) {
        all(text).expect_err("nonsense");
    }

    #[test]
    fn a_large_batch_is_read_and_an_endless_line_is_not() {
        let text = (0..1000).map(|n| format!("push a{n}:b{n}\n")).collect::<String>() + "\n";
        assert!(matches!(&all(text.as_bytes()).expect("sense")[..], [Request::Push(all)] if all.len() == 1000));
        all(&vec![b'x'; 1 << 17]).expect_err("too long");
    }

    proptest::proptest! {
        #[test]
        fn no_input_panics(text: Vec<u8>) {
            drop(all(&text));
        }
    }
}
