//! The worktrees of a repository, as git has registered them (gitrepository-layout(5)).

use std::{
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice as _, ByteVec as _};
use gix::ObjectId;

use super::{
    Head, Repo,
    ordinary::{self, is_gone},
    ref_store::RefStore,
};
use crate::error::{Context as _, Kind, Result};

/// A worktree that git knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Registration {
    /// `main`, or the name of its directory in git's `worktrees` (`worktrees/main` if that is `main`).
    pub(crate) id: BString,
    /// Its root, absolute, byte by byte as git has noted it; the git directory for [`Place::Bare`] and [`Place::Unknown`], and
    /// where the note cannot be read.
    pub(crate) path: PathBuf,
    /// Its git directory.
    pub(crate) git_dir: PathBuf,
    /// What is there now.
    pub(crate) place: Place,
    /// What its HEAD points to.
    pub(crate) head: Head,
    /// The reason why it is locked (git-worktree(1)), which may be empty; none if it is not, or if the system does not let us look
    /// at its lock either: then the place is [`Place::Unreadable`], and git must not forget it.
    pub(crate) lock: Option<BString>,
}

/// What is at the path of a registered worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The worktree: its `.git` names the git directory that names it.
    Worktree,
    /// No worktree: the repository is bare. Only for the first one.
    Bare,
    /// The main worktree is where its `.git` is, a file that names the git directory; git has noted nowhere where that is
    /// (`git init --separate-git-dir`). Only for the first one, seen from another one.
    Unknown,
    /// Nothing, or no `.git`.
    Nothing,
    /// It is not known: the system does not let us look.
    Unreadable,
    /// A `.git` that names another git directory.
    Other,
}

impl Registration {
    /// Returns true for the main worktree, or the bare repository.
    pub(crate) fn is_main(&self) -> bool {
        self.id == "main"
    }

    /// Returns a directory of it in which git can run: its root, or its git directory if it has no root.
    pub(crate) fn directory(&self) -> PathBuf {
        if self.place == Place::Worktree { self.path.clone() } else { self.git_dir.clone() }
    }
}

/// Returns the worktree's root that `gitdir` names, a file in the administrative directory `admin`; none if it names none.
fn noted_root(admin: &Path, gitdir: &[u8]) -> Option<PathBuf> {
    let noted = gitdir.trim_end();
    let root = noted.strip_suffix(b"/.git").unwrap_or(noted);
    let root = root.to_path().ok().filter(|root| !root.as_os_str().is_empty())?;
    if root.is_absolute() {
        return Some(root.to_owned());
    }
    // Git writes it so if `worktree.useRelativePaths` is set.
    let (mut path, mut rest) = (fs::canonicalize(admin).ok()?, root.components());
    for part in &mut rest {
        match part {
            std::path::Component::ParentDir => drop(path.pop()),
            std::path::Component::CurDir => {}
            part => path.push(part),
        }
    }
    Some(path)
}

/// Returns the git directory that the file `.git` in `root` names, as it is written there: it may be relative to `root`. None if
/// it names none.
pub(crate) fn noted_git_dir(root: &Path) -> Option<PathBuf> {
    let text = ordinary::read(&root.join(".git")).ok()?;
    text.strip_prefix(b"gitdir: ").and_then(|path| path.trim_end().to_path().ok()).map(Path::to_owned)
}

/// Returns the git directory that the file `.git` in `root` names; none if it names none.
pub(crate) fn named_git_dir(root: &Path) -> Option<PathBuf> {
    noted_git_dir(root).map(|noted| root.join(noted))
}

/// Returns the common git directory of the worktree `found`, as its file `.git` names it: not by the canonical path, if that file has
/// another one. None if it names none.
pub(crate) fn named_common_dir(found: &Registration) -> Option<PathBuf> {
    let noted = noted_git_dir(&found.path).filter(|noted| noted.is_absolute())?;
    // That of a linked worktree is `worktrees/<id>` in it.
    noted.ancestors().nth(if found.is_main() { 0 } else { 2 }).map(Path::to_owned)
}

