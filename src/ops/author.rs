//! Infers who made the changes between two events.
//!
//! When a tool is done, what changed meanwhile is attributed to the session that used it. What no tool in use could have
//! changed is attributed to a human. If several sessions, or a command in the background, may have made a change, its
//! author is unknown.
//!
//! A tool that runs a command counts only while one of its processes runs. Before, the agent may be waiting for the user, or
//! the user may have refused it, which no event reports. Afterwards, the command may have been interrupted. In both cases, the
//! author of changes is unknown until a save of the whole worktree records them as such; later changes are not the command's.

use std::collections::BTreeSet;

use bstr::ByteSlice as _;

use super::{
    Context, Worktree,
    session_info::{self, clock, open_turns},
};
use crate::{
    error::Result,
    model::{
        checkpoint::Origin,
        contributor::Contributor,
        process::{CommandState, Life},
        session::Session,
        turns::{Call, Command, Entry, TurnEnd, Turns},
    },
    state::{process, turns},
};

/// A tool in use, and the session that uses it.
type Use<'t> = (&'t str, &'t Call);

/// Whether a tool in use made a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bearing {
    /// The tool made the change.
    Made,
    /// The tool may have made the change.
    Perhaps,
    /// The tool did not make the change.
    Not,
}

/// Whether an agent among our parent processes has started us by one of its commands, which then still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asker {
    /// No: this is a hook, which the agent itself has started.
    Hook,
    /// Yes: this is a command, or a hook of git, which a command of the agent has started.
    Command,
}

/// If a tool that only writes files is open for longer than this many seconds, the agent may be waiting for the user's
/// permission. Meanwhile, the user may edit the file.
const LONGEST_CALL: i64 = 30;

fn bearing(call: &Call, asker: Asker) -> Bearing {
    let Some(command) = call.command.as_ref().filter(|_| !call.is_background) else {
        let is_in_doubt = call.paths.is_some() && (call.is_overtaken || call.started < clock() - LONGEST_CALL);
        return if is_in_doubt { Bearing::Perhaps } else { Bearing::Made };
    };
    if command_state(command, asker) == CommandState::Running {
        Bearing::Made
    } else if command.is_settled {
        Bearing::Not
    } else {
        Bearing::Perhaps
    }
}

fn command_state(command: &Command, asker: Asker) -> CommandState {
    let agent = command.agent.as_ref();
    agent.map_or(CommandState::Unknown, |agent| {
        let time = command.since..=command.until.unwrap_or(u64::MAX);
        process::command_state(agent, &time, asker == Asker::Hook)
    })
}

/// Returns true if some of `calls` name no files, and the user may have refused all of these: they are commands, and none is
/// seen to run. A command of a dead agent counts as running, because it may have run until the agent died.
pub(crate) fn commands_may_be_refused<'c>(calls: impl Iterator<Item = &'c Call>) -> bool {
    let is_at_rest = |call: &Call| {
        let state = call.command.as_ref().filter(|_| !call.is_background).map(|it| command_state(it, Asker::Hook));
        matches!(state, Some(CommandState::NotRunning | CommandState::Unknown))
    };
    let (rest, run): (Vec<_>, Vec<_>) = calls.filter(|call| call.paths.is_none()).partition(|call| is_at_rest(call));
    !rest.is_empty() && run.is_empty()
}

/// Marks the commands that are not seen to run, so that later changes do not count as theirs. Forgets the tool calls of killed
/// agents and, as [`forget_ended`] does, commands that turns left in the background. Call this after a save of the whole
/// worktree.
pub(crate) fn settle(worktree: &Worktree<'_>) {
    let is_settled =
        |command: &Command| command.is_settled || command_state(command, Asker::Command) != CommandState::Running;
    let gone: BTreeSet<String> =
        worktree.turns().calls().map(|(id, _)| id.to_owned()).filter(|id| is_gone(worktree, id)).collect();
    worktree.edit_turns(|turns| {
        turns.entries.iter_mut().filter(|it| gone.contains(&it.id)).for_each(|it| it.calls.clear());
        let commands = turns.entries.iter_mut().flat_map(|entry| &mut entry.calls).filter_map(|it| it.command.as_mut());
        commands.for_each(|command| command.is_settled = is_settled(command));
    });
    forget_ended(worktree);
}

