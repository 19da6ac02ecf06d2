//! The description of a dialect; `dialects` has the table of all.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

use serde_json::json;

use super::{
    event::{Event, Moment},
    install::File,
    payload::Payload,
    reply::{Reply, printable},
};
use crate::error::Result;

/// Names and values of the environment.
pub type Environment = BTreeMap<String, String>;

/// How one agent sends events and receives replies.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The name that `--agent` takes.
    pub name: &'static str,
    /// Its name for users.
    pub title: &'static str,
    pub(super) event: fn(Payload) -> Result<Event>,
    /// True if no other agent sends such a payload.
    pub(super) is_from: fn(Payload) -> bool,
    /// True if the environment says that it is this one's.
    pub(super) is_within: fn(Payload, &Environment) -> bool,
    pub(super) allow: fn(Moment) -> Reply,
    pub(super) deny: fn(Moment, &str) -> Reply,
    pub(super) warn: fn(Moment, &str) -> Reply,
    /// The reply that lets the agent ask its user whether a tool may be used; none if it cannot.
    pub(super) ask: Option<fn(&str) -> Reply>,
    /// Adds a text for the model to the reply to a prompt; none if the agent has no place for it.
    pub(super) inform: Option<fn(Reply, &str) -> Reply>,
    /// True if the user or the model reads the warning that a hook prints at this moment.
    pub(super) shows: fn(Moment) -> bool,
    /// A payload that we ignore, to check whether the agent can call us.
    pub ignored: &'static str,
    /// The names of its programs.
    pub programs: &'static [&'static str],
    /// The program, and its words, that does one task without a user and may change files: the prompt is the next word, or goes on
    /// with the last one where that ends with `=`. So it is never taken for an option. Empty: there is none.
    pub headless: &'static [&'static str],
    /// Folders below the home directory that exist where the agent is installed.
    pub homes: &'static [&'static str],
    /// Folders below the home directory where it keeps conversations.
    pub(super) conversations: &'static [&'static str],
    /// Variables that name another folder for them.
    pub(super) relocations: &'static [&'static str],
    /// The files that make it call us.
    pub files: &'static [File],
    /// True if it reports each tool call, so that a turn without reported calls has changed nothing.
    pub reports_all_tools: bool,
    /// Remaining steps for the user.
    pub todo: &'static str,
}

impl Dialect {
    /// Returns the folders where it keeps conversations, if `home` is the user's.
    pub fn transcript_homes(&self, home: &std::path::Path, environment: &Environment) -> Vec<std::path::PathBuf> {
        let own = self.conversations.iter().map(|folder| home.join(folder));
        let relocated = self.relocations.iter().filter_map(|name| environment.get(*name)).map(Into::into);
        own.chain(relocated).filter(|folder| folder.is_absolute()).collect()
    }

    /// Returns the command that does the task `prompt` without a user, for a program that is run without a shell; none if it cannot.
    pub fn headless(&self, prompt: &OsStr) -> Option<Vec<OsString>> {
        let mut words: Vec<OsString> = self.headless.iter().map(Into::into).collect();
        match words.last_mut()? {
            last if last.as_encoded_bytes().ends_with(b"=") => last.push(prompt),
            _ => words.push(prompt.to_owned()),
        }
        Some(words)
    }

    /// Returns the reply that lets the agent continue.
    pub fn allow(&self, moment: Moment) -> Reply {
        (self.allow)(moment)
    }

    /// Returns the reply that stops the agent and gives the reason; if the agent cannot be stopped, the reply is a
    /// warning.
    pub fn deny(&self, moment: Moment, text: &str) -> Reply {
        (self.deny)(moment, &printable(text))
    }

    /// Returns the reply that lets the agent ask its user whether it may continue, with a reason; none if it cannot ask then.
    pub fn ask(&self, moment: Moment, text: &str) -> Option<Reply> {
        let ask = self.ask.filter(|_| moment == Moment::PreTool)?;
        Some(ask(&printable(text)))
    }

    /// Returns `reply`, that to a prompt, with a text for the model; none if the agent has no place for it.
    pub fn inform(&self, reply: &Reply, text: &str) -> Option<Reply> {
        let inform = self.inform?;
        Some(inform(reply.clone(), &printable(text)))
    }

    /// Returns true if the user or the model of the agent reads a warning at this moment.
    pub fn shows(&self, moment: Moment) -> bool {
        (self.shows)(moment)
    }

    /// Returns the reply that lets the agent continue and shows a warning, if the agent [`shows`](Self::shows) one then.
    pub fn warn(&self, moment: Moment, text: &str) -> Reply {
        (self.warn)(moment, &printable(text))
    }
}

/// The name of the neutral protocol, which any program may speak.
pub const NEUTRAL: &str = "generic";

/// For agents that show every warning.
pub(super) fn always(_moment: Moment) -> bool {
    true
}

/// For agents that leave no sign in the environment.
pub(super) fn no_evidence(_payload: Payload, _environment: &Environment) -> bool {
    false
}

/// The replies that our own plugins understand; they pass them on in the agent's way.
pub(super) fn plugin_replies(what: &str, text: &str) -> Reply {
    Reply::json(&json!({ what: text }))
}
