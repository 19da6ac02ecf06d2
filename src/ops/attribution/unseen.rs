//! Finds commits that no writing command of git-checkpoint has seen yet.

use std::collections::HashSet;

use gix::ObjectId;

use super::super::{
    Context,
    arrived::links_to_come,
    chain::shadows,
    condense::{Made, has_work_on},
    known_base::known_head,
    provenance::recorded,
    records::{Log, evidence},
};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{
        head_move::{HeadMove, LogEnd},
        refname::Base,
    },
};

/// How many of the last commits that were made here we compare with records.
const MOST_COMPARED: usize = 16;

/// Returns the commits since we last looked at HEAD to which the next command that writes may link records: those that were made
/// on uncommitted work of a session, those that repeat work of other commits, and those that a forge has made of them.
pub(super) fn unseen_commits(context: &Context) -> Result<HashSet<ObjectId>> {
    let head = context.repo.head()?.id;
    let Some(known) = known_head(context).filter(|(known, _)| *known != Base::of_head(head)) else {
        return Ok(HashSet::new());
    };
    let mut unseen = repeating_commits(context, head, known).or_else(|error| {
        context.check_interrupt()?;
        tracing::warn!(%error, "cannot compare the last commits with records");
        Ok(HashSet::new())
    })?;
    unseen.extend(commits_on_work(context, head, known.0)?);
    let arrived = links_to_come(context).or_else(|error| {
        context.check_interrupt()?;
        tracing::warn!(%error, "cannot compare commits of others with records");
        Ok(Vec::new())
    })?;
    unseen.extend(arrived.into_iter().map(|link| link.commit));
    Ok(unseen)
}

/// Returns the commits that were made on uncommitted work of a session since HEAD was at `known`.
fn commits_on_work(context: &Context, head: Option<ObjectId>, known: Base) -> Result<HashSet<ObjectId>> {
    let repo = &context.repo;
    if !has_work_on(repo, known).unwrap_or(false) {
        return Ok(HashSet::new());
    }
    // A broken shadow is no evidence.
    let Ok(Some(last)) = shadows::latest_on(repo, known) else { return Ok(HashSet::new()) };
    let mut unseen = commits_since(repo, head, last.seconds)?;
    if let Base::Commit(known) = known {
        // Of two commits in one second, the clock does not say which is older: what `known` builds on was made before the work.
        for seen in commits_since(repo, Some(known), last.seconds).unwrap_or_default() {
            unseen.remove(&seen);
        }
    }
    Ok(unseen)
}

/// Returns the commits made since HEAD was at `known` that have work of commits with records again, as
/// `ops::reconcile` will find: an amend, for example, or a squash or cherry-pick that a person changed. Leaves
/// out those that have records already, and exact copies, which need none.
fn repeating_commits(
    context: &Context,
    head: Option<ObjectId>,
    known: (Base, Option<LogEnd>),
) -> Result<HashSet<ObjectId>> {
    let repo = &context.repo;
    let mut found = HashSet::new();
    let (Some(head), Some(log)) = (head, Log::open(repo)?) else { return Ok(found) };
    let (moves, _) = repo.head_moves(known, head)?;
    let made: Vec<&HeadMove> = moves.iter().filter(|moved| moved.kind.makes_commit()).collect();
    for moved in &made[made.len().saturating_sub(MOST_COMPARED)..] {
        if !repo.is_commit(moved.to)? || !log.linked_to(moved.to)?.is_empty() {
            continue;
        }
        let same = log.of_change(moved.to)?;
        if !same.copied.is_empty() && !same.is_doubtful {
            continue;
        }
        let made = Made::by(repo, moved)?;
        let amends_recorded = match made.amended() {
            Some(amended) => found.contains(&amended) || !evidence::of_commit(repo, amended)?.is_empty(),
            None => false,
        };
        let repeats = || {
            let again = recorded::records_again_in(context, made.base.commit_id(), made.commit, true)?;
            Ok::<_, Error>(!again.certain.is_empty() || !again.perhaps.is_empty())
        };
        if amends_recorded || repeats()? {
            found.insert(made.commit);
        }
    }
    Ok(found)
}

/// Returns `commit` and its first parents, down to the first that is older than `seconds`.
fn commits_since(repo: &Repo, commit: Option<ObjectId>, seconds: i64) -> Result<HashSet<ObjectId>> {
    let (mut found, mut next) = (HashSet::new(), commit);
    while let Some(commit) = next {
        let Some((parent, _)) = repo.parent_and_time(commit)?.filter(|(_, made)| *made >= seconds) else { break };
        found.insert(commit);
        next = parent;
    }
    Ok(found)
}
