//! The neutral protocol, for agents and scripts that have none of their own; documented in the manual.
//!
//! ```json
//! {"event": "post-tool", "session": "s1", "agent": "mine", "model": "m", "cwd": "/src/x", "prompt": "...",
//!  "tool": {"name": "write", "id": "1", "paths": ["a.txt"], "command": "rm b", "reads_only": false, "background": false},
//!  "agent_id": "helper", "transcript": "/log", "resumed_from": "s0",
//!  "tokens": {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "reasoning": 5}}
//! ```

use serde_json::json;

use super::{
    dialect::{Dialect, NEUTRAL, always, no_evidence},
    event::{Event, Moment, Reach, Tool},
    payload::{Payload, is_word},
    reply::Reply,
    tool::may_destroy,
};
use crate::{
    error::{Error, Result},
    model::usage::{MOST, Tokens},
};

pub(super) const DIALECT: Dialect = Dialect {
    name: NEUTRAL,
    title: "agent",
    event,
    is_from: |payload| payload.text(&["event"]).is_some() && payload.text(&["session"]).is_some(),
    is_within: no_evidence,
    allow: |_| Reply::json(&json!({ "version": 1, "decision": "allow" })),
    deny: |_, text| Reply::no(text).with_json(&json!({ "version": 1, "decision": "deny", "message": text })),
    warn: |_, text| Reply::json(&json!({ "version": 1, "decision": "allow", "message": text })),
    ask: None,
    inform: Some(with_context),
    shows: always,
    ignored: r#"{"event":"ignore","session":"none"}"#,
    programs: &[],
    headless: &[],
    homes: &[],
    conversations: &[],
    relocations: &[],
    files: &[],
    reports_all_tools: false,
    todo: "call 'git checkpoint hook --agent generic' with the JSON of gitcheckpoint-agents(7) on standard input",
};

fn event(payload: Payload) -> Result<Event> {
    let name = payload.text(&["event"]).ok_or_else(|| Error::user("the payload names no event"))?;
    let known = Moment::ALL.into_iter().find(|moment| moment.as_str() == name);
    let moment = known.ok_or_else(|| Error::user("the payload names an unknown event"))?;
    let word = |key: &str| payload.word(&[key]).map(str::to_owned);
    let mut event = Event::ignored(DIALECT.name);
    if moment == Moment::Ignore {
        return Ok(event);
    }
    event.moment = moment;
    event.session = payload.session(&["session"])?;
    event.agent = word("agent").unwrap_or(event.agent);
    event.model = word("model");
    event.cwd = word("cwd");
    event.prompt = payload.text(&["prompt"]).map(str::to_owned);
    event.agent_id = word("agent_id");
    event.transcript = word("transcript");
    if matches!(moment, Moment::Stop | Moment::Interrupt | Moment::SessionEnd) && payload.has("tokens") {
        let tokens = payload.object(&["tokens"]);
        let number = |name: &str| tokens.value(&[name]).and_then(serde_json::Value::as_u64).unwrap_or_default();
        let numbers = ["input", "output", "cache_read", "cache_write", "reasoning"].map(|name| number(name).min(MOST));
        event.tokens = Some(Tokens::of(numbers));
    }
    if payload.has("resumed_from") {
        event.resumed_from = Some(payload.session(&["resumed_from"])?);
    }
    if matches!(moment, Moment::PreTool | Moment::PostTool) {
        event.tool = Some(tool(payload.object(&["tool"])));
    }
    Ok(event)
}

fn tool(tool: Payload) -> Tool {
    let paths = tool.list(&["paths"]);
    let named: Vec<String> =
        paths.iter().filter_map(|path| path.as_str().filter(|path| is_word(path)).map(str::to_owned)).collect();
    let is_sure = !named.is_empty() && named.len() == paths.len() && named.len() <= 1000;
    let reach = match (tool.is_true(&["reads_only"]), is_sure) {
        (true, _) => Reach::Nothing,
        (false, true) => Reach::Files,
        (false, false) => Reach::Anything,
    };
    let command = tool.text(&["command"]).filter(|_| reach == Reach::Anything);
    Tool {
        name: tool.word(&["name"]).unwrap_or("unknown").to_owned(),
        call: tool.word(&["id"]).map(str::to_owned),
        reach,
        paths: if reach == Reach::Files { named } else { Vec::new() },
        is_background: tool.is_true(&["background"]),
        runs_command: command.is_some(),
        may_destroy: command.is_some_and(may_destroy),
    }
}

fn with_context(reply: Reply, text: &str) -> Reply {
    reply.with("context", text.into())
}
