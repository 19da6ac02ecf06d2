//! A round in a copy that is a repository of its own: of a commit and its history, or of a directory that is in no repository.

use std::path::Path;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{
        Context, hooks,
        sessions::{self, OnMultisession, SessionInfo},
        worktrees,
    },
    copies, mirror,
    names::Folders,
    narrowed::narrowed,
    options::{Begun, StartOptions},
    plain, scratch,
    source::repo_of,
};
use crate::{
    config::Mirror,
    error::{Context as _, Error, Kind, Result},
    git::{Repo, refs::RefUpdate},
    model::{refname::HISTORY, round::WORKTREES},
    state::{
        self, approved, failpoint, owner,
        rounds::{self, Round},
    },
};

/// What is copied.
enum Source {
    /// A commit of a repository, and where in its worktree the directory is.
    Repository(Box<Context>, BString),
    /// All of a directory.
    Plain(plain::Content),
}

/// Makes the copy of the place number `at`.
pub(super) fn make(
    context: &Context,
    round: &mut Round,
    at: usize,
    folders: &Folders,
    options: &StartOptions,
    begun: &mut Begun,
) -> Result<()> {
    let place = &round.places[at];
    let branch = place.branch.clone().ok_or_else(|| Error::internal("a round has no branch"))?;
    let from = place.context.clone();
    let source = source(context, round, at, folders)?;
    let inside = round.asked.workspace.as_ref().map(|it| scratch::make_folder(&it.join(WORKTREES))).transpose()?;
    let path = worktrees::claim(context, &branch, inside.as_deref())?;
    let mark = format!("{}-{}", round.id, at + 1);
    (round.places[at].claimed, round.places[at].mark) = (Some(path.clone()), Some(mark.clone()));
    round.write(context.repo.common_dir())?;
    failpoint::hit("round:after-claim");
    let made = context.repo.make_beside(&path, &branch)?;
    rounds::write_mark(made.git_dir(), &mark)?;
    begun.copies.push(path.clone());
    failpoint::hit("round:after-mark");
    let there = context.with_repo(made);
    scratch::exclude(&there, folders)?;
    let begin = match &source {
        Source::Repository(here, _) => from_repository(here, &there, round, at, &branch, options)?,
        Source::Plain(content) => plain::fill(&there, &from, &branch, content)?,
    };
    round.places[at].base = Some(begin.to_string());
    failpoint::hit("round:after-copy");
    // Where git, and we, keep what they have read of HEAD, nothing was there.
    let there = context.with_repo(context.repo.open_worktree(&path)?);
    let (here, directory) = match &source {
        Source::Repository(here, directory) => (&**here, directory.as_bstr()),
        Source::Plain(_) => (context, "".into()),
    };
    give_state(context, here, &there, options, &from)?;
    own_branch(context, &there, round, at, &branch, begin)?;
    if let Some(session) = round.asked.session.as_ref().filter(|_| at == 0) {
        owner::write(there.repo.git_dir(), session)?;
        let info = SessionInfo { on_multisession: OnMultisession::Continue, ..SessionInfo::default() };
        sessions::start(&there, session, &info, &mut |_| Ok(true))?;
    }
    scratch::make_inside(&path, directory)?;
    let place = &mut round.places[at];
    place.inside = directory.to_owned();
    place.scratch = Some(scratch::make(&there, folders)?);
    place.worktree = Some(there.repo.worktree_id().to_owned());
    place.path = Some(path);
    Ok(())
}

/// Looks at the directory of the place number `at`, before anything is made.
///
/// # Errors
/// [`Kind::User`] if `--base` is given for one that is in no repository; [`Kind::Refused`] if that cannot be copied as a whole, or the
/// copy would be in it.
fn source(context: &Context, round: &Round, at: usize, folders: &Folders) -> Result<Source> {
    let place = &round.places[at];
    let from = &place.context;
    if Repo::is_inside_repository(from) {
        let (repo, directory) = repo_of(context, place)?;
        return Ok(Source::Repository(Box::new(context.with_repo(repo)), directory));
    }
    if round.asked.base.is_some() {
        return Err(Error::user(format!("'--base' names a commit, and '{}' is in no repository", from.display()))
            .with_hint("all that is in it is copied"));
    }
    let parent = round.asked.workspace.clone().map_or_else(|| copies::directory(&context.repo), Ok)?;
    if copies::real(&parent)?.starts_with(copies::real(from)?) {
        return Err(Error::refused(format!("the copy would be in '{}' itself", from.display()))
            .with_hint("'--workspace' names a directory elsewhere, in which it is made"));
    }
    plain::look(context, from, folders).map(Source::Plain)
}

