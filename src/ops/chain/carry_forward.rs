//! Carries all live shadows of one commit in this worktree forward to another commit: `work` decides which content of one chain
//! to carry, `checkpoint` writes the checkpoint that carries it.
//!
//! Each path is carried in the shadow that changed it last, with the content of the latest checkpoint of all shadows.

use std::collections::{BTreeSet, HashMap};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

mod checkpoint;
mod start;
mod work;

use self::start::Start;
pub(crate) use self::{
    checkpoint::{bring, carries, origin_of, put_on_top},
    start::before_carried,
    work::{Carried, Destination, base_tree, carry, merge},
};
use super::{
    archive::{archive_name, to_archive},
    changes::changes,
    shadow::Shadow,
    shadows::{self, Live},
};
use crate::{
    error::Result,
    git::{
        Repo,
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
        written::Written,
    },
    model::{
        change::Change,
        checkpoint::{Checkpoint, Origin},
        refname::{self, Base, Settled},
    },
    ops::{Context, restored_target::may_have_session, share::share},
};

/// The live shadows of a commit.
pub(crate) struct LiveShadows {
    /// The latest checkpoint of all of them.
    pub(crate) latest: Checkpoint,
    /// The shadows that `latest` builds on, its own included; oldest first.
    pub(crate) shadows: Vec<(Live, Checkpoint)>,
    /// The shadows that `latest` does not build on: they were restored from the archive beside the others.
    pub(crate) beside: Vec<(Live, Checkpoint)>,
}

/// What happens to a shadow of which nothing is carried forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It stays live, in case HEAD returns to its base.
    Stays,
    /// It is archived: a commit has taken its work.
    IsSetAside,
}

/// How to carry work forward, and what to do with a shadow of which nothing is carried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aim {
    /// As for [`Destination`].
    pub(crate) now_tree_id: ObjectId,
    /// As for [`Destination`].
    pub(crate) is_now_seen: bool,
    pub(crate) rest: Rest,
}

/// The ref updates to make, and the objects written for them.
#[derive(Default)]
pub(crate) struct Moved<'c> {
    pub(crate) updates: Vec<RefUpdate>,
    /// Protected until the refs are updated.
    pub(crate) written: Vec<Written<'c>>,
}

/// What is carried forward of one shadow.
#[derive(Clone, Copy)]
struct Part<'p> {
    from: &'p (Live, Checkpoint),
    /// The paths that it changed last; none: all.
    wanted: Option<&'p BTreeSet<BString>>,
    /// The tree to which the work is added; none: that of the last checkpoint.
    last_tree_id: Option<ObjectId>,
    start: Option<&'p Start>,
}

impl Moved<'_> {
    /// Makes the ref of `shadow` move to its last checkpoint.
    fn move_to_tip(&mut self, shadow: &Shadow) {
        let (name, new) = (shadow.name.to_ref(), shadow.tip.as_ref().map(|tip| tip.id));
        match self.updates.iter_mut().find(|update| update.name == name) {
            Some(update) => update.new = new,
            None => self.updates.push(RefUpdate { name, old: shadow.expected, new }),
        }
    }

    /// Returns what the ref of `shadow` is to point to, if it moves.
    fn new_of(&self, shadow: &Shadow) -> Option<ObjectId> {
        let name = shadow.name.to_ref();
        self.updates.iter().find(|update| update.name == name)?.new
    }
}

impl LiveShadows {
    /// Reads the live shadows of this worktree on `base`; none if there is no readable one.
    pub(crate) fn read(repo: &Repo, base: Base) -> Result<Option<Self>> {
        let live = shadows::live(repo, base, repo.worktree_id())?;
        let Some(latest) = shadows::latest(repo, &live)? else { return Ok(None) };
        let mut on_base = Self { latest, shadows: Vec::new(), beside: Vec::new() };
        for live in live {
            if live.id == on_base.latest.id {
                on_base.shadows.push((live, on_base.latest.clone()));
            } else if let Some(checkpoint) = repo.find_checkpoint(live.id)? {
                let is_before = shadows::came_after(repo, &on_base.latest, &checkpoint);
                if is_before { &mut on_base.shadows } else { &mut on_base.beside }.push((live, checkpoint));
            }
        }
        on_base.shadows.sort_by_key(|(live, checkpoint)| (live.id == on_base.latest.id, checkpoint.taken()));
        Ok(Some(on_base))
    }

