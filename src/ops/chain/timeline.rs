//! Several shadows as one stream of checkpoints, newest first.

use std::{
    cell::OnceCell,
    cmp::Ordering,
    collections::{BinaryHeap, HashSet},
};

use bstr::BStr;
use gix::ObjectId;

use super::made_again::is_made_again;
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
    tips.sort_by_key(|tip| refname::archived_at(&tip.name));
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
    /// Where HEAD of this worktree has been, the last place first; read when checkpoints of one second are compared.
    places: OnceCell<Vec<Base>>,
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
        for (at, tip) in tips.iter().enumerate() {
            // Of archived ones, those set aside last come first.
            let order = if tip.archived { 2 * tips.len() - at } else { at };
            let mut chain = repo.chain(tip.id);
            match chain.next() {
                Some(Ok(checkpoint)) if !passed.insert(checkpoint.id) => {}
                Some(Ok(checkpoint)) => heads.push(Head { checkpoint, archived: tip.archived, order, chain }),
                Some(Err(error)) if error.kind() == Kind::Corrupt => broken.push(error),
                Some(Err(error)) => return Err(error),
                None => {}
            }
        }
        Ok(Self { repo, heads, passed, places: OnceCell::new(), broken })
    }

    /// Returns the checkpoints that were read so far.
    pub(crate) fn read(&self) -> &HashSet<ObjectId> {
        &self.passed
    }

    /// Takes the latest head. Among those of the same second, that is one that no other one builds on; of several such ones of
    /// this worktree, the one whose base HEAD has left last.
    fn pop(&mut self) -> Option<Head<'r>> {
        let first = self.heads.pop()?;
        let seconds = first.checkpoint.seconds;
        let is_tied = |heads: &BinaryHeap<Head<'_>>| heads.peek().is_some_and(|it| it.checkpoint.seconds == seconds);
        if !is_tied(&self.heads) {
            return Some(first);
        }
        let mut tied = vec![first];
        while is_tied(&self.heads) {
            tied.extend(self.heads.pop());
        }
        let before = before(self.repo, tied.iter().map(|it| &it.checkpoint));
        let is_last = |it: &Head<'_>| !before.contains(&it.checkpoint.id);
        let is_passed = |it: &Head<'_>| {
            let place = self.place(&it.checkpoint);
            let places = tied.iter().filter(|other| is_last(other)).filter_map(|other| self.place(&other.checkpoint));
            place.is_some_and(|place| places.min().is_some_and(|last| last < place))
        };
        let at = tied.iter().position(|it| is_last(it) && !is_passed(it)).unwrap_or_default();
        let latest = tied.swap_remove(at);
        self.heads.extend(tied);
        Some(latest)
    }

    /// Returns how many places HEAD has been at since it left the base of `checkpoint`; none in another worktree.
    fn place(&self, checkpoint: &Checkpoint) -> Option<usize> {
        let places = self.places.get_or_init(|| self.repo.head_places());
        let place = || places.iter().position(|place| *place == checkpoint.base).unwrap_or(places.len());
        (checkpoint.worktree == self.repo.worktree_id()).then(place)
    }
}

/// Returns those of the same second that one of `checkpoints` builds on, also by carrying work from another base.
fn before<'c>(repo: &Repo, checkpoints: impl Iterator<Item = &'c Checkpoint>) -> HashSet<ObjectId> {
    let mut before = HashSet::new();
    // What cannot be read says nothing of the order.
    let links = |checkpoint: &Checkpoint| repo.links_of(checkpoint).unwrap_or_default();
    for checkpoint in checkpoints {
        let mut next = links(checkpoint);
        while let Some(id) = next.pop() {
            let Ok(Some(found)) = repo.find_checkpoint(id) else { continue };
            if found.seconds >= checkpoint.seconds && before.insert(id) {
                next.extend(links(&found));
            }
        }
    }
    before
}

impl Iterator for Timeline<'_> {
    /// A checkpoint, and whether it is in the archive.
    type Item = (Checkpoint, bool);

    fn next(&mut self) -> Option<Self::Item> {
        let mut head = self.pop()?;
        let archived = head.archived;
        match head.chain.next() {
            // Another chain yields the rest.
            Some(Ok(next)) if !self.passed.insert(next.id) => {}
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
        self.checkpoint.seconds.cmp(&other.checkpoint.seconds).then_with(|| other.order.cmp(&self.order))
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
