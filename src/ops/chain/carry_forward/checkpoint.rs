//! Checkpoints that carry work forward from one chain to another shadow.

use gix::ObjectId;

use super::{
    super::{commit::Draft, shadow::Shadow},
    work::{Destination, carry},
};
use crate::{
    error::Result,
    git::{Repo, new_objects::NewObjects},
    model::{
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
    },
    ops::{Context, restored_target::restored},
};

/// Returns true if `shadow` already carries forward the chain that ends with `tip`.
pub(crate) fn carries(repo: &Repo, shadow: &Shadow, tip: &Checkpoint) -> bool {
    let Some(id) = shadow.expected else { return false };
    let last = repo.chain(id).take_while(Result::is_ok).flatten().take(MOST_SINCE);
    last.into_iter().any(|checkpoint| checkpoint.origin.carried == Some(tip.id))
}

/// Adds a checkpoint to `shadow` with the work of the chain `tip` that the tree `now_tree_id` still contains. Returns
/// false if there is none.
pub(crate) fn bring(
    context: &Context,
    shadow: &mut Shadow,
    tip: &Checkpoint,
    origin: Origin,
    now_tree_id: ObjectId,
    objects: &mut NewObjects<'_>,
) -> Result<bool> {
    let repo = &context.repo;
    let (head_tree_id, last_tree_id) = (shadow.head_tree_id, shadow.last_tree_id());
    let to = Destination { head_tree_id, last_tree_id, now_tree_id, wanted: None, is_now_seen: true };
    let carried = carry(repo, tip, &to, objects)?;
    if carried.paths.is_empty() {
        return Ok(false);
    }
    put_on_top(context, shadow, (tip, &tip.subject), origin, carried.tree_id, objects)?;
    Ok(true)
}

/// Adds a checkpoint with the tree `tree_id` and this subject to `shadow`; it carries the chain of `tip` forward.
pub(crate) fn put_on_top(
    context: &Context,
    shadow: &mut Shadow,
    (tip, subject): (&Checkpoint, &str),
    origin: Origin,
    tree_id: ObjectId,
    objects: &mut NewObjects<'_>,
) -> Result<()> {
    let repo = &context.repo;
    let (parent_id, after) = shadow.links(objects)?;
    // The tool was that of one change; but what a person has restored stays the person's.
    let tool = origin.tool.clone().filter(|_| restored(&origin).is_some());
    let origin = Origin { carried: Some(tip.id), note: None, tool, ..origin };
    // No side data: the next save reads the index itself, and the raw bytes belong to the old checkpoint.
    let (name, side_id) = (&shadow.name, None);
    let body = format!("Carried on from {} on {}.\n", tip.id, tip.base);
    let time = shadow.not_before(repo.now());
    let id = Draft { name, tree_id, parent_id, after, side_id, origin: &origin, subject, body: &body, time }
        .write(repo, objects)?;
    let checkpoint = Checkpoint {
        id,
        tree_id,
        parent_id,
        after,
        side_id,
        base: name.base,
        worktree: name.worktree.clone(),
        origin,
        subject: subject.to_owned(),
        body,
        seconds: time.seconds,
        micros: time.micros,
        offset: time.offset,
    };
    shadow.follow(repo, checkpoint)
}

/// Returns the author for carried-forward work of the chain `tip`: its last agent, or else the author of `tip`. If `tip` is what
/// a restore has left, the mark says so.
pub(crate) fn origin_of(context: &Context, tip: &Checkpoint) -> Result<Origin> {
    let mark = tip.origin.tool.clone().filter(|_| restored(&tip.origin).is_some());
    for checkpoint in context.repo.chain(tip.id) {
        let origin = checkpoint?.origin;
        if origin.contributor == Contributor::Agent {
            return Ok(Origin { tool: mark.or(origin.tool.clone()), ..origin });
        }
    }
    Ok(tip.origin.clone())
}

/// How many checkpoints back we look for one that carries work forward. After a crash, the next command repeats the
/// step, so few checkpoints come in between.
const MOST_SINCE: usize = 8;
