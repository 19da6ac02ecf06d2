//! `manifest.toml` of a checkpoint's side commit: what the tree cannot contain.

use bstr::BString;
use gix::ObjectId;
use serde::{Deserialize, Serialize};

use super::path_text::StoredPath;

/// Why a path of the worktree is not in the checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// An untracked file above `save.max-file-size`.
    TooLarge,
    /// An untracked directory with more than `save.max-untracked-files` new files.
    TooManyFiles,
    /// The disk has less room than `save.min-free-space`.
    LowDiskSpace,
    /// A FIFO, socket or device.
    SpecialFile,
    /// The file or directory cannot be read.
    Unreadable,
    /// The content was purged.
    Purged,
    /// Git cannot store this name (`.git` in some spelling).
    InvalidName,
    /// An edit of a file that `git update-index --skip-worktree` hides from git.
    SkipWorktree,
}

impl Reason {
    /// Returns the setting whose limit keeps new work of the user or of an agent out of checkpoints; none for what no checkpoint
    /// can hold.
    pub(crate) fn setting(self) -> Option<&'static str> {
        match self {
            Self::TooLarge => Some("save.max-file-size"),
            Self::TooManyFiles => Some("save.max-untracked-files"),
            Self::LowDiskSpace => Some("save.min-free-space"),
            Self::SpecialFile | Self::Unreadable | Self::Purged | Self::InvalidName | Self::SkipWorktree => None,
        }
    }

    /// Returns the reason in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge => "too large",
            Self::TooManyFiles => "too many new files",
            Self::LowDiskSpace => "low disk space",
            Self::SpecialFile => "special file",
            Self::Unreadable => "unreadable",
            Self::Purged => "purged",
            Self::InvalidName => "invalid name",
            Self::SkipWorktree => "skip-worktree",
        }
    }
}

/// A part that the copy of a damaged checkpoint lacks as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The files: the tree is that of the previous checkpoint.
    Tree,
    /// The staged content, or a part of it.
    Staged,
    /// The exact bytes that blobs do not give back.
    Raw,
    /// The manifest: it is unknown what the checkpoint left out.
    Manifest,
}

impl Part {
    /// Returns the part in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tree => "the files",
            Self::Staged => "what was staged",
            Self::Raw => "exact bytes",
            Self::Manifest => "what it left out",
        }
    }
}

/// A path that is in the worktree but not in the checkpoint. Skipped is not absent: restore leaves it alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Skipped {
    /// The path; of a directory skipped as a whole, without final slash.
    pub path: BString,
    /// Why.
    pub reason: Reason,
    /// The size of a file in bytes. For a directory with too many new files, the limit plus one: a save stops counting there.
    pub size: u64,
}

/// A repository inside the worktree that is not a registered submodule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nested {
    /// Its directory.
    pub path: BString,
    /// The commit its HEAD is at; none if unborn or unreadable.
    pub head: Option<ObjectId>,
    /// True if it has uncommitted changes; none if that is unknown.
    pub dirty: Option<bool>,
    /// True if it is another worktree of this repository: its checkpoints are its own.
    pub is_worktree: bool,
}

/// The checkpoint of a repository inside the worktree that was taken with this one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tied {
    /// The directory of the repository.
    pub path: BString,
    /// Its checkpoint, which is in that repository.
    pub checkpoint: ObjectId,
}

/// One stage of an unmerged path of the index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unmerged {
    /// The path.
    pub path: BString,
    /// 1 base, 2 ours, 3 theirs.
    pub stage: u8,
    /// Git's octal mode.
    pub mode: u32,
    /// The blob; of a submodule, the commit.
    pub id: ObjectId,
}

impl Unmerged {
    /// Returns true for a submodule, whose commits are in another repository.
    pub fn is_commit(&self) -> bool {
        self.mode == 0o160_000
    }
}

/// A file that was stored unfiltered, because its filter failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unfiltered {
    /// The path.
    pub path: BString,
    /// The name of the filter (gitattributes(5)).
    pub filter: BString,
    /// What went wrong; empty if that is not known.
    pub reason: String,
}

