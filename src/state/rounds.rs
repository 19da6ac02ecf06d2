//! `<common-dir>/checkpoint/rounds/<id>.json`: the rounds of a repository, those that have ended included: their branches stay.

mod aside;
mod stored;
mod types;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub(crate) use self::aside::{
    Aside, all_aside, delete_aside, delete_copy, is_in_copy, is_kept_scratch, is_open_log, name_aside, note_beside,
};
use self::stored::Stored;
pub(crate) use self::types::{Asked, Committed, Phase, Place, Ran, Round};
use super::{directory, ensure_directory, ensure_directory_of_linked, read_text, replace_file, replace_file_durably};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::round::is_id,
};

/// More is in a file only if it is damaged.
const LONGEST: u64 = 1 << 20;

impl Round {
    /// Writes it: whatever happens then, the next command knows of it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(&self, common_dir: &Path) -> Result<()> {
        let folder = ensure_folder(common_dir)?;
        let stored = Stored::of(self);
        let text =
            serde_json::to_string_pretty(&stored).map_err(|cause| Error::internal("a round").with_cause(cause))?;
        replace_file_durably(&folder.join(format!("{}.json", self.id)), format!("{text}\n").as_bytes())
    }

    /// Forgets it.
    ///
    /// # Errors
    /// If its file cannot be removed.
    pub(crate) fn forget(&self, common_dir: &Path) -> Result<()> {
        let file = folder(common_dir).join(format!("{}.json", self.id));
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).context(Kind::Internal, || format!("cannot remove '{}'", file.display()))
            }
            _ => Ok(()),
        }
    }

    /// Returns the file of the lock under which it is made or ended.
    ///
    /// # Errors
    /// If the folder for it cannot be made.
    pub(crate) fn lock_file(&self, common_dir: &Path) -> Result<PathBuf> {
        Ok(ensure_folder(common_dir)?.join(format!("{}.lock", self.id)))
    }
}

/// Returns the file that has what the command of a race has printed in the round `id`, which must be sound.
pub(crate) fn log_file(common_dir: &Path, id: &str) -> PathBuf {
    let folder = folder(common_dir);
    // It is printed, and the common directory may be given with `..`.
    fs::canonicalize(&folder).unwrap_or(folder).join(format!("{id}.log"))
}

/// Makes that file, which is the user's alone.
///
/// # Errors
/// If it is there already, or cannot be made.
pub(crate) fn make_log(common_dir: &Path, id: &str) -> Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    ensure_folder(common_dir)?;
    let file = log_file(common_dir, id);
    let made = fs::OpenOptions::new().append(true).create_new(true).mode(0o600).open(&file);
    made.context(Kind::User, || format!("cannot create '{}'", file.display()))
}

/// More is in the mark of a worktree only if it is damaged.
const LONGEST_MARK: u64 = 64;

fn mark_file(git_dir: &Path) -> PathBuf {
    directory(git_dir).join("round")
}

/// Notes in the git directory `git_dir` of a worktree for which directory of which round it is made, or is the workspace.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_mark(git_dir: &Path, mark: &str) -> Result<()> {
    ensure_directory_of_linked(git_dir)?;
    replace_file(&mark_file(git_dir), format!("{mark}\n").as_bytes())
}

/// Removes that note, if it is `mark`.
///
/// # Errors
/// If the file cannot be removed.
pub(crate) fn remove_mark(git_dir: &Path, mark_there: &str) -> Result<()> {
    let file = mark_file(git_dir);
    match mark(git_dir) {
        Some(found) if found == mark_there => {
            fs::remove_file(&file).context(Kind::User, || format!("cannot remove '{}'", file.display()))
        }
        _ => Ok(()),
    }
}

/// Returns the mark of the worktree with the git directory `git_dir`, wherever that is; none if no round has made it.
pub(crate) fn mark(git_dir: &Path) -> Option<String> {
    let text = read_text(&mark_file(git_dir), LONGEST_MARK).ok().flatten()?;
    Some(text.trim_end().to_owned()).filter(|mark| !mark.is_empty())
}

