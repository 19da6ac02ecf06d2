//! The shadow that a checkpoint is added to, and its predecessors.

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    commit,
    shadows::{self, Live},
};
use crate::{
    error::{Error, Result},
    git::{Repo, commit::Moment, named::Before, new_objects::NewObjects, side::Side, stat_cache::StatCache},
    model::{
        checkpoint::Checkpoint,
        manifest::Unfiltered,
        refname::{self, Base, ShadowName},
    },
    ops::Context,
};

/// The state of a shadow when a save begins.
#[derive(Clone)]
pub(crate) struct Shadow {
    pub(crate) name: ShadowName,
    /// The predecessor in time of the next checkpoint; not in a ref yet if it is what a turn began with.
    pub(crate) tip: Option<Checkpoint>,
    pub(crate) tip_side: Option<Side>,
    pub(crate) head_tree_id: ObjectId,
    /// The predecessor in the shadow's own chain: another one if the latest checkpoint is in another shadow.
    parent_id: Option<ObjectId>,
    /// What the ref points to.
    pub(crate) expected: Option<ObjectId>,
    /// All shadows of this worktree on the same commit, this one included.
    pub(crate) live: Vec<Live>,
    /// True if the next checkpoint archives the shadow and begins a new one.
    pub(crate) sets_aside: bool,
}

impl Shadow {
    /// Reads the worktree's live shadow on HEAD.
    ///
    /// # Errors
    /// [`Kind::Corrupt`](crate::error::Kind::Corrupt) if its ref points to something that is no checkpoint.
    pub(crate) fn read(repo: &Repo) -> Result<Self> {
        Self::read_at(repo, Base::of_head(repo.head()?.id))
    }

    /// Reads the live shadow on HEAD that a checkpoint by `session` is added to.
    pub(crate) fn read_for(context: &Context, session: Option<&str>) -> Result<Self> {
        let base = Base::of_head(context.repo.head()?.id);
        Self::read_as(&context.repo, shadows::name_for(context, base, session))
    }

    /// Reads the worktree's live shadow on `base`.
    pub(crate) fn read_at(repo: &Repo, base: Base) -> Result<Self> {
        Self::read_as(repo, ShadowName::of_worktree(base, repo.worktree_id()))
    }

    fn read_as(repo: &Repo, name: ShadowName) -> Result<Self> {
        let mut shadow = Self::empty(repo, name)?;
        let latest = shadows::latest(repo, &shadow.live)?;
        if let Some(id) = shadow.expected
            && latest.as_ref().is_none_or(|latest| latest.id != id)
            && repo.find_checkpoint(id)?.is_none()
        {
            let what = format!("'{}' points to '{id}', which is no checkpoint", shadow.name.to_ref());
            return Err(Error::corrupt(what).with_hint("'git checkpoint reset' sets it aside and begins afresh"));
        }
        shadow.parent_id = shadow.expected;
        shadow.see(repo, latest)?;
        Ok(shadow)
    }

    /// Returns the shadow that a checkpoint by `session` is added to, as if it were empty.
    pub(crate) fn without_tip(context: &Context, session: Option<&str>) -> Result<Self> {
        let repo = &context.repo;
        let base = Base::of_head(repo.head()?.id);
        let mut shadow = Self::empty(repo, shadows::name_for(context, base, session))?;
        shadow.begin_afresh(repo)?;
        Ok(shadow)
    }

    fn empty(repo: &Repo, name: ShadowName) -> Result<Self> {
        let base = name.base.commit_id();
        let head_tree_id = base.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
        let live = shadows::live(repo, name.base, name.worktree.as_bstr())?;
        let expected = live.iter().find(|live| live.name == name).map(|live| live.id);
        let (tip, tip_side, parent_id, sets_aside) = (None, None, None, false);
        let shadow = Self { name, tip, tip_side, head_tree_id, parent_id, expected, live, sets_aside };
        Ok(shadow)
    }

    fn in_ref(&self) -> Option<ObjectId> {
        self.live.iter().find(|live| live.name == self.name).map(|live| live.id)
    }

    /// Makes the next checkpoint go to the shadow of `session` (none: of the worktree). Its parent is `written`, a
    /// checkpoint that is not in the ref yet, or else what the ref points to. What it follows in time does not change.
    pub(crate) fn go_to(&mut self, session: Option<String>, written: Option<ObjectId>) {
        self.name.session = session;
        self.expected = self.in_ref();
        self.parent_id = written.or(self.expected);
    }

    /// Notes that its ref points to `id` now.
    pub(crate) fn was_moved(&mut self, id: ObjectId) {
        self.expected = Some(id);
        match self.live.iter_mut().find(|live| live.name == self.name) {
            Some(live) => live.id = id,
            None => self.live.push(Live { name: self.name.clone(), id }),
        }
    }

    /// Makes the next checkpoint begin a new chain at the base. In the worktree's shadow, that drops the shadows of all
    /// sessions.
    pub(crate) fn begin_afresh(&mut self, repo: &Repo) -> Result<()> {
        self.parent_id = None;
        let others: Vec<Live> = self.live.iter().filter(|live| !self.is_dropped(live)).cloned().collect();
        self.see(repo, shadows::latest(repo, &others)?)
    }

