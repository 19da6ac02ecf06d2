//! `worktree add`.

use bstr::ByteSlice as _;

use super::{
    super::{Exit, call::Call, output::printable, phrase},
    setup,
};
use crate::{
    error::Result,
    ops::{
        sessions::{self, OnMultisession, SessionInfo},
        worktrees::{self, AddOptions, Added, NotCopied},
    },
};

#[derive(clap::Args, Debug)]
pub(super) struct Add {
    /// The branch
    #[arg(value_name = "branch")]
    branch: String,
    /// Make the branch, too
    #[arg(short, long)]
    create: bool,
    /// Where a branch that is made begins (default: HEAD); of a checkpoint, the worktree gets the files
    #[arg(long, value_name = "from")]
    base: Option<String>,
    /// Bring the uncommitted changes of this worktree along, without the ignored files
    #[arg(long, requires = "create", conflicts_with = "base")]
    from_here: bool,
    /// Begin this session in the worktree, which is for it alone
    #[arg(long, value_name = "session")]
    session: Option<String>,
    /// Do not run the commands of the setting 'worktree.setup'
    #[arg(long)]
    no_setup: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Add {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let options = AddOptions {
            branch: self.branch,
            create: self.create,
            base: self.base,
            from_here: self.from_here,
            session: self.session,
        };
        let progress = call.progress("making the worktree");
        let mut added = worktrees::add(&context, &options)?;
        drop(progress);
        if let Some(session) = &added.session {
            let there = worktrees::context_in(&context, &added.path.to_os_str_lossy())?;
            // Nobody else has worked there yet.
            let info = SessionInfo { on_multisession: OnMultisession::Continue, ..SessionInfo::default() };
            sessions::start(&there, session, &info, &mut |_| Ok(true))?;
        }
        for NotCopied { path, why } in &added.not_copied {
            call.out.warning(&format!("{} is not copied: {why}", phrase::quoted(path)));
        }
        if let Some(status) = added.hook_status {
            call.out.warning(&format!(
                "the worktree is made, but the hook 'post-checkout' has failed (exit status {status})"
            ));
            call.out.warning(&added.hook_said.to_str_lossy());
        }
        if !self.no_setup {
            let found = worktrees::find_root(&context, Some(&added.path.to_os_str_lossy()))?;
            let run = &mut setup::runner(call, "set-up");
            let ran = worktrees::set_up(&context, &found, added.session.as_deref(), false, run)?;
            added.setup = ran;
        }
        if self.json {
            call.out.json(&added)?;
        } else {
            print(&added, call)?;
        }
        Ok(setup::report(added.setup.as_ref(), &added.path.to_str_lossy(), call))
    }
}

fn print(added: &Added, call: &mut Call) -> Result<()> {
    let at = added.head.map(|id| format!(" at {}", call.names.id(&id))).unwrap_or_default();
    let new = if added.created { "new branch" } else { "branch" };
    call.out.note(&format!("{} ({new} {}{at})", phrase::quoted(&added.path), printable(&added.branch)))?;
    if let Some(id) = &added.checkpoint {
        call.out.note(&format!("    with the files of the checkpoint {}", call.names.id(id)))?;
    }
    if !added.copied.is_empty() {
        call.out.note(&format!("    with {}", phrase::count(added.copied.len(), "ignored file")))?;
    }
    Ok(())
}
