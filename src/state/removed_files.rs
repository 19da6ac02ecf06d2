//! Deletes removed worktrees with all their files: never through a mount point, and never under a process that works there.

use std::{
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::{
    failpoint, process_places, read_text,
    removed::{DROPPED, LONGEST, RECORD, Removed, folder, is_id},
};
use crate::error::{Context as _, Error, Kind, Result};

/// Why files must not be deleted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    /// Another file system is mounted there.
    Mount,
    /// The process with this id works there.
    Process(u32),
}

/// How a deletion has ended.
#[derive(Debug)]
pub(crate) enum Deletion {
    /// All is deleted.
    Whole,
    /// A part is deleted: it cannot be restored any more, and the next prune goes on.
    Part(Error),
    /// Nothing is deleted.
    Hindered(Hindrance),
}

impl Removed {
    /// Returns why it must not be deleted now; none if it may be.
    pub(crate) fn hindrance(&self) -> Option<Hindrance> {
        [Some(&*self.folder), self.tree_outside()].into_iter().flatten().find_map(hindrance)
    }

    /// Returns where its root is kept, if not in the folder.
    pub(crate) fn tree_outside(&self) -> Option<&Path> {
        self.tree.as_deref().filter(|_| !self.is_tree_in_folder())
    }

    /// Deletes it with all its files, or goes on with that.
    ///
    /// # Errors
    /// If nothing is deleted.
    pub(crate) fn delete(&self) -> Result<Deletion> {
        if let Some(hindrance) = self.hindrance() {
            return Ok(Deletion::Hindered(hindrance));
        }
        if self.folder.file_name().is_some_and(|name| name.as_bytes().starts_with(DROPPED.as_bytes())) {
            return Ok(self.delete_files().map_or_else(Deletion::Part, |()| Deletion::Whole));
        }
        let folder = self.folder.with_file_name(format!("{DROPPED}{}", self.id));
        let dropped = Self { folder, tree: self.tree_outside().map(Path::to_owned), ..self.clone() };
        fs::rename(&self.folder, &dropped.folder)
            .context(Kind::Internal, || format!("cannot delete '{}'", self.folder.display()))?;
        failpoint::hit("worktree:after-dropped");
        let deletion = dropped.delete()?;
        // A process has come meanwhile.
        if matches!(deletion, Deletion::Hindered(_))
            && let Err(error) = fs::rename(&dropped.folder, &self.folder)
        {
            tracing::warn!(%error, id = %self.id, "a removed worktree that is not deleted cannot be restored");
        }
        Ok(deletion)
    }

    /// Deletes its files, and the folder. The record goes last: it says where the root is, as long as that is there.
    fn delete_files(&self) -> Result<()> {
        let what = || format!("cannot delete '{}'", self.folder.display());
        if let Some(tree) = self.tree_outside() {
            remove_all(tree).context(Kind::Internal, what)?;
            // The next prune, if this one does not come to the end, could not see whether the root is gone, or not mounted.
            drop(Self { tree: None, ..self.clone() }.write());
            failpoint::hit("worktree:after-root-deleted");
        }
        for entry in fs::read_dir(&self.folder).context(Kind::Internal, what)? {
            let entry = entry.context(Kind::Internal, what)?;
            if entry.file_name() != RECORD && entry.file_type().context(Kind::Internal, what)?.is_dir() {
                remove_all(&entry.path()).context(Kind::Internal, what)?;
            }
        }
        remove_all(&self.folder).context(Kind::Internal, what)
    }
}

/// Returns the removed worktrees whose deletion has begun; the folder of one whose record is damaged or missing, so that it
/// does not say where all of the files are.
pub(crate) fn begun(common_dir: &Path) -> Vec<std::result::Result<Removed, PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder(common_dir)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix(DROPPED)).filter(|id| is_id(id));
        let Some(id) = id.map(str::to_owned) else { continue };
        let (folder, record) = (entry.path(), entry.path().join(RECORD));
        // It is empty if a command was killed at the end.
        if has_others(&record) {
            let text = read_text(&record, LONGEST).ok().flatten();
            all.push(text.and_then(|text| Removed::parse(id, folder.clone(), &text)).ok_or(folder));
        }
    }
    all
}

/// Returns true if the directory above `path` has something in it: a mount point has nothing while its file system is not there.
pub(crate) fn has_others(path: &Path) -> bool {
    path.parent().and_then(|parent| fs::read_dir(parent).ok()).is_some_and(|mut entries| entries.next().is_some())
}

/// Returns why the directory `path` must not be deleted now; none if it may be.
fn hindrance(path: &Path) -> Option<Hindrance> {
    // The kernel knows canonical paths alone.
    let path = fs::canonicalize(path).ok()?;
    if process_places::has_mount(&path) {
        return Some(Hindrance::Mount);
    }
    process_places::one_in(&path).map(|process| Hindrance::Process(process.pid))
}

/// Refuses if a process works in the directory `path`, or a file system is mounted there.
///
/// # Errors
/// If so.
pub(super) fn refuse_used(path: &Path) -> io::Result<()> {
    let why = match hindrance(path) {
        None => return Ok(()),
        Some(Hindrance::Mount) => "a file system is mounted there".to_owned(),
        Some(Hindrance::Process(pid)) => format!("the process {pid} works there"),
    };
    Err(io::Error::new(io::ErrorKind::ResourceBusy, why))
}

/// Deletes the directory `path` if it is there, with read-only directories in it. No symbolic link is followed.
///
/// # Errors
/// As [`refuse_used`]; if a part of it stays.
pub(super) fn remove_all(path: &Path) -> io::Result<()> {
    refuse_used(path)?;
    let remove = || match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    match remove() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(path);
            remove()
        }
        removed => removed,
    }
}

/// Lets the user change the directory `path` and all below it, as far as they are the user's.
pub(super) fn make_writable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    if !metadata.is_dir() {
        return;
    }
    drop(fs::set_permissions(path, fs::Permissions::from_mode(metadata.permissions().mode() | 0o700)));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        make_writable(&entry.path());
    }
}