/// Lets the copy begin with the commit, or the checkpoint, that was asked for; returns the commit at which the round begins.
fn from_repository(
    here: &Context,
    there: &Context,
    round: &mut Round,
    at: usize,
    branch: &str,
    options: &StartOptions,
) -> Result<ObjectId> {
    let mirror = options.mirror_in(here);
    let taken = mirror::take(here, mirror)?;
    let (commit, files) = match &taken {
        Some(taken) => (taken.base, None),
        None => worktrees::commit_of_base(here, round.asked.base.as_deref().unwrap_or("HEAD"))?,
    };
    here.repo.give_settings(&there.repo)?;
    // Without the records, nothing there knows whose lines the commits have.
    let log = here.repo.find_sound_ref(HISTORY)?;
    let checkpoint = taken.as_ref().map(|it| it.checkpoint).or(files);
    let only = taken.as_ref().map(|it| &it.paths);
    let checkpoint = checkpoint.map(|id| narrowed(here, id, only)).transpose()?;
    let ids: Vec<ObjectId> = [Some(commit), checkpoint, log].into_iter().flatten().collect();
    there
        .repo
        .copy_commits(&here.repo, &ids)
        .map_err(|error| if here.repo.is_partial_clone() { of_partial_clone(here, error) } else { error })?;
    failpoint::hit("round:after-objects");
    if let Some(log) = log {
        there.repo.update_refs(&[RefUpdate { name: HISTORY.into(), old: None, new: Some(log) }])?;
    }
    let root = there.repo.worktree_root().to_owned();
    there.repo.make_branch(&root, branch, commit, &commit.to_string())?;
    let fresh = there.with_repo(there.repo.open_worktree(&root)?);
    for id in [Some(commit), checkpoint].into_iter().flatten() {
        fresh.repo.copy_lfs(&here.repo, here.repo.tree_of_commit(id)?)?;
    }
    fresh.repo.check_out_first()?;
    let place = &mut round.places[at];
    (place.base, place.files) = (Some(commit.to_string()), files.map(|id| id.to_string()));
    let fresh = there.with_repo(there.repo.open_worktree(&root)?);
    worktrees::fill_with(here, &fresh, checkpoint.filter(|_| files.is_some()))?;
    match taken.zip(checkpoint) {
        Some((taken, checkpoint)) if mirror != Mirror::None => {
            Ok(mirror::bring(&fresh, place, branch, mirror::Taken { checkpoint, ..taken })?.tip)
        }
        _ => Ok(commit),
    }
}

/// Returns the error for commits of `here` that cannot be copied because of `error`: git does not ask a remote for the rest then.
fn of_partial_clone(here: &Context, error: Error) -> Error {
    let root = here.repo.worktree_root().display();
    Error::refused(format!("'{root}' is a partial clone, and does not have all that is to be copied"))
        .with_cause(error)
        .with_hint("'git fetch --refetch --no-filter' brings what is not here; '--mode worktree' needs no copy")
}

/// Gives the copy what we keep beside a repository: our settings, what the user has approved, and our calls in git's hooks.
fn give_state(context: &Context, here: &Context, there: &Context, options: &StartOptions, from: &Path) -> Result<()> {
    let (common, copy) = (here.repo.common_dir(), there.repo.common_dir());
    let ours = state::ensure_directory(copy)?;
    let settings = state::directory(common).join("config.toml");
    if settings.is_file() {
        let what = || format!("cannot copy '{}'", settings.display());
        std::fs::copy(&settings, ours.join("config.toml")).context(Kind::Internal, what)?;
    }
    let approved = approved::read(common)?;
    if !approved.is_empty() {
        approved::write(copy, &approved)?;
    }
    rounds::write_copied_from(there.repo.git_dir(), from)?;
    let is_enabled = state::hooks::read(context.repo.common_dir())?.is_some();
    if let Some(program) = options.program.clone().filter(|_| is_enabled) {
        hooks::enable(there, &hooks::Options { program, hook_manager: false, dry_run: false })?;
    }
    Ok(())
}

/// Makes the branch of the round in this repository, too, at `begin`, so that no other one gets its name.
fn own_branch(
    context: &Context,
    there: &Context,
    round: &mut Round,
    at: usize,
    branch: &str,
    begin: ObjectId,
) -> Result<()> {
    context.repo.bring_commits(&there.repo, &[begin])?;
    round.places[at].brought = Some(begin.to_string());
    round.write(context.repo.common_dir())?;
    context.repo.make_branch(&copies::directory(&context.repo)?, branch, begin, &begin.to_string())
}
