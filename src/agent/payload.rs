//! Parses an agent's payload: one JSON object, whose size, depth and content may be hostile. Never panics.

use serde_json::{Map, Value};

use crate::{
    error::{Context as _, Error, Kind, Result},
    model::session::is_valid_id,
};

/// The longest payload that is read, in bytes.
pub(crate) const LONGEST: usize = 64 << 20;

/// The longest word (a name, an id, a path) that is taken, in bytes.
const LONGEST_WORD: usize = 4096;

/// One JSON object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payload<'a>(&'a Map<String, Value>);

/// Parses `bytes` as an object.
///
/// Invalid UTF-8 and unpaired surrogates become U+FFFD, and raw control characters in strings are accepted: some agents
/// send all of these.
///
/// # Errors
/// [`Kind::User`] if it is too long, not JSON (at most 128 levels deep), or not an object.
pub(super) fn parse(bytes: &[u8]) -> Result<Map<String, Value>> {
    if bytes.len() > LONGEST {
        return Err(Error::user(format!("the payload is longer than {} MiB", LONGEST >> 20)));
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let parsed = serde_json::from_str(text).or_else(|error| {
        let escaped = with_escaped_controls(text);
        let whole = with_whole_characters(escaped.as_deref().unwrap_or(text));
        match whole.or(escaped) {
            Some(mended) => serde_json::from_str(&mended),
            None => Err(error),
        }
    });
    match parsed.context(Kind::User, || "the payload is no JSON".to_owned())? {
        Value::Object(map) => Ok(map),
        _ => Err(Error::user("the payload is no JSON object")),
    }
}

/// Returns `text` with the control characters in its strings escaped; none if there are none.
fn with_escaped_controls(text: &str) -> Option<String> {
    let (mut is_string, mut is_escaped, mut has_any) = (false, false, false);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_string && u32::from(c) < 0x20 {
            has_any = true;
            // The meaning of the backslash is unclear: take it literally.
            if is_escaped {
                out.push('\\');
            }
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
            is_escaped = false;
            continue;
        }
        match c {
            '"' if !is_escaped => is_string = !is_string,
            _ => {}
        }
        is_escaped = is_string && c == '\\' && !is_escaped;
        out.push(c);
    }
    has_any.then_some(out)
}

/// Returns `text` with U+FFFD for each unpaired surrogate escape: agents cut long texts at any place. None if there is
/// no such escape.
fn with_whole_characters(text: &str) -> Option<String> {
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let (mut out, mut rest, mut has_any) = (String::with_capacity(text.len()), text, false);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (length, is_half) = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (12, false),
            (Some(0xD800..=0xDFFF), _) => (6, true),
            _ => (escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end), false),
        };
        let (escape, after) = escape.split_at(length);
        out.push_str(if is_half { "\\ufffd" } else { escape });
        (rest, has_any) = (after, has_any || is_half);
    }
    out.push_str(rest);
    has_any.then_some(out)
}

impl<'a> Payload<'a> {
    pub(super) fn new(map: &'a Map<String, Value>) -> Self {
        Self(map)
    }

    /// Returns the first value under one of `keys` that is not null.
    pub(super) fn value(self, keys: &[&str]) -> Option<&'a Value> {
        keys.iter().filter_map(|key| self.0.get(*key)).find(|value| !value.is_null())
    }

    /// Returns the first text under one of `keys`, however long.
    pub(super) fn text(self, keys: &[&str]) -> Option<&'a str> {
        keys.iter().filter_map(|key| self.0.get(*key)).find_map(Value::as_str)
    }

    /// Returns the first word under one of `keys`: not empty, printable, of bearable length.
    pub(super) fn word(self, keys: &[&str]) -> Option<&'a str> {
        self.text(keys).filter(|text| is_word(text))
    }

    /// Returns the object under the first of `keys` that has one, or an empty object.
    pub(super) fn object(self, keys: &[&str]) -> Payload<'a> {
        static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        Payload(keys.iter().filter_map(|key| self.0.get(*key)).find_map(Value::as_object).unwrap_or(&EMPTY))
    }

    /// Returns the list under the first of `keys` that has one, or an empty list.
    pub(super) fn list(self, keys: &[&str]) -> &'a [Value] {
        keys.iter().filter_map(|key| self.0.get(*key)).find_map(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Returns true if one of `keys` is true.
    pub(super) fn is_true(self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.0.get(*key) == Some(&Value::Bool(true)))
    }

    /// Returns true if `key` has a value.
    pub(super) fn has(self, key: &str) -> bool {
        self.value(&[key]).is_some()
    }

    /// Returns the session id under one of `keys`.
    ///
    /// # Errors
    /// [`Kind::User`] if there is none, or it is not a valid id.
    pub(super) fn session(self, keys: &[&str]) -> Result<String> {
        match self.text(keys) {
            Some(id) if is_valid_id(id) => Ok(id.to_owned()),
            Some(_) => Err(Error::user("the payload has an invalid session id")),
            None => Err(Error::user("the payload has no session id")),
        }
    }

    /// Returns the object's keys and values.
    pub(super) fn entries(self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.0.iter()
    }
}

/// Returns true if `text` may be a name, an id or a path.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_WORD && !text.chars().any(|c| c.is_control() || c == '\u{fffd}')
}

/// Returns `name` without what agents write differently: case, and the marks between words.
pub(super) fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(LONGEST_WORD).collect()
}
