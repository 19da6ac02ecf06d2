//! What a restore says of paths that it left alone, and of what it has left.

use std::ffi::OsString;

use bstr::BString;

use super::listed::print_listed;
use crate::{
    cli::{call::Call, output::printable, phrase},
    error::{Error, Kind, Result},
    model::{path_text::shell_word, verdict::Why},
    ops::{
        Context, lookup,
        restore::{ChosenHunks, NotOffered, Restored},
    },
};

/// Says what `target` has named if it is `verified` and no checkpoint is marked.
pub(super) fn say_what_verified_is(
    context: &Context,
    target: &str,
    restored: &Restored,
    call: &mut Call,
) -> Result<()> {
    if lookup::is_unmarked(&context.repo, target)? {
        let id = call.names.id(&restored.target);
        call.out.aside(&format!("no checkpoint is verified: this goes back to the start, {id}"));
    }
    Ok(())
}

/// Returns `error` with the pathspec that it quotes, one of `pathspecs` from the root of the worktree, as the user `typed` it.
pub(super) fn as_typed(error: Error, pathspecs: &[BString], typed: &[OsString]) -> Error {
    let message = pathspecs.iter().zip(typed).find_map(|(pathspec, typed)| {
        let start = error.message().strip_prefix(&format!("pathspec '{pathspec}' "))?;
        Some(format!("pathspec '{}' {start}", typed.display()))
    });
    match message {
        Some(message) => error.with_message(message),
        None => error,
    }
}

/// Returns `error`, with a hint at where to look for a path that the user `typed` if nothing matches it and nothing better is known.
pub(super) fn with_history_hint(error: Error, typed: &[OsString]) -> Error {
    let is_of_path = error.kind() == Kind::User && error.message().contains("did not match");
    if !is_of_path || error.hint().is_some() {
        return error;
    }
    // With several, the error does not have the words of the one that matches nothing.
    let path = match typed {
        [path] => path.to_str().filter(|path| shell_word(path) == *path).map(printable),
        _ => None,
    };
    let path = path.as_deref().unwrap_or("<path>");
    error.with_hint(format!("'git checkpoint list -- {path}' shows which checkpoints have changed it"))
}

/// Prints which paths git did not ask for, and how to restore them.
pub(in crate::cli) fn print_not_offered(chosen: &ChosenHunks, call: &mut Call) -> Result<()> {
    let line = |left: &NotOffered, call: &Call| {
        format!("not offered  {} ({})", call.names.path(&left.path), printable(left.why.clone()))
    };
    let lines: Vec<String> = chosen.not_offered().iter().map(|left| line(left, call)).collect();
    print_listed(&lines, false, call)?;
    if !lines.is_empty() {
        let id = call.names.id(&chosen.target());
        call.out.hint(&format!("'git checkpoint restore {id} -- <path>...' restores what is not offered"));
    }
    Ok(())
}

/// What is said of a restore beside its paths.
pub(in crate::cli) struct Words<'w> {
    /// What it is called.
    pub(in crate::cli) verb: &'static str,
    /// The command line of what it takes back, if it does.
    pub(in crate::cli) command: Option<&'w str>,
    /// True if it has also moved refs.
    pub(in crate::cli) has_moved: bool,
    /// Of what takes an operation back: the command that takes back also what was edited since.
    pub(in crate::cli) again: Option<String>,
    /// The hint, if nothing could be restored, and that command does not help.
    pub(in crate::cli) instead: Option<&'w str>,
}

impl Words<'_> {
    /// Returns what is said of a restore that takes nothing back.
    pub(in crate::cli) fn of_restore() -> Self {
        Self { verb: phrase::RESTORED, command: None, has_moved: false, again: None, instead: None }
    }
}

/// Returns what is said if no file of this worktree had to change, without the state that it is in.
pub(super) fn nothing_changed(restored: &Restored, words: &Words<'_>) -> String {
    // An undo or `op restore` may have moved refs alone.
    match (words.verb, words.command.map(printable)) {
        (phrase::RESTORED, _) if !words.has_moved => "nothing to do".to_owned(),
        _ if restored.dry_run => "no file would change".to_owned(),
        (phrase::UNDONE, Some(command)) => format!("undone: {command}; no file had to change"),
        (phrase::REDONE, Some(command)) => format!("redone: {command}; no file had to change"),
        _ => "no file had to change".to_owned(),
    }
}

