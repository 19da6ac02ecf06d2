//! `round end --group` and `--all`: ends one round after the other, and says what becomes of their branches.

use serde::Serialize;

use super::{
    super::{Context, worktrees},
    end::end,
    ended::{EndOptions, Ended},
    listing::of_group,
    retire::{Fates, LeftBranch, Retired, retire, retire_waiting},
};
use crate::{
    config::BranchPolicy,
    error::{Error, Result},
    state::rounds::{Phase, Round},
};

/// A round that could not be ended, or compared. Serializes to an entry of `failed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Failed {
    /// Its id.
    pub(crate) round: String,
    /// Why.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

impl Failed {
    pub(super) fn of(id: &str, error: &Error) -> Self {
        Self { round: id.to_owned(), message: error.message().to_owned(), hint: error.hint().map(str::to_owned) }
    }
}

/// Rounds that have ended. Serializes to what `round end --group --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct EndedSeveral {
    /// The version of this shape.
    pub(crate) version: u32,
    /// Those that this call has ended.
    pub(crate) rounds: Vec<Ended>,
    /// Those that go on.
    pub(crate) failed: Vec<Failed>,
    /// The branches that are no more.
    pub(crate) retired: Vec<Retired>,
    /// Those that were to be retired, and stay.
    pub(crate) left: Vec<LeftBranch>,
}

/// Ends all rounds of `group`, or of this repository; then lets `policy` decide about their branches, those of rounds of the group
/// included that have ended before. A round that cannot be ended goes on, and so do its branches.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if there is no such group; if the user interrupts it.
pub(crate) fn end_several(
    context: &Context,
    group: Option<&str>,
    policy: BranchPolicy,
    options: &EndOptions,
    run: worktrees::Run<'_>,
) -> Result<EndedSeveral> {
    let all = of_group(context, group)?;
    if let Some(group) = group.filter(|_| all.sound.is_empty()) {
        return Err(Error::user(format!("no round is of the group '{group}'"))
            .with_hint("'git checkpoint round list --all' shows the rounds of this repository"));
    }
    let mut rounds = Vec::new();
    let mut failed: Vec<_> = all.damaged.iter().map(|(id, error)| Failed::of(id, error)).collect();
    for round in all.sound.iter().filter(|round| round.phase != Phase::Ended) {
        context.check_interrupt()?;
        match end(context, &round.id, options, run) {
            Ok(ended) => rounds.push(ended),
            Err(error) => {
                context.check_interrupt()?;
                failed.push(Failed::of(&round.id, &error));
            }
        }
    }
    let mut fates = Fates::default();
    // Without a group, rounds that have ended long ago are no part of the run.
    let is_of_run = |round: &&Round| {
        round.phase == Phase::Ended && (group.is_some() || rounds.iter().any(|ended: &Ended| ended.round == round.id))
    };
    for round in of_group(context, group)?.sound.iter().filter(is_of_run) {
        let Fates { retired, left } = retire(context, &round.id, policy, &|_| true)?;
        fates.retired.extend(retired);
        fates.left.extend(left);
    }
    if policy != BranchPolicy::Keep {
        fates.retired.extend(retire_waiting(context));
    }
    Ok(EndedSeveral { version: 1, rounds, failed, retired: fates.retired, left: fates.left })
}
