//! What `round start` is asked for.

use std::path::PathBuf;

use crate::config::{BranchPolicy, RoundMode};

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
}
