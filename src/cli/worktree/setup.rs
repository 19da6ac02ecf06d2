//! `worktree setup` and `worktree approve`: the commands that the settings have for worktrees.

use std::{ffi::OsString, os::unix::ffi::OsStrExt as _, path::Path};

use serde_json::json;

use super::super::{Exit, call::Call, external, interrupt::Listening, output::printable, phrase, question};
use crate::{
    error::{Error, Result},
    model::path_text::{self, shell_word},
    ops::worktrees::{self, OfProject, Purpose, Ran, Step},
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

#[derive(clap::Args, Debug)]
pub(super) struct Approve {
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Let no commands be approved any more
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
    /// Print the commands as JSON; they are only approved with --yes
    #[arg(long)]
    json: bool,
}

/// Runs a command of the settings: what it prints goes to standard error, where the command is named first.
pub(super) fn run_step(call: &mut Call, listening: &Listening, step: &Step<'_>) -> Result<i32> {
    call.out.flush()?;
    call.out.aside(&format!("{}: {}", noun(step.purpose), printable(step.line)));
    external::run_in_worktree(step.line, step.directory, step.variables, &call.interrupt, listening)
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
        return Some((
            format!(
                "{} of '.checkpoint.toml' did not run: the list is not approved",
                phrase::count(ran.total, "command")
            ),
            format!("'git checkpoint worktree approve' shows them and asks; after that, {again} runs them"),
        ));
    }
    Some((
        match &ran.failed {
            Some(failed) => {
                format!(
                    "the set-up command '{}' has failed (exit status {})",
                    printable(&failed.command),
                    failed.status
                )
            }
            None => "the set-up was interrupted".to_owned(),
        },
        format!("the worktree stays; {again} goes on with that command"),
    ))
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
    let Some((what, hint)) = report(ran, path) else { return Ok(Exit::Done) };
    if call.interrupt.is_raised() {
        return Err(Error::user(what).with_hint(hint));
    }
    call.out.warning(&what);
    call.out.hint(&hint);
    Ok(if ran.is_some_and(|ran| ran.approved) { Exit::No } else { not_approved })
}

impl Setup {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let (context, listening) = call.asking_context()?;
        let found = worktrees::find_root(&context, self.name.as_deref())?;
        if found.is_main() {
            return Err(Error::refused(format!("'{}' is the main worktree", found.path.display()))
                .with_hint("the commands are for linked ones: 'git checkpoint worktree list' shows them"));
        }
        let mut begun = 0;
        let ran = worktrees::set_up(&context, &found, self.again, &mut |step| {
            begun += 1;
            run_step(call, &listening, step)
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

impl Approve {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        if self.revoke {
            let revoked = worktrees::revoke(&context)?;
            if !self.json {
                call.out.note("no commands are approved any more")?;
                return Ok(Exit::Done);
            }
            call.out.json(&json!({ "version": 1, "revoked": revoked }))?;
            return Ok(Exit::Done);
        }
        let mut lists = worktrees::of_project(&context)?;
        let is_open = lists.iter().any(|list| !list.approved);
        let asks = is_open && !self.yes && !self.json;
        if !self.json {
            show(&lists, asks, call)?;
        }
        if asks {
            let count: usize = lists.iter().filter(|list| !list.approved).map(|list| list.commands.len()).sum();
            let what = if count == 1 { "this command".to_owned() } else { format!("these {count} commands") };
            let asked = format!("Let {what} run? [y/N] ");
            if !question::ask(&asked, &|| context.check_interrupt(), &mut call.out)? {
                return Err(Error::refused("the commands are not approved").with_hint(
                    "on a terminal, this command asks; 'git checkpoint worktree approve --yes' approves them without a question",
                ));
            }
        }
        if is_open && (asks || self.yes) {
            worktrees::approve(&context, &mut lists)?;
        }
        if self.json {
            call.out.json(&json!({ "version": 1, "lists": lists }))?;
        } else if is_open {
            call.out.note("approved, as long as the file has exactly these")?;
        } else if !lists.is_empty() {
            call.out.note("they are approved already")?;
        }
        Ok(Exit::Done)
    }
}

/// Shows the commands, where the question is asked if one is asked.
fn show(lists: &[OfProject], asks: bool, call: &mut Call) -> Result<()> {
    if lists.is_empty() {
        return call.out.note("'.checkpoint.toml' of this worktree has no commands that would run");
    }
    let mut text = String::new();
    for list in lists {
        let state = if list.approved { " (approved)" } else { "" };
        text.push_str(&format!("{}{state}\n", list.purpose.setting()));
        for (at, command) in list.commands.iter().enumerate() {
            text.push_str(&format!("{:4}  {}\n", at + 1, printable(command)));
        }
    }
    if asks {
        call.out.stderr(&text);
        return Ok(());
    }
    call.out.text(&text)
}
