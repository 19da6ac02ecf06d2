//! git config: reads whole sections and where their values come from, and changes the repository's own file.

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice as _};

use super::Repo;
use crate::error::{Error, Result};

/// A git setting as gix has read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigPair {
    /// `[subsection.]key`, the key in lower case.
    pub key: String,
    /// The value.
    pub value: BString,
    /// The file that sets it, if it is in one.
    pub file: Option<PathBuf>,
}

/// A git setting as `git config` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigValue {
    /// `system`, `global`, `local`, `worktree` or `command`.
    pub scope: String,
    /// The file that sets it, if it is in one.
    pub file: Option<PathBuf>,
    /// The full name, as git spells it.
    pub name: String,
    /// The value; none for a name without `=`.
    pub value: Option<BString>,
}

impl Repo {
    /// Returns all values in `section`, in the order git reads them.
    pub fn config_pairs(&self, section: &str) -> Vec<ConfigPair> {
        let snapshot = self.inner.config_snapshot();
        let mut pairs = Vec::new();
        for section in snapshot.plumbing().sections_by_name(section).into_iter().flatten() {
            let prefix =
                section.header().subsection_name().map(|name| format!("{}.", name.to_str_lossy())).unwrap_or_default();
            let file = &section.meta().path;
            let mut names: Vec<_> = section.value_names().map(|name| name.to_ascii_lowercase()).collect();
            names.sort();
            names.dedup();
            for name in names {
                // A name without `=` is true; `values()` would return the value of the next name for it.
                let values = match section.value_implicit(&name) {
                    Some(None) => vec!["true".into()],
                    _ => section.values(&name),
                };
                let key = format!("{prefix}{name}");
                pairs.extend(values.into_iter().map(|value| ConfigPair {
                    key: key.clone(),
                    value,
                    file: file.clone(),
                }));
            }
        }
        pairs
    }

    /// Returns the file that holds the repository's own settings.
    pub fn config_file(&self) -> PathBuf {
        full(&self.common_dir().join("config"))
    }

    /// Returns all values whose name matches the regular expression `pattern`, in the order git reads them.
    pub fn config_values(&self, pattern: &str) -> Result<Vec<ConfigValue>> {
        let arguments = ["config", "--null", "--show-scope", "--show-origin", "--get-regexp", pattern];
        let output = self.try_git(&arguments, None)?;
        match output.status.code() {
            Some(0) => {}
            // No value matches.
            Some(1) => return Ok(Vec::new()),
            _ => return Err(Error::internal("'git config' failed").with_cause(output.stderr.trim().to_str_lossy())),
        }
        let mut words = output.stdout.split(|byte| *byte == 0);
        let mut values = Vec::new();
        while let (Some(scope), Some(origin), Some(pair)) = (words.next(), words.next(), words.next()) {
            let (name, value) = match pair.split_once_str("\n") {
                Some((name, value)) => (name, Some(value.into())),
                None => (pair, None),
            };
            let file = origin.strip_prefix(b"file:").and_then(|path| path.to_path().ok());
            values.push(ConfigValue {
                scope: scope.to_str_lossy().into_owned(),
                file: file.map(|path| full(&self.root.join(path))),
                name: name.to_str_lossy().into_owned(),
                value,
            });
        }
        Ok(values)
    }

    /// Sets `name` to `value` in the repository's own file.
    pub fn set_config(&self, name: &str, value: &str) -> Result<()> {
        self.run_git(&["config", "--local", name, value], None).map(drop)
    }

    /// Removes all values of `name` from the repository's own file.
    pub fn unset_config(&self, name: &str) -> Result<()> {
        self.run_git(&["config", "--local", "--unset-all", name], None).map(drop)
    }
}

fn full(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
