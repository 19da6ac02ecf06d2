//! Tool calls of agents: takes a checkpoint before and after each call, so that every change gets an author.
//!
//! `agents::handle` calls [`before`], [`after`] and, when a subagent is done, [`subagent_stops`]. Before a call that names its
//! files, what has changed in them is saved for its author; before another call, in all files if the call may delete some or
//! the last full pass is too old. After the call, what has changed meanwhile is saved as the session's.
//!
//! In between, `turns.toml` lists the call, and `author` infers from the list who made a change. So a call stays listed until
//! the checkpoint after it is taken.

use bstr::BString;

use super::{
    super::{
        Context, Worktree, author,
        chain::add_new_names,
        enter::Purpose,
        guard::{self, Verdict, Who},
        named::{self, Trigger},
        overlap,
        save::{self, Author, Request, SavedAndSeen, Scope},
        session_info::{
            self, add_info, clock, find_or_rebuild, found_or_new, has_lost_worktree, sign_of_life as mark_alive,
        },
        sessions::{Opening, note_stashes, seen_here},
        turn,
    },
    allowed, event,
    full_pass::{self, milliseconds},
    opening, paths,
    report::{Answer, Message, Reach, Report, Tool},
    sign_of_life,
};
use crate::{
    error::{Kind, Result},
    git::Repo,
    model::{
        checkpoint::Origin,
        contributor::Contributor,
        event::Event,
        session::{Action, Phase, Session, SessionEvent, UnderWay, transition},
        turns::{Call, Command, Entry},
    },
    state::process,
};

/// What to save when an event comes, and for which author. The default is all changes, as those of a person.
#[derive(Default)]
pub(crate) struct Saving {
    origin: Origin,
    /// The session in whose turn to save it.
    turn_of: Option<String>,
    scope: Scope,
}

impl Saving {
    /// Returns how to save all changes as those of `origin`.
    pub(super) fn all(origin: Origin) -> Self {
        Self { origin, turn_of: None, scope: Scope::All }
    }

    /// Returns true if the author is unknown.
    pub(crate) fn is_unknown(&self) -> bool {
        self.origin.contributor == Contributor::Unknown
    }

    /// Returns the session in whose turn to save.
    pub(crate) fn session(&self) -> Option<&str> {
        self.turn_of.as_deref().or(self.origin.session.as_deref())
    }

    /// Returns how to save all changes as those of an unknown author.
    pub(super) fn unknown() -> Self {
        Self::all(author::unknown())
    }

    /// Returns how to save the same in the turn of `session`.
    pub(super) fn in_turn_of(self, session: &str) -> Self {
        Self { turn_of: Some(session.to_owned()), ..self }
    }
}

/// Returns how to save the unsaved changes before a commit. Returns none if a person has made all of them.
pub(crate) fn saving_before_commit(worktree: &Worktree<'_>) -> Result<Option<Saving>> {
    // Even if a person made all other changes, the files that open tool calls name are saved as their sessions'.
    let origin = author::before_commit(worktree)?.or_else(|| named::is_any_file_named(worktree).then(Origin::default));
    if worktree.repo.is_rebasing() {
        // The baseline of the turn stays on the base from before the rebase: save outside the turn, with an unknown author.
        return Ok(origin.map(|_| Saving::unknown()));
    }
    Ok(origin.map(|origin| Saving { turn_of: origin.session.clone(), ..Saving::all(origin) }))
}

/// Saves the files of `scope`, as the worktree has them, before the commit takes the staged ones. Files outside it stay unsaved: their
/// author can still be inferred later. But if the author is unknown, saves all files, so that later changes have a known author.
pub(crate) fn save_before_commit(worktree: &Worktree<'_>, saving: Saving, scope: Scope) -> Result<()> {
    if saving.is_unknown() {
        save(worktree, &saving)?;
        author::note_all_saved(worktree);
    } else {
        save(worktree, &Saving { scope, ..saving })?;
    }
    turn::write(worktree)
}

