//! Captures only the named paths: the cost does not depend on the size of the worktree.
//!
//! All other paths stay as in the last checkpoint. The stat cache is not read. The user's index is read only for named
//! directories, and if an ignore rule or a limit matters unless git tracks the path.

use std::{cell::OnceCell, collections::BTreeSet};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, index::entry::Flags};
use rustix::fs::{AtFlags, FileType};

use super::{
    Repo,
    attribute_files::AttributeFiles,
    beneath::Trouble,
    capture::{Captured, capture_by_rules},
    converter::Failure,
    edit_tree::Edit,
    exact::raw_edits_of_unchanged,
    filter::Filters,
    ignore::Excludes,
    limits::{Limits, open_root},
    modes::mode_of,
    new_objects::{NewObjects, Target},
    scan::Candidate,
    stat_cache::Stat,
    untracked::collect_named,
};
use crate::{
    error::{Error, Result},
    model::{
        change::Mode,
        manifest::{Reason, Skipped, Unfiltered},
        path_text,
    },
};

/// The named paths as they are now.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// The edits of the tree.
    pub(crate) edits: Vec<(BString, Edit)>,
    /// The edits of the tree of exact bytes.
    pub(crate) raw_edits: Vec<(BString, Edit)>,
    /// Paths left out.
    pub(crate) skipped: Vec<Skipped>,
    /// Files that were stored unfiltered, because a filter failed.
    pub(crate) unfiltered: Vec<Unfiltered>,
}

/// What the last checkpoint knows about the worktree.
#[derive(Debug)]
pub(crate) struct Before<'b> {
    /// The tree of the last checkpoint, or of HEAD.
    pub(crate) tree_id: ObjectId,
    /// The tree of exact bytes of the last checkpoint.
    pub(crate) raw_tree_id: Option<ObjectId>,
    /// The tree of HEAD.
    pub(crate) head_tree_id: ObjectId,
    /// The paths that the last checkpoint left out.
    pub(crate) skipped: &'b [Skipped],
}

/// Refuses `paths` that exist nowhere, as `git add` does: a misspelt path must not look saved.
pub(crate) fn refuse_unknown(repo: &Repo, before: &Before<'_>, paths: &[BString], limits: &Limits) -> Result<()> {
    let mut finder = Finder::new(repo, before.tree_id, limits)?;
    paths.iter().try_for_each(|path| finder.refuse_unknown(path.as_bstr(), before))
}

