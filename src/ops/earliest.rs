//! What a checkpoint and all before it in time say of the start of the work. For one checkpoint, the answer never changes, so that it
//! can be cached.

use std::collections::HashMap;

use gix::ObjectId;
use serde::{Deserialize, Serialize};

use super::restored_target::restored;
use crate::{
    error::Result,
    git::Repo,
    model::{checkpoint::Checkpoint, contributor::Contributor, id_text},
};

/// The earliest of some checkpoints that follow each other in time, newest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Earliest {
    /// The checkpoint that was passed last; none if none was passed.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "id_text::optional")]
    pub(super) first: Option<ObjectId>,
    /// The state before the earliest change that an agent made, or may have made.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "id_text::optional")]
    pub(super) before_agents: Option<ObjectId>,
}

impl Earliest {
    /// Returns what `tip` and all checkpoints before it in time say. Stops at the first one that `known` has an answer for.
    ///
    /// # Errors
    /// [`Kind::Corrupt`](crate::error::Kind::Corrupt) if a checkpoint cannot be read.
    pub(super) fn up_to(repo: &Repo, tip: ObjectId, known: &HashMap<ObjectId, Self>) -> Result<Self> {
        let mut earliest = Self::default();
        for checkpoint in repo.chain_in_time(tip) {
            let checkpoint = checkpoint?;
            if let Some(earlier) = known.get(&checkpoint.id) {
                let before_agents = earlier.before_agents.or(earliest.before_agents);
                return Ok(Self { first: earlier.first, before_agents });
            }
            earliest.pass(repo, &checkpoint)?;
        }
        Ok(earliest)
    }

    /// Goes on to `checkpoint`, which is the one before.
    pub(super) fn pass(&mut self, repo: &Repo, checkpoint: &Checkpoint) -> Result<()> {
        if is_of_agent(repo, checkpoint)? {
            self.before_agents = Some(checkpoint.before_id());
        }
        self.first = Some(checkpoint.id);
        Ok(())
    }
}

/// Returns true if an agent made the change, or may have. What a restore has put back is the user's; but if it was carried forward
/// together with the changes of an agent, these count.
fn is_of_agent(repo: &Repo, checkpoint: &Checkpoint) -> Result<bool> {
    let is_own = |it: &Checkpoint| it.origin.contributor != Contributor::Human && restored(&it.origin).is_none();
    let carried_of = |it: &Checkpoint| it.origin.carried.filter(|_| it.origin.contributor != Contributor::Human);
    if is_own(checkpoint) {
        return Ok(true);
    }
    let mut tips: Vec<ObjectId> = carried_of(checkpoint).into_iter().collect();
    while let Some(tip) = tips.pop() {
        for checkpoint in repo.chain_in_time(tip) {
            let checkpoint = checkpoint?;
            if is_own(&checkpoint) {
                return Ok(true);
            }
            tips.extend(carried_of(&checkpoint));
        }
    }
    Ok(false)
}
