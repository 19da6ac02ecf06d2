//! `git checkpoint enable` and `git checkpoint disable`: git's hooks call us, or not any more.

use std::path::{Path, PathBuf};

use super::{Exit, call::Call, environment, phrase};
use crate::{
    error::{Context as _, Kind, Result},
    ops::hooks::{self, Action, HookDone, HooksDone},
};

/// Let git's hooks call git-checkpoint in this repository
///
/// Hooks that are there already are kept, and called first. Where a program manages the hooks, or they are committed,
/// it says which line to add; with --hook-manager it adds it.
#[derive(clap::Args, Debug)]
pub(super) struct Enable {
    /// Add lines to files that are kept for husky or lefthook, or committed
    #[arg(long)]
    hook_manager: bool,
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Take git-checkpoint out of git's hooks
///
/// Hooks that were there before are as they were; checkpoints and records stay.
#[derive(clap::Args, Debug)]
pub(super) struct Disable {
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Enable {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let program = program()?;
        let options = hooks::Options { program, hook_manager: self.hook_manager, dry_run: self.dry_run };
        let done = hooks::enable(&context, &options)?;
        report(&done, self.json, call)?;
        if !context.settings.enabled {
            call.out.warning("the setting 'enabled' is false, so that hooks do nothing here");
            call.out.hint("'git checkpoint config list --show-origin' shows where it is set");
        }
        if !self.json && done.hooks.iter().any(|hook| hook.action == Action::Todo) {
            hint(&done, self.hook_manager, call);
        }
        Ok(if done.is_incomplete() { Exit::No } else { Exit::Done })
    }
}

impl Disable {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let done = hooks::disable(&context, self.dry_run)?;
        report(&done, self.json, call)?;
        if !self.json && done.hooks.is_empty() {
            call.out.note("no hook calls git-checkpoint")?;
        }
        Ok(if done.is_incomplete() { Exit::No } else { Exit::Done })
    }
}

fn report(done: &HooksDone, is_json: bool, call: &mut Call) -> Result<()> {
    if is_json {
        return call.out.json(done);
    }
    for hook in &done.hooks {
        let (what, style) = match (hook.action, done.dry_run) {
            (Action::Installed, false) => ("installed", phrase::NEW),
            (Action::Installed, true) => ("would install", phrase::NEW),
            (Action::Updated, false) => ("updated", phrase::NEW),
            (Action::Updated, true) => ("would update", phrase::NEW),
            (Action::Added, false) => ("added a line", phrase::NEW),
            (Action::Added, true) => ("would add a line", phrase::NEW),
            (Action::Unchanged, _) => ("unchanged", phrase::DIM),
            (Action::Todo, _) => ("needs you", phrase::OLD),
            (Action::Removed, false) => ("removed", phrase::NEW),
            (Action::Removed, true) => ("would remove", phrase::NEW),
            (Action::Restored, false) => ("as it was", phrase::NEW),
            (Action::Restored, true) => ("would put back", phrase::NEW),
            (Action::Kept, _) => ("kept", phrase::OLD),
        };
        let what = call.out.paint(style, &format!("{what:<16}"));
        call.out.note(&format!("{what}  {}", hook.name))?;
        details(hook, call)?;
    }
    Ok(())
}

fn details(hook: &HookDone, call: &mut Call) -> Result<()> {
    if let Some(note) = &hook.note {
        call.out.note(&format!("\t{}: {}", phrase::quoted(&hook.path), super::output::printable(note)))?;
    }
    if let Some(before) = &hook.before {
        let what = if hook.action == Action::Kept { "the hook that was there before is" } else { "calls first" };
        call.out.note(&format!("\t{what} {}", phrase::quoted(before)))?;
    }
    if let Some(line) = &hook.line {
        call.out.note(&format!("\tadd to {}:", phrase::quoted(&hook.path)))?;
        for line in line.lines() {
            call.out.line(&format!("\t    {line}"))?;
        }
    }
    Ok(())
}

fn hint(done: &HooksDone, asked: bool, call: &mut Call) {
    if !asked && done.hooks.iter().any(|hook| hook.is_addable) {
        call.out.hint("'git checkpoint enable --hook-manager' adds these lines, and 'disable' removes them");
    }
    call.out.hint("'git checkpoint status' shows which hooks do not call git-checkpoint yet");
}

/// Returns where hooks find the program: where the shell does, if that is the one running now, as that path stays the
/// same when a package manager replaces what is behind it.
fn program() -> Result<PathBuf> {
    let running = std::env::current_exe().context(Kind::Internal, || "cannot tell where the program is".to_owned())?;
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let paths = environment::variable("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join("git-checkpoint"))
        .find(|program| program.is_file());
    Ok(found.filter(|found| real(found) == real(&running)).unwrap_or(running))
}
