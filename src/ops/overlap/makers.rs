//! The sessions that made the changes which two worktrees have in common, with what they were asked.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    found::{Maker, OfSide, PathOverlap},
    sides::Now,
};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{checkpoint::Checkpoint, refname::Base, session::is_valid_id},
    ops::{chain::shadows::latest_on, records::Log, restored_target::restored},
    state::sessions::{self, Prompt},
};

/// How many checkpoints of a worktree, and how many commits since the base, are searched for the sessions that changed a path: the latest
/// ones.
const MOST: usize = 256;
/// The same before a tool call, which waits for it.
const MOST_LATELY: usize = 32;
/// Of fewer paths, each is looked up in a tree.
const FEW: usize = 16;

/// Adds to `paths` the sessions that changed them on each side since the commit `base`.
///
/// # Errors
/// If checkpoints or records cannot be read, or are too many; then what was found stays.
pub(super) fn add(paths: &mut [PathOverlap], (here, there): (Now<'_>, Now<'_>), base: ObjectId) -> Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let ours = fill(paths.iter_mut().map(|path| &mut path.here).collect(), here, base);
    fill(paths.iter_mut().map(|path| &mut path.there).collect(), there, base).and(ours)
}

fn fill(mut sides: Vec<&mut OfSide>, now: Now<'_>, base: ObjectId) -> Result<()> {
    let mut search = Search { repo: now.repo, wanted: HashMap::new(), made: Vec::new(), most: MOST };
    for (at, side) in sides.iter().enumerate() {
        for path in [Some(&side.path), side.old_path.as_ref()].into_iter().flatten() {
            search.wanted.entry(path.clone()).or_default().push(at);
        }
    }
    let tip = latest_on(now.repo, Base::of_head(now.head));
    let result = tip.and_then(|tip| search.uncommitted(tip)).and_then(|()| search.committed(now.head, base));
    for (at, maker) in search.made {
        if sides[at].sessions.iter().all(|known| known.id != maker.id) {
            sides[at].sessions.push(maker);
        }
    }
    result
}

/// Returns the sessions that changed `paths` since the commit `base`, in a worktree with HEAD at `head` and the last checkpoint `tip`;
/// the latest one first, each with the place of its path. Looks at few checkpoints and commits only. What cannot be read is left out.
pub(super) fn lately(
    repo: &Repo,
    paths: &[&BString],
    tip: Option<Checkpoint>,
    (head, base): (ObjectId, ObjectId),
) -> Vec<(usize, Maker)> {
    let mut search = Search { repo, wanted: HashMap::new(), made: Vec::new(), most: MOST_LATELY };
    for (at, path) in paths.iter().enumerate() {
        search.wanted.entry((*path).clone()).or_default().push(at);
    }
    if let Err(error) = search.uncommitted(tip).and_then(|()| search.committed(Some(head), base)) {
        tracing::debug!(%error, "not all sessions that changed a file in another worktree can be found");
    }
    search.made
}

/// A search for the makers of some paths.
struct Search<'r> {
    repo: &'r Repo,
    /// By each path, which of the sides have it.
    wanted: HashMap<BString, Vec<usize>>,
    /// What was found, the latest first.
    made: Vec<(usize, Maker)>,
    /// How many checkpoints, and commits, are looked at.
    most: usize,
}

