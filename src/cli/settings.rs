//! Where the settings of this run come from: files, git config, environment; and their warnings to the user.

use std::path::{Path, PathBuf};

use super::{environment, output::Output};
use crate::{
    config::{self, GitEntry, Settings, Sources},
    error::Result,
    git::Repo,
};

/// Returns the layers of settings for `repo`; without it, those outside of any repository.
pub(super) fn sources(repo: Option<&Repo>) -> Sources {
    let sources = Sources::from_environment(environment::all());
    let Some(repo) = repo else { return sources };
    // The git directory may be relative; messages should name files in full.
    let mut sources = sources.with_repository(Some(repo.worktree_root()), &full(repo.common_dir()));
    sources.git = repo
        .config_pairs("checkpoint")
        .into_iter()
        .map(|pair| GitEntry {
            key: pair.key,
            value: Some(pair.value.to_string()),
            origin: pair.file.map(|file| full(&file).to_string_lossy().into_owned()).unwrap_or_default(),
        })
        .collect();
    sources
}

fn full(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Loads the settings for `repo`; prints on standard error what was ignored.
pub(super) fn load(repo: &Repo, out: &mut Output) -> Result<Settings> {
    let loaded = config::load(&sources(Some(repo)))?;
    warn(&loaded.warnings, out);
    Ok(loaded.settings)
}

/// Prints on standard error what was ignored.
pub(super) fn warn(warnings: &[config::Warning], out: &mut Output) {
    for warning in warnings {
        out.warning(&warning.message);
        if let Some(hint) = &warning.hint {
            out.hint(hint);
        }
    }
}
