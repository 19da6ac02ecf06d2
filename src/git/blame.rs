//! Which commit each line of a file comes from: runs git-blame(1) and parses its porcelain format.

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice as _, ByteVec as _};
use gix::ObjectId;

use super::Repo;
use crate::{
    error::{Error, Result},
    model::path_text,
};

/// What to ask.
#[derive(Clone, Debug)]
pub(crate) struct Question<'q> {
    /// The path relative to the worktree's root.
    pub(crate) path: &'q BStr,
    /// The commit; none for the worktree.
    pub(crate) commit: Option<ObjectId>,
    /// Ranges as `-L` takes them; empty for all lines.
    pub(crate) ranges: &'q [String],
    pub(crate) ignores_whitespace: bool,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blamed {
    /// The commit; none if it is not committed yet.
    pub(crate) commit: Option<ObjectId>,
    /// The path in that commit.
    pub(crate) path: BString,
    /// The line number in that commit, from 1.
    pub(crate) original: u32,
    /// The number in the file, from 1.
    pub(crate) line: u32,
    /// The commit's author.
    pub(crate) author: BString,
    /// When it was written, and committed, in Unix seconds.
    pub(crate) authored: i64,
    pub(crate) committed: i64,
    /// The bytes, without line feed.
    pub(crate) content: BString,
}

#[derive(Clone, Default)]
struct Header {
    author: BString,
    authored: i64,
    committed: i64,
    path: BString,
}

impl Repo {
    /// Returns the lines of `question`, in order, as git blames them.
    ///
    /// # Errors
    /// Git's message, if there is no such path or range.
    pub(crate) fn blame(&self, question: &Question<'_>) -> Result<Vec<Blamed>> {
        use std::os::unix::ffi::OsStringExt as _;
        self.refuse_endless_attributes(question.path)?;
        let mut arguments: Vec<std::ffi::OsString> = ["blame", "--porcelain", "--no-progress"].map(Into::into).into();
        if question.ignores_whitespace {
            arguments.push("-w".into());
        }
        arguments.extend(question.ranges.iter().map(|range| format!("-L{range}").into()));
        arguments.extend(question.commit.map(|commit| commit.to_string().into()));
        arguments.push("--".into());
        arguments.push(std::ffi::OsString::from_vec(question.path.to_vec()));
        let output = self.try_git(&arguments, None)?;
        if !output.status.success() {
            // Git prints the path as it is.
            let said = output.stderr.replace(question.path, path_text::printable(question.path));
            return Err(refused(&without_words(&said.trim().to_str_lossy()), question.ranges));
        }
        parse(&output.stdout).ok_or_else(|| Error::internal("cannot read what 'git blame' prints"))
    }
}

/// Returns what git has `said` without the words that its lines begin with, which the report of the error has, too.
fn without_words(said: &str) -> String {
    let plain = |line| ["fatal: ", "error: "].iter().find_map(|word| str::strip_prefix(line, word)).unwrap_or(line);
    said.lines().map(plain).collect::<Vec<_>>().join("; ")
}

/// Returns the error for git's message `said`, with a hint. For a malformed range, git only prints its usage.
fn refused(said: &str, ranges: &[String]) -> Error {
    const RANGES: &str = "'-L <first>,<last>', '-L <first>,+<count>', '-L /<regex>/' or '-L :<function>' names lines";
    if said.starts_with("usage:") && !ranges.is_empty() {
        let names: Vec<String> = ranges.iter().map(|range| format!("'{range}'")).collect();
        let is_one = if names.len() == 1 { "is no range" } else { "are not all ranges" };
        return Error::user(format!("{} {is_one} of lines", names.join(", "))).with_hint(RANGES);
    }
    let error = Error::user(said);
    if said.starts_with("-L ") {
        error.with_hint(RANGES)
    } else if said.starts_with("no such path") {
        error.with_hint("'git ls-files' shows the paths that git knows")
    } else if said == "no such ref: HEAD" {
        error.with_hint("there is no commit yet; 'git add' makes a file known")
    } else {
        error
    }
}

fn parse(output: &[u8]) -> Option<Vec<Blamed>> {
    let mut headers: HashMap<ObjectId, Header> = HashMap::new();
    let mut blamed = Vec::new();
    let mut lines = output.lines_with_terminator().map(|line| line.strip_suffix(b"\n").unwrap_or(line));
    while let Some(line) = lines.next() {
        let mut words = line.split_str(" ");
        let commit = ObjectId::from_hex(words.next()?).ok()?;
        let mut number = || words.next()?.to_str().ok()?.parse::<u32>().ok();
        let (original, line) = (number()?, number()?);
        let header = headers.entry(commit).or_default();
        let content = loop {
            let line = lines.next()?;
            if let Some(content) = line.strip_prefix(b"\t") {
                break content;
            }
            let (key, value) = line.split_once_str(" ").unwrap_or((line, b""));
            let seconds = || value.to_str().ok()?.parse().ok();
            match key {
                b"author" => header.author = value.into(),
                b"author-time" => header.authored = seconds().unwrap_or_default(),
                b"committer-time" => header.committed = seconds().unwrap_or_default(),
                b"filename" => header.path = unquoted(value)?,
                _ => {}
            }
        };
        blamed.push(Blamed {
            commit: (!commit.is_null()).then_some(commit),
            path: header.path.clone(),
            original,
            line,
            author: header.author.clone(),
            authored: header.authored,
            committed: header.committed,
            content: content.into(),
        });
    }
    Some(blamed)
}

/// Parses a name as git writes it, possibly in quotes with C escapes (quote.c).
fn unquoted(name: &[u8]) -> Option<BString> {
    let Some(inner) = name.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return Some(name.into());
    };
    let mut out = BString::default();
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push_byte(byte);
            continue;
        }
        out.push_byte(match bytes.next()? {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            first @ b'0'..=b'3' => {
                let mut digit = || bytes.next().filter(|byte| (b'0'..=b'7').contains(byte)).map(|byte| byte - b'0');
                (first - b'0') * 64 + digit()? * 8 + digit()?
            }
            other => other,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("a b", "a b")]
    #[case(r#""a\tb\303\244\"\\""#, "a\tb\u{e4}\"\\")]
    fn names_are_unquoted(#[case] name: &str, #[case] expected: &str) {
        assert_eq!(unquoted(name.as_bytes()), Some(expected.into()));
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(parse(b"x\n"), None);
        assert_eq!(parse(b""), Some(Vec::new()));
    }
}
