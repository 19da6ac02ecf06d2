//! A round in the workspace itself: on a branch of its own, and back at its end to where HEAD was.

use std::{fs, path::Path, time::Duration};

use gix::ObjectId;

use super::{
    super::{
        Context,
        sessions::{self, OnMultisession, SessionInfo},
        uncommitted::{refuse_changes, refuse_changes_in_submodules},
        worktrees,
    },
    names::Folders,
    scratch,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{Repo, worktrees::inside},
    model::path_text,
    state::{
        self, failpoint,
        rounds::{self, Place, Round},
    },
};

/// How long a process waits for another one that makes a repository in the workspace.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Makes a repository of the directory `path`, unless it is the root of one. One above it does not count: it never gets a
/// branch of a round. One that has neither a commit nor an index gets its first commit. Returns true if it has made a repository.
///
/// # Errors
/// [`Kind::Refused`] if a repository above tracks files in it; if git fails.
pub(crate) fn prepare(path: &Path) -> Result<bool> {
    let path =
        fs::canonicalize(path).context(Kind::User, || format!("cannot find the directory '{}'", path.display()))?;
    // Another process may make it just now.
    let _lock = state::lock::directory(&path, LONGEST_WAIT)?;
    if fs::symlink_metadata(path.join(".git")).is_ok() {
        // A call may have been killed that made it. Or the user has, and the files are the user's.
        return if Repo::is_unfinished(&path)? { Repo::make_in(&path).map(|()| false) } else { Ok(false) };
    }
    if Repo::is_inside_repository(&path) {
        let above = Repo::open(&path)?;
        let prefix = inside(above.worktree_root(), &path).unwrap_or_default();
        let below = [prefix.as_slice(), b"/"].concat();
        let index = above.user_index()?;
        if index.is_some_and(|index| index.entries().iter().any(|entry| entry.path(&index).starts_with(&below))) {
            return Err(Error::refused(format!(
                "'{}' has files that the repository '{}' tracks",
                path.display(),
                above.worktree_root().display()
            ))
            .with_hint("give '--context' to work in a worktree of that repository"));
        }
    }
    Repo::make_in(&path).map(|()| true)
}

/// Returns true if the directory `path` has files of the user's besides git's directory.
pub(crate) fn has_files(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(|it| it.file_name() != ".git")))
}

/// Switches the workspace to the branch of the place number `at`, and notes before where HEAD was.
pub(super) fn begin(context: &Context, round: &mut Round, at: usize, folders: &Folders) -> Result<()> {
    let repo = &context.repo;
    let root = repo.worktree_root();
    if root != round.places[at].context {
        return Err(Error::refused(format!("'{}' is not the root of a worktree", round.places[at].context.display())));
    }
    if let Some((what, end)) = Repo::under_way(repo.git_dir()) {
        return Err(Error::refused(format!("{what} is under way in '{}'", root.display()))
            .with_hint(format!("finish it, or '{end}'")));
    }
    scratch::exclude(context, folders)?;
    let branch = round.places[at].branch.clone().ok_or_else(|| Error::internal("a round has no branch"))?;
    let head = repo.head()?;
    if head.id.is_none() {
        return Err(no_commit());
    }
    let is_on = |name: &str| head.branch.as_ref().is_some_and(|at| *at == format!("refs/heads/{name}").as_str());
    if !is_on(&branch) {
        if !round.takes_changes {
            refuse_changes(context, "commit first; or '--with-changes' takes all of it to the branch of the round")?;
        }
        switch(context, round, at, &branch)?;
    }
    if let Some(session) = &round.asked.session {
        let info = SessionInfo { on_multisession: OnMultisession::Continue, ..SessionInfo::default() };
        sessions::start(context, session, &info, &mut |_| Ok(true))?;
    }
    let place = &mut round.places[at];
    place.scratch = Some(scratch::make(context, folders)?);
    place.worktree = Some(repo.worktree_id().to_owned());
    place.path = Some(root.to_owned());
    Ok(())
}

