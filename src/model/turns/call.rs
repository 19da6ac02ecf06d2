//! The use of a tool, from before until after it.

use serde::{Deserialize, Serialize};

use crate::model::process::Process;

/// Where a worktree stood when a tool call began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Start {
    /// The commit at HEAD; none if HEAD is unborn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The id of jj's change at `@`, in a colocated repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The other session that its message named already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named: Option<String>,
}

/// A command that a tool runs, unless the user refuses it, which no event reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Command {
    /// The agent's process, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Process>,
    /// When the event before it was reported, in the kernel's ticks since the machine was started.
    pub since: u64,
    /// The same in Unix milliseconds; 0: not known.
    #[serde(default)]
    pub began: i64,
    /// The commit at HEAD then; none if HEAD was unborn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// True if what had changed up to a later look, when none of its processes ran, is saved: what comes then is not its.
    #[serde(default)]
    pub is_settled: bool,
}

/// The use of a tool, from before until after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Call {
    /// A digest that the event before the call and the one after it have in common.
    pub key: String,
    /// Its id, where the agent has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The helper of the agent that makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// When it began, in Unix seconds.
    pub started: i64,
    /// The only paths that it may change, from the worktree's root; none: it may change anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// True if it keeps running after the agent has reported its end.
    pub is_background: bool,
    /// Of a command: how to distinguish its processes from those that the agent had before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// Where the worktree stood, until the guard has judged the end of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
}

impl Call {
    /// Notes that it keeps running after the agent has reported its end. No later call is the same one, though its key or id may
    /// be: some models count from zero in every answer.
    pub fn leave_running(&mut self) {
        self.is_background = true;
        self.id = None;
        self.key.insert_str(0, "background ");
    }
}
