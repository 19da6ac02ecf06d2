//! `save`: takes a checkpoint of the whole worktree, or of named paths on top of the last one.

use std::time::Instant;

use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{
    Context, Worktree, author,
    chain::{
        add_missing_files, changes, leave_out_unknown_paths, look_at_index, look_at_known, look_at_paths, publish,
        refuse_unknown_paths, repair_before_next, repair_unchanged, scope_of_staged,
        stashed::{self, look_at_stashed},
        take,
    },
    follow::follow_head,
    moved::{self, moved_lines},
    named,
    salvage::{Look, set_broken_aside},
    session_info::{check_id, clock, load, store},
    stats,
    turn::{self, OpenTurn},
};
use crate::{
    error::{Error, Kind, Result},
    git::{Repo, new_objects::NewObjects, side::Side, stat_cache::StatCache},
    model::{
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
        event::Event,
        refname,
        turns::TurnEnd,
    },
    state::sessions::Found,
};

pub use super::chain::{Author, SaveOptions, Saved, SavedPath, SkippedPath, UnfilteredPath};
pub(crate) use super::chain::{
    Hold, Known, Request, Scope, Seen, Shadow, is_changed, limits, look_at_all, milliseconds, side_commit, store_cache,
    write_again,
};
pub(crate) use super::{
    locking::{lock, lock_soon, lock_to_write},
    protected::refuse_protected,
};

/// A save together with what it saw.
pub(crate) struct Taken {
    pub(crate) saved: Saved,
    /// The state of every path; only after a pass over the whole worktree.
    pub(crate) cache: Option<StatCache>,
    /// What the tree cannot store.
    pub(crate) side: Side,
}

/// Takes a checkpoint.
///
/// # Errors
/// [`Kind::User`] if the session's id is malformed; [`Kind::Refused`] in a protected directory; [`Kind::Race`] if
/// another process holds the lock for too long. A failed save never returns an id.
pub fn save(context: &Context, options: &SaveOptions) -> Result<Saved> {
    let session = if let Author::Is(origin) = &options.author { origin.session.as_deref() } else { None };
    let checked = session.map_or(Ok(()), check_id);
    let taken = checked.and_then(|()| refuse_protected(context, options.force)).and_then(|()| {
        context.forget_broken();
        let worktree = lock_to_write(context)?;
        let taken = save_and_note(&worktree, &Request::from(options))?;
        if let Some(session) = session {
            note_alive(&worktree, session);
        }
        Ok(taken)
    });
    context.emit_failure("save", taken).map(|taken| taken.saved)
}

/// Notes that the session `id`, which has asked for a save, is alive.
fn note_alive(worktree: &Worktree<'_>, id: &str) {
    let noted = load(worktree, id).and_then(|found| match found {
        Found::Session(mut session) => {
            session.last_seen = clock();
            store(worktree, &session)
        }
        _ => Ok(()),
    });
    if let Err(error) = noted {
        // The checkpoint exists: this must not fail the save.
        tracing::warn!(%error, "cannot note that the session is alive");
    }
}

/// Takes a checkpoint of `worktree`, and then writes the open turns: it may be the first checkpoint of one of them.
pub(crate) fn save_and_note(worktree: &Worktree<'_>, request: &Request) -> Result<Taken> {
    let taken = save_worktree(worktree, request)?;
    if let Err(error) = turn::write(worktree) {
        // The checkpoint and its ref exist: this must not fail the save.
        tracing::warn!(%error, "cannot note the turn");
    }
    Ok(taken)
}

