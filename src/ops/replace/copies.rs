//! Copies the checkpoints that lead to others that are replaced or left out.

use std::collections::{BTreeMap, HashMap, HashSet};

use gix::ObjectId;

use crate::{
    error::{Error, Result},
    git::{
        Repo,
        copied_commit::CommitCopy,
        new_objects::{NewObjects, Target},
        notes::NoteFate,
    },
    model::checkpoint::{Checkpoint, Links, relinked},
    ops::restored_target::{self, restored},
};

/// What takes the place of a commit that something leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// The commit itself or its copy.
    By(ObjectId),
    /// Nothing: it is left out.
    LeftOut {
        /// What comes before it in its chain: a checkpoint or the base.
        in_chain: ObjectId,
        /// What comes before it in time.
        in_time: ObjectId,
    },
}

impl Replaced {
    /// Returns what becomes of the note for the commit `id`, which this takes the place of.
    pub(crate) fn note_fate(self, id: ObjectId) -> NoteFate {
        match self {
            Self::By(new) if new == id => NoteFate::Stays,
            Self::By(new) => NoteFate::GoesTo(new),
            Self::LeftOut { .. } => NoteFate::Goes,
        }
    }

    fn in_chain(self) -> ObjectId {
        match self {
            Self::By(id) | Self::LeftOut { in_chain: id, .. } => id,
        }
    }

    fn in_time(self) -> ObjectId {
        match self {
            Self::By(id) | Self::LeftOut { in_time: id, .. } => id,
        }
    }
}

/// What the copy of a checkpoint has in the place of what the checkpoint has.
#[derive(Clone, Debug)]
pub(crate) struct Edited {
    pub(crate) tree_id: ObjectId,
    pub(crate) side_id: Option<ObjectId>,
    pub(crate) message: String,
}

/// Changes the content of checkpoints.
pub(crate) trait Edit {
    /// Returns the new content of `checkpoint`, whose new objects are added to `objects`; none if it stays.
    fn edit(&mut self, checkpoint: &Checkpoint, objects: &mut NewObjects<'_>) -> Result<Option<Edited>>;
}

/// What a [`Copier`] has made.
pub(crate) struct Finished<'r> {
    pub(crate) replaced: HashMap<ObjectId, Replaced>,
    pub(crate) copies: BTreeMap<ObjectId, ObjectId>,
    pub(crate) objects: NewObjects<'r>,
}

/// Copies checkpoints; the copies are in `objects` until they are written.
pub(crate) struct Copier<'r, 'e> {
    repo: &'r Repo,
    left_out: &'e HashSet<ObjectId>,
    edit: Option<&'e mut dyn Edit>,
    pub(crate) objects: NewObjects<'r>,
    replaced: HashMap<ObjectId, Replaced>,
    /// The copies, by what they are copies of.
    pub(crate) copies: BTreeMap<ObjectId, ObjectId>,
}

impl<'r, 'e> Copier<'r, 'e> {
    /// Returns a copier for the checkpoints of `repo`, which leaves out those of `left_out`.
    pub(crate) fn new(repo: &'r Repo, left_out: &'e HashSet<ObjectId>) -> Self {
        let objects = NewObjects::new(repo, Target::Loose);
        Self { repo, left_out, edit: None, objects, replaced: HashMap::new(), copies: BTreeMap::new() }
    }

    /// The same for copies with a content that `edit` has changed.
    pub(crate) fn editing(repo: &'r Repo, left_out: &'e HashSet<ObjectId>, edit: &'e mut dyn Edit) -> Self {
        Self { edit: Some(edit), ..Self::new(repo, left_out) }
    }

    /// Returns what takes the place of the commit `tip`; copies what leads to a checkpoint that is replaced or left out.
    ///
    /// # Errors
    /// [`Kind::Corrupt`](crate::error::Kind::Corrupt) if a checkpoint on the way cannot be read.
    pub(crate) fn replace(&mut self, tip: ObjectId) -> Result<Replaced> {
        let mut work = vec![(tip, false)];
        while let Some((id, are_links_done)) = work.pop() {
            if self.replaced.contains_key(&id) {
                continue;
            }
            self.repo.check_interrupt()?;
            let replaced = match self.repo.checkpoint(id)? {
                None => Replaced::By(id),
                Some(checkpoint) if are_links_done => self.settle(&checkpoint)?,
                Some(checkpoint) => {
                    work.push((id, true));
                    work.extend(self.links(&checkpoint)?.into_iter().map(|id| (id, false)));
                    continue;
                }
            };
            self.replaced.insert(id, replaced);
        }
        self.known(tip).ok_or_else(|| Error::internal(format!("'{tip}' was not looked at")))
    }

