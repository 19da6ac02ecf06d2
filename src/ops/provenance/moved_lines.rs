//! Finds the files that lines were moved from: their earlier steps say who wrote these lines, also if the commit does not change these
//! files.

use bstr::ByteSlice as _;

use crate::{
    error::Result,
    git::Repo,
    model::change::{Change, Leaf},
    ops::share::Gained,
};

/// If there are more other files than this, we do not look for moved lines in them.
const MOST_FILES: usize = 32;
/// We do not look for moved lines in larger files of the worktree.
const MOST_BYTES: u64 = 1 << 20;

/// Returns those of `others`, changes of the same step, that may have lost lines to the files of `changes`.
pub(super) fn take_sources(repo: &Repo, changes: &[Change], others: Vec<Change>) -> Result<Vec<Change>> {
    let others: Vec<Change> = others.into_iter().filter(|other| other.before.is_some()).collect();
    if others.is_empty() || others.len() > MOST_FILES || !changes.iter().any(|change| change.after.is_some()) {
        return Ok(Vec::new());
    }
    let gained = Gained::by(repo, changes.iter())?;
    let mut found = Vec::new();
    for other in others {
        let [before, after] = [other.before, other.after].map(|leaf| repo.text_of(leaf));
        if let (Some(before), Some(after)) = (before?, after?)
            && gained.may_be_from(&before, &after)
        {
            found.push(other);
        }
    }
    Ok(found)
}

/// Returns a step of a person that moved lines of a shadow into the files of `committed`: for each file of `touched`, the changes of
/// the shadow, that `committed` does not name, back to what it was before, if the worktree has lost lines of it that `committed` adds.
/// The files of `committed` that add such lines are in the step, too. Returns nothing if no line was moved.
pub(crate) fn moved_out(repo: &Repo, touched: &[Change], committed: &[Change]) -> Result<Vec<Change>> {
    let is_named =
        |own: &Change| committed.iter().any(|it| it.path == own.path || it.old_path.as_ref() == Some(&own.path));
    let others: Vec<&Change> = touched.iter().filter(|own| own.after.is_some() && !is_named(own)).collect();
    if others.is_empty() || others.len() > MOST_FILES || !committed.iter().any(|change| change.after.is_some()) {
        return Ok(Vec::new());
    }
    let gained = Gained::by(repo, committed.iter())?;
    let (mut found, mut lost) = (Vec::new(), Vec::new());
    for own in others {
        let [before, after] = [own.before, own.after].map(|leaf: Option<Leaf>| repo.text_of(leaf));
        let (Some(before), Some(after)) = (before?, after?) else { continue };
        if gained.may_be_from(&after, &before)
            && let Some(now) = repo.content_in_worktree(own.path.as_bstr(), MOST_BYTES)
            && gained.may_be_from(&after, &now)
        {
            found.extend(Change::between(own.path.clone(), own.after, own.before));
            lost.push((after, before));
        }
    }
    for change in if lost.is_empty() { &[] } else { committed } {
        let gained = Gained::by(repo, std::iter::once(change))?;
        found.extend(lost.iter().any(|(before, after)| gained.may_be_from(before, after)).then(|| change.clone()));
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}
