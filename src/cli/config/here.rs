//! Which of the settings' files an action is about.

use std::path::PathBuf;

use clap::Args;

use crate::{
    config::{Layer, Sources},
    error::{Error, Result},
};

#[derive(Args, Clone, Copy, Debug)]
pub(super) struct Place {
    /// Your own file, for all repositories
    #[arg(long, global = true, conflicts_with_all = ["project", "local"])]
    pub(super) user: bool,
    /// The project's file .checkpoint.toml, which is committed
    #[arg(long, global = true, conflicts_with = "local")]
    project: bool,
    /// This repository's file, for all its worktrees
    #[arg(long, global = true)]
    local: bool,
}

/// What the actions work on.
pub(super) struct Here {
    pub(super) sources: Sources,
    pub(super) place: Place,
    /// Why we are outside of any repository, if we are.
    pub(super) outside: Option<Error>,
}

impl Place {
    /// Returns the layer of the chosen file, if one is chosen.
    pub(super) fn layer(self) -> Option<Layer> {
        match self {
            Self { user: true, .. } => Some(Layer::User),
            Self { project: true, .. } => Some(Layer::Project),
            Self { local: true, .. } => Some(Layer::Local),
            Self { .. } => None,
        }
    }
}

impl Here {
    /// Returns the layer and the file that a change goes to.
    pub(super) fn target(&mut self) -> Result<(Layer, PathBuf)> {
        let layer = self.place.layer().unwrap_or(Layer::Local);
        match (self.sources.file(layer), self.outside.take()) {
            (Some(path), _) => Ok((layer, path.to_owned())),
            (None, Some(error)) if layer != Layer::User => Err(error),
            (None, _) => {
                Err(Error::user("no place for your own settings is known").with_hint("set 'HOME' or 'XDG_CONFIG_HOME'"))
            }
        }
    }
}
