//! `<common-dir>/checkpoint/remotes`: where the user lets records be sent. Each line is the SHA-256 of a remote's push URLs, a blank
//! and the name of the remote, encoded as in a ref.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{directory, ensure_directory, lock::Lock, read_text, replace_file_durably};
use crate::{error::Result, model::refname};

/// More than this is in the file only if it is damaged.
const LONGEST: u64 = 1 << 20;
/// A change takes milliseconds.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

fn file(common_dir: &Path) -> PathBuf {
    directory(common_dir).join("remotes")
}

/// Returns the digests of the push URLs that are approved, by the names of remotes. A damaged file approves nothing.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn read(common_dir: &Path) -> Result<BTreeMap<String, String>> {
    let text = read_text(&file(common_dir), LONGEST)?.unwrap_or_default();
    let parse = |line: &str| {
        let (digest, name) = line.split_once(' ')?;
        let name = String::from_utf8(refname::decode_component(name)?.into()).ok()?;
        (digest.len() == 64).then(|| (name, digest.to_owned()))
    };
    Ok(text.lines().filter_map(parse).collect())
}

/// Lets `change` change what is approved, while no other process does.
///
/// # Errors
/// [`Kind::Race`](crate::error::Kind::Race) if another one does for a while.
pub(crate) fn change(common_dir: &Path, change: impl FnOnce(&mut BTreeMap<String, String>)) -> Result<()> {
    let lock = ensure_directory(common_dir)?.join("remotes.lock");
    let _lock = Lock::acquire(&lock, LONGEST_WAIT, &|| Ok(()))?;
    let before = read(common_dir)?;
    let mut approved = before.clone();
    change(&mut approved);
    if approved == before { Ok(()) } else { write(common_dir, &approved) }
}

/// Replaces what is approved.
fn write(common_dir: &Path, approved: &BTreeMap<String, String>) -> Result<()> {
    ensure_directory(common_dir)?;
    let line =
        |(name, digest): (&String, &String)| format!("{digest} {}\n", refname::encode_component(name.as_str().into()));
    let text: String = approved.iter().map(line).collect();
    replace_file_durably(&file(common_dir), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert!(read(dir.path()).expect("readable").is_empty());
        let approved = BTreeMap::from([("a b/\n".to_owned(), "a".repeat(64)), ("origin".to_owned(), "b".repeat(64))]);
        write(dir.path(), &approved).expect("written");
        assert_eq!(read(dir.path()).expect("readable"), approved);
        std::fs::write(file(dir.path()), b"aa origin\n\xff").expect("written");
        assert!(read(dir.path()).expect("readable").is_empty(), "a damaged file approves nothing");
    }
}
