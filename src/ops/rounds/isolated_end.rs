//! The end of a round in a copy: its branch, its records and its last checkpoint come into this repository, and the copy is moved
//! aside.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{Context, worktrees},
    archive::{self, Kept},
    commit::{self, commit_noted},
    copies,
    ended::{EndOptions, EndedPlace},
    listing::base_of,
    narrowed::alone,
};
use crate::{
    error::{Error, Result},
    git::registrations::Registration,
    model::path_text::{self, shell_word},
    ops::holding::hold_settled,
    state::{
        failpoint,
        rounds::{self, Phase, Place, Round},
    },
};

/// Ends the place number `at` of `round`.
pub(super) fn end(
    context: &Context,
    round: &mut Round,
    at: usize,
    options: &EndOptions,
    run: worktrees::Run<'_>,
) -> Result<EndedPlace> {
    let place = round.places[at].clone();
    if copies::is_aside(&place) {
        // The last call was killed after it had moved the copy.
        return Ok(EndedPlace::of(&round.places[at]));
    }
    if place.path.is_none() {
        // The start was killed: no agent knows of the copy.
        copies::put_aside(context, round, at)?;
        return Ok(EndedPlace::of(&round.places[at]));
    }
    let there = match copies::open(context, &place) {
        Ok(Some(there)) => there,
        Ok(None) | Err(_) if options.keep_worktree => {
            round.places[at].is_kept = place.path.as_ref().is_some_and(|path| path.exists());
            return Ok(EndedPlace { gone: true, ..EndedPlace::of(&round.places[at]) });
        }
        failed => return Err(without_it(&place, failed.err(), &round.id)),
    };
    let (_, found) = worktrees::copy_at(context, there.repo.worktree_root())?;
    if !options.keep_worktree {
        worktrees::refuse_copy_in_use(&there, &found)?;
        refuse_more(&there, &found, &round.id)?;
    }
    let Some(branch) = place.branch.as_deref() else { return Err(Error::internal("a round has no branch")) };
    let tip = commit_noted(context, &there, round, at, branch, options)?;
    copies::follow(context, &there, round, at)?;
    let left_out = bring(context, &there, round, at)?;
    archive::archive(context, round, at, &Kept { label: options.archive_label.as_deref(), folder: None })?;
    if options.keep_worktree {
        round.places[at].is_kept = true;
        return Ok(EndedPlace { left_out, ..EndedPlace::of(&round.places[at]) });
    }
    let is_torn_down = !options.no_teardown && worktrees::tear_down_copy(&there, &found, run)?;
    commit::refuse_moved(&there.repo, branch, tip)?;
    commit::verify(&there, tip).map_err(|error| if is_torn_down { commit::torn_down(&found.path) } else { error })?;
    refuse_missing(context, &place, tip)?;
    copies::put_aside(context, round, at)?;
    failpoint::hit("round:before-last-look");
    if let Some(aside) = copies::open_aside(context, &round.places[at])? {
        // What was written there since is on no branch.
        commit::verify(&aside, tip).or_else(|error| copies::put_back(context, round, at).and(Err(error)))?;
    }
    Ok(EndedPlace { left_out, ..EndedPlace::of(&round.places[at]) })
}

/// Returns the error for the copy of `place` that cannot be opened because of `error`, or is not there, with what ends the round `id` all
/// the same.
fn without_it(place: &Place, error: Option<Error>, id: &str) -> Error {
    let command = format!("'git checkpoint round end --keep-worktree {id}' ends the round without it");
    let Some(path) = place.path.as_ref().filter(|path| path.exists()) else {
        // It may have been moved, with work that is nowhere else.
        return copies::gone(place).with_hint(format!("if you have moved it, move it back; {command}"));
    };
    let error = error.unwrap_or_else(|| copies::damaged(path));
    let first = error.hint().map(|hint| format!("{hint}; ")).unwrap_or_default();
    error.with_hint(format!(
        "{first}{command}: its files stay where they are, and the branch lacks what was not committed"
    ))
}

