//! Carries the work in the worktree forward when HEAD has moved, for example by `git pull`, `git switch` or `git reset`.

use super::{Base, Result, Worktree, failpoint, open_turns, reset_content::checkpoint_reset_content};
use crate::{
    git::{
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
        written::Written,
    },
    model::{checkpoint::Origin, head_move::LogEnd, refname::ShadowName, session::Session},
    ops::{
        Context,
        chain::{
            Shadow,
            carry_forward::{Aim, Moved, Rest, bring, carries},
            look_at_all,
            shadows::Live,
        },
        condense::shadows_to_carry,
        session_info::store,
        turn::{pending_of, release_pending},
    },
};

/// Carries the shadows on `known`, where HEAD was, forward to HEAD. Does the same for the baselines of open turns that have no
/// checkpoint yet. A baseline is a checkpoint of the worktree as the turn found it.
pub(super) fn follow(worktree: &Worktree<'_>, known: (Base, Option<LogEnd>)) -> Result<()> {
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
