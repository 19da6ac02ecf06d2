//! Explains how a commit came about, or what a session did, from the records.

use std::collections::HashMap;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::{
    Context,
    attribution::{self, Options, Target, attribution},
    notes::{Reader, ShownNote},
    records::{Limit, Log},
    session_info,
    usage::{self, Prices, Usage},
};
use crate::{
    error::{Error, Kind as ErrorKind, Result},
    model::{
        attribution::{
            kind::{Kind, agent_of, kind_of},
            summary::Figures,
            text::Attribution,
        },
        id_text, moment, path_text,
        record::{Counts, How, Link, Prompt, Record, RecordFile, RecordId, SessionPart},
        usage::Used,
    },
    state,
};

/// An explanation. Serializes to what `explain --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// The version of the JSON format.
    pub version: u32,
    /// What the user asked for.
    pub kind: Subject,
    /// The commit, if one was asked for.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub commit: Option<ObjectId>,
    /// The first line of its message.
    pub subject: Option<String>,
    /// The session, if one was asked for.
    pub session: Option<String>,
    /// The attributed lines of the commit, if the user asked for one: counted over all its records, as `attribution`
    /// does.
    pub lines: Option<Counts>,
    /// The agents' percentage of them.
    pub agent_percentage: Option<f64>,
    /// The records that the commit's message names, and that are not here.
    pub missing_records: Vec<RecordId>,
    /// Those that are here without the content that they are of.
    #[serde(skip)]
    pub lacking_records: Vec<RecordId>,
    /// The records; of a session, newest first.
    pub records: Vec<ExplainedRecord>,
    /// What the session has used that no record has, if one was asked for; none if nothing is known.
    pub unrecorded_usage: Option<Usage>,
    /// Why no record can be read; none if they can.
    #[serde(skip)]
    pub trouble: Option<String>,
    /// True if it is a commit without records, and people have written all that is in it.
    #[serde(skip)]
    pub is_human: bool,
}

/// What the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// A commit.
    Commit,
    /// A record.
    Record,
    /// A session.
    Session,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedRecord {
    /// Its name.
    pub id: RecordId,
    /// The commit it was made for.
    #[serde(serialize_with = "id_text::serialize")]
    pub commit: ObjectId,
    /// When, in ISO 8601.
    pub time: String,
    /// The worktree.
    #[serde(serialize_with = "path_text::serialize")]
    pub worktree: BString,
    /// The remote that it was fetched from; none if this clone has made it.
    pub remote: Option<String>,
    /// How the commit got linked to this record; none if only the commit's message names it.
    pub how: Option<How>,
    /// Every commit that has it.
    pub links: Vec<ExplainedLink>,
    /// The notes on the record: those for every commit that has it.
    pub notes: Vec<ShownNote>,
    /// The sessions that contributed.
    pub sessions: Vec<ExplainedSession>,
    /// The files of the commit.
    pub files: Vec<ExplainedFile>,
    /// The lines by author.
    pub lines: Counts,
    /// The agents' percentage of them.
    pub agent_percentage: Option<f64>,
}

/// A commit that has the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedLink {
    /// The commit.
    #[serde(serialize_with = "id_text::serialize")]
    pub commit: ObjectId,
    /// How.
    pub how: How,
    /// The commit it was made from.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub from: Option<ObjectId>,
    /// True if this repository has the commit.
    pub is_here: bool,
}

/// A session's part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedSession {
    /// The session.
    pub id: String,
    /// The agent's name.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The turns that changed something.
    pub turns: Vec<u32>,
    /// The number of checkpoints.
    pub checkpoints: u32,
    /// True if the commit was made in the middle of a turn.
    pub partial: bool,
    /// Lines of the recorded commit that it wrote.
    pub lines: u32,
    /// The prompts.
    pub prompts: Vec<Prompt>,
    /// The pieces of its transcript: ref and path.
    pub transcript: Vec<String>,
    /// What its models have used since its record before; none if the agent has not reported it.
    pub usage: Option<Usage>,
    /// The same by turn and model.
    pub used: Vec<UsedInTurn>,
}

/// What a model has used in a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsedInTurn {
    /// The turn, the model, and how much.
    #[serde(flatten)]
    pub used: Used,
    /// True if the turn changed something in the commit.
    pub changed: bool,
}

