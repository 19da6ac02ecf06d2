//! Copies damaged checkpoints with what can be read of them, and those that lead to a damaged one.

use std::collections::{HashMap, HashSet};

use gix::ObjectId;

use super::known::Known;
use crate::{
    error::{Error, Result},
    git::{
        Repo,
        commit::{Moment, NewCommit},
        new_objects::{NewObjects, Target},
        readable::Reader,
        side::{Side, write_side_tree},
        written::Written,
    },
    model::{
        checkpoint::{Checkpoint, Origin},
        manifest::{Part, Reason},
        refname::{Base, ShadowName},
    },
    ops::{
        Context,
        chain::commit::{self, Draft},
    },
};

/// Copies, each after the checkpoint that it is one of.
pub(super) type Copies = Vec<(ObjectId, ObjectId)>;

/// What takes the place of a commit that something leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    /// The commit itself or its copy; of a lost one, what came before it. None: that is not known.
    pub(super) id: Option<ObjectId>,
    /// The tree of that.
    tree_id: Option<ObjectId>,
    /// True if nothing of the commit can be read.
    pub(super) is_lost: bool,
}

/// Finds and copies the readable parts of checkpoints.
pub(super) struct Copier<'c> {
    context: &'c Context,
    pub(super) reader: Reader<'c>,
    objects: NewObjects<'c>,
    known: Option<Known<'c>>,
    replacements: HashMap<ObjectId, Replacement>,
    /// The trees of bases.
    bases: HashMap<Base, ObjectId>,
    copies: Copies,
}

impl<'c> Copier<'c> {
    pub(super) fn new(context: &'c Context) -> Self {
        Self {
            context,
            reader: Reader::new(&context.repo),
            objects: NewObjects::new(&context.repo, Target::Loose),
            known: None,
            replacements: HashMap::new(),
            bases: HashMap::new(),
            copies: Copies::new(),
        }
    }

    /// Returns true if the checkpoint `id` cannot be read, or something that it leads to, without those before it.
    pub(super) fn is_broken(&mut self, id: ObjectId) -> Result<bool> {
        match self.context.repo.checkpoint(id) {
            Ok(Some(checkpoint)) => {
                self.reader.read(id)?;
                Ok(!self.is_whole(&checkpoint)?)
            }
            // The next command that uses the ref reports it, and `reset` sets it aside.
            Ok(None) => Ok(false),
            Err(error) => self.reader.lose_commit(id, error).map(|()| true),
        }
    }

    /// Returns what takes the place of the commit `tip`, the end of the chain `name` if that is known; copies what is damaged
    /// on the way there.
    ///
    /// # Errors
    /// If something may be whole, and cannot be read now.
    pub(super) fn replacement_of(&mut self, tip: ObjectId, name: Option<&ShadowName>) -> Result<Replacement> {
        let (mut begun, mut earlier) = (HashSet::new(), HashMap::new());
        let mut work = vec![(tip, name.cloned())];
        while let Some((id, name)) = work.last().cloned() {
            if self.replacements.contains_key(&id) {
                work.pop();
                continue;
            }
            self.context.check_interrupt()?;
            let is_first = begun.insert(id);
            let (replacement, next) = match self.context.repo.checkpoint(id) {
                Ok(Some(checkpoint)) if is_first => (None, self.links(&checkpoint, name.as_ref())?),
                Ok(Some(checkpoint)) => (Some(self.settle(&checkpoint)?), Vec::new()),
                Ok(None) => (Some(Replacement { id: Some(id), tree_id: None, is_lost: false }), Vec::new()),
                Err(error) if is_first => {
                    self.reader.lose_commit(id, error)?;
                    let known = self.known.get_or_insert_with(|| Known::read(self.context));
                    let before = known.before(id, name.as_ref(), &begun);
                    earlier.extend(before.map(|before| (id, before)));
                    (None, before.map(|before| (before, name)).into_iter().collect())
                }
                Err(_) => {
                    let replacement = earlier.get(&id).and_then(|before| self.replacements.get(before)).copied();
                    // What is no checkpoint is a base, which comes before all of them.
                    let replacement = replacement.filter(|it| it.tree_id.is_some());
                    let nothing = Replacement { id: None, tree_id: None, is_lost: true };
                    (Some(replacement.map_or(nothing, |it| Replacement { is_lost: true, ..it })), Vec::new())
                }
            };
            if let Some(replacement) = replacement {
                self.replacements.insert(id, replacement);
            }
            work.extend(next.into_iter().filter(|(id, _)| !begun.contains(id)));
        }
        self.replacements.get(&tip).copied().ok_or_else(|| Error::internal(format!("'{tip}' was not looked at")))
    }

    /// Returns the checkpoints that `checkpoint` leads to, each with the chain that it is in, if that is known.
    fn links(&self, checkpoint: &Checkpoint, name: Option<&ShadowName>) -> Result<Vec<(ObjectId, Option<ShadowName>)>> {
        let of_worktree = ShadowName::of_worktree(checkpoint.base, checkpoint.worktree.as_ref());
        let name_of = |id: ObjectId| match id {
            id if id == checkpoint.parent_id => Some(name.unwrap_or(&of_worktree).clone()),
            id if checkpoint.after == Some(id) => Some(of_worktree.clone()),
            _ => None,
        };
        Ok(self.context.repo.links_of(checkpoint)?.into_iter().map(|id| (id, name_of(id))).collect())
    }

