//! The remotes that git is configured with.

use bstr::ByteSlice as _;

use super::Repo;
use crate::error::Result;

/// The setting of a remote that has records alone.
const ADDED: &str = "checkpointOnly";

impl Repo {
    /// Returns the names of all configured remotes, sorted.
    pub(crate) fn remote_names(&self) -> Result<Vec<String>> {
        let printed = self.run_git(&["remote"], None)?;
        let mut names: Vec<String> = printed.lines().filter_map(|name| name.to_str().ok()).map(Into::into).collect();
        names.sort();
        Ok(names)
    }

    /// Returns the addresses that git uses for `remote`, a configured one, to fetch from or to push to: with `insteadOf` and
    /// `pushInsteadOf`. None if it has no address.
    pub(crate) fn remote_urls(&self, remote: &str, is_push: bool) -> Result<Vec<String>> {
        let mut words = vec!["remote", "get-url", "--all"];
        words.extend(is_push.then_some("--push"));
        words.extend(["--", remote]);
        let output = self.try_git(&words, None)?;
        let urls = output.stdout.lines().map(|line| line.to_str_lossy().into_owned());
        Ok(if output.status.success() { urls.collect() } else { Vec::new() })
    }

    /// Returns where git would push to if it were given `address`, which is no name of a remote. None if a setting of
    /// `pushInsteadOf` may decide that.
    pub(crate) fn address_to_push_to(&self, address: &str) -> Result<Option<String>> {
        let others = self.try_git(&["config", "--get-regexp", r"^url\..*\.pushinsteadof$"], None)?;
        let others = others.stdout.to_str_lossy();
        if others.lines().filter_map(|line| line.split_once(' ')).any(|(_, prefix)| address.starts_with(prefix)) {
            return Ok(None);
        }
        let printed = self.run_git(&["ls-remote", "--get-url", "--", address], None)?;
        Ok(Some(printed.trim_end_with(|c| c == '\n').to_str_lossy().into_owned()))
    }

    /// Returns true if git cannot take `name` for that of a remote.
    pub(crate) fn is_bad_remote_name(&self, name: &str) -> Result<bool> {
        let reference = format!("refs/remotes/{name}/x");
        let is_plain = !name.is_empty() && !name.starts_with('-') && !name.contains(char::is_whitespace);
        Ok(!is_plain || !self.try_git(&["check-ref-format", &reference], None)?.status.success())
    }

    /// Adds the remote `name` with the address `url` to the settings of this repository. Git itself fetches nothing from it, also
    /// with `--all`.
    pub(crate) fn add_remote(&self, name: &str, url: &str) -> Result<()> {
        for (key, value) in [("url", url), ("skipFetchAll", "true"), ("tagOpt", "--no-tags"), (ADDED, "true")] {
            self.run_git(&["config", "--local", &format!("remote.{name}.{key}"), value], None)?;
        }
        Ok(())
    }

    /// Returns true if [`add_remote`](Self::add_remote) has added the remote `name`.
    pub(crate) fn is_added_remote(&self, name: &str) -> Result<bool> {
        let key = format!("remote.{name}.{ADDED}");
        let found = self.try_git(&["config", "--local", "--no-includes", "--get", "--type=bool", &key], None)?;
        Ok(found.stdout.trim() == b"true")
    }

    /// Takes the remote `name` out of the settings of this repository.
    pub(crate) fn remove_remote(&self, name: &str) -> Result<()> {
        self.run_git(&["config", "--local", "--remove-section", &format!("remote.{name}")], None).map(drop)
    }
}
