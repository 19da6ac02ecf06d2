//! Reads the worktree, and decides whether it differs from the last checkpoint.

use std::io::ErrorKind;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    cache::cache_path,
    request::{Hold, OwnSteps, Scope},
    shadow::Shadow,
};
use crate::{
    error::{Error, Kind, Result},
    git::{
        Repo,
        edit_tree::{Edit, edit_tree, edits_of},
        exact::{raw_edits_of_steps, raw_edits_of_unchanged},
        limits::{Limits, is_storable_path},
        named::{named_paths, refuse_unknown},
        new_names::{By, Old},
        new_objects::{NewObjects, Target},
        seed::staged,
        side::{Side, tree_of_blobs, tree_of_unmerged},
        snapshot::{Keep, full_pass},
        stat_cache::StatCache,
    },
    model::{
        change::Change,
        checkpoint::Checkpoint,
        manifest::{Manifest, Skipped},
        path_text,
        step::Step,
    },
    ops::{Context, Worktree},
};

/// The worktree as it is now.
pub(crate) struct Seen {
    pub(crate) tree_id: ObjectId,
    pub(crate) side: Side,
    /// The staged tree.
    pub(crate) index_tree_id: Option<ObjectId>,
    /// The stat cache, and whether it has changed; only after a full pass.
    pub(crate) cache: Option<(StatCache, bool)>,
    /// The paths that this look skipped. `side` also has those that earlier looks skipped.
    pub(crate) skipped: Vec<Skipped>,
}

/// If more paths are staged than this, it is faster to look at the whole worktree: with the stat cache, that reads changed files
/// only, but a look at named paths reads each file.
const MOST_STAGED: usize = 1_000;

/// Returns the limits from the settings and the free disk space.
pub(crate) fn limits(context: &Context) -> Limits {
    let save = &context.settings.save;
    Limits {
        max_file_size: save.max_file_size,
        max_untracked_files: save.max_untracked_files,
        is_disk_low: context.repo.free_space().is_some_and(|free| free < save.min_free_space),
        exclude: save.exclude.clone(),
    }
}

pub(crate) fn look_at_all<'r>(worktree: &'r Worktree<'_>, shadow: &Shadow) -> Result<(Seen, NewObjects<'r>)> {
    let repo = &worktree.repo;
    let limits = limits(worktree);
    let cache = StatCache::load(&cache_path(repo)?, repo.object_hash()).filter(|_| !repo.distrusts_objects());
    let is_held = cache.as_ref().map_or(Ok(false), |cache| shadow.holds(repo, cache))?;
    let mut cache = cache.filter(|_| is_held);
    // If the user only stages what the worktree has, the next save takes no checkpoint of it. So there may be no ref that holds
    // the cached staged tree, and git may have collected it.
    let held = [Some(shadow.head_tree_id), shadow.tip_side.as_ref().and_then(|side| side.index_tree_id)];
    if let Some(cache) = cache.as_mut().filter(|cache| !held.contains(&cache.index_tree_id)) {
        cache.index_tree_id = None;
    }
    let had_cache = cache.is_some();
    let keep = Keep::ToWrite { clock: worktree.taken_at() };
    let (snapshot, mut objects) = match full_pass(repo, &limits, cache, keep) {
        // Git may have collected objects that the cache relies on.
        Err(error) if error.kind() == Kind::Corrupt && had_cache => full_pass(repo, &limits, None, keep)?,
        other => other?,
    };
    let raw_tree_id = tree_of_blobs(repo, snapshot.raw_paths(), &mut objects)?;
    let unmerged_tree_id = tree_of_unmerged(repo, &snapshot.manifest, &mut objects)?;
    let index_tree_id = (snapshot.index_tree_id != shadow.head_tree_id).then_some(snapshot.index_tree_id);
    let (skipped, mut manifest) = (snapshot.manifest.skipped.clone(), snapshot.manifest);
    for file in manifest.unfiltered.iter_mut().filter(|file| file.reason.is_empty()) {
        // The pass did not read this unchanged file again, so its reason is in the last checkpoint.
        let earlier = shadow.unfiltered().iter().find(|known| known.path == file.path);
        file.reason = earlier.map(|earlier| earlier.reason.clone()).unwrap_or_default();
    }
    manifest.filters = repo.filters_with_smudge();
    let side = Side { index_tree_id, raw_tree_id, unmerged_tree_id, moved_id: None, manifest };
    let cache = Some((snapshot.cache, snapshot.is_cache_new));
    Ok((Seen { tree_id: snapshot.tree_id, side, index_tree_id: Some(snapshot.index_tree_id), cache, skipped }, objects))
}

