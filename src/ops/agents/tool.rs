//! Takes checkpoints before and after tool calls, each with its author.

use bstr::BString;

use super::{
    super::{
        Context, Worktree, author,
        guard::{self, Verdict, Who},
        named::{self, Occasion},
        reconcile::try_reconcile,
        save::{self, Author, Request, Scope, Taken},
        session_info::{self, add_info, clock, known, sign_of_life as mark_alive},
        sessions::{Opening, note_stashes, seen_here},
        turn,
    },
    event, opening, paths,
    report::{Answer, Message, Reach, Report, Tool},
    sign_of_life,
};
use crate::{
    error::{Kind, Result},
    git::Repo,
    model::{
        change::Change,
        checkpoint::Origin,
        contributor::Contributor,
        event::Event,
        session::{Action, Phase, Session, SessionEvent, UnderWay, transition},
        turns::{Call, Command},
    },
    state::process,
};

/// What to save between two events, and for which author.
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

    /// Returns how to save all changes as those of an unknown author.
    pub(super) fn unknown() -> Self {
        Self::all(author::unknown())
    }

    /// Returns how to save the same in the turn of `session`.
    pub(super) fn in_turn_of(self, session: &str) -> Self {
        Self { turn_of: Some(session.to_owned()), ..self }
    }
}

/// Returns how to save what is unsaved before a commit, if a session has made it, or may have.
pub(crate) fn before_commit(worktree: &Worktree<'_>) -> Result<Option<Saving>> {
    // Even if a person made all other changes, the files that open tool calls name are saved as their sessions'.
    let origin = author::before_commit(worktree)?.or_else(|| named::is_any(worktree).then(Origin::default));
    if worktree.repo.is_rebasing() {
        // The baseline of the turn stays on another base: this is saved outside the turn, with an unknown author.
        return Ok(origin.map(|_| Saving::unknown()));
    }
    Ok(origin.map(|origin| Saving { turn_of: origin.session.clone(), ..Saving::all(origin) }))
}

/// Saves the `staged` files, as the worktree has them, before the commit takes them. The rest stays unsaved: its author can
/// still be inferred later. If the author is unknown, saves everything, so that later changes have a known author.
pub(crate) fn save_before_commit(worktree: &Worktree<'_>, saving: Saving, staged: Vec<Change>) -> Result<()> {
    if saving.is_unknown() {
        save(worktree, &saving)?;
        author::settle(worktree);
    } else {
        save(worktree, &Saving { scope: Scope::Staged(staged), ..saving })?;
    }
    turn::write(worktree)
}

/// Handles the event before a tool call.
pub(super) fn before(worktree: &Worktree<'_>, report: &Report, tool: &Tool, key: &str) -> Result<Answer> {
    // A tool call that the guard denies ends here, before anything is stored. A tool that only reads is allowed.
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
    try_reconcile(worktree)?;
    let reach = reach(&worktree.repo, report, tool);
    if matches!((&tool.reach, &reach), (Reach::Files(_), Inside::Anything)) {
        note_outside(worktree, report);
    }
    let session = known(worktree, &report.session)?;
    let step = transition(session.as_ref().map(|session| session.phase), SessionEvent::Tool);
    let begins = step.actions.contains(&Action::BeginTurn);
    let is_late = begins && is_of_last_turn(session.as_ref(), report);
    if begins && !is_late {
        verdict.notes.extend(opening::begin(worktree, report, Opening::Prompt(None))?);
        note_scan(worktree);
    } else {
        sign_of_life::note(worktree, report)?;
        match &reach {
            Inside::Paths(paths) => boundary(worktree, report, key, Some(paths.clone()))?,
            // If the call is late, people may have made changes since the turn.
            Inside::Anything if tool.may_destroy || is_late || is_scan_due(worktree) => {
                boundary(worktree, report, key, None)?;
            }
            Inside::Anything | Inside::Nothing => {}
        }
    }
    open(worktree, report, tool, &reach, key);
    Ok(allowed(verdict))
}

/// Returns true if the tool is used by a subagent that the agent left in the background when it stopped. It begins no turn,
/// which would stay open: the agent reports no second stop.
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

/// Returns the answer that lets the agent continue: a warning, if `verdict` has something to report.
fn allowed(verdict: Verdict) -> Answer {
    if verdict.report.is_none() && verdict.notes.is_empty() {
        return Answer::Allow;
    }
    Answer::Warn(Message::Guard(Box::new(verdict)))
}

