//! `fetch --checkpoints`: brings the checkpoints that others have shared, beside our own.

use gix::ObjectId;
use serde::Serialize;

use super::{known::Remote, shared::check};
use crate::{
    error::Result,
    git::{Repo, received::Basis, refs::RefUpdate},
    model::{
        id_text,
        refname::{self, SHARED, tracking_ref},
    },
    ops::Context,
};

/// How many commits git is to say that are here, so that the other side does not send what they have.
const MOST_TIPS: usize = 32;

/// A checkpoint that was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FetchedCheckpoint {
    /// Its id in the clone that has taken it.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) id: ObjectId,
    /// The ref that leads to it here.
    #[serde(rename = "ref")]
    pub(crate) name: String,
}

/// Fetches the checkpoints of `remote` that are not here, and returns them.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if one of them is none of ours.
pub(super) fn fetch_shared(context: &Context, remote: &Remote, dry_run: bool) -> Result<Vec<FetchedCheckpoint>> {
    let repo = &context.repo;
    let mut new = Vec::new();
    for (name, commit) in repo.list_remote(&remote.name, SHARED)? {
        let Some(id) = refname::shared_id(&name).filter(|id| id.kind() == repo.object_hash()) else { continue };
        let tracking = tracking_ref(&remote.name, &name);
        // What is here already stays, whatever the remote has now.
        if repo.find_sound_ref(&tracking)?.is_none() {
            new.push((FetchedCheckpoint { id, name: tracking }, commit));
        }
    }
    if new.is_empty() || dry_run {
        return Ok(new.into_iter().map(|(fetched, _)| fetched).collect());
    }
    let wanted: Vec<ObjectId> = new.iter().map(|(_, commit)| *commit).collect();
    let received = repo.fetch_ids(&remote.name, &wanted, Basis::Ours(&tips(repo, remote)?))?;
    let beside = received.beside(repo)?;
    for (fetched, commit) in &new {
        check(beside.as_ref().unwrap_or(repo), *commit, fetched.id).map_err(|error| {
            let message = format!("the checkpoint {} of '{}' is refused: {}", fetched.id, remote.name, error.message());
            error.with_message(message)
        })?;
    }
    let _kept = received.adopt(repo)?;
    let update = |(fetched, commit): &(FetchedCheckpoint, ObjectId)| RefUpdate {
        name: fetched.name.clone(),
        old: None,
        new: Some(*commit),
    };
    repo.update_refs(&new.iter().map(update).collect::<Vec<_>>())?;
    Ok(new.into_iter().map(|(fetched, _)| fetched).collect())
}

/// Returns commits that the remote may have, too.
fn tips(repo: &Repo, remote: &Remote) -> Result<Vec<ObjectId>> {
    let branches = repo.refs_below(&format!("refs/remotes/{}/", remote.name))?;
    let mut tips: Vec<ObjectId> = repo.head()?.id.into_iter().collect();
    for (_, id) in branches.into_iter().take(MOST_TIPS) {
        if !tips.contains(&id) && repo.is_commit(id)? {
            tips.push(id);
        }
    }
    Ok(tips)
}
