//! `round`: isolated work of one agent on one or more directories, for programs that give tasks to agents.
//!
//! - `names`: the names of branches and folders; `state::rounds` has the file of each round.
//! - `scratch`: the folder for experiments, and where it is kept when the round ends (`archive`) or
//!   before (`apart`).
//! - `options`, `start`, `workspace`: make the directories of a round; `undo` takes back what a failed start has made, `halves` its copies.
//! - `isolated`, `plain`, `isolated_end`: a round in a copy that is a repository of its own; `copies` finds, reads and moves them.
//! - `to_set_up`: a worktree, or a copy, whose set-up goes on.
//! - `made_around`: directories of which a repository that was made for rounds has nothing.
//! - `narrowed`: what a copy gets of a checkpoint.
//! - `mirror`: what a round takes along of what is not committed.
//! - `end`, `ended`, `commit`: commit the files of a worktree, compare the branch with it, and only then remove it, as `worktree remove` does.
//! - `several`: ends all rounds of a group. `retire`, `previous`: branches that are to be no more.
//! - `changes`: the two sides between which a round has worked. `apply`: brings them elsewhere.
//! - `compare`: several rounds, side by side. `bench`: where a test of one runs.
//! - `race`: rounds of one group from one commit.
//! - `listing`, `branches`: what is known of the rounds, and what agents read of it.

mod apart;
mod apply;
mod archive;
mod bench;
mod branches;
mod changes;
mod commit;
mod compare;
mod copies;
mod end;
mod ended;
mod halves;
mod isolated;
mod isolated_end;
mod listing;
mod lock;
mod made_around;
mod mirror;
mod names;
mod narrowed;
mod options;
mod plain;
mod previous;
mod race;
mod retire;
mod scratch;
mod several;
mod source;
mod stand_in;
mod start;
mod to_set_up;
mod undo;
mod workspace;

pub(crate) use crate::state::rounds::{Ran, stand_in_of};
pub(crate) use apart::archive_now;
pub(crate) use apply::{Drift, Planned, apply, plan};
pub(crate) use bench::{Bench, below, bench, clear};
pub(crate) use branches::{OfAgent, Summary, branches, prompt, restart, summary};
pub(crate) use changes::{Compared, compared};
pub(crate) use compare::{ChangedPath, Entry, SideBySide, Together, compare};
pub(crate) use end::end;
pub(crate) use ended::{EndOptions, Ended, EndedPlace};
pub(crate) use listing::{Shown, ShownPlace, find, list};
pub(crate) use made_around::refuse_below;
pub(crate) use names::check;
pub(crate) use options::StartOptions;
pub(crate) use race::{Race, RaceOptions, begin_race, make_log, note, root_of, take_back};
pub(crate) use retire::{LeftBranch, Retired};
pub(crate) use several::{EndedSeveral, end_several};
pub(crate) use stand_in::stand_in;
pub(crate) use start::Started;
pub(crate) use start::start;
pub(crate) use to_set_up::to_set_up;
pub(crate) use workspace::{has_files, prepare};
