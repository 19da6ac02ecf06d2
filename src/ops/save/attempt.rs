//! One attempt to take a checkpoint: looks at the worktree, decides whether it needs a checkpoint, and takes it.
//!
//! `save` calls [`try_save`], again after a race or with repaired objects. The order matters: entering the worktree has brought the
//! shadows to HEAD, and the baseline of the open turn comes before the turn's first checkpoint. Only then can the difference to the last
//! checkpoint be attributed.

use std::time::Instant;

use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{
    returned::take_up_returned,
    unreadable::{Split, split},
};
use crate::{
    error::{Error, Result},
    git::{Repo, new_objects::NewObjects, side::Side, stat_cache::StatCache, written::Written},
    model::{
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
        event::Event,
        refname,
    },
    ops::{
        Context, Worktree, author,
        chain::{
            Author, Hold, Request, SaveBelow, Saved, Scope, Seen, Shadow, SkippedPath, UnfilteredPath, add_old_names,
            changes, is_changed, leave_out_unknown_paths, look_at_all, look_at_index, look_at_own_steps, look_at_paths,
            look_at_put_back, milliseconds, publish, refuse_unknown_paths, repair_before_next, repair_unchanged,
            scope_of_staged, stashed::look_at_stashed, store_cache, take, write_again,
        },
        moved::{self, OpenCall, moved_lines},
        named, stats,
        turn::OpenTurn,
        verified_mark,
    },
};

/// The result of a save, with what the save saw. A save that finds nothing new returns it as well.
pub(crate) struct SavedAndSeen {
    pub(crate) saved: Saved,
    /// The state of each path; none if the save did not look at the whole worktree.
    pub(crate) cache: Option<StatCache>,
    /// What the tree of a checkpoint cannot store, for example the staged tree.
    pub(crate) side: Side,
}

/// The changes that a save is about to take a checkpoint of.
pub(crate) struct Unsaved<'s> {
    pub(crate) shadow: &'s Shadow,
    /// Who made the changes.
    pub(crate) origin: &'s Origin,
    pub(crate) seen: &'s Seen,
    pub(crate) objects: &'s NewObjects<'s>,
}

