//! What git does not track: which of it belongs into a checkpoint, by the ignore rules and limits.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::fd::OwnedFd,
};

use bstr::{BStr, BString, ByteSlice as _};
use rustix::fs::{AtFlags, Dir, FileType, OFlags};

use super::{
    Repo,
    beneath::{self, Trouble},
    checkout_names::is_temporary_name,
    ignore::Excludes,
    limits::{Limits, is_storable, open_root},
    modes::mode_of,
    scan::{Candidate, Scan, Unknown},
    stat_cache::{Stat, StatCache},
};
use crate::{
    error::Result,
    model::{
        change::Mode,
        manifest::{Reason, Skipped},
    },
};

/// Untracked paths that are not ignored.
#[derive(Debug, Default)]
pub(crate) struct Untracked {
    /// New files to capture.
    pub(crate) candidates: Vec<Candidate>,
    /// Places in the cache of captured files that are ignored, or too large, by now.
    pub(crate) dropped: BTreeSet<usize>,
    /// Paths left out.
    pub(crate) skipped: Vec<Skipped>,
    /// Directories with a repository of their own.
    pub(crate) nested: Vec<BString>,
    /// Directories without anything in them.
    pub(crate) empty_directories: Vec<BString>,
}

/// Sorts the unknown paths that `scan` found, and checks untracked files that were captured before.
///
/// `before` is the cache of the last pass: its paths are not new, so limits on new files do not count them.
pub(crate) fn collect(
    repo: &Repo,
    cache: &StatCache,
    before: Option<&StatCache>,
    scan: &Scan,
    limits: &Limits,
) -> Result<Untracked> {
    let root = open_root(repo.worktree_root())?;
    let left_out = cache.entries().iter().filter(|entry| entry.skips_worktree && !entry.id.is_null());
    let left_out = left_out.map(|entry| (cache.path(entry), entry.id));
    let excludes = Excludes::for_worktree_with(repo, left_out, &limits.exclude)?;
    let known = &BTreeSet::new();
    let mut collector = Collector { repo, root, excludes, limits, before, known, found: Untracked::default() };
    for directory in &scan.git_directories {
        collector.nested_among_known(cache, directory.as_bstr());
    }
    for unknown in &scan.unknown {
        collector.add(unknown)?;
    }
    collector.found.empty_directories.extend(scan.emptied.iter().cloned());
    collector.review_gitlinks(cache, scan)?;
    collector.review_captured(cache, scan)?;
    collector.limit_growth(cache);
    for path in &scan.special {
        collector.skip(path.clone(), Reason::SpecialFile, 0);
    }
    for path in &scan.unreadable {
        collector.skip(path.clone(), Reason::Unreadable, 0);
    }
    Ok(collector.found)
}

/// Sorts the untracked paths in the file or directory `path` of type `kind`, without those among `known`.
pub(crate) fn collect_named(
    repo: &Repo,
    path: &BStr,
    kind: FileType,
    known: &BTreeSet<BString>,
    limits: &Limits,
) -> Result<Untracked> {
    let root = open_root(repo.worktree_root())?;
    let excludes = Excludes::for_worktree(repo, &limits.exclude)?;
    let mut collector = Collector { repo, root, excludes, limits, before: None, known, found: Untracked::default() };
    collector.enter(path.to_owned(), kind)?;
    Ok(collector.found)
}

/// What a directory without known files holds.
#[derive(Default)]
struct Contents {
    candidates: Vec<Candidate>,
    skipped: Vec<Skipped>,
    nested: Vec<BString>,
    empty_directories: Vec<BString>,
    count: u64,
}

struct Collector<'r, 'l> {
    repo: &'r Repo,
    root: OwnedFd,
    excludes: Excludes<'r>,
    limits: &'l Limits,
    before: Option<&'l StatCache>,
    /// Paths that are not to be collected.
    known: &'l BTreeSet<BString>,
    found: Untracked,
}