/// Takes a checkpoint of `worktree`.
///
/// First takes separate checkpoints of the files that open tool calls name, for the sessions of these calls. If the save meets
/// missing objects, it sets aside the chain that leads to them and tries once more. It also tries once more after a race.
pub(crate) fn save_worktree(worktree: &Worktree<'_>, request: &Request) -> Result<Taken> {
    if matches!(request.scope, Scope::All | Scope::Staged(_)) {
        save_stashed(worktree, request).or_else(|error| {
            worktree.check_interrupt()?;
            tracing::warn!(%error, "cannot save stashed work; its author may be lost when it is popped");
            Ok(())
        })?;
    }
    if named::must_come_first(worktree, request) {
        for _ in 0..named::MOST_LOOKS {
            save_named(worktree, request.turn_of.as_deref().zip(request.ends))?;
            match try_twice(worktree, request, true) {
                Err(error) if error.kind() == Kind::Race => {}
                taken => return taken,
            }
        }
    }
    try_twice(worktree, request, false)
}

/// Takes a checkpoint of each stash entry that no save has seen, by the author of `request`. The next checkpoint no longer has
/// this work, and so archives the shadow: after `git stash pop`, the author is found there. The work of people needs no such
/// checkpoint.
fn save_stashed(worktree: &Worktree<'_>, request: &Request) -> Result<()> {
    let entries = stashed::unseen(worktree)?;
    if entries.is_empty() {
        return Ok(());
    }
    let origin = match &request.author {
        Author::Is(origin) => origin.clone(),
        Author::Infer => author::unsaved(worktree)?,
    };
    let (is_human, turn_of) = (origin.contributor == Contributor::Human, request.turn_of.clone());
    let request = Request { author: Author::Is(origin), turn_of, ..Request::default() };
    let mut scopes = entries.iter().filter(|_| !is_human).map(|entry| Scope::Stashed(*entry));
    let saved =
        scopes.try_for_each(|scope| try_twice(worktree, &Request { scope, ..request.clone() }, false).map(drop));
    // Notes the entries even after a failure: work that is popped from an entry without a note counts as new work of the turn.
    worktree.edit_turns(|turns| turns.stashed.extend(entries.iter().map(ToString::to_string)));
    saved
}

/// Takes checkpoints of the files that open tool calls name. `ending` is the session whose turn is about to end; its [`TurnEnd`]
/// says whether that session made the changes of its unfinished calls, or the author is unknown.
pub(crate) fn save_named(worktree: &Worktree<'_>, ending: Option<(&str, TurnEnd)>) -> Result<()> {
    named::requests(worktree, ending).iter().try_for_each(|request| try_twice(worktree, request, false).map(drop))
}

/// Reads the whole worktree before a turn of `session` begins. If files that open tool calls name have changed, first saves them
/// for the sessions of these calls, and then reads `shadow` and the worktree again.
pub(crate) fn look_beside_named<'w>(
    worktree: &'w Worktree<'_>,
    shadow: &mut Shadow,
    session: &str,
) -> Result<(Seen, NewObjects<'w>)> {
    let mut looked = look_at_all(worktree, shadow)?;
    for _ in 0..named::MOST_LOOKS {
        if !named::has_changed(worktree, shadow, &looked.0, &looked.1)? {
            break;
        }
        save_named(worktree, None)?;
        *shadow = Shadow::read_for(worktree, Some(session))?;
        looked = look_at_all(worktree, shadow)?;
    }
    Ok(looked)
}

fn try_twice(worktree: &Worktree<'_>, request: &Request, refuses_named: bool) -> Result<Taken> {
    match try_save(worktree, request, refuses_named) {
        Err(error) if error.kind() == Kind::Corrupt => {
            if set_broken_aside(worktree, Look::BehindTip)?.is_empty() {
                // No chain lacks the object: the stat cache or the index may rely on it.
                worktree.repo.distrust_objects();
            }
            try_save(worktree, request, refuses_named).map_err(|again| again.with_cause(error))
        }
        Err(error) if error.kind() == Kind::Race && !refuses_named => try_save(worktree, request, false),
        taken => taken,
    }
}

