//! The files of sessions below `<common-dir>/checkpoint/sessions`: one each, and its prompts beside it.
//!
//! They hold intent and caches. What is lost or damaged here is rebuilt from refs by `ops`.

use std::{
    collections::HashMap,
    fs,
    io::{ErrorKind, Write as _},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

use super::{directory, ensure_directory, replace_file};
use crate::{
    error::{Context as _, Kind, Result},
    model::{
        refname::{decode_component, encode_component},
        session::{Session, Turn},
    },
};

/// What was found of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Its file.
    Session(Box<Session>),
    /// Nothing.
    Absent,
    /// A file that makes no sense; it was set aside under this path.
    Damaged(PathBuf),
}

/// What the user asked for, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// The turn it began.
    pub turn: u32,
    /// When, in Unix seconds.
    pub seconds: i64,
    /// The text.
    pub text: String,
}

/// More than this is in a session's file only if it is damaged.
const LONGEST: u64 = 1 << 20;

/// The ending of the file that says not to rebuild a session.
const FORGOTTEN: &str = "forgotten";

/// The ending of the file that has the number of the last turn of a session without a file.
const LAST_TURN: &str = "turns";

/// The ending of the file with what the models of a session have used.
pub(super) const USAGE: &str = "usage";

/// Returns the directory of all of them.
pub(crate) fn folder(common_dir: &Path) -> PathBuf {
    directory(common_dir).join("sessions")
}

/// Returns true if the folder for session files exists.
pub(crate) fn has_any(common_dir: &Path) -> bool {
    folder(common_dir).exists()
}

/// Returns the file of the session `id` with this ending.
pub(super) fn file(common_dir: &Path, id: &str, extension: &str) -> PathBuf {
    folder(common_dir).join(format!("{}.{extension}", encode_component(id.into())))
}

/// Reads the session `id`; a damaged file is set aside.
pub(crate) fn load(common_dir: &Path, id: &str) -> Result<Found> {
    let path = file(common_dir, id, "toml");
    match read_file(&path)? {
        OnDisk::Absent => Ok(Found::Absent),
        OnDisk::Sound(session) if session.id == id => Ok(Found::Session(session)),
        OnDisk::Sound(_) | OnDisk::Damaged => {
            let bad = path.with_extension("bad");
            fs::rename(&path, &bad).context(Kind::Internal, || format!("cannot set '{}' aside", path.display()))?;
            Ok(Found::Damaged(bad))
        }
    }
}

/// Returns what is in the file of the session `id`, and leaves it as it is; none if that makes no sense.
pub(crate) fn read(common_dir: &Path, id: &str) -> Result<Option<Session>> {
    Ok(read_file(&file(common_dir, id, "toml"))?.sound().filter(|session| session.id == id))
}

/// What a session's file holds.
enum OnDisk {
    Absent,
    Damaged,
    Sound(Box<Session>),
}

impl OnDisk {
    fn sound(self) -> Option<Session> {
        match self {
            Self::Sound(session) => Some(*session),
            Self::Absent | Self::Damaged => None,
        }
    }
}

fn read_file(path: &Path) -> Result<OnDisk> {
    let session = match super::read(path, LONGEST)? {
        super::Found::Nothing => return Ok(OnDisk::Absent),
        super::Found::Nonsense => None,
        super::Found::Text(text) => Session::parse(&text),
    };
    Ok(session.map_or(OnDisk::Damaged, |session| OnDisk::Sound(Box::new(session))))
}

/// The files of sessions, while the lock of a worktree is held: each is read once, and what is stored here is known.
///
/// The lock of another worktree guards what a session does there. What is stored under that one counts in the next event.
#[derive(Debug)]
pub(crate) struct Held {
    common_dir: PathBuf,
    files: Mutex<HashMap<String, Option<Session>>>,
}

impl Held {
    pub(crate) fn new(common_dir: &Path) -> Self {
        Self { common_dir: common_dir.to_owned(), files: Mutex::default() }
    }

    /// As [`load`].
    pub(crate) fn load(&self, id: &str) -> Result<Found> {
        if let Some(known) = self.lock().get(id) {
            return Ok(known.clone().map_or(Found::Absent, |session| Found::Session(Box::new(session))));
        }
        let found = load(&self.common_dir, id)?;
        let session = if let Found::Session(session) = &found { Some(session.as_ref().clone()) } else { None };
        self.lock().insert(id.to_owned(), session);
        Ok(found)
    }

    /// As [`read`].
    pub(crate) fn read(&self, id: &str) -> Result<Option<Session>> {
        if let Some(known) = self.lock().get(id) {
            return Ok(known.clone());
        }
        let session = read(&self.common_dir, id)?;
        // A damaged file is not absent: `load` sets it aside.
        if session.is_some() {
            self.lock().insert(id.to_owned(), session.clone());
        }
        Ok(session)
    }

