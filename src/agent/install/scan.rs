//! The places of values in a JSON text, so that one place can be changed without touching the rest. Accepts comments,
//! and commas before a closing bracket.

use crate::error::{Error, Result};

/// A value and where it is.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
    /// Of an object or a list.
    pub(super) items: Vec<Item>,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    List,
    Text(String),
    Other,
}

/// A value in a list, or a key with its value in an object.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) key: Option<String>,
    pub(super) start: usize,
    pub(super) node: Node,
}

/// Deeper values are rejected.
const DEEPEST: usize = 100;

impl Node {
    /// Returns the value under `key`; the last one, as all readers have it.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.position(key).map(|at| &self.items[at].node)
    }

    /// Returns where the value under `key` is among the items.
    pub(super) fn position(&self, key: &str) -> Option<usize> {
        self.items.iter().rposition(|item| item.key.as_deref() == Some(key))
    }

    /// Returns the text that it is.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Parses `text`; none if it contains only blanks and comments.
pub(super) fn scan(text: &str) -> Result<Option<Node>> {
    let mut scanner = Scanner { text, at: 0 };
    if text.starts_with('\u{feff}') {
        scanner.at = '\u{feff}'.len_utf8();
    }
    scanner.skip()?;
    if scanner.at == text.len() {
        return Ok(None);
    }
    let node = scanner.value(0)?;
    scanner.skip()?;
    if scanner.at == text.len() { Ok(Some(node)) } else { Err(scanner.error()) }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn error(&self) -> Error {
        let line = 1 + self.text.get(..self.at).map_or(0, |before| before.matches('\n').count());
        Error::user(format!("line {line} is no JSON"))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<()> {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.at += blank;
            let rest = &self.text[self.at..];
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/").ok_or_else(|| self.error())?;
                self.at += end + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node> {
        let start = self.at;
        let (kind, items) = match self.peek() {
            _ if depth > DEEPEST => return Err(self.error()),
            Some(b'{') => (Kind::Object, self.items(depth, b'}')?),
            Some(b'[') => (Kind::List, self.items(depth, b']')?),
            Some(b'"') => (Kind::Text(self.string()?), Vec::new()),
            _ => {
                let rest = &self.text[start..];
                let end = rest.find([',', '}', ']', ' ', '\t', '\r', '\n', '/']).unwrap_or(rest.len());
                if serde_json::from_str::<serde_json::Value>(&rest[..end]).is_err() {
                    return Err(self.error());
                }
                self.at += end;
                (Kind::Other, Vec::new())
            }
        };
        Ok(Node { start, end: self.at, kind, items })
    }

    fn items(&mut self, depth: usize, closing: u8) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.skip()?;
            if self.peek() == Some(closing) {
                self.at += 1;
                return Ok(items);
            }
            let start = self.at;
            let mut key = None;
            if closing == b'}' {
                if self.peek() != Some(b'"') {
                    return Err(self.error());
                }
                key = Some(self.string()?);
                self.skip()?;
                if self.peek() != Some(b':') {
                    return Err(self.error());
                }
                self.at += 1;
                self.skip()?;
            }
            items.push(Item { key, start, node: self.value(depth + 1)? });
            self.skip()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == closing => {}
                _ => return Err(self.error()),
            }
        }
    }

    fn string(&mut self) -> Result<String> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut at = start + 1;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\\' => at += 2,
                b'"' => {
                    self.at = at + 1;
                    return serde_json::from_str(&self.text[start..=at]).map_err(|_| self.error());
                }
                _ => at += 1,
            }
        }
        Err(self.error())
    }
}
