//! Decisions that wait: rejections for the end of a turn, and all of them for the next prompt of the agent.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice as _;

use super::{
    super::{
        Context, Worktree,
        enter::Purpose,
        restore::{refuse_open_turns, turns_at_work},
        reviews as stored_reviews, session_info,
    },
    Review, Scope,
    hunks::{File, What},
    look,
    outcome::Choice,
};
use crate::{
    error::Result,
    model::{
        line_diff::Side,
        path_text::{StoredPath, printable, shell_word},
        redact::redact,
        review::{Changed, Mark, Stage, Verdict, Waiting, Waits, words, words_of_restores},
    },
    state::failpoint,
};

/// The most characters of a line that an agent hears of.
const LONGEST: usize = 120;

/// Returns true if a turn is under way here: nothing is taken out then.
pub(super) fn is_busy(context: &Context) -> bool {
    refuse_open_turns(context, "").is_err()
}

/// Notes that `chosen` wait for the agents, and if `is_busy`, that what is rejected waits for the end of the turn.
pub(super) fn note(
    context: &Context,
    review: &Review,
    chosen: &BTreeMap<(usize, usize), &Choice>,
    is_busy: bool,
) -> Result<()> {
    let new: Vec<Waiting> =
        chosen.iter().map(|((file, item), choice)| waiting(&review.files[*file], *item, choice, is_busy)).collect();
    let is_wanted = |it: &&Waiting| {
        let is_of_agent = !it.sessions.is_empty() && it.verdict == Verdict::Comment;
        it.verdict == Verdict::Reject || is_of_agent
    };
    if !new.iter().any(|it| is_wanted(&it)) && context.waits() == Waits::default() {
        return Ok(());
    }
    failpoint::hit("review:before-queue");
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    let mut waits = context.waits();
    waits.decisions.retain(|known| !new.iter().any(|it| it.is_about(known)));
    waits.decisions.extend(new.iter().filter(is_wanted).cloned());
    waits.tidy();
    context.write_waits(waits)?;
    failpoint::hit("review:after-queue");
    Ok(())
}

fn waiting(file: &File, at: usize, choice: &Choice, is_busy: bool) -> Waiting {
    let item = &file.items[at];
    let authors = item.sessions();
    let mut sessions: Vec<String> = authors.iter().map(|part| part.session.clone()).collect();
    sessions.dedup();
    let is_queued = is_busy && choice.verdict == Verdict::Reject;
    Waiting {
        path: StoredPath::from(&file.change.path),
        mark: item.mark.clone(),
        verdict: choice.verdict,
        text: choice.text.as_ref().map(|text| clean(text)).filter(|text| !text.is_empty()),
        line: first_line(file, at),
        lines: item.lines.0 + item.lines.1,
        stage: if is_queued { Stage::Queued } else { Stage::Done },
        nonce: None,
        authors,
        sessions,
    }
}

fn clean(text: &str) -> String {
    String::from_utf8_lossy(&redact(text.trim().as_bytes().to_vec())).into_owned()
}

/// Returns the first added line of a piece, or the first deleted one, without secrets.
fn first_line(file: &File, at: usize) -> String {
    let What::Lines(span) = &file.items[at].what else { return "the file".to_owned() };
    let hunks = file.hunks.iter().filter(|hunk| hunk.items.contains(&at)).filter_map(|hunk| hunk.lines.as_ref());
    let (side, sign) = if span.new.is_empty() { (Side::Deleted, '-') } else { (Side::Added, '+') };
    let first = hunks.flat_map(|(hunk, _)| {
        let (mut old, mut new) = (hunk.old.start, hunk.new.start);
        hunk.lines.iter().filter(move |line| {
            let is_it = line.side == side
                && if side == Side::Added { span.new.contains(&new) } else { span.old.contains(&old) };
            old += usize::from(line.side != Side::Added);
            new += usize::from(line.side != Side::Deleted);
            is_it
        })
    });
    let line = first.map(|line| line.content.clone()).find(|line| !line.trim().is_empty()).unwrap_or_default();
    let text = printable(redact(line.trim().to_vec()).as_bstr());
    format!("{sign}{}", text.chars().take(LONGEST).collect::<String>())
}

/// Returns true if what was decided in `waiting` is still what is decided.
pub(super) fn stands(stored: &stored_reviews::Reader<'_>, waiting: &Waiting) -> Result<bool> {
    let Ok(path) = waiting.path.decode() else { return Ok(false) };
    let decisions = stored.of_path(path.as_bstr())?;
    Ok(decisions.iter().any(|it| it.mark == waiting.mark && it.verdict == waiting.verdict))
}

