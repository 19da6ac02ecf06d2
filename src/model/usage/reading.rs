//! Finds in the lines of an agent's own file of a conversation what its models have used.
//!
//! Three kinds of lines are known, and their kind is seen from each line alone:
//! - a message with its usage, which comes once for each part of the message (Claude Code, and agents that write as it does);
//! - a count of all that was used so far (Codex);
//! - a message with its tokens, which is written again when its tools have ended (Gemini).
//!
//! The formats change from version to version; what is not understood counts nothing.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MOST, Tokens, Used, is_model_name};

/// How many messages are remembered from one reading to the next: the lines of one message are close to each other.
const REMEMBERED: usize = 16;

/// A message that was counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Counted {
    id: String,
    #[serde(flatten)]
    tokens: Tokens,
}

/// How far a file was read, and what the rest of it is compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Position {
    /// How many bytes were read.
    pub(crate) offset: u64,
    /// The last messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<Counted>,
    /// The last count of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<Tokens>,
    /// The model that was named last.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The time of the last line that was counted, in Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<i64>,
    /// By what the system knows the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    inode: Option<u64>,
}

impl Position {
    /// Returns what `line` says that was used, beyond what lines before it have said. What was used before `since`, in Unix seconds,
    /// or at a time that is not known, counts nothing.
    pub(crate) fn read(&mut self, line: &[u8], since: Option<i64>) -> Option<Used> {
        if !may_count(line) {
            return None;
        }
        let line: Value = serde_json::from_slice(line).ok()?;
        let (model, tokens) = self.count(&line)?;
        let time = seconds(&line);
        self.last = self.last.max(time);
        let is_new = since.is_none_or(|since| time.is_some_and(|seconds| seconds >= since));
        (is_new && !tokens.is_empty()).then_some(Used { turn: 0, model, tokens })
    }

    /// Takes note of the file with `inode` and `length`, and begins anew if it is not the one that was read: it may have the same lines, and
    /// others. Returns the time before which its lines count nothing, if there is one: `turn`, when the turn began, for a file that is
    /// read for the first time.
    pub(crate) fn follow(&mut self, inode: u64, length: u64, turn: i64) -> Option<i64> {
        let is_other = self.inode.is_some_and(|known| known != inode) || length < self.offset;
        self.inode = Some(inode);
        if is_other {
            self.offset = 0;
        }
        (self.offset == 0).then(|| self.last.map_or(turn, |last| last.max(turn)))
    }

    /// Forgets what the lines to come need not be compared with.
    pub(crate) fn settle(&mut self) {
        let old = self.messages.len().saturating_sub(REMEMBERED);
        self.messages.drain(..old);
    }

    fn count(&mut self, line: &Value) -> Option<(Option<String>, Tokens)> {
        match line.get("type").and_then(Value::as_str)? {
            "assistant" => {
                let message = line.get("message")?;
                let tokens = of_message(message.get("usage")?);
                // A message without an id is one by itself.
                let id = word(message.get("id")).or_else(|| word(line.get("uuid")));
                Some((model(message), self.beyond(id, tokens)))
            }
            "gemini" => Some((model(line), self.beyond(word(line.get("id")), of_gemini(line.get("tokens")?)))),
            "turn_context" => {
                self.model = model(line.get("payload")?).or_else(|| self.model.take());
                None
            }
            "event_msg" => {
                let payload = line.get("payload")?;
                let info = payload.get("info").filter(|_| payload["type"] == "token_count")?;
                let total = raw(info.get("total_token_usage")?);
                let last = info.get("last_token_usage").map(raw);
                Some((self.model.clone(), apart(self.since_last(total, last))))
            }
            _ => None,
        }
    }

    /// Returns what the message `id` has used beyond what is counted of it.
    fn beyond(&mut self, id: Option<String>, tokens: Tokens) -> Tokens {
        let Some(id) = id else { return tokens };
        if let Some(known) = self.messages.iter_mut().rev().find(|known| known.id == id) {
            let more = tokens.minus(known.tokens);
            known.tokens = known.tokens.or_more(tokens);
            return more;
        }
        self.messages.push(Counted { id, tokens });
        tokens
    }

    /// Returns what was used between the last count and `total`. A file may go on with the count of another one, and a count may
    /// begin anew: then only the `last` use is known.
    fn since_last(&mut self, total: Tokens, last: Option<Tokens>) -> Tokens {
        let before = self.total.replace(total);
        match before {
            Some(before) if before.minus(total).is_empty() => total.minus(before),
            _ => last.unwrap_or(total),
        }
    }
}

