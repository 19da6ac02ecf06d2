//! `git checkpoint explain`: how a commit came about.

use gix::ObjectId;

use super::{
    Exit,
    call::Call,
    date, layout, note,
    output::printable,
    phrase::{self, FETCH},
    tokens,
};
use crate::{
    error::Result,
    model::record::{Counts, How, RecordId},
    ops::explain::{self, Explained, ExplainedRecord, ExplainedSession, Subject},
};

/// How many lines of a prompt people see.
const PROMPT_LINES: usize = 3;
/// The indentation of continuation lines.
const INDENT: usize = 10;
/// The least columns of a path.
const LEAST_PATH: usize = 16;
/// How many commits of a record people see.
const LINKS: usize = 5;

/// Explain how a commit came about: sessions, prompts, files, lines by author
///
/// The exit status is 1 if the commit or session has no record.
#[derive(clap::Args, Debug)]
pub(super) struct Explain {
    /// A commit (any revision of git's), a record or a session (default: HEAD)
    #[arg(value_name = "commit|record|session", default_value = "HEAD", hide_default_value = true)]
    target: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let explained = explain::explain(&context, &self.target)?;
        call.out.unreadable_records(explained.trouble.as_slice());
        let exit = if explained.records.is_empty() { Exit::No } else { Exit::Done };
        if self.json {
            call.out.json(&explained)?;
            return Ok(exit);
        }
        if exit == Exit::No {
            call.out.aside(&match (&explained.commit, &explained.session) {
                (Some(commit), _) if !explained.missing_records.is_empty() => missing(&explained, commit, call),
                (Some(commit), _) if explained.is_human => {
                    format!(
                        "commit {} has no record: no agent is known to have written in it, its lines count as human",
                        call.names.id(commit)
                    )
                }
                (Some(commit), _) => format!("commit {} has no record", call.names.id(commit)),
                (_, Some(session)) => format!("session {} has no record yet", printable(session)),
                _ => "no record".to_owned(),
            });
            hint_at_missing(&explained, call);
            if explained.missing_records.is_empty() {
                call.hint_at_unrecorded(&context, explained.commit.as_slice());
            }
            return Ok(exit);
        }
        call.start_pager(&context)?;
        print_commit(&explained, call)?;
        if let Some(commit) = explained.commit.as_ref().filter(|_| !explained.missing_records.is_empty()) {
            call.out.line(&missing(&explained, commit, call))?;
            call.out.line("")?;
        }
        let mut printed = Vec::new();
        for (index, record) in explained.records.iter().enumerate() {
            if index > 0 {
                call.out.line("")?;
            }
            print(&explained, record, call)?;
            // Several records of a commit share its note.
            for note in record.notes.iter().filter(|note| !printed.contains(&note.id)).collect::<Vec<_>>() {
                note::print_shown(note, explained.commit.unwrap_or(record.commit), call)?;
                printed.push(note.id);
            }
        }
        if let Some(usage) = &explained.unrecorded_usage {
            call.out.line("")?;
            call.out.line(&format!("In no record: tokens: {}", tokens::words(usage)))?;
        }
        hint_at_missing(&explained, call);
        call.say_what_lacks(&explained.lacking_records);
        Ok(exit)
    }
}

/// Says which records of `commit` are not here.
fn missing(explained: &Explained, commit: &ObjectId, call: &Call) -> String {
    let ids: Vec<&str> = explained.missing_records.iter().map(RecordId::as_str).collect();
    let (noun, verb) = if ids.len() == 1 { ("record", "is") } else { ("records", "are") };
    format!("the {noun} {} of commit {} {verb} not here", ids.join(", "), call.names.id(commit))
}

fn hint_at_missing(explained: &Explained, call: &mut Call) {
    if !explained.missing_records.is_empty() {
        call.out.hint(FETCH);
    }
}

/// Prints the attribution of the commit as it is now, if its records are of other commits, or of parts of it.
fn print_commit(explained: &Explained, call: &mut Call) -> Result<()> {
    let (Some(commit), Some(counts)) = (explained.commit, explained.lines) else { return Ok(()) };
    if let [record] = explained.records.as_slice()
        && record.lines == counts
    {
        return Ok(());
    }
    let id = call.out.paint(phrase::ID, &format!("commit {commit}"));
    call.out.line(&id)?;
    print_lines(counts, explained.agent_percentage, call)?;
    call.out.line("")
}

