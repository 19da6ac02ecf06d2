//! What a report says of commits: who wrote their lines, for which prompts, and the changed lines themselves.

mod kept;
mod sums;

use std::{fs, path::Path};

use gix::ObjectId;
use serde::Serialize;

pub(crate) use kept::Changed;
use kept::Kept;
pub(crate) use sums::{Part, Sums};

use super::{
    Context,
    attribution::{self, Attribution, CommitLines, FileLines},
    explain,
    records::Log,
    session_info,
    shallow::begins_shallow,
    usage::{self, OfRecords},
};
use crate::{
    error::{Error, Kind, Result},
    git::{Repo, revision::Header},
    model::{
        attribution::summary::Figures,
        id_text, moment, path_text,
        record::{Record, RecordId},
    },
};

/// How many of the files with lines of agents are listed by themselves.
const MOST_FILES: usize = 10;

/// How many characters of a prompt a report has.
const LONGEST_PROMPT: usize = 2000;

/// What a report is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The newest commits of HEAD, so many at most.
    Latest(usize),
    /// A commit or a range of commits in git's notation.
    Revision(String),
    /// The commits that a session has a part in: its id, the beginning of it, or its agent.
    Session(String),
}

/// A report. Serializes to the data in the page that `report` makes, and to what `report --json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The version of the JSON format.
    pub(crate) version: u32,
    /// The name of the repository: that of its directory.
    pub(crate) repository: String,
    /// The range, as it was asked for.
    pub(crate) range: Option<String>,
    /// The session, if one was asked for.
    pub(crate) session: Option<String>,
    /// The figures of all commits together.
    pub(crate) summary: Figures,
    /// The same, by several properties.
    #[serde(flatten)]
    pub(crate) sums: Sums,
    /// What the sessions of these commits have used; none if they have no records with sessions.
    pub(crate) usage: Option<OfRecords>,
    /// The files with the most lines of agents, in all commits together.
    pub(crate) agent_files: Vec<File>,
    /// The commits, newest first.
    pub(crate) commits: Vec<Commit>,
    /// The records that commits name, and that are not here or cannot be read.
    pub(crate) missing_records: Vec<RecordId>,
    /// The errors of unreadable records.
    #[serde(skip)]
    pub(crate) troubles: Vec<String>,
    /// Says at which commit a shallow clone begins, if that is left out.
    #[serde(skip)]
    pub(crate) left_out: Option<Error>,
}

/// A commit of a report.
#[derive(Debug, Serialize)]
pub(crate) struct Commit {
    /// The commit.
    #[serde(rename = "commit", serialize_with = "id_text::serialize")]
    pub(crate) id: ObjectId,
    /// The first paragraph of its message, on one line.
    pub(crate) subject: String,
    /// The author's name.
    pub(crate) author: String,
    /// When the author wrote it, in ISO 8601.
    pub(crate) time: String,
    /// Its records.
    pub(crate) records: Vec<RecordId>,
    /// Its figures.
    pub(crate) summary: Figures,
    /// The sessions that have a part in it.
    pub(crate) sessions: Vec<Session>,
    /// Its files.
    pub(crate) files: Vec<File>,
    /// The changed lines of its files, in the same order.
    #[serde(skip)]
    pub(crate) changed: Vec<Changed>,
}

/// A session's part in a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Session {
    /// The session.
    pub(crate) id: String,
    /// The agent's name.
    pub(crate) agent: Option<String>,
    /// The model.
    pub(crate) model: Option<String>,
    /// The lines of the commit that it wrote or has a part in.
    pub(crate) lines: u32,
    /// Its prompts, by turn.
    pub(crate) prompts: Vec<Prompt>,
}

/// A prompt of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Prompt {
    /// The turn that it began.
    pub(crate) turn: u32,
    /// The text.
    pub(crate) text: String,
}

