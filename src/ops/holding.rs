//! Lets the archive hold a checkpoint that no other ref of ours leads to.

use gix::ObjectId;

use crate::{
    error::Result,
    git::{Repo, refs::RefUpdate},
    model::refname,
    state::kept,
};

/// Returns a free name in the archive for the chain that ends with `tip`.
///
/// The name has the time in seconds. A shadow may be set aside, brought back and set aside again within one second.
pub(crate) fn archive_name(repo: &Repo, tip: ObjectId) -> Result<String> {
    // The real time: `git rebase` may set GIT_COMMITTER_DATE to the date of an old commit, and the next prune would drop it.
    let mut seconds = jiff::Timestamp::now().as_second().max(0);
    loop {
        let name = refname::archive_ref(seconds, tip);
        if repo.find_ref(&name)?.is_none() {
            return Ok(name);
        }
        seconds += 1;
    }
}

/// Returns the ref in the archive that points to `id`, and makes one if there is none.
pub(crate) fn hold(repo: &Repo, id: ObjectId) -> Result<String> {
    if let Some((name, _)) = repo.sound_refs(refname::ARCHIVE)?.into_iter().find(|(_, tip)| *tip == id) {
        return Ok(name);
    }
    let name = archive_name(repo, id)?;
    repo.update_refs(&[RefUpdate { name: name.clone(), old: None, new: Some(id) }])?;
    Ok(name)
}

/// The same for a checkpoint whose work is in records.
pub(crate) fn hold_settled(repo: &Repo, id: ObjectId) -> Result<String> {
    if let Some((name, _)) = repo.sound_refs(refname::ARCHIVE)?.into_iter().find(|(_, tip)| *tip == id) {
        return Ok(name);
    }
    let name = refname::settled_archive_ref(&archive_name(repo, id)?, refname::Settled::Condensed);
    repo.update_refs(&[RefUpdate { name: name.clone(), old: None, new: Some(id) }])?;
    Ok(name)
}

/// Lets the archive hold `id`, unless a ref other than `name` leads there. Returns the ref that holds it if there was none.
pub(crate) fn hold_if_last(repo: &Repo, id: ObjectId, name: &str) -> Result<Option<String>> {
    if is_last_ref(repo, id, &[name.to_owned()])? { hold(repo, id).map(Some) } else { Ok(None) }
}

/// Returns the update after which the archive holds `id`, to which the ref `name` points; none if another ref of ours leads
/// there.
pub(crate) fn hold_when_left(repo: &Repo, id: ObjectId, name: &str) -> Result<Option<RefUpdate>> {
    let Some(id) = to_hold(repo, id)? else { return Ok(None) };
    let names = [name.to_owned()];
    if is_last_ref(repo, id, &names)? { hold_left(repo, id, &names) } else { Ok(None) }
}

/// Returns the update after which a ref holds `id` once the refs `names` go away together, some of which point to it: the archive's; or,
/// if another ref leads there, one that fails if that has been moved meanwhile. Another process may take it away because it sees those
/// of `names`.
pub(crate) fn hold_or_rely(repo: &Repo, id: ObjectId, names: &[String]) -> Result<Option<RefUpdate>> {
    let Some(id) = to_hold(repo, id)? else { return Ok(None) };
    match other_ref(repo, id, names)? {
        Some((name, tip)) => Ok(Some(RefUpdate { name, old: Some(tip), new: Some(tip) })),
        None => hold_left(repo, id, names),
    }
}

/// Returns the update after which the archive holds `id`; none if it cannot be read, and is noted.
fn hold_left(repo: &Repo, id: ObjectId, names: &[String]) -> Result<Option<RefUpdate>> {
    if !repo.can_read(id) {
        let name = names.first().map(String::as_str).unwrap_or_default();
        kept::keep(repo.common_dir(), id, id, name)?;
        return Ok(None);
    }
    Ok(Some(RefUpdate { name: archive_name(repo, id)?, old: None, new: Some(id) }))
}

/// Returns a ref of ours that leads to `id`, other than `names`: one that stays where it is, if there is one.
fn other_ref(repo: &Repo, id: ObjectId, names: &[String]) -> Result<Option<(String, ObjectId)>> {
    let mut refs = repo.refs_of_checkpoints()?;
    refs.retain(|(name, _)| !names.contains(name));
    let is_moved_on = |name: &str| !name.starts_with(refname::TAGS) && !name.starts_with(refname::ARCHIVE);
    refs.sort_by_key(|(name, tip)| (*tip != id, is_moved_on(name)));
    for (name, tip) in refs {
        // A symbolic ref has no value of its own.
        if repo.reaches(vec![tip], id, 0).unwrap_or(false) && repo.find_ref(&name)? == Some(tip) {
            return Ok(Some((name, tip)));
        }
    }
    Ok(None)
}

/// Returns what the archive may hold of `id`: the commit itself, or that of a tag which git made. Other objects that can be read are
/// no checkpoints.
fn to_hold(repo: &Repo, id: ObjectId) -> Result<Option<ObjectId>> {
    if !repo.can_read(id) || repo.is_commit(id)? { Ok(Some(id)) } else { repo.find_commit(&id.to_string()) }
}

/// Returns true if no ref of ours leads to `id`, except perhaps `names`.
fn is_last_ref(repo: &Repo, id: ObjectId, names: &[String]) -> Result<bool> {
    let refs = repo.refs_of_checkpoints()?.into_iter();
    let others = refs.filter(|(other, _)| !names.contains(other)).map(|(_, tip)| tip).collect();
    // A checkpoint is older than its parent only if the clock was set back. Then, and where objects are missing, one ref too
    // many does no harm.
    Ok(!repo.reaches(others, id, 0).unwrap_or(false))
}
