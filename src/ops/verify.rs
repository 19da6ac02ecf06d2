//! The verified checkpoint: the one known to be good.

use gix::ObjectId;

use super::Context;
use crate::{
    error::{Context as _, Kind, Result},
    git::refs::RefUpdate,
    model::refname,
    state,
};

fn marker(context: &Context) -> std::path::PathBuf {
    state::directory(context.repo.git_dir()).join("verify-next")
}

/// Returns true if the next save is to become the verified checkpoint.
pub(crate) fn wants_verification(context: &Context) -> Result<bool> {
    Ok(marker(context).exists())
}

/// Notes that a verified checkpoint was saved.
pub(crate) fn satisfied(context: &Context) -> Result<()> {
    match std::fs::remove_file(marker(context)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context(Kind::Internal, || "cannot remove the mark of the next verified checkpoint".into())
        }
        _ => Ok(()),
    }
}

/// Makes the checkpoint `id` the verified one.
pub(crate) fn mark(context: &Context, id: ObjectId) -> Result<()> {
    let name = refname::verified_ref(context.repo.worktree_id());
    let old = context.repo.find_ref(&name)?;
    context.repo.update_refs(&[RefUpdate { name, old, new: Some(id) }])
}
