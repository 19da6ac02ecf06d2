//! `review.jsonl` in a worktree's git directory: decisions that wait, a line of JSON each. Written under the worktree's lock.

use std::path::{Path, PathBuf};

use super::{directory, ensure_directory, read_text, replace_file};
use crate::{error::Result, model::review::Waiting};

/// More is in the file only if it is damaged.
const LONGEST: u64 = 1 << 24;

fn file(git_dir: &Path) -> PathBuf {
    directory(git_dir).join("review.jsonl")
}

/// Returns the decisions that wait in the worktree of `git_dir`; what cannot be read is none.
pub(crate) fn read(git_dir: &Path) -> Vec<Waiting> {
    let text = read_text(&file(git_dir), LONGEST).ok().flatten().unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Writes the decisions that wait in the worktree of `git_dir`, whose lock the caller holds.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write(git_dir: &Path, waiting: &[Waiting]) -> Result<()> {
    let lines: Vec<String> = waiting.iter().filter_map(|it| serde_json::to_string(it).ok()).collect();
    let text: String = lines.into_iter().map(|line| line + "\n").collect();
    ensure_directory(git_dir)?;
    replace_file(&file(git_dir), text.as_bytes())
}
