//! Writes the commit of a checkpoint and moves the refs.

use std::time::{Duration, Instant};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    archive::{archive_name, emit_reset},
    commit::{self, Draft},
    look::{Seen, look_at_all},
    request::Request,
    saved::{Saved, SavedPath, SkippedPath, UnfilteredPath, milliseconds},
    shadow::Shadow,
    stashed::keep_stashed,
};
use crate::{
    error::{Kind, Result},
    git::{
        Repo,
        commit::NewCommit,
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
        side::write_side_tree,
        written::Written,
    },
    model::{
        change::{Change, Leaf, Mode},
        checkpoint::Origin,
        contributor::Contributor,
        path_text, refname,
    },
    ops::{Context, Worktree, holding::hold_when_left, restored_target, verified_mark},
    state,
};

/// Writes the objects, then the commit, then moves the refs: a crash leaves the state before or after the checkpoint.
pub(crate) fn take(
    worktree: &Worktree<'_>,
    request: &Request,
    origin: &Origin,
    shadow: &Shadow,
    seen: &Seen,
    mut objects: NewObjects<'_>,
    start: Instant,
) -> Result<Saved> {
    let (repo, phase) = (&worktree.repo, Instant::now());
    let side_tree_id = write_side_tree(&seen.side, &mut objects)?;
    if [Some(seen.tree_id), seen.side.index_tree_id].contains(&Some(repo.empty_tree_id())) {
        // Git knows the empty tree without storing it, but git-fsck(1) reports it as missing.
        objects.add(gix::objs::Kind::Tree, b"")?;
    }
    state::failpoint::hit("save:before-objects");
    worktree.check_interrupt()?;
    let mut written = objects.write()?;
    state::failpoint::hit("save:after-objects");
    let changes = repo.diff_trees_if_damaged(shadow.last_tree_id(), seen.tree_id)?;
    written.rely_on(changes.iter().filter_map(|change| change.after).filter(is_stored).map(|leaf| leaf.id));
    rely_on_side(repo, shadow, seen, &mut written)?;
    tracing::debug!(took = ?phase.elapsed(), paths = changes.len(), "objects: written");
    let phase = Instant::now();
    let mut commits = NewObjects::new(repo, Target::Loose);
    let (parent_id, after) = shadow.links(&mut commits)?;
    let time = shadow.not_before(repo.now());
    let side_id = side_commit(repo, shadow, side_tree_id, origin, &mut commits)?;
    let below = subject_of_submodules(shadow, seen).filter(|_| changes.is_empty());
    let without_files = || below.as_deref().or_else(|| is_of_index(shadow, seen, &changes).then_some(INDEX_ONLY));
    let message = request.message.as_deref().or_else(without_files);
    let (subject, body) = commit::subject_and_body(message, &changes);
    let (name, tree_id) = (&shadow.name, seen.tree_id);
    let new = Draft { name, tree_id, parent_id, after, side_id, origin, subject: &subject, body, time };
    let id = new.write(repo, &mut commits)?;
    let commits = commits.write()?;
    state::failpoint::hit("save:after-commit");
    repo.check_interrupt()?;
    worktree.check_interrupt()?;
    let stashed = keep_stashed(repo, shadow, &changes)?;
    if !stashed.is_empty() && !worktree.turns().entries.is_empty() {
        worktree.edit_turns(|turns| turns.stashed = stashed.iter().map(ToString::to_string).collect());
    }
    if let Some(session) = &origin.session {
        repo.note_session_of_operation(session);
    }
    move_refs(worktree, shadow, id, request.verify)?;
    state::failpoint::hit("save:after-refs");
    tracing::debug!(took = ?phase.elapsed(), checkpoint = %id, name = shadow.name.to_ref(), "refs: moved");
    let phase = Instant::now();
    let are_commits_here = commits.check_and_release();
    if let Err(error) = written.check_and_release() {
        // Another process has removed objects that we rely on. If no file has changed since, we write them again from the files.
        if write_again(worktree)? != seen.tree_id {
            return Err(error);
        }
    }
    are_commits_here?;
    tracing::debug!(took = ?phase.elapsed(), "objects: checked");
    if request.verify
        && let Err(error) = verified_mark::satisfied(worktree)
    {
        // The checkpoint is taken and marked. At worst, the next one is marked as well.
        tracing::warn!(%error, "cannot note the mark");
    }
    let of_unknown = if origin.contributor == Contributor::Unknown { changes.len() } else { 0 };
    let shown = restored_target::shown(origin);
    Ok(Saved {
        version: 1,
        id: Some(id),
        parent: Some(parent_id),
        tree: seen.tree_id,
        base: shadow.name.base,
        r#ref: shadow.name.to_ref(),
        created: true,
        contributor: shown.contributor,
        session: shown.session,
        turn: shown.turn,
        paths: changes.into_iter().map(|change| SavedPath { path: change.path, status: change.status }).collect(),
        skipped: seen.skipped.iter().map(SkippedPath::from).collect(),
        unfiltered: UnfilteredPath::list(&seen.side.manifest.unfiltered, shadow.unfiltered()),
        submodules: Vec::new(),
        nested: Vec::new(),
        saved_submodules: Vec::new(),
        failed_submodules: Vec::new(),
        verified: request.verify,
        is_marked: false,
        reset: shadow.sets_aside,
        broken: worktree.broken(),
        taken_up: Vec::new(),
        duration_ms: milliseconds(start.elapsed()),
        of_unknown,
    })
}

