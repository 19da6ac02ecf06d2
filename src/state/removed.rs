//! Worktrees that were removed: each is a folder `<common-dir>/checkpoint/removed/<id>` with the record `worktree.json`, the
//! worktree's root as `tree`, and git's directory of it as `admin`.
//!
//! Both are moved there, never copied: no byte of them is read or written. A root on another file system is moved to a hidden
//! name beside its place; the record says where.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use bstr::{BString, ByteSlice as _, ByteVec as _};
use gix::ObjectId;
use rustix::{
    fs::{CWD, RenameFlags},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use super::{directory, ensure_directory, read_text, replace_file_durably, temporary};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::path_text::StoredPath,
};

pub(super) const RECORD: &str = "worktree.json";
const ADMIN: &str = "admin";
const TREE: &str = "tree";
/// How the name of a folder begins whose content is being deleted: no restore finds it.
pub(super) const DROPPED: &str = "dropped-";
/// How many digits an id has.
const DIGITS: usize = 8;
/// More is in a record only if it is damaged.
pub(super) const LONGEST: u64 = 1 << 20;

/// A worktree that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Removed {
    /// What a restore is asked for.
    pub(crate) id: String,
    /// Git's id of it.
    pub(crate) worktree: BString,
    /// Its root.
    pub(crate) path: PathBuf,
    /// What git's file `gitdir` has, byte by byte: how git has registered the root.
    pub(crate) gitdir: BString,
    /// Where the root is now; none: it was gone before, and only git's directory was moved.
    pub(crate) tree: Option<PathBuf>,
    /// The full name of the branch at its HEAD; none if that was detached.
    pub(crate) branch: Option<BString>,
    /// The commit at its HEAD; none if it had none.
    pub(crate) head: Option<ObjectId>,
    /// The checkpoint that was taken first; none if its root was gone.
    pub(crate) checkpoint: Option<ObjectId>,
    /// The refs of its checkpoints, its operation log and its verified mark, with what they pointed to.
    pub(crate) refs: BTreeMap<String, ObjectId>,
    /// When it was removed, in Unix seconds.
    pub(crate) seconds: i64,
    /// The folder.
    pub(super) folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    worktree: StoredPath,
    path: StoredPath,
    gitdir: StoredPath,
    tree: Option<StoredPath>,
    branch: Option<StoredPath>,
    head: Option<String>,
    checkpoint: Option<String>,
    refs: BTreeMap<String, String>,
    removed: i64,
}

/// Returns what git has written in its directory `git_dir` of a worktree about the place of the root.
fn gitdir(git_dir: &Path) -> BString {
    fs::read(git_dir.join("gitdir")).unwrap_or_default().trim_end().into()
}

fn stored_path(path: &Path) -> StoredPath {
    StoredPath::from(&BString::from(path.as_os_str().as_bytes()))
}

/// Returns the directory with a folder for each. All but the records in it is the user's.
pub(crate) fn folder(common_dir: &Path) -> PathBuf {
    directory(common_dir).join("removed")
}

/// Returns true if the repository with the common directory `common_dir` has the record `id` of a removed worktree, or is about to
/// delete it.
pub(crate) fn knows(common_dir: &Path, id: &str) -> bool {
    let names = [id.to_owned(), format!("{DROPPED}{id}")];
    names.iter().any(|name| fs::symlink_metadata(folder(common_dir).join(name)).is_ok())
}

pub(super) fn is_id(name: &str) -> bool {
    name.len() == DIGITS && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the removed worktrees, the last one first. A damaged record is left out, and its folder left alone.
pub(crate) fn all(common_dir: &Path) -> Result<Vec<Removed>> {
    let folder = folder(common_dir);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.context(Kind::Internal, || format!("cannot read '{}'", folder.display()))?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry.context(Kind::Internal, || format!("cannot read '{}'", folder.display()))?;
        let Some(id) = entry.file_name().to_str().filter(|name| is_id(name)).map(str::to_owned) else { continue };
        let Some(text) = read_text(&entry.path().join(RECORD), LONGEST)? else { continue };
        let Some(removed) = Removed::parse(id, entry.path(), &text) else {
            tracing::warn!(folder = %entry.path().display(), "the record of a removed worktree is damaged");
            continue;
        };
        all.push(removed);
    }
    all.sort_by(|one, other| (other.seconds, &other.id).cmp(&(one.seconds, &one.id)));
    Ok(all)
}

