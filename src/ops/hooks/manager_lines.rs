//! Our lines in hook files that belong to others.

use bstr::ByteSlice as _;

use super::outcome::{Action, HookDone, Options, bytes};
use crate::{
    error::Result,
    git::{
        hook_files::{self, Found},
        hook_managers::{self, Words},
        hooks::{Health, Hook},
    },
    ops::Context,
    state::hooks::{self, Written},
};

pub(super) fn enable(
    context: &Context,
    hook: Hook,
    words: &Words,
    options: &Options,
    written: &mut Vec<Written>,
) -> Result<HookDone> {
    let mut done = HookDone {
        name: hook.name().into(),
        action: Action::Unchanged,
        path: bytes(&words.path),
        before: None,
        line: None,
        note: None,
        is_addable: false,
    };
    let content = hook_files::read(&words.path)?;
    // Managers write their own files when they install their hooks.
    let needs_install = words.runner.as_ref().is_some_and(|runner| !runner.exists());
    done.note = needs_install.then(|| "it has no effect until the hook manager installs its hooks".into());
    if is_called(hook, words, content.as_deref())? {
        return Ok(done);
    }
    if words.obstacle.is_some() || !options.hook_manager {
        done.action = Action::Todo;
        done.line = Some(words.text.clone());
        done.is_addable = words.obstacle.is_none();
        done.note = words.obstacle.clone().or(done.note);
        return Ok(done);
    }
    done.action = Action::Added;
    if options.dry_run {
        return Ok(done);
    }
    // If the last line has no line break, we add one, and remove it together with our lines.
    let lacks_break = content.as_ref().is_some_and(|content| !content.is_empty() && !content.ends_with(b"\n"));
    let head = if content.is_none() { words.head } else { "" };
    let added = format!("{head}{}{}", if lacks_break { "\n" } else { "" }, words.text);
    let entry = Written {
        hook: hook.name().into(),
        path: words.path.clone(),
        script: None,
        added: Some(added.clone()),
        is_new: content.is_none(),
    };
    hooks::remember(context.repo.common_dir(), written, entry)?;
    let text = [content.as_deref().unwrap_or_default(), added.as_bytes()].concat();
    hook_files::write(&words.path, &text, !words.head.is_empty())?;
    Ok(done)
}

pub(super) fn disable(hook: Hook, entry: &Written, added: &str, dry_run: bool) -> Result<Option<HookDone>> {
    let Some(content) = hook_files::read(&entry.path)? else { return Ok(None) };
    let mut done = HookDone {
        name: hook.name().into(),
        action: Action::Removed,
        path: bytes(&entry.path),
        before: None,
        line: None,
        note: None,
        is_addable: false,
    };
    // Once others have appended to the file, the line break that we added before our lines is theirs.
    let whole = added.trim_start_matches('\n');
    let Some((at, taken)) = find(&content, added).or_else(|| find(&content, whole)) else {
        if !hook_managers::calls_us(&content, hook) {
            return Ok(None);
        }
        done.action = Action::Kept;
        done.note = Some("it calls git-checkpoint in other words: take them out by hand".into());
        return Ok(Some(done));
    };
    if dry_run {
        return Ok(Some(done));
    }
    let rest = [&content[..at], &content[at + taken..]].concat();
    if entry.is_new && rest.is_empty() {
        hook_files::remove(&entry.path)?;
    } else if !entry.path.is_symlink() {
        hook_files::write(&entry.path, &rest, false)?;
    }
    Ok(Some(done))
}

/// Returns position and length of `added`: at the end of the file with the line break before it, elsewhere without.
fn find(content: &[u8], added: &str) -> Option<(usize, usize)> {
    let at = content.rfind(added)?;
    let is_last = at + added.len() == content.len();
    if added.starts_with('\n') && !is_last {
        return None;
    }
    Some((at, added.len()))
}

pub(super) fn health(hook: Hook, words: &Words) -> Result<Health> {
    let content = hook_files::read(&words.path)?;
    if !is_called(hook, words, content.as_deref())? {
        return Ok(Health::Missing);
    }
    // Without the manager's own file, git runs no hook.
    let is_run = words.runner.as_ref().is_none_or(|runner| runner.exists());
    Ok(if is_run { Health::Ok } else { Health::Missing })
}

fn is_called(hook: Hook, words: &Words, content: Option<&[u8]>) -> Result<bool> {
    // The manager was installed after our script and has not replaced it yet.
    if let Some(runner) = &words.runner
        && matches!(hook_files::look(runner)?, Found::Ours { is_executable: true, .. })
    {
        return Ok(true);
    }
    if content.is_some_and(|content| hook_managers::calls_us(content, hook)) {
        return Ok(true);
    }
    for file in &words.also {
        if hook_files::read(file)?.is_some_and(|content| hook_managers::calls_us(&content, hook)) {
            return Ok(true);
        }
    }
    Ok(false)
}