    /// As [`store`]; a file that has all that already stays as it is.
    pub(crate) fn store(&self, session: &Session) -> Result<()> {
        let new = Some(session.clone().with_turn(None));
        let known = self.lock().remove(&session.id);
        if known.as_ref() == Some(&new) && file(&self.common_dir, &session.id, "toml").exists() {
            remove_file(&file(&self.common_dir, &session.id, FORGOTTEN))?;
        } else {
            store(&self.common_dir, session)?;
        }
        self.lock().insert(session.id.clone(), new);
        Ok(())
    }

    /// Forgets what was read of the session `id`, whose file has changed in another way.
    pub(crate) fn forget(&self, id: &str) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Option<Session>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the bytes of the file of the session `id`; none if there is no file.
pub(crate) fn bytes(common_dir: &Path, id: &str) -> Result<Option<Vec<u8>>> {
    let found = super::read_text(&file(common_dir, id, "toml"), LONGEST)?;
    Ok(found.map(String::into_bytes))
}

/// Writes the session's file.
pub(crate) fn store(common_dir: &Path, session: &Session) -> Result<()> {
    ensure_directory(common_dir)?;
    let folder = folder(common_dir);
    fs::create_dir_all(&folder).context(Kind::Internal, || format!("cannot create '{}'", folder.display()))?;
    replace_file(&file(common_dir, &session.id, "toml"), session.to_toml().as_bytes())?;
    remove_file(&file(common_dir, &session.id, FORGOTTEN)).map(drop)
}

/// Notes that the session `id` is not to be rebuilt from its checkpoints; [`store`] ends that.
pub(crate) fn mark_forgotten(common_dir: &Path, id: &str) -> Result<()> {
    let path = file(common_dir, id, FORGOTTEN);
    let what = || format!("cannot write '{}'", path.display());
    fs::create_dir_all(folder(common_dir)).context(Kind::Internal, what)?;
    fs::write(&path, "").context(Kind::Internal, what)
}

/// Returns true if the user has had the session `id` forgotten, and nothing has been heard of it since.
pub(crate) fn is_forgotten(common_dir: &Path, id: &str) -> bool {
    file(common_dir, id, FORGOTTEN).exists()
}

/// Notes that the turns of the session `id`, whose file is lost or about to be removed, have the numbers up to `number`: its
/// checkpoints and its prompts are found by them, so that a later turn must have another one.
pub(crate) fn keep_last_turn(common_dir: &Path, id: &str, number: u32) -> Result<()> {
    if Turn::sane(number) <= last_turn(common_dir, id) {
        return Ok(());
    }
    ensure_directory(common_dir)?;
    let folder = folder(common_dir);
    fs::create_dir_all(&folder).context(Kind::Internal, || format!("cannot create '{}'", folder.display()))?;
    replace_file(&file(common_dir, id, LAST_TURN), format!("{number}\n").as_bytes())
}

/// Returns the number that [`keep_last_turn`] has noted of the session `id`; 0 if there is none.
pub(crate) fn last_turn(common_dir: &Path, id: &str) -> u32 {
    let text = super::read_text(&file(common_dir, id, LAST_TURN), LONGEST).ok().flatten();
    text.and_then(|text| text.trim().parse().ok()).map(Turn::sane).unwrap_or_default()
}

/// Removes what is kept of the session `id`, but for the number of its last turn; returns true if there was anything.
pub(crate) fn remove(common_dir: &Path, id: &str) -> Result<bool> {
    let mut is_there = false;
    if let Some(session) = read(common_dir, id)? {
        keep_last_turn(common_dir, id, session.turn.number)?;
    }
    for extension in ["toml", "prompts", USAGE, "bad"] {
        is_there |= remove_file(&file(common_dir, id, extension))?;
    }
    Ok(is_there)
}

/// Removes the file `path`; returns false if there is none.
fn remove_file(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(false),
        Err(cause) => {
            Err(crate::error::Error::internal(format!("cannot remove '{}'", path.display())).with_cause(cause))
        }
    }
}

/// Returns all sessions with a file that makes sense, latest first.
pub(crate) fn all(common_dir: &Path) -> Result<Vec<Session>> {
    named(common_dir, |_| true)
}

/// Returns those of [`all`] whose ids begin with `prefix`. The names of the files tell which: no other file is read.
pub(crate) fn beginning_with(common_dir: &Path, prefix: &str) -> Result<Vec<Session>> {
    named(common_dir, |name| decode_component(name).is_some_and(|id| id.starts_with(prefix.as_bytes())))
}

/// Returns the sessions whose files make sense and have names that `is_wanted` accepts, latest first.
fn named(common_dir: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<Session>> {
    let folder = folder(common_dir);
    let entries = match fs::read_dir(&folder) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.context(Kind::Internal, || format!("cannot read '{}'", folder.display()))?,
    };
    let mut sessions = Vec::new();
    for entry in entries {
        let path = entry.context(Kind::Internal, || format!("cannot read '{}'", folder.display()))?.path();
        let is_session = path.extension().is_some_and(|extension| extension == "toml");
        if is_session && path.file_stem().is_some_and(|name| is_wanted(&name.to_string_lossy())) {
            sessions.extend(read_file(&path)?.sound());
        }
    }
    sessions.sort_by(|a, b| b.last_seen.cmp(&a.last_seen).then_with(|| a.id.cmp(&b.id)));
    Ok(sessions)
}

