//! Names in the archive, and how a shadow is moved there.

use gix::ObjectId;

use super::shadows::Live;
use crate::{
    error::Result,
    git::{Repo, refs::RefUpdate},
    model::refname,
};

/// Returns how refs are moved to set `live` aside under the name `archive`.
pub(crate) fn to_archive(live: &Live, archive: String) -> [RefUpdate; 2] {
    [
        RefUpdate { name: archive, old: None, new: Some(live.id) },
        RefUpdate { name: live.name.to_ref(), old: Some(live.id), new: None },
    ]
}

/// A shadow may be set aside, brought back and set aside again within a second.
pub(crate) fn archive_name(repo: &Repo, tip: ObjectId) -> Result<String> {
    // Not git's GIT_COMMITTER_DATE, which in a rebase is that of an old commit: the next prune would take it at its word.
    let mut seconds = jiff::Timestamp::now().as_second().max(0);
    loop {
        let name = refname::archive_ref(seconds, tip);
        if repo.find_ref(&name)?.is_none() {
            return Ok(name);
        }
        seconds += 1;
    }
}