/// Returns what is at `root`, the registered place of the git directory `git_dir`.
pub(super) fn place(root: &Path, git_dir: &Path) -> Place {
    let dot_git = root.join(".git");
    let meta = match fs::symlink_metadata(&dot_git) {
        Ok(meta) => meta,
        Err(cause) if is_gone(&cause) => return Place::Nothing,
        Err(_) => return Place::Unreadable,
    };
    let real = |path: &Path| fs::canonicalize(path).ok();
    let named = if meta.is_dir() { Some(dot_git) } else { named_git_dir(root) };
    let is_its = named.and_then(|named| real(&named)).is_some_and(|named| Some(named) == real(git_dir));
    if is_its { Place::Worktree } else { Place::Other }
}

/// What git's configuration says of the main worktree, wherever it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct MainSettings {
    /// `core.worktree`: the root, relative to the git directory.
    worktree: Option<PathBuf>,
    /// `core.bare`.
    is_bare: Option<bool>,
}

impl MainSettings {
    /// Reads them in the common git directory `git_dir` as git does for a repository that it is not in (setup.c): without
    /// includes.
    fn read(git_dir: &Path) -> Self {
        let file =
            |name: &str| gix::config::File::from_path_no_includes(git_dir.join(name), gix::config::Source::Local).ok();
        let common = file("config");
        let boolean = |file: &gix::config::File, key: &str| file.boolean(key).ok().flatten();
        // Git moves both there for the main worktree.
        let is_split = common.as_ref().and_then(|it| boolean(it, "extensions.worktreeConfig")) == Some(true);
        let own = if is_split { file("config.worktree") } else { None };
        let mut settings = Self::default();
        for file in [common, own].iter().flatten() {
            let worktree = file.string("core.worktree").filter(|path| !path.is_empty());
            settings.worktree = worktree.and_then(|path| path.to_path().ok().map(Path::to_owned)).or(settings.worktree);
            settings.is_bare = boolean(file, "core.bare").or(settings.is_bare);
        }
        settings
    }
}

/// Returns the root of the main worktree of the repository with the canonical common directory `git_dir`, and what is there.
/// `opened` is the root if this process works there.
fn main_root(git_dir: &Path, opened: Option<&Path>, settings: &MainSettings) -> (PathBuf, Place) {
    if let Some(root) = opened {
        return (root.to_owned(), Place::Worktree);
    }
    if let Some(root) = settings.worktree.as_ref().map(|root| git_dir.join(root)) {
        let Ok(real) = fs::canonicalize(&root) else { return (root, Place::Nothing) };
        // It need not have a `.git`: `GIT_DIR` may lead to the repository.
        return match place(&real, git_dir) {
            Place::Other => (real, Place::Other),
            _ => (real, Place::Worktree),
        };
    }
    match git_dir.parent().filter(|_| git_dir.ends_with(".git")) {
        Some(root) if settings.is_bare != Some(true) => (root.to_owned(), Place::Worktree),
        _ if settings.is_bare == Some(false) => (git_dir.to_owned(), Place::Unknown),
        // As `git worktree list` shows it.
        root => (root.unwrap_or(git_dir).to_owned(), Place::Bare),
    }
}

impl Repo {
    /// Returns the worktrees that git has registered: the main one (or the bare repository), then the linked ones by their path,
    /// as `git worktree list` does. An entry whose file `gitdir` is missing or empty is left out.
    pub(crate) fn registrations(&self) -> Result<Vec<Registration>> {
        let mut linked = Vec::new();
        for id in self.linked_ids()? {
            linked.extend(self.registration(id.as_bstr())?);
        }
        linked.sort_by(|one, other| one.path.as_os_str().as_bytes().cmp(other.path.as_os_str().as_bytes()));
        let mut all = vec![self.main_registration()?];
        all.append(&mut linked);
        Ok(all)
    }

