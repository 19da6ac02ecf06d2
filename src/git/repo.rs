//! A repository with a worktree: opens it, and returns its paths and settings.
//!
//! The other files of `git` extend [`Repo`] by topic.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, Weak, atomic::AtomicBool},
};

use bstr::{BStr, BString, ByteSlice as _, ByteVec as _};
use gix::ObjectId;

use super::{
    abbreviation::Abbreviation,
    counter::Counter,
    environment::{self, Heeded},
    found_lock::FoundLock,
    interrupt::Interrupt,
    ordinary,
    own_directories::OwnDirectories,
    presence::may_exist,
    recorder::Recorder,
    ref_store::RefStore,
    settled_packs::SettledPack,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::{head_move::LogEnd, path_text::shell_word},
};

/// How many bytes of objects are cached after reading.
const OBJECT_CACHE: usize = 8 << 20;

/// Names of refs, shared by all that work on a repository.
pub(crate) type RefNames = std::sync::Arc<std::sync::Mutex<std::collections::BTreeSet<String>>>;

/// Returns the id of the linked worktree that git calls `name`, which may be `main`, too.
pub(super) fn id_of_linked(name: impl Into<BString>) -> BString {
    let name: BString = name.into();
    if name == "main" { "worktrees/main".into() } else { name }
}

/// A repository with a worktree.
pub struct Repo {
    pub(super) inner: gix::Repository,
    pub(super) root: PathBuf,
    pub(super) worktree_id: BString,
    /// Where in the worktree git keeps this repository, except in `.git`.
    pub(crate) own_directories: OwnDirectories,
    pub(super) ref_store: RefStore,
    /// Which of the caller's `GIT_*` variables affect us, and the git that we run.
    pub(super) heeds: Heeded,
    /// The common directories of the repositories in whose worktrees this one is.
    pub(super) above: Vec<PathBuf>,
    /// The packs that git may collect object by object, listed when first needed.
    pub(super) packs: std::cell::OnceCell<Vec<SettledPack>>,
    /// How ids are abbreviated, once one was.
    pub(super) abbreviation: std::cell::OnceCell<Arc<Abbreviation>>,
    /// True once stored objects were found to be damaged.
    pub(super) distrusts_objects: std::cell::Cell<bool>,
    /// The time, since 1970, that files of objects get which we rely on; none: that of the moment. See
    /// [`touch`](super::settled_packs::touch).
    pub(super) touch_time: std::cell::Cell<Option<std::time::Duration>>,
    /// Another program's lock for which we waited in vain.
    pub(super) lost_patience: std::cell::RefCell<Option<FoundLock>>,
    /// What says which refs were skipped, and why.
    pub(super) skipped_refs: RefNames,
    /// Refs that were found to lead to something that cannot be read.
    pub(super) damaged_refs: RefNames,
    /// What HEAD was when the current operation first read it.
    pub(super) seen_head: std::cell::RefCell<Weak<SeenHead>>,
    /// What the operation log will record about the current operation.
    pub(super) recorder: Recorder,
    /// Interrupts the current operation.
    pub(super) interrupt: Interrupt,
    /// Counts what the current operation has done.
    pub(super) counter: Arc<Counter>,
}

/// Returns true if `dir` is the worktree of `repo`: `GIT_DIR` names the repository, and nothing names its worktree. So git has it.
/// Hooks that git runs in the git directory itself keep the worktree beside that.
fn is_worktree_here(repo: &gix::Repository, dir: &Path) -> bool {
    let is_set = |name| environment::variable(name).is_some_and(|value| !value.is_empty());
    if !is_set("GIT_DIR") || is_set("GIT_WORK_TREE") {
        return false;
    }
    let config = repo.config_snapshot();
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_named = config.string("core.worktree").is_some() || config.boolean("core.bare") == Some(true);
    !is_named && !real(dir).starts_with(real(repo.git_dir())) && !real(dir).starts_with(real(repo.common_dir()))
}

/// What HEAD points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The commit; none if HEAD is unborn.
    pub id: Option<ObjectId>,
    /// The full name of the branch; none if HEAD is detached.
    pub branch: Option<BString>,
}

/// What HEAD was when it was first asked for, and where its reflog ended then.
#[derive(Debug, Default)]
pub(crate) struct SeenHead(pub(super) OnceLock<(Head, Option<LogEnd>)>);

