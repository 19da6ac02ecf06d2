//! Compares the worktree with the stat cache in one pass, and finds what differs from the last capture.
//!
//! Directories are read in parallel and merged with the sorted range of known paths below them; a known file costs one
//! `fstatat`. No file content is read, and ignore rules are left to `untracked`.

use std::{
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use bstr::{BStr, BString, ByteSlice as _};
use rustix::{
    fs::{AtFlags, FileType, Mode as AccessMode, OFlags},
    io::Errno,
};

use super::{
    Repo,
    beneath::{self, Trouble},
    checkout_names::is_temporary_name,
    counter::{Counter, Phase},
    interrupt::Interrupt,
    modes::{Modes, mode_of},
    own_directories::OwnDirectories,
    read_directory::{self, Buffer},
    stat_cache::{Entry, Stat, StatCache},
    threads,
};
use crate::{
    error::{Context as _, Kind, Result},
    model::change::Mode,
};

/// A file that must be read.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Its path.
    pub(crate) path: BString,
    /// Its position in the cache, if the cache has it.
    pub(crate) position: Option<usize>,
    /// Its current stat.
    pub(crate) stat: Stat,
    /// Its current mode.
    pub(crate) mode: Mode,
}

/// A path that the cache does not have.
#[derive(Clone, Debug)]
pub(crate) struct Unknown {
    pub(crate) path: BString,
    pub(crate) kind: FileType,
}

/// The result of a pass.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Known files whose stat has changed.
    pub(crate) candidates: Vec<Candidate>,
    /// Positions in the cache of paths that no longer exist.
    pub(crate) removed: Vec<usize>,
    /// Positions in the cache of submodules and nested repositories that still exist.
    pub(crate) gitlinks: Vec<usize>,
    /// Unknown files and directories, to be sorted by the ignore rules.
    pub(crate) unknown: Vec<Unknown>,
    /// Directories with known files and a `.git`.
    pub(crate) git_directories: Vec<BString>,
    /// Unreadable directories; the known paths below them stay.
    pub(crate) unreadable: Vec<BString>,
    /// Directories with known files that are empty now.
    pub(crate) emptied: Vec<BString>,
    /// Known paths that are special files (FIFO, socket, device) now.
    pub(crate) special: Vec<BString>,
    /// An error that concerns more than one path: the whole result is unreliable.
    failure: Option<(BString, Errno)>,
}

impl Scan {
    fn absorb(&mut self, mut other: Self) {
        self.candidates.append(&mut other.candidates);
        self.removed.append(&mut other.removed);
        self.gitlinks.append(&mut other.gitlinks);
        self.unknown.append(&mut other.unknown);
        self.git_directories.append(&mut other.git_directories);
        self.unreadable.append(&mut other.unreadable);
        self.emptied.append(&mut other.emptied);
        self.special.append(&mut other.special);
        self.failure = self.failure.take().or(other.failure);
    }

    fn remove(&mut self, cache: &StatCache, child: &Known<'_>) {
        // A file that sparse checkout leaves out is gone only if it was there.
        let was_there = |entry: &Entry| !entry.skips_worktree || entry.stat != Stat::default();
        self.removed.extend(child.range.clone().filter(|at| was_there(&cache.entries()[*at])));
    }

    fn sort(&mut self) {
        self.candidates.sort_by(|a, b| a.path.cmp(&b.path));
        self.removed.sort_unstable();
        self.gitlinks.sort_unstable();
        self.unknown.sort_by(|a, b| a.path.cmp(&b.path));
        self.git_directories.sort();
        self.unreadable.sort();
        self.emptied.sort();
        self.special.sort();
    }
}

/// A directory still to be read.
struct Task {
    parent: Arc<OwnedFd>,
    /// Its path with final `/`; empty for the root.
    path: BString,
    /// The known paths below it.
    range: std::ops::Range<usize>,
}

/// Directories that a thread gives away to those that have none left.
struct Queue<'r> {
    state: Mutex<Shared>,
    changed: Condvar,
    /// How many threads wait; a hint for those that do not hold the lock.
    idle: AtomicUsize,
    /// Once raised, the rest is left unread.
    interrupt: &'r Interrupt,
    own_directories: &'r OwnDirectories,
    modes: Modes,
    counter: &'r Counter,
}

struct Shared {
    tasks: Vec<Task>,
    /// How many threads may still find more; at none, nothing is left.
    busy: usize,
}

