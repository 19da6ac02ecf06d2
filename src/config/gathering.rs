//! What each layer says: known keys with values of their type; the rest becomes warnings and errors.
//!
//! Which value wins is decided in `layers`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::keys::{self, INVERTED, INVERTED_NOW, Key, RESERVED_VARIABLES};
use super::kind::Kind;
use super::loaded::{Origin, Warning};
use super::sources::VARIABLE_PREFIX;
use super::toml_file::{self, Content, Entry};
use super::value::{Value, shorten};
use super::{Layer, Sources};
use crate::{error::Error, model::path_text::shell_word};

/// What rewrites old names.
const MIGRATE: &str = "git checkpoint config migrate";

/// A checked value of one layer.
pub(super) struct Found {
    pub(super) key: &'static Key,
    pub(super) value: Value,
    pub(super) place: Place,
    /// Whether it was written under the key's old, inverted name.
    is_inverted: bool,
    /// Its position where a layer has an order: of git config, later files win.
    order: usize,
}

/// Where a value was found, for messages and origins.
#[derive(Clone)]
pub(super) struct Place {
    layer: Layer,
    source: String,
    line: Option<usize>,
}

impl Found {
    /// Returns what is compiled in, in the order of [`keys::KEYS`].
    pub(super) fn defaults() -> Vec<Self> {
        let place = || Place { layer: Layer::Default, source: String::new(), line: None };
        let default =
            |key: &'static Key| Self { key, value: key.default.value(), place: place(), is_inverted: false, order: 0 };
        keys::KEYS.iter().map(default).collect()
    }

    pub(super) fn into_origin(self, layer: Layer) -> Origin {
        Origin { key: self.key.name, value: self.value, layer, source: self.place.source, line: self.place.line }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.layer, self.line) {
            (Layer::Default, _) => f.write_str("the defaults"),
            (Layer::Git, _) if self.source.is_empty() => f.write_str("git config"),
            (Layer::Git, _) => write!(f, "git config ({})", self.source),
            (Layer::Environment, _) => write!(f, "the variable '{}'", self.source),
            (Layer::Flag, _) => f.write_str("the command line"),
            (_, Some(line)) => write!(f, "'{}', line {line}", self.source),
            (_, None) => write!(f, "'{}'", self.source),
        }
    }
}

impl Place {
    /// Returns how to remove `key` from this place.
    fn remedy(&self, key: &str) -> Option<String> {
        match self.layer {
            Layer::User | Layer::Project | Layer::Local => {
                Some(format!("'git checkpoint config unset --{} {key}' removes it", self.layer.name()))
            }
            Layer::Git => Some(format!("'git config --unset-all checkpoint.{key}' removes it")),
            Layer::Environment => Some(format!("'unset {}' removes it", self.source)),
            Layer::System => Some(format!("take it out of '{}'", self.source)),
            Layer::Default | Layer::Flag => None,
        }
    }
}

/// A value of a layer in which everything is text.
struct TextValue {
    /// The known key, if it is one.
    key: Option<&'static str>,
    /// The name as it was written.
    name: String,
    text: Option<String>,
    source: String,
}

/// What has been met while gathering.
#[derive(Default)]
pub(super) struct Gathering {
    pub(super) warnings: Vec<Warning>,
    pub(super) errors: Vec<Error>,
    /// The keys for which some layer has a value they cannot have.
    pub(super) bad_keys: BTreeSet<&'static str>,
    has_hinted_inverted: bool,
}

impl Gathering {
    pub(super) fn file(&mut self, layer: Layer, path: &Path) -> Vec<Found> {
        // A committed symbolic link may name any file of the machine.
        match toml_file::read(path, layer != Layer::Project) {
            Ok(None) => Vec::new(),
            Ok(Some(text)) => self.text(layer, &text, &path.to_string_lossy()),
            Err(error) => {
                self.errors.push(with_way_on(error, layer, path));
                Vec::new()
            }
        }
    }

    pub(super) fn text(&mut self, layer: Layer, text: &str, source: &str) -> Vec<Found> {
        match toml_file::parse(text, source) {
            Ok(entries) => {
                let found = entries.into_iter().filter_map(|entry| self.entry(layer, source, entry)).collect();
                self.without_shadowed(found)
            }
            Err(error) => {
                self.errors.push(with_way_on(error, layer, Path::new(source)));
                Vec::new()
            }
        }
    }

