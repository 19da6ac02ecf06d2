//! Lets git's hooks call us, takes that back, and looks whether it still holds.
//!
//! What others have put there keeps working: it is called first, or it gets one more line. Everything that is written
//! is noted in `hooks.toml`, and taking it back leaves the files of others as they were.

mod script;
mod words;

use std::path::{Path, PathBuf};

use bstr::{BString, ByteVec as _};
use serde::Serialize;

use super::Context;
use crate::{
    error::Result,
    git::{
        Repo,
        hook_managers::{Survey, Way},
        hooks::{Health, Hook},
    },
    model::path_text,
    state::{self, failpoint, hooks::Written, lock::Lock, temporary},
};

/// How [`enable`] does it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The absolute path of the program that hooks call.
    pub program: PathBuf,
    /// True to write into files that the user keeps for a program that manages hooks.
    pub hook_manager: bool,
    /// True to say what would be done, and do nothing.
    pub dry_run: bool,
}

/// What became of one hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Our script was written.
    Installed,
    /// Our script was brought up to date.
    Updated,
    /// Our line was added to a file of the user's.
    Added,
    /// Nothing was to be done.
    Unchanged,
    /// The user has to add a line.
    Todo,
    /// Our script or line was taken away.
    Removed,
    /// Our script was taken away, and what was there before is back.
    Restored,
    /// Something was left because it is not as we wrote it.
    Kept,
}

/// What was done to one hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HookDone {
    /// Its name.
    pub name: String,
    /// What was done.
    pub action: Action,
    /// The file.
    #[serde(serialize_with = "path_text::serialize")]
    pub path: BString,
    /// Where the hook is that was there before.
    #[serde(serialize_with = "serialize_some")]
    pub before: Option<BString>,
    /// The line that the user has to add.
    pub line: Option<String>,
    /// What else there is to say.
    pub note: Option<String>,
    /// True if the line could be added with [`Options::hook_manager`].
    #[serde(skip)]
    pub is_addable: bool,
}

/// The result of [`enable`] and [`disable`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HooksDone {
    /// The version of this shape.
    pub version: u32,
    /// Where git looks for hooks.
    #[serde(serialize_with = "path_text::serialize")]
    pub directory: BString,
    /// The program that manages the hooks here.
    pub manager: Option<String>,
    /// What was done to each hook.
    pub hooks: Vec<HookDone>,
    /// True if nothing was done.
    pub dry_run: bool,
}

impl HooksDone {
    /// Returns true if the user has something left to do, or to look at.
    pub fn is_incomplete(&self) -> bool {
        self.hooks.iter().any(|hook| matches!(hook.action, Action::Todo | Action::Kept))
    }
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(super) fn serialize_some<S: serde::Serializer>(path: &Option<BString>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path_text::escape(path.as_ref())).serialize(serializer)
}

/// Lets git's hooks call us.
///
/// # Errors
/// If git runs no hooks here, or a file cannot be read or written.
pub fn enable(context: &Context, options: &Options) -> Result<HooksDone> {
    let lock = lock(context, options.dry_run)?;
    let survey = context.repo.survey_hooks()?;
    let mut written = state::hooks::read(context.repo.common_dir())?.unwrap_or_default();
    let _lock = lock.map(|lock| sweep(context, lock, &survey, &written));
    let mut hooks = Vec::new();
    for hook in Hook::ALL {
        // What is about to be written is noted first: should we be killed in between, it is known to be ours.
        let done = match survey.way(hook) {
            Way::Script(path) => script::enable(context, hook, &path, options, &mut written)?,
            Way::Words(words) => words::enable(context, hook, &words, options, &mut written)?,
        };
        hooks.push(done);
    }
    if !options.dry_run {
        state::hooks::write(context.repo.common_dir(), &written)?;
    }
    Ok(done(&survey, hooks, options.dry_run))
}

