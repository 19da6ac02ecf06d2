//! Where the histories of two commits part.

use gix::ObjectId;

use super::Repo;
use crate::error::{Context as _, Kind, Result};

impl Repo {
    /// Returns the best common ancestors of the commits `one` and `other`, as git-merge-base(1) has them; several after merges in
    /// both directions.
    pub(crate) fn merge_bases(&self, one: ObjectId, other: ObjectId) -> Result<Vec<ObjectId>> {
        if one == other {
            return Ok(vec![one]);
        }
        let found = self.inner.merge_bases_many(one, &[other]);
        let found =
            found.context(Kind::Corrupt, || format!("cannot read the history between '{one}' and '{other}'"))?;
        Ok(found.into_iter().map(gix::Id::detach).collect())
    }
}
