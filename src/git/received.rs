//! Objects from another repository, which are checked before they become part of this one: until then, neither git nor a reader
//! finds them.
//!
//! They are in a repository of their own below our object directory, which may borrow our objects (`objects/info/alternates`). What a
//! process that was killed has left there goes when the next one receives something; `git prune` knows the name, too.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use bstr::ByteSlice as _;
use gix::ObjectId;
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use super::{
    Repo,
    keep::{self, Keep},
    patience::refuse_more,
    process::run_plain_git,
};
use crate::error::{Context as _, Error, Kind, Result};

/// How the names of these repositories begin. Git removes what begins with `tmp_` when it is old.
const PREFIX: &str = "tmp_objdir-checkpoint-";

/// What the objects that arrive may be built on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Basis<'a> {
    /// All that is here; the other side hears of these commits.
    Ours(&'a [ObjectId]),
    /// Nothing: what the other side does not send itself is missing.
    Nothing,
}

impl<'a> Basis<'a> {
    /// Returns the commits of which the other side hears that we have them.
    pub(super) fn haves(self) -> &'a [ObjectId] {
        match self {
            Self::Ours(haves) => haves,
            Self::Nothing => &[],
        }
    }
}

/// Objects that have arrived. Dropping this removes them.
#[derive(Debug, Default)]
#[must_use = "the objects are gone when this is dropped"]
pub(crate) struct Received {
    aside: Option<Aside>,
}

#[derive(Debug)]
struct Aside {
    directory: TempDir,
    borrows: bool,
    /// Says that the directory is in use.
    _lock: File,
}

/// Packs that have become part of the repository. While this exists, `git repack` leaves them alone: by then, a ref must lead to
/// what they have.
#[derive(Debug, Default)]
#[must_use = "the objects are kept until this is dropped"]
pub(crate) struct Kept {
    keeps: Vec<Keep>,
}

impl Kept {
    /// Leaves it to git to remove the file that keeps the pack, and returns its path; none if there is not exactly one, or git could not
    /// be given its path as text in a line.
    pub(crate) fn hand_over(&mut self) -> Option<String> {
        let [keep] = &self.keeps[..] else { return None };
        let path = std::path::absolute(keep.path()).ok()?.into_os_string().into_string().ok()?;
        if path.contains('\n') {
            return None;
        }
        self.keeps.pop()?.leave();
        Some(path)
    }
}

impl Received {
    /// Returns an empty place for objects that `repo` receives, which may need those that `basis` says.
    pub(super) fn begin(repo: &Repo, basis: Basis<'_>) -> Result<Self> {
        let what = || "cannot make a place for what the other side sends".to_owned();
        let objects = std::path::absolute(repo.objects_path()).context(Kind::Internal, what)?;
        sweep(&objects);
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&objects).context(Kind::Internal, what)?;
        let lock = File::open(directory.path()).context(Kind::Internal, what)?;
        // Some network file systems know no locks; there, no one removes it either.
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok();
        initialize(directory.path(), Some(repo.object_hash()))?;
        let borrows = matches!(basis, Basis::Ours(_));
        if borrows {
            borrow(&directory.path().join("objects/info"), &objects).context(Kind::Internal, what)?;
        } else {
            include_settings(directory.path(), repo)?;
        }
        Ok(Self { aside: Some(Aside { directory, borrows, _lock: lock }) })
    }

    /// Returns the repository in which git is to store what arrives, and whether that borrows our objects; none if nothing is to arrive.
    pub(super) fn place(&self) -> Option<(&Path, bool)> {
        self.aside.as_ref().map(|aside| (aside.directory.path(), aside.borrows))
    }

    /// Returns the object directory in which git stores what arrives.
    pub(super) fn objects(&self) -> Option<PathBuf> {
        self.aside.as_ref().map(|aside| aside.directory.path().join("objects"))
    }

    /// Refuses what has arrived if it has more than `most` bytes.
    pub(super) fn check_size(&self, most: Option<u64>) -> io::Result<()> {
        self.objects().zip(most).map_or(Ok(()), |(place, most)| refuse_more(&place, most))
    }

    /// Returns a repository that has these objects and, if they may be built on them, those of `repo`; none if nothing has arrived.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn beside(&self, repo: &Repo) -> Result<Option<Repo>> {
        let Some(aside) = &self.aside else { return Ok(None) };
        let mut opened = open(aside.directory.path())?;
        opened.interrupt = repo.interrupt.clone();
        Ok(Some(opened))
    }

    /// Makes the objects part of `repo`.
    ///
    /// # Errors
    /// If a file cannot be moved. What was moved by then is whole.
    pub(crate) fn adopt(self, repo: &Repo) -> Result<Kept> {
        let Some(from) = self.objects() else { return Ok(Kept::default()) };
        let to = repo.objects_path();
        let what = || "cannot store what the other side has sent".to_owned();
        for directory in names(&from).context(Kind::Internal, what)? {
            if directory.len() == 2 && directory.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                move_loose(&from.join(&directory), &to.join(&directory)).context(Kind::Internal, what)?;
            }
        }
        let (from, to) = (from.join("pack"), to.join("pack"));
        std::fs::create_dir_all(&to).context(Kind::Internal, what)?;
        let mut files = names(&from).context(Kind::Internal, what)?;
        let is = |name: &String, end: &str| Path::new(name).extension().is_some_and(|found| found == end);
        let mut keeps = Vec::new();
        for index in files.iter().filter(|name| is(name, "idx")) {
            keeps.extend(Keep::new(&to.join(index))?);
        }
        // Git uses a pack once it has an index.
        files.sort_by_key(|name| is(name, "idx"));
        for name in files.iter().filter(|name| name.starts_with("pack-") && !is(name, "keep")) {
            std::fs::rename(from.join(name), to.join(name)).context(Kind::Internal, what)?;
        }
        File::open(&to).and_then(|directory| directory.sync_all()).context(Kind::Internal, what)?;
        Ok(Kept { keeps })
    }
}

