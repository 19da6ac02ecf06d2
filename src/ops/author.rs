//! Infers who made the unsaved changes, from the open turns and tool calls in `turns.toml`.
//!
//! The author is the session whose tool in use may have made the change, or a human if there is no such tool. If several
//! sessions, or a command in the background, may have made it, the author is unknown. Each occasion has its function:
//! [`unsaved`] for a save that names no author, [`before`] for the moment before a tool call, and [`before_prompt`],
//! [`before_commit`] and [`at_turn_end`].
//!
//! A command counts as in use only while one of its processes runs. Before that, the agent may be waiting for the user's
//! permission, and no event reports if the user refuses it. Afterwards, the user may have interrupted the command. In both cases,
//! the author of the unsaved changes is unknown. After a save of the whole worktree, the command counts as the author of later
//! changes only if one of its processes is found again.

use std::collections::BTreeSet;

use bstr::ByteSlice as _;

use super::{
    Context, Worktree,
    chain::lost::may_have_lost_work,
    session_info::{self, clock, open_turns},
};
use crate::{
    error::Result,
    model::{
        checkpoint::Origin,
        contributor::Contributor,
        process::{CommandState, Life},
        session::Session,
        turns::{Call, Command, EndEvidence, Entry, Involvement, Maker, Turns, maker},
    },
    state::{missed, process, turns},
};

/// A session, and its call of a tool that is in use.
type Use<'t> = (&'t str, &'t Call);

/// Who has started this process. If an agent is among our parent processes, this decides whether its command still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CalledBy {
    /// An agent, by a hook that reports an event. An agent above us does not show that its command still runs.
    Agent,
    /// The user, or a command of an agent, maybe through git and its hook. If an agent is above us, its command has started us
    /// and still runs.
    CommandOrUser,
}

/// Returns whether the tool of `call` made the unsaved changes, as the processes of its command show now.
fn involvement(call: &Call, called_by: CalledBy) -> Involvement {
    call.involvement(|command| command_state(command, called_by) == CommandState::Running, clock())
}

fn command_state(command: &Command, called_by: CalledBy) -> CommandState {
    let agent = command.agent.as_ref();
    agent.map_or(CommandState::Unknown, |agent| {
        let time = command.since..=command.until.unwrap_or(u64::MAX);
        process::command_state(agent, &time, called_by == CalledBy::Agent)
    })
}

/// Returns true if the user may have refused all of `calls` that name no files. There has to be such a call, and each one has to
/// be a command in the foreground of which no process is found. A command of a dead agent counts as running, because it may have
/// run until the agent died.
pub(crate) fn commands_may_be_refused<'c>(calls: impl Iterator<Item = &'c Call>) -> bool {
    let is_not_running = |call: &Call| {
        let state = call.command.as_ref().filter(|_| !call.is_background).map(|it| command_state(it, CalledBy::Agent));
        matches!(state, Some(CommandState::NotRunning | CommandState::Unknown))
    };
    let (ended, running): (Vec<_>, Vec<_>) =
        calls.filter(|call| call.paths.is_none()).partition(|call| is_not_running(call));
    !ended.is_empty() && running.is_empty()
}

/// Notes that a save of the whole worktree has just recorded all changes, with an unknown author. A command of which no process
/// is found now does not count as the author of later changes, unless a process is found then.
///
/// Removes the calls of killed agents, the turns of those that reported no tools, and the commands that [`forget_ended`] removes.
pub(crate) fn note_all_saved(worktree: &Worktree<'_>) {
    let is_settled = |command: &Command| {
        command.is_settled || command_state(command, CalledBy::CommandOrUser) != CommandState::Running
    };
    let turns = worktree.turns();
    let silent = turns.entries.iter().filter(|entry| was_killed_in_silence(worktree, entry)).map(|entry| &entry.id);
    let silent: BTreeSet<String> = silent.cloned().collect();
    let gone: BTreeSet<String> =
        turns.calls().map(|(id, _)| id.to_owned()).filter(|id| is_gone(worktree, id)).collect();
    worktree.edit_turns(|turns| {
        turns.entries.retain(|entry| !silent.contains(&entry.id));
        turns.entries.iter_mut().filter(|it| gone.contains(&it.id)).for_each(|it| it.calls.clear());
        let commands = turns.entries.iter_mut().flat_map(|entry| &mut entry.calls).filter_map(|it| it.command.as_mut());
        commands.for_each(|command| command.is_settled = is_settled(command));
    });
    forget_ended(worktree);
    missed::forget(worktree.repo.git_dir());
}

