//! `round end`: commits what is there, checks that the branch has it, keeps the experiments, and only then removes worktrees.
//!
//! The file of the round says how far it has come. Each step can be repeated: after a crash, or a failure, the next call goes on.

use std::path::Path;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::{
    super::{
        Context,
        worktrees::{self, RemoveOptions},
    },
    archive,
    commit::{self, AGAIN, MESSAGE, commit_all, refuse_moved},
    listing::{bytes, named},
    lock::locked,
    names::check_label,
    retire::retire_waiting,
    workspace,
};
use crate::{
    error::{Error, Result},
    git::{Head, Repo, registrations::Registration},
    model::{id_text, path_text, round::Mode},
    state::{
        failpoint,
        removed::Removed,
        rounds::{Phase, Place, Round},
    },
};

/// How to end it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndOptions {
    /// What its experiments are kept as.
    pub(crate) archive_label: Option<String>,
    /// The message of the commits.
    pub(crate) message: Option<String>,
    /// Do not run the commands of `worktree.teardown`.
    pub(crate) no_teardown: bool,
    /// Let the worktrees stay.
    pub(crate) keep_worktree: bool,
}

/// What became of one directory. Serializes to an entry of `contexts`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct EndedPlace {
    /// The directory that was worked on.
    #[serde(serialize_with = "path_text::serialize")]
    pub(crate) context: BString,
    /// How it was isolated.
    pub(crate) mode: Mode,
    /// Its branch, which stays.
    pub(crate) branch: Option<String>,
    /// The checkpoint of what was there.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) checkpoint: Option<ObjectId>,
    /// The commit that was made; none if there was nothing to commit.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) commit: Option<ObjectId>,
    /// Where the experiments are.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) archive: Option<BString>,
    /// What `worktree restore` takes.
    pub(crate) removed: Option<String>,
    /// The worktree, if it stays.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) kept: Option<BString>,
    /// The ignored files and directories that were removed with the worktree.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub(crate) ignored: Vec<BString>,
    /// True if another command had removed the worktree before.
    pub(crate) gone: bool,
}

/// A round that has ended. Serializes to what `round end --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Ended {
    /// The version of this shape.
    pub(crate) version: u32,
    /// Its id.
    pub(crate) round: String,
    /// True if it had ended before.
    #[serde(skip)]
    pub(crate) already: bool,
    /// Its directories.
    pub(crate) contexts: Vec<EndedPlace>,
}

impl EndedPlace {
    fn of(place: &Place) -> Self {
        Self {
            context: bytes(&place.context),
            mode: place.mode,
            branch: place.branch.clone(),
            checkpoint: place.committed.as_ref().map(|it| it.checkpoint),
            commit: place.committed.as_ref().and_then(|it| it.commit),
            archive: place.archive.as_deref().map(bytes),
            removed: place.removed.clone(),
            kept: place.path.as_deref().filter(|_| place.is_kept).map(bytes),
            ignored: Vec::new(),
            gone: false,
        }
    }
}

/// Ends the round that `name` stands for: its branches stay. Of a round that has ended, it says what became of it. `run` runs the
/// commands of `worktree.teardown`.
///
/// # Errors
/// As `commit` and `worktree remove`: what is not committed, checked and kept by then is where it was.
pub(crate) fn end(context: &Context, name: &str, options: &EndOptions, run: worktrees::Run<'_>) -> Result<Ended> {
    context.repo.name_operation("round end");
    context.emit_failure("round end", try_end(context, name, options, run))
}

fn try_end(context: &Context, name: &str, options: &EndOptions, run: worktrees::Run<'_>) -> Result<Ended> {
    if options.message.as_ref().is_some_and(|message| message.trim().is_empty()) {
        return Err(Error::user("the message is empty"));
    }
    options.archive_label.as_deref().map_or(Ok(()), |label| check_label("the label", label))?;
    let id = named(context, name)?.id;
    let common = context.repo.common_dir();
    let (lock, mut round) = locked(context, &id)?;
    let already = round.phase == Phase::Ended;
    worktrees::put_back(context)?;
    let mut ended = Vec::new();
    for at in 0..round.places.len() {
        if round.places[at].is_done {
            ended.push(EndedPlace::of(&round.places[at]));
            continue;
        }
        let place = match round.places[at].mode {
            Mode::Legacy => end_legacy(context, &round.places[at])?,
            Mode::Workspace => end_workspace(context, &mut round, at, options)?,
            Mode::Worktree => end_worktree(context, &mut round, at, options, run)?,
        };
        ended.push(place);
        round.places[at].is_done = true;
        round.write(common)?;
    }
    round.phase = Phase::Ended;
    round.write(common)?;
    drop(lock);
    drop(retire_waiting(context));
    Ok(Ended { version: 1, round: round.id, already, contexts: ended })
}