/// A file of the commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedFile {
    /// The path.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// A, M or D.
    pub status: char,
    /// The sessions that worked on it; empty: none is known to.
    pub sessions: Vec<String>,
    /// Its lines whose author is unknown.
    pub unknown: u32,
}

/// Explains what `text` names: a record, a commit (any revision of git's), or a session (its id, the beginning of that, or its
/// agent).
///
/// Of a commit without a record, `records` is empty. For a session, all records are looked through.
///
/// # Errors
/// If `text` names none of them.
pub fn explain(context: &Context, text: &str) -> Result<Explained> {
    let repo = &context.repo;
    let (log, damage) = match Log::open(repo) {
        Err(error) if error.kind() == ErrorKind::Corrupt => (None, Some(error)),
        log => (log?, None),
    };
    let (mut kind, mut commit, mut session) = (Subject::Record, None, None);
    let mut records = Vec::new();
    let named = RecordId::parse(text);
    if let (Some(log), Some(id)) = (&log, named)
        && let Some(record) = log.find(&id)?
    {
        records.push(describe(context, log, &record, None)?);
    } else if let Some(id) = repo.find_commit(text)? {
        (kind, commit) = (Subject::Commit, Some(id));
        if let Some(log) = &log {
            for record_id in log.of_commit_or_change(id)? {
                if let Some(record) = log.find(&record_id)? {
                    records.push(describe(context, log, &record, Some(id))?);
                }
            }
        }
    } else {
        let records_of = |id: &str| log.as_ref().map_or(Ok(Vec::new()), |log| of_session(context, log, id));
        // The whole id first: only the records know a session that was forgotten, or is of another clone.
        let (mut id, mut found) = (text.to_owned(), records_of(text)?);
        if found.is_empty()
            && let Some(other) = session_info::find(context, text)?.filter(|other| other != text)
        {
            found = records_of(&other)?;
            id = other;
        }
        let is_known = !found.is_empty() || is_session(context, &id)?;
        if !is_known {
            if let Some(damage) = damage {
                return Err(damage);
            }
            return Err(Error::user(format!("no commit, record or session matches '{text}'")).with_hint(match text {
                "HEAD" => "there is no commit yet",
                _ => "'git checkpoint explain HEAD' explains the last commit",
            }));
        }
        (kind, session) = (Subject::Session, Some(id));
        records = found;
    }
    let found = commit.map(|commit| attribution_of(context, commit));
    let is_human = records.is_empty() && matches!(&found, Some(Ok(found)) if found.summary.is_human());
    let found = if records.is_empty() { None } else { found.transpose()? };
    let (figures, lacking_records) = found.map(|found| (found.summary, found.lacking_records)).unzip();
    let lacking_records = lacking_records.unwrap_or_default();
    let (lines, agent_percentage) = (figures.as_ref().map(Counts::from), figures.and_then(|it| it.agent_percentage));
    let subject = commit.map(|commit| context.repo.message_of(commit)).transpose()?;
    let subject = subject.map(|message| message.lines().next().unwrap_or_default().to_owned());
    let of_session = session.as_deref().map_or(Ok(Vec::new()), |session| usage::unrecorded(context, session))?;
    let unrecorded_usage = Prices::new(context).usage(&of_session);
    let missing_records = commit.map_or(Ok(Vec::new()), |commit| attribution::Reader::new(context)?.missing(commit))?;
    Ok(Explained {
        version: 1,
        kind,
        commit,
        subject,
        session,
        lines,
        agent_percentage,
        missing_records,
        lacking_records,
        records,
        unrecorded_usage,
        trouble: damage.map(|damage| damage.to_string()),
        is_human,
    })
}

fn attribution_of(context: &Context, commit: ObjectId) -> Result<attribution::Attribution> {
    let target = Target::Revision(commit.to_string());
    attribution(context, &Options { target, ..Options::default() })
}

fn is_session(context: &Context, text: &str) -> Result<bool> {
    Ok(state::sessions::load(context.repo.common_dir(), text)? != state::sessions::Found::Absent)
}

fn of_session(context: &Context, log: &Log<'_>, session: &str) -> Result<Vec<ExplainedRecord>> {
    records_of(context, log, session)?.iter().map(|record| describe(context, log, record, None)).collect()
}

