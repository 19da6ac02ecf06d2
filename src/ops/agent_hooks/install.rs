//! Installs or removes the entries in one file of an agent.

use std::path::Path;

use super::{
    exclude, file,
    target::{FileDone, Target, about},
};
use crate::{
    error::{Error, Result},
    ops::{
        Context,
        hooks::{Action, bytes},
    },
    state::{
        failpoint,
        installed::{self, Installed},
    },
};

pub(super) fn enable(
    context: &Context,
    target: &Target,
    installed: &mut Vec<Installed>,
    dry_run: bool,
) -> Result<Option<FileDone>> {
    let path = target.real()?;
    let old = file::read(&path)?;
    let is_ours = old.as_deref().is_some_and(|text| target.edit.is_ours(text));
    let is_script = target.before.is_some();
    let before = target.before(&path).filter(|before| file::is_there(before));
    let mut done = target.done(match (&old, is_ours) {
        (None, _) => Action::Installed,
        (Some(_), true) => Action::Updated,
        (Some(_), false) => Action::Added,
    });
    done.before = before.as_deref().map(bytes);
    if let Some(text) = old.as_deref().filter(|text| is_ours && !target.edit.is_pristine(text)) {
        let is_same = target.edit.install(Some(text)).is_ok_and(|new| new == text);
        done.action = if is_same { Action::Unchanged } else { Action::Kept };
        done.note = Some("it was edited since, and is left as it is".into());
        return Ok(Some(done));
    }
    let is_foreign_script = is_script && old.is_some() && !is_ours;
    let known = old.as_deref().filter(|_| !is_foreign_script);
    let text = target.edit.install(known).map_err(|error| about(&path, &error))?;
    let is_current = old.as_deref() == Some(&text) && (!is_script || file::is_executable(&path));
    if is_current {
        done.action = Action::Unchanged;
    } else {
        file::refuse_read_only(&path)?;
    }
    if is_foreign_script {
        done.action = Action::Installed;
        done.before = target.before(&path).as_deref().map(bytes);
        refuse_second_script(&path, before.as_deref())?;
    }
    let exclusion = exclude::find(context, target, &path)?;
    done.note = exclusion.note().filter(|_| exclusion.has_line() || !is_current).map(Into::into);
    if dry_run {
        return Ok(Some(done));
    }
    // Notes the file before writing it: if a crash comes in between, the next run knows that the file is ours.
    let made = if old.is_none() { made_for(&path, installed) } else { 0 };
    note(context, target, installed, made)?;
    failpoint::hit("agent-hooks:after-note");
    if let Some(note) = exclude::add(context, target, &path, &exclusion)? {
        done.note = Some(note.into());
    }
    failpoint::hit("agent-hooks:after-exclude");
    match target.before(&path).filter(|_| is_foreign_script) {
        _ if is_current => {}
        Some(before) => file::put_before(&path, &before, &text)?,
        None => file::write(&path, old.as_deref().map(str::as_bytes), text.as_bytes(), is_script)?,
    }
    Ok(Some(done))
}

/// Refuses a second foreign script: only one can be kept as the earlier one.
fn refuse_second_script(path: &Path, before: Option<&Path>) -> Result<()> {
    // Two names of the same script: a crash came between the link and the replacement.
    let Some(before) = before.filter(|before| !file::is_same(path, before)) else { return Ok(()) };
    Err(Error::user(format!("'{}' is not ours, and '{}' is there already", path.display(), before.display()))
        .with_hint("keep one of them under the first name, move the other one away, and run it again"))
}

/// Returns how many directories above `path` were created by us, or will be.
fn made_for(path: &Path, all: &[Installed]) -> usize {
    let mut ours = std::collections::BTreeSet::new();
    for entry in all {
        let path = file::real(&entry.path, None).unwrap_or_else(|_| entry.path.clone());
        ours.extend(path.ancestors().skip(1).take(entry.made).map(Path::to_owned));
    }
    path.ancestors().skip(1).take_while(|parent| !file::is_there(parent) || ours.contains(*parent)).count()
}

fn note(context: &Context, target: &Target, all: &mut Vec<Installed>, made: usize) -> Result<()> {
    // A run after a crash finds the directories that the first run created.
    let before = all.iter().find(|entry| target.is_noted(entry)).map_or(0, |entry| entry.made);
    let entry = Installed {
        agent: target.agent.clone(),
        scope: target.scope.to_owned(),
        name: target.name.clone(),
        path: target.path(),
        made: made.max(before),
    };
    if all.contains(&entry) {
        return Ok(());
    }
    all.retain(|entry| !target.is_noted(entry));
    all.push(entry);
    installed::write(context.repo.common_dir(), all)
}

