//! `<common-dir>/checkpoint/rewritten`: which commits that git has rewritten were looked at, so that each is looked at once. The first
//! line is the id of the log's last commit then; each other line is the id of a commit to which no branch led, or of
//! which not all was here.
//!
//! If it is lost, all are looked at again.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use gix::ObjectId;

use super::{directory, ensure_directory, read_text, replace_file_durably};
use crate::error::Result;

/// More than this is in the file only if it is damaged.
const LONGEST: u64 = 16 << 20;

/// What was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rewritten {
    /// The last commit of the log; none: nothing was looked at.
    pub(crate) log: Option<ObjectId>,
    /// Commits that no branch led to, or of which not all was here.
    pub(crate) waiting: BTreeSet<ObjectId>,
}

fn file(common_dir: &Path) -> PathBuf {
    directory(common_dir).join("rewritten")
}

/// Returns what was looked at; nothing if the file is damaged.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn read(common_dir: &Path) -> Result<Rewritten> {
    let text = read_text(&file(common_dir), LONGEST)?.unwrap_or_default();
    let mut ids = text.lines().map(|line| ObjectId::from_hex(line.as_bytes()));
    let Some(Ok(log)) = ids.next() else { return Ok(Rewritten::default()) };
    Ok(ids
        .collect::<Result<_, _>>()
        .map_or_else(|_| Rewritten::default(), |waiting| Rewritten { log: Some(log), waiting }))
}

/// Replaces what was looked at.
pub(crate) fn write(common_dir: &Path, known: &Rewritten) -> Result<()> {
    ensure_directory(common_dir)?;
    let text: String = known.log.iter().chain(&known.waiting).map(|id| format!("{id}\n")).collect();
    replace_file_durably(&file(common_dir), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(read(dir.path()).expect("readable"), Rewritten::default());
        let id = |digit: &str| ObjectId::from_hex(digit.repeat(40).as_bytes()).expect("an id");
        let known = Rewritten { log: Some(id("9")), waiting: [id("1"), id("2")].into() };
        write(dir.path(), &known).expect("written");
        assert_eq!(read(dir.path()).expect("readable"), known);
        std::fs::write(file(dir.path()), format!("{}\n?\n", id("9"))).expect("written");
        assert_eq!(read(dir.path()).expect("readable"), Rewritten::default());
    }
}
