//! Every event of every dialect, the answers, and texts that come from anywhere.

mod codex;
mod commands;
mod decide;
mod events;
mod hostile;
mod install;
mod replies;

use std::{fs, path::PathBuf};

use super::{
    dialect::{Dialect, Environment},
    dialects::named,
    event::{Event, Reach},
};

/// The folder with the payloads.
fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents")
}

/// Reads a payload as if the named agent had sent it.
fn read(bytes: &[u8], given: Option<&'static Dialect>) -> crate::error::Result<Event> {
    super::read(bytes, &Environment::new(), given).map(|(event, _)| event)
}

fn fixture(agent: &str, name: &str) -> Event {
    let bytes = fs::read(fixtures().join(agent).join(name)).expect("the payload is there");
    read(&bytes, named(agent)).expect("the payload can be read")
}

/// Returns all fields of an event on one line.
fn line(event: &Event) -> String {
    let mut line = event.moment.as_str().to_owned();
    let mut add = |what: &str, value: &Option<String>| {
        if let Some(value) = value {
            line.push_str(&format!(" {what}={}", value.replace('\n', "\\n")));
        }
    };
    add("session", &Some(event.session.clone()).filter(|id| !id.is_empty()));
    add("model", &event.model);
    add("cwd", &event.cwd);
    add("prompt", &event.prompt);
    if let Some(tool) = &event.tool {
        let reach = match tool.reach {
            Reach::Files => tool.paths.join(","),
            Reach::Anything => "*".to_owned(),
            Reach::Nothing => "-".to_owned(),
        };
        add("tool", &Some(format!("{}({reach})", tool.name)));
        add("call", &tool.call);
        add("background", &tool.is_background.then(|| "yes".to_owned()));
        add("destroys", &tool.may_destroy.then(|| "perhaps".to_owned()));
    }
    add("helper", &event.agent_id);
    add("transcript", &event.transcript);
    add("from", &event.resumed_from);
    line
}
