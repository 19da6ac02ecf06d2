//! Finds the files that lines were moved from: their earlier steps say who wrote these lines, also if the commit does not change these
//! files.

use bstr::ByteSlice as _;

use crate::{error::Result, git::Repo, model::change::Change, ops::share::Differing};

/// If there are more other files than this, we do not look for moved lines in them.
const MOST_OTHERS: usize = 32;
/// If a commit or a checkpoint changes more wanted files than this, we do not look for moved lines in them.
const MOST_CHANGED: usize = 256;
/// We do not look for moved lines in larger files of the worktree.
const MOST_BYTES: u64 = 1 << 20;

/// Returns those of `others`, changes of the same step, that may have lost lines to the files of `changes`.
pub(super) fn take_sources(repo: &Repo, changes: &[Change], others: Vec<Change>) -> Result<Vec<Change>> {
    let others: Vec<Change> = others.into_iter().filter(|other| other.before.is_some()).collect();
    let takers = if others.is_empty() || others.len() > MOST_OTHERS { Vec::new() } else { takers(repo, changes)? };
    let mut found = Vec::new();
    for other in if takers.is_empty() { Vec::new() } else { others } {
        let [before, after] = [other.before, other.after].map(|leaf| repo.text_of(leaf));
        let (Some(before), Some(after)) = (before?, after?) else { continue };
        let lost = Differing::in_one(&before, &after);
        if lost.is_some_and(|lost| takers.iter().any(|(_, gained)| gained.shares_lines(&lost))) {
            found.push(other);
        }
    }
    Ok(found)
}

/// Returns a step of a person that moved lines of a shadow into files of `committed`: for each file of `touched`, the changes of the
/// shadow, that `committed` does not name, back to what it was before, if the worktree has lost lines of it that `committed` adds.
/// The files of `committed` that add such lines are in the step, too. Returns nothing if no line was moved.
pub(crate) fn moved_out(repo: &Repo, touched: &[Change], committed: &[Change]) -> Result<Vec<Change>> {
    let is_named =
        |own: &Change| committed.iter().any(|it| it.path == own.path || it.old_path.as_ref() == Some(&own.path));
    let mut found = Vec::new();
    if committed.len() > MOST_CHANGED {
        return Ok(found);
    }
    let others: Vec<&Change> = touched.iter().filter(|own| own.after.is_some() && !is_named(own)).collect();
    let mut takers_of_all = None;
    for own in if others.len() > MOST_OTHERS { Vec::new() } else { others } {
        let [before, after] = [own.before, own.after].map(|leaf| repo.text_of(leaf));
        let (Some(before), Some(after)) = (before?, after?) else { continue };
        let Some(now) = repo.content_in_worktree(own.path.as_bstr(), MOST_BYTES) else { continue };
        let Some(lost) = Differing::in_one(&after, &now) else { continue };
        if Differing::in_one(&after, &before).is_none() {
            continue;
        }
        let all = match takers_of_all.take() {
            Some(all) => all,
            None => takers(repo, committed)?,
        };
        let takers = all.iter().filter(|(_, gained)| gained.shares_lines(&lost)).map(|(change, _)| (*change).clone());
        let takers: Vec<Change> = takers.collect();
        takers_of_all = Some(all);
        if !takers.is_empty() {
            found.extend(Change::between(own.path.clone(), own.after, own.before));
            found.extend(takers);
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found.dedup();
    Ok(found)
}

/// Returns those of `changes` that gain lines which tell where they come from, with these lines; none if there are too many changes.
fn takers<'c>(repo: &Repo, changes: &'c [Change]) -> Result<Vec<(&'c Change, Differing)>> {
    let mut takers = Vec::new();
    for change in if changes.len() > MOST_CHANGED { &[] } else { changes } {
        let [before, after] = [change.before, change.after].map(|leaf| repo.text_of(leaf));
        if let (Some(before), Some(after)) = (before?, after?) {
            takers.extend(Differing::in_one(&after, &before).map(|gained| (change, gained)));
        }
    }
    Ok(takers)
}
