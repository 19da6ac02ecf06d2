//! Removed worktrees that have the text: nothing of them is changed, as nothing of a worktree is.
//!
//! A restore brings them back as they were, and the next save there would store the text again.

use std::{collections::BTreeSet, fs, os::unix::ffi::OsStrExt as _, path::Path};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::leaves::leaves_at;
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{Repo, holders::files_below},
    model::{path_text, refname, secret::Secret},
    ops::Context,
    state::{
        self,
        removed::{self, Removed},
    },
};

/// Refuses while a removed worktree has the text in a file that its HEAD does not have it in, or in our files of it; if there are
/// `paths`, one of these as work that is not committed.
pub(super) fn refuse_if_one_has(context: &Context, secret: &Secret, paths: &[BString]) -> Result<()> {
    for removed in removed::all(context.repo.common_dir())? {
        let found = match paths {
            [] if secret.is_nothing() => None,
            [] => with_text(context, &removed, secret).map_err(|error| unreadable(&removed, error))?,
            paths => at_paths(&context.repo, &removed, paths)?,
        };
        let Some(path) = found else { continue };
        let (id, path) = (&removed.id, path_text::printable(path.as_bstr()));
        let what = if paths.is_empty() { "still has the text in" } else { "still has" };
        return Err(Error::refused(format!("the removed worktree {id} {what} '{path}'")).with_hint(format!(
            "'git checkpoint worktree restore {id}' brings it back to change that, \
             'git checkpoint worktree prune --removed' deletes all that can be restored"
        )));
    }
    Ok(())
}

/// Returns the error if files of the removed worktree cannot be read.
fn unreadable(removed: &Removed, error: Error) -> Error {
    if error.kind() != Kind::Internal {
        return error;
    }
    let id = &removed.id;
    Error::refused(format!("it is not known whether the removed worktree {id} has the text"))
        .with_cause(error)
        .with_hint(format!(
            "'git checkpoint worktree restore {id}' brings it back to change that, \
             'git checkpoint worktree prune --removed' deletes all that can be restored"
        ))
}

/// Returns a file of the removed worktree with the text that the next save there would store: ignored files are not looked at.
fn with_text(context: &Context, removed: &Removed, secret: &Secret) -> Result<Option<BString>> {
    let repo = &context.repo;
    if let Some(tree) = &removed.tree {
        if !tree.is_dir() && !removed.path.is_dir() {
            return Err(Error::refused(format!(
                "the files of the removed worktree {} are gone from '{}': what they have is not known",
                removed.id,
                tree.display()
            ))
            .with_hint("mount their file system, or 'git checkpoint worktree prune --removed'"));
        }
        let head = removed.head.map(|id| repo.tree_of_commit(id)).transpose()?;
        for path in to_be_saved(repo, removed, tree, head)? {
            context.check_interrupt()?;
            if has_text(&tree.join(path.to_path_lossy()), secret)? && !is_committed(repo, head, path.as_bstr(), secret)?
            {
                return Ok(Some(path));
            }
        }
    }
    // What is staged there, and in no commit.
    if let Some(holder) = repo.find_ref(&refname::removed_worktree_ref(&removed.id))? {
        for (_, is_tree, id) in repo.tree_entries(repo.tree_of_commit(holder)?)? {
            if !is_tree && secret.is_in(&repo.read_blob(id)?) {
                return Ok(Some("what is staged".into()));
            }
        }
    }
    let ours = state::directory(&removed.admin());
    for file in files_below(&ours)? {
        if file.file_name().is_some_and(|name| name != "index") && has_text(&file, secret)? {
            return Ok(Some(file.as_os_str().as_bytes().into()));
        }
    }
    Ok(None)
}

/// Returns a path of work in the removed worktree that is not committed, and that one of `paths` matches.
fn at_paths(repo: &Repo, removed: &Removed, paths: &[BString]) -> Result<Option<BString>> {
    let Some(checkpoint) = removed.checkpoint.filter(|id| repo.has_object(*id)) else { return Ok(None) };
    let Some(checkpoint) = repo.find_checkpoint(checkpoint)? else { return Ok(None) };
    let leaves = leaves_at(repo, &checkpoint, &mut repo.pathspec(paths)?)?;
    Ok(leaves.first().map(|(tree, change)| tree.path_of(change)))
}

/// Returns the files of the removed worktree with the root `tree` that a save there looks at: those that git does not ignore, and
/// those that its last checkpoint or its commit, with the tree `head`, has.
fn to_be_saved(repo: &Repo, removed: &Removed, tree: &Path, head: Option<ObjectId>) -> Result<BTreeSet<BString>> {
    let mut paths: BTreeSet<BString> = repo.not_ignored_below(tree)?.into_iter().collect();
    let saved = removed.checkpoint.filter(|id| repo.has_object(*id)).map(|id| repo.tree_of_commit(id)).transpose()?;
    for tree_id in [head, saved].into_iter().flatten() {
        paths.extend(repo.diff_trees(repo.empty_tree_id(), tree_id)?.into_iter().map(|change| change.path));
    }
    Ok(paths)
}

/// Returns true if `file` is a regular file with the text.
fn has_text(file: &Path, secret: &Secret) -> Result<bool> {
    let what = || format!("cannot read '{}'", file.display());
    match fs::symlink_metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        metadata if !metadata.as_ref().is_ok_and(fs::Metadata::is_file) => {
            metadata.context(Kind::Internal, what).map(|_| false)
        }
        _ => fs::File::open(file).and_then(|file| secret.is_in_file(file)).context(Kind::Internal, what),
    }
}

/// Returns true if the tree `head` has the text at `path`: it is the user's, and stays.
fn is_committed(repo: &Repo, head: Option<ObjectId>, path: &BStr, secret: &Secret) -> Result<bool> {
    let Some(leaf) = head.map(|tree_id| repo.find_leaf(tree_id, path)).transpose()?.flatten() else { return Ok(false) };
    Ok(repo.text_of(Some(leaf))?.is_some_and(|text| secret.is_in(&text)))
}