/// What a checkpoint knows beside its tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// What a copy of a damaged checkpoint lacks.
    pub lost: Vec<Part>,
    /// Paths left out.
    pub skipped: Vec<Skipped>,
    /// Repositories inside the worktree.
    pub nested: Vec<Nested>,
    /// Checkpoints in submodules, and in nested repositories, that were taken with this one.
    pub submodules: Vec<Tied>,
    /// Directories without any file, which a tree cannot hold.
    pub empty_directories: Vec<BString>,
    /// Unmerged entries of the index.
    pub unmerged: Vec<Unmerged>,
    /// Paths added with `git add --intent-to-add`.
    pub intent_to_add: Vec<BString>,
    /// Files that were stored unfiltered, because their filters failed.
    pub unfiltered: Vec<Unfiltered>,
    /// Names of the configured filters that had a command for the worktree, sorted; Git LFS excepted.
    pub filters: Vec<String>,
}

impl Manifest {
    /// Returns true if the manifest is empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if it is of a copy that lacks one of `parts`.
    pub fn lacks(&self, parts: &[Part]) -> bool {
        self.lost.iter().any(|part| parts.contains(part))
    }

    /// Returns true if it lacks something that could not be read, and that `other` has.
    pub(crate) fn is_less_than(&self, other: &Self) -> bool {
        let is_lacking = |reason| matches!(reason, Reason::Unreadable | Reason::Purged);
        let mut lacking = self.skipped.iter().filter(|skipped| is_lacking(skipped.reason));
        let is_still_left_out = |path: &BString| other.skipped.iter().any(|skipped| skipped.path == *path);
        lacking.any(|skipped| !is_still_left_out(&skipped.path)) || self.lost.iter().any(|part| !other.lacks(&[*part]))
    }

    /// Adds `paths` to those left out for `reason`.
    pub(crate) fn skip(&mut self, paths: Vec<BString>, reason: Reason) {
        let skipped = paths.into_iter().map(|path| Skipped { path, reason, size: 0 });
        self.skipped.extend(skipped);
        self.skipped.sort();
        self.skipped.dedup();
    }

    /// Returns the manifest as TOML; equal manifests give equal text.
    pub fn to_toml(&self) -> String {
        let mut sorted = self.clone();
        sorted.lost.sort();
        sorted.skipped.sort();
        sorted.nested.sort();
        sorted.submodules.sort();
        sorted.empty_directories.sort();
        sorted.unmerged.sort();
        sorted.intent_to_add.sort();
        sorted.unfiltered.sort();
        sorted.filters.sort();
        toml::to_string(&Stored::from(&sorted)).expect("the stored form has only strings, numbers and tables")
    }

    /// Parses `text`; the error says what is wrong with it.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let stored: Stored = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        if stored.version != VERSION {
            return Err(format!("version {} is not known", stored.version));
        }
        Self::try_from(stored)
    }
}

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct StoredSkipped {
    #[serde(flatten)]
    path: StoredPath,
    reason: Reason,
    size: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredNested {
    #[serde(flatten)]
    path: StoredPath,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dirty: Option<bool>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    worktree: bool,
}

#[derive(Serialize, Deserialize)]
struct StoredTied {
    #[serde(flatten)]
    path: StoredPath,
    checkpoint: String,
}

#[derive(Serialize, Deserialize)]
struct StoredUnmerged {
    #[serde(flatten)]
    path: StoredPath,
    stage: u8,
    mode: String,
    id: String,
}

#[derive(Serialize, Deserialize)]
struct StoredUnfiltered {
    #[serde(flatten)]
    path: StoredPath,
    filter: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lost: Vec<Part>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    filters: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<StoredSkipped>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    nested: Vec<StoredNested>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "submodule")]
    submodules: Vec<StoredTied>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "empty-directory")]
    empty_directories: Vec<StoredPath>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unmerged: Vec<StoredUnmerged>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "intent-to-add")]
    intent_to_add: Vec<StoredPath>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unfiltered: Vec<StoredUnfiltered>,
}

