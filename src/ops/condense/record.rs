//! Builds the record of a commit: which sessions worked on it, and what to store of their prompts and transcripts.
//!
//! `condense` calls [`build`]. If a commit is made in the middle of a turn, its record is partial: once the turn has ended,
//! [`complete`] adds the rest of the transcript. Each part of a transcript is stored once, because the file of the session has
//! the position up to which records have it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    os::unix::fs::OpenOptionsExt as _,
};

use bstr::{BString, ByteSlice as _};

use super::{
    super::{
        Context, Worktree,
        provenance::{
            replay::{self, Work, contributors},
            step::Step,
        },
        records::{self, Additions, NewRecord, NewSession},
        session_info::{self, find_or_rebuild},
        usage,
    },
    made::Made,
};
use crate::{
    config::Store,
    error::Result,
    git::patch_id::PatchIds,
    model::{
        attribution::summary::Figures,
        change::Change,
        record::{Counts, MOST_REVISIONS, Prompt, Record, RecordFile, RecordId, SessionPart},
        session::{Phase, Session},
        usage::add,
    },
    state::{
        failpoint,
        sessions::{self, Found},
    },
};

/// The revision of a record that is new.
const FIRST_REVISION: u32 = 1;

/// By session, the position in its transcript up to which records have it, in bytes.
pub(super) type Offsets = BTreeMap<String, u64>;

/// Returns the record `id` of the commit `made`, and the new positions in the transcripts. `work` and `steps` say who wrote
/// which line of `committed`, the changes of the commit. Git is computing the commit's patch id for `patch_id`.
pub(super) fn build(
    context: &Context,
    made: &Made,
    id: RecordId,
    committed: &[Change],
    (work, steps): (&Work, &[Step]),
    patch_id: PatchIds,
) -> Result<(NewRecord, Offsets)> {
    let repo = &context.repo;
    let mut parts: Vec<SessionPart> = Vec::new();
    let (mut stored, mut offsets) = (Vec::new(), Offsets::new());
    for session in work.all_sessions() {
        let known = load_if_sound(context, session)?;
        let mut part = part_of(session, known.as_ref(), committed, (work, steps));
        // A session may have no checkpoint here. Git brought its lines from other commits, whose records have its transcript,
        // or from a stash: the transcript is then left to the session's next record.
        let has_checkpoints = steps.iter().any(|step| step.origin.session.as_deref() == Some(session));
        let known = known.as_ref().filter(|_| has_checkpoints);
        part.usage = known.map_or_else(Vec::new, |session| usage::take(context, session, id, FIRST_REVISION));
        let increment = known.and_then(|session| increment(context, session));
        offsets.extend(increment.as_ref().map(|increment| (session.to_owned(), increment.end)));
        stored.push(stored_part_of(context, session, &part.turns, increment)?);
        parts.push(part);
    }
    let numbers: BTreeMap<&str, usize> = parts.iter().enumerate().map(|(at, part)| (part.id.as_str(), at)).collect();
    let files = committed.iter().map(|change| RecordFile {
        path: change.path.clone(),
        before: change.before.map(|leaf| leaf.id),
        after: change.after.map(|leaf| leaf.id),
        sessions: work
            .sessions
            .get(&change.path)
            .map(|ids| ids.iter().filter_map(|id| numbers.get(id.as_str()).copied()).collect())
            .unwrap_or_default(),
    });
    let files = files.collect();
    let record = Record {
        id,
        revision: FIRST_REVISION,
        commit: made.commit,
        parent: made.parent,
        tree: repo.tree_of_commit(made.commit)?,
        patch_id: patch_id.finish()?.remove(&made.commit),
        seconds: repo
            .with_commit(made.commit, |commit| commit.committer().map(|who| who.seconds()).unwrap_or_default())?,
        base: made.base,
        worktree: repo.worktree_id().to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        sessions: parts,
        files,
        counts: Counts::from(&Figures::of(&work.ownership, &work.authors)),
        is_whole: false,
    };
    let new = NewRecord { record, attribution: replay::text(work, committed), sessions: stored };
    Ok((new, offsets))
}

/// Returns the session `id`; none if its file is absent or damaged.
fn load_if_sound(context: &Context, id: &str) -> Result<Option<Session>> {
    match session_info::load(context, id)? {
        Found::Session(session) => Ok(Some(*session)),
        // The record then has what the checkpoints say of the session.
        Found::Absent | Found::Damaged(_) => Ok(None),
    }
}

