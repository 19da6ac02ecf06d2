//! Git's lock files, `<file>.lock`: takes them as git does, and removes those that a killed process of ours left
//! behind.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
    rc::Rc,
    time::{Duration, Instant, SystemTime},
};

use gix::lock::acquire::resolve_symlink;

use super::{Repo, found_lock::FoundLock};
use crate::{
    error::{Context as _, Error, Kind, Result},
    state::{
        self,
        lock::{MERGE_LOCK, REMOVAL_LOCK, SETUP_LOCK, has_owner, is_held, remove_free},
        lock_note::{self, FoundNote, Note, Owner},
    },
};

/// How long we wait for another process's lock: as long as git does for `packed-refs.lock`.
const PATIENCE: Duration = Duration::from_secs(1);
/// Git holds most locks for less than this: do not wait for an older one. A process of ours that was killed may take some time
/// to go, so that we wait as long for its lock.
pub(crate) const USUAL: Duration = Duration::from_secs(10);
/// How long to wait between two attempts, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];

/// What to do about a lock that no process of ours holds, in git's words.
pub(crate) const HINT: &str = "another git process is at work; if there is none, remove the file";

/// A lock to take.
pub(super) struct LockRequest<'a> {
    /// What to lock, in words.
    pub(super) name: &'a str,
    /// The file to lock.
    pub(super) path: &'a Path,
    /// Directories below this one are created as needed, and removed once they are empty.
    pub(super) boundary: Option<&'a Path>,
    /// The content of the lock.
    pub(super) content: &'a [u8],
}

/// A lock, held until dropped.
#[must_use = "the lock is released when dropped"]
pub(super) struct LockFile {
    /// The file that is locked.
    target: PathBuf,
    /// The lock; none once it has been renamed to the file.
    lock: Option<PathBuf>,
    boundary: Option<PathBuf>,
    /// Removed after the lock.
    note: Option<Rc<Note>>,
}

impl LockFile {
    /// Renames the lock to the file that it locks.
    pub(super) fn commit(mut self) -> Result<()> {
        let what = |path: &Path| format!("cannot write '{}'", path.display());
        let lock = self.lock.as_ref().expect("it is held");
        if let Err(cause) = fs::rename(lock, &self.target) {
            if !self.target.is_dir() {
                return Err(Error::internal(what(&self.target)).with_cause(cause));
            }
            // An empty directory in the place of the file would block the rename.
            gix::tempfile::remove_dir::empty_depth_first(self.target.clone())
                .context(Kind::Internal, || what(&self.target))?;
            fs::rename(lock, &self.target).context(Kind::Internal, || what(&self.target))?;
        }
        self.lock = None;
        Ok(())
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        let Some(lock) = &self.lock else { return };
        if let Err(error) = fs::remove_file(lock)
            && error.kind() != io::ErrorKind::NotFound
            && let Some(note) = &self.note
        {
            // The note shows the next command that this lock is ours, and that its process is gone.
            note.stay();
        }
        let Some(boundary) = &self.boundary else { return };
        for directory in lock.ancestors().skip(1).take_while(|directory| *directory != boundary) {
            if fs::remove_dir(directory).is_err() {
                break;
            }
        }
    }
}

impl Repo {
    pub(super) fn packed_refs_path(&self) -> PathBuf {
        resolve_symlink(&self.common_dir().join("packed-refs"))
    }

    /// Creates a note for locks with `content`. Locks work without one, but stay if we are killed.
    pub(super) fn note_locks(&self, content: &[u8]) -> Option<Rc<Note>> {
        match Note::new(self.common_dir(), content) {
            Ok(note) => Some(Rc::new(note)),
            Err(error) => {
                tracing::warn!(%error, "cannot note the locks of refs");
                None
            }
        }
    }

    /// Takes the lock as soon as it is free, as a hard link to `note` where the file system allows that. Does not wait
    /// for a lock that is old, or for which we waited in vain before.
    ///
    /// # Errors
    /// [`Kind::Race`] if another process holds it for too long.
    pub(super) fn take_lock(&self, request: &LockRequest<'_>, note: Option<&Rc<Note>>) -> Result<LockFile> {
        let mut lock = request.path.as_os_str().to_owned();
        lock.push(".lock");
        let lock = PathBuf::from(lock);
        let what = || format!("cannot lock '{}'", request.name);
        let [mut pause, longest] = PAUSES;
        let start = Instant::now();
        // Use the file system's clock: it may be another machine's.
        let now = note.and_then(|note| note.time()).unwrap_or_else(SystemTime::now);
        loop {
            let made = request.boundary.map_or(Ok(()), |_| make_directories(lock.parent().unwrap_or(&lock)));
            match made.and_then(|()| make(&lock, note.map(Rc::as_ref), request.content)) {
                Ok(()) => {
                    let (target, boundary) = (request.path.to_owned(), request.boundary.map(Path::to_owned));
                    return Ok(LockFile { target, lock: Some(lock), boundary, note: note.cloned() });
                }
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                    self.remove_dead_locks();
                    let found = find_lock(lock.clone());
                    let patience =
                        if found.as_ref().is_some_and(|found| self.is_ours(found)) { USUAL } else { PATIENCE };
                    if start.elapsed() >= patience || found.as_ref().is_some_and(|found| self.is_in_vain(found, now)) {
                        self.lost_patience.replace(found);
                        let is_taken = lock.symlink_metadata().is_ok();
                        let cause = if is_taken { format!("'{}' exists", lock.display()) } else { cause.to_string() };
                        return Err(Error::race(what()).with_cause(cause).with_hint(HINT));
                    }
                }
                // Git removes empty directories, perhaps between the creation of one and that of the lock in it.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound && start.elapsed() < PATIENCE => {}
                Err(cause) => {
                    let is_race = cause.kind() == io::ErrorKind::NotFound;
                    let kind = if is_race { Kind::Race } else { Kind::Internal };
                    return Err(Error::new(kind, what()).with_cause(cause));
                }
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(longest);
        }
    }

