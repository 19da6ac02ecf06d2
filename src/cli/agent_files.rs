//! Which files make which agent call us: joins what `agent` knows of them with what `ops` does to them.

use std::path::{Path, PathBuf};

use super::environment;
use crate::{
    agent::{
        dialect::Dialect,
        dialects::{ALL, named},
        install::{BEFORE, File, Format, IN_PATH, Scope, command},
    },
    error::{Context as _, Error, Kind, Result},
    ops::{
        Context,
        agent_hooks::{self, Edit, Elsewhere, Noted, Seen, Target},
    },
};

/// One file of an agent, and the command that it is to run.
struct OfAgent {
    file: &'static File,
    command: String,
}

impl Edit for OfAgent {
    fn install(&self, text: Option<&str>) -> Result<String> {
        self.file.install(text, &self.command)
    }

    fn uninstall(&self, text: &str) -> Result<Option<String>> {
        self.file.uninstall(text)
    }

    fn is_ours(&self, text: &str) -> bool {
        self.file.is_ours(text)
    }

    fn is_pristine(&self, text: &str) -> bool {
        self.file.is_pristine(text)
    }
}

/// Where the files are.
pub(super) struct Places {
    home: Option<PathBuf>,
    worktree: PathBuf,
    /// The list of the repositories in which we are enabled; none without a home directory.
    pub(super) repositories: Option<PathBuf>,
    /// The program that agents call.
    pub(super) program: PathBuf,
}

/// An agent's file that calls us.
pub(super) struct Enabled {
    pub(super) dialect: &'static Dialect,
    pub(super) file: &'static File,
    pub(super) target: Target,
    pub(super) text: String,
    /// The last event that the agent reported in this repository.
    pub(super) seen: Option<Seen>,
}