/// What a directory holds.
enum Listing {
    /// Names and types, sorted.
    Items(Vec<(BString, FileType)>),
    /// A repository.
    Nested,
    /// It is gone by now.
    Gone,
    /// It cannot be read.
    Unreadable,
}

impl Collector<'_, '_> {
    fn skip(&mut self, path: BString, reason: Reason, size: u64) {
        self.found.skipped.push(Skipped { path, reason, size });
    }

    /// Reports one more than the limit: the scan does not count further.
    fn skip_too_many(&mut self, directory: BString) {
        self.skip(directory, Reason::TooManyFiles, self.limits.max_untracked_files.saturating_add(1));
    }

    /// A directory that was captured as files and became a repository: a boundary, unless git tracks files in it.
    fn nested_among_known(&mut self, cache: &StatCache, directory: &BStr) {
        let mut prefix = directory.to_owned();
        prefix.push(b'/');
        let range = cache.below(prefix.as_bstr());
        if cache.entries()[range.clone()].iter().all(|entry| !entry.is_tracked) {
            self.found.dropped.extend(range);
            self.found.nested.push(directory.to_owned());
        }
    }

    /// As a pass over all does: the limit on new files is for directories without known ones.
    fn enter(&mut self, path: BString, kind: FileType) -> Result<()> {
        let mut prefix = path.clone();
        prefix.push(b'/');
        let is_below = |known: &BString| known.starts_with(&prefix);
        if kind != FileType::Directory || !self.known.range(prefix.clone()..).next().is_some_and(is_below) {
            return self.add(&Unknown { path, kind });
        }
        match self.list(path.as_bstr(), false)? {
            Listing::Items(items) => items.into_iter().try_for_each(|(child, kind)| self.enter(child, kind)),
            Listing::Unreadable => {
                self.skip(path, Reason::Unreadable, 0);
                Ok(())
            }
            Listing::Nested | Listing::Gone => Ok(()),
        }
    }

    fn add(&mut self, unknown: &Unknown) -> Result<()> {
        if self.is_inside_nested(unknown.path.as_bstr()) {
            return Ok(());
        }
        let mut contents = Contents::default();
        self.visit(unknown.path.clone(), unknown.kind, &mut contents)?;
        if contents.count > self.limits.max_untracked_files {
            self.skip_too_many(unknown.path.clone());
            return self.keep_captured(unknown.path.as_bstr());
        }
        self.found.candidates.append(&mut contents.candidates);
        self.found.skipped.append(&mut contents.skipped);
        self.found.nested.append(&mut contents.nested);
        self.found.empty_directories.append(&mut contents.empty_directories);
        Ok(())
    }

    /// Captured files below `directory` stay, however many new ones there are beside them.
    fn keep_captured(&mut self, directory: &BStr) -> Result<()> {
        let Some(before) = self.before else { return Ok(()) };
        let mut prefix = directory.to_owned();
        prefix.push(b'/');
        for entry in &before.entries()[before.below(prefix.as_bstr())] {
            let path = before.path(entry);
            let Ok(stat) = self.stat(path) else { continue };
            let Some(mode) = mode_of(FileType::from_raw_mode(stat.st_mode), stat.st_mode) else { continue };
            if !entry.is_tracked && !self.excludes.is_ignored(path, false)? {
                let candidate = Candidate { path: path.to_owned(), position: None, stat: Stat::of(&stat), mode };
                self.found.candidates.push(candidate);
            }
        }
        Ok(())
    }