/// A file of a commit.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct File {
    /// The path.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: bstr::BString,
    /// Lines that git counts as added.
    pub(crate) added: u32,
    /// Lines that git counts as deleted.
    pub(crate) deleted: u32,
    /// The agents' percentage of its lines; none if they have no known author.
    pub(crate) agent_percentage: Option<f64>,
    /// All its figures.
    #[serde(skip)]
    pub(crate) figures: Figures,
}

impl File {
    fn of(file: &FileLines) -> Self {
        let figures = file.figures;
        let agent_percentage = figures.agent_percentage.filter(|_| figures.total_committed > 0);
        Self { path: file.path.clone(), added: file.added, deleted: file.deleted, agent_percentage, figures }
    }
}

/// Returns the report of `subject`; without commits if it has none.
///
/// # Errors
/// If `subject` names no commit and no session, or objects are missing.
pub(crate) fn report(context: &Context, subject: &Subject) -> Result<Report> {
    let repo = &context.repo;
    let log = match Log::open(repo) {
        // The attribution says why no record can be read.
        Err(error) if error.kind() == Kind::Corrupt => None,
        log => log?,
    };
    let Selected { ids, session, left_out } = selected(context, log.as_ref(), subject)?;
    let headers = repo.headers_of(&ids)?;
    let ids: Vec<ObjectId> = headers.iter().map(|header| header.id).collect();
    let mut kept = Kept::default();
    let mut changed = Vec::new();
    let found = attribution::of_commits(context, &ids, &mut |_, patch| {
        changed.push(kept.of_commit(patch));
        Ok(())
    })?;
    let sums = Sums::of(&found, &headers);
    let usage = usage::of_records(context, found.commits.iter().flat_map(|commit| commit.records.iter().copied()))?;
    let agent_files = most_written(&found);
    let Attribution { summary, commits, missing_records, troubles, .. } = found;
    let mut described = Vec::new();
    for ((header, lines), changed) in headers.into_iter().zip(commits).zip(changed) {
        described.push(commit(log.as_ref(), header, lines, changed)?);
    }
    let range = match subject {
        Subject::Revision(text) => Some(text.clone()),
        Subject::Latest(_) | Subject::Session(_) => None,
    };
    Ok(Report {
        version: 1,
        repository: name_of(repo.common_dir()),
        range,
        session,
        summary,
        sums,
        usage,
        agent_files,
        commits: described,
        missing_records,
        troubles,
        left_out,
    })
}

fn most_written(found: &Attribution) -> Vec<File> {
    let lines = |file: &File| file.figures.agent_lines + file.figures.mixed;
    let mut files: Vec<File> = found.files.iter().map(File::of).filter(|file| lines(file) > 0).collect();
    files.sort_by_key(|file| std::cmp::Reverse(lines(file)));
    files.truncate(MOST_FILES);
    files
}

/// Returns the name of the repository in `common_dir`: its main worktree's directory, or its own without `.git` if it is bare.
fn name_of(common_dir: &Path) -> String {
    // From a linked worktree, the path may end with `..`.
    let whole = if common_dir.file_name().is_none() { fs::canonicalize(common_dir).ok() } else { None };
    let common_dir = whole.as_deref().unwrap_or(common_dir);
    let directory = if common_dir.ends_with(".git") { common_dir.parent() } else { Some(common_dir) };
    let name = directory.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    name.strip_suffix(".git").unwrap_or(&name).to_owned()
}

/// What a report is about.
#[derive(Default)]
struct Selected {
    /// The commits, newest first.
    ids: Vec<ObjectId>,
    session: Option<String>,
    /// As in [`Report`].
    left_out: Option<Error>,
}

