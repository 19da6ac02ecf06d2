//! The Codex CLI. It reports a hook as failed if the hook prints unknown keys, or plain text at a stop.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    dialect::{Dialect, always, no_evidence},
    event::{Event, Moment},
    family::{Family, transcript_home},
    install::{File, Format, Scope, Shape, if_there, program_of},
    payload::Payload,
    reply::{Reply, with_context_of_prompt},
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
    ask: None,
    inform: Some(with_context_of_prompt),
    shows: always,
    ignored: r#"{"hook_event_name":"PermissionRequest"}"#,
    programs: &["codex"],
    headless: &["codex", "exec", "--sandbox", "workspace-write", "--"],
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
    reports_all_tools: false,
    todo: "start codex and trust the hooks with '/hooks': it silently skips untrusted hooks; hooks of a project \
           run only where the project is trusted, too",
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
    let handlers = json!([{ "type": "command", "command": if_there(command), "timeout": timeout }]);
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

/// Returns the events whose hooks in `hooks` (the text of a `hooks.json` that is at one of `places`) are ours and Codex
/// will skip: those that `config` (the text of its `config.toml`) does not trust, or disables.
///
/// Trust depends on the place of a hook in its file and on its content.
pub(crate) fn untrusted(hooks: &str, places: &[String], config: &str) -> Vec<String> {
    let Ok(hooks) = serde_json::from_str::<Value>(hooks) else { return Vec::new() };
    let config: toml_edit::DocumentMut = config.parse().unwrap_or_default();
    let state = config.get("hooks").and_then(|hooks| hooks.get("state"));
    let is_trusted = |key: &str, hash: &str| {
        let entry = places.iter().find_map(|place| state?.get(format!("{place}:{key}").as_str()));
        let is_off = entry.and_then(|entry| entry.get("enabled")?.as_bool()) == Some(false);
        !is_off && entry.and_then(|entry| entry.get("trusted_hash")?.as_str()) == Some(hash)
    };
    let mut events = Vec::new();
    for (event, groups) in hooks["hooks"].as_object().into_iter().flatten() {
        for (at, group) in groups.as_array().into_iter().flatten().enumerate() {
            for (number, handler) in group["hooks"].as_array().into_iter().flatten().enumerate() {
                let is_ours = handler["command"].as_str().is_some_and(|command| program_of(command).is_some());
                let name = snake(event);
                let is_skipped = || !is_trusted(&format!("{name}:{at}:{number}"), &hash(&name, group, handler));
                if is_ours && is_skipped() {
                    events.push(event.clone());
                }
            }
        }
    }
    events
}

/// Returns true if `config` trusts the project at one of `roots`: Codex ignores the hooks of other projects.
pub(crate) fn is_project_trusted(roots: &[String], config: &str) -> bool {
    let config: toml_edit::DocumentMut = config.parse().unwrap_or_default();
    let level = |root: &String| config.get("projects")?.get(root.as_str())?.get("trust_level")?.as_str();
    roots.iter().any(|root| level(root) == Some("trusted"))
}

/// Returns the name of an event in Codex's configuration: `pre_tool_use` for `PreToolUse`.
fn snake(event: &str) -> String {
    let mut name = String::new();
    for c in event.chars() {
        if c.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(c.to_lowercase());
    }
    name
}

/// Returns what Codex compares: the hash of the hook as JSON with sorted keys and without blanks.
fn hash(event: &str, group: &Value, handler: &Value) -> String {
    let of_handler = BTreeMap::from([
        ("async", json!(handler["async"].as_bool().unwrap_or(false))),
        ("command", handler["command"].clone()),
        ("timeout", json!(handler["timeout"].as_u64().unwrap_or(600))),
        ("type", json!("command")),
    ]);
    let mut hook = BTreeMap::from([("event_name", json!(event)), ("hooks", json!([of_handler]))]);
    if let Some(matcher) = group.get("matcher") {
        hook.insert("matcher", matcher.clone());
    }
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha256);
    hasher.update(json!(hook).to_string().as_bytes());
    hasher.try_finalize().map(|id| format!("sha256:{id}")).unwrap_or_default()
}
