//! The files of git's hooks: what they contain, how our script replaces them, and how they come back.
//!
//! A replaced file is renamed, so it keeps its bytes and its mode.

use std::{
    fs::{self, Permissions},
    io::{ErrorKind, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use bstr::ByteSlice as _;

use super::hooks::Hook;
use crate::{
    error::{Context as _, Error, Kind, Result},
    state::{failpoint, temporary},
};

/// All of our scripts contain this line.
pub(crate) const MARK: &[u8] = b"# Installed by 'git checkpoint enable' and removed by 'git checkpoint disable'.";

/// What the name of a hook that was set aside ends with.
const BEFORE: &str = ".before-checkpoint";

/// How the names of files in the making begin.
const TEMPORARY: &str = ".checkpoint-hook-";

/// What the file of a hook is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    /// Our script, possibly edited since.
    Ours {
        text: Vec<u8>,
        is_executable: bool,
    },
    /// A foreign hook; the text is empty if it cannot be read.
    Foreign {
        text: Vec<u8>,
    },
}

/// Looks at the file `path` of a hook.
pub(crate) fn look(path: &Path) -> Result<Found> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Found::Nothing);
        }
        Err(error) => return Err(error).context(Kind::User, || format!("cannot look at '{}'", path.display())),
    };
    if metadata.is_dir() {
        return Err(Error::user(format!("'{}' is a directory, not a hook", path.display())));
    }
    // A file that only its owner may run, or a link to nowhere, is a hook all the same. A pipe would never end.
    let leads_to_file = || fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let is_readable = metadata.is_file() || metadata.is_symlink() && leads_to_file();
    let text = match if is_readable { fs::read(path) } else { Ok(Vec::new()) } {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Vec::new(),
        text => text.context(Kind::User, || format!("cannot read '{}'", path.display()))?,
    };
    let is_ours = metadata.is_file() && text.lines().any(|line| line == MARK);
    Ok(if is_ours {
        Found::Ours { text, is_executable: metadata.permissions().mode() & 0o111 != 0 }
    } else {
        Found::Foreign { text }
    })
}

/// Returns where the hook `path` is set aside.
pub(crate) fn before(path: &Path) -> PathBuf {
    with_suffix(path, BEFORE)
}

/// Returns true if something is at `path`, be it a link to nowhere.
pub(crate) fn is_there(path: &Path) -> bool {
    !matches!(fs::symlink_metadata(path), Err(error) if error.kind() == ErrorKind::NotFound)
}

/// Returns our script under another name in the directory of `path`, where the hook at `path` may call it: other tools
/// rename our script when they install their own, as we do with theirs.
pub(crate) fn moved_script(path: &Path, hook: Hook) -> Option<PathBuf> {
    let start = format!("{}.", hook.name());
    let files = fs::read_dir(path.parent()?).ok()?.flatten().map(|entry| entry.path());
    let is_candidate = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&start) && !name.contains(BEFORE) && !name.ends_with(".sample")
    };
    files.filter(is_candidate).find(|file| matches!(look(file), Ok(Found::Ours { .. })))
}

/// Installs the script `text` at `path`; an existing hook is renamed first. At every moment there is a hook.
///
/// Returns the new name of an even older hook, which had been renamed before.
pub(crate) fn install(path: &Path, text: &[u8]) -> Result<Option<PathBuf>> {
    let what = || format!("cannot write the hook '{}'", path.display());
    let directory = path.parent().expect("a hook is in a directory");
    fs::create_dir_all(directory).context(Kind::User, || format!("cannot create '{}'", directory.display()))?;
    let mut file = tempfile::Builder::new()
        .prefix(&temporary::prefix(TEMPORARY))
        .permissions(Permissions::from_mode(0o777))
        .tempfile_in(directory)
        .context(Kind::User, what)?;
    file.write_all(text).context(Kind::User, what)?;
    failpoint::hit("hooks:before-aside");
    let moved = if matches!(look(path)?, Found::Foreign { .. }) { set_aside(path)? } else { None };
    failpoint::hit("hooks:before-install");
    file.persist(path).context(Kind::User, what)?;
    failpoint::hit("hooks:after-install");
    Ok(moved)
}

fn set_aside(path: &Path) -> Result<Option<PathBuf>> {
    let before = before(path);
    let what = || format!("cannot set '{}' aside as '{}'", path.display(), before.display());
    let mut moved = None;
    if is_there(&before) {
        if is_same(path, &before).context(Kind::User, what)? {
            return Ok(None);
        }
        let mut free = with_suffix(&before, ".1");
        for number in 2.. {
            if !is_there(&free) {
                break;
            }
            free = with_suffix(&before, &format!(".{number}"));
        }
        fs::rename(&before, &free).context(Kind::User, what)?;
        moved = Some(free);
    }
    // A second name, then the new file in place of the first one. Not every file system has second names.
    match fs::hard_link(path, &before) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => fs::rename(path, &before),
        other => other,
    }
    .context(Kind::User, what)?;
    Ok(moved)
}

/// Removes the script at `path`, and renames the earlier hook back; returns whether there was anything to do.
pub(crate) fn put_back(path: &Path, before: &Path) -> Result<bool> {
    let what = || format!("cannot put back the hook '{}'", path.display());
    if is_there(before) {
        return fs::rename(before, path).context(Kind::User, what).map(|()| true);
    }
    remove(path).map(|()| false)
}

/// Returns the content of the foreign file `path`; none if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error).context(Kind::User, || format!("cannot read '{}'", path.display())),
    }
}

/// Replaces the file `path` by `text`, or makes it, executable if asked for; an existing one keeps its mode.
pub(crate) fn write(path: &Path, text: &[u8], is_executable: bool) -> Result<()> {
    let what = || format!("cannot write '{}'", path.display());
    let directory = path.parent().expect("a file is in a directory");
    fs::create_dir_all(directory).context(Kind::User, what)?;
    let mode = Permissions::from_mode(if is_executable { 0o777 } else { 0o666 });
    let mut file = tempfile::Builder::new()
        .prefix(&temporary::prefix(TEMPORARY))
        .permissions(mode)
        .tempfile_in(directory)
        .context(Kind::User, what)?;
    file.write_all(text).context(Kind::User, what)?;
    if let Ok(metadata) = path.metadata() {
        file.as_file().set_permissions(metadata.permissions()).context(Kind::User, what)?;
    }
    failpoint::hit("hooks:before-write");
    file.persist(path).context(Kind::User, what)?;
    Ok(())
}

/// Removes the file `path`, if it exists.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).context(Kind::User, || format!("cannot remove '{}'", path.display()))
        }
        _ => Ok(()),
    }
}

/// Returns true if both are names of one file.
pub(crate) fn is_same(one: &Path, two: &Path) -> std::io::Result<bool> {
    let (one, two) = (fs::symlink_metadata(one)?, fs::symlink_metadata(two)?);
    Ok((one.dev(), one.ino()) == (two.dev(), two.ino()))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