/// Returns what the record says of the session `id`: its agent, its turns, and how many checkpoints it has here.
fn part_of(id: &str, known: Option<&Session>, committed: &[Change], (work, steps): (&Work, &[Step])) -> SessionPart {
    let has_part = |change: &&Change| work.sessions.get(&change.path).is_some_and(|ids| ids.contains(id));
    let names = |change: &'_ Change| [Some(change.path.clone()), change.old_path.clone()].into_iter().flatten();
    let mut paths: BTreeSet<BString> = committed.iter().filter(has_part).flat_map(names).collect();
    // Lines that were moved here have been written in other files.
    let contributors = work.ownership.files.iter().flat_map(contributors);
    let authors = contributors.filter_map(|author| work.authors.get(author as usize));
    let of_lines = authors.filter(|author| author.session.as_deref() == Some(id)).filter_map(|author| author.turn);
    let of_lines: BTreeSet<u32> = of_lines.collect();
    let mut own_steps = Vec::new();
    // Go back in time, so that each rename adds the earlier name of a file before older steps are read.
    for step in steps.iter().rev() {
        let is_here = |change: &&Change| names(change).any(|path| paths.contains(&path));
        let here: Vec<&Change> = step.changes.iter().filter(is_here).collect();
        let has_lines = step.origin.turn.is_some_and(|turn| of_lines.contains(&turn));
        if (has_lines || !here.is_empty()) && step.origin.session.as_deref() == Some(id) {
            own_steps.push(step);
        }
        paths.extend(here.into_iter().filter_map(|change| change.old_path.clone()));
    }
    let moved = steps.iter().filter_map(|step| step.moved.as_ref()).flat_map(|moved| &moved.authors);
    let moved = moved.filter(|author| author.session.as_deref() == Some(id)).filter_map(|author| author.turn);
    let turns: BTreeSet<u32> =
        own_steps.iter().filter_map(|step| step.origin.turn).chain(moved).chain(of_lines).collect();
    let first = |from: fn(&Step) -> Option<&String>| own_steps.iter().find_map(|step| from(step)).cloned();
    SessionPart {
        id: id.to_owned(),
        agent: first(|step| step.origin.agent.as_ref()).or_else(|| known?.agent.clone()),
        model: first(|step| step.origin.model.as_ref()).or_else(|| known?.model.clone()),
        turns: turns.into_iter().collect(),
        checkpoints: u32::try_from(own_steps.len()).unwrap_or(u32::MAX),
        is_partial: known.is_some_and(|known| known.phase == Phase::Active),
        usage: Vec::new(),
        chunks: Vec::new(),
    }
}

/// Returns what to store of a session: the prompts of its turns, and the increment of its transcript.
fn stored_part_of(context: &Context, id: &str, turns: &[u32], increment: Option<Increment>) -> Result<NewSession> {
    let prompts = sessions::prompts(context.repo.common_dir(), id)?;
    let prompts = prompts.into_iter().filter(|prompt| turns.contains(&prompt.turn));
    let prompts = prompts.map(|prompt| Prompt { turn: prompt.turn, seconds: prompt.seconds, text: prompt.text });
    Ok(NewSession { prompts: prompts.collect(), transcript: increment.map(|increment| increment.bytes) })
}

/// What an agent has appended to its transcript since the last record.
struct Increment {
    bytes: Vec<u8>,
    /// The position in the transcript after these bytes.
    end: u64,
}

/// Returns what the agent has appended to its transcript since the last record. Returns none if that is nothing, if the
/// transcript cannot be read, or if the settings do not store transcripts.
fn increment(context: &Context, session: &Session) -> Option<Increment> {
    let settings = &context.settings.transcript;
    let transcript = session.transcript.as_ref().filter(|_| settings.store == Store::Full)?;
    // The path may be a named pipe: do not wait for its writer.
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).ok()?;
    let mut file = File::options().read(true).custom_flags(nonblocking).open(&transcript.path).ok()?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    // A file that has become shorter is a new one.
    let offset = if length < transcript.offset { 0 } else { transcript.offset };
    // If the increment is longer than the settings allow, store its end.
    let start = offset.max(length.saturating_sub(settings.max_size.unwrap_or(u64::MAX)));
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    file.take(length - start).read_to_end(&mut bytes).ok()?;
    // Store whole lines. The agent may be writing the last one, and the limit may have cut off the first one.
    let end = bytes.rfind_byte(b'\n').map_or(0, |at| at + 1);
    bytes.truncate(end);
    if start > offset {
        bytes.drain(..bytes.find_byte(b'\n').map_or(0, |at| at + 1));
    }
    (!bytes.is_empty()).then_some(Increment { bytes, end: start + end as u64 })
}