/// Handles the event before a tool call.
pub(super) fn before(worktree: &Worktree<'_>, report: &Report, tool: &Tool, key: &str) -> Result<Answer> {
    // The guard comes first: a call that it denies leaves nothing behind. It cannot deny a tool that only reads.
    let mut verdict = guard::before_tool(worktree, &who(report, tool, key)).unwrap_or_else(|_| Verdict::allow());
    if verdict.is_denied() && tool.reach == Reach::Nothing {
        return Ok(Answer::Allow);
    }
    if verdict.is_denied() {
        return Ok(Answer::Deny(Message::Guard(Box::new(verdict))));
    }
    worktree.edit_turns(|turns| {
        if let Some(own) = turns.find_mut(&report.session) {
            own.overtake(report.agent_id.as_deref(), key);
            // What was committed before its first tool is not its work.
            own.account(report.agent_id.as_deref());
        }
    });
    worktree.catch_up(Purpose::ToolBegins)?;
    let reach = reach_here(&worktree.repo, report, tool);
    if matches!((&tool.reach, &reach), (Reach::Files(_), ReachHere::Anything)) {
        note_outside(worktree, report);
    }
    let session = find_or_rebuild(worktree, &report.session)?;
    let step = transition(session.as_ref().map(|session| session.phase), SessionEvent::Tool);
    let begins = step.actions.contains(&Action::BeginTurn);
    let is_after_turn = begins && is_of_last_turn(session.as_ref(), report);
    if begins && !is_after_turn {
        verdict.notes.extend(opening::begin(worktree, report, Opening::Prompt(None))?);
        full_pass::note(worktree);
    } else {
        sign_of_life::note(worktree, report)?;
        match &reach {
            ReachHere::Paths(paths) => save_before_call(worktree, report, key, Some(paths.clone()))?,
            // Save first: the tool may delete a file, or people may have changed files since the turn or the last full pass.
            ReachHere::Anything if tool.may_destroy || is_after_turn || full_pass::is_due(worktree) => {
                save_before_call(worktree, report, key, None)?;
            }
            ReachHere::Anything | ReachHere::Nothing => {}
        }
    }
    let warnings = match &reach {
        ReachHere::Paths(paths) => overlap::before_change(worktree, &report.session, paths),
        ReachHere::Anything | ReachHere::Nothing => Vec::new(),
    };
    note_begun(worktree, report, tool, &reach, key);
    Ok(allowed::with_warnings(verdict, warnings, worktree.settings.overlap))
}

/// Returns true if a subagent uses the tool after its agent has stopped. Then the call begins no turn: the agent reports no
/// second stop, so that turn would stay open.
fn is_of_last_turn(session: Option<&Session>, report: &Report) -> bool {
    report.agent_id.is_some() && session.is_some_and(|session| session.turn.number > 0)
}

fn who<'r>(report: &'r Report, tool: &'r Tool, key: &'r str) -> Who<'r> {
    Who {
        session: &report.session,
        agent: report.info.agent.as_deref().or(Some(report.agent)),
        call: tool.call.as_deref(),
        key,
    }
}

/// Handles the event after a tool call.
pub(super) fn after(worktree: &Worktree<'_>, report: &Report, tool: &Tool, key: &str) -> Result<Answer> {
    // If the guard denies the call now, nothing is saved as the session's.
    let verdict = guard::after_tool(worktree, &who(report, tool, key)).unwrap_or_else(|_| Verdict::allow());
    let reach = reach_here(&worktree.repo, report, tool);
    if verdict.is_denied() {
        // The guard has archived the changes, but they are still in the worktree. They must not count as a person's.
        drop(worktree.emit_failure("guard", save_as_unknown(worktree, &reach)));
        note_ended(worktree, report, tool, key);
        return Ok(Answer::Deny(Message::Guard(Box::new(verdict))));
    }
    if !verdict.is_attributed {
        save_as_unknown(worktree, &ReachHere::Anything)?;
        note_ended(worktree, report, tool, key);
        return Ok(Answer::Allow);
    }
    let session = find_or_rebuild(worktree, &report.session)?;
    // If the worktree in which the tool began is gone, we have not seen what was here before.
    let is_open = |own: &Entry| event::ended(&own.calls, key).is_some();
    let is_of_lost_worktree = session.as_ref().is_some_and(|session| has_lost_worktree(worktree, session))
        && !worktree.turns().find(&report.session).is_some_and(is_open);
    let is_unseen = is_of_lost_worktree || report.is_elsewhere;
    let session = match session {
        Some(mut session) => {
            add_info(&mut session, &report.info);
            mark_alive(&mut session);
            session_info::store(worktree, &session)?;
            session
        }
        None => begin_without_baseline(worktree, report)?,
    };
    let origin = Origin { tool: tool_name(tool), ..author::of_session(&session, report.agent_id.clone()) };
    match reach {
        ReachHere::Nothing => {}
        ReachHere::Paths(paths) => {
            let (shared, own) = named::split_shared(worktree, &report.session, paths);
            if !shared.is_empty() {
                save_as_unknown(worktree, &ReachHere::Paths(shared))?;
            }
            let turn_of = Some(report.session.clone());
            drop(save(worktree, &Saving { turn_of, scope: Scope::PathsIfThere(own), ..Saving::all(origin) })?);
        }
        ReachHere::Anything if is_unseen || author::is_another_at_work(worktree, &report.session) => {
            save_as_unknown(worktree, &ReachHere::Anything)?;
        }
        ReachHere::Anything => {
            drop(save(worktree, &Saving::all(origin))?);
        }
    }
    note_ended(worktree, report, tool, key);
    forget_idle(worktree, &session);
    Ok(allowed::answer(verdict))
}