    fn is_dropped(&self, live: &Live) -> bool {
        self.name.session.is_none() || live.name == self.name
    }

    /// Returns true if there is a live shadow that a reset would archive.
    pub(crate) fn is_begun(&self) -> bool {
        self.live.iter().any(|live| self.is_dropped(live))
    }

    /// Returns the shadows that the next checkpoint archives.
    pub(crate) fn dropped(&self) -> impl Iterator<Item = &Live> {
        self.live.iter().filter(|live| self.sets_aside && self.is_dropped(live))
    }

    /// Makes the next checkpoint follow `tip`, a checkpoint of this shadow's chain.
    pub(crate) fn follow(&mut self, repo: &Repo, tip: Checkpoint) -> Result<()> {
        self.parent_id = Some(tip.id);
        self.see(repo, Some(tip))
    }

    fn see(&mut self, repo: &Repo, tip: Option<Checkpoint>) -> Result<()> {
        self.tip_side = tip.as_ref().and_then(|tip| tip.side_id).map(|id| repo.read_side(id)).transpose()?;
        self.tip = tip;
        Ok(())
    }

    /// Returns the predecessor of the next checkpoint in its chain, and in time if that is another one.
    pub(crate) fn links(&self, objects: &mut NewObjects<'_>) -> Result<(ObjectId, Option<ObjectId>)> {
        let parent_id = self.parent_id.map_or_else(|| commit::base_commit(self.name.base, objects), Ok)?;
        Ok((parent_id, self.tip.as_ref().map(|tip| tip.id).filter(|id| *id != parent_id)))
    }

    /// Returns `moment`, or the last checkpoint's time if the clock went backwards: with several shadows, time decides
    /// which checkpoint is the latest.
    pub(crate) fn not_before(&self, moment: Moment) -> Moment {
        let is_alone = self.name.session.is_none() && self.live.iter().all(|live| live.name == self.name);
        let now = (moment.seconds, moment.micros);
        let last = self.tip.as_ref().filter(|tip| !is_alone && tip.taken() > now);
        last.map_or(moment, |tip| Moment { offset: moment.offset, ..Moment::of(tip) })
    }

    /// Returns the predecessor in time of the next checkpoint, if a live shadow holds it.
    pub(crate) fn held_tip(&self) -> Option<ObjectId> {
        let tip = self.tip.as_ref().map(|tip| tip.id);
        tip.filter(|id| self.live.iter().any(|live| live.id == *id))
    }

    /// Returns true if a live shadow or HEAD holds what was stored for `cache`, so that git keeps it.
    ///
    /// Objects that only an archived or dropped shadow holds may be collected at any moment.
    pub(crate) fn holds(&self, repo: &Repo, cache: &StatCache) -> Result<bool> {
        // A save of named paths leaves the cache alone, so the cache's checkpoint may be some way back.
        const FAR: usize = 256;
        if cache.tree_id == Some(self.head_tree_id) && !cache.may_have_raw() {
            return Ok(true);
        }
        let Some(anchor) = cache.anchor.filter(|id| repo.has_object(*id)) else { return Ok(false) };
        let Some(checkpoint) = repo.checkpoint(anchor)? else { return Ok(false) };
        if repo.refs_below(refname::PENDING)?.iter().any(|(_, id)| *id == anchor) {
            return Ok(true);
        }
        let live = shadows::live(repo, checkpoint.base, checkpoint.worktree.as_bstr())?;
        let latest = shadows::latest(repo, &live).ok().flatten().map(|tip| tip.id);
        let Some(tip) = latest.or(self.expected) else { return Ok(false) };
        // A carried-forward chain is reachable from the checkpoint that carries it.
        let is_anchor =
            |checkpoint: Checkpoint| [Some(checkpoint.id), checkpoint.origin.carried].contains(&Some(anchor));
        Ok(repo.chain_in_time(tip).take(FAR).flatten().any(is_anchor))
    }

    /// Returns the tree that the next checkpoint is compared with.
    pub(crate) fn last_tree_id(&self) -> ObjectId {
        self.tip.as_ref().map_or(self.head_tree_id, |tip| tip.tree_id)
    }

    /// Returns the files of the last checkpoint whose filters failed.
    pub(crate) fn unfiltered(&self) -> &[Unfiltered] {
        self.tip_side.as_ref().map(|side| side.manifest.unfiltered.as_slice()).unwrap_or_default()
    }

    /// Returns what is known of the worktree from the last checkpoint.
    pub(crate) fn before(&self) -> Before<'_> {
        let skipped = self.tip_side.as_ref().map(|side| side.manifest.skipped.as_slice()).unwrap_or_default();
        let raw_tree_id = self.tip_side.as_ref().and_then(|side| side.raw_tree_id);
        Before { tree_id: self.last_tree_id(), raw_tree_id, head_tree_id: self.head_tree_id, skipped }
    }
}
