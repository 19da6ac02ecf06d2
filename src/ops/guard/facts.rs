//! Finds the conditions that the guard's table decides about, from refs, commit messages and claims.

use std::time::Duration;

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::scene::Scene;
use crate::{
    error::Result,
    git::Repo,
    model::{
        guard::State,
        marks::{self, Mark},
        process::{self, Process},
        session::{Phase, is_valid_id},
        turns::{Entry, Start},
    },
    ops::{
        Context, author,
        session_info::{self, clock},
    },
    state::{owner::owner, process::life},
};

/// A finding: the state of the worktree, and the session it concerns.
pub(super) struct Finding {
    pub(super) state: State,
    /// The commit at HEAD, or jj's change.
    pub(super) change: Option<String>,
    /// A session.
    pub(super) other: Option<String>,
}

/// A commit or change that a tool call would build on, and what its message says.
struct StartPoint {
    /// Its name for messages.
    name: String,
    commit: Option<ObjectId>,
    mark: Mark,
}

/// Returns the findings before a tool call of `session`, the worst first.
pub(super) fn before(context: &Context, session: &str, scene: &Scene, others: &[Entry]) -> Result<Vec<Finding>> {
    let repo = &context.repo;
    let mut findings = Vec::new();
    let is_linked = repo.worktree_id() != "main";
    // One that works elsewhere by now has left it.
    let is_here = |id: &str| session_info::peek(context, id).is_none_or(|known| known.is_in(repo.worktree_id()));
    let is_anothers = |owner: &String| owner != session && is_here(owner);
    if let Some(other) = is_linked.then(|| owner(repo.git_dir())).flatten().filter(is_anothers) {
        findings.push(Finding { state: State::Worktree, change: current(scene), other: Some(other) });
    }
    findings.extend(on_checkpoint(repo, scene)?);
    for point in start_points(repo, session, scene)? {
        let (state, other) = match point.mark {
            Mark::Plain => continue,
            Mark::Temporary(other) => (State::Temporary, other),
            Mark::Session(other) => {
                let is_live = is_live(context, &other);
                // The table needs this only for live sessions.
                let is_published = is_live && is_published(repo, point.commit)?;
                (State::Named { is_live, is_published }, Some(other))
            }
        };
        findings.push(Finding { state, change: Some(point.name), other });
    }
    let is_busy = |other: &&Entry| other.is_at_work() && !is_gone(context, other);
    if let Some(other) = others.iter().find(is_busy) {
        findings.push(Finding { state: State::Busy, change: current(scene), other: Some(other.id.clone()) });
    }
    Ok(findings)
}

/// Returns the findings after a tool call of `session` that began at `start`.
pub(super) fn after(context: &Context, session: &str, scene: &Scene, start: &Start) -> Result<Vec<Finding>> {
    let repo = &context.repo;
    let mut findings = Vec::new();
    let is_moved = scene.head.id.map(|id| id.to_string()) != start.head;
    if is_moved {
        findings.extend(on_checkpoint(repo, scene)?);
    }
    let mut points = of_jj(session, scene.at.iter().chain(&scene.original));
    if is_moved && !scene.is_jj_current() {
        points.extend(of_head(repo, session, scene)?);
    }
    for point in points {
        let (state, other) = match point.mark {
            Mark::Temporary(other) => (State::Temporary, other),
            // What was already so at the start is not this call's doing.
            Mark::Session(other) if Some(&other) != start.named.as_ref() => {
                (State::Moved { is_published: is_published(repo, point.commit)? }, Some(other))
            }
            Mark::Plain | Mark::Session(_) => continue,
        };
        findings.push(Finding { state, change: Some(point.name), other });
    }
    if scene.original.len() > 1 {
        findings.push(Finding { state: State::Diverged, change: start.change.clone(), other: None });
    }
    Ok(findings)
}

/// Returns the other session named by the commit or change that a tool call begins at.
pub(super) fn named(context: &Context, session: &str, scene: &Scene) -> Result<Option<String>> {
    let named = |point: StartPoint| match point.mark {
        Mark::Session(other) => Some(other),
        Mark::Plain | Mark::Temporary(_) => None,
    };
    Ok(start_points(&context.repo, session, scene)?.into_iter().find_map(named))
}

fn current(scene: &Scene) -> Option<String> {
    let change = scene.at.as_ref().map(|change| change.id.clone());
    change.or_else(|| scene.head.id.map(|id| id.to_string()))
}

fn start_points(repo: &Repo, session: &str, scene: &Scene) -> Result<Vec<StartPoint>> {
    let mut points = of_jj(session, scene.at.iter());
    if !scene.is_jj_current() {
        points.extend(of_head(repo, session, scene)?);
    }
    Ok(points)
}

fn of_jj<'c>(session: &str, changes: impl Iterator<Item = &'c crate::git::jj::Change>) -> Vec<StartPoint> {
    let point = |change: &crate::git::jj::Change| StartPoint {
        name: change.id.clone(),
        commit: change.commit(),
        mark: marks::read(&change.description, session),
    };
    changes.map(point).collect()
}

fn of_head(repo: &Repo, session: &str, scene: &Scene) -> Result<Option<StartPoint>> {
    let Some(id) = scene.head.id else { return Ok(None) };
    let mark = repo.with_commit(id, |commit| marks::read(&commit.message.to_str_lossy(), session))?;
    Ok(Some(StartPoint { name: id.to_string(), commit: Some(id), mark }))
}

/// Finds out whether HEAD is detached at a checkpoint, which a user may have checked out to look at it.
fn on_checkpoint(repo: &Repo, scene: &Scene) -> Result<Option<Finding>> {
    let Some(id) = scene.head.id.filter(|_| scene.head.branch.is_none()) else { return Ok(None) };
    let checkpoint = repo.checkpoint(id)?;
    if checkpoint.is_none() && !repo.refs_of_checkpoints()?.iter().any(|(_, tip)| *tip == id) {
        return Ok(None);
    }
    let other = checkpoint.and_then(|checkpoint| checkpoint.origin.session);
    Ok(Some(Finding { state: State::Temporary, change: Some(id.to_string()), other }))
}

fn is_published(repo: &Repo, commit: Option<ObjectId>) -> Result<bool> {
    match commit.filter(|id| repo.has_object(*id)) {
        Some(id) => repo.is_published(id),
        None => Ok(false),
    }
}

/// Returns true if the process `who`, last seen at `seen`, is gone.
pub(crate) fn is_silent(context: &Context, who: Option<&Process>, seen: i64) -> bool {
    let stale_after: Duration = context.settings.stale_after;
    process::is_gone(life(who), seen, clock(), stale_after)
}

/// Returns true if the session of `entry` has used a tool here, or reports none in its turn, and is gone.
pub(super) fn is_gone(context: &Context, entry: &Entry) -> bool {
    let has_left = entry.has_claim() && is_silent(context, entry.process.as_ref(), entry.seen);
    has_left || author::was_killed_in_silence(context, entry)
}

/// Returns true if the session `id` may still be running, in this worktree or elsewhere.
fn is_live(context: &Context, id: &str) -> bool {
    if !is_valid_id(id) {
        return false;
    }
    if context.turns().find(id).is_some_and(|entry| entry.has_claim() && !is_gone(context, entry)) {
        return true;
    }
    let session = session_info::peek(context, id).filter(|session| session.phase != Phase::Ended);
    session.is_some_and(|session| !is_silent(context, session.process.as_ref(), session.last_seen))
}