/// Returns the subject of a checkpoint that is tied to others in submodules than the last one; none if it is not.
fn subject_of_submodules(shadow: &Shadow, seen: &Seen) -> Option<String> {
    let before = shadow.tip_side.as_ref().map(|side| side.manifest.submodules.as_slice()).unwrap_or_default();
    let changed = seen.side.manifest.submodules.iter().filter(|tied| !before.contains(tied));
    let names: Vec<String> = changed.map(|tied| path_text::printable(tied.path.as_bstr())).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("changes in {one}")),
        [one, two] => Some(format!("changes in {one} and {two}")),
        [one, rest @ ..] => Some(format!("changes in {one} and {} more submodules", rest.len())),
    }
}

/// The subject of a checkpoint of what is staged.
const INDEX_ONLY: &str = "no file, only the index";

/// Returns true if `seen` differs from the last checkpoint in what is staged, and in no file.
fn is_of_index(shadow: &Shadow, seen: &Seen, changes: &[Change]) -> bool {
    let last = shadow.tip_side.as_ref().and_then(|side| side.index_tree_id);
    changes.is_empty() && seen.side.index_tree_id != last
}

/// Registers with `written` the objects that the side data refer to and the last checkpoint's side data do not.
fn rely_on_side(repo: &Repo, shadow: &Shadow, seen: &Seen, written: &mut Written<'_>) -> Result<()> {
    let (empty, last) = (repo.empty_tree_id(), shadow.tip_side.clone().unwrap_or_default());
    for (old, new) in [
        (last.index_tree_id.unwrap_or(shadow.head_tree_id), seen.side.index_tree_id),
        (last.raw_tree_id.unwrap_or(empty), seen.side.raw_tree_id),
        (last.unmerged_tree_id.unwrap_or(empty), seen.side.unmerged_tree_id),
    ] {
        let changes = new.map_or_else(|| Ok(Vec::new()), |new| repo.diff_trees_if_damaged(old, new))?;
        written.rely_on(changes.iter().filter_map(|change| change.after).filter(is_stored).map(|leaf| leaf.id));
    }
    Ok(())
}

/// Returns true if this repository stores the object of `leaf`. Commits of submodules are in other repositories.
pub(super) fn is_stored(leaf: &Leaf) -> bool {
    leaf.mode != Mode::Gitlink
}

