//! `git checkpoint undo`: reverses the last restore.

use super::{
    Exit,
    call::Call,
    restore::{Format, UNDONE},
};
use crate::{error::Result, ops::restore};

/// Reverse the last restore
///
/// The paths that the last restore wrote or deleted become what they were before it. A path that was edited
/// since is kept and listed, unless --all is given. An undo can be undone.
#[derive(clap::Args, Debug)]
pub(super) struct Undo {
    /// Also paths that were edited since the restore
    #[arg(long)]
    all: bool,
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    format: Format,
}

impl Undo {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let progress = call.progress("undoing");
        let restored = restore::undo(&context, &restore::UndoOptions { dry_run: self.dry_run, all: self.all })?;
        drop(progress);
        self.format.print(&restored, UNDONE, call)
    }
}