/// Returns false for nearly all lines that need not be parsed: they may be long.
fn may_count(line: &[u8]) -> bool {
    use bstr::ByteSlice as _;
    ["\"usage\"", "\"tokens\"", "\"token_count\"", "\"turn_context\""].iter().any(|word| line.contains_str(word))
}

fn word(value: Option<&Value>) -> Option<String> {
    value?.as_str().filter(|word| !word.is_empty() && word.len() <= 200).map(str::to_owned)
}

fn model(of: &Value) -> Option<String> {
    of.get("model")?.as_str().map(str::trim).filter(|name| is_model_name(name)).map(str::to_owned)
}

fn seconds(line: &Value) -> Option<i64> {
    line.get("timestamp")?.as_str()?.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}

fn number(of: &Value, name: &str) -> u64 {
    of.get(name).and_then(Value::as_u64).unwrap_or_default().min(MOST)
}

/// There, what was in a cache is no input.
fn of_message(usage: &Value) -> Tokens {
    Tokens {
        input: number(usage, "input_tokens"),
        output: number(usage, "output_tokens"),
        cache_read: number(usage, "cache_read_input_tokens"),
        cache_write: number(usage, "cache_creation_input_tokens"),
        reasoning: 0,
    }
}

/// There, the input has what was in a cache, and the output lacks thoughts. What tools have put into the prompt is apart.
fn of_gemini(tokens: &Value) -> Tokens {
    let cached = number(tokens, "cached");
    Tokens {
        input: number(tokens, "input").saturating_sub(cached).saturating_add(number(tokens, "tool")),
        output: number(tokens, "output"),
        cache_read: cached,
        cache_write: 0,
        reasoning: number(tokens, "thoughts"),
    }
}

/// Returns the numbers of Codex as they are: the input has what was in a cache, and the output has the reasoning.
fn raw(usage: &Value) -> Tokens {
    Tokens {
        input: number(usage, "input_tokens"),
        output: number(usage, "output_tokens"),
        cache_read: number(usage, "cached_input_tokens"),
        cache_write: 0,
        reasoning: number(usage, "reasoning_output_tokens"),
    }
}

