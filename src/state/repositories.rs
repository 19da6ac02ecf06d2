//! The repositories of this machine in which git-checkpoint is enabled: the file `repositories` in the user's state directory,
//! with the common directory of one repository a line.
//!
//! Files in the home directory make agents call us in all of them.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

use bstr::{BStr, ByteSlice as _, ByteVec as _};

use super::{hooks, installed, lock::Lock, temporary};
use crate::error::{Context as _, Kind, Result};

/// Where the list is, below the directory for the state of programs.
pub(crate) const FILE: &str = "git-checkpoint/repositories";

/// Returns true if git's hooks or the files of agents call us in the repository with this common directory.
fn is_enabled(common_dir: &Path) -> bool {
    // What cannot be read may say so.
    let has_hooks = hooks::read(common_dir).map_or(true, |hooks| hooks.is_some());
    has_hooks || installed::read(common_dir).map_or(true, |installed| !installed.is_empty())
}

/// Returns the line for a common directory; none if it would be several.
fn line_of(common_dir: &Path) -> Option<Vec<u8>> {
    let real = std::fs::canonicalize(common_dir).ok()?;
    let mut line = Vec::from_path_lossy(&real).into_owned();
    line.push(b'\n');
    (line.find_byteset(b"\n\r") == Some(line.len() - 1)).then_some(line)
}

fn path_of(line: &[u8]) -> Option<PathBuf> {
    line.as_bstr().to_path().ok().filter(|path| path.is_absolute()).map(Path::to_owned)
}

fn read(file: &Path) -> Result<Vec<u8>> {
    match std::fs::read(file) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(Vec::new()),
        other => other.context(Kind::User, || format!("cannot read '{}'", file.display())),
    }
}

/// Returns the common directories of all repositories in `file`. They may be gone, or not enabled any more.
pub(crate) fn all(file: &Path) -> Result<Vec<PathBuf>> {
    Ok(read(file)?.split_inclusive(|byte| *byte == b'\n').filter_map(|line| path_of(line.trim_end())).collect())
}

/// Returns the common directories of the other repositories in `file` that are there, and enabled.
pub(crate) fn others(file: &Path, common_dir: &Path) -> Result<Vec<PathBuf>> {
    let own = line_of(common_dir);
    let text = read(file)?;
    let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| own.as_deref() != Some(*line));
    Ok(lines.filter_map(|line| path_of(line.trim_end())).filter(|path| is_enabled(path)).collect())
}

/// Makes the list what is true: with the repository of `common_dir` if it is enabled, and without those that are not any more.
///
/// Waits up to `timeout` for others who write it, or until `go_on` is an error.
pub(crate) fn update(file: &Path, common_dir: &Path, timeout: Duration, go_on: &dyn Fn() -> Result<()>) -> Result<()> {
    let directory = file.parent().expect("the list is in a directory");
    let own = line_of(common_dir).filter(|_| is_enabled(common_dir));
    if own.is_none() && !file.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(directory).context(Kind::User, || format!("cannot create '{}'", directory.display()))?;
    let mut lock = Lock::acquire(&file.with_extension("lock"), timeout, go_on)?;
    if !lock.dead().is_empty() {
        temporary::sweep(directory, lock.dead());
        lock.forget_dead();
    }
    let old = read(file)?;
    let new = updated(old.as_bstr(), own.as_deref(), is_enabled);
    if new == old { Ok(()) } else { super::replace_file_durably(file, &new) }
}

/// Returns the list `old` with the line `own`, and of its other lines those of which `is_enabled` says so.
fn updated(old: &BStr, own: Option<&[u8]>, is_enabled: impl Fn(&Path) -> bool) -> Vec<u8> {
    let is_kept = |line: &&[u8]| own == Some(*line) || path_of(line.trim_end()).is_some_and(|it| is_enabled(&it));
    let mut lines: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').filter(is_kept).collect();
    lines.extend(own.filter(|own| !lines.contains(own)));
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::first("", Some("/a\n"), "/a\n")]
    #[case::again("/a\n/on\n", Some("/a\n"), "/a\n/on\n")]
    #[case::another("/on\n", Some("/a\n"), "/on\n/a\n")]
    #[case::gone("/off\n/on\n", None, "/on\n")]
    #[case::damaged("on\n\n\0\n/on\n", Some("/a\n"), "/on\n/a\n")]
    #[case::the_last("/off\n", None, "")]
    fn the_list_has_what_is_enabled(#[case] old: &str, #[case] own: Option<&str>, #[case] expected: &str) {
        assert_eq!(updated(old.into(), own.map(str::as_bytes), |path| path == Path::new("/on")).as_bstr(), expected);
    }
}
