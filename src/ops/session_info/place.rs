//! Which worktree a session is in: git may give the id of a removed worktree to a new one, where no session of the old one is.

use bstr::BStr;

use super::super::Context;
use crate::{
    git::{Repo, worktrees},
    model::{refname::encode_component, session::Session},
};

/// Notes that `session` is in this worktree.
pub(crate) fn set_here(context: &Context, session: &mut Session) {
    let repo = &context.repo;
    session.worktree = encode_component(repo.worktree_id());
    session.worktree_path = repo.worktree_root().display().to_string();
    session.worktree_made = (repo.worktree_id() != "main").then(|| worktrees::made(repo.git_dir())).flatten();
}

/// Returns true if `session` is in the worktree that has git's id `worktree` now, as far as that is known.
pub(crate) fn is_there(repo: &Repo, session: &Session, worktree: &BStr) -> bool {
    let is_made_then = |then: i64| worktrees::made(&repo.git_dir_of(worktree)) == Some(then);
    session.is_in(worktree) && session.worktree_made.is_none_or(is_made_then)
}
