//! What is said of a `worktree merge`: refusals, hints and the entry in the operation log.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    merge_sides::Side,
    merged::{How, Merged, Outcome},
};
use crate::{error::Error, git::merge_branch::GitEnded, model::operation::branch_was_at};

/// What to do if nothing was merged after a rebase.
const REBASED: &str = "the branch in the other worktree is rebased, and stays so: run it again";

/// Returns what a user is to see of what git has said.
pub(super) fn said(ended: &GitEnded, result: Outcome) -> BString {
    // Git says so of every squash.
    const AS_ASKED: &[u8] = b"Automatic merge went well; stopped before committing as requested";
    match result {
        Outcome::Conflicts => ended.report.clone(),
        Outcome::Staged => ended.said.lines_with_terminator().filter(|line| line.trim_end() != AS_ASKED).collect(),
        _ => ended.said.clone(),
    }
}

/// Returns the error for a merge that git has refused.
pub(super) fn refused(ended: &GitEnded, here: &Side, source: &Side) -> Error {
    ended.cause_of(Error::refused(format!("git cannot merge '{}' into '{}'", source.shown(), here.shown())))
}

/// Returns `error` with what is to be known of the merge that has ended with it: whether the source is rebased, and whether git has
/// begun the merge, and has not noted it as one that is under way.
pub(super) fn with_state(error: Error, merged: &Merged) -> Error {
    let error = if merged.rebased.is_some() { rebased(error) } else { error };
    match merged.checkpoint.filter(|_| merged.is_begun) {
        Some(id) => also(error, &format!("git has begun the merge here: {}", before_it(id, true))),
        None => error,
    }
}

/// Returns `error`, after which nothing was merged though the source is rebased.
pub(super) fn rebased(error: Error) -> Error {
    also(error, REBASED)
}

/// Returns `error` with `hint`, too.
fn also(error: Error, hint: &str) -> Error {
    let both = error.hint().map_or_else(|| hint.to_owned(), |first| format!("{first}; {hint}"));
    error.with_hint(both)
}

/// Returns what brings the files of the checkpoint `id` back, and what was staged if it `is_staged`.
fn before_it(id: ObjectId, is_staged: bool) -> String {
    if is_staged {
        format!("'git checkpoint restore --staged {id}' brings the files and what was staged from before it back")
    } else {
        format!("'git checkpoint restore {id}' brings the files from before it back")
    }
}

pub(super) fn no_fast_forward(here: &Side, source: &Side) -> Error {
    Error::refused(format!(
        "'{}' has commits that '{}' does not have: no fast-forward is possible",
        here.shown(),
        source.shown()
    ))
    .with_hint("'--rebase' rebases the other branch first; without an option, a merge commit is made")
}

/// Returns the error for a branch with `merges` that is to be rebased: git would leave out what only a merge commit has.
pub(super) fn no_rebase(source: &Side, merges: usize) -> Error {
    let what = match merges {
        1 => "a merge".to_owned(),
        _ => format!("{merges} merges"),
    };
    let what = format!("the commits of '{}' have {what}: a rebase drops what only a merge has", source.shown());
    Error::refused(what).with_hint("merge it without '--rebase'")
}

/// Returns the error for two branches that have no commit in common.
pub(super) fn unrelated(here: &Side, source: &Side) -> Error {
    Error::refused(format!("'{}' and '{}' have no commit in common", here.shown(), source.shown()))
}

/// Returns what the operation log says instead of an undo; none if nothing was changed.
///
/// It is read much later: what it names deletes nothing, whatever was done since.
pub(super) fn instead(merged: &Merged, here: &Side, source: &Side) -> Option<String> {
    let mut all = Vec::new();
    if merged.after != merged.before {
        all.push(branch_was_at(here.full.as_bstr(), merged.before, merged.after));
    }
    let is_staged = merged.result == Outcome::Staged || merged.is_begun;
    let is_under_way = matches!(merged.result, Outcome::Conflicts | Outcome::Stopped) && merged.how != How::Rebase;
    if is_under_way {
        // By then, it may have become a commit.
        all.push(format!("'{}' was at {} before", here.shown(), merged.before));
    }
    if let Some(id) = merged.checkpoint.filter(|_| is_staged || is_under_way) {
        all.push(before_it(id, is_staged));
    }
    match merged.rebased.filter(|_| merged.is_rebase_begun) {
        Some(now) => all.push(branch_was_at(source.full.as_bstr(), source.commit, now)),
        None if merged.is_rebase_begun => all.push(format!("'{}' was at {} before", source.shown(), source.commit)),
        None => {}
    }
    (!all.is_empty()).then(|| all.join("; "))
}
