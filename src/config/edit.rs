//! Changes of one file: checked before anything is written, with comments and order kept.
//!
//! How the file is replaced is left to `replace`.

use std::path::Path;

use toml_edit::{Document, Item, Table, TableLike};

use super::keys::{self, Key};
use super::replace::replace;
use super::sources::{DEFAULTS, Layer};
use super::toml_file;
use super::value::{Value, shorten};
use crate::error::{Context as _, Error, Kind as ErrorKind, Result};

/// Parses `texts` as a value of the key called `name`; a list takes any number of texts.
///
/// # Errors
/// Kind `User` if there is no such key, or the texts are not a value of it.
pub(crate) fn check(name: &str, texts: &[String]) -> Result<Value> {
    let key = find(name)?;
    let read = |text: &String| key.kind.read_text(text);
    let value = match texts {
        [text] => read(text),
        _ if key.kind.is_list() => Some(Value::List(texts.to_vec())).filter(|value| key.kind.accepts(value)),
        _ => None,
    };
    value.ok_or_else(|| {
        let texts: Vec<_> = texts.iter().map(|text| format!("'{}'", shorten(text))).collect();
        let found = if texts.is_empty() { "no value".to_owned() } else { texts.join(" ") };
        Error::user(format!("bad value for '{name}': expected {}, found {found}", key.kind.expected()))
    })
}

/// Returns the key called `name`.
///
/// # Errors
/// Kind `User`, with the nearest known name as the hint.
pub(crate) fn find(name: &str) -> Result<&'static Key> {
    keys::find(name).ok_or_else(|| {
        let error = Error::user(format!("unknown setting '{}'", shorten(name)));
        match keys::suggest(name) {
            Some(key) => error.with_hint(format!("did you mean '{key}'?")),
            None => error.with_hint("'git checkpoint config list' shows all settings"),
        }
    })
}

/// Sets the key called `name` in the file of `layer` at `path`; creates the file and its directories.
///
/// # Errors
/// Kind `User` for an unknown key or a bad value, `Refused` for what the project's file may not set,
/// `Config` if the file is no TOML. The file is then as it was.
pub(crate) fn set(layer: Layer, path: &Path, name: &str, texts: &[String]) -> Result<()> {
    let value = check(name, texts)?;
    let key = find(name)?;
    if layer == Layer::Project && !key.is_worth_setting_in_project(&value) {
        return Err(Error::refused(format!("the project's file may not set '{name}' so: it would be ignored"))
            .with_hint("--user sets it for you, --local in this repository"));
    }
    replace(layer, path, |text| with_value(text, path, key.name, &value).map(Some)).map(|_| ())
}

/// Removes the key called `name` from the file of `layer` at `path`; returns whether it was there.
///
/// Unknown names are removed as well, so that a mistyped one can be undone.
pub(crate) fn unset(layer: Layer, path: &Path, name: &str) -> Result<bool> {
    replace(layer, path, |text| without_key(text, path, name))
}

/// Returns the keys, values and lines of the file at `path`; values of types that no setting has are left out.
pub(crate) fn read(layer: Layer, path: &Path) -> Result<Vec<(String, Value, usize)>> {
    let Some(text) = toml_file::read(path, layer != Layer::Project)? else { return Ok(Vec::new()) };
    let entries = toml_file::parse(&text, &path.to_string_lossy())?;
    let values = entries.into_iter().filter_map(|entry| match entry.content {
        toml_file::Content::Value(value) => Some((entry.path.join("."), value, entry.line)),
        _ => None,
    });
    Ok(values.collect())
}

/// Creates the file at `path` with every default commented out; returns false if there was a file already.
pub(crate) fn create(layer: Layer, path: &Path) -> Result<bool> {
    replace(layer, path, |text| Ok(text.is_empty().then(template)))
}

/// Removes the file at `path` if it is still as [`create`] made it.
pub(crate) fn remove_untouched(layer: Layer, path: &Path) -> Result<()> {
    let text = toml_file::read(path, layer != Layer::Project)?;
    if text.is_none_or(|text| text != template()) {
        return Ok(());
    }
    std::fs::remove_file(path).context(ErrorKind::User, || format!("cannot remove '{}'", path.display()))
}

