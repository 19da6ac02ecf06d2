//! The text forms of a record: equal records give equal text, and no text is believed unseen.

use bstr::ByteSlice as _;
use gix::ObjectId;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Chunk, Counts, How, Link, Prompt, Record, RecordFile, RecordId, SessionPart};
use crate::model::{
    path_text::StoredPath,
    refname::{self, Base},
    usage::{self, Tokens, Used},
};

const VERSION: u32 = 1;

/// More sessions than this are in no commit.
const MOST_SESSIONS: usize = 10_000;

#[derive(Serialize, Deserialize)]
struct StoredRecord {
    version: u32,
    id: String,
    revision: u32,
    commit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    tree: String,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "patch-id")]
    patch_id: Option<String>,
    seconds: i64,
    base: String,
    worktree: String,
    tool: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    whole: bool,
    counts: StoredCounts,
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "session")]
    sessions: Vec<StoredPart>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "file")]
    files: Vec<StoredFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct StoredCounts {
    agent: u32,
    human: u32,
    mixed: u32,
    unknown: u32,
    agent_removed: u32,
    human_removed: u32,
}

#[derive(Serialize, Deserialize)]
struct StoredPart {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    turns: Vec<u32>,
    checkpoints: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    usage: Vec<StoredUsage>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct StoredUsage {
    turn: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    input: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    output: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    cache_read: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    cache_write: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    reasoning: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Serialize, Deserialize)]
struct StoredFile {
    #[serde(flatten)]
    path: StoredPath,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sessions: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
struct StoredSession {
    version: u32,
    id: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "chunk")]
    chunks: Vec<StoredChunk>,
}

#[derive(Serialize, Deserialize)]
struct StoredChunk {
    r#ref: String,
    path: String,
    id: String,
}

#[derive(Serialize, Deserialize)]
struct StoredPrompts {
    version: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "prompt")]
    prompts: Vec<Prompt>,
}

#[derive(Serialize, Deserialize)]
struct StoredLink {
    version: u32,
    how: How,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "file")]
    only: Vec<StoredPath>,
}

fn id(hex: &str) -> Result<ObjectId, String> {
    ObjectId::from_hex(hex.as_bytes()).map_err(|_| format!("'{hex}' is not an object id"))
}

fn optional_id(hex: &Option<String>) -> Result<Option<ObjectId>, String> {
    hex.as_deref().map(id).transpose()
}

fn write(value: &impl Serialize) -> String {
    toml::to_string(value).expect("the stored form has only strings, numbers and tables")
}

fn read<T: DeserializeOwned>(text: &[u8], version: impl Fn(&T) -> u32) -> Result<T, String> {
    let text = text.to_str().map_err(|_| "not UTF-8".to_owned())?;
    let stored: T = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    match version(&stored) {
        VERSION => Ok(stored),
        version => Err(format!("version {version} is not known")),
    }
}

impl Record {
    /// Returns `record.toml`: all but the transcripts' chunks. Files are sorted by path, turns by number.
    pub fn to_toml(&self) -> String {
        let hex = |id: Option<ObjectId>| id.map(|id| id.to_string());
        let mut files: Vec<&RecordFile> = self.files.iter().collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let counts = self.counts;
        write(&StoredRecord {
            version: VERSION,
            id: self.id.to_string(),
            revision: self.revision,
            commit: self.commit.to_string(),
            parent: hex(self.parent),
            tree: self.tree.to_string(),
            patch_id: self.patch_id.clone(),
            seconds: self.seconds,
            base: self.base.to_string(),
            worktree: refname::encode_component(self.worktree.as_bstr()),
            tool: self.tool.clone(),
            whole: self.is_whole,
            counts: StoredCounts {
                agent: counts.agent,
                human: counts.human,
                mixed: counts.mixed,
                unknown: counts.unknown,
                agent_removed: counts.agent_removed,
                human_removed: counts.human_removed,
            },
            sessions: self.sessions.iter().map(StoredPart::from).collect(),
            files: files
                .into_iter()
                .map(|file| StoredFile {
                    path: (&file.path).into(),
                    before: hex(file.before),
                    after: hex(file.after),
                    sessions: sorted(&file.sessions),
                })
                .collect(),
        })
    }

    /// Parses the record in `text` (of `record.toml`); the error says what is wrong with it.
    pub fn from_toml(text: &[u8]) -> Result<Self, String> {
        let stored: StoredRecord = read(text, |stored: &StoredRecord| stored.version)?;
        if stored.sessions.len() > MOST_SESSIONS {
            return Err(format!("{} sessions are too many", stored.sessions.len()));
        }
        let sessions: Vec<SessionPart> = stored.sessions.into_iter().map(SessionPart::from).collect();
        let file = |it: StoredFile| {
            if let Some(index) = it.sessions.iter().find(|index| **index >= sessions.len()) {
                return Err(format!("there is no session {index}"));
            }
            let (before, after) = (optional_id(&it.before)?, optional_id(&it.after)?);
            Ok(RecordFile { path: it.path.decode()?, before, after, sessions: sorted(&it.sessions) })
        };
        let is_hex = |text: &String| matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
        if let Some(bad) = stored.patch_id.as_ref().filter(|text| !is_hex(text)) {
            return Err(format!("'{bad}' is not a patch id"));
        }
        let counts = stored.counts;
        Ok(Self {
            id: RecordId::parse(&stored.id).ok_or_else(|| format!("'{}' is not a record id", stored.id))?,
            revision: stored.revision,
            commit: id(&stored.commit)?,
            parent: optional_id(&stored.parent)?,
            tree: id(&stored.tree)?,
            patch_id: stored.patch_id,
            seconds: stored.seconds,
            base: Base::parse(&stored.base).ok_or_else(|| format!("'{}' is not a base", stored.base))?,
            worktree: refname::decode_component(&stored.worktree)
                .ok_or_else(|| format!("'{}' is not a worktree", stored.worktree))?,
            tool: stored.tool,
            is_whole: stored.whole,
            files: stored.files.into_iter().map(file).collect::<Result<_, String>>()?,
            sessions,
            counts: Counts {
                agent: counts.agent,
                human: counts.human,
                mixed: counts.mixed,
                unknown: counts.unknown,
                agent_removed: counts.agent_removed,
                human_removed: counts.human_removed,
            },
        })
    }
}

