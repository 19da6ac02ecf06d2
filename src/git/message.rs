//! The message of the commit being made: a file that git passes to its hooks.
//!
//! Git decides where trailers go (git-interpret-trailers(1)). Whether `#` begins a comment depends on whether the user
//! edits the message: by default, only then git removes comments and everything below the scissors.

use std::path::Path;

use bstr::{BString, ByteSlice as _};

use super::{Repo, environment, process};
use crate::error::{Context as _, Kind, Result};

/// The trailer that names a record.
pub(crate) const TRAILER: &str = "Checkpoint";

/// The keys of trailers that say which agent has a part in a commit.
const DISCLOSURES: [&str; 2] = ["Assisted-by", "Generated-by"];

/// Digits of a record's id.
const ID_LENGTH: usize = 16;

/// The line between message and diff in `git commit -v`, after the comment character and a blank.
const SCISSORS: &[u8] = b"------------------------ >8 ------------------------";

/// The characters that `core.commentChar = auto` chooses from.
const AUTO: &[u8] = b"#;@!$%^&|:";

/// A character with which no line begins; git accepts any ASCII character.
const NO_COMMENT: &[u8] = b"\x01";

/// Begins the line that `git commit -s` adds.
const SIGNATURE: &[u8] = b"Signed-off-by: ";

/// How git will read the message file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    /// True if git will remove lines that begin with `comment`.
    has_comments: bool,
    comment: BString,
}

impl Repo {
    /// Adds the trailers `lines` to the message in `file`, each unless its last paragraph has it already.
    ///
    /// # Errors
    /// If the file cannot be read or written, or git cannot be run.
    pub fn add_lines(&self, file: &Path, lines: &[String]) -> Result<()> {
        let text = read(file)?;
        let reading = self.reading(&text);
        if reading.content(&text).next().is_none() {
            // The first line is for the subject; the blank one makes the next lines trailers.
            let mut out = b"\n\n".to_vec();
            for line in lines {
                out.extend_from_slice(format!("{line}\n").as_bytes());
            }
            if !text.is_empty() && !text.starts_with(b"\n") {
                out.push(b'\n');
            }
            out.extend_from_slice(&text);
            return write(file, &out);
        }
        let ignored = reading.has_comments || reading.scissors(&text).is_some();
        if !ignored && ends_plainly(&text) {
            let added: String = lines.iter().map(|line| format!("{line}\n")).collect();
            return write(file, &[&text, b"\n".as_slice(), added.as_bytes()].concat());
        }
        let comment = if ignored { reading.comment.as_slice() } else { NO_COMMENT };
        process::interpret_trailers(file, comment, lines.iter().cloned())
    }

    /// Removes the trailers of `ids` from the message in `file`.
    pub(crate) fn remove_trailers(&self, file: &Path, ids: &[impl AsRef<str>]) -> Result<()> {
        let id_of = |line: &[u8]| line.rsplit(|byte| *byte == b':').next().map(|id| id.trim().to_vec());
        self.remove_lines(file, |line| {
            is_trailer(line) && ids.iter().any(|id| id_of(line).as_deref() == Some(id.as_ref().as_bytes()))
        })
    }

    /// Removes the lines that are wanted no longer, `is_one`, from the message in `file`.
    pub(crate) fn remove_lines(&self, file: &Path, is_one: impl Fn(&[u8]) -> bool) -> Result<()> {
        let text = read(file)?;
        let end = self.reading(&text).scissors(&text).unwrap_or(text.len());
        let mut out: Vec<u8> = Vec::new();
        text[..end].lines_with_terminator().filter(|line| !is_one(line.trim_end())).for_each(|line| out.extend(line));
        out.extend_from_slice(&text[end..]);
        if out == text { Ok(()) } else { write(file, &out) }
    }

    /// Returns the values of the disclosures in the message in `file`: see [`disclosed`].
    pub(crate) fn disclosures(&self, file: &Path) -> Result<Vec<BString>> {
        let text = read(file)?;
        let end = self.reading(&text).scissors(&text).unwrap_or(text.len());
        Ok(text[..end].lines().filter_map(disclosed).map(BString::from).collect())
    }

