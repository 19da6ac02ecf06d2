//! A worktree that was removed: what is to be done about one whose removal was interrupted, and where its HEAD goes when it is
//! restored.

use gix::ObjectId;
use serde::Serialize;

/// Where the root of a removed worktree is. A removal first moves the root aside, then git's directory of it; a restore moves them
/// back in the other order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// It was gone before: only git's directory was moved.
    WasGone,
    /// It is aside.
    Aside,
    /// It is not aside, in a folder of ours, or on another file system, which is mounted.
    NotAside,
    /// It is not seen where it would be aside, on another file system, which may not be mounted.
    NotSeen,
}

/// What is in the place of the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InPlace {
    /// Nothing.
    Nothing,
    /// A worktree that git's directory and the record name.
    Worktree,
    /// Something else.
    Other,
}

/// Where git's directory of a removed worktree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admin {
    /// It is aside.
    Aside,
    /// In its place, where git has registered it for the place of the root.
    InPlace,
    /// Neither: git has forgotten it, or has given its id to another worktree.
    Gone,
}

/// Where the parts of a removed worktree are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) root: Root,
    pub(crate) in_place: InPlace,
    pub(crate) admin: Admin,
}

/// What to do about a removed worktree before anything else is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing: it is removed, and a restore brings it back.
    Removed,
    /// Move the root back to its place: a removal, or a restore, was killed.
    PutBack,
    /// Forget it: everything is in its place. A removal was killed before it moved anything, or a restore at its end.
    InPlace,
    /// Forget it: nothing of it is aside, and the worktree is not in its place either.
    Gone,
    /// Nothing: half of it is aside, and where the other half should be is something else. Nothing of it is ever deleted.
    Half,
}

impl Parts {
    /// Decides what to do.
    pub(crate) fn next(self) -> Next {
        match (self.root, self.admin, self.in_place) {
            (_, Admin::Aside, _) => Next::Removed,
            (Root::Aside, Admin::InPlace, InPlace::Nothing) => Next::PutBack,
            (Root::WasGone | Root::NotAside | Root::NotSeen, Admin::InPlace, InPlace::Worktree) => Next::InPlace,
            (Root::WasGone | Root::NotAside, _, _) => Next::Gone,
            (Root::Aside | Root::NotSeen, _, _) => Next::Half,
        }
    }

    /// Returns true if a restore can bring it back.
    pub(crate) fn is_restorable(self) -> bool {
        self.admin == Admin::Aside || (self.root == Root::Aside && self.admin == Admin::InPlace)
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
    /// The branch is gone, and git cannot make it again: another one may be below its name.
    NotMade,
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
    #[case::removed(Root::Aside, Admin::Aside, InPlace::Nothing, Next::Removed)]
    #[case::removed_and_its_place_is_taken(Root::Aside, Admin::Aside, InPlace::Other, Next::Removed)]
    #[case::removed_and_not_mounted(Root::NotSeen, Admin::Aside, InPlace::Nothing, Next::Removed)]
    #[case::removed_and_its_files_lost(Root::NotAside, Admin::Aside, InPlace::Nothing, Next::Removed)]
    #[case::not_begun(Root::NotAside, Admin::InPlace, InPlace::Worktree, Next::InPlace)]
    #[case::not_begun_and_moved_since(Root::NotAside, Admin::Gone, InPlace::Nothing, Next::Gone)]
    #[case::not_begun_and_deleted_since(Root::NotAside, Admin::InPlace, InPlace::Nothing, Next::Gone)]
    #[case::not_begun_and_taken_since(Root::NotAside, Admin::InPlace, InPlace::Other, Next::Gone)]
    #[case::not_begun_elsewhere(Root::NotSeen, Admin::InPlace, InPlace::Worktree, Next::InPlace)]
    #[case::killed_half_way(Root::Aside, Admin::InPlace, InPlace::Nothing, Next::PutBack)]
    #[case::something_else_is_there(Root::Aside, Admin::InPlace, InPlace::Other, Next::Half)]
    #[case::one_with_its_id_is_there(Root::Aside, Admin::InPlace, InPlace::Worktree, Next::Half)]
    #[case::git_has_forgotten_it(Root::Aside, Admin::Gone, InPlace::Nothing, Next::Half)]
    #[case::half_way_and_not_mounted(Root::NotSeen, Admin::InPlace, InPlace::Nothing, Next::Half)]
    #[case::forgotten_and_not_mounted(Root::NotSeen, Admin::Gone, InPlace::Nothing, Next::Half)]
    #[case::pruned(Root::WasGone, Admin::Aside, InPlace::Nothing, Next::Removed)]
    #[case::pruned_and_back(Root::WasGone, Admin::InPlace, InPlace::Worktree, Next::InPlace)]
    #[case::prune_not_begun(Root::WasGone, Admin::InPlace, InPlace::Nothing, Next::Gone)]
    fn an_interrupted_removal_goes_back(
        #[case] root: Root,
        #[case] admin: Admin,
        #[case] in_place: InPlace,
        #[case] expected: Next,
    ) {
        assert_eq!(Parts { root, in_place, admin }.next(), expected);
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