/// Takes the checkpoint. With `refuses_named`, fails with [`Kind::Race`] if a file that an open tool call names has changed: the
/// session of that call gets a checkpoint of its own for the file.
fn try_save(worktree: &Worktree<'_>, request: &Request, refuses_named: bool) -> Result<Taken> {
    let start = Instant::now();
    let repo = &worktree.repo;
    follow_head(worktree)?;
    let request = &mut request.clone();
    let mut origin = match &request.author {
        Author::Is(origin) => origin.clone(),
        Author::Infer => author::unsaved(worktree)?,
    };
    let turn_of = request.turn_of.as_deref().or(origin.session.as_deref());
    let mut turn = OpenTurn::of(worktree, turn_of)?;
    let mut shadow = match &mut turn {
        Some(turn) => turn.enter(worktree, &mut origin, &mut request.message)?,
        None => Shadow::read_for(worktree, origin.session.as_deref())?,
    };
    if shadow.tip.is_none() && !worktree.broken().is_empty() {
        // The broken chain was set aside: no live checkpoint has the paths that the request leaves out, so save them as well.
        request.scope = Scope::All;
    }
    // Lines that git brought from other commits keep their authors. Only a tool call that names no files can have run git.
    let is_named = matches!(request.scope, Scope::Paths(_) | Scope::PathsIfThere(_) | Scope::Known(_));
    let session = origin.session.as_deref().filter(|_| !is_named && origin.contributor == Contributor::Agent);
    // Some agents report no tool calls. If one of them is committing or rebasing, its whole turn counts as the call.
    let is_in_commit = matches!(request.scope, Scope::Staged(_)) || repo.has_prepared_commit() || repo.is_rebasing();
    let turn_as_call = |session| moved::turn_as_call(worktree, session).filter(|_| is_in_commit);
    let mut call = session.and_then(|session| moved::call_of(worktree, session).or_else(|| turn_as_call(session)));
    if origin.contributor == Contributor::Unknown && !is_named && repo.is_rebasing() {
        // A rebase brings lines from commits. With any open call, we find their authors; only the rest is unknown.
        call = moved::any_call(worktree);
    }
    if let Scope::Staged(staged) = &request.scope {
        request.scope = scope_of_staged(repo, staged, &shadow)?;
    }
    if let Scope::PathsIfThere(paths) = &mut request.scope {
        leave_out_unknown_paths(repo, paths, &shadow)?;
        // A person may have renamed a missing file to a new one: look at both. An agent's file tools rename nothing.
        if origin.contributor != Contributor::Agent {
            add_missing_files(repo, paths, &shadow)?;
        }
    }
    let (mut seen, mut objects) = look(worktree, &request.scope, &shadow)?;
    if let Some(call) = call {
        if seen.index_tree_id.is_none() && repo.has_prepared_commit() {
            look_at_index(repo, &shadow, &mut seen, &mut objects)?;
        }
        let moved = moved_lines(worktree, &call, &shadow, &seen, &objects)?;
        seen.side.moved_id = moved.map(|moved| objects.add(ObjectKind::Blob, &moved)).transpose()?;
    }
    let (took, skipped) = (start.elapsed(), seen.skipped.len());
    tracing::debug!(?took, tree = %seen.tree_id, skipped, "walk: worktree scanned");
    if refuses_named && named::has_changed(worktree, &shadow, &seen, &objects)? {
        return Err(Error::race("during the save, a tool changed a file that it names"));
    }
    let is_changed = is_changed(repo, &shadow, &seen, request.hold, &objects)?;
    // True if a ref must lead to this state. HEAD already leads to the state of the base, but only a checkpoint can be marked as
    // verified.
    let needs_ref = match request.hold {
        Hold::ForRestore { .. } => true,
        Hold::Ref => request.verify || shadow.tip.is_some(),
        Hold::AsBefore => request.verify,
    };
    let lacks_ref = shadow.held_tip().is_none() && needs_ref;
    let baseline = shadow.tip.clone().filter(|_| shadow.held_tip().is_none());
    let had_shadow = shadow.expected.is_some();
    let saved = if is_changed || request.allow_empty || lacks_ref && shadow.tip.is_none() {
        if let Some(tip) = &shadow.tip {
            write_tip_anew(repo, tip);
            repair_before_next(worktree, &shadow);
        }
        let saved = take(worktree, request, &origin, &shadow, &seen, objects, start)?;
        if let Some(id) = saved.id {
            stats::cache_if_due(repo, id);
        }
        emit_events(worktree, &saved, had_shadow, baseline.as_ref());
        if let Some(turn) = turn {
            turn.took_checkpoint(worktree);
        }
        saved
    } else {
        repair_unchanged(worktree, &shadow, objects)?;
        if lacks_ref {
            publish(worktree, &mut shadow)?;
            if let Some(turn) = turn {
                turn.took_checkpoint(worktree);
            }
        }
        let mut saved = unchanged(worktree, request.verify, origin, &shadow, &seen, start)?;
        saved.reset = lacks_ref && shadow.sets_aside;
        if lacks_ref {
            emit_events(worktree, &saved, had_shadow, baseline.as_ref());
        }
        saved
    };
    let repacking = Instant::now();
    let is_all = request.scope.paths().is_none();
    if request.author == Author::Infer && is_all && saved.contributor == Contributor::Unknown {
        author::settle(worktree);
    }
    repo.repack_if_due();
    tracing::debug!(took = ?repacking.elapsed(), "repack: old objects packed if due");
    store_cache(repo, &mut seen, saved.id);
    Ok(Taken { saved, cache: seen.cache.map(|(cache, _)| cache), side: seen.side })
}

