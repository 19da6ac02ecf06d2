//! Cursor. It also runs Claude Code's hooks, but with its own payloads.

use serde_json::{Value, json};

use super::{
    dialect::Dialect,
    event::{Event, Moment, Reach},
    family::{Family, event_name, transcript_home},
    install::{File, Format, Scope, Shape, if_there},
    payload::{Payload, folded},
    reply::Reply,
    tool::{Use, tool},
};
use crate::error::Result;

pub(super) const DIALECT: Dialect = Dialect {
    name: "cursor",
    title: "Cursor",
    event,
    is_from: |payload| payload.has("cursor_version") || transcript_home(payload) == Some(".cursor"),
    is_within: |payload, environment| environment.contains_key("CURSOR_VERSION") && payload.has("conversation_id"),
    allow: |_| Reply::json(&json!({})),
    deny,
    warn,
    ask: None,
    inform: None,
    shows: |moment| matches!(moment, Moment::SessionStart | Moment::PostTool | Moment::Compact),
    ignored: r#"{"hook_event_name":"beforeReadFile"}"#,
    programs: &["cursor", "cursor-agent"],
    headless: &["cursor-agent", "-p", "--force", "--"],
    homes: &[".cursor"],
    conversations: &[".cursor"],
    relocations: &[],
    files: &[
        File { scope: Scope::User, path: ".cursor/hooks.json", relocated: None, format: Format::Json(SHAPE) },
        File { scope: Scope::Project, path: ".cursor/hooks.json", relocated: None, format: Format::Json(SHAPE) },
    ],
    reports_all_tools: false,
    todo: "the workspace has to be trusted in Cursor",
};

const SHAPE: Shape = Shape {
    at: &["hooks"],
    beside: Some(("version", "1")),
    events: &[
        "sessionStart",
        "beforeSubmitPrompt",
        "preToolUse",
        "postToolUse",
        "postToolUseFailure",
        "afterFileEdit",
        "stop",
        "subagentStart",
        "subagentStop",
        "preCompact",
        "sessionEnd",
    ],
    entry,
};

const OWN: &[(&str, Moment)] = &[
    ("beforesubmitprompt", Moment::Prompt),
    ("beforeshellexecution", Moment::PreTool),
    ("beforemcpexecution", Moment::PreTool),
    ("aftershellexecution", Moment::PostTool),
    ("aftermcpexecution", Moment::PostTool),
    ("afterfileedit", Moment::PostTool),
    // The user accepts a completion: that is not the agent's change.
    ("aftertabfileedit", Moment::Ignore),
];

fn event(payload: Payload) -> Result<Event> {
    let mut event = Family { agent: DIALECT.name, moments: OWN }.event(payload)?;
    if matches!(event.moment, Moment::PreTool | Moment::PostTool) && event.tool.is_none() {
        let is_edit = event_name(payload).map(folded).as_deref() == Some("afterfileedit");
        let name = if is_edit { "Write" } else { "Shell" };
        let mut used = tool(Use { name, call: None, input: None, response: None });
        if let Some(path) = payload.word(&["file_path"]).filter(|_| is_edit) {
            used.reach = Reach::Files;
            used.paths = vec![path.to_owned()];
        }
        event.tool = Some(used);
    }
    if matches!(event.moment, Moment::SubagentStart | Moment::SubagentStop) {
        event.agent_id = payload.word(&["subagent_id"]).map(str::to_owned);
        if payload.has("parent_conversation_id") {
            event.session = payload.session(&["parent_conversation_id"])?;
        }
    }
    if event.moment == Moment::Stop && payload.text(&["status"]) == Some("aborted") {
        event.moment = Moment::Interrupt;
    }
    Ok(event)
}

fn entry(_event: &str, command: &str) -> Value {
    json!({ "command": if_there(command), "timeout": 30 })
}

fn deny(moment: Moment, text: &str) -> Reply {
    match moment {
        Moment::PreTool => Reply::json(&json!({ "permission": "deny", "user_message": text, "agent_message": text })),
        Moment::Prompt => Reply::json(&json!({ "continue": false, "user_message": text })),
        _ => warn(moment, text),
    }
}

/// Cursor shows the user a message only with a denial.
fn warn(moment: Moment, text: &str) -> Reply {
    match moment {
        Moment::SessionStart | Moment::PostTool => Reply::json(&json!({ "additional_context": text })),
        Moment::Compact => Reply::json(&json!({ "user_message": text })),
        _ => Reply::json(&json!({})),
    }
}
