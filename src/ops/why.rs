//! Why a line exists: its commit, its session, the prompt, and the conversation that followed.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;
use serde_json::Value;

use super::{
    Context,
    attribution::Who,
    blame::{self, BlamedLines, naming},
    records::{self, Log},
};
use crate::{
    error::{Error, Kind, Result},
    model::{
        id_text, moment, path_text,
        record::{Prompt, Record, RecordId},
    },
    state,
};

/// How many messages of a transcript are shown.
const MOST_PIECES: usize = 40;
/// How many characters of each.
const LONGEST_PIECE: usize = 2000;
/// How many bytes of a transcript are looked through.
const MOST_BYTES: usize = 64 << 20;
/// How deep a line of a transcript is looked through.
const DEEPEST: usize = 8;

/// Why a line exists. Serializes to what `why --json` prints.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Why {
    /// The version of the JSON format.
    pub version: u32,
    /// The path.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// The line, from 1.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// The commit that git blames; none if it is not committed yet.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub commit: Option<ObjectId>,
    /// The first line of its message.
    pub subject: Option<String>,
    /// The commit's author.
    pub author: Option<String>,
    /// When it was written, in ISO 8601.
    pub time: Option<String>,
    /// The author of the line.
    #[serde(flatten)]
    pub who: Who,
    /// The record that names the author.
    pub record: Option<RecordId>,
    /// The remote that the record was fetched from; none if this clone has made it.
    pub record_remote: Option<String>,
    /// What the session was asked for in that turn.
    pub prompt: Option<Prompt>,
    /// The conversation after the prompt, as far as it is stored.
    pub transcript: Vec<Said>,
    /// The errors of unreadable records.
    #[serde(skip)]
    pub troubles: Vec<String>,
    /// The records without content here that the line may be of.
    #[serde(skip)]
    pub lacking: Vec<RecordId>,
}

/// A piece of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Said {
    /// Who said it, in the agent's word.
    pub role: String,
    /// The text.
    pub text: String,
}

/// Explains why `line` of `path` (relative to the worktree's root) exists, in `rev` or the worktree.
///
/// # Errors
/// If there is no such line.
pub(crate) fn why(context: &Context, path: BString, line: u32, rev: Option<String>) -> Result<Why> {
    let options = blame::Options { path, rev, ranges: vec![format!("{line},{line}")], ..blame::Options::default() };
    let blame = blame::blame(context, &options)?;
    let Some(found) = blame.lines.into_iter().find(|it| it.start <= line && line <= it.end) else {
        return Err(Error::user(format!("there is no line {line}")));
    };
    let text = found.contents.first().cloned().unwrap_or_default();
    let mut why = Why {
        version: 1,
        path: blame.path,
        line,
        text: text.to_str_lossy().into_owned(),
        commit: found.commit,
        subject: None,
        author: None,
        time: None,
        who: found.who.clone(),
        record: None,
        record_remote: None,
        prompt: None,
        transcript: Vec::new(),
        troubles: blame.troubles,
        lacking: blame.lacking,
    };
    if let Some(commit) = found.commit {
        let message = context.repo.message_of(commit)?;
        why.subject = message.lines().next().map(str::to_owned);
        why.author = Some(found.author.to_str_lossy().into_owned());
        why.time = Some(moment::iso(found.authored, 0));
    }
    match found.recorded_by {
        Some(_) => explain_recorded(context, &found, &mut why)?,
        None => explain_live(context, &mut why)?,
    }
    Ok(why)
}

fn explain_recorded(context: &Context, found: &BlamedLines, why: &mut Why) -> Result<()> {
    // Where no record can be read, the author is unknown, and that is all.
    let log = match Log::open(&context.repo) {
        Err(error) if error.kind() == Kind::Corrupt => return Ok(()),
        log => log?,
    };
    let (Some(log), Some(commit)) = (log, found.recorded_by) else { return Ok(()) };
    let Some((record, at)) = naming(&log, commit, why.who.session.as_deref(), why.who.turn)? else { return Ok(()) };
    (why.record, why.record_remote) = (Some(record.id), log.remote_of(&record.id)?);
    // If a human wrote the line, the record still describes its commit.
    let Some(at) = at else { return Ok(()) };
    let prompts = log.prompts(&record.id, at)?;
    why.prompt = prompt_of(&prompts, why.who.turn);
    if let Some(prompt) = &why.prompt {
        let next = prompts.iter().find(|it| it.turn > prompt.turn);
        why.transcript = excerpt(context, &record, at, prompt, next)?;
    }
    Ok(())
}

