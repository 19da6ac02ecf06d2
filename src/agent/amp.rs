//! Amp. It runs a small plugin that we install, which passes on its events under the hook's name.

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
    name: "amp",
    title: "Amp",
    event,
    is_from: |payload| payload.text(&["plugin"]) == Some("amp"),
    is_within: no_evidence,
    allow: |_| Reply::silent(),
    deny: |_, text| plugin_replies("deny", text),
    warn: |_, text| plugin_replies("warn", text),
    ask: None,
    inform: None,
    shows: always,
    ignored: r#"{"plugin":"amp","hook":"none"}"#,
    programs: &["amp"],
    headless: &[],
    homes: &[".config/amp"],
    conversations: &[".local/share/amp", ".cache/amp", ".config/amp"],
    relocations: &[],
    files: &[
        File {
            scope: Scope::User,
            path: ".config/amp/plugins/git-checkpoint.ts",
            relocated: Some(("XDG_CONFIG_HOME", "amp/plugins/git-checkpoint.ts")),
            format: Format::Plugin(TEXT),
        },
        File {
            scope: Scope::Project,
            path: ".amp/plugins/git-checkpoint.ts",
            relocated: None,
            format: Format::Plugin(TEXT),
        },
    ],
    reports_all_tools: false,
    todo: "restart amp, with plugins switched on (PLUGINS=all)",
};

const TEXT: &str = include_str!("../../config/amp.ts");

fn event(payload: Payload) -> Result<Event> {
    let hook = payload.text(&["hook"]).ok_or_else(|| Error::user("the payload names no event"))?;
    let input = payload.object(&["input"]);
    let mut event = Event::ignored(DIALECT.name);
    event.moment = match hook {
        "session.start" => Moment::SessionStart,
        "agent.start" => Moment::Prompt,
        "tool.call" => Moment::PreTool,
        "tool.result" => Moment::PostTool,
        "agent.end" if ["cancelled", "interrupted"].contains(&input.text(&["status"]).unwrap_or_default()) => {
            Moment::Interrupt
        }
        "agent.end" => Moment::Stop,
        _ => return Ok(event),
    };
    event.session = match input.object(&["thread"]) {
        thread if thread.has("id") => thread.session(&["id"])?,
        _ => payload.session(&["thread"])?,
    };
    event.cwd = payload.word(&["directory"]).map(str::to_owned);
    match event.moment {
        Moment::Prompt => event.prompt = input.text(&["message"]).map(str::to_owned),
        Moment::PreTool | Moment::PostTool => {
            let used = Use {
                name: input.text(&["tool"]).unwrap_or("unknown"),
                call: input.text(&["toolUseID"]),
                input: input.value(&["input"]),
                response: None,
            };
            let mut used = tool(used);
            let files = payload.list(&["files"]).iter().filter_map(serde_json::Value::as_str);
            let files = files.filter(|file| super::payload::is_word(file)).map(str::to_owned);
            if used.reach == Reach::Files {
                used.paths.extend(files);
                used.paths.sort();
                used.paths.dedup();
            }
            event.tool = Some(used);
        }
        _ => {}
    }
    Ok(event)
}
