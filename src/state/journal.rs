//! `restore.json` of a worktree: what the last restore set out to do, written before it begins.
//!
//! A crash leaves it as `applying`; `undo` and `restore --continue` read it. Its writer holds the worktree's lock.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use bstr::BString;
use gix::ObjectId;
use serde::{Deserialize, Serialize};

use super::journal_below::{StoredBelow, check_nonce, parse_below, parse_id, store_below};
use crate::{
    error::{Error, Kind, Result},
    model::{
        change::{Leaf, Mode},
        manifest::Unmerged,
        path_text::{StoredPath, shell_word},
        slot::{Slot, SlotChange},
        step::{Content, Step},
        step_below::StepBelow,
    },
};

/// How far the restore came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// It may have changed any of its paths.
    Applying,
    /// It has changed exactly the paths that it lists.
    Done,
}

/// A restore, done or under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// How far it came.
    pub progress: Progress,
    /// The checkpoint (or base commit) that is put back.
    pub target: ObjectId,
    /// The checkpoint that holds everything as it was before.
    pub pre_restore: ObjectId,
    /// What the names of its temporary files contain.
    pub nonce: String,
    /// The paths; the number of a temporary file is the position here, while applying.
    pub steps: Vec<Step>,
    /// Directories without files that it creates.
    pub directories: Vec<BString>,
    /// Directories that it removes if they are empty: those that what it takes back has created.
    pub removed: Vec<BString>,
    /// The entries of the index.
    pub index: Vec<SlotChange>,
    /// What is done in repositories inside the worktree, after all else.
    pub below: Vec<StepBelow>,
    /// The permissions of files that are gone, where they were narrower than those of an ordinary new file, by path: a file that
    /// comes back has no wider ones.
    pub permissions: Vec<(BString, u32)>,
}

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct StoredContent {
    mode: String,
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredStep {
    #[serde(flatten)]
    path: StoredPath,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<StoredContent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<StoredContent>,
}

#[derive(Serialize, Deserialize)]
struct StoredStage {
    stage: u8,
    mode: String,
    id: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredSlot {
    Absent,
    Staged(StoredContent),
    Unmerged(Vec<StoredStage>),
    IntentToAdd,
}

#[derive(Serialize, Deserialize)]
struct StoredSlotChange {
    #[serde(flatten)]
    path: StoredPath,
    before: StoredSlot,
    after: StoredSlot,
}

#[derive(Serialize, Deserialize)]
struct StoredPermissions {
    #[serde(flatten)]
    path: StoredPath,
    mode: String,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    state: Progress,
    target: String,
    pre_restore: String,
    nonce: String,
    entries: Vec<StoredStep>,
    directories: Vec<StoredPath>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    removed: Vec<StoredPath>,
    #[serde(default)]
    index: Vec<StoredSlotChange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    submodules: Vec<StoredBelow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    permissions: Vec<StoredPermissions>,
}

/// Returns where the journal of the worktree with git directory `git_dir` is.
pub fn path(git_dir: &Path) -> PathBuf {
    super::directory(git_dir).join("restore.json")
}

impl Journal {
    /// Returns the last journal; none if nothing was ever restored in this worktree.
    ///
    /// # Errors
    /// If it is damaged: what it says cannot be guessed.
    pub fn read(git_dir: &Path) -> Result<Option<Self>> {
        let path = path(git_dir);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => {
                return Err(Error::internal(format!(
                    "cannot read '{}', which says what the last restore did",
                    path.display()
                ))
                .with_cause(cause)
                .with_hint("see to its owner and its permissions"));
            }
        };
        let damaged = |cause: String| {
            let shown = path.display();
            let message =
                format!("'{shown}', which says what the last restore did, is damaged: it cannot be taken back");
            let (from, to) = (shell_word(&shown.to_string()), shell_word(&format!("{shown}.bad")));
            Error::new(Kind::Corrupt, message).with_cause(cause).with_hint(format!(
                "no file is lost: 'git checkpoint list' shows the checkpoint from before it; to restore again, \
                 'mv {from} {to}'"
            ))
        };
        Self::parse(&text).map(Some).map_err(damaged)
    }

    /// Returns the journal that is stored as `text`, or what is wrong with it.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let stored: Stored = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        Self::try_from(stored)
    }

    /// Returns true if each of `steps` begins with no file, or with what this restore has made of it.
    pub(crate) fn has_left(&self, steps: &[Step]) -> bool {
        let left: HashMap<_, _> = self.steps.iter().map(|step| (&step.path, step.after)).collect();
        steps.iter().all(|step| step.before.is_none() || left.get(&step.path) == Some(&step.before))
    }

    /// Returns the journal as it is stored.
    pub fn to_text(&self) -> Vec<u8> {
        serde_json::to_vec(&Stored::from(self)).expect("strings, numbers and lists")
    }

    /// Replaces the journal of the worktree with git directory `git_dir` by this one.
    pub fn write(&self, git_dir: &Path) -> Result<()> {
        super::ensure_directory(git_dir)?;
        let text = self.to_text();
        let replace = match self.progress {
            // Nothing of the worktree may be overwritten before it is known what.
            Progress::Applying => super::replace_file_durably,
            // A hint only: if it is lost, the restore counts as interrupted, and continuing it finds nothing to do.
            Progress::Done => super::replace_file,
        };
        replace(&path(git_dir), &text)
    }
}

