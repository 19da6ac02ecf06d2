//! Which operation an undo or a redo takes back.

use gix::ObjectId;

use super::log::{Log, journal};
use crate::{
    error::{Error, Result},
    git::read_operations::Recorded,
    model::operation::Role,
    ops::Context,
    state::journal::{Journal, Progress},
};

/// How many entries that changed files are searched for the last restore.
const MOST_SEARCHED: usize = 50;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The last operation of a person.
    Last,
    /// The last one of those that changed files.
    LastOfFiles,
    /// The last undo.
    LastUndo,
    /// The operation with this name.
    Named(String),
}

/// What is to be taken back.
#[derive(Clone, Debug)]
pub(crate) struct Picked {
    /// The operation; none: a restore that the log does not have.
    pub(crate) entry: Option<Recorded>,
    /// How the new operation relates to it.
    pub(crate) role: Role,
    /// The files that it changed.
    pub(crate) journal: Option<Journal>,
}

impl Picked {
    /// Returns the id of the operation.
    pub(crate) fn id(&self) -> Option<ObjectId> {
        self.entry.as_ref().map(|entry| entry.id)
    }
}

/// Returns the operation that `which` asks for.
///
/// # Errors
/// If there is none, if it is taken back already, or if a restore was interrupted and another operation is asked for.
pub(crate) fn pick(context: &Context, which: &Which) -> Result<Picked> {
    let (live, log) = (Journal::read(context.repo.git_dir())?, Log::read(context)?);
    if let Some(live) = live.as_ref().filter(|live| live.progress == Progress::Applying) {
        return pick_interrupted(context, which, live, &log);
    }
    let entry = match which {
        Which::Last | Which::LastOfFiles => match log.last(*which == Which::LastOfFiles) {
            Some(entry) => entry,
            // An earlier version made the restore, or the log was lost.
            None => match live.filter(|live| entry_of(context, &log, live).is_none()) {
                Some(live) => return Ok(Picked { entry: None, role: Role::Plain, journal: Some(live) }),
                None => return Err(nothing_to_undo(&log)),
            },
        },
        Which::LastUndo => match log.stack.redo.last() {
            Some(id) => log.entry(*id)?,
            None => {
                return Err(Error::user("nothing to redo")
                    .with_hint("'git checkpoint undo --list' shows what can be undone and redone"));
            }
        },
        Which::Named(text) => {
            let entry = log.find(text)?;
            if entry.operation.not_undone.is_none() && !entry.operation.is_undoable() {
                return Err(not_undoable(context, entry));
            }
            if log.stack.void.contains(&entry.id) {
                return Err(Error::refused(format!(
                    "the operation '{}' was killed, and has changed nothing",
                    context.repo.short_id(&entry.id)
                ))
                .with_hint("'git checkpoint undo --list' shows what can be undone and redone"));
            }
            let (end, is_undone) = log.stack.end(entry.id);
            if is_undone {
                return Err(Error::refused(format!(
                    "the operation '{}' is undone already",
                    context.repo.short_id(&entry.id)
                ))
                .with_hint(format!("'git checkpoint op undo {}' takes the undo back", context.repo.short_id(&end))));
            }
            log.entry(end)?
        }
    };
    if let Some(instead) = &entry.operation.not_undone {
        let (id, command) = (context.repo.short_id(&entry.id), &entry.operation.command);
        return Err(
            Error::refused(format!("the operation '{id}' ('{command}') cannot be undone")).with_hint(instead.clone())
        );
    }
    let role = role_for(&log, entry);
    let of_entry = journal(context, entry)?;
    // If broken checkpoints were copied, the live journal names the copies.
    let journal = of_entry.map(|it| live.filter(|live| live.nonce == it.nonce).unwrap_or(it));
    Ok(Picked { entry: Some(entry.clone()), role, journal })
}

/// Returns how what takes `entry` back relates to it.
fn role_for(log: &Log, entry: &Recorded) -> Role {
    if log.stack.redo.contains(&entry.id) { Role::Redo(entry.id) } else { Role::Undo(entry.id) }
}

/// Returns the restore of `live`, which was interrupted, if that is asked for.
fn pick_interrupted(context: &Context, which: &Which, live: &Journal, log: &Log) -> Result<Picked> {
    let entry = entry_of(context, log, live).cloned();
    let is_it = match which {
        Which::Last | Which::LastOfFiles => true,
        Which::LastUndo => false,
        Which::Named(text) => entry.as_ref().is_some_and(|entry| log.find(text).is_ok_and(|it| it.id == entry.id)),
    };
    if !is_it {
        return Err(Error::refused("an earlier restore was interrupted")
            .with_hint("'git checkpoint restore --continue' finishes it, 'git checkpoint undo' reverses it"));
    }
    let role = entry.as_ref().map_or(Role::Plain, |entry| role_for(log, entry));
    Ok(Picked { entry, role, journal: Some(live.clone()) })
}

/// Returns the entry of the restore with this journal.
pub(crate) fn entry_of<'l>(context: &Context, log: &'l Log, live: &Journal) -> Option<&'l Recorded> {
    entry_with(context, log, &live.nonce, MOST_SEARCHED).map(|(entry, _)| entry)
}

/// Returns the entry of the restore whose journal has this `nonce`, with that journal, if it is among the last `most` ones that
/// changed files.
pub(crate) fn entry_with<'l>(
    context: &Context,
    log: &'l Log,
    nonce: &str,
    most: usize,
) -> Option<(&'l Recorded, Journal)> {
    let may_be_it = |entry: &Recorded| entry.operation.nonce.as_deref().is_none_or(|it| it == nonce);
    let mut with_files = log.entries.iter().filter(|entry| entry.operation.has_files).take(most);
    with_files.find_map(|entry| {
        let journal = Some(entry).filter(|it| may_be_it(it)).and_then(|it| journal(context, it).ok().flatten())?;
        (journal.nonce == nonce).then_some((entry, journal))
    })
}

/// Returns the error if `entry` only took checkpoints, or followed what git or an agent did: these checkpoints record who wrote
/// which lines.
fn not_undoable(context: &Context, entry: &Recorded) -> Error {
    let what =
        format!("the operation '{}' only took checkpoints or followed commits", context.repo.short_id(&entry.id));
    Error::refused(what).with_hint(
        "'git checkpoint undo --list' shows what can be undone, 'git checkpoint restore <checkpoint>' puts files back",
    )
}

/// Returns the error if there is nothing to take back.
fn nothing_to_undo(log: &Log) -> Error {
    if log.stack.redo.is_empty() {
        Error::user("nothing to undo in this worktree yet").with_hint(
            "'git checkpoint list' shows the checkpoints, 'git checkpoint restore <checkpoint>' puts one back",
        )
    } else {
        Error::user("nothing is left to undo in this worktree")
            .with_hint("'git checkpoint redo' takes the last undo back, 'git checkpoint op log' shows all operations")
    }
}
