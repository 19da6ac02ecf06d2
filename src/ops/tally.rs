//! What a chain of checkpoints adds up to, remembered so that `status` need not walk all of it again.
//!
//! A chain never changes below its tip, so what was counted once stays true for every tip that grows from there.

use gix::ObjectId;
use serde::{Deserialize, Serialize};

use super::status::SessionStatus;
use crate::{error::Result, git::Repo, model::checkpoint::Checkpoint, state};

/// From this many checkpoints on that had to be walked, the result is kept.
const WORTH_KEEPING: usize = 64;

/// The sum of a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    /// The last checkpoint, in hexadecimal digits.
    tip: String,
    /// How many checkpoints there are.
    pub(super) checkpoints: usize,
    /// When the last one was taken, in Unix seconds.
    pub(super) tip_time: i64,
    /// The sessions that took them, the one that came last first.
    pub(super) sessions: Vec<SessionStatus>,
}

impl Tally {
    /// Returns the sum of the chain that ends with `tip`.
    pub(super) fn of_chain(repo: &Repo, tip: ObjectId) -> Result<Self> {
        let path = state::directory(repo.git_dir()).join("tally");
        // A file that is torn, or of another version, is as good as none.
        let kept: Option<Self> = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let mut tally = Self { tip: tip.to_string(), ..Self::default() };
        let mut walked = 0;
        for checkpoint in repo.chain(tip) {
            let checkpoint = checkpoint?;
            if let Some(kept) =
                kept.as_ref().filter(|kept| kept.checkpoints > 0 && checkpoint.id.to_string() == kept.tip)
            {
                tally.append(kept);
                break;
            }
            tally.add(checkpoint);
            walked += 1;
        }
        if walked >= WORTH_KEEPING {
            let text = serde_json::to_vec(&tally).unwrap_or_default();
            if let Err(error) = state::replace_file(&path, &text) {
                tracing::debug!(%error, "not kept for the next time");
            }
        }
        Ok(tally)
    }

    fn add(&mut self, checkpoint: Checkpoint) {
        self.checkpoints += 1;
        if self.checkpoints == 1 {
            self.tip_time = checkpoint.seconds;
        }
        let Some(id) = checkpoint.origin.session else { return };
        match self.sessions.iter_mut().find(|session| session.id == id) {
            Some(session) => session.checkpoints += 1,
            None => self.sessions.push(SessionStatus {
                id,
                agent: checkpoint.origin.agent,
                model: checkpoint.origin.model,
                turn: checkpoint.origin.turn,
                checkpoints: 1,
                last_seen: checkpoint.seconds,
            }),
        }
    }

    /// Adds what `earlier` counted below the checkpoints counted here.
    fn append(&mut self, earlier: &Self) {
        if self.checkpoints == 0 {
            self.tip_time = earlier.tip_time;
        }
        self.checkpoints += earlier.checkpoints;
        for session in &earlier.sessions {
            match self.sessions.iter_mut().find(|later| later.id == session.id) {
                Some(later) => later.checkpoints += session.checkpoints,
                None => self.sessions.push(session.clone()),
            }
        }
    }
}
