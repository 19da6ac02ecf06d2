//! The file that a command writes its result to. It replaces another result of the same command, and nothing else of the user's.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::output::printable;
use crate::error::{Context as _, Error, Kind, Result};

/// What a command writes.
#[derive(Debug)]
pub(super) struct Form {
    /// What each file of it begins with, a page after its document type: by it, the command knows the file.
    pub(super) mark: &'static str,
    /// What it is called.
    pub(super) word: &'static str,
}

/// Where [`Form::mark`] has to be.
const BEGINNING: u64 = 256;

/// A file that may be written.
pub(super) struct Target {
    path: PathBuf,
    form: &'static Form,
    is_forced: bool,
}

/// Returns the target `path`.
///
/// # Errors
/// If there is a file that is none of this `form`, unless `is_forced`.
pub(super) fn check(path: &Path, form: &'static Form, is_forced: bool) -> Result<Target> {
    old(path, form, is_forced)?;
    Ok(Target { path: path.to_owned(), form, is_forced })
}

/// Returns what is known of the file at `path`; none if it does not exist.
///
/// # Errors
/// If it is not to be replaced.
fn old(path: &Path, form: &Form, is_forced: bool) -> Result<Option<fs::Metadata>> {
    let name = || printable(path.as_os_str().as_encoded_bytes());
    match fs::metadata(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            if path.is_symlink() {
                let error = Error::user(format!("'{}' is a link that leads nowhere", name()));
                return Err(error.with_hint("name the file itself, or remove the link"));
            }
            Ok(None)
        }
        Err(cause) => Err(Error::user(format!("cannot write '{}'", name())).with_cause(cause)),
        Ok(metadata) if metadata.is_dir() => Err(Error::user(format!("'{}' is a directory", name()))),
        // A pipe or a device, such as /dev/stdout, loses nothing.
        Ok(metadata) if !metadata.is_file() || is_forced || is_of(form, path) => Ok(Some(metadata)),
        Ok(_) => Err(is_other(path, form)),
    }
}

fn is_other(path: &Path, form: &Form) -> Error {
    let name = printable(path.as_os_str().as_encoded_bytes());
    Error::user(format!("'{name}' exists already and is no {}", form.word))
        .with_hint("'--force' replaces it; no checkpoint is taken before")
}

fn is_of(form: &Form, path: &Path) -> bool {
    let mut beginning = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut beginning));
    read.is_ok()
        && (beginning.is_empty()
            || beginning.starts_with(form.mark.as_bytes())
            || beginning.starts_with(format!("<!DOCTYPE html>{}", form.mark).as_bytes()))
}

impl Target {
    /// Writes `content`: a reader sees the old file or the new one, never a part. Returns the path.
    ///
    /// # Errors
    /// As [`check`]: since then, a file of the user's may have appeared.
    pub(super) fn write(self, content: &[u8]) -> Result<PathBuf> {
        let Self { path, form, is_forced } = self;
        let what = || format!("cannot write '{}'", printable(path.as_os_str().as_encoded_bytes()));
        let old = old(&path, form, is_forced)?;
        if old.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            fs::OpenOptions::new()
                .write(true)
                .open(&path)
                .and_then(|mut file| file.write_all(content))
                .context(Kind::User, what)?;
            return Ok(path);
        }
        // The file that a link leads to is replaced, and the link stays.
        let place = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let directory = place.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let permissions = |mode| fs::Permissions::from_mode(mode);
        // Who could not read the old file cannot read the new one.
        let mode = old.as_ref().map(|metadata| metadata.permissions().mode() & 0o777);
        let mut file = tempfile::Builder::new()
            .prefix(".git-checkpoint-")
            .permissions(permissions(mode.unwrap_or(0o666)))
            .tempfile_in(directory)
            .context(Kind::User, what)?;
        if let Some(mode) = mode {
            file.as_file().set_permissions(permissions(mode)).context(Kind::User, what)?;
        }
        file.write_all(content).context(Kind::User, what)?;
        let kept = if old.is_some() || is_forced { file.persist(&place) } else { file.persist_noclobber(&place) };
        match kept {
            Ok(_) => Ok(path),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(is_other(&path, form)),
            // Not every file system can do it without replacing.
            Err(error) if old.is_none() && !is_forced && !place.exists() => {
                error.file.persist(&place).map_err(|error| error.error).context(Kind::User, what)?;
                Ok(path)
            }
            Err(error) => Err(error.error).context(Kind::User, what),
        }
    }
}