/// Refuses named paths that exist neither in the worktree nor in the last checkpoint.
pub(crate) fn refuse_unknown_paths(context: &Context, paths: &[BString], shadow: &Shadow) -> Result<()> {
    refuse_unknown(&context.repo, &shadow.before(), paths, &limits(context))
}

/// Removes from `paths` those that exist neither in the worktree nor in the last checkpoint, or that git cannot store.
pub(crate) fn leave_out_unknown_paths(repo: &Repo, paths: &mut Vec<BString>, shadow: &Shadow) -> Result<()> {
    let mut known = Vec::with_capacity(paths.len());
    for path in paths.drain(..).filter(|path| is_storable_path(path.as_bstr())) {
        let is_there =
            |path: &BString| Some(repo.worktree_root().join(path.to_path().ok()?).symlink_metadata().is_ok());
        if is_there(&path) == Some(true) || repo.find_entry(shadow.last_tree_id(), path.as_bstr())?.is_some() {
            known.push(path);
        }
    }
    *paths = known;
    Ok(())
}

/// If one of `paths` is a file that was renamed since the last checkpoint, adds its old name to `paths`: the lines keep their
/// authors only if one checkpoint has both names. Searches for old names only among the missing files that the last checkpoint
/// has and in which it differs from HEAD. Adds no other missing file, because its new name may not be among `paths`.
/// The file at a path that existed before counts as renamed, too, if another file was moved over it.
pub(crate) fn add_old_names(context: &Context, paths: &mut Vec<BString>, shadow: &Shadow) -> Result<()> {
    let repo = &context.repo;
    let changed = repo.diff_trees(shadow.head_tree_id, shadow.last_tree_id())?.into_iter();
    let gone: Vec<BString> =
        changed.filter(|it| it.after.is_some() && is_gone(repo, &it.path)).map(|change| change.path).collect();
    if gone.is_empty() || paths.is_empty() {
        return Ok(());
    }
    let (seen, objects) = look_at_paths(context, &[paths.as_slice(), &gone].concat(), shadow)?;
    let renamed = gone_since(repo, shadow, &seen, objects)?.into_iter();
    paths.extend(renamed.filter_map(|change| change.old_path));
    Ok(())
}

/// If one of `paths` is gone since the last checkpoint and git finds it renamed, adds its new name to `paths`: the lines keep their
/// authors only if one checkpoint has both names. Looks at the whole worktree if such a file is gone. The next checkpoint is one of
/// `session`.
pub(crate) fn add_new_names(worktree: &Worktree<'_>, paths: &mut Vec<BString>, session: &str) -> Result<()> {
    let repo = &worktree.repo;
    let mut gone: Vec<&BString> = paths.iter().filter(|path| is_gone(repo, path)).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let shadow = Shadow::read_for(worktree, Some(session))?;
    gone.retain(|path| repo.find_leaf(shadow.last_tree_id(), path.as_bstr()).is_ok_and(|leaf| leaf.is_some()));
    if gone.is_empty() {
        return Ok(());
    }
    let (seen, objects) = look_at_all(worktree, &shadow)?;
    let renamed = gone_since(repo, &shadow, &seen, objects)?.into_iter();
    let new = renamed.filter(|change| change.old_path.as_ref().is_some_and(|old_path| gone.contains(&old_path)));
    let new: Vec<BString> = new.map(|change| change.path).collect();
    paths.extend(new);
    Ok(())
}

/// Returns the renames from files that are gone since the last checkpoint.
fn gone_since(repo: &Repo, shadow: &Shadow, seen: &Seen, objects: NewObjects<'_>) -> Result<Vec<Change>> {
    let changes = objects.changes_of_trees(shadow.last_tree_id(), seen.tree_id)?;
    // The search for renames reads these objects. The save writes those that it needs once more.
    drop(objects.write()?);
    let gone: Vec<Old> = changes.iter().filter(|change| change.after.is_none()).filter_map(Old::before).collect();
    repo.new_names(&gone, &changes, By::Git, |_| true)
}

/// Returns true if there is nothing at `path`.
fn is_gone(repo: &Repo, path: &BString) -> bool {
    let full = path.to_path().ok().map(|path| repo.worktree_root().join(path));
    full.is_some_and(|full| full.symlink_metadata().is_err_and(|cause| cause.kind() == ErrorKind::NotFound))
}

