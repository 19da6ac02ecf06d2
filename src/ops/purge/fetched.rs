//! Logs and notes that were fetched from remotes and have the text: they are forgotten as a whole, since they can be fetched again.

use std::collections::HashSet;

use gix::ObjectId;

use crate::{
    error::Result,
    git::{Repo, refs::RefUpdate},
    model::refname,
};

/// Returns the refs of all logs and notes that were fetched from remotes, and what they point to.
pub(super) fn logs(repo: &Repo) -> Result<Vec<(String, ObjectId)>> {
    let mut refs = repo.refs_below(refname::FETCHED)?;
    let is_note = |name: &str| refname::fetched_ref(name).is_some_and(|(_, it)| refname::shared_note_id(&it).is_some());
    refs.retain(|(name, _)| refname::fetched_log(name).is_some() || is_note(name));
    Ok(refs)
}

/// Returns those of these refs that lead to one of the objects `found`.
pub(super) fn with_text(repo: &Repo, found: &HashSet<ObjectId>) -> Result<Vec<(String, ObjectId)>> {
    let mut refs = if found.is_empty() { Vec::new() } else { logs(repo)? };
    let mut behind = Vec::new();
    for (_, tip) in &refs {
        behind.push(repo.objects_behind(&[*tip], None)?.keys().any(|id| found.contains(id)));
    }
    let mut behind = behind.into_iter();
    refs.retain(|_| behind.next() == Some(true));
    Ok(refs)
}

/// Deletes these refs, and returns how many there were.
pub(super) fn forget(repo: &Repo, found: &[(String, ObjectId)]) -> Result<usize> {
    let gone = |(name, id): &(String, ObjectId)| RefUpdate { name: name.clone(), old: Some(*id), new: None };
    if !found.is_empty() {
        repo.update_refs(&found.iter().map(gone).collect::<Vec<_>>())?;
    }
    Ok(found.len())
}