/// How the ids of sessions begin that stand in for the agent of a round.
const STAND_IN: &str = "round-";

/// Returns the id of the session that stands in for the agent in the first directory of `round`.
pub(crate) fn stand_in_of(round: &str) -> String {
    format!("{STAND_IN}{round}")
}

/// Returns the id of the session that stands in for the agent in the worktree with the git directory `git_dir`; none if no round has
/// made it. In a copy, the agent may have written what it likes.
pub(crate) fn stand_in(git_dir: &Path) -> Option<String> {
    let mark = mark(git_dir)?;
    Some(stand_in_of(mark.strip_suffix("-1").unwrap_or(&mark)))
}

/// More is in the note of a copy only if it is damaged.
const LONGEST_PATH: u64 = 1 << 16;

fn copied_file(git_dir: &Path) -> PathBuf {
    directory(git_dir).join("copied-from")
}

/// Notes in the git directory of a copy that its files are from `path`, if that is text.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_copied_from(git_dir: &Path, path: &Path) -> Result<()> {
    ensure_directory_of_linked(git_dir)?;
    path.to_str().map_or(Ok(()), |text| replace_file(&copied_file(git_dir), text.as_bytes()))
}

/// Returns the directory that the files of the copy with the git directory `git_dir` are from; none if that is not known.
pub(crate) fn copied_from(git_dir: &Path) -> Option<PathBuf> {
    let text = read_text(&copied_file(git_dir), LONGEST_PATH).ok().flatten()?;
    Some(PathBuf::from(text)).filter(|path| path.is_absolute())
}

/// Returns the folder that has the experiments of rounds without a workspace, once these have ended.
pub(crate) fn kept_scratch(common_dir: &Path) -> PathBuf {
    directory(common_dir).join("scratch")
}

fn folder(common_dir: &Path) -> PathBuf {
    directory(common_dir).join("rounds")
}

fn ensure_folder(common_dir: &Path) -> Result<PathBuf> {
    let folder = ensure_directory(common_dir)?.join("rounds");
    fs::create_dir_all(&folder).context(Kind::Internal, || format!("cannot create '{}'", folder.display()))?;
    Ok(folder)
}

/// Returns the round with this id as it is now; none if there is none.
///
/// # Errors
/// [`Kind::Corrupt`] if its file is damaged; if that cannot be read.
pub(crate) fn read(common_dir: &Path, id: &str) -> Result<Option<Round>> {
    if !is_id(id) {
        return Ok(None);
    }
    let file = folder(common_dir).join(format!("{id}.json"));
    let Some(text) = read_text(&file, LONGEST)? else { return Ok(None) };
    let damaged = || {
        Error::new(Kind::Corrupt, format!("the file of the round '{id}' is damaged: '{}'", file.display()))
            .with_hint("its worktrees and branches are as they were: 'git worktree list' shows them")
    };
    stored::parse(id, &text).ok_or_else(damaged).map(Some)
}

/// The rounds of a repository.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// Those that can be read, the oldest first.
    pub(crate) sound: Vec<Round>,
    /// The ids of the others, and why they cannot.
    pub(crate) damaged: Vec<(String, Error)>,
}

/// Returns all rounds. Damaged files are left alone.
///
/// # Errors
/// If they cannot be read.
pub(crate) fn all(common_dir: &Path) -> Result<Rounds> {
    let folder = folder(common_dir);
    let what = || format!("cannot read '{}'", folder.display());
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Rounds::default()),
        entries => entries.context(Kind::Internal, what)?,
    };
    let mut all = Rounds::default();
    for entry in entries {
        let name = entry.context(Kind::Internal, what)?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".json")) else { continue };
        match read(common_dir, id) {
            Err(error) if error.kind() == Kind::Corrupt => all.damaged.push((id.to_owned(), error)),
            round => all.sound.extend(round?),
        }
    }
    all.sound.sort_by(|one, other| (one.began, &one.id).cmp(&(other.began, &other.id)));
    Ok(all)
}

#[cfg(test)]
mod tests;
