//! The end of a round in a copy: its branch, its records and its last checkpoint come into this repository, and the copy is moved
//! aside.

use super::{
    super::{Context, remotes, worktrees},
    archive,
    commit::{self, commit_noted},
    copies,
    ended::{EndOptions, EndedPlace},
};
use crate::{
    error::{Error, Result},
    ops::holding::hold,
    state::{failpoint, rounds::Round},
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
    let Some(there) = copies::open(context, &place)? else {
        // It may have been moved, with work that is nowhere else.
        if !options.keep_worktree {
            let id = &round.id;
            return Err(copies::gone(&place).with_hint(format!(
                "if you have moved it, move it back; 'git checkpoint round end --keep-worktree {id}' ends the round without it"
            )));
        }
        return Ok(EndedPlace { gone: true, ..EndedPlace::of(&place) });
    };
    let (_, found) = worktrees::copy_at(context, there.repo.worktree_root())?;
    if !options.keep_worktree {
        worktrees::refuse_copy_in_use(&there, &found)?;
    }
    let Some(branch) = place.branch.as_deref() else { return Err(Error::internal("a round has no branch")) };
    let tip = commit_noted(context, &there, round, at, branch, options)?;
    copies::follow(context, &there, round, at)?;
    let left_out = bring(context, &there, round, at)?;
    archive::archive(context, round, at, options.archive_label.as_deref())?;
    if options.keep_worktree {
        round.places[at].is_kept = true;
        return Ok(EndedPlace { left_out, ..EndedPlace::of(&round.places[at]) });
    }
    if !options.no_teardown {
        worktrees::tear_down_copy(&there, &found, run)?;
    }
    commit::refuse_moved(&there.repo, branch, tip)?;
    commit::verify(&there, tip)?;
    copies::put_aside(context, round, at)?;
    Ok(EndedPlace { left_out, ..EndedPlace::of(&round.places[at]) })
}

/// Brings the records of the copy, and its last checkpoint, into this repository. Returns why some of the records are left out.
fn bring(context: &Context, there: &Context, round: &Round, at: usize) -> Result<Option<String>> {
    let logs = remotes::own_logs(&there.repo)?;
    let checkpoint = round.places[at].committed.as_ref().map(|it| it.checkpoint);
    let ids: Vec<_> = logs.iter().map(|(_, id)| *id).chain(checkpoint).collect();
    context.repo.copy_commits(&there.repo, &ids)?;
    failpoint::hit("round:after-records");
    if let Some(checkpoint) = checkpoint {
        hold(&context.repo, checkpoint)?;
    }
    remotes::join_own(context, &logs)
}
