//! Windsurf's Cascade. It reports no begin and end of a session. The model reads what a hook prints that exits with 2, which
//! blocks nothing after a tool.

use serde_json::{Value, json};

use super::{
    dialect::{Dialect, no_evidence},
    event::{Event, Moment},
    install::{File, Format, Scope, Shape, if_there},
    payload::Payload,
    reply::Reply,
    tool::{Use, tool},
};
use crate::error::{Error, Result};

pub(super) const DIALECT: Dialect = Dialect {
    name: "windsurf",
    title: "Windsurf",
    event,
    is_from: |payload| payload.has("agent_action_name"),
    is_within: no_evidence,
    allow: |_| Reply::silent(),
    deny,
    warn,
    ask: None,
    inform: None,
    shows: |moment| moment == Moment::PostTool,
    ignored: r#"{"agent_action_name":"post_setup_worktree"}"#,
    programs: &["windsurf"],
    headless: &[],
    homes: &[".codeium/windsurf"],
    conversations: &[".windsurf", ".codeium/windsurf"],
    relocations: &[],
    files: &[
        File { scope: Scope::User, path: ".codeium/windsurf/hooks.json", relocated: None, format: Format::Json(SHAPE) },
        File { scope: Scope::Project, path: ".windsurf/hooks.json", relocated: None, format: Format::Json(SHAPE) },
    ],
    reports_all_tools: false,
    todo: "restart the editor",
};

const SHAPE: Shape = Shape {
    at: &["hooks"],
    beside: None,
    events: &[
        "pre_user_prompt",
        "pre_write_code",
        "post_write_code",
        "pre_run_command",
        "post_run_command",
        "pre_mcp_tool_use",
        "post_mcp_tool_use",
        "post_cascade_response",
    ],
    entry,
};

fn event(payload: Payload) -> Result<Event> {
    let name = payload.text(&["agent_action_name"]).ok_or_else(|| Error::user("the payload names no event"))?;
    let moment = match name {
        "pre_user_prompt" => Moment::Prompt,
        "pre_write_code" | "pre_run_command" | "pre_mcp_tool_use" => Moment::PreTool,
        "post_write_code" | "post_run_command" | "post_mcp_tool_use" => Moment::PostTool,
        "post_cascade_response" | "post_cascade_response_with_transcript" => Moment::Stop,
        _ => return Ok(Event::ignored(DIALECT.name)),
    };
    let info = payload.object(&["tool_info"]);
    let mut event = Event::ignored(DIALECT.name);
    event.moment = moment;
    event.session = payload.session(&["trajectory_id"])?;
    event.model = payload.word(&["model_name"]).map(str::to_owned);
    event.cwd = info.word(&["cwd"]).map(str::to_owned);
    event.transcript = info.word(&["transcript_path"]).map(str::to_owned);
    if moment == Moment::Prompt {
        event.prompt = info.text(&["user_prompt"]).map(str::to_owned);
    }
    if matches!(moment, Moment::PreTool | Moment::PostTool) {
        let name = name.split_once('_').map_or(name, |(_, name)| name);
        event.tool = Some(tool(Use { name, call: None, input: payload.value(&["tool_info"]), response: None }));
    }
    Ok(event)
}

fn entry(_event: &str, command: &str) -> Value {
    json!({ "command": if_there(command), "show_output": false })
}

fn deny(moment: Moment, text: &str) -> Reply {
    if moment.is_blockable() { Reply::no(text) } else { warn(moment, text) }
}

fn warn(moment: Moment, text: &str) -> Reply {
    if moment == Moment::PostTool { Reply::no(text) } else { Reply::aside(text) }
}
