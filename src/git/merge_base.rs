//! Where the histories of two commits part.

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{Repo, environment};
use crate::error::{Context as _, Error, Kind, Result};

impl Repo {
    /// Returns the best common ancestors of the commits `one` and `other`, as git-merge-base(1) has them; several after merges in
    /// both directions.
    ///
    /// # Errors
    /// If the history cannot be read; if git takes other commits for some, or other parents.
    pub(crate) fn merge_bases(&self, one: ObjectId, other: ObjectId) -> Result<Vec<ObjectId>> {
        let what = || format!("cannot read the history between '{one}' and '{other}'");
        if self.is_history_replaced()? {
            return Err(Error::corrupt("git sees another history here (git-replace(1)), which is not read"));
        }
        if one == other {
            return Ok(vec![one]);
        }
        // Git ends the history where a shallow clone does.
        if self.inner.is_shallow().context(Kind::Corrupt, what)? {
            let words = ["merge-base", "--all", &one.to_string(), &other.to_string()].map(str::to_owned);
            let output = self.try_git(&words, None)?;
            let ids = output.stdout.lines().map(|line| ObjectId::from_hex(line).context(Kind::Internal, what));
            let is_answered = matches!(output.status.code(), Some(0 | 1));
            return if is_answered { ids.collect() } else { Err(Error::corrupt(what())) };
        }
        let found = self.inner.merge_bases_many(one, &[other]).context(Kind::Corrupt, what)?;
        Ok(found.into_iter().map(gix::Id::detach).collect())
    }

    /// Returns true if git may read other commits in the place of some, or other parents.
    fn is_history_replaced(&self) -> Result<bool> {
        let has_grafts = self.common_dir().join("info/grafts").metadata().is_ok_and(|found| found.len() > 0);
        let is_elsewhere = environment::variable("GIT_REPLACE_REF_BASE").is_some();
        Ok(has_grafts || is_elsewhere || !self.refs_below("refs/replace/")?.is_empty())
    }
}
