//! Carries the work in the worktree forward when HEAD has moved, for example by `git pull`, `git switch` or `git reset`: gathers
//! the facts, lets `model::uncommitted` plan, and carries out the plan.

use std::collections::BTreeSet;

use super::{Base, Result, Worktree, failpoint, open_turns, reset_content::keep_taken_back};
use crate::{
    git::{
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
        written::Written,
    },
    model::{
        checkpoint::{Checkpoint, Origin},
        head_move::{LogEnd, MoveKind},
        refname::ShadowName,
        uncommitted::{Carried, Effect, Facts, plan},
    },
    ops::{
        author,
        chain::{
            Shadow,
            carry_forward::{Aim, Moved, Rest, bring, carries},
            look_at_all,
        },
        condense::shadows_to_carry,
        provenance::recorded::left_behind,
        session_info::store,
        turn::{pending_of, release_pending},
    },
};

/// Brings the uncommitted work that was on `known`, where HEAD was, to HEAD.
pub(super) fn follow(worktree: &Worktree<'_>, known: (Base, Option<LogEnd>)) -> Result<()> {
    let facts = facts(worktree, known)?;
    for effect in plan(&facts) {
        match effect {
            Effect::KeepTakenBack(taken_back) => keep_taken_back(worktree, facts.known, &taken_back)?,
            Effect::CarryForward(carried) => carry_forward(worktree, &facts, &carried)?,
        }
    }
    Ok(())
}

/// Gathers what the plan depends on. Leaves out what the plan cannot need: a look at many commits takes time.
fn facts(worktree: &Worktree<'_>, (known, end): (Base, Option<LogEnd>)) -> Result<Facts> {
    let repo = &worktree.repo;
    let head = repo.head()?.id;
    let mut facts = Facts {
        known,
        now: Base::of_head(head),
        moves: Vec::new(),
        removed: Vec::new(),
        has_known: true,
        is_any_silent: false,
        open: open_turns(worktree)?,
        with_baseline: BTreeSet::new(),
        shadows: Vec::new(),
    };
    if let (Some(known_id), Some(head)) = (known.commit_id(), head)
        && !facts.open.is_empty()
    {
        (facts.moves, _) = repo.head_moves((known, end), head)?;
        if facts.moves.iter().any(|moved| moved.kind == MoveKind::Reset) {
            facts.removed = left_behind(repo, Some(head))?;
            facts.is_any_silent = author::is_any_silent(worktree)?;
            facts.has_known = !facts.is_any_silent || repo.reaches(vec![head], known_id, 0)?;
        }
    }
    if known != facts.now {
        for session in &facts.open {
            if baseline(worktree, &session.id)?.is_some() {
                facts.with_baseline.insert(session.id.clone());
            }
        }
        let on_base = shadows_to_carry(worktree, known)?;
        let shadows = on_base.iter().flat_map(|on_base| &on_base.shadows);
        facts.shadows = shadows.map(|(live, _)| (live.name.session.clone(), live.id)).collect();
    }
    Ok(facts)
}

/// Returns the baseline of the open turn of `session`: a checkpoint of the worktree as the turn found it.
fn baseline(worktree: &Worktree<'_>, session: &str) -> Result<Option<Checkpoint>> {
    let repo = &worktree.repo;
    let Some((_, id)) = pending_of(repo, session)? else { return Ok(None) };
    Ok(repo.find_checkpoint(id)?.filter(|it| it.worktree == repo.worktree_id()))
}

/// Carries `carried` forward to HEAD, as far as the worktree still has it.
fn carry_forward(worktree: &Worktree<'_>, facts: &Facts, carried: &Carried) -> Result<()> {
    let repo = &worktree.repo;
    let mut shadow = Shadow::read(repo)?;
    let mut baselines = Vec::new();
    for session in &carried.turns {
        baselines.extend(baseline(worktree, session)?);
    }
    // A process that was killed may have carried some of the baselines forward already.
    baselines.retain(|before| !carries(repo, &shadow, before));
    let (seen, objects) = look_at_all(worktree, &shadow)?;
    let seen_objects = objects.write()?;
    let on_base = if carried.shadows.is_empty() { None } else { shadows_to_carry(worktree, facts.known)? };
    let Moved { mut updates, mut written } = match on_base {
        Some(on_base) => {
            let aim = Aim { now_tree_id: seen.tree_id, is_now_seen: true, rest: Rest::Stays };
            on_base.carry_forward(worktree, &mut shadow, aim, &|live| !carried.shadows.contains(&live.id))?
        }
        None => Moved::default(),
    };
    let here = ShadowName::of_worktree(shadow.name.base, repo.worktree_id()).to_ref();
    let here_index = updates.iter().position(|update| update.name == here);
    let mut new = here_index.and_then(|index| updates[index].new);
    shadow.go_to(None, new);
    for before in &baselines {
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
    for mut session in facts.open.iter().filter(|session| carried.turns.contains(&session.id)).cloned() {
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