/// Handles the event after a tool call.
pub(super) fn after(worktree: &Worktree<'_>, report: &Report, tool: &Tool, key: &str) -> Result<Answer> {
    // A call that the guard denies ends here, and nothing is saved as the session's.
    let verdict = guard::after_tool(worktree, &who(report, tool, key)).unwrap_or_else(|_| Verdict::allow());
    let reach = reach(&worktree.repo, report, tool);
    if verdict.is_denied() {
        // The guard has archived the changes. They are still in the worktree, and must not count as a person's.
        drop(worktree.emit_failure("guard", save_as_unknown(worktree, &reach)));
        close(worktree, report, tool, key);
        return Ok(Answer::Deny(Message::Guard(Box::new(verdict))));
    }
    if !verdict.is_attributed {
        save_as_unknown(worktree, &Inside::Anything)?;
        close(worktree, report, tool, key);
        return Ok(Answer::Allow);
    }
    let session = match known(worktree, &report.session)? {
        Some(mut session) => {
            add_info(&mut session, &report.info);
            mark_alive(&mut session);
            session_info::store(worktree, &session)?;
            session
        }
        None => begun_unseen(worktree, report)?,
    };
    let origin = Origin { tool: tool_name(tool), ..author::of_session(&session, report.agent_id.clone()) };
    match reach {
        Inside::Nothing => {}
        Inside::Paths(paths) => {
            let (shared, own) = named::part(worktree, &report.session, paths);
            if !shared.is_empty() {
                save_as_unknown(worktree, &Inside::Paths(shared))?;
            }
            let turn_of = Some(report.session.clone());
            drop(save(worktree, &Saving { turn_of, scope: Scope::PathsIfThere(own), ..Saving::all(origin) })?);
        }
        Inside::Anything if author::is_another_at_work(worktree, &report.session) => {
            save_as_unknown(worktree, &Inside::Anything)?;
        }
        Inside::Anything => {
            drop(save(worktree, &Saving::all(origin))?);
        }
    }
    close(worktree, report, tool, key);
    forget_idle(worktree, &session);
    Ok(allowed(verdict))
}

/// Saves what a tool may have changed, with an unknown author: it must not be attributed to a session.
fn save_as_unknown(worktree: &Worktree<'_>, reach: &Inside) -> Result<()> {
    let scope = match reach {
        Inside::Nothing => return Ok(()),
        Inside::Paths(paths) => Scope::PathsIfThere(paths.clone()),
        Inside::Anything => Scope::All,
    };
    save(worktree, &Saving { scope, ..Saving::unknown() }).map(drop)
}

/// Stores a session whose first event is the end of a tool call: its turn has begun, on an unknown state of the worktree.
fn begun_unseen(worktree: &Worktree<'_>, report: &Report) -> Result<Session> {
    let repo = &worktree.repo;
    let mut session = Session::new(&report.session, &repo.worktree_id().to_owned(), clock());
    add_info(&mut session, &report.info);
    seen_here(worktree, &mut session)?;
    mark_alive(&mut session);
    note_stashes(worktree);
    session.turn.number = 1;
    let turn = UnderWay { started: clock(), has_checkpoint: true, ..UnderWay::default() };
    let session = session.with_turn(Some(&turn));
    session_info::store(worktree, &session)?;
    Ok(session)
}

/// Takes an attributed checkpoint of what changed in `paths` (none: anywhere) before the tool call `key`.
pub(super) fn boundary(worktree: &Worktree<'_>, report: &Report, key: &str, paths: Option<Vec<BString>>) -> Result<()> {
    let named = paths.as_ref().map(|paths| texts(paths));
    let origin = author::before(worktree, &report.session, key, named.as_deref());
    let turn_of = origin.session.clone().or_else(|| Some(report.session.clone()));
    let scope = paths.map_or(Scope::All, Scope::PathsIfThere);
    save(worktree, &Saving { turn_of, scope, ..Saving::all(origin) }).map(drop)
}

pub(super) fn save(worktree: &Worktree<'_>, saving: &Saving) -> Result<Taken> {
    let Saving { origin, turn_of, scope } = saving;
    let (author, turn_of, scope) = (Author::Is(origin.clone()), turn_of.clone(), scope.clone());
    let taken = save::save_worktree(worktree, &Request { scope, author, turn_of, ..Request::default() })?;
    if taken.cache.is_some() {
        note_scan(worktree);
    }
    Ok(taken)
}

