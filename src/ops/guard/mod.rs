//! The guard: do two sessions get in each other's way in this worktree?
//!
//! [`before_tool`] checks whether a session may use a tool here: for example, HEAD may be a commit of another live session.
//! [`after_tool`] checks the same for the commit on which the call began: another session may have moved HEAD since. The table
//! in `model::guard` decides what is denied, and `agents::tool` calls both.
//!
//! A call that is allowed leaves a claim: the session's entry in `turns.toml`. The worktree's lock is held meanwhile, so if two
//! sessions begin at once, the second one sees the claim of the first. The guard is on the way of each tool call, so it is
//! cheap: it starts a process only for jj, and reads only the files of sessions that a claim or a commit message names.

mod aside;
mod crashed;
mod facts;
pub(crate) mod managed;
mod scene;
mod who;

use gix::ObjectId;
use serde::Serialize;

use super::{
    Context, Worktree, author,
    session_info::{self, check_id, clock},
};
use crate::{
    config::Concurrency,
    error::Result,
    model::{
        guard::{Decision, Help, Policy, Report, State, Where, decide},
        id_text,
        session::is_valid_id,
        turns::{Call, Start},
    },
    state::{process, sessions},
};
use facts::Finding;
use scene::Scene;

pub(crate) use crashed::{recover, would_be_saved};
pub(crate) use facts::is_silent;
pub use who::Who;

/// The guard's decision about a tool call. Serializes to what `--json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The version of this shape.
    pub version: u32,
    /// Whether the agent may continue.
    pub decision: Decision,
    /// The reason for a denial or a warning.
    pub report: Option<Report>,
    /// Notes for the user that are given once, for example that the process of another session is gone.
    pub notes: Vec<String>,
    /// False if the author of the tool's changes is unknown because the session's file was lost.
    pub is_attributed: bool,
    /// After a denial, the archived checkpoint with the tool's changes.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub kept: Option<ObjectId>,
}

impl Verdict {
    /// Returns the verdict that allows the call and has nothing to report.
    pub(crate) fn allow() -> Self {
        Self { version: 1, decision: Decision::Allow, report: None, notes: Vec::new(), is_attributed: true, kept: None }
    }

    /// Returns true if the agent must not continue.
    pub fn is_denied(&self) -> bool {
        self.decision == Decision::Deny
    }
}

fn policy(context: &Context) -> Policy {
    match context.settings.concurrency {
        Concurrency::Refuse => Policy::Refuse,
        Concurrency::Strict => Policy::Strict,
        Concurrency::Warn => Policy::Warn,
        Concurrency::Off => Policy::Off,
    }
}

/// Decides whether a tool call may begin. If so, adds it to the session's claim on this worktree. A denial changes nothing.
pub fn before_tool(worktree: &Worktree<'_>, who: &Who<'_>) -> Result<Verdict> {
    worktree.emit_failure("guard", judge_before(worktree, who))
}

fn judge_before(worktree: &Worktree<'_>, who: &Who<'_>) -> Result<Verdict> {
    if policy(worktree) == Policy::Off {
        return Ok(Verdict::allow());
    }
    check_id(who.session)?;
    let scene = Scene::now(worktree, None)?;
    let mut others = worktree.turns().entries;
    others.retain(|other| other.id != who.session);
    let findings = facts::before(worktree, who.session, &scene, &others)?;
    let mut verdict = judged(worktree, who.session, Where::Now, &scene, findings);
    if verdict.is_denied() {
        return Ok(verdict);
    }
    verdict.notes = crashed::recover(worktree, who.session)?;
    let start = Start {
        head: scene.head.id.map(|id| id.to_string()),
        log_end: worktree.repo.head_log_end().map(|end| end.to_string()),
        change: scene.at.as_ref().map(|change| change.id.clone()),
        named: facts::named(worktree, who.session, &scene)?,
    };
    let (key, id) = (who.key.to_owned(), who.call.map(Into::into));
    let call = Call { key, id, started: clock(), start: Some(start), ..Call::default() };
    worktree.edit_turns(|turns| {
        let entry = turns.entry(who.session);
        (entry.seen, entry.process) = (clock(), process::agent());
        entry.open(call);
    });
    Ok(verdict)
}

/// Decides whether the changes of a tool call may be saved as the session's. In the session's claim, the call then has ended.
///
/// After a denial, the changes are in the archive, and no shadow has changed.
pub fn after_tool(worktree: &Worktree<'_>, who: &Who<'_>) -> Result<Verdict> {
    worktree.emit_failure("guard", judge_after(worktree, who))
}

