//! A session's turn in a worktree: its baseline, its first checkpoint, and its end.
//!
//! The baseline is a checkpoint of the worktree as the turn found it. A pending ref keeps it, outside the shadow. Just before
//! the turn's first checkpoint, [`OpenTurn::shadow_with_baseline`] adds the baseline to the shadow. So a turn that changes
//! nothing leaves nothing in the shadow.
//!
//! Saves use [`OpenTurn`], and then call [`write()`]. [`end`] ends a turn for each [`EndReason`].

mod pending;

use gix::ObjectId;

pub(crate) use self::pending::{pending_of, release_pending};
use self::pending::{readable, release_all_pending};
use crate::{
    error::{Error, Kind, Result},
    git::{
        Repo,
        commit::Moment,
        new_objects::{NewObjects, Target},
        side::Side,
        written::Written,
    },
    model::{
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
        refname::{Base, ShadowName},
        session::{Phase, Session, UnderWay, is_valid_id},
    },
    ops::{
        Context, Worktree, author,
        chain::{
            Saved, Shadow,
            carry_forward::{Destination, carry, put_on_top},
            commit::{self, Draft},
            shadows,
            stashed::keep_stashed,
        },
        session_info,
    },
    state::{
        failpoint,
        sessions::{self, Found},
    },
};

/// Why a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndReason {
    /// The agent has answered, or has begun its next turn.
    Stopped,
    /// The session has ended.
    Ended,
    /// The agent's process is gone.
    Crashed,
    /// `git checkpoint reset --session` ended it.
    Reset,
    /// The session continues in another worktree, or in another process.
    Adopted,
    /// `git checkpoint session forget` ended it.
    Forgotten,
}

/// Ends the turn of `session` in this worktree: releases its baseline, and removes the session from `turns.toml`. The caller
/// stores the session. If the session ends, moves, is forgotten or has lost its worktree, releases its baselines in all
/// worktrees. After [`EndReason::Stopped`] and [`EndReason::Ended`], `turns.toml` keeps commands that still run in the
/// background.
///
/// `now_tree_id` is the tree of the worktree, if known: a baseline with the same tree need not be archived.
pub(crate) fn end(
    worktree: &Worktree<'_>,
    session: &mut Session,
    why: EndReason,
    now_tree_id: Option<ObjectId>,
) -> Result<()> {
    release_pending(worktree, &session.id, now_tree_id)?;
    if matches!(why, EndReason::Ended | EndReason::Adopted | EndReason::Forgotten)
        || session_info::has_lost_worktree(worktree, session)
    {
        release_all_pending(worktree, &session.id)?;
    }
    session.has_reported_tools |= worktree.turns().find(&session.id).is_some_and(|own| !own.accounts.is_empty());
    worktree.edit_turns(|turns| {
        let own = turns.find(&session.id).filter(|_| matches!(why, EndReason::Stopped | EndReason::Ended));
        let left = own.map(author::left_running).unwrap_or_default();
        turns.end(&session.id);
        if !left.is_empty() {
            turns.entry(&session.id).calls = left;
        }
    });
    session.under_way = None;
    session.phase = phase_after(session.phase, why);
    session.is_interrupted |= why == EndReason::Crashed;
    Ok(())
}

/// Returns the phase of a session in `phase` after its turn has ended.
pub(crate) fn phase_after(phase: Phase, why: EndReason) -> Phase {
    match (why, phase) {
        (EndReason::Ended, _) => Phase::Ended,
        (EndReason::Adopted, _) | (_, Phase::Active) => Phase::Idle,
        (_, phase) => phase,
    }
}

/// Writes `turns.toml`, and then releases the baselines of the turns that have got their first checkpoint.
pub(crate) fn write(worktree: &Worktree<'_>) -> Result<()> {
    for session in worktree.write_turns()? {
        if let Err(error) = release_pending(worktree, &session, None) {
            // The end of the turn will release it.
            tracing::warn!(%error, "cannot delete the ref of the state before a turn");
        }
    }
    Ok(())
}

/// Calls [`write()`] after an operation, and returns its `outcome`. An operation that fails may have taken checkpoints, too.
pub(crate) fn write_after<T>(worktree: &Worktree<'_>, outcome: Result<T>) -> Result<T> {
    let written = write(worktree);
    outcome.and_then(|done| written.map(|()| done))
}

/// An open turn in this worktree.
pub(crate) struct OpenTurn<'c> {
    session: Session,
    turn: UnderWay,
    /// The objects written to add the baseline to the shadow. Git must not collect them before a ref reaches them.
    written: Vec<Written<'c>>,
}