/// Returns the records in which `session` has a part, newest first: all records are looked through.
pub(crate) fn records_of(context: &Context, log: &Log<'_>, session: &str) -> Result<Vec<Record>> {
    let mut found = Vec::new();
    for id in log.all()? {
        context.check_interrupt()?;
        if let Some(record) = log.find(&id)?.filter(|record| record.sessions.iter().any(|part| part.id == session)) {
            found.push(record);
        }
    }
    found.sort_by_key(|record| (std::cmp::Reverse(record.seconds), record.id));
    Ok(found)
}

fn describe(context: &Context, log: &Log<'_>, record: &Record, commit: Option<ObjectId>) -> Result<ExplainedRecord> {
    let links = log.links(&record.id)?;
    let to_commit = commit.and_then(|commit| links.iter().find(|link| link.commit == commit));
    let how = to_commit.map(|link| link.how);
    let limit = commit.map_or_else(|| Ok(Limit::default()), |commit| log.limit(&record.id, commit))?;
    let has = |file: &&RecordFile| limit.files.is_empty() || limit.files.contains(&file.path);
    let link = |link: &Link| {
        let is_here = context.repo.has_object(link.commit);
        ExplainedLink { commit: link.commit, how: link.how, from: link.from, is_here }
    };
    let Shares { by_session, unknown, agent_percentage } = shares(log, &record.id)?;
    let prices = Prices::new(context);
    let in_turn =
        |used: &Used, part: &SessionPart| UsedInTurn { used: used.clone(), changed: part.turns.contains(&used.turn) };
    let mut sessions = Vec::new();
    for (index, part) in record.sessions.iter().enumerate() {
        sessions.push(ExplainedSession {
            id: part.id.clone(),
            agent: part.agent.clone(),
            model: part.model.clone(),
            turns: part.turns.clone(),
            checkpoints: part.checkpoints,
            partial: part.is_partial,
            lines: by_session.get(&part.id).copied().unwrap_or_default(),
            prompts: log.prompts(&record.id, index)?,
            transcript: part.chunks.iter().map(|chunk| format!("{}:{}", chunk.reference, chunk.path)).collect(),
            usage: prices.usage(&part.usage),
            used: part.usage.iter().map(|used| in_turn(used, part)).collect(),
        });
    }
    let file = |file: &RecordFile| ExplainedFile {
        path: file.path.as_bstr().to_owned(),
        status: match (file.before, file.after) {
            (None, _) => 'A',
            (_, None) => 'D',
            _ => 'M',
        },
        sessions: file.sessions.iter().map(|index| record.sessions[*index].id.clone()).collect(),
        unknown: unknown.get(&file.path).copied().unwrap_or_default(),
    };
    Ok(ExplainedRecord {
        id: record.id,
        commit: record.commit,
        time: moment::iso(record.seconds, 0),
        worktree: record.worktree.clone(),
        remote: log.remote_of(&record.id)?,
        how,
        links: links.iter().map(link).collect(),
        notes: Reader::new(&context.repo)?.of_record(log, record)?,
        files: record.files.iter().filter(has).map(file).collect(),
        sessions,
        lines: record.counts,
        agent_percentage,
    })
}

/// Who wrote the lines of a record's commit.
#[derive(Default)]
struct Shares {
    by_session: HashMap<String, u32>,
    /// By path, the lines whose author is unknown.
    unknown: HashMap<BString, u32>,
    agent_percentage: Option<f64>,
}

/// Returns the shares in the record `id`; none if its attribution is damaged.
fn shares(log: &Log<'_>, id: &RecordId) -> Result<Shares> {
    let text = log.attribution(id)?.unwrap_or_default();
    let Ok(stored) = Attribution::from_text(&text) else { return Ok(Shares::default()) };
    let mut shares = Shares::default();
    let mut figures = Figures::default();
    for file in &stored.files {
        figures = figures.plus(&Figures::of_file(&file.ownership, &stored.authors));
        for span in &file.ownership.spans {
            match kind_of(span.owner, &stored.authors) {
                Kind::Agent => {}
                Kind::Unknown => {
                    *shares.unknown.entry(file.ownership.path.clone()).or_default() += span.count();
                    continue;
                }
                _ => continue,
            }
            let author = agent_of(span.owner, &stored.authors).map(|(id, _)| &stored.authors[id as usize]);
            if let Some(session) = author.and_then(|author| author.session.clone()) {
                *shares.by_session.entry(session).or_default() += span.count();
            }
        }
    }
    shares.agent_percentage = figures.agent_percentage;
    Ok(shares)
}
