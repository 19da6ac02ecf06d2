//! `<common-dir>/checkpoint/rounds/<id>.json`: the rounds of a repository, those that have ended included: their branches stay.

use std::{
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use bstr::{BString, ByteVec as _};
use serde::{Deserialize, Serialize};

use super::{directory, ensure_directory, read_text, replace_file_durably};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::{
        path_text::StoredPath,
        round::{Mode, is_id},
    },
};

/// More is in a file only if it is damaged.
const LONGEST: u64 = 1 << 20;
/// The version of the files.
const VERSION: u32 = 1;

/// How far a round has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Phase {
    /// Its directories are being made, or the process that made them was killed.
    Starting,
    /// Work goes on in it.
    Live,
    /// Its work is on its branches, and its worktrees are removed.
    Ended,
}

impl Phase {
    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Live => "live",
            Self::Ended => "ended",
        }
    }
}

/// What a round was asked for: the same again is the same round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The directories to work on, canonical; none: the workspace itself.
    pub(crate) contexts: Vec<PathBuf>,
    /// The canonical directory of the agent.
    pub(crate) workspace: Option<PathBuf>,
    /// The session that works in it.
    pub(crate) session: Option<String>,
    /// What other agents call the one that works in it.
    pub(crate) agent: Option<String>,
    /// How to isolate it, as it was asked for.
    pub(crate) mode: Option<String>,
    /// Where its branches begin.
    pub(crate) base: Option<String>,
    /// What its branch is to be called.
    pub(crate) label: Option<String>,
}

/// One directory of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The directory to work on.
    pub(crate) context: PathBuf,
    /// How it is isolated.
    pub(crate) mode: Mode,
    /// Where the work is done: the root of the worktree, or the directory itself.
    pub(crate) path: Option<PathBuf>,
    /// Its branch, by its short name.
    pub(crate) branch: Option<String>,
    /// The commit at which the branch begins.
    pub(crate) base: Option<String>,
    /// Git's id of the worktree that was made.
    pub(crate) worktree: Option<BString>,
    /// What HEAD pointed to before: the full name of a branch, or the id of a commit.
    pub(crate) head: Option<String>,
    /// The folder for experiments.
    pub(crate) scratch: Option<PathBuf>,
    /// Where that has been moved to.
    pub(crate) archive: Option<PathBuf>,
    /// What brings the worktree back, once it is removed.
    pub(crate) removed: Option<String>,
    /// True once all is done that the end of the round asks for.
    pub(crate) is_done: bool,
}

/// A round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// Its id.
    pub(crate) id: String,
    /// When it began, in Unix microseconds.
    pub(crate) began: i64,
    /// How far it has come.
    pub(crate) phase: Phase,
    /// What it was asked for.
    pub(crate) asked: Asked,
    /// Its directories.
    pub(crate) places: Vec<Place>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
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
    places: Vec<StoredPlace>,
}

#[derive(Serialize, Deserialize)]
struct StoredPlace {
    context: StoredPath,
    mode: Mode,
    path: Option<StoredPath>,
    branch: Option<String>,
    base: Option<String>,
    worktree: Option<StoredPath>,
    head: Option<String>,
    scratch: Option<StoredPath>,
    archive: Option<StoredPath>,
    removed: Option<String>,
    done: bool,
}

fn stored(path: &Path) -> StoredPath {
    StoredPath::from(&BString::from(path.as_os_str().as_bytes()))
}

fn path(stored: &StoredPath) -> Option<PathBuf> {
    Vec::from(stored.decode().ok()?).into_path_buf().ok().filter(|path| path.is_absolute())
}

/// Reads a value that may be absent; none if it is there and not sound.
#[expect(clippy::option_option, reason = "the outer one is the failure")]
fn optional<T, U>(value: Option<&T>, read: impl Fn(&T) -> Option<U>) -> Option<Option<U>> {
    value.map_or(Some(None), |value| read(value).map(Some))
}

impl StoredPlace {
    fn of(place: &Place) -> Self {
        Self {
            context: stored(&place.context),
            mode: place.mode,
            path: place.path.as_deref().map(stored),
            branch: place.branch.clone(),
            base: place.base.clone(),
            worktree: place.worktree.as_ref().map(StoredPath::from),
            head: place.head.clone(),
            scratch: place.scratch.as_deref().map(stored),
            archive: place.archive.as_deref().map(stored),
            removed: place.removed.clone(),
            done: place.is_done,
        }
    }

    fn read(self) -> Option<Place> {
        Some(Place {
            context: path(&self.context)?,
            mode: self.mode,
            path: optional(self.path.as_ref(), path)?,
            branch: self.branch,
            base: self.base,
            worktree: optional(self.worktree.as_ref(), |worktree| worktree.decode().ok())?,
            head: self.head,
            scratch: optional(self.scratch.as_ref(), path)?,
            archive: optional(self.archive.as_ref(), path)?,
            removed: self.removed,
            is_done: self.done,
        })
    }
}