impl Repo {
    /// Opens the repository that contains `dir`, regardless of `GIT_*` variables.
    ///
    /// # Errors
    /// If there is none, or it is bare, not trusted, or uses an unknown git extension.
    pub fn open(dir: &Path) -> Result<Self> {
        let dir = &absolute(dir)?;
        let found = gix::ThreadSafeRepository::discover_opts(
            dir,
            gix::discover::upwards::Options::default(),
            trust_map(&[], Heeded::Nothing),
        );
        Self::check(found, dir, Heeded::Nothing)?.with_worktree()
    }

    /// Opens the repository that `dir` is in, or that `GIT_DIR` and related variables name, as git does.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if the environment redirects the object directory.
    pub fn open_from_environment(dir: &Path) -> Result<Self> {
        Self::open_for_logs(dir)?.with_worktree()
    }

    /// The same for the logs of records alone: a bare repository will do, whose git directory stands for the worktree.
    pub(crate) fn open_for_logs(dir: &Path) -> Result<Self> {
        let dir = &absolute(dir)?;
        let found = gix::ThreadSafeRepository::discover_with_environment_overrides_opts(
            dir,
            gix::discover::upwards::Options { match_ceiling_dir_or_error: false, ..Default::default() },
            trust_map(&environment::config_parameters()?, Heeded::All),
        );
        environment::refuse_redirected_objects(found.as_ref().ok().map(gix::ThreadSafeRepository::objects_dir))?;
        Self::check(found, dir, Heeded::All)
    }

    /// Returns this repository, if it has a worktree.
    fn with_worktree(self) -> Result<Self> {
        if self.inner.workdir().is_some() {
            return Ok(self);
        }
        Err(Error::user("a bare repository has no worktree to checkpoint")
            .with_hint("run it in a worktree: 'git worktree add <path>' makes one"))
    }

