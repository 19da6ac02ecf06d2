//! What the commands that take operations back have in common.

use super::{Exit, call::Call, output::printable, phrase::REDONE, restore::Format};
use crate::{
    error::Result,
    ops::{restore::UndoOptions, undo::Undone},
};

/// How to take an operation back.
#[derive(clap::Args, Debug)]
pub(super) struct How {
    /// Also restore paths that were edited since
    #[arg(long)]
    all: bool,
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

impl How {
    pub(super) fn options(&self) -> UndoOptions {
        UndoOptions { dry_run: self.dry_run, all: self.all }
    }
}

/// Prints what was taken back; `verb` is the word for it.
pub(super) fn print(undone: &Undone, format: &Format, verb: &str, call: &mut Call) -> Result<Exit> {
    if let Some(restored) = &undone.restored {
        if format.is_text() {
            print_moves(undone, restored.dry_run, call)?;
        }
        return format.print(restored, undone, verb, call);
    }
    if format.json {
        call.out.json(undone)?;
        return Ok(Exit::Done);
    }
    print_moves(undone, undone.only_looked == Some(true), call)?;
    let verb = match (undone.only_looked, verb) {
        (Some(true), _) => "would take back",
        (_, REDONE) => "redone:",
        _ => "undone:",
    };
    if let Some(id) = &undone.session {
        call.out.note(&format!("the session '{}' is as before; a turn that was ended stays ended,", printable(id)))?;
        call.out.note("what it saved stays saved, and prompts that were forgotten stay so")?;
    }
    let command = undone.command.as_deref().map(printable).unwrap_or_default();
    call.out.note(&format!("{verb} {command}"))?;
    Ok(Exit::Done)
}

/// Prints where each ref went, or would go.
fn print_moves(undone: &Undone, only_looked: bool, call: &mut Call) -> Result<()> {
    for moved in &undone.moved {
        let end = moved.new.as_ref().map_or_else(|| "deleted".to_owned(), |id| call.names.id(id));
        let line = format!("{end:<8} {}", printable(&moved.r#ref));
        if only_looked { call.out.line(&line)? } else { call.out.note(&line)? }
    }
    Ok(())
}
