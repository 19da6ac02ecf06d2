//! The `.gitattributes` files of a tree, stored or being built: they decide how a blob is converted to the bytes in the
//! worktree.

use std::{collections::BTreeMap, sync::Arc};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{
    ObjectId,
    index::entry::{Flags, Mode as IndexMode},
    objs::{Data, Find, Kind as ObjectKind},
};

use super::{Repo, edit_tree::Edit, ignore::directories_to, stat_cache::StatCache};
use crate::{
    error::{Error, Result},
    model::change::Mode,
};

const NAME: &str = ".gitattributes";

/// Path and blob of each file, and the content of those that the repository does not have yet. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct AttributeFiles {
    ids: Arc<BTreeMap<BString, ObjectId>>,
    fresh: Arc<BTreeMap<ObjectId, Vec<u8>>>,
}

impl PartialEq for AttributeFiles {
    fn eq(&self, other: &Self) -> bool {
        self.ids == other.ids
    }
}

impl AttributeFiles {
    /// Returns the files among `entries` of a tree.
    pub(crate) fn among<P: AsRef<[u8]>>(entries: impl Iterator<Item = (P, Option<Mode>, ObjectId)>) -> Self {
        let ids = entries.filter(|(path, mode, _)| is_attribute_file(path.as_ref().as_bstr()) && is_file(*mode));
        let ids = ids.map(|(path, _, id)| (BString::from(path.as_ref()), id)).collect();
        Self { ids: Arc::new(ids), fresh: Arc::default() }
    }

    /// Returns the files that `cache` knows.
    pub(super) fn of_cache(cache: &StatCache) -> Self {
        let files = cache.entries().iter().filter(|entry| !entry.id.is_null());
        Self::among(files.map(|entry| (cache.path(entry), Some(entry.mode), entry.id)))
    }

    /// Returns the paths of the files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &BString> {
        self.ids.keys()
    }

    /// Returns the blobs of the files.
    pub(super) fn ids(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.ids.values().copied()
    }

    /// Returns the files of the tree `tree_id` that apply to `paths`.
    pub(crate) fn of_tree<'p>(
        repo: &Repo,
        tree_id: ObjectId,
        paths: impl IntoIterator<Item = &'p BString>,
    ) -> Result<Self> {
        let mut ids = BTreeMap::new();
        for directory in directories_to(paths) {
            let path = BString::from([directory, NAME.as_bytes()].concat());
            if let Some(leaf) = repo.find_leaf(tree_id, path.as_bstr())?.filter(|leaf| is_file(Some(leaf.mode))) {
                ids.insert(path, leaf.id);
            }
        }
        Ok(Self { ids: Arc::new(ids), fresh: Arc::default() })
    }

    /// Returns these files with `edits` applied (none: removed); `objects` has all blobs.
    pub(crate) fn with_edits<'p>(
        &self,
        repo: &Repo,
        edits: impl Iterator<Item = (&'p BString, Option<ObjectId>)>,
        objects: &impl Find,
    ) -> Result<Self> {
        let mut files = self.clone();
        for (path, id) in edits.filter(|(path, _)| is_attribute_file(path.as_bstr())) {
            let ids = Arc::make_mut(&mut files.ids);
            let Some(id) = id else {
                ids.remove(path);
                continue;
            };
            ids.insert(path.clone(), id);
            if !repo.has_object(id) {
                let mut buffer = Vec::new();
                let data = objects.try_find(&id, &mut buffer).ok().flatten().map(|data| data.data.to_vec());
                let data = data.ok_or_else(|| Error::corrupt(format!("the blob '{id}' of '{path}' is missing")))?;
                Arc::make_mut(&mut files.fresh).insert(id, data);
            }
        }
        Ok(files)
    }

    /// Returns these files after `edits` of the tree; `objects` has all blobs.
    pub(crate) fn with_tree_edits(&self, repo: &Repo, edits: &[(BString, Edit)], objects: &impl Find) -> Result<Self> {
        let id = |edit: &Edit| edit.filter(|(_, mode)| is_file(Some(*mode))).map(|(id, _)| id);
        self.with_edits(repo, edits.iter().map(|(path, edit)| (path, id(edit))), objects)
    }

    /// Returns the directories (with final `/`, empty for the root) in which these files are not those of `other`.
    pub(crate) fn differing_directories(&self, other: &Self) -> Vec<BString> {
        let paths: std::collections::BTreeSet<_> = self.ids.keys().chain(other.ids.keys()).collect();
        let differing = paths.into_iter().filter(|path| self.ids.get(*path) != other.ids.get(*path));
        differing.map(|path| BString::from(&path[..path.len() - NAME.len()])).collect()
    }

    /// Returns the files as an index, from which gix reads attributes.
    pub(super) fn to_index(&self, hash: gix::hash::Kind) -> gix::index::State {
        let mut state = gix::index::State::new(hash);
        for (path, id) in self.ids.iter() {
            let stat = gix::index::entry::Stat::default();
            state.dangerously_push_entry(stat, *id, Flags::empty(), IndexMode::FILE, path.as_bstr());
        }
        state.sort_entries();
        state
    }

    /// Reads the object `id`, from these files or from `repo`. An unreadable file counts as one without rules, so that
    /// exact bytes are kept where they matter.
    pub(super) fn find<'a>(&self, repo: &Repo, id: &gix::oid, buffer: &'a mut Vec<u8>) -> Data<'a> {
        let data = match self.fresh.get(id) {
            Some(data) => data.clone(),
            None => repo.read_blob(id.to_owned()).unwrap_or_default(),
        };
        *buffer = data;
        Data { kind: ObjectKind::Blob, object_hash: repo.object_hash(), data: buffer }
    }
}

fn is_file(mode: Option<Mode>) -> bool {
    matches!(mode, Some(Mode::File | Mode::Executable))
}

/// Returns true if git reads attributes from a file at `path`.
pub(crate) fn is_attribute_file(path: &BStr) -> bool {
    path.strip_suffix(NAME.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.ends_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(entries: &[(&str, u8)]) -> AttributeFiles {
        let id = |byte: u8| ObjectId::from_bytes_or_panic(&[byte; 20]);
        AttributeFiles::among(entries.iter().map(|(path, byte)| (*path, Some(Mode::File), id(*byte))))
    }

    #[rstest::rstest]
    #[case::root(".gitattributes", true)]
    #[case::inside("d/e/.gitattributes", true)]
    #[case::other_name("d/x.gitattributes", false)]
    #[case::directory(".gitattributes/x", false)]
    fn names(#[case] path: &str, #[case] expected: bool) {
        assert_eq!(is_attribute_file(path.into()), expected);
    }

    #[test]
    fn directories_differ_where_files_come_go_and_change() {
        let old = files(&[(".gitattributes", 1), ("a/.gitattributes", 1), ("b/.gitattributes", 1), ("f", 1)]);
        let new = files(&[(".gitattributes", 1), ("a/.gitattributes", 2), ("c/.gitattributes", 1), ("f", 2)]);
        assert_eq!(old.differing_directories(&new), ["a/", "b/", "c/"]);
        assert_eq!(old.differing_directories(&old.clone()), Vec::<BString>::new());
    }
}
