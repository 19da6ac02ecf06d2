//! Finds the files that lines were moved from in one step: their earlier steps say who wrote these lines, also if the commit does not
//! change these files.

use crate::{git::Repo, model::change::Change, ops::share::Differing};

/// If a checkpoint changes more other files than this, we do not look for moved lines in them.
const MOST_OTHERS: usize = 32;
/// If a checkpoint changes more wanted files than this, we do not look for moved lines in them.
pub(crate) const MOST_CHANGED: usize = 256;

/// How many bytes of files may be read to find moved lines in all steps of a chain.
pub(crate) const MOST_BYTES: u64 = 2 << 20;

/// Returns those of `others`, changes of the same step, that may have lost lines to the files of `changes`. Reads at most `bytes_left`
/// of the files, and counts what it reads. A file that cannot be read is no source: if the replay needs it, that reports the damage.
pub(crate) fn take_sources(repo: &Repo, changes: &[Change], others: Vec<Change>, bytes_left: &mut u64) -> Vec<Change> {
    let others: Vec<Change> = others.into_iter().filter(|other| other.before.is_some()).collect();
    if !are_few(changes, &others) {
        return Vec::new();
    }
    let gained = gained(repo, changes, bytes_left);
    let mut is_source = |other: &Change| {
        let lost = lines_lost(repo, other, bytes_left);
        lost.is_some_and(|lost| gained.iter().any(|gained| gained.shares_lines(&lost)))
    };
    if gained.is_empty() { Vec::new() } else { others.into_iter().filter(|other| is_source(other)).collect() }
}

/// Returns those of `lost` of whose lost lines at least half are new in a file of `all`. Has the limits of [`take_sources`], which finds the lines again if a checkpoint has both files.
///
/// Fewer lines are no evidence before a checkpoint: a file that was thrown away may begin as a person's own one does, for example with
/// a licence.
pub(crate) fn moved_out(repo: &Repo, all: &[Change], lost: Vec<Change>) -> Vec<Change> {
    if !are_few(all, &lost) {
        return Vec::new();
    }
    let bytes_left = &mut { MOST_BYTES };
    let gained = gained(repo, all, bytes_left);
    let mut is_moved = |change: &Change| lines_lost(repo, change, bytes_left).is_some_and(|it| it.is_half_in(&gained));
    if gained.is_empty() { Vec::new() } else { lost.into_iter().filter(|change| is_moved(change)).collect() }
}

fn are_few(changes: &[Change], others: &[Change]) -> bool {
    (1..=MOST_OTHERS).contains(&others.len()) && changes.len() <= MOST_CHANGED
}

/// Returns the lines that each of `changes` adds to its file.
fn gained(repo: &Repo, changes: &[Change], bytes_left: &mut u64) -> Vec<Differing> {
    let texts = changes.iter().filter_map(|change| differing(repo, change, bytes_left));
    texts.filter_map(|[before, after]| Differing::in_one(&after, &before)).collect()
}

/// Returns the lines that `change` takes out of its file.
fn lines_lost(repo: &Repo, change: &Change, bytes_left: &mut u64) -> Option<Differing> {
    let [before, after] = differing(repo, change, bytes_left)?;
    Differing::in_one(&before, &after)
}

/// Returns both sides of `change`; none if one is no text, cannot be read, or is larger than what may still be read.
fn differing(repo: &Repo, change: &Change, bytes_left: &mut u64) -> Option<[Vec<u8>; 2]> {
    let mut size = 0;
    for leaf in [change.before, change.after].into_iter().flatten() {
        size += repo.size_of_object(leaf.id)?;
    }
    *bytes_left = bytes_left.checked_sub(size)?;
    let [before, after] = [change.before, change.after].map(|leaf| repo.text_of(leaf).ok().flatten());
    before.zip(after).map(Into::into)
}