    /// Returns true if a process of ours took `lock`.
    fn is_ours(&self, lock: &FoundLock) -> bool {
        lock_note::all(self.common_dir()).iter().any(|note| note.identity == lock.identity)
    }

    /// Returns true if waiting for `lock`, as found at `now`, is useless.
    fn is_in_vain(&self, lock: &FoundLock, now: SystemTime) -> bool {
        let is_old = now.duration_since(lock.time).is_ok_and(|age| age >= USUAL);
        is_old || self.lost_patience.borrow().as_ref() == Some(lock)
    }

    /// Removes the locks that killed processes of ours left behind, and no others.
    pub(crate) fn remove_dead_locks(&self) {
        let mut notes = lock_note::all(self.common_dir());
        notes.retain(|note| note.owner == Owner::Dead);
        let locks = if notes.iter().any(|note| note.is_linked) { self.find_locks() } else { Vec::new() };
        for lock in &locks {
            // As long as the note exists, no other file has its inode.
            let Some(note) = notes.iter().find(|note| note.identity == lock.identity) else { continue };
            let path = lock.path.display();
            match note.remove_lock(&lock.path) {
                Ok(true) => tracing::warn!(%path, "removed the lock of a process that was killed"),
                Ok(false) => tracing::debug!(%path, "another process has taken the lock"),
                Err(error) => tracing::warn!(%path, %error, "cannot remove the lock of a process that was killed"),
            }
        }
        notes.into_iter().for_each(FoundNote::remove);
    }

    /// Returns all locks on git's files of all worktrees, sorted by path.
    ///
    /// A lock of ours that its last owner has left in order is none, though its file is there.
    pub(crate) fn locks(&self) -> Vec<FoundLock> {
        let notes = lock_note::all(self.common_dir());
        let mut locks = self.find_locks();
        locks.retain(|lock| !lock.is_own || has_owner(&lock.path));
        for lock in &mut locks {
            lock.owner = if lock.is_own {
                Some(if is_held(&lock.path) { Owner::Alive } else { Owner::Dead })
            } else {
                notes.iter().find(|note| note.identity == lock.identity).map(|note| note.owner.clone())
            };
        }
        locks
    }

    /// Removes the locks in our own directories of linked worktrees that no process holds.
    pub(crate) fn remove_free_locks(&self) {
        for lock in self.find_locks().iter().filter(|lock| lock.is_own) {
            if remove_free(&lock.path) {
                tracing::warn!(path = %lock.path.display(), "removed a lock that no process holds");
            }
        }
    }

    fn find_locks(&self) -> Vec<FoundLock> {
        let (common, objects) = (plain(self.common_dir()), plain(self.inner.objects.store_ref().path()));
        let worktrees = common.join("worktrees");
        let mut locks = Vec::new();
        for (directory, is_deep) in [
            (common.clone(), false),
            (common.join("refs"), true),
            (common.join("reftable"), false),
            (worktrees.clone(), true),
            (objects.clone(), false),
            (objects.join("info"), true),
            (objects.join("pack"), false),
        ] {
            add_locks(directory, is_deep, &mut locks);
        }
        let mut packed = self.packed_refs_path().into_os_string();
        packed.push(".lock");
        locks.extend(find_lock(packed.into()));
        for lock in &mut locks {
            let git_dir = lock.path.ancestors().find(|it| it.parent() == Some(&worktrees));
            let is_ours = |git_dir: &Path| {
                [MERGE_LOCK, REMOVAL_LOCK, SETUP_LOCK]
                    .iter()
                    .any(|name| lock.path == state::directory(git_dir).join(name))
            };
            let is_file = || fs::symlink_metadata(&lock.path).is_ok_and(|metadata| metadata.is_file());
            lock.is_own = git_dir.is_some_and(is_ours) && is_file();
        }
        locks.sort_by(|a, b| a.path.cmp(&b.path));
        locks.dedup_by(|a, b| a.path == b.path);
        locks
    }
}

