//! The file of a round. What it has becomes part of refs, paths, commands and prompts: unsound values are no round.

use std::{
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use bstr::{BString, ByteSlice as _, ByteVec as _};
use gix::ObjectId;
use serde::{Deserialize, Serialize};

use super::types::{Asked, Committed, Phase, Place, Ran, Round};
use crate::model::{
    path_text::StoredPath,
    round::{Mode, is_branch, is_folder, is_head, is_name, is_object_id},
    session::is_valid_id,
};

/// The version of the files.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    version: u32,
    began: i64,
    phase: Phase,
    contexts: Vec<StoredPath>,
    workspace: Option<StoredPath>,
    session: Option<String>,
    agent: Option<String>,
    mode: Option<String>,
    base: Option<String>,
    label: Option<String>,
    group: Option<String>,
    previous: Option<String>,
    #[serde(default)]
    mirror: Option<String>,
    takes_changes: bool,
    archive_folder: String,
    #[serde(default)]
    ran: Option<Ran>,
    places: Vec<StoredPlace>,
}

#[derive(Serialize, Deserialize)]
struct StoredPlace {
    context: StoredPath,
    mode: Mode,
    path: Option<StoredPath>,
    inside: StoredPath,
    branch: Option<String>,
    base: Option<String>,
    #[serde(default)]
    files: Option<String>,
    claimed: Option<StoredPath>,
    worktree: Option<StoredPath>,
    mark: Option<String>,
    head: Option<String>,
    scratch: Option<StoredPath>,
    archive: Option<StoredPath>,
    committed: Option<StoredCommitted>,
    #[serde(default)]
    brought: Option<String>,
    #[serde(default)]
    aside: Option<StoredPath>,
    removed: Option<String>,
    done: bool,
    kept: bool,
    superseded: Option<i64>,
    retired: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredCommitted {
    checkpoint: String,
    commit: Option<String>,
    tip: String,
}

fn stored(path: &Path) -> StoredPath {
    StoredPath::from(&BString::from(path.as_os_str().as_bytes()))
}

fn path(stored: &StoredPath) -> Option<PathBuf> {
    Vec::from(stored.decode().ok()?).into_path_buf().ok().filter(|path| path.is_absolute())
}

/// Returns the path, which leads to nothing else than what is below a directory.
fn relative(stored: &StoredPath) -> Option<BString> {
    let path = stored.decode().ok()?;
    let is_plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    (path.is_empty() || path.split_str("/").all(is_plain)).then_some(path)
}

/// Reads a value that may be absent; none if it is there and not sound.
#[expect(clippy::option_option, reason = "the outer one is the failure")]
fn optional<T, U>(value: Option<&T>, read: impl Fn(&T) -> Option<U>) -> Option<Option<U>> {
    value.map_or(Some(None), |value| read(value).map(Some))
}

/// Returns `text`, which is part of refs, paths, commands or prompts, if it is absent or `is_sound`.
#[expect(clippy::option_option, reason = "the outer one is the failure")]
fn checked(text: Option<String>, is_sound: impl Fn(&str) -> bool) -> Option<Option<String>> {
    text.map_or(Some(None), |text| if is_sound(&text) { Some(Some(text)) } else { None })
}

impl StoredCommitted {
    fn read(&self) -> Option<Committed> {
        let id = |text: &str| ObjectId::from_hex(text.as_bytes()).ok();
        let commit = optional(self.commit.as_ref(), |commit| id(commit))?;
        Some(Committed { checkpoint: id(&self.checkpoint)?, commit, tip: id(&self.tip)? })
    }
}

impl StoredPlace {
    fn of(place: &Place) -> Self {
        Self {
            context: stored(&place.context),
            mode: place.mode,
            path: place.path.as_deref().map(stored),
            inside: StoredPath::from(&place.inside),
            branch: place.branch.clone(),
            base: place.base.clone(),
            files: place.files.clone(),
            claimed: place.claimed.as_deref().map(stored),
            worktree: place.worktree.as_ref().map(StoredPath::from),
            mark: place.mark.clone(),
            head: place.head.clone(),
            scratch: place.scratch.as_deref().map(stored),
            archive: place.archive.as_deref().map(stored),
            committed: place.committed.as_ref().map(|it| StoredCommitted {
                checkpoint: it.checkpoint.to_string(),
                commit: it.commit.map(|id| id.to_string()),
                tip: it.tip.to_string(),
            }),
            brought: place.brought.clone(),
            aside: place.aside.as_deref().map(stored),
            removed: place.removed.clone(),
            done: place.is_done,
            kept: place.is_kept,
            superseded: place.superseded,
            retired: place.retired.clone(),
        }
    }

