//! A worktree that was removed: what is to be done about one whose removal was interrupted, and where its HEAD goes when it is
//! restored.

use gix::ObjectId;
use serde::Serialize;

/// Where the parts of a removed worktree are. A removal first moves the root aside, then git's directory of it; a restore moves
/// them back in the other order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The root was there when the worktree was removed.
    pub(crate) has_tree: bool,
    /// The root was moved aside.
    pub(crate) tree_is_aside: bool,
    /// Git's directory was moved aside.
    pub(crate) admin_is_aside: bool,
    /// Git's directory is in its place, with the lock of the removal.
    pub(crate) is_held: bool,
    /// Nothing is where the root was.
    pub(crate) is_free: bool,
}

/// What to do about a removed worktree before anything else is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing.
    Leave,
    /// Move the root back to its place: a removal, or a restore, was killed.
    PutBack,
    /// Forget it: everything is in its place.
    Forget,
}

impl Parts {
    /// Decides what to do.
    pub(crate) fn next(self) -> Next {
        match (self.tree_is_aside, self.admin_is_aside) {
            (false, false) => Next::Forget,
            (true, false) if self.has_tree && self.is_held && self.is_free => Next::PutBack,
            (true, _) | (false, true) => Next::Leave,
        }
    }
}

/// What HEAD of a restored worktree points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadAgain {
    /// To what it pointed to.
    AsBefore,
    /// To its branch, which is made again.
    NewBranch,
    /// To the commit that it was at, without a branch.
    Detached(WhyDetached),
}

/// Why a restored worktree has no branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WhyDetached {
    /// The branch has another commit now: with it, all that this commit changed would count as staged the other way round.
    Moved,
    /// The branch is checked out in another worktree.
    Elsewhere,
}

/// Decides what HEAD of a worktree is restored to that was at the commit `head`, on a branch if `has_branch`. That branch is at
/// `now` (none: it is gone), and checked out in another worktree if `is_elsewhere`.
pub(crate) fn head_again(
    has_branch: bool,
    head: Option<ObjectId>,
    now: Option<ObjectId>,
    is_elsewhere: bool,
) -> HeadAgain {
    match (head, now) {
        (None, _) => HeadAgain::AsBefore,
        _ if !has_branch => HeadAgain::AsBefore,
        _ if is_elsewhere => HeadAgain::Detached(WhyDetached::Elsewhere),
        (Some(_), None) => HeadAgain::NewBranch,
        (Some(head), Some(now)) if head == now => HeadAgain::AsBefore,
        (Some(_), Some(_)) => HeadAgain::Detached(WhyDetached::Moved),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::removed([true, true, true, false, true], Next::Leave)]
    #[case::not_begun([true, false, false, false, false], Next::Forget)]
    #[case::not_begun_but_locked([true, false, false, true, false], Next::Forget)]
    #[case::killed_half_way([true, true, false, true, true], Next::PutBack)]
    #[case::something_else_is_there([true, true, false, true, false], Next::Leave)]
    #[case::another_one_has_its_id([true, true, false, false, true], Next::Leave)]
    #[case::only_its_root_is_back([true, false, true, false, false], Next::Leave)]
    #[case::pruned([false, false, true, false, true], Next::Leave)]
    #[case::pruned_and_back([false, false, false, false, false], Next::Forget)]
    fn an_interrupted_removal_goes_back(#[case] facts: [bool; 5], #[case] expected: Next) {
        let [has_tree, tree_is_aside, admin_is_aside, is_held, is_free] = facts;
        assert_eq!(Parts { has_tree, tree_is_aside, admin_is_aside, is_held, is_free }.next(), expected);
    }

    #[rstest]
    #[case::detached(false, Some('a'), None, false, HeadAgain::AsBefore)]
    #[case::no_commit_yet(true, None, None, false, HeadAgain::AsBefore)]
    #[case::as_it_was(true, Some('a'), Some('a'), false, HeadAgain::AsBefore)]
    #[case::branch_deleted(true, Some('a'), None, false, HeadAgain::NewBranch)]
    #[case::branch_moved(true, Some('a'), Some('b'), false, HeadAgain::Detached(WhyDetached::Moved))]
    #[case::elsewhere(true, Some('a'), Some('a'), true, HeadAgain::Detached(WhyDetached::Elsewhere))]
    #[case::elsewhere_unborn(true, Some('a'), None, true, HeadAgain::Detached(WhyDetached::Elsewhere))]
    fn head_is_where_the_files_are(
        #[case] has_branch: bool,
        #[case] head: Option<char>,
        #[case] now: Option<char>,
        #[case] is_elsewhere: bool,
        #[case] expected: HeadAgain,
    ) {
        let id = |digit: char| ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).expect("40 digits");
        assert_eq!(head_again(has_branch, head.map(id), now.map(id), is_elsewhere), expected);
    }
}