/// Returns true if the user may have refused `call`, which names its files: it is open for long, or its agent began another
/// call.
pub(crate) fn edit_may_be_refused(call: &Call) -> bool {
    bearing(call, Asker::Hook) != Bearing::Made
}

/// Returns true if `call` is a command in the background that runs, or may run.
pub(crate) fn is_left_running(call: &Call) -> bool {
    matches!(background_state(call), Some(CommandState::Running | CommandState::Unknown))
}

/// Returns the background commands of `own`, whose turn ends, that still run or may run.
pub(crate) fn left_running(own: &Entry) -> Vec<Call> {
    let left = own.calls.iter().filter(|call| is_left_running(call));
    left.map(|call| Call { start: None, ..call.clone() }).collect()
}

fn background_state(call: &Call) -> Option<CommandState> {
    call.command.as_ref().filter(|_| call.is_background).map(|command| command_state(command, Asker::Hook))
}

/// Forgets commands that a turn left in the background, unless they are seen to run. Call this after a save of the whole
/// worktree, which took their last changes.
pub(crate) fn forget_ended(worktree: &Worktree<'_>) {
    worktree.edit_turns(|turns| {
        for entry in turns.entries.iter_mut().filter(|entry| is_left_behind(entry)) {
            entry.calls.retain(|call| background_state(call) == Some(CommandState::Running));
        }
    });
}

/// Returns true if `entry` has nothing but commands that its turn has left in the background.
fn is_left_behind(entry: &Entry) -> bool {
    entry.turn.is_none() && !entry.calls.is_empty() && entry.calls.iter().all(|call| call.is_background)
}

/// Returns true if a turn of `session` has left a command in the background, whose last changes may be unsaved.
pub(crate) fn has_left(context: &Context, session: &str) -> bool {
    context.turns().find(session).is_some_and(is_left_behind)
}

/// Returns the open turns and tool calls of this worktree, without calls that began too long ago.
pub(crate) fn open(context: &Context) -> Turns {
    let mut turns = context.turns();
    let oldest = oldest(context);
    turns.entries.iter_mut().for_each(|entry| entry.calls.retain(|call| call.started >= oldest));
    turns
}

/// Returns the Unix time before which tool calls and sessions are stale (setting `stale-after`).
fn oldest(context: &Context) -> i64 {
    let stale_after = i64::try_from(context.settings.stale_after.as_secs()).unwrap_or(i64::MAX);
    clock().saturating_sub(stale_after)
}

/// Returns the author of what the turn of `session` leaves unsaved when it ends. Files that open calls name have been saved
/// before.
///
/// The author is unknown if the agent was killed during a call, or if the user may have refused its command.
///
/// If all tools that the agent reported named their files, the author is the session of another tool in use, or else a human.
/// But if a call of `session` is still open, `turn_end` decides: after a reported end, a call that may change any file makes
/// the session the author; after an inferred end, any call makes the author unknown.
///
/// If the agent reported a tool that may change any file, or none, the session is the author. But the author is unknown if
/// - another session that reports no tool calls is open here,
/// - all commands that the agent reported had ended before the changes, or run in the background,
/// - its process is gone, and the end of the turn is inferred, or
/// - the session reported calls in an earlier turn and none in this one.
pub(crate) fn at_turn_end(context: &Context, session: &Session, turn_end: TurnEnd) -> Result<Origin> {
    // Unlike `open`, this sees stale calls as well.
    let is_left = |own: &Entry| commands_may_be_refused(own.calls.iter()) || was_killed_at_work(context, own);
    if context.turns().find(&session.id).is_some_and(is_left) {
        return Ok(unknown());
    }
    let turns = open(context);
    let own = turns.find(&session.id);
    let has_named_all_files =
        own.is_some_and(|own| !own.accounts.is_empty() && own.accounts.iter().all(|it| !it.used_anything));
    if !has_named_all_files {
        let is_unknown = is_shared(context, &turns, &session.id)?
            || own.is_some_and(is_at_rest)
            || turn_end == TurnEnd::Inferred && process::life(session.process.as_ref()) == Life::Dead
            || session.has_reported_tools && own.is_none_or(|own| own.accounts.is_empty());
        return Ok(if is_unknown { unknown() } else { of_session(session, None) });
    }
    let mut calls = own.into_iter().flat_map(|own| &own.calls);
    match turn_end {
        // Commands in the background, which an earlier turn may have left, are judged with all others below.
        TurnEnd::Reported if calls.any(|call| call.paths.is_none() && !call.is_background) => {
            Ok(of_session(session, None))
        }
        TurnEnd::Inferred if calls.next().is_some() => Ok(unknown()),
        TurnEnd::Reported | TurnEnd::Inferred => Ok(between(context, &without_names(&turns), Asker::Hook)),
    }
}