/// Compares the worktree of `repo` with `cache`.
///
/// # Errors
/// If the root cannot be read, an error concerns more than one path, or the operation is interrupted.
pub(crate) fn scan(repo: &Repo, cache: &StatCache, modes: Modes) -> Result<Scan> {
    let root = repo.worktree_root();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root_fd = rustix::fs::open(root, flags, AccessMode::empty())
        .context(Kind::User, || format!("cannot read the worktree '{}'", root.display()))?;
    let whole = Task { parent: Arc::new(root_fd), path: BString::default(), range: 0..cache.entries().len() };
    // In a small worktree, the pass is done before a second thread has started.
    let wanted = if cache.entries().len() < 1000 { 1 } else { 16 };
    let shared = Shared { tasks: vec![whole], busy: 0 };
    let (changed, idle, interrupt) = (Condvar::new(), AtomicUsize::new(0), &repo.interrupt);
    let (own_directories, counter) = (&repo.own_directories, repo.counter().as_ref());
    counter.begin(Phase::Comparing, cache.entries().len());
    let queue = Queue { state: Mutex::new(shared), changed, idle, interrupt, own_directories, modes, counter };
    let mut total = Scan::default();
    threads::share(threads::useful(wanted) - 1, || queue.work(cache))?.into_iter().for_each(|part| total.absorb(part));
    repo.check_interrupt()?;
    if let Some((path, cause)) = total.failure {
        return Err(beneath::unreadable(path.as_bstr(), cause));
    }
    total.sort();
    Ok(total)
}

impl Queue<'_> {
    fn work(&self, cache: &StatCache) -> Scan {
        let mut found = Scan::default();
        let mut own = Vec::new();
        let mut buffer = Buffer::default();
        // Until it waits, for the first time at once.
        self.lock().busy += 1;
        while let Some(task) = own.pop().or_else(|| self.wait()) {
            if self.interrupt.is_raised() {
                own.clear();
                continue;
            }
            self.visit(cache, task, &mut buffer, &mut found, &mut own);
            if own.len() > 1 && self.idle.load(Ordering::Relaxed) > 0 {
                // The first ones are nearest to the root, and have most paths below them.
                let given: Vec<_> = own.drain(..own.len() / 2).collect();
                self.lock().tasks.extend(given);
                self.changed.notify_all();
            }
        }
        found
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.state.lock().expect("no thread panics while holding it")
    }

    /// Waits for a directory that another thread gives away; none once all threads wait.
    fn wait(&self) -> Option<Task> {
        let mut state = self.lock();
        state.busy -= 1;
        self.idle.fetch_add(1, Ordering::Relaxed);
        loop {
            if let Some(task) = state.tasks.pop() {
                state.busy += 1;
                self.idle.fetch_sub(1, Ordering::Relaxed);
                return Some(task);
            }
            if state.busy == 0 {
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state).expect("no thread panics while holding it");
        }
    }
}

/// A known file or directory inside the directory being read.
struct Known<'c> {
    name: &'c BStr,
    range: std::ops::Range<usize>,
    is_directory: bool,
    is_seen: bool,
}

/// Returns the cache's paths directly in the directory `path`, sorted by name.
fn known_children<'c>(cache: &'c StatCache, path: &BStr, range: std::ops::Range<usize>) -> Vec<Known<'c>> {
    let mut children = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let full = cache.path(&cache.entries()[at]);
        let rest = &full[path.len()..];
        if let Some(slash) = rest.find_byte(b'/') {
            let directory = &full[..=path.len() + slash];
            let length =
                cache.entries()[at..range.end].partition_point(|entry| cache.path(entry).starts_with(directory));
            let name = rest[..slash].as_bstr();
            children.push(Known { name, range: at..at + length, is_directory: true, is_seen: false });
            at += length;
        } else {
            children.push(Known { name: rest.as_bstr(), range: at..at + 1, is_directory: false, is_seen: false });
            at += 1;
        }
    }
    // `a.b` sorts between the file `a` and the directory `a/`, so the order of paths is not that of names.
    children.sort_by(|a, b| a.name.cmp(b.name));
    children
}