    /// Returns true if an agent contributed, or may have. Looks at these shadows only: a checkpoint that carries work forward
    /// names the agent of that work.
    pub(crate) fn has_agent(&self, repo: &Repo) -> Result<bool> {
        self.has_one(repo, may_have_session)
    }

    /// Returns true if a checkpoint is, or may be, of a session: a person's restore of a person's work is not.
    pub(crate) fn has_session(&self, repo: &Repo) -> Result<bool> {
        self.has_one(repo, Origin::may_be_of_session)
    }

    fn has_one(&self, repo: &Repo, is_wanted: fn(&Origin) -> bool) -> Result<bool> {
        for checkpoint in repo.chain_in_time(self.latest.id) {
            if is_wanted(&checkpoint?.origin) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns for each shadow the paths that it changed last; none if there is only one shadow, which has all paths.
    fn shares(&self, repo: &Repo) -> Result<Vec<Option<BTreeSet<BString>>>> {
        if self.shadows.len() < 2 {
            return Ok(self.shadows.iter().map(|_| None).collect());
        }
        let mut owners = HashMap::new();
        for (at, (live, _)) in self.shadows.iter().enumerate() {
            for checkpoint in repo.chain(live.id) {
                owners.entry(checkpoint?.id).or_insert(at);
            }
        }
        let mut shares = vec![BTreeSet::new(); self.shadows.len()];
        let mut left: BTreeSet<BString> = self.touched(repo)?.into_iter().map(|change| change.path).collect();
        for checkpoint in repo.chain_in_time(self.latest.id) {
            let checkpoint = checkpoint?;
            let Some(at) = owners.get(&checkpoint.id).filter(|_| !left.is_empty()) else { continue };
            let changed = changes(repo, &checkpoint)?.into_iter().map(|change| change.path);
            shares[*at].extend(changed.filter(|path| left.remove(path)));
        }
        // The remaining paths were changed in a shadow that is archived now: they go with the latest shadow, which contains them.
        shares.last_mut().expect("there are two").extend(left);
        Ok(shares.into_iter().map(Some).collect())
    }

    /// Returns how the latest checkpoint differs from its base commit.
    pub(crate) fn touched(&self, repo: &Repo) -> Result<Vec<Change>> {
        repo.diff_trees(base_tree(repo, &self.latest)?, self.latest.tree_id)
    }

    /// Carries each of these shadows forward to the shadow of the same session on the base of `shadow`. Returns the ref updates.
    ///
    /// Shadows for which `stays` returns true stay where they are.
    pub(crate) fn carry_forward<'c>(
        &self,
        context: &'c Context,
        shadow: &mut Shadow,
        aim: Aim,
        stays: &dyn Fn(&Live) -> bool,
    ) -> Result<Moved<'c>> {
        let mut moved = Moved::default();
        // One shadow has all paths. What it carries is added to what the new base had before, its start included.
        let last_tree_id = (self.shadows.len() < 2).then(|| shadow.last_tree_id());
        let is_any_left_here = self.shadows.iter().any(|(live, _)| stays(live));
        let start = if is_any_left_here { None } else { self.carry_start(context, shadow, aim, &mut moved)? };
        for (from, wanted) in self.shadows.iter().zip(self.shares(&context.repo)?) {
            if !stays(&from.0) {
                let part = Part { from, wanted: wanted.as_ref(), last_tree_id, start: start.as_ref() };
                self.carry_one(context, part, shadow, aim, &mut moved)?;
            }
        }
        if aim.rest == Rest::IsSetAside {
            for (live, _) in &self.beside {
                moved.updates.extend(to_archive(live, archive_name(&context.repo, live.id)?));
            }
        }
        Ok(moved)
    }

