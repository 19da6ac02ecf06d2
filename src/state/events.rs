//! `events.jsonl` in the common directory: one JSON line for every operation.

use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use super::lock::Lock;
use crate::{
    error::{Context as _, Kind, Result},
    model::event::Event,
};

/// Above this size the log is moved to `events.jsonl.1`, replacing the one before.
const ROTATE_AT: u64 = 4 << 20;

/// Returns the path of the log in the common directory.
pub(crate) fn path(common_dir: &Path) -> PathBuf {
    super::directory(common_dir).join("events.jsonl")
}

/// Returns the path of the log before the last rotation.
pub(crate) fn rotated_path(common_dir: &Path) -> PathBuf {
    super::directory(common_dir).join("events.jsonl.1")
}

/// Appends `event` of `worktree`, with the time of now.
pub(crate) fn append(common_dir: &Path, worktree: &str, event: &Event) -> Result<()> {
    let path = path(common_dir);
    let what = || format!("cannot write '{}'", path.display());
    super::ensure_directory(common_dir)?;
    let mut line = serde_json::json!({
        "version": 1,
        "time": jiff::Timestamp::now().strftime("%FT%T%.3fZ").to_string(),
        "worktree": worktree,
    });
    let fields = serde_json::to_value(event).context(Kind::Internal, what)?;
    if let (Some(line), serde_json::Value::Object(fields)) = (line.as_object_mut(), fields) {
        line.extend(fields);
    }
    let mut text = line.to_string();
    text.push('\n');
    let mut file = File::options().append(true).create(true).open(&path).context(Kind::Internal, what)?;
    if file.metadata().context(Kind::Internal, what)?.len() > ROTATE_AT {
        rotate(common_dir).context(Kind::Internal, what)?;
        file = File::options().append(true).create(true).open(&path).context(Kind::Internal, what)?;
    }
    file.write_all(text.as_bytes()).context(Kind::Internal, what)
}

/// Moves the log away, unless another process does or has done so: a young log must not replace the long one.
fn rotate(common_dir: &Path) -> std::io::Result<()> {
    let path = path(common_dir);
    let lock = Lock::try_acquire(&super::directory(common_dir).join("events.lock")).map_err(std::io::Error::other)?;
    if lock.is_some() && std::fs::metadata(&path).is_ok_and(|metadata| metadata.len() > ROTATE_AT) {
        std::fs::rename(&path, rotated_path(common_dir))?;
    }
    Ok(())
}

/// Returns the message of the last failed operation of `worktree`, if no checkpoint or restore followed it. A request that
/// could not be met, or was refused, is no failure.
///
/// Only the end of the log is looked at: an error further back than that is no news.
pub(crate) fn last_error(common_dir: &Path, worktree: &str) -> Option<String> {
    const TAIL: u64 = 64 << 10;
    let mut file = File::open(path(common_dir)).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    let lines = bytes.rsplit(|byte| *byte == b'\n');
    let events = lines.filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    let last =
        events.filter(|event| event["worktree"] == worktree).find_map(|event| match event["event"].as_str()? {
            "error" if matches!(event["kind"].as_str(), Some("user" | "refused")) => None,
            "error" => Some(event["message"].as_str().map(ToOwned::to_owned)),
            "checkpoint" | "restore" => Some(None),
            _ => None,
        });
    last.flatten()
}

/// Reads the log line by line, and what is appended later, over rotations.
#[derive(Debug)]
pub(crate) struct Reader {
    common_dir: PathBuf,
    file: Option<File>,
    pending: Vec<u8>,
}

impl Reader {
    /// Returns a reader that begins with the log before the last rotation.
    pub(crate) fn open(common_dir: &Path) -> Result<Self> {
        let mut reader = Self { common_dir: common_dir.to_owned(), file: None, pending: Vec::new() };
        reader.file = open(&rotated_path(common_dir))?;
        Ok(reader)
    }

