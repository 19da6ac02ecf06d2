//! Where HEAD of a worktree goes that is put back: one rule, whether a restore or a command after a killed one does it.

use std::{fs, path::Path};

use bstr::{BStr, ByteSlice as _};

use super::super::Context;
use crate::{
    error::Result,
    git::{
        Repo,
        registrations::{Place, Registration},
    },
    model::removal::{HeadAgain, WhyDetached, head_again},
    state::removed::Removed,
};

/// Decides what HEAD of a removed worktree is restored to.
pub(super) fn decide(context: &Context, removed: &Removed) -> Result<HeadAgain> {
    let Some(branch) = &removed.branch else { return Ok(head_again(false, removed.head, None, false)) };
    let now = branch.to_str().ok().map(|name| context.repo.find_ref(name)).transpose()?.flatten();
    let registered = context.repo.registrations()?;
    let mut others = registered.iter().filter(|it| it.id != removed.worktree);
    Ok(head_again(true, removed.head, now, others.any(|it| has_checked_out(it, branch.as_bstr()))))
}

/// Returns true if git takes `branch` for checked out in `found`: at HEAD, or where a rebase or a bisection returns to.
pub(crate) fn has_checked_out(found: &Registration, branch: &BStr) -> bool {
    const RETURNS: [&str; 3] = ["rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"];
    let returns_to = |name: &str| {
        let text = fs::read(found.git_dir.join(name)).unwrap_or_default();
        let text = text.trim();
        text == *branch || branch.strip_prefix(b"refs/heads/").is_some_and(|short| short == text)
    };
    // A bare repository has a HEAD, but nothing is checked out there.
    found.place != Place::Bare
        && (found.head.branch.as_ref().is_some_and(|at| at == branch) || RETURNS.iter().any(|name| returns_to(name)))
}

/// Deletes the branch again that [`put`] has made for a worktree that could not be put back after that.
pub(super) fn take_back(context: &Context, removed: &Removed, head: HeadAgain) {
    let branch = removed.branch.as_ref().and_then(|branch| branch.strip_prefix(b"refs/heads/")?.to_str().ok());
    let (HeadAgain::NewBranch, Some(branch), Some(commit)) = (head, branch, removed.head) else { return };
    if let Err(error) = context.repo.delete_made_branch(context.repo.common_dir(), branch, commit) {
        tracing::warn!(%error, "the branch '{branch}' is left");
    }
}

/// Lets HEAD in git's directory `admin` of a worktree whose root is about to come back point to where the worktree's files are
/// from. Returns where that is.
pub(super) fn put(context: &Context, removed: &Removed, admin: &Path) -> Result<HeadAgain> {
    let (repo, head) = (&context.repo, decide(context, removed)?);
    let main = repo.registrations()?.first().map_or_else(|| repo.common_dir().to_owned(), Registration::directory);
    let branch = removed.branch.as_ref().and_then(|branch| branch.strip_prefix(b"refs/heads/")?.to_str().ok());
    match (head, removed.head) {
        (HeadAgain::NewBranch, Some(commit)) => {
            let made = branch.map_or(Ok(()), |branch| repo.make_branch(&main, branch, commit, "a removed worktree"));
            if let Err(error) = made {
                tracing::debug!(%error, "the branch is not made again");
                Repo::detach_head(&main, admin, commit)?;
                return Ok(HeadAgain::Detached(WhyDetached::NotMade));
            }
        }
        (HeadAgain::Detached(_), Some(commit)) => {
            Repo::detach_head(&main, admin, commit)?;
            return Ok(head);
        }
        _ => {}
    }
    // A restore that failed, or was killed, may have detached it.
    let now = repo.registration(removed.worktree.as_bstr())?.and_then(|it| it.head.branch);
    if let Some(branch) = removed.branch.as_ref().filter(|branch| now.as_ref() != Some(branch)) {
        Repo::attach_head(&main, admin, branch.as_bstr())?;
    }
    Ok(head)
}
