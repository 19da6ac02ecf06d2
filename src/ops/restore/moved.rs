//! Files that are other ones because HEAD is at another commit: a restore does not bring their old versions back.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};

use super::snapshot::{self, Snapshot};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{
        change::Leaf,
        step::{Content, Step},
        verdict::Why,
    },
};

/// The steps that a restore on another base may take.
#[derive(Default)]
pub(super) struct Moved {
    /// The steps without those for files that are not the checkpoint's.
    pub(super) steps: Vec<Step>,
    /// The paths of those other files: only commits have changed them since.
    pub(super) committed: Vec<BString>,
    /// The paths of steps that must not be taken, since the checkpoint and commits have changed them both; and why, in words.
    pub(super) both: BTreeMap<BString, Why>,
}

/// Returns those of `steps`, from `pre` to `target`, that a restore without `--all` takes.
///
/// A file that differs between the commits that the two stand on, and that the checkpoint left as its commit had it, is
/// not the checkpoint's: its step is dropped if the worktree has the file as HEAD does.
pub(super) fn moved(repo: &Repo, steps: Vec<Step>, pre: &Snapshot, target: &Snapshot) -> Result<Moved> {
    let (Some(now), Some(then)) = (pre.base(), target.first_commit()) else {
        return Ok(Moved { steps, ..Moved::default() });
    };
    if now == then {
        return Ok(Moved { steps, ..Moved::default() });
    }
    // Of a base that is lost nothing is known: what HEAD has, and the checkpoint has otherwise, is kept.
    let tree = |base| Ok::<_, Error>(snapshot::base_tree(repo, base)?.unwrap_or_else(|| repo.empty_tree_id()));
    let (now, then) = (tree(now)?, tree(then)?);
    let mut moved = Moved::default();
    for step in steps {
        let path = step.path.as_bstr();
        let leaf = |content: Option<Content>| content.map(|content| content.leaf);
        let (head, base) = (repo.find_leaf(now, path)?, repo.find_leaf(then, path)?);
        let leaves = Leaves { head, base, worktree: leaf(step.before), wanted: leaf(step.after) };
        match leaves.by_commits() {
            ByCommits::Nothing => moved.steps.push(step),
            ByCommits::Only => moved.committed.push(step.path),
            ByCommits::Both(why) => {
                moved.both.insert(step.path.clone(), why);
                moved.steps.push(step);
            }
        }
    }
    Ok(moved)
}

/// The file of a path in the commits that the worktree and the target stand on, in the worktree, and in the target.
#[derive(Clone, Copy, Debug)]
struct Leaves {
    head: Option<Leaf>,
    base: Option<Leaf>,
    worktree: Option<Leaf>,
    wanted: Option<Leaf>,
}

/// What of the difference between the worktree and the target commits have made.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ByCommits {
    /// Nothing, as far as is known.
    Nothing,
    /// All of it.
    Only,
    /// The target has changed the path, and commits have, too; the reason not to restore it, in words.
    Both(Why),
}

impl Leaves {
    /// Returns what commits have made of the path.
    fn by_commits(self) -> ByCommits {
        let Self { head, base, worktree, wanted } = self;
        if head == base || wanted == head {
            ByCommits::Nothing
        } else if wanted == base && worktree == head {
            ByCommits::Only
        } else {
            ByCommits::Both(if worktree == head { Why::Committed } else { Why::CommittedInPart })
        }
    }
}

#[cfg(test)]
mod tests {
    use gix::ObjectId;

    use super::*;
    use crate::model::change::Mode;

    /// The digits are HEAD's file, that of the target's base, the worktree's and the target's.
    #[rstest::rstest]
    #[case::nothing_is_committed("1112", "nothing")]
    #[case::edited_since("1132", "nothing")]
    #[case::the_target_is_committed("2122", "nothing")]
    #[case::the_target_is_committed_and_edited_since("2132", "nothing")]
    #[case::commits_alone("2121", "only")]
    #[case::commits_and_an_edit("2131", "in part")]
    #[case::commits_and_the_target("2123", "commits")]
    fn what_commits_have_made(#[case] leaves: &str, #[case] expected: &str) {
        let leaf = |digit: &str| {
            let id = ObjectId::from_hex(digit.repeat(40).as_bytes()).expect("hexadecimal");
            (digit != "0").then_some(Leaf { id, mode: Mode::File })
        };
        let [head, base, worktree, wanted] = [0, 1, 2, 3].map(|at| leaf(&leaves[at..=at]));
        let found = Leaves { head, base, worktree, wanted }.by_commits();
        let expected = match expected {
            "nothing" => ByCommits::Nothing,
            "only" => ByCommits::Only,
            "commits" => ByCommits::Both(Why::Committed),
            _ => ByCommits::Both(Why::CommittedInPart),
        };
        assert_eq!(found, expected);
    }
}
