//! Migrates a setting from its old, inverted name to the new one, wherever the old one is set.
//!
//! Everything is read before anything is written. For git config, this module only returns what to do; the caller does
//! it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use serde::Serialize;
use toml_edit::{Document, Item, Value as TomlValue};

use super::keys::{self, INVERTED, INVERTED_NOW};
use super::kind::Kind;
use super::replace;
use super::sources::VARIABLE_PREFIX;
use super::toml_file::{self, Content, line_of};
use super::value::{Value, shorten};
use super::{Layer, Sources};
use crate::error::{Error, Result};

pub(crate) use super::replace::back_up;

/// The old name of the setting.
pub(crate) const OLD: &str = INVERTED;
/// Its name now, which means the opposite.
pub(crate) const NEW: &str = INVERTED_NOW;

/// A place that has the old name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Place {
    /// The layer.
    pub layer: Layer,
    /// The file or variable.
    pub source: String,
    /// The line in the file, from 1.
    pub line: Option<usize>,
    /// The value of the old name.
    pub old: bool,
    /// The value for the new name; none if it is set as well, so that the old name is only dropped.
    pub new: Option<bool>,
    /// The copy of the file from before the change.
    pub backup: Option<String>,
    /// What to do, where that is left to the user.
    pub by_hand: Option<String>,
    /// The names under which git config has it.
    #[serde(skip)]
    pub git_names: Vec<String>,
    /// Where the copy goes, if not beside the file.
    #[serde(skip)]
    pub backup_directory: Option<PathBuf>,
}

/// One value below `checkpoint.` of git config.
#[derive(Clone, Debug)]
pub(crate) struct GitValue {
    /// git's word for the place: `local`, `global`, `command`, ...
    pub scope: String,
    /// The file; empty for the command line.
    pub file: String,
    /// The full name.
    pub name: String,
    /// The value; none for a name without `=`.
    pub value: Option<String>,
    /// True if it is in the repository's own file.
    pub is_own: bool,
}

impl GitValue {
    fn place(&self) -> &str {
        if self.file.is_empty() { "the command line" } else { &self.file }
    }
}

/// Returns the places in the files (only that of the layer `only`, if given) and in the environment that set the old
/// name.
///
/// # Errors
/// Kind `Config` if a value is no boolean, or a file cannot be read.
pub(crate) fn find(sources: &Sources, only: Option<Layer>) -> Result<Vec<Place>> {
    let mut places = Vec::new();
    for layer in [Layer::System, Layer::User, Layer::Project, Layer::Local] {
        let path = sources.file(layer).filter(|_| only.is_none_or(|only| only == layer));
        if let Some(path) = path {
            let mut place = find_in_file(layer, path)?;
            if let Some(place) = place.as_mut().filter(|_| layer == Layer::Project) {
                // Beside it, git would show the copy as an untracked file.
                let own = sources.file(Layer::Local).and_then(Path::parent);
                place.backup_directory = own.map(|own| own.join("backup"));
            }
            places.extend(place);
        }
    }
    if only.is_none() {
        places.extend(find_in_environment(sources)?);
    }
    Ok(places)
}

fn find_in_file(layer: Layer, path: &Path) -> Result<Option<Place>> {
    let Some(text) = toml_file::read(path, layer != Layer::Project)? else { return Ok(None) };
    let source = path.to_string_lossy().into_owned();
    let Some(spot) = Spot::find(without_mark(&text).0, &source)? else { return Ok(None) };
    let new = (!spot.has_new).then_some(!spot.old);
    let by_hand = (!is_writable(path)).then(|| match new {
        Some(new) => format!("write '{INVERTED_NOW} = {new}' there"),
        None => format!("take '{INVERTED}' out there"),
    });
    let (old, line, git_names) = (spot.old, Some(spot.line), Vec::new());
    Ok(Some(Place { layer, source, line, old, new, backup: None, by_hand, git_names, backup_directory: None }))
}

fn find_in_environment(sources: &Sources) -> Result<Option<Place>> {
    let find = |name: &str| {
        let is_it = |suffix: &str| keys::find_variable(suffix) == Some(name);
        let mut all = sources.environment.iter().filter(|(_, text)| !text.is_empty());
        all.find(|(variable, _)| variable.strip_prefix(VARIABLE_PREFIX).is_some_and(is_it))
    };
    let Some((variable, text)) = find(INVERTED) else { return Ok(None) };
    let Some(Value::Bool(old)) = Kind::Bool.read_text(text) else {
        return Err(not_boolean(&format!("the variable '{variable}'"), &format!("'{}'", shorten(text))));
    };
    let new = find(INVERTED_NOW).is_none().then_some(!old);
    let by_hand = match new {
        Some(new) => {
            let now = INVERTED_NOW.to_ascii_uppercase().replace('-', "_");
            format!("unset it, and set '{VARIABLE_PREFIX}{now}={new}'")
        }
        None => "unset it".to_owned(),
    };
    Ok(Some(Place {
        layer: Layer::Environment,
        source: variable.clone(),
        line: None,
        old,
        new,
        backup: None,
        by_hand: Some(by_hand),
        git_names: Vec::new(),
        backup_directory: None,
    }))
}

