//! Carries the work in the worktree forward when HEAD has moved, for example by `git pull`, `git switch` or `git reset`.
//!
//! [`follow_head`] is the main function. Each save calls it, and so does [`lock_and_follow`], with which other commands begin.
//! No hook has to run for that: the file `base` says where HEAD was at the last look.
//!
//! The order matters. First, `reconcile` makes records of the commits since then, and takes their work out of the shadows, the
//! chains of checkpoints on a commit. Then, [`follow_head`] carries forward the other work that the worktree still has. Each
//! step writes the file `base` last, so after a crash the next command repeats the step.

use super::{
    Context, Worktree,
    chain::{
        Shadow,
        carry_forward::{Aim, Moved, Rest, bring, carries},
        look_at_all,
        shadows::Live,
    },
    condense::shadows_to_carry,
    known_base::{known_head, note_base},
    locking::lock_to_write,
    reconcile::reconcile,
    reset_content::checkpoint_reset_content,
    session_info::{open_turns, store},
    turn::{pending_of, release_pending},
};
use crate::{
    error::Result,
    git::{
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
        written::Written,
    },
    model::{
        checkpoint::Origin,
        head_move::LogEnd,
        operation,
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
    // A rebase moves HEAD to commits that no work is based on. Until the rebase ends, the work stays on its old base.
    if repo.is_rebasing() {
        return Ok(());
    }
    if worktree.has_followed_head() {
        return Ok(());
    }
    let _way = repo.on_the_way(operation::FOLLOW);
    let now = Base::of_head(repo.head()?.id);
    let end = match reconcile(worktree) {
        Ok(end) => end,
        Err(error) => {
            worktree.check_interrupt()?;
            // A save must not fail because a record cannot be made. The work stays on its old base, and the next command tries
            // again.
            return worktree.emit_failure("condense", Err(error)).or(Ok(()));
        }
    };
    let known = known_head(worktree);
    if known != Some((now, end)) {
        if let Some(known) = known {
            if let Err(error) = follow_from(worktree, known) {
                worktree.check_interrupt()?;
                // A save must not fail because the work cannot be carried forward. The work stays on its old base, and the next
                // command tries again.
                return worktree.emit_failure("follow", Err(error)).or(Ok(()));
            }
            failpoint::hit("follow:before-base");
        }
        note_base(worktree, now, end)?;
    }
    worktree.note_head_followed();
    Ok(())
}

/// Carries the shadows on `known`, where HEAD was, forward to HEAD. Does the same for the baselines of open turns that have no
/// checkpoint yet. A baseline is a checkpoint of the worktree as the turn found it.
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
        // The shadow on HEAD now has all that the worktree still contains of the turn's baseline.
        release_pending(worktree, &session.id, None)?;
        if let Some(turn) = &mut session.under_way {
            (turn.shadow_tip, turn.should_reset_shadow) = (tip, false);
        }
        session.base = shadow.name.base.to_string();
        store(worktree, &session)?;
    }
    Ok(())
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
