//! Finds the files that lines were moved from in one step: their earlier steps say who wrote these lines, also if the commit does not
//! change these files.

use crate::{git::Repo, model::change::Change, ops::share::Differing};

/// If a checkpoint changes more other files than this, we do not look for moved lines in them.
const MOST_OTHERS: usize = 32;
/// If a checkpoint changes more wanted files than this, we do not look for moved lines in them.
const MOST_CHANGED: usize = 256;

/// How many bytes of files may be read to find moved lines in all steps of a chain.
pub(super) const MOST_BYTES: u64 = 2 << 20;

/// Returns those of `others`, changes of the same step, that may have lost lines to the files of `changes`. Reads at most `bytes_left`
/// of the files, and counts what it reads. A file that cannot be read is no source: if the replay needs it, that reports the damage.
pub(super) fn take_sources(repo: &Repo, changes: &[Change], others: Vec<Change>, bytes_left: &mut u64) -> Vec<Change> {
    let others: Vec<Change> = others.into_iter().filter(|other| other.before.is_some()).collect();
    let is_few = (1..=MOST_OTHERS).contains(&others.len()) && changes.len() <= MOST_CHANGED;
    let mut gained = Vec::new();
    for change in if is_few { changes } else { &[] } {
        let texts = differing(repo, change, bytes_left);
        gained.extend(texts.and_then(|[before, after]| Differing::in_one(&after, &before)));
    }
    let mut found = Vec::new();
    for other in if gained.is_empty() { Vec::new() } else { others } {
        let texts = differing(repo, &other, bytes_left);
        let lost = texts.and_then(|[before, after]| Differing::in_one(&before, &after));
        if lost.is_some_and(|lost| gained.iter().any(|gained| gained.shares_lines(&lost))) {
            found.push(other);
        }
    }
    found
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
