//! The file that a command writes its result to. It replaces another result of the same command, and nothing else of the user's.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::output::printable;
use crate::error::{Context as _, Error, Kind, Result};

/// What a command writes.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// What an error says of another file.
    pub(super) otherwise: &'static str,
    /// Returns true if a file that begins so is one.
    pub(super) is_one: fn(&[u8]) -> bool,
    /// How many bytes have to be known for that.
    pub(super) beginning: u64,
}

/// A file that may be written.
pub(super) struct Target {
    path: PathBuf,
    is_forced: bool,
    form: Form,
}

/// Returns the target `path`.
///
/// # Errors
/// If there is a file of another form, unless `is_forced`.
pub(super) fn check(path: &Path, is_forced: bool, form: Form) -> Result<Target> {
    let target = Target { path: path.to_owned(), is_forced, form };
    target.old()?;
    Ok(target)
}

impl Target {
    /// Returns what is known of the file; none if it does not exist.
    ///
    /// # Errors
    /// If it is not to be replaced.
    fn old(&self) -> Result<Option<fs::Metadata>> {
        let name = || printable(self.path.as_os_str().as_encoded_bytes());
        match fs::metadata(&self.path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                if self.path.is_symlink() {
                    let error = Error::user(format!("'{}' is a link that leads nowhere", name()));
                    return Err(error.with_hint("name the file itself, or remove the link"));
                }
                Ok(None)
            }
            Err(cause) => Err(Error::user(format!("cannot write '{}'", name())).with_cause(cause)),
            Ok(metadata) if metadata.is_dir() => Err(Error::user(format!("'{}' is a directory", name()))),
            // A pipe or a device, such as /dev/stdout, loses nothing.
            Ok(metadata) if !metadata.is_file() || self.is_forced || self.is_one() => Ok(Some(metadata)),
            Ok(_) => Err(self.is_other()),
        }
    }

    fn is_other(&self) -> Error {
        let name = printable(self.path.as_os_str().as_encoded_bytes());
        Error::user(format!("'{name}' exists already and {}", self.form.otherwise))
            .with_hint("'--force' replaces it; no checkpoint is taken before")
    }

    /// Returns true if the file is of this form, or empty.
    fn is_one(&self) -> bool {
        let mut beginning = Vec::new();
        let read = File::open(&self.path);
        let read = read.and_then(|file| file.take(self.form.beginning).read_to_end(&mut beginning));
        read.is_ok() && (beginning.is_empty() || (self.form.is_one)(&beginning))
    }

    /// Writes `text`. Returns the path.
    ///
    /// # Errors
    /// As [`Target::write`].
    pub(super) fn write_text(self, text: &str) -> Result<PathBuf> {
        let what = || "cannot write the file".to_owned();
        Ok(self.write(|file| file.write_all(text.as_bytes()).context(Kind::User, what))?.0)
    }

    /// Lets `write` write the content: a reader sees the old file or the new one, never a part. Returns the path.
    ///
    /// # Errors
    /// As [`check`]: since then, a file of the user's may have appeared. That of `write`, and then nothing has changed.
    pub(super) fn write<T>(self, write: impl FnOnce(&mut File) -> Result<T>) -> Result<(PathBuf, T)> {
        let what = || format!("cannot write '{}'", printable(self.path.as_os_str().as_encoded_bytes()));
        let old = self.old()?;
        if old.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            let mut file = fs::OpenOptions::new().write(true).open(&self.path).context(Kind::User, what)?;
            let written = write(&mut file)?;
            return Ok((self.path, written));
        }
        // The file that a link leads to is replaced, and the link stays.
        let place = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
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
        let written = write(file.as_file_mut())?;
        let is_forced = self.is_forced;
        let kept = if old.is_some() || is_forced { file.persist(&place) } else { file.persist_noclobber(&place) };
        match kept {
            Ok(_) => Ok((self.path, written)),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(self.is_other()),
            // Not every file system can do it without replacing.
            Err(error) if old.is_none() && !is_forced && !place.exists() => {
                error.file.persist(&place).map_err(|error| error.error).context(Kind::User, what)?;
                Ok((self.path, written))
            }
            Err(error) => Err(error.error).context(Kind::User, what),
        }
    }
}
