//! Of which files of a record a commit has the work.

use std::collections::BTreeSet;

use bstr::BString;
use gix::ObjectId;

use super::log::Log;
use crate::{
    error::Result,
    model::{
        record::{Link, RecordId},
        refname,
    },
};

/// The files of a record whose work a commit has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limit {
    /// By their names in the record; empty: all.
    pub(crate) files: Vec<BString>,
    /// True if the commit may have the work of other files, too.
    pub(crate) is_doubtful: bool,
}

impl Limit {
    /// Returns the only files whose work the commit has; nothing if it may have all.
    pub(crate) fn certain(self) -> Vec<BString> {
        if self.is_doubtful { Vec::new() } else { self.files }
    }
}

impl Log<'_> {
    /// Returns of which files of the record `id` the commit has the work: its link says so. A commit that only names the record is a copy,
    /// of a forge or another clone for example, and has what the commit with the same author, time and subject has. If there is none, and
    /// a commit with a link has a part of the record, we cannot know.
    ///
    /// Of a record that our own log has, only our own log says this: what was fetched takes no authors away from it. Of others, a
    /// commit has what any log says.
    pub(crate) fn limit(&self, id: &RecordId, commit: ObjectId) -> Result<Limit> {
        let mut logs: Vec<Log<'_>> = self.trees.iter().map(|(name, tree_id)| self.alone(name, *tree_id)).collect();
        if let Some(own) = logs.iter().position(|log| log.trees[0].0 == refname::HISTORY)
            && logs[own].has(id)?
        {
            logs = vec![logs.swap_remove(own)];
        }
        let mut links = Vec::new();
        for log in &logs {
            links.extend(log.link(id, commit)?);
        }
        if !links.is_empty() {
            return Ok(Limit { files: files_of(&links), is_doubtful: false });
        }
        for log in &logs {
            links.extend(log.links(id)?);
        }
        if links.iter().all(|link| link.only.is_empty()) || !self.repo.is_commit(commit)? {
            return Ok(Limit::default());
        }
        let (stamp, mut copied) = (self.repo.stamp(commit)?, Vec::new());
        for link in &links {
            if stamp.is_some() && self.repo.is_commit(link.commit)? && self.repo.stamp(link.commit)? == stamp {
                copied.push(link.clone());
            }
        }
        let is_part = |link: &Link| !link.only.is_empty();
        if !copied.is_empty() && copied.iter().all(is_part) == copied.iter().any(is_part) {
            return Ok(Limit { files: files_of(&copied), is_doubtful: false });
        }
        links.retain(is_part);
        Ok(Limit { files: files_of(&links), is_doubtful: true })
    }
}

/// Returns the files of which any of `links` says that a commit has the work; nothing if one says: of all.
fn files_of(links: &[Link]) -> Vec<BString> {
    if links.iter().any(|link| link.only.is_empty()) {
        return Vec::new();
    }
    let files: BTreeSet<&BString> = links.iter().flat_map(|link| &link.only).collect();
    files.into_iter().cloned().collect()
}
