//! Moves a shadow to the archive: the ref updates and the event.

use gix::ObjectId;

use super::shadows::Live;
pub(crate) use crate::ops::holding::archive_name;
use crate::{
    git::{Repo, refs::RefUpdate},
    model::event::Event,
    ops::Context,
};

/// Returns the ref updates that move the shadow `live` to the archive, under the name `archive`.
pub(crate) fn to_archive(live: &Live, archive: String) -> [RefUpdate; 2] {
    [
        RefUpdate { name: archive, old: None, new: Some(live.id) },
        RefUpdate { name: live.name.to_ref(), old: Some(live.id), new: None },
    ]
}

/// Returns how many checkpoints the chain that ends with `tip` has; of a broken chain, how many can be read.
pub(crate) fn count(repo: &Repo, tip: ObjectId) -> usize {
    repo.chain(tip).take_while(Result::is_ok).count()
}

/// Emits the event that the chain ending with `tip` was moved to the archive, under the name `archive`.
pub(crate) fn emit_reset(context: &Context, archive: String, tip: ObjectId) {
    context.emit(&Event::Reset { archive, tip: tip.to_string(), checkpoints: count(&context.repo, tip) });
}
