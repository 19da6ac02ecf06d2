//! The worktrees of a repository, as git has registered them (gitrepository-layout(5)).

use std::{
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice as _, ByteVec as _};
use gix::ObjectId;

use super::{Head, Repo, ref_store::RefStore};
use crate::error::{Context as _, Kind, Result};

/// A worktree that git knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Registration {
    /// `main`, or the name of its directory in git's `worktrees` (`worktrees/main` if that is `main`).
    pub(crate) id: BString,
    /// Its root, absolute, byte by byte as git has noted it; of a bare repository, the git directory.
    pub(crate) path: PathBuf,
    /// Its git directory.
    pub(crate) git_dir: PathBuf,
    /// What is there now.
    pub(crate) place: Place,
    /// What its HEAD points to.
    pub(crate) head: Head,
    /// The reason why it is locked (git-worktree(1)), which may be empty; none if it is not.
    pub(crate) lock: Option<BString>,
}

/// What is at the path of a registered worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The worktree: its `.git` names the git directory that names it.
    Worktree,
    /// No worktree: the repository is bare. Only for the first one.
    Bare,
    /// Nothing, or no `.git`.
    Nothing,
    /// A `.git` that names another git directory.
    Other,
}

impl Registration {
    /// Returns true for the main worktree, or the bare repository.
    pub(crate) fn is_main(&self) -> bool {
        self.id == "main"
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

/// Returns what is at `root`, the registered place of the git directory `git_dir`.
fn place(root: &Path, git_dir: &Path) -> Place {
    let dot_git = root.join(".git");
    let Ok(meta) = fs::symlink_metadata(&dot_git) else { return Place::Nothing };
    let real = |path: &Path| fs::canonicalize(path).ok();
    let named = if meta.is_dir() {
        Some(dot_git)
    } else {
        let text = fs::read(&dot_git).unwrap_or_default();
        let named = text.strip_prefix(b"gitdir: ").and_then(|path| path.trim_end().to_path().ok());
        named.map(|named| root.join(named))
    };
    let is_its = named.and_then(|named| real(&named)).is_some_and(|named| Some(named) == real(git_dir));
    if is_its { Place::Worktree } else { Place::Other }
}

impl Repo {
    /// Returns the worktrees that git has registered: the main one (or the bare repository), then the linked ones by their path,
    /// as `git worktree list` does. An entry whose file `gitdir` is missing or empty is left out.
    pub(crate) fn registrations(&self) -> Result<Vec<Registration>> {
        let folder = self.common_dir().join("worktrees");
        let mut linked = Vec::new();
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let entry = entry.context(Kind::Internal, || format!("cannot read '{}'", folder.display()))?;
            let Ok(name) = Vec::from_os_string(entry.file_name()) else { continue };
            let id = if name == b"main" { "worktrees/main".into() } else { BString::from(name) };
            linked.extend(self.registration(id.as_bstr())?);
        }
        linked.sort_by(|one, other| one.path.as_os_str().as_bytes().cmp(other.path.as_os_str().as_bytes()));
        let mut all = vec![self.main_registration()?];
        all.append(&mut linked);
        Ok(all)
    }

    /// Returns the linked worktree `id`; none if git has none.
    pub(crate) fn registration(&self, id: &BStr) -> Result<Option<Registration>> {
        let git_dir = self.git_dir_of(id);
        let gitdir = fs::read(git_dir.join("gitdir")).unwrap_or_default();
        let Some(path) = noted_root(&git_dir, &gitdir) else { return Ok(None) };
        let place = place(&path, &git_dir);
        let lock = fs::read(git_dir.join("locked")).ok().map(|reason| BString::from(reason.trim()));
        let head = self.head_of(id, &git_dir)?;
        Ok(Some(Registration { id: id.to_owned(), path, git_dir, place, head, lock }))
    }

    fn main_registration(&self) -> Result<Registration> {
        let git_dir = fs::canonicalize(self.common_dir())
            .context(Kind::Internal, || format!("cannot find '{}'", self.common_dir().display()))?;
        let is_bare = self.config_bool("core.bare") == Some(true) || !git_dir.ends_with(".git");
        let path = if git_dir.ends_with(".git") { git_dir.parent().unwrap_or(&git_dir) } else { &git_dir };
        let place = if is_bare { Place::Bare } else { Place::Worktree };
        let head = self.head_of("main".into(), &git_dir)?;
        Ok(Registration { id: "main".into(), path: path.to_owned(), git_dir, place, head, lock: None })
    }

    /// Returns what HEAD of the worktree `id` with the git directory `git_dir` points to; nothing if its HEAD cannot be read.
    fn head_of(&self, id: &BStr, git_dir: &Path) -> Result<Head> {
        if self.ref_store == RefStore::Git {
            return self.head_by_git(id);
        }
        let text = fs::read(git_dir.join("HEAD")).unwrap_or_default();
        let Some(name) = text.strip_prefix(b"ref:").map(|name| BString::from(name.trim())) else {
            return Ok(Head { id: ObjectId::from_hex(text.trim()).ok(), branch: None });
        };
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
