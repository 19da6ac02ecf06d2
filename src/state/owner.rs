//! `<git-dir>/checkpoint/owner`: the session that a linked worktree was made for, written by the program that makes the worktree.

use std::path::{Path, PathBuf};

use super::{directory, ensure_directory_of_linked, read_text, remove_file_if_there, replace_file};
use crate::{error::Result, model::session::is_valid_id};

/// More than this is in the file only if it is damaged.
const LONGEST: u64 = 1 << 16;

fn file(git_dir: &Path) -> PathBuf {
    directory(git_dir).join("owner")
}

/// Returns the session that the linked worktree of `git_dir` was made for, if it was made for one.
pub(crate) fn owner(git_dir: &Path) -> Option<String> {
    let text = read_text(&file(git_dir), LONGEST).ok().flatten()?;
    text.lines().next().filter(|id| is_valid_id(id)).map(Into::into)
}

/// Notes that the linked worktree of `git_dir` is made for `session`.
///
/// # Errors
/// If the file cannot be written; [`Kind::User`](crate::error::Kind::User) if there is no such worktree any more.
pub(crate) fn write(git_dir: &Path, session: &str) -> Result<()> {
    ensure_directory_of_linked(git_dir)?;
    replace_file(&file(git_dir), format!("{session}\n").as_bytes())
}

/// Notes that the linked worktree of `git_dir` is no session's any more.
pub(crate) fn remove(git_dir: &Path) -> Result<()> {
    remove_file_if_there(&file(git_dir))
}

/// Hands the worktree of `git_dir` over to `session`, if it was made for another one.
pub(crate) fn hand_over(git_dir: &Path, session: &str) -> Result<()> {
    match owner(git_dir) {
        Some(owner) if owner != session => replace_file(&file(git_dir), format!("{session}\n").as_bytes()),
        _ => Ok(()),
    }
}