    /// Removes our trailers from the message in `file` if there is nothing else, or only `template`: git must see that
    /// the message is empty, or not edited. Disclosures are ours if the settings ask for them (`discloses`).
    pub(crate) fn drop_lone_trailers(&self, file: &Path, template: Option<&[u8]>, discloses: bool) -> Result<()> {
        let text = read(file)?;
        if !has_own_line(&text, discloses) {
            return Ok(());
        }
        let reading = self.reading(&text);
        let is_ours = |line: &&[u8]| is_own(line, discloses);
        // Git ignores the user's signature, too.
        let counts = |line: &&[u8]| !is_ours(line) && !line.starts_with(SIGNATURE);
        let mut rest = reading.content(&text).filter(counts);
        let is_lone = match template {
            Some(template) => rest.eq(reading.content(template).filter(counts)),
            None => rest.next().is_none(),
        };
        if !is_lone {
            return Ok(());
        }
        let end = reading.scissors(&text).unwrap_or(text.len());
        let mut out: Vec<u8> = Vec::new();
        text[..end].lines_with_terminator().filter(|line| !is_ours(&line.trim_end())).for_each(|line| out.extend(line));
        out.extend_from_slice(&text[end..]);
        write(file, &out)
    }

    /// Returns true if the message in `file` may consist of our trailers only when git reads it: because it does now,
    /// or because it will be edited.
    pub(crate) fn may_have_lone_trailers(&self, file: &Path, discloses: bool) -> Result<bool> {
        let text = read(file)?;
        if !has_own_line(&text, discloses) || is_edited() {
            return Ok(has_own_line(&text, discloses));
        }
        // Even without an editor, an option of the commit may make git remove comments.
        let reading = Reading { has_comments: true, ..self.reading(&text) };
        let is_lone = reading.content(&text).all(|line| is_own(line, discloses) || line.starts_with(SIGNATURE));
        Ok(is_lone)
    }

    fn reading(&self, text: &[u8]) -> Reading {
        let is_stripped = self.config_value("commit.cleanup").is_some_and(|value| value == "strip");
        let comment = self.comment_string().unwrap_or_else(|| {
            let is_chosen = self.comment_setting().is_some_and(|value| value.eq_ignore_ascii_case(b"auto"));
            vec![if is_chosen { chosen_comment(text) } else { b'#' }].into()
        });
        Reading { has_comments: is_edited() || is_stripped, comment }
    }

    fn comment_setting(&self) -> Option<BString> {
        ["core.commentString", "core.commentChar"].into_iter().find_map(|key| self.config_value(key))
    }

    /// Returns what the user's settings let git's comments in a message begin with; none if git decides that.
    pub(super) fn comment_string(&self) -> Option<BString> {
        let is_one =
            |value: &BString| !(value.is_empty() || value.contains(&b'\n') || value.eq_ignore_ascii_case(b"auto"));
        self.comment_setting().filter(is_one)
    }
}

impl Reading {
    /// Returns where the line with the scissors begins.
    fn scissors(&self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        for line in text.lines_with_terminator() {
            let rest = line.strip_prefix(self.comment.as_slice()).and_then(|rest| rest.strip_prefix(b" "));
            if rest.is_some_and(|rest| rest.trim_end() == SCISSORS) {
                return Some(at);
            }
            at += line.len();
        }
        None
    }

    /// Returns the lines that are neither blank nor removed by git.
    fn content<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let end = if self.has_comments { self.scissors(text) } else { None };
        let is_comment = |line: &[u8]| self.has_comments && line.starts_with(&self.comment);
        text[..end.unwrap_or(text.len())]
            .lines()
            .map(<[u8]>::trim_end)
            .filter(move |line| !line.is_empty() && !is_comment(line))
    }
}

/// Returns false if the message will not be edited: git then sets `GIT_EDITOR=:` for its hooks.
pub(crate) fn is_edited() -> bool {
    environment::variable("GIT_EDITOR").is_none_or(|editor| editor != ":")
}

/// Returns true if a line of `text` looks like our trailer. Other messages need no parsing.
pub(crate) fn has_trailer(text: &[u8]) -> bool {
    text.lines().any(|line| is_trailer(line.trim_end()))
}

/// Returns true if a line of `text` looks like one that we add: our trailer, or a disclosure.
pub(crate) fn has_own_line(text: &[u8], discloses: bool) -> bool {
    text.lines().any(|line| is_own(line.trim_end(), discloses))
}

fn is_own(line: &[u8], discloses: bool) -> bool {
    is_trailer(line) || discloses && disclosed(line).is_some()
}

