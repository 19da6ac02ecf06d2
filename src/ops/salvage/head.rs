//! Whether a save could follow once something is set aside.

use crate::{
    error::{Error, Result},
    git::Repo,
};

/// Refuses to set anything aside where the commit that HEAD points to cannot be read: no save could follow, and whatever has
/// taken that commit may have taken the checkpoints with it.
pub(crate) fn refuse_without_head(repo: &Repo) -> Result<()> {
    let Some(id) = repo.head()?.id else { return Ok(()) };
    if !repo.is_commit_lost(id)? {
        return Ok(());
    }
    let message = format!("the commit {id} that HEAD points to cannot be read, so that nothing is set aside");
    Err(Error::corrupt(message).with_hint(
        "bring the objects back: 'git fsck' says what is missing; where a pack has no index, 'git index-pack <pack>' makes one",
    ))
}