/// Handles the end of a subagent: what is unsaved is its work if it has a tool in use that may change any file, or if it
/// reports no tools. If it used one that has ended, a person may have made the changes since: their author is unknown, as it is if
/// the user may have refused its commands.
pub(super) fn subagent_stops(worktree: &Worktree<'_>, report: &Report) -> Result<Answer> {
    sign_of_life::note(worktree, report)?;
    let turns = author::open(worktree);
    let own = turns.find(&report.session);
    let calls = || own.into_iter().flat_map(|own| &own.calls).filter(|call| call.agent_id == report.agent_id);
    // A command in the background may be of an earlier turn: what it has changed since is unknown.
    let is_open = calls().any(|call| call.paths.is_none() && !call.is_background);
    if calls().next().is_some() {
        save::save_named(worktree, Occasion::Event)?;
    }
    let session = known(worktree, &report.session)?;
    let account = own.and_then(|own| own.accounts.iter().find(|account| account.agent_id == report.agent_id));
    if let Some(session) = &session
        // Without a turn under way, people may have made the changes.
        && (is_open || session.phase == Phase::Active && account.map_or(!report.reports_all_tools, |it| it.used_anything))
    {
        let its = || author::of_session(session, report.agent_id.clone());
        let is_at_rest = !is_open && account.is_some();
        let is_unknown = is_at_rest || author::commands_may_be_refused(calls());
        let origin = if is_unknown { author::unknown() } else { its() };
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

/// What a tool may change of this worktree.
enum Inside {
    Paths(Vec<BString>),
    Anything,
    Nothing,
}

fn reach(repo: &Repo, report: &Report, tool: &Tool) -> Inside {
    match &tool.reach {
        Reach::Nothing => Inside::Nothing,
        Reach::Anything => Inside::Anything,
        Reach::Files(named) => paths::inside(repo, &report.cwd, named).map_or(Inside::Anything, Inside::Paths),
    }
}

/// Logs that a tool names files outside this worktree; the user gets no warning.
fn note_outside(worktree: &Worktree<'_>, report: &Report) {
    worktree.emit(&Event::Error {
        operation: format!("hook {}", report.agent),
        kind: Kind::User.as_str().into(),
        message: "a tool names a file that is not of this worktree: only what it changes here is saved".into(),
    });
}

/// Returns the tool's name for the checkpoint; none if it has a blank: that marks our own texts, such as `restore <id>`.
fn tool_name(tool: &Tool) -> Option<String> {
    Some(tool.name.clone()).filter(|name| !name.trim().is_empty() && !name.contains(' '))
}

fn texts(paths: &[BString]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

/// Notes that the tool is in use, which the guard may have noted before.
fn open(worktree: &Worktree<'_>, report: &Report, tool: &Tool, reach: &Inside, key: &str) {
    let paths = match reach {
        Inside::Paths(paths) => Some(texts(paths)),
        Inside::Anything => None,
        Inside::Nothing => Some(Vec::new()),
    };
    let (agent_id, id, started) = (report.agent_id.clone(), tool.call.clone(), clock());
    let command = tool.runs_command.then(|| {
        let since = process::own_start().unwrap_or_default();
        let head = worktree.repo.head().ok().and_then(|head| head.id).map(|id| id.to_string());
        Command { agent: process::agent(), since, until: None, began: milliseconds(), head, is_settled: false }
    });
    let call = Call { key: key.to_owned(), id, agent_id, started, paths, command, ..Call::default() };
    // A tool that names files elsewhere may change any file here only while it is open: `used_anything` does not remember it.
    let uses_anything = tool.reach == Reach::Anything;
    worktree.edit_turns(|turns| {
        let own = turns.entry(&report.session);
        own.account(report.agent_id.as_deref()).used_anything |= uses_anything;
        let start = own.calls.iter().find(|it| it.key == key).and_then(|it| it.start.clone());
        own.open(Call { start, ..call });
    });
}

fn close(worktree: &Worktree<'_>, report: &Report, tool: &Tool, key: &str) {
    let uses_anything = tool.reach == Reach::Anything;
    worktree.edit_turns(|turns| {
        let own = turns.entry(&report.session);
        if let Some(at) = event::ended(&own.calls, key) {
            if tool.is_background {
                own.calls[at].leave_running(process::own_start());
            } else {
                own.calls.remove(at);
            }
        }
        own.account(report.agent_id.as_deref()).used_anything |= uses_anything;
    });
}

/// Forgets what `session` has open here, if neither a turn of it nor a tool call is under way.
fn forget_idle(worktree: &Worktree<'_>, session: &Session) {
    if session.under_way.is_none() {
        worktree.edit_turns(|turns| turns.entries.retain(|it| it.id != session.id || !it.calls.is_empty()));
    }
}

fn milliseconds() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

fn note_scan(worktree: &Worktree<'_>) {
    worktree.edit_turns(|turns| turns.scanned = milliseconds());
}

/// Returns true if the last pass over the whole worktree was long enough ago.
fn is_scan_due(context: &Context) -> bool {
    let since = milliseconds() - context.turns().scanned;
    let least = i64::try_from(context.settings.agents.pre_tool_scan.as_millis()).unwrap_or(i64::MAX);
    // If the clock was set back, the time of the last pass says nothing.
    since < 0 || since >= least
}
