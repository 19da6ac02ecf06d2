//! Shallow clones: which commits cannot be compared with the one before them, because that is not here.

use gix::ObjectId;

use crate::{
    error::{Error, Result},
    git::Repo,
};

/// Returns the commits of the range `text`, newest first; none if it is no valid range.
///
/// # Errors
/// If a shallow clone lacks some of them.
pub(crate) fn whole_range(repo: &Repo, text: &str) -> Result<Option<Vec<ObjectId>>> {
    let Some(ids) = repo.commits_in(text)? else { return Ok(None) };
    match repo.cut_off(text, &ids)? {
        Some(id) => Err(begins_shallow(repo, id)),
        None => Ok(Some(ids)),
    }
}

/// Refuses if a shallow clone begins at the commit `id`, so that its `parent` is not here: what a commit changed is the difference from
/// its parent.
pub(crate) fn refuse_without_parent(repo: &Repo, id: ObjectId, parent: ObjectId) -> Result<()> {
    if repo.is_shallow() && !repo.has_object(parent) { Err(begins_shallow(repo, id)) } else { Ok(()) }
}

/// Returns the error for `id`, the first commit of a shallow clone.
pub(crate) fn begins_shallow(repo: &Repo, id: ObjectId) -> Error {
    Error::refused(format!("this shallow clone begins at '{}', and lacks the commit before it", repo.short_id(&id)))
        .with_hint("'git fetch --deepen=1' fetches one commit more, 'git fetch --unshallow' all")
}
