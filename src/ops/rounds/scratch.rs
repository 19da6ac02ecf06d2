//! The folder for experiments of a round: ignored before it is made, so that no status, diff, commit or checkpoint has it.

use std::{
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice as _};

use super::{
    super::{Context, agent_hooks},
    names::Folders,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{Repo, worktrees::inside},
    model::round::WORKTREES,
};

/// Lets git ignore the folder for experiments at the root of each worktree of this repository.
///
/// # Errors
/// As [`agent_hooks::exclude_folders`].
pub(super) fn exclude(context: &Context, folders: &Folders) -> Result<()> {
    agent_hooks::exclude_folders(context, &[folders.scratch.as_str().into()], true)
}

/// Lets the repository that `workspace` is in, if it is in one, ignore the folders that rounds make there.
///
/// # Errors
/// As [`agent_hooks::exclude_folders`]; if that repository cannot be opened.
pub(super) fn exclude_in(context: &Context, workspace: &Path, folders: &Folders) -> Result<()> {
    if !Repo::is_inside_repository(workspace) {
        return Ok(());
    }
    let there = context.with_repo(Repo::open(workspace)?);
    let prefix = place_in(&there.repo, workspace)?;
    let prefix = if prefix.is_empty() { prefix } else { [prefix.as_slice(), b"/"].concat().into() };
    let path = |name: &str| BString::from([prefix.as_slice(), name.as_bytes()].concat());
    let all = [WORKTREES, &folders.archive, &folders.scratch].map(path);
    agent_hooks::exclude_folders(&there, &all, false)
}

/// Returns the directory `path` relative to the root of the worktree of `repo`.
///
/// # Errors
/// [`Kind::Refused`] if it is a directory of git's own.
pub(super) fn place_in(repo: &Repo, path: &Path) -> Result<BString> {
    let found = inside(repo.worktree_root(), path);
    let found = found.filter(|inside| inside.split_str("/").all(|part| !part.eq_ignore_ascii_case(b".git")));
    found.ok_or_else(|| Error::refused(format!("'{}' is a directory of git's own", path.display())))
}

/// Makes the folder for experiments in the worktree of `there`, and returns its path. One that is there stays.
///
/// # Errors
/// [`Kind::Refused`] if git would not ignore it there, or something else has its name.
pub(super) fn make(there: &Context, folders: &Folders) -> Result<PathBuf> {
    // The commit may have other rules, or files of this name.
    agent_hooks::exclude_folders(there, &[folders.scratch.as_str().into()], false)?;
    make_folder(&there.repo.worktree_root().join(&folders.scratch))
}

/// Sees to it that git ignores the folder for experiments at `path`, at the root of the worktree of `there`.
///
/// # Errors
/// As [`agent_hooks::keep_folder_excluded`]: what is in it would be committed.
pub(super) fn keep_ignored(there: &Context, path: &Path) -> Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.is_dir() {
        return Err(not_a_folder(path));
    }
    path.file_name().map_or(Ok(()), |name| agent_hooks::keep_folder_excluded(there, &name.as_bytes().into()))
}

/// Makes the folder `path`, unless it is there, and returns it.
///
/// # Errors
/// [`Kind::Refused`] if something else is there: a symbolic link would lead elsewhere.
pub(super) fn make_folder(path: &Path) -> Result<PathBuf> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let is_folder = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
            if is_folder { Ok(path.to_owned()) } else { Err(not_a_folder(path)) }
        }
        made => made.map(|()| path.to_owned()).context(Kind::User, || format!("cannot create '{}'", path.display())),
    }
}

/// Makes the directory `inside` of the worktree with the root `root`, unless its commit has it: what git does not track in one
/// worktree is missing in another one.
///
/// # Errors
/// [`Kind::Refused`] if the commit has something else there, be it a symbolic link.
pub(super) fn make_inside(root: &Path, inside: &BStr) -> Result<()> {
    let mut path = root.to_owned();
    for part in inside.split_str("/").filter(|part| !part.is_empty()) {
        path.push(part.to_path_lossy());
        make_folder(&path).map_err(|error| match error.kind() {
            Kind::Refused => {
                Error::refused(format!("'{inside}' is no directory in the commit at which the branch begins"))
            }
            _ => error,
        })?;
    }
    Ok(())
}

/// Returns the error for something else at `path` than a folder.
pub(super) fn not_a_folder(path: &Path) -> Error {
    Error::refused(format!("'{}' is not a folder", path.display())).with_hint("move it away")
}
