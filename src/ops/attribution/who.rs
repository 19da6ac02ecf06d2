//! The author of lines, as it is shown.

use serde::Serialize;

use crate::model::attribution::{
    Author, Owner,
    kind::{Kind, agent_of, kind_of},
};

/// Who wrote or deleted lines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Who {
    /// In a word.
    pub owner: Kind,
    /// The session of the agent that has a part in it.
    pub session: Option<String>,
    /// The turn of the session.
    pub turn: Option<u32>,
    /// The agent's name.
    pub agent: Option<String>,
    /// The agent's model.
    pub model: Option<String>,
    /// The subagent of the agent that did it, if it was not the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// Returns who `owner` is; `authors` is the table that its ids are of.
pub(crate) fn who(owner: Owner, authors: &[Author]) -> Who {
    let agent = agent_of(owner, authors).and_then(|(id, _)| authors.get(id as usize));
    Who {
        owner: kind_of(owner, authors),
        session: agent.and_then(|agent| agent.session.clone()),
        turn: agent.and_then(|agent| agent.turn),
        agent: agent.and_then(|agent| agent.agent.clone()),
        model: agent.and_then(|agent| agent.model.clone()),
        agent_id: agent.and_then(|agent| agent.agent_id.clone()),
    }
}