/// Saves what a tool may have changed, with an unknown author.
fn save_as_unknown(worktree: &Worktree<'_>, reach: &ReachHere) -> Result<()> {
    let scope = match reach {
        ReachHere::Nothing => return Ok(()),
        ReachHere::Paths(paths) => Scope::PathsIfThere(paths.clone()),
        ReachHere::Anything => Scope::All,
    };
    save(worktree, &Saving { scope, ..Saving::unknown() }).map(drop)
}

/// Saves all changes of this worktree with an unknown author: the tool that may have made them began in another one.
pub(super) fn save_as_unknown_here(context: &Context) -> Result<()> {
    let worktree = Worktree::enter(context, Purpose::Event)?;
    turn::write_after(&worktree, save_as_unknown(&worktree, &ReachHere::Anything))
}

/// Stores a session whose first event that we see is the end of a tool call. Its turn is under way, but has no baseline:
/// the state of the worktree before is unknown.
fn begin_without_baseline(worktree: &Worktree<'_>, report: &Report) -> Result<Session> {
    let mut session = found_or_new(worktree, &report.session, None);
    add_info(&mut session, &report.info);
    seen_here(worktree, &mut session)?;
    mark_alive(&mut session);
    note_stashes(worktree);
    session.turn.number = session.turn.next();
    let turn = UnderWay { started: clock(), has_checkpoint: true, ..UnderWay::default() };
    let session = session.with_turn(Some(&turn));
    session_info::store(worktree, &session)?;
    Ok(session)
}

/// Saves what has changed in `paths` (none: in all files) before the tool call `key`. [`author::before`] infers the author. If a person
/// has given one of these files another name, saves that file, too.
pub(super) fn save_before_call(
    worktree: &Worktree<'_>,
    report: &Report,
    key: &str,
    mut paths: Option<Vec<BString>>,
) -> Result<()> {
    if let Some(paths) = &mut paths {
        // If the last checkpoint cannot be read, the save deals with that.
        drop(add_new_names(worktree, paths, &report.session));
    }
    let named = paths.as_ref().map(|paths| texts(paths));
    let origin = author::before(worktree, &report.session, key, named.as_deref());
    let turn_of = origin.session.clone().or_else(|| Some(report.session.clone()));
    let scope = paths.map_or(Scope::All, Scope::PathsIfThere);
    save(worktree, &Saving { turn_of, scope, ..Saving::all(origin) }).map(drop)
}

/// Takes a checkpoint as `saving` says.
pub(super) fn save(worktree: &Worktree<'_>, saving: &Saving) -> Result<SavedAndSeen> {
    let Saving { origin, turn_of, scope } = saving;
    let (author, turn_of, scope) = (Author::Is(origin.clone()), turn_of.clone(), scope.clone());
    let taken = save::save_worktree(worktree, &Request { scope, author, turn_of, ..Request::default() })?;
    if taken.cache.is_some() {
        full_pass::note(worktree);
    }
    Ok(taken)
}

/// Handles the end of a subagent. It is the author of the unsaved changes if it has a tool in use that may change any file, or
/// if it has reported no tools and its agent does not report all tools.
///
/// If it used such a tool and all have ended, the author is unknown, because a person may have made the changes since. It is also
/// unknown if the user may have refused the commands of the subagent.
pub(super) fn subagent_stops(worktree: &Worktree<'_>, report: &Report) -> Result<Answer> {
    sign_of_life::note(worktree, report)?;
    let turns = author::turns_without_stale_calls(worktree);
    let own = turns.find(&report.session);
    let calls = || own.into_iter().flat_map(|own| &own.calls).filter(|call| call.agent_id == report.agent_id);
    // A command in the background does not count: it may be of an earlier turn.
    let is_open = calls().any(|call| call.paths.is_none() && !call.is_background);
    if calls().next().is_some() {
        save::save_named(worktree, Trigger::Event)?;
    }
    let session = find_or_rebuild(worktree, &report.session)?;
    let account = own.and_then(|own| own.accounts.iter().find(|account| account.agent_id == report.agent_id));
    if let Some(session) = &session
        // Without a turn under way, people may have made the changes.
        && (is_open || session.phase == Phase::Active && account.map_or(!report.reports_all_tools, |it| it.used_anything))
    {
        let have_all_ended = !is_open && account.is_some();
        let is_unknown = have_all_ended || author::commands_may_be_refused(calls());
        let origin = if is_unknown { author::unknown() } else { author::of_session(session, report.agent_id.clone()) };
        save(worktree, &Saving::all(origin))?;
    }
    worktree.edit_turns(|turns| {
        if let Some(own) = turns.find_mut(&report.session) {
            own.calls.retain(|call| call.agent_id != report.agent_id || author::is_left_running(call));
        }
    });
    if let Some(session) = &session {
        forget_idle(worktree, session);
    }
    Ok(Answer::Allow)
}