/// Returns where to look for the changes at the paths of `staged`: only at these paths, unless one of the files is new or gone
/// since the last checkpoint, and no staged rename explains it. Then its other name may not be staged, so look at the whole
/// worktree.
pub(crate) fn scope_of_staged(repo: &Repo, staged: &[Change], shadow: &Shadow) -> Result<Scope> {
    if staged.len() > MOST_STAGED {
        return Ok(Scope::All);
    }
    let mut unseen = Vec::new();
    for change in staged {
        let Ok(path) = change.path.to_path() else { return Ok(Scope::All) };
        let is_there = repo.worktree_root().join(path).symlink_metadata().is_ok();
        let last = repo.find_leaf(shadow.last_tree_id(), change.path.as_bstr())?;
        // If only the index, or only the worktree, has the file, it may be ignored, or it was renamed after it was staged.
        if is_there != change.after.is_some() {
            return Ok(Scope::All);
        }
        if is_there != last.is_some() {
            unseen.extend(Change::between(change.path.clone(), last, change.after));
        }
    }
    let is_all_renamed = repo.detect_renames(unseen)?.iter().all(|change| change.old_path.is_some());
    let paths = || staged.iter().map(|change| change.path.clone()).collect();
    Ok(if is_all_renamed { Scope::PathsIfThere(paths()) } else { Scope::All })
}

pub(crate) fn look_at_paths<'r>(
    context: &'r Context,
    paths: &[BString],
    shadow: &Shadow,
) -> Result<(Seen, NewObjects<'r>)> {
    let repo = &context.repo;
    if let Some(path) = paths.iter().find(|path| !is_storable_path(path.as_bstr())) {
        return Err(Error::user(format!("invalid path '{}'", path_text::printable(path.as_bstr()))));
    }
    let mut side = shadow.tip_side.as_ref().map(Side::for_next).unwrap_or_default();
    let mut objects = NewObjects::new(repo, Target::Loose);
    let named = named_paths(repo, &shadow.before(), paths, &limits(context), &mut objects)?;
    let tree_id = edit_tree(shadow.last_tree_id(), &named.edits, &mut objects)?;
    edit_raw_tree(repo, &mut side, &named.raw_edits, &mut objects)?;
    let is_named = |path: &BStr| {
        let covers = |named: &BString| {
            path.strip_prefix(named.as_slice()).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        paths.iter().any(covers)
    };
    for skipped in std::mem::take(&mut side.manifest.skipped) {
        if !is_named(skipped.path.as_bstr()) && repo.is_still_left_out(&skipped, shadow.last_tree_id())? {
            side.manifest.skipped.push(skipped);
        }
    }
    side.manifest.skipped.extend(named.skipped.iter().cloned());
    side.manifest.unfiltered.retain(|file| !is_named(file.path.as_bstr()));
    side.manifest.unfiltered.extend(named.unfiltered);
    side.manifest.filters = repo.filters_with_smudge();
    Ok((Seen { tree_id, side, index_tree_id: None, cache: None, skipped: named.skipped }, objects))
}

/// Returns the state of the worktree after the steps of a restore, without reading files.
pub(crate) fn look_at_own_steps<'r>(
    repo: &'r Repo,
    OwnSteps { steps, from, directories, submodules, .. }: &OwnSteps,
    tip: &Checkpoint,
    mut side: Side,
) -> Result<(Seen, NewObjects<'r>)> {
    let mut objects = NewObjects::new(repo, Target::Loose);
    let edit = |step: &Step| (step.path.clone(), step.after.map(|after| (after.leaf.id, after.leaf.mode)));
    let edits: Vec<_> = steps.iter().map(edit).collect();
    let tree_id = edit_tree(tip.tree_id, &edits, &mut objects)?;
    let mut raw_edits = raw_edits_of_steps(repo, (from, tip.tree_id), steps, &edits, &mut objects)?;
    raw_edits.extend(raw_edits_of_unchanged(repo, (tip.tree_id, side.raw_tree_id), &edits, &mut objects)?);
    edit_raw_tree(repo, &mut side, &raw_edits, &mut objects)?;
    side.manifest.unfiltered.retain(|file| !steps.iter().any(|step| step.path == file.path));
    // Otherwise the next save would find a change, and an undo would leave that on the shadow.
    side.manifest.empty_directories.extend(directories.iter().cloned());
    side.manifest.submodules.clone_from(submodules);
    side.manifest.empty_directories.retain(|path| repo.is_empty_directory(path.as_bstr()));
    side.manifest.empty_directories.sort();
    side.manifest.empty_directories.dedup();
    side.manifest.filters = repo.filters_with_smudge();
    Ok((Seen { tree_id, side, index_tree_id: None, cache: None, skipped: Vec::new() }, objects))
}

/// Returns the worktree as it was when git had put files back as `changes` say: the last state of `shadow`, with these files.
pub(crate) fn look_at_put_back<'r>(
    repo: &'r Repo,
    changes: &[Change],
    shadow: &Shadow,
) -> Result<(Seen, NewObjects<'r>)> {
    let mut objects = NewObjects::new(repo, Target::Loose);
    let edits = edits_of(changes);
    let tree_id = edit_tree(shadow.last_tree_id(), &edits, &mut objects)?;
    let mut side = shadow.tip_side.as_ref().map(Side::for_next).unwrap_or_default();
    let raw_edits = raw_edits_of_unchanged(repo, (shadow.last_tree_id(), side.raw_tree_id), &edits, &mut objects)?;
    edit_raw_tree(repo, &mut side, &raw_edits, &mut objects)?;
    side.manifest.unfiltered.retain(|file| !changes.iter().any(|change| change.path == file.path));
    Ok((Seen { tree_id, side, index_tree_id: None, cache: None, skipped: Vec::new() }, objects))
}

