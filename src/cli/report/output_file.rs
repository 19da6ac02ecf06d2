//! The file that a report is written to. It replaces another report, and nothing else of the user's.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::super::output::printable;
use crate::error::{Context as _, Error, Kind, Result};

/// Every report contains this near its beginning: so the next one knows it, and a job that comments pull requests finds its comment.
pub(super) const MARK: &str = "<!-- git-checkpoint report -->";

/// Where [`MARK`] has to be.
const BEGINNING: u64 = 256;

/// A file that may be written.
pub(super) struct Target(PathBuf);

/// Returns the target `path`.
///
/// # Errors
/// If there is a file that is no report, unless `is_forced`.
pub(super) fn check(path: &Path, is_forced: bool) -> Result<Target> {
    let name = || printable(path.as_os_str().as_encoded_bytes());
    match fs::metadata(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
        Err(cause) => return Err(Error::user(format!("cannot write '{}'", name())).with_cause(cause)),
        Ok(metadata) if metadata.is_dir() => return Err(Error::user(format!("'{}' is a directory", name()))),
        // A pipe or a device, such as /dev/stdout, loses nothing.
        Ok(metadata) if !metadata.is_file() => {}
        Ok(_) if is_forced || is_report(path) => {}
        Ok(_) => {
            return Err(Error::user(format!("'{}' exists already and is no report", name()))
                .with_hint("'--force' replaces it; no checkpoint is taken before"));
        }
    }
    Ok(Target(path.to_owned()))
}

fn is_report(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut beginning));
    read.is_ok() && (beginning.is_empty() || bstr::ByteSlice::contains_str(beginning.as_slice(), MARK))
}

impl Target {
    /// Writes `content`: a reader sees the old file or the new one, never a part. Returns the path.
    pub(super) fn write(self, content: &[u8]) -> Result<PathBuf> {
        let Self(path) = self;
        let what = || format!("cannot write '{}'", printable(path.as_os_str().as_encoded_bytes()));
        if fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
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
        let mut file = tempfile::Builder::new()
            .prefix(".git-checkpoint-report-")
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(directory)
            .context(Kind::User, what)?;
        file.write_all(content).context(Kind::User, what)?;
        file.persist(&place).map_err(|error| error.error).context(Kind::User, what)?;
        Ok(path)
    }
}
