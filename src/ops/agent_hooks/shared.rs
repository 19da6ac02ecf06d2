//! Files in the home directory, which all repositories share: who else needs them.

use std::path::{Path, PathBuf};

use super::{FileDone, Target, find, install, lock};
use crate::{
    error::Result,
    ops::{Context, hooks::Action},
    state::{self, repositories},
};

/// Returns the other repositories on this machine that are enabled, as `file` lists them: the root of each, or its common
/// directory if that has another name than `.git`.
pub(crate) fn other_repositories(context: &Context, file: &Path) -> Result<Vec<PathBuf>> {
    let others = repositories::others(file, context.repo.common_dir())?;
    let shown =
        |path: PathBuf| if path.ends_with(".git") { path.parent().map(Path::to_owned).unwrap_or(path) } else { path };
    Ok(others.into_iter().map(shown).collect())
}

/// Notes in `file` whether this repository is enabled, and forgets those that are not any more.
pub(crate) fn note_repository(context: &Context, file: &Path) -> Result<()> {
    let go_on = || context.check_interrupt();
    repositories::update(file, context.repo.common_dir(), context.settings.lock_timeout, &go_on)
}

/// Leaves the files of `targets` as they are, because `others` need them; this repository does not any more. Returns those with
/// entries of ours.
pub(crate) fn leave(context: &Context, targets: &[Target], others: &[PathBuf], dry_run: bool) -> Result<Vec<FileDone>> {
    let _lock = if dry_run || targets.is_empty() { None } else { Some(lock(context, targets)?) };
    let mut installed = state::installed::read(context.repo.common_dir())?;
    let note = note(others);
    let done = |(at, _): (usize, String)| {
        let target: &Target = &targets[at];
        FileDone { note: Some(note.clone()), ..target.done(Action::Unchanged) }
    };
    let done = find(targets).into_iter().map(done).collect();
    for target in targets {
        install::forget(context, target, &mut installed, dry_run)?;
    }
    Ok(done)
}

fn note(others: &[PathBuf]) -> String {
    let more = match others.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let first = others.first().map(|path| path.display().to_string()).unwrap_or_default();
    format!("left for the repository '{first}'{more}; with '--user' it is taken out all the same")
}