/// Lets no token of [`raw`] numbers count twice.
fn apart(raw: Tokens) -> Tokens {
    let (input, output) = (raw.input.saturating_sub(raw.cache_read), raw.output.saturating_sub(raw.reasoning));
    Tokens { input, output, ..raw }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns what each of `lines` adds: model, and the five numbers.
    fn all(lines: &[Value], since: Option<i64>) -> Vec<(Option<String>, [u64; 5])> {
        let mut position = Position::default();
        let read = |line: &Value| {
            let used = position.read(line.to_string().as_bytes(), since);
            // As between two readings.
            position.settle();
            used.map(|used| (used.model, used.tokens.numbers()))
        };
        lines.iter().filter_map(read).collect()
    }

    fn claude(id: &str, output: u64) -> Value {
        let usage = json!({ "input_tokens": 3, "output_tokens": output, "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 20, "cache_creation": { "ephemeral_5m_input_tokens": 20 }, "service_tier": "standard" });
        json!({ "type": "assistant", "timestamp": "2026-11-21T20:50:43.123Z", "uuid": "u", "isSidechain": false,
            "message": { "id": id, "model": "claude-x-1", "role": "assistant", "usage": usage } })
    }

    /// Each part of a message is a line, with what the message has used so far.
    #[test]
    fn a_message_counts_once() {
        let model = Some("claude-x-1".to_owned());
        let lines = [claude("m1", 1), claude("m1", 1), claude("m1", 50), claude("m2", 7), claude("m1", 50)];
        let counted = [[3, 1, 100, 20, 0], [0, 49, 0, 0, 0], [3, 7, 100, 20, 0]];
        assert_eq!(all(&lines, None), counted.map(|numbers| (model.clone(), numbers)));
    }

    fn codex(total: [u64; 4], last: Option<[u64; 4]>) -> Value {
        let usage = |[input, cached, output, reasoning]: [u64; 4]| {
            json!({ "input_tokens": input, "cached_input_tokens": cached, "output_tokens": output,
                "reasoning_output_tokens": reasoning, "total_tokens": input + output })
        };
        let info = json!({ "total_token_usage": usage(total), "last_token_usage": last.map(usage), "model_context_window": 9 });
        json!({ "timestamp": "2026-11-21T20:50:43.123Z", "type": "event_msg",
            "payload": { "type": "token_count", "info": info, "rate_limits": null } })
    }

    #[test]
    fn a_count_of_all_counts_what_is_new() {
        let context = json!({ "type": "turn_context", "payload": { "model": "gpt-x", "cwd": "/" } });
        let empty = json!({ "type": "event_msg", "payload": { "type": "token_count", "info": null } });
        let lines = [
            context,
            empty,
            codex([100, 40, 30, 10], Some([100, 40, 30, 10])),
            codex([100, 40, 30, 10], Some([100, 40, 30, 10])),
            codex([250, 140, 50, 15], Some([150, 100, 20, 5])),
            // The count begins anew.
            codex([60, 0, 5, 0], Some([60, 0, 5, 0])),
        ];
        let counted = [[60, 20, 40, 0, 10], [50, 15, 100, 0, 5], [60, 5, 0, 0, 0]];
        assert_eq!(all(&lines, None), counted.map(|numbers| (Some("gpt-x".to_owned()), numbers)));
    }

    /// A conversation that was forked goes on with the count of the other one.
    #[test]
    fn a_count_that_others_began_counts_the_last_use() {
        let lines = [codex([1000, 0, 500, 0], Some([10, 0, 5, 0])), codex([1030, 0, 507, 0], Some([30, 0, 7, 0]))];
        assert_eq!(all(&lines, None), [[10, 5, 0, 0, 0], [30, 7, 0, 0, 0]].map(|numbers| (None, numbers)));
    }

    #[test]
    fn a_message_that_is_written_again_counts_once() {
        let gemini = |id: &str, output: u64| {
            json!({ "id": id, "timestamp": "2026-11-21T20:52:17.100Z", "type": "gemini", "content": "", "model": "g-1",
                "tokens": { "input": 50, "output": output, "cached": 30, "thoughts": 4, "tool": 2, "total": 86 } })
        };
        let lines = [json!({ "$set": { "tokens": {} } }), gemini("a", 5), gemini("b", 1), gemini("a", 5)];
        let counted = [[22, 5, 30, 0, 4], [22, 1, 30, 0, 4]];
        assert_eq!(all(&lines, None), counted.map(|numbers| (Some("g-1".to_owned()), numbers)));
    }

    #[test]
    fn what_was_used_before_counts_nothing() {
        let time = "2026-11-21T20:50:43Z".parse::<jiff::Timestamp>().expect("a time").as_second();
        assert_eq!(all(&[claude("m", 1)], Some(time)).len(), 1);
        assert_eq!(all(&[claude("m", 1), claude("m", 1)], Some(time + 1)), []);
        let mut untimed = claude("m", 1);
        untimed["timestamp"] = Value::Null;
        assert_eq!(all(&[untimed.clone()], Some(0)), []);
        assert_eq!(all(&[untimed], None).len(), 1);
    }

    #[rstest::rstest]
    #[case::text(r#"{"type":"user","message":{"content":"\"usage\":{\"output_tokens\":5}"}}"#)]
    #[case::no_object(r#"["usage"]"#)]
    #[case::cut(r#"{"type":"assistant","message":{"usage":{"output_tokens":5"#)]
    #[case::strange(r#"{"type":"assistant","message":{"usage":"much","model":7}}"#)]
    #[case::negative(r#"{"type":"assistant","message":{"usage":{"output_tokens":-5,"input_tokens":1.5}}}"#)]
    #[case::of_a_tool(
        r#"{"type":"progress","data":{"message":{"type":"assistant","message":{"usage":{"output_tokens":5}}}}}"#
    )]
    fn what_is_not_understood_counts_nothing(#[case] line: &str) {
        assert_eq!(Position::default().read(line.as_bytes(), None), None);
    }

    #[test]
    fn hostile_numbers_and_names_stay_within_bounds() {
        let line = json!({ "type": "assistant", "message": { "model": "\u{1b}[31mred",
            "usage": { "output_tokens": u64::MAX, "input_tokens": u64::MAX } } });
        let used = Position::default().read(line.to_string().as_bytes(), None).expect("it counts");
        assert_eq!((used.model, used.tokens.output), (None, MOST));
    }
}
