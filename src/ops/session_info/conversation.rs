//! The files in which agents write conversations down.

use std::{
    fs::{File, Metadata},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::OFlags;

/// Opens the file `path` of a conversation; none if it cannot be read, or is no file. Neither the writer of a named pipe is waited for, nor
/// does a link lead elsewhere.
pub(crate) fn open_conversation(path: &Path) -> Option<(File, Metadata)> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).ok()?;
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let metadata = file.metadata().ok().filter(Metadata::is_file)?;
    Some((file, metadata))
}
