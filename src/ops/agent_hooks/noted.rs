//! The files of agents that were changed in this repository, as noted then.

use std::path::{Path, PathBuf};

use crate::{
    error::Result,
    ops::Context,
    state::{self, installed::Installed},
};

/// A file that was changed in this repository, as noted then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    /// The agent's name.
    pub agent: String,
    /// Whom the file is for: `user`, `project` or `local`.
    pub scope: String,
    /// The directory that the scope stood for.
    pub root: PathBuf,
    /// The file, below that.
    pub name: String,
}

/// Returns which files were changed in this repository.
pub(crate) fn noted(context: &Context) -> Result<Vec<Noted>> {
    let root = |entry: &Installed| {
        let depth = Path::new(&entry.name).components().count();
        entry.path.ancestors().nth(depth).map(Path::to_owned)
    };
    let installed = state::installed::read(context.repo.common_dir())?;
    let noted = installed.into_iter().filter_map(|entry| {
        let root = root(&entry)?;
        Some(Noted { agent: entry.agent, scope: entry.scope, root, name: entry.name })
    });
    Ok(noted.collect())
}
