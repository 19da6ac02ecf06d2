//! Copies that a start has made in part, or as a whole, before it failed: no process was shown one.

use std::{fs, path::Path};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{super::Context, commit::verify, copies, listing::bytes};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::path_text::printable,
    state::rounds::{self, Place},
};

/// Deletes the copy that this call has made for `place`, or a part of it, if nothing is in it but what was copied.
///
/// # Errors
/// If it cannot be read or deleted.
pub(super) fn delete_unused(context: &Context, place: &Place) -> Result<()> {
    let Some(path) = place.path.as_deref().or(place.claimed.as_deref()) else { return Ok(()) };
    if copies::is_its(place, path) && has_only_copied(context, place, path)? {
        let what = || Error::user(format!("cannot delete '{}'", path.display()));
        rounds::delete_copy(path).map_err(|cause| what().with_cause(cause))?;
    }
    Ok(())
}

/// Returns true if each file of the copy at `path` is one of the commit, or one that is where the copy is from; and, if the copy is
/// whole, if nothing has changed in it since.
fn has_only_copied(context: &Context, place: &Place, path: &Path) -> Result<bool> {
    let Ok(repo) = context.repo.open_worktree(path) else { return Ok(false) };
    let (head, there) = (repo.head()?.id, context.with_repo(repo));
    if place.path.is_some() {
        let base = place.base.as_ref().and_then(|id| ObjectId::from_hex(id.as_bytes()).ok());
        return Ok(base.is_some_and(|base| head == Some(base) && verify(&there, base).is_ok()));
    }
    let tree_id = head.map(|id| there.repo.tree_of_commit(id)).transpose()?;
    let from = if Repo::is_inside_repository(&place.context) {
        Repo::open(&place.context)?.worktree_root().to_owned()
    } else {
        place.context.clone()
    };
    let mut work = vec![BString::default()];
    while let Some(folder) = work.pop() {
        let Ok(entries) = fs::read_dir(path.join(folder.to_path_lossy())) else { return Ok(false) };
        for entry in entries.flatten() {
            let name = bytes(Path::new(&entry.file_name()));
            let inside = if folder.is_empty() { name } else { [&folder[..], b"/", &name].concat().into() };
            if inside == ".git" {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                work.push(inside);
                continue;
            }
            let is_there = fs::symlink_metadata(from.join(inside.to_path_lossy())).is_ok();
            let in_commit = |tree_id| there.repo.find_leaf(tree_id, inside.as_bstr()).map(|leaf| leaf.is_some());
            if !is_there && !tree_id.map_or(Ok(false), in_commit)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Returns `error`, with where the copies are that were moved `aside`.
pub(super) fn with_asides(error: Error, aside: &[std::path::PathBuf]) -> Error {
    let Some(path) = aside.first() else { return error };
    let shown = printable(bytes(path).as_bstr());
    let stays = format!("what was made by then is in '{shown}', until 'git checkpoint prune' deletes it");
    let hint = error.hint().map_or_else(|| stays.clone(), |hint| format!("{hint}; {stays}"));
    error.with_hint(hint)
}
