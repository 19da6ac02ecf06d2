//! The start of the work on a base.

use gix::ObjectId;

use super::{chain::shadows, restored_target::restored};
use crate::{
    error::Result,
    git::Repo,
    model::{contributor::Contributor, refname::Base},
};

/// Returns the start, which counts as verified while nothing is marked: the state before the first change on this base that an
/// agent made, or may have made. It is a checkpoint or the base commit. As long as people have made all changes, it is their first
/// checkpoint.
///
/// # Errors
/// [`Kind::Corrupt`](crate::error::Kind::Corrupt) if a checkpoint on this base cannot be read.
pub(crate) fn start(repo: &Repo) -> Result<Option<ObjectId>> {
    let Some(tip) = shadows::latest_on(repo, Base::of_head(repo.head()?.id))? else { return Ok(None) };
    let (mut before_agents, mut first) = (None, None);
    for checkpoint in repo.chain_in_time(tip.id) {
        let checkpoint = checkpoint?;
        // What a restore has put back is the user's.
        if checkpoint.origin.contributor != Contributor::Human && restored(&checkpoint.origin).is_none() {
            before_agents = Some(checkpoint.before_id());
        }
        first = Some(checkpoint.id);
    }
    Ok(before_agents.or(first))
}
