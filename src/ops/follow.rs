//! Carries the work in the worktree forward when HEAD has moved, for example by `git pull`, `git switch` or `git reset`.
//!
//! [`follow_head`] is the main function. Each save calls it, and so does [`lock_and_follow`], with which other commands begin.
//! No hook has to run for that: the file `base` says where HEAD was at the last look.
//!
//! The order matters. `reconcile` first makes the records of the commits since then and takes committed work out of the
//! shadows. What the worktree still has of the rest is then carried forward. Each step writes the file `base` last, so after a
//! crash the next command repeats the step.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    Context, Worktree, author,
    chain::{
        Shadow,
        carry_forward::{Aim, Moved, Rest, bring, carries},
        commit::Draft,
        look_at_all, publish,
        shadows::Live,
    },
    condense::shadows_to_carry,
    known_base::{known_head, note_base},
    locking::lock_to_write,
    provenance::{recorded::left_behind, set_aside::take_up},
    reconcile::reconcile,
    records,
    session_info::{open_turns, store},
    turn::{self, OpenTurn, pending_of, release_pending},
};
use crate::{
    error::{Error, Result},
    git::{
        Repo,
        edit_tree::{Edit, edit_tree},
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
        written::Written,
    },
    model::{
        change::Change,
        checkpoint::Origin,
        contributor::Contributor,
        head_move::{LogEnd, MoveKind},
        refname::{Base, ShadowName},
        session::Session,
    },
    state::failpoint,
};

/// Brings the checkpoints up to date when a hook of git reports that HEAD has moved.
pub(crate) fn head_moved(context: &Context) -> Result<()> {
    context.emit_failure("follow", lock_and_follow(context).map(drop))
}

/// Takes the lock of this worktree's checkpoints, and brings the checkpoints up to date with HEAD.
pub(crate) fn lock_and_follow(context: &Context) -> Result<Worktree<'_>> {
    let worktree = lock_to_write(context)?;
    follow_head(&worktree)?;
    Ok(worktree)
}

/// Brings the checkpoints of `worktree` up to date with HEAD, unless an earlier call under the same lock has done so.
pub(crate) fn follow_head(worktree: &Worktree<'_>) -> Result<()> {
    let repo = &worktree.repo;
    // During a rebase, HEAD is at commits on which no work was based: the work stays where it is until the end.
    if repo.is_rebasing() {
        return Ok(());
    }
    if worktree.has_followed_head() {
        return Ok(());
    }
    let now = Base::of_head(repo.head()?.id);
    let end = match reconcile(worktree) {
        Ok(end) => end,
        Err(error) => {
            worktree.check_interrupt()?;
            // The work stays on its old base until the commits have their records. A save must not fail for that.
            return worktree.emit_failure("condense", Err(error)).or(Ok(()));
        }
    };
    let known = known_head(worktree);
    if known != Some((now, end)) {
        if let Some(known) = known {
            if let Err(error) = follow_from(worktree, known) {
                worktree.check_interrupt()?;
                // The work stays on its old base, and the next command tries again. A save must not fail for that.
                return worktree.emit_failure("follow", Err(error)).or(Ok(()));
            }
            failpoint::hit("follow:before-base");
        }
        note_base(worktree, now, end)?;
    }
    worktree.note_head_followed();
    Ok(())
}

