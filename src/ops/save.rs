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
use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    Context, Worktree,
    chain::stashed,
    enter::Purpose,
    inside::{self, LeftOut},
    named::{self, Trigger},
    provenance::thrown_away,
    salvage::{Look, set_broken_aside},
    session_info::{check_id, clock, load, store},
    turn,
};
use crate::{
    config::Storage,
    error::{Error, Kind, Result},
    git::new_objects::NewObjects,
    model::{checkpoint::Origin, contributor::Contributor, manifest::Tied, operation, submodule::Recurse},
    state::sessions::Found,
};

pub(crate) use self::attempt::{Consider, SavedAndSeen, Unsaved};
pub use super::chain::{
    Author, FailedSubmodule, SaveOptions, Saved, SavedPath, SavedSubmodule, SkippedPath, UnfilteredPath,
};
pub(crate) use super::chain::{
    Hold, OwnSteps, Request, SavedBelow, Scope, Seen, Shadow, is_changed, limits, look_at_all, side_commit,
    store_cache, write_again,
};
pub(crate) use super::{chain::lost::unreadable_shadows, protected::refuse_protected};

/// Takes a checkpoint of the worktree with `message`, before something else is done with it: one that `restore` can take, with
/// what is staged if `index`.
pub(crate) fn save_before(worktree: &Worktree<'_>, message: &str, index: bool) -> Result<SavedAndSeen> {
    let request = Request {
        author: Author::Infer,
        message: Some(message.to_owned()),
        hold: Hold::ForRestore { index },
        ..Request::default()
    };
    let _way = worktree.repo.on_the_way(operation::SAVE);
    save_and_write_turns(worktree, &request)
}

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
        let found = LeftOut::find(context, taken.cache.as_ref(), &taken.side.manifest.nested);
        let is_saved = |path: &BString| taken.saved.saved_submodules.iter().any(|saved| saved.path == *path);
        let LeftOut { submodules, nested } = found.without(is_saved);
        Ok(Saved { submodules, nested, ..taken.saved })
    });
    context.emit_failure("save", taken)
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
    let taken = save_worktree(worktree, request)?;
    write_turns(worktree);
    Ok(taken)
}

/// Does the same if `consider` returns true. Otherwise, and if the save would first take other checkpoints (of stashed work, or of
/// files that open tool calls name), takes none and returns none.
pub(crate) fn save_and_write_turns_if(
    worktree: &Worktree<'_>,
    request: &Request,
    consider: Consider<'_>,
) -> Result<Option<SavedAndSeen>> {
    let has_stashed = stashed::unseen(worktree).map_or(true, |entries| !entries.is_empty());
    if has_stashed || named::needs_named_first(worktree, request) {
        return Ok(None);
    }
    let taken = try_twice(worktree, request, false, Some(consider))?;
    if taken.saved.id.is_none() {
        return Ok(None);
    }
    write_turns(worktree);
    Ok(Some(taken))
}

