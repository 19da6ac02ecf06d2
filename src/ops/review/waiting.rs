//! Decisions that wait: rejections for the end of a turn, and all of them for the next prompt of the agent.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice as _;

use super::{
    super::{Context, Worktree, enter::Purpose, restore::refuse_open_turns, reviews as stored_reviews},
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
        path_text::{StoredPath, printable},
        redact::redact,
        review::{Mark, Verdict, Waiting, told},
    },
    state::reviews,
};

/// The most characters of a line that an agent is told.
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
    let git_dir = context.repo.git_dir();
    let is_wanted = |it: &&Waiting| {
        let is_of_agent = !it.sessions.is_empty() && it.verdict == Verdict::Comment;
        it.verdict == Verdict::Reject || is_of_agent
    };
    if !new.iter().any(|it| is_wanted(&it)) && reviews::read(git_dir).is_empty() {
        return Ok(());
    }
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    let mut all = reviews::read(git_dir);
    all.retain(|known| !new.iter().any(|it| it.is_about(known)));
    all.extend(new.iter().filter(is_wanted).cloned());
    reviews::write(git_dir, &all)
}

fn waiting(file: &File, at: usize, choice: &Choice, is_busy: bool) -> Waiting {
    let item = &file.items[at];
    let mut sessions: Vec<String> = item.sessions().into_iter().map(|part| part.session).collect();
    sessions.dedup();
    Waiting {
        path: StoredPath::from(&file.change.path),
        mark: item.mark.clone(),
        verdict: choice.verdict,
        text: choice.text.as_ref().map(|text| clean(text)).filter(|text| !text.is_empty()),
        line: first_line(file, at),
        lines: item.lines.0 + item.lines.1,
        is_queued: is_busy && choice.verdict == Verdict::Reject,
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
/// # Errors
/// As [`decide`](super::decide()): it does not wait any more then, and is still to be decided.
pub(crate) fn take_out_queued(context: &Context) -> Result<Option<Decided>> {
    let git_dir = context.repo.git_dir();
    if !reviews::read(git_dir).iter().any(|it| it.is_queued) || context.repo.is_merging() || is_busy(context) {
        return Ok(None);
    }
    let queued: Vec<Waiting> = {
        let _worktree = Worktree::enter(context, Purpose::Change)?;
        let mut all = reviews::read(git_dir);
        let queued = all.iter().filter(|it| it.is_queued).cloned().collect();
        for waiting in &mut all {
            waiting.is_queued = false;
        }
        reviews::write(git_dir, &all)?;
        queued
    };
    let review = look(context, Scope::default(), &[])?;
    let mut rejected: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, file) in review.files.iter().enumerate() {
        let path = StoredPath::from(&file.change.path);
        for (number, item) in file.items.iter().enumerate() {
            if queued.iter().any(|it| it.path == path && it.mark == item.mark) {
                rejected.entry(at).or_default().push(number);
            }
        }
    }
    let mut decided = Decided { version: 1, ..Decided::default() };
    decided.rejected = rejected.values().map(Vec::len).sum();
    if !rejected.is_empty() {
        take_out(context, &review, rejected, &mut decided)?;
    }
    Ok(Some(decided))
}

/// Returns what the agent of `session` is to be told of decisions about its work, which it has not been told yet; from now on, it has.
///
/// Left out is what a person has decided otherwise since, or has brought back.
///
/// # Errors
/// If it cannot be read; it waits for the next prompt then.
pub(crate) fn tell(context: &Context, session: &str) -> Result<Option<String>> {
    let git_dir = context.repo.git_dir();
    let is_for = |it: &Waiting| !it.is_queued && it.sessions.iter().any(|other| other == session);
    if !reviews::read(git_dir).iter().any(is_for) {
        return Ok(None);
    }
    let review = look(context, Scope::default(), &[])?;
    let there: BTreeSet<(String, &Mark)> = review
        .files
        .iter()
        .flat_map(|file| file.items.iter().map(|item| (file.change.path.to_string(), &item.mark)))
        .collect();
    let stored = stored_reviews::Reader::new(&context.repo)?;
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    let mut all = reviews::read(git_dir);
    let mut standing = Vec::new();
    for waiting in all.iter().filter(|it| is_for(it)) {
        let Ok(path) = waiting.path.decode() else { continue };
        let decisions = stored.of_path(path.as_bstr())?;
        let is_decided = decisions.iter().any(|it| it.mark == waiting.mark && it.verdict == waiting.verdict);
        let is_back = waiting.verdict == Verdict::Reject && there.contains(&(path.to_string(), &waiting.mark));
        if is_decided && !is_back {
            standing.push(waiting.clone());
        }
    }
    for waiting in all.iter_mut().filter(|it| !it.is_queued) {
        waiting.sessions.retain(|other| other != session);
    }
    all.retain(|it| it.is_queued || !it.sessions.is_empty());
    reviews::write(git_dir, &all)?;
    Ok((!standing.is_empty()).then(|| told(&standing.iter().collect::<Vec<_>>())))
}

/// Returns what `status` says of decisions that wait.
pub(crate) fn notes(context: &Context) -> Vec<String> {
    let all = reviews::read(context.repo.git_dir());
    let (queued, rest): (Vec<&Waiting>, Vec<&Waiting>) = all.iter().partition(|it| it.is_queued);
    let mut notes = Vec::new();
    if !queued.is_empty() {
        notes.push(format!("rejected, and taken out when the turn ends: changes in {}", files(&queued)));
    }
    let sessions: BTreeSet<&String> = rest.iter().flat_map(|it| &it.sessions).collect();
    for session in sessions {
        let its: Vec<&Waiting> = rest.iter().copied().filter(|it| it.sessions.contains(session)).collect();
        notes.push(format!(
            "reviewed, and said to the agent of the session '{session}' at its next prompt: changes in {}",
            files(&its)
        ));
    }
    notes
}

fn files(all: &[&Waiting]) -> String {
    let names: BTreeSet<String> = all.iter().map(|it| it.path.shown()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}