    /// Returns what takes the place of the commit `id`; none if no ref that was looked at leads there.
    pub(crate) fn known(&self, id: ObjectId) -> Option<Replaced> {
        self.replaced.get(&id).copied()
    }

    /// Returns what takes the place of each commit that was looked at, and the copies, whose objects are to be written.
    pub(crate) fn finish(self) -> Finished<'r> {
        Finished { replaced: self.replaced, copies: self.copies, objects: self.objects }
    }

    /// Returns true if something else takes the place of the commit `id`, or if it is left out.
    pub(crate) fn changes(&self, id: ObjectId) -> bool {
        self.known(id).is_some_and(|replaced| replaced != Replaced::By(id))
    }

    /// Returns the commits whose replacement the copy of `checkpoint` needs.
    fn links(&self, checkpoint: &Checkpoint) -> Result<Vec<ObjectId>> {
        let mut links = self.repo.links_of(checkpoint)?;
        // No ref keeps what was restored.
        links.extend(restored(&checkpoint.origin).filter(|id| self.repo.is_commit(*id).unwrap_or(false)));
        Ok(links)
    }

    /// Returns what takes the place of `checkpoint`, where that is known of all that it leads to.
    fn settle(&mut self, checkpoint: &Checkpoint) -> Result<Replaced> {
        // What is no checkpoint, such as the base, stays.
        let known = |id| self.known(id).unwrap_or(Replaced::By(id));
        let parent_id = known(checkpoint.parent_id).in_chain();
        let before_id = known(checkpoint.before_id()).in_time();
        if self.left_out.contains(&checkpoint.id) {
            return Ok(Replaced::LeftOut { in_chain: parent_id, in_time: before_id });
        }
        let (old, links) = (Links::of(checkpoint), self.repo.links_of(checkpoint)?);
        let is_base = |id: ObjectId| checkpoint.base.commit_id() == Some(id);
        // Where the first checkpoint of a chain is left out, nothing is left that was carried forward.
        let is_left = |id: &ObjectId| Some(*id) == old.carried || self.is_checkpoint(*id);
        let carried = old.carried.map(|id| known(id).in_chain()).filter(is_left);
        let tool = match restored(&checkpoint.origin) {
            Some(id) if self.left_out.contains(&id) => Some(restored_target::tool(ObjectId::null(id.kind()))),
            Some(id) => Some(restored_target::tool(known(id).in_chain())),
            None => old.tool.clone(),
        };
        let after = Some(before_id).filter(|id| *id != parent_id && !is_base(*id));
        let new = Links { carried, after, tool };
        let edited = match &mut self.edit {
            Some(edit) => edit.edit(checkpoint, &mut self.objects)?,
            None => None,
        };
        if edited.is_none() && new == old && parent_id == checkpoint.parent_id {
            return Ok(Replaced::By(checkpoint.id));
        }
        let (tree_id, side_id) = (checkpoint.tree_id, checkpoint.side_id);
        let unedited = || Ok(Edited { tree_id, side_id, message: self.repo.message_of(checkpoint.id)? });
        let Edited { tree_id, side_id, message } = edited.map_or_else(unedited, Ok)?;
        // A trailer may name what is no parent, and gone.
        let is_carried_parent = old.carried.is_some_and(|id| links.contains(&id));
        let carried = new.carried.filter(|_| is_carried_parent);
        let parents = [Some(parent_id), side_id, carried, new.after].into_iter().flatten().collect();
        let copy = CommitCopy { tree_id, parents, message: &relinked(&message, &new) };
        let id = self.repo.copy_commit(checkpoint.id, &copy, &mut self.objects)?;
        self.copies.insert(checkpoint.id, id);
        Ok(Replaced::By(id))
    }

    /// Returns true if `id` is a checkpoint or the copy of one.
    pub(super) fn is_checkpoint(&self, id: ObjectId) -> bool {
        self.copies.values().any(|copy| *copy == id) || self.repo.find_checkpoint(id).is_ok_and(|it| it.is_some())
    }
}
