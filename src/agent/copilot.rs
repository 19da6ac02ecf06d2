//! GitHub Copilot: the CLI, and in VS Code. Before a tool, *any* exit code but 0 means a denial, so we deny by JSON
//! only.

use serde_json::{Value, json};

use super::{
    dialect::{Dialect, always, no_evidence},
    event::{Event, Moment},
    family::{Family, event_name, transcript_home},
    install::{File, Format, Scope, Shape, whatever_happens},
    payload::Payload,
    reply::Reply,
};
use crate::error::Result;

pub(super) const DIALECT: Dialect = Dialect {
    name: "copilot",
    title: "Copilot",
    event,
    is_from: |payload| transcript_home(payload) == Some(".copilot") || is_camel(payload),
    is_within: no_evidence,
    allow: |_| Reply::silent(),
    deny,
    warn,
    ask: None,
    inform: None,
    shows: always,
    ignored: r#"{"hook_event_name":"Notification"}"#,
    programs: &["copilot"],
    headless: &["copilot", "--allow-tool=write", "--prompt="],
    homes: &[".copilot"],
    conversations: &[".copilot"],
    relocations: &["COPILOT_HOME"],
    files: &[
        File {
            scope: Scope::User,
            path: ".copilot/hooks/git-checkpoint.json",
            relocated: Some(("COPILOT_HOME", "hooks/git-checkpoint.json")),
            format: Format::Json(SHAPE),
        },
        File {
            scope: Scope::Project,
            path: ".github/hooks/git-checkpoint.json",
            relocated: None,
            format: Format::Json(SHAPE),
        },
    ],
    reports_all_tools: false,
    todo: "restart copilot: it reads hooks when it starts; the folder has to be trusted",
};

const SHAPE: Shape = Shape {
    at: &["hooks"],
    beside: Some(("version", "1")),
    events: &[
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "PreCompact",
        "SessionEnd",
    ],
    entry,
};

const FAMILY: Family = Family { agent: DIALECT.name, moments: &[("agentstop", Moment::Stop)] };

/// Returns true for the payload of a hook whose name is in camel case: it has everything but the event's name.
fn is_camel(payload: Payload) -> bool {
    payload.has("sessionId")
        && payload.value(&["timestamp"]).is_some_and(Value::is_number)
        && event_name(payload).is_none()
}

fn event(payload: Payload) -> Result<Event> {
    if !is_camel(payload) {
        return FAMILY.event(payload);
    }
    let moment = if payload.has("toolResult") {
        Moment::PostTool
    } else if payload.has("toolName") {
        Moment::PreTool
    } else if payload.has("prompt") {
        Moment::Prompt
    } else if payload.has("source") {
        Moment::SessionStart
    } else if payload.has("stopReason") {
        Moment::Stop
    } else if payload.has("reason") {
        Moment::SessionEnd
    } else {
        Moment::Ignore
    };
    FAMILY.event_at(moment, payload)
}

/// Where the program is killed, its exit code must not deny a tool.
fn entry(_event: &str, command: &str) -> Value {
    json!({
        "type": "command",
        "bash": whatever_happens(command),
        "powershell": format!("{command}; exit 0"),
        "timeoutSec": 30,
    })
}

/// A prompt cannot be held back.
fn deny(moment: Moment, text: &str) -> Reply {
    match moment {
        Moment::PreTool => {
            let output = json!({
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": text,
            });
            Reply::json(&json!({
                "permissionDecision": "deny",
                "permissionDecisionReason": text,
                "hookSpecificOutput": output,
            }))
        }
        _ => warn(moment, text),
    }
}

fn warn(moment: Moment, text: &str) -> Reply {
    match moment {
        Moment::SessionStart | Moment::PostTool => Reply::json(&json!({ "additionalContext": text })),
        _ => Reply::json(&json!({ "type": "progress", "message": text })),
    }
}
