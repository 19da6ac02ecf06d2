//! Reads what each checkpoint of a shadow changed: the steps that `replay` replays.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    rc::Rc,
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{chain::carry_forward::before_carried, restored_target::restored},
    former_names::{changes_of, find_moved},
    moved_lines::{MOST_BYTES, lost_to},
    step::{Step, are_here},
};
use crate::{
    error::{Kind, Result},
    git::Repo,
    model::{
        attribution::text::Attribution,
        change::Change,
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
    },
};

/// How many bytes of files may still be read to find moved lines.
struct BytesLeft {
    /// If one checkpoint has moved them.
    in_checkpoints: u64,
    /// If one checkpoint has added them to a file, and another one has taken them out of the other file.
    between_checkpoints: u64,
}

impl Default for BytesLeft {
    fn default() -> Self {
        Self { in_checkpoints: MOST_BYTES, between_checkpoints: 4 * MOST_BYTES }
    }
}

/// Returns what the chain that ends with `tip` did to the files that `wanted` accepts, oldest first.
///
/// If a checkpoint carries work forward or restores it, the steps are those of the shadow that the work comes from. If a file
/// was renamed, the steps include its earlier names.
pub(crate) fn steps(repo: &Repo, tip: &Checkpoint, wanted: &dyn Fn(&BString) -> bool) -> Result<Vec<Step>> {
    steps_beside(repo, tip, wanted, &mut HashMap::new(), &mut BytesLeft::default())
}