/// Returns the files of damaged sessions that were set aside.
pub(crate) fn damaged(common_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(common_dir)).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "bad"));
    files.sort();
    files
}

/// Appends `prompt` to those of the session `id`.
pub(crate) fn append_prompt(common_dir: &Path, id: &str, prompt: &Prompt) -> Result<()> {
    let path = file(common_dir, id, "prompts");
    let what = || format!("cannot write '{}'", path.display());
    fs::create_dir_all(folder(common_dir)).context(Kind::Internal, what)?;
    let mut file =
        fs::File::options().read(true).append(true).create(true).open(&path).context(Kind::Internal, what)?;
    let mut line = if ends_within_a_line(&file) { vec![b'\n'] } else { Vec::new() };
    serde_json::to_writer(&mut line, prompt).context(Kind::Internal, what)?;
    line.push(b'\n');
    // One call: another process appends before or after it.
    file.write_all(&line).context(Kind::Internal, what)
}

/// Returns true if the last writer died while it wrote.
fn ends_within_a_line(file: &fs::File) -> bool {
    let Some(last) = file.metadata().ok().and_then(|metadata| metadata.len().checked_sub(1)) else { return false };
    let mut byte = [b'\n'];
    file.read_exact_at(&mut byte, last).is_ok() && byte != *b"\n"
}

/// Returns the prompts of the session `id` in order; lines that make no sense are left out.
pub(crate) fn prompts(common_dir: &Path, id: &str) -> Result<Vec<Prompt>> {
    let path = file(common_dir, id, "prompts");
    let bytes = match fs::read(&path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.context(Kind::Internal, || format!("cannot read '{}'", path.display()))?,
    };
    Ok(String::from_utf8_lossy(&bytes).lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn sessions_come_back_and_damage_is_set_aside() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let common = directory.path();
        assert_eq!(load(common, "../x").expect("readable"), Found::Absent);
        let session = Session::new("../x", &"main".into(), 5);
        store(common, &session).expect("it can be written");
        assert_eq!(load(common, "../x").expect("readable"), Found::Session(Box::new(session.clone())));
        let list = [session];
        assert_eq!(all(common).expect("readable"), list);
        assert_eq!(beginning_with(common, "../").expect("readable"), list);
        assert_eq!(beginning_with(common, "..%").expect("readable"), []);
        let path = file(common, "../x", "toml");
        assert_eq!(path.parent(), Some(folder(common).as_path()));
        fs::write(&path, "version = 1\nid = ").expect("it is ours");
        let found = load(common, "../x").expect("readable");
        assert!(matches!(&found, Found::Damaged(bad) if bad.exists() && !path.exists()), "{found:?}");
        assert_eq!(load(common, "../x").expect("readable"), Found::Absent);
        assert_eq!(damaged(common).len(), 1);
    }

    #[test]
    fn a_file_is_written_only_if_it_changes() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (common, mut session) = (directory.path(), Session::new("s", &"main".into(), 5));
        store(common, &session).expect("it can be written");
        let path = file(common, "s", "toml");
        let inode = || fs::metadata(&path).expect("it is there").ino();
        let (first, held) = (inode(), Held::new(common));
        assert_eq!(held.load("s").expect("readable"), Found::Session(Box::new(session.clone())));
        held.store(&session).expect("nothing is to be written");
        assert_eq!(inode(), first);
        session.last_seen = 6;
        held.store(&session).expect("it can be written");
        assert_ne!(inode(), first);
        fs::remove_file(&path).expect("it is ours");
        held.store(&session).expect("it can be written");
        assert_eq!(load(common, "s").expect("readable"), Found::Session(Box::new(session)));
    }

    #[test]
    fn prompts_are_kept_in_order() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let prompt = |turn| Prompt { turn, seconds: 1, text: "two\nlines".into() };
        append_prompt(directory.path(), "s", &prompt(1)).expect("it can be written");
        append_prompt(directory.path(), "s", &prompt(2)).expect("it can be written");
        assert_eq!(prompts(directory.path(), "s").expect("readable"), [prompt(1), prompt(2)]);
        let path = file(directory.path(), "s", "prompts");
        let damaged = [b"\xff\0\n".as_slice(), &fs::read(&path).expect("it was written")].concat();
        fs::write(&path, damaged).expect("it is ours");
        assert_eq!(prompts(directory.path(), "s").expect("damage costs a line"), [prompt(1), prompt(2)]);
        assert!(remove(directory.path(), "s").expect("it is ours"));
        assert!(prompts(directory.path(), "s").expect("readable").is_empty());
    }
}