impl Queue<'_> {
    fn visit(&self, cache: &StatCache, task: Task, buffer: &mut Buffer, found: &mut Scan, new_tasks: &mut Vec<Task>) {
        let Task { parent, path, range } = task;
        let mut children = known_children(cache, path.as_bstr(), range);
        let mut subdirectories = Vec::new();
        let mut is_empty = true;
        let name =
            path.strip_suffix(b"/").map_or(&b"."[..], |path| path.rsplit_once_str("/").map_or(path, |(_, name)| name));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let read = rustix::fs::openat(&parent, name, flags, AccessMode::empty()).and_then(|directory| {
            let place = |name: &BStr, kind| {
                is_empty = false;
                if name == ".git" {
                    found.git_directories.extend(path.strip_suffix(b"/").map(BString::from));
                } else if !is_temporary_name(name) && !self.own_directories.have(path.as_bstr(), name) {
                    let (fd, path, modes) = (directory.as_fd(), path.as_bstr(), self.modes);
                    let mut item = Item { name, kind, fd, path, modes };
                    subdirectories.extend(item.place(cache, &mut children, found));
                }
            };
            read_directory::read(directory.as_fd(), buffer, place)?;
            Ok(Arc::new(directory))
        });
        let directory = match read {
            Ok(directory) => directory,
            Err(errno) => {
                self.counter.add(children.iter().map(|child| child.range.len()).sum());
                let path = path.trim_end_with(|c| c == '/').into();
                return match Trouble::of(errno) {
                    Trouble::Gone => children.iter().for_each(|child| found.remove(cache, child)),
                    Trouble::Unreadable => found.unreadable.push(path),
                    Trouble::Other => found.failure = Some((path, errno)),
                };
            }
        };
        if is_empty {
            found.emptied.extend(path.strip_suffix(b"/").map(BString::from));
        }
        for at in subdirectories {
            let mut path = path.clone();
            path.extend_from_slice(children[at].name);
            path.push(b'/');
            new_tasks.push(Task { parent: Arc::clone(&directory), path, range: children[at].range.clone() });
        }
        for child in children.iter().filter(|child| !child.is_seen) {
            found.remove(cache, child);
        }
        // Files below an existing directory are counted when that directory is read.
        let counted = children.iter().filter(|child| !(child.is_directory && child.is_seen));
        self.counter.add(counted.map(|child| child.range.len()).sum());
    }
}

/// One name read from a directory.
struct Item<'a> {
    name: &'a BStr,
    kind: FileType,
    fd: BorrowedFd<'a>,
    /// The directory's path with final `/`.
    path: &'a BStr,
    modes: Modes,
}

impl Item<'_> {
    fn full_path(&self) -> BString {
        let mut path = BString::from(Vec::with_capacity(self.path.len() + self.name.len()));
        path.extend_from_slice(self.path);
        path.extend_from_slice(self.name);
        path
    }

    /// Sorts this name: nowhere if it is an unchanged file, otherwise into `found`. Returns its position in `children`
    /// if it is a known directory.
    fn place(&mut self, cache: &StatCache, children: &mut [Known<'_>], found: &mut Scan) -> Option<usize> {
        let start = children.partition_point(|child| child.name < self.name);
        let end = start + children[start..].iter().take_while(|child| child.name == self.name).count();
        let known = &mut children[start..end];
        if known.is_empty() && self.kind != FileType::Unknown {
            found.unknown.push(Unknown { path: self.full_path(), kind: self.kind });
            return None;
        }
        if self.kind == FileType::Directory
            && let Some(at) = known.iter().position(|child| child.is_directory)
        {
            known[at].is_seen = true;
            return Some(start + at);
        }
        let stat = match rustix::fs::statat(self.fd, self.name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(errno) => {
                match Trouble::of(errno) {
                    // Deleted after the directory was read: it counts as removed.
                    Trouble::Gone => {}
                    Trouble::Unreadable => {
                        for child in known.iter_mut() {
                            child.is_seen = true;
                        }
                        found.unreadable.push(self.full_path());
                    }
                    Trouble::Other => found.failure = Some((self.full_path(), errno)),
                }
                return None;
            }
        };
        self.kind = FileType::from_raw_mode(stat.st_mode);
        let Some(at) = known.iter().position(|child| child.is_directory == (self.kind == FileType::Directory)) else {
            self.place_swapped(cache, known, found);
            return None;
        };
        let child = &mut known[at];
        child.is_seen = true;
        if child.is_directory {
            return Some(start + at);
        }
        let position = child.range.start;
        let entry = &cache.entries()[position];
        let Some(mode) = mode_of(self.kind, stat.st_mode) else {
            child.is_seen = false;
            found.special.push(self.full_path());
            return None;
        };
        let stat = Stat::of(&stat);
        let is_same = stat == entry.stat && self.modes.stored(mode, Some(entry.mode)) == entry.mode;
        let is_clean = is_same && !entry.is_racy && !entry.id.is_null();
        if !is_clean {
            found.candidates.push(Candidate { path: self.full_path(), position: Some(position), stat, mode });
        }
        None
    }

    /// Handles a directory in the place of a known file, or the reverse.
    fn place_swapped(&self, cache: &StatCache, known: &mut [Known<'_>], found: &mut Scan) {
        if let Some(gitlink) = known.iter_mut().find(|child| {
            !child.is_directory
                && self.kind == FileType::Directory
                && cache.entries()[child.range.start].mode == Mode::Gitlink
        }) {
            gitlink.is_seen = true;
            return found.gitlinks.push(gitlink.range.start);
        }
        found.unknown.push(Unknown { path: self.full_path(), kind: self.kind });
    }
}
