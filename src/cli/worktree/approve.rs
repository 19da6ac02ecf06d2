//! `worktree approve`: shows the commands of the project's committed file, and asks whether they may run.

use serde_json::json;

use super::super::{
    Exit,
    call::Call,
    output::{stderr_columns, stderr_rows},
    phrase, question,
};
use crate::{
    error::{Error, Result},
    model::exact_text::exact_rows,
    ops::{
        Context,
        worktrees::{self, OfProject},
    },
};

#[derive(clap::Args, Debug)]
pub(super) struct Approve {
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Withdraw all approvals in this repository, also those of lists that only other branches have
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
    /// Print the commands as JSON; they are only approved with --yes
    #[arg(long)]
    json: bool,
}

/// The columns for the number of a command, at least.
const NUMBER: usize = 4;
/// How many rows of a screen a question may take.
const OF_QUESTION: usize = 3;

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
        if asks {
            if !ask(&lists, &context, call)? {
                let refused = Error::refused("the commands are not approved");
                return Err(if question::is_possible() {
                    refused
                } else {
                    refused.with_hint("they can be approved on a terminal, where this command asks")
                });
            }
        } else if !self.json {
            let columns = call.out.columns().unwrap_or(usize::MAX);
            let rows = lists.iter().flat_map(|list| rows(list, columns));
            call.out.text(&rows.map(|row| row + "\n").collect::<String>())?;
        }
        if is_open && (asks || self.yes) {
            worktrees::approve(&context, &mut lists)?;
        }
        if self.json {
            call.out.json(&json!({ "version": 1, "lists": lists }))?;
        } else if lists.is_empty() {
            call.out.note("no command of '.checkpoint.toml' in this worktree would run")?;
        } else if is_open {
            call.out.note("approved until '.checkpoint.toml' has other commands")?;
        } else {
            call.out.note("they are approved already")?;
        }
        Ok(Exit::Done)
    }
}

/// Shows the commands, screen by screen, and asks whether those that are not approved may run.
fn ask(lists: &[OfProject], context: &Context, call: &mut Call) -> Result<bool> {
    let shown: Vec<String> = lists.iter().flat_map(|list| rows(list, stderr_columns())).collect();
    let open = || lists.iter().filter(|list| !list.approved);
    let count: usize = open().map(|list| list.commands.len()).sum();
    let of_open: usize = open().map(|list| rows(list, stderr_columns()).len() - 1).sum();
    let what = format!("{} in {}", phrase::count(count, "command"), phrase::count(of_open, "row"));
    let room = stderr_rows().saturating_sub(OF_QUESTION).max(1);
    let asked = |question: &str, call: &mut Call| question::ask(question, &|| context.check_interrupt(), &mut call.out);
    let mut rest = shown.as_slice();
    loop {
        let (screen, after) = rest.split_at(room.min(rest.len()));
        call.out.stderr(&screen.iter().map(|row| format!("{row}\n")).collect::<String>());
        rest = after;
        if rest.is_empty() {
            break;
        }
        if !asked(&format!("{what} are not approved. Go on with the next rows, of {}? [y/N] ", rest.len()), call)? {
            return Ok(false);
        }
    }
    let these = if count == 1 { "this" } else { "these" };
    asked(&format!("Let {these} {what} run? [y/N] "), call)
}

/// Returns what is shown of a list: which one it is, and its commands in rows of at most so many columns.
fn rows(list: &OfProject, columns: usize) -> Vec<String> {
    let own = if list.replaces_own { ", in place of your own commands" } else { "" };
    let state = if list.approved { " (approved)" } else { "" };
    let mut shown = vec![format!("{}{own}{state}", list.purpose.setting())];
    let width = list.commands.len().to_string().len().max(NUMBER);
    // Each row but the first has a mark after the number.
    let room = columns.saturating_sub(width + " | ".len());
    for (at, command) in list.commands.iter().enumerate() {
        let rows = exact_rows(command, room);
        let mark = |row| if row == 0 { ' ' } else { '|' };
        shown.extend(rows.iter().enumerate().map(|(row, text)| format!("{:width$} {} {text}", at + 1, mark(row))));
    }
    shown
}
