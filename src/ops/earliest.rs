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
            earliest.pass(&checkpoint);
        }
        Ok(earliest)
    }

    /// Goes on to `checkpoint`, which is the one before.
    pub(super) fn pass(&mut self, checkpoint: &Checkpoint) {
        // What a restore has put back is the user's.
        if checkpoint.origin.contributor != Contributor::Human && restored(&checkpoint.origin).is_none() {
            self.before_agents = Some(checkpoint.before_id());
        }
        self.first = Some(checkpoint.id);
    }
}