/// Returns true if the caller wants a checkpoint of these changes.
pub(crate) type Consider<'c> = &'c dyn Fn(&Unsaved<'_>) -> Result<bool>;

/// Takes a checkpoint if `request` needs one. If `consider` returns false, takes none, and the result has no id.
///
/// # Errors
/// [`Kind::Race`](crate::error::Kind::Race) with `fails_if_named_changed`, if a file that an open tool call names has changed:
/// the caller first has to save it with an author of its own.
pub(super) fn try_save(
    worktree: &Worktree<'_>,
    request: &Request,
    fails_if_named_changed: bool,
    consider: Option<Consider<'_>>,
    save_below: SaveBelow,
) -> Result<SavedAndSeen> {
    let start = Instant::now();
    let (repo, asked) = (&worktree.repo, request);
    let request = &mut request.clone();
    let mut origin = author_of(worktree, request)?;
    if request.hold == Hold::Ref && origin.contributor == Contributor::Human {
        request.verify = request.verify || verified_mark::wants_verification(worktree)?;
    }
    let turn_of = request.turn_of.as_deref().or(origin.session.as_deref());
    let mut turns: Vec<OpenTurn<'_>> = OpenTurn::of(worktree, turn_of)?.into_iter().collect();
    let mut shadow = match turns.first_mut() {
        Some(turn) => turn.shadow_with_baseline(worktree, &mut origin, &mut request.message)?,
        None => Shadow::read_for(worktree, origin.session.as_deref())?,
    };
    add_other_baselines(worktree, &mut shadow, &mut turns, &origin, &request.scope)?;
    if shadow.tip.is_none() && !worktree.broken().is_empty() {
        // A broken shadow was set aside, so no live checkpoint has the paths that the request leaves out. Save them as well.
        request.scope = Scope::All;
    }
    let call = call_that_may_have_run_git(worktree, &request.scope, &origin);
    resolve_scope(worktree, &mut request.scope, &shadow)?;
    let (mut seen, mut objects) = look(worktree, &request.scope, &shadow)?;
    if let Some(call) = call {
        note_moved_lines(worktree, &call, &shadow, &mut seen, &mut objects)?;
    }
    tracing::debug!(took = ?start.elapsed(), tree = %seen.tree_id, skipped = seen.skipped.len(), "walk: worktree scanned");
    if fails_if_named_changed && named::has_changed(worktree, &shadow, &seen, &objects)? {
        return Err(Error::race("an open tool call changed one of its files during the save"));
    }
    let below = save_below(worktree, request, &origin, &mut seen)?;
    let is_changed = is_changed(repo, &shadow, &seen, request.hold, &objects)?;
    // A last checkpoint that no ref holds yet is the baseline of a turn, which this save adds to the shadow.
    let new_baseline = shadow.tip.clone().filter(|_| shadow.held_tip().is_none());
    let had_shadow = shadow.expected.is_some();
    let to_do = to_do(request, &shadow, is_changed);
    if to_do != ToDo::Nothing
        && let Some(consider) = consider
        && !consider(&Unsaved { shadow: &shadow, origin: &origin, seen: &seen, objects: &objects })?
    {
        let saved = Saved { id: None, ..without_checkpoint(worktree, false, origin, &shadow, &seen, start)? };
        return Ok(SavedAndSeen { saved, cache: None, side: seen.side });
    }
    let saved = match to_do {
        ToDo::Take => {
            if let Some(tip) = &shadow.tip {
                write_tip_anew(repo, tip);
                repair_before_next(worktree, &shadow);
            }
            let (objects, written, taken_up) =
                take_up_returned(worktree, request, &origin, &mut shadow, &seen, objects)?;
            if let Some(Split { first, rest }) = split(worktree, asked, &origin, (&shadow, &seen, &objects))? {
                written.map_or(Ok(()), Written::check_and_release)?;
                drop((objects, turns));
                let first = first.map(|it| try_save(worktree, &it, false, None, save_below)).transpose()?;
                let mut rest = try_save(worktree, &rest, fails_if_named_changed, consider, save_below)?;
                rest.saved.add_earlier(first.map(|first| first.saved));
                rest.saved.add_below(below);
                rest.saved.taken_up = taken_up;
                return Ok(rest);
            }
            let saved = Saved { taken_up, ..take(worktree, request, &origin, &shadow, &seen, objects, start)? };
            if let Some(Err(error)) = written.map(Written::check_and_release)
                && write_again(worktree)? != seen.tree_id
            {
                return Err(error);
            }
            if let Some(id) = saved.id {
                stats::cache_if_due(repo, id);
            }
            emit_events(worktree, &saved, had_shadow, new_baseline.as_ref());
            for turn in turns {
                turn.took_checkpoint(worktree);
            }
            saved
        }
        ToDo::Publish => {
            repair_unchanged(worktree, &shadow, objects)?;
            publish(worktree, &mut shadow)?;
            for turn in turns {
                turn.took_checkpoint(worktree);
            }
            let saved = without_checkpoint(worktree, request.verify, origin, &shadow, &seen, start)?;
            let saved = Saved { reset: shadow.sets_aside, ..saved };
            emit_events(worktree, &saved, had_shadow, new_baseline.as_ref());
            saved
        }
        ToDo::Nothing => {
            repair_unchanged(worktree, &shadow, objects)?;
            without_checkpoint(worktree, request.verify, origin, &shadow, &seen, start)?
        }
    };
    let has_no_paths = request.scope.paths().is_none();
    if request.author == Author::Infer && has_no_paths && saved.contributor == Contributor::Unknown {
        author::note_all_saved(worktree);
    }
    let repacking = Instant::now();
    repo.repack_if_due();
    tracing::debug!(took = ?repacking.elapsed(), "repack: old objects packed if due");
    store_cache(repo, &mut seen, saved.id);
    let saved = Saved { saved_submodules: below.saved, failed_submodules: below.failed, ..saved };
    Ok(SavedAndSeen { saved, cache: seen.cache.map(|(cache, _)| cache), side: seen.side })
}

/// Adds to `shadow` the baselines of turns other than `turns` that come before a checkpoint of `origin` in `scope`, and these turns to
/// `turns`.
fn add_other_baselines<'c>(
    worktree: &'c Worktree<'_>,
    shadow: &mut Shadow,
    turns: &mut Vec<OpenTurn<'c>>,
    origin: &Origin,
    scope: &Scope,
) -> Result<()> {
    let is_limited = matches!(scope, Scope::Paths(_) | Scope::PathsIfThere(_) | Scope::Staged(_));
    let who = Some(origin.contributor).filter(|_| !is_limited);
    let others = match turns.first() {
        Some(own) => OpenTurn::add_later_baselines(worktree, shadow, own, who)?,
        None if origin.session.is_none() => OpenTurn::add_baselines(worktree, shadow, who)?,
        None => Vec::new(),
    };
    turns.extend(others);
    Ok(())
}