/// Takes back what [`enable`] did; hooks that were there before are as they were.
///
/// # Errors
/// If a file cannot be read or written.
pub fn disable(context: &Context, dry_run: bool) -> Result<HooksDone> {
    let lock = lock(context, dry_run)?;
    let survey = context.repo.survey_hooks()?;
    let mut written = state::hooks::read(context.repo.common_dir())?.unwrap_or_default();
    // Whoever takes the last line out of a file that we have made removes it.
    let made: Vec<PathBuf> = written.iter().filter(|it| it.is_new).map(|it| it.path.clone()).collect();
    for entry in &mut written {
        entry.is_new = made.contains(&entry.path);
    }
    let _lock = lock.map(|lock| sweep(context, lock, &survey, &written));
    let mut hooks = Vec::new();
    for entry in places(&survey, &written) {
        let hook = Hook::parse(&entry.hook);
        let Some(hook) = hook else { continue };
        if let Some(text) = &entry.added {
            hooks.extend(words::disable(hook, &entry, text, dry_run)?);
        } else {
            hooks.extend(script::disable(context, hook, &entry.path, &written, dry_run)?);
        }
        failpoint::hit("hooks:after-removal");
        if !dry_run {
            written.retain(|other| *other != entry);
            state::hooks::write(context.repo.common_dir(), &written)?;
        }
    }
    failpoint::hit("hooks:before-end");
    if !dry_run {
        state::hooks::remove(context.repo.common_dir())?;
    }
    Ok(done(&survey, hooks, dry_run))
}

/// Returns what was written, and what may have been written if nobody remembers.
fn places(survey: &Survey, written: &[Written]) -> Vec<Written> {
    let mut places = written.to_vec();
    for hook in Hook::ALL {
        let (path, added) = match survey.way(hook) {
            Way::Script(path) => (path, None),
            Way::Words(words) => (words.path, Some(words.text)),
        };
        if !places.iter().any(|place| place.hook == hook.name() && place.path == path) {
            places.push(Written { hook: hook.name().into(), path, script: None, added, is_new: false });
        }
    }
    places
}

/// Returns whether git will call us, for each hook in the order of their names; nothing if hooks were never enabled.
pub(crate) fn health(repo: &Repo) -> Result<Vec<(Hook, Health)>> {
    if state::hooks::read(repo.common_dir())?.is_none() {
        return Ok(Vec::new());
    }
    let Ok(survey) = repo.survey_hooks() else {
        return Ok(Hook::ALL.map(|hook| (hook, Health::Missing)).into());
    };
    let health = |hook| match survey.way(hook) {
        Way::Script(path) => script::health(hook, &path),
        Way::Words(words) => words::health(hook, &words),
    };
    Hook::ALL.into_iter().map(|hook| Ok((hook, health(hook)?))).collect()
}

fn lock(context: &Context, dry_run: bool) -> Result<Option<Lock>> {
    if dry_run {
        return Ok(None);
    }
    let directory = state::ensure_directory(context.repo.common_dir())?;
    let go_on = || context.check_interrupt();
    context.repo.remove_dead_locks();
    Lock::acquire(&directory.join("hooks.lock"), context.settings.lock_timeout, &go_on).map(Some)
}

/// Removes what those have left who were killed while they held the lock.
fn sweep(context: &Context, mut lock: Lock, survey: &Survey, written: &[Written]) -> Lock {
    if !lock.dead().is_empty() {
        temporary::sweep(&state::directory(context.repo.common_dir()), lock.dead());
        let mut directories: Vec<PathBuf> =
            places(survey, written).iter().filter_map(|place| Some(place.path.parent()?.to_owned())).collect();
        directories.sort();
        directories.dedup();
        for directory in &directories {
            temporary::sweep(directory, lock.dead());
        }
        lock.forget_dead();
    }
    lock
}

fn done(survey: &Survey, hooks: Vec<HookDone>, dry_run: bool) -> HooksDone {
    let manager = survey.manager.map(|manager| manager.name().to_owned());
    HooksDone { version: 1, directory: bytes(&survey.directory.path), manager, hooks, dry_run }
}

fn bytes(path: &Path) -> BString {
    Vec::from_path_lossy(path).into_owned().into()
}

/// Replaces what is noted about one hook in one file.
fn remember(context: &Context, written: &mut Vec<Written>, entry: Written, dry_run: bool) -> Result<()> {
    if dry_run || written.contains(&entry) {
        return Ok(());
    }
    written.retain(|other| (&other.hook, &other.path) != (&entry.hook, &entry.path));
    written.push(entry);
    state::hooks::write(context.repo.common_dir(), written)
}
