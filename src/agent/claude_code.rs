//! Claude Code: the protocol that other agents adopted. Its settings are plain JSON and contain much more than hooks.

use serde_json::{Value, json};

use super::{
    dialect::{Dialect, always, no_evidence},
    event::{Event, Moment, Reach},
    family::{Family, named_transcript, transcript_home},
    install::{File, Format, Scope, Shape, if_there},
    payload::Payload,
    reply::{Reply, exit_code_family_asks, exit_code_family_denies, exit_code_family_warns, with_context_of_prompt},
};
use crate::error::Result;

pub(super) const DIALECT: Dialect = Dialect {
    name: "claude-code",
    title: "Claude",
    event,
    is_from: |payload| transcript_home(payload) == Some(".claude") || payload.has("prompt_id"),
    is_within: no_evidence,
    allow: |_| Reply::silent(),
    deny: exit_code_family_denies,
    warn: exit_code_family_warns,
    ask: Some(exit_code_family_asks),
    inform: Some(with_context_of_prompt),
    shows: always,
    ignored: r#"{"hook_event_name":"Notification"}"#,
    programs: &["claude"],
    headless: &["claude", "-p", "--permission-mode", "acceptEdits", "--"],
    homes: &[".claude"],
    conversations: &[".claude"],
    relocations: &["CLAUDE_CONFIG_DIR"],
    files: &[
        File {
            scope: Scope::User,
            path: ".claude/settings.json",
            relocated: Some(("CLAUDE_CONFIG_DIR", "settings.json")),
            format: Format::Json(SHAPE),
        },
        File { scope: Scope::Project, path: ".claude/settings.json", relocated: None, format: Format::Json(SHAPE) },
        File { scope: Scope::Local, path: ".claude/settings.local.json", relocated: None, format: Format::Json(SHAPE) },
    ],
    reports_all_tools: true,
    todo: "restart Claude Code to load the hooks; hooks of a project run once you trust its folder",
};

const SHAPE: Shape = Shape {
    at: &["hooks"],
    beside: None,
    events: &[
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "StopFailure",
        "SubagentStart",
        "SubagentStop",
        "PreCompact",
        "SessionEnd",
    ],
    entry,
};

/// The elements of prompts that Claude Code submits without the user; versions differ in the texts around them.
const OF_NOBODY: &[&str] =
    &["task-notification", "system-reminder", "local-command-stdout", "local-command-stderr", "local-command-caveat"];

/// The sources of prompts that no user submits, if the payload names a source.
const OF_ITSELF: &[&str] = &["system", "loop_wakeup", "schedule_wakeup", "poll_event"];

/// The tools that start or resume a subagent, whose own tool calls are reported as well. One had another name before.
const OF_SUBAGENTS: &[&str] = &["Agent", "SendMessage", "Task"];

/// The tool that runs a command in the background, and returns at once.
const MONITOR: &str = "Monitor";

/// Returns true if the prompt contains anything besides such elements: a user who pastes one adds more text.
fn is_typed(payload: Payload) -> bool {
    let source = payload.text(&["source"]).unwrap_or_default();
    if OF_ITSELF.contains(&source) {
        return false;
    }
    let text = payload.text(&["prompt"]).unwrap_or_default().trim();
    let mut rest = text;
    while let Some(after) = OF_NOBODY.iter().find_map(|name| after_element(rest, name)) {
        rest = after.trim_start();
    }
    text.is_empty() || !rest.is_empty()
}

/// Returns the text after the element `name` with which `text` begins; empty if the element has no end.
fn after_element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let inner = text.strip_prefix('<')?.strip_prefix(name)?.strip_prefix('>')?;
    Some(inner.split_once(&format!("</{name}>")).map_or("", |(_, after)| after))
}

fn event(payload: Payload) -> Result<Event> {
    let mut event = Family { agent: DIALECT.name, moments: &[] }.event(payload)?;
    if event.moment == Moment::Prompt && !is_typed(payload) {
        (event.moment, event.prompt) = (Moment::Notice, None);
    }
    // In a subagent, the path is still that of the session.
    if event.agent_id.is_some() && event.transcript.is_none() {
        let own = named_transcript(payload).filter(|path| !path.contains("/subagents/"));
        event.transcript = own.map(str::to_owned);
    }
    if let Some(tool) = event.tool.as_mut().filter(|tool| OF_SUBAGENTS.contains(&tool.name.as_str())) {
        tool.reach = Reach::Nothing;
    }
    if let Some(tool) = event.tool.as_mut().filter(|tool| tool.name == MONITOR) {
        tool.is_background = true;
    }
    Ok(event)
}

/// One group with one handler; only tools can be chosen by name.
pub(super) fn entry(event: &str, command: &str) -> Value {
    let handlers = json!([{ "type": "command", "command": if_there(command), "timeout": 30 }]);
    if event.contains("Tool") { json!({ "matcher": "*", "hooks": handlers }) } else { json!({ "hooks": handlers }) }
}
