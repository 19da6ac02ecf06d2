//! `commit.toml` of a worktree: what was known when a commit was prepared, and no reflog says.
//!
//! Written when git prepares the message of a commit that continues the work of a session, removed when its record is made
//! and linked.

use std::{
    fs,
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use bstr::BString;
use serde::{Deserialize, Serialize};

use super::{directory, ensure_directory, read_text, replace_file};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::{
        path_text::StoredPath,
        record::{Parts, RecordId},
    },
};

/// The commits that were prepared and are not reconciled yet, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Prepared {
    /// At most one for each HEAD.
    #[serde(rename = "commit", default)]
    pub commits: Vec<CommitNote>,
}

/// What was known of the commit to come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct CommitNote {
    /// The commit at HEAD then, or `unborn`.
    pub head: String,
    /// The record that its trailer promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<String>,
    /// Existing records whose work it commits again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reused: Vec<String>,
    /// Of existing records of which it has some files only, these files.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "part")]
    pub parts: Vec<NotedPart>,
    /// Existing records of which it may have a few lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubtful: Vec<String>,
    /// Commits that are squashed into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub squashed: Vec<String>,
    /// The commit that it copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<String>,
}

/// Files of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotedPart {
    record: String,
    #[serde(default, rename = "file")]
    files: Vec<StoredPath>,
}

/// More is in the file only if it is damaged.
const LONGEST: u64 = 1 << 24;

fn file(git_dir: &Path) -> PathBuf {
    directory(git_dir).join("commit.toml")
}

impl CommitNote {
    /// Returns the record that is reserved for the commit.
    pub(crate) fn reserved_id(&self) -> Option<RecordId> {
        self.reserved.as_deref().and_then(RecordId::parse)
    }

    /// Returns the files of the existing records of which it has some files only.
    pub(crate) fn parts(&self) -> Parts {
        let files = |part: &NotedPart| part.files.iter().filter_map(|path| path.decode().ok()).collect();
        self.parts.iter().filter_map(|part| Some((RecordId::parse(&part.record)?, files(part)))).collect()
    }

    /// Notes the files of the existing records of which it has some files only.
    pub(crate) fn set_parts(&mut self, parts: &Parts) {
        let part = |(id, files): (&RecordId, &Vec<BString>)| NotedPart {
            record: id.to_string(),
            files: files.iter().map(StoredPath::from).collect(),
        };
        self.parts = parts.iter().map(part).collect();
    }

    /// Returns true if it holds no work: nothing but `head`, and records of which the commit may have a few lines.
    pub(crate) fn is_plain(&self) -> bool {
        let Self { head, doubtful, .. } = self.clone();
        *self == Self { head, doubtful, ..Self::default() }
    }
}

impl Prepared {
    /// Returns the notes in the worktree's `git_dir`; none if they make no sense.
    pub(crate) fn read(git_dir: &Path) -> Result<Self> {
        let text = read_text(&file(git_dir), LONGEST)?;
        Ok(text.and_then(|text| toml::from_str(&text).ok()).unwrap_or_default())
    }

    /// Returns true if there are notes in `git_dir`.
    pub(crate) fn is_there(git_dir: &Path) -> bool {
        fs::symlink_metadata(file(git_dir)).is_ok()
    }

    /// Returns the note of the commit that was prepared on `head`.
    pub(crate) fn on(&self, head: &str) -> Option<&CommitNote> {
        self.commits.iter().find(|note| note.head == head)
    }

    /// Adds `note`, in place of an earlier one on the same HEAD: of these commits, one is made.
    pub(crate) fn set(&mut self, note: CommitNote) {
        self.commits.retain(|other| other.head != note.head);
        self.commits.push(note);
    }

    /// Writes the notes; removes the file if there are none.
    pub(crate) fn write(&self, git_dir: &Path) -> Result<()> {
        if self.commits.is_empty() {
            let path = file(git_dir);
            return match fs::remove_file(&path) {
                Err(cause) if cause.kind() != ErrorKind::NotFound => {
                    Err(Error::internal(format!("cannot remove '{}'", path.display())).with_cause(cause))
                }
                _ => Ok(()),
            };
        }
        ensure_directory(git_dir)?;
        let text = toml::to_string(self).context(Kind::Internal, || "cannot encode a note".into())?;
        replace_file(&file(git_dir), text.as_bytes())
    }
}

/// Shows `config/hook.sh` whether the next command can follow the commit in the making, so that its post-commit need not
/// start us. The script takes that back when it has read it.
pub(crate) fn set_followed_later(git_dir: &Path, is_later: bool) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_and_nonsense_is_none() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let git_dir = directory.path();
        assert_eq!(Prepared::read(git_dir).expect("readable"), Prepared::default());
        let note =
            |head: &str, id: &str| CommitNote { head: head.into(), reserved: Some(id.into()), ..CommitNote::default() };
        let mut notes = Prepared::default();
        for (head, id) in [("unborn", "0"), ("a", "1"), ("unborn", "2")] {
            notes.set(note(head, id));
        }
        notes.write(git_dir).expect("it can be written");
        let read = Prepared::read(git_dir).expect("readable");
        assert_eq!((read.commits.len(), read.on("unborn")), (2, Some(&note("unborn", "2"))));
        fs::write(file(git_dir), "\u{0}").expect("it is ours");
        assert_eq!(Prepared::read(git_dir).expect("readable"), Prepared::default());
        assert!(Prepared::is_there(git_dir));
        Prepared::default().write(git_dir).expect("it can be removed");
        Prepared::default().write(git_dir).expect("nothing to do");
        assert!(!Prepared::is_there(git_dir));
    }
}