    /// Returns the ids of the linked worktrees, in no order.
    pub(super) fn linked_ids(&self) -> Result<Vec<BString>> {
        let folder = self.common_dir().join("worktrees");
        let mut ids = Vec::new();
        let what = || format!("cannot read '{}'", folder.display());
        let entries = match fs::read_dir(&folder) {
            Err(cause) if is_gone(&cause) => return Ok(ids),
            entries => entries.context(Kind::Internal, what)?,
        };
        for entry in entries {
            let entry = entry.context(Kind::Internal, what)?;
            let Ok(name) = Vec::from_os_string(entry.file_name()) else { continue };
            ids.push(if name == b"main" { "worktrees/main".into() } else { BString::from(name) });
        }
        Ok(ids)
    }

    /// Returns the root of the linked worktree `id` as git has noted it; none if it has noted none.
    pub(super) fn registered_root(&self, id: &BStr) -> Option<PathBuf> {
        let git_dir = self.git_dir_of(id);
        noted_root(&git_dir, &ordinary::read(&git_dir.join("gitdir")).ok()?)
    }

    /// Returns the linked worktree `id`; none if git has none.
    pub(crate) fn registration(&self, id: &BStr) -> Result<Option<Registration>> {
        let git_dir = self.git_dir_of(id);
        let (path, place) = match ordinary::read(&git_dir.join("gitdir")) {
            Ok(noted) => {
                let Some(path) = noted_root(&git_dir, &noted) else { return Ok(None) };
                let place = place(&path, &git_dir);
                (path, place)
            }
            Err(cause) if is_gone(&cause) => return Ok(None),
            Err(_) => (git_dir.clone(), Place::Unreadable),
        };
        let lock_file = git_dir.join("locked");
        let is_lock_known = place != Place::Unreadable || lock_file.symlink_metadata().is_ok();
        let lock = ordinary::lock_reason(&lock_file).filter(|_| is_lock_known);
        let head = self.head_of(id, &git_dir)?;
        Ok(Some(Registration { id: id.to_owned(), path, git_dir, place, head, lock }))
    }

    fn main_registration(&self) -> Result<Registration> {
        let git_dir = fs::canonicalize(self.common_dir())
            .context(Kind::Internal, || format!("cannot find '{}'", self.common_dir().display()))?;
        // Only a repository with a worktree can be opened.
        let opened = (self.worktree_id() == "main").then(|| self.worktree_root());
        let (path, place) = main_root(&git_dir, opened, &MainSettings::read(&git_dir));
        let head = self.head_of("main".into(), &git_dir)?;
        Ok(Registration { id: "main".into(), path, git_dir, place, head, lock: None })
    }

    /// Returns what HEAD of the worktree `id` with the git directory `git_dir` points to; nothing if its HEAD cannot be read.
    fn head_of(&self, id: &BStr, git_dir: &Path) -> Result<Head> {
        if self.ref_store == RefStore::Git {
            return self.head_by_git(id);
        }
        let head = git_dir.join("HEAD");
        let text = ordinary::read(&head).unwrap_or_default();
        let Some(name) = text.strip_prefix(b"ref:").map(|name| BString::from(name.trim())) else {
            return Ok(Head { id: ObjectId::from_hex(text.trim()).ok(), branch: None });
        };
        if gix::validate::reference::name(name.as_bstr()).is_err() {
            return Ok(Head { id: None, branch: None });
        }
        if ordinary::refuse_endless_ref(&head, self.common_dir()).is_err() {
            return Ok(Head { id: None, branch: Some(name) });
        }
        let id = name.to_str().ok().map(|name| self.find_ref(name)).transpose()?.flatten();
        Ok(Head { id, branch: Some(name) })
    }

    /// The same where only git can read the refs.
    fn head_by_git(&self, id: &BStr) -> Result<Head> {
        let name = match id.strip_prefix(b"worktrees/").unwrap_or(id).to_str_lossy() {
            _ if id == "main" => "main-worktree/HEAD".to_owned(),
            name => format!("worktrees/{name}/HEAD"),
        };
        let branch = self.try_git(&["symbolic-ref", "-q", &name], None)?;
        let branch = branch.status.success().then(|| branch.stdout.trim().into());
        Ok(Head { id: self.find_ref(&name)?, branch })
    }
}
