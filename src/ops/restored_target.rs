//! The mark of a checkpoint that was taken after a restore, and holds what that has put back.

use gix::ObjectId;

use crate::model::checkpoint::Origin;

/// How the tool of such a checkpoint begins; the target follows.
const RESTORE: &str = "restore ";

/// Returns the tool of the checkpoint after a restore of `target`.
pub(crate) fn tool(target: ObjectId) -> String {
    format!("{RESTORE}{target}")
}

/// Returns the target if `origin` is of a checkpoint taken after a restore.
pub(crate) fn restored(origin: &Origin) -> Option<ObjectId> {
    ObjectId::from_hex(origin.tool.as_deref()?.strip_prefix(RESTORE)?.as_bytes()).ok()
}

/// Returns true if the checkpoint of `origin` is, may be, or has put back the work of a session.
pub(crate) fn may_have_session(origin: &Origin) -> bool {
    origin.may_be_of_session() || restored(origin).is_some()
}