fn store(content: &Content) -> StoredContent {
    StoredContent {
        mode: format!("{:o}", content.leaf.mode.bits()),
        id: content.leaf.id.to_string(),
        raw: content.raw.map(|id| id.to_string()),
    }
}

fn store_slot(slot: &Slot) -> StoredSlot {
    let stage = |it: &Unmerged| StoredStage { stage: it.stage, mode: format!("{:o}", it.mode), id: it.id.to_string() };
    match slot {
        Slot::Absent => StoredSlot::Absent,
        Slot::Staged(leaf) => StoredSlot::Staged(store(&Content { leaf: *leaf, raw: None })),
        Slot::Unmerged(stages) => StoredSlot::Unmerged(stages.iter().map(stage).collect()),
        Slot::IntentToAdd => StoredSlot::IntentToAdd,
    }
}

fn parse_slot(path: &BString, slot: &StoredSlot) -> Result<Slot, String> {
    let stage = |it: &StoredStage| {
        let mode = u32::from_str_radix(&it.mode, 8).map_err(|_| format!("'{}' is not a mode", it.mode))?;
        Ok(Unmerged { path: path.clone(), stage: it.stage, mode, id: parse_id(&it.id)? })
    };
    Ok(match slot {
        StoredSlot::Absent => Slot::Absent,
        StoredSlot::Staged(content) => Slot::Staged(parse(content)?.leaf),
        StoredSlot::Unmerged(stages) => Slot::Unmerged(stages.iter().map(stage).collect::<Result<_, String>>()?),
        StoredSlot::IntentToAdd => Slot::IntentToAdd,
    })
}

impl From<&Journal> for Stored {
    fn from(journal: &Journal) -> Self {
        let step = |step: &Step| StoredStep {
            path: (&step.path).into(),
            before: step.before.as_ref().map(store),
            after: step.after.as_ref().map(store),
        };
        let slot = |change: &SlotChange| StoredSlotChange {
            path: (&change.path).into(),
            before: store_slot(&change.before),
            after: store_slot(&change.after),
        };
        let permissions =
            |(path, mode): &(BString, u32)| StoredPermissions { path: path.into(), mode: format!("{mode:o}") };
        Self {
            version: VERSION,
            state: journal.progress,
            target: journal.target.to_string(),
            pre_restore: journal.pre_restore.to_string(),
            nonce: journal.nonce.clone(),
            entries: journal.steps.iter().map(step).collect(),
            directories: journal.directories.iter().map(Into::into).collect(),
            removed: journal.removed.iter().map(Into::into).collect(),
            index: journal.index.iter().map(slot).collect(),
            submodules: journal.below.iter().map(store_below).collect(),
            permissions: journal.permissions.iter().map(permissions).collect(),
        }
    }
}

fn parse(content: &StoredContent) -> Result<Content, String> {
    let mode = u32::from_str_radix(&content.mode, 8).ok().and_then(Mode::from_bits);
    let mode = mode.ok_or_else(|| format!("'{}' is not a mode", content.mode))?;
    let raw = content.raw.as_deref().map(parse_id).transpose()?;
    Ok(Content { leaf: Leaf { id: parse_id(&content.id)?, mode }, raw })
}

