//! The composition of the layers: what the project's file may set, who wins. The only place that names figment.
//!
//! What each layer says is gathered and checked in `gathering`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use figment::value::{Dict, Map};
use figment::{Figment, Metadata, Profile, Provider};

use super::gathering::{Found, Gathering};
use super::keys::KEYS;
use super::value::Value;
use super::{Layer, Loaded, Origin, Settings, Sources};
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
    let mut figment = Figment::new();
    let mut origins: BTreeMap<&'static str, Origin> = BTreeMap::new();
    // Lists in the project's file that are in place of others.
    let mut replacing = BTreeSet::new();
    for (layer, settings) in layers {
        let mut accepted = Vec::new();
        for found in settings {
            // One bad value invalidates its key in every layer: the default is used.
            if layer > Layer::Default && gathering.bad_keys.contains(found.key.name) {
                continue;
            }
            if layer == Layer::Project && found.key.is_void_in_project(&found.value) {
                continue;
            }
            let below = origins.get(found.key.name).map(|origin| &origin.value);
            if layer == Layer::Project && below.is_some_and(|below| !below.is_empty_list()) {
                replacing.insert(found.key.name);
            }
            let is_allowed = layer != Layer::Project
                || below.is_some_and(|below| found.key.is_allowed_in_project(&found.value, below));
            if is_allowed { accepted.push(found) } else { gathering.warn_untrusted(found.key.name, &found.place) }
        }
        if accepted.is_empty() {
            continue;
        }
        figment = figment.merge(FigmentLayer { layer, path: sources.file(layer), settings: &accepted });
        origins.extend(accepted.into_iter().map(|found| (found.key.name, found.into_origin(layer))));
    }
    let mut settings: Settings = match figment.extract() {
        Ok(settings) => settings,
        Err(error) => {
            gathering.errors.push(Error::internal("the settings do not fit together").with_cause(error));
            defaults()
        }
    };
    settings.expand_home(sources.home.as_deref());
    let is_from_project = |key: &str| origins.get(key).is_some_and(|origin| origin.layer == Layer::Project);
    for (key, commands) in
        [("worktree.setup", &mut settings.worktree.setup), ("worktree.teardown", &mut settings.worktree.teardown)]
    {
        commands.is_from_project = is_from_project(key);
        commands.replaces_own = commands.is_from_project && replacing.contains(key);
    }
    let origins: Vec<Origin> = KEYS.iter().filter_map(|key| origins.remove(key.name)).collect();
    Loaded { settings, warnings: gathering.warnings, errors: gathering.errors, origins }
}

fn defaults() -> Settings {
    Figment::new()
        .merge(FigmentLayer { layer: Layer::Default, path: None, settings: &Found::defaults() })
        .extract()
        .expect("a test extracts the defaults")
}

/// One layer as figment takes it.
struct FigmentLayer<'a> {
    layer: Layer,
    path: Option<&'a Path>,
    settings: &'a [Found],
}

impl Provider for FigmentLayer<'_> {
    fn metadata(&self) -> Metadata {
        let metadata = Metadata::named(self.layer.name());
        match self.path {
            Some(path) => metadata.source(path),
            None => metadata,
        }
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        let mut root = Dict::new();
        for Found { key, value, .. } in self.settings {
            match key.name.split_once('.') {
                None => {
                    root.insert(key.name.to_owned(), figment_value(value));
                }
                Some((table, name)) => {
                    let table = root.entry(table.to_owned()).or_insert_with(|| Dict::new().into());
                    if let figment::value::Value::Dict(_, table) = table {
                        table.insert(name.to_owned(), figment_value(value));
                    }
                }
            }
        }
        Ok(Profile::Default.collect(root))
    }
}

fn figment_value(value: &Value) -> figment::value::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::Integer(value) => (*value).into(),
        Value::Text(value) => value.as_str().into(),
        Value::List(items) => items.clone().into(),
    }
}