    /// Calls `each` with the lines that have become complete since the last call, until it returns false.
    ///
    /// Returns false if `each` did.
    pub(crate) fn read(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<bool> {
        loop {
            if !self.read_file(each)? {
                return Ok(false);
            }
            // Only a log that was rotated away is complete: then continue with the current log.
            let current = open(&path(&self.common_dir))?;
            let is_same = match (&self.file, &current) {
                (Some(old), Some(new)) => identity(old)? == identity(new)?,
                (_, None) => true,
                (None, Some(_)) => false,
            };
            if is_same {
                return Ok(true);
            }
            // A line may have been written between our last look and the rotation.
            if !self.read_file(each)? {
                return Ok(false);
            }
            self.pending.clear();
            self.file = current;
        }
    }

    fn read_file(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<bool> {
        let Some(file) = &mut self.file else { return Ok(true) };
        let start = self.pending.len();
        file.read_to_end(&mut self.pending).context(Kind::Internal, || "cannot read the log of events".into())?;
        let Some(last) = self.pending[start..].iter().rposition(|&byte| byte == b'\n') else { return Ok(true) };
        let rest = self.pending.split_off(start + last + 1);
        let lines = std::mem::replace(&mut self.pending, rest);
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            if !each(line)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn open(path: &Path) -> Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).context(Kind::Internal, || format!("cannot read '{}'", path.display())),
    }
}

fn identity(file: &File) -> Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = file.metadata().context(Kind::Internal, || "cannot read the log of events".into())?;
    Ok((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reader: &mut Reader) -> Vec<String> {
        let mut lines = Vec::new();
        reader
            .read(&mut |line| {
                lines.push(String::from_utf8_lossy(line).into_owned());
                Ok(true)
            })
            .expect("the log can be read");
        lines
    }

    #[test]
    fn requests_that_cannot_be_met_are_no_trouble() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let tell = |kind: &str| {
            let event = Event::Error { operation: "save".into(), kind: kind.into(), message: kind.into() };
            append(dir.path(), "main", &event).expect("the log can be written");
        };
        tell("user");
        assert_eq!(last_error(dir.path(), "main"), None);
        tell("internal");
        tell("user");
        tell("refused");
        assert_eq!(last_error(dir.path(), "main").as_deref(), Some("internal"));
    }

    #[test]
    fn many_writers_rotate_once() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        super::super::ensure_directory(dir.path()).expect("directories can be made");
        let line = format!("{}\n", "x".repeat(1023));
        let lines = usize::try_from(ROTATE_AT / 1024).expect("few") + 1;
        std::fs::write(path(dir.path()), line.repeat(lines)).expect("files can be written");
        let event = Event::Prune { dropped: 1 };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| append(dir.path(), "main", &event).expect("the log can be written"));
            }
        });
        let rotated = std::fs::read_to_string(rotated_path(dir.path())).expect("it was rotated");
        let current = std::fs::read_to_string(path(dir.path())).expect("it is begun anew");
        assert!(rotated.starts_with('x'), "the long log was replaced");
        assert_eq!(rotated.lines().count() + current.lines().count(), lines + 8);
    }

    #[test]
    fn a_reader_follows_rotations_and_waits_for_whole_lines() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut reader = Reader::open(dir.path()).expect("no log is no error");
        assert!(read(&mut reader).is_empty());
        super::super::ensure_directory(dir.path()).expect("directories can be made");
        let write = |text: &str| {
            let mut file = File::options().append(true).create(true).open(path(dir.path())).expect("the log");
            file.write_all(text.as_bytes()).expect("files can be written");
        };
        write("1\n2");
        assert_eq!(read(&mut reader), ["1"]);
        write("2\n3\n");
        assert_eq!(read(&mut reader), ["22", "3"]);
        write("4\n");
        std::fs::rename(path(dir.path()), rotated_path(dir.path())).expect("files can be moved");
        assert_eq!(read(&mut reader), ["4"]);
        write("5\n");
        assert_eq!(read(&mut reader), ["5"]);
        assert_eq!(read(&mut Reader::open(dir.path()).expect("both are there")), ["1", "22", "3", "4", "5"]);
    }
}
