//! Scripts of ours in git's directory of hooks.

use std::path::Path;

use bstr::{BString, ByteSlice as _};

use super::outcome::{Action, HookDone, Options, bytes};
use crate::{
    error::{Error, Result},
    git::{
        hook_files::{self, Found},
        hook_managers,
        hooks::{Health, Hook},
    },
    ops::Context,
    state::hooks::{self, Written},
};

/// The script with placeholders.
const TEMPLATE: &str = include_str!("../../../config/hook.sh");

/// The beginning of the line that names the program.
const PROGRAM: &[u8] = b"_checkpoint_program=";

pub(super) fn enable(
    context: &Context,
    hook: Hook,
    path: &Path,
    options: &Options,
    written: &mut Vec<Written>,
) -> Result<HookDone> {
    let text = render(hook, &options.program)?;
    let before = hook_files::before(path);
    let mut done = HookDone {
        name: hook.name().into(),
        action: Action::Installed,
        path: bytes(path),
        before: hook_files::is_there(&before).then(|| bytes(&before)),
        line: None,
        note: None,
        is_addable: false,
    };
    match hook_files::look(path)? {
        Found::Nothing => {}
        Found::Ours { text: now, is_executable: true } if now == text => done.action = Action::Unchanged,
        Found::Ours { text: now, .. } if is_pristine(context, hook, &now, written)? => done.action = Action::Updated,
        Found::Ours { is_executable, .. } => {
            done.action = if is_executable { Action::Unchanged } else { Action::Todo };
            done.note = Some("it was edited since, and is left as it is".into());
            return Ok(done);
        }
        Found::Foreign { text: now } if hook_managers::calls_us(&now, hook) => {
            done.action = Action::Unchanged;
            done.note = Some("it calls git-checkpoint".into());
            return Ok(done);
        }
        Found::Foreign { text: now } if is_chained(hook, path, &now) => {
            done.action = Action::Unchanged;
            done.note = Some("it calls the script of git-checkpoint that was here before".into());
            return Ok(done);
        }
        Found::Foreign { text: now } if hook_managers::needs_its_name(&now) => {
            done.action = Action::Todo;
            done.line = Some(hook_managers::shell_line(hook));
            done.note = Some("it uses the name it is called by, so it would not work under another name".into());
            return Ok(done);
        }
        Found::Foreign { .. } => done.before = Some(bytes(&before)),
    }
    if done.action == Action::Unchanged || options.dry_run {
        return Ok(done);
    }
    let id = context.repo.blob_id(&text)?.to_string();
    let entry =
        Written { hook: hook.name().into(), path: path.to_owned(), script: Some(id), added: None, is_new: false };
    hooks::remember(context.repo.common_dir(), written, entry)?;
    if let Some(moved) = hook_files::install(path, &text)? {
        done.note = Some(format!("the one set aside earlier is not called any more; it is '{}' now", moved.display()));
    }
    Ok(done)
}

pub(super) fn disable(
    context: &Context,
    hook: Hook,
    path: &Path,
    written: &[Written],
    dry_run: bool,
) -> Result<Option<HookDone>> {
    let before = hook_files::before(path);
    let has_before = hook_files::is_there(&before);
    let mut done = HookDone {
        name: hook.name().into(),
        action: if has_before { Action::Restored } else { Action::Removed },
        path: bytes(path),
        before: None,
        line: None,
        note: None,
        is_addable: false,
    };
    let mut place = path.to_owned();
    match hook_files::look(path)? {
        Found::Nothing if !has_before => return Ok(None),
        Found::Nothing => {}
        Found::Ours { text, .. } if is_pristine(context, hook, &text, written)? => {}
        Found::Ours { .. } => {
            done.action = Action::Kept;
            done.note = Some("it was edited since: take the lines of git-checkpoint out by hand".into());
            done.before = has_before.then(|| bytes(&before));
            return Ok(Some(done));
        }
        Found::Foreign { text } => match hook_files::moved_script(path, hook) {
            Some(moved) if is_chained(hook, path, &text) => {
                done.path = bytes(&moved);
                place = moved;
            }
            _ if !has_before && text.is_empty() && written.iter().any(|it| it.path == path) => {
                done.action = Action::Kept;
                done.note =
                    Some("nothing in it can be read: look whether it is of git-checkpoint, and remove it then".into());
                return Ok(Some(done));
            }
            _ if !has_before => return Ok(None),
            // A crash came after the hook had got its second name.
            _ if hook_files::is_same(path, &before).unwrap_or(false) => {
                done.action = Action::Unchanged;
                if !dry_run {
                    hook_files::remove(&before)?;
                }
                return Ok(Some(done));
            }
            _ => {
                done.action = Action::Kept;
                done.note = Some("it has replaced the script of git-checkpoint, so the older one stays beside".into());
                done.before = Some(bytes(&before));
                return Ok(Some(done));
            }
        },
    }
    if !dry_run {
        hook_files::put_back(&place, &before)?;
    }
    Ok(Some(done))
}