/// Reads all files of the worktree, writes the missing objects, and returns the tree.
pub(crate) fn write_again(worktree: &Worktree<'_>) -> Result<ObjectId> {
    worktree.repo.distrust_objects();
    let (seen, objects) = look_at_all(worktree, &Shadow::without_tip(worktree, None)?)?;
    objects.write()?.check_and_release()?;
    Ok(seen.tree_id)
}

/// Returns the side commit with the tree `side_tree_id`. If the last checkpoint has no such side commit, adds a new one to
/// `objects`.
pub(crate) fn side_commit(
    repo: &Repo,
    shadow: &Shadow,
    side_tree_id: Option<ObjectId>,
    origin: &Origin,
    objects: &mut NewObjects<'_>,
) -> Result<Option<ObjectId>> {
    let Some(tree_id) = side_tree_id else { return Ok(None) };
    if let Some(id) = last_side_with(repo, shadow, tree_id)? {
        return Ok(Some(id));
    }
    let message = "side data of a checkpoint\n\nStaged tree, exact bytes and manifest; see gitcheckpoint-format(5).\n";
    let (author, committer) = (commit::author(repo, origin), repo.identity());
    let commit = NewCommit { tree_id, parents: Vec::new(), author, committer, time: repo.now(), message };
    Repo::write_commit(&commit, objects).map(Some)
}

/// Returns the side commit of the last checkpoint, if it has the tree `tree_id`.
fn last_side_with(repo: &Repo, shadow: &Shadow, tree_id: ObjectId) -> Result<Option<ObjectId>> {
    match shadow.tip.as_ref().and_then(|tip| tip.side_id) {
        Some(id) if repo.tree_of_commit(id)? == tree_id => Ok(Some(id)),
        _ => Ok(None),
    }
}

/// Moves the shadow's ref to the shadow's tip, a checkpoint that is written but that no shadow's ref holds yet, for example the
/// baseline of a turn. Archives what the shadow sets aside.
pub(crate) fn publish(context: &Context, shadow: &mut Shadow) -> Result<()> {
    let Some(id) = shadow.tip.as_ref().map(|tip| tip.id) else { return Ok(()) };
    move_refs(context, shadow, id, false)?;
    shadow.was_moved(id);
    Ok(())
}

/// Moves the shadow's ref to `id` and archives what the shadow sets aside.
///
/// While we hold the lock, other processes can move only the verified mark. If one does, reads the mark again and retries.
fn move_refs(context: &Context, shadow: &Shadow, id: ObjectId, verified: bool) -> Result<()> {
    const ATTEMPTS: u32 = 5;
    let repo = &context.repo;
    let mut attempt = 0;
    loop {
        // A crash may leave only the first of these updates. So a chain goes to the archive before the shadow's ref leaves it.
        let (mut updates, mut archived) = (Vec::new(), Vec::new());
        for live in shadow.dropped() {
            let name = archive_name(repo, live.id)?;
            archived.push((name.clone(), live.id));
            updates.push(RefUpdate { name, old: None, new: Some(live.id) });
            if live.name != shadow.name {
                updates.push(RefUpdate { name: live.name.to_ref(), old: Some(live.id), new: None });
            }
        }
        updates.push(RefUpdate { name: shadow.name.to_ref(), old: shadow.expected, new: Some(id) });
        if verified {
            let name = refname::verified_ref(repo.worktree_id());
            let old = repo.find_ref(&name)?;
            if let Some(left) = old.filter(|left| *left != id) {
                updates.extend(hold_when_left(repo, left, &name)?);
            }
            updates.push(RefUpdate { old, name, new: Some(id) });
        }
        attempt += 1;
        match repo.update_refs(&updates) {
            Err(error) if error.kind() == Kind::Race && attempt < ATTEMPTS => {
                std::thread::sleep(Duration::from_millis(10 << attempt));
            }
            Err(error) => return Err(error),
            Ok(()) => {
                for (name, tip) in archived {
                    emit_reset(context, name, tip);
                }
                return Ok(());
            }
        }
    }
}
