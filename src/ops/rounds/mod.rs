//! `round`: isolated work of one agent on one or more directories, for programs that give tasks to agents.
//!
//! - `names`: the names of branches and folders; `state::rounds` has the file of each round.
//! - `scratch`: the folder for experiments, and where it is kept when the round ends (`archive`).
//! - `start`, `workspace`: make the directories of a round; `undo` takes back what a failed start has made.
//! - `end`, `commit`: commit what is there, check that, and only then remove worktrees, as `worktree remove` does.
//! - `listing`, `branches`: what is known of the rounds, and what agents read of it.

mod archive;
mod branches;
mod commit;
mod end;
mod listing;
mod lock;
mod names;
mod scratch;
mod start;
mod undo;
mod workspace;

pub(crate) use branches::{Summary, branches, prompt, restart, summary};
pub(crate) use end::{EndOptions, EndedPlace, end};
pub(crate) use listing::{Shown, ShownPlace, find, list};
pub(crate) use names::check;
pub(crate) use start::{StartOptions, start};
pub(crate) use workspace::prepare;
