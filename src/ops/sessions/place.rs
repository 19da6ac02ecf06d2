//! `session cwd`: where a session works.

use std::path::PathBuf;

use bstr::ByteSlice as _;

use super::{
    super::{Context, session_info::find_or_rebuild, worktrees},
    listing::id_of,
};
use crate::{
    error::{Error, Result},
    model::refname::decode_component,
};

/// Returns the root of the worktree that the session `name` works in (an id, an agent's name or the beginning of an id; without it,
/// the session seen last in this worktree).
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if there is no such session; [`Kind::Refused`](crate::error::Kind::Refused) if its worktree
/// is gone, or something else is in its place.
pub(crate) fn place(context: &Context, name: Option<&str>) -> Result<PathBuf> {
    let id = id_of(context, name)?;
    let unknown = || {
        Error::user(format!("there is no session '{id}'")).with_hint("'git checkpoint session list --all' lists them")
    };
    let session = find_or_rebuild(context, &id)?.ok_or_else(unknown)?;
    let gone = || {
        Error::refused(format!("the worktree '{}' of the session '{id}' is gone", session.worktree_path))
            .with_hint(format!("'git checkpoint session adopt {id}' lets it go on in this worktree"))
    };
    let worktree = decode_component(&session.worktree).ok_or_else(gone)?;
    worktrees::by_id(context, worktree.as_bstr())?.map(|it| it.path).ok_or_else(gone)
}
