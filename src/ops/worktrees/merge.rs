//! `worktree merge`: brings the branch of another worktree into the branch here, by git.

use std::{ffi::OsString, os::unix::ffi::OsStrExt as _};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{Context, Worktree, enter::Purpose},
    merge_changed::{refuse_changed, reset_since},
    merge_in_way::{refuse_ignored, refuse_ignored_on_the_way_to},
    merge_sides::{self as sides, Side},
    merge_words::{instead, no_fast_forward, no_rebase, rebased, refused, said, unrelated, with_state},
    merged::{How, Merged, Outcome},
    remove::note,
    worktree_lock::{lock_merge, refuse_merge},
};
use crate::{
    error::{Error, Result},
    git::{
        Head, Repo,
        merge_branch::{Foreseen, MergeWords},
    },
    state::failpoint,
};

/// What to merge.
#[derive(Clone, Debug, Default)]
pub(crate) struct MergeOptions {
    /// The worktree whose branch is merged.
    pub(crate) name: OsString,
    /// How.
    pub(crate) how: How,
    /// Only say what would be done.
    pub(crate) dry_run: bool,
}

/// Merges the branch that is checked out in another worktree into the one that is checked out here, after a checkpoint of both
/// worktrees. Git does that, with the user's hooks and settings, and leaves conflicts where it finds them: that is no error.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if something in the other worktree is not committed, if a session has a turn under
/// way there, if git has something under way on either side, or if git refuses it: nothing is merged then, and if git has not begun to
/// rebase, nothing is changed. [`Kind::Race`](crate::error::Kind::Race) if a side has moved since it was looked at.
pub(crate) fn merge(context: &Context, options: &MergeOptions) -> Result<Merged> {
    context.repo.name_operation("worktree merge");
    context.emit_failure("worktree merge", try_merge(context, options))
}

fn try_merge(context: &Context, options: &MergeOptions) -> Result<Merged> {
    let found = sides::find(context, &options.name)?;
    let locks = if options.dry_run { refuse_merge(&found).map(|()| Vec::new()) } else { lock_merge(context, &found) }?;
    let (here, source) = (sides::here(context)?, sides::source(context, &options.name, &found)?);
    let there = context.with_repo(context.repo.open_worktree(&source.found.path)?);
    let mut merged = Merged {
        version: 1,
        path: source.found.path.as_os_str().as_bytes().into(),
        source: source.branch.clone(),
        branch: here.branch.clone(),
        commit: source.commit,
        rebased: None,
        how: options.how,
        result: Outcome::Nothing,
        commits: 0,
        before: here.commit,
        after: here.commit,
        conflicts: Some(Vec::new()),
        moved: false,
        checkpoint: None,
        source_checkpoint: None,
        dry_run: options.dry_run,
        is_rebase_begun: false,
        is_begun: false,
        said: BString::default(),
    };
    if !options.dry_run {
        merged.source_checkpoint = sides::checkpoint(&there, "Before the merge of its branch")?;
    }
    sides::refuse_uncommitted(&there, &source)?;
    source.refuse_moved(&there)?;
    if context.repo.is_ancestor(source.commit, here.commit)? {
        return Ok(merged);
    }
    let (commits, merges) = context.repo.commits_between(here.commit, source.commit)?;
    merged.commits = commits;
    let is_behind = context.repo.is_ancestor(here.commit, source.commit)?;
    if options.how == How::FfOnly && !is_behind {
        return Err(no_fast_forward(&here, &source));
    }
    if options.how == How::Rebase && !is_behind && merges > 0 {
        return Err(no_rebase(&source, merges));
    }
    if options.how != How::Rebase && context.repo.common_commits(here.commit, source.commit)?.is_empty() {
        return Err(unrelated(&here, &source));
    }
    let foreseen = if is_behind { None } else { context.repo.foreseen_merge(here.commit, source.commit) };
    let is_merge = !is_behind && options.how != How::Rebase;
    let refuse_in_way = || {
        if is_merge {
            refuse_changed(context, (here.commit, source.commit), foreseen.as_ref())?;
        }
        refuse_ignored((context, &here), (&there, &source), (options.how, foreseen.as_ref()))
    };
    refuse_in_way()?;
    if options.dry_run {
        foresee(is_behind, foreseen.as_ref(), &mut merged);
        return Ok(merged);
    }
    merged.checkpoint = sides::checkpoint(context, &format!("Before the merge of {}", source.shown()))?;
    failpoint::hit("worktree:before-merge");
    // The checkpoint may have taken long.
    let ended = refuse_in_way().and_then(|()| carry_out(context, &there, (&here, &source), &mut merged));
    if let Some(text) = instead(&merged, &here, &source) {
        note(context, text);
    }
    drop(locks);
    ended?;
    merged.moved = source.commit_now(&there)? != Some(merged.rebased.unwrap_or(source.commit));
    Ok(merged)
}

