//! The mark of a checkpoint that was taken after a restore, and holds what that has put back.

use gix::ObjectId;

use crate::model::{checkpoint::Origin, id_text};

/// How the tool of such a checkpoint begins; the target follows.
const RESTORE: &str = "restore ";

/// How the subject of the checkpoint before a restore begins; the target follows.
const BEFORE_RESTORE: &str = "before restore of ";

/// The subject of the checkpoint before an undo.
const BEFORE_UNDO: &str = "before undo of a restore";

/// Returns the subject of the checkpoint before a restore of `target`, or before an undo.
pub(crate) fn subject_before(target: Option<ObjectId>) -> String {
    match target {
        Some(id) => before(&id_text::stored(&id)),
        None => BEFORE_UNDO.to_owned(),
    }
}

/// Returns the subject of the checkpoint after a restore of `target`.
pub(crate) fn subject_after(target: ObjectId) -> String {
    format!("{RESTORE}{}", id_text::stored(&target))
}

/// Returns how the checkpoint before a restore of `id`, as it is abbreviated, is called.
pub(crate) fn before(id: &str) -> String {
    format!("{BEFORE_RESTORE}{id}")
}

/// Returns the first digits of the target if `subject` is that of a checkpoint before a restore.
pub(crate) fn target_before(subject: &str) -> Option<&str> {
    subject.strip_prefix(BEFORE_RESTORE).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns true if `subject` is that of a checkpoint before a restore or an undo.
pub(crate) fn is_before_restore(subject: &str) -> bool {
    subject.starts_with(BEFORE_RESTORE) || subject == BEFORE_UNDO
}

/// Returns the tool of the checkpoint after a restore of `target`.
pub(crate) fn tool(target: ObjectId) -> String {
    format!("{RESTORE}{target}")
}

/// Returns the target if `origin` is of a checkpoint taken after a restore.
pub(crate) fn restored(origin: &Origin) -> Option<ObjectId> {
    ObjectId::from_hex(origin.tool.as_deref()?.strip_prefix(RESTORE)?.as_bytes()).ok()
}

/// Returns `origin` as people see it: a restore is a person's, whatever it has put back.
pub(crate) fn shown(origin: &Origin) -> Origin {
    let Origin { note, carried, .. } = origin.clone();
    if restored(origin).is_some() { Origin { note, carried, ..Origin::default() } } else { origin.clone() }
}

/// Returns true if the checkpoint of `origin` is, may be, or has put back the work of a session.
pub(crate) fn may_have_session(origin: &Origin) -> bool {
    origin.may_be_of_session() || restored(origin).is_some()
}
