//! The start of the work, as it is carried forward: what people had before the first change of an agent gets a checkpoint of its own
//! below that of all the work, so that it still is the start on the new base.

use std::collections::{BTreeSet, HashMap};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    checkpoint::origin_of,
    work::{Destination, base_tree, carry, merge},
};
use crate::{
    error::Result,
    git::{Repo, new_objects::NewObjects},
    model::{
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
    },
    ops::{Context, earliest::Earliest, restored_target::restored},
};

/// The state before the first change of an agent, as far as it is carried forward.
pub(super) struct Start {
    /// The last checkpoint before that change.
    pub(super) checkpoint: Checkpoint,
    /// The author of what is carried of it.
    pub(super) origin: Origin,
    /// The tree of the checkpoint that carries it.
    pub(super) tree_id: ObjectId,
    /// True if nothing else is carried: no change of an agent is left, and none was put back before it.
    pub(super) is_all: bool,
}

impl Start {
    /// Returns the start of the work that ends with `latest` and is carried `to` there; none if the work begins with an agent's
    /// change, or if nothing from before that is carried.
    pub(super) fn find(
        context: &Context,
        latest: &Checkpoint,
        to: &Destination,
        objects: &mut NewObjects<'_>,
    ) -> Result<Option<Self>> {
        let repo = &context.repo;
        let before_agents = Earliest::up_to(repo, latest.id, &HashMap::new())?.before_agents;
        let found = before_agents.map(|id| repo.find_checkpoint(id)).transpose()?.flatten();
        let Some(checkpoint) = found.filter(|it| it.base == latest.base) else { return Ok(None) };
        let work = carry(repo, latest, to, objects)?;
        // If the commit has changed a file so that the start's changes do not apply, the start has it as the commit has it.
        let base_tree_id = base_tree(repo, &checkpoint)?;
        let mut wanted = BTreeSet::new();
        for path in work.paths {
            let leaf = |tree_id| repo.find_leaf(tree_id, path.as_bstr());
            let (before, after, last) = (leaf(base_tree_id)?, leaf(checkpoint.tree_id)?, leaf(to.last_tree_id)?);
            if before == last || merge(repo, (before, after), last, objects)?.is_some() {
                wanted.insert(path);
            }
        }
        let to = Destination {
            head_tree_id: to.head_tree_id,
            last_tree_id: to.last_tree_id,
            now_tree_id: checkpoint.tree_id,
            wanted: Some(wanted),
            is_now_seen: false,
        };
        let tree_id = carry(repo, &checkpoint, &to, objects)?.tree_id;
        if tree_id == to.last_tree_id {
            return Ok(None);
        }
        let origin = origin_of(context, &checkpoint)?;
        // Where a person has put back the work of a session, the sessions of all the work say so.
        let is_all = tree_id == work.tree_id && origin.contributor == Contributor::Human;
        Ok(Some(Self { checkpoint, origin, tree_id, is_all }))
    }

    /// Returns the author and the subject of the checkpoint that carries all the work forward, which ends with `latest`, if the
    /// start is all that is left of it.
    pub(super) fn of_all<'s>(&'s self, latest: &'s Checkpoint) -> (Origin, &'s str) {
        let mark = |origin: &Origin| origin.tool.clone().filter(|_| restored(origin).is_some());
        let by_restore = mark(&latest.origin);
        let subject = if by_restore.is_some() { &latest.subject } else { &self.checkpoint.subject };
        (Origin { tool: by_restore.or(mark(&self.origin)), ..Origin::default() }, subject)
    }
}

/// Returns the commit before `checkpoint` in time. If the checkpoint there carries the start of the same work forward, returns the
/// commit before that: together, the two differ from it by all that was carried.
pub(crate) fn before_carried(repo: &Repo, checkpoint: &Checkpoint) -> Result<ObjectId> {
    let before_id = checkpoint.before_id();
    let Some(tip) = checkpoint.origin.carried else { return Ok(before_id) };
    let start = repo.find_checkpoint(before_id)?.filter(|start| start.base == checkpoint.base);
    let Some((of_start, before_start)) = start.and_then(|start| Some((start.origin.carried?, start.before_id())))
    else {
        return Ok(before_id);
    };
    let mut earlier = repo.chain_in_time(tip).skip(1).take_while(Result::is_ok).flatten();
    Ok(if earlier.any(|it| it.id == of_start) { before_start } else { before_id })
}
