//! Captures just the paths that are named: the cost does not depend on the size of the worktree.
//!
//! Everything else stays as the last checkpoint has it; neither the stat cache nor the user's index is read, unless an
//! ignore rule asks whether git tracks a path all the same.

use std::{cell::OnceCell, collections::BTreeSet};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, index::entry::Flags};
use rustix::fs::{AtFlags, FileType};

use super::{
    Repo,
    capture::{Captured, capture},
    ignore::Excludes,
    new_objects::{NewObjects, Target},
    scan::{Candidate, mode_of},
    snapshot::Edit,
    stat_cache::Stat,
    untracked::{Limits, collect_named, open_root},
};
use crate::{
    error::Result,
    model::{
        change::Mode,
        manifest::{Reason, Skipped},
    },
};

/// What the named paths are now.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// How the tree changes.
    pub(crate) edits: Vec<(BString, Edit)>,
    /// How the tree of exact bytes changes.
    pub(crate) raw_edits: Vec<(BString, Edit)>,
    /// Paths left out.
    pub(crate) skipped: Vec<Skipped>,
}

/// Returns what `paths` are now, beside the tree `base`; new blobs are added to `objects`.
pub(crate) fn named_paths(
    repo: &Repo,
    base: ObjectId,
    paths: &[BString],
    limits: &Limits,
    objects: &mut NewObjects<'_>,
) -> Result<Named> {
    let mut finder = Finder {
        repo,
        base,
        limits,
        root: open_root(repo.worktree_root())?,
        excludes: Excludes::for_worktree(repo, &limits.exclude)?,
        index: OnceCell::new(),
        candidates: Vec::new(),
        named: Named::default(),
    };
    for path in paths.iter().collect::<BTreeSet<_>>() {
        finder.add(path.as_bstr())?;
    }
    let Finder { mut candidates, mut named, .. } = finder;
    candidates.sort_by(|a, b| a.path.cmp(&b.path));
    candidates.dedup_by(|a, b| a.path == b.path);
    if Target::for_count(candidates.len()) == Target::Pack {
        objects.switch_to_pack();
    }
    for (candidate, captured) in candidates.iter().zip(capture(repo, &candidates, objects)?) {
        let path = candidate.path.clone();
        match captured {
            Captured::Content(content) => {
                let before = repo.find_leaf(base, path.as_bstr())?;
                let mode = repo.stored_mode(content.mode, before.map(|leaf| leaf.mode));
                named.raw_edits.push((path.clone(), content.raw_id.map(|id| (id, Mode::File))));
                named.edits.push((path, Some((content.id, mode))));
            }
            Captured::Gone => {
                named.raw_edits.push((path.clone(), None));
                named.edits.push((path, None));
            }
            Captured::Unreadable => {
                named.skipped.push(Skipped { path, reason: Reason::Unreadable, size: u64::from(candidate.stat.size) });
            }
        }
    }
    Ok(named)
}

struct Finder<'r, 'l> {
    repo: &'r Repo,
    base: ObjectId,
    limits: &'l Limits,
    root: std::os::fd::OwnedFd,
    excludes: Excludes<'r>,
    index: OnceCell<Option<gix::index::File>>,
    candidates: Vec<Candidate>,
    named: Named,
}

