//! The replacement of one settings file: under a lock, whole or not at all.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use super::{Layer, toml_file};
use crate::error::{Context as _, Kind, Result};

pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// How the names of files in the making begin; some letters and digits follow.
const TEMPORARY: &str = ".git-checkpoint-config-";
const LETTERS: usize = 6;

/// Replaces the text of the file of `layer` at `path` with the result of `edit`; `None` leaves the file alone. Returns
/// whether it was replaced. `edit` gets an empty text if there is no file.
pub(super) fn replace(layer: Layer, path: &Path, edit: impl FnOnce(&str) -> Result<Option<String>>) -> Result<bool> {
    rewrite(layer, path, |_, raw| {
        let old = raw.strip_prefix(BYTE_ORDER_MARK).unwrap_or(raw);
        let Some(mut new) = edit(old)? else { return Ok(None) };
        if old.find('\n').is_some_and(|at| old[..at].ends_with('\r')) {
            new = new.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        if old.len() < raw.len() {
            new.insert(0, BYTE_ORDER_MARK);
        }
        Ok(Some(new))
    })
}

/// The same to the byte: `edit` gets all of the text and the path of the file itself, and returns all of it.
pub(super) fn rewrite(
    layer: Layer,
    path: &Path,
    edit: impl FnOnce(&Path, &str) -> Result<Option<String>>,
) -> Result<bool> {
    let follow = layer != Layer::Project;
    // Replaces the target of a symbolic link, not the link: many people link their dotfiles.
    let path: PathBuf = if follow { path.canonicalize().unwrap_or_else(|_| path.to_owned()) } else { path.to_owned() };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(directory).context(Kind::User, || format!("cannot create '{}'", directory.display()))?;
    let lock = lock(directory, FlockOperation::LockExclusive);
    if lock.is_some() {
        for path in left_in(directory) {
            // What cannot be removed is in the way of nothing.
            drop(std::fs::remove_file(path));
        }
    }
    let raw = toml_file::read(&path, follow)?.unwrap_or_default();
    let Some(new) = edit(&path, &raw)? else { return Ok(false) };
    // What cannot be read back is not written.
    toml_file::parse(&new, &path.to_string_lossy())?;
    write(directory, &path, &new).context(Kind::User, || format!("cannot write '{}'", path.display()))?;
    Ok(true)
}

/// Copies `bytes`, which are those of the file `path`, to a new file in `directory`, or beside it, and returns that one's
/// path.
pub(crate) fn back_up(path: &Path, bytes: &[u8], directory: Option<&Path>) -> Result<PathBuf> {
    let what = || format!("cannot make a backup of '{}'", path.display());
    let permissions = path.metadata().context(Kind::User, what)?.permissions();
    let copy = match directory {
        Some(directory) => directory.join(path.file_name().unwrap_or_default()),
        None => path.to_owned(),
    };
    if let Some(directory) = directory {
        std::fs::create_dir_all(directory).context(Kind::User, what)?;
    }
    for n in 0..1000 {
        let mut name = copy.as_os_str().to_owned();
        name.push(if n == 0 { ".bak".to_owned() } else { format!(".bak.{n}") });
        let backup = PathBuf::from(name);
        // Never through a link, and never over another backup.
        match File::options().write(true).create_new(true).open(&backup) {
            Ok(mut file) => {
                let written = file
                    .set_permissions(permissions)
                    .and_then(|()| file.write_all(bytes))
                    .and_then(|()| file.sync_all());
                return written.context(Kind::User, what).map(|()| backup);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).context(Kind::User, what),
        }
    }
    Err(crate::error::Error::user(what()).with_hint("there are too many already"))
}

/// Two changes at once would lose one of them. The lock is on the directory, so that nothing is left behind,
/// and is released with the descriptor. Network file systems may refuse it; the write is whole all the same.
fn lock(directory: &Path, operation: FlockOperation) -> Option<File> {
    let file = File::open(directory).ok()?;
    rustix::fs::flock(&file, operation).ok()?;
    Some(file)
}

/// Returns the files that killed processes left in `directory`, and removes them if `removes`; none while another
/// process changes a file there.
pub(crate) fn leftovers(directory: &Path, removes: bool) -> Vec<(PathBuf, std::io::Result<()>)> {
    let Some(_lock) = lock(directory, FlockOperation::NonBlockingLockExclusive) else { return Vec::new() };
    let remove = |path: &PathBuf| if removes { std::fs::remove_file(path) } else { Ok(()) };
    left_in(directory).into_iter().map(|path| (path.clone(), remove(&path))).collect()
}

/// While the lock of `directory` is held, none of these is in the making.
fn left_in(directory: &Path) -> Vec<PathBuf> {
    let is_ours = |name: &str| {
        let rest = name.strip_prefix(TEMPORARY);
        rest.is_some_and(|rest| rest.len() == LETTERS && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        entry.file_type().is_ok_and(|kind| kind.is_file()) && entry.file_name().to_str().is_some_and(is_ours)
    });
    ours.map(|entry| entry.path()).collect()
}

fn write(directory: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    let mut file =
        tempfile::Builder::new().prefix(TEMPORARY).rand_bytes(LETTERS).permissions(mode).tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    if let Ok(metadata) = path.metadata() {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