/// Returns true if the user may have refused `call`, which names its files: it has been open for long, or its agent has begun
/// another call.
pub(crate) fn edit_may_be_refused(call: &Call) -> bool {
    involvement(call, CalledBy::Agent) != Involvement::Made
}

/// Returns true if `call` is a command in the background that still runs, or may run.
pub(crate) fn is_left_running(call: &Call) -> bool {
    matches!(background_state(call), Some(CommandState::Running | CommandState::Unknown))
}

/// Returns the background commands of `own`, whose turn ends, that still run or may run.
pub(crate) fn left_running(own: &Entry) -> Vec<Call> {
    let left = own.calls.iter().filter(|call| is_left_running(call));
    left.map(|call| Call { start: None, ..call.clone() }).collect()
}

/// Returns the state of a command in the background; none if `call` is not one.
fn background_state(call: &Call) -> Option<CommandState> {
    call.command.as_ref().filter(|_| call.is_background).map(|command| command_state(command, CalledBy::Agent))
}

/// Removes the background commands of ended turns, except those of which a process is found. The caller has to save the whole
/// worktree first, because that records their last changes.
pub(crate) fn forget_ended(worktree: &Worktree<'_>) {
    worktree.edit_turns(|turns| {
        for entry in turns.entries.iter_mut().filter(|entry| is_left_behind(entry)) {
            entry.calls.retain(|call| background_state(call) == Some(CommandState::Running));
        }
    });
}

/// Returns true if the turn of `entry` has ended and left only commands in the background.
fn is_left_behind(entry: &Entry) -> bool {
    entry.turn.is_none() && !entry.calls.is_empty() && entry.calls.iter().all(|call| call.is_background)
}

/// Returns true if an ended turn of `session` has left a command in the background. The command's last changes may be unsaved.
pub(crate) fn has_left_command(context: &Context, session: &str) -> bool {
    context.turns().find(session).is_some_and(is_left_behind)
}

/// Returns true if an ended turn of any session has left a command in the background here.
pub(crate) fn has_any_left_command(context: &Context) -> bool {
    context.turns().entries.iter().any(is_left_behind)
}

