//! Where the settings for a repository come from: files, git's settings, and variables.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{
    config::{GitEntry, Sources},
    git::Repo,
};

/// Returns the layers of settings for `repo`, with `variables` as the environment; without a repository, those outside of any.
pub(crate) fn setting_sources(
    repo: Option<&Repo>,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Sources {
    let sources = Sources::from_environment(variables);
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
