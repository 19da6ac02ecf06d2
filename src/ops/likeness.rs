//! Whether a file contains the work of a change: it is as the change left it, or has most or all of the lines that it
//! added.

use std::collections::BTreeMap;

use bstr::ByteSlice as _;

use crate::{
    error::Result,
    git::{
        Repo,
        line_edits::{Algorithm, edits, is_binary},
    },
    model::change::{Change, Leaf, Mode},
};

/// Returns true if `now`, at the path of `change`, is what `change` made of it, or contains most of the lines it added.
///
/// `head` is the file in the commit.
pub(crate) fn is_alike(repo: &Repo, change: &Change, head: Option<Leaf>, now: Option<Leaf>) -> Result<bool> {
    holds(repo, change, head, now, |held, total| held * 2 > total)
}

/// Returns true if `now` is what `change` made of its path, or contains all lines that it added.
pub(crate) fn is_all_there(repo: &Repo, change: &Change, now: Option<Leaf>) -> Result<bool> {
    holds(repo, change, change.before, now, |held, total| held == total)
}

/// Returns true if `now` is what `change` made, or if `is_enough` accepts how many of the added lines `now` has beyond
/// those of `head`, and how many lines were added.
fn holds(
    repo: &Repo,
    change: &Change,
    head: Option<Leaf>,
    now: Option<Leaf>,
    is_enough: fn(usize, usize) -> bool,
) -> Result<bool> {
    if now == change.after {
        return Ok(true);
    }
    let (Some(work), Some(now)) = (change.after, now) else { return Ok(false) };
    let (before, work) = (text(repo, change.before)?, text(repo, Some(work))?);
    let (head, now) = (text(repo, head)?, text(repo, Some(now))?);
    let (Some(before), Some(work), Some(head), Some(now)) = (before, work, head, now) else { return Ok(false) };
    let (work, now) = (added(&before, &work), added(&head, &now));
    let total: usize = work.values().sum();
    let held: usize = work.iter().map(|(line, count)| (*count).min(now.get(line).copied().unwrap_or(0))).sum();
    Ok(total > 0 && is_enough(held, total))
}

/// Returns the content of a text file, empty for a file that does not exist; none for other files.
pub(crate) fn text(repo: &Repo, leaf: Option<Leaf>) -> Result<Option<Vec<u8>>> {
    let Some(leaf) = leaf else { return Ok(Some(Vec::new())) };
    if !matches!(leaf.mode, Mode::File | Mode::Executable) {
        return Ok(None);
    }
    Ok(Some(repo.read_blob(leaf.id)?).filter(|data| !is_binary(data)))
}

/// Returns the lines that `after` has more often than `before`, and how much more often; without insignificant lines.
pub(crate) fn added<'t>(before: &[u8], after: &'t [u8]) -> BTreeMap<&'t [u8], usize> {
    let lines: Vec<&[u8]> = after.lines().collect();
    let mut found = BTreeMap::new();
    for (_, range) in edits(Algorithm::Histogram, before, after) {
        for line in lines.get(range).unwrap_or_default() {
            let line = line.trim();
            if line.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()).count() >= 1 {
                *found.entry(line).or_default() += 1;
            }
        }
    }
    found
}
