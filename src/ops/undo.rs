//! Takes operations back: their moves of refs, and their changes of files. `restore` does the latter.

use bstr::ByteSlice as _;
use gix::ObjectId;
use serde::Serialize;

use super::{
    Context, Worktree,
    enter::Purpose,
    operations::{ListedMove, Log, Point, Which, back_over, pick, refuse},
    restore::{Restored, UndoOptions, go_back, is_elsewhere, refuse_open_turns, undo_files},
    session_info,
};
use crate::{
    error::{Error, Result},
    git::recorder::SessionFile,
    model::{id_text, operation::Role, refname::ShadowName, session::Session},
    state::sessions,
};

/// What was taken back. Serializes to what `undo --json` prints.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Undone {
    /// The version of this form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// What was restored, if the operation had changed files.
    #[serde(flatten)]
    pub restored: Option<Restored>,
    /// The operation; none: a restore that the log does not have.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub operation: Option<ObjectId>,
    /// Its command line.
    pub command: Option<String>,
    /// The refs that were moved back, if it had changed no files; of `op restore`, all refs that were moved.
    pub moved: Vec<ListedMove>,
    /// The session whose file is as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// True for a dry run, which changes nothing.
    #[serde(skip_serializing_if = "Option::is_none", rename = "dry_run")]
    pub only_looked: Option<bool>,
}

impl Undone {
    fn of_refs(
        operation: Option<ObjectId>,
        command: Option<String>,
        moved: Vec<ListedMove>,
        only_looked: Option<bool>,
    ) -> Self {
        Self { version: Some(1), restored: None, operation, command, moved, session: None, only_looked }
    }
}

/// Takes back the last operation of a person in this worktree. Another undo goes further back.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused), with all that has moved since, if the operation changed no files and a ref is
/// not where it left it.
pub fn undo_last(context: &Context, options: &UndoOptions) -> Result<Undone> {
    context.repo.name_operation("undo");
    context.emit_failure("undo", take_back(context, options, &Which::Last))
}

/// Takes the last undo back.
///
/// # Errors
/// As [`undo_last`].
pub fn redo(context: &Context, options: &UndoOptions) -> Result<Undone> {
    context.repo.name_operation("redo");
    context.emit_failure("redo", take_back(context, options, &Which::LastUndo))
}

/// Takes back the operation that `name` names.
///
/// # Errors
/// As [`undo_last`].
pub fn undo_named(context: &Context, options: &UndoOptions, name: &str) -> Result<Undone> {
    context.repo.name_operation("op undo");
    context.emit_failure("op undo", take_back(context, options, &Which::Named(name.to_owned())))
}

/// Brings refs and files back to what they were after the operation that `name` names. The worktree is saved first; what would be
/// left goes to the archive.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused), before anything is changed, with all that is in the way: a ref that was moved
/// by what is not in the log, an object that is missing, a HEAD that was elsewhere, a turn under way, a file that must stay.
pub fn restore_to(context: &Context, dry_run: bool, name: &str) -> Result<Undone> {
    context.repo.name_operation("op restore");
    let done = Point::find(context, name).and_then(|point| {
        let (restored, moved) = go_back(context, &point, dry_run)?;
        let moved = moved.into_iter().map(|it| ListedMove { r#ref: it.name, old: it.old, new: it.new }).collect();
        let (operation, command) = (Some(point.id), Some(point.command));
        let restored = Some(restored);
        Ok(Undone { version: None, restored, ..Undone::of_refs(operation, command, moved, None) })
    });
    context.emit_failure("op restore", done)
}

fn take_back(context: &Context, options: &UndoOptions, which: &Which) -> Result<Undone> {
    let (picked, log) = (pick(context, which)?, Log::read(context)?);
    let (operation, command) = (picked.id(), picked.entry.as_ref().map(|entry| log.command_behind(entry).to_owned()));
    if picked.journal.is_some() {
        let restored = Some(undo_files(context, options, which)?);
        return Ok(Undone { version: None, restored, ..Undone::of_refs(operation, command, Vec::new(), None) });
    }
    let worktree = if options.dry_run { None } else { Some(Worktree::enter(context, Purpose::Change)?) };
    // Another command may have run before this one got the lock.
    let (picked, log) = (pick(context, which)?, Log::read(context)?);
    let latest = picked.latest;
    let Some(entry) = picked.entry.filter(|entry| Some(entry.id) == operation) else {
        return Err(Error::race("another operation was recorded meanwhile"));
    };
    if let Some(file) = context.repo.session_file_of(&entry)? {
        let id = Some(file.id.clone());
        put_session_back(context, file, (picked.role, options.dry_run))?;
        let only_looked = Some(options.dry_run);
        return Ok(Undone { session: id, ..Undone::of_refs(operation, command, Vec::new(), only_looked) });
    }
    let is_elsewhere = |tips: &[ObjectId], id| is_elsewhere(context, &[], tips, id);
    let back = back_over(context, &log, (&entry, latest), false, &is_elsewhere)?;
    refuse(&context.repo, &log, &back.obstacles, "cannot take it back", Some(&entry))?;
    let is_live =
        |name: &str| ShadowName::from_ref(name).is_some_and(|shadow| shadow.worktree == context.repo.worktree_id());
    if back.moves.iter().any(|moved| is_live(&moved.name)) {
        // Otherwise what a person has changed since the last checkpoint would count as the session's.
        refuse_open_turns(context, "cannot take it back")?;
    }
    let moved = if worktree.is_some() {
        context.repo.note_role(picked.role);
        back.carry_out(context)?
    } else {
        back.with_archive(&context.repo)?
    };
    let moved = moved.into_iter().map(|it| ListedMove { r#ref: it.name, old: it.old, new: it.new }).collect();
    Ok(Undone::of_refs(operation, command, moved, Some(options.dry_run)))
}

/// Puts the file of a session back to what it was before the operation that `file` is of. Refs stay: those that it moved are of the
/// turn that it ended, and of what that had not saved.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if the session went on since.
fn put_session_back(context: &Context, file: SessionFile, (role, is_dry): (Role, bool)) -> Result<()> {
    let (common_dir, SessionFile { id, before, after }) = (context.repo.common_dir(), file);
    let now = sessions::bytes(common_dir, &id)?;
    if now != after {
        return Err(Error::refused(format!("cannot take it back: the session '{id}' went on since"))
            .with_hint("'git checkpoint session list' shows where it is"));
    }
    let session = before.as_deref().map(|text| {
        let session = text.to_str().ok().and_then(Session::parse).filter(|session| session.id == id);
        session.ok_or_else(|| Error::corrupt(format!("what the session '{id}' was cannot be read")))
    });
    let session = session.transpose()?;
    if is_dry {
        return Ok(());
    }
    if let Some(session) = &session {
        sessions::store(common_dir, session)?;
    } else {
        sessions::mark_forgotten(common_dir, &id)?;
        sessions::remove(common_dir, &id)?;
    }
    session_info::read_anew(context, &id);
    context.repo.note_role(role);
    context.repo.note_session_of_operation(&id);
    let before = sessions::bytes(common_dir, &id)?;
    context.repo.note_session_file(SessionFile { id, before: now, after: before });
    context.repo.update_refs(&[])
}
