//! Stores the whole worktree as a tree, in one pass.

mod absent;
mod gitlinks;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime},
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    Repo,
    attribute_files::{AttributeFiles, is_attribute_file},
    capture::{Captured, Content, Reader, capture_by_rules},
    edit_tree::{Edit, edit_tree},
    exact::{Rechecker, Unchanged},
    filter::Filters,
    limits::Limits,
    modes::Modes,
    new_objects::{NewObjects, Target},
    scan::{Candidate, scan},
    seed::{Staged, seed},
    stat_cache::{CacheChange, Known, StatCache},
    untracked::collect,
};
use crate::{
    error::Result,
    model::{
        change::Mode,
        manifest::{Manifest, Reason, Skipped, Unfiltered},
    },
};

/// File times lag behind the clock by up to one tick of the kernel.
const TICK: Duration = Duration::from_millis(20);

/// The worktree at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// Its content as `git add -A` would store it.
    pub(crate) tree_id: ObjectId,
    /// The tree of the user's index, without unmerged and intent-to-add entries.
    pub(crate) index_tree_id: ObjectId,
    /// What the trees cannot contain.
    pub(crate) manifest: Manifest,
    /// The stat cache for the next pass.
    pub(crate) cache: StatCache,
    /// False if the cache is the same as before.
    pub(crate) is_cache_new: bool,
}

impl Snapshot {
    /// Returns the paths whose exact bytes are stored beside the tree.
    pub(crate) fn raw_paths(&self) -> Vec<(BString, ObjectId)> {
        let cache = &self.cache;
        let entries = if cache.may_have_raw() { cache.entries() } else { &[] };
        entries.iter().filter_map(|entry| cache.raw_id(entry).map(|id| (cache.path(entry).to_owned(), id))).collect()
    }
}

/// What to do with the new objects of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Collect them for writing.
    ToWrite {
        /// The file system's time just before the pass, since 1970.
        clock: Duration,
    },
    /// Keep them in memory, where only this process sees them.
    InMemory,
}

/// Takes a snapshot of the whole worktree; `before` is the cache of the last one.
pub(crate) fn full_pass<'r>(
    repo: &'r Repo,
    limits: &Limits,
    before: Option<StatCache>,
    keep: Keep,
) -> Result<(Snapshot, NewObjects<'r>)> {
    let in_memory = keep == Keep::InMemory;
    let (started, modes) = (started(keep), repo.modes());
    let owned = before.filter(|cache| is_whole(repo, cache, in_memory));
    let before = owned.as_ref();
    let filters = repo.filter_settings()?;
    let identity = repo.user_index_identity();
    let follows_index = before.filter(|cache| {
        cache.index == identity && cache.index_tree_id.is_some_and(|id| repo.has_object(id)) && identity.mtime < started
    });
    let mut objects = NewObjects::new(repo, if in_memory { Target::Memory } else { Target::Loose });
    let (seeded, staged);
    let cache = if let Some(cache) = follows_index {
        (seeded, staged) = (None, Staged { tree_id: cache.index_tree_id, ..Staged::default() });
        cache
    } else {
        let index = repo.user_index()?;
        let (cache, found) = seed(repo, index.as_deref(), identity, before, &mut objects)?;
        staged = found;
        seeded = Some(cache);
        seeded.as_ref().expect("it is there")
    };
    let mut pass = Pass {
        repo,
        cache,
        earlier: follows_index.is_none().then_some(before).flatten(),
        changes: BTreeMap::new(),
        manifest: Manifest { unmerged: staged.unmerged, intent_to_add: staged.intent_to_add, ..Manifest::default() },
        started,
        has_new_filters: before.is_some_and(|cache| cache.filters.0 != filters.0),
        has_new_outside: before.is_some_and(|cache| cache.filters.1 != filters.1),
        modes,
        doubted: staged.doubted,
        failures: BTreeMap::new(),
    };
    let found = scan(repo, cache, modes)?;
    let untracked = collect(repo, cache, before, &found, limits)?;
    repo.check_interrupt()?;
    for entry in found.removed.iter().chain(&untracked.dropped).map(|at| &cache.entries()[*at]) {
        if !entry.is_known_absent() {
            pass.note_absent(cache.path(entry).to_owned())?;
        }
    }
    let respects_skip = !repo.is_sparse();
    let is_dropped = |candidate: &Candidate| candidate.position.is_some_and(|at| untracked.dropped.contains(&at));
    let is_hidden = |candidate: &Candidate| {
        respects_skip && candidate.position.is_some_and(|at| cache.entries()[at].skips_worktree)
    };
    let candidates = found.candidates.into_iter().filter(|candidate| !is_dropped(candidate));
    let (hidden, candidates): (Vec<_>, Vec<_>) = candidates.chain(untracked.candidates).partition(is_hidden);
    pass.manifest.skipped = untracked.skipped;
    pass.hide(hidden);
    pass.manifest.empty_directories = untracked.empty_directories;
    let candidates = pass.with_unfiltered(candidates);
    pass.capture(candidates, &mut objects)?;
    pass.gitlinks(&found.gitlinks, untracked.nested, limits)?;
    let loses_index = pass.loses_index();
    let is_news = seeded.is_some() || pass.has_new_filters || pass.has_new_outside;
    let (mut manifest, mut failures) = (std::mem::take(&mut pass.manifest), std::mem::take(&mut pass.failures));
    let (tree_id, changes, objects) = pass.finish(objects)?;
    let is_cache_new = is_news || !changes.is_empty();
    let mut cache = seeded.or(owned).expect("one of them was in use");
    cache.apply(changes);
    (cache.tree_id, cache.filters) = (Some(tree_id), filters);
    cache.index_tree_id = cache.index_tree_id.filter(|_| !loses_index);
    manifest.unfiltered = unfiltered(repo, &cache, &mut failures)?;
    let index_tree_id = staged.tree_id.expect("staged content was read");
    Ok((Snapshot { tree_id, index_tree_id, manifest, cache, is_cache_new }, objects))
}