/// Reads the paths of `scope` in the worktree.
fn look<'r>(worktree: &'r Worktree<'_>, scope: &Scope, shadow: &Shadow) -> Result<(Seen, NewObjects<'r>)> {
    let repo = &worktree.repo;
    match (scope, &shadow.tip) {
        (Scope::Known(known), Some(tip)) => {
            let side = shadow.tip_side.as_ref().map(Side::for_next).unwrap_or_default();
            let (mut seen, mut objects) = look_at_known(repo, known, tip, side)?;
            if known.and_index {
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
        (Scope::All | Scope::Staged(_), _) | (Scope::Known(_), None) => look_at_all(worktree, shadow),
    }
}

/// Rewrites objects of the checkpoint `tip` whose files are damaged only at the end: we can still read them, but git cannot, and
/// would fail on the history of the next checkpoint.
fn write_tip_anew(repo: &Repo, tip: &Checkpoint) {
    let ids = [Some(tip.id), Some(tip.tree_id), tip.side_id];
    if let Err(error) = repo.write_anew(&ids.into_iter().flatten().collect()) {
        tracing::warn!(%error, "git cannot read the last checkpoint; 'git checkpoint doctor --fix' writes it anew");
    }
}

/// Returns the result of a save that takes no new checkpoint.
fn unchanged(
    context: &Context,
    is_verified: bool,
    origin: Origin,
    shadow: &Shadow,
    seen: &Seen,
    start: Instant,
) -> Result<Saved> {
    let id = shadow.held_tip();
    if let (true, Some(id)) = (is_verified, id) {
        super::verified_mark::mark_by_hand(context, id)?;
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
        verified: id.is_some() && verified_id == id,
        reset: false,
        broken: context.broken(),
        duration_ms: milliseconds(start.elapsed()),
    })
}

/// Emits the events of `saved`, and one for the turn's `baseline` if this save put it into the shadow.
fn emit_events(context: &Context, saved: &Saved, had_shadow: bool, baseline: Option<&Checkpoint>) {
    let duration_ms = saved.duration_ms;
    if !had_shadow {
        let (worktree, base) = (context.repo.worktree_id().to_string(), saved.base.to_string());
        context.emit(&Event::Initialize { worktree, base, created: true, duration_ms });
    }
    match baseline.map(|baseline| checkpoint_event(&context.repo, baseline, duration_ms)).transpose() {
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
