//! Notices that HEAD has moved (pull, switch, reset, rebase), even if no hook of ours ran, and carries the work in the
//! worktree forward to the new HEAD.

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

/// Carries the shadow of the previous HEAD forward to the new one, if the worktree still contains its work. Called by
/// git's hooks.
pub(crate) fn head_moved(context: &Context) -> Result<()> {
    context.emit_failure("follow", enter(context).map(drop))
}

/// Takes the lock of this worktree's checkpoints, and brings them up to date with HEAD.
pub(crate) fn enter(context: &Context) -> Result<Worktree<'_>> {
    let worktree = lock_to_write(context)?;
    follow_head(&worktree)?;
    Ok(worktree)
}

/// Brings the checkpoints of `worktree` up to date with HEAD, unless an earlier call has done so.
pub(crate) fn follow_head(worktree: &Worktree<'_>) -> Result<()> {
    let repo = &worktree.repo;
    // During a rebase, HEAD is at commits that the work was never based on.
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
            // Until the commits are condensed, the work stays on its base.
            return worktree.emit_failure("condense", Err(error)).or(Ok(()));
        }
    };
    let known = known_head(worktree);
    if known != Some((now, end)) {
        if let Some(known) = known {
            if let Err(error) = follow_from(worktree, known) {
                worktree.check_interrupt()?;
                // The work stays on its old base, and the next event tries again. The save itself must not fail.
                return worktree.emit_failure("follow", Err(error)).or(Ok(()));
            }
            failpoint::hit("follow:before-base");
        }
        note_base(worktree, now, end)?;
    }
    worktree.note_head_followed();
    Ok(())
}

fn follow_from(worktree: &Worktree<'_>, known: (Base, Option<LogEnd>)) -> Result<()> {
    let repo = &worktree.repo;
    // First, because the checkpoints that carry work forward follow those of `checkpoint_reset_content`.
    checkpoint_reset_content(worktree, known)?;
    let (known, now) = (known.0, Base::of_head(repo.head()?.id));
    if known == now {
        return Ok(());
    }
    let turns = turns_before(worktree, now)?;
    let on_base = shadows_to_carry(worktree, known)?;
    // A shadow that an open turn is about to set aside is not carried forward.
    let will_be_set_aside = |live: &Live| {
        let resets = turns.iter().filter_map(|it| Some((&it.id, it.under_way.as_ref()?)));
        resets.filter(|(_, turn)| turn.should_reset_shadow).any(|(id, turn)| match &live.name.session {
            Some(own) => own == id,
            None => turn.shadow_tip == Some(live.id),
        })
    };
    let on_base = on_base.filter(|on_base| !on_base.shadows.iter().all(|(live, _)| will_be_set_aside(live)));
    let mut pending = Vec::new();
    for session in &turns {
        if let Some((_, id)) = pending_of(repo, &session.id)? {
            pending.extend(repo.find_checkpoint(id)?.filter(|it| it.worktree == repo.worktree_id()));
        }
    }
    if on_base.is_none() && pending.is_empty() {
        return Ok(());
    }
    let mut shadow = Shadow::read(repo)?;
    // A process that crashed may have carried some baselines forward already.
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
    let brought = updates.iter().position(|update| update.name == here);
    let mut new = brought.and_then(|at| updates[at].new);
    shadow.go_to(None, new);
    for before in &pending {
        let mut objects = NewObjects::new(repo, Target::Loose);
        if bring(worktree, &mut shadow, before, Origin::default(), seen.tree_id, &mut objects)? {
            new = shadow.tip.as_ref().map(|tip| tip.id);
            written.push(objects.write()?);
        }
    }
    match brought {
        Some(at) => updates[at].new = new,
        None if new.is_some() => updates.push(RefUpdate { name: here, old: shadow.expected, new }),
        None => {}
    }
    let tip = shadow.tip.as_ref().map(|tip| tip.id);
    if !updates.is_empty() {
        failpoint::hit("follow:before-refs");
        repo.update_refs(&updates)?;
        failpoint::hit("follow:after-refs");
        Written::settle_all(written.into_iter().chain([seen_objects]))?;
    }
    for mut session in turns {
        // The carried shadow contains the baseline of the turn.
        release_pending(worktree, &session.id, None)?;
        if let Some(turn) = &mut session.under_way {
            (turn.shadow_tip, turn.should_reset_shadow) = (tip, false);
        }
        session.base = shadow.name.base.to_string();
        store(worktree, &session)?;
    }
    Ok(())
}