impl Search<'_> {
    fn note(&mut self, path: &BString, maker: &Maker) {
        for at in self.wanted.get(path).into_iter().flatten() {
            self.made.push((*at, maker.clone()));
        }
    }

    /// Adds those of the checkpoints up to `tip`, and of those whose work they carry forward or restore.
    fn uncommitted(&mut self, tip: Option<Checkpoint>) -> Result<()> {
        let repo = self.repo;
        let Some(tip) = tip else { return Ok(()) };
        let (mut seen, mut open) = (HashSet::new(), VecDeque::from([tip.id]));
        let mut prompts = HashMap::new();
        while let Some(tip) = open.pop_front() {
            for checkpoint in repo.chain_in_time(tip) {
                let checkpoint = checkpoint?;
                if seen.len() == self.most && !seen.contains(&checkpoint.id) {
                    return Err(not_searched(self.most, "checkpoints"));
                }
                if !seen.insert(checkpoint.id) {
                    break;
                }
                let changed = self.changed_by(&checkpoint)?;
                if changed.is_empty() {
                    continue;
                }
                let source = checkpoint.origin.carried.or_else(|| restored(&checkpoint.origin));
                match source {
                    // No ref keeps the source of a restore.
                    Some(id) => open.extend(repo.is_commit(id)?.then_some(id)),
                    None => self.add_origin(&checkpoint, &changed, &mut prompts),
                }
            }
        }
        Ok(())
    }

    /// Returns which of the wanted paths `checkpoint` has changed.
    fn changed_by(&self, checkpoint: &Checkpoint) -> Result<BTreeSet<BString>> {
        let before = self.repo.tree_of_commit(checkpoint.before_id())?;
        if self.wanted.len() < FEW {
            let mut changed = BTreeSet::new();
            for path in self.wanted.keys() {
                let leaf = |tree_id| self.repo.find_leaf(tree_id, path.as_bstr());
                changed.extend((leaf(before)? != leaf(checkpoint.tree_id)?).then(|| path.clone()));
            }
            return Ok(changed);
        }
        let changes = self.repo.diff_trees(before, checkpoint.tree_id)?.into_iter();
        Ok(changes.map(|change| change.path).filter(|path| self.wanted.contains_key(path)).collect())
    }

    fn add_origin(
        &mut self,
        checkpoint: &Checkpoint,
        changed: &BTreeSet<BString>,
        known: &mut HashMap<String, Vec<Prompt>>,
    ) {
        let origin = &checkpoint.origin;
        let Some(id) = origin.session.clone().filter(|id| is_valid_id(id)) else { return };
        let prompts = known.entry(id.clone()).or_insert_with(|| prompts_of(self.repo, &id));
        let prompt = prompts.iter().rev().find(|prompt| Some(prompt.turn) == origin.turn);
        let prompt = prompt.and_then(|prompt| first_line(&prompt.text));
        let maker = Maker { id, agent: origin.agent.clone(), turn: origin.turn, prompt };
        for path in changed {
            self.note(path, &maker);
        }
    }

    /// Adds those that the records of the commits since `base` name, as far as the first parents lead.
    fn committed(&mut self, head: Option<ObjectId>, base: ObjectId) -> Result<()> {
        let repo = self.repo;
        let mut next = head.filter(|head| *head != base);
        let Some(log) = next.and_then(|_| Log::open(repo).transpose()).transpose()? else { return Ok(()) };
        for _ in 0..self.most {
            let Some(commit) = next else { return Ok(()) };
            for id in log.of_commit(commit)? {
                let Some(record) = log.find(&id)? else { continue };
                for file in &record.files {
                    let is_wanted = self.wanted.contains_key(&file.path);
                    for at in file.sessions.iter().filter(|_| is_wanted) {
                        let Some(part) = record.sessions.get(*at) else { continue };
                        let turn = part.turns.last().copied();
                        let prompts = log.prompts(&id, *at)?;
                        let prompt = turn.and_then(|turn| prompts.iter().rev().find(|prompt| prompt.turn == turn));
                        let prompt = prompt.and_then(|prompt| first_line(&prompt.text));
                        let maker = Maker { id: part.id.clone(), agent: part.agent.clone(), turn, prompt };
                        self.note(&file.path, &maker);
                    }
                }
            }
            next = repo.parents_of(commit)?.first().copied().filter(|parent| *parent != base);
        }
        if next.is_some() { Err(not_searched(self.most, "commits")) } else { Ok(()) }
    }
}

fn not_searched(most: usize, what: &str) -> Error {
    Error::corrupt(format!("only the last {most} {what} were searched"))
}

/// Returns what `session` was asked for; nothing if that is not stored.
fn prompts_of(repo: &Repo, session: &str) -> Vec<Prompt> {
    sessions::prompts(repo.common_dir(), session).unwrap_or_default()
}

fn first_line(text: &str) -> Option<String> {
    text.trim().lines().next().map(str::to_owned)
}
