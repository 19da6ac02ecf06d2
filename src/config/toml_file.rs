//! One TOML file as a list of keys, each with its value and line.
//!
//! Which keys are known and what they may hold is decided in `layers`.

use std::path::Path;

use bstr::ByteSlice as _;
use toml_edit::{Document, Item, TableLike, Value as TomlValue};

use super::value::{Value, shorten};
use crate::error::{Context as _, Error, Kind, Result};

/// A setting is a word or a list of patterns; a larger file is a mistake, or meant to hurt.
const MAX_BYTES: u64 = 1 << 20;

/// One key of a file.
#[derive(Debug)]
pub(super) struct Entry {
    /// The names of the tables and of the key.
    pub(super) path: Vec<String>,
    /// The line of the key, from 1.
    pub(super) line: usize,
    /// What it holds.
    pub(super) content: Content,
}

/// What a key holds.
#[derive(Debug)]
pub(super) enum Content {
    /// A value of a type that some setting has.
    Value(Value),
    /// Anything else, described.
    Odd(String),
    /// A table without any key below it.
    EmptyTable,
}

/// Returns the text of `path`; none if there is no such file.
///
/// With `follow` false, a symbolic link is not followed: a committed one may point anywhere.
pub(super) fn read(path: &Path, follow: bool) -> Result<Option<String>> {
    let metadata = if follow { path.metadata() } else { path.symlink_metadata() };
    let metadata = match metadata {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => {
            refuse_closed(path)?;
            return Err(error).context(Kind::Config, || cannot_read(path));
        }
    };
    if !metadata.is_file() {
        return Err(Error::config(format!("{}: not a regular file", cannot_read(path))));
    }
    if metadata.len() > MAX_BYTES {
        return Err(Error::config(format!("{}: larger than 1 MiB", cannot_read(path))));
    }
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error).context(Kind::Config, || cannot_read(path)),
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let line = line_of(error.as_bytes(), error.utf8_error().valid_up_to());
            Err(Error::config(format!("{}, line {line}: not UTF-8", cannot_read(path))))
        }
    }
}

/// Returns an error if it is the directory of `path` that cannot be looked into.
fn refuse_closed(path: &Path) -> Result<()> {
    let Some(directory) = path.parent() else { return Ok(()) };
    match directory.join(".").metadata() {
        Err(cause) if !is_absent(&cause) => {
            let message = format!("cannot look into the directory '{}'", directory.display());
            let hint = "see to its owner, its permissions, and whether its disk is mounted";
            Err(Error::internal(message).with_cause(cause).with_hint(hint))
        }
        _ => Ok(()),
    }
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read settings from '{}'", path.display())
}

/// A path below a file does not exist, either.
fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Returns the keys of `text`; `source` names the file in the error.
pub(super) fn parse(text: &str, source: &str) -> Result<Vec<Entry>> {
    let document = Document::parse(text).map_err(|error| syntax_error(text, source, &error))?;
    let mut entries = Vec::new();
    collect(text, document.as_table(), &mut Vec::new(), &mut entries);
    Ok(entries)
}

/// Returns the error for a file that is no TOML.
pub(super) fn syntax_error(text: &str, source: &str, error: &toml_edit::TomlError) -> Error {
    let line = line_of(text.as_bytes(), error.span().map_or(0, |span| span.start));
    let reason = error.message().lines().next().unwrap_or("invalid TOML");
    Error::config(format!("cannot parse '{source}', line {line}: {}", shorten(reason)))
}

/// Returns the list of strings that `text` is as a TOML array.
pub(super) fn list(text: &str) -> Option<Value> {
    match content(&Item::Value(text.trim().parse::<TomlValue>().ok()?)) {
        Content::Value(value @ Value::List(_)) => Some(value),
        _ => None,
    }
}

fn collect(text: &str, table: &dyn TableLike, path: &mut Vec<String>, entries: &mut Vec<Entry>) {
    for (name, item) in table.iter() {
        path.push(name.to_owned());
        let span = table.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
        let line = line_of(text.as_bytes(), span.map_or(0, |span| span.start));
        match item.as_table_like() {
            Some(below) if !below.is_empty() => collect(text, below, path, entries),
            Some(_) => entries.push(Entry { path: path.clone(), line, content: Content::EmptyTable }),
            None => entries.push(Entry { path: path.clone(), line, content: content(item) }),
        }
        path.pop();
    }
}

/// Returns what `item` holds.
pub(super) fn content(item: &Item) -> Content {
    let odd = |what: &str| Content::Odd(what.to_owned());
    match item {
        Item::Value(TomlValue::Boolean(value)) => Content::Value(Value::Bool(*value.value())),
        Item::Value(TomlValue::Integer(value)) => Content::Value(Value::Integer(*value.value())),
        Item::Value(TomlValue::String(value)) => Content::Value(Value::Text(value.value().clone())),
        Item::Value(TomlValue::Float(value)) => Content::Odd(format!("the float '{}'", value.value())),
        Item::Value(TomlValue::Datetime(value)) => Content::Odd(format!("the date '{}'", value.value())),
        Item::Value(TomlValue::Array(values)) => {
            let mut items = Vec::new();
            for value in values {
                match value {
                    TomlValue::String(value) => items.push(value.value().clone()),
                    other => return Content::Odd(format!("a list with a value of type {}", other.type_name())),
                }
            }
            Content::Value(Value::List(items))
        }
        Item::ArrayOfTables(_) => odd("a list of tables"),
        Item::Value(TomlValue::InlineTable(_)) | Item::Table(_) | Item::None => odd("a table"),
    }
}

/// Returns the line, from 1, of the byte at `offset`.
pub(super) fn line_of(text: &[u8], offset: usize) -> usize {
    1 + text[..offset.min(text.len())].find_iter("\n").count()
}

/// Returns the TOML for `value`.
pub(super) fn item(value: &Value) -> Item {
    match value {
        Value::Bool(value) => toml_edit::value(*value),
        Value::Integer(value) => toml_edit::value(*value),
        Value::Text(value) => toml_edit::value(value),
        Value::List(items) => toml_edit::value(items.iter().collect::<toml_edit::Array>()),
    }
}
