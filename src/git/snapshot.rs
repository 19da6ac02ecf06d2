//! The worktree as a tree: one pass over everything, or just the paths that are named.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{
    ObjectId,
    objs::{
        Kind as ObjectKind, TreeRef,
        tree::{Editor, EntryKind},
    },
};

use super::{
    Repo,
    capture::{Captured, Content, capture},
    limits::Limits,
    modes::Modes,
    new_objects::{NewObjects, Target},
    reconvert::{directories_of_attributes, reconvert},
    scan::{Candidate, scan},
    seed::{Staged, seed},
    stat_cache::{CacheChange, Known, Stat, StatCache},
    untracked::collect,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::{
        change::Mode,
        manifest::{Manifest, Nested, Reason, Skipped},
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
    /// What the trees cannot say.
    pub(crate) manifest: Manifest,
    /// What every path was, for the next pass.
    pub(crate) cache: StatCache,
    /// False if the cache says nothing that the one before did not.
    pub(crate) is_cache_new: bool,
}

impl Snapshot {
    /// Returns the paths whose exact bytes are kept beside the tree.
    pub(crate) fn raw_paths(&self) -> Vec<(BString, ObjectId)> {
        let cache = &self.cache;
        let entries = if cache.may_have_raw() { cache.entries() } else { &[] };
        entries.iter().filter_map(|entry| cache.raw_id(entry).map(|id| (cache.path(entry).to_owned(), id))).collect()
    }
}

/// What becomes of the objects that a pass makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// They are collected to be written.
    ToWrite {
        /// The time of the file system just before, since 1970.
        clock: Duration,
    },
    /// Only this process sees them, through the repository's object memory.
    InMemory,
}

/// A change of the tree: none removes the path.
pub(crate) type Edit = Option<(ObjectId, Mode)>;

/// Takes a snapshot of the whole worktree; `before` is the cache of the last one.
///
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
    let conversions = repo.conversions()?;
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
        has_new_conversions: before.is_some_and(|cache| cache.conversions != conversions),
        modes,
    };
    let found = scan(repo, cache, modes)?;
    let untracked = collect(repo, cache, before, &found, limits)?;
    repo.check_interrupt()?;
    for position in found.removed.iter().chain(&untracked.dropped) {
        let path = cache.path(&cache.entries()[*position]).to_owned();
        pass.changes.insert(path, None);
    }
    let respects_skip = repo.config_bool("core.sparseCheckout") != Some(true);
    let is_dropped = |candidate: &Candidate| candidate.position.is_some_and(|at| untracked.dropped.contains(&at));
    let is_hidden = |candidate: &Candidate| {
        respects_skip && candidate.position.is_some_and(|at| cache.entries()[at].skips_worktree)
    };
    let candidates = found.candidates.into_iter().filter(|candidate| !is_dropped(candidate));
    let (hidden, candidates): (Vec<_>, Vec<_>) = candidates.chain(untracked.candidates).partition(is_hidden);
    pass.manifest.skipped = untracked.skipped;
    pass.hide(hidden);
    pass.manifest.empty_directories = untracked.empty_directories;
    pass.capture(candidates, &mut objects)?;
    pass.reconvert(&mut objects)?;
    pass.gitlinks(&found.gitlinks, untracked.nested, limits)?;
    let is_news = seeded.is_some() || pass.has_new_conversions;
    let manifest = std::mem::take(&mut pass.manifest);
    let (tree_id, changes, objects) = pass.finish(objects)?;
    let is_cache_new = is_news || !changes.is_empty();
    let mut cache = seeded.or(owned).expect("one of them was in use");
    cache.apply(changes);
    (cache.tree_id, cache.conversions) = (Some(tree_id), conversions);
    let index_tree_id = staged.tree_id.expect("staged content was read");
    Ok((Snapshot { tree_id, index_tree_id, manifest, cache, is_cache_new }, objects))
}

/// Returns the moment before a pass, from which on a file's times do not tell whether it changed again.
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

/// Returns true if all that `cache` says was stored is still here; `git gc` may have collected it.
fn is_whole(repo: &Repo, cache: &StatCache, in_memory: bool) -> bool {
    let is_here = |id| if in_memory { repo.has_object(id) } else { repo.freshen(id) };
    let has_tree = cache.tree_id.is_some_and(|id| repo.has_object(id));
    let entries = if cache.may_have_raw() { cache.entries() } else { &[] };
    has_tree && entries.iter().filter_map(|entry| cache.raw_id(entry)).all(is_here)
}