/// Returns the tools in use that may change any file. The others name their files, which a save takes first, on their own.
fn without_names(turns: &Turns) -> Vec<Use<'_>> {
    turns.calls().filter(|(_, call)| call.paths.is_none()).collect()
}

/// Returns true if the session has reported its tools, and each open call names its files or is a command in the background. What
/// is unsaved then has changed after the last command: a person may have changed it, or a process that runs on.
fn is_at_rest(own: &Entry) -> bool {
    !own.accounts.is_empty() && own.calls.iter().all(|call| call.paths.is_some() || call.is_background)
}

/// Returns true if another session has an open turn here and does not report its tool calls: it may have made any
/// change.
fn is_shared(context: &Context, turns: &Turns, session: &str) -> Result<bool> {
    Ok(without_reports(context, turns)?.iter().any(|other| other.id != session))
}

/// Returns the sessions with an open turn here that do not report their tool calls, without dead and stale ones.
fn without_reports(context: &Context, turns: &Turns) -> Result<Vec<Session>> {
    let oldest = oldest(context);
    let mut open = open_turns(context)?;
    open.retain(|session| {
        let reports_nothing = turns.find(&session.id).is_none_or(|entry| entry.accounts.is_empty());
        let lives = session.last_seen >= oldest && process::life(session.process.as_ref()) != Life::Dead;
        reports_nothing && lives
    });
    Ok(open)
}

/// Returns true if a session with an open turn here reports no tool calls: it may have made any commit in its turn.
pub(crate) fn is_any_silent(context: &Context) -> Result<bool> {
    Ok(!without_reports(context, &open(context))?.is_empty())
}

/// Returns the author of the unsaved changes for a save that names no author.
///
/// If each session with an open turn reports its tool calls, the author is the one whose tool in use may change any file, or a
/// human if there is no such tool. The only session that reports none is the author if no tool is in use and it never reported
/// one. Otherwise, the author is unknown; also if a tool in use may have been refused, if an agent was killed at work, or if
/// open turns cannot be read.
pub(crate) fn unsaved(context: &Context) -> Result<Origin> {
    if !context.are_turns_known() {
        return Ok(unknown());
    }
    let turns = open(context);
    Ok(match &without_reports(context, &turns)?[..] {
        // A human makes this save or commit, but a tool of a killed agent may have made the changes in it, however long ago.
        [] if context.turns().entries.iter().any(|entry| was_killed_at_work(context, entry)) => unknown(),
        [] => between(context, &without_names(&turns), Asker::Command),
        [session] if turns.calls().next().is_none() && !session.has_reported_tools => of_session(session, None),
        _ => unknown(),
    })
}

/// Returns the author of the unsaved changes before a prompt to `session`: a human, unless another session, or a command in the
/// background, may have made them.
pub(crate) fn before_prompt(context: &Context, session: &str) -> Result<Origin> {
    let turns = open(context);
    let is_unknown = is_shared(context, &turns, session)? || turns.entries.iter().any(is_left_behind);
    Ok(if is_unknown { unknown() } else { Origin { contributor: Contributor::Human, ..Origin::default() } })
}

pub(crate) fn unknown() -> Origin {
    Origin { contributor: Contributor::Unknown, ..Origin::default() }
}

/// Returns the author of the changes at `paths` before the tool call `key` of `session`. Without `paths`, the author of all
/// unsaved changes; files that open calls name do not count, because a save takes them first.
pub(crate) fn before(context: &Context, session: &str, key: &str, paths: Option<&[String]>) -> Origin {
    let turns = open(context);
    let is_other = |(its, call): &Use<'_>| *its != session || call.key != key;
    let may_reach = |(_, call): &Use<'_>| match (&call.paths, paths) {
        (Some(its), Some(paths)) => its.iter().any(|path| paths.contains(path)),
        (its, None) => its.is_none(),
        (None, Some(_)) => true,
    };
    between(context, &turns.calls().filter(is_other).filter(may_reach).collect::<Vec<_>>(), Asker::Hook)
}