/// Carries the shadows on `known`, where HEAD was, forward to HEAD, and with them the baselines of turns that have no
/// checkpoint yet.
fn follow_from(worktree: &Worktree<'_>, known: (Base, Option<LogEnd>)) -> Result<()> {
    let repo = &worktree.repo;
    // What a reset removed from HEAD is older than the work in the shadows, so its checkpoints come first.
    checkpoint_reset_content(worktree, known)?;
    let (known, now) = (known.0, Base::of_head(repo.head()?.id));
    if known == now {
        return Ok(());
    }
    let sessions = sessions_on_earlier_bases(worktree, now)?;
    let on_base = shadows_to_carry(worktree, known)?;
    // A shadow that an open turn is about to set aside is not carried forward.
    let will_be_set_aside = |live: &Live| {
        let resets = sessions.iter().filter_map(|it| Some((&it.id, it.under_way.as_ref()?)));
        resets.filter(|(_, turn)| turn.should_reset_shadow).any(|(id, turn)| match &live.name.session {
            Some(own) => own == id,
            None => turn.shadow_tip == Some(live.id),
        })
    };
    let on_base = on_base.filter(|on_base| !on_base.shadows.iter().all(|(live, _)| will_be_set_aside(live)));
    let mut pending = Vec::new();
    for session in &sessions {
        if let Some((_, id)) = pending_of(repo, &session.id)? {
            pending.extend(repo.find_checkpoint(id)?.filter(|it| it.worktree == repo.worktree_id()));
        }
    }
    if on_base.is_none() && pending.is_empty() {
        return Ok(());
    }
    let mut shadow = Shadow::read(repo)?;
    // A process that was killed may have carried some of the baselines forward already.
    pending.retain(|before| !carries(repo, &shadow, before));
    let (seen, objects) = look_at_all(worktree, &shadow)?;
    let seen_objects = objects.write()?;
    let Moved { mut updates, mut written } = match &on_base {
        Some(on_base) => {
            let aim = Aim { now_tree_id: seen.tree_id, is_now_seen: true, rest: Rest::Stays };
            on_base.carry_forward(worktree, &mut shadow, aim, &will_be_set_aside)?
        }
        None => Moved::default(),
    };
    let here = ShadowName::of_worktree(shadow.name.base, repo.worktree_id()).to_ref();
    let here_index = updates.iter().position(|update| update.name == here);
    let mut new = here_index.and_then(|index| updates[index].new);
    shadow.go_to(None, new);
    for before in &pending {
        let mut objects = NewObjects::new(repo, Target::Loose);
        if bring(worktree, &mut shadow, before, Origin::default(), seen.tree_id, &mut objects)? {
            new = shadow.tip.as_ref().map(|tip| tip.id);
            written.push(objects.write()?);
        }
    }
    match here_index {
        Some(index) => updates[index].new = new,
        None if new.is_some() => updates.push(RefUpdate { name: here, old: shadow.expected, new }),
        None => {}
    }
    let tip = shadow.tip.as_ref().map(|tip| tip.id);
    if !updates.is_empty() {
        failpoint::hit("follow:before-refs");
        repo.update_refs(&updates)?;
        failpoint::hit("follow:after-refs");
        Written::check_and_release_all(written.into_iter().chain([seen_objects]))?;
    }
    for mut session in sessions {
        // The shadow on HEAD now contains the baseline of the turn.
        release_pending(worktree, &session.id, None)?;
        if let Some(turn) = &mut session.under_way {
            (turn.shadow_tip, turn.should_reset_shadow) = (tip, false);
        }
        session.base = shadow.name.base.to_string();
        store(worktree, &session)?;
    }
    Ok(())
}

/// After a reset in the middle of a turn, takes checkpoints of the content that the reset removed from HEAD and left in the
/// worktree, as `git reset --soft HEAD~1` does. Without them, it would count as work of the turn.
///
/// They have each file as the removed commit had it, even if it has changed since.
fn checkpoint_reset_content(worktree: &Worktree<'_>, (known, end): (Base, Option<LogEnd>)) -> Result<()> {
    let repo = &worktree.repo;
    let (Some(known_id), Some(head)) = (known.commit_id(), repo.head()?.id) else { return Ok(()) };
    if open_turns(worktree)?.is_empty() {
        return Ok(());
    }
    let mut removed_commits = left_behind(repo, Some(head))?;
    // HEAD may have moved to other commits between the known one and the reset.
    let (moves, _) = repo.head_moves((known, end), head)?;
    let resets = moves.iter().filter(|moved| moved.kind == MoveKind::Reset);
    let mut olds: Vec<ObjectId> = resets.filter_map(|moved| moved.from.commit_id()).collect();
    olds.retain(|old| removed_commits.contains(old));
    if olds.is_empty() {
        return Ok(());
    }
    let mut shadow = Shadow::read(repo)?;
    let mut doubtful = BTreeSet::new();
    if author::is_any_silent(worktree)? {
        doubtful.extend(moves.iter().filter(|moved| moved.kind.makes_commit()).map(|moved| moved.to));
        // A doubtful commit may have taken the place of the known one.
        if !doubtful.is_empty() && !removed_commits.contains(&known_id) && !repo.reaches(vec![head], known_id, 0)? {
            removed_commits.push(known_id);
            olds.insert(0, known_id);
        }
    }
    // What turns here began with was there before the commits.
    let begun = if known_id == head {
        OpenTurn::add_baselines(worktree, &mut shadow, Contributor::Unknown)?
    } else {
        Vec::new()
    };
    let (seen, objects) = look_at_all(worktree, &shadow)?;
    let seen_objects = objects.write()?;
    let mut changes = repo.diff_trees_if_damaged(shadow.head_tree_id, seen.tree_id)?;
    // If there is a shadow on HEAD, it has the authors in the files that it touches already, except of what was committed and
    // reset since.
    if shadow.tip.is_some() && known_id != head {
        let mut untouched = Vec::new();
        for change in changes {
            let last = repo.find_leaf(shadow.last_tree_id(), change.path.as_bstr())?;
            untouched.extend((last == change.before).then_some(change));
        }
        changes = untouched;
    }
    // Archived shadows have the author of each line: first take up the work of sessions from them.
    take_up(worktree, &mut shadow, &seen, &changes.iter().map(|change| change.path.clone()).collect(), Some(known))?;
    let (expected, taken_up_tree_id, mut written) = (shadow.expected, shadow.last_tree_id(), Vec::new());
    for old in olds {
        let trees = (taken_up_tree_id, shadow.last_tree_id());
        for (contributor, edits) in reset_content(repo, trees, (head, old), (&removed_commits, &doubtful), &changes)? {
            let origin = Origin { contributor, ..Origin::default() };
            written.push(add_reset_content(worktree, &mut shadow, old, &origin, &edits)?);
        }
    }
    let new = shadow.tip.as_ref().map(|tip| tip.id);
    if new != expected {
        failpoint::hit("follow:before-refs");
        publish(worktree, &mut shadow)?;
        failpoint::hit("follow:after-refs");
        for turn in begun {
            turn.took_checkpoint(worktree);
        }
        turn::write(worktree)?;
    }
    Written::check_and_release_all(written.into_iter().chain([seen_objects]))
}

