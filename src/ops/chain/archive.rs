//! Moves a shadow to the archive: the name it gets there, the ref updates and the event.

use gix::ObjectId;

use super::shadows::Live;
use crate::{
    error::Result,
    git::{Repo, refs::RefUpdate},
    model::{event::Event, refname},
    ops::Context,
};

/// Returns the ref updates that move the shadow `live` to the archive, under the name `archive`.
pub(crate) fn to_archive(live: &Live, archive: String) -> [RefUpdate; 2] {
    [
        RefUpdate { name: archive, old: None, new: Some(live.id) },
        RefUpdate { name: live.name.to_ref(), old: Some(live.id), new: None },
    ]
}

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

/// Returns how many checkpoints the chain that ends with `tip` has; of a broken chain, how many can be read.
pub(crate) fn count(repo: &Repo, tip: ObjectId) -> usize {
    repo.chain(tip).take_while(Result::is_ok).count()
}

/// Emits the event that the chain ending with `tip` was moved to the archive, under the name `archive`.
pub(crate) fn emit_reset(context: &Context, archive: String, tip: ObjectId) {
    context.emit(&Event::Reset { archive, tip: tip.to_string(), checkpoints: count(&context.repo, tip) });
}
