//! Several shadows as one stream of checkpoints, newest first.

use std::{
    cmp::Ordering,
    collections::{BinaryHeap, HashSet},
};

use bstr::BStr;
use gix::ObjectId;

use super::{made_again::is_made_again, shadows::came_after};
use crate::{
    error::{Error, Kind, Result},
    git::{Repo, chain::Chain},
    model::{
        checkpoint::Checkpoint,
        refname::{self, Base, ShadowName},
    },
};

/// The end of a chain of checkpoints, with the ref that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tip {
    /// The ref.
    pub(crate) name: String,
    /// The newest checkpoint.
    pub(crate) id: ObjectId,
    /// True if the shadow is archived.
    pub(crate) archived: bool,
}

/// Gives the checkpoints of a timeline their numbers: `@{0}` is the newest. A checkpoint that an undo took off its shadow has none,
/// so that the others have the numbers that they had before.
pub(crate) struct Numbers {
    undone: HashSet<ObjectId>,
    next: usize,
}

impl Numbers {
    /// Returns what numbers the timeline of the chains that end with `tips`.
    pub(crate) fn of(tips: &[Tip]) -> Self {
        let undone = |tip: &&Tip| tip.archived && refname::is_undone(&tip.name);
        Self { undone: tips.iter().filter(undone).map(|tip| tip.id).collect(), next: 0 }
    }

    /// Returns the number of `id`, the next checkpoint of the timeline, which is `archived` or live.
    pub(crate) fn next(&mut self, id: ObjectId, archived: bool) -> Option<usize> {
        let number = (!archived || !self.undone.contains(&id)).then_some(self.next);
        self.next += usize::from(number.is_some());
        number
    }

    /// Returns how many numbers were given.
    pub(crate) fn count(&self) -> usize {
        self.next
    }
}

/// Returns the tips of the live shadows of `worktree`, or of all worktrees; for a new worktree, not those that a removed one of its
/// name has left.
pub(crate) fn live_tips(repo: &Repo, worktree: Option<&BStr>) -> Result<Vec<Tip>> {
    if worktree.is_some_and(|worktree| worktree == repo.worktree_id()) && is_made_again(repo)? {
        return Ok(Vec::new());
    }
    let mut tips = Vec::new();
    for (name, id) in repo.refs_below(refname::SHADOWS)? {
        let is_asked_for = ShadowName::from_ref(&name)
            .is_some_and(|shadow| worktree.is_none_or(|worktree| shadow.worktree == worktree));
        if is_asked_for {
            tips.push(Tip { name, id, archived: false });
        }
    }
    Ok(tips)
}

/// Returns the tips of the archived shadows of `worktree`, or of all worktrees; oldest first.
pub(crate) fn archived_tips(repo: &Repo, worktree: Option<&BStr>) -> Result<Vec<Tip>> {
    let mut tips = Vec::new();
    for (name, id) in repo.refs_below(refname::ARCHIVE)? {
        // The ref's name does not contain the worktree; the checkpoint does.
        let is_asked_for = match worktree {
            // An unreadable one may belong to any worktree.
            Some(worktree) => match repo.find_checkpoint(id) {
                Ok(checkpoint) => checkpoint.is_some_and(|checkpoint| checkpoint.worktree == worktree),
                Err(_) => true,
            },
            None => true,
        };
        if is_asked_for {
            tips.push(Tip { name, id, archived: true });
        }
    }
    // A name has no smaller unit than a second.
    let taken = |tip: &Tip| repo.find_checkpoint(tip.id).ok().flatten().map(|checkpoint| checkpoint.taken());
    tips.sort_by(|a, b| {
        let [at, other] = [a, b].map(|tip| refname::archived_at(&tip.name));
        at.cmp(&other).then_with(|| taken(a).cmp(&taken(b)))
    });
    Ok(tips)
}

/// Returns the tips of all shadows of `worktree`, or of all worktrees: first the live ones.
pub(crate) fn all_tips(repo: &Repo, worktree: Option<&BStr>) -> Result<Vec<Tip>> {
    let mut tips = live_tips(repo, worktree)?;
    tips.extend(archived_tips(repo, worktree)?);
    Ok(tips)
}