/// Returns the content of the commit `old`, from which a reset moved HEAD to `head`, by contributor. Leaves out what the last
/// checkpoint has already; its tree is `last_tree_id`.
///
/// Looks only at the files of `changes`, in which the worktree differs from `head`. The tree `taken_up_tree_id` has the work of
/// sessions that was taken up from archived shadows. `removed_commits` are all commits that resets
/// removed; an agent that reports no tools may have made those of `doubtful`.
fn reset_content(
    repo: &Repo,
    (taken_up_tree_id, last_tree_id): (ObjectId, ObjectId),
    (head, old): (ObjectId, ObjectId),
    (removed_commits, doubtful): (&[ObjectId], &BTreeSet<ObjectId>),
    changes: &[Change],
) -> Result<Vec<ContributorEdits>> {
    let old_tree_id = repo.tree_of_commit(old)?;
    // The records may list a file for a session although no archived shadow has its work. Then the records of each commit
    // decide who changed it. Humans wrote all other content, unless an agent may have.
    let of_sessions = paths_of_sessions(repo, old, removed_commits)?;
    let (mut since_taken_up, mut unknown) = (Vec::new(), BTreeSet::new());
    for change in changes {
        let path = change.path.as_bstr();
        let (before, last) = (repo.find_leaf(old_tree_id, path)?, repo.find_leaf(last_tree_id, path)?);
        if before != change.before && before != last {
            let is_taken_up = repo.find_leaf(taken_up_tree_id, path)? != change.before;
            if !is_taken_up && (of_sessions.contains(&change.path) || !doubtful.is_empty()) {
                unknown.insert(change.path.clone());
            } else {
                since_taken_up.push((change.path.clone(), before.map(|leaf| (leaf.id, leaf.mode))));
            }
        }
    }
    let mut parts = vec![(of_commit(false, !doubtful.is_empty()), since_taken_up)];
    parts.extend(steps_of_commits(repo, (head, old), &unknown, (removed_commits, doubtful))?);
    parts.retain(|(_, edits)| !edits.is_empty());
    Ok(parts)
}

/// Adds a checkpoint with `edits` to `shadow`. The edits are content of the commit `old`, or of one before it.
fn add_reset_content<'c>(
    context: &'c Context,
    shadow: &mut Shadow,
    old: ObjectId,
    origin: &Origin,
    edits: &[(BString, Edit)],
) -> Result<Written<'c>> {
    let repo = &context.repo;
    let mut objects = NewObjects::new(repo, Target::Loose);
    let tree_id = edit_tree(shadow.last_tree_id(), edits, &mut objects)?;
    let (parent_id, after) = shadow.links(&mut objects)?;
    let (name, time) = (&shadow.name, shadow.not_before(repo.now()));
    let (subject, body) = ("changes that a reset removed", format!("HEAD was at {old}.\n"));
    let id = Draft { name, tree_id, parent_id, after, side_id: None, origin, subject, body: &body, time }
        .write(repo, &mut objects)?;
    let written = objects.write()?;
    let checkpoint = repo.checkpoint(id)?.ok_or_else(|| Error::internal(format!("'{id}' is no checkpoint")))?;
    shadow.follow(repo, checkpoint)?;
    Ok(written)
}

