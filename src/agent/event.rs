//! The events of agents, in our terms: every dialect is translated to this one shape.

use crate::model::usage::Tokens;

/// What happened in the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// A conversation began, or was resumed.
    SessionStart,
    /// The user sent a prompt.
    Prompt,
    /// The agent continues without a prompt: a background task has ended, or a time it waited for has come.
    Notice,
    /// A tool is about to be used.
    PreTool,
    /// A tool was used, successfully or not.
    PostTool,
    /// The agent has answered.
    Stop,
    /// The user interrupted the agent.
    Interrupt,
    /// A subagent of the agent begins.
    SubagentStart,
    /// A subagent of the agent is done.
    SubagentStop,
    /// The agent was left.
    SessionEnd,
    /// The agent compacts the context of the conversation, which continues.
    Compact,
    /// An event that we ignore.
    Ignore,
}

impl Moment {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::SessionStart,
        Self::Prompt,
        Self::Notice,
        Self::PreTool,
        Self::PostTool,
        Self::Stop,
        Self::Interrupt,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::SessionEnd,
        Self::Compact,
        Self::Ignore,
    ];

    /// Returns the word for it, which is also the one of the neutral protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::Prompt => "prompt",
            Self::Notice => "notice",
            Self::PreTool => "pre-tool",
            Self::PostTool => "post-tool",
            Self::Stop => "stop",
            Self::Interrupt => "interrupt",
            Self::SubagentStart => "subagent-start",
            Self::SubagentStop => "subagent-stop",
            Self::SessionEnd => "session-end",
            Self::Compact => "compact",
            Self::Ignore => "ignore",
        }
    }

    /// Returns true if the agent waits for our answer before it continues.
    pub fn is_blockable(self) -> bool {
        matches!(self, Self::Prompt | Self::PreTool)
    }
}

/// What a tool may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only the named files.
    Files,
    /// Any path: a shell, an unknown tool, or one that writes files without naming them.
    Anything,
    /// Nothing: it only reads.
    Nothing,
}

/// The use of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name, as the agent has it.
    pub name: String,
    /// The id of this call, where the agent has one.
    pub call: Option<String>,
    /// What it may change.
    pub reach: Reach,
    /// The files it changes, as the agent names them: absolute, or relative to the event's `cwd`. Not checked against
    /// the worktree.
    pub paths: Vec<String>,
    /// True if it keeps running after the agent got the result.
    pub is_background: bool,
    /// True if it runs a command: what it changes, a process of its own does.
    pub runs_command: bool,
    /// True if it is a command that may delete or overwrite files.
    pub may_destroy: bool,
}

/// An agent's event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The agent's name, as `--agent` takes it.
    pub agent: String,
    /// What happened.
    pub moment: Moment,
    /// The session; empty only for ignored events.
    pub session: String,
    /// The model.
    pub model: Option<String>,
    /// The directory that the agent works in.
    pub cwd: Option<String>,
    /// What the user asked for. Not redacted.
    pub prompt: Option<String>,
    /// The tool.
    pub tool: Option<Tool>,
    /// The subagent that did it, if it was not the agent itself.
    pub agent_id: Option<String>,
    /// The file that the agent writes the conversation to.
    pub transcript: Option<String>,
    /// The file that a subagent has written its part of the conversation to.
    pub subagent_transcript: Option<String>,
    /// What the model has used in the turn that ends, where the agent says so itself.
    pub tokens: Option<Tokens>,
    /// The session that this one continues under a new id.
    pub resumed_from: Option<String>,
}

impl Event {
    /// Returns an event of `agent` that does not concern us.
    pub fn ignored(agent: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            moment: Moment::Ignore,
            session: String::new(),
            model: None,
            cwd: None,
            prompt: None,
            tool: None,
            agent_id: None,
            transcript: None,
            subagent_transcript: None,
            tokens: None,
            resumed_from: None,
        }
    }
}