    fn read(self) -> Option<Place> {
        Some(Place {
            context: path(&self.context)?,
            mode: self.mode,
            path: optional(self.path.as_ref(), path)?,
            inside: relative(&self.inside)?,
            branch: checked(self.branch, is_branch)?,
            base: checked(self.base, is_object_id)?,
            files: checked(self.files, is_object_id)?,
            claimed: optional(self.claimed.as_ref(), path)?,
            worktree: optional(self.worktree.as_ref(), |worktree| worktree.decode().ok())?,
            mark: checked(self.mark, is_name)?,
            head: checked(self.head, is_head)?,
            scratch: optional(self.scratch.as_ref(), path)?,
            archive: optional(self.archive.as_ref(), path)?,
            committed: optional(self.committed.as_ref(), StoredCommitted::read)?,
            brought: checked(self.brought, is_object_id)?,
            aside: optional(self.aside.as_ref(), path)?,
            removed: checked(self.removed, is_name)?,
            is_done: self.done,
            is_kept: self.kept,
            superseded: self.superseded,
            retired: checked(self.retired, is_object_id)?,
        })
    }
}

impl Stored {
    /// Returns what is written for `round`.
    pub(super) fn of(round: &Round) -> Self {
        let asked = &round.asked;
        Self {
            version: VERSION,
            began: round.began,
            phase: round.phase,
            contexts: asked.contexts.iter().map(|path| stored(path)).collect(),
            workspace: asked.workspace.as_deref().map(stored),
            session: asked.session.clone(),
            agent: asked.agent.clone(),
            mode: asked.mode.clone(),
            base: asked.base.clone(),
            label: asked.label.clone(),
            group: asked.group.clone(),
            previous: asked.previous.clone(),
            mirror: asked.mirror.clone(),
            takes_changes: round.takes_changes,
            archive_folder: round.archive_folder.clone(),
            ran: round.ran,
            places: round.places.iter().map(StoredPlace::of).collect(),
        }
    }
}

/// Returns the round `id` whose file has `text`; none if that is damaged, or has what is no sound name.
pub(super) fn parse(id: &str, text: &str) -> Option<Round> {
    let stored: Stored = serde_json::from_str(text).ok().filter(|stored: &Stored| stored.version == VERSION)?;
    let asked = Asked {
        contexts: stored.contexts.iter().map(path).collect::<Option<_>>()?,
        workspace: optional(stored.workspace.as_ref(), path)?,
        session: checked(stored.session, is_valid_id)?,
        agent: checked(stored.agent, is_name)?,
        mode: stored.mode,
        base: stored.base,
        label: checked(stored.label, is_name)?,
        group: checked(stored.group, is_name)?,
        previous: checked(stored.previous, is_branch)?,
        mirror: stored.mirror,
    };
    let places = stored.places.into_iter().map(StoredPlace::read).collect::<Option<_>>()?;
    let archive_folder = Some(stored.archive_folder).filter(|folder| is_folder(folder))?;
    Some(Round {
        id: id.to_owned(),
        began: stored.began,
        phase: stored.phase,
        asked,
        takes_changes: stored.takes_changes,
        archive_folder,
        ran: stored.ran,
        places,
    })
}
