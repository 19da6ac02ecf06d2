//! The door to another worktree, for those that look at what is in it.

use std::fs;

use super::{super::Context, validate::root};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{ordinary, registrations::Registration},
};

/// Opens the worktree `found` in order to look at it.
///
/// # Errors
/// [`Kind::Refused`] if nothing, or something else, is in its place, or if it cannot be looked at; if git would refuse to work there.
pub(crate) fn open(context: &Context, found: &Registration) -> Result<Context> {
    let real = fs::canonicalize(&found.path).ok();
    let root = root(found, real.as_deref(), &[]).map_err(|code| code.error(&found.path))?;
    let special = ordinary::find_special(&found.git_dir);
    let special = special.context(Kind::Internal, || format!("cannot read '{}'", found.git_dir.display()))?;
    if let Some(path) = special {
        return Err(Error::corrupt(format!("'{}' is a pipe or a device", path.display())));
    }
    Ok(context.with_repo(context.repo.open_worktree(root)?))
}
