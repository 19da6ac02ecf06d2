//! Makes Codex trust our hooks through its interface for programs, `codex app-server`: lists the hooks it knows, and
//! marks ours as trusted as they are. Leaves foreign hooks alone.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    agent::install::{IN_PATH, program_of},
    cli::{agent_files, external::Conversation},
    error::{Error, Result},
};

/// The only agent that requires this.
pub(super) const AGENT: &str = "codex";

/// It starts in half a second.
const LONGEST: Duration = Duration::from_secs(20);

/// Makes Codex trust the hooks in its file `path` that call `program`, as it sees them in `directory`; returns their
/// events.
pub(super) fn trust(path: &Path, program: &Path, directory: &Path) -> Result<Vec<String>> {
    let codex = agent_files::find_program(AGENT).ok_or_else(|| {
        Error::user("'codex' is not in $PATH, so git-checkpoint cannot mark the hooks as trusted")
            .with_hint("start it, and trust them with '/hooks'")
    })?;
    let mut server = Server { talk: Conversation::start(&codex, &["app-server"], directory)?, last: 0 };
    let us = json!({ "name": "git-checkpoint", "title": "git-checkpoint", "version": env!("CARGO_PKG_VERSION") });
    server.ask("initialize", &json!({ "clientInfo": us }))?;
    server.talk.say(&json!({ "method": "initialized" }).to_string())?;
    let known = server.ask("hooks/list", &json!({ "cwds": [directory] }))?;
    let mut state = serde_json::Map::new();
    let mut events = Vec::new();
    for hook in known["data"].as_array().into_iter().flatten().filter_map(|it| it["hooks"].as_array()).flatten() {
        let is_there = hook["sourcePath"].as_str().is_some_and(|source| is_same(Path::new(source), path));
        let called = hook["command"].as_str().and_then(program_of);
        let is_program = |called: &str| called == IN_PATH || Path::new(called) == program;
        let is_ours = called.is_some_and(|(called, agent)| agent == AGENT && is_program(&called));
        let (Some(key), Some(hash)) = (hook["key"].as_str(), hook["currentHash"].as_str()) else { continue };
        if is_there && is_ours {
            state.insert(key.to_owned(), json!({ "trusted_hash": hash }));
            events.push(hook["eventName"].as_str().unwrap_or(key).to_owned());
        }
    }
    if state.is_empty() {
        return Err(Error::user(format!("Codex does not see the hooks in '{}'", path.display()))
            .with_hint("it reads those of a project only where the project is trusted: start it there once"));
    }
    let edit = json!({ "keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert" });
    server.ask("config/batchWrite", &json!({ "edits": [edit] }))?;
    Ok(events)
}

fn is_same(one: &Path, two: &Path) -> bool {
    one == two || std::fs::canonicalize(one).is_ok_and(|one| std::fs::canonicalize(two).is_ok_and(|two| one == two))
}

struct Server {
    talk: Conversation,
    last: u64,
}

impl Server {
    /// Sends a request, and returns its response; skips other messages.
    fn ask(&mut self, method: &str, parameters: &Value) -> Result<Value> {
        self.last += 1;
        self.talk.say(&json!({ "id": self.last, "method": method, "params": parameters }).to_string())?;
        let until = Instant::now() + LONGEST;
        let failed = |why: String| {
            Error::user(format!("Codex does not answer '{method}'"))
                .with_hint("start it, and trust the hooks with '/hooks'")
                .with_cause(why)
        };
        while let Some(line) = self.talk.hear(until) {
            let Ok(mut answer) = serde_json::from_str::<Value>(&line) else { continue };
            if answer["id"].as_u64() != Some(self.last) || answer.get("method").is_some() {
                continue;
            }
            return match answer.get("error") {
                Some(error) => Err(failed(error["message"].as_str().unwrap_or("it is an error").to_owned())),
                None => Ok(answer["result"].take()),
            };
        }
        Err(failed("nothing was heard".to_owned()))
    }
}