impl Removed {
    /// Returns the record of the worktree `worktree` with the root `path` and the git directory `git_dir`, which is about to be
    /// removed. Nothing is written yet.
    ///
    /// # Errors
    /// If the folder for it cannot be made.
    pub(crate) fn new(common_dir: &Path, worktree: BString, path: PathBuf, git_dir: &Path) -> Result<Self> {
        let parent = ensure_directory(common_dir)?.join("removed");
        let what = || format!("cannot create a directory in '{}'", parent.display());
        fs::create_dir_all(&parent).context(Kind::Internal, what)?;
        loop {
            let id = temporary::random()[..DIGITS].to_owned();
            let folder = parent.join(&id);
            match fs::create_dir(&folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => {
                    made.context(Kind::Internal, what)?;
                    let seconds = jiff::Timestamp::now().as_second();
                    let (tree, branch, head, checkpoint) = (None, None, None, None);
                    let (gitdir, refs) = (gitdir(git_dir), BTreeMap::new());
                    return Ok(Self {
                        id,
                        worktree,
                        path,
                        gitdir,
                        tree,
                        branch,
                        head,
                        checkpoint,
                        refs,
                        seconds,
                        folder,
                    });
                }
            }
        }
    }

    pub(super) fn parse(id: String, folder: PathBuf, text: &str) -> Option<Self> {
        let stored: Stored = serde_json::from_str(text).ok()?;
        let path = |path: &StoredPath| Vec::from(path.decode().ok()?).into_path_buf().ok();
        // The repository may have been moved since: what is in the folder is named relative to it.
        let place = |tree: &StoredPath| Some(folder.join(path(tree)?));
        let reference = |(name, tip): (String, String)| Some((name, ObjectId::from_hex(tip.as_bytes()).ok()?));
        let commit = |text: &Option<String>| text.as_ref().map(|text| ObjectId::from_hex(text.as_bytes()).ok());
        Some(Self {
            id,
            worktree: stored.worktree.decode().ok()?,
            path: path(&stored.path).filter(|path| path.is_absolute())?,
            gitdir: stored.gitdir.decode().ok()?,
            tree: stored.tree.as_ref().map(place).map_or(Some(None), |tree| tree.map(Some))?,
            branch: stored.branch.as_ref().map(|branch| branch.decode().ok()).map_or(Some(None), |it| it.map(Some))?,
            head: commit(&stored.head).map_or(Some(None), |it| it.map(Some))?,
            checkpoint: commit(&stored.checkpoint).map_or(Some(None), |it| it.map(Some))?,
            refs: stored.refs.into_iter().map(reference).collect::<Option<_>>()?,
            seconds: stored.removed,
            folder,
        })
        .filter(|removed| stored.version == 1 && removed.is_place())
    }

    /// Writes the record: from now on, it can be restored.
    pub(crate) fn write(&self) -> Result<()> {
        let stored = Stored {
            version: 1,
            worktree: StoredPath::from(&self.worktree),
            path: stored_path(&self.path),
            gitdir: StoredPath::from(&self.gitdir),
            tree: self.tree.as_deref().map(|tree| stored_path(tree.strip_prefix(&self.folder).unwrap_or(tree))),
            branch: self.branch.as_ref().map(StoredPath::from),
            head: self.head.map(|id| id.to_string()),
            checkpoint: self.checkpoint.map(|id| id.to_string()),
            refs: self.refs.iter().map(|(name, tip)| (name.clone(), tip.to_string())).collect(),
            removed: self.seconds,
        };
        let text =
            serde_json::to_string_pretty(&stored).map_err(|cause| Error::internal("a record").with_cause(cause))?;
        replace_file_durably(&self.folder.join(RECORD), format!("{text}\n").as_bytes())
    }

    /// Returns its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns where git's directory of it is kept.
    pub(crate) fn admin(&self) -> PathBuf {
        self.folder.join(ADMIN)
    }

    /// Returns true if git's directory `git_dir` of a worktree is that of this one.
    pub(crate) fn is_registered_in(&self, git_dir: &Path) -> bool {
        gitdir(git_dir) == self.gitdir
    }