fn template() -> String {
    let comment = |line: &str| match line.chars().next() {
        None | Some('#' | '[') => format!("{line}\n"),
        Some(_) => format!("#{line}\n"),
    };
    DEFAULTS.lines().map(comment).collect()
}

fn parse(text: &str, path: &Path) -> Result<Document<String>> {
    Document::parse(text.to_owned()).map_err(|error| toml_file::syntax_error(text, &path.to_string_lossy(), &error))
}

/// Returns `text` with the key called `name` holding `value`.
fn with_value(text: &str, path: &Path, name: &str, value: &Value) -> Result<String> {
    let mut document = parse(text, path)?.into_mut();
    let (table, leaf) = name.split_once('.').map_or((None, name), |(table, leaf)| (Some(table), leaf));
    let item = toml_file::item(value);
    let root = document.as_table_mut();
    // Comments above the first table, or of a file without keys, are about more than a new key: it goes above
    // the tables, below the comments.
    if root.is_empty() {
        let comments = document.trailing().as_str().unwrap_or("").to_owned();
        let gap = if comments.is_empty() || comments.ends_with("\n\n") { "" } else { "\n" };
        let header = table.map(|table| format!("[{table}]\n")).unwrap_or_default();
        return Ok(format!("{comments}{gap}{header}{leaf} = {item}\n"));
    }
    let has_root_keys = root.iter().any(|(_, item)| !item.is_table() && !item.is_array_of_tables());
    let parent: &mut dyn TableLike = match table {
        None if !has_root_keys => return Ok(format!("{leaf} = {item}\n\n{text}")),
        None => root,
        Some(table) => {
            let below = root.entry(table).or_insert_with(|| Item::Table(new_table()));
            below.as_table_like_mut().ok_or_else(|| {
                Error::config(format!("bad value for '{table}' in '{}': expected a table", path.display()))
            })?
        }
    };
    set_item(parent, leaf, item);
    Ok(document.to_string())
}

fn new_table() -> Table {
    let mut table = Table::new();
    table.decor_mut().set_prefix("\n");
    table
}

/// Sets the item in place, so that comments and blanks around it stay.
fn set_item(table: &mut dyn TableLike, leaf: &str, mut item: Item) {
    match table.get_mut(leaf) {
        Some(old) => {
            if let (Some(old), Some(new)) = (old.as_value(), item.as_value_mut()) {
                *new.decor_mut() = old.decor().clone();
            }
            *old = item;
        }
        None => {
            table.insert(leaf, item);
        }
    }
}

/// Returns `text` without the key called `name`, or `None` if it is not there. Comments above it stay.
fn without_key(text: &str, path: &Path, name: &str) -> Result<Option<String>> {
    let document = parse(text, path)?;
    let names: Vec<&str> = name.split('.').collect();
    let (leaf, tables) = names.split_last().expect("splitting gives at least one part");
    let mut parent = document.as_item();
    for table in tables {
        match parent.as_table_like().and_then(|table_like| table_like.get(table)) {
            Some(below) => parent = below,
            None => return Ok(None),
        }
    }
    let Some((key, item)) = parent.as_table_like().and_then(|table| table.get_key_value(leaf)) else {
        return Ok(None);
    };
    if item.is_table() || item.is_array_of_tables() {
        return Err(Error::user(format!("'{}' is a table in '{}'", shorten(name), path.display()))
            .with_hint("'git checkpoint config edit' opens the file"));
    }
    // The library would take the comments above the key along, so its lines are cut from the text.
    if !parent.is_inline_table()
        && let (Some(key), Some(value)) = (key.span(), item.span())
    {
        let start = text[..key.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[value.end..].find('\n').map_or(text.len(), |at| value.end + at + 1);
        return Ok(Some(format!("{}{}", &text[..start], &text[end..])));
    }
    let mut document = document.into_mut();
    let mut parent = Some(document.as_item_mut());
    for table in tables {
        parent = parent.and_then(|item| item.as_table_like_mut()).and_then(|below| below.get_mut(table));
    }
    if let Some(table) = parent.and_then(|item| item.as_table_like_mut()) {
        table.remove(leaf);
    }
    Ok(Some(document.to_string()))
}
