//! Writes a commit again with another tree, other parents or another message. All else stays: who made it, and when.

use gix::{
    ObjectId,
    objs::{Commit, Kind as ObjectKind, WriteTo as _},
};

use super::{Repo, new_objects::NewObjects};
use crate::error::{Context as _, Kind, Result};

/// What the copy of a commit has in the place of what the commit has.
#[derive(Clone, Debug)]
pub(crate) struct CommitCopy<'a> {
    pub(crate) tree_id: ObjectId,
    pub(crate) parents: Vec<ObjectId>,
    pub(crate) message: &'a str,
}

impl Repo {
    /// Adds a copy of the commit `id` to `objects`, and returns its id.
    pub(crate) fn copy_commit(
        &self,
        id: ObjectId,
        copy: &CommitCopy<'_>,
        objects: &mut NewObjects<'_>,
    ) -> Result<ObjectId> {
        let what = || format!("cannot copy the commit '{id}'");
        let commit = self.with_commit(id, |commit| Commit::try_from(commit.clone()))?.context(Kind::Corrupt, what)?;
        let parents = copy.parents.as_slice().into();
        let commit = Commit { tree: copy.tree_id, parents, message: copy.message.into(), ..commit };
        let mut data = Vec::new();
        commit.write_to(&mut data).context(Kind::Internal, what)?;
        objects.add(ObjectKind::Commit, &data)
    }
}
