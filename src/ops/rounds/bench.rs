//! Where a test of a round runs: in its worktree, or, once that is removed, in one that is made for the test.

use std::path::{Path, PathBuf};

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
    error::{Error, Result},
    git::registrations::Registration,
};

/// A worktree in which the test of a round can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bench {
    /// Its root.
    pub(crate) root: PathBuf,
    /// The directory to work on.
    pub(crate) directory: PathBuf,
    /// The branch that was made for it, and the commit at which that was made; none: it is the round's own worktree.
    pub(crate) made: Option<(String, ObjectId)>,
}

/// Returns a worktree for a test of the round `entry`. A live round gets a checkpoint first: a test may change files.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if the round works in the worktree of `context`, or a turn is under way in its own; as
/// `worktree add`.
pub(crate) fn bench(context: &Context, entry: &Entry) -> Result<Bench> {
    let Some(tip) = entry.to else {
        let root = entry.there.repo.worktree_root().to_owned();
        if entry.there.repo.git_dir() == context.repo.git_dir() {
            return Err(Error::refused(format!("the round works in '{}', this worktree", root.display())));
        }
        // What a test changes would be the agent's.
        if let Some(found) = context.repo.registrations()?.iter().find(|it| it.id == entry.there.repo.worktree_id()) {
            worktrees::refuse_open_turn(&entry.there, found)?;
        }
        checkpoint(&entry.there)?;
        return Ok(Bench { directory: below(&root, entry), root, made: None });
    };
    let taken = std::collections::BTreeSet::new();
    let branch = new_branch(context, None, &taken)?;
    let options =
        AddOptions { branch: branch.clone(), create: true, base: Some(tip.to_string()), ..AddOptions::default() };
    let root = worktrees::add(context, &options)?.path.to_path_lossy().into_owned();
    Ok(Bench { directory: below(&root, entry), root, made: Some((branch, tip)) })
}

fn below(root: &Path, entry: &Entry) -> PathBuf {
    if entry.inside.as_os_str().is_empty() { root.to_owned() } else { root.join(&entry.inside) }
}

/// Removes the worktree, if it was made for the test, as `worktree remove` does, and its branch.
///
/// # Errors
/// As `worktree remove`: it stays then. [`Kind::Refused`](crate::error::Kind::Refused) if the test has committed something: the branch
/// stays.
pub(crate) fn clear(context: &Context, bench: &Bench, run: worktrees::Run<'_>) -> Result<()> {
    let Some((branch, tip)) = &bench.made else { return Ok(()) };
    let options = RemoveOptions { name: bench.root.clone().into(), force: true, ..RemoveOptions::default() };
    worktrees::remove(context, &options, &mut |_| Ok(true), run)?;
    let main = context.repo.registrations()?.first().map(Registration::directory);
    let main = main.ok_or_else(|| Error::internal("git has no main worktree"))?;
    context.repo.delete_made_branch(&main, branch, *tip)?;
    if context.repo.find_ref(&format!("refs/heads/{branch}"))?.is_some() {
        return Err(Error::refused(format!("the test has committed to the branch '{branch}', which stays")));
    }
    Ok(())
}
