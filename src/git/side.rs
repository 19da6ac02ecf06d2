//! The side commit of a checkpoint: what the checkpoint's tree cannot contain.
//!
//! Its tree has `index/` (the staged tree, if it is not HEAD's), `raw/<path>` (exact bytes of files whose blobs do not
//! convert back to them), `unmerged/<stage>/<path>` (the stages of an unfinished merge), `moved` (the authors of lines that the
//! checkpoint has from elsewhere) and `manifest.toml`.

use bstr::{BString, ByteSlice as _};
use gix::{
    ObjectId,
    objs::{
        Kind as ObjectKind, Tree,
        tree::{Entry, EntryMode},
    },
};

use super::{
    Repo,
    checkout_names::is_git_path,
    edit_tree::{Edit, edit_tree},
    index_tree::write_tree,
    new_objects::NewObjects,
};
use crate::{
    error::{Error, Result},
    model::{attribution::text::Attribution, change::Mode, manifest::Manifest, path_text},
};

/// The data of a side commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Side {
    /// The staged tree; none if it is HEAD's.
    pub(crate) index_tree_id: Option<ObjectId>,
    /// The tree of exact bytes.
    pub(crate) raw_tree_id: Option<ObjectId>,
    /// The tree of unmerged stages.
    pub(crate) unmerged_tree_id: Option<ObjectId>,
    /// The attribution of lines that git brought from elsewhere, as text; of this checkpoint alone.
    pub(crate) moved_id: Option<ObjectId>,
    /// What no tree can contain.
    pub(crate) manifest: Manifest,
}

impl Side {
    /// Returns the same for the next checkpoint, to be edited: it has no lines from elsewhere yet.
    pub(crate) fn for_next(&self) -> Self {
        // What is in submodules by then is not known.
        let manifest = Manifest { submodules: Vec::new(), ..self.manifest.clone() };
        Self { moved_id: None, manifest, ..self.clone() }
    }
}

/// Replaces the attribution of moved lines in a checkpoint where it is lost, or was not found: the author of the lines that
/// the checkpoint adds is unknown.
pub(crate) const MOVED_LINES_LOST: &[u8] = b"lost\n";

const DIRECTORY: u32 = 0o40_000;
const FILE: u32 = 0o100_644;

impl Repo {
    /// Reads the side commit `id`.
    ///
    /// # Errors
    /// If its manifest is damaged or of an unknown version.
    pub(crate) fn read_side(&self, id: ObjectId) -> Result<Side> {
        let tree_id = self.tree_of_commit(id)?;
        let find = |name: &str| Ok::<_, Error>(self.find_entry(tree_id, name.into())?.map(|(_, id)| id));
        let manifest = match find("manifest.toml")? {
            Some(blob_id) => {
                let text = self.read_blob(blob_id)?;
                let damaged =
                    |cause: String| Error::corrupt(format!("the manifest of '{id}' is damaged")).with_cause(cause);
                let text = text.to_str().map_err(|cause| damaged(cause.to_string()))?;
                let manifest = Manifest::from_toml(text).map_err(damaged)?;
                check(&manifest).map_err(damaged)?;
                manifest
            }
            None => Manifest::default(),
        };
        Ok(Side {
            index_tree_id: find("index")?,
            raw_tree_id: find("raw")?,
            unmerged_tree_id: find("unmerged")?,
            moved_id: find("moved")?,
            manifest,
        })
    }

    /// Returns the attribution of lines that git brought into the checkpoint with the side commit `id`.
    ///
    /// # Errors
    /// If it is damaged.
    pub(crate) fn moved_lines(&self, id: ObjectId) -> Result<Option<Attribution>> {
        let Some((_, blob_id)) = self.find_entry(self.tree_of_commit(id)?, "moved".into())? else { return Ok(None) };
        let damaged = |cause| Error::corrupt(format!("the moved lines of '{id}' are damaged")).with_cause(cause);
        Attribution::from_text(&self.read_blob(blob_id)?).map(Some).map_err(damaged)
    }
}

/// Checks that `manifest`, which may come from another repository, fits into an index: git's rules for names, and its
/// modes.
fn check(manifest: &Manifest) -> std::result::Result<(), String> {
    let special = manifest.unmerged.iter().map(|entry| &entry.path).chain(&manifest.intent_to_add);
    let directories = manifest.nested.iter().map(|nested| &nested.path).chain(&manifest.empty_directories);
    let directories = directories.chain(manifest.submodules.iter().map(|tied| &tied.path));
    if let Some(path) = special.chain(directories).find(|path| !is_git_path(path.as_bstr())) {
        return Err(format!("'{}' is not a path of a repository", path_text::printable(path.as_bstr())));
    }
    match manifest.unmerged.iter().find(|entry| Mode::from_bits(entry.mode).is_none()) {
        Some(entry) => Err(format!("{:o} is not a mode", entry.mode)),
        None => Ok(()),
    }
}

/// Returns the tree of `paths` and their blobs, added to `objects`; none if `paths` is empty.
pub(crate) fn tree_of_blobs(
    repo: &Repo,
    paths: Vec<(BString, ObjectId)>,
    objects: &mut NewObjects<'_>,
) -> Result<Option<ObjectId>> {
    let edits: Vec<(BString, Edit)> = paths.into_iter().map(|(path, id)| (path, Some((id, Mode::File)))).collect();
    tree_of_edits(repo, &edits, objects)
}

fn tree_of_edits(repo: &Repo, edits: &[(BString, Edit)], objects: &mut NewObjects<'_>) -> Result<Option<ObjectId>> {
    if edits.is_empty() {
        return Ok(None);
    }
    edit_tree(repo.empty_tree_id(), edits, objects).map(Some)
}

/// Returns the tree of the unmerged stages in `manifest`, added to `objects`; none if there are no such stages.
pub(crate) fn tree_of_unmerged(
    repo: &Repo,
    manifest: &Manifest,
    objects: &mut NewObjects<'_>,
) -> Result<Option<ObjectId>> {
    let mut edits: Vec<(BString, Edit)> = Vec::new();
    for entry in &manifest.unmerged {
        let mut path = BString::from(format!("{}/", entry.stage));
        path.extend_from_slice(&entry.path);
        // The commits of a submodule are in another repository; a tree may name them only as gitlinks.
        let mode = if entry.is_commit() { Mode::Gitlink } else { Mode::File };
        edits.push((path, Some((entry.id, mode))));
    }
    tree_of_edits(repo, &edits, objects)
}

/// Returns the tree of a side commit with the data of `side`, added to `objects`; none if there are no data.
pub(crate) fn write_side_tree(side: &Side, objects: &mut NewObjects<'_>) -> Result<Option<ObjectId>> {
    let entry = |name: &str, mode: u32, oid: ObjectId| Entry {
        mode: EntryMode::try_from(mode).expect("a known mode"),
        filename: name.into(),
        oid,
    };
    let trees = [("index", side.index_tree_id), ("raw", side.raw_tree_id), ("unmerged", side.unmerged_tree_id)];
    let mut entries: Vec<_> = trees.into_iter().filter_map(|(name, id)| Some(entry(name, DIRECTORY, id?))).collect();
    if !side.manifest.is_empty() {
        let id = objects.add(ObjectKind::Blob, side.manifest.to_toml().as_bytes())?;
        entries.push(entry("manifest.toml", FILE, id));
    }
    entries.extend(side.moved_id.map(|id| entry("moved", FILE, id)));
    if entries.is_empty() {
        return Ok(None);
    }
    entries.sort();
    write_tree(&Tree { entries }, objects).map(Some)
}
