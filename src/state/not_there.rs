//! `<common-dir>/checkpoint/not-there`: the records that commits name, and that no remote had when one was last asked. Each line is
//! the id of one.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{directory, ensure_directory, read_text, replace_file_durably};
use crate::{error::Result, model::record::RecordId};

/// More than this is in the file only if it is damaged.
const LONGEST: u64 = 1 << 20;

fn file(common_dir: &Path) -> PathBuf {
    directory(common_dir).join("not-there")
}

/// Returns the ids. A damaged file has none.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn read(common_dir: &Path) -> Result<BTreeSet<RecordId>> {
    let text = read_text(&file(common_dir), LONGEST)?.unwrap_or_default();
    Ok(text.lines().filter_map(RecordId::parse).collect())
}

/// Replaces the ids.
pub(crate) fn write(common_dir: &Path, ids: &BTreeSet<RecordId>) -> Result<()> {
    if *ids == read(common_dir).unwrap_or_default() {
        return Ok(());
    }
    ensure_directory(common_dir)?;
    let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
    replace_file_durably(&file(common_dir), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert!(read(dir.path()).expect("readable").is_empty());
        let ids = ["0123456789abcdef", "1123456789abcdef"].map(|id| RecordId::parse(id).expect("an id")).into();
        write(dir.path(), &ids).expect("written");
        assert_eq!(read(dir.path()).expect("readable"), ids);
        std::fs::write(file(dir.path()), b"0123456789abcdef\n?\n").expect("written");
        assert_eq!(read(dir.path()).expect("readable").len(), 1);
    }
}