/// Returns the open turns and tool calls of this worktree, without calls that began before [`oldest`].
pub(crate) fn turns_without_stale_calls(context: &Context) -> Turns {
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

/// Returns the author of what the turn of `session` leaves unsaved when it ends. Files that open calls name are left out: the
/// save takes these first, and infers the author of each.
///
/// The author is unknown if the agent was killed during a call, or if the user may have refused its command. Otherwise, the
/// tools that the agent has reported in this turn decide.
///
/// If all of them named their files, the session has changed no other file. The author is the session of another tool in use,
/// or else a human. An open call of `session` changes that:
/// - If the end was inferred, the author is unknown.
/// - If the agent reported the end, and the call may change any file because it names files outside this worktree, the author is
///   the session.
///
/// If one of them may change any file, or if the agent reported none, the session is the author. But the author is unknown if
/// - another session has an open turn here and reports no tool calls,
/// - the agent reported tools, and each open call names its files or is a command in the background,
/// - the agent's process is dead: then a person ends the turn, who may have made changes since, or
/// - the session reported calls in an earlier turn and none in this one.
pub(crate) fn at_turn_end(context: &Context, session: &Session, evidence: EndEvidence) -> Result<Origin> {
    // Here, stale calls count as well.
    let is_unknown = |own: &Entry| commands_may_be_refused(own.calls.iter()) || was_killed_at_work(context, own);
    if context.turns().find(&session.id).is_some_and(is_unknown) {
        return Ok(unknown());
    }
    let turns = turns_without_stale_calls(context);
    let own = turns.find(&session.id);
    let has_named_all_files =
        own.is_some_and(|own| !own.accounts.is_empty() && own.accounts.iter().all(|it| !it.used_anything));
    if !has_named_all_files {
        let is_unknown = is_shared(context, &turns, &session.id)?
            || own.is_some_and(has_no_open_command)
            || process::life(session.process.as_ref()) == Life::Dead
            || session.has_reported_tools && own.is_none_or(|own| own.accounts.is_empty());
        return Ok(if is_unknown { unknown() } else { of_session(session, None) });
    }
    let mut calls = own.into_iter().flat_map(|own| &own.calls);
    match evidence {
        // An earlier turn may have left a command in the background: `between` below decides about it.
        EndEvidence::Reported if calls.any(|call| call.paths.is_none() && !call.is_background) => {
            Ok(of_session(session, None))
        }
        EndEvidence::Inferred if calls.next().is_some() => Ok(unknown()),
        EndEvidence::Reported | EndEvidence::Inferred => Ok(between(context, &without_names(&turns), CalledBy::Agent)),
    }
}

/// Returns the tools in use that may change any file. The other tools name their files, and a save takes these files first.
fn without_names(turns: &Turns) -> Vec<Use<'_>> {
    turns.calls().filter(|(_, call)| call.paths.is_none()).collect()
}

/// Returns true if the session has reported its tools, and each open call names its files or is a command in the background.
/// Then no tool in use explains the other unsaved changes: a person may have made them, or a process that still runs.
fn has_no_open_command(own: &Entry) -> bool {
    !own.accounts.is_empty() && own.calls.iter().all(|call| call.paths.is_some() || call.is_background)
}

/// Returns true if a session other than `session` has an open turn here and reports no tool calls: it may have made any change.
fn is_shared(context: &Context, turns: &Turns, session: &str) -> Result<bool> {
    Ok(without_reports(context, turns)?.iter().any(|other| other.id != session))
}

/// Returns the sessions with an open turn here that report no tool calls. Leaves out dead and stale ones.
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
    Ok(!without_reports(context, &turns_without_stale_calls(context))?.is_empty())
}

/// Returns the author of the unsaved changes, for a save that names no author.
///
/// If all sessions with an open turn report their tool calls, the author is the session whose tool in use may change any file.
/// If no such tool is in use, it is a human. The author is unknown if such tools of several sessions, or only commands in the
/// background, are in use, if the user may have refused the tool, or if an agent was killed during a call.
///
/// If exactly one session with an open turn reports no tool calls, that session is the author, provided that no tool is in use
/// here and that the session reported none in an earlier turn. In all other cases, the author is unknown. It is also unknown if
/// `turns.toml` is damaged or unreadable.
pub(crate) fn unsaved(context: &Context) -> Result<Origin> {
    if !context.are_turns_known() {
        return Ok(unknown());
    }
    let turns = turns_without_stale_calls(context);
    Ok(match &without_reports(context, &turns)?[..] {
        // A tool of a killed agent may have made the changes, even if the call is stale.
        [] if context.turns().entries.iter().any(|entry| was_killed_at_work(context, entry)) => unknown(),
        [] => between(context, &without_names(&turns), CalledBy::CommandOrUser),
        [session] if turns.calls().next().is_none() && !session.has_reported_tools => of_session(session, None),
        _ => unknown(),
    })
}

/// Returns the author of the unsaved changes before a prompt to `session`: a human, or unknown if another session or a command
/// in the background may have made them, or if they may be work of checkpoints that cannot be read.
pub(crate) fn before_prompt(context: &Context, session: &str) -> Result<Origin> {
    let turns = turns_without_stale_calls(context);
    let is_unknown = is_shared(context, &turns, session)? || turns.entries.iter().any(is_left_behind);
    let is_unknown = is_unknown || may_have_lost_work(context)? || missed::is_noted(context.repo.git_dir());
    Ok(if is_unknown { unknown() } else { Origin { contributor: Contributor::Human, ..Origin::default() } })
}