/// Notes in the files of `sessions` that they are on the commit `made` now, and that records have their transcripts up to
/// `offsets`. If the turn of a session is open, also notes that its end has to complete the record `id`.
///
/// Without `offsets`, leaves the positions as they are, because an earlier run may have noted them.
pub(super) fn note_sessions<'s>(
    worktree: &Worktree<'_>,
    made: &Made,
    id: RecordId,
    sessions: impl IntoIterator<Item = &'s str>,
    offsets: Option<&Offsets>,
) -> Result<()> {
    for session in sessions {
        let Some(mut session) = load_if_sound(worktree, session)? else { continue };
        let offset = offsets.and_then(|offsets| offsets.get(&session.id).copied());
        set_transcript_offset(&mut session, offset);
        let id = id.to_string();
        if session.phase == Phase::Active && !session.open_records.contains(&id) {
            session.open_records.push(id);
        }
        session.base = made.commit.to_string();
        session_info::store(worktree, &session)?;
    }
    Ok(())
}

/// Notes that records have the transcript of `session` up to `offset`.
fn set_transcript_offset(session: &mut Session, offset: Option<u64>) {
    if let (Some(transcript), Some(offset)) = (&mut session.transcript, offset) {
        transcript.offset = offset;
    }
}

/// Adds the rest of the transcript of `session` to the last of the records `ids`, and marks all of them as complete.
fn complete_all(worktree: &Worktree<'_>, session: &mut Session, ids: &[RecordId]) -> Result<()> {
    let (mut completed, mut offset) = (Vec::new(), None);
    for id in ids {
        let Some(mut record) = records::find(&worktree.repo, id)? else { continue };
        let Some(at) = record.sessions.iter().position(|part| part.id == session.id) else { continue };
        let mut stored: Vec<NewSession> = record.sessions.iter().map(|_| NewSession::default()).collect();
        record.revision = record.revision.saturating_add(1).min(MOST_REVISIONS);
        if ids.last() == Some(id) {
            let more = usage::take(worktree, session, *id, record.revision);
            for used in &more {
                add(&mut record.sessions[at].usage, used);
            }
            let increment = increment(worktree, session);
            offset = increment.as_ref().map(|increment| increment.end);
            stored[at].transcript = increment.map(|increment| increment.bytes);
        }
        let part = &mut record.sessions[at];
        part.is_partial = false;
        // Some agents report their model only when they stop.
        part.model = part.model.take().or_else(|| session.model.clone());
        completed.push(NewRecord { record, attribution: Vec::new(), sessions: stored });
    }
    if completed.is_empty() {
        return Ok(());
    }
    records::append(worktree, Additions { records: completed, links: Vec::new() })?;
    failpoint::hit("complete:after-record");
    set_transcript_offset(session, offset);
    Ok(())
}

/// Completes the records of commits that were made in the middle of a turn of the session `id`, if that turn has ended. A long
/// transcript may take so long that the agent kills the hook, so callers first write all else that they have changed.
pub(crate) fn complete_ended(worktree: &Worktree<'_>, id: &str) -> Result<()> {
    match find_or_rebuild(worktree, id)? {
        Some(mut session) if session.phase != Phase::Active => complete(worktree, &mut session),
        _ => Ok(()),
    }
}

/// Completes the records of commits that were made in the middle of a turn of `session`. The turn has ended.
pub(crate) fn complete(worktree: &Worktree<'_>, session: &mut Session) -> Result<()> {
    let ids: Vec<RecordId> = session.open_records.iter().filter_map(|id| RecordId::parse(id)).collect();
    if ids.is_empty() {
        return Ok(());
    }
    complete_all(worktree, session, &ids)?;
    session.open_records.clear();
    session_info::store(worktree, session)
}
