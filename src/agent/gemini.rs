//! The Gemini CLI. It shows standard error to the user if standard output is empty; any exit code from 2 on means a
//! denial.

use serde_json::{Value, json};

use super::{
    dialect::{Dialect, always},
    event::{Event, Moment},
    family::{Family, event_name, transcript_home},
    install::{File, Format, Scope, Shape, whatever_happens},
    payload::Payload,
    reply::{self, Reply},
};
use crate::error::Result;

pub(super) const DIALECT: Dialect = Dialect {
    name: "gemini",
    title: "Gemini",
    event,
    is_from: |payload| {
        let is_own = |name| OWN.iter().any(|(own, _)| *own == super::payload::folded(name));
        transcript_home(payload) == Some(".gemini")
            || payload.has("timestamp") && payload.has("hook_event_name") && event_name(payload).is_some_and(is_own)
    },
    is_within: |payload, environment| {
        let session = environment.get("GEMINI_SESSION_ID").map(String::as_str);
        session.is_some() && payload.text(&["session_id"]) == session
    },
    allow: |_| Reply::json(&json!({})),
    deny,
    warn,
    ask: None,
    inform: Some(with_context),
    shows: always,
    ignored: r#"{"hook_event_name":"Notification"}"#,
    programs: &["gemini"],
    headless: &["gemini", "--approval-mode", "auto_edit", "--prompt="],
    homes: &[".gemini"],
    conversations: &[".gemini"],
    relocations: &[],
    files: &[
        File { scope: Scope::User, path: ".gemini/settings.json", relocated: None, format: Format::Json(SHAPE) },
        File { scope: Scope::Project, path: ".gemini/settings.json", relocated: None, format: Format::Json(SHAPE) },
    ],
    reports_all_tools: true,
    todo: "restart gemini; it shows a notice once before it runs the hooks of a project, whose folder has to be trusted",
};

const SHAPE: Shape = Shape {
    at: &["hooks"],
    beside: None,
    events: &["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"],
    entry,
};

const OWN: &[(&str, Moment)] = &[
    ("beforeagent", Moment::Prompt),
    ("afteragent", Moment::Stop),
    ("beforetool", Moment::PreTool),
    ("aftertool", Moment::PostTool),
    ("beforemodel", Moment::Ignore),
    ("aftermodel", Moment::Ignore),
    ("beforetoolselection", Moment::Ignore),
    ("precompress", Moment::Compact),
];

fn event(payload: Payload) -> Result<Event> {
    let event = Family { agent: DIALECT.name, moments: OWN }.event(payload)?;
    // Gemini announces a compaction before every call of the model, whether it comes or not.
    if event.moment == Moment::Compact && payload.text(&["trigger"]) != Some("manual") {
        return Ok(Event::ignored(DIALECT.name));
    }
    Ok(event)
}

/// Times are in milliseconds. Where the program is killed, its exit code must not deny a tool.
fn entry(event: &str, command: &str) -> Value {
    let command = whatever_happens(command);
    let handlers = json!([{ "name": "git-checkpoint", "type": "command", "command": command, "timeout": 30000 }]);
    if event.ends_with("Tool") { json!({ "matcher": "*", "hooks": handlers }) } else { json!({ "hooks": handlers }) }
}

fn deny(moment: Moment, text: &str) -> Reply {
    match moment {
        Moment::Prompt | Moment::PreTool => {
            Reply::json(&json!({ "decision": "deny", "reason": text, "systemMessage": text }))
        }
        _ => warn(moment, text),
    }
}

fn warn(moment: Moment, text: &str) -> Reply {
    if moment == Moment::PostTool {
        let output = json!({ "hookEventName": "AfterTool", "additionalContext": text });
        return Reply::json(&json!({ "systemMessage": text, "hookSpecificOutput": output }));
    }
    Reply::json(&json!({ "systemMessage": text }))
}

fn with_context(reply: Reply, text: &str) -> Reply {
    reply::with_context(reply, "BeforeAgent", text)
}
