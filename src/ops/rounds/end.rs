//! `round end`: commits the files of a worktree, compares the branch with the worktree, keeps the experiments, and only then removes
//! the worktree.
//!
//! The file of the round says how far it has come. Each step can be repeated: after a crash, or a failure, the next call goes on.

use std::path::Path;

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    super::{
        Context,
        uncommitted::refuse_changes,
        worktrees::{self, RemoveOptions},
    },
    archive::{self, Kept},
    commit::{self, AGAIN, commit_noted, refuse_moved},
    ended::{EndOptions, Ended, EndedPlace},
    isolated_end,
    listing::{bytes, named},
    lock::locked,
    names::check_label,
    retire::retire_waiting,
    workspace,
};
use crate::{
    error::{Error, Result},
    git::{Head, Repo, registrations::Registration},
    model::{path_text, round::Mode},
    state::{
        failpoint,
        removed::Removed,
        rounds::{self, Committed, Phase, Place, Round},
    },
};

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
            ended.push(ended_before(context, &round.places[at])?);
            continue;
        }
        let place = match round.places[at].mode {
            Mode::Legacy => end_legacy(context, &round.places[at])?,
            Mode::Workspace => {
                let place = end_workspace(context, &mut round, at, options)?;
                workspace::unmark(context, &round)?;
                place
            }
            Mode::Worktree => end_worktree(context, &mut round, at, options, run)?,
            Mode::Isolated => isolated_end::end(context, &mut round, at, options, run)?,
        };
        ended.push(place);
        round.places[at].is_done = true;
        round.write(common)?;
    }
    round.phase = Phase::Ended;
    round.write(common)?;
    drop(lock);
    let retired = retire_waiting(context);
    Ok(Ended { version: 1, round: round.id, already, contexts: ended, retired })
}

/// Returns what became of `place` when it ended, and whether its branch is there still.
fn ended_before(context: &Context, place: &Place) -> Result<EndedPlace> {
    let find = |branch: &String| context.repo.find_ref(&format!("refs/heads/{branch}"));
    let is_lost = place.branch.as_ref().map(find).transpose()?.is_some_and(|tip| tip.is_none());
    Ok(EndedPlace { has_lost_branch: is_lost, ..EndedPlace::of(place) })
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
        refuse_changes(&here, "commit first: it is not known whether that was done for the round")?;
        return Ok(EndedPlace::of(&place));
    }
    let Some(branch) = place.branch.as_deref() else { return Err(Error::internal("a round has no branch")) };
    workspace::refuse_at_work(&here)?;
    let tip = commit_noted(context, &here, round, at, branch, options)?;
    archive::archive(context, round, at, &Kept { label: options.archive_label.as_deref(), folder: None })?;
    refuse_moved(&here.repo, branch, tip)?;
    workspace::switch_back(&here, &place)?;
    Ok(EndedPlace::of(&round.places[at]))
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
        return gone(context, &mut round.places[at]);
    };
    if !options.keep_worktree {
        worktrees::refuse_in_use(context, &found)?;
        worktrees::refuse_submodules(&found).map_err(|error| {
            let command = format!("git checkpoint round end --keep-worktree {}", round.id);
            error.with_hint(format!("'{command}' commits all other files, and the worktree stays"))
        })?;
    }
    follow_move(&mut round.places[at], &found);
    let there = context.with_repo(context.repo.open_worktree(&found.path)?);
    let tip = commit_noted(context, &there, round, at, branch, options)?;
    archive::archive(context, round, at, &Kept { label: options.archive_label.as_deref(), folder: None })?;
    if options.keep_worktree {
        round.places[at].is_kept = true;
        return Ok(EndedPlace::of(&round.places[at]));
    }
    failpoint::hit("round:before-removal");
    // `remove` looks at the worktree once more. It refuses if files differ from HEAD, or HEAD is not where it was compared.
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
    if removal.teardown.is_some() {
        return Err(commit::torn_down(&removal.path.to_path_lossy()));
    }
    let path = path_text::printable(removal.path.as_ref());
    Err(Error::race(format!("'{path}' has just been changed")).with_hint(AGAIN))
}

/// Ends a `place` whose worktree git does not have any more.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if the worktree can be restored, and the branch may lack what it has.
fn gone(context: &Context, place: &mut Place) -> Result<EndedPlace> {
    let removed = place.mark.as_deref().map_or(Ok(None), |mark| {
        let has_mark = |removed: &Removed| rounds::mark(&removed.admin()).as_deref() == Some(mark);
        Ok::<_, Error>(worktrees::restorable_records(context)?.into_iter().find(has_mark))
    })?;
    let Some(removed) = removed else {
        // Without a path, the start was killed before it had made anything.
        return Ok(EndedPlace { gone: place.path.is_some(), ..EndedPlace::of(place) });
    };
    let full = place.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    let is_on_it = removed.branch.as_ref().zip(full.as_ref()).is_some_and(|(at, full)| *at == full.as_str());
    let tip = full.as_ref().map_or(Ok(None), |full| context.repo.find_ref(full))?;
    // The branch may have gone on since; or it may be gone, with what the end of the round had committed.
    let is_in = |head: ObjectId| match tip {
        Some(tip) => Ok(tip == head || context.repo.merge_bases(head, tip)?.contains(&head)),
        None => Ok::<_, Error>(place.committed.as_ref().is_some_and(|it| it.tip == head)),
    };
    let tree_of = |id: Option<ObjectId>| id.map(|id| context.repo.tree_of_commit(id)).transpose();
    let has_all =
        is_on_it && removed.head.map_or(Ok(false), is_in)? && tree_of(removed.checkpoint)? == tree_of(removed.head)?;
    if !has_all {
        let (path, id) = (path_text::printable(bytes(&removed.path).as_ref()), removed.id);
        let hint = format!("'git checkpoint worktree restore {id}' brings it back; end the round after that");
        return Err(Error::refused(format!("the worktree '{path}' was removed, and the branch may lack what it had"))
            .with_hint(hint));
    }
    // The last call was killed after it had removed the worktree; or another command has, where all was committed.
    if let (None, Some((checkpoint, tip))) = (&place.committed, removed.checkpoint.zip(removed.head)) {
        place.committed = Some(Committed { checkpoint, commit: None, tip });
    }
    place.removed = Some(removed.id);
    Ok(EndedPlace::of(place))
}

/// Notes where the worktree of `place`, which git has as `found`, is now: it may have been moved since the start.
pub(super) fn follow_move(place: &mut Place, found: &Registration) {
    let name = place.scratch.as_deref().and_then(Path::file_name);
    place.scratch = name.map(|name| found.path.join(name));
    place.path = Some(found.path.clone());
}

/// Returns the worktree of `place`, as git has registered it, wherever it was moved; none if another command has removed it.
pub(super) fn found(context: &Context, place: &Place) -> Result<Option<Registration>> {
    let full = place.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    let is_its = |it: &Registration| match rounds::mark(&it.git_dir) {
        _ if it.is_main() => false,
        Some(mark) => place.mark.as_ref() == Some(&mark),
        // The start was killed before it had written the mark.
        None if place.path.is_none() => place.claimed.as_ref() == Some(&it.path),
        // The mark is lost.
        None => {
            let is_on_it = it.head.branch.as_ref().zip(full.as_ref()).is_some_and(|(at, full)| *at == full.as_str());
            place.path.as_ref() == Some(&it.path) && is_on_it
        }
    };
    let found = context.repo.registrations()?.into_iter().find(is_its);
    found.map(|found| worktrees::checked(context, &found)).transpose()
}