struct Pass<'r, 'c> {
    repo: &'r Repo,
    cache: &'c StatCache,
    /// What else is known of versions of files.
    earlier: Option<&'c StatCache>,
    changes: BTreeMap<BString, Option<Known>>,
    manifest: Manifest,
    started: (i64, u32),
    /// True if settings that convert files are not as they were.
    has_new_conversions: bool,
    modes: Modes,
}

impl<'r> Pass<'r, '_> {
    /// What the user hides from git is not saved, as `git add` does not take it, but an edit should not be a secret.
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

    fn capture(&mut self, candidates: Vec<Candidate>, objects: &mut NewObjects<'r>) -> Result<()> {
        let (mut unread, mut found) = (Vec::new(), Vec::new());
        for candidate in candidates {
            match self.recall(&candidate) {
                Some(content) => found.push((candidate, content)),
                None => unread.push(candidate),
            }
        }
        if objects.target() == Target::Loose && Target::for_count(unread.len()) == Target::Pack {
            objects.switch_to_pack();
        }
        let captured = capture(self.repo, &unread, objects)?;
        for (candidate, content) in found {
            self.note(&candidate, &content);
        }
        for (candidate, captured) in unread.into_iter().zip(captured) {
            match captured {
                Captured::Content(content) => self.note(&candidate, &content),
                Captured::Gone => drop(self.changes.insert(candidate.path, None)),
                Captured::Unreadable => {
                    // What was captured last stays in the tree: unreadable is not deleted.
                    let size = u64::from(candidate.stat.size);
                    self.manifest.skipped.push(Skipped { path: candidate.path, reason: Reason::Unreadable, size });
                }
            }
        }
        Ok(())
    }

    /// Where attributes have changed, files that have not may need their bytes kept, or not any more.
    fn reconvert(&mut self, objects: &mut NewObjects<'r>) -> Result<()> {
        let mut directories = directories_of_attributes(self.changes.keys().map(|path| path.as_bstr()));
        if self.has_new_conversions {
            directories = vec![BString::default()];
        }
        if directories.is_empty() {
            return Ok(());
        }
        let is_settled = |path: &BStr| !self.changes.contains_key(path);
        let changes = reconvert(self.repo, self.cache, &directories, is_settled, objects)?;
        self.changes.extend(changes.into_iter().map(|(path, known)| (path, Some(known))));
        Ok(())
    }

    /// Returns the content of `candidate` if this very version of the file was captured before.
    fn recall(&self, candidate: &Candidate) -> Option<Content> {
        let path = candidate.path.as_bstr();
        self.earlier.and_then(|cache| {
            let entry = cache.find(path)?;
            let is_same_mode = self.modes.stored(candidate.mode, Some(entry.mode)) == entry.mode;
            let is_same = !entry.is_racy && !entry.id.is_null() && entry.stat == candidate.stat && is_same_mode;
            let Known { id, raw_id, stat, mode, .. } = cache.known(entry);
            is_same.then_some(Content { id, raw_id, stat, mode, is_torn: false })
        })
    }

    fn note(&mut self, candidate: &Candidate, content: &Content) {
        let before = candidate.position.map(|at| &self.cache.entries()[at]);
        let mode = self.modes.stored(content.mode, before.map(|entry| entry.mode));
        let known = Known {
            stat: content.stat,
            id: content.id,
            raw_id: content.raw_id,
            mode,
            is_tracked: before.is_some_and(|entry| entry.is_tracked),
            skips_worktree: before.is_some_and(|entry| entry.skips_worktree),
            is_racy: content.is_torn || content.stat.is_racy(self.started),
        };
        self.changes.insert(candidate.path.clone(), Some(known));
    }

    /// Submodules and nested repositories: their HEAD, nothing of their content.
    fn gitlinks(&mut self, known: &[usize], nested: Vec<BString>, limits: &Limits) -> Result<()> {
        for &position in known {
            let entry = &self.cache.entries()[position];
            let path = self.cache.path(entry);
            if !entry.is_tracked || entry.skips_worktree {
                continue;
            }
            // A submodule that is not checked out keeps the commit that is recorded.
            if let Some(head) = self.repo.nested_head(path)?
                && head != entry.id
            {
                self.changes.insert(path.to_owned(), Some(Known { id: head, ..self.cache.known(entry) }));
            }
        }
        for path in nested {
            let head = self.repo.nested_head(path.as_bstr())?;
            let dirty = head.and_then(|_| self.repo.nested_is_dirty(path.as_bstr(), limits));
            let known = head.map(|id| Known {
                stat: Stat::default(),
                id,
                raw_id: None,
                mode: Mode::Gitlink,
                is_tracked: false,
                skips_worktree: false,
                is_racy: false,
            });
            let at = self.cache.find(path.as_bstr());
            if known.map(|known| known.id) != at.map(|entry| entry.id) {
                self.changes.insert(path.clone(), known);
            }
            self.manifest.nested.push(Nested { path, head, dirty });
        }
        Ok(())
    }

    /// Returns the tree, what changes in the cache, and all objects.
    fn finish(self, mut objects: NewObjects<'r>) -> Result<(ObjectId, Vec<CacheChange>, NewObjects<'r>)> {
        let base = self.cache.tree_id.expect("a cache in use knows its tree");
        let is_other = |path: &BStr, known: &Option<Known>| {
            let entry = self.cache.find(path).filter(|entry| !entry.id.is_null()).map(|entry| (entry.id, entry.mode));
            entry != known.map(|known| (known.id, known.mode))
        };
        let edits: Vec<(BString, Edit)> = self
            .changes
            .iter()
            .filter(|(path, known)| is_other(path.as_bstr(), known))
            .map(|(path, known)| (path.clone(), known.map(|known| (known.id, known.mode))))
            .collect();
        let tree_id = edit_tree(base, &edits, &mut objects)?;
        Ok((tree_id, self.changes.into_iter().collect(), objects))
    }
}

