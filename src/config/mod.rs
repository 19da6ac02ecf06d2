//! The settings: eight layers, from the compiled-in defaults to the command line, become one [`Settings`].
//!
//! The doors say in [`Sources`] where the layers are and what environment and flags hold; this room
//! reads the files and nothing else. Running an editor and printing are left to `cli`.
//!
//! - [`keys`]: every setting with its type, and what the project's file may do to it.
//! - `value`: sizes, durations and the check of a value against its type.
//! - `toml_file`: one TOML file as a list of keys with lines.
//! - [`Sources`]: the layers as they come from outside.
//! - `gathering`: what each says, checked.
//! - `layers`: their composition; the only place that names figment.
//! - [`edit`], `replace`: changes one file and keeps its comments and order.
//! - [`migrate`]: from the old name of a setting to the new one.

use serde::Serialize;

use crate::error::{Error, Result};

pub mod edit;
mod gathering;
pub mod keys;
mod layers;
pub mod migrate;
mod replace;
mod settings;
mod sources;
mod toml_file;
mod value;

#[cfg(test)]
mod tests;

pub use replace::leftovers;
pub use settings::{
    Agents, Archive, Color, Concurrency, Jj, Link, Policy, Push, Save, Settings, Storage, Store, Transcript, Ui,
    Worktree,
};
pub use sources::{GitEntry, Layer, PROJECT_FILE, Sources};
pub use value::{ByteSize, Value, parse_duration};

/// The text of `config/default.toml`: every setting, its default and one comment.
pub const DEFAULTS: &str = include_str!("../../config/default.toml");

/// The settings with everything that is known about where they come from.
#[derive(Debug)]
pub struct Loaded {
    /// The settings in force.
    pub settings: Settings,
    /// What was ignored and why: unknown keys, keys the project's file may not set, old names.
    pub warnings: Vec<Warning>,
    /// What [`load`] would have failed with; always empty after [`load`].
    pub errors: Vec<Error>,
    /// One entry per key, in the order of [`keys::KEYS`].
    pub origins: Vec<Origin>,
}

impl Loaded {
    /// Returns where the setting named `key` comes from.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.origins.iter().find(|origin| origin.key == key)
    }
}

/// Something in a layer that has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// One line: what was ignored, and where.
    pub message: String,
    /// What to write instead, if that is known.
    pub hint: Option<String>,
}

/// Where the value of one key comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Origin {
    /// The key, with dots between tables.
    pub key: &'static str,
    /// The value as its layer has it.
    pub value: Value,
    /// The layer whose value won.
    pub layer: Layer,
    /// The file, variable, git config file or flag; empty for the defaults.
    pub source: String,
    /// The line in the file, from 1.
    pub line: Option<usize>,
}

/// Returns the settings that `sources` give.
///
/// An unknown key is a warning; a file that cannot be read or parsed and a value of the wrong type are
/// errors of kind [`Config`](crate::error::Kind::Config) that name file, line, key, expected and found.
pub fn load(sources: &Sources) -> Result<Loaded> {
    let mut loaded = layers::compose(sources);
    if loaded.errors.is_empty() { Ok(loaded) } else { Err(loaded.errors.swap_remove(0)) }
}

/// As [`load`], but never fails: a key with a bad value takes its default, a bad file is left out, and
/// [`Loaded::errors`] says so. For hooks, which must not stop an agent or a commit.
pub fn load_lenient(sources: &Sources) -> Loaded {
    layers::compose(sources)
}

impl Default for Settings {
    fn default() -> Self {
        load_lenient(&Sources::default()).settings
    }
}
