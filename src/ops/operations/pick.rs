//! Which operation an undo or a redo takes back.

use gix::ObjectId;

use super::{
    log::{Log, journal},
    refusal::title,
};
use crate::{
    error::{Error, Result},
    git::read_operations::Recorded,
    model::operation::{Role, WORKTREE_ADD},
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
    /// The operation; none: a restore that was interrupted, and that the log does not have.
    pub(crate) entry: Option<Recorded>,
    /// How the new operation relates to it.
    pub(crate) role: Role,
    /// The files that it changed.
    pub(crate) journal: Option<Journal>,
    /// The newest entry of the log before it is taken back.
    pub(crate) latest: Option<ObjectId>,
    /// True if refs go back together with the files, or nothing does.
    pub(crate) is_of_more: bool,
}

impl Picked {
    /// Returns the id of the operation.
    pub(crate) fn id(&self) -> Option<ObjectId> {
        self.entry.as_ref().map(|entry| entry.id)
    }

    /// Returns true if it is half-way.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| entry.operation.is_unfinished)
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
        Which::LastOfFiles => log.last_of_files().ok_or_else(|| nothing_left(&log, which))?,
        Which::Last | Which::LastUndo => match candidates(&log, which).first() {
            Some(id) => log.entry(*id)?,
            None => return Err(nothing_left(&log, which)),
        },
        Which::Named(text) => {
            let entry = log.find(text)?;
            if entry.operation.not_undone.is_none() && !entry.operation.is_undoable() {
                return Err(not_undoable(context, entry));
            }
            let why = [
                (&log.stack.not_begun, "was killed before it changed a file"),
                (&log.stack.called_off, "was interrupted and taken back, or took such an operation back"),
            ];
            if let Some((_, why)) = why.iter().find(|(operations, _)| operations.contains(&entry.id)) {
                return Err(Error::refused(format!("the operation '{}' {why}", context.repo.short_id(&entry.id)))
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
        let title = title(&context.repo, entry);
        return Err(Error::refused(format!("the operation {title} cannot be undone")).with_hint(instead.clone()));
    }
    let role = role_for(&log, entry);
    let of_entry = journal(context, entry)?;
    // If broken checkpoints were copied, the live journal names the copies.
    let journal = of_entry.map(|it| live.filter(|live| live.nonce == it.nonce).unwrap_or(it));
    let (latest, is_of_more) = (log.entries.first().map(|entry| entry.id), log.is_of_more(entry));
    Ok(Picked { entry: Some(entry.clone()), role, journal, latest, is_of_more })
}

/// Returns how what takes `entry` back relates to it.
fn role_for(log: &Log, entry: &Recorded) -> Role {
    if log.stack.is_undo(entry.id) { Role::Redo(entry.id) } else { Role::Undo(entry.id) }
}

/// Returns the restore of `live`, which was interrupted, if that is asked for.
fn pick_interrupted(context: &Context, which: &Which, live: &Journal, log: &Log) -> Result<Picked> {
    let last = entry_of(context, log, live);
    let entry = last.map(|last| log.entry(log.stack.interrupted(last.id))).transpose()?.cloned();
    let is_it = match which {
        Which::Last | Which::LastOfFiles => true,
        Which::LastUndo => false,
        Which::Named(text) => {
            log.find(text).is_ok_and(|it| last.into_iter().chain(&entry).any(|known| known.id == it.id))
        }
    };
    if !is_it {
        return Err(Error::refused("an earlier restore was interrupted")
            .with_hint("'git checkpoint restore --continue' finishes it, 'git checkpoint undo' reverses it"));
    }
    let role = entry.as_ref().map_or(Role::Plain, |entry| role_for(log, entry));
    let other = entry.as_ref().filter(|entry| last.is_some_and(|last| last.id != entry.id));
    let of_other = other.map(|other| journal(context, other)).transpose()?.flatten();
    let (journal, latest) = (of_other.unwrap_or_else(|| live.clone()), log.entries.first().map(|entry| entry.id));
    let is_of_more = entry.as_ref().is_some_and(|entry| log.is_of_more(entry));
    Ok(Picked { entry, role, journal: Some(journal), latest, is_of_more })
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
    Error::refused(what).with_hint("'git checkpoint undo --list' shows what can be undone")
}

/// Returns the operations that `which` asks for, the next one first; of a named one, none.
pub(crate) fn candidates(log: &Log, which: &Which) -> Vec<ObjectId> {
    let list: &[ObjectId] = match which {
        Which::Last | Which::LastOfFiles => &log.stack.undo,
        Which::LastUndo => &log.stack.redo,
        Which::Named(_) => &[],
    };
    list.iter().rev().copied().collect()
}

/// Returns the error if another process has recorded an operation since it was decided what to take back: that is to be decided
/// again.
pub(crate) fn recorded_meanwhile() -> Error {
    Error::race("another operation was recorded meanwhile").with_hint("run the command again")
}

/// Returns the error if there is nothing of what `which` asks for.
pub(crate) fn nothing_left(log: &Log, which: &Which) -> Error {
    // A worktree began with what was brought along: nothing is before that.
    let last = log.entries.first().filter(|last| last.operation.kind != WORKTREE_ADD);
    let instead = last.and_then(|last| last.operation.not_undone.clone());
    if let Some(instead) = instead.filter(|_| *which != Which::LastUndo) {
        Error::user("nothing to undo in this worktree: the last operation is not undone by 'undo'").with_hint(instead)
    } else if *which == Which::LastUndo {
        Error::user("nothing to redo").with_hint("'git checkpoint undo --list' shows what can be undone and redone")
    } else if log.stack.redo.is_empty() {
        Error::user("nothing to undo in this worktree yet")
            .with_hint("'git checkpoint list' shows the checkpoints that can be restored")
    } else {
        Error::user("nothing is left to undo in this worktree")
            .with_hint("'git checkpoint redo' takes the last undo back")
    }
}
