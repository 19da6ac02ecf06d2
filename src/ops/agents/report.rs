//! What an agent reports, and what it is answered.

use std::path::PathBuf;

use crate::ops::{
    guard::Verdict,
    sessions::{Question, SessionInfo},
};

/// What an agent reports.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// The agent's name, of the fixed list.
    pub agent: &'static str,
    /// The word for what happened.
    pub moment: &'static str,
    /// What happened.
    pub what: What,
    /// The session.
    pub session: String,
    /// The subagent of the agent that did it, if it was not the agent itself.
    pub agent_id: Option<String>,
    /// What is known of the session.
    pub info: SessionInfo,
    /// The directory that the agent works in.
    pub cwd: PathBuf,
    /// True if that is a directory of another repository, where the event is handled, too.
    pub is_elsewhere: bool,
    /// True if the agent reports each tool that it uses.
    pub reports_all_tools: bool,
    /// True if the agent waits for the answer and can be held back.
    pub is_blockable: bool,
    /// True if the user or the model of the agent reads a warning now.
    pub is_shown: bool,
}

impl Report {
    /// Returns the session whose turn ends with this event, if one does.
    pub(crate) fn ended_session(&self) -> Option<&str> {
        match &self.what {
            What::Start(continued) => continued.as_deref(),
            What::Stop | What::End => Some(&self.session),
            _ => None,
        }
    }
}

/// What happened in an agent.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A conversation was begun, or is gone on with; maybe that of another session.
    Start(Option<String>),
    /// The user sent a prompt.
    Prompt(Option<String>),
    /// The agent continues without a prompt.
    Notice,
    /// A tool is about to be used.
    BeforeTool(Tool),
    /// A tool was used.
    AfterTool(Tool),
    /// The agent has answered, or was interrupted.
    Stop,
    /// A subagent of the agent is done.
    SubagentStop,
    /// The agent was left.
    End,
    /// A sign of life.
    Other,
}

/// The use of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    /// Its name.
    pub name: String,
    /// The id of this use, where the agent has one.
    pub call: Option<String>,
    /// What it may change.
    pub reach: Reach,
    /// True if it may keep running after the agent has reported its end.
    pub is_background: bool,
    /// True if it may delete or overwrite files of which there is no copy.
    pub may_destroy: bool,
    /// True if it runs a command: what it changes, a process of its own does.
    pub runs_command: bool,
}

/// What a tool may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// These files, absolute or relative to the report's `cwd`.
    Files(Vec<String>),
    /// Anything.
    Anything,
    /// Nothing.
    Nothing,
}

/// The answer to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It may continue.
    Allow,
    /// It may continue, and gets a message.
    Warn(Message),
    /// Its user is asked whether it may continue, and gets a message; where the agent cannot ask, that is a warning.
    Ask(Message),
    /// It must not continue; nothing has changed.
    Deny(Message),
}

/// Something for the user of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Other sessions have uncommitted work here; and what else there is to say.
    Others(Question, Vec<String>),
    /// Who else is at work here, or was until it went away, and whose work the stash holds.
    Guard(Box<Verdict>),
}
