//! Factory's Droid. A compaction continues the conversation under a new id.

use super::{
    claude_code,
    dialect::{Dialect, always},
    event::Event,
    family::{Family, transcript_home},
    install::{File, Format, Scope, Shape},
    payload::Payload,
    reply::{Reply, exit_code_family_denies, exit_code_family_warns, with_context_of_prompt},
};
use crate::error::Result;

pub(super) const DIALECT: Dialect = Dialect {
    name: "droid",
    title: "Droid",
    event,
    is_from: |payload| transcript_home(payload) == Some(".factory") || payload.has("previous_session_id"),
    is_within: |payload, environment| {
        let is_set = ["DROID_PROJECT_DIR", "FACTORY_PROJECT_DIR"].iter().any(|name| environment.contains_key(*name));
        is_set && payload.has("hook_event_name")
    },
    allow: |_| Reply::silent(),
    deny: exit_code_family_denies,
    warn: exit_code_family_warns,
    ask: None,
    inform: Some(with_context_of_prompt),
    shows: always,
    ignored: r#"{"hook_event_name":"Notification"}"#,
    programs: &["droid"],
    headless: &["droid", "exec", "--auto", "low", "--"],
    homes: &[".factory"],
    conversations: &[".factory"],
    relocations: &["FACTORY_HOME_OVERRIDE"],
    files: &[
        File {
            scope: Scope::User,
            path: ".factory/hooks.json",
            relocated: Some(("FACTORY_HOME_OVERRIDE", ".factory/hooks.json")),
            format: Format::Json(SHAPE),
        },
        File { scope: Scope::Project, path: ".factory/hooks.json", relocated: None, format: Format::Json(SHAPE) },
    ],
    reports_all_tools: false,
    todo: "restart droid",
};

const SHAPE: Shape = Shape {
    at: &[],
    beside: None,
    events: &[
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "SubagentStop",
        "PreCompact",
        "SessionEnd",
    ],
    entry: claude_code::entry,
};

fn event(payload: Payload) -> Result<Event> {
    Family { agent: DIALECT.name, moments: &[] }.event(payload)
}