/// Returns the files (and the command line) of git config that set the old name in `values`.
///
/// # Errors
/// Kind `Config` if a value is no boolean.
pub(crate) fn find_git(values: &[GitValue]) -> Result<Vec<Place>> {
    let known = |value: &GitValue| keys::find_git(value.name.strip_prefix("checkpoint.").unwrap_or(&value.name));
    let mut places: Vec<Place> = Vec::new();
    for value in values.iter().filter(|value| known(value) == Some(INVERTED)) {
        let text = value.value.as_deref();
        let Some(Value::Bool(old)) = Kind::Bool.read_text(text.unwrap_or("true")) else {
            let found = shorten(text.unwrap_or_default());
            return Err(not_boolean(&format!("git config ({})", value.place()), &format!("'{found}'")));
        };
        let is_beside = |other: &&GitValue| (&other.scope, &other.file) == (&value.scope, &value.file);
        let has_new = values.iter().filter(is_beside).any(|other| known(other) == Some(INVERTED_NOW));
        let new = (!has_new).then_some(!old);
        let place = Place {
            layer: Layer::Git,
            source: value.place().to_owned(),
            line: None,
            old,
            new,
            backup: None,
            by_hand: (!value.is_own).then(|| git_by_hand(value, new)),
            git_names: vec![value.name.clone()],
            backup_directory: None,
        };
        // Of several values, the last one counts.
        match places.iter_mut().find(|other| other.source == place.source) {
            Some(other) => {
                let mut names = std::mem::take(&mut other.git_names);
                names.retain(|name| *name != value.name);
                *other = place;
                other.git_names.extend(names);
            }
            None => places.push(place),
        }
    }
    Ok(places)
}

fn git_by_hand(value: &GitValue, new: Option<bool>) -> String {
    let place = match value.scope.as_str() {
        "command" => {
            return match new {
                Some(new) => format!("give 'checkpoint.{INVERTED_NOW}={new}' instead"),
                None => "leave it out".to_owned(),
            };
        }
        scope @ ("global" | "system" | "worktree") => format!("--{scope}"),
        _ => format!("--file {}", value.file),
    };
    let unset = format!("'git config {place} --unset-all {}'", value.name);
    match new {
        Some(new) => format!("'git config {place} checkpoint.{INVERTED_NOW} {new}', then {unset}"),
        None => unset,
    }
}

/// Rewrites the file of `place`, and notes where its old text is kept. A second time, nothing is left to do.
///
/// # Errors
/// If the file cannot be written, or has become one that [`find`] fails for; it is then as it was.
pub(crate) fn carry_out(place: &mut Place) -> Result<()> {
    let (source, directory) = (place.source.clone(), place.backup_directory.clone());
    let mut backup = None;
    replace::rewrite(place.layer, Path::new(&source), |path, raw| {
        let (text, mark) = without_mark(raw);
        let Some(spot) = Spot::find(text, &source)? else { return Ok(None) };
        backup = Some(back_up(path, raw.as_bytes(), directory.as_deref())?.to_string_lossy().into_owned());
        Ok(Some(format!("{mark}{}", spot.rewritten(text))))
    })?;
    place.backup = backup;
    Ok(())
}

fn without_mark(raw: &str) -> (&str, &str) {
    match raw.strip_prefix(replace::BYTE_ORDER_MARK) {
        Some(text) => (text, &raw[..raw.len() - text.len()]),
        None => (raw, ""),
    }
}

/// Replacing a file takes the right to write it and its directory.
fn is_writable(path: &Path) -> bool {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().unwrap_or(Path::new("/"));
    access(&path, Access::WRITE_OK).is_ok() && access(directory, Access::WRITE_OK).is_ok()
}

fn not_boolean(place: &str, found: &str) -> Error {
    let message = format!("bad value for '{INVERTED}' in {place}: expected true or false, found {found}");
    Error::config(message).with_hint("write true or false there; nothing was changed")
}

/// Where a file sets the old name.
struct Spot {
    line: usize,
    old: bool,
    has_new: bool,
    key: Range<usize>,
    value: Range<usize>,
}

impl Spot {
    fn find(text: &str, source: &str) -> Result<Option<Self>> {
        let document = Document::parse(text).map_err(|error| toml_file::syntax_error(text, source, &error))?;
        let root = document.as_table();
        let Some((key, item)) = root.get_key_value(INVERTED) else { return Ok(None) };
        let key = key.span().or_else(|| item.span()).unwrap_or_default();
        let line = line_of(text.as_bytes(), key.start);
        let (Item::Value(TomlValue::Boolean(old)), Some(value)) = (item, item.span()) else {
            let found = match toml_file::content(item) {
                Content::Value(value) => value.describe(),
                Content::Odd(what) => what,
                Content::EmptyTable => "a table".to_owned(),
            };
            return Err(not_boolean(&format!("'{source}', line {line}"), &found));
        };
        Ok(Some(Self { line, old: *old.value(), has_new: root.contains_key(INVERTED_NOW), key, value }))
    }

    /// Returns `text` with the new name and the opposite value, or without the old name if the new one is set, too. All
    /// other bytes stay, also a comment on the line.
    fn rewritten(&self, text: &str) -> String {
        if !self.has_new {
            let (before, between) = (&text[..self.key.start], &text[self.key.end..self.value.start]);
            return format!("{before}{INVERTED_NOW}{between}{}{}", !self.old, &text[self.value.end..]);
        }
        let start = text[..self.key.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[self.value.end..].find('\n').map_or(text.len(), |at| self.value.end + at + 1);
        let rest = text[self.value.end..end].trim_start();
        let comment = if rest.starts_with('#') { rest } else { "" };
        format!("{}{comment}{}", &text[..start], &text[end..])
    }
}
