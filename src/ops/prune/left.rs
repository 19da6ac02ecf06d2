//! Finds the live shadows that were left behind.

use std::collections::{HashMap, HashSet};

use crate::{
    error::Result,
    model::refname::{Base, ShadowName},
    ops::{Context, chain::timeline::Tip, known_base::known_base},
};

/// When a shadow was set aside or, if it was left behind, when its last checkpoint was taken, in Unix seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Since {
    Known(i64),
    /// The time was set by `GIT_COMMITTER_DATE`, and says nothing of its age.
    Set(i64),
}

impl Since {
    /// Returns the time.
    pub(super) fn seconds(self) -> i64 {
        match self {
            Self::Known(seconds) | Self::Set(seconds) => seconds,
        }
    }
}

/// Returns those of the `live` shadows that were left behind, by ref, with the time of their last checkpoint: those of this worktree, or
/// of a removed one, on a commit at which neither HEAD nor a branch is. Work on a branch may go on at its tip, whenever that is.
pub(super) fn left_behind(context: &Context, live: &[Tip]) -> Result<HashMap<String, Since>> {
    let (repo, mut left) = (&context.repo, HashMap::new());
    // HEAD goes back when the rebase ends. If a branch cannot be read, it may be anywhere.
    let Ok(branches) = repo.refs_below("refs/heads/") else { return Ok(left) };
    if repo.is_rebasing() {
        return Ok(left);
    }
    let mut in_use: HashSet<Base> = branches.into_iter().map(|(_, id)| Base::Commit(id)).collect();
    in_use.insert(Base::of_head(repo.head()?.id));
    // The next command carries the work from there to HEAD.
    in_use.extend(known_base(context));
    for tip in live {
        let Some(name) = ShadowName::from_ref(&tip.name) else { continue };
        let worktree = name.worktree.as_ref();
        let is_here = worktree == repo.worktree_id() || repo.has_lost_worktree(worktree);
        if !is_here || in_use.contains(&name.base) {
            continue;
        }
        // What cannot be read stays; `doctor` sees to it.
        if let Ok(Some(checkpoint)) = repo.find_checkpoint(tip.id) {
            let since = if checkpoint.micros == 0 { Since::Set } else { Since::Known };
            left.insert(tip.name.clone(), since(checkpoint.seconds));
        }
    }
    Ok(left)
}
