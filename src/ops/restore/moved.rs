//! Files that are other ones because HEAD is at another commit: a restore does not bring their old versions back.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};

use super::snapshot::{self, Snapshot};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{change::Leaf, step::Step, verdict::Why},
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
        let (head, base) = (repo.find_leaf(now, path)?, repo.find_leaf(then, path)?);
        let leaf = |content: Option<crate::model::step::Content>| content.map(|content| content.leaf);
        let (worktree, wanted): (Option<Leaf>, Option<Leaf>) = (leaf(step.before), leaf(step.after));
        if head != base && wanted != head {
            if wanted == base && worktree == head {
                moved.committed.push(step.path);
                continue;
            }
            let why = if worktree == head { Why::Committed } else { Why::CommittedInPart };
            moved.both.insert(step.path.clone(), why);
        }
        moved.steps.push(step);
    }
    Ok(moved)
}