/// Returns what `subject` names.
fn selected(context: &Context, log: Option<&Log<'_>>, subject: &Subject) -> Result<Selected> {
    let text = match subject {
        Subject::Revision(text) => {
            return Ok(Selected { ids: attribution::named(context, text)?, ..Selected::default() });
        }
        Subject::Latest(most) => return latest(&context.repo, *most),
        Subject::Session(text) => text,
    };
    let records_of = |id: &str| log.map_or(Ok(Vec::new()), |log| explain::records_of(context, log, id));
    // The whole id first: only the records know a session that was forgotten, or is of another clone.
    let (mut id, mut records) = (text.clone(), records_of(text)?);
    if records.is_empty() {
        let Some(other) = session_info::find(context, text)? else {
            return Err(Error::user(format!("no session matches '{text}'"))
                .with_hint("'git checkpoint session list' lists the sessions"));
        };
        (id, records) = (other.clone(), records_of(&other)?);
    }
    let mut commits: Vec<ObjectId> = Vec::new();
    for record in &records {
        commits.push(record.commit);
        if let Some(log) = log {
            commits.extend(log.links(&record.id)?.into_iter().map(|link| link.commit));
        }
    }
    commits.sort_unstable();
    commits.dedup();
    // An amended or rebased commit counts once: as it is now.
    Ok(Selected { ids: context.repo.reachable_of(&commits)?, session: Some(id), left_out: None })
}

/// Returns the newest commits of HEAD, `most` at most, without those whose parents a shallow clone lacks: what they changed is unknown.
fn latest(repo: &Repo, most: usize) -> Result<Selected> {
    let mut found = Selected::default();
    let is_shallow = repo.is_shallow();
    for id in repo.commits_in("HEAD")?.unwrap_or_default() {
        if found.ids.len() == most {
            break;
        }
        if is_shallow && repo.written_parents_of(id)?.iter().any(|parent| !repo.has_object(*parent)) {
            found.left_out.get_or_insert_with(|| begins_shallow(repo, id));
        } else {
            found.ids.push(id);
        }
    }
    Ok(found)
}

fn commit(log: Option<&Log<'_>>, header: Header, lines: CommitLines, changed: Vec<Changed>) -> Result<Commit> {
    let mut sessions: Vec<Session> = Vec::new();
    for id in &lines.records {
        let Some(log) = log else { continue };
        // A record that cannot be read is among the troubles.
        let Ok(Some(record)) = log.find(id) else { continue };
        for (index, part) in record.sessions.iter().enumerate() {
            add(&mut sessions, session(log, &record, index)?, &part.id);
        }
    }
    for session in &mut sessions {
        let owners = lines.files.iter().flat_map(|file| &file.owners);
        let own = owners.filter(|owned| owned.who.session.as_ref() == Some(&session.id));
        session.lines = own.map(|owned| owned.end - owned.start + 1).sum();
    }
    let files = lines.files.iter().map(File::of);
    Ok(Commit {
        id: header.id,
        subject: header.subject,
        author: header.author,
        time: moment::iso(header.seconds, header.offset),
        records: lines.records,
        summary: lines.summary,
        sessions,
        files: files.collect(),
        changed,
    })
}

fn session(log: &Log<'_>, record: &Record, index: usize) -> Result<Session> {
    let part = &record.sessions[index];
    let prompts = log.prompts(&record.id, index)?.into_iter();
    Ok(Session {
        id: part.id.clone(),
        agent: part.agent.clone(),
        model: part.model.clone(),
        lines: 0,
        prompts: prompts.map(|prompt| Prompt { turn: prompt.turn, text: shortened(prompt.text) }).collect(),
    })
}

/// Returns `text` without what is beyond [`LONGEST_PROMPT`].
fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(LONGEST_PROMPT) {
        text.truncate(end);
        text.push('\u{2026}');
    }
    text
}

/// Adds the part of the session `id`, which may have one in another record of the same commit.
fn add(sessions: &mut Vec<Session>, part: Session, id: &str) {
    let Some(known) = sessions.iter_mut().find(|session| session.id == id) else {
        sessions.push(part);
        return;
    };
    known.prompts.extend(part.prompts);
    known.prompts.sort_by(|one, other| (one.turn, &one.text).cmp(&(other.turn, &other.text)));
    known.prompts.dedup();
}
