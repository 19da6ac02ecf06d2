//! opencode. It runs a small plugin that we install, which passes on its events unchanged under the hook's name.

use serde_json::Value;

use super::{
    dialect::{Dialect, always, no_evidence, plugin_replies},
    event::{Event, Moment, Reach},
    install::{File, Format, Scope},
    payload::Payload,
    reply::Reply,
    tool::{Use, tool},
};
use crate::error::{Error, Result};

pub(super) const DIALECT: Dialect = Dialect {
    name: "opencode",
    title: "opencode",
    event,
    is_from: |payload| payload.text(&["plugin"]) == Some("opencode"),
    is_within: no_evidence,
    allow: |_| Reply::silent(),
    deny: |_, text| plugin_replies("deny", text),
    warn: |_, text| plugin_replies("warn", text),
    ask: None,
    inform: None,
    shows: always,
    ignored: r#"{"plugin":"opencode","hook":"file.edited"}"#,
    programs: &["opencode"],
    headless: &["opencode", "run", "--"],
    homes: &[".config/opencode", ".local/share/opencode"],
    conversations: &[".local/share/opencode"],
    relocations: &[],
    files: &[
        File {
            scope: Scope::User,
            path: ".config/opencode/plugins/git-checkpoint.ts",
            relocated: Some(("XDG_CONFIG_HOME", "opencode/plugins/git-checkpoint.ts")),
            format: Format::Plugin(TEXT),
        },
        File {
            scope: Scope::Project,
            path: ".opencode/plugins/git-checkpoint.ts",
            relocated: None,
            format: Format::Plugin(TEXT),
        },
    ],
    reports_all_tools: true,
    todo: "restart opencode: it reads plugins when it starts",
};

const TEXT: &str = include_str!("../../config/opencode.ts");

fn event(payload: Payload) -> Result<Event> {
    let hook = payload.text(&["hook"]).ok_or_else(|| Error::user("the payload names no event"))?;
    let (input, output) = (payload.object(&["input"]), payload.object(&["output"]));
    let info = input.object(&["properties"]).object(&["info"]);
    let mut event = Event::ignored(DIALECT.name);
    event.moment = match hook {
        "chat.message" if has_no_author(output) => Moment::Notice,
        "chat.message" => Moment::Prompt,
        "tool.execute.before" => Moment::PreTool,
        "tool.execute.after" => Moment::PostTool,
        "session.created" if info.has("parentID") => Moment::SubagentStart,
        "session.created" => Moment::SessionStart,
        "session.idle" => Moment::Stop,
        "session.error" => Moment::Interrupt,
        "session.compacted" => Moment::Compact,
        "session.deleted" | "dispose" => Moment::SessionEnd,
        _ => return Ok(event),
    };
    let own = [input, input.object(&["properties"]), info];
    let id = own.into_iter().zip([&["sessionID"], &["sessionID"], &["id"]]).find(|(object, key)| object.has(key[0]));
    let (object, key) = id.ok_or_else(|| Error::user("the payload has no session id"))?;
    event.session = object.session(key)?;
    // A subagent has a session of its own; the plugin knows its parent session.
    let parent = payload.word(&["parent"]).or_else(|| info.word(&["parentID"])).is_some();
    if parent {
        if matches!(event.moment, Moment::Prompt | Moment::Notice | Moment::Compact) {
            return Ok(Event::ignored(DIALECT.name));
        }
        let child = std::mem::take(&mut event.session);
        event.session =
            if payload.has("parent") { payload.session(&["parent"])? } else { info.session(&["parentID"])? };
        event.agent_id = Some(child);
        event.moment = match event.moment {
            Moment::Stop | Moment::Interrupt | Moment::SessionEnd => Moment::SubagentStop,
            moment => moment,
        };
    }
    event.cwd = payload.word(&["directory"]).or_else(|| info.word(&["directory"])).map(str::to_owned);
    event.model = input.object(&["model"]).word(&["modelID"]).map(str::to_owned);
    match event.moment {
        Moment::Prompt => event.prompt = prompt(output),
        Moment::PreTool | Moment::PostTool => {
            let used = Use {
                name: input.text(&["tool"]).unwrap_or("unknown"),
                call: input.text(&["callID"]),
                input: input.value(&["args"]).or_else(|| output.value(&["args"])),
                response: None,
            };
            let mut tool = tool(used);
            // The tool calls of the subagent are reported as well.
            if tool.name == "task" {
                tool.reach = Reach::Nothing;
            }
            event.tool = Some(tool);
        }
        _ => {}
    }
    Ok(event)
}

/// Returns true for a part of a message that opencode added, such as the content of a mentioned file.
fn is_synthetic(part: &Value) -> bool {
    part.get("synthetic") == Some(&Value::Bool(true))
}

/// Returns true if no part of a message is the user's: a background subagent has ended.
fn has_no_author(message: Payload) -> bool {
    let parts = message.list(&["parts"]);
    !parts.is_empty() && parts.iter().all(is_synthetic)
}

/// Returns what a person has written in a message.
fn prompt(message: Payload) -> Option<String> {
    let typed = message.list(&["parts"]).iter().filter(|part| !is_synthetic(part));
    let text = typed.filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join("\n");
    Some(text).filter(|text| !text.is_empty())
}