/// Returns the time before a pass. A file with this or a later time may change again without a new time.
fn started(keep: Keep) -> (i64, u32) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // The file system's clock may be a server's, and behind ours.
    let now = match keep {
        Keep::ToWrite { clock } => now.min(clock),
        Keep::InMemory => now,
    };
    let time = now.saturating_sub(TICK);
    (i64::try_from(time.as_secs()).unwrap_or(i64::MAX), time.subsec_nanos())
}

/// Returns true if the repository still has all that `cache` says was stored; `git gc` may have collected it.
fn is_whole(repo: &Repo, cache: &StatCache, in_memory: bool) -> bool {
    let is_here = |id| if in_memory { repo.has_object(id) } else { repo.freshen(id) };
    let has_tree = cache.tree_id.is_some_and(|id| repo.has_object(id));
    let entries = if cache.may_have_raw() { cache.entries() } else { &[] };
    has_tree && entries.iter().filter_map(|entry| cache.raw_id(entry)).all(is_here)
}

struct Pass<'r, 'c> {
    repo: &'r Repo,
    cache: &'c StatCache,
    /// An earlier cache, which may know some versions of files.
    earlier: Option<&'c StatCache>,
    changes: BTreeMap<BString, Option<Known>>,
    manifest: Manifest,
    started: (i64, u32),
    /// True if the filter commands have changed since the last pass.
    has_new_filters: bool,
    /// True if attribute files outside the worktree that name filters have changed since the last pass.
    has_new_outside: bool,
    modes: Modes,
    /// Files that must be read to find out whether their blobs convert back to their bytes.
    doubted: Vec<BString>,
    /// Why filters failed, by path.
    failures: BTreeMap<BString, String>,
}

