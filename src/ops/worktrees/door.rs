//! The door to another worktree, for those that look at what is in it.

use std::fs;

use bstr::ByteSlice as _;

use super::{super::Context, validate::root};
use crate::{
    error::{Error, Result},
    git::{
        ordinary,
        registrations::{Place, Registration},
    },
    model::path_text::printable,
};

/// Longer rules in the root of another worktree are not read. Git ignores longer attributes.
const LONGEST_RULES: u64 = 100 << 20;

/// Opens the worktree `found` in order to look at it.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if nothing, or something else, is in its place, or if it cannot be looked at; if git
/// would refuse to work there, or if reading git's files might never end.
pub(crate) fn open(context: &Context, found: &Registration) -> Result<Context> {
    if found.place == Place::Unreadable && found.path == found.git_dir {
        let name = found.id.strip_prefix(b"worktrees/").unwrap_or(&found.id).as_bstr();
        return Err(Error::user(format!("git's note of the worktree '{}' cannot be read", printable(name))));
    }
    let real = fs::canonicalize(&found.path).ok();
    let root = root(found, real.as_deref(), &[]).map_err(|code| code.error(&found.path))?;
    ordinary::refuse_endless(&found.git_dir, context.repo.common_dir())?;
    for name in [".gitignore", ".gitattributes"] {
        ordinary::refuse_longer(&root.join(name), LONGEST_RULES)?;
    }
    Ok(context.with_repo(context.repo.open_worktree(root)?))
}
