//! `round race`: rounds of one group that begin at one commit. The caller runs one command in each of them; the file of the round says
//! what became of it.

use std::{fs::File, path::PathBuf, sync::Arc};

use bstr::BString;

use super::{
    super::{Context, worktrees},
    end::{end, found},
    ended::{EndOptions, Ended},
    listing::bytes,
    lock::locked,
    names::{check_label, random},
    options::StartOptions,
    retire::retire,
    start::{Started, start},
};
use crate::{
    config::{BranchPolicy, RoundMode},
    error::{Error, Result},
    state::rounds::{self, Place, Ran, Round},
};

/// What to race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RaceOptions {
    /// The directory to work on.
    pub(crate) directory: PathBuf,
    /// What the race is called; none: `race-` and random digits.
    pub(crate) group: Option<String>,
    /// Where the branches begin; none: at HEAD of the directory's worktree.
    pub(crate) base: Option<String>,
    /// For each round, what the agent is called that works in it; none if that is not known.
    pub(crate) agents: Vec<Option<String>>,
}

/// Rounds that have begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Race {
    /// Their group.
    pub(crate) group: String,
    /// The rounds, in the order of their numbers.
    pub(crate) rounds: Vec<Started>,
}

/// Begins the rounds. If one of them cannot begin, the others end, and their branches go.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if the group has rounds already; as [`start`].
pub(crate) fn begin_race(context: &Context, options: &RaceOptions) -> Result<Race> {
    context.repo.name_operation("round race");
    context.emit_failure("round race", try_begin(context, options))
}

fn try_begin(context: &Context, options: &RaceOptions) -> Result<Race> {
    let group = match &options.group {
        Some(group) => {
            check_label("the group", group)?;
            group.clone()
        }
        None => format!("race-{}", random()),
    };
    // HEAD, or a checkpoint that is named by its place, may be another one when the last round begins.
    let base = worktrees::pinned_base(context, &options.directory, options.base.as_deref())?;
    let mut race = Race { group: group.clone(), rounds: Vec::new() };
    for (number, agent) in (1..).zip(&options.agents) {
        let asked = StartOptions {
            contexts: vec![options.directory.clone()],
            mode: Some(RoundMode::Worktree),
            base: Some(base.clone()),
            group: Some(group.clone()),
            agent: agent.clone(),
            is_new_group: number == 1,
            ..StartOptions::default()
        };
        let begun = start(context, &asked).and_then(|started| {
            let noted = note(context, &started.round, Ran { number, status: None, duration_ms: None });
            race.rounds.push(started);
            noted
        });
        if let Err(error) = begun {
            return Err(take_back(context, &race, error));
        }
    }
    Ok(race)
}

/// Ends the rounds of `race`, lets the branches go of those in which nothing has happened, and forgets these: if that is all of them,
/// the name of the group is free again. Returns `error`.
pub(crate) fn take_back(context: &Context, race: &Race, error: Error) -> Error {
    let calm = uninterrupted(context);
    let context = calm.as_ref().unwrap_or(context);
    let (options, mut is_left) = (EndOptions { no_teardown: true, ..EndOptions::default() }, false);
    let mut none = |_: &worktrees::Step<'_>| Err(Error::internal("no command is to run"));
    for started in &race.rounds {
        let ended = end(context, &started.round, &options, &mut none);
        match ended.and_then(|ended| forget_unused(context, &ended)) {
            Ok(is_forgotten) => is_left |= !is_forgotten,
            Err(again) => {
                tracing::warn!(error = %again, round = %started.round, "it goes on");
                is_left = true;
            }
        }
    }
    if is_left {
        let hint = format!("some rounds stay: 'git checkpoint round list --all --group {}' shows them", race.group);
        return error.with_hint(hint);
    }
    error
}

/// Returns the same context, whose work no signal that has come ends.
fn uninterrupted(context: &Context) -> Option<Context> {
    let mut calm = context.with_repo(context.repo.open_worktree(context.repo.worktree_root()).ok()?);
    calm.interrupt_by(Arc::default());
    Some(calm)
}

/// Lets the branches of the round that has `ended` go, and forgets it, unless there is something in it; returns whether it has.
fn forget_unused(context: &Context, ended: &Ended) -> Result<bool> {
    let is_unused = |round: &Round| {
        let is_as_made = |place: &Place| {
            let tip = place.committed.as_ref().map(|it| it.tip.to_string());
            // An agent, or the user, may have committed to it.
            tip.is_some() && tip == place.base
        };
        ended.contexts.iter().all(|it| it.commit.is_none() && it.archive.is_none() && it.ignored.is_empty())
            && round.places.iter().all(is_as_made)
    };
    if !is_unused(&locked(context, &ended.round)?.1) {
        return Ok(false);
    }
    retire(context, &ended.round, BranchPolicy::Delete, &|_| true)?;
    let (_lock, round) = locked(context, &ended.round)?;
    if round.places.iter().any(|place| place.retired.is_none()) {
        return Ok(false);
    }
    round.forget(context.repo.common_dir())?;
    Ok(true)
}

/// Notes in the file of the round `id` what is known of its command.
///
/// # Errors
/// As [`locked`]; if the file cannot be written.
pub(crate) fn note(context: &Context, id: &str, ran: Ran) -> Result<()> {
    let (_lock, mut round) = locked(context, id)?;
    round.ran = Some(ran);
    round.write(context.repo.common_dir())
}

/// Returns the root of the worktree of the round `id`, wherever it was moved; none if it is gone.
///
/// # Errors
/// If the file of the round, or git's registrations, cannot be read.
pub(crate) fn root_of(context: &Context, id: &str) -> Result<Option<PathBuf>> {
    let Some(round) = rounds::read(context.repo.common_dir(), id)? else { return Ok(None) };
    let Some(place) = round.places.first() else { return Ok(None) };
    Ok(found(context, place)?.map(|found| found.path))
}

/// Makes the file for what the command of the round `id` prints, and returns it with its path.
///
/// # Errors
/// If it is there already, or cannot be made.
pub(crate) fn make_log(context: &Context, id: &str) -> Result<(File, BString)> {
    let common = context.repo.common_dir();
    Ok((rounds::make_log(common, id)?, bytes(&rounds::log_file(common, id))))
}