fn print(explained: &Explained, record: &ExplainedRecord, call: &mut Call) -> Result<()> {
    let id = call.out.paint(phrase::ID, &format!("record {}", record.id));
    call.out.line(&id)?;
    call.out.line(&format!("Commit:   {}", record.commit))?;
    if let (Subject::Commit, Some(commit)) = (explained.kind, explained.commit)
        && commit != record.commit
    {
        let subject = printable(explained.subject.as_deref().unwrap_or_default());
        let how = how(record, commit, call);
        let id = call.names.id(&commit);
        call.out.field("For:     ", &format!("{id} '{subject}' ({how})"))?;
    }
    call.out.line(&format!("Date:     {}", date::in_full(&record.time, call.out.is_terminal())))?;
    call.out.line(&format!("Worktree: {}", printable(&record.worktree)))?;
    if let Some(remote) = &record.remote {
        call.out.field("Remote:  ", &format!("recorded in '{}', not in this clone", printable(remote)))?;
    }
    print_lines(record.lines, record.agent_percentage, call)?;
    print_links(explained, record, call)?;
    for session in &record.sessions {
        call.out.line("")?;
        print_session(session, call)?;
    }
    if !record.files.is_empty() {
        call.out.line("")?;
    }
    let listed = call.listed(record.files.len());
    for file in &record.files[..listed] {
        let who = match file.sessions.as_slice() {
            [] if file.unknown > 0 => {
                format!(" ({} of an unknown author)", phrase::count(file.unknown as usize, "line"))
            }
            [] => " (people only)".to_owned(),
            _ if record.sessions.len() < 2 => String::new(),
            sessions => format!(" ({})", sessions.iter().map(printable).collect::<Vec<_>>().join(", ")),
        };
        let letter = call.out.paint(phrase::BOLD, &file.status.to_string());
        let path = call.names.path(&file.path);
        let room = width(call).saturating_sub(layout::width(&who) + 3).max(LEAST_PATH);
        call.out.line(&format!("{letter}  {}{who}", phrase::shortened(&path, room)))?;
    }
    if listed < record.files.len() {
        call.out.line(&phrase::and_more(record.files.len() - listed))?;
    }
    Ok(())
}

fn print_links(explained: &Explained, record: &ExplainedRecord, call: &mut Call) -> Result<()> {
    let others: Vec<_> = record
        .links
        .iter()
        .filter(|link| link.commit != record.commit && Some(link.commit) != explained.commit)
        .collect();
    for link in others.iter().take(LINKS) {
        let gone = if link.is_here { "" } else { ", not here" };
        call.out.line(&format!("Also:     {} ({}{gone})", link.commit, word(link.how)))?;
    }
    if others.len() > LINKS {
        call.out.line(&format!("          and {} more", others.len() - LINKS))?;
    }
    Ok(())
}

fn print_session(session: &ExplainedSession, call: &mut Call) -> Result<()> {
    let mut parts = vec![printable(session.agent.as_deref().unwrap_or("agent"))];
    parts.extend(session.model.as_deref().map(|model| format!("model {}", printable(model))));
    parts.extend(turns(&session.turns));
    let checkpoints = usize::try_from(session.checkpoints).unwrap_or(usize::MAX);
    parts.push(phrase::count(checkpoints, "checkpoint"));
    if session.lines > 0 {
        parts.push(phrase::count(usize::try_from(session.lines).unwrap_or(usize::MAX), "line"));
    }
    if session.partial {
        parts.push("committed in the middle of a turn".to_owned());
    }
    let named = format!("session {}", printable(&session.id));
    let title = call.out.paint(phrase::BOLD, &named);
    let lines = phrase::wrapped(&format!("{title}: "), &parts, INDENT, width(call));
    lines.iter().try_for_each(|line| call.out.line(line))?;
    for prompt in &session.prompts {
        let mut texts = prompt.text.trim().lines();
        for (index, text) in texts.by_ref().take(PROMPT_LINES).enumerate() {
            let start = if index == 0 { format!("{:>4}  ", prompt.turn) } else { "      ".to_owned() };
            let text = call.out.fit(&printable(text), start.len());
            call.out.line(format!("{start}{text}").trim_end())?;
        }
        let rest = texts.count();
        if rest > 0 {
            call.out.line(&format!("      and {}", phrase::count(rest, "more line")))?;
        }
    }
    if let Some(usage) = &session.usage {
        call.out.line(&format!("      tokens: {}", tokens::words(usage)))?;
    }
    if let Some(without) = without_change(session) {
        call.out.line(&format!("      of these, {without} in turns that changed nothing in the commit"))?;
    }
    if !session.transcript.is_empty() {
        call.out.line(&format!("      transcript kept in {}", phrase::count(session.transcript.len(), "piece")))?;
    }
    Ok(())
}

