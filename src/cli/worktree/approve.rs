//! `worktree approve`: shows the commands of the project's committed file, and asks whether they may run.

use serde_json::json;

use super::super::{Exit, call::Call, layout, output::screen, phrase, question};
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
                    refused.with_hint("on a terminal, this command shows them and asks; '--yes' approves them unasked")
                });
            }
        } else if !self.json {
            let columns = call.out.columns().unwrap_or(usize::MAX);
            let rows = lists.iter().flat_map(|list| rows(list, columns).all());
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
            call.out.note("approved, in all worktrees of this repository")?;
        } else {
            call.out.note("they are approved already")?;
        }
        Ok(Exit::Done)
    }
}

/// Shows the commands, screen by screen, and asks whether those that are not approved may run.
///
/// # Errors
/// If the terminal is too small for a row and the question.
fn ask(lists: &[OfProject], context: &Context, call: &mut Call) -> Result<bool> {
    let (columns, screen_rows) = screen();
    let shown: Vec<(&OfProject, Rows)> = lists.iter().map(|list| (list, rows(list, columns))).collect();
    let open = || shown.iter().filter(|(list, _)| !list.approved);
    let count: usize = open().map(|(list, _)| list.commands.len()).sum();
    let of_open = phrase::count(open().map(|(_, rows)| rows.commands.len()).sum(), "row");
    let commands = phrase::count(count, "command");
    let are = if count == 1 { "is" } else { "are" };
    let next =
        |rest: usize| format!("{commands} ({of_open}) {are} not approved. Go on with the next rows, of {rest}? [y/N] ");
    let these = if count == 1 { "this command".to_owned() } else { format!("these {commands}") };
    let last = format!("Let {these} run ({of_open})? [y/N] ");
    let shown: Vec<String> = shown.into_iter().flat_map(|(_, rows)| rows.all()).collect();
    // A terminal takes more rows for what is wider.
    let height = |text: &String| text.len().div_ceil(columns).max(1);
    let height_of = |asked: &str| question::rows(asked, columns).iter().map(height).sum::<usize>();
    let room = screen_rows.saturating_sub(height_of(&next(shown.len())).max(height_of(&last)));
    if shown.iter().any(|row| height(row) > room) {
        return Err(Error::refused("the terminal is too small to show the commands and a question")
            .with_hint("with more rows and columns, this command asks"));
    }
    let asked = |asked: &str, call: &mut Call| {
        let _listening = call.interrupt.listen_only()?;
        question::ask_afresh(asked, &|| context.check_interrupt(), &mut call.out)
    };
    let mut rest = shown.as_slice();
    loop {
        let mut left = room;
        let fits = |row: &&String| left.checked_sub(height(row)).inspect(|after| left = *after).is_some();
        let (screen, after) = rest.split_at(rest.iter().take_while(fits).count());
        call.out.stderr(&screen.iter().map(|row| format!("{row}\n")).collect::<String>());
        rest = after;
        if rest.is_empty() {
            return asked(&last, call);
        }
        if !asked(&next(rest.len()), call)? {
            return Ok(false);
        }
    }
}

/// What is shown of a list.
struct Rows {
    /// Which one it is.
    header: Vec<String>,
    commands: Vec<String>,
}

impl Rows {
    fn all(self) -> impl Iterator<Item = String> {
        self.header.into_iter().chain(self.commands)
    }
}

/// Returns what is shown of a list, in rows of at most so many columns.
fn rows(list: &OfProject, columns: usize) -> Rows {
    let own = if list.replaces_own { ", in place of your own commands" } else { "" };
    let state = if list.approved { " (approved)" } else { "" };
    let header = layout::wrap(&format!("{}{own}{state}", list.purpose.setting()), columns, 0);
    let width = list.commands.len().to_string().len().max(NUMBER);
    // Each row but the first has a mark after the number.
    let room = columns.saturating_sub(width + " | ".len());
    let mut commands = Vec::new();
    for (at, command) in list.commands.iter().enumerate() {
        let rows = exact_rows(command, room);
        let mark = |row| if row == 0 { ' ' } else { '|' };
        commands.extend(rows.iter().enumerate().map(|(row, text)| format!("{:width$} {} {text}", at + 1, mark(row))));
    }
    Rows { header, commands }
}