/// Returns the author that `request` names, or else infers who made the unsaved changes.
pub(super) fn author_of(worktree: &Worktree<'_>, request: &Request) -> Result<Origin> {
    match &request.author {
        Author::Is(origin) => Ok(origin.clone()),
        Author::Infer => author::unsaved(worktree),
    }
}

/// Returns the open tool call with which `origin` may have run git, for example `git cherry-pick -n`. Lines that git brought
/// from commits meanwhile keep their authors.
fn call_that_may_have_run_git(worktree: &Worktree<'_>, scope: &Scope, origin: &Origin) -> Option<OpenCall> {
    let repo = &worktree.repo;
    // A tool that names its files does not run git, and a restore knows who wrote what it restores.
    if matches!(scope, Scope::Paths(_) | Scope::PathsIfThere(_) | Scope::OwnSteps(_)) {
        return None;
    }
    if origin.contributor == Contributor::Unknown && repo.is_rebasing() {
        // A rebase brings lines from commits. Any open call will do to find their authors; the author of other lines is
        // unknown.
        return moved::any_call(worktree);
    }
    let session = origin.session.as_deref().filter(|_| origin.contributor == Contributor::Agent)?;
    // Some agents report no tool calls: then the whole turn counts as the call.
    moved::call_of(worktree, session).or_else(|| moved::turn_as_call(worktree, session))
}

/// Decides at which paths the save looks. Staged changes become their paths, or all files if these paths are not enough.
/// Paths that neither the worktree nor the last checkpoint has are removed, and the old names of files that a person may have
/// renamed are added.
fn resolve_scope(worktree: &Worktree<'_>, scope: &mut Scope, shadow: &Shadow) -> Result<()> {
    let repo = &worktree.repo;
    if let Scope::Staged(staged) = scope {
        *scope = scope_of_staged(repo, staged, shadow)?;
    }
    if let Scope::PathsIfThere(paths) = scope {
        leave_out_unknown_paths(repo, paths, shadow)?;
        // The file tools of agents rename nothing, but a person may have renamed the file before an agent reports its tool.
        add_old_names(worktree, paths, shadow)?;
    }
    Ok(())
}

/// Adds to `seen` the authors of the lines that git brought from commits while `call` was open.
fn note_moved_lines(
    worktree: &Worktree<'_>,
    call: &OpenCall,
    shadow: &Shadow,
    seen: &mut Seen,
    objects: &mut NewObjects<'_>,
) -> Result<()> {
    let repo = &worktree.repo;
    if seen.index_tree_id.is_none() && repo.has_prepared_commit() {
        look_at_index(repo, shadow, seen, objects)?;
    }
    let moved = moved_lines(worktree, call, shadow, seen, objects)?;
    seen.side.moved_id = moved.map(|moved| objects.add(ObjectKind::Blob, &moved)).transpose()?;
    Ok(())
}

/// What a save does after it has looked at the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToDo {
    /// It takes a checkpoint.
    Take,
    /// It moves the shadow's ref to the turn's baseline. The worktree has not changed since, so it needs no second checkpoint.
    Publish,
    /// It leaves the shadow as it is.
    Nothing,
}

/// Decides what a save does with `shadow`. `is_changed` is true if the worktree differs from the last checkpoint.
fn to_do(request: &Request, shadow: &Shadow, is_changed: bool) -> ToDo {
    let needs_ref = match request.hold {
        Hold::ForRestore { .. } => true,
        // If there is no checkpoint, the worktree is as the base commit, and HEAD holds that. Only a checkpoint can be
        // verified.
        Hold::Ref => request.verify || shadow.tip.is_some(),
        Hold::AsBefore => request.verify,
    };
    if is_changed || request.allow_empty || needs_ref && shadow.tip.is_none() {
        ToDo::Take
    } else if needs_ref && shadow.held_tip().is_none() {
        ToDo::Publish
    } else {
        ToDo::Nothing
    }
}

/// Looks at the worktree within `scope`. Returns the state for the checkpoint, and the objects to write for it.
fn look<'r>(worktree: &'r Worktree<'_>, scope: &Scope, shadow: &Shadow) -> Result<(Seen, NewObjects<'r>)> {
    let repo = &worktree.repo;
    match (scope, &shadow.tip) {
        (Scope::OwnSteps(steps), Some(tip)) => {
            let side = shadow.tip_side.as_ref().map(Side::for_next).unwrap_or_default();
            let (mut seen, mut objects) = look_at_own_steps(repo, steps, tip, side)?;
            if steps.and_index {
                look_at_index(repo, shadow, &mut seen, &mut objects)?;
            }
            Ok((seen, objects))
        }
        (Scope::Paths(paths) | Scope::PathsIfThere(paths), _) => {
            // The root means all paths.
            if !paths.iter().any(|path| path.is_empty()) {
                return look_at_paths(worktree, paths, shadow);
            }
            refuse_unknown_paths(worktree, paths, shadow)?;
            look_at_all(worktree, shadow)
        }
        (Scope::Stashed(stash), _) => look_at_stashed(worktree, *stash, shadow),
        (Scope::PutBack(changes), _) => look_at_put_back(repo, changes, shadow),
        (Scope::All | Scope::Staged(_), _) | (Scope::OwnSteps(_), None) => look_at_all(worktree, shadow),
    }
}