impl<'c> OpenTurn<'c> {
    /// Returns the open turn of the session `id` in this worktree.
    pub(crate) fn of(context: &'c Context, id: Option<&str>) -> Result<Option<Self>> {
        let Some(id) = id.filter(|id| is_valid_id(id)) else { return Ok(None) };
        let Some(turn) = context.turns().turn_of(id).cloned() else { return Ok(None) };
        let Found::Session(session) = session_info::load(context, id)? else { return Ok(None) };
        let is_here = session.is_in(context.repo.worktree_id());
        Ok(is_here.then_some(Self { session: *session, turn, written: Vec::new() }))
    }

    /// Returns the shadow for the next checkpoint of this turn. If that is the turn's first one, adds the baseline to the
    /// shadow. Fills in from the session what `origin` and `message` lack.
    pub(crate) fn shadow_with_baseline(
        &mut self,
        context: &'c Context,
        origin: &mut Origin,
        message: &mut Option<String>,
    ) -> Result<Shadow> {
        let repo = &context.repo;
        let (session, turn) = (self.session.clone(), self.turn.clone());
        if origin.session.as_ref() == Some(&session.id) {
            self.complete(context, origin, message)?;
        }
        let id = Some(session.id.as_str());
        let mut shadow = Shadow::read_for(context, id)?;
        // The baseline must not follow a checkpoint that a person or another session has taken since the turn began, because
        // that one is newer. The baseline may follow the base commit, or the last checkpoint before the turn, even if commits
        // have carried that one forward.
        let may_follow_tip = shadow.tip.as_ref().map_or(Ok(true), |tip| goes_back_to(repo, tip, turn.shadow_tip))?;
        // Even if the baseline must not follow the tip, the turn may set aside its session's own shadow: no other session adds
        // checkpoints to that one.
        if turn.has_checkpoint || !(may_follow_tip || shadow.name.session.is_some()) {
            return Ok(shadow);
        }
        if turn.should_reset_shadow {
            set_aside(repo, &mut shadow)?;
        }
        if may_follow_tip
            && let Some((_, id)) = pending_of(repo, &session.id)?
            && let Some(pending) = readable(repo, id)
            && pending.worktree == shadow.name.worktree
        {
            let put = if pending.base == shadow.name.base {
                self.add_baseline(context, &pending, &mut shadow)
            } else {
                self.carry_baseline(context, &pending, &mut shadow)
            };
            match put {
                Err(error) if error.kind() == Kind::Corrupt => {
                    tracing::warn!(%error, "cannot read the state before the turn");
                }
                put => put?,
            }
        }
        Ok(shadow)
    }

    /// Prepares `shadow` for a checkpoint of `who` outside any turn: adds the baselines of turns that have no checkpoint yet,
    /// oldest first, and returns these turns. If one of these turns is about to set the shadow aside, does that first. If `who` is
    /// the author of all these baselines, adds none, because the checkpoint includes their changes. For a checkpoint of some paths
    /// only, `who` is none.
    pub(crate) fn add_baselines(
        worktree: &'c Worktree<'_>,
        shadow: &mut Shadow,
        who: Option<Contributor>,
    ) -> Result<Vec<Self>> {
        let turns = turns_without_checkpoint(worktree, &shadow.name, shadow.tip.as_ref(), who)?;
        if turns.iter().any(|(open, _)| open.turn.should_reset_shadow) {
            set_aside(&worktree.repo, shadow)?;
        }
        Self::add_each(worktree, shadow, turns)
    }

    /// Does the same before a checkpoint of the turn `own`, whose baseline `shadow` has: adds the baselines of turns that began
    /// after it. Added after that checkpoint, they would be too late: changes from before those turns would count as changes of
    /// these turns.
    pub(crate) fn add_later_baselines(
        worktree: &'c Worktree<'_>,
        shadow: &mut Shadow,
        own: &Self,
        who: Option<Contributor>,
    ) -> Result<Vec<Self>> {
        let repo = &worktree.repo;
        let own_id = &own.session.id;
        // When the other turns began, the shadow did not have the baseline of `own`.
        let found = match &shadow.tip {
            Some(tip) if shadow.held_tip().is_none() => repo.find_checkpoint(tip.before_id())?,
            tip => tip.clone(),
        };
        let began = pending_of(repo, own_id)?.and_then(|(_, id)| readable(repo, id)).map(|pending| pending.taken());
        let mut turns = turns_without_checkpoint(worktree, &shadow.name, found.as_ref(), who)?;
        turns.retain(|(open, pending)| {
            open.session.id != *own_id && !open.turn.should_reset_shadow && began.is_none_or(|it| it <= pending.taken())
        });
        Self::add_each(worktree, shadow, turns)
    }