fn sorted<T: Ord + Copy>(items: &[T]) -> Vec<T> {
    let mut items = items.to_vec();
    items.sort_unstable();
    items.dedup();
    items
}

impl From<&SessionPart> for StoredPart {
    fn from(part: &SessionPart) -> Self {
        Self {
            id: part.id.clone(),
            agent: part.agent.clone(),
            model: part.model.clone(),
            turns: sorted(&part.turns),
            checkpoints: part.checkpoints,
            partial: part.is_partial,
            usage: sorted_usage(&part.usage).iter().map(StoredUsage::from).collect(),
        }
    }
}

/// Returns one entry for each turn and model, sorted, and none without tokens.
fn sorted_usage(usage: &[Used]) -> Vec<Used> {
    let mut all = Vec::new();
    usage.iter().filter(|used| !used.tokens.is_empty()).for_each(|used| usage::add(&mut all, used));
    all
}

impl From<&Used> for StoredUsage {
    fn from(used: &Used) -> Self {
        let [input, output, cache_read, cache_write, reasoning] = used.tokens.numbers();
        Self { turn: used.turn, model: used.model.clone(), input, output, cache_read, cache_write, reasoning }
    }
}

impl From<StoredUsage> for Used {
    fn from(it: StoredUsage) -> Self {
        let tokens = Tokens::of([it.input, it.output, it.cache_read, it.cache_write, it.reasoning]);
        // Nothing of others is printed that is no name.
        Self { turn: it.turn, model: it.model.filter(|name| usage::is_model_name(name)), tokens }
    }
}

impl From<StoredPart> for SessionPart {
    fn from(stored: StoredPart) -> Self {
        Self {
            turns: sorted(&stored.turns),
            id: stored.id,
            agent: stored.agent,
            model: stored.model,
            checkpoints: stored.checkpoints,
            is_partial: stored.partial,
            usage: sorted_usage(&stored.usage.into_iter().map(Used::from).collect::<Vec<_>>()),
            chunks: Vec::new(),
        }
    }
}

impl SessionPart {
    /// Returns `session.toml`: where the transcript is.
    pub fn to_toml(&self) -> String {
        let chunk =
            |it: &Chunk| StoredChunk { r#ref: it.reference.clone(), path: it.path.clone(), id: it.id.to_string() };
        let chunks = self.chunks.iter().map(chunk).collect();
        write(&StoredSession { version: VERSION, id: self.id.clone(), chunks })
    }
}

impl Chunk {
    /// Parses the chunks in `text` (of `session.toml`); the error says what is wrong with it.
    ///
    /// A chunk must be below our own refs; unknown fields are ignored.
    pub fn list_from_toml(text: &[u8]) -> Result<Vec<Self>, String> {
        let stored: StoredSession = read(text, |stored: &StoredSession| stored.version)?;
        let chunk = |it: StoredChunk| {
            let is_ours = refname::transcripts_month(&it.r#ref).is_some() && is_chunk_path(&it.path);
            if !is_ours {
                return Err(format!("'{}' of '{}' is not a transcript", it.path, it.r#ref));
            }
            Ok(Self { id: id(&it.id)?, reference: it.r#ref, path: it.path })
        };
        stored.chunks.into_iter().map(chunk).collect()
    }
}

fn is_chunk_path(path: &str) -> bool {
    path.split_once('/').is_some_and(|(session, number)| {
        refname::decode_component(session).is_some() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    })
}

impl Prompt {
    /// Returns `prompts.toml`.
    pub fn list_to_toml(prompts: &[Self]) -> String {
        write(&StoredPrompts { version: VERSION, prompts: prompts.to_vec() })
    }

    /// Parses the prompts in `text` (of `prompts.toml`); the error says what is wrong with it.
    pub fn list_from_toml(text: &[u8]) -> Result<Vec<Self>, String> {
        read(text, |stored: &StoredPrompts| stored.version).map(|stored| stored.prompts)
    }
}

impl Link {
    /// Returns the file `links/<commit>`.
    pub fn to_toml(&self) -> String {
        let only = self.only.iter().map(StoredPath::from).collect();
        write(&StoredLink { version: VERSION, how: self.how, from: self.from.map(|id| id.to_string()), only })
    }

    /// Parses the link of `record` to `commit` in `text`; the error says what is wrong with it.
    pub fn from_toml(record: RecordId, commit: ObjectId, text: &[u8]) -> Result<Self, String> {
        let stored: StoredLink = read(text, |stored: &StoredLink| stored.version)?;
        let only = stored.only.iter().map(StoredPath::decode).collect::<Result<_, String>>()?;
        Ok(Self { record, commit, from: optional_id(&stored.from)?, how: stored.how, only })
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
