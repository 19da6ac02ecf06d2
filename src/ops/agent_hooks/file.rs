//! One file of an agent: resolves links to it, reads it, and replaces it without losing what is in it.

use std::{
    fs::{self, Permissions},
    io::{ErrorKind, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use crate::{
    error::{Context as _, Error, Kind, Result},
    state::{failpoint, temporary},
};

/// A larger file is no settings file.
const LONGEST: u64 = 16 << 20;

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;

/// The prefix of the names of temporary files.
const TEMPORARY: &str = ".git-checkpoint-";

/// Follows the symbolic links that `path` ends with: many people keep such files elsewhere and link to them.
///
/// # Errors
/// If `inside` is given and the file is not below it, or is in its git directory.
pub(super) fn real(path: &Path, inside: Option<&Path>) -> Result<PathBuf> {
    let mut real = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&real) else {
            if let Some(root) = inside {
                check_inside(path, &real, root)?;
            }
            return Ok(real);
        };
        real = real.parent().map(|parent| parent.join(&target)).unwrap_or(target);
    }
    Err(Error::user(format!("'{}' is a link that leads to itself", path.display())))
}

fn check_inside(path: &Path, real: &Path, root: &Path) -> Result<()> {
    let what = || format!("cannot tell where '{}' is", path.display());
    let root = fs::canonicalize(root).context(Kind::User, what)?;
    // A path that does not exist yet will be created below its first existing parent.
    let there = real.ancestors().skip(1).find_map(|parent| Some((parent, fs::canonicalize(parent).ok()?)));
    let is_plain =
        |path: &Path| path.components().all(|part| ![".git", ".."].map(AsRef::as_ref).contains(&part.as_os_str()));
    if let Some((parent, there)) = there
        && there.strip_prefix(&root).is_ok_and(is_plain)
        && real.strip_prefix(parent).is_ok_and(is_plain)
    {
        return Ok(());
    }
    Err(Error::user(format!("'{}' leads out of the worktree", path.display()))
        .with_hint("remove the symbolic link, or install for the user with '--user'"))
}

/// Returns the text of the file; none if there is no file.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    let Some(bytes) = read_bytes(path)? else { return Ok(None) };
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| Error::user(format!("'{}' is not UTF-8, and is left as it is", path.display())))
}

/// Returns the bytes of the file; none if there is no file.
pub(super) fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>> {
    let what = || format!("cannot read '{}'", path.display());
    let metadata = match fs::metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        other => other.context(Kind::User, what)?,
    };
    if !metadata.is_file() {
        return Err(Error::user(format!("'{}' is not a file", path.display())));
    }
    if metadata.len() > LONGEST {
        return Err(Error::user(format!("'{}' is too large for a file of settings", path.display())));
    }
    fs::read(path).map(Some).context(Kind::User, what)
}

/// Replaces the content `old` of the file with `text` atomically. Its mode and owner stay.
pub(super) fn write(path: &Path, old: Option<&[u8]>, text: &[u8], is_executable: bool) -> Result<()> {
    let what = || format!("cannot write '{}'", path.display());
    let directory = path.parent().expect("a file is in a directory");
    fs::create_dir_all(directory).context(Kind::User, || format!("cannot create '{}'", directory.display()))?;
    let file = prepare(path, text, is_executable)?;
    if read_bytes(path)?.as_deref() != old {
        return Err(changed(path));
    }
    failpoint::hit("agent-hooks:before-rename");
    file.persist(path).context(Kind::User, what)?;
    Ok(())
}

