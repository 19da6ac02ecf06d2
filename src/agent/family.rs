//! The protocol that most agents share: one JSON object with the event's name, the session, the tool and its input. A
//! dialect lists the names that differ.

use super::{
    event::{Event, Moment},
    payload::{Payload, folded},
    tool::{Use, tool},
};
use crate::error::{Error, Result};

/// The common names of events, folded.
const MOMENTS: &[(&str, Moment)] = &[
    ("sessionstart", Moment::SessionStart),
    ("userpromptsubmit", Moment::Prompt),
    ("userpromptsubmitted", Moment::Prompt),
    ("pretooluse", Moment::PreTool),
    ("posttooluse", Moment::PostTool),
    ("posttoolusefailure", Moment::PostTool),
    ("stop", Moment::Stop),
    ("stopfailure", Moment::Stop),
    ("interrupt", Moment::Interrupt),
    ("subagentstart", Moment::SubagentStart),
    ("subagentstop", Moment::SubagentStop),
    ("sessionend", Moment::SessionEnd),
    ("precompact", Moment::Compact),
    ("postcompact", Moment::Compact),
];

/// How a dialect differs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    /// The agent's name.
    pub(super) agent: &'static str,
    /// Its own names of events, which come before the common ones.
    pub(super) moments: &'static [(&'static str, Moment)],
}

const SESSION: &[&str] = &["session_id", "sessionId", "conversation_id", "conversationId"];
const NAME: &[&str] = &["hook_event_name", "hookEventName", "event", "hookName"];

/// Returns the name of the event, as the agent has it.
pub(super) fn event_name(payload: Payload<'_>) -> Option<&str> {
    payload.word(NAME)
}

impl Family {
    /// Translates a payload to an event.
    ///
    /// # Errors
    /// [`Kind::User`](crate::error::Kind::User) if it names no event, or no session.
    pub(super) fn event(self, payload: Payload) -> Result<Event> {
        let name = event_name(payload).ok_or_else(|| Error::user("the payload names no event"))?;
        self.event_at(self.moment(name), payload)
    }

    fn moment(self, name: &str) -> Moment {
        let name = folded(name);
        let known = self.moments.iter().chain(MOMENTS).find(|(known, _)| *known == name);
        known.map_or(Moment::Ignore, |(_, moment)| *moment)
    }

    /// Translates the payload of a known `moment`.
    pub(super) fn event_at(self, moment: Moment, payload: Payload) -> Result<Event> {
        let mut event = Event::ignored(self.agent);
        if moment == Moment::Ignore {
            return Ok(event);
        }
        event.moment = moment;
        event.session = payload.session(SESSION)?;
        event.model = payload.word(&["model", "model_id", "modelId", "model_name"]).map(str::to_owned);
        event.cwd = cwd(payload);
        event.agent_id = payload.word(&["agent_id", "agentId"]).map(str::to_owned);
        event.transcript = transcript(payload);
        match moment {
            Moment::Prompt => event.prompt = payload.text(&["prompt", "message"]).map(str::to_owned),
            Moment::PreTool | Moment::PostTool => event.tool = used_tool(payload),
            Moment::SubagentStop => {
                let own = payload.word(&["agent_transcript_path", "agentTranscriptPath"]);
                event.subagent_transcript = own.map(str::to_owned);
            }
            Moment::SessionStart => {
                event.resumed_from = payload
                    .text(&["previous_session_id", "forked_from_id", "parent_session_id"])
                    .filter(|id| crate::model::session::is_valid_id(id) && *id != event.session)
                    .map(str::to_owned);
                // The conversation keeps its id; with a new id, it would be a new session for us.
                if payload.text(&["source"]) == Some("compact") && event.resumed_from.is_none() {
                    event.moment = Moment::Compact;
                }
            }
            _ => {}
        }
        // No other event reports that the user interrupted the agent.
        if moment == Moment::PostTool && payload.is_true(&["is_interrupt"]) {
            event.moment = Moment::Interrupt;
        }
        Ok(event)
    }
}

fn used_tool(payload: Payload) -> Option<super::event::Tool> {
    let name = payload.text(&["tool_name", "toolName"])?;
    Some(tool(Use {
        name,
        call: payload.text(&["tool_use_id", "tool_call_id", "toolCallId", "toolUseId"]),
        input: payload.value(&["tool_input", "toolArgs", "toolInput"]),
        response: payload.value(&["tool_response", "tool_result", "tool_output", "toolResult"]),
    }))
}

fn cwd(payload: Payload) -> Option<String> {
    let first_root = || {
        let roots = payload.list(&["workspace_roots", "workspaceRoots"]);
        roots.first().and_then(serde_json::Value::as_str).filter(|root| super::payload::is_word(root))
    };
    payload.word(&["cwd", "working_dir", "workingDir"]).or_else(first_root).map(str::to_owned)
}

/// Returns the agent's transcript.
///
/// In a subagent, one agent names the subagent's transcript instead of its own: such a path is ignored.
fn transcript(payload: Payload) -> Option<String> {
    let names_both = ["agent_transcript_path", "agentTranscriptPath"].iter().any(|key| payload.has(key));
    named_transcript(payload).filter(|_| names_both || !payload.has("agent_id")).map(str::to_owned)
}

/// Returns the transcript that a payload names, the agent's or a subagent's.
pub(super) fn named_transcript(payload: Payload<'_>) -> Option<&str> {
    payload.word(&["transcript_path", "transcriptPath"])
}

/// Returns the agent's folder in the path of the named transcript, such as `.codex`.
pub(super) fn transcript_home(payload: Payload<'_>) -> Option<&str> {
    const HOMES: [&str; 8] = [".claude", ".codex", ".copilot", ".cursor", ".factory", ".gemini", ".kiro", ".windsurf"];
    named_transcript(payload)?.split(['/', '\\']).find(|component| HOMES.contains(component))
}