    /// Returns the start of the work. Carries it forward first, unless it is all that is carried.
    fn carry_start<'c>(
        &self,
        context: &'c Context,
        shadow: &mut Shadow,
        Aim { now_tree_id, is_now_seen, .. }: Aim,
        moved: &mut Moved<'c>,
    ) -> Result<Option<Start>> {
        let repo = &context.repo;
        let mut objects = NewObjects::new(repo, Target::Loose);
        let (head_tree_id, last_tree_id) = (shadow.head_tree_id, shadow.last_tree_id());
        let to = Destination { head_tree_id, last_tree_id, now_tree_id, wanted: None, is_now_seen };
        let Some(start) = Start::find(context, &self.latest, &to, &mut objects)? else { return Ok(None) };
        let has_it = |(live, _): &&(Live, Checkpoint)| {
            let mut chain = repo.chain(live.id).take_while(Result::is_ok).flatten();
            self.shadows.len() < 2 || chain.any(|it| it.id == start.checkpoint.id)
        };
        let Some((live, _)) = self.shadows.iter().find(has_it) else { return Ok(None) };
        shadow.go_to(live.name.session.clone(), None);
        if !start.is_all && !carries(repo, shadow, &self.latest) && !carries(repo, shadow, &start.checkpoint) {
            let tip = (&start.checkpoint, start.checkpoint.subject.as_str());
            put_on_top(context, shadow, tip, start.origin.clone(), start.tree_id, &mut objects)?;
            moved.move_to_tip(shadow);
            // The checkpoints that follow read these objects.
            moved.written.push(objects.write()?);
        }
        Ok(Some(start))
    }

    fn carry_one<'c>(
        &self,
        context: &'c Context,
        Part { from: (live, own), wanted, last_tree_id, start }: Part<'_>,
        shadow: &mut Shadow,
        Aim { now_tree_id, is_now_seen, rest }: Aim,
        moved: &mut Moved<'c>,
    ) -> Result<()> {
        let repo = &context.repo;
        // Written before the next shadow is carried, which reads these objects.
        let mut objects = NewObjects::new(repo, Target::Loose);
        shadow.go_to(live.name.session.clone(), None);
        if let Some(written) = moved.new_of(shadow) {
            shadow.go_to(live.name.session.clone(), Some(written));
        }
        let (head_tree_id, last_tree_id) = (shadow.head_tree_id, last_tree_id.unwrap_or_else(|| shadow.last_tree_id()));
        let to = Destination { head_tree_id, last_tree_id, now_tree_id, wanted: wanted.cloned(), is_now_seen };
        let carried = carry(repo, &self.latest, &to, &mut objects)?;
        let is_carried = !carried.paths.is_empty();
        if !is_carried && rest == Rest::Stays {
            return Ok(());
        }
        let settled = if is_carried { Settled::Carried } else { Settled::Condensed };
        let leaves_some = match wanted {
            None => carried.leaves_some,
            Some(wanted) => self.is_left(repo, own, &carried.paths, wanted, (head_tree_id, now_tree_id))?,
        };
        // A process that crashed may have carried it forward already.
        if is_carried && !carries(repo, shadow, &self.latest) {
            let (origin, subject) = match start.filter(|start| start.is_all) {
                Some(start) => start.of_all(&self.latest),
                None => (origin_of(context, own)?, self.latest.subject.as_str()),
            };
            put_on_top(context, shadow, (&self.latest, subject), origin, carried.tree_id, &mut objects)?;
            moved.move_to_tip(shadow);
        }
        moved.written.push(objects.write()?);
        let archive = archive_name(repo, live.id)?;
        let name = if leaves_some { archive } else { refname::settled_archive_ref(&archive, settled) };
        moved.updates.extend(to_archive(live, name));
        Ok(())
    }

    /// Returns true if the user took back some work of the chain of `own` that is neither among the `carried` paths nor in the
    /// commit: it may come back, for example from a stash. Work that another shadow has edited since belongs to that shadow; `wanted`
    /// are the paths that this one changed last. The latest checkpoint or the tree `now_tree_id` shows that it was taken back.
    fn is_left(
        &self,
        repo: &Repo,
        own: &Checkpoint,
        carried: &[BString],
        wanted: &BTreeSet<BString>,
        (head_tree_id, now_tree_id): (ObjectId, ObjectId),
    ) -> Result<bool> {
        let mut changed = BTreeSet::new();
        for checkpoint in repo.chain(own.id) {
            changed.extend(changes(repo, &checkpoint?)?.into_iter().map(|change| change.path));
        }
        for change in repo.diff_trees(base_tree(repo, own)?, own.tree_id)? {
            let path = change.path.as_bstr();
            let head = repo.find_leaf(head_tree_id, path)?;
            let is_taken_back = repo.find_leaf(self.latest.tree_id, path)? == change.before
                || wanted.contains(&change.path) && repo.find_leaf(now_tree_id, path)? == head;
            let may_be_left = changed.contains(&change.path) && !carried.contains(&change.path) && is_taken_back;
            if may_be_left && !share(repo, &change, change.before, head)?.is_all() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
