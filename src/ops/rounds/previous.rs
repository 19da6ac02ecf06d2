//! `round start --previous`: an agent has one branch. The one of its round before goes once the new round is there.

use super::{
    super::Context,
    options::StartOptions,
    retire::{Fates, LeftBranch, refuse_used, retire, retire_waiting},
};
use crate::{
    config::BranchPolicy,
    error::{Error, Result},
    model::path_text,
    state::rounds::{self, Phase, Round},
};

/// Returns the id of the round that has made the branch which `options` name as that of the round before; none if they name none.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if no round has made it; [`Kind::Refused`](crate::error::Kind::Refused) if it is to go,
/// and is in use elsewhere.
pub(super) fn check(context: &Context, options: &StartOptions) -> Result<Option<String>> {
    let Some(branch) = options.previous.as_deref() else { return Ok(None) };
    let has_made = |round: &Round| round.places.iter().any(|place| place.branch.as_deref() == Some(branch));
    let all = rounds::all(context.repo.common_dir())?.sound;
    let Some(round) = all.into_iter().rev().find(has_made) else {
        let shown = path_text::printable(branch.as_bytes().into());
        return Err(Error::user(format!("no round has made the branch '{shown}'"))
            .with_hint("'git checkpoint round branches' shows those of rounds"));
    };
    let is_of_another =
        round.asked.agent.as_ref().zip(options.agent.as_ref()).is_some_and(|(other, agent)| other != agent);
    if is_of_another && options.previous_policy != BranchPolicy::Keep {
        let other = path_text::printable(round.asked.agent.unwrap_or_default().as_bytes().into());
        return Err(Error::refused(format!("the branch '{branch}' is that of the agent '{other}'"))
            .with_hint("'--previous' takes the branch of the same agent's round before"));
    }
    let has_ended = round.phase == Phase::Ended && options.previous_policy == BranchPolicy::Retire;
    if has_ended || options.previous_policy == BranchPolicy::Delete {
        refuse_used(context, branch)?;
    }
    Ok(Some(round.id))
}

/// Lets the branch of the round before, which the round `previous` has made, go as `options` say. The new round is there whatever
/// happens.
pub(super) fn follow(context: &Context, previous: Option<&str>, options: &StartOptions) -> Fates {
    let mut fates = Fates::default();
    if let Some((id, branch)) = previous.zip(options.previous.as_deref()) {
        fates = retire(context, id, options.previous_policy, &|it| it == branch).unwrap_or_else(|error| {
            let (branch, why) = (branch.to_owned(), error.message().to_owned());
            Fates { left: vec![LeftBranch { branch, why, later: false }], ..Fates::default() }
        });
    }
    fates.retired.extend(retire_waiting(context));
    fates
}
