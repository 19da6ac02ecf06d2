//! `<common-dir>/checkpoint/exchanges/<remote>`: what was last sent to a remote, and why the last exchange in the background has failed.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use bstr::ByteSlice as _;
use serde::{Deserialize, Serialize};

use super::{directory, ensure_directory, read_text, replace_file_durably};
use crate::{
    error::{Context as _, Kind, Result},
    model::refname::{decode_component, encode_component},
};

/// More than this is in the file only if it is damaged.
const LONGEST: u64 = 1 << 20;

/// What is known of a remote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Exchange {
    /// The digest of the URLs that something was sent to.
    pub(crate) urls: String,
    /// The ids of our own logs when they were sent, by the names of their refs.
    pub(crate) sent: BTreeMap<String, String>,
    /// Why the last exchange in the background has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<Failure>,
}

/// An exchange that has failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// When, in Unix seconds.
    pub(crate) time: i64,
    /// Why.
    pub(crate) message: String,
}

fn folder(common_dir: &Path) -> PathBuf {
    directory(common_dir).join("exchanges")
}

fn file(common_dir: &Path, remote: &str) -> PathBuf {
    folder(common_dir).join(encode_component(remote.into()))
}

/// Returns what is known of `remote`. A damaged file says nothing.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn read(common_dir: &Path, remote: &str) -> Result<Exchange> {
    let text = read_text(&file(common_dir, remote), LONGEST)?.unwrap_or_default();
    Ok(toml::from_str(&text).unwrap_or_default())
}

/// Replaces what is known of `remote`.
pub(crate) fn write(common_dir: &Path, remote: &str, exchange: &Exchange) -> Result<()> {
    ensure_directory(common_dir)?;
    let what = || format!("cannot note what was exchanged with '{remote}'");
    fs::create_dir_all(folder(common_dir)).context(Kind::Internal, what)?;
    let text = toml::to_string(exchange).context(Kind::Internal, what)?;
    replace_file_durably(&file(common_dir, remote), text.as_bytes())
}

/// Forgets what is known of `remote`.
pub(crate) fn forget(common_dir: &Path, remote: &str) -> Result<()> {
    match fs::remove_file(file(common_dir, remote)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).context(Kind::Internal, || format!("cannot forget what was exchanged with '{remote}'"))
        }
        _ => Ok(()),
    }
}

/// Returns the failures by the names of remotes.
pub(crate) fn failures(common_dir: &Path) -> BTreeMap<String, Failure> {
    let files = fs::read_dir(folder(common_dir)).into_iter().flatten().flatten();
    let failure = |file: fs::DirEntry| {
        let name = decode_component(file.file_name().to_str()?)?.to_str().ok()?.to_owned();
        let failure = read(common_dir, &name).ok()?.failure?;
        Some((name, failure))
    };
    files.filter_map(failure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::refname::HISTORY;

    #[test]
    fn what_is_written_is_read_again() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(read(dir.path(), "a/b").expect("readable"), Exchange::default());
        let failure = Failure { time: 5, message: "line one\nline \"two\" \u{1b}".into() };
        let sent = [(HISTORY.to_owned(), "1".repeat(40))].into();
        let exchange = Exchange { urls: "a".repeat(64), sent, failure: Some(failure.clone()) };
        write(dir.path(), "a/b", &exchange).expect("written");
        assert_eq!(read(dir.path(), "a/b").expect("readable"), exchange);
        assert_eq!(failures(dir.path()), [("a/b".to_owned(), failure)].into());
        fs::write(file(dir.path(), "a/b"), "?").expect("written");
        assert_eq!(read(dir.path(), "a/b").expect("readable"), Exchange::default());
        forget(dir.path(), "a/b").expect("removed");
        forget(dir.path(), "a/b").expect("nothing to do");
        assert!(failures(dir.path()).is_empty());
    }
}
