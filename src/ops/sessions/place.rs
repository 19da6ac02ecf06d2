//! `session cwd`: where a session works.

use bstr::{BString, ByteSlice as _, ByteVec as _};
use serde::Serialize;

use super::{
    super::{
        Context,
        session_info::{self, find_or_rebuild, is_there},
        worktrees,
    },
    listing::id_of,
};
use crate::{
    error::{Error, Kind, Result},
    model::{path_text, refname::decode_component, session::Session},
};

/// Where a session works. Serializes to what `session cwd --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct WorkPlace {
    /// The version of this shape.
    pub(crate) version: u32,
    /// The id of the session.
    pub(crate) session: String,
    /// The canonical root of the worktree.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
    /// `main`, or git's id of the linked worktree.
    pub(crate) worktree: String,
}

/// Returns the worktree in which the session `name` works (an id, an agent's name or the beginning of an id; without it, the
/// session seen last in this worktree).
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if there is no such session; [`Kind::Refused`](crate::error::Kind::Refused) if its
/// worktree is gone, or something else is in its place.
pub(crate) fn place(context: &Context, name: Option<&str>) -> Result<WorkPlace> {
    let session = known(context, &id_of(context, name)?)?;
    let id = session.id.clone();
    let gone = || {
        let removed = decode_component(&session.worktree);
        let back = removed.and_then(|id| worktrees::restore_command(context, id.as_bstr(), session.worktree_made));
        let back = back.map(|command| format!("'{command}' brings it back, ")).unwrap_or_default();
        Error::refused(format!("the worktree '{}' of the session '{id}' is gone", session.worktree_path))
            .with_hint(format!("{back}'git checkpoint session adopt {id}' lets it go on in this worktree"))
    };
    let worktree = decode_component(&session.worktree).filter(|id| is_there(&context.repo, &session, id.as_bstr()));
    let worktree = worktree.ok_or_else(gone)?;
    let found = worktrees::by_id(context, worktree.as_bstr())?.ok_or_else(gone)?;
    let path = Vec::from_path_buf(found.path).unwrap_or_default().into();
    Ok(WorkPlace { version: 1, session: id, path, worktree: path_text::escape(found.id.as_bstr()) })
}

/// Returns the id of the session that `name` stands for (an id, an agent's name or the beginning of an id).
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if there is no such session.
pub(crate) fn existing(context: &Context, name: &str) -> Result<String> {
    Ok(known(context, &id_of(context, Some(name))?)?.id)
}

fn known(context: &Context, id: &str) -> Result<Session> {
    find_or_rebuild(context, id)?.ok_or_else(|| session_info::unknown(context, id).with_kind(Kind::User))
}
