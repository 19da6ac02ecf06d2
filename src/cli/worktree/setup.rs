//! `worktree setup`: the commands that the settings have for a new worktree.

use std::{ffi::OsString, os::unix::ffi::OsStrExt as _, path::Path};

use serde_json::json;

use super::super::{Exit, call::Call, external, phrase};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::{
        exact_text::exact_start,
        path_text::{self, shell_word},
    },
    ops::{
        rounds,
        worktrees::{self, FailedCommand, Purpose, Ran, Step},
    },
};

#[derive(clap::Args, Debug)]
pub(super) struct Setup {
    /// The worktree (default: this one)
    #[arg(value_name = "worktree")]
    name: Option<OsString>,
    /// Run all commands, also those that have succeeded there
    #[arg(long)]
    again: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The exit status of a shell for a command that cannot be started.
const NOT_STARTED: i32 = 126;

/// Runs a command of the settings: what it prints goes to standard error, where the command is named first.
///
/// # Errors
/// If it does not end after signals, and is left alone.
pub(in crate::cli) fn run_step(call: &mut Call, step: &Step<'_>) -> Result<i32> {
    call.out.flush()?;
    if step.replaces_own {
        let setting = step.purpose.setting();
        call.out.warning(&format!("the commands of '{setting}' in '.checkpoint.toml' run in place of your own"));
    }
    call.out.aside(&format!("{}: {}", noun(step.purpose), exact_start(step.line)));
    // While it runs, it decides what Ctrl-C means.
    let listening = call.interrupt.listen_only()?;
    let child = match external::start_in_worktree(step) {
        Ok(child) => child,
        Err(cause) => {
            call.out.stderr(&format!("'{}' cannot be started: {cause}\n", exact_start(step.line)));
            return Ok(NOT_STARTED);
        }
    };
    let ended = external::wait_for(child, &call.interrupt, &listening);
    ended
        .context(Kind::User, || format!("the command '{}' is left alone", exact_start(step.line)))
        .map_err(|error| error.with_hint("the worktree is in use until it has ended, with all that it has started"))
}

/// Returns what the commands are called.
fn noun(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Setup => "set-up",
        Purpose::Teardown => "teardown",
    }
}

/// Returns how what became of the commands is reported: a warning, and what to do next. None if all have succeeded.
fn report(ran: Option<&Ran>, path: &Path) -> Option<(String, String)> {
    let ran = ran.filter(|ran| !ran.is_complete())?;
    let again = command(path);
    if !ran.approved {
        let own = if ran.replaces_own { "; your own ones, in whose place it is, did not run, either" } else { "" };
        return Some((
            format!(
                "{} of '.checkpoint.toml' did not run: the list is not approved{own}",
                phrase::count(ran.total, "command")
            ),
            format!("'git checkpoint worktree approve' shows them and asks; after that, {again} runs them"),
        ));
    }
    Some(match &ran.failed {
        Some(FailedCommand { command, status }) => (
            format!("the set-up command '{}' has failed (exit status {status})", exact_start(command)),
            format!("the worktree stays; {again} goes on with that command"),
        ),
        None => (
            format!("the set-up was interrupted: {} of {} have run", ran.done, phrase::count(ran.total, "command")),
            format!("the worktree stays; {again} runs the others"),
        ),
    })
}

/// Returns the command that sets up the worktree at `path`, in quotes.
pub(super) fn command(path: &Path) -> String {
    format!("'git checkpoint worktree setup {}'", shell_word(&path.to_string_lossy()))
}

/// Says what kept the set-up of the worktree at `path` from its end, and returns how the command ends; without approval, as
/// `not_approved` says.
///
/// # Errors
/// If a signal has come: what it says is the error.
pub(super) fn end(ran: Option<&Ran>, path: &Path, not_approved: Exit, call: &mut Call) -> Result<Exit> {
    let Some((what, hint)) = report(ran, path) else {
        if ran.is_some() && call.interrupt.is_raised() {
            call.out.warning("a signal came, but all commands of the set-up have succeeded");
        }
        return Ok(Exit::Done);
    };
    if call.interrupt.is_raised() && ran.is_some_and(|ran| ran.approved) {
        return Err(Error::user(what).with_hint(hint));
    }
    call.out.warning(&what);
    call.out.hint(&hint);
    Ok(if ran.is_some_and(|ran| ran.approved) { Exit::No } else { not_approved })
}

impl Setup {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let (context, found) = rounds::to_set_up(call.writing_context()?, self.name.as_deref())?;
        let mut begun = 0;
        let ran = worktrees::set_up(&context, &found, self.again, &mut |step| {
            begun += 1;
            run_step(call, step)
        })?;
        let path = found.path.as_os_str().as_bytes();
        if self.json {
            let (text, raw) = (path_text::escape(path.into()), path_text::raw(path.into()));
            let mut object = json!({ "version": 1, "path": text, "setup": ran });
            if let Some(raw) = raw {
                object["path_raw"] = raw.into();
            }
            call.out.json(&object)?;
        } else if ran.is_none() {
            call.out.note("no commands: the setting 'worktree.setup' is empty")?;
        } else if ran.as_ref().is_some_and(Ran::is_complete) {
            let already = if begun == 0 { " already: '--again' runs all commands once more" } else { "" };
            call.out.note(&format!("{} is set up{already}", phrase::quoted(&path.into())))?;
        }
        end(ran.as_ref(), &found.path, Exit::No, call)
    }
}