/// Creates `directory` and its parents. If git removes one at the same time, the error is `NotFound`, not that a file
/// is in the way.
fn make_directories(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory).map_err(|error| {
        let is_in_the_way = directory.ancestors().any(Path::is_file);
        match error.kind() {
            io::ErrorKind::AlreadyExists if is_in_the_way => io::ErrorKind::NotADirectory.into(),
            io::ErrorKind::AlreadyExists => io::ErrorKind::NotFound.into(),
            _ => error,
        }
    })
}

/// Creates the file `lock` with `content`: as a hard link to `note`, which has that content, if the file system allows
/// that; otherwise as a file of its own.
fn make(lock: &Path, note: Option<&Note>, content: &[u8]) -> io::Result<()> {
    match note.map(|note| note.link_to(lock)) {
        Some(Ok(())) => return Ok(()),
        Some(Err(cause)) if cause.kind() == io::ErrorKind::AlreadyExists => return Err(cause),
        _ => {}
    }
    let mut file = fs::File::options().write(true).create_new(true).open(lock)?;
    file.write_all(content).inspect_err(|_| drop(fs::remove_file(lock)))
}

/// Returns `path` as people read it: in a linked worktree, git's common directory has a name with `..` in it.
fn plain(path: &Path) -> PathBuf {
    let is_plain = !path.components().any(|part| part == Component::ParentDir);
    Some(path).filter(|_| !is_plain).and_then(|path| fs::canonicalize(path).ok()).unwrap_or_else(|| path.to_owned())
}

/// Adds the locks in `directory`, and in all below it if `is_deep`.
fn add_locks(directory: PathBuf, is_deep: bool, locks: &mut Vec<FoundLock>) {
    let mut directories = vec![directory];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && is_deep => directories.push(path),
                Ok(kind) if !kind.is_dir() && path.extension().is_some_and(|end| end == "lock") => {
                    locks.extend(find_lock(path));
                }
                _ => {}
            }
        }
    }
}

fn find_lock(path: PathBuf) -> Option<FoundLock> {
    let metadata = fs::symlink_metadata(&path).ok()?;
    let (time, identity) = (metadata.modified().ok()?, (metadata.dev(), metadata.ino()));
    Some(FoundLock { path, owner: None, is_own: false, time, identity })
}

#[cfg(test)]
mod tests {
    use std::process as run;

    use super::*;
    use crate::git::refs::RefUpdate;

    /// As that of a process that was killed, and takes longer to go than git would wait.
    #[test]
    fn a_lock_of_ours_is_waited_for_longer() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        #[expect(clippy::disallowed_methods, reason = "the test makes its repository with git")]
        let status = run::Command::new("git").args(["init", "-q"]).arg(directory.path()).status();
        assert!(status.expect("git runs").success());
        let open = || Repo::open(directory.path()).expect("a repository");
        let path = directory.path().join(".git/refs/heads/x");
        let request = LockRequest { name: "x", path: &path, boundary: None, content: b"" };
        let repo = open();
        let note = repo.note_locks(b"").expect("noted");
        let lock = repo.take_lock(&request, Some(&note)).expect("it is free");
        let start = Instant::now();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let other = open();
                let note = other.note_locks(b"").expect("noted");
                other.take_lock(&request, Some(&note)).map(drop)
            });
            std::thread::sleep(PATIENCE + Duration::from_millis(200));
            drop(lock);
            waiting.join().expect("it ends").expect("it is free by then");
        });
        assert!(start.elapsed() >= PATIENCE);
    }

    #[test]
    fn a_lock_that_stays_is_waited_for_once() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        #[expect(clippy::disallowed_methods, reason = "the test makes its repository with git")]
        let status = run::Command::new("git").args(["init", "-q"]).arg(directory.path()).status();
        assert!(status.expect("git runs").success());
        let open = || Repo::open(directory.path()).expect("a repository");
        let (repo, id) = (open(), open().empty_tree_id());
        let change = |old, new| [RefUpdate { name: "refs/x/gone".into(), old, new }];
        repo.update_refs(&change(None, Some(id))).expect("it is new");
        let lock = directory.path().join(".git/packed-refs.lock");
        fs::write(&lock, "").expect("written");
        let refused_after = |repo: &Repo| {
            let start = Instant::now();
            let error = repo.update_refs(&change(Some(id), None)).expect_err("the ref is locked");
            assert_eq!(error.kind(), Kind::Race, "{:?}", error.causes());
            start.elapsed()
        };
        assert!(refused_after(&repo) >= PATIENCE);
        assert!(refused_after(&repo) < PATIENCE / 2, "once is enough");
        fs::remove_file(&lock).expect("there");
        fs::write(&lock, "another").expect("written");
        assert!(refused_after(&repo) >= PATIENCE, "that is another one");
        let file = fs::File::options().write(true).open(&lock).expect("there");
        file.set_modified(SystemTime::now() - 2 * USUAL).expect("ours");
        assert!(refused_after(&open()) < PATIENCE / 2, "it has been there for long");
        fs::remove_file(&lock).expect("there");
        repo.update_refs(&change(Some(id), None)).expect("it is free");
    }
}
