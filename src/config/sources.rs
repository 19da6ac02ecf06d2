//! The layers as they come from outside: where the files are, and what git config, environment and flags say.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// The text of `config/default.toml`: every setting, its default and one comment.
pub(crate) const DEFAULTS: &str = include_str!("../../config/default.toml");

/// The name of the project's file at the worktree's root.
pub(super) const PROJECT_FILE: &str = ".checkpoint.toml";

/// What begins the names of variables that are settings.
pub(super) const VARIABLE_PREFIX: &str = "GIT_CHECKPOINT_";

/// Where a value can come from, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Layer {
    /// Compiled in.
    Default,
    /// `/etc/git-checkpoint/config.toml`.
    System,
    /// `$XDG_CONFIG_HOME/git-checkpoint/config.toml`.
    User,
    /// [`PROJECT_FILE`]; not trusted.
    Project,
    /// `checkpoint/config.toml` in the common git directory.
    Local,
    /// git config `checkpoint.<key>`.
    Git,
    /// `GIT_CHECKPOINT_<KEY>`.
    Environment,
    /// The command line.
    Flag,
}

impl Layer {
    /// Returns the layer's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::System => "system",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Git => "git",
            Self::Environment => "environment",
            Self::Flag => "flag",
        }
    }
}

/// One variable of git config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitEntry {
    /// The name with or without the section: `checkpoint.save.exclude` or `save.exclude`.
    pub key: String,
    /// The value; `None` for a name without `=`, which git reads as true.
    pub value: Option<String>,
    /// The file or scope it comes from.
    pub origin: String,
}

/// The layers above the defaults. An empty one gives the defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// The system's file.
    pub system: Option<PathBuf>,
    /// The user's file.
    pub user: Option<PathBuf>,
    /// The project's file.
    pub project: Option<PathBuf>,
    /// The repository's own file.
    pub local: Option<PathBuf>,
    /// git config, in git's order: later ones win.
    pub git: Vec<GitEntry>,
    /// Variables and their values; those with another prefix are ignored.
    pub environment: Vec<(String, String)>,
    /// Keys and values that the command line gives.
    pub flags: Vec<(String, String)>,
    /// What `~` means in paths.
    pub home: Option<PathBuf>,
}

impl Sources {
    /// Returns the files and variables that `environment` implies, as git looks for its own: the system's
    /// file unless `GIT_CONFIG_NOSYSTEM` is true, the user's below `XDG_CONFIG_HOME` or `~/.config`.
    pub(crate) fn from_environment(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let wanted = |name: &str| {
            name.starts_with(VARIABLE_PREFIX) || matches!(name, "HOME" | "XDG_CONFIG_HOME" | "GIT_CONFIG_NOSYSTEM")
        };
        let mut variables: HashMap<String, OsString> = environment
            .into_iter()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, value)| wanted(name) && !value.is_empty())
            .collect();
        let has_system = variables
            .remove("GIT_CONFIG_NOSYSTEM")
            .is_none_or(|value| ["0", "false", "no", "off"].iter().any(|no| value.eq_ignore_ascii_case(no)));
        let home = variables.remove("HOME").map(PathBuf::from);
        // The XDG base directory specification: a relative path is to be ignored.
        let xdg = variables.remove("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let directory = xdg.or_else(|| home.as_ref().map(|home| home.join(".config")));
        let mut environment: Vec<_> =
            variables.into_iter().map(|(name, value)| (name, value.to_string_lossy().into_owned())).collect();
        environment.sort();
        Self {
            system: has_system.then(|| PathBuf::from("/etc/git-checkpoint/config.toml")),
            user: directory.map(|directory| directory.join("git-checkpoint/config.toml")),
            home,
            environment,
            ..Self::default()
        }
    }

    /// Adds the files of a repository: the project's at `worktree_root`, its own below `common_dir`.
    #[must_use]
    pub(crate) fn with_repository(mut self, worktree_root: Option<&Path>, common_dir: &Path) -> Self {
        self.project = worktree_root.map(|root| root.join(PROJECT_FILE));
        self.local = Some(common_dir.join("checkpoint").join("config.toml"));
        self
    }

    /// Returns the file of `layer`, if the layer has one.
    pub(crate) fn file(&self, layer: Layer) -> Option<&Path> {
        match layer {
            Layer::System => self.system.as_deref(),
            Layer::User => self.user.as_deref(),
            Layer::Project => self.project.as_deref(),
            Layer::Local => self.local.as_deref(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn sources(variables: &[(&str, &str)]) -> Sources {
        Sources::from_environment(variables.iter().map(|(name, value)| ((*name).into(), (*value).into())))
    }

    #[rstest]
    #[case::home(&[("HOME", "/h")], Some("/h/.config/git-checkpoint/config.toml"))]
    #[case::xdg(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")], Some("/x/git-checkpoint/config.toml"))]
    #[case::empty_xdg(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "")], Some("/h/.config/git-checkpoint/config.toml"))]
    #[case::relative_xdg(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "x")], Some("/h/.config/git-checkpoint/config.toml"))]
    #[case::nothing(&[], None)]
    fn user_file(#[case] variables: &[(&str, &str)], #[case] expected: Option<&str>) {
        assert_eq!(sources(variables).file(Layer::User), expected.map(Path::new));
    }

    #[rstest]
    #[case(&[], true)]
    #[case(&[("GIT_CONFIG_NOSYSTEM", "1")], false)]
    #[case(&[("GIT_CONFIG_NOSYSTEM", "false")], true)]
    fn system_file(#[case] variables: &[(&str, &str)], #[case] expected: bool) {
        assert_eq!(sources(variables).file(Layer::System).is_some(), expected);
    }

    #[test]
    fn only_our_variables_are_kept() {
        let sources = sources(&[("GIT_DIR", "x"), ("GIT_CHECKPOINT_JJ", "off"), ("GIT_CHECKPOINT_LINK", "")]);
        assert_eq!(sources.environment, [("GIT_CHECKPOINT_JJ".to_owned(), "off".to_owned())]);
    }

    #[test]
    fn a_repository_has_two_files() {
        let sources = Sources::default().with_repository(Some(Path::new("/w")), Path::new("/w/.git"));
        assert_eq!(sources.file(Layer::Project), Some(Path::new("/w/.checkpoint.toml")));
        assert_eq!(sources.file(Layer::Local), Some(Path::new("/w/.git/checkpoint/config.toml")));
        assert_eq!(sources.file(Layer::Environment), None);
    }
}