/// The checkpoints of several chains: newest first by time, and never before those that follow them in their chain.
pub(crate) struct Timeline<'r> {
    repo: &'r Repo,
    heads: BinaryHeap<Head<'r>>,
    /// The checkpoints that are or were heads: chains may share what they began with.
    passed: HashSet<ObjectId>,
    /// The commit at HEAD, if it can be read.
    head: Option<Base>,
    /// The errors that ended chains early.
    pub(crate) broken: Vec<Error>,
}

struct Head<'r> {
    checkpoint: Checkpoint,
    archived: bool,
    /// Breaks ties of time, so that the order is stable.
    order: usize,
    chain: Chain<'r>,
}

impl<'r> Timeline<'r> {
    /// Returns the timeline of the chains that end with `tips`.
    pub(crate) fn new(repo: &'r Repo, tips: &[Tip]) -> Result<Self> {
        let mut heads = BinaryHeap::with_capacity(tips.len());
        let (mut passed, mut broken) = (HashSet::new(), Vec::new());
        for (order, tip) in tips.iter().enumerate() {
            let mut chain = repo.chain(tip.id);
            match chain.next() {
                Some(Ok(checkpoint)) if !passed.insert(checkpoint.id) => {}
                Some(Ok(checkpoint)) => heads.push(Head { checkpoint, archived: tip.archived, order, chain }),
                Some(Err(error)) if error.kind() == Kind::Corrupt => broken.push(error),
                Some(Err(error)) => return Err(error),
                None => {}
            }
        }
        let head = repo.head().ok().map(|head| Base::of_head(head.id));
        Ok(Self { repo, heads, passed, head, broken })
    }

    /// Returns the checkpoints that were read so far.
    pub(crate) fn read(&self) -> &HashSet<ObjectId> {
        &self.passed
    }

    /// Makes the chain live that has `id` as its head, unless the chain that it has met there is `archived`.
    fn join(&mut self, id: ObjectId, archived: bool) {
        let is_its = |head: &Head<'_>| head.archived && head.checkpoint.id == id;
        if !archived && self.heads.iter().any(is_its) {
            let mut heads = std::mem::take(&mut self.heads).into_vec();
            heads.iter_mut().filter(|head| is_its(head)).for_each(|head| head.archived = false);
            self.heads = heads.into();
        }
    }

    /// Takes the latest head; among those with the same time, the first that no other one builds on.
    fn pop(&mut self) -> Option<Head<'r>> {
        let first = self.heads.pop()?;
        let taken = first.checkpoint.taken();
        let is_tied = |heads: &BinaryHeap<Head<'_>>| heads.peek().is_some_and(|it| it.checkpoint.taken() == taken);
        if !is_tied(&self.heads) {
            return Some(first);
        }
        let mut tied = vec![first];
        while is_tied(&self.heads) {
            tied.extend(self.heads.pop());
        }
        let is_passed = |it: &Head<'_>| {
            tied.iter().any(|other| {
                let (it, other) = (&it.checkpoint, &other.checkpoint);
                if other.origin.carried == Some(it.id) {
                    return true;
                }
                if it.base == other.base {
                    return came_after(self.repo, other, it);
                }
                // HEAD has left the other base, so its checkpoints are older.
                it.worktree == other.worktree && Some(other.base) == self.head
            })
        };
        let at = tied.iter().position(|it| !is_passed(it)).unwrap_or_default();
        let latest = tied.swap_remove(at);
        self.heads.extend(tied);
        Some(latest)
    }
}

impl Iterator for Timeline<'_> {
    /// A checkpoint, and whether it is in the archive.
    type Item = (Checkpoint, bool);

    fn next(&mut self) -> Option<Self::Item> {
        let mut head = self.pop()?;
        let archived = head.archived;
        match head.chain.next() {
            // Another chain yields the rest. It is live if one of the two is.
            Some(Ok(next)) if !self.passed.insert(next.id) => self.join(next.id, archived),
            Some(Ok(next)) => {
                let checkpoint = std::mem::replace(&mut head.checkpoint, next);
                self.heads.push(head);
                return Some((checkpoint, archived));
            }
            Some(Err(error)) => self.broken.push(error),
            None => {}
        }
        Some((head.checkpoint, archived))
    }
}

impl Ord for Head<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.checkpoint.taken().cmp(&other.checkpoint.taken()).then_with(|| other.order.cmp(&self.order))
    }
}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head<'_> {}
