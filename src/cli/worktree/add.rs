//! `worktree add`.

use bstr::ByteSlice as _;

use super::super::{Exit, call::Call, output::printable, phrase};
use crate::{
    error::Result,
    ops::worktrees::{self, AddOptions},
};

#[derive(clap::Args, Debug)]
pub(super) struct Add {
    /// The branch
    #[arg(value_name = "branch")]
    branch: String,
    /// Make the branch, too
    #[arg(short, long)]
    create: bool,
    /// Where a branch that is made begins (default: HEAD)
    #[arg(long, value_name = "commit")]
    base: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Add {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let options = AddOptions { branch: self.branch, create: self.create, base: self.base };
        let progress = call.progress("making the worktree");
        let added = worktrees::add(&context, &options)?;
        drop(progress);
        if let Some(status) = added.hook_status {
            call.out.warning(&format!(
                "the worktree is made, but the hook 'post-checkout' has failed (exit status {status})"
            ));
            call.out.warning(&added.hook_said.to_str_lossy());
        }
        if self.json {
            call.out.json(&added)?;
            return Ok(Exit::Done);
        }
        let at = added.head.map(|id| format!(" at {}", call.names.id(&id))).unwrap_or_default();
        let new = if added.created { "new branch" } else { "branch" };
        call.out.note(&format!("{} ({new} {}{at})", phrase::quoted(&added.path), printable(&added.branch)))?;
        Ok(Exit::Done)
    }
}
