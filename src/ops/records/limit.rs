//! Of which files of a record a commit has the work.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::log::Log;
use crate::{
    error::Result,
    model::{
        record::{Link, RecordFile, RecordId},
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
    /// of a forge or another clone for example, and has what the commit with the same author, time and subject has: it may be a later version
    /// of that, which has more. If there is none, and a commit with a link has a part of the record, only what is as in the record is known.
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
            return self.with_changed(id, commit, files_of(&copied), &copied);
        }
        links.retain(is_part);
        self.with_changed(id, commit, files_of(&links), &[])
    }

    /// Returns `files`, and the other files of the record `id` that `commit` leaves as the record has them. If it changes one of these
    /// otherwise, and not as the commits of `copied` do, we cannot know: a person may have edited the work there, or typed another.
    fn with_changed(&self, id: &RecordId, commit: ObjectId, mut files: Vec<BString>, copied: &[Link]) -> Result<Limit> {
        let repo = self.repo;
        let record = if files.is_empty() { None } else { self.find(id).ok().flatten() };
        let Some(record) = record else { return Ok(Limit { files, is_doubtful: copied.is_empty() }) };
        let with_work = record.files.iter().filter(|file| !file.sessions.is_empty());
        let others: Vec<&RecordFile> = with_work.filter(|file| !files.contains(&file.path)).collect();
        let tree_id = repo.tree_of_commit(commit)?;
        let parent = repo.parents_of(commit)?.first().copied().filter(|parent| repo.has_object(*parent));
        let before = parent.map(|parent| repo.tree_of_commit(parent)).transpose()?;
        let mut of_copied = Vec::new();
        for link in copied {
            of_copied.push(repo.tree_of_commit(link.commit)?);
        }
        let (mut is_doubtful, mut has_all) = (false, true);
        for file in others {
            let at = |tree_id| Ok(repo.find_leaf(tree_id, file.path.as_bstr())?.map(|leaf| leaf.id));
            let now = at(tree_id)?;
            // A file that is in neither may have another name now.
            let is_unchanged = now.is_some() && before.map(at).transpose()? == Some(now);
            if is_unchanged || of_copied.iter().map(|it| at(*it)).collect::<Result<Vec<_>>>()?.contains(&now) {
                has_all = false;
            } else if now == file.after {
                files.push(file.path.clone());
            } else {
                is_doubtful = true;
            }
        }
        if has_all && !is_doubtful {
            files.clear();
        }
        Ok(Limit { files, is_doubtful })
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