    /// An untracked directory of which some was captured before is known, so its new files were found one by one.
    fn limit_growth(&mut self, cache: &StatCache) {
        let mut new: BTreeMap<BString, u64> = BTreeMap::new();
        for candidate in self.found.candidates.iter().filter(|candidate| self.is_new(candidate.path.as_bstr())) {
            if let Some(directory) = untracked_directory(cache, candidate.path.as_bstr()) {
                *new.entry(directory.to_owned()).or_default() += 1;
            }
        }
        new.retain(|_, count| *count > self.limits.max_untracked_files);
        if new.is_empty() {
            return;
        }
        let mut candidates = std::mem::take(&mut self.found.candidates);
        candidates.retain(|candidate| {
            let path = candidate.path.as_bstr();
            let directory = untracked_directory(cache, path);
            !(self.is_new(path) && directory.is_some_and(|directory| new.contains_key(directory)))
        });
        self.found.candidates = candidates;
        for path in new.into_keys() {
            self.skip_too_many(path);
        }
    }

    fn is_new(&self, path: &BStr) -> bool {
        self.before.is_none_or(|before| before.find(path).is_none())
    }

    fn is_inside_nested(&self, path: &BStr) -> bool {
        self.found
            .nested
            .iter()
            .any(|nested| path.strip_prefix(nested.as_slice()).is_some_and(|rest| rest.starts_with(b"/")))
    }

    fn visit(&mut self, path: BString, kind: FileType, contents: &mut Contents) -> Result<()> {
        let is_known = kind != FileType::Directory && self.known.contains(&path);
        let is_own = self.repo.own_directories.contain(path.as_bstr());
        if is_known || is_own || self.excludes.is_ignored(path.as_bstr(), kind == FileType::Directory)? {
            return Ok(());
        }
        let skip = |contents: &mut Contents, reason, size| {
            contents.skipped.push(Skipped { path: path.clone(), reason, size });
            Ok(())
        };
        let name = path.rsplit_once_str("/").map_or(path.as_slice(), |(_, name)| name);
        if !is_storable(name.as_bstr(), kind) {
            return skip(contents, Reason::InvalidName, 0);
        }
        if kind == FileType::Directory {
            return self.visit_directory(path, contents);
        }
        let stat = match self.stat(path.as_bstr()) {
            Ok(stat) => stat,
            Err(errno) => match Trouble::of(errno) {
                Trouble::Gone => return Ok(()),
                Trouble::Unreadable => return skip(contents, Reason::Unreadable, 0),
                Trouble::Other => return Err(beneath::unreadable(path.as_bstr(), errno)),
            },
        };
        let Some(mode) = mode_of(FileType::from_raw_mode(stat.st_mode), stat.st_mode) else {
            return skip(contents, Reason::SpecialFile, 0);
        };
        contents.count += u64::from(self.is_new(path.as_bstr()));
        if contents.count > self.limits.max_untracked_files {
            return Ok(());
        }
        let is_held =
            |before: &StatCache| before.find(path.as_bstr()).is_some_and(|entry| entry.stat == Stat::of(&stat));
        if let Some((reason, size)) = self.limits.refusal(&stat)
            && !self.before.is_some_and(is_held)
        {
            return skip(contents, reason, size);
        }
        contents.candidates.push(Candidate { path, position: None, stat: Stat::of(&stat), mode });
        Ok(())
    }

    fn visit_directory(&mut self, path: BString, contents: &mut Contents) -> Result<()> {
        let items = match self.list(path.as_bstr(), true)? {
            Listing::Items(items) => items,
            Listing::Nested => {
                contents.nested.push(path);
                return Ok(());
            }
            Listing::Gone => return Ok(()),
            Listing::Unreadable => {
                contents.skipped.push(Skipped { path, reason: Reason::Unreadable, size: 0 });
                return Ok(());
            }
        };
        if items.is_empty() {
            contents.empty_directories.push(path);
            return Ok(());
        }
        for (child, kind) in items {
            self.visit(child, kind, contents)?;
            if contents.count > self.limits.max_untracked_files {
                break;
            }
        }
        Ok(())
    }