/// Which files of this worktree a tool may change; [`Reach`] has all that it names, also outside the worktree.
enum ReachHere {
    Paths(Vec<BString>),
    Anything,
    Nothing,
}

/// Returns what the tool may change in this worktree: anything, if it names a file outside.
fn reach_here(repo: &Repo, report: &Report, tool: &Tool) -> ReachHere {
    match &tool.reach {
        Reach::Nothing => ReachHere::Nothing,
        Reach::Anything => ReachHere::Anything,
        Reach::Files(named) => paths::inside(repo, &report.cwd, named).map_or(ReachHere::Anything, ReachHere::Paths),
    }
}

/// Logs that a tool names files outside this worktree. The user gets no warning.
fn note_outside(worktree: &Worktree<'_>, report: &Report) {
    worktree.emit(&Event::Error {
        operation: format!("hook {}", report.agent),
        kind: Kind::User.as_str().into(),
        message: "a tool names a file that is not of this worktree: only what it changes here is saved".into(),
    });
}

/// Returns the tool's name for the trailer `Checkpoint-Tool`; none if it is empty or has a space, as only our own texts have there.
pub(super) fn tool_name(tool: &Tool) -> Option<String> {
    Some(tool.name.clone()).filter(|name| !name.trim().is_empty() && !name.contains(' '))
}

fn texts(paths: &[BString]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

/// Adds the call to `turns.toml`. The guard may have added it before: then keeps the `start` that the guard has noted.
fn note_begun(worktree: &Worktree<'_>, report: &Report, tool: &Tool, reach: &ReachHere, key: &str) {
    let paths = match reach {
        ReachHere::Paths(paths) => Some(texts(paths)),
        ReachHere::Anything => None,
        ReachHere::Nothing => Some(Vec::new()),
    };
    let (agent_id, id, started) = (report.agent_id.clone(), tool.call.clone(), clock());
    let command = tool.runs_command.then(|| {
        let since = process::own_start().unwrap_or_default();
        let head = worktree.repo.head().ok().and_then(|head| head.id).map(|id| id.to_string());
        Command { agent: process::agent(), since, until: None, began: milliseconds(), head, is_settled: false }
    });
    let call = Call { key: key.to_owned(), id, agent_id, started, paths, command, ..Call::default() };
    // If a tool names files outside this worktree, it may change any file here, but only while it is in use. `used_anything`
    // does not count it.
    let uses_anything = tool.reach == Reach::Anything;
    worktree.edit_turns(|turns| {
        let own = turns.entry(&report.session);
        own.account(report.agent_id.as_deref()).used_anything |= uses_anything;
        let start = own.calls.iter().find(|it| it.key == key).and_then(|it| it.start.clone());
        own.open(Call { start, ..call });
    });
}

/// Removes the call from `turns.toml`, or marks it as a command that keeps running in the background.
fn note_ended(worktree: &Worktree<'_>, report: &Report, tool: &Tool, key: &str) {
    let uses_anything = tool.reach == Reach::Anything;
    worktree.edit_turns(|turns| {
        let own = turns.entry(&report.session);
        if let Some(index) = event::ended(&own.calls, key) {
            if tool.is_background {
                own.calls[index].leave_running(process::own_start());
            } else {
                own.calls.remove(index);
            }
        }
        own.account(report.agent_id.as_deref()).used_anything |= uses_anything;
    });
}

/// Removes the entry of `session` from `turns.toml` if it has neither an open turn nor an open call.
fn forget_idle(worktree: &Worktree<'_>, session: &Session) {
    if session.under_way.is_none() {
        worktree.edit_turns(|turns| turns.entries.retain(|it| it.id != session.id || !it.calls.is_empty()));
    }
}
