//! `worktree merge`: brings the branch of another worktree into the branch here, by git.

use std::{ffi::OsString, os::unix::ffi::OsStrExt as _};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{Context, Worktree, enter::Purpose},
    merge_in_way::{refuse_ignored, refuse_ignored_on_the_way_to},
    merge_sides::{self as sides, Side},
    merged::{How, Merged, Outcome},
    named::short,
    remove::note,
    worktree_lock::lock_merge,
};
use crate::{
    error::{Error, Result},
    git::{
        Head, Repo,
        merge_branch::{Foreseen, GitEnded, MergeWords},
    },
    model::path_text,
    state::failpoint,
};

/// Clocks of different machines differ.
pub(super) const SLACK: i64 = 24 * 60 * 60;

/// What to do if nothing was merged after a rebase.
const REBASED: &str = "the branch in the other worktree is rebased, and stays so: run it again";

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
    let lock = if options.dry_run { None } else { Some(lock_merge(context)?) };
    let (here, source) = (sides::here(context)?, sides::source(context, &options.name)?);
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
        said: BString::default(),
    };
    if !options.dry_run {
        merged.source_checkpoint = sides::checkpoint(&there, "Before the merge of its branch")?;
    }
    sides::refuse_uncommitted(&there, &source)?;
    source.refuse_moved(&there)?;
    if context.repo.reaches(vec![here.commit], source.commit, SLACK)? {
        return Ok(merged);
    }
    let (commits, merges) = context.repo.commits_between(here.commit, source.commit)?;
    merged.commits = commits;
    let is_behind = context.repo.reaches(vec![source.commit], here.commit, SLACK)?;
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
    refuse_ignored((context, &here), (&there, &source), (options.how, foreseen.as_ref()))?;
    if options.dry_run {
        foresee(is_behind, foreseen, &mut merged);
        return Ok(merged);
    }
    merged.checkpoint = sides::checkpoint(context, &format!("Before the merge of {}", source.shown()))?;
    failpoint::hit("worktree:before-merge");
    let ended = carry_out(context, &there, (&here, &source), &mut merged);
    if let Some(text) = instead(&merged, &here, &source) {
        note(context, text);
    }
    drop(lock);
    ended?;
    merged.moved = source.commit_now(&there)? != Some(merged.rebased.unwrap_or(source.commit));
    Ok(merged)
}

