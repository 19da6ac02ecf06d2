//! What an agent's own file of a conversation says of its end: its last words, and the last command that failed.
//!
//! The formats change from version to version; what is not understood says nothing.

use std::collections::HashMap;

use serde_json::Value;

/// What is known of the end of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConversationEnd {
    /// What the agent has said last.
    pub(crate) words: Option<String>,
    /// The last command that has failed and has not succeeded since.
    pub(crate) failing: Option<Failing>,
}

/// A command that has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failing {
    /// The command.
    pub(crate) command: String,
    /// What it has printed.
    pub(crate) output: String,
}

/// Returns what `lines` say: JSON documents, the first of which may be cut.
pub(crate) fn read_end(text: &str) -> ConversationEnd {
    let mut reader = Reader::default();
    for line in text.lines() {
        if let Ok(line) = serde_json::from_str::<Value>(line) {
            reader.line(&line);
        }
    }
    ConversationEnd { words: reader.words, failing: reader.failing }
}

#[derive(Default)]
struct Reader {
    words: Option<String>,
    failing: Option<Failing>,
    /// The commands that run, by the ids of their calls.
    commands: HashMap<String, String>,
}

impl Reader {
    fn line(&mut self, line: &Value) {
        match text_of(line, "type") {
            "assistant" | "user" if line["isSidechain"] != true => self.message(&line["message"]),
            "response_item" => self.item(&line["payload"]),
            "gemini" => self.gemini(line),
            _ => {}
        }
    }

    /// A message of Claude Code, or of an agent that writes as it does.
    fn message(&mut self, message: &Value) {
        for part in message["content"].as_array().into_iter().flatten() {
            match text_of(part, "type") {
                "text" if message["role"] == "assistant" => self.say(text_of(part, "text")),
                "tool_use" => self.call(text_of(part, "id"), text_of(&part["input"], "command")),
                "tool_result" => {
                    let (id, output) = (text_of(part, "tool_use_id"), all_text(&part["content"]));
                    self.result(id, part["is_error"] == true, output);
                }
                _ => {}
            }
        }
    }

    /// An item of Codex.
    fn item(&mut self, item: &Value) {
        let id = text_of(item, "call_id");
        match text_of(item, "type") {
            "message" if item["role"] == "assistant" => self.say(&all_text(&item["content"])),
            "function_call" => {
                let arguments: Value = serde_json::from_str(text_of(item, "arguments")).unwrap_or_default();
                let command = match (&arguments["command"], &arguments["cmd"]) {
                    (Value::Array(words), _) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
                    (Value::String(command), _) | (_, Value::String(command)) => command.clone(),
                    _ => String::new(),
                };
                self.call(id, &command);
            }
            "function_call_output" => {
                let output = all_text(&item["output"]);
                let inner: Value = serde_json::from_str(&output).unwrap_or_default();
                let code = inner["metadata"]["exit_code"].as_i64().or_else(|| exit_code(&output));
                let output = inner["output"].as_str().map_or(output.clone(), str::to_owned);
                self.result(id, code.is_some_and(|code| code != 0), output);
            }
            _ => {}
        }
    }

    fn gemini(&mut self, message: &Value) {
        self.say(&all_text(&message["content"]));
        for call in message["toolCalls"].as_array().into_iter().flatten() {
            let id = text_of(call, "id");
            self.call(id, text_of(&call["args"], "command"));
            let output = text_of(call, "resultDisplay").to_owned();
            let is_failure = call["status"] == "error" || exit_code(&output).is_some_and(|code| code != 0);
            self.result(id, is_failure, output);
        }
    }

    fn say(&mut self, words: &str) {
        if !words.trim().is_empty() {
            self.words = Some(words.trim().to_owned());
        }
    }

    fn call(&mut self, id: &str, command: &str) {
        if !command.is_empty() {
            self.commands.insert(id.to_owned(), command.to_owned());
        }
    }

    fn result(&mut self, id: &str, is_failure: bool, output: String) {
        let Some(command) = self.commands.remove(id) else { return };
        if is_failure {
            self.failing = Some(Failing { command, output });
        } else if self.failing.as_ref().is_some_and(|failing| failing.command == command) {
            self.failing = None;
        }
    }
}

