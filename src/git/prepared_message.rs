//! The message that git has prepared for the next commit, in `MERGE_MSG`.

use std::fs;

use bstr::{BString, ByteSlice as _};

use super::Repo;

/// The message that git has prepared for the next commit, for example by `cherry-pick -n`.
#[derive(Clone, Debug)]
pub(crate) struct PreparedMessage {
    text: Vec<u8>,
    /// Begins git's comments in it.
    comment: BString,
}

impl Repo {
    /// Returns the message that git has prepared for the next commit; none if it has prepared none.
    pub(crate) fn prepared_message(&self) -> Option<PreparedMessage> {
        let text = fs::read(self.git_dir().join("MERGE_MSG")).ok()?;
        // Without the setting, and with `auto`, git begins the comments in this file with '#'.
        Some(PreparedMessage { text, comment: self.comment_string().unwrap_or_else(|| "#".into()) })
    }
}

impl PreparedMessage {
    /// Returns the message with git's comments.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// Returns the files that git lists after a conflict as those that had one.
    pub(crate) fn in_conflict(&self) -> impl Iterator<Item = &[u8]> {
        let comment = self.comment.as_slice();
        self.text.lines().filter_map(move |line| line.strip_prefix(comment)?.strip_prefix(b"\t"))
    }

    /// Returns true if git has only comments for the message.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines_of(&self.text).is_empty()
    }

    /// Returns true if a commit with `message` may be the one whose message git has prepared.
    pub(crate) fn is_of(&self, message: &[u8]) -> bool {
        self.lines_of(message) == self.lines_of(&self.text)
    }

    /// Returns the lines of `message` up to git's comments, without empty ones at the end.
    fn lines_of<'a>(&self, message: &'a [u8]) -> Vec<&'a [u8]> {
        let lines = message.lines().map(<[u8]>::trim_ascii_end);
        let mut lines: Vec<&[u8]> = lines.take_while(|line| !line.starts_with(&self.comment)).collect();
        lines.truncate(lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(comment: &str, text: &str) -> PreparedMessage {
        PreparedMessage { text: text.into(), comment: comment.into() }
    }

    #[rstest::rstest]
    #[case::number_sign("#")]
    #[case::semicolon(";")]
    #[case::two_characters("//")]
    fn a_message_after_a_conflict(#[case] comment: &str) {
        let text = format!("subject\n\nbody\n\n{comment} Conflicts:\n{comment}\ta file\n{comment}\tb\n");
        let prepared = prepared(comment, &text);
        assert_eq!(prepared.in_conflict().collect::<Vec<_>>(), [b"a file".as_slice(), b"b"]);
        assert!(prepared.is_of(b"subject\n\nbody\n"));
        assert!(!prepared.is_of(b"subject\n") && !prepared.is_empty());
    }

    #[test]
    fn comments_alone_are_no_message() {
        assert!(prepared("#", "\n# Conflicts:\n#\ta\n").is_empty());
        assert!(!prepared(";", "# a heading\n").is_empty());
    }
}
