//! The result of loading the settings: the settings, where each comes from, and what was ignored.

use serde::Serialize;

use super::{settings::Settings, sources::Layer, value::Value};
use crate::error::Error;

/// The settings with everything that is known about where they come from.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The settings in force.
    pub settings: Settings,
    /// What was ignored and why: unknown keys, keys the project's file may not set, old names.
    pub warnings: Vec<Warning>,
    /// What [`load`](super::load) would have failed with; always empty after [`load`](super::load).
    pub errors: Vec<Error>,
    /// One entry per key, in the order of [`KEYS`](super::keys::KEYS).
    pub origins: Vec<Origin>,
}

impl Loaded {
    /// Returns where the setting named `key` comes from.
    pub(crate) fn origin(&self, key: &str) -> Option<&Origin> {
        self.origins.iter().find(|origin| origin.key == key)
    }
}

/// Something in a layer that has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Warning {
    /// One line: what was ignored, and where.
    pub message: String,
    /// What to write instead, if that is known.
    pub hint: Option<String>,
}

/// Where the value of one key comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Origin {
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
