//! `git checkpoint session`: reports an agent's conversation event by event, and shows what is known of sessions.

mod events;
mod handoff;
mod look;
mod question;

pub(super) use events::Choice;
pub(super) use look::Named as Prompts;
pub(super) use question::warning_text;

use super::{Exit, call::Call};
use crate::error::Result;

/// Manage agent sessions: report their events, and show what is known of them
///
/// For agents and scripts that have no hooks of their own: 'start', 'prompt', 'stop' and 'end' are what happens in a
/// conversation; 'git checkpoint save --session <id>' between prompt and stop takes an agent's checkpoint.
#[derive(clap::Args, Debug)]
pub(super) struct Session {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Begin a session, or resume an old one; prints its id
    Start(events::Start),
    /// Begin a turn: the user has sent a prompt, and the agent has changed nothing yet
    Prompt(events::Prompt),
    /// End the turn: what it left unsaved becomes a checkpoint
    Stop(events::Leave),
    /// End the session
    End(events::Leave),
    /// List the sessions of all worktrees, latest first
    List(look::List),
    /// Show a session: where it stands, its turns with their prompts and files
    Show(look::Named),
    /// Print the path of the worktree that a session works in
    ///
    /// The exit status is 1 if that worktree is gone.
    Cwd(look::Cwd),
    /// Write a briefing for another agent, or a person, that goes on with the work of a session
    ///
    /// It is a retelling of what was recorded, and cut; secrets are taken out.
    Handoff(handoff::Handoff),
    /// Move a session to this worktree
    Adopt(look::Forced),
    /// Forget a session; its checkpoints and records stay
    Forget(look::Forced),
}

impl Session {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        match self.action {
            Action::Start(start) => start.run(call),
            Action::Prompt(prompt) => prompt.run(call),
            Action::Stop(leave) => leave.run(false, call),
            Action::End(leave) => leave.run(true, call),
            Action::List(list) => list.run(call),
            Action::Show(named) => named.run(call),
            Action::Cwd(cwd) => cwd.run(call),
            Action::Handoff(handoff) => handoff.run(call),
            Action::Adopt(forced) => forced.adopt(call),
            Action::Forget(forced) => forced.forget(call),
        }
    }
}