impl Round {
    fn parse(id: &str, text: &str) -> Option<Self> {
        let stored: Stored = serde_json::from_str(text).ok().filter(|stored: &Stored| stored.version == VERSION)?;
        let asked = Asked {
            contexts: stored.contexts.iter().map(path).collect::<Option<_>>()?,
            workspace: optional(stored.workspace.as_ref(), path)?,
            session: stored.session,
            agent: stored.agent,
            mode: stored.mode,
            base: stored.base,
            label: stored.label,
        };
        let places = stored.places.into_iter().map(StoredPlace::read).collect::<Option<_>>()?;
        Some(Self { id: id.to_owned(), began: stored.began, phase: stored.phase, asked, places })
    }

    /// Writes it: whatever happens then, the next command knows of it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(&self, common_dir: &Path) -> Result<()> {
        let folder = ensure_folder(common_dir)?;
        let asked = &self.asked;
        let stored = Stored {
            version: VERSION,
            began: self.began,
            phase: self.phase,
            contexts: asked.contexts.iter().map(|path| stored(path)).collect(),
            workspace: asked.workspace.as_deref().map(stored),
            session: asked.session.clone(),
            agent: asked.agent.clone(),
            mode: asked.mode.clone(),
            base: asked.base.clone(),
            label: asked.label.clone(),
            places: self.places.iter().map(StoredPlace::of).collect(),
        };
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

fn folder(common_dir: &Path) -> PathBuf {
    directory(common_dir).join("rounds")
}

fn ensure_folder(common_dir: &Path) -> Result<PathBuf> {
    let folder = ensure_directory(common_dir)?.join("rounds");
    fs::create_dir_all(&folder).context(Kind::Internal, || format!("cannot create '{}'", folder.display()))?;
    Ok(folder)
}

/// Returns the round with this id as it is now; none if there is none, or its file is damaged.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn read(common_dir: &Path, id: &str) -> Result<Option<Round>> {
    if !is_id(id) {
        return Ok(None);
    }
    let file = folder(common_dir).join(format!("{id}.json"));
    let Some(text) = read_text(&file, LONGEST)? else { return Ok(None) };
    let round = Round::parse(id, &text);
    if round.is_none() {
        tracing::warn!(file = %file.display(), "the file of a round is damaged");
    }
    Ok(round)
}

/// Returns all rounds, the oldest first. Damaged files are left out, and left alone.
///
/// # Errors
/// If they cannot be read.
pub(crate) fn all(common_dir: &Path) -> Result<Vec<Round>> {
    let folder = folder(common_dir);
    let what = || format!("cannot read '{}'", folder.display());
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.context(Kind::Internal, what)?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let name = entry.context(Kind::Internal, what)?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".json")) else { continue };
        all.extend(read(common_dir, id)?);
    }
    all.sort_by(|one, other| (one.began, &one.id).cmp(&(other.began, &other.id)));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round() -> Round {
        let odd = PathBuf::from(std::ffi::OsStr::from_bytes(b"/w\xff x\n"));
        let place = Place {
            context: odd.clone(),
            mode: Mode::Worktree,
            path: Some(odd.clone()),
            branch: Some("agents/f028d1c7".into()),
            base: Some("1".repeat(40)),
            worktree: Some(b"w\xff".into()),
            head: None,
            scratch: Some(odd.join("s")),
            archive: None,
            removed: None,
            is_done: false,
        };
        let (workspace, agent) = (Some("/ws".into()), Some("agent1".into()));
        let asked = Asked { contexts: vec![odd], workspace, agent, ..Asked::default() };
        Round { id: "0123abcd".into(), began: 5, phase: Phase::Live, asked, places: vec![place] }
    }

    #[test]
    fn a_round_survives_a_round_trip() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(all(dir.path()).expect("nothing is there"), []);
        round().write(dir.path()).expect("written");
        assert_eq!(read(dir.path(), "0123abcd").expect("readable"), Some(round()));
        assert_eq!(all(dir.path()).expect("readable"), [round()]);
        round().forget(dir.path()).expect("removed");
        round().forget(dir.path()).expect("it is gone already");
        assert_eq!(all(dir.path()).expect("readable"), []);
    }

    #[test]
    fn a_damaged_file_is_left_out_and_left_alone() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        round().write(dir.path()).expect("written");
        let file = folder(dir.path()).join("0123abcd.json");
        let text = fs::read_to_string(&file).expect("readable");
        let texts = [
            "{".to_owned(),
            text.replace("\"version\": 1", "\"version\": 2"),
            text.replace("\"live\"", "\"else\""),
            text.replace("\"/ws\"", "\"ws\""),
        ];
        for text in texts {
            fs::write(&file, &text).expect("writable");
            assert_eq!(all(dir.path()).expect("readable"), [], "{text}");
            assert_eq!(fs::read_to_string(&file).expect("it stays"), text);
        }
        assert_eq!(read(dir.path(), "../0123abcd").expect("no id"), None);
    }
}
