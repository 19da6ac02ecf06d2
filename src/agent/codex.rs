//! The Codex CLI. It marks a hook as failed that prints keys it does not know, or plain text at a stop.

use serde_json::{Value, json};

use super::{
    dialect::{Dialect, no_evidence},
    event::{Event, Moment},
    family::{Family, transcript_home},
    install::{File, Format, Scope, Shape},
    payload::Payload,
    reply::Reply,
};
use crate::error::Result;

pub(super) const DIALECT: Dialect = Dialect {
    name: "codex",
    title: "Codex",
    event,
    is_from: |payload| {
        transcript_home(payload) == Some(".codex") || payload.has("turn_id") && payload.has("hook_event_name")
    },
    is_within: no_evidence,
    allow: |_| Reply::silent(),
    deny,
    warn,
    homes: &[".codex"],
    conversations: &[".codex"],
    relocations: &["CODEX_HOME"],
    files: &[
        File {
            scope: Scope::User,
            path: ".codex/hooks.json",
            relocated: Some(("CODEX_HOME", "hooks.json")),
            format: Format::Json(SHAPE),
        },
        File { scope: Scope::Project, path: ".codex/hooks.json", relocated: None, format: Format::Json(SHAPE) },
    ],
    todo: "start codex and trust the hooks with '/hooks': it skips hooks that are not trusted without a word; hooks of \
           a project run only where the project is trusted, too",
};

/// The same hooks in `config.toml`, for those who keep them there.
pub const CONFIG_TOML: File = File {
    scope: Scope::User,
    path: ".codex/config.toml",
    relocated: Some(("CODEX_HOME", "config.toml")),
    format: Format::Toml(SHAPE),
};

const SHAPE: Shape = Shape {
    at: &["hooks"],
    beside: None,
    events: &[
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "Interrupt",
        "SubagentStart",
        "SubagentStop",
        "SessionEnd",
    ],
    entry,
};

fn event(payload: Payload) -> Result<Event> {
    Family { agent: DIALECT.name, moments: &[] }.event(payload)
}

/// The two last events get no more than three seconds.
fn entry(event: &str, command: &str) -> Value {
    let timeout = if ["Interrupt", "SessionEnd"].contains(&event) { 3 } else { 30 };
    let handlers = json!([{ "type": "command", "command": command, "timeout": timeout }]);
    if event.contains("Tool") { json!({ "matcher": "*", "hooks": handlers }) } else { json!({ "hooks": handlers }) }
}

fn deny(moment: Moment, text: &str) -> Reply {
    match moment {
        Moment::Prompt | Moment::PreTool => Reply::no(text),
        _ => warn(moment, text),
    }
}

/// `codex exec` does not show the message, but the model reads the context.
fn warn(moment: Moment, text: &str) -> Reply {
    let name = match moment {
        Moment::SessionStart => "SessionStart",
        Moment::Prompt => "UserPromptSubmit",
        Moment::PostTool => "PostToolUse",
        Moment::PreTool | Moment::Stop => return Reply::json(&json!({ "systemMessage": text })),
        _ => return Reply::aside(text),
    };
    let output = json!({ "hookEventName": name, "additionalContext": text });
    Reply::json(&json!({ "systemMessage": text, "hookSpecificOutput": output }))
}