/// Takes a checkpoint, if the directory is in a repository.
fn end_legacy(context: &Context, place: &Place) -> Result<EndedPlace> {
    let mut ended = EndedPlace::of(place);
    if Repo::is_inside_repository(&place.context) {
        let there = context.with_repo(Repo::open(&place.context)?);
        ended.checkpoint = Some(commit::checkpoint(&there)?);
    }
    Ok(ended)
}

fn end_workspace(context: &Context, round: &mut Round, at: usize, options: &EndOptions) -> Result<EndedPlace> {
    let place = round.places[at].clone();
    let here = context.with_repo(Repo::open(&place.context)?);
    let is_back = place.head.is_none() || workspace::is_back(&here, &place)?;
    if is_back && place.path.is_none() {
        // The start was killed before it had switched.
        return Ok(EndedPlace::of(&place));
    }
    if is_back && place.committed.is_some() {
        // The last call was killed after it had switched back. Or it has failed, and the user has switched back.
        workspace::refuse_changes(&here, "commit first: it is not known whether that was done for the round")?;
        return Ok(EndedPlace::of(&place));
    }
    let Some(branch) = place.branch.as_deref() else { return Err(Error::internal("a round has no branch")) };
    workspace::refuse_at_work(&here)?;
    let tip = commit(context, &here, round, at, branch, options)?;
    archive::archive(context, round, at, options.archive_label.as_deref())?;
    refuse_moved(&here.repo, branch, tip)?;
    workspace::switch_back(&here, &place)?;
    Ok(EndedPlace::of(&round.places[at]))
}

/// Commits all that `there` has to `branch`, notes that in the file of the round, and returns the commit of the branch.
fn commit(
    context: &Context,
    there: &Context,
    round: &mut Round,
    at: usize,
    branch: &str,
    options: &EndOptions,
) -> Result<ObjectId> {
    let message = options.message.as_deref().unwrap_or(MESSAGE);
    let committed = commit_all(there, &round.places[at], branch, message)?;
    let tip = committed.tip;
    round.places[at].committed = Some(committed);
    round.write(context.repo.common_dir())?;
    Ok(tip)
}

fn end_worktree(
    context: &Context,
    round: &mut Round,
    at: usize,
    options: &EndOptions,
    run: worktrees::Run<'_>,
) -> Result<EndedPlace> {
    let place = round.places[at].clone();
    let Some((branch, found)) = place.branch.as_deref().zip(found(context, &place)?) else {
        return gone(context, round.began, &mut round.places[at]);
    };
    if !options.keep_worktree {
        worktrees::refuse_in_use(context, &found)?;
    }
    follow_move(&mut round.places[at], &found);
    let there = context.with_repo(context.repo.open_worktree(&found.path)?);
    let tip = commit(context, &there, round, at, branch, options)?;
    archive::archive(context, round, at, options.archive_label.as_deref())?;
    if options.keep_worktree {
        round.places[at].is_kept = true;
        return Ok(EndedPlace::of(&round.places[at]));
    }
    failpoint::hit("round:before-removal");
    // It looks at the worktree once more: what is not at HEAD then, or HEAD on another commit, is not in the branch.
    let head = Head { id: Some(tip), branch: Some(format!("refs/heads/{branch}").into()) };
    let (name, no_teardown) = (found.path.clone().into_os_string(), options.no_teardown);
    let remove = RemoveOptions { name, force: false, no_teardown, head: Some(head) };
    let removal = worktrees::remove(context, &remove, &mut refuse_changed, run)?;
    failpoint::hit("round:after-removal");
    round.places[at].removed = Some(removal.id);
    Ok(EndedPlace { ignored: removal.ignored, ..EndedPlace::of(&round.places[at]) })
}

