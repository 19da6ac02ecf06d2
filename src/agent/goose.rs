//! Goose. If we print anything but JSON, it counts as no decision.

use serde_json::{Value, json};

use super::{
    dialect::{Dialect, no_evidence},
    event::{Event, Moment},
    family::Family,
    install::{File, Format, Scope, if_there},
    payload::Payload,
    reply::Reply,
};
use crate::error::Result;

pub(super) const DIALECT: Dialect = Dialect {
    name: "goose",
    title: "goose",
    event,
    is_from: |payload| {
        payload.has("event") && payload.has("session_id") && !payload.has("hook_event_name") && !payload.has("session")
    },
    is_within: no_evidence,
    allow: |_| Reply::silent(),
    deny,
    warn: |_, _| Reply::silent(),
    ask: None,
    inform: None,
    shows: |_| false,
    ignored: r#"{"event":"Notification"}"#,
    programs: &["goose"],
    headless: &["goose", "run", "--text="],
    homes: &[".config/goose"],
    conversations: &[".local/share/goose", ".config/goose"],
    relocations: &[],
    files: &[
        File {
            scope: Scope::User,
            path: ".agents/plugins/git-checkpoint/hooks/hooks.json",
            relocated: None,
            format: Format::Whole(hooks),
        },
        File {
            scope: Scope::User,
            path: ".agents/plugins/git-checkpoint/plugin.json",
            relocated: None,
            format: Format::Whole(plugin),
        },
        File {
            scope: Scope::Project,
            path: ".agents/plugins/git-checkpoint/hooks/hooks.json",
            relocated: None,
            format: Format::Whole(hooks),
        },
        File {
            scope: Scope::Project,
            path: ".agents/plugins/git-checkpoint/plugin.json",
            relocated: None,
            format: Format::Whole(plugin),
        },
    ],
    reports_all_tools: false,
    todo: "restart goose",
};

const EVENTS: &[&str] =
    &["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd"];

const OWN: &[(&str, Moment)] = &[("afterfileedit", Moment::PostTool), ("aftershellexecution", Moment::PostTool)];

fn event(payload: Payload) -> Result<Event> {
    Family { agent: DIALECT.name, moments: OWN }.event(payload)
}

fn hooks(command: &str) -> String {
    let entry = |event: &str| -> Value {
        let handlers = json!([{ "type": "command", "command": if_there(command), "timeout": 30 }]);
        if event.contains("Tool") {
            json!([{ "matcher": ".*", "hooks": handlers }])
        } else {
            json!([{ "hooks": handlers }])
        }
    };
    let map: serde_json::Map<String, Value> = EVENTS.iter().map(|event| ((*event).to_owned(), entry(event))).collect();
    format!("{:#}\n", json!({ "hooks": map }))
}

fn plugin(_command: &str) -> String {
    let plugin = json!({
        "name": "git-checkpoint",
        "version": "1.0.0",
        "description": "Checkpoints of the worktree at every step of the agent",
    });
    format!("{plugin:#}\n")
}

/// A prompt cannot be held back.
fn deny(moment: Moment, text: &str) -> Reply {
    match moment {
        Moment::PreTool => Reply::no(text).with_json(&json!({ "decision": "block", "reason": text })),
        _ => Reply::silent(),
    }
}