/// Writes objects of the last checkpoint `tip` again if their files are damaged only at the end. We can still read such files,
/// but git cannot: it would fail on the history of each later checkpoint.
fn write_tip_anew(repo: &Repo, tip: &Checkpoint) {
    let ids = [Some(tip.id), Some(tip.tree_id), tip.side_id];
    if let Err(error) = repo.write_anew(&ids.into_iter().flatten().collect()) {
        tracing::warn!(%error, "git cannot read the last checkpoint; 'git checkpoint doctor --fix' writes it anew");
    }
}

/// Returns the result of a save that takes no checkpoint. With `verify`, first marks the last checkpoint as verified.
fn without_checkpoint(
    context: &Context,
    verify: bool,
    origin: Origin,
    shadow: &Shadow,
    seen: &Seen,
    start: Instant,
) -> Result<Saved> {
    let id = shadow.held_tip();
    if let (true, Some(id)) = (verify, id) {
        verified_mark::mark_by_hand(context, id)?;
    }
    let verified_id = context.repo.find_ref(&refname::verified_ref(context.repo.worktree_id()))?;
    Ok(Saved {
        version: 1,
        id,
        parent: shadow.tip.as_ref().map(|tip| tip.parent_id).or(shadow.name.base.commit_id()),
        tree: seen.tree_id,
        base: shadow.name.base,
        r#ref: shadow.name.to_ref(),
        created: false,
        contributor: origin.contributor,
        session: origin.session,
        turn: origin.turn,
        paths: Vec::new(),
        skipped: seen.skipped.iter().map(SkippedPath::from).collect(),
        unfiltered: UnfilteredPath::list(&seen.side.manifest.unfiltered, shadow.unfiltered()),
        submodules: Vec::new(),
        nested: Vec::new(),
        saved_submodules: Vec::new(),
        failed_submodules: Vec::new(),
        verified: id.is_some() && verified_id == id,
        is_marked: verify && id.is_some(),
        reset: false,
        broken: context.broken(),
        taken_up: Vec::new(),
        duration_ms: milliseconds(start.elapsed()),
        of_unknown: 0,
    })
}

/// Emits the events of `saved`, and one for `new_baseline`, the baseline of a turn that this save added to the shadow.
fn emit_events(context: &Context, saved: &Saved, had_shadow: bool, new_baseline: Option<&Checkpoint>) {
    let duration_ms = saved.duration_ms;
    if !had_shadow {
        let (worktree, base) = (context.repo.worktree_id().to_string(), saved.base.to_string());
        context.emit(&Event::Initialize { worktree, base, created: true, duration_ms });
    }
    match new_baseline.map(|baseline| checkpoint_event(&context.repo, baseline, duration_ms)).transpose() {
        Ok(event) => event.iter().for_each(|event| context.emit(event)),
        // The checkpoint has its ref: a missing event must not fail the save.
        Err(error) => tracing::warn!(%error, "cannot log an event"),
    }
    if !saved.created {
        return;
    }
    let text = |id: Option<ObjectId>| id.map(|id| id.to_string()).unwrap_or_default();
    context.emit(&Event::Checkpoint {
        from: text(saved.parent),
        to: text(saved.id),
        contributor: saved.contributor.as_str().into(),
        session: saved.session.clone(),
        paths: saved.paths.len(),
        verified: saved.verified,
        duration_ms,
    });
    if !saved.skipped.is_empty() {
        context.emit(&Event::Skip { paths: saved.skipped.len(), to: saved.id.map(|id| id.to_string()) });
    }
}

fn checkpoint_event(repo: &Repo, checkpoint: &Checkpoint, duration_ms: u64) -> Result<Event> {
    Ok(Event::Checkpoint {
        from: checkpoint.parent_id.to_string(),
        to: checkpoint.id.to_string(),
        contributor: checkpoint.origin.contributor.as_str().into(),
        session: checkpoint.origin.session.clone(),
        paths: changes(repo, checkpoint)?.len(),
        verified: false,
        duration_ms,
    })
}