/// How many commits are examined one by one.
const MOST_STEPS: usize = 64;

/// A contributor, and what the contributor changed.
type ContributorEdits = (Contributor, Vec<(BString, Edit)>);

/// Returns the author of a file in a commit that a reset removed. `has_session`: the records of the commit list a session for the
/// file, or cannot be read. `is_doubtful`: an agent that reports no tools may have made the commit.
fn of_commit(has_session: bool, is_doubtful: bool) -> Contributor {
    if has_session || is_doubtful { Contributor::Unknown } else { Contributor::Human }
}

/// Returns what the commits after `head`, up to `old`, changed in `paths`, oldest first. If the records of a commit list no
/// session for a file, a human has changed it there. Otherwise, the author is unknown. The author of all changes is unknown if
/// `head` is not among the last [`MOST_STEPS`] first parents of `old`. An agent that reports no tools may have
/// made the commits of `doubtful`.
fn steps_of_commits(
    repo: &Repo,
    (head, old): (ObjectId, ObjectId),
    paths: &BTreeSet<BString>,
    (removed_commits, doubtful): (&[ObjectId], &BTreeSet<ObjectId>),
) -> Result<Vec<ContributorEdits>> {
    let (mut commits, mut at) = (Vec::new(), Some(old).filter(|_| !paths.is_empty()));
    while let Some(commit) = at.filter(|commit| *commit != head && commits.len() < MOST_STEPS) {
        commits.push(commit);
        at = repo.parents_of(commit)?.first().copied();
    }
    if at != Some(head) {
        commits.truncate(1);
    }
    let mut steps: Vec<ContributorEdits> = Vec::new();
    let mut last_tree_id = repo.tree_of_commit(head)?;
    for commit in commits.into_iter().rev() {
        let mut of_sessions = paths_of_record(repo, commit)?;
        for other in repo.parents_of(commit)?.iter().skip(1) {
            of_sessions.extend(paths_of_sessions(repo, *other, removed_commits)?);
        }
        let tree_id = repo.tree_of_commit(commit)?;
        for path in paths {
            let leaf = repo.find_leaf(tree_id, path.as_bstr())?;
            if leaf == repo.find_leaf(last_tree_id, path.as_bstr())? {
                continue;
            }
            let has_session = at != Some(head) || of_sessions.contains(path);
            let contributor = of_commit(has_session, doubtful.contains(&commit));
            if steps.last().is_none_or(|(last, _)| *last != contributor) {
                steps.push((contributor, Vec::new()));
            }
            if let Some((_, edits)) = steps.last_mut() {
                edits.retain(|(known, _)| known != path);
                edits.push((path.clone(), leaf.map(|leaf| (leaf.id, leaf.mode))));
            }
        }
        last_tree_id = tree_id;
    }
    Ok(steps)
}

/// Returns the files with work of sessions in the records of `old`, and of its ancestors among `removed_commits`.
fn paths_of_sessions(repo: &Repo, old: ObjectId, removed_commits: &[ObjectId]) -> Result<BTreeSet<BString>> {
    let (mut paths, mut seen, mut next) = (BTreeSet::new(), BTreeSet::new(), vec![old]);
    while let Some(commit) = next.pop() {
        if removed_commits.contains(&commit) && seen.insert(commit) {
            paths.extend(paths_of_record(repo, commit)?);
            next.extend(repo.parents_of(commit)?);
        }
    }
    Ok(paths)
}

/// Returns the files with work of sessions in the records of `commit`.
fn paths_of_record(repo: &Repo, commit: ObjectId) -> Result<BTreeSet<BString>> {
    let mut paths = BTreeSet::new();
    for id in records::of_commit(repo, commit)? {
        // Skips damaged records.
        let files = records::find(repo, &id).ok().flatten().map(|record| record.files).unwrap_or_default();
        paths.extend(files.into_iter().filter(|file| !file.sessions.is_empty()).map(|file| file.path));
    }
    Ok(paths)
}

/// Returns the sessions whose open turn in this worktree has no checkpoint yet, and that are not on `base`. They are on the
/// known base or an earlier one, because `reconcile` moves only the sessions whose work a commit took.
fn sessions_on_earlier_bases(context: &Context, base: Base) -> Result<Vec<Session>> {
    let mut sessions = open_turns(context)?;
    sessions.retain(|session| {
        session.under_way.as_ref().is_some_and(|turn| !turn.has_checkpoint) && session.base() != Some(base)
    });
    Ok(sessions)
}