fn judge_after(worktree: &Worktree<'_>, who: &Who<'_>) -> Result<Verdict> {
    if policy(worktree) == Policy::Off {
        return Ok(Verdict::allow());
    }
    check_id(who.session)?;
    let start = worktree.edit_turns(|turns| {
        let entry = turns.find_mut(who.session).filter(|entry| entry.has_claim())?;
        entry.seen = clock();
        entry.take_start(who.call)
    });
    let mut verdict = Verdict::allow();
    if let Some(start) = &start {
        let scene = Scene::now(worktree, start.change.as_deref())?;
        let findings = facts::after(worktree, who.session, &scene, start)?;
        verdict = judged(worktree, who.session, Where::Original, &scene, findings);
    }
    if verdict.is_denied() {
        verdict.kept = Some(aside::keep(worktree, who)?);
    }
    if is_lost(worktree, who.session, start.is_some())? {
        verdict.is_attributed = false;
        worktree.edit_turns(|turns| turns.lost = Some(who.session.to_owned()));
    }
    Ok(verdict)
}

/// Returns true if the file of `session` has been lost: it is missing, and it existed when the call began (`has_begun`), or
/// this repository has checkpoints but no session file at all. Otherwise, a session without a file is new.
fn is_lost(context: &Context, session: &str, has_begun: bool) -> Result<bool> {
    let repo = &context.repo;
    if session_info::peek(context, session).is_some() {
        return Ok(false);
    }
    Ok(has_begun || !sessions::has_any(repo.common_dir()) && !repo.refs_of_checkpoints()?.is_empty())
}

/// Removes the claim of `session` on this worktree: it has no tool in use here.
pub fn release(worktree: &Worktree<'_>, session: &str) {
    worktree.edit_turns(|turns| turns.release(session));
}

/// Returns true if the process of `session` died during its turn here, and no tool or background command of it was running.
pub(crate) fn died_in_turn(context: &Context, session: &str) -> bool {
    context
        .turns()
        .find(session)
        .is_some_and(|entry| !author::may_be_at_work(entry) && entry.has_claim() && facts::is_gone(context, entry))
}

/// Returns what `status` reports of this worktree: warnings that agents could not show, and what the guard has found.
pub(crate) fn notes(context: &Context) -> Vec<String> {
    let unsaid = context.turns().unsaid.into_iter().map(|unsaid| {
        let lines: Vec<&str> = unsaid.text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        format!("the agent of the session '{}' could not show: {}", unsaid.session, lines.join(" "))
    });
    unsaid.chain(notes_of_guard(context)).collect()
}

fn notes_of_guard(context: &Context) -> Vec<String> {
    if policy(context) == Policy::Off {
        return Vec::new();
    }
    let lost = context.turns().lost.map(|session| {
        format!("the file of the session '{session}' was lost while its tool ran: the author of the change is unknown")
    });
    lost.into_iter().chain(scene::trouble(context)).collect()
}

/// Returns the verdict on the first of `findings` that the policy does not allow; they are sorted, the worst one first.
fn judged(worktree: &Worktree<'_>, session: &str, context: Where, scene: &Scene, findings: Vec<Finding>) -> Verdict {
    let policy = policy(worktree);
    let mut verdict = Verdict::allow();
    for finding in findings {
        let decision = decide(finding.state, policy);
        if decision != Decision::Allow {
            let other = finding.other.filter(|other| other != session);
            let other_agent = other
                .as_deref()
                .filter(|other| is_valid_id(other))
                .and_then(|other| session_info::peek(worktree, other).and_then(|session| session.agent));
            let is_known = session_info::peek(worktree, session).is_some();
            let help = Help { by_end: is_ended_by_end(finding.state, policy), is_known };
            let report = Report::new(finding.state.code(), decision, context, session, scene.is_jj);
            let report = Report { other_agent, ..report.about(finding.change, other, help) };
            (verdict.decision, verdict.report) = (decision, Some(report));
            break;
        }
    }
    verdict
}

/// Returns true if the policy allows `state` as soon as the other session ends.
fn is_ended_by_end(state: State, policy: Policy) -> bool {
    match state {
        State::Named { is_published, .. } => {
            decide(State::Named { is_live: false, is_published }, policy) == Decision::Allow
        }
        State::Busy => true,
        State::Worktree | State::Temporary | State::Moved { .. } | State::Diverged => false,
    }
}
