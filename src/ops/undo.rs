//! Takes operations back: their moves of refs, and their changes of files. `restore` does the latter.

mod blocked;
mod next;
mod way;

use bstr::ByteSlice as _;
use gix::ObjectId;
use serde::Serialize;

use self::next::{choose, instead_of_nothing, is_interrupted};
use super::{
    Context, Worktree,
    enter::Purpose,
    operations::{ListedMove, Log, Picked, Point, Which, back_over, candidates, nothing_left, refuse, title_of},
    restore::{Restored, UndoOptions, go_back, is_elsewhere, undo_files},
    session_info,
};
use crate::{
    error::{Error, Result},
    git::recorder::SessionFile,
    model::{
        id_text,
        operation::{Move, Role},
        refname,
        session::Session,
    },
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
    /// The checkpoints that it has put into the archive, or would: no chain leads to them any more.
    #[serde(serialize_with = "id_text::serialize_list")]
    pub archived: Vec<ObjectId>,
    /// The session whose file is as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// True for a dry run, which changes nothing.
    #[serde(skip_serializing_if = "Option::is_none", rename = "dry_run")]
    pub only_looked: Option<bool>,
    /// True if it was an undo: what that took back is in force again.
    #[serde(skip)]
    pub is_redo: bool,
    /// What to type instead, if nothing could be restored, and `--all` does not help.
    #[serde(skip)]
    pub(crate) instead: Option<String>,
}

impl Undone {
    fn of_refs(
        operation: Option<ObjectId>,
        command: Option<String>,
        moved: Vec<ListedMove>,
        only_looked: Option<bool>,
    ) -> Self {
        let is_archived = |moved: &&ListedMove| moved.r#ref.starts_with(refname::ARCHIVE) && moved.old.is_none();
        let archived = moved.iter().filter(is_archived).filter_map(|moved| moved.new).collect();
        let (version, restored, session, instead, is_redo) = (Some(1), None, None, None, false);
        Self { version, restored, operation, command, moved, archived, session, only_looked, is_redo, instead }
    }
}

/// Takes back the last operation of a person in this worktree. Another undo goes further back.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused), with what is in the way and what works instead, if that operation cannot be taken
/// back. None is passed over.
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
    context.emit_failure("op restore", go_back_to(context, dry_run, name))
}

fn go_back_to(context: &Context, dry_run: bool, name: &str) -> Result<Undone> {
    let point = Point::find(context, name)?;
    let _worktree = if dry_run { None } else { Some(Worktree::enter(context, Purpose::Change)?) };
    let point = Point::find(context, &point.id.to_string())?;
    let (restored, moved) = go_back(context, &point, dry_run)?;
    let (operation, command) = (Some(point.id), Some(point.command));
    let restored = Some(restored);
    Ok(Undone { version: None, restored, ..Undone::of_refs(operation, command, listed(moved), None) })
}

fn listed(moves: Vec<Move>) -> Vec<ListedMove> {
    moves.into_iter().map(|it| ListedMove { r#ref: it.name, old: it.old, new: it.new }).collect()
}

fn take_back(context: &Context, options: &UndoOptions, which: &Which) -> Result<Undone> {
    let log = Log::read(context)?;
    let which = match which {
        // While this waits for the lock, a name may come to mean another operation.
        Which::Named(text) => Which::Named(log.find(text)?.id.to_string()),
        which if candidates(&log, which).is_empty() && !is_interrupted(context)? => {
            return Err(nothing_left(&log, which));
        }
        which => which.clone(),
    };
    // What entering moves may be in the way, so it must be known first. Nothing is recorded meanwhile until it is dropped.
    let _worktree = if options.dry_run { None } else { Some(Worktree::enter(context, Purpose::Change)?) };
    let picked = choose(context, options, &which)?;
    let mut done = take_back_picked(context, options, (&which, &picked))?;
    done.is_redo = matches!(picked.role, Role::Redo(_));
    if let Some(restored) = &done.restored {
        done.instead = instead_of_nothing(context, &which, &picked, restored)?;
    }
    Ok(done)
}

/// Takes back what was `picked`, as `which` asks for.
fn take_back_picked(context: &Context, options: &UndoOptions, (which, picked): (&Which, &Picked)) -> Result<Undone> {
    let log = Log::read(context)?;
    let (operation, command) = (picked.id(), picked.entry.as_ref().map(|entry| log.command_behind(entry).to_owned()));
    if picked.journal.is_some() {
        let restored = undo_files(context, options, which, operation)?;
        let archived = if options.dry_run {
            restored.set_aside.clone()
        } else {
            Undone::of_refs(operation, None, listed(context.repo.moves_recorded()), None).archived
        };
        let (version, restored) = (None, Some(restored));
        return Ok(Undone { version, restored, archived, ..Undone::of_refs(operation, command, Vec::new(), None) });
    }
    let Some(entry) = &picked.entry else { return Err(Error::internal("an operation without files is in the log")) };
    if let Some(file) = context.repo.session_file_of(entry)? {
        let id = Some(file.id.clone());
        put_session_back(context, file, (picked.role, options.dry_run))?;
        let only_looked = Some(options.dry_run);
        return Ok(Undone { session: id, ..Undone::of_refs(operation, command, Vec::new(), only_looked) });
    }
    let is_elsewhere = |tips: &[ObjectId], id| is_elsewhere(context, &[], tips, id);
    let back = back_over(context, &log, (entry, picked.latest), false, &is_elsewhere)?;
    refuse(
        &context.repo,
        &log,
        &back.obstacles,
        &format!("cannot take back {}", title_of(&context.repo, &log, entry)),
    )?;
    let moved = if options.dry_run {
        back.with_archive(&context.repo)?
    } else {
        context.repo.note_role(picked.role);
        back.carry_out(context)?
    };
    Ok(Undone::of_refs(operation, command, listed(moved), Some(options.dry_run)))
}

/// Puts the file of a session back to what it was before the operation that `file` is of. Refs stay: those that it moved are of the
/// turn that it ended, and of what that had not saved.
///
/// # Errors
/// If another worktree has changed the session meanwhile.
fn put_session_back(context: &Context, file: SessionFile, (role, is_dry): (Role, bool)) -> Result<()> {
    let (common_dir, SessionFile { id, before, after }) = (context.repo.common_dir(), file);
    let now = sessions::bytes(common_dir, &id)?;
    if now != after {
        return Err(Error::refused(format!("the session '{id}' went on since")));
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
