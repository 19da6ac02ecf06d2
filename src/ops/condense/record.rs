//! What a record says of a commit.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    os::unix::fs::OpenOptionsExt as _,
};

use bstr::ByteSlice as _;

use super::{
    super::{
        Context,
        records::{self, Additions, NewRecord, NewSession},
        work::{Step, Work},
    },
    Made,
};
use crate::{
    config::Store,
    error::Result,
    model::{
        attribution::summary::Figures,
        change::Change,
        record::{Counts, Prompt, Record, RecordFile, RecordId, SessionPart},
        session::{Phase, Session},
    },
    state::{
        failpoint,
        sessions::{self, Found},
    },
};

/// Returns the record `id` of the commit that was made.
pub(super) fn build(
    context: &Context,
    made: &Made,
    id: RecordId,
    committed: &[Change],
    work: &Work,
    steps: &[Step],
) -> Result<NewRecord> {
    let repo = &context.repo;
    let mut parts: Vec<SessionPart> = Vec::new();
    let mut kept = Vec::new();
    for session in work.all_sessions() {
        let known = load(context, session)?;
        let part = part_of(session, known.as_ref(), work, steps);
        kept.push(kept_of(context, known.as_ref(), session, &part.turns)?);
        parts.push(part);
    }
    let index: BTreeMap<&str, usize> = parts.iter().enumerate().map(|(at, part)| (part.id.as_str(), at)).collect();
    let files = committed.iter().map(|change| RecordFile {
        path: change.path.clone(),
        before: change.before.map(|leaf| leaf.id),
        after: change.after.map(|leaf| leaf.id),
        sessions: work
            .sessions
            .get(&change.path)
            .map(|ids| ids.iter().filter_map(|id| index.get(id.as_str()).copied()).collect())
            .unwrap_or_default(),
    });
    let files = files.collect();
    let record = Record {
        id,
        revision: 1,
        commit: made.commit,
        parent: made.parent,
        tree: repo.tree_of_commit(made.commit)?,
        patch_id: repo.patch_ids(&[made.commit])?.remove(&made.commit),
        seconds: repo
            .with_commit(made.commit, |commit| commit.committer().map(|who| who.seconds()).unwrap_or_default())?,
        base: made.base,
        worktree: repo.worktree_id().to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        sessions: parts,
        files,
        counts: counts(work),
    };
    Ok(NewRecord { record, attribution: super::super::work::text(work, committed), sessions: kept })
}

fn load(context: &Context, id: &str) -> Result<Option<Session>> {
    match sessions::load(context.repo.common_dir(), id)? {
        Found::Session(session) => Ok(Some(*session)),
        // What the checkpoints say of it is enough for a record.
        Found::Absent | Found::Damaged(_) => Ok(None),
    }
}

fn part_of(id: &str, known: Option<&Session>, work: &Work, steps: &[Step]) -> SessionPart {
    let is_in = |step: &&Step| {
        let is_committed = |change: &Change| work.sessions.get(&change.path).is_some_and(|ids| ids.contains(id));
        step.origin.session.as_deref() == Some(id) && step.changes.iter().any(is_committed)
    };
    let mine: Vec<&Step> = steps.iter().filter(is_in).collect();
    let turns: BTreeSet<u32> = mine.iter().filter_map(|step| step.origin.turn).collect();
    let told = |from: fn(&Step) -> Option<&String>| mine.iter().rev().find_map(|step| from(step)).cloned();
    SessionPart {
        id: id.to_owned(),
        agent: told(|step| step.origin.agent.as_ref()).or_else(|| known?.agent.clone()),
        model: told(|step| step.origin.model.as_ref()).or_else(|| known?.model.clone()),
        turns: turns.into_iter().collect(),
        checkpoints: u32::try_from(mine.len()).unwrap_or(u32::MAX),
        is_partial: known.is_some_and(|known| known.phase == Phase::Active),
        chunks: Vec::new(),
    }
}

