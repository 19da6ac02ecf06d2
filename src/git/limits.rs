//! The limits of a checkpoint: names that git can store, and how much untracked content is included.

use std::{os::fd::OwnedFd, path::Path};

use bstr::{BStr, ByteSlice as _};
use rustix::fs::{FileType, Mode as AccessMode, OFlags};

use crate::{
    error::{Context as _, Kind, Result},
    model::manifest::Reason,
};

/// How much untracked content a checkpoint includes.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Bytes of a file.
    pub(crate) max_file_size: u64,
    /// New files of a directory without tracked ones.
    pub(crate) max_untracked_files: u64,
    /// True if the disk has no room for untracked content.
    pub(crate) is_disk_low: bool,
    /// Further ignore patterns.
    pub(crate) exclude: Vec<String>,
}

impl Limits {
    /// Returns why an untracked file with `stat` is left out, and its size.
    pub(crate) fn refusal(&self, stat: &rustix::fs::Stat) -> Option<(Reason, u64)> {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > self.max_file_size {
            return Some((Reason::TooLarge, size));
        }
        (self.is_disk_low && size > 0).then_some((Reason::LowDiskSpace, size))
    }
}

/// Opens the worktree's root as a directory.
pub(crate) fn open_root(root: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(root, flags, AccessMode::empty())
        .context(Kind::User, || format!("cannot read the worktree '{}'", root.display()))
}

/// Returns true if git can store `path`: relative, and no component is empty, `..` or `.git` in any spelling.
pub(crate) fn is_storable_path(path: &BStr) -> bool {
    path.split_str("/").all(|name| is_storable(name.as_bstr(), FileType::RegularFile))
}

/// Returns true if git can store `name` as one component of a path: no `.git` in any spelling.
pub(crate) fn is_storable(name: &BStr, kind: FileType) -> bool {
    let mode = (kind == FileType::Symlink).then_some(gix::validate::path::component::Mode::Symlink);
    let options =
        gix::validate::path::component::Options { protect_windows: false, protect_hfs: true, protect_ntfs: true };
    gix::validate::path::component(name, mode, options).is_ok()
}
