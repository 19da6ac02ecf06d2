//! What `round start` is asked for.

use std::path::PathBuf;

use super::super::Context;
use crate::{
    config::{BranchPolicy, Mirror, RoundMode},
    error::{Error, Result},
};

/// What a call has made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Begun {
    /// Linked worktrees.
    pub(crate) worktrees: Vec<PathBuf>,
    /// Copies with repositories of their own.
    pub(crate) copies: Vec<PathBuf>,
}

/// What to make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StartOptions {
    /// The directories to work on; none: the workspace itself.
    pub(crate) contexts: Vec<PathBuf>,
    /// The directory of the agent.
    pub(crate) workspace: Option<PathBuf>,
    /// The session that works in it.
    pub(crate) session: Option<String>,
    /// What other agents call the one that works in it.
    pub(crate) agent: Option<String>,
    /// How to isolate it; none: as the settings say.
    pub(crate) mode: Option<RoundMode>,
    /// Where its branches begin; none: at HEAD of each directory.
    pub(crate) base: Option<String>,
    /// What its branch is to be called.
    pub(crate) label: Option<String>,
    /// What the program that gives the tasks calls its run.
    pub(crate) group: Option<String>,
    /// No round may be of that group yet.
    pub(crate) is_new_group: bool,
    /// The branch of the agent's round before, and what becomes of it.
    pub(crate) previous: Option<String>,
    pub(crate) previous_policy: BranchPolicy,
    /// Take along what is not committed in the workspace.
    pub(crate) with_changes: bool,
    /// What of the uncommitted changes of the directories comes along; none: as the settings say.
    pub(crate) mirror: Option<Mirror>,
    /// The caller runs the commands of `worktree.setup`.
    pub(crate) sets_up: bool,
    /// The program that git's hooks in a copy call; none: they call nothing.
    pub(crate) program: Option<PathBuf>,
}

impl StartOptions {
    /// Returns what comes along from the worktree of `here`. The setting is for rounds that begin at HEAD.
    pub(super) fn mirror_in(&self, here: &Context) -> Mirror {
        self.mirror.unwrap_or(if self.base.is_some() { Mirror::None } else { here.settings.round.mirror })
    }

    /// Refuses to take changes along to another commit than the one that they are based on.
    ///
    /// # Errors
    /// [`Kind::User`](crate::error::Kind::User) if that is asked for.
    pub(super) fn check_mirror(&self) -> Result<()> {
        if self.base.is_none() || self.mirror.is_none_or(|mirror| mirror == Mirror::None) {
            return Ok(());
        }
        Err(Error::user("'--mirror' takes along what has changed since HEAD, and '--base' names where to begin")
            .with_hint("give one of both; '--base' takes a checkpoint, too, with its files"))
    }
}
