//! `<common-dir>/checkpoint/approved`: the lists of commands in committed files that the user has approved. Each line is the SHA-256
//! of a list.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{directory, ensure_directory, read_text, replace_file_durably};
use crate::error::Result;

/// More than this is in the file only if it is damaged.
const LONGEST: u64 = 1 << 20;

fn file(common_dir: &Path) -> PathBuf {
    directory(common_dir).join("approved")
}

/// Returns the digests of the lists that are approved. A damaged file approves nothing.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn read(common_dir: &Path) -> Result<BTreeSet<String>> {
    let text = read_text(&file(common_dir), LONGEST)?.unwrap_or_default();
    Ok(text.lines().map(str::to_owned).collect())
}

/// Replaces the digests of the lists that are approved.
pub(crate) fn write(common_dir: &Path, digests: &BTreeSet<String>) -> Result<()> {
    ensure_directory(common_dir)?;
    let text: String = digests.iter().flat_map(|digest| [digest, "\n"]).collect();
    replace_file_durably(&file(common_dir), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert!(read(dir.path()).expect("readable").is_empty());
        let digests = BTreeSet::from(["aa".to_owned(), "bb".to_owned()]);
        write(dir.path(), &digests).expect("written");
        assert_eq!(read(dir.path()).expect("readable"), digests);
        std::fs::write(file(dir.path()), b"aa\n\xff").expect("written");
        assert!(read(dir.path()).expect("readable").is_empty(), "a damaged file approves nothing");
    }
}