fn text_of<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the text of `content`: a string, or the parts of a list that are text.
fn all_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .map(|part| text_of(part, "text"))
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

/// Returns the exit code that one of the first lines of `output` names.
fn exit_code(output: &str) -> Option<i64> {
    let names = ["Exit code: ", "Process exited with code ", "Exit Code: "];
    let named = |line: &str| names.iter().find_map(|name| line.trim().strip_prefix(name)?.trim().parse().ok());
    output.lines().take(10).find_map(named)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(lines: &[Value]) -> (Option<String>, Option<(String, String)>) {
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        let end = read_end(&text.join("\n"));
        (end.words, end.failing.map(|it| (it.command, it.output)))
    }

    fn failing(command: &str, output: &str) -> (String, String) {
        (command.to_owned(), output.to_owned())
    }

    #[test]
    fn claude_code_says_what_failed() {
        let say = |text: &str| {
            json!({ "type": "assistant", "message": { "role": "assistant",
            "content": [{ "type": "text", "text": text }] } })
        };
        let call = |id: &str, command: &str| {
            json!({ "type": "assistant", "message": { "role": "assistant",
            "content": [{ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } }] } })
        };
        let result = |id: &str, is_error: bool, text: &str| {
            json!({ "type": "user", "message": { "role": "user",
            "content": [{ "type": "tool_result", "tool_use_id": id, "is_error": is_error,
                "content": [{ "type": "text", "text": text }] }] } })
        };
        let user =
            json!({ "type": "user", "message": { "role": "user", "content": [{ "type": "text", "text": "mine" }] } });
        let mut lines =
            vec![user, call("1", "make test"), result("1", true, "boom"), say(" it fails "), call("2", "ls")];
        lines.push(result("2", false, "a"));
        assert_eq!(of(&lines), (Some("it fails".to_owned()), Some(failing("make test", "boom"))));
        lines.extend([call("3", "make test"), result("3", false, "fine")]);
        assert_eq!(of(&lines).1, None, "it has succeeded since");
    }

    #[test]
    fn codex_says_what_failed() {
        let item = |payload: Value| json!({ "type": "response_item", "payload": payload });
        let call = |id: &str, arguments: Value| {
            item(json!({ "type": "function_call", "name": "shell", "call_id": id, "arguments": arguments.to_string() }))
        };
        let output =
            |id: &str, output: &str| item(json!({ "type": "function_call_output", "call_id": id, "output": output }));
        let text = json!([{ "type": "output_text", "text": "done" }]);
        let lines = [
            call("1", json!({ "command": ["make", "test"] })),
            output("1", &json!({ "output": "boom", "metadata": { "exit_code": 2 } }).to_string()),
            item(json!({ "type": "message", "role": "assistant", "content": text })),
        ];
        assert_eq!(of(&lines), (Some("done".to_owned()), Some(failing("make test", "boom"))));
        let lines = [call("1", json!({ "cmd": "x" })), output("1", "Process exited with code 1\nOutput:\nno")];
        assert_eq!(of(&lines).1, Some(failing("x", "Process exited with code 1\nOutput:\nno")));
        let lines = [call("1", json!({ "cmd": "x" })), output("1", "Exit code: 0\nOutput:\nyes")];
        assert_eq!(of(&lines).1, None);
    }

    #[test]
    fn gemini_says_what_failed() {
        let call = json!({ "id": "1", "name": "run_shell_command", "args": { "command": "make" }, "status": "error",
            "resultDisplay": "boom" });
        let lines = [json!({ "type": "gemini", "id": "a", "content": "words", "toolCalls": [call] })];
        assert_eq!(of(&lines), (Some("words".to_owned()), Some(failing("make", "boom"))));
    }

    #[rstest::rstest]
    #[case("")]
    #[case("{\"type\":\"assistant\"")]
    #[case("[1]\n7\nnull\n{}")]
    #[case(r#"{"type":"assistant","message":7}"#)]
    #[case(r#"{"type":"response_item","payload":{"type":"function_call_output","output":{"x":1}}}"#)]
    fn what_is_not_understood_says_nothing(#[case] text: &str) {
        assert_eq!(read_end(text), ConversationEnd::default());
    }
}