/// Returns how many paths that differ the restore left; with `is_undo`, also those that every restore leaves.
pub(super) fn count(restored: &Restored, is_undo: bool) -> usize {
    let kept = restored.kept.iter().filter(|left| is_undo || !left.why.is_of_every_restore());
    kept.count() + restored.conflicts.len()
}

/// Prints what the restore left alone because of who has changed it, and how to restore that, too.
pub(super) fn print(restored: &Restored, Words { again, instead, .. }: &Words<'_>, call: &mut Call) {
    let kept = restored.kept.iter().filter(|left| left.why.yields_to_all()).count();
    let kept_for_commits = restored.kept.iter().filter(|left| left.why.is_for_commits()).count();
    let is_in_part = restored.kept.iter().any(|left| left.why == Why::CommittedInPart);
    let committed = restored.committed.len();
    let is_idle = restored.is_idle();
    if kept + committed == 0 {
        let left = count(restored, again.is_some());
        if is_idle && left > 0 {
            call.out.warning(&format!("nothing restored: {} kept", phrase::count(left, "path")));
        }
        if let Some(hint) = instead {
            call.out.hint(hint);
        }
        return;
    }
    if is_idle {
        let (by_others, by_commits) = (kept - kept_for_commits, kept_for_commits + committed);
        let is_unknown = by_commits == 0
            && restored.kept.iter().filter(|left| left.why.yields_to_all()).all(|left| left.why == Why::Unknown);
        let who = match (by_others, by_commits) {
            (_, 0) => "others have changed",
            (0, _) if is_in_part => "commits and uncommitted work have changed",
            (0, _) => "only commits have changed",
            _ => "others and commits have changed",
        };
        let paths = phrase::count(kept + committed, "path");
        call.out.warning(&match again {
            Some(_) => format!("nothing restored: {paths} changed since the restore"),
            None if is_unknown => {
                format!("nothing restored: {paths} changed since the checkpoint, by whom is not known")
            }
            None => format!("nothing restored: {who} {paths} since the checkpoint"),
        });
    }
    let id = call.names.id(&restored.target);
    let command = match again {
        Some(again) if is_idle || restored.dry_run => again.clone(),
        // The next undo goes further back.
        Some(_) => format!("restore --all {id} -- <path>..."),
        None => format!("restore --all {id}"),
    };
    let what = match (kept, committed) {
        (_, 0) => "overwrites the kept paths too".to_owned(),
        (0, _) => format!("restores {} too, which only commits have changed", phrase::count(committed, "path")),
        _ => format!("overwrites the kept paths too, and {} in commits", phrase::count(committed, "path")),
    };
    call.out.hint(&format!("'git checkpoint {command}' {what}"));
}

/// Prints how to restore later what an undo or a redo has left because a filter failed. If it has restored something, the next undo
/// goes further back.
pub(super) fn print_way_for_filters(restored: &Restored, verb: &str, id: &str, call: &mut Call) {
    let has_failed = restored.conflicts.iter().any(|left| left.why == Why::Unconvertible);
    if !has_failed || verb == phrase::RESTORED || restored.dry_run {
        return;
    }
    if restored.is_idle() {
        call.out.hint("the filter has to work first: mend it, and run the command again");
    } else {
        call.out.hint(&format!(
            "'git checkpoint restore --all {id} -- <path>...' restores what its filter has left, once that works"
        ));
    }
}

/// Prints how to go back to what was there before.
pub(super) fn print_way_back(restored: &Restored, verb: &str, call: &mut Call) {
    if restored.dry_run {
        return;
    }
    let before = restored.pre_restore.filter(|_| !restored.is_idle() && !restored.is_called_off);
    // Of `op restore`, the moves of refs are listed.
    let set_aside = restored.set_aside.last().filter(|id| verb != phrase::RESTORED && before != Some(**id));
    if let Some(id) = set_aside.map(|id| call.names.id(id)) {
        call.out
            .hint(&format!("'git checkpoint restore --all {id}' brings back what was edited: it is in the archive"));
    }
    // What was half-way is nothing to go back to.
    if let Some(id) = before.map(|id| call.names.id(&id)) {
        let command = if verb == phrase::UNDONE { "redo" } else { "undo" };
        call.out.hint(&format!("'git checkpoint {command}' goes back to {id}"));
    }
}
