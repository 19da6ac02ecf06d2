//! The attribution in foreign formats: Agent Trace records, and git-ai's notes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use bstr::ByteSlice as _;
use gix::ObjectId;
use serde_json::{Map, Value, json};

use super::{
    authors::Authors,
    commit::OfCommit,
    commits::each_commit,
    options::Options,
    who::{Who, who},
};
use crate::{
    error::Result,
    model::{attribution::kind::Kind, moment, path_text},
    ops::Context,
};

/// The longest model id that Agent Trace accepts, in characters.
const LONGEST_MODEL: usize = 250;

/// Ranges of lines, both ends included.
type Ranges = Vec<(u32, u32)>;

/// Returns an Agent Trace record (version 0.1.0) of each commit that `options` select, newest first.
///
/// # Errors
/// As [`attribution`](super::attribution), and for the worktree.
pub(crate) fn agent_trace(context: &Context, options: &Options) -> Result<Vec<Value>> {
    let mut records = Vec::new();
    each_commit(context, options, &mut |commit, authors| {
        records.push(trace(commit, authors));
        Ok(())
    })?;
    Ok(records)
}

fn trace(commit: &OfCommit, authors: &Authors) -> Value {
    let mut files = Vec::new();
    for file in &commit.files {
        // One conversation for each session, and one for all that no agent wrote.
        let mut parts: BTreeMap<Option<Who>, Vec<Value>> = BTreeMap::new();
        for span in &file.ownership.spans {
            let owner = who(span.owner, &authors.list);
            let mut range = json!({"start_line": span.start, "end_line": span.end});
            let session = Who { owner: Kind::Agent, turn: None, ..owner.clone() };
            match owner.owner {
                Kind::Base => continue,
                Kind::Agent => {}
                Kind::Mixed => {
                    range["contributor"] = contributor("mixed", owner.agent.as_deref(), owner.model.as_deref());
                }
                kind => range["contributor"] = contributor(kind.as_str(), None, None),
            }
            let is_of_agent = matches!(owner.owner, Kind::Agent | Kind::Mixed);
            parts.entry(is_of_agent.then_some(session)).or_default().push(range);
        }
        let conversations = parts.into_iter().map(|(session, ranges)| {
            let mut conversation = Map::new();
            if let Some(session) = session {
                let by = contributor("ai", session.agent.as_deref(), session.model.as_deref());
                conversation.insert("contributor".into(), by);
                if let Some(id) = &session.session {
                    let url = format!("urn:git-checkpoint:session:{}", encoded(id));
                    conversation.insert("related".into(), json!([{"type": "session", "url": url}]));
                }
            }
            conversation.insert("ranges".into(), Value::Array(ranges));
            Value::Object(conversation)
        });
        let conversations: Vec<Value> = conversations.collect();
        if !conversations.is_empty() {
            files.push(json!({"path": path_text::escape(file.change.path.as_bstr()), "conversations": conversations}));
        }
    }
    let records: Vec<String> = commit.records.iter().map(ToString::to_string).collect();
    json!({
        "version": "0.1.0",
        "id": uuid(commit.id),
        "timestamp": moment::iso(commit.seconds, 0),
        "vcs": {"type": "git", "revision": commit.id.to_string()},
        "tool": {"name": "git-checkpoint", "version": env!("CARGO_PKG_VERSION")},
        "files": files,
        "metadata": {"io.git-checkpoint": {"records": records}},
    })
}

fn contributor(kind: &str, agent: Option<&str>, model: Option<&str>) -> Value {
    let mut value = json!({"type": kind});
    if let Some(model) = model.filter(|model| !model.is_empty()) {
        let provider = if model.contains('/') { None } else { provider(agent, model) };
        let id = provider.map_or_else(|| model.to_owned(), |provider| format!("{provider}/{model}"));
        value["model_id"] = id.chars().take(LONGEST_MODEL).collect::<String>().into();
    }
    value
}

/// Returns the vendor of a model as models.dev names it; none if the model's name does not show it.
fn provider(agent: Option<&str>, model: &str) -> Option<&'static str> {
    let known = [
        ("claude", "anthropic"),
        ("gpt-", "openai"),
        ("codex", "openai"),
        ("gemini", "google"),
        ("grok", "xai"),
        ("deepseek", "deepseek"),
        ("kimi", "moonshotai"),
        ("qwen", "alibaba"),
    ];
    let by_name = known.iter().find(|(start, _)| model.starts_with(start)).map(|(_, provider)| *provider);
    by_name.or_else(|| (agent == Some("claude-code")).then_some("anthropic"))
}

