//! The start of the work on a base.

use std::collections::HashSet;

use gix::ObjectId;

use super::{chain::shadows, earliest::Earliest, stats};
use crate::{
    error::Result,
    git::{Repo, chain::Chain},
    model::{checkpoint::Checkpoint, refname::Base},
};

/// Returns the start, which counts as verified while nothing is marked: the state before the first change on this base that an
/// agent made, or may have made. It is a checkpoint or the base commit. As long as people have made all changes, it is their first
/// checkpoint.
///
/// # Errors
/// [`Kind::Corrupt`](crate::error::Kind::Corrupt) if a checkpoint on this base cannot be read.
pub(crate) fn start(repo: &Repo) -> Result<Option<ObjectId>> {
    let Some(tip) = shadows::latest_on(repo, Base::of_head(repo.head()?.id))? else { return Ok(None) };
    let earliest = Earliest::up_to(repo, tip.id, &stats::earliest(repo))?;
    Ok(earliest.before_agents.or(earliest.first))
}

/// Decides for checkpoints, newest first, which is the start. Reads only as many earlier ones as each answer needs: a list of the
/// latest does not depend on how many there are.
pub(crate) struct StartSearch<'r> {
    base: Base,
    repo: &'r Repo,
    chain: Chain<'r>,
    passed: HashSet<ObjectId>,
    earliest: Earliest,
}

impl<'r> StartSearch<'r> {
    /// Returns the search in this worktree; none if it has no checkpoint on this base.
    pub(crate) fn new(repo: &'r Repo) -> Result<Option<Self>> {
        let base = Base::of_head(repo.head()?.id);
        let Some(tip) = shadows::latest_on(repo, base)? else { return Ok(None) };
        let chain = repo.chain_in_time(tip.id);
        Ok(Some(Self { base, repo, chain, passed: HashSet::new(), earliest: Earliest::default() }))
    }

    /// Returns true if `checkpoint` is the start; `read` are checkpoints that were read already.
    ///
    /// # Errors
    /// As [`start`]; then no earlier checkpoint is the start.
    pub(crate) fn is_start(&mut self, checkpoint: &Checkpoint, read: &HashSet<ObjectId>) -> Result<bool> {
        if checkpoint.base != self.base || checkpoint.worktree != self.repo.worktree_id() {
            return Ok(false);
        }
        let id = checkpoint.id;
        if self.chain.pass(checkpoint) {
            self.note(checkpoint)?;
        }
        while !self.passed.contains(&id) && self.advance()? {}
        match self.earliest.before_agents {
            Some(before) if before == id => {
                // An agent may have made an earlier change, too.
                while self.earliest.before_agents == Some(id) && self.advance()? {}
                Ok(self.earliest.before_agents == Some(id))
            }
            Some(_) => Ok(false),
            None if self.earliest.first != Some(id) => Ok(false),
            // A chain ends at its base. Without a base, only the last checkpoint shows where it ends.
            None if self.base != Base::Unborn && self.chain.next_id().is_none() => Ok(true),
            // It is asked about next, and passed then.
            None if self.chain.next_id().is_some_and(|next| read.contains(&next)) => Ok(false),
            None => Ok(!self.advance()?),
        }
    }

    /// Passes one more checkpoint; returns false if there is none.
    fn advance(&mut self) -> Result<bool> {
        let Some(checkpoint) = self.chain.next().transpose()? else { return Ok(false) };
        self.note(&checkpoint)?;
        Ok(true)
    }

    fn note(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.passed.insert(checkpoint.id);
        self.earliest.pass(self.repo, checkpoint)
    }
}
