//! `worktree setup` and `worktree approve`: the commands that the settings have for worktrees.

use std::{ffi::OsString, os::unix::ffi::OsStrExt as _};

use serde_json::json;

use super::super::{Exit, call::Call, external, output::printable, phrase, question};
use crate::{
    error::{Error, Result},
    model::path_text::shell_word,
    ops::{
        Context, sessions,
        worktrees::{self, OfProject, Ran, Variables},
    },
};

#[derive(clap::Args, Debug)]
pub(super) struct Setup {
    /// The worktree (default: this one)
    #[arg(value_name = "worktree")]
    name: Option<OsString>,
    /// The session that the commands run for
    #[arg(long, value_name = "session")]
    session: Option<String>,
    /// Begin with the first command, though it has succeeded before
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
    force: bool,
    /// Approve them no longer
    #[arg(long, conflicts_with = "force")]
    revoke: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Returns what runs a command line for the user: its standard output goes to standard error, where the command is named first.
pub(super) fn runner<'c>(
    call: &'c mut Call,
    what: &'static str,
) -> impl FnMut(&str, &std::path::Path, &Variables) -> Result<i32> + use<'c> {
    move |line, directory, variables| {
        call.out.flush()?;
        call.out.aside(&format!("{what}: {}", printable(line)));
        external::run_for_user(line, directory, variables)
    }
}

impl Setup {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let found = worktrees::find_root(&context, self.name.as_deref())?;
        let session = self.session.as_deref().map(|name| sessions::existing(&context, name)).transpose()?;
        let ran = worktrees::set_up(&context, &found, session.as_deref(), self.again, &mut runner(call, "set-up"))?;
        if self.json {
            call.out.json(&json!({ "version": 1, "path": found.path.to_string_lossy(), "setup": ran }))?;
        } else if ran.is_none() {
            call.out.note("no command: the setting 'worktree.setup' is empty")?;
        } else if ran.as_ref().is_some_and(Ran::is_complete) {
            call.out.note(&format!("{} is set up", phrase::quoted(&found.path.as_os_str().as_bytes().into())))?;
        }
        Ok(report(ran.as_ref(), &found.path.display().to_string(), call))
    }
}

/// Says on standard error what kept the set-up of the worktree at `path` from its end, and returns how the command ends.
pub(super) fn report(ran: Option<&Ran>, path: &str, call: &mut Call) -> Exit {
    let Some(ran) = ran.filter(|ran| !ran.is_complete()) else { return Exit::Done };
    let again = format!("'git checkpoint worktree setup {}'", shell_word(path));
    if let Some(failed) = &ran.failed {
        call.out.warning(&format!(
            "the set-up command '{}' has failed (exit status {}); the worktree stays",
            printable(&failed.command),
            failed.status
        ));
        call.out.hint(&format!("{again} goes on with that command"));
    } else {
        call.out.warning("the set-up commands of '.checkpoint.toml' have not run: you have not approved them");
        call.out.hint(&format!("'git checkpoint worktree approve' shows them and asks, {again} runs them then"));
    }
    Exit::No
}

impl Approve {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let mut lists = worktrees::of_project(&context)?;
        if !self.json {
            show(&lists, call)?;
        }
        let wanted = !self.revoke;
        let is_open = lists.iter().any(|list| list.approved != wanted);
        if is_open && wanted && !self.force && !question::ask("Approve these commands? [y/N] ", &mut call.out)? {
            let error = Error::refused("the commands are not approved");
            return Err(error.with_hint("'git checkpoint worktree approve --force' approves them without a question"));
        }
        if is_open {
            change(&context, &mut lists, wanted)?;
        }
        if self.json {
            call.out.json(&json!({ "version": 1, "commands": lists }))?;
        } else if !lists.is_empty() {
            let now = if wanted { "approved; a change of the list asks again" } else { "not approved any more" };
            call.out.note(now)?;
        }
        Ok(Exit::Done)
    }
}

fn change(context: &Context, lists: &mut [OfProject], wanted: bool) -> Result<()> {
    worktrees::approve(context, lists, wanted)?;
    for list in lists {
        list.approved = wanted;
    }
    Ok(())
}

fn show(lists: &[OfProject], call: &mut Call) -> Result<()> {
    if lists.is_empty() {
        return call.out.note("'.checkpoint.toml' of this worktree has no commands for worktrees");
    }
    for list in lists {
        call.out.line(&format!("{}:", list.setting))?;
        list.commands.iter().try_for_each(|line| call.out.line(&format!("    {}", printable(line))))?;
    }
    Ok(())
}
