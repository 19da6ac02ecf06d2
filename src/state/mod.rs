//! Our own files below `<git-dir>/checkpoint` and `<common-dir>/checkpoint`; the only door to them.

pub(crate) mod agents;
pub(crate) mod approved;
pub(crate) mod commit_note;
pub(crate) mod events;
pub(crate) mod exchanges;
pub(crate) mod failpoint;
pub(crate) mod hooks;
pub(crate) mod installed;
pub mod journal;
mod journal_below;
pub(crate) mod kept;
pub(crate) mod lock;
pub(crate) mod lock_note;
pub(crate) mod missed;
pub(crate) mod not_there;
pub(crate) mod owner;
pub(crate) mod process;
pub(crate) mod process_places;
#[cfg(test)]
mod random;
pub(crate) mod removed;
pub(crate) mod removed_files;
pub(crate) mod repositories;
pub(crate) mod reviews;
pub(crate) mod rewritten;
pub(crate) mod rounds;
pub(crate) mod sessions;
pub(crate) mod setup;
pub(crate) mod shared_with;
pub(crate) mod temporary;
pub(crate) mod turns;
pub(crate) mod usage;

use std::{
    io::Write as _,
    os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use crate::error::{Context as _, Error, Kind, Result};

/// Returns our directory inside the git directory `git_dir` (a worktree's or the common one).
pub(crate) fn directory(git_dir: &Path) -> PathBuf {
    git_dir.join("checkpoint")
}

/// Returns true if our directory inside `git_dir`, a worktree's, has a file that only a command leaves which has had its lock.
/// Files that hooks write before that, or the command that makes a worktree, do not count.
pub(crate) fn has_files_of_worktree(git_dir: &Path) -> bool {
    const FILES: [&str; 5] = ["base", "index", "restore.json", "tally", "turns.toml"];
    FILES.iter().any(|name| directory(git_dir).join(name).exists())
}

/// Creates our directory inside `git_dir` if need be, and returns it.
pub(crate) fn ensure_directory(git_dir: &Path) -> Result<PathBuf> {
    let directory = directory(git_dir);
    // It nearly always exists, and a look costs less than an attempt to create it.
    if !directory.is_dir() {
        std::fs::create_dir_all(&directory)
            .context(Kind::Internal, || format!("cannot create '{}'", directory.display()))?;
    }
    Ok(directory)
}

/// The same for the git directory of a linked worktree, which is never made: it is gone if another process has just removed the
/// worktree.
///
/// # Errors
/// [`Kind::User`] if there is no such worktree any more.
pub(crate) fn ensure_directory_of_linked(git_dir: &Path) -> Result<PathBuf> {
    let directory = directory(git_dir);
    match std::fs::create_dir(&directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::user("another process has removed the worktree"))
        }
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(error).context(Kind::Internal, || format!("cannot create '{}'", directory.display()))
        }
        _ => Ok(directory),
    }
}

/// Removes the file `path`; one that is not there is no error.
pub(crate) fn remove_file_if_there(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context(Kind::Internal, || format!("cannot remove '{}'", path.display()))
        }
        _ => Ok(()),
    }
}

/// Replaces the file `path` by `content` so that readers see the old or the new content, never a part.
pub(crate) fn replace_file(path: &Path, content: &[u8]) -> Result<()> {
    replace(path, content, false)
}

/// The same, and when it returns, the new content outlives a power loss.
pub(crate) fn replace_file_durably(path: &Path, content: &[u8]) -> Result<()> {
    replace(path, content, true)
}

/// What is in the place of a file of ours.
#[derive(Debug)]
enum Found {
    Nothing,
    /// No text, or more than there should be.
    Nonsense,
    Text(String),
}

/// Reads the file `path`, which has at most `most` bytes.
///
/// # Errors
/// If it cannot be read: a caller that took it for absent would overwrite it.
fn read(path: &Path, most: u64) -> Result<Found> {
    let what = || format!("cannot read '{}'", path.display());
    failpoint::opened("read", path);
    match std::fs::metadata(path) {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(cause) => return Err(Error::internal(what()).with_cause(cause)),
        Ok(metadata) if !metadata.is_file() || metadata.len() > most => return Ok(Found::Nonsense),
        Ok(_) => {}
    }
    let bytes = std::fs::read(path).context(Kind::Internal, what)?;
    Ok(String::from_utf8(bytes).map_or(Found::Nonsense, Found::Text))
}

/// Returns the text of the file `path`; none if it does not exist, is not text or is longer than `most` bytes.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_text(path: &Path, most: u64) -> Result<Option<String>> {
    Ok(match read(path, most)? {
        Found::Text(text) => Some(text),
        Found::Nothing | Found::Nonsense => None,
    })
}

/// Appends `content` to the file `path` if it is the one with this inode and length, and returns whether it was.
///
/// Readers may see a part of it, and a crash may leave one.
pub(crate) fn append(path: &Path, inode: u64, length: u64, content: &[u8]) -> Result<bool> {
    let what = || format!("cannot write '{}'", path.display());
    let file = match std::fs::File::options().write(true).open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        other => other.context(Kind::Internal, what)?,
    };
    let metadata = file.metadata().context(Kind::Internal, what)?;
    if (metadata.ino(), metadata.len()) != (inode, length) {
        return Ok(false);
    }
    failpoint::hit("state:before-append");
    file.write_all_at(content, length).context(Kind::Internal, what)?;
    Ok(true)
}

fn replace(path: &Path, content: &[u8], is_durable: bool) -> Result<()> {
    let what = || format!("cannot write '{}'", path.display());
    failpoint::opened("write", path);
    let directory = path.parent().expect("our files are in a directory");
    let prefix = temporary::prefix(".tmp-");
    // As git's own files: the umask says who may read them.
    let ordinary = std::fs::Permissions::from_mode(0o666);
    let file = tempfile::Builder::new().prefix(&prefix).permissions(ordinary).tempfile_in(directory);
    let mut file = file.context(Kind::Internal, what)?;
    file.write_all(content).context(Kind::Internal, what)?;
    if is_durable {
        file.as_file().sync_all().context(Kind::Internal, what)?;
    }
    failpoint::hit("state:before-rename");
    file.persist(path).context(Kind::Internal, what)?;
    if is_durable {
        std::fs::File::open(directory).and_then(|directory| directory.sync_all()).context(Kind::Internal, what)?;
    }
    Ok(())
}