    fn entry(&mut self, layer: Layer, source: &str, entry: Entry) -> Option<Found> {
        let place = Place { layer, source: source.to_owned(), line: Some(entry.line) };
        let is_plain = entry.path.iter().all(|name| !name.contains('.'));
        let name = if is_plain { entry.path.join(".") } else { format!("\"{}\"", entry.path.join("\".\"")) };
        if let Some(kind) = kind_of(&name) {
            return match entry.content {
                Content::Value(value) if kind.accepts(&value) => Some(found(&name, value, place)),
                Content::Value(value) => self.bad_value(&name, kind, &value.describe(), &place),
                Content::Odd(what) => self.bad_value(&name, kind, &what, &place),
                Content::EmptyTable => self.bad_value(&name, kind, "a table", &place),
            };
        }
        let first = &entry.path[0];
        if entry.path.len() > 1
            && let Some(kind) = kind_of(first)
        {
            return self.bad_value(first, kind, "a table", &place);
        }
        match entry.content {
            Content::EmptyTable if keys::is_table(&name) => {}
            Content::Value(value) if keys::is_table(&name) => self.not_a_table(&name, &value.describe(), &place),
            Content::Odd(what) if keys::is_table(&name) => self.not_a_table(&name, &what, &place),
            _ => self.warn_unknown(&name, &place),
        }
        None
    }

    pub(super) fn git(&mut self, sources: &Sources) -> Vec<Found> {
        let values = sources.git.iter().map(|entry| {
            let name = match entry.key.split_at_checked("checkpoint.".len()) {
                Some((section, name)) if section.eq_ignore_ascii_case("checkpoint.") => name,
                _ => entry.key.as_str(),
            };
            TextValue {
                key: keys::find_git(name),
                name: name.to_owned(),
                text: entry.value.clone(),
                source: entry.origin.clone(),
            }
        });
        self.texts(Layer::Git, values.collect())
    }

    pub(super) fn environment(&mut self, sources: &Sources) -> Vec<Found> {
        let mut values = Vec::new();
        for (variable, text) in &sources.environment {
            let Some(suffix) = variable.strip_prefix(VARIABLE_PREFIX) else { continue };
            // An empty variable counts as not set, as for most of git's own.
            if RESERVED_VARIABLES.contains(&suffix) || text.is_empty() {
                continue;
            }
            values.push(TextValue {
                key: keys::find_variable(suffix),
                name: suffix.to_ascii_lowercase().replace('_', "-"),
                text: Some(text.clone()),
                source: variable.clone(),
            });
        }
        self.texts(Layer::Environment, values)
    }

    pub(super) fn flags(&mut self, sources: &Sources) -> Vec<Found> {
        let values = sources.flags.iter().map(|(key, text)| TextValue {
            key: keys::find(key).map(|key| key.name),
            name: key.clone(),
            text: Some(text.clone()),
            source: String::new(),
        });
        self.texts(Layer::Flag, values.collect())
    }

    /// Reads values that are text. If a key has several, the last one wins; the values of a list add up, and as in git,
    /// an empty one empties the list.
    fn texts(&mut self, layer: Layer, values: Vec<TextValue>) -> Vec<Found> {
        let mut of_key: BTreeMap<&'static str, Vec<TextValue>> = BTreeMap::new();
        let mut orders: BTreeMap<&'static str, usize> = BTreeMap::new();
        for (order, value) in values.into_iter().enumerate() {
            orders.extend(value.key.map(|key| (key, order)));
            match value.key {
                Some(key) => of_key.entry(key).or_default().push(value),
                None => {
                    self.warn_unknown(&value.name, &Place { layer, source: value.source, line: None });
                }
            }
        }
        let found = of_key.into_iter().filter_map(|(name, values)| {
            let kind = kind_of(name).expect("only known keys are grouped");
            if kind.is_list() {
                return self.text_list(layer, name, kind, values);
            }
            let last = values.into_iter().next_back()?;
            let place = Place { layer, source: last.source, line: None };
            let text = last.text.as_deref().or(matches!(kind, Kind::Bool).then_some("true"));
            match text.map(|text| kind.read_text(text)) {
                Some(Some(value)) => Some(Found { order: orders[name], ..found(name, value, place) }),
                _ => self.bad_value(name, kind, &describe(text), &place),
            }
        });
        let found = found.collect();
        self.without_shadowed(found)
    }

    fn text_list(&mut self, layer: Layer, name: &'static str, kind: Kind, values: Vec<TextValue>) -> Option<Found> {
        let mut items = Vec::new();
        let mut place = Place { layer, source: String::new(), line: None };
        for value in values {
            place.source = value.source;
            match value.text.as_deref().map(|text| (text, kind.read_text(text))) {
                Some(("", _)) => items.clear(),
                Some((_, Some(Value::List(more)))) => items.extend(more),
                other => return self.bad_value(name, kind, &describe(other.map(|(text, _)| text)), &place),
            }
        }
        Some(found(name, Value::List(items), place))
    }