    fn add_each(
        worktree: &'c Worktree<'_>,
        shadow: &mut Shadow,
        mut turns: Vec<(Self, Checkpoint)>,
    ) -> Result<Vec<Self>> {
        for (open, pending) in &mut turns {
            match open.add_baseline(worktree, pending, shadow) {
                Err(error) if error.kind() == Kind::Corrupt => {
                    tracing::warn!(%error, "cannot read the state before the turn");
                }
                put => put?,
            }
        }
        Ok(turns.into_iter().map(|(open, _)| open).collect())
    }

    /// Fills in from the session's files what is missing: agent, model, turn, and the first line of the prompt as message.
    fn complete(&self, context: &Context, origin: &mut Origin, message: &mut Option<String>) -> Result<()> {
        let session = &self.session;
        origin.agent = origin.agent.take().or_else(|| session.agent.clone());
        origin.model = origin.model.take().or_else(|| session.model.clone());
        origin.turn = origin.turn.or(Some(session.turn.number));
        if message.is_none() {
            let prompts = sessions::prompts(context.repo.common_dir(), &session.id)?;
            let prompt = prompts.into_iter().rev().find(|prompt| prompt.turn == session.turn.number);
            *message = prompt.and_then(|prompt| prompt.text.trim().lines().next().map(Into::into));
        }
        Ok(())
    }

    /// Adds the baseline to the shadow, unless the last checkpoint has the same state.
    fn add_baseline(&mut self, context: &'c Context, pending: &Checkpoint, shadow: &mut Shadow) -> Result<()> {
        let repo = &context.repo;
        let side = pending.side_id.map(|id| repo.read_side(id)).transpose()?;
        let facts = |side: Option<&Side>| side.map(|it| (it.raw_tree_id, it.index_tree_id, it.unmerged_tree_id));
        let (side, last) = (facts(side.as_ref()), facts(shadow.tip_side.as_ref()));
        if pending.tree_id == shadow.last_tree_id() && side.unwrap_or_default() == last.unwrap_or_default() {
            return Ok(());
        }
        let mut objects = NewObjects::new(repo, Target::Loose);
        let (parent_id, after) = shadow.links(&mut objects)?;
        let changes = repo.diff_trees_if_damaged(shadow.last_tree_id(), pending.tree_id)?;
        keep_stashed(repo, shadow, &changes)?;
        let (subject, body) = commit::subject_and_body(None, &changes);
        let origin = pending.origin.clone();
        let (name, tree_id, side_id) = (&shadow.name, pending.tree_id, pending.side_id);
        let time = shadow.not_before(Moment::of(pending));
        let draft = Draft { name, tree_id, parent_id, after, side_id, origin: &origin, subject: &subject, body, time };
        let id = draft.write(repo, &mut objects)?;
        self.written.push(objects.write()?);
        let baseline = repo.checkpoint(id)?.ok_or_else(|| Error::internal(format!("'{id}' is no checkpoint")))?;
        shadow.follow(repo, baseline)
    }

    /// After a commit during the turn, adds to the shadow the part of the baseline that the commit did not take.
    fn carry_baseline(&mut self, context: &'c Context, pending: &Checkpoint, shadow: &mut Shadow) -> Result<()> {
        let repo = &context.repo;
        let mut objects = NewObjects::new(repo, Target::Loose);
        let to = Destination {
            head_tree_id: shadow.head_tree_id,
            last_tree_id: shadow.last_tree_id(),
            now_tree_id: pending.tree_id,
            wanted: None,
            is_now_seen: false,
        };
        let carried = carry(repo, pending, &to, &mut objects)?;
        if !carried.paths.is_empty() && carried.tree_id != shadow.last_tree_id() {
            put_on_top(context, shadow, (pending, &pending.subject), Origin::default(), carried.tree_id, &mut objects)?;
            self.written.push(objects.write()?);
        }
        Ok(())
    }

    /// Notes that the turn has a checkpoint. The caller must call [`write()`] later.
    pub(crate) fn took_checkpoint(mut self, worktree: &Worktree<'_>) {
        // A failure loses nothing: until the pending ref is released, it keeps these objects.
        if let Err(error) = Written::check_and_release_all(self.written.drain(..)) {
            tracing::warn!(%error, "cannot check the objects of the state before the turn");
        }
        failpoint::hit("turn:before-session");
        if !self.turn.has_checkpoint {
            let turn = UnderWay { has_checkpoint: true, should_reset_shadow: false, ..self.turn };
            worktree.edit_turns(|turns| turns.set_turn(&self.session.id, Some(&turn)));
        }
    }
}