/// Refuses to remove a worktree that is not as it was committed.
fn refuse_changed(removal: &worktrees::Removal) -> Result<bool> {
    let path = path_text::printable(removal.path.as_ref());
    if removal.teardown.is_some() {
        return Err(Error::refused(format!("the teardown commands have changed '{path}'"))
            .with_hint(format!(
                "'git -C {} status' shows what; '--no-teardown' commits what they have left, and ends the round without them",
                path_text::shell_word(&removal.path.to_string())
            )));
    }
    Err(Error::race(format!("'{path}' has just been changed")).with_hint(AGAIN))
}

/// Ends a `place` whose worktree git does not have any more.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if the worktree can be restored, and the branch may lack what it has.
fn gone(context: &Context, began: i64, place: &mut Place) -> Result<EndedPlace> {
    if place.path.is_none() {
        // The start was killed before it had made anything.
        return Ok(EndedPlace::of(place));
    }
    let removed =
        place.worktree.as_ref().map_or(Ok(Vec::new()), |id| worktrees::removed_from(context, id.as_bstr()))?;
    let full = place.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    let is_on_it =
        |removed: &Removed| removed.branch.as_ref().zip(full.as_ref()).is_some_and(|(at, full)| *at == full.as_str());
    // An earlier round may have had a worktree there, and git may have given the id to another one since.
    let is_its = |removed: &Removed| {
        let is_there = place.path.as_ref() == Some(&removed.path) || is_on_it(removed);
        is_there && removed.seconds >= began.div_euclid(1_000_000)
    };
    let (of_branch, others): (Vec<_>, Vec<_>) = removed.into_iter().filter(is_its).partition(is_on_it);
    let is_on_it = !of_branch.is_empty();
    let Some(removed) = of_branch.into_iter().chain(others).next() else {
        return Ok(EndedPlace { gone: true, ..EndedPlace::of(place) });
    };
    let tip = full.as_ref().map_or(Ok(None), |full| context.repo.find_ref(full))?;
    let tree_of = |id: Option<ObjectId>| id.map(|id| context.repo.tree_of_commit(id)).transpose();
    let has_all = is_on_it && removed.head == tip && tree_of(removed.checkpoint)? == tree_of(tip)?;
    if !has_all {
        let (path, id) = (path_text::printable(bytes(&removed.path).as_ref()), removed.id);
        let hint = format!("'git checkpoint worktree restore {id}' brings it back; end the round after that");
        return Err(Error::refused(format!("the worktree '{path}' was removed, and the branch may lack what it had"))
            .with_hint(hint));
    }
    // The last call was killed after it had removed the worktree; or another command has, where all was committed.
    place.removed = Some(removed.id);
    Ok(EndedPlace::of(place))
}

/// Notes where the worktree of `place`, which git has as `found`, is now: it may have been moved since the start.
pub(super) fn follow_move(place: &mut Place, found: &Registration) {
    let name = place.scratch.as_deref().and_then(Path::file_name);
    place.scratch = name.map(|name| found.path.join(name));
    place.path = Some(found.path.clone());
}

/// Returns the worktree of `place`, as git has registered it; none if another command has removed it. Git may have given its id to
/// another one since, and the branch may be checked out elsewhere.
pub(super) fn found(context: &Context, place: &Place) -> Result<Option<Registration>> {
    let full = place.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    let is_on_it = |it: &Registration| {
        it.head.branch.as_ref().is_some_and(|at| full.as_ref().is_some_and(|full| *at == full.as_str()))
    };
    let is_its = |it: &Registration| match &place.worktree {
        Some(id) => *id == it.id && (place.path.as_ref() == Some(&it.path) || is_on_it(it)),
        // The start was killed: another one may have the branch.
        None => !it.is_main() && place.claimed.as_ref() == Some(&it.path),
    };
    let found = context.repo.registrations()?.into_iter().find(is_its);
    found.map(|found| worktrees::checked(context, &found)).transpose()
}
