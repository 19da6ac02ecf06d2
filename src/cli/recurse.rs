//! `--recurse-submodules`, with git's setting as the default.

use std::ffi::OsString;

use crate::{git::Repo, model::submodule::Recurse as Extent};

/// Whether a command also works in submodules.
#[derive(clap::Args, Debug)]
pub(super) struct Recurse {
    /// Do the same in submodules and nested repositories: yes or no (default: git's submodule.recurse)
    #[arg(long, value_name = "whether", value_parser = ["yes", "no"], hide_possible_values = true, num_args = 0..=1,
        require_equals = true, default_missing_value = "yes", overrides_with = "no_recurse_submodules")]
    recurse_submodules: Option<String>,
    /// The same as --recurse-submodules=no
    #[arg(long, overrides_with = "recurse_submodules")]
    no_recurse_submodules: bool,
}

impl Recurse {
    /// Returns the option as it is typed; none if it was not.
    pub(super) fn word(&self) -> Option<OsString> {
        let asked = self.recurse_submodules.as_deref().or(self.no_recurse_submodules.then_some("no"));
        asked.map(|whether| format!("--recurse-submodules={whether}").into())
    }

    /// Returns what the user asked for, now or by the setting.
    pub(super) fn extent(&self, repo: &Repo) -> Extent {
        match self.recurse_submodules.as_deref() {
            Some("yes") => Extent::All,
            None if !self.no_recurse_submodules && repo.config_bool("submodule.recurse") == Some(true) => {
                Extent::Setting
            }
            _ => Extent::No,
        }
    }
}
