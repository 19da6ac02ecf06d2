//! Changes some paths of a tree; reads and writes only the directories that contain them.

use bstr::{BStr, BString, ByteSlice as _};
use gix::{
    ObjectId,
    objs::{
        Kind as ObjectKind, TreeRef,
        tree::{Editor, EntryKind},
    },
};

use super::new_objects::{NewObjects, id_of};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::change::{Change, Mode},
};

/// A change of the tree: none removes the path.
pub(crate) type Edit = Option<(ObjectId, Mode)>;

/// Returns the edits that make `changes`.
pub(crate) fn edits_of(changes: &[Change]) -> Vec<(BString, Edit)> {
    changes.iter().map(|it| (it.path.clone(), it.after.map(|leaf| (leaf.id, leaf.mode)))).collect()
}

/// Returns the tree `base` with `edits` applied; adds the new trees to `objects`.
pub(crate) fn edit_tree(base: ObjectId, edits: &[(BString, Edit)], objects: &mut NewObjects<'_>) -> Result<ObjectId> {
    if edits.is_empty() {
        return Ok(base);
    }
    let mut written = Vec::new();
    let tree_id = {
        use gix::objs::Find as _;
        let what = || format!("cannot read the tree '{base}'");
        let mut buffer = Vec::new();
        let root = if base.is_empty_tree() {
            gix::objs::Tree::empty()
        } else {
            let data = objects
                .try_find(&base, &mut buffer)
                .context(Kind::Corrupt, what)?
                .ok_or_else(|| Error::corrupt(what()))?;
            TreeRef::from_bytes(data.data, base.kind()).context(Kind::Corrupt, what)?.into_owned()
        };
        let objects = &*objects;
        let mut editor = Editor::new(root, &objects, base.kind());
        // Remove first, and only leaves: the removal of a file must not remove a directory that replaces it.
        for (path, _) in edits.iter().filter(|(_, edit)| edit.is_none()) {
            editor.remove_if_leaf(components(path)).context(Kind::Corrupt, what)?;
        }
        for (path, edit) in edits {
            let Some((id, mode)) = edit else { continue };
            let kind = match mode {
                Mode::File => EntryKind::Blob,
                Mode::Executable => EntryKind::BlobExecutable,
                Mode::Link => EntryKind::Link,
                Mode::Gitlink => EntryKind::Commit,
            };
            editor.upsert(components(path), kind, *id).context(Kind::Corrupt, what)?;
        }
        editor.write(|tree| {
            use gix::objs::WriteTo as _;
            let mut data = Vec::new();
            tree.write_to(&mut data).context(Kind::Internal, || "cannot encode a tree".into())?;
            let id = id_of(ObjectKind::Tree, &data, base.kind())?;
            written.push((id, data));
            Ok::<_, Error>(id)
        })?
    };
    for (id, data) in written {
        objects.add_with_id(ObjectKind::Tree, &data, id)?;
    }
    Ok(tree_id)
}

fn components(path: &BString) -> impl Iterator<Item = &BStr> {
    path.split_str("/").map(bstr::ByteSlice::as_bstr)
}