    fn check(found: gix::Result<gix::ThreadSafeRepository>, dir: &Path, heeds: Heeded) -> Result<Self> {
        let inner = match found {
            Ok(repo) => {
                let mut repo = repo.to_thread_local();
                super::user_rules::name_user_files(&mut repo)?;
                if heeds == Heeded::All && is_worktree_here(&repo, dir) {
                    repo.set_workdir(dir.to_owned())
                        .context(Kind::User, || format!("cannot use the worktree '{}'", dir.display()))?;
                }
                // An operation reads the same trees several times.
                repo.object_cache_size_if_unset(OBJECT_CACHE);
                repo
            }
            Err(cause) if Self::is_inside_repository(dir) => {
                return Err(Error::user(format!("cannot open the repository of '{}'", dir.display())).with_cause(cause));
            }
            Err(_) => {
                return Err(Error::user("not a git repository (or any of the parent directories): .git")
                    .with_hint("'git init' makes one here; 'git checkpoint -C <path>' looks elsewhere"));
            }
        };
        if inner.git_dir_trust() != gix::sec::Trust::Full {
            let root = inner.workdir().unwrap_or_else(|| inner.git_dir());
            // Git compares with the full path.
            let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned()).display().to_string();
            let word = shell_word(&root);
            return Err(Error::user(format!("detected dubious ownership in repository at '{root}'"))
                .with_hint(format!("'git config --global --add safe.directory {word}' trusts it")));
        }
        let root = inner.workdir().unwrap_or_else(|| inner.git_dir());
        let what = || format!("cannot find the worktree '{}'", root.display());
        let root = std::fs::canonicalize(root).context(Kind::User, what)?;
        environment::refuse_unknown_extensions(&inner)?;
        let worktree_id = inner
            .worktree()
            .and_then(|tree| tree.id().ok().flatten().map(ToOwned::to_owned))
            .map_or_else(|| "main".into(), id_of_linked);
        let own_directories = match inner.workdir() {
            Some(_) => OwnDirectories::find(&root, inner.git_dir(), inner.common_dir())?,
            None => OwnDirectories::default(),
        };
        Ok(Self::of(inner, root, worktree_id, own_directories, heeds))
    }

    fn of(
        inner: gix::Repository,
        root: PathBuf,
        worktree_id: BString,
        own_directories: OwnDirectories,
        heeds: Heeded,
    ) -> Self {
        Self {
            ref_store: RefStore::of(&inner),
            inner,
            root,
            worktree_id,
            own_directories,
            heeds,
            above: Vec::new(),
            packs: std::cell::OnceCell::new(),
            abbreviation: std::cell::OnceCell::new(),
            distrusts_objects: std::cell::Cell::new(false),
            touch_time: std::cell::Cell::default(),
            lost_patience: std::cell::RefCell::default(),
            skipped_refs: RefNames::default(),
            damaged_refs: RefNames::default(),
            seen_head: std::cell::RefCell::default(),
            recorder: Recorder::default(),
            interrupt: Interrupt::default(),
            counter: Arc::default(),
        }
    }

    /// Opens the repository whose worktree is exactly `dir`, a directory inside this worktree, to work in it: git has to trust it,
    /// and of the `GIT_*` variables only the user's name and the dates count.
    ///
    /// # Errors
    /// As [`open`](Self::open); if git would take another directory for its worktree.
    pub(super) fn open_below(&self, dir: &Path) -> Result<Self> {
        let heeds = if self.heeds == Heeded::Nothing { Heeded::Nothing } else { Heeded::Identity };
        let options = gix::discover::upwards::Options::default();
        let found = gix::ThreadSafeRepository::discover_opts(dir, options, trust_map(&[], heeds));
        let mut below = Self::check(found, dir, heeds)?.with_worktree()?;
        // `dir` is not resolved: a symbolic link that took its place meanwhile leads elsewhere.
        if dir != below.root {
            let cause = if below.root == self.root {
                "its '.git' is damaged".to_owned()
            } else {
                format!("its worktree would be '{}'", below.root.display())
            };
            return Err(Error::user("git cannot open it").with_cause(cause));
        }
        below.above = self.above.iter().cloned().chain(std::fs::canonicalize(self.common_dir())).collect();
        below.interrupt = self.interrupt.clone();
        below.recorder = self.recorder.of_command();
        Ok(below)
    }

    /// Opens the repository whose worktree is exactly `path`, to read its HEAD.
    pub(super) fn open_nested(path: PathBuf) -> Option<Self> {
        let inner = gix::open_opts(&path, options(gix::sec::Trust::Full, Heeded::Nothing)).ok()?;
        // Only its HEAD is read.
        Some(Self::of(inner, path, "main".into(), OwnDirectories::default(), Heeded::Nothing))
    }

    /// Returns what counts the files of the current operation.
    pub(crate) fn counter(&self) -> &Arc<Counter> {
        &self.counter
    }

    /// Makes long operations end with an error once `flag` is set.
    pub fn interrupt_by(&mut self, flag: Arc<AtomicBool>) {
        self.interrupt = self.interrupt.now_by(flag);
    }

    /// Returns an error once the operation is interrupted; it names what the operation was waiting for. Long loops call
    /// it between two steps.
    pub(crate) fn check_interrupt(&self) -> Result<()> {
        self.interrupt.check()
    }

    /// Returns true if `dir` or one above it has a `.git`.
    pub(crate) fn is_inside_repository(dir: &Path) -> bool {
        let Ok(dir) = std::fs::canonicalize(dir) else { return false };
        dir.ancestors().any(|ancestor| may_exist(&ancestor.join(".git")))
    }

    /// Returns the canonical path of the worktree.
    pub fn worktree_root(&self) -> &Path {
        &self.root
    }

    /// Returns the git directory of this worktree.
    pub fn git_dir(&self) -> &Path {
        self.inner.git_dir()
    }

    /// Returns the git directory that all worktrees share.
    pub fn common_dir(&self) -> &Path {
        self.inner.common_dir()
    }

    /// Returns `main`, or git's id of this linked worktree (`worktrees/main` if that is `main`).
    pub fn worktree_id(&self) -> &BStr {
        self.worktree_id.as_bstr()
    }

    /// Returns true if the linked worktree `id` was removed, or its directory is gone.
    pub(crate) fn has_lost_worktree(&self, id: &BStr) -> bool {
        if id == "main" {
            return false;
        }
        self.dot_git_of(id).is_none_or(|file| !file.exists())
    }

    /// Returns the path of the linked worktree `id`; none if it does not exist, or is the main worktree.
    pub(crate) fn linked_worktree(&self, id: &BStr) -> Option<PathBuf> {
        if id == "main" {
            return None;
        }
        self.dot_git_of(id)?.parent().map(Path::to_owned)
    }

    /// Returns the git directory of the worktree `id`, `main` or a linked one (gitrepository-layout(5)); it need not be there.
    pub(crate) fn git_dir_of(&self, id: &BStr) -> PathBuf {
        if id == "main" {
            return self.common_dir().to_owned();
        }
        let name = id.strip_prefix(b"worktrees/").unwrap_or(id);
        self.common_dir().join("worktrees").join(name.to_path_lossy())
    }

    /// Returns the file `.git` of the linked worktree `id`, as git has noted it.
    fn dot_git_of(&self, id: &BStr) -> Option<PathBuf> {
        let admin = self.git_dir_of(id);
        let target = ordinary::read(&admin.join("gitdir")).unwrap_or_default();
        // The path may be relative to the administrative directory.
        (!target.is_empty()).then(|| admin.join(target.trim_end().to_path_lossy()))
    }

    /// Returns the hash function of this repository.
    pub fn object_hash(&self) -> gix::hash::Kind {
        self.inner.object_hash()
    }

    /// Returns the id of the tree without entries.
    pub fn empty_tree_id(&self) -> ObjectId {
        ObjectId::empty_tree(self.object_hash())
    }

    /// Returns the last value of the git setting `key`, for example `core.pager`.
    pub fn config_value(&self, key: &str) -> Option<BString> {
        self.inner.config_snapshot().string(key)
    }

    /// Returns true if sparse checkout leaves files out of the worktree.
    pub(crate) fn is_sparse(&self) -> bool {
        self.config_bool("core.sparseCheckout") == Some(true)
    }

    /// Returns the boolean git setting `key`; none if it is not set or not a boolean.
    pub fn config_bool(&self, key: &str) -> Option<bool> {
        self.inner.config_snapshot().boolean(key)
    }

    /// Returns how many bytes are free on the file system of the object database; none if that is unknown.
    pub(crate) fn free_space(&self) -> Option<u64> {
        let stat = rustix::fs::statvfs(self.inner.objects.store_ref().path()).ok()?;
        Some(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    /// Returns the path of the current directory inside the worktree, with final `/`; empty at the root or outside.
    pub fn prefix(&self, current_dir: &Path) -> BString {
        let Ok(current) = std::fs::canonicalize(current_dir) else { return BString::default() };
        match current.strip_prefix(&self.root) {
            Ok(inside) if inside.as_os_str().is_empty() => BString::default(),
            Ok(inside) => {
                let mut prefix: BString = Vec::from_path_lossy(inside).into_owned().into();
                prefix.push(b'/');
                prefix
            }
            Err(_) => BString::default(),
        }
    }
}

/// Returns the absolute path of `dir`: git runs in another directory, and the current one may be removed.
fn absolute(dir: &Path) -> Result<PathBuf> {
    std::path::absolute(dir).context(Kind::User, || format!("cannot find '{}'", dir.display()))
}

/// Returns the options for opening a repository at each level of trust.
fn trust_map(parameters: &[BString], heeds: Heeded) -> gix::sec::trust::Mapping<gix::open::Options> {
    let options = |trust| options(trust, heeds).cli_overrides(parameters.to_vec());
    gix::sec::trust::Mapping { full: options(gix::sec::Trust::Full), reduced: options(gix::sec::Trust::Reduced) }
}

fn options(trust: gix::sec::Trust, heeds: Heeded) -> gix::open::Options {
    use gix::sec::trust::DefaultForLevel as _;
    let mut permissions = gix::open::Permissions::default_for_level(trust);
    if heeds != Heeded::All {
        permissions.env.git_prefix = gix::sec::Permission::Deny;
        permissions.env.identity = gix::sec::Permission::Deny;
        permissions.env.objects = gix::sec::Permission::Deny;
    }
    // With nanoseconds in the stats, files saved within the same second need not be read again. Replacement objects
    // (git-replace(1)) are ignored: their content does not match their id, so no tree may be built on them.
    gix::open::Options::default_for_level(trust)
        .permissions(permissions)
        .config_overrides(["gitoxide.core.useNsec=true", "core.useReplaceRefs=false"])
}
