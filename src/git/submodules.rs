//! The submodules of a worktree: which of them have changes of their own, without running any of their commands.

use bstr::BStr;
use rustix::fs::{AtFlags, OFlags};

use super::{
    Repo, beneath,
    checkout_names::is_valid_path,
    limits::{Limits, open_root},
    stat_cache::{Entry, StatCache},
};
use crate::{
    error::{Error, Result},
    model::{
        change::Mode,
        submodule::{Ignored, Submodule},
    },
};

impl Repo {
    /// Returns the submodules of `cache`, what a pass has just seen, that git status(1) reports changes of, sorted by path.
    ///
    /// One that is not populated, or cannot be opened, has none. Reads nothing if there are no submodules.
    pub(crate) fn changed_submodules(&self, cache: &StatCache, limits: &Limits) -> Result<Vec<Submodule>> {
        let mut paths = Self::submodules_in(cache).peekable();
        if paths.peek().is_none() {
            return Ok(Vec::new());
        }
        let (index, ignore) = (self.user_index()?, self.ignore_rules());
        let mut changed = Vec::new();
        for path in paths {
            self.check_interrupt()?;
            let ignored = ignore(path);
            if ignored == Ignored::All {
                continue;
            }
            let Some(inner) = self.populated(path) else { continue };
            let staged = index.as_ref().and_then(|index| index.entry_by_path(path)).map(|entry| entry.id);
            let head = inner.head().ok().and_then(|head| head.id);
            let has_new_commits = staged.zip(head).is_some_and(|(staged, head)| staged != head);
            let inside = if ignored == Ignored::Content { None } else { inner.changes_inside(limits, false) };
            let inside = inside.unwrap_or_default();
            changed.extend(Submodule::reported(path.to_owned(), has_new_commits, inside, ignored));
        }
        Ok(changed)
    }

    /// Returns the paths of the submodules of `cache`, what a pass has just seen.
    pub(crate) fn submodules_in(cache: &StatCache) -> impl Iterator<Item = &BStr> {
        let is_submodule = |entry: &&Entry| {
            entry.mode == Mode::Gitlink && entry.is_tracked && !entry.skips_worktree && !entry.is_known_absent()
        };
        cache.entries().iter().filter(is_submodule).map(|entry| cache.path(entry))
    }

    /// Returns what says which changes of the submodule at a path git reports: the settings, then `.gitmodules`.
    fn ignore_rules(&self) -> impl Fn(&BStr) -> Ignored {
        let for_all = self.config_value("diff.ignoreSubmodules").and_then(|word| Ignored::from_word(&word));
        let modules = self.inner.modules().ok().flatten();
        let of_name = |name: &BStr, modules: &gix::submodule::File| {
            let set = self.config_value(&format!("submodule.{name}.ignore"));
            let word = set.or_else(|| modules.config().string_by("submodule", Some(name), "ignore"));
            word.and_then(|word| Ignored::from_word(&word))
        };
        move |path| {
            let of_path = modules.as_ref().and_then(|modules| of_name(modules.name_by_path(path)?, modules));
            of_path.or(for_all).unwrap_or_default()
        }
    }

    /// Returns the repository in the directory `path` of this worktree, to be read; none if the directory or its `.git` is not
    /// there, a symbolic link leads to it, or it cannot be opened.
    pub(super) fn populated(&self, path: &BStr) -> Option<Self> {
        self.has_dot_git(path)
            .then(|| Self::open_nested(self.worktree_root().join(gix::path::from_bstr(path).ok()?)))?
    }

    /// Returns the repository in the directory `path` of this worktree, to work in it; none if the directory or its `.git` is not
    /// there, a symbolic link leads to it, or it is another worktree of this repository, or of one
    /// in whose worktree this one is.
    ///
    /// # Errors
    /// If git allows no submodule at such a path, or cannot or must not open what is there.
    pub(crate) fn repository_in(&self, path: &BStr) -> Result<Option<Self>> {
        let Some(relative) = gix::path::from_bstr(path).ok().filter(|_| is_valid_path(path, false)) else {
            return Err(Error::user("git allows no submodule at this path"));
        };
        if !self.has_dot_git(path) {
            return Ok(None);
        }
        let below = self.open_below(&self.worktree_root().join(relative))?;
        let common = std::fs::canonicalize(below.common_dir()).ok();
        Ok(Some(below).filter(|below| !common.is_some_and(|dir| below.above.contains(&dir))))
    }

    /// Returns true if both are worktrees of one repository.
    pub(super) fn shares_objects_with(&self, other: &Self) -> bool {
        let common = |repo: &Self| std::fs::canonicalize(repo.common_dir()).ok();
        common(self).is_some_and(|dir| Some(dir) == common(other))
    }

    /// Returns true if `path` of this worktree is a directory with a `.git`, and no symbolic link leads to it.
    pub(crate) fn has_dot_git(&self, path: &BStr) -> bool {
        let is_there = || {
            let root = open_root(self.worktree_root()).ok()?;
            let directory = beneath::open(&root, path, OFlags::RDONLY | OFlags::DIRECTORY).ok()?;
            rustix::fs::statat(&directory, ".git", AtFlags::empty()).ok()
        };
        is_there().is_some()
    }
}
