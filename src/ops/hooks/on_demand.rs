//! commit-msg, which is there only while it has a message to check: git runs it in each commit, and starting it takes time.
//!
//! If something else is in its place, [`enable`](super::enable) installs ours beside it for good.

use std::path::{Path, PathBuf};

use super::{
    locking::lock,
    outcome::{Action, HookDone},
    script,
};
use crate::{
    error::Result,
    git::{
        Repo,
        hook_files::{self, Found},
        hooks::{Hook, Place},
    },
    ops::Context,
    state::{self, commit_note, hooks::Written},
};

/// Where the script goes, and the program that it calls.
struct Spot {
    path: PathBuf,
    program: Vec<u8>,
}

/// Returns where commit-msg can be installed when it is needed: where our prepare-commit-msg runs, which does so, and where no
/// other hook is in its place.
fn spot(repo: &Repo) -> Result<Option<Spot>> {
    let directory = repo.hooks_directory()?;
    if directory.place != Place::GitDirectory {
        return Ok(None);
    }
    let path = directory.path.join(Hook::CommitMsg.name());
    if hook_files::is_there(&hook_files::before(&path)) || matches!(hook_files::look(&path)?, Found::Foreign { .. }) {
        return Ok(None);
    }
    let text = script::text_of(Hook::PrepareCommitMsg, &directory.path.join(Hook::PrepareCommitMsg.name()))?;
    let program = text.and_then(|text| script::program_of(&text));
    Ok(program.map(|program| Spot { path, program: program.into() }))
}

/// Returns true if commit-msg is not there, and will be when it is needed.
pub(super) fn will_be_there(repo: &Repo) -> bool {
    matches!(spot(repo), Ok(Some(spot)) if !spot.path.exists())
}

/// Makes git call us to check the message that is about to be edited.
pub(crate) fn check_message(context: &Context) -> Result<()> {
    let repo = &context.repo;
    commit_note::set_check_due(repo.git_dir(), true)?;
    if state::hooks::read(repo.common_dir())?.is_none() || spot(repo)?.is_none_or(|spot| spot.path.exists()) {
        return Ok(());
    }
    let _lock = lock(context, false)?;
    let mut written = state::hooks::read(repo.common_dir())?.unwrap_or_default();
    let Some(Spot { path, program }) = spot(repo)?.filter(|spot| !spot.path.exists()) else { return Ok(()) };
    let text = script::fill(Hook::CommitMsg, &program);
    let script = Some(repo.blob_id(&text)?.to_string());
    let entry = Written { hook: Hook::CommitMsg.name().into(), path, script, added: None, is_new: false };
    let path = entry.path.clone();
    state::hooks::remember(repo.common_dir(), &mut written, entry)?;
    hook_files::install(&path, &text).map(drop)
}

/// Removes commit-msg again when the message is checked, unless another worktree still needs it.
pub(crate) fn message_checked(context: &Context) -> Result<()> {
    let Some(Spot { path, .. }) = spot(&context.repo)?.filter(|spot| spot.path.exists()) else { return Ok(()) };
    let _lock = lock(context, false)?;
    let written = state::hooks::read(context.repo.common_dir())?.unwrap_or_default();
    if is_idle(context, &path, &written)? { hook_files::remove(&path) } else { Ok(()) }
}

/// Returns true if `hook` at `path` is installed when it is needed, and is not needed now; `done` is what was done to the hooks
/// before it.
pub(super) fn is_all(
    context: &Context,
    hook: Hook,
    path: &Path,
    done: &[HookDone],
    written: &[Written],
) -> Result<bool> {
    let Some(prepare) = done.iter().find(|it| it.name == Hook::PrepareCommitMsg.name()) else { return Ok(false) };
    if hook != Hook::CommitMsg || hook_files::is_there(&hook_files::before(path)) {
        return Ok(false);
    }
    let is_installed = matches!(prepare.action, Action::Installed | Action::Updated);
    let beside = path.with_file_name(&prepare.name);
    if !is_installed && script::text_of(Hook::PrepareCommitMsg, &beside)?.is_none() {
        return Ok(false);
    }
    Ok(hook_files::look(path)? == Found::Nothing || is_idle(context, path, written)?)
}

/// Returns true if our script at `path` is as we wrote it, nothing was there before it, and no message waits to be checked.
fn is_idle(context: &Context, path: &Path, written: &[Written]) -> Result<bool> {
    let is_due = context.repo.git_dirs().any(|git_dir| commit_note::is_check_due(&git_dir));
    if is_due || hook_files::is_there(&hook_files::before(path)) {
        return Ok(false);
    }
    match hook_files::look(path)? {
        Found::Ours { text, .. } => script::is_pristine(context, Hook::CommitMsg, &text, written),
        Found::Nothing | Found::Foreign { .. } => Ok(false),
    }
}