/// Returns the home directory. Git, too, looks for no other one if HOME is not set.
fn home() -> Option<PathBuf> {
    environment::variable("HOME").map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Returns the list of the repositories in which we are enabled; none without a home directory.
pub(super) fn repositories() -> Option<PathBuf> {
    // The XDG base directory specification: a relative path is to be ignored.
    let state = environment::variable("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(home()?.join(".local/state")));
    state.map(|state| state.join(agent_hooks::REPOSITORIES))
}

impl Places {
    pub(super) fn new(context: &Context) -> Result<Self> {
        let worktree = context.repo.worktree_root().to_owned();
        Ok(Self { home: home(), worktree, repositories: repositories(), program: program()? })
    }

    /// Checks that the agents' settings can be found, and that the program's path can be written to them.
    ///
    /// # Errors
    /// If there is no home directory, or if the program's path is not UTF-8, which JSON requires.
    pub(super) fn require(&self) -> Result<()> {
        if self.home.is_none() {
            return Err(Error::user("cannot find agent settings: HOME is not set").with_hint("set 'HOME'"));
        }
        if self.program.to_str().is_none() {
            let message = format!("the path of the program, '{}', is not UTF-8", self.program.display());
            return Err(Error::user(message).with_hint("install it elsewhere"));
        }
        Ok(())
    }

    /// Returns the files of `dialect` in `scope`; none: in all of them.
    pub(super) fn targets(&self, dialect: &'static Dialect, scope: Option<Scope>) -> Vec<Target> {
        let files = dialect.files.iter().filter(|file| scope.is_none_or(|scope| file.scope == scope));
        files.filter_map(|file| self.target(dialect, file)).collect()
    }

    fn target(&self, dialect: &'static Dialect, file: &'static File) -> Option<Target> {
        let moved = file.relocated.and_then(|(name, path)| {
            let root = environment::variable(name).map(PathBuf::from).filter(|root| root.is_absolute())?;
            Some((root, path))
        });
        let (root, name) = match (file.scope, moved) {
            (Scope::User, Some(moved)) => moved,
            (Scope::User, None) => (self.home.clone()?, file.path),
            (Scope::Project | Scope::Local, _) => (self.worktree.clone(), file.path),
        };
        Some(self.at(dialect, file, root, name))
    }

    fn at(&self, dialect: &'static Dialect, file: &'static File, root: PathBuf, name: &str) -> Target {
        let is_script = matches!(file.format, Format::Script);
        // What is committed with the project runs on other machines, too.
        let is_of_project = file.scope == Scope::Project;
        let program = if is_of_project { IN_PATH.into() } else { self.program.to_string_lossy() };
        Target {
            agent: dialect.name.to_owned(),
            scope: file.scope.as_str(),
            root,
            name: name.to_owned(),
            edit: Box::new(OfAgent { file, command: command(&program, dialect.name) }),
            before: is_script.then_some(BEFORE),
        }
    }

    /// Returns the file that was noted, if that is one that an agent has.
    pub(super) fn noted(&self, noted: &Noted) -> Option<Target> {
        let dialect = named(&noted.agent)?;
        let is_it = |file: &&File| {
            let is_named = file.path == noted.name || file.relocated.is_some_and(|(_, path)| path == noted.name);
            is_named && file.scope.as_str() == noted.scope
        };
        let file = dialect.files.iter().find(is_it)?;
        Some(self.at(dialect, file, noted.root.clone(), &noted.name))
    }

    /// Returns true if the agent is on this machine: one of its programs, or a folder that it keeps.
    pub(super) fn is_installed(&self, dialect: &Dialect) -> bool {
        let has_home = |home: &&str| self.home.as_ref().is_some_and(|user| user.join(home).is_dir());
        dialect.programs.iter().any(|name| find_program(name).is_some()) || dialect.homes.iter().any(has_home)
    }

    /// Returns all files of all agents, for the user and in this worktree, that call us.
    pub(super) fn enabled(&self, context: &Context) -> Result<Vec<Enabled>> {
        let seen = agent_hooks::seen(context)?;
        let mut known = Vec::new();
        for dialect in ALL {
            for file in dialect.files {
                known.extend(self.target(dialect, file).map(|target| (dialect, file, target)));
            }
        }
        let (kinds, targets): (Vec<_>, Vec<_>) =
            known.into_iter().map(|(dialect, file, target)| ((dialect, file), target)).unzip();
        let mut texts: std::collections::BTreeMap<usize, String> = agent_hooks::find(&targets).into_iter().collect();
        let enabled = kinds.into_iter().zip(targets).enumerate().filter_map(|(at, ((dialect, file), target))| {
            let text = texts.remove(&at)?;
            let seen = seen.iter().find(|seen| seen.agent == dialect.name).cloned();
            Some(Enabled { dialect, file, target, text, seen })
        });
        Ok(enabled.collect())
    }

    /// Returns the agents that call us in another worktree of the repository, and not here, where `enabled` do.
    pub(super) fn elsewhere(&self, context: &Context, enabled: &[Enabled]) -> Result<Vec<Elsewhere>> {
        let here = enabled.iter().map(|it| it.dialect.name).collect();
        let calls = |noted: &Noted| self.noted(noted).is_some_and(|target| !agent_hooks::find(&[target]).is_empty());
        agent_hooks::elsewhere(context, &here, calls)
    }

    /// Returns the agents that call us in a worktree of the repository of `context`, and not in a copy of it, where `enabled` do.
    pub(super) fn elsewhere_than_copy(&self, context: &Context, enabled: &[Enabled]) -> Result<Vec<Elsewhere>> {
        let there = enabled.iter().map(|it| it.dialect.name).collect();
        let calls = |noted: &Noted| self.noted(noted).is_some_and(|target| !agent_hooks::find(&[target]).is_empty());
        agent_hooks::elsewhere_than_copy(context, &there, calls)
    }

    /// Returns the other repositories on this machine in which we are enabled.
    pub(super) fn other_repositories(&self, context: &Context) -> Result<Vec<PathBuf>> {
        let Some(file) = &self.repositories else { return Ok(Vec::new()) };
        agent_hooks::other_repositories(context, file)
    }

    /// Notes whether we are enabled in this repository; returns what to say if that fails.
    pub(super) fn note_repository(&self, context: &Context) -> Option<String> {
        let error = agent_hooks::note_repository(context, self.repositories.as_ref()?).err()?;
        let cause = error.causes().into_iter().map(|cause| format!(": {cause}")).collect::<String>();
        Some(format!("other repositories do not know of this one when they disable agents: {error}{cause}"))
    }

    /// Returns `path` as people know it: relative to the worktree, or to the home directory.
    pub(super) fn shown(&self, path: &Path) -> String {
        if let Ok(rest) = path.strip_prefix(&self.worktree) {
            return rest.display().to_string();
        }
        match self.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        }
    }
}

/// Returns the scopes that an agent's files have, the most private first.
pub(super) fn scopes(dialect: &Dialect) -> Vec<Scope> {
    let has = |scope: &Scope| dialect.files.iter().any(|file| file.scope == *scope);
    [Scope::Local, Scope::User, Scope::Project].into_iter().filter(has).collect()
}

/// Returns the program `name` that a shell would find.
pub(super) fn find_program(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let paths = environment::variable("PATH").unwrap_or_default();
    let is_program =
        |path: &PathBuf| path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    std::env::split_paths(&paths)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(is_program)
}

/// Returns the path of the program for hooks: the one that the shell finds, if that is the running program. A package
/// manager replaces the file behind that path, but not the path.
pub(super) fn program() -> Result<PathBuf> {
    let running = std::env::current_exe().context(Kind::Internal, || "cannot tell where the program is".to_owned())?;
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    Ok(find_program("git-checkpoint").filter(|found| real(found) == real(&running)).unwrap_or(running))
}

/// Returns the named agents; clap accepts no other names.
pub(super) fn all_named(names: &[String]) -> Result<Vec<&'static Dialect>> {
    let mut dialects: Vec<&'static Dialect> = Vec::new();
    for name in names {
        let dialect = named(name).ok_or_else(|| Error::user(format!("unknown agent '{name}'")))?;
        if !dialects.iter().any(|other| other.name == dialect.name) {
            dialects.push(dialect);
        }
    }
    Ok(dialects)
}