/// Returns the UUID for a commit's id, computed from its name (RFC 9562, version 5: with SHA-1).
fn uuid(id: ObjectId) -> String {
    let mut bytes: [u8; 16] = [0; 16];
    bytes.copy_from_slice(&id.as_bytes()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x50;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Percent-encodes all characters that URIs do not leave unreserved (RFC 3986).
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Returns the note of git-ai (authorship/3.0.0) for each commit that `options` select, newest first.
///
/// # Errors
/// As [`attribution`](super::attribution), and for the worktree.
pub(crate) fn git_ai(context: &Context, options: &Options) -> Result<Vec<(ObjectId, String)>> {
    let mut notes = Vec::new();
    each_commit(context, options, &mut |commit, authors| {
        notes.push((commit.id, note(commit, authors)));
        Ok(())
    })?;
    Ok(notes)
}

fn note(commit: &OfCommit, authors: &Authors) -> String {
    let mut text = String::new();
    let mut sessions: BTreeMap<String, Value> = BTreeMap::new();
    let mut people: BTreeSet<String> = BTreeSet::new();
    let human = format!("h_{}", digest(&commit.committer));
    for file in &commit.files {
        let mut rows: BTreeMap<String, Ranges> = BTreeMap::new();
        for span in &file.ownership.spans {
            let owner = who(span.owner, &authors.list);
            let key = match owner.owner {
                Kind::Agent | Kind::Mixed => {
                    let session = format!("s_{}", digest(&session_name(&owner)));
                    let turn = owner.turn.map_or_else(String::new, |turn| turn.to_string());
                    let key = format!("{session}::t_{}", digest(&format!("{}:{turn}", session_name(&owner))));
                    let name = |name: &Option<String>, otherwise: &str| {
                        path_text::printable(name.as_deref().unwrap_or(otherwise).into())
                    };
                    let agent = json!({"tool": name(&owner.agent, "unknown"), "id": name(&owner.session, ""),
                        "model": name(&owner.model, "unknown")});
                    sessions
                        .entry(session)
                        .or_insert_with(|| json!({"agent_id": agent, "human_author": commit.committer}));
                    key
                }
                Kind::Human => {
                    people.insert(human.clone());
                    human.clone()
                }
                // Lines without a key are untracked.
                Kind::Unknown | Kind::Base => continue,
            };
            push(rows.entry(key).or_default(), span.start, span.end);
        }
        if rows.is_empty() {
            continue;
        }
        text.push_str(&quoted(&path_text::escape(file.change.path.as_bstr())));
        text.push('\n');
        for (key, ranges) in rows {
            let list: Vec<String> = ranges.iter().map(|&(start, end)| range(start, end)).collect();
            writeln!(text, "  {key} {}", list.join(",")).expect("a string takes all");
        }
    }
    let humans: Map<String, Value> = people.into_iter().map(|key| (key, json!({"author": commit.committer}))).collect();
    let metadata = json!({
        "schema_version": "authorship/3.0.0",
        "base_commit_sha": commit.id.to_string(),
        "prompts": {},
        "sessions": sessions,
        "humans": humans,
    });
    text.push_str("---\n");
    text.push_str(&serde_json::to_string_pretty(&metadata).expect("it has only string keys"));
    text.push('\n');
    text
}

fn session_name(who: &Who) -> String {
    format!("{}:{}", who.agent.as_deref().unwrap_or("unknown"), who.session.as_deref().unwrap_or_default())
}

fn range(start: u32, end: u32) -> String {
    if start == end { start.to_string() } else { format!("{start}-{end}") }
}

fn push(ranges: &mut Ranges, start: u32, end: u32) {
    match ranges.last_mut() {
        Some(last) if last.1 + 1 == start => last.1 = end,
        _ => ranges.push((start, end)),
    }
}

/// Quotes paths with blanks or quotes, and escapes line breaks.
fn quoted(path: &str) -> String {
    let plain = path_text::printable(path.into());
    let is_plain = plain == path && !path.contains(char::is_whitespace) && !path.contains(['"', '\\']) && path != "---";
    if is_plain { plain } else { format!("\"{}\"", plain.replace('"', "\\\"")) }
}

/// Returns the first 14 digits of the SHA-256 of `text`.
fn digest(text: &str) -> String {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha256);
    hasher.update(text.as_bytes());
    let mut hex = hasher.try_finalize().map_or_else(|_| "0".repeat(64), |id| id.to_string());
    hex.truncate(14);
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe() {
        assert_eq!(encoded("a b/\u{e4}"), "a%20b%2F%C3%A4");
        assert_eq!(quoted("a b"), "\"a b\"");
        assert_eq!(quoted("a\nb"), "\"a\\nb\"");
        assert_eq!(quoted("a"), "a");
        assert_eq!(digest("abc"), "ba7816bf8f01cf");
        let id = ObjectId::from_hex(b"0123456789abcdef0123456789abcdef01234567").expect("an id");
        assert_eq!(uuid(id), "01234567-89ab-5def-8123-456789abcdef");
    }
}