impl TryFrom<Stored> for Journal {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        if stored.version != VERSION {
            return Err(format!("version {} is not known", stored.version));
        }
        check_nonce(&stored.nonce)?;
        let step = |step: &StoredStep| {
            Ok(Step {
                path: step.path.decode()?,
                before: step.before.as_ref().map(parse).transpose()?,
                after: step.after.as_ref().map(parse).transpose()?,
            })
        };
        let slot = |stored: &StoredSlotChange| {
            let path = stored.path.decode()?;
            let (before, after) = (parse_slot(&path, &stored.before)?, parse_slot(&path, &stored.after)?);
            Ok(SlotChange { path, before, after })
        };
        let permissions = |stored: &StoredPermissions| {
            let mode = u32::from_str_radix(&stored.mode, 8).ok().filter(|mode| *mode <= 0o777);
            Ok((stored.path.decode()?, mode.ok_or_else(|| format!("'{}' is not a mode", stored.mode))?))
        };
        Ok(Self {
            progress: stored.state,
            target: parse_id(&stored.target)?,
            pre_restore: parse_id(&stored.pre_restore)?,
            nonce: stored.nonce,
            steps: stored.entries.iter().map(step).collect::<Result<_, String>>()?,
            directories: stored.directories.iter().map(StoredPath::decode).collect::<Result<_, _>>()?,
            removed: stored.removed.iter().map(StoredPath::decode).collect::<Result<_, _>>()?,
            index: stored.index.iter().map(slot).collect::<Result<_, String>>()?,
            below: stored.submodules.iter().map(parse_below).collect::<Result<_, String>>()?,
            permissions: stored.permissions.iter().map(permissions).collect::<Result<_, String>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::step_below::ActionBelow;

    fn journal() -> Journal {
        let id = ObjectId::from_hex(b"0123456789012345678901234567890123456789").expect("40 digits");
        let content = Content { leaf: Leaf { id, mode: Mode::Executable }, raw: Some(id) };
        Journal {
            progress: Progress::Applying,
            target: id,
            pre_restore: id,
            nonce: "0123456789abcdef".into(),
            steps: vec![
                Step { path: b"a\n\xff".into(), before: Some(content), after: None },
                Step { path: "b%".into(), before: None, after: Some(Content { raw: None, ..content }) },
            ],
            directories: vec!["empty".into()],
            removed: vec![b"gone\xff".into()],
            index: vec![
                SlotChange { path: "s".into(), before: Slot::Absent, after: Slot::Staged(content.leaf) },
                SlotChange {
                    path: "u".into(),
                    before: Slot::IntentToAdd,
                    after: Slot::Unmerged(vec![Unmerged { path: "u".into(), stage: 2, mode: 0o100_644, id }]),
                },
            ],
            below: vec![StepBelow {
                path: "sub".into(),
                nonce: "fedcba9876543210".into(),
                action: ActionBelow::Restore { checkpoint: id, staged: true },
                all: true,
                session: Some("7f3a".into()),
                only_submodules: true,
            }],
            permissions: vec![(b"s\xff".into(), 0o600)],
        }
    }

    #[test]
    fn a_journal_survives_a_round_trip() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(Journal::read(dir.path()).expect("no error"), None);
        journal().write(dir.path()).expect("written");
        assert_eq!(Journal::read(dir.path()).expect("no error"), Some(journal()));
    }

    #[test]
    fn the_journal_of_an_earlier_version_is_read() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        super::super::ensure_directory(dir.path()).expect("made");
        let id = journal().target;
        let text = format!(
            "{{\"version\":1,\"state\":\"done\",\"target\":\"{id}\",\"pre_restore\":\"{id}\",\"nonce\":\"0123456789abcdef\",\
             \"entries\":[],\"directories\":[]}}"
        );
        std::fs::write(path(dir.path()), text).expect("written");
        let read = Journal::read(dir.path()).expect("no error").expect("a journal");
        let lengths = [read.permissions.len(), read.below.len(), read.index.len(), read.removed.len()];
        assert_eq!(lengths, [0; 4]);
    }

    #[rstest::rstest]
    #[case::empty("")]
    #[case::torn("{\"version\":1,")]
    #[case::newer(
        "{\"version\":2,\"state\":\"done\",\"target\":\"\",\"pre_restore\":\"\",\"nonce\":\"\",\"entries\":[],\"directories\":[]}"
    )]
    fn a_damaged_journal_is_an_error(#[case] text: &str) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        super::super::ensure_directory(dir.path()).expect("made");
        std::fs::write(path(dir.path()), text).expect("written");
        assert_eq!(Journal::read(dir.path()).expect_err("damaged").kind(), Kind::Corrupt);
    }

    #[test]
    fn a_nonce_cannot_leave_the_directory() {
        let mut stored = Stored::from(&journal());
        stored.nonce = "../../../../etc/".into();
        assert!(Journal::try_from(stored).is_err());
    }
}