/// Adds the prompt of an uncommitted line from its session's own file: there is no record yet.
fn explain_live(context: &Context, why: &mut Why) -> Result<()> {
    let Some(session) = &why.who.session else { return Ok(()) };
    let prompts = state::sessions::prompts(context.repo.common_dir(), session)?;
    let prompts = prompts.into_iter().map(|it| Prompt { turn: it.turn, seconds: it.seconds, text: it.text });
    why.prompt = prompt_of(&prompts.collect::<Vec<_>>(), why.who.turn);
    Ok(())
}

/// Returns the prompt that began `turn`, or the last one before it.
fn prompt_of(prompts: &[Prompt], turn: Option<u32>) -> Option<Prompt> {
    prompts.iter().filter(|prompt| turn.is_none_or(|turn| prompt.turn <= turn)).max_by_key(|it| it.turn).cloned()
}

fn excerpt(
    context: &Context,
    record: &Record,
    session: usize,
    prompt: &Prompt,
    next: Option<&Prompt>,
) -> Result<Vec<Said>> {
    let mut bytes = Vec::new();
    for chunk in &record.sessions[session].chunks {
        // A clone need not have the transcripts.
        if let Some(part) = records::transcript(&context.repo, chunk)?
            && bytes.len() + part.len() <= MOST_BYTES
        {
            bytes.extend(part);
        }
    }
    Ok(said(&bytes, &prompt.text, next.map(|it| it.text.as_str())))
}

/// Returns the messages of the transcript `bytes` (JSON lines of any agent) between `prompt` and `next`.
fn said(bytes: &[u8], prompt: &str, next: Option<&str>) -> Vec<Said> {
    let pieces: Vec<Said> = bytes.lines().filter_map(|line| piece(&serde_json::from_slice(line).ok()?)).collect();
    let holds = |piece: &Said, text: &str| !text.trim().is_empty() && piece.text.contains(text.trim());
    let Some(start) = pieces.iter().rposition(|piece| holds(piece, prompt)) else { return Vec::new() };
    let rest = pieces.into_iter().skip(start + 1);
    let until_next = rest.take_while(|piece| !next.is_some_and(|next| holds(piece, next)));
    until_next.take(MOST_PIECES).collect()
}

fn piece(line: &Value) -> Option<Said> {
    let role = [&line["role"], &line["message"]["role"], &line["payload"]["role"], &line["type"]];
    let role = role.into_iter().find_map(Value::as_str).unwrap_or("?").to_owned();
    let mut texts = Vec::new();
    gather(line, "", 0, &mut texts);
    let text = texts.join("\n");
    let text: String = text.trim().chars().take(LONGEST_PIECE).collect();
    (!text.is_empty()).then_some(Said { role, text })
}

/// Collects what people would read of a line.
fn gather(value: &Value, key: &str, depth: usize, texts: &mut Vec<String>) {
    const TEXTS: [&str; 9] =
        ["text", "content", "message", "command", "file_path", "new_string", "output", "thinking", "prompt"];
    match value {
        Value::String(text) if TEXTS.contains(&key) => texts.push(text.clone()),
        Value::Array(items) if depth < DEEPEST => items.iter().for_each(|item| gather(item, key, depth + 1, texts)),
        Value::Object(fields) if depth < DEEPEST => {
            fields.iter().for_each(|(key, value)| gather(value, key, depth + 1, texts));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_found_in_a_transcript() {
        let transcript = r#"{"type":"user","message":{"role":"user","content":"first"}}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"done"}]}}
no json
{"role":"user","content":"second"}
{"role":"assistant","content":"never"}
"#;
        let found = said(transcript.as_bytes(), "first\n", Some("second"));
        assert_eq!(found, [Said { role: "assistant".into(), text: "done".into() }]);
        assert_eq!(said(transcript.as_bytes(), "other", None), []);
        assert_eq!(said(transcript.as_bytes(), "second", None).len(), 1);
    }
}
