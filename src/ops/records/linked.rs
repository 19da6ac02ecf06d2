//! The links of our own log: which are new since an earlier state of it.

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::log::{Log, folder, parse_id, root_tree};
use crate::{
    error::Result,
    model::record::{Link, RecordId},
};

impl Log<'_> {
    /// Returns the records and commits that the log links and did not when it ended with the commit `since`; all, if that is not known.
    pub(crate) fn links_since(&self, since: Option<ObjectId>) -> Result<Vec<(RecordId, ObjectId)>> {
        let repo = self.repo;
        let Some((_, now)) = self.trees.first() else { return Ok(Vec::new()) };
        // A purge may have removed it.
        let before = since.and_then(|since| root_tree(repo, since).ok()).unwrap_or_else(|| repo.empty_tree_id());
        let mut found = Vec::new();
        for change in repo.diff_trees(before, *now)?.into_iter().filter(|change| change.after.is_some()) {
            let parts: Vec<&[u8]> = change.path.split_str("/").collect();
            let [shard, rest, b"links", commit] = parts[..] else { continue };
            let id = parse_id(shard.as_bstr(), rest.as_bstr());
            found.extend(id.zip(ObjectId::from_hex(commit).ok()));
        }
        Ok(found)
    }

    /// Returns how the record `id` is linked to `commit` in our own log, which this has to be; none if it is not.
    ///
    /// # Errors
    /// If the link is damaged.
    pub(crate) fn own_link(&self, id: &RecordId, commit: ObjectId) -> Result<Option<Link>> {
        let path = format!("{}/links/{commit}", folder(id));
        let Some(text) = self.read(&path)? else { return Ok(None) };
        Link::from_toml(*id, commit, &text).map(Some).map_err(|why| self.damaged(&path, &why))
    }
}
