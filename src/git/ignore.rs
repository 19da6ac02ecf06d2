//! Ignore rules (gitignore(5)), of the worktree or of a tree.

use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice as _};
use gix::{
    ObjectId,
    index::entry::{Flags, Mode as IndexMode},
    worktree::stack::state::ignore::Source,
};

use rustix::io::Errno;

use super::{Repo, rule_files::RuleStack};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::path_text,
};

/// Finds out whether untracked paths are ignored.
pub(crate) struct Excludes<'r> {
    repo: &'r Repo,
    stack: RuleStack,
    has_warned: bool,
}

impl<'r> Excludes<'r> {
    /// Returns the rules of the worktree, with the patterns `extra` on top. The rules of files that sparse checkout leaves out count,
    /// too, as in git: the index is read if there may be such files.
    pub(crate) fn for_worktree(repo: &'r Repo, extra: &[String]) -> Result<Self> {
        let is_sparse = repo.is_sparse();
        let index = is_sparse.then(|| repo.user_index()).transpose()?.flatten();
        let left_out = index.iter().flat_map(|index| {
            let entries = index.entries().iter().filter(|entry| entry.flags.contains(Flags::SKIP_WORKTREE));
            entries.map(|entry| (entry.path(index), entry.id))
        });
        Self::for_worktree_with(repo, left_out, extra)
    }

    /// Returns the same if the files `left_out` are known already: the others among them do not matter.
    pub(crate) fn for_worktree_with<'p>(
        repo: &'r Repo,
        left_out: impl Iterator<Item = (&'p BStr, ObjectId)>,
        extra: &[String],
    ) -> Result<Self> {
        let mut rules = gix::index::State::new(repo.object_hash());
        let is_rules = |path: &BStr| path.rsplit_str("/").next() == Some(b".gitignore");
        // Rules that are lost, or not fetched, do not apply.
        for (path, id) in left_out.filter(|(path, id)| is_rules(path) && repo.has_object(*id)) {
            let stat = gix::index::entry::Stat::default();
            rules.dangerously_push_entry(stat, id, Flags::SKIP_WORKTREE, IndexMode::FILE, path);
        }
        Self::new(repo, &rules, extra, Source::WorktreeThenIdMappingIfNotSkipped)
    }

    /// Returns the rules as the tree `tree_id` has them, for `paths` only, with the patterns `extra` on top.
    pub(crate) fn for_tree(repo: &'r Repo, tree_id: ObjectId, paths: &[BString], extra: &[String]) -> Result<Self> {
        Self::new(repo, &files_of_tree(repo, tree_id, paths, ".gitignore")?, extra, Source::IdMapping)
    }

    fn new(repo: &'r Repo, files: &gix::index::State, extra: &[String], source: Source) -> Result<Self> {
        let what = || "cannot read the ignore rules".into();
        let parse = repo.inner.ignore_pattern_parser().context(Kind::User, what)?;
        let extra =
            (!extra.is_empty()).then(|| gix::ignore::Search::from_overrides(extra.iter().map(String::as_str), parse));
        Ok(Self { repo, stack: repo.exclude_rules(files, extra, source)?, has_warned: false })
    }

    /// Returns true if the rules ignore `path`, or a directory it is in.
    pub(crate) fn is_ignored(&mut self, path: &BStr, is_directory: bool) -> Result<bool> {
        let mode = if is_directory { IndexMode::DIR } else { IndexMode::FILE };
        let found = match self.stack.refuse_endless(path) {
            Ok(()) => self.stack.at_entry(path, Some(mode), &self.repo.inner.objects)?,
            Err(refused) => return self.is_ignored_above(path, refused),
        };
        let platform = match found {
            Ok(platform) => platform,
            // A directory of the path has become a symbolic link to itself: no such file exists, and no rule can be
            // read.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => return Ok(false),
            // The rules in this directory, or the directory itself, cannot be read, or a socket is in the place of the rules. Git
            // continues without such rules.
            Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::ACCESS | Errno::NXIO)) => {
                let parent = path.rfind_byte(b'/').map(|at| path[..at].as_bstr());
                if !std::mem::replace(&mut self.has_warned, true) {
                    let path = path_text::printable(path);
                    tracing::warn!(%error, "some ignore rules for '{path}' cannot be read, and do not apply");
                }
                return parent.map_or(Ok(false), |parent| self.is_ignored(parent, true));
            }
            Err(cause) => {
                return Err(Error::internal(format!("cannot tell whether '{path}' is ignored")).with_cause(cause));
            }
        };
        Ok(platform.is_excluded())
    }

    /// Returns true if a directory of `path` is ignored, whose rules git does not read.
    ///
    /// # Errors
    /// `refused`, if none is.
    fn is_ignored_above(&mut self, path: &BStr, refused: Error) -> Result<bool> {
        for at in path.find_iter("/") {
            if self.is_ignored(path[..at].as_bstr(), true)? {
                return Ok(true);
            }
        }
        Err(refused)
    }
}

/// Returns an index of the files called `name` in the directories of the tree `tree_id` that lead to `paths`.
pub(super) fn files_of_tree(
    repo: &Repo,
    tree_id: ObjectId,
    paths: &[BString],
    name: &str,
) -> Result<gix::index::State> {
    let mut state = gix::index::State::new(repo.object_hash());
    for directory in directories_to(paths) {
        let mut path = BString::from(directory);
        path.extend_from_slice(name.as_bytes());
        if let Some(leaf) = repo.find_leaf(tree_id, path.as_bstr())? {
            let stat = gix::index::entry::Stat::default();
            state.dangerously_push_entry(stat, leaf.id, Flags::empty(), IndexMode::FILE, path.as_bstr());
        }
    }
    state.sort_entries();
    Ok(state)
}

/// Returns the directories (with final `/`, empty for the root) that lead to `paths`.
pub(super) fn directories_to<'p>(paths: impl IntoIterator<Item = &'p BString>) -> BTreeSet<&'p [u8]> {
    let mut directories: BTreeSet<&[u8]> = BTreeSet::from([&b""[..]]);
    for path in paths {
        for at in path.find_iter("/") {
            directories.insert(&path[..=at]);
        }
    }
    directories
}
