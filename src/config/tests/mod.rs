//! Tests of the whole module on files, and what they share.

use std::path::PathBuf;

use super::{GitEntry, Layer, Loaded, Sources, load, sources::PROJECT_FILE};
use crate::error::Kind;

mod defaults;
mod edit;
mod layers;
mod migrate;
mod random;

/// A directory with a file per layer.
pub(super) struct Bench {
    pub(super) directory: tempfile::TempDir,
    pub(super) sources: Sources,
}

impl Bench {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let path = |name: &str| Some(directory.path().join(name));
        let sources = Sources {
            system: path("system.toml"),
            user: path("user.toml"),
            project: path(PROJECT_FILE),
            local: path("local.toml"),
            home: Some("/home/me".into()),
            ..Sources::default()
        };
        Self { directory, sources }
    }

    pub(super) fn with(layer: Layer, text: &str) -> Self {
        let mut bench = Self::new();
        bench.put(layer, text);
        bench
    }

    /// Gives `layer` what `text` says: TOML for files, else lines of `key=value`.
    pub(super) fn put(&mut self, layer: Layer, text: &str) {
        let pairs = || {
            text.lines().map(|line| match line.split_once('=') {
                Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                None => (line.to_owned(), None),
            })
        };
        let full = |(key, value): (String, Option<String>)| (key, value.unwrap_or_default());
        match layer {
            Layer::Git => self.sources.git.extend(pairs().map(|(key, value)| GitEntry {
                key,
                value,
                origin: "file:.git/config".to_owned(),
            })),
            Layer::Environment => self.sources.environment.extend(pairs().map(full)),
            Layer::Flag => self.sources.flags.extend(pairs().map(full)),
            file => std::fs::write(self.path(file), text).expect("the bench is writable"),
        }
    }

    pub(super) fn path(&self, layer: Layer) -> PathBuf {
        self.sources.file(layer).expect("the bench has all files").to_owned()
    }

    pub(super) fn read(&self, layer: Layer) -> String {
        std::fs::read_to_string(self.path(layer)).expect("the test has written it")
    }

    pub(super) fn load(&self) -> Loaded {
        load(&self.sources).expect("the test's settings are sound")
    }

    /// Returns the error with the bench's directory left out.
    pub(super) fn error(&self) -> String {
        let error = load(&self.sources).expect_err("the test's settings are bad");
        assert_eq!(error.kind(), Kind::Config);
        self.short(error.message())
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        self.load().warnings.iter().map(|warning| self.short(&warning.message)).collect()
    }

    pub(super) fn short(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.directory.path().display()), "")
    }
}