    /// Returns what takes the place of `checkpoint`, where that is known of all that it leads to.
    fn settle(&mut self, checkpoint: &Checkpoint) -> Result<Replacement> {
        let repo = &self.context.repo;
        let base_tree_id = self.base_tree(checkpoint.base)?;
        let known = |id: ObjectId| self.replacements.get(&id).copied();
        let parent = if checkpoint.base.commit_id() == Some(checkpoint.parent_id) {
            Some(Replacement { id: Some(checkpoint.parent_id), tree_id: Some(base_tree_id), is_lost: false })
        } else {
            known(checkpoint.parent_id)
        };
        let (after, carried) = (checkpoint.after.and_then(known), checkpoint.origin.carried.and_then(known));
        let parent_id = if let Some(id) = parent.and_then(|parent| parent.id) {
            id
        } else {
            commit::base_commit(checkpoint.base, &mut self.objects)?
        };
        let links = (parent_id, after.and_then(|it| it.id), carried.and_then(|it| it.id));
        // A trailer may name what is no parent, and gone.
        let is_carried_same = carried.is_none() || links.2 == checkpoint.origin.carried;
        let is_same = links.0 == checkpoint.parent_id && links.1 == checkpoint.after && is_carried_same;
        if is_same && self.is_whole(checkpoint)? {
            return Ok(Replacement { id: Some(checkpoint.id), tree_id: Some(checkpoint.tree_id), is_lost: false });
        }
        let before = after.or(parent).and_then(|it| it.tree_id).unwrap_or(base_tree_id);
        let tree = self.reader.readable_part(checkpoint.tree_id, base_tree_id, Some(before), &mut self.objects)?;
        let mut side = match checkpoint.side_id {
            Some(id) => self.reader.readable_side(id, base_tree_id, &mut self.objects)?,
            None => Side::default(),
        };
        let tree_id = if let Some(tree) = tree {
            side.manifest.skip(tree.unreadable, Reason::Unreadable);
            tree.tree_id
        } else {
            // Where nothing is known of the files, nothing is known to have changed, either.
            side.manifest.lost.insert(0, Part::Tree);
            before
        };
        let side_id = self.side_commit(checkpoint, &side)?;
        let time = Moment::of(checkpoint);
        let origin = Origin { carried: links.2, ..checkpoint.origin.clone() };
        let body = format!("{}\nA copy of what can be read of {}.\n", checkpoint.body, checkpoint.id);
        let name = &ShadowName::of_worktree(checkpoint.base, checkpoint.worktree.as_ref());
        let (subject, body, after) = (checkpoint.subject.as_str(), body.trim_start(), links.1);
        let id = Draft { name, tree_id, parent_id, after, side_id, origin: &origin, subject, body, time }
            .write(repo, &mut self.objects)?;
        self.copies.push((checkpoint.id, id));
        Ok(Replacement { id: Some(id), tree_id: Some(tree_id), is_lost: false })
    }

    /// Returns the side commit that says `side`: that of `checkpoint` if it is the same.
    fn side_commit(&mut self, checkpoint: &Checkpoint, side: &Side) -> Result<Option<ObjectId>> {
        let repo = &self.context.repo;
        let Some(tree_id) = write_side_tree(side, &mut self.objects)? else { return Ok(None) };
        if let Some(id) = checkpoint.side_id
            && self.reader.tree_of_commit(id)? == Some(tree_id)
        {
            return Ok(Some(id));
        }
        let time = Moment::of(checkpoint);
        let message = "side data of a checkpoint\n\nWhat can be read of it; see gitcheckpoint-format(5).\n";
        let (author, committer) = (commit::author(repo, &checkpoint.origin), repo.identity());
        let commit = NewCommit { tree_id, parents: Vec::new(), author, committer, time, message };
        Repo::write_commit(&commit, &mut self.objects).map(Some)
    }

    fn is_whole(&mut self, checkpoint: &Checkpoint) -> Result<bool> {
        let base_tree_id = self.base_tree(checkpoint.base)?;
        self.reader.is_checkpoint_whole(checkpoint, base_tree_id)
    }

    /// Returns the tree of `base`; the empty tree if it is lost, which is git's matter.
    fn base_tree(&mut self, base: Base) -> Result<ObjectId> {
        if let Some(id) = self.bases.get(&base) {
            return Ok(*id);
        }
        let repo = &self.context.repo;
        let tree_id = match base.commit_id() {
            Some(id) => Reader::new(repo).tree_of_commit(id)?,
            None => None,
        };
        let tree_id = tree_id.unwrap_or_else(|| repo.empty_tree_id());
        self.bases.insert(base, tree_id);
        Ok(tree_id)
    }

    /// Writes the copies, and returns them with what cannot be read.
    ///
    /// # Errors
    /// If something that cannot be read may be whole; nothing is written then.
    pub(super) fn write(self) -> Result<(Copies, Reader<'c>, Written<'c>)> {
        self.context.repo.refuse_hidden_objects(&self.reader.lost)?;
        self.context.repo.write_anew(&self.reader.damaged_ends)?;
        Ok((self.copies, self.reader, self.objects.write()?))
    }
}
