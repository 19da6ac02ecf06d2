//! Lets coding agents call us: the files in which they are told to. What is in such a file is the agent's affair, so that
//! whoever calls says what it is to hold; here it is read and written, and remembered so that it can be taken back.
//!
//! Whatever is not ours stays byte for byte, and a file is changed only if it still is as it was read.

mod file;
mod install;

use std::path::{Path, PathBuf};

use bstr::{BString, ByteVec as _};
use serde::Serialize;

use super::{Context, hooks::Action};
use crate::{
    error::{Error, Kind, Result},
    model::path_text,
    state::{self, installed::Installed, lock::Lock},
};

pub use crate::state::agents::Seen;

/// How the text of a file is changed.
pub trait Edit {
    /// Returns the text with our entries, given the one there is.
    fn install(&self, text: Option<&str>) -> Result<String>;
    /// Returns the text without them; none if nothing else was in the file.
    fn uninstall(&self, text: &str) -> Result<Option<String>>;
    /// Returns true if something in `text` is ours.
    fn is_ours(&self, text: &str) -> bool;
    /// Returns false if the whole of `text` is ours, and somebody has edited it.
    fn is_pristine(&self, text: &str) -> bool;
}

/// A file that makes an agent call us.
pub struct Target {
    /// The agent's name.
    pub agent: String,
    /// Whose the file is: `user`, `project` or `local`.
    pub scope: &'static str,
    /// The directory that the scope stands for. All but the user's must not lead out of it.
    pub root: PathBuf,
    /// The file, below that.
    pub name: String,
    /// What it holds.
    pub edit: Box<dyn Edit>,
    /// What is added to the name of a foreign file, which ours runs then; none unless it is a script.
    pub before: Option<&'static str>,
}

impl Target {
    /// Returns the file.
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.name)
    }

    fn real(&self) -> Result<PathBuf> {
        file::real(&self.path(), (self.scope != "user").then_some(self.root.as_path()))
    }

    fn before(&self, path: &Path) -> Option<PathBuf> {
        let mut before = path.as_os_str().to_owned();
        before.push(self.before?);
        Some(before.into())
    }

    fn done(&self, action: Action) -> FileDone {
        FileDone {
            agent: self.agent.clone(),
            scope: self.scope,
            action,
            path: bytes(&self.path()),
            before: None,
            note: None,
        }
    }

    fn is_noted(&self, entry: &Installed) -> bool {
        (entry.path.as_path(), entry.agent.as_str()) == (&self.path(), &self.agent)
    }
}

/// What was done to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileDone {
    /// The agent's name.
    pub agent: String,
    /// Whose the file is.
    pub scope: &'static str,
    /// What was done.
    pub action: Action,
    /// The file.
    #[serde(serialize_with = "path_text::serialize")]
    pub path: BString,
    /// Where the script is that was there before.
    #[serde(serialize_with = "super::hooks::serialize_some")]
    pub before: Option<BString>,
    /// What else there is to say.
    pub note: Option<String>,
}

/// How it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Say what would be done, and do nothing.
    pub dry_run: bool,
    /// A file that cannot be changed is something to do for the user, and not an error.
    pub is_lenient: bool,
}

/// Puts our entries into the files of `targets`.
///
/// # Errors
/// If a file cannot be read, makes no sense, or cannot be written; files that come later are as they were.
pub fn enable(context: &Context, targets: &[Target], options: Options) -> Result<Vec<FileDone>> {
    each(context, targets, options, Action::Todo, install::enable)
}

/// Takes our entries out of the files of `targets`; nothing is said of those without any.
///
/// # Errors
/// As for [`enable`].
pub fn disable(context: &Context, targets: &[Target], options: Options) -> Result<Vec<FileDone>> {
    each(context, targets, options, Action::Kept, install::disable)
}

type Step = fn(&Context, &Target, &mut Vec<Installed>, bool) -> Result<Option<FileDone>>;

fn each(
    context: &Context,
    targets: &[Target],
    options: Options,
    otherwise: Action,
    step: Step,
) -> Result<Vec<FileDone>> {
    let _lock = if options.dry_run || targets.is_empty() { None } else { Some(lock(context, targets)?) };
    let mut installed = state::installed::read(context.repo.common_dir())?;
    let mut done = Vec::new();
    for target in targets {
        context.check_interrupt()?;
        match step(context, target, &mut installed, options.dry_run) {
            Ok(file) => done.extend(file),
            Err(error) if options.is_lenient && error.kind() != Kind::Internal => {
                let causes = error.causes().into_iter().map(|cause| format!(": {cause}")).collect::<String>();
                done.push(FileDone { note: Some(format!("{error}{causes}")), ..target.done(otherwise) });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

fn lock(context: &Context, targets: &[Target]) -> Result<Lock> {
    let directory = state::ensure_directory(context.repo.common_dir())?;
    let go_on = || context.check_interrupt();
    context.repo.remove_dead_locks();
    let mut lock = Lock::acquire(&directory.join("agents.lock"), context.settings.lock_timeout, &go_on)?;
    if !lock.dead().is_empty() {
        state::temporary::sweep(&directory, lock.dead());
        for path in targets.iter().filter_map(|target| target.real().ok()) {
            file::sweep(&path, lock.dead());
        }
        lock.forget_dead();
    }
    Ok(lock)
}

/// Returns the texts of those of `targets` that have something of ours, with their place in the list.
///
/// A file that cannot be read has nothing of ours.
pub fn find(targets: &[Target]) -> Vec<(usize, String)> {
    let text = |target: &Target| {
        let text = file::read(&target.real().ok()?).ok()??;
        target.edit.is_ours(&text).then_some(text)
    };
    targets.iter().enumerate().filter_map(|(at, target)| Some((at, text(target)?))).collect()
}

/// A file that was changed here, as it was noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// The agent's name.
    pub agent: String,
    /// Whose the file is.
    pub scope: String,
    /// The directory that the scope stood for.
    pub root: PathBuf,
    /// The file, below that.
    pub name: String,
}

/// Returns which files were changed in this repository.
pub fn noted(context: &Context) -> Result<Vec<Noted>> {
    let root = |entry: &Installed| {
        let depth = Path::new(&entry.name).components().count();
        entry.path.ancestors().nth(depth).map(Path::to_owned)
    };
    let installed = state::installed::read(context.repo.common_dir())?;
    let noted = installed.into_iter().filter_map(|entry| {
        let root = root(&entry)?;
        Some(Noted { agent: entry.agent, scope: entry.scope, root, name: entry.name })
    });
    Ok(noted.collect())
}

/// Returns what each agent told of last in this repository.
pub fn seen(context: &Context) -> Result<Vec<Seen>> {
    state::agents::seen(context.repo.common_dir())
}

fn bytes(path: &Path) -> BString {
    Vec::from_path_lossy(path).into_owned().into()
}

/// Says which file an error is about.
fn about(path: &Path, error: &Error) -> Error {
    let named = Error::new(error.kind(), format!("cannot change '{}': {error}", path.display()));
    let named = match error.hint() {
        Some(hint) => named.with_hint(hint),
        None => named.with_hint("mend the file, and run it again; nothing was written"),
    };
    error.causes().into_iter().fold(named, Error::with_cause)
}