/// Does the same as [`steps`]. If work comes from another checkpoint, skips the paths that `followed` lists for that checkpoint,
/// because their steps are known. Otherwise, the cost would double with each restore of a restore.
fn steps_beside(
    repo: &Repo,
    tip: &Checkpoint,
    wanted: &dyn Fn(&BString) -> bool,
    followed: &mut HashMap<ObjectId, BTreeSet<BString>>,
    bytes_left: &mut BytesLeft,
) -> Result<Vec<Step>> {
    let (mut own, mut links, mut is_passed) = (HashSet::new(), Vec::new(), false);
    for checkpoint in repo.chain_in_time(tip.id) {
        let checkpoint = checkpoint?;
        own.insert(checkpoint.id);
        if std::mem::take(&mut is_passed) {
            continue;
        }
        let before_id = before_carried(repo, &checkpoint)?;
        is_passed = before_id != checkpoint.before_id();
        links.push((checkpoint, repo.tree_of_commit(before_id)?));
    }
    let diff = |(checkpoint, before): &(Checkpoint, ObjectId)| repo.diff_trees(*before, checkpoint.tree_id);
    let diffs: Vec<Vec<Change>> = links.iter().map(diff).collect::<Result<_>>()?;
    // Earlier names of wanted files, and files that lost lines to them.
    let mut former = lost_to(repo, &diffs, wanted, &mut bytes_left.between_checkpoints);
    let mut chain = Vec::new();
    for ((checkpoint, _), changes) in links.into_iter().zip(diffs) {
        let changes = changes_of(repo, changes, wanted, &mut former, &mut bytes_left.in_checkpoints)?;
        if !changes.is_empty() {
            chain.push((checkpoint, changes));
        }
    }
    let mut all = Vec::new();
    for (checkpoint, mut changes) in chain.into_iter().rev() {
        // The source of carried or restored work has the authors. If it is in this chain, its steps are among ours already.
        let put_back = restored(&checkpoint.origin);
        let source = checkpoint.origin.carried.or(put_back).filter(|id| repo.is_commit(*id).unwrap_or(false));
        let source = source.map(|id| repo.find_checkpoint(id)).transpose()?.flatten();
        // What a checkpoint of another clone has brought, or one that is gone, has the authors that the restore has noted: unknown ones.
        let is_of_commit = source.is_none() && put_back.is_some_and(|id| repo.is_commit(id).unwrap_or(false));
        let is_from_elsewhere =
            put_back.is_some() && source.is_none() && checkpoint.origin.contributor == Contributor::Unknown;
        if let Some(source) = source.filter(|source| !own.contains(&source.id)) {
            let is_kept = checkpoint.origin.carried.is_some();
            if is_kept {
                find_moved(repo, &source, &checkpoint, &mut changes)?;
            }
            let known = followed.entry(source.id).or_default();
            let paths = changes.iter().flat_map(|change| [Some(&change.path), change.old_path.as_ref()]);
            let paths: BTreeSet<BString> = paths.flatten().cloned().collect();
            let new: BTreeSet<BString> = paths.difference(known).cloned().collect();
            known.extend(paths);
            let steps = if new.is_empty() {
                Ok(Vec::new())
            } else {
                steps_beside(repo, &source, &|path| new.contains(path), followed, bytes_left)
            };
            match steps {
                Ok(steps) if is_kept || are_here(repo, &steps) => {
                    if !is_kept {
                        all.extend(Step::back_to_begin(&all, &steps));
                    }
                    // A file that the source has as its base commit has it has no steps there.
                    let touched: HashSet<&BString> = steps.iter().flat_map(Step::names).collect();
                    let is_followed = |change: &Change| {
                        new.contains(&change.path)
                            && touched.contains(&change.path)
                            && repo.find_leaf(source.tree_id, change.path.as_bstr()).ok() == Some(change.after)
                    };
                    changes.retain(|change| !is_followed(change));
                    let steps = steps.into_iter();
                    all.extend(steps.map(|step| Step { is_put_back: step.is_put_back || !is_kept, ..step }));
                }
                // No ref keeps the source of a restore. If git has dropped some of it, or it is damaged, use none of its steps.
                Ok(_) => {}
                Err(error) if error.kind() == Kind::Corrupt && !is_kept => {}
                Err(error) => return Err(error),
            }
        }
        if !changes.is_empty() {
            // If a checkpoint carries or restores work, its other changes count as the work of a person. But if lines come back
            // that earlier steps have deleted, the replay gives them back to their authors.
            let is_own = checkpoint.origin.carried.is_none() && put_back.is_none();
            let step = own_step(repo, checkpoint, changes);
            all.push(if is_from_elsewhere {
                Step { origin: Origin { contributor: Contributor::Unknown, ..Origin::default() }, moved: None, ..step }
            } else if is_own {
                step
            } else {
                // The source is a commit that is no checkpoint, or a checkpoint whose steps do not say all.
                let from = put_back.filter(|_| is_of_commit);
                Step { origin: Origin::default(), moved: None, is_put_back: put_back.is_some(), from, ..step }
            });
        }
    }
    Ok(all)
}

/// Returns the step of `checkpoint`, which has made `changes` itself.
pub(crate) fn own_step(repo: &Repo, checkpoint: Checkpoint, changes: Vec<Change>) -> Step {
    let taken = Some((checkpoint.seconds, checkpoint.before_id()));
    let (origin, moved) = match moved(repo, &checkpoint) {
        Ok(moved) => (checkpoint.origin, moved),
        Err(error) => {
            tracing::warn!(%error, checkpoint = %checkpoint.id, "lost the authors of lines from other commits");
            (Origin { contributor: Contributor::Unknown, ..Origin::default() }, None)
        }
    };
    Step { origin, changes, moved, taken, is_put_back: false, from: None }
}

/// Returns the attribution of the lines that git brought into `checkpoint` from other commits; none for a checkpoint of a human.
///
/// # Errors
/// If the attribution is lost or damaged. The author of the lines that the checkpoint adds is then unknown.
fn moved(repo: &Repo, checkpoint: &Checkpoint) -> Result<Option<Rc<Attribution>>> {
    let side_id = checkpoint.side_id.filter(|_| checkpoint.origin.contributor != Contributor::Human);
    let Some(side_id) = side_id else { return Ok(None) };
    Ok(repo.moved_lines(side_id)?.map(Rc::new))
}
