//! Finds a text in bytes, in each spelling in which our files and transcripts have it, and replaces it.
//!
//! Transcripts are JSON, and some of their strings are JSON again: a quotation mark is `"`, `\"` or `\\\"`, a letter with an accent
//! may be `\u00e9`.

use std::io::{self, Read};

use regex::bytes::{Regex, RegexBuilder};

use super::redact::redact;

/// What stands in the place of the text.
pub(crate) const PURGED: &[u8] = b"[purged]";

/// A shorter text is in too many words.
const SHORTEST: usize = 4;
/// The compiled expression of a longer text would take too much memory.
const LONGEST: usize = 64 << 10;
/// How much memory the compiled expression may take.
const MOST_MEMORY: usize = 256 << 20;

/// Texts to be replaced.
pub(crate) struct Secret {
    /// None if nothing is to be found.
    pattern: Option<Regex>,
    /// The first lines of texts of several lines.
    first_lines: Vec<String>,
    /// As many bytes as a text has in no spelling that programs write.
    longest: usize,
}

/// How much of a file is looked at at once.
const PIECE: u64 = 8 << 20;
/// How many bytes a spelling has at most for one byte of the text.
const LONGEST_SPELLING: usize = 32;

impl Secret {
    /// Returns a finder of `texts`. The error says why one of them cannot be searched for, and does not have it.
    pub(crate) fn new(texts: &[Vec<u8>]) -> Result<Self, &'static str> {
        let mut all: Vec<Vec<u8>> = Vec::new();
        for text in texts {
            let text = text.strip_suffix(b"\n").unwrap_or(text);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            if text.iter().filter(|byte| !byte.is_ascii_whitespace()).count() < SHORTEST {
                return Err("a text to purge has at least four characters");
            }
            if text.len() > LONGEST {
                return Err("a text to purge has at most 64 KiB");
            }
            if PURGED.windows(text.len().min(PURGED.len())).any(|part| part == text) {
                return Err("'[purged]' is what stands in the place of a purged text");
            }
            // A part of it may have been redacted when it was stored.
            let redacted = redact(text.to_vec());
            let left = left_of_redacted(&redacted);
            all.push(text.to_vec());
            if redacted != text && left >= SHORTEST {
                all.push(redacted);
            }
        }
        if all.is_empty() {
            return Ok(Self { pattern: None, first_lines: Vec::new(), longest: 0 });
        }
        // Of two that begin alike, the longer one counts.
        all.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let expression = all.iter().map(|text| expression_of(text)).collect::<Vec<_>>().join("|");
        let pattern = RegexBuilder::new(&expression)
            .unicode(false)
            .size_limit(MOST_MEMORY)
            .dfa_size_limit(MOST_MEMORY)
            .build()
            .map_err(|_| "a text to purge is too long")?;
        let longest = all.iter().map(Vec::len).max().unwrap_or_default() * LONGEST_SPELLING;
        Ok(Self {
            pattern: Some(pattern),
            first_lines: all.iter().filter_map(|text| first_line(text)).collect(),
            longest,
        })
    }

    /// Returns true if there is no text.
    pub(crate) fn is_nothing(&self) -> bool {
        self.pattern.is_none()
    }

    /// Returns true if `bytes` have the text.
    pub(crate) fn is_in(&self, bytes: &[u8]) -> bool {
        self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(bytes))
    }

    /// Returns true if what `file` reads has the text. It is read in pieces.
    pub(crate) fn is_in_file(&self, mut file: impl Read) -> io::Result<bool> {
        let mut window = Vec::new();
        loop {
            let read = file.by_ref().take(PIECE).read_to_end(&mut window)?;
            if read == 0 || self.is_in(&window) {
                return Ok(read > 0);
            }
            // The text may begin in one piece and end in the next.
            let looked_at = window.len().saturating_sub(self.longest);
            window.drain(..looked_at);
        }
    }

    /// Returns `bytes` with [`PURGED`] in the place of the text; none if they do not have it. The number of lines stays.
    pub(crate) fn replace(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (mut out, mut done) = (Vec::new(), 0);
        for found in self.pattern.iter().flat_map(|pattern| pattern.find_iter(bytes)) {
            out.extend_from_slice(&bytes[done..found.start()]);
            for (number, line) in found.as_bytes().split(|byte| *byte == b'\n').enumerate() {
                if number > 0 {
                    out.push(b'\n');
                }
                let (line, end) = line.strip_suffix(b"\r").map_or((line, &b""[..]), |line| (line, &b"\r"[..]));
                if !line.is_empty() {
                    out.extend_from_slice(PURGED);
                }
                out.extend_from_slice(end);
            }
            done = found.end();
        }
        if done == 0 {
            return None;
        }
        out.extend_from_slice(&bytes[done..]);
        Some(out)
    }

    /// The same for text.
    pub(crate) fn replace_in(&self, text: &str) -> Option<String> {
        self.replace(text.as_bytes()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The same for a message. The subject may be the first line of a prompt: then the first line of a text is at its end.
    pub(crate) fn replace_in_message(&self, subject: &str, body: &str) -> Option<(String, String)> {
        let all = if body.is_empty() { subject.to_owned() } else { format!("{subject}\n\n{body}") };
        let new = self.replace_in(&all);
        let is_replaced = new.is_some();
        let new = new.unwrap_or(all);
        let (subject, body) = new.split_once('\n').unwrap_or((&new, ""));
        let before = self.first_lines.iter().find_map(|first| subject.trim_end().strip_suffix(first.as_str()));
        let subject = before.map_or(subject.to_owned(), |before| before.to_owned() + &String::from_utf8_lossy(PURGED));
        (is_replaced || before.is_some()).then(|| (subject, body.trim_matches('\n').to_owned()))
    }
}

/// Returns the first line of `text`, if there are more and it says enough.
fn first_line(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let (first, _) = text.trim_start().split_once('\n')?;
    let first = first.trim_end();
    (first.chars().filter(|c| !c.is_whitespace()).count() >= SHORTEST).then(|| first.to_owned())
}

/// Returns how many characters of `text` are no blanks and were not redacted.
fn left_of_redacted(text: &[u8]) -> usize {
    let text = String::from_utf8_lossy(text);
    let mut left = 0;
    for (number, part) in text.split("[redacted ").enumerate() {
        let own = if number == 0 { part } else { part.split_once(']').map_or("", |(_, rest)| rest) };
        left += own.chars().filter(|c| !c.is_whitespace()).count();
    }
    left
}

/// Returns the expression that finds `text` in each spelling.
fn expression_of(text: &[u8]) -> String {
    let mut expression = String::new();
    for chunk in bstr::ByteSlice::utf8_chunks(text) {
        chunk.valid().chars().for_each(|c| expression.push_str(&spellings(c)));
        for byte in chunk.invalid() {
            expression.push_str(&format!("\\x{byte:02x}"));
        }
    }
    expression
}

/// Returns the expression for the spellings of one character.
fn spellings(c: char) -> String {
    let literal = regex::escape(&c.to_string());
    let mut units = [0; 2];
    let unicode: String = c.encode_utf16(&mut units).iter().map(|unit| format!("\\\\+(?i:u{unit:04x})")).collect();
    match c {
        '\r' => "(?:\\r|\\\\+r)?".to_owned(),
        // Trailers of commits have all on one line.
        '\n' => format!("(?:\\s*\\n|\\\\+r\\\\+n|\\\\+n|{unicode}| )"),
        '\t' => format!("(?:\\t|\\\\+t|{unicode}| )"),
        '"' | '/' => format!("(?:\\\\*{literal}|{unicode})"),
        '\\' => format!("(?:\\\\+|{unicode})"),
        c if c.is_ascii_alphanumeric() => literal,
        c if u32::from(c) > 0x7f => {
            let toml = format!("\\\\+U{:08X}", u32::from(c));
            let bytes: String = c.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect();
            format!("(?:{bytes}|{unicode}|{toml})")
        }
        _ => format!("(?:{literal}|{unicode})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(secret: &str, text: &str) -> Option<String> {
        let secret = Secret::new(&[secret.as_bytes().to_vec()]).expect("it can be searched for");
        secret.replace(text.as_bytes()).map(|bytes| String::from_utf8(bytes).expect("text"))
    }

    #[rstest::rstest]
    #[case::plain("hunter2", "a hunter2 b", Some("a [purged] b"))]
    #[case::twice("hunter2", "hunter2hunter2", Some("[purged][purged]"))]
    #[case::absent("hunter2", "hunter3", None)]
    #[case::no_expression("a.c(d", "abc(d a.c(d", Some("abc(d [purged]"))]
    #[case::quotes_in_json(r#"pass"word"#, r#"{"a":"pass\"word"}"#, Some(r#"{"a":"[purged]"}"#))]
    #[case::json_in_json(
        r#"pass"word"#,
        r#"{"a":"{\"b\":\"pass\\\"word\"}"}"#,
        Some(r#"{"a":"{\"b\":\"[purged]\"}"}"#)
    )]
    #[case::a_slash("pass/word", r"pass\/word", Some("[purged]"))]
    #[case::an_accent("caf\u{e9}s", r"caf\u00E9s and caf\\u00e9s", Some("[purged] and [purged]"))]
    #[case::an_accent_as_it_is("caf\u{e9}s", "caf\u{e9}s", Some("[purged]"))]
    #[case::beyond_16_bits("key\u{1f511}!", r"key\ud83d\udd11! key\U0001F511!", Some("[purged] [purged]"))]
    #[case::a_bracket_as_go_writes_it("<key>", r"\u003ckey\u003e", Some("[purged]"))]
    #[case::lines("BEGIN\nabc\nEND\n", "x BEGIN\r\nabc\nEND y", Some("x [purged]\r\n[purged]\n[purged] y"))]
    #[case::lines_in_json("BEGIN\nabc", r"BEGIN\nabc BEGIN\r\nabc BEGIN\\nabc", Some("[purged] [purged] [purged]"))]
    #[case::lines_in_a_subject("BEGIN\nabc", "BEGIN abc", Some("[purged]"))]
    #[case::carriage_returns("BEGIN\r\nabc", "BEGIN\nabc", Some("[purged]\n[purged]"))]
    #[case::a_backslash("dir\\key", r"dir\key dir\\key dir\\\\key", Some("[purged] [purged] [purged]"))]
    fn each_spelling_is_found(#[case] secret: &str, #[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(replaced(secret, text).as_deref(), expected);
    }

    #[rstest::rstest]
    #[case::begins_in_one_piece(-3)]
    #[case::in_the_second_piece(3)]
    #[case::at_the_end((8 << 20) - 7)]
    fn a_file_is_read_in_pieces(#[case] from_the_second_piece: isize) {
        let piece = usize::try_from(PIECE).expect("it fits");
        let at = piece.checked_add_signed(from_the_second_piece).expect("it fits");
        let secret = Secret::new(&[b"hunter2".to_vec()]).expect("it can be searched for");
        let mut bytes = vec![b'.'; 2 * piece];
        assert!(!secret.is_in_file(&bytes[..]).expect("readable"));
        bytes[at..at + 7].copy_from_slice(b"hunter2");
        assert!(secret.is_in_file(&bytes[..]).expect("readable"));
    }

    #[test]
    fn of_a_text_that_was_redacted_the_rest_is_found() {
        let secret = "the door code is 4711 and password=correct-horse-battery-1 for all";
        let stored = String::from_utf8(redact(secret.as_bytes().to_vec())).expect("text");
        assert_ne!(stored, secret);
        assert_eq!(replaced(secret, &format!("a {stored} b")).as_deref(), Some("a [purged] b"));
    }

    #[rstest::rstest]
    #[case::empty("")]
    #[case::short("abc")]
    #[case::blank(" \t \n   ")]
    #[case::what_replaces_it("purged")]
    fn what_is_everywhere_is_refused(#[case] secret: &str) {
        assert!(Secret::new(&[secret.as_bytes().to_vec()]).is_err());
    }

    #[test]
    fn bytes_that_are_no_text_are_found() {
        let secret = Secret::new(&[b"\xff\xfe\x00key".to_vec()]).expect("it can be searched for");
        assert_eq!(secret.replace(b"a\xff\xfe\x00keyb").as_deref(), Some(&b"a[purged]b"[..]));
    }
}
