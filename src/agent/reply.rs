//! The reply to an agent: standard output, standard error, and exit code.

use serde_json::{Value, json};

use super::event::Moment;

/// What the hook prints, and how it exits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Standard output, with the last line's end.
    pub stdout: String,
    /// Standard error, with the last line's end.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

/// The exit code that means a denial to most agents.
const NO: u8 = 2;

impl Reply {
    /// Replies nothing.
    pub(super) fn silent() -> Self {
        Self::default()
    }

    /// Replies `value`.
    pub(super) fn json(value: &Value) -> Self {
        Self { stdout: format!("{value}\n"), ..Self::default() }
    }

    /// Denies with the reason on standard error, by the exit code.
    pub(super) fn no(text: &str) -> Self {
        Self { stderr: ended(text), code: NO, ..Self::default() }
    }

    /// Writes `text` to standard error, for logs.
    pub(super) fn aside(text: &str) -> Self {
        Self { stderr: ended(text), ..Self::default() }
    }

    /// Adds `value` as `key` to the object in the reply, if there is one.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Self {
        if let Ok(Value::Object(mut object)) = serde_json::from_str(&self.stdout) {
            object.insert(key.to_owned(), value);
            self.stdout = format!("{}\n", Value::Object(object));
        }
        self
    }

    /// Adds JSON to a denial.
    pub(super) fn with_json(mut self, value: &Value) -> Self {
        self.stdout = format!("{value}\n");
        self
    }
}

fn ended(text: &str) -> String {
    format!("{}\n", text.trim_end_matches('\n'))
}

/// Returns `text` without control characters other than the end of a line.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || *c == '\n').collect()
}

/// The denial for agents that follow Claude Code's protocol.
///
/// After a tool call, the exit code undoes nothing, but the model reads the text. At a stop, it would keep the agent
/// running forever.
pub(super) fn exit_code_family_denies(moment: Moment, text: &str) -> Reply {
    match moment {
        Moment::Prompt | Moment::PreTool | Moment::PostTool => Reply::no(text),
        _ => exit_code_family_warns(moment, text),
    }
}

/// Lets the agent ask its user about a tool, for those that follow all of Claude Code's protocol.
pub(super) fn exit_code_family_asks(text: &str) -> Reply {
    let decision =
        json!({ "hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": text });
    Reply::json(&json!({ "hookSpecificOutput": decision }))
}

/// Adds `text` to the context that the model reads with the prompt, for the same agents.
pub(super) fn with_context_of_prompt(reply: Reply, text: &str) -> Reply {
    with_context(reply, "UserPromptSubmit", text)
}

/// The same for an agent whose event has the name `event`.
pub(super) fn with_context(reply: Reply, event: &str, text: &str) -> Reply {
    let known: Value = serde_json::from_str(&reply.stdout).unwrap_or_default();
    let context = match known["hookSpecificOutput"]["additionalContext"].as_str() {
        Some(before) => format!("{before}\n{text}"),
        None => text.to_owned(),
    };
    let reply = if reply.stdout.is_empty() { Reply { stdout: "{}".to_owned(), ..reply } } else { reply };
    reply.with("hookSpecificOutput", json!({ "hookEventName": event, "additionalContext": context }))
}

/// The warning to the user for the same agents.
pub(super) fn exit_code_family_warns(_moment: Moment, text: &str) -> Reply {
    Reply::json(&json!({ "systemMessage": text }))
}