/// Creates the temporary file with the new content.
fn prepare(path: &Path, text: &[u8], is_executable: bool) -> Result<tempfile::NamedTempFile> {
    let what = || format!("cannot write '{}'", path.display());
    refuse_read_only(path)?;
    let mut file = tempfile::Builder::new()
        .prefix(&temporary::prefix(TEMPORARY))
        .permissions(Permissions::from_mode(if is_executable { 0o777 } else { 0o666 }))
        .tempfile_in(path.parent().expect("a file is in a directory"))
        .context(Kind::User, what)?;
    file.write_all(text).context(Kind::User, what)?;
    if let Ok(metadata) = fs::metadata(path) {
        let own = file.as_file().metadata().context(Kind::User, what)?;
        if (own.uid(), own.gid()) != (metadata.uid(), metadata.gid()) {
            // A user who may not change the owner owns the file; only the group may differ.
            drop(std::os::unix::fs::fchown(file.as_file(), Some(metadata.uid()), Some(metadata.gid())));
        }
        let mode = metadata.permissions().mode() | if is_executable { 0o100 } else { 0 };
        file.as_file().set_permissions(Permissions::from_mode(mode)).context(Kind::User, what)?;
    }
    file.as_file().sync_all().context(Kind::User, what)?;
    Ok(file)
}

/// Refuses a read-only file: its owner wants it to stay as it is.
pub(super) fn refuse_read_only(path: &Path) -> Result<()> {
    if fs::metadata(path).is_ok_and(|metadata| metadata.permissions().readonly()) {
        return Err(Error::user(format!("'{}' is read-only", path.display()))
            .with_hint(format!("allow writing: 'chmod u+w {}'", path.display())));
    }
    Ok(())
}

/// Renames the foreign script at `path` to `before` and puts the script `text` in its place. At every moment there is a
/// script at `path`.
pub(super) fn put_before(path: &Path, before: &Path, text: &str) -> Result<()> {
    let what = || format!("cannot rename '{}' as '{}'", path.display(), before.display());
    let file = prepare(path, text.as_bytes(), true)?;
    // Some file systems have no hard links.
    match fs::hard_link(path, before) {
        _ if is_same(path, before) => Ok(()),
        Err(error) if error.kind() != ErrorKind::AlreadyExists => fs::rename(path, before),
        other => other,
    }
    .context(Kind::User, what)?;
    failpoint::hit("agent-hooks:before-script");
    file.persist(path).context(Kind::User, || format!("cannot write '{}'", path.display()))?;
    Ok(())
}

/// Removes the file, whose content is `old`, and up to `made` directories above it that are empty then.
pub(super) fn remove(path: &Path, old: &[u8], made: usize) -> Result<()> {
    refuse_read_only(path)?;
    if read_bytes(path)?.as_deref() != Some(old) {
        return Err(changed(path));
    }
    fs::remove_file(path).context(Kind::User, || format!("cannot remove '{}'", path.display()))?;
    remove_directories(path, made);
    Ok(())
}

/// Removes up to `made` directories above `path` that are empty.
pub(super) fn remove_directories(path: &Path, made: usize) {
    for parent in path.ancestors().skip(1).take(made) {
        match fs::remove_dir(parent) {
            Err(error) if error.kind() != ErrorKind::NotFound => return,
            _ => {}
        }
    }
}

fn changed(path: &Path) -> Error {
    Error::race(format!("'{}' has changed meanwhile", path.display())).with_hint("run it again")
}

/// Returns true if `path` exists, be it a dangling link.
pub(super) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Returns true if its owner may run it.
pub(super) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0)
}

/// Removes temporary files that killed processes left beside `path`.
pub(super) fn sweep(path: &Path, dead: &[String]) {
    if let Some(directory) = path.parent() {
        temporary::sweep(directory, dead);
    }
}

/// Renames a file.
pub(super) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).context(Kind::User, || format!("cannot rename '{}' as '{}'", from.display(), to.display()))
}

/// Removes one of two names of a file.
pub(super) fn forget(path: &Path) -> Result<()> {
    fs::remove_file(path).context(Kind::User, || format!("cannot remove '{}'", path.display()))
}

/// Returns true if both are hard links to the same file.
pub(super) fn is_same(one: &Path, two: &Path) -> bool {
    let place = |path| fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
    place(one).is_some() && place(one) == place(two)
}
