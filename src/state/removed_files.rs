//! Deletes removed worktrees with all their files: never through a mount point, and never under a process that works there.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    failpoint, process_places, read_text,
    removed::{DROPPED, LONGEST, RECORD, Removed, folder},
};
use crate::error::{Context as _, Kind, Result};

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
    /// A part is deleted: it cannot be restored any more, and the next sweep goes on.
    Part(io::Error),
    /// Nothing is deleted.
    Hindered(Hindrance),
}

/// What a sweep has left of a worktree whose deletion had begun.
#[derive(Debug)]
pub(crate) struct LeftOver {
    /// Where the root of the worktree was; the folder if the record does not say.
    pub(crate) path: PathBuf,
    /// Why.
    pub(crate) why: WhyLeftOver,
}

/// Why a sweep has left something.
#[derive(Debug)]
pub(crate) enum WhyLeftOver {
    /// It must not be deleted now.
    Hindered(Hindrance),
    /// The file system of the files is not there.
    NotMounted,
    /// The record is damaged: where the files are is not known.
    NoRecord,
    /// The system does not delete it.
    Failed(io::Error),
}

impl Removed {
    /// Returns why it must not be deleted now; none if it may be.
    pub(crate) fn hindrance(&self) -> Option<Hindrance> {
        hindrance_in(&self.folder, self.tree_outside())
    }

    /// Returns where its root is kept, if not in the folder.
    fn tree_outside(&self) -> Option<&Path> {
        self.tree.as_deref().filter(|_| !self.is_tree_in_folder())
    }

    /// Deletes it with all its files.
    ///
    /// # Errors
    /// If nothing is deleted.
    pub(crate) fn delete(&self) -> Result<Deletion> {
        if let Some(hindrance) = self.hindrance() {
            return Ok(Deletion::Hindered(hindrance));
        }
        let (dropped, outside) = (self.folder.with_file_name(format!("{DROPPED}{}", self.id)), self.tree_outside());
        fs::rename(&self.folder, &dropped)
            .context(Kind::Internal, || format!("cannot delete '{}'", self.folder.display()))?;
        failpoint::hit("worktree:after-dropped");
        // A process may have come meanwhile. Nothing is deleted yet.
        if let Some(hindrance) = hindrance_in(&dropped, outside)
            && fs::rename(&dropped, &self.folder).is_ok()
        {
            return Ok(Deletion::Hindered(hindrance));
        }
        Ok(delete_dropped(&dropped, outside).map_or_else(Deletion::Part, |()| Deletion::Whole))
    }
}

/// Deletes the folder `dropped`, and the root `outside` of it. The record goes last: it says where the root is.
fn delete_dropped(dropped: &Path, outside: Option<&Path>) -> io::Result<()> {
    if let Some(tree) = outside {
        remove_all(tree)?;
    }
    for entry in fs::read_dir(dropped)? {
        let entry = entry?;
        if entry.file_name() != RECORD && entry.file_type()?.is_dir() {
            remove_all(&entry.path())?;
        }
    }
    remove_all(dropped)
}

/// Goes on to delete what a killed process has begun to delete, but for a dry run. Returns what stays.
pub(crate) fn sweep_dropped(common_dir: &Path, dry_run: bool) -> Vec<LeftOver> {
    let mut left = Vec::new();
    for entry in fs::read_dir(folder(common_dir)).into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.strip_prefix(DROPPED)).map(str::to_owned) else {
            continue;
        };
        let record = entry.path().join(RECORD);
        let text = read_text(&record, LONGEST).ok().flatten();
        let removed = text.and_then(|text| Removed::parse(id, entry.path(), &text));
        let why = if removed.is_none() && fs::symlink_metadata(&record).is_ok() {
            Some(WhyLeftOver::NoRecord)
        } else {
            sweep(&entry.path(), removed.as_ref(), dry_run)
        };
        let path = removed.map_or_else(|| entry.path(), |removed| removed.path);
        left.extend(why.map(|why| LeftOver { path, why }));
    }
    left
}

/// Deletes the folder `dropped` of `removed` (none: all but the folder itself is deleted), but for a dry run. Returns why it stays.
fn sweep(dropped: &Path, removed: Option<&Removed>, dry_run: bool) -> Option<WhyLeftOver> {
    let outside = removed.and_then(Removed::tree_outside);
    // A mount point has nothing while its file system is not there.
    if outside.is_some_and(|tree| fs::symlink_metadata(tree).is_err() && !has_others(tree)) {
        return Some(WhyLeftOver::NotMounted);
    }
    match removed.map_or_else(|| hindrance(dropped), Removed::hindrance) {
        Some(hindrance) => Some(WhyLeftOver::Hindered(hindrance)),
        None if dry_run => None,
        None => delete_dropped(dropped, outside).err().map(WhyLeftOver::Failed),
    }
}

/// Returns true if the directory above `path` has something in it: a mount point has nothing while its file system is not there.
pub(crate) fn has_others(path: &Path) -> bool {
    path.parent().and_then(|parent| fs::read_dir(parent).ok()).is_some_and(|mut entries| entries.next().is_some())
}

/// Returns why the folder of a removed worktree, or its root `outside` of it, must not be deleted now; none if they may be.
fn hindrance_in(folder: &Path, outside: Option<&Path>) -> Option<Hindrance> {
    [Some(folder), outside].into_iter().flatten().find_map(hindrance)
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

/// Deletes the directory `path` if it is there, with read-only directories in it. No symbolic link is followed.
fn remove_all(path: &Path) -> io::Result<()> {
    if let Some(hindrance) = hindrance(path) {
        let why = match hindrance {
            Hindrance::Mount => "a file system is mounted there".to_owned(),
            Hindrance::Process(pid) => format!("the process {pid} works there"),
        };
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
    }
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
fn make_writable(path: &Path) {
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