/// Returns the tree `base` with `edits`, whose changed directories are added to `objects`.
pub(crate) fn edit_tree(base: ObjectId, edits: &[(BString, Edit)], objects: &mut NewObjects<'_>) -> Result<ObjectId> {
    if edits.is_empty() {
        return Ok(base);
    }
    let mut written = Vec::new();
    let tree_id = {
        use gix::objs::Find as _;
        let what = || format!("cannot read the tree '{base}'");
        let mut buffer = Vec::new();
        let root = if base.is_empty_tree() {
            gix::objs::Tree::empty()
        } else {
            let data = objects
                .try_find(&base, &mut buffer)
                .context(Kind::Corrupt, what)?
                .ok_or_else(|| Error::corrupt(what()))?;
            TreeRef::from_bytes(data.data, base.kind()).context(Kind::Corrupt, what)?.into_owned()
        };
        let objects = &*objects;
        let mut editor = Editor::new(root, &objects, base.kind());
        // Removals first, and of leaves only: a file that became a directory must not take the new one with it.
        for (path, _) in edits.iter().filter(|(_, edit)| edit.is_none()) {
            editor.remove_if_leaf(components(path)).context(Kind::Corrupt, what)?;
        }
        for (path, edit) in edits {
            let Some((id, mode)) = edit else { continue };
            let kind = match mode {
                Mode::File => EntryKind::Blob,
                Mode::Executable => EntryKind::BlobExecutable,
                Mode::Link => EntryKind::Link,
                Mode::Gitlink => EntryKind::Commit,
            };
            editor.upsert(components(path), kind, *id).context(Kind::Corrupt, what)?;
        }
        editor.write(|tree| {
            use gix::objs::WriteTo as _;
            let mut data = Vec::new();
            tree.write_to(&mut data).context(Kind::Internal, || "cannot encode a tree".into())?;
            let id = super::new_objects::id_of(ObjectKind::Tree, &data, base.kind())?;
            written.push((id, data));
            Ok::<_, Error>(id)
        })?
    };
    for (id, data) in written {
        objects.add_with_id(ObjectKind::Tree, &data, id)?;
    }
    Ok(tree_id)
}

fn components(path: &BString) -> impl Iterator<Item = &BStr> {
    path.split_str("/").map(bstr::ByteSlice::as_bstr)
}
