//! What a reset in the middle of a turn removed from HEAD and left in the worktree, as `git reset --soft HEAD~1` does: without
//! checkpoints of this content, it would count as work of the turn.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::{Error, Result},
    git::{
        Repo,
        edit_tree::{Edit, edit_tree},
        new_objects::{NewObjects, Target},
        written::Written,
    },
    model::{
        change::{Change, Leaf},
        checkpoint::Origin,
        contributor::Contributor,
        refname::Base,
        uncommitted::TakenBack,
    },
    ops::{
        Context, Worktree,
        chain::{Shadow, carry_forward::merge, commit::Draft, look_at_all, publish},
        provenance::set_aside::take_up,
        records::evidence,
        share::share,
        turn::{self, OpenTurn},
    },
    state::failpoint,
};

/// Takes checkpoints of the content of `taken_back`, which resets in the middle of a turn removed from HEAD and left in the
/// worktree. `known` is where HEAD was at the last look.
///
/// The checkpoints have each file as the removed commit had it, even if the file has changed since, with the older work that the
/// shadow on HEAD has of it.
pub(super) fn keep_taken_back(worktree: &Worktree<'_>, known: Base, taken_back: &TakenBack) -> Result<()> {
    let repo = &worktree.repo;
    let Some(head) = repo.head()?.id else { return Ok(()) };
    let TakenBack { tips, removed, doubtful, is_after_baselines } = taken_back;
    let mut shadow = Shadow::read(repo)?;
    let begun = if *is_after_baselines {
        OpenTurn::add_baselines(worktree, &mut shadow, Some(Contributor::Unknown))?
    } else {
        Vec::new()
    };
    // What was saved on this commit is older than the removed commits, and they may have only a part of it.
    let saved = Saved { head_tree_id: shadow.head_tree_id, tree_id: shadow.last_tree_id() };
    let (seen, objects) = look_at_all(worktree, &shadow)?;
    let seen_objects = objects.write()?;
    let changes = repo.diff_trees_if_damaged(shadow.head_tree_id, seen.tree_id)?;
    // Archived shadows know the author of each line of the work of sessions, so first take up that work from them.
    take_up(worktree, &mut shadow, &seen, &changes.iter().map(|change| change.path.clone()).collect(), Some(known))?;
    let (expected, taken_up_tree_id, mut written) = (shadow.expected, shadow.last_tree_id(), Vec::new());
    for &old in tips {
        let trees = (saved.tree_id, taken_up_tree_id, shadow.last_tree_id());
        let parts = reset_content(repo, trees, (head, old), (removed, doubtful), &changes)?;
        let mut blobs = NewObjects::new(repo, Target::Loose);
        let parts = saved.with_parts(repo, parts, &changes, &mut blobs)?;
        written.push(blobs.write()?);
        for (contributor, edits) in parts {
            let origin = Origin { contributor, ..Origin::default() };
            written.extend(add_reset_content(worktree, &mut shadow, old, &origin, &edits)?);
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
/// Looks only at the files of `changes`, in which the worktree differs from `head`. The tree `taken_up_tree_id` has, beside what
/// the tree `saved_tree_id` has, the work of sessions that was taken up from archived shadows. `removed_commits` are all commits
/// that resets removed; an agent that reports no tools may have made those of `doubtful`.
fn reset_content(
    repo: &Repo,
    (saved_tree_id, taken_up_tree_id, last_tree_id): (ObjectId, ObjectId, ObjectId),
    (head, old): (ObjectId, ObjectId),
    (removed_commits, doubtful): (&[ObjectId], &BTreeSet<ObjectId>),
    changes: &[Change],
) -> Result<Vec<ContributorEdits>> {
    let old_tree_id = repo.tree_of_commit(old)?;
    // For some files no archived shadow has the work. If the records list a session for such a file, or if a commit is doubtful,
    // [`steps_of_commits`] examines each commit. The author of all other content is a human, or unknown if a commit is doubtful.
    let of_sessions = paths_of_sessions(repo, old, removed_commits)?;
    let (mut since_taken_up, mut to_examine) = (Vec::new(), BTreeSet::new());
    for change in changes {
        let path = change.path.as_bstr();
        let (before, last) = (repo.find_leaf(old_tree_id, path)?, repo.find_leaf(last_tree_id, path)?);
        if before != change.before && before != last {
            let is_taken_up = repo.find_leaf(taken_up_tree_id, path)? != repo.find_leaf(saved_tree_id, path)?;
            if !is_taken_up && (of_sessions.contains(&change.path) || !doubtful.is_empty()) {
                to_examine.insert(change.path.clone());
            } else {
                since_taken_up.push((change.path.clone(), before.map(|leaf| (leaf.id, leaf.mode))));
            }
        }
    }
    let mut parts = vec![(of_commit(false, !doubtful.is_empty()), since_taken_up)];
    parts.extend(steps_of_commits(repo, (head, old), &to_examine, (removed_commits, doubtful))?);
    parts.retain(|(_, edits)| !edits.is_empty());
    Ok(parts)
}

/// What the shadow on HEAD had before the reset.
struct Saved {
    head_tree_id: ObjectId,
    /// The tree of its last checkpoint; that of HEAD if there is none.
    tree_id: ObjectId,
}

impl Saved {
    /// Returns `parts`, the content of a removed commit by contributor, and adds to each file the saved work that the commit left
    /// out: that work is older than the turn, too. If the two conflict, takes the file as the worktree has it now (after, in
    /// `changes`), with an unknown author.
    fn with_parts(
        &self,
        repo: &Repo,
        parts: Vec<ContributorEdits>,
        changes: &[Change],
        blobs: &mut NewObjects<'_>,
    ) -> Result<Vec<ContributorEdits>> {
        let (mut all, mut in_conflict) = (Vec::with_capacity(parts.len()), Vec::new());
        for (contributor, edits) in parts {
            let mut kept = Vec::with_capacity(edits.len());
            for (path, edit) in edits {
                let leaf = |tree_id| repo.find_leaf(tree_id, path.as_bstr());
                let (head, saved) = (leaf(self.head_tree_id)?, leaf(self.tree_id)?);
                let committed = edit.map(|(id, mode)| Leaf { id, mode });
                let with_work = match Change::between(path.clone(), head, saved) {
                    Some(work) if !share(repo, &work, head, committed)?.is_all() => {
                        merge(repo, (head, saved), committed, blobs)?
                    }
                    _ => committed,
                };
                if with_work.is_some() || committed.is_none() {
                    kept.push((path, with_work.map(|leaf| (leaf.id, leaf.mode))));
                } else if let Some(now) = changes.iter().find(|change| change.path == path) {
                    in_conflict.push((path, now.after.map(|leaf| (leaf.id, leaf.mode))));
                }
            }
            all.push((contributor, kept));
        }
        all.push((Contributor::Unknown, in_conflict));
        Ok(all)
    }
}

/// Adds a checkpoint with `edits` to `shadow`, unless it has them already. The edits are content of the commit `old`, or of one
/// before it.
fn add_reset_content<'c>(
    context: &'c Context,
    shadow: &mut Shadow,
    old: ObjectId,
    origin: &Origin,
    edits: &[(BString, Edit)],
) -> Result<Option<Written<'c>>> {
    let repo = &context.repo;
    let mut objects = NewObjects::new(repo, Target::Loose);
    let tree_id = edit_tree(shadow.last_tree_id(), edits, &mut objects)?;
    if tree_id == shadow.last_tree_id() {
        return Ok(None);
    }
    let (parent_id, after) = shadow.links(&mut objects)?;
    let (name, time) = (&shadow.name, shadow.not_before(repo.now()));
    let (subject, body) = ("changes that a reset removed", format!("HEAD was at {old}.\n"));
    let id = Draft { name, tree_id, parent_id, after, side_id: None, origin, subject, body: &body, time }
        .write(repo, &mut objects)?;
    let written = objects.write()?;
    let checkpoint = repo.checkpoint(id)?.ok_or_else(|| Error::internal(format!("'{id}' is no checkpoint")))?;
    shadow.follow(repo, checkpoint)?;
    Ok(Some(written))
}

/// The most commits that [`steps_of_commits`] examines one by one.
const MOST_STEPS: usize = 64;

/// A contributor, and what the contributor changed.
type ContributorEdits = (Contributor, Vec<(BString, Edit)>);

/// Returns the author of a file in a commit that a reset removed. `has_session`: a record of the commit lists a session for the
/// file, or [`steps_of_commits`] cannot examine each commit since HEAD. `is_doubtful`: an agent that reports no tools may have
/// made the commit.
fn of_commit(has_session: bool, is_doubtful: bool) -> Contributor {
    if has_session || is_doubtful { Contributor::Unknown } else { Contributor::Human }
}

/// Returns what the commits after `head`, up to `old`, changed in `paths`, oldest first. If a record of a commit lists a session
/// for a file, or if the commit is in `doubtful`, because an agent that reports no tools may have made it, the author is unknown.
/// Otherwise, a human has changed the file there. If `head` is not among the last [`MOST_STEPS`] first parents of `old`, returns
/// all changes as one step with an unknown author.
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

/// Returns the files with work of sessions in the records of `old` and its ancestors, as far back as `removed_commits` go.
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
    for id in evidence::of_commit(repo, commit)? {
        // Skips damaged records.
        let files = evidence::find(repo, &id).ok().flatten().map(|record| record.files).unwrap_or_default();
        paths.extend(files.into_iter().filter(|file| !file.sessions.is_empty()).map(|file| file.path));
    }
    Ok(paths)
}