pub(crate) fn unknown() -> Origin {
    Origin { contributor: Contributor::Unknown, ..Origin::default() }
}

/// Returns the author of the changes at `paths` before the tool call `key` of `session`. Without `paths`, returns the author of
/// all unsaved changes but those of files that open calls name: a save takes these files first.
pub(crate) fn before(context: &Context, session: &str, key: &str, paths: Option<&[String]>) -> Origin {
    let turns = turns_without_stale_calls(context);
    let is_other = |(its, call): &Use<'_>| *its != session || call.key != key;
    let may_reach = |(_, call): &Use<'_>| match (&call.paths, paths) {
        (Some(its), Some(paths)) => its.iter().any(|path| paths.contains(path)),
        (its, None) => its.is_none(),
        (None, Some(_)) => true,
    };
    between(context, &turns.calls().filter(is_other).filter(may_reach).collect::<Vec<_>>(), CalledBy::Agent)
}

/// Returns the author of the unsaved changes before a commit. Returns none for a human, because a change that is in no checkpoint
/// counts as the committer's anyway. If an agent's command in another worktree runs us, returns unknown instead of a human.
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

/// Returns true if the agent of `entry` is dead and had a tool in use that may have changed files, or reported none in this turn.
fn was_killed_at_work(context: &Context, entry: &Entry) -> bool {
    may_be_at_work(entry) && is_gone(context, &entry.id) || was_killed_in_silence(context, entry)
}

/// Returns true if the agent of `entry` died in its turn and reports no tools: it may have changed files up to its death.
pub(crate) fn was_killed_in_silence(context: &Context, entry: &Entry) -> bool {
    let is_silent = entry.turn.is_some() && entry.accounts.is_empty() && !entry.has_claim() && entry.calls.is_empty();
    let session = is_silent.then(|| session_info::peek(context, &entry.id)).flatten();
    session.is_some_and(|it| !it.has_reported_tools && process::life(it.process.as_ref()) == Life::Dead)
}

/// Returns true if `entry` has a tool in use, or a command in the background, that may have changed files since the last save.
pub(crate) fn may_be_at_work(entry: &Entry) -> bool {
    let may_change = |call: &Call| call.paths.as_ref().is_none_or(|paths| !paths.is_empty());
    entry
        .calls
        .iter()
        .any(|call| may_change(call) && involvement(call, CalledBy::CommandOrUser) != Involvement::NotMade)
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

/// Returns the author of the changes that the tools of `uses`, and no other tools, may have made: a human if none of them did, and
/// unknown instead of a human if the changes may be work of checkpoints that cannot be read, or of an event that was not handled.
fn between(context: &Context, uses: &[Use<'_>], called_by: CalledBy) -> Origin {
    let uses: Vec<_> = uses.iter().map(|(session, call)| (*session, *call, involvement(call, called_by))).collect();
    let git_dir = context.repo.git_dir();
    match maker(&uses) {
        // What cannot be looked at may be such work.
        Maker::NoTool if may_have_lost_work(context).unwrap_or(true) || missed::is_noted(git_dir) => unknown(),
        Maker::NoTool => Origin::default(),
        Maker::Unknown => unknown(),
        Maker::Session(session, agent_id) => {
            let session = session_info::peek(context, session);
            session.map_or_else(unknown, |session| of_session(&session, agent_id.map(str::to_owned)))
        }
    }
}

/// Returns true if a session other than `session` uses a tool here that may change any file.
pub(crate) fn is_another_at_work(context: &Context, session: &str) -> bool {
    let is_at_work = |call: &Call| call.paths.is_none() && involvement(call, CalledBy::Agent) != Involvement::NotMade;
    turns_without_stale_calls(context).calls().any(|(its, call)| its != session && is_at_work(call))
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