/// Brings the records of the copy, its last checkpoint, and what its other refs lead to into this repository. Returns what is not where
/// it was: records that are left out, and refs.
fn bring(context: &Context, there: &Context, round: &mut Round, at: usize) -> Result<Option<String>> {
    if let Some(committed) = &mut round.places[at].committed {
        let checkpoint = alone(there, committed.checkpoint)?;
        context.repo.bring_commits(&there.repo, &[checkpoint])?;
        hold_settled(&context.repo, checkpoint)?;
        committed.checkpoint = checkpoint;
        round.write(context.repo.common_dir())?;
    }
    // What else the copy has must not keep the round from its end. It stays in the copy, which is only moved aside.
    let lfs = context.repo.bring_lfs(&there.repo).err().map(|error| format!("{error}: it stays in the copy"));
    context.check_interrupt()?;
    let left_out = copies::bring_records(context, there)?;
    let others = copies::bring_others(context, there, round.places[at].branch.as_deref().unwrap_or_default())?;
    let all: Vec<String> = lfs.into_iter().chain(left_out).chain(others).collect();
    Ok((!all.is_empty()).then(|| all.join("; ")))
}

/// Refuses if this repository lacks the content of a file of Git LFS that the round has changed, up to its last commit `tip`.
fn refuse_missing(context: &Context, place: &Place, tip: ObjectId) -> Result<()> {
    let repo = &context.repo;
    let before = base_of(place).map_or_else(|| Ok(repo.empty_tree_id()), |base| repo.tree_of_commit(base))?;
    let Some(path) = repo.lfs_missing(before, repo.tree_of_commit(tip)?)?.into_iter().next() else { return Ok(()) };
    Err(Error::refused(format!(
        "Git LFS has not kept the content of '{}' in the copy",
        path_text::printable(path.as_bstr())
    ))
    .with_hint("'git lfs fetch' there gets what a remote has; '--keep-worktree' ends the round, and the copy stays"))
}

/// Refuses if the copy has work that does not come along: in submodules, in worktrees that it has beside its own, or in rounds that
/// were begun in it.
fn refuse_more(there: &Context, found: &Registration, id: &str) -> Result<()> {
    let command = format!("git checkpoint round end --keep-worktree {id}");
    let stays = |error: Error, first: &str| {
        error.with_hint(format!("{first}; '{command}' commits what is in the copy itself, and the copy stays"))
    };
    worktrees::refuse_submodules(found).map_err(|error| stays(error, "push what only they have"))?;
    let path = found.path.display();
    if let Some(inside) = submodule_in(there)? {
        let message =
            format!("'{}' in the copy '{path}' is a repository of its own", path_text::printable(inside.as_bstr()));
        return Err(stays(Error::refused(message), "push what only it has, and remove its '.git'"));
    }
    let others = there.repo.registrations()?;
    if let Some(other) = others.iter().find(|it| !it.is_main()) {
        let message = format!("the copy '{path}' has another worktree: '{}'", other.path.display());
        let word = shell_word(&other.path.to_string_lossy());
        return Err(stays(
            Error::refused(message),
            &format!(
                "commit what is there, and 'git -C {} worktree remove {word}'",
                shell_word(&found.path.to_string_lossy())
            ),
        ));
    }
    let inner = rounds::all(there.repo.common_dir())?;
    if let Some(inner) = inner.sound.iter().find(|inner| inner.phase != Phase::Ended) {
        let message = format!("the round {} goes on, which was begun in the copy '{path}'", inner.id);
        return Err(stays(
            Error::refused(message),
            &format!(
                "'git -C {} checkpoint round end {}' ends it",
                shell_word(&found.path.to_string_lossy()),
                inner.id
            ),
        ));
    }
    Ok(())
}

/// Returns a submodule whose repository is in the worktree of `there` itself; none if there is none.
fn submodule_in(there: &Context) -> Result<Option<BString>> {
    let Some(index) = there.repo.user_index()? else { return Ok(None) };
    let submodules = index.entries().iter().filter(|entry| entry.mode == gix::index::entry::Mode::COMMIT);
    let mut paths = submodules.map(|entry| entry.path(&index).to_owned());
    Ok(paths.find(|path| there.repo.has_dot_git(path.as_bstr())))
}