impl From<&Manifest> for Stored {
    fn from(manifest: &Manifest) -> Self {
        let skipped = |it: &Skipped| StoredSkipped { path: (&it.path).into(), reason: it.reason, size: it.size };
        let nested = |it: &Nested| StoredNested {
            path: (&it.path).into(),
            head: it.head.map(|id| id.to_string()),
            dirty: it.dirty,
            worktree: it.is_worktree,
        };
        let tied = |it: &Tied| StoredTied { path: (&it.path).into(), checkpoint: it.checkpoint.to_string() };
        let unmerged = |it: &Unmerged| StoredUnmerged {
            path: (&it.path).into(),
            stage: it.stage,
            mode: format!("{:o}", it.mode),
            id: it.id.to_string(),
        };
        let unfiltered = |it: &Unfiltered| StoredUnfiltered {
            path: (&it.path).into(),
            filter: it.filter.to_string(),
            reason: it.reason.clone(),
        };
        Self {
            version: VERSION,
            lost: manifest.lost.clone(),
            skipped: manifest.skipped.iter().map(skipped).collect(),
            nested: manifest.nested.iter().map(nested).collect(),
            submodules: manifest.submodules.iter().map(tied).collect(),
            empty_directories: manifest.empty_directories.iter().map(Into::into).collect(),
            unmerged: manifest.unmerged.iter().map(unmerged).collect(),
            intent_to_add: manifest.intent_to_add.iter().map(Into::into).collect(),
            unfiltered: manifest.unfiltered.iter().map(unfiltered).collect(),
            filters: manifest.filters.clone(),
        }
    }
}

impl TryFrom<Stored> for Manifest {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        let id = |hex: &str| ObjectId::from_hex(hex.as_bytes()).map_err(|_| format!("'{hex}' is not an object id"));
        let skipped = |it: StoredSkipped| Ok(Skipped { path: it.path.decode()?, reason: it.reason, size: it.size });
        let nested = |it: StoredNested| {
            let head = it.head.as_deref().map(id).transpose()?;
            Ok(Nested { path: it.path.decode()?, head, dirty: it.dirty, is_worktree: it.worktree })
        };
        let tied = |it: StoredTied| Ok(Tied { path: it.path.decode()?, checkpoint: id(&it.checkpoint)? });
        let unmerged = |it: StoredUnmerged| {
            let mode = u32::from_str_radix(&it.mode, 8).map_err(|_| format!("'{}' is not a mode", it.mode))?;
            if !(1..=3).contains(&it.stage) {
                return Err(format!("{} is not a stage", it.stage));
            }
            Ok(Unmerged { path: it.path.decode()?, stage: it.stage, mode, id: id(&it.id)? })
        };
        let unfiltered = |it: StoredUnfiltered| {
            Ok(Unfiltered { path: it.path.decode()?, filter: it.filter.into(), reason: it.reason })
        };
        Ok(Self {
            lost: stored.lost,
            skipped: stored.skipped.into_iter().map(skipped).collect::<Result<_, String>>()?,
            nested: stored.nested.into_iter().map(nested).collect::<Result<_, String>>()?,
            submodules: stored.submodules.into_iter().map(tied).collect::<Result<_, String>>()?,
            empty_directories: stored.empty_directories.iter().map(StoredPath::decode).collect::<Result<_, _>>()?,
            unmerged: stored.unmerged.into_iter().map(unmerged).collect::<Result<_, String>>()?,
            intent_to_add: stored.intent_to_add.iter().map(StoredPath::decode).collect::<Result<_, _>>()?,
            unfiltered: stored.unfiltered.into_iter().map(unfiltered).collect::<Result<_, String>>()?,
            filters: stored.filters,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_survives_a_round_trip() {
        let id = ObjectId::from_hex(b"0123456789012345678901234567890123456789").expect("40 digits");
        let manifest = Manifest {
            lost: vec![Part::Tree, Part::Manifest],
            skipped: vec![Skipped { path: b"big\n\xff".into(), reason: Reason::TooLarge, size: 12 }],
            nested: vec![Nested { path: "lib".into(), head: Some(id), dirty: Some(true), is_worktree: true }],
            submodules: vec![Tied { path: "sub".into(), checkpoint: id }],
            empty_directories: vec!["empty".into()],
            unmerged: vec![Unmerged { path: "f".into(), stage: 2, mode: 0o100_644, id }],
            intent_to_add: vec!["new".into()],
            unfiltered: vec![Unfiltered { path: "a b".into(), filter: "crypt".into(), reason: "not found".into() }],
            filters: vec!["crypt".into(), "two words".into()],
        };
        assert_eq!(Manifest::from_toml(&manifest.to_toml()), Ok(manifest));
    }

    #[rstest::rstest]
    #[case::newer_version("version = 2\n")]
    #[case::no_version("")]
    #[case::bad_stage(
        "version = 1\n[[unmerged]]\npath='f'\nstage=7\nmode='100644'\nid='0123456789012345678901234567890123456789'\n"
    )]
    #[case::not_toml("version = = 1")]
    fn damaged_manifests_are_errors(#[case] text: &str) {
        assert!(Manifest::from_toml(text).is_err());
    }
}