/// Returns what the agent of `session` has to hear of what people have decided about its work, or have put back of it, and it does not
/// know yet; from now on, it does.
///
/// Left out is what a person has decided otherwise since, or has brought back.
///
/// # Errors
/// If it cannot be read; it waits for the next prompt then.
pub(crate) fn tell(context: &Context, session: &str) -> Result<Option<String>> {
    if !context.waits().is_for(session) {
        return Ok(None);
    }
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    let mut waits = context.waits();
    let is_its = |sessions: &[String]| sessions.iter().any(|other| other == session);
    let its: Vec<&Waiting> =
        waits.decisions.iter().filter(|it| it.stage != Stage::Queued && is_its(&it.sessions)).collect();
    let standing = if its.is_empty() { Vec::new() } else { standing(context, its)? };
    let changed: Vec<&Changed> = waits.changed.iter().filter(|it| is_its(&it.sessions)).collect();
    let mut text = String::new();
    if !changed.is_empty() {
        text.push_str(&words_of_restores(&changed));
    }
    if !standing.is_empty() {
        text.push_str(&words(&standing));
    }
    let text = Some(text).filter(|text| !text.is_empty());
    waits.forget(session);
    context.write_waits(waits)?;
    Ok(text)
}

/// Returns those of `decisions` that still stand.
fn standing<'w>(context: &Context, decisions: Vec<&'w Waiting>) -> Result<Vec<&'w Waiting>> {
    let review = look(context, Scope::default(), &[])?;
    let there: BTreeSet<(String, &Mark)> = review
        .files
        .iter()
        .flat_map(|file| file.items.iter().map(|item| (StoredPath::from(&file.change.path).shown(), &item.mark)))
        .collect();
    let stored = stored_reviews::Reader::new(&context.repo)?;
    let mut standing = Vec::new();
    for waiting in decisions {
        let is_back = waiting.verdict == Verdict::Reject
            && waiting.stage == Stage::Done
            && there.contains(&(waiting.path.shown(), &waiting.mark));
        if !is_back && stands(&stored, waiting)? {
            standing.push(waiting);
        }
    }
    Ok(standing)
}

/// Returns a sentence about what was rejected and left since the last call, because it had changed; none if there is nothing.
///
/// # Errors
/// If that cannot be noted.
pub(crate) fn take_left(context: &Context) -> Result<Option<String>> {
    let is_left = |it: &&Waiting| it.stage == Stage::Left;
    if !context.waits().decisions.iter().any(|it| is_left(&it)) {
        return Ok(None);
    }
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    let mut waits = context.waits();
    let text = left_text(&waits.decisions.iter().filter(is_left).collect::<Vec<_>>());
    for it in waits.decisions.iter_mut().filter(|it| it.stage == Stage::Left) {
        it.stage = Stage::Said;
    }
    waits.tidy();
    context.write_waits(waits)?;
    Ok(Some(text))
}

fn left_text(left: &[&Waiting]) -> String {
    format!(
        "rejected during a turn, but not taken out, because the lines had changed by its end: changes in {}",
        files(left)
    )
}

/// Returns what `status` says of decisions that wait.
pub(crate) fn notes(context: &Context) -> Vec<String> {
    let waits = context.waits();
    let of = |stage: Stage| waits.decisions.iter().filter(|it| it.stage == stage).collect::<Vec<_>>();
    let (queued, left) = (of(Stage::Queued), of(Stage::Left));
    let mut notes = Vec::new();
    if !queued.is_empty() {
        let (when, how) = when_and_how(context, &turns_at_work(context));
        notes.push(format!("rejected, and taken out {when}; {how}: changes in {}", files(&queued)));
    }
    if !left.is_empty() {
        notes.push(format!("{}; 'git checkpoint review' asks about them again", left_text(&left)));
    }
    let rest = || waits.decisions.iter().filter(|it| it.stage != Stage::Queued);
    let sessions: BTreeSet<&String> = rest().flat_map(|it| &it.sessions).collect();
    for session in sessions {
        let its: Vec<&Waiting> = rest().filter(|it| it.sessions.contains(session)).collect();
        notes.push(format!(
            "reviewed, and said to the agent of the session {} at its next prompt: changes in {}",
            shell_word(session),
            files(&its)
        ));
    }
    notes
}

/// Returns when what waits is taken out while turns of `sessions` are under way, and how the user can do that now.
fn when_and_how(context: &Context, sessions: &[String]) -> (String, String) {
    let named = |session: &String| {
        let turn = session_info::peek(context, session).map_or(0, |session| session.turn.number);
        format!("turn {turn} of the session {}", shell_word(session))
    };
    let stop = |session: &String| format!("'git checkpoint session stop {}'", shell_word(session));
    match sessions {
        [] => ("next".to_owned(), "'git checkpoint review' does it now".to_owned()),
        [session] => (format!("when the turn ends: {}", named(session)), format!("{} ends it now", stop(session))),
        all => (
            format!("when these turns have ended: {}", all.iter().map(named).collect::<Vec<_>>().join(", ")),
            format!("{} end them now", all.iter().map(stop).collect::<Vec<_>>().join(" and ")),
        ),
    }
}

fn files(all: &[&Waiting]) -> String {
    let names: BTreeSet<String> = all.iter().map(|it| it.path.shown()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}