/// Updates `seen` with what is staged now.
pub(crate) fn look_at_index(repo: &Repo, shadow: &Shadow, seen: &mut Seen, objects: &mut NewObjects<'_>) -> Result<()> {
    let staged = staged(repo, objects)?;
    let manifest = &mut seen.side.manifest;
    (manifest.unmerged, manifest.intent_to_add) = (staged.unmerged, staged.intent_to_add);
    seen.side.unmerged_tree_id = tree_of_unmerged(repo, manifest, objects)?;
    seen.side.index_tree_id = staged.tree_id.filter(|id| *id != shadow.head_tree_id);
    seen.index_tree_id = staged.tree_id;
    Ok(())
}

fn edit_raw_tree(repo: &Repo, side: &mut Side, edits: &[(BString, Edit)], objects: &mut NewObjects<'_>) -> Result<()> {
    if side.raw_tree_id.is_some() || edits.iter().any(|(_, edit)| edit.is_some()) {
        let empty = repo.empty_tree_id();
        let raw_tree_id = edit_tree(side.raw_tree_id.unwrap_or(empty), edits, objects)?;
        side.raw_tree_id = (raw_tree_id != empty).then_some(raw_tree_id);
    }
    Ok(())
}

/// Returns true if the worktree differs from the last checkpoint, or if the index has content or conflicts that neither of them
/// has. Before a restore (`hold`), any difference in the manifest counts, too. If the restore changes the index, so does any
/// difference in what is staged.
pub(crate) fn is_changed(
    repo: &Repo,
    shadow: &Shadow,
    seen: &Seen,
    hold: Hold,
    objects: &NewObjects<'_>,
) -> Result<bool> {
    let last_raw = shadow.tip_side.as_ref().and_then(|side| side.raw_tree_id);
    if seen.tree_id != shadow.last_tree_id() || seen.side.raw_tree_id != last_raw {
        return Ok(true);
    }
    // The trees are equal, but the last checkpoint may lack something that it could not read and that we have read now.
    let last_manifest = shadow.tip_side.as_ref().map(|side| &side.manifest);
    if last_manifest.is_some_and(|last| last.is_less_than(&seen.side.manifest)) {
        return Ok(true);
    }
    let tied = &seen.side.manifest.submodules;
    if !tied.is_empty() && last_manifest.is_none_or(|last| last.submodules != *tied) {
        return Ok(true);
    }
    let Some(index_tree_id) = seen.index_tree_id else { return Ok(false) };
    // Before a restore changes anything, a checkpoint has to hold the manifest, too.
    if matches!(hold, Hold::ForRestore { .. }) {
        let text = |manifest: &Manifest| Manifest { submodules: Vec::new(), ..manifest.clone() }.to_toml();
        if last_manifest.map_or_else(|| Manifest::default().to_toml(), text) != text(&seen.side.manifest) {
            return Ok(true);
        }
    }
    let last_index = shadow.tip_side.as_ref().and_then(|side| side.index_tree_id);
    let last_unmerged = shadow.tip_side.as_ref().and_then(|side| side.unmerged_tree_id);
    if seen.side.index_tree_id == last_index && seen.side.unmerged_tree_id == last_unmerged {
        return Ok(false);
    }
    if hold == (Hold::ForRestore { index: true }) || seen.side.unmerged_tree_id.is_some() {
        return Ok(true);
    }
    // Staging what the worktree has is no reason for a checkpoint; content that only the index has is one.
    let staged = objects.changes_of_trees(shadow.head_tree_id, index_tree_id)?;
    for change in staged {
        let Some(leaf) = change.after else { continue };
        if repo.find_leaf(seen.tree_id, change.path.as_bstr())?.is_none_or(|held| held.id != leaf.id) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Stores the stat cache for the next pass; `anchor` is the checkpoint that holds the content.
pub(crate) fn store_cache(repo: &Repo, seen: &mut Seen, anchor: Option<ObjectId>) {
    if let Some((cache, true)) = &mut seen.cache {
        cache.anchor = anchor;
        let stored = cache_path(repo).and_then(|path| cache.store(&path, repo.object_hash()));
        if let Err(error) = stored {
            // The save has succeeded; without the cache, the next pass only reads more files.
            tracing::warn!(%error, "cannot store the stat cache");
        }
    }
}
