//! Cline. It has no settings for hooks: it runs programs that are named after events. There are two kinds of payloads:
//! the editor's, with an object for each event, and the CLI's, with a tool's call and result.

use serde_json::json;

use super::{
    dialect::{Dialect, always, no_evidence},
    event::{Event, Moment},
    install::{File, Format, Scope},
    payload::{Payload, folded},
    reply::Reply,
    tool::{Use, tool},
};
use crate::error::{Error, Result};

macro_rules! scripts {
    ($($event:literal),*) => {
        &[
            $(File {
                scope: Scope::User,
                path: concat!("Documents/Cline/Hooks/", $event),
                relocated: None,
                format: Format::Script,
            },)*
            $(File {
                scope: Scope::Project,
                path: concat!(".clinerules/hooks/", $event),
                relocated: None,
                format: Format::Script,
            },)*
        ]
    };
}

pub(super) const DIALECT: Dialect = Dialect {
    name: "cline",
    title: "Cline",
    event,
    is_from: |payload| payload.has("clineVersion") || payload.has("hookName") && payload.has("taskId"),
    is_within: no_evidence,
    allow: |_| Reply::json(&json!({ "cancel": false })),
    deny,
    warn,
    ask: None,
    inform: Some(with_context),
    shows: always,
    ignored: r#"{"hookName":"Notification","taskId":"none"}"#,
    programs: &["cline"],
    headless: &[],
    homes: &[".cline", "Documents/Cline"],
    conversations: &[".cline", "Documents/Cline"],
    relocations: &[],
    files: scripts!(
        "TaskStart",
        "TaskResume",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "TaskComplete",
        "TaskCancel",
        "TaskError",
        "SessionShutdown"
    ),
    reports_all_tools: false,
    todo: "switch hooks on in Cline's settings",
};

/// Longer texts are cut.
const LONGEST_CONTEXT: usize = 50_000;

fn moment(name: &str) -> Moment {
    match folded(name).as_str() {
        "taskstart" | "taskresume" | "agentstart" | "agentresume" => Moment::SessionStart,
        "userpromptsubmit" | "promptsubmit" => Moment::Prompt,
        "pretooluse" | "toolcall" => Moment::PreTool,
        "posttooluse" | "toolresult" => Moment::PostTool,
        "taskcomplete" | "taskerror" | "agentend" | "agenterror" => Moment::Stop,
        "taskcancel" | "agentabort" => Moment::Interrupt,
        "sessionshutdown" => Moment::SessionEnd,
        "precompact" => Moment::Compact,
        _ => Moment::Ignore,
    }
}

fn event(payload: Payload) -> Result<Event> {
    let name = payload.text(&["hookName"]).ok_or_else(|| Error::user("the payload names no event"))?;
    let mut event = Event::ignored(DIALECT.name);
    event.moment = moment(name);
    if event.moment == Moment::Ignore {
        return Ok(event);
    }
    event.session = payload.session(&["taskId"])?;
    let model = payload.object(&["model"]);
    event.model = model.word(&["slug"]).or_else(|| payload.word(&["model"])).map(str::to_owned);
    let root = payload.list(&["workspaceRoots"]).first().and_then(serde_json::Value::as_str);
    let root = root.filter(|root| super::payload::is_word(root));
    event.cwd = root.or_else(|| payload.object(&["workspaceInfo"]).word(&["rootPath"])).map(str::to_owned);
    if payload.has("parent_agent_id") {
        event.agent_id = payload.word(&["agent_id"]).map(str::to_owned);
    }
    match event.moment {
        Moment::Prompt => {
            let inner = payload.object(&["userPromptSubmit", "prompt_submit"]);
            event.prompt = inner.text(&["prompt"]).or_else(|| payload.text(&["prompt"])).map(str::to_owned);
        }
        Moment::PreTool | Moment::PostTool => {
            let call = payload.object(&["preToolUse", "postToolUse", "tool_call", "tool_result"]);
            let used = Use {
                name: call.text(&["toolName", "name"]).unwrap_or("unknown"),
                call: call.text(&["id"]),
                input: call.value(&["parameters", "input"]),
                response: call.value(&["result", "output"]),
            };
            event.tool = Some(tool(used));
        }
        _ => {}
    }
    Ok(event)
}

fn deny(moment: Moment, text: &str) -> Reply {
    if moment.is_blockable() {
        return Reply::json(&json!({ "cancel": true, "errorMessage": text }));
    }
    warn(moment, text)
}

fn warn(_moment: Moment, text: &str) -> Reply {
    let context: String = text.chars().take(LONGEST_CONTEXT).collect();
    Reply::json(&json!({ "cancel": false, "contextModification": context }))
}

fn with_context(reply: Reply, text: &str) -> Reply {
    let known: serde_json::Value = serde_json::from_str(&reply.stdout).unwrap_or_default();
    let before = known["contextModification"].as_str().map(|before| format!("{before}\n")).unwrap_or_default();
    let context: String = (before + text).chars().take(LONGEST_CONTEXT).collect();
    reply.with("contextModification", context.into())
}
