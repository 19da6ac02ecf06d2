//! Takes operations back: their moves of refs, and their changes of files. `restore` does the latter.

use gix::ObjectId;
use serde::Serialize;

use super::{
    Context, Worktree,
    follow::lock_and_follow,
    operations::{ListedMove, Log, Which, pick},
    restore::{Restored, UndoOptions, undo_files},
    verified_mark,
};
use crate::{
    error::{Error, Result},
    git::{Repo, refs::RefUpdate},
    model::{
        id_text,
        operation::Operation,
        operation_stack::{Obstacle, Reversal, reversal},
    },
    state::failpoint,
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
    /// The refs that were moved back, if it had changed no files.
    pub moved: Vec<ListedMove>,
    /// True for a dry run, which changes nothing.
    #[serde(skip_serializing_if = "Option::is_none", rename = "dry_run")]
    pub only_looked: Option<bool>,
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

/// Carries out `reversal` if `worktree` is given, which holds the lock, and sets again whether the next checkpoint of a person
/// becomes verified, as `marker` says. Returns the moves.
fn move_back(
    context: &Context,
    reversal: Reversal,
    marker: Option<(bool, bool)>,
    worktree: Option<&Worktree<'_>>,
) -> Result<Vec<ListedMove>> {
    let updates: Vec<RefUpdate> = reversal
        .moves
        .into_iter()
        .map(|moved| RefUpdate { name: moved.name, old: moved.old, new: moved.new })
        .collect();
    if worktree.is_some() {
        if let Some((before, after)) = marker
            && verified_mark::wants_verification(context)? == after
        {
            verified_mark::set_marker(context, before)?;
        }
        context.repo.note_moves(reversal.all);
        failpoint::hit("undo:before-refs");
        context.repo.update_refs(&updates)?;
        failpoint::hit("undo:after-refs");
    }
    Ok(updates.into_iter().map(|update| ListedMove { r#ref: update.name, old: update.old, new: update.new }).collect())
}

fn take_back(context: &Context, options: &UndoOptions, which: &Which) -> Result<Undone> {
    let (picked, log) = (pick(context, which)?, Log::read(context)?);
    let (operation, command) = (picked.id(), picked.entry.as_ref().map(|entry| log.command_behind(entry).to_owned()));
    if picked.journal.is_some() {
        let restored = Some(undo_files(context, options, which)?);
        return Ok(Undone { version: None, restored, operation, command, moved: Vec::new(), only_looked: None });
    }
    let worktree = if options.dry_run { None } else { Some(lock_and_follow(context)?) };
    // Another command may have run before this one got the lock.
    let (picked, log) = (pick(context, which)?, Log::read(context)?);
    let Some(entry) = picked.entry.filter(|entry| Some(entry.id) == operation) else {
        return Err(Error::race("another operation was recorded meanwhile"));
    };
    let reversal = plan(&context.repo, &entry.operation)?;
    refuse(&log, &reversal)?;
    if worktree.is_some() {
        context.repo.note_role(picked.role);
    }
    let moved = move_back(context, reversal, entry.operation.marker, worktree.as_ref())?;
    Ok(Undone { version: Some(1), restored: None, operation, command, moved, only_looked: Some(options.dry_run) })
}

/// Returns what takes `operation` back now.
fn plan(repo: &Repo, operation: &Operation) -> Result<Reversal> {
    let now: Vec<Option<ObjectId>> =
        operation.moves.iter().map(|moved| repo.find_sound_ref(&moved.name)).collect::<Result<_>>()?;
    let at = |name: &str| operation.moves.iter().position(|moved| moved.name == name);
    Ok(reversal(operation, |name| at(name).and_then(|at| now[at]), |id| repo.can_read(id)))
}

/// Returns an error that names all obstacles, if there are some.
fn refuse(log: &Log, reversal: &Reversal) -> Result<()> {
    const MOST_NAMED: usize = 5;
    if reversal.obstacles.is_empty() {
        return Ok(());
    }
    let mut causes: Vec<String> = Vec::new();
    for obstacle in reversal.obstacles.iter().take(MOST_NAMED) {
        causes.push(match obstacle {
            Obstacle::Moved { name, now } => match log.mover(name, *now) {
                Some(by) => {
                    let id = by.id.to_hex_with_len(8);
                    format!("'{name}' has moved since: {id} '{}'", by.operation.command)
                }
                None => format!("'{name}' has moved since, by another worktree or by git"),
            },
            Obstacle::Missing { name, id } => format!("'{name}' pointed to '{id}', which is missing or damaged"),
        });
    }
    let more = reversal.obstacles.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        causes.push(format!("and {more} more"));
    }
    let mut causes = causes.into_iter();
    let first = causes.next().unwrap_or_default();
    let rest = causes.fold(String::new(), |text, cause| format!("{text}\n{cause}"));
    Err(Error::refused(format!("cannot take it back: {first}{rest}")).with_hint(
        "'git checkpoint op log' shows the operations; 'git checkpoint op undo <op>' takes a later one back first",
    ))
}