/// Opens the workspace at `path`, in which `round` works, and notes that it does; none if another round has made that worktree: its
/// agent works there.
pub(super) fn marked(context: &Context, round: &Round, path: &Path) -> Result<Option<Context>> {
    let there = context.with_repo(Repo::open(path)?);
    let (git_dir, mark) = (there.repo.git_dir(), mark_of(round));
    match rounds::mark(git_dir) {
        Some(other) if other != mark => return Ok(None),
        Some(_) => {}
        None => rounds::write_mark(git_dir, &mark)?,
    }
    Ok(Some(there))
}

/// Forgets that `round` works in its workspace.
pub(super) fn unmark(context: &Context, round: &Round) -> Result<()> {
    let Some(path) = round.places.iter().find_map(|place| place.path.as_ref()) else { return Ok(()) };
    rounds::remove_mark(context.with_repo(Repo::open(path)?).repo.git_dir(), &mark_of(round))
}

/// Returns the mark of the workspace, the only directory of `round`.
fn mark_of(round: &Round) -> String {
    format!("{}-1", round.id)
}

fn no_commit() -> Error {
    Error::user("there is no commit yet, so that no round can begin at one")
        .with_hint("make the first one with 'git commit'")
}

fn switch(context: &Context, round: &mut Round, at: usize, branch: &str) -> Result<()> {
    let (repo, head) = (&context.repo, context.repo.head()?);
    let Some(commit) = head.id else { return Err(no_commit()) };
    let (start, name) = match &round.asked.base {
        None => (commit, "HEAD".to_owned()),
        Some(base) => {
            let found = repo.find_commit(base)?;
            (
                found.ok_or_else(|| {
                    Error::user(format!("'{}' is no commit", path_text::printable(base.as_bytes().into())))
                })?,
                base.clone(),
            )
        }
    };
    round.places[at].head = Some(head.branch.map_or_else(|| commit.to_string(), |branch| branch.to_string()));
    round.places[at].base = Some(start.to_string());
    round.write(repo.common_dir())?;
    if repo.find_ref(&format!("refs/heads/{branch}"))?.is_none() {
        repo.make_branch(repo.worktree_root(), branch, start, &name)?;
    }
    failpoint::hit("round:before-switch");
    repo.switch_to(branch, false).inspect_err(|_| {
        if let Err(error) = repo.delete_made_branch(repo.worktree_root(), branch, start) {
            tracing::warn!(%error, "the branch '{branch}' is left");
        }
    })
}

/// Switches the workspace of `place` back, if it has switched to `branch` for a round that cannot begin, and deletes the branch.
///
/// # Errors
/// If git refuses to switch back.
pub(super) fn undo(context: &Context, place: &Place, branch: &str) -> Result<()> {
    let full = format!("refs/heads/{branch}");
    let here = context.with_repo(Repo::open(&place.context)?);
    if here.repo.head()?.branch.is_none_or(|at| at != full.as_str()) {
        return Ok(());
    }
    switch_back(&here, place)?;
    let made_at = place.base.as_ref().and_then(|base| ObjectId::from_hex(base.as_bytes()).ok());
    made_at.map_or(Ok(()), |commit| here.repo.delete_made_branch(here.repo.worktree_root(), branch, commit))
}

/// Refuses if a session has a turn under way in the workspace, or a submodule there has changes that no commit of the superproject
/// has.
pub(super) fn refuse_at_work(here: &Context) -> Result<()> {
    let repo = &here.repo;
    if let Some(found) = repo.registrations()?.iter().find(|it| it.id == repo.worktree_id()) {
        worktrees::refuse_open_turn(here, found)?;
    }
    refuse_changes_in_submodules(repo)
}

/// Returns true if HEAD of the workspace of `place` is where it was before the round.
pub(super) fn is_back(here: &Context, place: &Place) -> Result<bool> {
    let head = here.repo.head()?;
    let now = head.branch.map_or_else(|| head.id.map(|id| id.to_string()), |branch| Some(branch.to_string()));
    Ok(now == place.head)
}

/// Switches the workspace of `place` back to where HEAD was.
///
/// # Errors
/// [`Kind::Refused`] if that is not known, or is no more, or git refuses.
pub(super) fn switch_back(context: &Context, place: &Place) -> Result<()> {
    let Some(head) = &place.head else {
        return Err(Error::refused("it is not known where HEAD was before the round"));
    };
    match head.strip_prefix("refs/heads/") {
        Some(branch) => context.repo.switch_to(branch, false),
        None => context.repo.switch_to(head, true),
    }
}
