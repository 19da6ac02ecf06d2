//! Walks a chain of checkpoints from its tip to its base: along first parents, or in time across shadows.

use gix::{ObjectId, objs::Kind as ObjectKind};

use super::Repo;
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::checkpoint::Checkpoint,
};

/// The checkpoints of a chain, newest first; ends at the base, or after the first error.
pub(crate) struct Chain<'r> {
    repo: &'r Repo,
    next: Option<ObjectId>,
    /// If true, goes from each checkpoint to the one that was the latest at the time, in whichever shadow.
    is_in_time: bool,
    buffer: Vec<u8>,
}

impl Repo {
    /// Returns the chain that ends with `tip`; empty if `tip` is no checkpoint.
    pub(crate) fn chain(&self, tip: ObjectId) -> Chain<'_> {
        Chain { repo: self, next: Some(tip), is_in_time: false, buffer: Vec::new() }
    }

    /// Returns `tip` and all checkpoints before it in time: those of its chain and, where sessions have shadows of
    /// their own, those of other sessions in between. Each differs from the one before it by what its own contributor
    /// did.
    pub(crate) fn chain_in_time(&self, tip: ObjectId) -> Chain<'_> {
        Chain { is_in_time: true, ..self.chain(tip) }
    }

    /// Returns the checkpoints that the commit of `checkpoint` has as parents: the one before it in its chain, the one
    /// before it in time, and the one whose work it carries forward.
    pub(crate) fn links_of(&self, checkpoint: &Checkpoint) -> Result<Vec<ObjectId>> {
        let mut links = self.parents_of(checkpoint.id)?;
        links.retain(|id| Some(*id) != checkpoint.side_id && Some(*id) != checkpoint.base.commit_id());
        Ok(links)
    }

    /// Returns the ids of all objects in this repository that begin with `hex`, at least four digits, in either case.
    pub(crate) fn ids_with_prefix(&self, hex: &str) -> Result<Vec<ObjectId>> {
        let what = || format!("cannot look up '{hex}'");
        if hex.len() > self.object_hash().len_in_hex() {
            return Ok(Vec::new());
        }
        let prefix = gix::hash::Prefix::from_hex(hex).context(Kind::User, what)?;
        let mut found = std::collections::HashSet::default();
        self.inner.objects.lookup_prefix(prefix, Some(&mut found)).context(Kind::Corrupt, what)?;
        let mut ids: Vec<ObjectId> = found.into_iter().collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// Returns the checkpoint with the id `id`; none if the object is missing, or is no checkpoint.
    pub(crate) fn find_checkpoint(&self, id: ObjectId) -> Result<Option<Checkpoint>> {
        if self.is_commit(id)? { self.checkpoint(id) } else { Ok(None) }
    }

    /// Returns true if this repository has the object `id` and it is a commit.
    pub(crate) fn is_commit(&self, id: ObjectId) -> Result<bool> {
        Ok(self.kind_of(id)? == Some(ObjectKind::Commit))
    }

    /// Returns the kind of the object `id`; none if this repository does not have it.
    pub(crate) fn kind_of(&self, id: ObjectId) -> Result<Option<ObjectKind>> {
        let find =
            || self.inner.try_find_header(id).context(Kind::Corrupt, || format!("cannot read the object '{id}'"));
        // Git may have repacked the object during the first look.
        let header = find()?.map_or_else(find, |header| Ok(Some(header)))?;
        Ok(header.map(|header| header.kind()))
    }
}

impl Chain<'_> {
    /// Passes `checkpoint` without reading it, if it is the next one; returns true if it was.
    pub(crate) fn pass(&mut self, checkpoint: &Checkpoint) -> bool {
        let is_next = self.next == Some(checkpoint.id);
        if is_next {
            self.go_on(checkpoint);
        }
        is_next
    }

    /// Returns what is still to be read next, if it is a checkpoint; none if the chain has ended.
    pub(crate) fn next_id(&self) -> Option<ObjectId> {
        self.next
    }

    /// What is before `checkpoint` comes next.
    fn go_on(&mut self, checkpoint: &Checkpoint) {
        let before = if self.is_in_time { checkpoint.before_id() } else { checkpoint.parent_id };
        self.next = (checkpoint.base.commit_id() != Some(before)).then_some(before);
    }

    fn read(&mut self, id: ObjectId) -> Result<Option<Checkpoint>> {
        let data = self.repo.read_object(id, ObjectKind::Commit, &mut self.buffer)?;
        Checkpoint::parse(id, data).context(Kind::Corrupt, || format!("the commit '{id}' is malformed"))
    }
}

impl Iterator for Chain<'_> {
    type Item = Result<Checkpoint, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let id = self.next.take()?;
        let checkpoint = self.read(id).transpose()?;
        if let Ok(checkpoint) = &checkpoint {
            self.go_on(checkpoint);
        }
        Some(checkpoint)
    }
}
