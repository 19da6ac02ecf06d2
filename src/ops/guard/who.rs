//! Who uses a tool.

/// Who uses a tool.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// The session.
    pub session: &'a str,
    /// The agent's name, as checkpoints have it.
    pub agent: Option<&'a str>,
    /// The id of the tool call, where the agent has one.
    pub call: Option<&'a str>,
    /// What the event before the call and the one after it have in common.
    pub key: &'a str,
}
