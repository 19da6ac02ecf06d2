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
        self.refuse_replaced_history()?;
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

    /// Returns true if the commit `later` leads to `earlier`, as they are stored; false if that cannot be read.
    pub(crate) fn leads_to(&self, later: ObjectId, earlier: ObjectId) -> bool {
        let found = self.inner.merge_bases_many(later, &[earlier]);
        later == earlier || found.is_ok_and(|bases| bases.iter().any(|base| *base == earlier))
    }

    /// Refuses if git may read other commits in the place of some, or other parents.
    fn refuse_replaced_history(&self) -> Result<()> {
        const BASE: &str = "GIT_REPLACE_REF_BASE";
        if environment::variable(BASE).is_some() {
            let why =
                format!("git may see another history here, as '{BASE}' is set (git-replace(1)), which is not read");
            return Err(Error::corrupt(why));
        }
        let has_grafts = self.common_dir().join("info/grafts").metadata().is_ok_and(|found| found.len() > 0);
        if has_grafts || !self.refs_below("refs/replace/")?.is_empty() {
            return Err(Error::corrupt("git sees another history here (git-replace(1)), which is not read"));
        }
        Ok(())
    }
}
