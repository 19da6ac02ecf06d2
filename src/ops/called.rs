//! What a checkpoint is called wherever people see it: by its message, or by what a restore has put back.

use gix::ObjectId;

use super::restored_target::{is_before_restore, restored, subject_after, target_before};
use crate::{
    git::Repo,
    model::checkpoint::{Checkpoint, Origin},
};

/// How many checkpoints before one that is carried forward are looked at for the restore that is carried.
const MOST_EARLIER: usize = 64;

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
    let result = restored(&checkpoint.origin).and_then(|target| Some((target, result_of(repo, checkpoint, target)?)));
    if let Some((target, tree_id)) = result {
        let message = repo.message_of(target).ok();
        let first = message.as_ref().and_then(|message| message.lines().next()).unwrap_or_default();
        let is_restore = || repo.find_checkpoint(target).is_ok_and(|it| it.is_some_and(|it| is_by_restore(&it.origin)));
        let source = match first {
            "" => Source::Silent,
            _ if is_before_restore(first) => Source::BeforeRestore,
            _ if is_restore() => Source::Restore,
            _ => Source::Message(first),
        };
        return text(source, repo.tree_of_commit(target).is_ok_and(|tree| tree == tree_id), &repo.short_id(&target));
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

/// Returns the tree that the restore of `target` has left, if that is what `checkpoint` is: nothing was saved after the restore
/// before it was carried forward, or nothing else was carried.
fn result_of(repo: &Repo, checkpoint: &Checkpoint, target: ObjectId) -> Option<ObjectId> {
    let carried = checkpoint.origin.carried.and_then(|id| repo.find_checkpoint(id).ok().flatten());
    // One that was carried to another base has the files of that.
    let Some(source) = carried else { return Some(checkpoint.tree_id) };
    if is_by_restore(&source.origin) {
        return Some(source.tree_id);
    }
    let is_start = checkpoint.subject == subject_after(target);
    let mut earlier = repo.chain_in_time(source.id).take(MOST_EARLIER).take_while(Result::is_ok).flatten();
    let restore = is_start.then(|| earlier.find(|it| restored(&it.origin) == Some(target)));
    restore.map(|found| found.map_or(checkpoint.tree_id, |found| found.tree_id))
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