/// Lets git do it, and notes in `merged` what has come of it.
fn carry_out(context: &Context, there: &Context, (here, source): (&Side, &Side), merged: &mut Merged) -> Result<()> {
    let repo = &context.repo;
    let mut commit = source.commit;
    if merged.how == How::Rebase && !repo.is_ancestor(here.commit, source.commit)? {
        source.refuse_moved(there)?;
        let Some(tip) = rebase(there, source, here.commit, merged)? else { return Ok(()) };
        failpoint::hit("worktree:after-rebase");
        commit = tip;
        (merged.commits, _) = repo.commits_between(here.commit, commit)?;
        if repo.is_ancestor(commit, here.commit)? {
            // All that it had is here in other commits.
            return Ok(());
        }
        refuse_ignored_on_the_way_to(context, here.commit, commit).map_err(rebased)?;
    }
    here.refuse_moved(context)?;
    let message = if merged.how == How::Merge { repo.merge_message(source.short(), commit)? } else { String::new() };
    let words = match merged.how {
        How::Merge => MergeWords::Plain(&message),
        How::Squash => MergeWords::Squash,
        How::Rebase | How::FfOnly => MergeWords::FastForward,
    };
    let status = repo.status()?;
    let ended = repo.merge_commit(commit, words)?;
    failpoint::hit("worktree:after-merge");
    let (head, unmerged) = (repo.head()?, repo.unmerged_paths()?);
    if head.branch.as_ref() != Some(&here.full) {
        let path = here.found.path.display();
        return Err(ended.cause_of(
            Error::race(format!("HEAD of '{path}' has just been switched to another branch"))
                .with_hint("'git reflog' shows where git has merged something, if it has"),
        ));
    }
    let now = head.id.unwrap_or(here.commit);
    let seen = Seen {
        is_at: now == commit,
        has_commit: now != here.commit && repo.is_ancestor(commit, now)?,
        is_merging: repo.is_merging(),
        has_unmerged: !unmerged.is_empty(),
    };
    let result = match outcome(&seen, ended.succeeded) {
        Some(Outcome::Staged) if repo.status()? == status => return Ok(()),
        Some(result) => result,
        None => {
            let is_reset = |id| reset_since(context, id, here.commit).map(|paths| !paths.is_empty());
            merged.is_begun = repo.status()? != status || merged.checkpoint.map_or(Ok(false), is_reset)?;
            let error = context.check_interrupt().err().unwrap_or_else(|| refused(&ended, here, source));
            return Err(with_state(error, merged));
        }
    };
    merged.after = now;
    (merged.result, merged.conflicts) = (result, Some(unmerged));
    merged.said = said(&ended, result);
    if matches!(result, Outcome::FastForward | Outcome::Merged) {
        bring_up_to_date(context);
    }
    Ok(())
}

/// What is there after git has ended.
struct Seen {
    /// HEAD is at the commit that was to be merged.
    is_at: bool,
    /// HEAD has moved, and has that commit.
    has_commit: bool,
    /// A merge is under way.
    is_merging: bool,
    /// There are conflicts.
    has_unmerged: bool,
}

/// Decides what a merge has done that has `succeeded` or not; none: nothing.
fn outcome(seen: &Seen, succeeded: bool) -> Option<Outcome> {
    match (seen.has_commit, seen.has_unmerged, seen.is_merging) {
        (true, ..) if seen.is_at => Some(Outcome::FastForward),
        (true, ..) => Some(Outcome::Merged),
        (false, true, _) => Some(Outcome::Conflicts),
        (false, false, true) => Some(Outcome::Stopped),
        (false, false, false) => succeeded.then_some(Outcome::Staged),
    }
}