/// Returns what there is to keep of a session: the prompts of its turns, and what its transcript has more than before.
fn kept_of(context: &Context, known: Option<&Session>, id: &str, turns: &[u32]) -> Result<NewSession> {
    let prompts = sessions::prompts(context.repo.common_dir(), id)?;
    let prompts = prompts.into_iter().filter(|prompt| turns.contains(&prompt.turn));
    let prompts = prompts.map(|prompt| Prompt { turn: prompt.turn, seconds: prompt.seconds, text: prompt.text });
    let transcript = known.and_then(|session| increment(context, session));
    Ok(NewSession { prompts: prompts.collect(), transcript })
}

/// Returns what the agent has written since the last record; none if there is nothing, or it cannot be read.
fn increment(context: &Context, session: &Session) -> Option<Vec<u8>> {
    let settings = &context.settings.transcript;
    let transcript = session.transcript.as_ref().filter(|_| settings.store == Store::Full)?;
    // To open a pipe would wait for whoever writes into it.
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).ok()?;
    let mut file = File::options().read(true).custom_flags(nonblocking).open(&transcript.path).ok()?;
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    // A file that was cut is another one.
    let offset = if metadata.len() < transcript.offset { 0 } else { transcript.offset };
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = Vec::new();
    file.take(settings.max_size.unwrap_or(u64::MAX)).read_to_end(&mut bytes).ok()?;
    // The last line may still be being written.
    let end = bytes.rfind_byte(b'\n').map_or(0, |at| at + 1);
    bytes.truncate(end);
    (!bytes.is_empty()).then_some(bytes)
}

fn counts(work: &Work) -> Counts {
    let figures = Figures::of(&work.ownership, &work.authors);
    Counts {
        agent: figures.agent_lines,
        human: figures.human_added + figures.human_modified,
        mixed: figures.mixed,
        unknown: figures.unknown,
        agent_removed: figures.agent_removed,
        human_removed: figures.human_removed,
    }
}

/// Notes in the sessions of `work` what is in the record now; `is_first` if nobody may have done so before.
pub(super) fn note_sessions(context: &Context, made: &Made, id: RecordId, work: &Work, is_first: bool) -> Result<()> {
    for session in work.all_sessions() {
        let Some(mut session) = load(context, session)? else { continue };
        if is_first {
            pass_over(context, &mut session);
        }
        let id = id.to_string();
        if session.phase == Phase::Active && !session.open_records.contains(&id) {
            session.open_records.push(id);
        }
        session.base = made.commit.to_string();
        sessions::store(context.repo.common_dir(), &session)?;
    }
    Ok(())
}

/// Moves on to the end of what [`increment`] returns.
fn pass_over(context: &Context, session: &mut Session) {
    let read = increment(context, session).map_or(0, |bytes| bytes.len() as u64);
    if let Some(transcript) = &mut session.transcript {
        let is_cut = std::fs::metadata(&transcript.path).is_ok_and(|metadata| metadata.len() < transcript.offset);
        transcript.offset = if is_cut { read } else { transcript.offset + read };
    }
}

/// Adds to the last of the records `ids` what `session` has said since; all of them are whole then.
pub(super) fn complete(context: &Context, session: &mut Session, ids: &[RecordId]) -> Result<()> {
    let mut whole = Vec::new();
    for id in ids {
        let Some(mut record) = records::find(&context.repo, id)? else { continue };
        let Some(at) = record.sessions.iter().position(|part| part.id == session.id) else { continue };
        let mut kept: Vec<NewSession> = record.sessions.iter().map(|_| NewSession::default()).collect();
        if ids.last() == Some(id) {
            kept[at].transcript = increment(context, session);
        }
        record.sessions[at].is_partial = false;
        record.revision += 1;
        whole.push(NewRecord { record, attribution: Vec::new(), sessions: kept });
    }
    if whole.is_empty() {
        return Ok(());
    }
    records::append(context, Additions { records: whole, links: Vec::new() })?;
    failpoint::hit("complete:after-record");
    pass_over(context, session);
    Ok(())
}