/// Returns the turns that have no checkpoint yet, each with its baseline, oldest first. Leaves out turns on another base than
/// that of the shadow `name`. Also leaves out a turn if the shadow has got a checkpoint since the turn began: `tip`, the last
/// checkpoint, has to be the one that the turn found, or to carry it forward. Returns none if all baselines are of `who`.
fn turns_without_checkpoint<'c>(
    context: &'c Context,
    name: &ShadowName,
    tip: Option<&Checkpoint>,
    who: Option<Contributor>,
) -> Result<Vec<(OpenTurn<'c>, Checkpoint)>> {
    let repo = &context.repo;
    let mut turns = Vec::new();
    // During a rebase, the content of the baselines may be in git's autostash and not in the worktree: add none.
    if repo.is_rebasing() {
        return Ok(turns);
    }
    for id in context.turns().entries.iter().map(|entry| &entry.id) {
        let Some(open) = OpenTurn::of(context, Some(id))?.filter(|open| !open.turn.has_checkpoint) else { continue };
        // If a turn is about to set aside its session's own shadow, its baseline goes to no other shadow.
        let is_here = !open.turn.should_reset_shadow || shadows::name_for(context, name.base, Some(id)) == *name;
        if is_here && tip.map_or(Ok(true), |tip| goes_back_to(repo, tip, open.turn.shadow_tip))? {
            let pending = pending_of(repo, id)?.and_then(|(_, id)| readable(repo, id));
            turns.extend(pending.filter(|it| it.base == name.base).map(|pending| (open, pending)));
        }
    }
    if turns.iter().all(|(_, pending)| Some(pending.origin.contributor) == who) {
        turns.clear();
    }
    turns.sort_by_key(|(_, pending)| pending.taken());
    Ok(turns)
}

/// Returns the baselines that a save of `who` outside any turn would add before its checkpoint. `tip` is the last checkpoint.
pub(crate) fn baselines(context: &Context, tip: Option<&Checkpoint>, who: Contributor) -> Result<Vec<Checkpoint>> {
    let repo = &context.repo;
    let base = tip.map_or_else(|| Ok(Base::of_head(repo.head()?.id)), |tip| Ok(tip.base))?;
    let turns = turns_without_checkpoint(context, &ShadowName::of_worktree(base, repo.worktree_id()), tip, Some(who))?;
    Ok(turns.into_iter().map(|(_, pending)| pending).collect())
}

/// If `shadow` has checkpoints, notes that the next checkpoint archives them and begins a new chain.
fn set_aside(repo: &Repo, shadow: &mut Shadow) -> Result<()> {
    if shadow.is_begun() {
        shadow.sets_aside = true;
        shadow.begin_afresh(repo)?;
    }
    Ok(())
}

/// How many times commits may carry a shadow forward during a turn before we no longer recognize it.
const MOST_CARRIES: usize = 64;

/// Returns true if `tip` is the checkpoint `id`, or if commits have only carried that one forward to `tip`.
fn goes_back_to(repo: &Repo, tip: &Checkpoint, id: Option<ObjectId>) -> Result<bool> {
    let mut at = tip.clone();
    for _ in 0..MOST_CARRIES {
        if Some(at.id) == id {
            return Ok(true);
        }
        let source = at.origin.carried.map(|carried| repo.find_checkpoint(carried)).transpose()?.flatten();
        let Some(source) = source else { return Ok(false) };
        at = source;
    }
    Ok(false)
}

/// Returns the baseline of the turn of `session`, if a save would add it before the turn's first checkpoint. `tip` is the last
/// checkpoint of the shadow.
pub(crate) fn baseline(context: &Context, session: &str, tip: Option<&Checkpoint>) -> Result<Option<Checkpoint>> {
    let (repo, turns) = (&context.repo, context.turns());
    let Some(turn) = turns.turn_of(session).filter(|turn| !turn.has_checkpoint) else { return Ok(None) };
    if !tip.map_or(Ok(true), |tip| goes_back_to(repo, tip, turn.shadow_tip))? {
        return Ok(None);
    }
    Ok(pending_of(repo, session)?.and_then(|(_, id)| readable(repo, id)))
}

/// Returns true if `saved` skipped the same paths as the baseline of `session`, for example a file that is too large. If not,
/// equal trees do not prove that the turn changed nothing: it may have changed a path that only one of the two skipped.
pub(crate) fn leaves_out_the_same(context: &Context, session: &str, saved: &Saved) -> Result<bool> {
    let repo = &context.repo;
    let pending = pending_of(repo, session)?.and_then(|(_, id)| readable(repo, id));
    let side =
        pending.and_then(|pending| pending.side_id).map(|id| repo.read_side(id)).transpose()?.unwrap_or_default();
    let before = side.manifest.skipped.iter().map(|skipped| &skipped.path);
    Ok(before.eq(saved.skipped.iter().map(|skipped| &skipped.path)))
}
