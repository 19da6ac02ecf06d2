//! Counts what the models of sessions have used, by turn, and lets each record have what none before it has.
//!
//! Agents write it into the files of their conversations, perhaps a moment after they have reported the end of a turn: what is new
//! there counts for the last turn that has begun. It is read when a turn ends, before the next one begins, and when a record is
//! made. Nothing here may stop an agent or a commit. `shown` has what commands show of it.

mod shown;

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

pub(crate) use shown::{OfRecords, Prices, Usage, of_records, unrecorded};

use super::{Context, records, session_info::open_conversation};
use crate::{
    error::Result,
    model::{
        record::RecordId,
        session::Session,
        usage::{Tokens, Used, ledger::Ledger, reading::Position},
    },
    state::{sessions, usage as file},
};

/// How many bytes of a file are read at once: of a conversation that was long before we knew of it, the end.
const MOST: u64 = 1 << 26;
/// More files of subagents than this are in no conversation.
const MOST_FILES: usize = 1000;
/// No time of a message is as late.
const NEVER: i64 = i64::MAX;

/// Counts what the models of `session` have used since they were counted last, and what its agent has `reported` beside that.
pub(crate) fn count(context: &Context, session: &Session, reported: Option<Tokens>) {
    // An agent waits for us.
    let is_known = session.transcript.is_some() || reported.is_some();
    if !context.settings.usage.count || !is_known {
        return;
    }
    if let Err(error) = try_count(context, session, reported) {
        tracing::warn!(%error, session = %session.id, "cannot count what its models have used");
    }
}

/// Lets the file `path` count for `session`, too: a subagent writes there.
pub(crate) fn note_file(context: &Context, session: &Session, path: &str) {
    if !context.settings.usage.count {
        return;
    }
    let common = context.repo.common_dir();
    let noted = file::read(common, &session.id).and_then(|ledger| {
        let mut ledger = ledger.unwrap_or_default();
        if ledger.files.contains_key(path) || ledger.files.len() >= MOST_FILES {
            return Ok(());
        }
        let mut position = Position::default();
        let mut add = |used: Used| ledger.add(session.turn.number, &used);
        read_new(Path::new(path), &mut position, since(context, session), &mut add);
        ledger.files.insert(path.to_owned(), position);
        file::write(common, &session.id, &ledger)
    });
    if let Err(error) = noted {
        tracing::warn!(%error, session = %session.id, "cannot count what its subagents have used");
    }
}

fn try_count(context: &Context, session: &Session, reported: Option<Tokens>) -> Result<()> {
    let Known { before, now } = counted(context, session, reported)?;
    if Some(&now) == before.as_ref() || (before.is_none() && now == Ledger::default()) {
        return Ok(());
    }
    file::write(context.repo.common_dir(), &session.id, &now)
}

/// What is known of a session: as it is stored, and with what is new.
struct Known {
    before: Option<Ledger>,
    now: Ledger,
}

fn counted(context: &Context, session: &Session, reported: Option<Tokens>) -> Result<Known> {
    let before = file::read(context.repo.common_dir(), &session.id)?;
    let mut now = before.clone().unwrap_or_default();
    let since = since(context, session);
    for path in files(session, &now) {
        let Some(name) = path.to_str() else { continue };
        let mut position = now.files.get(name).cloned().unwrap_or_default();
        read_new(&path, &mut position, since, &mut |used| now.add(session.turn.number, &used));
        // One that is not there yet begins later.
        now.files.insert(name.to_owned(), position);
    }
    if let Some(tokens) = reported.filter(|tokens| !tokens.is_empty() && session.turn.number > 0) {
        now.add(session.turn.number, &Used { turn: 0, model: session.model.clone(), tokens });
    }
    Ok(Known { before, now })
}

/// Returns when the turn of `session` began, in Unix seconds. What was used before it, as a file says that is read for the first time,
/// is of another session, or of turns that were not counted.
fn since(context: &Context, session: &Session) -> i64 {
    if session.turn.number == 0 {
        return NEVER;
    }
    if let Some(turn) = &session.under_way {
        return turn.started;
    }
    let prompts = sessions::prompts(context.repo.common_dir(), &session.id).unwrap_or_default();
    let of_turn = prompts.iter().rev().find(|prompt| prompt.turn == session.turn.number);
    let first = Some(session.started).filter(|_| session.turn.number == 1);
    of_turn.map(|prompt| prompt.seconds).or(first).unwrap_or(NEVER)
}

