//! Installs our calls in git's hooks, removes them, and checks that they are still there.
//!
//! Foreign hooks keep working: we call them first, or add a line to them. All that is written is noted in `hooks.toml`,
//! and removing it leaves foreign files as they were.

mod manager_lines;
mod outcome;
mod script;

use std::path::PathBuf;

use super::Context;
use crate::{
    error::Result,
    git::{
        hook_managers::{Survey, Way},
        hooks::{Health, Hook},
    },
    state::{self, failpoint, hooks::Written, lock::Lock, temporary},
};

pub(crate) use outcome::{Action, HookDone, HooksDone, Options};
pub(super) use outcome::{bytes, serialize_some};

/// Installs our calls in git's hooks.
///
/// # Errors
/// If git runs no hooks here, or a file cannot be read or written.
pub(crate) fn enable(context: &Context, options: &Options) -> Result<HooksDone> {
    let lock = lock(context, options.dry_run)?;
    let survey = context.repo.survey_hooks()?;
    let mut written = state::hooks::read(context.repo.common_dir())?.unwrap_or_default();
    let _lock = lock.map(|lock| sweep(context, lock, &survey, &written));
    let mut hooks = Vec::new();
    let is_wanted = |hook: Hook| Hook::wanted(context.settings.push.auto).any(|wanted| wanted == hook);
    for entry in written.clone() {
        // A setting has changed since.
        if Hook::parse(&entry.hook).is_some_and(|hook| !is_wanted(hook)) {
            hooks.extend(take_out(context, &entry, &mut written, options.dry_run)?);
        }
    }
    for hook in Hook::wanted(context.settings.push.auto) {
        // Note the file before writing it: if a crash comes in between, the next run knows that the file is ours.
        let done = match survey.way(hook) {
            Way::Script(path) => script::enable(context, hook, &path, options, &mut written)?,
            Way::Words(words) => manager_lines::enable(context, hook, &words, options, &mut written)?,
        };
        hooks.push(done);
    }
    if !options.dry_run {
        state::hooks::write(context.repo.common_dir(), &written)?;
    }
    Ok(done(&survey, hooks, options.dry_run))
}

/// Undoes what [`enable`] did, so that the earlier hooks are as before.
///
/// # Errors
/// If a file cannot be read or written.
pub(crate) fn disable(context: &Context, dry_run: bool) -> Result<HooksDone> {
    let lock = lock(context, dry_run)?;
    let survey = context.repo.survey_hooks()?;
    let mut written = state::hooks::read(context.repo.common_dir())?.unwrap_or_default();
    // If we created the file, removing the last line removes the file.
    let made: Vec<PathBuf> = written.iter().filter(|it| it.is_new).map(|it| it.path.clone()).collect();
    for entry in &mut written {
        entry.is_new = made.contains(&entry.path);
    }
    let _lock = lock.map(|lock| sweep(context, lock, &survey, &written));
    let mut hooks = Vec::new();
    for entry in places(&survey, &written) {
        hooks.extend(take_out(context, &entry, &mut written, dry_run)?);
    }
    failpoint::hit("hooks:before-end");
    if !dry_run {
        state::hooks::remove(context.repo.common_dir())?;
    }
    Ok(done(&survey, hooks, dry_run))
}

/// Undoes what `entry` notes, one of those that were `written`.
fn take_out(context: &Context, entry: &Written, written: &mut Vec<Written>, dry_run: bool) -> Result<Option<HookDone>> {
    let Some(hook) = Hook::parse(&entry.hook) else { return Ok(None) };
    let done = match &entry.added {
        Some(text) => manager_lines::disable(hook, entry, text, dry_run)?,
        None => script::disable(context, hook, &entry.path, written, dry_run)?,
    };
    failpoint::hit("hooks:after-removal");
    if !dry_run {
        written.retain(|other| other != entry);
        state::hooks::write(context.repo.common_dir(), written)?;
    }
    Ok(done)
}

/// Returns the files that our notes name, and those that we may have written if the notes are lost.
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
pub(crate) fn health(context: &Context) -> Result<Vec<(Hook, Health)>> {
    let (repo, hooks) = (&context.repo, Hook::wanted(context.settings.push.auto));
    if state::hooks::read(repo.common_dir())?.is_none() {
        return Ok(Vec::new());
    }
    let Ok(survey) = repo.survey_hooks() else {
        return Ok(hooks.map(|hook| (hook, Health::Missing)).collect());
    };
    let health = |hook| match survey.way(hook) {
        Way::Script(path) => script::health(hook, &path),
        Way::Words(words) => manager_lines::health(hook, &words),
    };
    hooks.map(|hook| Ok((hook, health(hook)?))).collect()
}

/// Returns the hooks that were installed, and that no setting needs any more.
pub(crate) fn unneeded(context: &Context) -> Result<Vec<Hook>> {
    let written = state::hooks::read(context.repo.common_dir())?.unwrap_or_default();
    let is_unneeded = |hook: &Hook| Hook::wanted(context.settings.push.auto).all(|wanted| wanted != *hook);
    Ok(written.iter().filter_map(|entry| Hook::parse(&entry.hook)).filter(is_unneeded).collect())
}

/// Returns the hooks that are another program's or the user's, and to which the user has to add the line that calls us. None where
/// they cannot be looked at: `enable` says why.
pub(crate) fn lines_to_add(context: &Context) -> Vec<HookDone> {
    let done = enable(context, &Options { dry_run: true, ..Options::default() });
    let hooks = done.map(|done| done.hooks).unwrap_or_default();
    hooks.into_iter().filter(|hook| hook.action == Action::Todo && hook.line.is_some()).collect()
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

/// Removes what killed processes left behind while they held the lock.
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
