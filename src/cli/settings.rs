//! Where the settings of this run come from: files, git config, environment; and their warnings to the user.

use super::{environment, output::Output};
use crate::{
    config::{self, Settings, Sources},
    error::Result,
    git::Repo,
    ops::setting_sources,
};

/// Returns the layers of settings for `repo`; without it, those outside of any repository.
pub(super) fn sources(repo: Option<&Repo>) -> Sources {
    setting_sources(repo, environment::all())
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
