//! `git checkpoint undo` and `git checkpoint redo`: take the last operation back, or the last undo.

use super::{
    Exit,
    call::Call,
    op::print_log,
    phrase::{REDONE, UNDONE},
    restore::Format,
    undone::{How, note_changed, print},
};
use crate::{error::Result, ops::undo};

/// Take the last operation back
///
/// The last of restore, reset, verify, tag, drop, prune, session adopt, session forget and op restore that is not undone yet; a
/// second undo goes further back. What save and agents' hooks did is left alone. The paths that a restore wrote or deleted become what they
/// were before it; one that was edited since is kept and listed, unless --all is given. If the last operation cannot be taken back,
/// nothing is done: no operation is passed over, and a hint names what can be taken back.
#[derive(clap::Args, Debug)]
pub(super) struct Undo {
    #[command(flatten)]
    how: How,
    /// List the operations that undo and redo can take back
    #[arg(long, conflicts_with_all = ["all", "dry_run"])]
    list: bool,
    #[command(flatten)]
    format: Format,
}

/// Take the last undo back
///
/// A second redo goes further forward, until a new operation is done.
#[derive(clap::Args, Debug)]
pub(super) struct Redo {
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    format: Format,
}

impl Undo {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        if self.list {
            let context = call.context()?;
            return print_log(&context, self.format.json, None, true, call);
        }
        let context = call.writing_context()?;
        let progress = call.progress("undoing");
        let undone = undo::undo_last(&context, &self.how.options())?;
        drop(progress);
        note_changed(&context, "undo", &undone);
        print(&undone, &self.format, (UNDONE, false), call)
    }
}

impl Redo {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let progress = call.progress("redoing");
        let undone = undo::redo(&context, &self.how.options())?;
        drop(progress);
        note_changed(&context, "redo", &undone);
        print(&undone, &self.format, (REDONE, false), call)
    }
}
