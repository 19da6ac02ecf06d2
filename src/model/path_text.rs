//! Paths as text: for JSON, for manifests and for terminals.

use std::{os::unix::ffi::OsStrExt as _, path::Path};

use base64::Engine as _;
use bstr::{BStr, BString, ByteSlice as _};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeSeq as _};

/// Returns `path` as UTF-8: invalid bytes become `%XX`, and so does a `%` in such a path.
pub(crate) fn escape(path: &BStr) -> String {
    if let Ok(text) = path.to_str() {
        return text.to_owned();
    }
    let mut out = String::new();
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '%' { out.push_str("%25") } else { out.push(c) }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Returns `text` as a word of a command to copy into a shell, on one line: in single quotes if it needs them, and as `$'...'`
/// (POSIX 2024, 2.2.4) if it has control characters.
pub(crate) fn shell_word(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return quoted_word(text);
    }
    let escaped = |c: char| match c {
        '\n' => r"\n".to_owned(),
        '\t' => r"\t".to_owned(),
        '\'' | '\\' => format!("\\{c}"),
        c if c.is_control() => c.to_string().bytes().map(|byte| format!("\\{byte:03o}")).collect(),
        c => c.to_string(),
    };
    format!("$'{}'", text.chars().map(escaped).collect::<String>())
}

/// Returns `text` as a word for a shell, with control characters as they are: in single quotes if it needs them.
pub(crate) fn quoted_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    // `!` as git quotes it: some shells look into their history for it.
    format!("'{}'", text.replace('\'', r"'\''").replace('!', r"'\!'"))
}

/// Returns the base64 of `path` if it is not UTF-8: what `path_raw` holds in JSON.
pub(crate) fn raw(path: &BStr) -> Option<String> {
    path.to_str().is_err().then(|| base64::engine::general_purpose::STANDARD.encode(path))
}

/// Returns the path that [`escape`] and [`raw`] describe together.
pub(crate) fn unescape(path: &str, raw: Option<&str>) -> Option<BString> {
    match raw {
        Some(raw) => base64::engine::general_purpose::STANDARD.decode(raw).ok().map(Into::into),
        None => Some(path.into()),
    }
}

/// The form of a path in our own files: escaped, and also in base64 if it is not UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredPath {
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_raw: Option<String>,
}

impl From<&BString> for StoredPath {
    fn from(path: &BString) -> Self {
        Self { path: escape(path.as_bstr()), path_raw: raw(path.as_bstr()) }
    }
}

impl StoredPath {
    /// Returns the path for people.
    pub(crate) fn shown(&self) -> String {
        printable(self.path.as_str().into())
    }

    /// Returns the path; the error says what is wrong with it.
    pub(crate) fn decode(&self) -> Result<BString, String> {
        unescape(&self.path, self.path_raw.as_deref()).ok_or_else(|| format!("'{}' has a bad path_raw", self.path))
    }
}

/// Serializes a path through [`escape`].
pub(crate) fn serialize<S: Serializer>(path: &BString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&escape(path.as_bstr()))
}

/// Serializes a path as the fields `path` and, if it is not UTF-8, `path_raw`; for `#[serde(flatten)]`.
pub(crate) fn serialize_fields<S: Serializer>(path: &BString, serializer: S) -> Result<S::Ok, S::Error> {
    StoredPath::from(path).serialize(serializer)
}

/// Serializes a path of the file system as [`serialize_fields`] does.
pub(crate) fn serialize_path_fields<P: AsRef<Path>, S: Serializer>(path: &P, serializer: S) -> Result<S::Ok, S::Error> {
    serialize_fields(&path.as_ref().as_os_str().as_bytes().into(), serializer)
}

/// Serializes a path that may be absent through [`escape`].
pub(crate) fn serialize_optional<S: Serializer>(path: &Option<BString>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| escape(path.as_bstr())).serialize(serializer)
}

/// Serializes a list of paths through [`escape`].
pub(crate) fn serialize_list<S: Serializer>(paths: &[BString], serializer: S) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(paths.len()))?;
    for path in paths {
        list.serialize_element(&escape(path.as_bstr()))?;
    }
    list.end()
}

/// Returns `text` fit for a terminal: control characters and invalid bytes become visible escapes. Different texts may look the same:
/// what the user decides about is shown by [`exact_text`](super::exact_text).
pub(crate) fn printable(text: &BStr) -> String {
    let mut out = String::new();
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() || is_bidi_control(c) {
                out.extend(c.escape_default());
            } else {
                out.push(c);
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// Returns `path`, which is relative to the worktree's root, as seen from the directory `prefix` (with final `/`, or empty for
/// the root), as git's `relative_path` does.
pub(crate) fn relative(path: &BStr, prefix: &BStr) -> BString {
    let names: Vec<&[u8]> = path.split_str("/").collect();
    let here: Vec<&[u8]> = prefix.split_str("/").filter(|name| !name.is_empty()).collect();
    let shared = names.iter().zip(&here).take_while(|(name, here)| name == here).count();
    let mut out = BString::from("../".repeat(here.len() - shared));
    out.extend_from_slice(&bstr::join("/", &names[shared..]));
    if out.is_empty() { "./".into() } else { out }
}

/// Bidirectional controls reorder what a terminal shows (the "Trojan Source" class).
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_utf8_paths_survive_a_round_trip() {
        let path = BStr::new(b"a%\xffb");
        assert_eq!(escape(path), "a%25%FFb");
        assert_eq!(unescape(&escape(path), raw(path).as_deref()), Some(path.to_owned()));
        assert_eq!(raw(BStr::new("a%b")), None);
    }

    #[rstest::rstest]
    #[case::at_the_root("a/b", "", "a/b")]
    #[case::below("d/e/q", "d/e/", "q")]
    #[case::far_below("d/e/f/q", "d/", "e/f/q")]
    #[case::above("q", "d/e/", "../../q")]
    #[case::beside("d/x/q", "d/e/", "../x/q")]
    #[case::the_same_beginning("d/ef", "d/e/", "../ef")]
    #[case::a_longer_directory("d/e", "d/ef/", "../e")]
    #[case::the_directory("d/e", "d/e/", "./")]
    #[case::its_parent("d", "d/e/", "../")]
    #[case::nothing_shared("x/y", "d/e/", "../../x/y")]
    fn paths_are_relative_to_a_directory(#[case] path: &str, #[case] prefix: &str, #[case] expected: &str) {
        assert_eq!(relative(path.into(), prefix.into()), expected);
    }

    #[rstest::rstest]
    #[case::plain("src/a.rs", "src/a.rs")]
    #[case::a_blank("a b", "'a b'")]
    #[case::a_quote("a'b", r"'a'\''b'")]
    #[case::a_line_feed("a\nb'\\", r"$'a\nb\'\\'")]
    #[case::other_controls("a\u{1b}1\u{85}", r"$'a\0331\302\205'")]
    fn words_for_a_shell_are_on_one_line(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(shell_word(text), expected);
    }

    #[test]
    fn control_characters_are_never_raw() {
        assert_eq!(printable(BStr::new(b"a\x1b[31m\n\xff")), "a\\u{1b}[31m\\n\\xff");
        assert_eq!(printable("\u{61c}\u{202e}".into()), "\\u{61c}\\u{202e}");
    }
}