/// Returns the files in which the agent of `session` and its subagents write: its conversation, those that were noted, and those in the
/// folders where Claude Code and Gemini have the ones of subagents.
fn files(session: &Session, ledger: &Ledger) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = ledger.files.keys().map(PathBuf::from).collect();
    if let Some(transcript) = &session.transcript {
        let path = PathBuf::from(&transcript.path);
        let is_plain = !session.id.contains(['/', '\\']) && !session.id.starts_with('.');
        let folders = [
            Some(path.with_extension("").join("subagents")),
            path.parent().filter(|_| is_plain).map(|folder| folder.join(&session.id)),
        ];
        for entry in folders.into_iter().flatten().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten() {
            let of_subagent = entry.path();
            if of_subagent.extension().is_some_and(|extension| extension == "jsonl") && all.len() < MOST_FILES {
                all.push(of_subagent);
            }
        }
        all.push(path);
    }
    all.sort();
    all.dedup();
    all
}

/// Calls `add` with what the lines of the file `path` after `position` say that was used since `turn`, when the turn began, and moves
/// the position on. A file that cannot be read has no lines.
fn read_new(path: &Path, position: &mut Position, turn: i64, add: &mut dyn FnMut(Used)) {
    let Some((mut file, found)) = open_conversation(path) else { return };
    let since = position.follow(found.ino(), found.len(), turn);
    if found.len() == position.offset {
        return;
    }
    let length = found.len();
    let start = position.offset.max(length.saturating_sub(MOST));
    if file.seek(SeekFrom::Start(start)).is_err() {
        return;
    }
    let mut reader = BufReader::new(file.take(length - start));
    let (mut line, mut is_whole) = (Vec::new(), start == position.offset);
    position.offset = start;
    loop {
        line.clear();
        let Ok(count) = reader.read_until(b'\n', &mut line) else { break };
        // The agent may be writing the last one.
        if line.last() != Some(&b'\n') {
            break;
        }
        position.offset += count as u64;
        if std::mem::replace(&mut is_whole, true)
            && let Some(used) = position.read(&line, since)
        {
            add(used);
        }
    }
    position.settle();
}

/// Returns what the models of `session` have used and no record has, for revision `revision` of the record `id`, which is about to be
/// written. Asked again for the same one, it is the same.
pub(crate) fn take(context: &Context, session: &Session, id: RecordId, revision: u32) -> Vec<Used> {
    if !context.settings.usage.count {
        return Vec::new();
    }
    try_take(context, session, id, revision).unwrap_or_else(|error| {
        tracing::warn!(%error, session = %session.id, "the record does not have what its models have used");
        Vec::new()
    })
}

fn try_take(context: &Context, session: &Session, id: RecordId, revision: u32) -> Result<Vec<Used>> {
    let Known { before, now: mut ledger } = counted(context, session, None)?;
    let claimed = ledger.claimed(id.as_str(), revision);
    let used = claimed.unwrap_or_else(|| {
        settle(context, &mut ledger);
        if ledger.unrecorded().is_empty() { Vec::new() } else { ledger.claim(id.as_str(), revision) }
    });
    if Some(&ledger) != before.as_ref() && ledger != Ledger::default() {
        // If it cannot be noted, the next record would have it, too.
        file::write(context.repo.common_dir(), &session.id, &ledger)?;
    }
    Ok(used)
}

/// Ends the claim of the last record that was written, or was to be.
fn settle(context: &Context, ledger: &mut Ledger) {
    let Some(claim) = &ledger.claim else { return };
    let is_there = RecordId::parse(&claim.record).is_some_and(|id| {
        let found = records::find(&context.repo, &id);
        // If it cannot be read, it may have been written.
        found.map_or(true, |found| found.is_some_and(|record| record.revision >= claim.revision))
    });
    ledger.settle(is_there);
}
