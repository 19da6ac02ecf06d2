//! The composition of the layers: what the project's file may set, who wins.
//!
//! What each layer says is gathered and checked in `gathering`.

use std::collections::BTreeMap;

use serde::Deserialize as _;

use super::gathering::{Found, Gathering};
use super::keys::KEYS;
use super::value::Tree;
use super::{Jj, Layer, Loaded, Origin, Settings, Sources, Warning};
use crate::error::{Error, Result};

/// Returns the settings that `sources` give.
///
/// An unknown key is a warning; a file that cannot be read or parsed and a value of the wrong type are
/// errors of kind [`Config`](crate::error::Kind::Config) that name file, line, key, expected and found.
pub(crate) fn load(sources: &Sources) -> Result<Loaded> {
    let mut loaded = compose(sources);
    if loaded.errors.is_empty() { Ok(loaded) } else { Err(loaded.errors.swap_remove(0)) }
}

/// As [`load`], but never fails: a key with a bad value takes its default, a bad file is left out, and
/// [`Loaded::errors`] says so. For hooks, which must not stop an agent or a commit.
pub(crate) fn load_lenient(sources: &Sources) -> Loaded {
    compose(sources)
}

impl Default for Settings {
    fn default() -> Self {
        load_lenient(&Sources::default()).settings
    }
}

/// Returns the settings of all layers, with every error and warning met on the way.
fn compose(sources: &Sources) -> Loaded {
    let mut gathering = Gathering::default();
    let mut layers = vec![(Layer::Default, Found::defaults())];
    for layer in [Layer::System, Layer::User, Layer::Project, Layer::Local] {
        if let Some(path) = sources.file(layer) {
            layers.push((layer, gathering.file(layer, path)));
        }
    }
    layers.push((Layer::Git, gathering.git(sources)));
    layers.push((Layer::Environment, gathering.environment(sources)));
    layers.push((Layer::Flag, gathering.flags(sources)));
    merge(layers, gathering, sources)
}

fn merge(layers: Vec<(Layer, Vec<Found>)>, mut gathering: Gathering, sources: &Sources) -> Loaded {
    let mut origins: BTreeMap<&'static str, Origin> = BTreeMap::new();
    for (layer, settings) in layers {
        for found in settings {
            // One bad value invalidates its key in every layer: the default is used.
            if layer > Layer::Default && gathering.bad_keys.contains(found.key.name) {
                continue;
            }
            let below = origins.get(found.key.name).map(|origin| &origin.value);
            let is_allowed = layer != Layer::Project
                || below.is_some_and(|below| found.key.is_allowed_in_project(&found.value, below));
            if is_allowed {
                origins.insert(found.key.name, found.into_origin(layer));
            } else {
                gathering.warn_untrusted(found.key.name, &found.place);
            }
        }
    }
    let mut settings = match Settings::deserialize(Tree::of(origins.values().map(|found| (found.key, &found.value)))) {
        Ok(settings) => settings,
        Err(error) => {
            gathering.errors.push(Error::internal("the settings do not fit together").with_cause(error));
            defaults()
        }
    };
    settings.expand_home(sources.home.as_deref());
    let origins: Vec<Origin> = KEYS.iter().filter_map(|key| origins.remove(key.name)).collect();
    if settings.jj == Jj::Manage {
        gathering.warnings.push(Warning {
            message: "'jj = \"manage\"' is not there yet; 'detect' is used".into(),
            hint: Some("'git checkpoint config set jj detect' says so, too".into()),
        });
    }
    Loaded { settings, warnings: gathering.warnings, errors: gathering.errors, origins }
}

fn defaults() -> Settings {
    let defaults = Found::defaults();
    Settings::deserialize(Tree::of(defaults.iter().map(|found| (found.key.name, &found.value))))
        .expect("a test reads the defaults")
}
