//! What a checkpoint is called wherever people see it: by its message, or by what a restore has put back.

use gix::ObjectId;

use super::restored_target::{is_before_restore, restored, target_before};
use crate::{
    git::Repo,
    model::checkpoint::{Checkpoint, Origin},
};

/// What a restore has put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source<'s> {
    /// Something without a message, which may be lost.
    Silent,
    /// The state before another restore: this one was an undo.
    BeforeRestore,
    /// What another restore had left.
    Restore,
    /// A checkpoint or a commit with this message.
    Message(&'s str),
}

/// Returns what `checkpoint` is called, with ids as short as the user wants them.
///
/// Messages that we store have ids of a fixed length, which `core.abbrev` must not change.
pub(crate) fn called(repo: &Repo, checkpoint: &Checkpoint) -> String {
    let subject = &checkpoint.subject;
    if let Some(target) = restored(&checkpoint.origin).filter(|_| is_result(repo, checkpoint)) {
        let message = repo.message_of(target).ok();
        let first = message.as_ref().and_then(|message| message.lines().next()).unwrap_or_default();
        let is_restore = || repo.find_checkpoint(target).is_ok_and(|it| it.is_some_and(|it| is_by_restore(&it.origin)));
        let source = match first {
            "" => Source::Silent,
            _ if is_before_restore(first) => Source::BeforeRestore,
            _ if is_restore() => Source::Restore,
            _ => Source::Message(first),
        };
        return text(source, is_whole(repo, checkpoint, target), &repo.short_id(&target));
    }
    match target_before(subject).map(|hex| repo.ids_with_prefix(hex).unwrap_or_default()).as_deref() {
        Some([id]) => super::restored_target::before(&repo.short_id(id)),
        _ => subject.clone(),
    }
}

/// Returns `command`, the text of an operation, with the ids of the commits that it `recorded` as short as the user wants them.
///
/// The operation log has these ids in a fixed length, too.
pub(crate) fn with_short_ids(repo: &Repo, command: &str) -> String {
    const RECORDED: &str = ": recorded ";
    let Some((start, ids)) = command.rsplit_once(RECORDED) else { return command.to_owned() };
    let short = |word: &str| match repo.ids_with_prefix(word).unwrap_or_default().as_slice() {
        [id] => repo.short_id(id),
        _ => word.to_owned(),
    };
    format!("{start}{RECORDED}{}", ids.split(", ").map(short).collect::<Vec<_>>().join(", "))
}

fn is_by_restore(origin: &Origin) -> bool {
    restored(origin).is_some()
}

/// Returns true if `checkpoint` is what a restore has left, and nothing was saved after that before it was carried forward.
fn is_result(repo: &Repo, checkpoint: &Checkpoint) -> bool {
    let source = checkpoint.origin.carried.and_then(|id| repo.find_checkpoint(id).ok().flatten());
    source.is_none_or(|source| is_by_restore(&source.origin))
}

/// Returns true if the worktree was as `target` after the restore, so that none of it was left out.
fn is_whole(repo: &Repo, checkpoint: &Checkpoint, target: ObjectId) -> bool {
    // One that was carried to another base has the files of that.
    let original = checkpoint.origin.carried.and_then(|id| repo.tree_of_commit(id).ok());
    repo.tree_of_commit(target).is_ok_and(|tree| tree == original.unwrap_or(checkpoint.tree_id))
}

fn text(source: Source<'_>, is_whole: bool, id: &str) -> String {
    let parts = if is_whole { "" } else { "parts of " };
    match source {
        Source::Silent => format!("restored {parts}{id}"),
        Source::BeforeRestore => format!("undid a restore: back to {id}"),
        Source::Restore => format!("restored {parts}the result of an earlier restore ({id})"),
        Source::Message(message) => format!("restored {parts}'{message}' ({id})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::whole(Source::Message("add mul"), true, "restored 'add mul' (1a2b3c4)")]
    #[case::parts(Source::Message("add mul"), false, "restored parts of 'add mul' (1a2b3c4)")]
    #[case::undo(Source::BeforeRestore, false, "undid a restore: back to 1a2b3c4")]
    #[case::again(Source::Restore, true, "restored the result of an earlier restore (1a2b3c4)")]
    #[case::lost(Source::Silent, true, "restored 1a2b3c4")]
    fn what_a_restore_is_called(#[case] source: Source<'_>, #[case] is_whole: bool, #[case] expected: &str) {
        assert_eq!(text(source, is_whole, "1a2b3c4"), expected);
    }
}