impl<'r> Pass<'r, '_> {
    /// Skips edits of files that the user hides from git, as `git add` does, but lists them.
    fn hide(&mut self, candidates: Vec<Candidate>) {
        for candidate in candidates {
            let Some(entry) = candidate.position.map(|at| &self.cache.entries()[at]) else { continue };
            let is_same_mode = self.modes.stored(candidate.mode, Some(entry.mode)) == entry.mode;
            if candidate.stat != entry.stat || !is_same_mode {
                let size = u64::from(candidate.stat.size);
                self.manifest.skipped.push(Skipped { path: candidate.path, reason: Reason::SkipWorktree, size });
            }
        }
    }

    /// Adds the files to `candidates` whose filter failed before and may work now.
    fn with_unfiltered(&self, mut candidates: Vec<Candidate>) -> Vec<Candidate> {
        if !self.cache.may_have_raw() || !(self.has_new_filters || self.has_new_outside) {
            return candidates;
        }
        let known: BTreeSet<usize> = candidates.iter().filter_map(|candidate| candidate.position).collect();
        for (at, entry) in self.cache.entries().iter().enumerate().filter(|(_, entry)| entry.is_unfiltered) {
            let path = self.cache.path(entry).to_owned();
            if !known.contains(&at) && !self.changes.contains_key(&path) {
                candidates.push(Candidate { path, position: Some(at), stat: entry.stat, mode: entry.mode });
            }
        }
        candidates
    }

    fn capture(&mut self, candidates: Vec<Candidate>, objects: &mut NewObjects<'r>) -> Result<()> {
        let is_idle = candidates.is_empty() && self.changes.is_empty() && self.doubted.is_empty();
        let has_new_settings = self.has_new_filters || self.has_new_outside;
        if is_idle && self.earlier.is_none() && !has_new_settings {
            return Ok(());
        }
        let is_absent = |known: &Option<Known>| known.and_then(|known| known.leaf()).is_none();
        let removed = self.changes.iter().filter(|(_, known)| is_absent(known)).map(|(path, _)| (path, None));
        let known = AttributeFiles::of_cache(self.cache);
        let files = known.with_edits(self.repo, removed, objects)?;
        let is_rule = |candidate: &Candidate| is_attribute_file(candidate.path.as_bstr());
        let rules: Vec<Candidate> = candidates.iter().filter(|candidate| is_rule(candidate)).cloned().collect();
        let (captured, files) = capture_by_rules(self.repo, &rules, files, objects)?;
        self.note_all(rules, captured)?;
        // The cache knows about an unchanged file only what the attribute rules of that time gave.
        let before = self.earlier.map_or(known, AttributeFiles::of_cache);
        let changed = if has_new_settings { vec![BString::default()] } else { before.differing_directories(&files) };
        let is_concerned = |path: &BStr| changed.iter().any(|directory| path.starts_with(directory));
        let (mut unread, mut found) = (Vec::new(), Vec::new());
        for candidate in candidates.into_iter().filter(|candidate| !is_rule(candidate)) {
            match self.recall(&candidate).filter(|_| !is_concerned(candidate.path.as_bstr())) {
                Some(known) => found.push((candidate, known)),
                None => unread.push(candidate),
            }
        }
        for (candidate, known) in found {
            self.note(&candidate, known);
        }
        if objects.target() == Target::Loose && Target::for_count(unread.len()) == Target::Pack {
            objects.switch_to_pack();
        }
        let (captured, files) = capture_by_rules(self.repo, &unread, files, objects)?;
        self.note_all(unread, captured)?;
        let doubted = std::mem::take(&mut self.doubted);
        let mut concerned: Vec<_> = doubted.into_iter().map(|path| (path, true)).collect();
        for directory in &changed {
            let entries = &self.cache.entries()[self.cache.below(directory.as_bstr())];
            concerned.extend(entries.iter().map(|entry| (self.cache.path(entry).to_owned(), self.has_new_outside)));
        }
        self.recheck((&before, &files), &concerned, objects)
    }

    fn note_all(&mut self, candidates: Vec<Candidate>, captured: Vec<Captured>) -> Result<()> {
        for (candidate, captured) in candidates.into_iter().zip(captured) {
            match captured {
                Captured::Content(content) => {
                    let Content { id, raw_id, stat, mode, is_torn, failure } = content;
                    // A filter that the system could not start at this moment is tried again next time.
                    let is_to_try = failure.as_ref().is_some_and(|failure| failure.is_of_the_moment);
                    let is_racy = is_torn || is_to_try || stat.is_racy(self.started);
                    let is_unfiltered = failure.is_some();
                    self.failures.extend(failure.map(|failure| (candidate.path.clone(), failure.reason)));
                    let (is_tracked, skips_worktree) = (false, false);
                    let known = Known { stat, id, raw_id, mode, is_tracked, skips_worktree, is_racy, is_unfiltered };
                    self.note(&candidate, known);
                }
                Captured::Gone => self.note_absent(candidate.path)?,
                Captured::Unreadable => {
                    // The last captured version stays in the tree: an unreadable file is not a deleted one.
                    let size = u64::from(candidate.stat.size);
                    self.manifest.skipped.push(Skipped { path: candidate.path, reason: Reason::Unreadable, size });
                }
            }
        }
        Ok(())
    }

    /// Decides again which exact bytes of `paths` to keep, since the attribute rules may have changed.
    fn recheck(
        &mut self,
        rules: (&AttributeFiles, &AttributeFiles),
        paths: &[(BString, bool)],
        objects: &mut NewObjects<'r>,
    ) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut rechecker = Rechecker::new(self.repo, rules, self.has_new_filters)?;
        let reader = Reader::new(self.repo, rules.1, objects.target())?;
        for (path, is_doubted) in paths {
            let path = path.as_bstr();
            let Some(entry) = self.cache.find(path) else { continue };
            let is_file = matches!(entry.mode, Mode::File | Mode::Executable) && !entry.id.is_null();
            if !is_file || entry.skips_worktree || self.changes.contains_key(path) {
                continue;
            }
            let file = Unchanged { blob_id: entry.id, raw_id: self.cache.raw_id(entry) };
            let raw_id = rechecker.raw_id(path, &file, *is_doubted, || reader.bytes_of(path, entry.stat), objects)?;
            if raw_id != file.raw_id {
                let known = Known { raw_id, ..self.cache.known(entry) };
                self.changes.insert(path.to_owned(), Some(known));
            }
        }
        Ok(())
    }

    /// Returns what is known of `candidate` if exactly this version of the file was captured before.
    fn recall(&self, candidate: &Candidate) -> Option<Known> {
        let path = candidate.path.as_bstr();
        self.earlier.and_then(|cache| {
            let entry = cache.find(path)?;
            let is_same_mode = self.modes.stored(candidate.mode, Some(entry.mode)) == entry.mode;
            let is_same = !entry.is_racy && !entry.id.is_null() && entry.stat == candidate.stat && is_same_mode;
            is_same.then(|| cache.known(entry))
        })
    }

    /// Notes `known` for the file of `candidate`; index flags come from the cache.
    fn note(&mut self, candidate: &Candidate, known: Known) {
        let before = candidate.position.map(|at| &self.cache.entries()[at]);
        let mode = self.modes.stored(known.mode, before.map(|entry| entry.mode));
        let is_tracked = before.is_some_and(|entry| entry.is_tracked);
        let skips_worktree = before.is_some_and(|entry| entry.skips_worktree);
        let is_racy = known.is_racy || known.stat.is_racy(self.started);
        let known = Known { mode, is_tracked, skips_worktree, is_racy, ..known };
        self.changes.insert(candidate.path.clone(), Some(known));
    }

    /// Returns the tree, the changes of the cache, and all objects.
    fn finish(self, mut objects: NewObjects<'r>) -> Result<(ObjectId, Vec<CacheChange>, NewObjects<'r>)> {
        let base = self.cache.tree_id.expect("a cache in use knows its tree");
        let edit = |(path, known): (&BString, &Option<Known>)| {
            let before = self.cache.find(path.as_bstr()).and_then(|entry| self.cache.known(entry).leaf());
            let now = known.and_then(|known| known.leaf());
            (now != before).then(|| (path.clone(), now))
        };
        let edits: Vec<(BString, Edit)> = self.changes.iter().filter_map(edit).collect();
        let tree_id = edit_tree(base, &edits, &mut objects)?;
        Ok((tree_id, self.changes.into_iter().collect(), objects))
    }
}

/// Returns the files of `cache` that were stored unfiltered because a filter failed; `failures` has the known reasons.
fn unfiltered(repo: &Repo, cache: &StatCache, failures: &mut BTreeMap<BString, String>) -> Result<Vec<Unfiltered>> {
    let entries = if cache.may_have_raw() { cache.entries() } else { &[] };
    let mut filters = None;
    let mut found = Vec::new();
    for entry in entries.iter().filter(|entry| entry.is_unfiltered) {
        let path = cache.path(entry).to_owned();
        let filters = match &mut filters {
            Some(filters) => filters,
            none => none.insert(Filters::for_worktree(repo)?),
        };
        let filter = filters.filter_name(path.as_bstr())?.unwrap_or_default();
        let reason = failures.remove(&path).unwrap_or_default();
        found.push(Unfiltered { path, filter, reason });
    }
    Ok(found)
}