fn write_turns(worktree: &Worktree<'_>) {
    if let Err(error) = turn::write(worktree) {
        // The checkpoint and its ref exist: this must not fail the save.
        tracing::warn!(%error, "cannot write the open turns");
    }
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
    if matches!(request.scope, Scope::All | Scope::Staged(_)) {
        save_stashed(worktree, request).or_else(|error| {
            worktree.check_interrupt()?;
            tracing::warn!(%error, "cannot save stashed work; its author may be lost when it is popped");
            Ok(())
        })?;
    }
    if request.scope.is_of_now() {
        save_thrown_away(worktree)?;
    }
    if named::needs_named_first(worktree, request) {
        let trigger = trigger(worktree, request)?;
        let mut earlier = Vec::new();
        for _ in 0..named::MOST_ATTEMPTS {
            earlier.append(&mut save_named(worktree, trigger)?);
            match try_twice(worktree, request, true, None) {
                Err(error) if error.kind() == Kind::Race => {}
                taken => {
                    let mut taken = taken?;
                    taken.saved.add_earlier(earlier);
                    return Ok(taken);
                }
            }
        }
    }
    try_twice(worktree, request, false, None)
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

/// The message of a checkpoint of files that git has put back.
const PUT_BACK: &str = "Files that git has put back";

/// Takes a checkpoint of the files that git has put back as HEAD has them since the last checkpoint and that have been modified again, as
/// they were in between. What they have now is then no edit of what git has thrown away.
///
/// Does nothing while a turn is open: an agent may have run git, and what its session has then written is known by its tools.
/// A failure is only logged, and the save continues.
pub(crate) fn save_thrown_away(worktree: &Worktree<'_>) -> Result<()> {
    try_save_thrown_away(worktree).or_else(|error| {
        worktree.check_interrupt()?;
        tracing::warn!(%error, "cannot save files that git has put back; later lines there may count as edited ones");
        Ok(())
    })
}

fn try_save_thrown_away(worktree: &Worktree<'_>) -> Result<()> {
    let is_turn_open = worktree.turns().entries.iter().any(|entry| entry.turn.is_some());
    // The shadow of a person does not have what a session has written.
    if is_turn_open || worktree.settings.storage == Storage::Session {
        return Ok(());
    }
    let shadow = Shadow::read_for(worktree, None)?;
    let changes = shadow.tip.as_ref().map(|tip| thrown_away::since(&worktree.repo, tip)).transpose()?;
    let Some(changes) = changes.filter(|changes| !changes.is_empty()) else { return Ok(()) };
    let request = Request { scope: Scope::PutBack(changes), message: Some(PUT_BACK.into()), ..Request::default() };
    try_twice(worktree, &request, false, None).map(drop)
}

/// Returns the trigger with which the files that open tool calls name are saved before `request`.
fn trigger<'r>(worktree: &Worktree<'_>, request: &'r Request) -> Result<Trigger<'r>> {
    Ok(match request.turn_of.as_deref() {
        Some(session) if request.ends_turn => Trigger::EndOf(session),
        Some(_) => Trigger::Event,
        None => Trigger::of_author(&author_of(worktree, request)?),
    })
}

/// Takes checkpoints of the files that open tool calls name, one for each author. Returns those that were needed.
pub(crate) fn save_named(worktree: &Worktree<'_>, trigger: Trigger<'_>) -> Result<Vec<Saved>> {
    let requests = named::requests(worktree, trigger);
    let saved = requests.iter().map(|request| try_twice(worktree, request, false, None).map(|taken| taken.saved));
    saved.filter(|saved| saved.as_ref().map_or(true, |saved| saved.created)).collect()
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

/// If `request` asks for it, takes a checkpoint in each repository inside the worktree, with the message and the author of
/// `request`, and adds them to the manifest in `seen`. The outer checkpoint comes last, so that each id it names exists; one that
/// nothing names is harmless.
///
/// # Errors
/// If one of them cannot be saved, and the user asks for all: the outer checkpoint, which would lack it, is not taken then.
fn save_below(worktree: &Worktree<'_>, request: &Request, origin: &Origin, seen: &mut Seen) -> Result<SavedBelow> {
    let mut done = SavedBelow::default();
    let Some((cache, _)) = seen.cache.as_ref().filter(|_| request.recurse != Recurse::No) else { return Ok(done) };
    for path in inside::repositories(cache, &seen.side.manifest.nested, request.recurse) {
        worktree.check_interrupt()?;
        let result = worktree.below(path.as_bstr()).and_then(|below| {
            let save = |below: Context| {
                // Who works there is known there. Without a turn there, an agent of this worktree may have changed what is
                // unsaved, and so may a person before the agent's turn.
                let is_known = matches!(request.author, Author::Is(_)) || worktree.turns().entries.is_empty();
                let is_persons = origin.contributor == Contributor::Human && is_known;
                let is_inferred = is_persons || !below.turns().entries.is_empty();
                let unknown = || Origin { contributor: Contributor::Unknown, ..Origin::default() };
                let author = if is_inferred { Author::Infer } else { Author::Is(unknown()) };
                let (message, hold) = (request.message.clone(), Hold::ForRestore { index: false });
                let request = Request { author, message, hold, recurse: request.recurse, ..Request::default() };
                let inner = Worktree::enter(&below, Purpose::Change)?;
                let _way = below.repo.on_the_way(operation::SAVE);
                save_and_write_turns(&inner, &request).map(|taken| taken.saved)
            };
            below.map(save).transpose()
        });
        match result.map_err(|error| inside::failed("save", &path, error)) {
            Ok(Some(taken)) => {
                let inner = taken.failed_submodules.iter().map(|failed| FailedSubmodule {
                    path: [path.as_slice(), b"/", &failed.path].concat().into(),
                    why: failed.why.clone(),
                });
                done.failed.extend(inner);
                done.saved.push(SavedSubmodule { path, saved: taken });
            }
            Ok(None) => {}
            Err(error) if request.recurse == Recurse::Setting => {
                worktree.check_interrupt()?;
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                done.failed.push(FailedSubmodule { path, why: cause.unwrap_or_else(|| error.to_string()) });
            }
            Err(error) => return Err(error),
        }
    }
    let tied = done.saved.iter().map(|submodule| {
        let id = submodule.saved.id.ok_or_else(|| Error::internal("a submodule was not saved"))?;
        Ok(Tied { path: submodule.path.clone(), checkpoint: id })
    });
    seen.side.manifest.submodules = tied.collect::<Result<_>>()?;
    Ok(done)
}

/// Tries to save, and tries once more if objects are missing or after a race. With `fails_if_named_changed`, returns a race as
/// an error: the caller first has to save the files that open tool calls name.
fn try_twice(
    worktree: &Worktree<'_>,
    request: &Request,
    fails_if_named_changed: bool,
    consider: Option<Consider<'_>>,
) -> Result<SavedAndSeen> {
    match try_save(worktree, request, fails_if_named_changed, consider, save_below) {
        Err(error) if error.kind() == Kind::Corrupt => {
            if set_broken_aside(worktree, Look::BehindTip)?.is_empty() {
                // No chain needs the missing object. The stat cache or the index may count it as stored: stop trusting both.
                worktree.repo.distrust_objects();
            }
            try_save(worktree, request, fails_if_named_changed, consider, save_below)
                .map_err(|again| again.with_cause(error))
        }
        Err(error) if error.kind() == Kind::Race && !fails_if_named_changed => {
            try_save(worktree, request, false, consider, save_below)
        }
        taken => taken,
    }
}