/// Lets git do it, and notes in `merged` what has come of it.
fn carry_out(context: &Context, there: &Context, (here, source): (&Side, &Side), merged: &mut Merged) -> Result<()> {
    let repo = &context.repo;
    let mut commit = source.commit;
    if merged.how == How::Rebase && !repo.reaches(vec![source.commit], here.commit, SLACK)? {
        source.refuse_moved(there)?;
        let Some(tip) = rebase(there, source, here.commit, merged)? else { return Ok(()) };
        failpoint::hit("worktree:after-rebase");
        commit = tip;
        (merged.commits, _) = repo.commits_between(here.commit, commit)?;
        if repo.reaches(vec![here.commit], commit, SLACK)? {
            // All that it had is here in other commits.
            return Ok(());
        }
        refuse_ignored_on_the_way_to(context, here.commit, commit).map_err(|error| error.with_hint(REBASED))?;
    }
    here.refuse_moved(context)?;
    let message = if merged.how == How::Merge { repo.merge_message(source.short(), commit)? } else { String::new() };
    let words = match merged.how {
        How::Merge => MergeWords::Plain(&message),
        How::Squash => MergeWords::Squash,
        How::Rebase | How::FfOnly => MergeWords::FastForward,
    };
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
        has_commit: now != here.commit && repo.reaches(vec![now], commit, SLACK)?,
        is_merging: repo.is_merging(),
        has_unmerged: !unmerged.is_empty(),
    };
    let Some(result) = outcome(&seen, ended.succeeded) else {
        context.check_interrupt()?;
        return Err(refused(merged, &ended, here, source));
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

/// Returns what a user is to see of what git has said.
fn said(ended: &GitEnded, result: Outcome) -> BString {
    // Git says so of every squash.
    const AS_ASKED: &[u8] = b"Automatic merge went well; stopped before committing as requested";
    match result {
        Outcome::Conflicts => ended.report.clone(),
        Outcome::Staged => ended.said.lines_with_terminator().filter(|line| line.trim_end() != AS_ASKED).collect(),
        _ => ended.said.clone(),
    }
}

/// Returns the error for a merge that git has refused.
fn refused(merged: &Merged, ended: &GitEnded, here: &Side, source: &Side) -> Error {
    let error =
        ended.cause_of(Error::refused(format!("git cannot merge '{}' into '{}'", source.shown(), here.shown())));
    match merged.rebased {
        Some(_) => error.with_hint(REBASED),
        None => error,
    }
}

fn no_fast_forward(here: &Side, source: &Side) -> Error {
    Error::refused(format!(
        "'{}' has commits that '{}' does not have: no fast-forward is possible",
        here.shown(),
        source.shown()
    ))
    .with_hint("'--rebase' rebases the other branch first; without an option, a merge commit is made")
}

/// Returns the error for a branch with `merges` that is to be rebased: git would leave out what only a merge commit has.
fn no_rebase(source: &Side, merges: usize) -> Error {
    let what = match merges {
        1 => "a merge".to_owned(),
        _ => format!("{merges} merges"),
    };
    let what = format!("the commits of '{}' have {what}: a rebase drops what only a merge has", source.shown());
    Error::refused(what).with_hint("merge it without '--rebase'")
}

/// Returns the error for two branches that have no commit in common.
fn unrelated(here: &Side, source: &Side) -> Error {
    Error::refused(format!("'{}' and '{}' have no commit in common", here.shown(), source.shown()))
        .with_hint("'git merge --allow-unrelated-histories' merges such branches")
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
    match tip.filter(|tip| *tip == source.commit || is_one_move(*tip)) {
        Some(tip) => Ok(Some(tip)),
        None => Err(Error::race(format!("the branch '{}' has just been moved in '{path}'", source.shown()))
            .with_hint("it is rebased, and nothing was merged: look at its commits, and run it again")),
    }
}

/// Lets the checkpoints and records of the worktree of `there` follow what git has done: it may have no hooks of ours.
fn bring_up_to_date(there: &Context) {
    if let Err(error) = Worktree::enter(there, Purpose::Change).map(drop) {
        // The next command tries again.
        tracing::warn!(%error, "the records of the merged commits are made later");
    }
}

/// Notes in `merged` what a merge would do; `is_behind`: the source has all that is here.
fn foresee(is_behind: bool, foreseen: Option<Foreseen>, merged: &mut Merged) {
    merged.conflicts = match merged.how {
        _ if is_behind => Some(Vec::new()),
        How::Rebase => None,
        _ => foreseen.map(|it| it.conflicts),
    };
    merged.result = match merged.how {
        _ if merged.conflicts.as_ref().is_some_and(|paths| !paths.is_empty()) => Outcome::Conflicts,
        How::Squash => Outcome::Staged,
        How::Merge if !is_behind => Outcome::Merged,
        How::Merge | How::Rebase | How::FfOnly => Outcome::FastForward,
    };
}

/// Returns what the operation log says instead of an undo; none if nothing was changed.
///
/// It is read much later: what it names deletes nothing, whatever was done since.
fn instead(merged: &Merged, here: &Side, source: &Side) -> Option<String> {
    let mut all = Vec::new();
    if merged.after != merged.before {
        all.push(branch_was_at(here.full.as_bstr(), merged.before, merged.after));
    }
    let is_here = match merged.result {
        Outcome::Staged => true,
        Outcome::Conflicts | Outcome::Stopped => merged.how != How::Rebase,
        _ => false,
    };
    if let Some(id) = merged.checkpoint.filter(|_| is_here) {
        all.push(format!("'git checkpoint restore {id}' brings the files from before it back"));
    }
    match merged.rebased.filter(|_| merged.is_rebase_begun) {
        Some(now) => all.push(branch_was_at(source.full.as_bstr(), source.commit, now)),
        None if merged.is_rebase_begun => all.push(format!("'{}' was at {} before", source.shown(), source.commit)),
        None => {}
    }
    (!all.is_empty()).then(|| all.join("; "))
}

/// Returns what the operation log says of a merge or a rebase that has moved `branch`, a full name.
pub(crate) fn branch_was_at(branch: &BStr, before: ObjectId, now: ObjectId) -> String {
    let branch = path_text::printable(short(branch));
    format!("'{branch}' was at {before} before: 'git diff {before} {now}' shows what has changed")
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