/// After a reset in the middle of a turn, takes checkpoints of the content that the reset removed from HEAD but not from the
/// worktree: otherwise it would count as the turn's work. They have each file as in the commit, even if it has changed since.
fn checkpoint_reset_content(worktree: &Worktree<'_>, (known, end): (Base, Option<LogEnd>)) -> Result<()> {
    let repo = &worktree.repo;
    let (Some(known_id), Some(head)) = (known.commit_id(), repo.head()?.id) else { return Ok(()) };
    if open_turns(worktree)?.is_empty() {
        return Ok(());
    }
    let mut left = left_behind(repo, Some(head))?;
    // HEAD may have gone to other commits between the known one and the reset.
    let (moves, _) = repo.head_moves((known, end), head)?;
    let resets = moves.iter().filter(|moved| moved.kind == MoveKind::Reset);
    let mut olds: Vec<ObjectId> = resets.filter_map(|moved| moved.from.commit_id()).collect();
    olds.retain(|old| left.contains(old));
    if olds.is_empty() {
        return Ok(());
    }
    let mut shadow = Shadow::read(repo)?;
    // If there is a shadow, it already knows the authors, except of what was committed on it since.
    if shadow.tip.is_some() && known_id != head {
        return Ok(());
    }
    let mut doubtful = BTreeSet::new();
    if author::is_any_silent(worktree)? {
        doubtful.extend(moves.iter().filter(|moved| moved.kind.makes_commit()).map(|moved| moved.to));
        // A doubtful commit may have taken the place of the known one.
        if !doubtful.is_empty() && !left.contains(&known_id) && !repo.reaches(vec![head], known_id, 0)? {
            left.push(known_id);
            olds.insert(0, known_id);
        }
    }
    // What turns here began with was there before the commits.
    let begun =
        if known_id == head { OpenTurn::enter_all(worktree, &mut shadow, Contributor::Unknown)? } else { Vec::new() };
    let (seen, objects) = look_at_all(worktree, &shadow)?;
    let seen_objects = objects.write()?;
    let changes = repo.diff_trees_if_damaged(shadow.head_tree_id, seen.tree_id)?;
    // First takes up the work of sessions from the archived shadows, which know the authors of all lines.
    take_up(worktree, &mut shadow, &seen, &changes.iter().map(|change| change.path.clone()).collect(), Some(known))?;
    let (expected, taken_up_tree_id, mut written) = (shadow.expected, shadow.last_tree_id(), Vec::new());
    for old in olds {
        let trees = (taken_up_tree_id, shadow.last_tree_id());
        for (contributor, edits) in taken_back(repo, trees, (head, old), (&left, &doubtful), &changes)? {
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
    Written::settle_all(written.into_iter().chain([seen_objects]))
}

/// Returns the content of `old`, one of the commits `left` that a reset removed, which the last checkpoint, with the tree
/// `last_tree_id`, does not have: in the files of `changes`, in which the worktree differs from `head`. `taken_up_tree_id` has the
/// work of sessions that was taken up. An agent may have made the commits `doubtful`.
fn taken_back(
    repo: &Repo,
    (taken_up_tree_id, last_tree_id): (ObjectId, ObjectId),
    (head, old): (ObjectId, ObjectId),
    (left, doubtful): (&[ObjectId], &BTreeSet<ObjectId>),
    changes: &[Change],
) -> Result<Vec<Part>> {
    let old_tree_id = repo.tree_of_commit(old)?;
    // If the records list a file for a session, but no archived shadow has its work, the records of each commit decide who
    // changed it. Humans wrote all the rest, unless an agent may have.
    let of_sessions = paths_of_sessions(repo, old, left)?;
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
    parts.extend(steps_of_commits(repo, (head, old), &unknown, doubtful)?);
    parts.retain(|(_, edits)| !edits.is_empty());
    Ok(parts)
}

/// Adds a checkpoint with `edits` to `shadow`: content of the commit `old`, or of one before it.
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

/// How many commits we examine one by one.
const MOST_COMMITS: usize = 64;

/// A contributor, and the files that the contributor changed.
type Part = (Contributor, Vec<(BString, Edit)>);

/// Returns the author of a file in a commit that a reset removed. `has_session`: the records of the commit list a session for it,
/// or are not known. `is_doubtful`: an agent that reports no tools may have made the commit.
fn of_commit(has_session: bool, is_doubtful: bool) -> Contributor {
    if has_session || is_doubtful { Contributor::Unknown } else { Contributor::Human }
}

/// Returns what the commits after `head`, up to `old`, changed in `paths`, oldest first, each with its author; with an unknown one
/// if `head` is not among the last [`MOST_COMMITS`] first parents of `old`. An agent may have made the commits `doubtful`.
fn steps_of_commits(
    repo: &Repo,
    (head, old): (ObjectId, ObjectId),
    paths: &BTreeSet<BString>,
    doubtful: &BTreeSet<ObjectId>,
) -> Result<Vec<Part>> {
    let (mut commits, mut at) = (Vec::new(), Some(old).filter(|_| !paths.is_empty()));
    while let Some(commit) = at.filter(|commit| *commit != head && commits.len() < MOST_COMMITS) {
        commits.push(commit);
        at = repo.parents_of(commit)?.first().copied();
    }
    if at != Some(head) {
        commits.truncate(1);
    }
    let mut steps: Vec<Part> = Vec::new();
    let mut last_tree_id = repo.tree_of_commit(head)?;
    for commit in commits.into_iter().rev() {
        let of_sessions = paths_of_record(repo, commit)?;
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

/// Returns the files with work of sessions in the records of `old`, and of its ancestors among `left`.
fn paths_of_sessions(repo: &Repo, old: ObjectId, left: &[ObjectId]) -> Result<BTreeSet<BString>> {
    let (mut paths, mut at) = (BTreeSet::new(), Some(old));
    while let Some(commit) = at.filter(|commit| left.contains(commit)) {
        paths.extend(paths_of_record(repo, commit)?);
        at = repo.parents_of(commit)?.first().copied();
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

/// Returns the sessions whose open turn in this worktree has no checkpoint yet and began on another commit than `base`: on the
/// last known base, or on an earlier one if the commits in between took nothing of a shadow.
fn turns_before(context: &Context, base: Base) -> Result<Vec<Session>> {
    let mut turns = open_turns(context)?;
    turns.retain(|session| {
        session.under_way.as_ref().is_some_and(|turn| !turn.has_checkpoint) && session.base() != Some(base)
    });
    Ok(turns)
}
