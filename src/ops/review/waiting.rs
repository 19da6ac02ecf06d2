//! Decisions that wait: rejections for the end of a turn, and all of them for the next prompt of the agent.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice as _;

use super::{
    super::{
        Context, Worktree,
        enter::Purpose,
        restore::{RestoreOptions, refuse_open_turns, restore, turn_at_work},
        reviews as stored_reviews, session_info,
    },
    Review, Scope,
    hunks::{File, What},
    look,
    outcome::{Choice, Decided},
    reject::take_out,
};
use crate::{
    error::Result,
    model::{
        line_diff::Side,
        path_text::{StoredPath, printable, shell_word},
        redact::redact,
        review::{Changed, Mark, Stage, Verdict, Waiting, Waits, told, told_of_restores},
    },
    state::{
        failpoint,
        journal::{Journal, Progress},
    },
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
    let worktree = Worktree::enter(context, Purpose::Change)?;
    let last_restore = Journal::read(worktree.repo.git_dir()).ok().flatten().map(|journal| journal.nonce);
    let mut waits = context.waits();
    waits.decisions.retain(|known| !new.iter().any(|it| it.is_about(known)));
    let wanted = new.iter().filter(is_wanted).cloned();
    waits.decisions.extend(wanted.map(|it| Waiting { last_restore: last_restore.clone(), ..it }));
    waits.tidy();
    context.write_waits(waits)?;
    failpoint::hit("review:after-queue");
    Ok(())
}

fn waiting(file: &File, at: usize, choice: &Choice, is_busy: bool) -> Waiting {
    let item = &file.items[at];
    let mut sessions: Vec<String> = item.sessions().into_iter().map(|part| part.session).collect();
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
        last_restore: None,
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

/// Takes out what was rejected during a turn, once no turn is under way. Returns what was done; none if nothing waits for that.
///
/// A piece is only taken out if its lines and the ones beside it are what they were when it was rejected; else it is left, and `status`
/// says so. After a crash, the next call goes on: what was taken out before is not taken out again.
///
/// # Errors
/// As [`decide`](super::decide()): it still waits then.
pub(crate) fn take_out_queued(context: &Context) -> Result<Option<Decided>> {
    if !context.waits().has_queued() || context.repo.is_merging() || is_busy(context) {
        return Ok(None);
    }
    let worktree = Worktree::enter(context, Purpose::Change)?;
    let mut waits = context.waits();
    let Some(restored) = finished(&worktree, &waits)? else { return Ok(None) };
    let has_begun = |it: &Waiting| {
        let is_later = |journal: &Journal| Some(&journal.nonce) != it.last_restore.as_ref();
        restored.as_ref().filter(|journal| is_later(journal)).is_some_and(|journal| has_step(journal, &it.path))
    };
    let review = look(context, Scope::default(), &[])?;
    let stored = stored_reviews::Reader::new(&context.repo)?;
    let mut rejected: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut number_of = BTreeMap::new();
    for (number, it) in waits.decisions.iter_mut().enumerate().filter(|(_, it)| it.stage == Stage::Queued) {
        if !stands(&stored, it)? {
            // It was undone, or decided otherwise.
            (it.stage, it.sessions) = (Stage::Done, Vec::new());
            continue;
        }
        it.stage = match (place_of(&review, it), has_begun(it)) {
            (None, true) => Stage::Done,
            (None, false) | (Some(_), true) => Stage::Left,
            (Some((file, item)), false) => {
                rejected.entry(file).or_default().push(item);
                number_of.insert(number, file);
                Stage::Done
            }
        };
    }
    let mut decided = Decided { version: 1, ..Decided::default() };
    if !rejected.is_empty() {
        take_out(context, &review, rejected, &mut decided)?;
    }
    failpoint::hit("review:after-taken-out");
    for (number, file) in number_of {
        if decided.left.iter().any(|left| review.files[file].is_at(&left.path)) {
            waits.decisions[number].stage = Stage::Left;
        } else {
            decided.rejected += 1;
        }
    }
    waits.tidy();
    context.write_waits(waits)?;
    Ok(Some(decided))
}

/// Finishes a restore that takes out what waits, and was interrupted. Returns the last restore; the outer none if another restore was
/// interrupted, which a person is to finish first.
fn finished(worktree: &Worktree<'_>, waits: &Waits) -> Result<Option<Option<Journal>>> {
    let git_dir = worktree.repo.git_dir();
    let Some(journal) = Journal::read(git_dir)? else { return Ok(Some(None)) };
    if journal.progress == Progress::Done {
        return Ok(Some(Some(journal)));
    }
    let queued = || waits.decisions.iter().filter(|it| it.stage == Stage::Queued);
    let is_of_queue = journal.steps.iter().all(|step| queued().any(|it| it.path == StoredPath::from(&step.path)))
        && queued().all(|it| it.last_restore.as_ref() != Some(&journal.nonce));
    if !is_of_queue {
        return Ok(None);
    }
    restore(worktree, &RestoreOptions { resume: true, ..RestoreOptions::default() })?;
    Ok(Some(Journal::read(git_dir)?))
}

fn has_step(journal: &Journal, path: &StoredPath) -> bool {
    journal.steps.iter().any(|step| StoredPath::from(&step.path) == *path)
}

/// Returns the numbers of the file and of the piece in `review` that `waiting` is about, if it is there exactly as it was.
fn place_of(review: &Review, waiting: &Waiting) -> Option<(usize, usize)> {
    review
        .files
        .iter()
        .enumerate()
        .filter(|(_, file)| StoredPath::from(&file.change.path) == waiting.path)
        .find_map(|(at, file)| Some((at, file.items.iter().position(|item| item.mark == waiting.mark)?)))
}

/// Returns true if what was decided in `waiting` is still what is decided.
fn stands(stored: &stored_reviews::Reader<'_>, waiting: &Waiting) -> Result<bool> {
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
        text.push_str(&told_of_restores(&changed));
    }
    if !standing.is_empty() {
        text.push_str(&told(&standing));
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
        let (when, how) = match turn_at_work(context) {
            Some(session) => {
                let turn = session_info::peek(context, &session).map_or(0, |session| session.turn.number);
                let name = shell_word(&session);
                (
                    format!("when the turn ends: turn {turn} of the session {name}"),
                    format!("'git checkpoint session stop {name}' ends it now"),
                )
            }
            None => ("next".to_owned(), "'git checkpoint review' does it now".to_owned()),
        };
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

fn files(all: &[&Waiting]) -> String {
    let names: BTreeSet<String> = all.iter().map(|it| it.path.shown()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}
