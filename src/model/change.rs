//! How one path differs between two trees.

use bstr::BString;
use gix::ObjectId;
use serde::{Serialize, Serializer};

/// What happened to a path; the letters are those of git-diff(1)'s `--name-status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The path is new.
    Added,
    /// The content or the executable bit differs.
    Modified,
    /// The path is gone.
    Deleted,
    /// The path changed its type (file, symlink, submodule).
    TypeChanged,
    /// The content came from another path, which was deleted.
    Renamed,
}

impl Status {
    /// Returns the letter of `--name-status`.
    pub fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Modified => 'M',
            Self::Deleted => 'D',
            Self::TypeChanged => 'T',
            Self::Renamed => 'R',
        }
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_char(self.letter())
    }
}

/// The kind of a tree entry that is not a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// A regular file.
    File,
    /// A regular file with the executable bit.
    Executable,
    /// A symbolic link; the blob is its target.
    Link,
    /// A commit of another repository (a submodule or nested repository).
    Gitlink,
}

impl Mode {
    /// Returns git's octal mode, for example `0o100644`.
    pub fn bits(self) -> u32 {
        match self {
            Self::File => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Link => 0o120_000,
            Self::Gitlink => 0o160_000,
        }
    }

    /// Returns the mode for git's octal `bits`; none for a directory.
    pub(crate) fn from_bits(bits: u32) -> Option<Self> {
        match bits & 0o170_000 {
            0o100_000 if bits & 0o100 != 0 => Some(Self::Executable),
            0o100_000 => Some(Self::File),
            0o120_000 => Some(Self::Link),
            0o160_000 => Some(Self::Gitlink),
            _ => None,
        }
    }

    /// Returns true if both are files, executable or not.
    pub(crate) fn same_type(self, other: Self) -> bool {
        let is_file = |mode| matches!(mode, Self::File | Self::Executable);
        self == other || (is_file(self) && is_file(other))
    }
}

/// One side of a change: what a tree holds at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Leaf {
    /// The id of the blob (or, for a gitlink, of the commit).
    pub id: ObjectId,
    /// The kind of entry.
    pub mode: Mode,
}

/// A path that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path relative to the worktree's root, with `/`.
    pub path: BString,
    /// The old path of a renamed file.
    pub old_path: Option<BString>,
    /// What happened.
    pub status: Status,
    /// The old side; absent if added.
    pub before: Option<Leaf>,
    /// The new side; absent if deleted.
    pub after: Option<Leaf>,
}

impl Change {
    /// Returns the change of `path` from `before` to `after`, or nothing if both are equal.
    pub fn between(path: BString, before: Option<Leaf>, after: Option<Leaf>) -> Option<Self> {
        let status = match (before, after) {
            (None, Some(_)) => Status::Added,
            (Some(_), None) => Status::Deleted,
            (Some(old), Some(new)) if old == new => return None,
            (Some(old), Some(new)) if old.mode.same_type(new.mode) => Status::Modified,
            (Some(_), Some(_)) => Status::TypeChanged,
            (None, None) => return None,
        };
        Some(Self { path, old_path: None, status, before, after })
    }
}