/// Lets the repository whose directory `info` is this one have the objects in the directory `objects`, too.
fn borrow(info: &Path, objects: &Path) -> io::Result<()> {
    // A quoted path may have a line break.
    let mut line = b"\"".to_vec();
    for byte in objects.as_os_str().as_bytes() {
        match byte {
            b'\n' => line.extend(b"\\n"),
            b'"' | b'\\' => line.extend([b'\\', *byte]),
            _ => line.push(*byte),
        }
    }
    line.extend(b"\"\n");
    std::fs::create_dir_all(info)?;
    std::fs::write(info.join("alternates"), line)
}

/// Lets git go to remotes from the repository at `directory` as it does from `repo`: remotes, credentials and proxies are settings.
fn include_settings(directory: &Path, repo: &Repo) -> Result<()> {
    let what = || "cannot let git know the settings of this repository".to_owned();
    let of_worktree =
        (repo.config_bool("extensions.worktreeConfig") == Some(true)).then(|| repo.git_dir().join("config.worktree"));
    for file in [repo.common_dir().join("config")].into_iter().chain(of_worktree) {
        let file = std::path::absolute(file).context(Kind::Internal, what)?;
        let words = ["config", "--file", "config", "--add", "include.path"].map(OsStr::new);
        let words: Vec<&OsStr> = words.into_iter().chain([file.as_os_str()]).collect();
        let output = run_plain_git(directory, &words).context(Kind::Internal, what)?;
        if !output.status.success() {
            return Err(Error::internal(what()).with_cause(output.stderr.trim().to_str_lossy()));
        }
    }
    Ok(())
}

/// Moves the objects in one directory to another, unless they are there.
fn move_loose(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for name in names(from)? {
        if !to.join(&name).exists() {
            std::fs::rename(from.join(&name), to.join(&name))?;
        }
    }
    File::open(to)?.sync_all()
}

/// Returns the names in `directory`, as far as they are text; none if it is not there.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        entries => {
            for entry in entries? {
                names.extend(entry?.file_name().into_string());
            }
        }
    }
    Ok(names)
}

/// Removes what processes have left that were killed while they received objects for the directory `objects`, or before a ref led to
/// these.
pub(super) fn sweep(objects: &Path) {
    for name in names(objects).unwrap_or_default().iter().filter(|name| name.starts_with(PREFIX)) {
        let path = objects.join(name);
        // Its process has a lock on it before there is something in it.
        let Ok(lock) = File::open(&path) else { continue };
        if path.join("HEAD").exists() && flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // What cannot be removed does no harm.
            drop(std::fs::remove_dir_all(&path));
        }
    }
    keep::sweep(&objects.join("pack"), &[]);
}

/// Returns an empty bare repository, for git's questions outside of any, which is gone when the second result is dropped.
///
/// # Errors
/// If it cannot be made.
pub(crate) fn empty_repository() -> Result<(Repo, TempDir)> {
    let directory = tempfile::Builder::new().prefix("git-checkpoint-").tempdir();
    let directory = directory.context(Kind::Internal, || "cannot make a repository".into())?;
    initialize(directory.path(), None)?;
    Ok((open(directory.path())?, directory))
}

fn initialize(directory: &Path, format: Option<gix::hash::Kind>) -> Result<()> {
    let what = || format!("cannot make a repository in '{}'", directory.display());
    let format = format.map(|format| std::ffi::OsString::from_vec(format!("--object-format={format}").into()));
    let words = ["init", "--quiet", "--bare", "--template="].map(OsStr::new);
    let words: Vec<&OsStr> = words.into_iter().chain(format.as_deref()).collect();
    let output = run_plain_git(directory, &words).context(Kind::Internal, what)?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::internal(what()).with_cause(output.stderr.trim().to_str_lossy()))
}

fn open(directory: &Path) -> Result<Repo> {
    Repo::open_nested(directory.to_owned()).ok_or_else(|| Error::internal("cannot open a repository of a moment"))
}
