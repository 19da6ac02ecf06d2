//! The checkpoints whose work a live shadow has: its own, those that it carries forward, and those that these follow or carry
//! forward.

use std::{collections::HashMap, rc::Rc};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::carry_forward::before_carried;
use crate::{
    git::{
        Repo,
        new_names::{By, Old},
    },
    model::{change::Leaf, checkpoint::Checkpoint},
};

/// The checkpoints whose work a live shadow has.
pub(crate) struct Carriers {
    /// By checkpoint, those that carry its work forward to the shadow, one after the other; none for one of its own.
    known: HashMap<ObjectId, Rc<Vec<Checkpoint>>>,
    /// By checkpoint, each of those that carry its work forward.
    carrying: HashMap<ObjectId, Vec<Rc<Checkpoint>>>,
}

impl Carriers {
    /// Reads the chain that ends with `tip`, and those that it carries forward. Passes over what cannot be read.
    pub(crate) fn read(repo: &Repo, tip: ObjectId) -> Self {
        let (mut known, mut tips) = (HashMap::new(), vec![(tip, Rc::new(Vec::new()))]);
        let mut carrying: HashMap<ObjectId, Vec<Rc<Checkpoint>>> = HashMap::new();
        while let Some((tip, carriers)) = tips.pop() {
            // A checkpoint that carries work forward may follow one with the start of that work: it carries both.
            let mut is_of_next = false;
            for checkpoint in repo.chain_in_time(tip).flatten() {
                let is_start = std::mem::replace(&mut is_of_next, has_start(repo, &checkpoint));
                if known.insert(checkpoint.id, Rc::clone(&carriers)).is_some() {
                    break;
                }
                if let Some(carried) = checkpoint.origin.carried.filter(|_| !is_start) {
                    carrying.entry(carried).or_default().push(Rc::new(checkpoint.clone()));
                    tips.push((carried, Rc::new([carriers.as_slice(), &[checkpoint]].concat())));
                }
            }
        }
        Self { known, carrying }
    }

    /// Returns true if the shadow has the work of `checkpoint` at `path`: what was stashed is not carried forward.
    pub(crate) fn has(&self, repo: &Repo, checkpoint: &Checkpoint, path: &BString) -> bool {
        let carriers = self.known.get(&checkpoint.id);
        carriers.is_some_and(|carriers| carriers.iter().all(|carrier| carries(repo, carrier, checkpoint, path)))
    }

    /// Does the same for work of the shadow's own checkpoints that it has lost since, for example by `git stash`. If the shadow has it
    /// again, a later checkpoint carries it forward.
    pub(crate) fn has_again(&self, repo: &Repo, checkpoint: &Checkpoint, path: &BString) -> bool {
        let is_own = self.known.get(&checkpoint.id).is_some_and(|carriers| carriers.is_empty());
        let mut carrying = self.carrying.get(&checkpoint.id).into_iter().flatten();
        carrying.any(|carrier| carries(repo, carrier, checkpoint, path)) || !is_own && self.has(repo, checkpoint, path)
    }
}

/// Returns true if the checkpoint before `checkpoint` carries the start of the same work forward.
fn has_start(repo: &Repo, checkpoint: &Checkpoint) -> bool {
    before_carried(repo, checkpoint).is_ok_and(|id| id != checkpoint.before_id())
}

/// Returns true if `carrier` carries the work of `checkpoint` at `path` forward. A new file that it does not have may have another
/// name there: it has the same content then.
fn carries(repo: &Repo, carrier: &Checkpoint, checkpoint: &Checkpoint, path: &BString) -> bool {
    let leaf = |tree_id: ObjectId| -> Option<Leaf> { repo.find_leaf(tree_id, path.as_bstr()).ok()? };
    let before_tree_id = before_carried(repo, carrier).and_then(|id| repo.tree_of_commit(id));
    let before = before_tree_id.as_ref().ok().copied().and_then(leaf);
    let (after, work) = (leaf(carrier.tree_id), leaf(checkpoint.tree_id));
    let is_moved = |work: Leaf| {
        let changes = before_tree_id.and_then(|tree_id| repo.diff_trees(tree_id, carrier.tree_id));
        let old = [Old::new(path.clone(), work)];
        let moved = changes.and_then(|changes| repo.new_names(&old, &changes, By::Whole, |_| true));
        moved.is_ok_and(|moved| !moved.is_empty())
    };
    before != after || after.is_none() && work.is_some_and(is_moved)
}