/// Returns how many tokens turns without a part in the commit have used; none if there are no such turns.
fn without_change(session: &ExplainedSession) -> Option<u64> {
    let idle = session.used.iter().filter(|it| !it.changed).map(|it| it.used.tokens.total());
    Some(idle.fold(0, u64::saturating_add)).filter(|total| *total > 0)
}

/// Returns `turn 3`, or `turns 1-3, 7`.
fn turns(turns: &[u32]) -> Option<String> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &turn in turns {
        match ranges.last_mut() {
            Some((_, end)) if end.checked_add(1) == Some(turn) => *end = turn,
            _ => ranges.push((turn, turn)),
        }
    }
    let range = |&(start, end): &(u32, u32)| if start == end { start.to_string() } else { format!("{start}-{end}") };
    let text = ranges.iter().map(range).collect::<Vec<_>>().join(", ");
    let noun = if turns.len() == 1 { "turn" } else { "turns" };
    (!turns.is_empty()).then(|| format!("{noun} {text}"))
}

/// Returns the columns that lists may take: of a terminal; what goes elsewhere is a line each.
fn width(call: &Call) -> usize {
    call.out.columns().unwrap_or(usize::MAX)
}

fn print_lines(counts: Counts, agent_percentage: Option<f64>, call: &mut Call) -> Result<()> {
    let lines =
        phrase::wrapped("Lines:    ", &lines(counts, agent_percentage.unwrap_or_default()), INDENT, width(call));
    lines.iter().try_for_each(|line| call.out.line(line))
}

fn lines(counts: Counts, agent_percentage: f64) -> Vec<String> {
    let added =
        [(counts.agent, "agent"), (counts.human, "human"), (counts.mixed, "mixed"), (counts.unknown, "unknown")];
    let removed = [(counts.agent_removed, "agent"), (counts.human_removed, "human")];
    let mut parts: Vec<String> =
        added.iter().filter(|(count, _)| *count > 0).map(|(count, who)| format!("+{count} {who}")).collect();
    parts.extend(removed.iter().filter(|(count, _)| *count > 0).map(|(count, who)| format!("-{count} {who}")));
    match parts.last_mut() {
        Some(last) if agent_percentage > 0.0 => last.push_str(&format!(" ({agent_percentage:.0}% agent)")),
        Some(_) => {}
        None => parts.push("none".to_owned()),
    }
    parts
}

/// Says how `commit` came to `record`: `amended from 88d1744`.
fn how(record: &ExplainedRecord, commit: ObjectId, call: &Call) -> String {
    let Some(how) = record.how else { return "named by its message".to_owned() };
    let link = record.links.iter().find(|link| link.commit == commit);
    match link.and_then(|link| link.from).filter(|from| *from != commit) {
        Some(from) => format!("{} from {}", word(how), call.names.id(&from)),
        None => word(how).to_owned(),
    }
}

fn word(how: How) -> &'static str {
    match how {
        How::Commit => "the commit itself",
        How::Amend => "amended",
        How::Rebase => "rebased",
        How::Squash => "squashed",
        How::Copy => "copied",
        How::Recommit => "committed again",
        How::Relink => "found again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::none(&[], None)]
    #[case::one(&[3], Some("turn 3"))]
    #[case::ranges(&[1, 2, 3, 7, u32::MAX], Some("turns 1-3, 7, 4294967295"))]
    fn turns_are_ranges(#[case] list: &[u32], #[case] expected: Option<&str>) {
        assert_eq!(turns(list).as_deref(), expected);
    }
}
