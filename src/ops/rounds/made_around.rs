//! Directories below a workspace that was made a repository for rounds: git has none of their files.

use std::{fs, path::Path};

use bstr::ByteSlice as _;

use crate::{
    error::{Error, Result},
    git::{FIRST_COMMIT, Repo},
};

/// Refuses to work on `directory`, which is below `workspace`, if a repository would be made of the workspace: a worktree, or a copy, of
/// that would lack all that is in the directory.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if so.
pub(crate) fn refuse_below(directory: &Path, workspace: &Path) -> Result<()> {
    if directory != workspace && directory.starts_with(workspace) && has_entries(directory) {
        let message = format!(
            "'{}' is in the workspace '{}', which would become a repository",
            directory.display(),
            workspace.display()
        );
        return Err(Error::refused(message)
            .with_hint("'--workspace' names a directory elsewhere: then a copy of the directory is made as it is"));
    }
    Ok(())
}

/// Refuses to work on `directory` if it is below the root of a repository that was made for rounds, and in which nothing was committed
/// since.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if so; if the repository cannot be read.
pub(super) fn refuse(directory: &Path) -> Result<()> {
    if !Repo::is_inside_repository(directory) {
        return Ok(());
    }
    let repo = Repo::open(directory)?;
    let Some(head) = repo.head()?.id.filter(|_| repo.worktree_root() != directory) else { return Ok(()) };
    let is_first = repo.with_commit(head, |commit| {
        commit.parents().next().is_none() && commit.message.trim() == FIRST_COMMIT.as_bytes()
    })?;
    if !is_first || repo.tree_of_commit(head)? != repo.empty_tree_id() || !has_entries(directory) {
        return Ok(());
    }
    let (path, root) = (directory.display(), repo.worktree_root().display());
    Err(Error::refused(format!(
        "'{path}' is in '{root}', which was made a repository for rounds: nothing in it is committed"
    ))
    .with_hint("commit its files there, or move it out of that repository: then it is copied as it is"))
}

fn has_entries(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
}
