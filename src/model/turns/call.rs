//! A tool call, from the event before it to the event after it.

use serde::{Deserialize, Serialize};

use crate::model::process::Process;

/// Where a worktree stood when a tool call began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Start {
    /// The commit at HEAD; none if HEAD is unborn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Where the reflog of HEAD ended, as a decimal number; none if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_end: Option<String>,
    /// The id of jj's change at `@`, in a colocated repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The other session that the message of the commit at HEAD (or of jj's change) named before the call: the call did not add
    /// that.
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
    /// When the hook that announced the command started, in kernel ticks since boot. Processes of the command are no older.
    pub since: u64,
    /// If it runs in the background: when the agent reported that, in the same ticks. What the agent has started later is not it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// `since` in Unix milliseconds; 0: not known.
    #[serde(default)]
    pub began: i64,
    /// The commit at HEAD then; none if HEAD was unborn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// True once a save of the whole worktree found no process of the command running: later changes are not the command's.
    #[serde(default)]
    pub is_settled: bool,
}

/// A tool call, from the event before it to the event after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Call {
    /// A digest that the event before the call and the one after it have in common.
    pub key: String,
    /// Its id, where the agent has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The id of the subagent that made the call; none for the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// When it began, in Unix seconds.
    pub started: i64,
    /// The only paths that it may change, from the worktree's root; none: it may change anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// True if it keeps running after the agent has reported its end.
    pub is_background: bool,
    /// True if the same agent has begun another call since: the user may have refused this one, which no event reports.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_overtaken: bool,
    /// Of a command: how to distinguish its processes from those that the agent had before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// Where HEAD was when the call began. The guard takes it away when it checks the end of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
}

impl Call {
    /// Covers the time in which `older` ran, too, if one agent process has started both. Both run in the background.
    pub fn join(&mut self, older: Self) {
        self.agent_id = self.agent_id.take().filter(|id| Some(id) == older.agent_id.as_ref());
        if let (Some(its), Some(older)) = (&mut self.command, older.command)
            && its.agent == older.agent
        {
            its.since = its.since.min(older.since);
            its.until = its.until.zip(older.until).map(|(one, other)| one.max(other));
            its.is_settled &= older.is_settled;
        }
    }

    /// Notes that it keeps running after the agent has reported its end, at the tick `now`. Changes the key and drops the id, so
    /// that a later call with the same ones is not taken for this one: some models count their calls from zero in every answer.
    pub fn leave_running(&mut self, now: Option<u64>) {
        self.is_background = true;
        if let Some(command) = &mut self.command {
            command.until = now;
        }
        self.id = None;
        self.key.insert_str(0, "background ");
    }
}
