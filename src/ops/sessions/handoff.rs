//! `session handoff`: what another agent or a person has to know to go on with the work of a session.

use std::{
    io::{Read as _, Seek as _, SeekFrom},
    path::PathBuf,
};

use bstr::{BString, ByteSlice as _, ByteVec as _};

use super::{
    super::{
        Context,
        compare::{DiffOptions, FileDiff, diff},
        explain::records_of,
        notes,
        records::Log,
        reviews,
        session_info::{find_or_rebuild, open_conversation},
    },
    listing::{Shown, show},
    place::place,
};
use crate::{
    error::{Kind, Result},
    git::Repo,
    model::{
        briefing::Briefing,
        conversation_end::{ConversationEnd, read_end},
        line_diff::Side,
        path_text::{escape, shell_word},
        record::Record,
        redact::redact,
        review::Decision,
        session::{Phase, Session},
    },
};

/// How many bytes at the end of a conversation are read.
const READ: u64 = 1 << 22;
/// How many bytes of changed lines are read.
const PATCH: usize = 1 << 20;
/// Lines around a change.
const CONTEXT: usize = 3;
/// How many commits are listed.
const COMMITS: usize = 20;

/// Returns what another one has to know to go on with the work of the session `name` (an id, an agent's name or the beginning of an id;
/// without it, the session seen last in this worktree), without secrets. `title` is what users call its agent, `to` the one that goes on.
///
/// # Errors
/// [`Kind::Refused`] if there is no such session; if what it has changed cannot be read.
pub(crate) fn handoff(
    context: &Context,
    name: Option<&str>,
    title: &dyn Fn(&str) -> String,
    to: Option<&str>,
) -> Result<Briefing> {
    let Shown { session: shown, prompts, .. } = show(context, name)?;
    let (state, files) = (&shown.state, &shown.files);
    let session = find_or_rebuild(context, &state.id)?;
    let records = match Log::open(&context.repo) {
        // The rest is known all the same.
        Err(error) if error.kind() == Kind::Corrupt => Vec::new(),
        log => log?.map_or(Ok(Vec::new()), |log| records_of(context, &log, &state.id))?,
    };
    let there = match place(context, Some(&state.id)) {
        Ok(place) => {
            let path = Vec::from(place.path).into_path_buf().unwrap_or_default();
            Some((context.with_repo(context.repo.open_worktree(&path)?), path))
        }
        Err(error) if error.kind() == Kind::Refused => None,
        Err(error) => return Err(error),
    };
    let changed = match &there {
        Some((there, _)) if !files.is_empty() => changed(there, files)?,
        _ => Vec::new(),
    };
    let ConversationEnd { words, failing } = session.as_ref().map(conversation).unwrap_or_default();
    let agent = state.agent.as_deref().map_or_else(|| "an agent".to_owned(), title);
    Ok(Briefing {
        title: format!(
            "the session {} of {agent}{}",
            state.id,
            to.map(|to| format!(" to {}", title(to))).unwrap_or_default()
        ),
        state: state_of(&shown.state.id, state.turn, state.phase, there.as_ref(), &changed)?,
        prompts: prompts.into_iter().map(|prompt| (prompt.turn, clean(&prompt.text))).collect(),
        notes: notes_of(context, &state.id, &records)?,
        rejected: rejected_of(context, &state.id)?,
        words: words.map(|words| clean(&words)),
        failing: failing.map(|failing| (clean(&failing.command), clean(&failing.output))),
        commits: commits_of(&context.repo, &records),
        files: changed.iter().map(line_of).collect(),
        patch: clean(&patch(&changed)),
    })
}

/// Returns `text` without secrets, whatever the settings say: it goes to others.
fn clean(text: &str) -> String {
    String::from_utf8_lossy(&redact(text.as_bytes().to_vec())).into_owned()
}

/// Returns what has changed of `files` in the worktree of `there` since its HEAD.
fn changed(there: &Context, files: &[BString]) -> Result<Vec<FileDiff>> {
    let literal = |path: &BString| BString::from([b":(top,literal)", path.as_slice()].concat());
    let options = DiffOptions {
        from: Some("base".to_owned()),
        pathspecs: files.iter().map(literal).collect(),
        hunks: Some(CONTEXT),
        ..DiffOptions::default()
    };
    Ok(diff(there, &options)?.files)
}

