//! `save`: takes a checkpoint of the whole worktree, or only of some paths: the others stay as the last checkpoint has them.
//!
//! [`save()`] is the command. Other commands, and the hooks of agents and git, call [`save_worktree`] under a lock that they
//! hold. This file decides what to save first and when to try again; `attempt` takes the checkpoint.
//!
//! The order matters. Work that `git stash` took away gets a checkpoint first, because later ones lack it. Then the files that
//! open tool calls name get theirs, by author: the last checkpoint has one author, and must not include changes of another.

mod attempt;
mod returned;
mod unreadable;

use self::attempt::{author_of, try_save};
use gix::ObjectId;

use super::{
    Context, Worktree,
    chain::stashed,
    enter::Purpose,
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
pub(crate) use super::protected::refuse_protected;

/// Takes a checkpoint.
///
/// # Errors
/// [`Kind::User`] if the session's id is malformed, or if one of the paths exists nowhere; [`Kind::Refused`] in a protected
/// directory; [`Kind::Race`] if another process holds the lock for too long, or removes objects that the save needs. An id is
/// returned only when a ref leads to the checkpoint and all its new objects are stored.
pub fn save(context: &Context, options: &SaveOptions) -> Result<Saved> {
    context.repo.name_operation("save");
    let session = if let Author::Is(origin) = &options.author { origin.session.as_deref() } else { None };
    let checked = session.map_or(Ok(()), check_id);
    let taken = checked.and_then(|()| refuse_protected(context, options.force)).and_then(|()| {
        context.forget_broken();
        let worktree = Worktree::enter(context, Purpose::Change)?;
        let taken = save_and_write_turns(&worktree, &Request::from(options))?;
        if let Some(session) = session {
            note_alive(&worktree, session);
        }
        Ok(taken)
    });
    context.emit_failure("save", taken).map(|taken| taken.saved)
}

/// Notes that the session `id` was seen now: it has asked for this save.
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

/// Takes a checkpoint of `worktree`, and then writes `turns.toml`: an open turn may have got its first checkpoint.
pub(crate) fn save_and_write_turns(worktree: &Worktree<'_>, request: &Request) -> Result<SavedAndSeen> {
    save_and_write_turns_if(worktree, request, None)
}

/// Does the same, but takes no checkpoint if `consider` returns false: the result then has no id.
pub(crate) fn save_and_write_turns_if(
    worktree: &Worktree<'_>,
    request: &Request,
    consider: Option<Consider<'_>>,
) -> Result<SavedAndSeen> {
    let taken = save_worktree_if(worktree, request, consider)?;
    if let Err(error) = turn::write(worktree) {
        // The checkpoint and its ref exist: this must not fail the save.
        tracing::warn!(%error, "cannot write the open turns");
    }
    Ok(taken)
}

/// Takes a checkpoint of `worktree`.
///
/// First takes a checkpoint of what each new stash entry took away, and then of the files that open tool calls name, for the
/// sessions of these calls; skips what the scope of `request` leaves out. If a tool changes such a file before the rest is
/// saved, starts again with these files, at most [`named::MOST_ATTEMPTS`] times.
///
/// If objects are missing, sets aside the shadow that needs them, and tries once more. After a race with another process, tries
/// once more, too.
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

/// Takes a checkpoint of what each new stash entry took away, with the author of `request`. For example, an agent edits a file
/// and runs `git stash`, and no save has seen the edit.
///
/// The next checkpoint lacks the stashed work, so its save archives this one: after `git stash pop`, the archive shows whose
/// work it is. The work of people needs no such checkpoint.
fn save_stashed(worktree: &Worktree<'_>, request: &Request) -> Result<()> {
    let entries = stashed::unseen(worktree)?;
    if entries.is_empty() {
        return Ok(());
    }
    let origin = author_of(worktree, request)?;
    let (is_human, turn_of) = (origin.contributor == Contributor::Human, request.turn_of.clone());
    let request = Request { author: Author::Is(origin), turn_of, ..Request::default() };
    let needs_checkpoint = |entry: &&ObjectId| !is_human && stashed::is_of_this_worktree(&worktree.repo, **entry);
    let mut scopes = entries.iter().filter(needs_checkpoint).map(|entry| Scope::Stashed(*entry));
    let saved =
        scopes.try_for_each(|scope| try_twice(worktree, &Request { scope, ..request.clone() }, false, None).map(drop));
    // Note the entries even after a failure: lines that are popped from a noted entry keep their authors.
    worktree.edit_turns(|turns| turns.stashed.extend(entries.iter().map(ToString::to_string)));
    saved
}

/// Returns the trigger with which the files that open tool calls name are saved before `request`.
fn trigger<'r>(worktree: &Worktree<'_>, request: &'r Request) -> Result<Trigger<'r>> {
    Ok(match request.turn_of.as_deref() {
        Some(session) if request.ends_turn => Trigger::EndOf(session),
        Some(_) => Trigger::Event,
        None => Trigger::of_author(&author_of(worktree, request)?),
    })
}

/// Takes checkpoints of the files that open tool calls name, one for each author.
pub(crate) fn save_named(worktree: &Worktree<'_>, trigger: Trigger<'_>) -> Result<()> {
    named::requests(worktree, trigger)
        .iter()
        .try_for_each(|request| try_twice(worktree, request, false, None).map(drop))
}

/// Looks at the whole worktree before a turn of `session` begins. If a file that an open tool call names has changed, saves
/// these files, and then reads `shadow` and the worktree again.
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

/// Tries to save, and tries once more if objects are missing or after a race. With `fails_if_named_changed`, returns a race as
/// an error: the caller first has to save the files that open tool calls name.
fn try_twice(
    worktree: &Worktree<'_>,
    request: &Request,
    fails_if_named_changed: bool,
    consider: Option<Consider<'_>>,
) -> Result<SavedAndSeen> {
    match try_save(worktree, request, fails_if_named_changed, consider) {
        Err(error) if error.kind() == Kind::Corrupt => {
            if set_broken_aside(worktree, Look::BehindTip)?.is_empty() {
                // No chain needs the missing object. The stat cache or the index may count it as stored: stop trusting both.
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
