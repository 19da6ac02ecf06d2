//! `save`: takes a checkpoint of the whole worktree, or of named paths on top of the last one.

mod attempt;

use self::attempt::{author_of, try_save};
use gix::ObjectId;

use super::{
    Context, Worktree,
    chain::stashed,
    named::{self, Trigger},
    salvage::{Look, set_broken_aside},
    session_info::{check_id, clock, load, store},
    turn,
};
use crate::{
    error::{Kind, Result},
    git::new_objects::NewObjects,
    model::contributor::Contributor,
    state::sessions::Found,
};

pub(crate) use self::attempt::{Consider, SavedAndSeen, Unsaved};
pub use super::chain::{Author, SaveOptions, Saved, SavedPath, SkippedPath, UnfilteredPath};
pub(crate) use super::chain::{
    Hold, OwnSteps, Request, Scope, Seen, Shadow, is_changed, limits, look_at_all, side_commit, store_cache,
    write_again,
};
pub(crate) use super::{
    locking::{lock, lock_soon, lock_to_write},
    protected::refuse_protected,
};

/// Takes a checkpoint.
///
/// # Errors
/// [`Kind::User`] if the session's id is malformed, or if one of the paths exists nowhere; [`Kind::Refused`] in a protected
/// directory; [`Kind::Race`] if another process holds the lock for too long, or removes objects that the save needs. An id is
/// returned only when a ref leads to the checkpoint and all its new objects are stored.
pub fn save(context: &Context, options: &SaveOptions) -> Result<Saved> {
    let session = if let Author::Is(origin) = &options.author { origin.session.as_deref() } else { None };
    let checked = session.map_or(Ok(()), check_id);
    let taken = checked.and_then(|()| refuse_protected(context, options.force)).and_then(|()| {
        context.forget_broken();
        let worktree = lock_to_write(context)?;
        let taken = save_and_write_turns(&worktree, &Request::from(options))?;
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
pub(crate) fn save_and_write_turns(worktree: &Worktree<'_>, request: &Request) -> Result<SavedAndSeen> {
    save_and_write_turns_if(worktree, request, None)
}

/// The same, unless `consider` wants no checkpoint: then the result has no id.
pub(crate) fn save_and_write_turns_if(
    worktree: &Worktree<'_>,
    request: &Request,
    consider: Option<Consider<'_>>,
) -> Result<SavedAndSeen> {
    let taken = save_worktree_if(worktree, request, consider)?;
    if let Err(error) = turn::write(worktree) {
        // The checkpoint and its ref exist: this must not fail the save.
        tracing::warn!(%error, "cannot note the turn");
    }
    Ok(taken)
}

/// Takes a checkpoint of `worktree`.
///
/// First takes separate checkpoints of what new stash entries took away, and of the files that open tool calls name, for the
/// sessions of these calls. If the save meets missing objects, it sets aside the chain that leads to them and tries once more.
/// It also tries again after a race: once, or more often while tools keep changing the files that they name.
pub(crate) fn save_worktree(worktree: &Worktree<'_>, request: &Request) -> Result<SavedAndSeen> {
    save_worktree_if(worktree, request, None)
}

fn save_worktree_if(
    worktree: &Worktree<'_>,
    request: &Request,
    consider: Option<Consider<'_>>,
) -> Result<SavedAndSeen> {
    if matches!(request.scope, Scope::All | Scope::Staged(_)) {
        save_stashed(worktree, request).or_else(|error| {
            worktree.check_interrupt()?;
            tracing::warn!(%error, "cannot save stashed work; its author may be lost when it is popped");
            Ok(())
        })?;
    }
    if named::needs_named_first(worktree, request) {
        let trigger = trigger(worktree, request)?;
        for _ in 0..named::MOST_ATTEMPTS {
            save_named(worktree, trigger)?;
            match try_twice(worktree, request, true, consider) {
                Err(error) if error.kind() == Kind::Race => {}
                taken => return taken,
            }
        }
    }
    try_twice(worktree, request, false, consider)
}

/// Takes a checkpoint of what each new stash entry took away, with the author of `request`. The save that takes the next
/// checkpoint, without that work, archives this one: after `git stash pop`, the author is found in the archive. The work of
/// people needs no such checkpoint.
fn save_stashed(worktree: &Worktree<'_>, request: &Request) -> Result<()> {
    let entries = stashed::unseen(worktree)?;
    if entries.is_empty() {
        return Ok(());
    }
    let origin = author_of(worktree, request)?;
    let (is_human, turn_of) = (origin.contributor == Contributor::Human, request.turn_of.clone());
    let request = Request { author: Author::Is(origin), turn_of, ..Request::default() };
    let is_taken = |entry: &&ObjectId| !is_human && stashed::is_of_this_worktree(&worktree.repo, **entry);
    let mut scopes = entries.iter().filter(is_taken).map(|entry| Scope::Stashed(*entry));
    let saved =
        scopes.try_for_each(|scope| try_twice(worktree, &Request { scope, ..request.clone() }, false, None).map(drop));
    // Notes the entries even after a failure: work that is popped from an entry without a note counts as new work of the turn.
    worktree.edit_turns(|turns| turns.stashed.extend(entries.iter().map(ToString::to_string)));
    saved
}

/// Returns why the files that open tool calls name are saved before `request`.
fn trigger<'r>(worktree: &Worktree<'_>, request: &'r Request) -> Result<Trigger<'r>> {
    Ok(match request.turn_of.as_deref() {
        Some(session) if request.ends_turn => Trigger::EndOf(session),
        Some(_) => Trigger::Event,
        None => Trigger::of_author(&author_of(worktree, request)?),
    })
}

/// Takes checkpoints of the files that open tool calls name.
pub(crate) fn save_named(worktree: &Worktree<'_>, trigger: Trigger<'_>) -> Result<()> {
    named::requests(worktree, trigger)
        .iter()
        .try_for_each(|request| try_twice(worktree, request, false, None).map(drop))
}

/// Reads the whole worktree before a turn of `session` begins. If files that open tool calls name have changed, first saves them
/// for the sessions of these calls, and then reads `shadow` and the worktree again.
pub(crate) fn look_after_saving_named<'w>(
    worktree: &'w Worktree<'_>,
    shadow: &mut Shadow,
    session: &str,
) -> Result<(Seen, NewObjects<'w>)> {
    let mut looked = look_at_all(worktree, shadow)?;
    for _ in 0..named::MOST_ATTEMPTS {
        if !named::has_changed(worktree, shadow, &looked.0, &looked.1)? {
            break;
        }
        save_named(worktree, Trigger::Event)?;
        *shadow = Shadow::read_for(worktree, Some(session))?;
        looked = look_at_all(worktree, shadow)?;
    }
    Ok(looked)
}

fn try_twice(
    worktree: &Worktree<'_>,
    request: &Request,
    fails_if_named_changed: bool,
    consider: Option<Consider<'_>>,
) -> Result<SavedAndSeen> {
    match try_save(worktree, request, fails_if_named_changed, consider) {
        Err(error) if error.kind() == Kind::Corrupt => {
            if set_broken_aside(worktree, Look::BehindTip)?.is_empty() {
                // No chain lacks the object. The stat cache or the index may count it as stored: trust neither from now on.
                worktree.repo.distrust_objects();
            }
            try_save(worktree, request, fails_if_named_changed, consider).map_err(|again| again.with_cause(error))
        }
        Err(error) if error.kind() == Kind::Race && !fails_if_named_changed => {
            try_save(worktree, request, false, consider)
        }
        taken => taken,
    }
}