pub(super) fn health(hook: Hook, path: &Path) -> Result<Health> {
    Ok(match hook_files::look(path)? {
        Found::Ours { is_executable: true, .. } => Health::Ok,
        Found::Nothing | Found::Ours { .. } => Health::Missing,
        Found::Foreign { text } if hook_managers::calls_us(&text, hook) || is_chained(hook, path, &text) => Health::Ok,
        Found::Foreign { .. } => Health::Replaced,
    })
}

/// Returns true if the hook `text` at `path` calls our script, which a hook manager found there and moved away.
fn is_chained(hook: Hook, path: &Path, text: &[u8]) -> bool {
    let Some(moved) = hook_files::moved_script(path, hook) else { return false };
    let suffix = moved.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
    let is_legacy = suffix == "legacy" && text.contains_str("File generated by pre-commit");
    is_legacy || !suffix.is_empty() && text.contains_str(format!(".{suffix}"))
}

/// Returns the script for `hook`, which calls `program`.
fn render(hook: Hook, program: &Path) -> Result<Vec<u8>> {
    let program = <[u8]>::from_path(program).ok_or_else(|| Error::internal("the program's path is not readable"))?;
    Ok(fill(hook, &program.replace("'", r"'\''")))
}

/// The program is inserted last, because its path may contain any placeholder.
fn fill(hook: Hook, quoted: &[u8]) -> Vec<u8> {
    TEMPLATE.replace("@HOOK@", hook.name()).as_bytes().replacen("@PROGRAM@", quoted, 1)
}

/// Returns true if the script `text` is as we wrote it, now or in an earlier version.
fn is_pristine(context: &Context, hook: Hook, text: &[u8], written: &[Written]) -> Result<bool> {
    let id = context.repo.blob_id(text)?.to_string();
    if written.iter().any(|entry| entry.hook == hook.name() && entry.script.as_deref() == Some(&id)) {
        return Ok(true);
    }
    Ok(program_of(text).is_some_and(|quoted| fill(hook, &quoted) == text))
}

/// Returns the program that a script calls, quoted for the shell.
fn program_of(text: &[u8]) -> Option<BString> {
    let start = text.find(PROGRAM)? + PROGRAM.len() + 1;
    // The path may contain line breaks; the text after it in the template does not occur in real paths.
    let end = start + text[start..].find("'\n_checkpoint_status=")?;
    Some(text[start..end].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::plain("/usr/bin/git-checkpoint", "/usr/bin/git-checkpoint")]
    #[case::hostile("/it's\n$(x)/@HOOK@ p", "/it'\\''s\n$(x)/@HOOK@ p")]
    fn an_unedited_script_is_recognized(#[case] program: &str, #[case] quoted: &str) {
        let text = render(Hook::PostCommit, Path::new(program)).expect("readable");
        assert_eq!(program_of(&text), Some(quoted.into()));
        assert_eq!(fill(Hook::PostCommit, quoted.as_bytes()), text);
        assert!(text.lines().any(|line| line == hook_files::MARK));
    }
}
