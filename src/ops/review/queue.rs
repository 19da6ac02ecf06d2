//! Takes out what was rejected during a turn, once it has ended: each rejection once, in spite of kills and of other restores.

use std::collections::BTreeMap;

use super::{
    super::{
        Context, Worktree,
        enter::Purpose,
        operations::{Log, entry_with},
        restore::{RestoreOptions, restore},
        reviews,
    },
    Review, Scope,
    hunks::Item,
    look,
    outcome::Decided,
    reject::take_out,
    waiting::{is_busy, stands},
};
use crate::{
    error::Result,
    model::{
        path_text::StoredPath,
        review::{Stage, Waiting, Waits},
    },
    state::{
        failpoint,
        journal::{Journal, Progress},
        temporary,
    },
};

/// Takes out what was rejected during a turn, once no turn is under way. Returns what was done; none if nothing waits for that, or if a
/// restore was interrupted, which a person is to finish first.
///
/// A piece is only taken out if its lines, their authors and the lines beside it are what they were when it was rejected; else it is
/// left, and `status` says so. The file of what waits first gets the nonce by which the journal of the removal is known. So after a
/// crash the next call goes on, and what was taken out before is not taken out again, not even if it was brought back since.
///
/// # Errors
/// As [`decide`](super::decide()): it still waits then.
pub(crate) fn take_out_queued(context: &Context) -> Result<Option<Decided>> {
    if !context.waits().has_queued() || context.repo.is_merging() || is_busy(context) {
        return Ok(None);
    }
    let worktree = Worktree::enter(context, Purpose::Change)?;
    let mut waits = context.waits();
    let begun = finish(&worktree, &waits)?;
    let is_interrupted = |journal: Journal| journal.progress == Progress::Applying;
    if Journal::read(worktree.repo.git_dir())?.is_some_and(is_interrupted) {
        return Ok(None);
    }
    let review = look(context, Scope::default(), &[])?;
    let stored = reviews::Reader::new(&context.repo)?;
    let nonce = temporary::random();
    let mut rejected: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut number_of = BTreeMap::new();
    for (number, it) in waits.decisions.iter_mut().enumerate().filter(|(_, it)| it.stage == Stage::Queued) {
        let place = place_of(&review, it);
        if let Some(journal) = it.nonce.as_ref().and_then(|nonce| begun.get(nonce)) {
            let is_taken_out = place.is_none() || has_step(journal, &it.path);
            it.stage = if is_taken_out { Stage::Done } else { Stage::Left };
        } else if !stands(&stored, it)? {
            // It was undone, or decided otherwise.
            (it.stage, it.sessions) = (Stage::Done, Vec::new());
        } else if let Some((file, item)) = place {
            rejected.entry(file).or_default().push(item);
            number_of.insert(number, file);
            it.nonce = Some(nonce.clone());
        } else {
            it.stage = Stage::Left;
        }
    }
    let mut decided = Decided { version: 1, ..Decided::default() };
    if !rejected.is_empty() {
        context.write_waits(waits.clone())?;
        failpoint::hit("review:before-taken-out");
        take_out(context, &review, rejected, Some(&nonce), &mut decided)?;
        failpoint::hit("review:after-taken-out");
    }
    for (number, file) in number_of {
        let is_left = decided.left.iter().any(|left| review.files[file].is_at(&left.path));
        waits.decisions[number].stage = if is_left { Stage::Left } else { Stage::Done };
        decided.rejected += usize::from(!is_left);
    }
    waits.tidy();
    context.write_waits(waits)?;
    Ok(Some(decided))
}

/// Finishes the removal of what waits, if it was interrupted. Returns the journals of all removals that have changed files, by their
/// nonces. Another restore that was interrupted is left alone.
fn finish(worktree: &Worktree<'_>, waits: &Waits) -> Result<BTreeMap<String, Journal>> {
    let queued = waits.decisions.iter().filter(|it| it.stage == Stage::Queued);
    let mut nonces: Vec<&String> = queued.filter_map(|it| it.nonce.as_ref()).collect();
    nonces.sort();
    nonces.dedup();
    let mut begun = BTreeMap::new();
    for nonce in nonces {
        if let Some(journal) = finish_one(worktree, nonce)? {
            begun.insert(nonce.clone(), journal);
        }
    }
    Ok(begun)
}

/// Finishes the removal whose journal has this `nonce`, if it was interrupted. Returns that journal; none if it has changed nothing.
fn finish_one(worktree: &Worktree<'_>, nonce: &str) -> Result<Option<Journal>> {
    let live = || Ok(Journal::read(worktree.repo.git_dir())?.filter(|live| live.nonce == nonce));
    match live()? {
        Some(journal) if journal.progress == Progress::Applying => {
            restore(worktree, &RestoreOptions { resume: true, ..RestoreOptions::default() })?;
            live()
        }
        Some(journal) => Ok(Some(journal)),
        None => {
            let log = Log::read(worktree)?;
            // If the entry says otherwise, it was written just before an interruption, and nothing was changed.
            let found = entry_with(worktree, &log, nonce, usize::MAX)
                .filter(|(entry, journal)| journal.progress == Progress::Done || log.stack.end(entry.id).1);
            Ok(found.map(|(_, journal)| journal))
        }
    }
}

fn has_step(journal: &Journal, path: &StoredPath) -> bool {
    journal.steps.iter().any(|step| StoredPath::from(&step.path) == *path)
}

/// Returns the numbers of the file and of the piece in `review` that `waiting` is about, if it is there exactly as it was.
fn place_of(review: &Review, waiting: &Waiting) -> Option<(usize, usize)> {
    let is_it = |item: &Item| item.mark == waiting.mark && has_authors_of(item, waiting);
    review
        .files
        .iter()
        .enumerate()
        .filter(|(_, file)| StoredPath::from(&file.change.path) == waiting.path)
        .find_map(|(at, file)| Some((at, file.items.iter().position(is_it)?)))
}

/// Returns true if the lines of `item` come from the same sessions and turns as when it was decided, if that was known: the same lines
/// may have been typed anew.
fn has_authors_of(item: &Item, waiting: &Waiting) -> bool {
    waiting.authors.is_empty() || item.sessions() == waiting.authors
}
