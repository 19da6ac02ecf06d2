//! What a turn asks of its first checkpoint: to set the shadow aside, and to tell first what others did before it.

use crate::{
    error::{Kind, Result},
    git::{
        commit::Moment,
        new_objects::{NewObjects, Target, Written},
        refs::RefUpdate,
    },
    model::{
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
        refname,
        session::{Phase, Session, is_valid_id},
    },
    ops::{
        Context,
        draft::{self, Draft},
        save::{self, Shadow},
    },
    state::{
        failpoint,
        sessions::{self, Found},
    },
};

/// A turn under way in this worktree.
pub(crate) struct OpenTurn<'c> {
    session: Session,
    /// What was written for its first checkpoint, protected until a ref leads there.
    written: Vec<Written<'c>>,
}

impl<'c> OpenTurn<'c> {
    /// Returns the turn that a save by `origin` belongs to, if its session has one here.
    pub(crate) fn of(context: &'c Context, origin: &Origin) -> Result<Option<Self>> {
        let Some(id) = origin.session.as_deref().filter(|id| is_valid_id(id)) else { return Ok(None) };
        let repo = &context.repo;
        let Found::Session(session) = sessions::load(repo.common_dir(), id)? else { return Ok(None) };
        let is_open = session.phase == Phase::Active && session.is_in(repo.worktree_id());
        Ok(is_open.then_some(Self { session: *session, written: Vec::new() }))
    }

    /// Returns the shadow as the next checkpoint of this turn finds it, and completes `options` by what is known.
    pub(crate) fn enter(&mut self, context: &'c Context, options: &mut save::Options) -> Result<Shadow> {
        let repo = &context.repo;
        let (session, turn) = (self.session.clone(), &self.session.turn);
        let origin = &mut options.origin;
        origin.agent = origin.agent.take().or_else(|| session.agent.clone());
        origin.model = origin.model.take().or_else(|| session.model.clone());
        origin.turn = origin.turn.or(Some(turn.number));
        if options.message.is_none() {
            let prompts = sessions::prompts(repo.common_dir(), &session.id)?;
            let prompt = prompts.into_iter().rev().find(|prompt| prompt.turn == turn.number);
            options.message = prompt.and_then(|prompt| prompt.text.trim().lines().next().map(Into::into));
        }
        let mut shadow = match Shadow::read(repo) {
            Err(error) if error.kind() == Kind::Corrupt && turn.should_reset_shadow => Shadow::without_tip(repo)?,
            read => read?,
        };
        // What another session has saved meanwhile is newer than what this turn began with. A shadow that was reset
        // meanwhile tells nothing of that.
        let is_newer = shadow.expected.is_some() && shadow.expected != turn.shadow_tip;
        if turn.has_checkpoint || is_newer {
            return Ok(shadow);
        }
        if turn.should_reset_shadow && shadow.expected.is_some() {
            shadow.sets_aside = true;
            shadow.follow(repo, None)?;
        }
        if let Some(id) = repo.find_ref(&refname::pending_ref(&session.id))?
            && let Some(pending) = repo.find_checkpoint(id)?
            && (pending.base, &pending.worktree) == (shadow.name.base, &shadow.name.worktree)
        {
            self.tell_what_was_before(context, &pending, &mut shadow)?;
        }
        Ok(shadow)
    }

    /// Lets a checkpoint of what the worktree was when the turn began come first, if nobody has saved that.
    fn tell_what_was_before(&mut self, context: &'c Context, pending: &Checkpoint, shadow: &mut Shadow) -> Result<()> {
        let repo = &context.repo;
        let pending_raw = pending.side_id.map(|id| repo.read_side(id)).transpose()?.and_then(|side| side.raw_tree_id);
        let raw = shadow.tip_side.as_ref().and_then(|side| side.raw_tree_id);
        if pending.tree_id == shadow.last_tree_id() && pending_raw == raw {
            return Ok(());
        }
        let mut objects = NewObjects::new(repo, Target::Loose);
        let parent_id = match &shadow.tip {
            Some(tip) => tip.id,
            None => draft::base_commit(shadow.name.base, &mut objects)?,
        };
        let changes = repo.diff_trees(shadow.last_tree_id(), pending.tree_id)?;
        let (subject, body) = draft::subject_and_body(None, &changes);
        let origin = Origin { contributor: Contributor::Human, ..Origin::default() };
        let (name, tree_id, side_id) = (&shadow.name, pending.tree_id, pending.side_id);
        let time = Moment { seconds: pending.seconds, offset: pending.offset };
        let before = Draft { name, tree_id, parent_id, side_id, origin: &origin, subject: &subject, body, time };
        let id = before.write(repo, &mut objects)?;
        self.written.push(objects.write()?);
        shadow.follow(repo, repo.checkpoint(id)?)
    }

    /// Notes that the turn has its first checkpoint.
    pub(crate) fn took_checkpoint(mut self, context: &Context) {
        self.written.drain(..).for_each(Written::settle);
        let (repo, turn) = (&context.repo, &mut self.session.turn);
        (turn.has_checkpoint, turn.should_reset_shadow) = (true, false);
        self.session.last_seen = repo.now().seconds;
        failpoint::hit("turn:before-session");
        let noted = sessions::store(repo.common_dir(), &self.session);
        let noted = noted.and_then(|()| drop_pending(context, &self.session.id));
        if let Err(error) = noted {
            // The checkpoint is taken, and its ref tells as much.
            tracing::warn!(%error, "turn not noted");
        }
    }
}

/// Forgets what the worktree was when the turn of `session` began.
pub(crate) fn drop_pending(context: &Context, session: &str) -> Result<()> {
    let name = refname::pending_ref(session);
    match context.repo.find_ref(&name)? {
        Some(id) => context.repo.update_refs(&[RefUpdate { name, old: Some(id), new: None }]),
        None => Ok(()),
    }
}
