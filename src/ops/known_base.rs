//! Where HEAD was when git-checkpoint last looked.

use std::path::PathBuf;

use super::{Context, Worktree, locked::KnownHead};
use crate::{
    error::Result,
    model::{
        head_move::{LogEnd, MoveKind},
        refname::Base,
    },
    state,
};

/// More is in the file only if it is damaged.
const LONGEST: u64 = 4096;

/// How many moves of HEAD back we look for a reset in a worktree that we see for the first time.
const MOST_MOVES: usize = 16;

fn base_file(context: &Context) -> PathBuf {
    state::directory(context.repo.git_dir()).join("base")
}

/// Returns true if we have looked at HEAD in this worktree before.
pub(crate) fn is_seen(context: &Context) -> bool {
    base_file(context).exists()
}

/// Returns where HEAD was when we last looked, and the end of the reflog then, if it was noted. In a linked worktree that we have not
/// seen yet, that is where it began: what git commits there may be work of this repository's sessions.
pub(crate) fn known_head(context: &Context) -> KnownHead {
    match context.locked() {
        Some(locked) => locked.known_head(|| read(context)),
        None => read(context),
    }
}

fn read(context: &Context) -> KnownHead {
    // A cache: what cannot be read is not known.
    let Some(text) = state::read_text(&base_file(context), LONGEST).ok().flatten() else {
        return context.repo.first_head();
    };
    let (base, end) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    Some((Base::parse(base)?, end.parse().ok()))
}

/// Returns where HEAD was when we last looked.
pub(crate) fn known_base(context: &Context) -> Option<Base> {
    known_head(context).map(|(base, _)| base)
}

/// Returns true if HEAD is where it was when we last looked, or if no reset has moved it since: what that leaves in the worktree
/// and the index is of other commits.
pub(crate) fn is_head_followable(context: &Context) -> Result<bool> {
    let repo = &context.repo;
    let known = known_head(context);
    let Some(head) = repo.head()?.id else { return Ok(known.is_some_and(|(base, _)| base == Base::Unborn)) };
    let Some(known) = known else {
        return Ok(!repo.left_lately(MOST_MOVES).iter().any(|(_, kind)| *kind == Some(MoveKind::Reset)));
    };
    let (moves, _) = repo.head_moves(known, head)?;
    Ok(moves.iter().all(|moved| moved.kind != MoveKind::Reset || moved.from == Base::Commit(moved.to)))
}

/// Remembers where HEAD is, and `end`, the end of the entry of the reflog that says so.
pub(crate) fn note_base(worktree: &Worktree<'_>, base: Base, end: Option<LogEnd>) -> Result<()> {
    state::ensure_directory(worktree.repo.git_dir())?;
    worktree.forget_known_head();
    let text = end.map(|end| format!(" {end}")).unwrap_or_default();
    state::replace_file(&base_file(worktree), format!("{base}{text}\n").as_bytes())?;
    worktree.note_known_head(base, end);
    Ok(())
}
