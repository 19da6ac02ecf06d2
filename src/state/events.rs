//! `events.jsonl` in the common directory: one JSON line for every operation.

use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use crate::{
    error::{Context as _, Kind, Result},
    model::event::Event,
};

/// Above this size the log is moved to `events.jsonl.1`, replacing the one before.
const ROTATE_AT: u64 = 4 << 20;

/// Returns the path of the log in the common directory.
pub fn path(common_dir: &Path) -> PathBuf {
    super::directory(common_dir).join("events.jsonl")
}

/// Returns the path of the log before the last rotation.
pub fn rotated_path(common_dir: &Path) -> PathBuf {
    super::directory(common_dir).join("events.jsonl.1")
}

/// Appends `event` of `worktree`, with the time of now.
pub fn append(common_dir: &Path, worktree: &str, event: &Event) -> Result<()> {
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
        // Two processes may both rotate; the second moves a young log, which loses no line of the last megabytes.
        std::fs::rename(&path, rotated_path(common_dir)).context(Kind::Internal, what)?;
        file = File::options().append(true).create(true).open(&path).context(Kind::Internal, what)?;
    }
    file.write_all(text.as_bytes()).context(Kind::Internal, what)
}

/// Returns the message of the last failed operation of `worktree`, if no checkpoint or restore followed it.
///
/// Only the end of the log is looked at: an error further back than that is no news.
pub fn last_error(common_dir: &Path, worktree: &str) -> Option<String> {
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
            "error" => Some(event["message"].as_str().map(ToOwned::to_owned)),
            "checkpoint" | "restore" => Some(None),
            _ => None,
        });
    last.flatten()
}