    /// Leaves out the old name where the layer has the new one too, and says once how to get rid of it.
    fn without_shadowed(&mut self, mut found: Vec<Found>) -> Vec<Found> {
        let Some(old) = found.iter().position(|found| found.is_inverted) else { return found };
        let new = found.iter().position(|found| found.key.name == INVERTED_NOW && !found.is_inverted);
        let Some(new) = new else {
            self.hint_inverted(&found[old]);
            return found;
        };
        let place = &found[old].place;
        if place.layer == Layer::Git && place.source != found[new].place.source {
            self.hint_inverted(&found[old]);
            found.remove(if found[old].order > found[new].order { new } else { old });
            return found;
        }
        let message = format!("'{INVERTED}' in {place} is ignored: '{INVERTED_NOW}' is set there too");
        let hint = match place.layer {
            Layer::Environment => place.remedy(INVERTED),
            _ => Some(format!("'{MIGRATE}' takes it out")),
        };
        self.warnings.push(Warning { message, hint: hint.filter(|_| !self.has_hinted_inverted) });
        self.has_hinted_inverted = true;
        found.remove(old);
        found
    }

    fn hint_inverted(&mut self, old: &Found) {
        if self.has_hinted_inverted {
            return;
        }
        self.has_hinted_inverted = true;
        let (place, value) = (&old.place, &old.value);
        let hint = match place.layer {
            Layer::Environment => {
                let name = INVERTED_NOW.to_ascii_uppercase().replace('-', "_");
                format!("set '{VARIABLE_PREFIX}{name}={value}' instead; '{MIGRATE}' rewrites files")
            }
            _ => format!("'{MIGRATE}' makes '{INVERTED_NOW} = {value}' of it"),
        };
        let message = format!("'{INVERTED}' in {place} is an old name");
        self.warnings.push(Warning { message, hint: Some(hint) });
    }

    /// Notes a value that its key cannot have; the answer is always `None`.
    fn bad_value(&mut self, name: &str, kind: Kind, what: &str, place: &Place) -> Option<Found> {
        let key = known(name);
        if place.layer == Layer::Project && key.is_restricted_in_project() {
            if key.is_for_project() {
                let expected = kind.expected();
                let message =
                    format!("bad value for '{name}' in {place} is ignored: expected {expected}, found {what}");
                self.warnings.push(Warning { message, hint: None });
            } else {
                self.warn_untrusted(name, place);
            }
            return None;
        }
        let message = format!("bad value for '{name}' in {place}: expected {}, found {what}", kind.expected());
        let error = Error::config(message);
        self.errors.push(match place.remedy(name) {
            Some(hint) => error.with_hint(hint),
            None => error,
        });
        self.bad_keys.insert(key.name);
        None
    }

    fn not_a_table(&mut self, name: &str, what: &str, place: &Place) {
        let message = format!("bad value for '{name}' in {place}: expected a table, found {what}");
        self.errors.push(Error::config(message).with_hint(format!("write '[{name}]' above its keys")));
    }

    fn warn_unknown(&mut self, name: &str, place: &Place) {
        let hint = keys::suggest(name).map(|key| match place.layer {
            Layer::Environment => {
                let suffix = key.to_ascii_uppercase().replace(['.', '-'], "_");
                format!("did you mean '{VARIABLE_PREFIX}{suffix}'?")
            }
            _ => format!("did you mean '{key}'?"),
        });
        let message = match place.layer {
            Layer::Environment => format!("{place} is no known setting"),
            _ => format!("unknown setting '{}' in {place}", shorten(name)),
        };
        self.warnings.push(Warning { message, hint });
    }

    pub(super) fn warn_untrusted(&mut self, name: &str, place: &Place) {
        self.warnings.push(Warning {
            message: format!("'{name}' in {place} is ignored: the project's file may not set it so"),
            hint: Some(format!("'git checkpoint config set --local {name} <value>' sets it in this repository")),
        });
    }
}

/// Adds a hint for a file that cannot be read, so that the file does not stop the user from undoing a restore.
fn with_way_on(error: Error, layer: Layer, path: &Path) -> Error {
    if error.hint().is_some() {
        return error;
    }
    let path = path.display().to_string();
    let (from, to) = (shell_word(&path), shell_word(&format!("{path}.bad")));
    let edit = match layer {
        Layer::User | Layer::Project | Layer::Local => {
            format!("'git checkpoint config edit --{}' opens it; ", layer.name())
        }
        _ => String::new(),
    };
    error.with_hint(format!("{edit}to continue without it, 'mv {from} {to}'"))
}

fn found(name: &str, value: Value, place: Place) -> Found {
    let is_inverted = name == INVERTED;
    let value = match value {
        Value::Bool(value) if is_inverted => Value::Bool(!value),
        value => value,
    };
    Found { key: known(name), value, place, is_inverted, order: 0 }
}

/// Returns the key with this name, current or old.
fn known(name: &str) -> &'static Key {
    keys::find(if name == INVERTED { INVERTED_NOW } else { name }).expect("callers have asked for its type")
}

fn kind_of(name: &str) -> Option<Kind> {
    if name == INVERTED { Some(Kind::Bool) } else { keys::find(name).map(|key| key.kind) }
}

fn describe(text: Option<&str>) -> String {
    text.map_or_else(|| "no value".to_owned(), |text| format!("'{}'", shorten(text)))
}
