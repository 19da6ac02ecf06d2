//! Kiro: the IDE and the CLI. Some builds leave the tool's input and the prompt empty.

use serde_json::json;

use super::{
    dialect::{Dialect, no_evidence},
    event::{Event, Moment},
    family::{Family, event_name, transcript_home},
    install::{File, Format, Scope, if_there},
    payload::Payload,
    reply::Reply,
};
use crate::error::Result;

pub(super) const DIALECT: Dialect = Dialect {
    name: "kiro",
    title: "Kiro",
    event,
    is_from: |payload| transcript_home(payload) == Some(".kiro") || event_name(payload) == Some("agentSpawn"),
    is_within: no_evidence,
    allow: |_| Reply::silent(),
    deny,
    warn,
    ask: None,
    inform: Some(with_context),
    shows: |moment| matches!(moment, Moment::SessionStart | Moment::Prompt),
    ignored: r#"{"hook_event_name":"Manual"}"#,
    programs: &["kiro", "kiro-cli"],
    headless: &[],
    homes: &[".kiro"],
    conversations: &[".kiro"],
    relocations: &[],
    files: &[
        File {
            scope: Scope::User,
            path: ".kiro/hooks/git-checkpoint.json",
            relocated: None,
            format: Format::Whole(file),
        },
        File {
            scope: Scope::Project,
            path: ".kiro/hooks/git-checkpoint.json",
            relocated: None,
            format: Format::Whole(file),
        },
    ],
    reports_all_tools: false,
    todo: "reload the window, or restart the CLI",
};

const EVENTS: &[&str] = &["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"];

fn event(payload: Payload) -> Result<Event> {
    let mut event = Family { agent: DIALECT.name, moments: &[("agentspawn", Moment::SessionStart)] }.event(payload)?;
    event.prompt = event.prompt.filter(|prompt| !prompt.is_empty());
    Ok(event)
}

/// The whole file is ours: it names each hook after us.
fn file(command: &str) -> String {
    let hooks: Vec<_> = EVENTS
        .iter()
        .map(|event| {
            let mut hook = json!({
                "name": format!("git-checkpoint {event}"),
                "trigger": event,
                "action": { "type": "command", "command": if_there(command) },
                "timeout": 30,
                "enabled": true,
            });
            if event.contains("Tool") {
                hook["matcher"] = ".*".into();
            }
            hook
        })
        .collect();
    format!("{:#}\n", json!({ "version": "v1", "hooks": hooks }))
}

fn deny(moment: Moment, text: &str) -> Reply {
    match moment {
        Moment::Prompt | Moment::PreTool => Reply::no(text),
        _ => warn(moment, text),
    }
}

/// The model reads what the hook prints when a session or a turn begins.
fn warn(moment: Moment, text: &str) -> Reply {
    match moment {
        Moment::SessionStart | Moment::Prompt => Reply { stdout: Reply::aside(text).stderr, ..Reply::silent() },
        _ => Reply::aside(text),
    }
}

/// The model reads what the hook prints.
fn with_context(reply: Reply, text: &str) -> Reply {
    Reply { stdout: format!("{}{}", reply.stdout, Reply::aside(text).stderr), ..reply }
}