pub(super) fn disable(
    context: &Context,
    target: &Target,
    installed: &mut Vec<Installed>,
    dry_run: bool,
) -> Result<Option<FileDone>> {
    if !target.root.exists() {
        // The worktree was removed together with its files.
        exclude::remove(context, target, &target.path(), installed, dry_run)?;
        forget(context, target, installed, dry_run)?;
        return Ok(None);
    }
    let path = target.real()?;
    let made = installed.iter().find(|entry| target.is_noted(entry)).map_or_else(|| own(target), |entry| entry.made);
    let done = take_out(target, &path, made, dry_run)?;
    if done.as_ref().is_none_or(|done| done.action != Action::Kept) {
        failpoint::hit("agent-hooks:before-exclude");
        exclude::remove(context, target, &path, installed, dry_run)?;
        forget(context, target, installed, dry_run)?;
    }
    Ok(done)
}

pub(super) fn forget(context: &Context, target: &Target, all: &mut Vec<Installed>, dry_run: bool) -> Result<()> {
    if dry_run || !all.iter().any(|entry| target.is_noted(entry)) {
        return Ok(());
    }
    all.retain(|entry| !target.is_noted(entry));
    installed::write(context.repo.common_dir(), all)
}

/// Returns how many directories above the file are ours by their name; for the case that the notes are lost.
fn own(target: &Target) -> usize {
    let parts: Vec<_> = Path::new(&target.name).components().rev().skip(1).collect();
    parts.iter().position(|part| part.as_os_str() == "git-checkpoint").map_or(0, |at| at + 1)
}

/// Removes our entries from the file. We created up to `made` directories above it.
fn take_out(target: &Target, path: &Path, made: usize, dry_run: bool) -> Result<Option<FileDone>> {
    let before = target.before(path).filter(|before| file::is_there(before));
    let Some(old) = file::read(path)? else {
        let Some(before) = before else {
            if !dry_run {
                file::remove_directories(path, made);
            }
            return Ok(None);
        };
        return put_back(target, path, &before, dry_run).map(Some);
    };
    if !target.edit.is_ours(&old) {
        if old.contains("git-checkpoint") {
            // An unreadable file may hold entries of ours: let `uninstall` report the error.
            target.edit.uninstall(&old).map_err(|error| about(path, &error))?;
        }
        return foreign(target, path, before.as_deref(), dry_run);
    }
    if !target.edit.is_pristine(&old) {
        let note = "it was edited since: remove it, or take the lines of git-checkpoint out by hand";
        let before = before.as_deref().map(bytes);
        return Ok(Some(FileDone { note: Some(note.into()), before, ..target.done(Action::Kept) }));
    }
    if let Some(before) = before {
        return put_back(target, path, &before, dry_run).map(Some);
    }
    let rest = target.edit.uninstall(&old).map_err(|error| about(path, &error))?;
    let done = target.done(if rest.is_some() { Action::Restored } else { Action::Removed });
    file::refuse_read_only(path)?;
    if !dry_run {
        match rest {
            Some(rest) => file::write(path, Some(old.as_bytes()), rest.as_bytes(), false)?,
            None => file::remove(path, old.as_bytes(), made)?,
        }
    }
    Ok(Some(done))
}

fn put_back(target: &Target, path: &Path, before: &Path, dry_run: bool) -> Result<FileDone> {
    if !dry_run {
        file::rename(before, path)?;
    }
    Ok(target.done(Action::Restored))
}

/// Handles a file without entries of ours.
fn foreign(target: &Target, path: &Path, before: Option<&Path>, dry_run: bool) -> Result<Option<FileDone>> {
    let Some(before) = before else { return Ok(None) };
    // A crash came after the script had got its second name.
    if file::is_same(path, before) {
        if !dry_run {
            file::forget(before)?;
        }
        return Ok(Some(target.done(Action::Restored)));
    }
    let note = "it has replaced the script of git-checkpoint, so the older one stays beside";
    Ok(Some(FileDone { note: Some(note.into()), before: Some(bytes(before)), ..target.done(Action::Kept) }))
}
