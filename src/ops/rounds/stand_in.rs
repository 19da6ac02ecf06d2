//! The sessions that stand in for the agent of a round that reports nothing of itself.

use super::{
    super::{Context, sessions, worktrees},
    copies,
    listing::named,
    workspace,
};
use crate::{error::Result, model::round::Mode};

/// Lets a session stand in for the agent that `round`, an id, was begun for, in each worktree and copy of it, and in its workspace. An agent whose session is
/// known reports that, and a round that no agent was named for may be anyone's: then none does.
///
/// # Errors
/// As `session prompt`: the round goes on.
pub(crate) fn stand_in(context: &Context, round: &str) -> Result<()> {
    let round = named(context, round)?;
    let Some(agent) = round.asked.agent.as_deref().filter(|_| round.asked.session.is_none()) else { return Ok(()) };
    for place in round.places.iter().filter(|place| !place.is_done) {
        let there = match (place.mode, &place.path) {
            (Mode::Worktree, Some(path)) => worktrees::context_in(context, path.as_os_str())?,
            (Mode::Isolated, Some(_)) => match copies::open(context, place)? {
                Some(there) => there,
                None => continue,
            },
            (Mode::Workspace, Some(path)) => match workspace::marked(context, &round, path)? {
                Some(there) => there,
                None => continue,
            },
            _ => continue,
        };
        sessions::stand_in_for_other(&there, agent)?;
    }
    Ok(())
}
