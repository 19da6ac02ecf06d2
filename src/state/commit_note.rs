//! `commit.toml` of a worktree: what was promised to a commit in the making.
//!
//! Written when git prepares the message, removed when the record is there: what is left of a process that died in
//! between shows the next command what to finish.

use std::{
    fs,
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{directory, ensure_directory, replace_file};
use crate::error::{Context as _, Error, Kind, Result};

/// What was promised to the commit to come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CommitNote {
    /// The commit at HEAD then, or `unborn`.
    pub head: String,
    /// The record that is to be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<String>,
    /// Records that are there and whose work is committed again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reused: Vec<String>,
    /// Commits that are squashed into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub squashed: Vec<String>,
    /// The commit that it is a copy of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<String>,
    /// True if git makes a commit once more, in a rebase for one: it takes no work of now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_again: bool,
    /// Commits before it whose promises are not kept yet, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Unkept>,
}

/// A commit that was made, and what was promised to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Unkept {
    /// The commit.
    pub commit: String,
    /// What was promised.
    pub note: CommitNote,
}

fn file(git_dir: &Path) -> PathBuf {
    directory(git_dir).join("commit.toml")
}

impl CommitNote {
    /// Returns the note in the worktree's `git_dir`; none if there is none, or it makes no sense.
    pub fn read(git_dir: &Path) -> Result<Option<Self>> {
        let path = file(git_dir);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(toml::from_str(&text).ok()),
            Err(cause) if [ErrorKind::NotFound, ErrorKind::InvalidData].contains(&cause.kind()) => Ok(None),
            Err(cause) => Err(Error::internal(format!("cannot read '{}'", path.display())).with_cause(cause)),
        }
    }

    /// Writes it.
    pub fn write(&self, git_dir: &Path) -> Result<()> {
        ensure_directory(git_dir)?;
        let text = toml::to_string(self).context(Kind::Internal, || "cannot encode a note".into())?;
        replace_file(&file(git_dir), text.as_bytes())
    }

    /// Returns true if nothing is promised.
    pub fn promises_nothing(&self) -> bool {
        let Self { head, .. } = self;
        *self == Self { head: head.clone(), ..Self::default() }
    }

    /// Shows `config/hook.sh` whether the next command can follow the commit in the making, so that its
    /// post-commit need not start us. The script takes that back when it has read it.
    pub fn set_followed_later(git_dir: &Path, is_later: bool) -> Result<()> {
        let path = directory(git_dir).join("followed-later");
        if fs::metadata(&path).is_ok_and(|metadata| metadata.len() > 0) == is_later {
            return Ok(());
        }
        ensure_directory(git_dir)?;
        let what = || format!("cannot write '{}'", path.display());
        // Some file systems write to the disk at once what replaces the content of a file: there is none to replace.
        let file = fs::File::options().write(true).create(true).truncate(!is_later).open(&path);
        let text: &[u8] = if is_later { b"yes\n" } else { b"" };
        file.and_then(|mut file| file.write_all(text)).context(Kind::Internal, what)
    }

    /// Removes the note in `git_dir`, if there is one.
    pub fn remove(git_dir: &Path) -> Result<()> {
        let path = file(git_dir);
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != ErrorKind::NotFound => {
                Err(Error::internal(format!("cannot remove '{}'", path.display())).with_cause(cause))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_and_nonsense_is_none() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let git_dir = directory.path();
        assert_eq!(CommitNote::read(git_dir).expect("readable"), None);
        let note = CommitNote { head: "unborn".into(), reserved: Some("0".into()), ..CommitNote::default() };
        note.write(git_dir).expect("it can be written");
        assert_eq!(CommitNote::read(git_dir).expect("readable"), Some(note));
        fs::write(file(git_dir), "\u{0}").expect("it is ours");
        assert_eq!(CommitNote::read(git_dir).expect("readable"), None);
        CommitNote::remove(git_dir).expect("it is ours");
        CommitNote::remove(git_dir).expect("nothing to do");
    }
}