/// Returns where the work is, and how it can be gone back to.
fn state_of(
    id: &str,
    turn: u32,
    phase: Phase,
    there: Option<&(Context, PathBuf)>,
    changed: &[FileDiff],
) -> Result<Vec<String>> {
    let mut state = Vec::new();
    match there {
        Some((there, path)) => {
            let head = there.repo.head()?;
            let branch =
                head.branch.as_ref().map(|name| name.strip_prefix(b"refs/heads/").unwrap_or(name).as_bstr().to_owned());
            let branch = branch.map_or("no branch".to_owned(), |name| format!("the branch {name}"));
            let commit = head.id.map_or("without a commit".to_owned(), |id| format!("at {}", there.repo.short_id(&id)));
            state.push(format!("Worktree: {} ({branch}, {commit})", path.display()));
        }
        None => state.push("Worktree: gone; 'git checkpoint session cwd' says how it comes back".to_owned()),
    }
    let way = if phase == Phase::Active { "is under way" } else { "has ended" };
    state.push(match turn {
        0 => "Turns: none".to_owned(),
        turn => format!("Turns: {turn}, and the last one {way}"),
    });
    if !changed.is_empty() {
        let before = shell_word(&format!("{id}@{turn}"));
        state.push(format!("Not committed: {} of its files", changed.len()));
        state.push(format!("To go back to before its last prompt: git checkpoint restore --before {before}"));
    }
    Ok(state)
}

/// Returns what the end of the conversation of `session` says.
fn conversation(session: &Session) -> ConversationEnd {
    let read = || {
        let path = &session.transcript.as_ref()?.path;
        let (mut file, found) = open_conversation(path.as_ref())?;
        file.seek(SeekFrom::Start(found.len().saturating_sub(READ))).ok()?;
        let mut bytes = Vec::new();
        file.take(READ).read_to_end(&mut bytes).ok()?;
        Some(read_end(&String::from_utf8_lossy(&bytes)))
    };
    read().unwrap_or_default()
}

/// Returns the notes of people on the checkpoints of the session `id`, and on its `records`.
fn notes_of(context: &Context, id: &str, records: &[Record]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for note in notes::list(context)? {
        let is_own = note.records.iter().any(|it| records.iter().any(|record| record.id == *it))
            || matches!(context.repo.find_checkpoint(note.id), Ok(Some(checkpoint)) if checkpoint.origin.session.as_deref() == Some(id));
        if is_own {
            found.push(clean(note.note.trim()));
        }
    }
    Ok(found)
}

/// Returns what people have rejected of the work of the session `id`, the latest last.
fn rejected_of(context: &Context, id: &str) -> Result<Vec<String>> {
    let line = |decision: Decision| {
        let text = decision.text.map(|text| format!(": {text}")).unwrap_or_default();
        clean(&format!("{} (+{} -{}){text}", decision.path.shown(), decision.lines.1, decision.lines.0))
    };
    Ok(reviews::rejected(context, id)?.into_iter().map(line).collect())
}

/// Returns the commits that `records` were made for and that are here, newest first.
fn commits_of(repo: &Repo, records: &[Record]) -> Vec<String> {
    let line = |record: &Record| {
        let message = repo.message_of(record.commit).ok()?;
        let subject = message.lines().next().unwrap_or_default().to_owned();
        Some(format!("{} {}", repo.short_id(&record.commit), clean(&subject)))
    };
    records.iter().filter_map(line).take(COMMITS).collect()
}

fn line_of(file: &FileDiff) -> String {
    let counts = file.added.zip(file.deleted).map(|(added, deleted)| format!("  (+{added} -{deleted})"));
    let old = file.old_path.as_ref().map(|old| format!(" (was {})", escape(old.as_bstr()))).unwrap_or_default();
    format!("{}  {}{old}{}", file.status.letter(), escape(file.path.as_bstr()), counts.unwrap_or_default())
}

/// Returns the changed lines of `files`, as far as a text can have them.
fn patch(files: &[FileDiff]) -> String {
    let mut text = BString::default();
    for file in files {
        let path = escape(file.path.as_bstr());
        text.push_str(format!("--- {path}\n"));
        if file.binary {
            text.push_str("(binary)\n");
        }
        for hunk in &file.hunks {
            text.push_str(hunk.header());
            text.push(b'\n');
            for line in &hunk.lines {
                let sign = match line.side {
                    Side::Common => b' ',
                    Side::Deleted => b'-',
                    Side::Added => b'+',
                };
                text.push(sign);
                text.push_str(line.content.trim_end_with(|c| c == '\n'));
                text.push(b'\n');
            }
        }
        if text.len() > PATCH {
            break;
        }
    }
    text.to_str_lossy().into_owned()
}