/// Captures `paths`, given the last checkpoint's `before`; adds new blobs to `objects`.
pub(crate) fn named_paths(
    repo: &Repo,
    before: &Before<'_>,
    paths: &[BString],
    limits: &Limits,
    objects: &mut NewObjects<'_>,
) -> Result<Named> {
    let base = before.tree_id;
    let modes = repo.modes();
    let mut finder = Finder::new(repo, base, limits)?;
    for path in paths.iter().collect::<BTreeSet<_>>() {
        finder.refuse_unknown(path.as_bstr(), before)?;
        finder.add(path.as_bstr(), false)?;
    }
    let Finder { mut candidates, mut named, .. } = finder;
    candidates.sort_by(|a, b| a.path.cmp(&b.path));
    candidates.dedup_by(|a, b| a.path == b.path);
    if Target::for_count(candidates.len()) == Target::Pack {
        objects.switch_to_pack();
    }
    let files = AttributeFiles::of_tree(repo, base, candidates.iter().map(|candidate| &candidate.path))?;
    let files = files.with_tree_edits(repo, &named.edits, objects)?;
    let (captured, _) = capture_by_rules(repo, &candidates, files, objects)?;
    for (candidate, captured) in candidates.iter().zip(captured) {
        let path = candidate.path.clone();
        match captured {
            Captured::Content(content) => {
                let before = repo.find_leaf(base, path.as_bstr())?;
                let mode = modes.stored(content.mode, before.map(|leaf| leaf.mode));
                named.raw_edits.push((path.clone(), content.raw_id.map(|id| (id, Mode::File))));
                if let Some(Failure { reason, .. }) = content.failure {
                    let filter = Filters::for_worktree(repo)?.filter_name(path.as_bstr())?.unwrap_or_default();
                    named.unfiltered.push(Unfiltered { path: path.clone(), filter, reason });
                }
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
    let unchanged = raw_edits_of_unchanged(repo, (base, before.raw_tree_id), &named.edits, objects)?;
    named.raw_edits.extend(unchanged);
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

impl<'r, 'l> Finder<'r, 'l> {
    fn new(repo: &'r Repo, base: ObjectId, limits: &'l Limits) -> Result<Self> {
        Ok(Self {
            repo,
            base,
            limits,
            root: open_root(repo.worktree_root())?,
            excludes: Excludes::for_worktree(repo, &limits.exclude)?,
            index: OnceCell::new(),
            candidates: Vec::new(),
            named: Named::default(),
        })
    }

    fn refuse_unknown(&mut self, path: &BStr, before: &Before<'_>) -> Result<()> {
        let is_left_out = |skipped: &Skipped| {
            path.strip_prefix(skipped.path.as_slice()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        let is_known = path.is_empty()
            || !matches!(self.stat(path).map_err(Trouble::of), Err(Trouble::Gone))
            || self.repo.find_entry(before.tree_id, path)?.is_some()
            || self.repo.find_entry(before.head_tree_id, path)?.is_some()
            || before.skipped.iter().any(is_left_out)
            || self.user_index().is_some_and(|index| index.entry_by_path(path).is_some())
            || !self.tracked_below(path).is_empty()
            // Ignored paths, and those of nested repositories, are not captured whether they exist or not.
            || self.is_inside_repository(path)?
            || self.excludes.is_ignored(path, false)?;
        if is_known {
            return Ok(());
        }
        Err(Error::user(format!("pathspec '{}' did not match any files", path_text::printable(path))).about(path))
    }

    fn add(&mut self, path: &BStr, is_known: bool) -> Result<()> {
        if self.is_inside_repository(path)? {
            return Ok(());
        }
        let before = self.repo.find_entry(self.base, path)?;
        let stat = match self.stat(path) {
            Ok(stat) => stat,
            Err(errno) if Trouble::of(errno) == Trouble::Gone => return self.remove(path, before),
            // An unreadable file is not a deleted one.
            Err(_) => {
                self.named.skipped.push(Skipped { path: path.to_owned(), reason: Reason::Unreadable, size: 0 });
                return Ok(());
            }
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::Directory {
            return self.add_directory(path, before);
        }
        let is_known = is_known || before.is_some() || self.is_tracked(path, &stat)?;
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
            let found = collect_named(self.repo, path, kind, &BTreeSet::new(), self.limits)?;
            self.named.skipped.extend(found.skipped);
            self.candidates.extend(found.candidates);
            return Ok(());
        }
        self.candidates.push(Candidate { path: path.to_owned(), position: None, stat: Stat::of(&stat), mode });
        Ok(())
    }

    /// Adds a directory: the paths that the tree has below it, and new ones.
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
        let mut known: BTreeSet<_> = self.repo.leaves_below(self.base, path)?.into_iter().collect();
        known.extend(self.tracked_below(path));
        for leaf in &known {
            self.add(leaf.as_bstr(), true)?;
        }
        let found = collect_named(self.repo, path, FileType::Directory, &known, self.limits)?;
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
        // Nothing below a symbolic link is part of this worktree.
        for at in slashes(path) {
            let parent = rustix::fs::statat(&self.root, path[..at].as_bytes(), AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(parent.st_mode) != FileType::Directory {
                return Err(rustix::io::Errno::NOTDIR);
            }
        }
        rustix::fs::statat(&self.root, path.as_bytes(), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Returns true if `path` is inside a repository that is not captured: a nested one, or this one itself.
    ///
    /// A directory with a `.git` is a nested repository, unless the tree has files of it.
    fn is_inside_repository(&self, path: &BStr) -> Result<bool> {
        if self.repo.own_directories.contain(path) {
            return Ok(true);
        }
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

    /// Reads the user's index only if the answer matters: if an ignore rule or a limit refuses the path.
    fn is_tracked(&mut self, path: &BStr, stat: &rustix::fs::Stat) -> Result<bool> {
        let is_refused = self.limits.refusal(stat).is_some() || self.limits.max_untracked_files == 0;
        if !is_refused && !self.excludes.is_ignored(path, false)? {
            return Ok(false);
        }
        Ok(self.user_index().is_some_and(|index| index.entry_by_path(path).is_some()))
    }

    /// Returns the paths that the user's index has below `directory`.
    fn tracked_below(&self, directory: &BStr) -> Vec<BString> {
        let Some(index) = self.user_index() else { return Vec::new() };
        let prefix = bstr::join("/", [directory.as_bytes(), b""]);
        let entries = index.prefixed_entries(prefix.as_bstr()).unwrap_or_default().iter();
        let files = entries.filter(|entry| entry.mode != gix::index::entry::Mode::DIR);
        files.map(|entry| entry.path(index).to_owned()).collect()
    }

    fn is_left_out_by_sparse_checkout(&self, path: &BStr) -> bool {
        self.repo.is_sparse()
            && self
                .user_index()
                .and_then(|index| index.entry_by_path(path))
                .is_some_and(|entry| entry.flags.contains(Flags::SKIP_WORKTREE))
    }
}

impl Repo {
    /// Returns true if a path that an earlier checkpoint left out still exists and is not in the tree `tree_id`.
    pub(crate) fn is_still_left_out(&self, skipped: &Skipped, tree_id: ObjectId) -> Result<bool> {
        let path = gix::path::from_bstr(skipped.path.as_bstr()).unwrap_or_default();
        let stat = match rustix::fs::lstat(self.worktree_root().join(path)) {
            Ok(stat) => stat,
            Err(errno) => return Ok(Trouble::of(errno) != Trouble::Gone),
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        Ok(match skipped.reason {
            Reason::TooLarge | Reason::LowDiskSpace => self.find_leaf(tree_id, skipped.path.as_bstr())?.is_none(),
            Reason::TooManyFiles => kind == FileType::Directory,
            Reason::SpecialFile => kind != FileType::Directory && mode_of(kind, stat.st_mode).is_none(),
            Reason::Unreadable | Reason::Purged | Reason::InvalidName | Reason::SkipWorktree => true,
        })
    }
}

const DIRECTORY: u32 = 0o40_000;
const GITLINK: u32 = 0o160_000;

/// Returns the positions of the slashes in `path`.
fn slashes(path: &BStr) -> impl Iterator<Item = usize> + '_ {
    path.find_iter("/")
}
