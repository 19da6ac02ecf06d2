//! What is in a repository now, read without a process: histories ask for it after almost every step.

use std::collections::BTreeMap;

use gix::bstr::ByteSlice as _;

use super::recorder::Recorder;

impl Recorder {
    fn repository(&self) -> gix::Repository {
        gix::open_opts(&self.place, gix::open::Options::isolated()).expect("the repository opens")
    }

    /// Returns the texts of the files of HEAD by name; there are no directories.
    pub(super) fn committed(&self) -> BTreeMap<String, String> {
        let repository = self.repository();
        let tree = repository.head_tree().expect("HEAD is a commit");
        let text = |entry: Result<gix::object::tree::EntryRef<'_, '_>, _>| {
            let entry = entry.expect("a sound tree");
            assert!(entry.mode().is_blob(), "{}", entry.filename());
            let blob = entry.object().expect("it is there");
            (entry.filename().to_string(), String::from_utf8_lossy(&blob.data).into_owned())
        };
        tree.iter().map(text).collect()
    }

    /// Returns the branches but the one that is checked out here.
    pub(super) fn other_branches(&self) -> Vec<String> {
        let repository = self.repository();
        let head = repository.head_name().expect("HEAD is readable");
        let references = repository.references().expect("they are readable");
        let branches = references.local_branches().expect("they are readable").map(|branch| branch.expect("readable"));
        let others = branches.filter(|branch| head.as_ref().is_none_or(|head| branch.name() != head.as_ref()));
        others.map(|branch| branch.name().shorten().to_string()).collect()
    }

    /// Returns the branch that is checked out here.
    pub(super) fn branch(&self) -> String {
        let head = self.repository().head_name().expect("HEAD is readable");
        head.map_or_else(|| "HEAD".to_owned(), |name| name.shorten().to_string())
    }

    /// Returns true if a file here is not as HEAD has it.
    pub(super) fn is_dirty(&self) -> bool {
        let now: BTreeMap<String, String> =
            self.files().into_iter().map(|path| (path.clone(), self.read(&path))).collect();
        now != self.committed()
    }

    /// Returns the paths in conflict.
    pub(super) fn unmerged(&self) -> Vec<String> {
        let index = self.repository().index_or_empty().expect("it is readable");
        let entries = index.entries().iter().filter(|entry| entry.stage_raw() != 0);
        let mut paths: Vec<String> = entries.map(|entry| entry.path(&index).to_str_lossy().into_owned()).collect();
        paths.dedup();
        paths
    }

    /// Returns true if HEAD has two commits at least on another one, and none of the two is a merge.
    pub(super) fn has_two_plain_commits(&self) -> bool {
        let repository = self.repository();
        let mut id = repository.head_id().ok().map(gix::Id::detach);
        let is_plain = |id: &mut Option<gix::ObjectId>| {
            let commit = id.and_then(|id| repository.find_commit(id).ok());
            let parents: Vec<_> = commit.iter().flat_map(gix::Commit::parent_ids).map(gix::Id::detach).collect();
            *id = parents.first().copied();
            parents.len() == 1
        };
        is_plain(&mut id) && is_plain(&mut id)
    }
}