    /// Returns where its root is kept: in the folder, or, if that is on another file system, beside its place.
    ///
    /// # Errors
    /// If the root is a mount point, or cannot be looked at.
    pub(crate) fn place_for_tree(&self) -> Result<PathBuf> {
        use std::os::unix::fs::MetadataExt as _;
        let device = |path: &Path| {
            let found = fs::symlink_metadata(path).map(|metadata| metadata.dev());
            found.context(Kind::User, || format!("cannot look at '{}'", path.display()))
        };
        let parent = self.path.parent().unwrap_or(&self.path);
        let (here, above) = (device(&self.path)?, device(parent)?);
        if here != above {
            return Err(Error::refused(format!("'{}' is a mount point", self.path.display()))
                .with_hint("unmount it, then 'git checkpoint worktree prune' forgets the worktree"));
        }
        Ok(if here == device(&self.folder)? { self.folder.join(TREE) } else { self.beside() })
    }

    /// Returns a hidden path beside the place of its root.
    pub(crate) fn beside(&self) -> PathBuf {
        /// The longest name that file systems allow, in bytes (`NAME_MAX`).
        const LONGEST_NAME: usize = 255;
        let own = self.path.file_name().unwrap_or_default().as_bytes();
        let name = |own: &[u8]| [b".", own, b".removed-", self.id.as_bytes()].concat();
        let full = Some(name(own)).filter(|name| name.len() <= LONGEST_NAME).unwrap_or_else(|| name(b""));
        let parent = self.path.parent().unwrap_or(&self.path);
        parent.join(std::ffi::OsStr::from_bytes(&full))
    }

    /// Returns true if its root may be where the record says: nothing else is moved, or deleted.
    fn is_place(&self) -> bool {
        self.tree.as_ref().is_none_or(|tree| *tree == self.folder.join(TREE) || *tree == self.beside())
    }

    /// Returns true if its root is, or would be, kept in the folder.
    pub(crate) fn is_tree_in_folder(&self) -> bool {
        self.tree.as_ref().is_some_and(|tree| tree.starts_with(&self.folder))
    }

    /// Forgets it: nothing of it is aside.
    pub(crate) fn forget(&self) -> Result<()> {
        match fs::remove_file(self.folder.join(RECORD)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).context(Kind::Internal, || format!("cannot remove '{}'", self.folder.display()));
            }
            _ => {}
        }
        // This fails if the folder has other files: they stay.
        drop(fs::remove_dir(&self.folder));
        Ok(())
    }
}

/// Removes folders without anything in them: a command was killed before it wrote the record, or after it deleted that. The caller
/// holds the lock.
pub(crate) fn sweep_empty(common_dir: &Path) {
    for entry in fs::read_dir(folder(common_dir)).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| is_id(name.strip_prefix(DROPPED).unwrap_or(name))) {
            // Only if it is empty.
            drop(fs::remove_dir(entry.path()));
        }
    }
}

/// Returns true if `error` says that a directory cannot be moved to where it should be, though it could be moved elsewhere: each
/// bind mount counts as a file system of its own.
pub(crate) fn is_of_two_mounts(error: &Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::CrossesDevices)
}

/// Renames the directory `from` as `to`, where nothing may be.
pub(crate) fn move_directory(from: &Path, to: &Path) -> Result<()> {
    let moved = match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if fs::symlink_metadata(to).is_err() => {
            rustix::fs::rename(from, to)
        }
        moved => moved,
    };
    moved
        .map_err(io::Error::from)
        .context(Kind::User, || format!("cannot move '{}' to '{}'", from.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::refname;

    #[test]
    fn a_record_survives_a_round_trip() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(b"/w\xff x"));
        fs::write(dir.path().join("gitdir"), b"/w\xff x/.git\n").expect("writable");
        let removed = Removed::new(dir.path(), b"w\xff".into(), path, dir.path());
        let mut removed = removed.expect("a folder can be made");
        assert!(removed.is_registered_in(dir.path()) && !removed.is_registered_in(&dir.path().join("other")));
        let id = |digit: &str| ObjectId::from_hex(digit.repeat(40).as_bytes()).ok();
        removed.tree = Some(removed.folder.join(TREE));
        removed.refs.extend(id("3").map(|id| (refname::operations_ref("w".into()), id)));
        (removed.branch, removed.head, removed.checkpoint) = (Some("refs/heads/x".into()), id("1"), id("2"));
        assert_eq!(all(dir.path()).expect("readable"), [], "there is no record yet");
        removed.write().expect("writable");
        assert_eq!(all(dir.path()).expect("readable"), [removed.clone()]);
        fs::write(removed.folder.join(RECORD), "{}").expect("writable");
        assert_eq!(all(dir.path()).expect("readable"), [], "a damaged one is left out");
        removed.forget().expect("it can be removed");
        assert!(!removed.folder.exists());
    }
}