/// Returns the author of the unsaved changes before a commit; none for a human, because a commit's changes are the committer's if
/// no checkpoint has them.
pub(crate) fn before_commit(context: &Context) -> Result<Option<Origin>> {
    let origin = unsaved(context)?;
    if origin.contributor == Contributor::Human && is_run_from_elsewhere(context) {
        return Ok(Some(unknown()));
    }
    Ok(Some(origin).filter(|origin| origin.contributor != Contributor::Human))
}

/// Returns true if we run within a command that an agent started in another worktree of this repository.
fn is_run_from_elsewhere(context: &Context) -> bool {
    let (repo, oldest) = (&context.repo, oldest(context));
    let runs_us = |call: &Call| {
        let agent = call.command.as_ref().and_then(|command| command.agent.as_ref());
        call.started >= oldest && agent.is_some_and(process::is_above_us)
    };
    let others = repo.other_worktrees().into_iter().map(|(id, _)| repo.git_dir_of(id.as_bstr()));
    others.into_iter().any(|git_dir| turns::peek(&git_dir).calls().any(|(_, call)| runs_us(call)))
}

/// Returns true if the process of the session of `entry` is dead, and had a tool in use that may change files.
fn was_killed_at_work(context: &Context, entry: &Entry) -> bool {
    may_be_at_work(entry) && is_gone(context, &entry.id)
}

/// Returns true if `entry` has a tool in use, or a command in the background, that may have changed files since the last save.
pub(crate) fn may_be_at_work(entry: &Entry) -> bool {
    let may_change = |call: &Call| call.paths.as_ref().is_none_or(|paths| !paths.is_empty());
    entry.calls.iter().any(|call| may_change(call) && bearing(call, Asker::Command) != Bearing::Not)
}

/// Returns true if the process of `session` is one of our parent processes.
pub(crate) fn runs_us(context: &Context, session: &str) -> bool {
    let session = session_info::peek(context, session);
    session.and_then(|session| session.process).is_some_and(|process| process::is_above_us(&process))
}

/// Returns true if the process of `session` is dead.
pub(crate) fn is_gone(context: &Context, session: &str) -> bool {
    let session = session_info::peek(context, session);
    session.is_some_and(|session| process::life(session.process.as_ref()) == Life::Dead)
}

/// Returns the author of what changed while exactly the tools `open` were in use.
fn between(context: &Context, open: &[Use<'_>], asker: Asker) -> Origin {
    let bearings: Vec<_> = open.iter().map(|(_, call)| bearing(call, asker)).collect();
    let with = |bearing| open.iter().zip(&bearings).filter(move |(_, its)| **its == bearing).map(|(it, _)| *it);
    let open: Vec<Use<'_>> = with(Bearing::Made).collect();
    // If a call that may change any file runs, it does not matter which others of its session run: the author is the same.
    let is_beside = |session: &str| open.iter().any(|(its, call)| *its == session && call.paths.is_none());
    if with(Bearing::Perhaps).any(|(session, _)| !is_beside(session)) {
        return unknown();
    }
    let sessions: BTreeSet<&str> = open.iter().map(|(session, _)| *session).collect();
    let is_background = open.iter().all(|(_, call)| call.is_background);
    match (sessions.len(), open.first()) {
        (0, _) | (_, None) => Origin::default(),
        (1, Some((session, call))) if !is_background => {
            let is_one = open.iter().all(|(_, it)| it.agent_id == call.agent_id);
            let agent_id = call.agent_id.clone().filter(|_| is_one);
            let session = session_info::peek(context, session);
            session.map_or_else(unknown, |session| of_session(&session, agent_id))
        }
        _ => unknown(),
    }
}

/// Returns true if a session other than `session` uses a tool here that may change any file.
pub(crate) fn is_another_at_work(context: &Context, session: &str) -> bool {
    let is_at_work = |call: &Call| call.paths.is_none() && bearing(call, Asker::Hook) != Bearing::Not;
    open(context).calls().any(|(its, call)| its != session && is_at_work(call))
}

/// Returns the origin of changes by `session`, or by its subagent `agent_id`.
pub(crate) fn of_session(session: &Session, agent_id: Option<String>) -> Origin {
    Origin {
        contributor: Contributor::Agent,
        session: Some(session.id.clone()),
        agent: session.agent.clone(),
        model: session.model.clone(),
        turn: Some(session.turn.number),
        agent_id,
        ..Origin::default()
    }
}
