//! `--recurse-submodules`, with git's setting as the default.

use crate::git::Repo;

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
    /// Returns true if the user asked for submodules, now or by the setting.
    pub(super) fn is_asked(&self, repo: &Repo) -> bool {
        match self.recurse_submodules.as_deref() {
            Some(word) => word == "yes",
            None => !self.no_recurse_submodules && repo.config_bool("submodule.recurse") == Some(true),
        }
    }
}
