//! `worktree add`.

use std::path::Path;

use bstr::{BString, ByteSlice as _};
use serde::Serialize;

use super::{
    super::{Exit, agent_files::Places, call::Call, doctor::agents::command_for, output::printable, phrase},
    setup,
};
use crate::{
    error::Result,
    model::path_text::shell_word,
    ops::{
        Context,
        agent_hooks::Elsewhere,
        sessions::{self, OnMultisession, SessionInfo},
        worktrees::{self, AddOptions, Added, NotCopied, Ran},
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
            inside: None,
        };
        let progress = call.progress("making the worktree");
        let added = worktrees::add(&context, &options)?;
        drop(progress);
        if let Some(session) = &added.session {
            let root = added.path.to_path_lossy();
            let there = worktrees::context_in(&context, root.as_os_str())?;
            // The worktree is new: no other session has worked there.
            let info = SessionInfo { on_multisession: OnMultisession::Continue, ..SessionInfo::default() };
            sessions::start(&there, session, &info, &mut |_| Ok(true))
                .map_err(|error| worktrees::left(error, &root, Some(session)))?;
        }
        for NotCopied { path, why } in &added.not_copied {
            call.out.warning(&format!("{} is not copied: {why}", phrase::quoted(path)));
        }
        if let Some(status) = added.hook_status {
            call.out.warning(&format!(
                "the worktree is made, but the hook 'post-checkout' has failed (exit status {status})"
            ));
            added.hook_said.to_str_lossy().lines().for_each(|line| call.out.warning(line));
        }
        let there = worktrees::context_in(&context, &added.path.to_os_str_lossy())?;
        let places = Places::new(&there)?;
        let elsewhere = places.elsewhere(&there, &places.enabled(&there)?)?;
        if !self.json {
            print(&added, call)?;
        }
        warn_of(&added, &elsewhere, call);
        let path = added.path.to_path_lossy();
        let ran = if self.no_setup { None } else { run_set_up(&context, &path, call)? };
        if self.json {
            call.out.json(&Whole { added: &added, agents_elsewhere: &elsewhere, setup: ran.as_ref() })?;
        }
        setup::end(ran.as_ref(), &path, Exit::Done, call)
    }
}

/// Runs the commands that set up the new worktree at `path`.
fn run_set_up(context: &Context, path: &Path, call: &mut Call) -> Result<Option<Ran>> {
    let found = worktrees::find_root(context, Some(path.as_os_str()))?;
    worktrees::set_up(context, &found, false, &mut |step| setup::run_step(call, step)).map_err(|error| {
        match worktrees::find_root(context, Some(found.path.as_os_str())) {
            Ok(_) => {
                error.with_hint(format!("the worktree is made; {} runs the commands", setup::command(&found.path)))
            }
            Err(_) => error,
        }
    })
}

/// Runs the commands that set up the new worktree at `path`, and says what kept them from their end. Returns how the command ends.
pub(in crate::cli) fn set_up_new(context: &Context, path: &Path, call: &mut Call) -> Result<Exit> {
    let ran = run_set_up(context, path, call)?;
    setup::end(ran.as_ref(), path, Exit::Done, call)
}

/// The same for the copy of an isolated round at `path`.
pub(in crate::cli) fn set_up_copy(context: &Context, path: &Path, call: &mut Call) -> Result<Exit> {
    let (there, found) = worktrees::copy_at(context, path)?;
    let ran = worktrees::set_up(&there, &found, false, &mut |step| setup::run_step(call, step))?;
    setup::end(ran.as_ref(), path, Exit::Done, call)
}

/// Says which agents report nothing from the copy of an isolated round at `path`, because their hooks are in the worktrees of this
/// repository.
///
/// # Errors
/// If the copy cannot be opened, or settings of agents cannot be read.
pub(in crate::cli) fn check_hooks_of_copy(context: &Context, path: &Path, call: &mut Call) -> Result<()> {
    let (there, _) = worktrees::copy_at(context, path)?;
    let (places, here) = (Places::new(&there)?, Places::new(context)?);
    let elsewhere = here.elsewhere_than_copy(context, &places.enabled(&there)?)?;
    warn_of_hooks(&path.as_os_str().as_encoded_bytes().into(), &elsewhere, call);
    Ok(())
}

/// All that `worktree add --json` prints.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    added: &'a Added,
    agents_elsewhere: &'a [Elsewhere],
    /// None: there are no commands, or they were not to run.
    setup: Option<&'a Ran>,
}

/// Says what is not as one may expect: the session's former worktree, and agents whose hooks are `elsewhere`.
fn warn_of(added: &Added, elsewhere: &[Elsewhere], call: &mut Call) {
    if let Some(left) = &added.left {
        call.out.warning(&format!("{} was made for the session before, and no longer is", phrase::quoted(left)));
    }
    warn_of_hooks(&added.path, elsewhere, call);
}

/// Says which agents report nothing from the new worktree at `path`, because their hooks are `elsewhere`.
fn warn_of_hooks(path: &BString, elsewhere: &[Elsewhere], call: &mut Call) {
    for agent in elsewhere {
        call.out.warning(&format!(
            "the hooks of {} are installed in the worktree {}, not in the new one: there is no checkpoint of its work there",
            printable(&agent.agent),
            phrase::quoted(&agent.worktree)
        ));
        let (path, command) = (shell_word(&path.to_str_lossy()), command_for(agent));
        let command = command.strip_prefix("git ").unwrap_or(&command);
        call.out.hint(&format!("'git -C {path} {command}' installs them there"));
    }
}

/// Says which agents report nothing from the new worktree at `path`, because their hooks are in another one.
///
/// # Errors
/// If the worktree cannot be opened, or settings of agents cannot be read.
pub(in crate::cli) fn check_hooks(context: &Context, path: &BString, call: &mut Call) -> Result<()> {
    let there = worktrees::context_in(context, &path.to_os_str_lossy())?;
    let places = Places::new(&there)?;
    let elsewhere = places.elsewhere(&there, &places.enabled(&there)?)?;
    warn_of_hooks(path, &elsewhere, call);
    Ok(())
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