    /// Lists the directory `path`; if `has_boundary` says so, a `.git` in it makes it a boundary.
    fn list(&self, path: &BStr, has_boundary: bool) -> Result<Listing> {
        match self.items(path, has_boundary) {
            Ok(Some(items)) => Ok(Listing::Items(items)),
            Ok(None) => Ok(Listing::Nested),
            Err(errno) => match Trouble::of(errno) {
                Trouble::Gone => Ok(Listing::Gone),
                Trouble::Unreadable => Ok(Listing::Unreadable),
                Trouble::Other => Err(beneath::unreadable(path, errno)),
            },
        }
    }

    /// Returns paths and types of the entries of the directory `path`, sorted; none at a boundary.
    fn items(&self, path: &BStr, has_boundary: bool) -> rustix::io::Result<Option<Vec<(BString, FileType)>>> {
        let mut items: Vec<(BString, FileType)> = Vec::new();
        for item in Dir::new(beneath::open(&self.root, path, OFlags::RDONLY | OFlags::DIRECTORY)?)? {
            let item = item?;
            let name = item.file_name().to_bytes();
            if name == b".git" && has_boundary {
                return Ok(None);
            }
            if !matches!(name, b"." | b".." | b".git") && !is_temporary_name(name) {
                items.push((bstr::join("/", [path.as_bytes(), name]).into(), item.file_type()));
            }
        }
        items.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (child, kind) in items.iter_mut().filter(|(_, kind)| *kind == FileType::Unknown) {
            *kind = self.stat(child.as_bstr()).map_or(*kind, |stat| FileType::from_raw_mode(stat.st_mode));
        }
        Ok(Some(items))
    }

    fn stat(&self, path: &BStr) -> rustix::io::Result<rustix::fs::Stat> {
        rustix::fs::statat(&self.root, path.as_bytes(), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Nested repositories that were captured as such may be plain directories now.
    fn review_gitlinks(&mut self, cache: &StatCache, scan: &Scan) -> Result<()> {
        for &position in &scan.gitlinks {
            let entry = &cache.entries()[position];
            if entry.is_tracked {
                continue;
            }
            let path = cache.path(entry).to_owned();
            let mut inner = path.clone();
            inner.extend_from_slice(b"/.git");
            if self.stat(inner.as_bstr()).is_ok() {
                if !self.excludes.is_ignored(path.as_bstr(), true)? {
                    self.found.nested.push(path);
                }
            } else {
                self.found.dropped.insert(position);
                self.add(&Unknown { path, kind: FileType::Directory })?;
            }
        }
        Ok(())
    }

    /// Captured files that git does not track obey the rules and limits of today.
    fn review_captured(&mut self, cache: &StatCache, scan: &Scan) -> Result<()> {
        let candidates: std::collections::HashMap<usize, &Candidate> =
            scan.candidates.iter().filter_map(|candidate| Some((candidate.position?, candidate))).collect();
        for (position, entry) in cache.entries().iter().enumerate() {
            if entry.is_tracked || self.found.dropped.contains(&position) {
                continue;
            }
            let path = cache.path(entry);
            if self.excludes.is_ignored(path, entry.mode == Mode::Gitlink)? {
                self.found.dropped.insert(position);
                continue;
            }
            if candidates.contains_key(&position)
                && let Ok(stat) = self.stat(path)
                && let Some((reason, size)) = self.limits.refusal(&stat)
            {
                let path = path.to_owned();
                self.found.dropped.insert(position);
                self.skip(path, reason, size);
            }
        }
        Ok(())
    }
}

/// Returns the uppermost directory of `path` in which git tracks nothing.
fn untracked_directory<'p>(cache: &StatCache, path: &'p BStr) -> Option<&'p BStr> {
    let is_untracked = |directory: &&BStr| {
        let mut prefix = directory.to_owned().to_owned();
        prefix.push(b'/');
        !cache.entries()[cache.below(prefix.as_bstr())].iter().any(|entry| entry.is_tracked)
    };
    path.find_iter("/").map(|at| path[..at].as_bstr()).find(is_untracked)
}