impl Finder<'_, '_> {
    fn add(&mut self, path: &BStr) -> Result<()> {
        if self.is_inside_nested(path)? {
            return Ok(());
        }
        let before = self.repo.find_entry(self.base, path)?;
        let Ok(stat) = self.stat(path) else {
            return self.remove(path, before);
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_known = before.is_some() || self.is_tracked(path, kind)?;
        if kind == FileType::Directory {
            return self.add_directory(path, before);
        }
        if let Some((mode, _)) = before
            && mode == DIRECTORY
        {
            self.remove(path, before)?;
        }
        let Some(mode) = mode_of(kind, stat.st_mode) else {
            self.named.skipped.push(Skipped { path: path.to_owned(), reason: Reason::SpecialFile, size: 0 });
            return self.remove(path, before);
        };
        if !is_known {
            let found = collect_named(self.repo, path, kind, self.limits)?;
            self.named.skipped.extend(found.skipped);
            self.candidates.extend(found.candidates);
            return Ok(());
        }
        self.candidates.push(Candidate { path: path.to_owned(), position: None, stat: Stat::of(&stat), mode });
        Ok(())
    }

    /// A directory: what the tree has below it, and what is new there.
    fn add_directory(&mut self, path: &BStr, before: Option<(u32, ObjectId)>) -> Result<()> {
        match before {
            Some((mode, _)) if mode == GITLINK => {
                if let Some(head) = self.repo.nested_head(path)? {
                    self.named.edits.push((path.to_owned(), Some((head, Mode::Gitlink))));
                }
                return Ok(());
            }
            Some((mode, _)) if mode != DIRECTORY => self.named.edits.push((path.to_owned(), None)),
            _ => {}
        }
        for leaf in self.repo.leaves_below(self.base, path)? {
            self.add(leaf.as_bstr())?;
        }
        let found = collect_named(self.repo, path, FileType::Directory, self.limits)?;
        self.named.skipped.extend(found.skipped);
        self.candidates.extend(found.candidates);
        for nested in found.nested {
            if let Some(head) = self.repo.nested_head(nested.as_bstr())? {
                self.named.edits.push((nested, Some((head, Mode::Gitlink))));
            }
        }
        Ok(())
    }

    fn remove(&mut self, path: &BStr, before: Option<(u32, ObjectId)>) -> Result<()> {
        let gone = match before {
            None => Vec::new(),
            Some((DIRECTORY, _)) => self.repo.leaves_below(self.base, path)?,
            Some(_) => vec![path.to_owned()],
        };
        for path in gone {
            if !self.is_left_out_by_sparse_checkout(path.as_bstr()) {
                self.named.raw_edits.push((path.clone(), None));
                self.named.edits.push((path, None));
            }
        }
        Ok(())
    }

    fn stat(&self, path: &BStr) -> rustix::io::Result<rustix::fs::Stat> {
        // Below a symbolic link there is nothing of this worktree.
        for at in slashes(path) {
            let parent = rustix::fs::statat(&self.root, path[..at].as_bytes(), AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(parent.st_mode) != FileType::Directory {
                return Err(rustix::io::Errno::NOTDIR);
            }
        }
        rustix::fs::statat(&self.root, path.as_bytes(), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// A directory with a `.git` is a boundary, unless the tree has files of it.
    fn is_inside_nested(&self, path: &BStr) -> Result<bool> {
        for at in slashes(path) {
            let mut inner = BString::from(&path[..at]);
            inner.extend_from_slice(b"/.git");
            if rustix::fs::statat(&self.root, inner.as_bytes(), AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                let entry = self.repo.find_entry(self.base, path[..at].as_bstr())?;
                return Ok(entry.is_none_or(|(mode, _)| mode != DIRECTORY));
            }
        }
        Ok(false)
    }

    fn user_index(&self) -> Option<&gix::index::File> {
        self.index.get_or_init(|| self.repo.user_index().ok().flatten()).as_ref()
    }

    /// Asked of the user's index only if it matters: if the rules ignore the path.
    fn is_tracked(&mut self, path: &BStr, kind: FileType) -> Result<bool> {
        if kind == FileType::Directory || !self.excludes.is_ignored(path, false)? {
            return Ok(false);
        }
        Ok(self.user_index().is_some_and(|index| index.entry_by_path(path).is_some()))
    }

    fn is_left_out_by_sparse_checkout(&self, path: &BStr) -> bool {
        self.repo.config_bool("core.sparseCheckout") == Some(true)
            && self
                .user_index()
                .and_then(|index| index.entry_by_path(path))
                .is_some_and(|entry| entry.flags.contains(Flags::SKIP_WORKTREE))
    }
}

const DIRECTORY: u32 = 0o40_000;
const GITLINK: u32 = 0o160_000;

/// Returns where the slashes of `path` are.
fn slashes(path: &BStr) -> impl Iterator<Item = usize> + '_ {
    path.find_iter("/")
}
