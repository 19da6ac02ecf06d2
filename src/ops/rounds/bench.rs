//! Where a test of a round runs: in its worktree, or, once that is removed, in one that is made for the test.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    super::{
        Context,
        worktrees::{self, AddOptions, RemoveOptions},
    },
    commit::checkpoint,
    compare::Entry,
    names::new_branch,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{Head, registrations::Registration},
};

/// A worktree in which the test of a round can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bench {
    /// Its root.
    pub(crate) root: PathBuf,
    /// The branch that was made for it, and the commit at which that was made; none: it is the round's own worktree.
    pub(crate) made: Option<(String, ObjectId)>,
}

/// Returns a worktree for a test of the round `entry`. A live round gets a checkpoint first: a test may change files.
///
/// # Errors
/// [`Kind::Refused`] if the round works in the worktree of `context`, or a turn is under way in its own; as
/// `worktree add`.
pub(crate) fn bench(context: &Context, entry: &Entry) -> Result<Bench> {
    let Some(tip) = entry.to else {
        let root = entry.there.repo.worktree_root().to_owned();
        if entry.there.repo.git_dir() == context.repo.git_dir() {
            return Err(Error::refused(format!("the round works in '{}', this worktree", root.display())));
        }
        // What a test changes would be the agent's.
        if let Some(found) = entry.there.repo.registrations()?.iter().find(|it| it.id == entry.there.repo.worktree_id())
        {
            worktrees::refuse_open_turn(&entry.there, found)?;
        }
        checkpoint(&entry.there)?;
        return Ok(Bench { root, made: None });
    };
    let taken = std::collections::BTreeSet::new();
    let branch = new_branch(context, None, &taken)?;
    let options =
        AddOptions { branch: branch.clone(), create: true, base: Some(tip.to_string()), ..AddOptions::default() };
    let root = worktrees::add(context, &options)?.path.to_path_lossy().into_owned();
    Ok(Bench { root, made: Some((branch, tip)) })
}

/// Returns where `inside`, a directory in the worktree with this root, really is.
///
/// # Errors
/// [`Kind::User`] if there is none; [`Kind::Refused`] if it is not in the worktree: what an agent has committed may be a symbolic link
/// to anywhere.
pub(crate) fn below(root: &Path, inside: &Path) -> Result<PathBuf> {
    let path = root.join(inside);
    let real = |path: &Path| {
        fs::canonicalize(path).context(Kind::User, || format!("cannot find the directory '{}'", path.display()))
    };
    let (root, there) = (real(root)?, real(&path)?);
    if there.starts_with(&root) {
        return Ok(there);
    }
    Err(Error::refused(format!("'{}' leads out of its worktree, to '{}'", path.display(), there.display())))
}

/// Removes the worktree, if it was made for the test, as `worktree remove` does, deletes what was removed, and the branch.
///
/// # Errors
/// As `worktree remove`; [`Kind::Refused`] if the test has committed something, or moved HEAD: the worktree and the branch stay then. The
/// message says what stays.
pub(crate) fn clear(context: &Context, bench: &Bench, run: worktrees::Run<'_>) -> Result<()> {
    let Some((branch, tip)) = &bench.made else { return Ok(()) };
    let head = Head { id: Some(*tip), branch: Some(format!("refs/heads/{branch}").into()) };
    let made = format!("the worktree '{}', which was made for it", bench.root.display());
    let is_left = |error: Error| {
        let message = format!("{made}, is left: {}", error.message());
        error.with_message(message)
    };
    let registered = worktrees::registered(context, Some(bench.root.as_os_str())).map_err(is_left)?;
    if registered.head != head {
        return Err(is_left(Error::refused(format!(
            "it is not at the commit of the round any more, or not on the branch '{branch}', which was made, too"
        ))));
    }
    let options =
        RemoveOptions { name: bench.root.clone().into(), force: true, head: Some(head), ..RemoveOptions::default() };
    let removal = worktrees::remove(context, &options, &mut |_| Ok(true), run).map_err(is_left)?;
    let deleted = worktrees::delete_removed(context, &removal.id);
    deleted.map_err(|error| {
        let message = format!("{made}, is removed, and {}; its branch '{branch}' stays", error.message());
        error.with_message(message)
    })?;
    let main = context.repo.registrations()?.first().map(Registration::directory);
    let main = main.ok_or_else(|| Error::internal("git has no main worktree"))?;
    context.repo.delete_made_branch(&main, branch, *tip)?;
    if context.repo.find_ref(&format!("refs/heads/{branch}"))?.is_some() {
        return Err(Error::refused(format!(
            "{made}, is removed, but its branch '{branch}' has a new commit, and stays"
        )));
    }
    Ok(())
}
