//! Whether git has made a linked worktree after another one of its name was removed: what the refs of its name lead to is not its own.

use crate::{
    error::Result,
    git::{Repo, worktrees},
    model::refname::{self, ShadowName},
    state,
};

/// How many are a second.
const NANOSECONDS: i64 = 1_000_000_000;

/// What shows whether git has made this worktree after another one of its name was removed.
#[derive(Clone, Copy, Debug)]
struct Signs {
    /// True if one of our files is here that goes when git removes a worktree.
    has_files: bool,
    /// When git made the worktree (Unix seconds); none if that is unknown.
    made: Option<i64>,
    /// The time of the newest operation or checkpoint that the refs of its name lead to; none if there is none to be read.
    last: Option<i64>,
}

impl Signs {
    /// Returns true if what the refs lead to is of a removed worktree. Within one second, the order is unknown: without our files,
    /// a new worktree is more likely than one that has lost them.
    fn is_made_again(self) -> bool {
        !self.has_files && self.made.is_some_and(|made| self.last.is_none_or(|last| last <= made))
    }
}

/// Returns true if this worktree is a linked one in which no command of ours has run yet, and what the refs of its name lead to is
/// of a removed one.
pub(crate) fn is_made_again(repo: &Repo) -> Result<bool> {
    if repo.worktree_id() == "main" || state::has_files_of_worktree(repo.git_dir()) {
        return Ok(false);
    }
    let made = worktrees::made(repo.git_dir()).map(|made| made / NANOSECONDS);
    Ok(Signs { has_files: false, made, last: last(repo)? }.is_made_again())
}

/// Returns the time of the newest operation of this worktree, or of its newest checkpoint; none if none can be read.
fn last(repo: &Repo) -> Result<Option<i64>> {
    // Both may have the date of GIT_COMMITTER_DATE, which is not the real one if it is still to come.
    let now = jiff::Timestamp::now().as_second();
    let newest = repo.operations(repo.worktree_id())?.next().and_then(Result::ok);
    let mut last = newest.map(|entry| if entry.seconds > now { entry.operation.since } else { entry.seconds });
    if last.is_some() {
        return Ok(last);
    }
    for (name, id) in repo.sound_refs(refname::SHADOWS)? {
        if ShadowName::from_ref(&name).is_some_and(|name| name.worktree == repo.worktree_id()) {
            let seconds = repo.find_checkpoint(id).ok().flatten().map(|checkpoint| checkpoint.seconds);
            last = last.max(seconds.filter(|seconds| *seconds <= now));
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::made_since(false, Some(20), Some(10), true)]
    #[case::within_one_second(false, Some(10), Some(10), true)]
    #[case::nothing_says_when(false, Some(20), None, true)]
    #[case::our_files_are_lost(false, Some(10), Some(20), false)]
    #[case::one_file_is_lost(true, Some(20), Some(10), false)]
    #[case::unknown_when_made(false, None, Some(10), false)]
    fn a_worktree_is_made_again(
        #[case] has_files: bool,
        #[case] made: Option<i64>,
        #[case] last: Option<i64>,
        #[case] is_made_again: bool,
    ) {
        assert_eq!(Signs { has_files, made, last }.is_made_again(), is_made_again);
    }
}