/// Returns the value of `line` if it says which agent has a part in a commit, with any of the two keys.
pub(crate) fn disclosed(line: &[u8]) -> Option<&[u8]> {
    let (key, value) = line.split_once_str(":")?;
    let is_key = DISCLOSURES.iter().any(|known| key.eq_ignore_ascii_case(known.as_bytes()));
    Some(value.trim()).filter(|value| is_key && !value.is_empty())
}

fn is_trailer(line: &[u8]) -> bool {
    let id = line.strip_prefix(TRAILER.as_bytes()).and_then(|rest| rest.strip_prefix(b":")).map(<[u8]>::trim);
    id.is_some_and(|id| id.len() == ID_LENGTH && id.iter().all(u8::is_ascii_hexdigit))
}

/// Returns true if the last paragraph of `text` cannot contain trailers, so that git adds ours after a blank line. This
/// holds for most messages given with `-m`, and saves us a process.
fn ends_plainly(text: &[u8]) -> bool {
    let is_special = |line: &[u8]| line.contains(&b':') || line.starts_with(b"(cherry picked from commit ");
    let last = text.lines().rev().take_while(|line| !line.trim().is_empty());
    let (mut count, mut is_plain) = (0, true);
    for line in last {
        count += 1;
        is_plain &= !is_special(line);
    }
    // To git, the first paragraph is always the title.
    is_plain |= count == text.lines().count();
    count > 0 && is_plain && text.ends_with(b"\n") && !text.iter().any(|byte| [0, b'\r', NO_COMMENT[0]].contains(byte))
}

/// Returns the comment character that git chose for `text`: that of the scissors, or of the last line.
fn chosen_comment(text: &[u8]) -> u8 {
    let lines = || text.lines().filter(|line| !line.is_empty());
    let of_scissors = lines().find_map(|line| {
        let (&first, rest) = line.split_first()?;
        (AUTO.contains(&first) && rest.trim() == SCISSORS).then_some(first)
    });
    let of_last = || lines().next_back().map(|line| line[0]).filter(|first| AUTO.contains(first));
    of_scissors.or_else(of_last).unwrap_or(b'#')
}

fn read(file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).context(Kind::Internal, || format!("cannot read the message '{}'", file.display()))
}

fn write(file: &Path, text: &[u8]) -> Result<()> {
    std::fs::write(file, text).context(Kind::Internal, || format!("cannot write the message '{}'", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::subject("one\n", true)]
    #[case::body("one\n\ntwo\n three\n", true)]
    #[case::above("a: b\n\ntwo\n", true)]
    #[case::trailer("one\n\nSigned-off-by: me\n", false)]
    #[case::picked("one\n\n(cherry picked from commit 1)\n", false)]
    #[case::subject_with_colon("area: what\n", true)]
    #[case::title_of_two_lines("area: what\nSigned-off-by: me\n", true)]
    #[case::below_a_blank_line("\narea: what\n", false)]
    #[case::no_end("one", false)]
    #[case::blank_end("one\n\n", false)]
    #[case::carriage_return("one\r\n", false)]
    fn a_trailer_is_appended_to_a_plain_message_as_git_does(#[case] text: &str, #[case] is_plain: bool) {
        assert_eq!(ends_plainly(text.as_bytes()), is_plain);
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        write(file.path(), text.as_bytes()).expect("it is ours");
        process::interpret_trailers(file.path(), NO_COMMENT, ["Checkpoint: 1".to_owned()]).expect("git runs");
        let by_git = read(file.path()).expect("it is there");
        let by_hand = [text, "\n", "Checkpoint: 1\n"].concat();
        assert!(!is_plain || by_git == by_hand.as_bytes(), "{}", by_git.as_bstr());
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { cases: 64, ..Default::default() })]
        #[test]
        fn any_text_that_ends_plainly_is_ended_as_git_does(
            text in "(([a#:; (-]|one|two|Fixes|\\(cherry picked from commit ){0,4}\n){1,6}"
        ) {
            if ends_plainly(text.as_bytes()) {
                let file = tempfile::NamedTempFile::new().expect("a temporary file");
                write(file.path(), text.as_bytes()).expect("it is ours");
                process::interpret_trailers(file.path(), NO_COMMENT, ["Checkpoint: 1".to_owned()]).expect("git runs");
                let by_git = read(file.path()).expect("it is there");
                let by_hand = [&text, "\n", "Checkpoint: 1\n"].concat();
                proptest::prop_assert_eq!(by_git.as_bstr(), by_hand.as_bytes().as_bstr());
            }
        }
    }
}
