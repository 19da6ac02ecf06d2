//! Decides what a restore has to expect, before anything is saved for it.

use bstr::{BString, ByteSlice as _};

use super::{
    before::{Outlook, Sight},
    planned::Planned,
    snapshot::{self, Snapshot},
};
use crate::{
    error::Result,
    git::{Repo, check_blobs::ReadAhead, checkout::Checkout},
    model::{plan::Group, step::Step},
    state::temporary,
};

impl Planned {
    /// Returns what the restore of `target` in `sight` has to expect; all content that it needs is then read, from `repo`. With
    /// `has_other_work`, it has something to do besides this plan.
    pub(super) fn outlook(
        &self,
        repo: &Repo,
        sight: Sight<'_>,
        target: &Snapshot,
        has_other_work: bool,
    ) -> Result<Outlook> {
        if !(has_other_work || self.has_work(sight.repo)?) {
            return Ok(Outlook::Undecided);
        }
        Ok(self.verify(repo, sight, target).map_or_else(Outlook::Refused, Outlook::Work))
    }

    /// Returns true if something surely is left to do. Trusts the plan, which has just been made: reads no file and runs no filter.
    fn has_work(&self, repo: &Repo) -> Result<bool> {
        let mut checkout = Checkout::open(repo.worktree_root(), &temporary::random())?;
        let mut is_absent = |path: &BString| matches!(checkout.stat(path.as_bstr()), Ok(None));
        let mut is_still_to_do = |step: &Step| step.before.is_some() || is_absent(&step.path);
        // What replaces a directory, or the reverse, may find a file in its way that no checkpoint has.
        let is_swap = |group: &Group| !(group.clears.is_empty() || group.writes.is_empty());
        let mut groups = self.plan.groups.iter().filter(|group| !is_swap(group));
        Ok(self.staging.as_ref().is_some_and(|staging| !staging.is_empty())
            || groups.any(|group| group.steps().all(&mut is_still_to_do))
            || self.directories.iter().any(is_absent))
    }

    /// Makes sure that all content can be read. What only the save will write, the repository of `sight` has.
    fn verify(&self, repo: &Repo, sight: Sight<'_>, target: &Snapshot) -> Result<ReadAhead> {
        snapshot::verify_there(sight.repo, target.id, &self.plan)?;
        if let Some(staging) = &self.staging {
            staging.verify(sight.repo)?;
        }
        snapshot::verify_stored(repo, target.id, &self.plan)
    }
}