/// Rebases the branch of `source`, which is checked out in `there`, onto `onto`, and returns its commit then; none if git has stopped.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if git refuses it; [`Kind::Race`](crate::error::Kind::Race) if the branch has moved
/// otherwise, too.
fn rebase(there: &Context, source: &Side, onto: ObjectId, merged: &mut Merged) -> Result<Option<ObjectId>> {
    let (repo, path) = (&there.repo, source.found.path.display());
    let ended = repo.rebase_onto(onto)?;
    merged.is_rebase_begun = repo.head()? != Head { id: Some(source.commit), branch: Some(source.full.clone()) };
    if Repo::under_way(repo.git_dir()).is_some() {
        let unmerged = repo.unmerged_paths()?;
        merged.result = if unmerged.is_empty() { Outcome::Stopped } else { Outcome::Conflicts };
        merged.conflicts = Some(unmerged);
        merged.said = said(&ended, merged.result);
        return Ok(None);
    }
    if !ended.succeeded {
        return Err(ended.cause_of(Error::refused(format!("git cannot rebase '{}' in '{path}'", source.shown()))));
    }
    bring_up_to_date(there);
    let head = repo.head()?;
    let tip = head.id.filter(|_| head.branch.as_ref() == Some(&source.full));
    // One move has led there: nothing that was committed meanwhile is in it, neither before nor after the rebase.
    merged.rebased = tip;
    let is_one_move = |tip: ObjectId| repo.branch_before(source.full.as_bstr(), tip) == Some(source.commit);
    if let Some(tip) = tip.filter(|tip| *tip == source.commit || is_one_move(*tip)) {
        return Ok(Some(tip));
    }
    let shown = source.shown();
    let what = if repo.has_reflog_of(source.full.as_bstr()) {
        format!("the branch '{shown}' has just been moved in '{path}'")
    } else {
        format!("the branch '{shown}' has no reflog: it is not known whether the rebase alone has moved it")
    };
    Err(Error::race(what).with_hint("it is rebased, and nothing was merged: look at its commits, and run it again"))
}

/// Lets the checkpoints and records of the worktree of `there` follow what git has done: it may have no hooks of ours.
fn bring_up_to_date(there: &Context) {
    if let Err(error) = Worktree::enter(there, Purpose::Change).map(drop) {
        // The next command tries again.
        tracing::warn!(%error, "the records of the merged commits are made later");
    }
}

/// Notes in `merged` what a merge would do; `is_behind`: the source has all that is here.
fn foresee(is_behind: bool, foreseen: Option<&Foreseen>, merged: &mut Merged) {
    merged.conflicts = match merged.how {
        _ if is_behind => Some(Vec::new()),
        How::Rebase => None,
        _ => foreseen.map(|it| it.conflicts.clone()),
    };
    merged.result = match merged.how {
        _ if merged.conflicts.as_ref().is_some_and(|paths| !paths.is_empty()) => Outcome::Conflicts,
        How::Squash => Outcome::Staged,
        How::Merge if !is_behind => Outcome::Merged,
        How::Merge | How::Rebase | How::FfOnly => Outcome::FastForward,
    };
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::fast_forward((true, true), (false, false), true, Some(Outcome::FastForward))]
    #[case::commit((false, true), (false, false), true, Some(Outcome::Merged))]
    #[case::commit_and_a_signal((false, true), (false, false), false, Some(Outcome::Merged))]
    #[case::conflict((false, false), (true, true), false, Some(Outcome::Conflicts))]
    #[case::conflict_of_a_squash((false, false), (false, true), false, Some(Outcome::Conflicts))]
    #[case::refused_by_a_hook((false, false), (true, false), false, Some(Outcome::Stopped))]
    #[case::no_commit((false, false), (true, false), true, Some(Outcome::Stopped))]
    #[case::squash((false, false), (false, false), true, Some(Outcome::Staged))]
    #[case::refused((false, false), (false, false), false, None)]
    fn what_git_has_done(
        #[case] (is_at, has_commit): (bool, bool),
        #[case] (is_merging, has_unmerged): (bool, bool),
        #[case] succeeded: bool,
        #[case] expected: Option<Outcome>,
    ) {
        assert_eq!(outcome(&Seen { is_at, has_commit, is_merging, has_unmerged }, succeeded), expected);
    }
}
