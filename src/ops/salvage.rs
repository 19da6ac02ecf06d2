//! Sets a broken chain aside: one whose newest checkpoint, or something that leads to, is gone or damaged.
//!
//! What can be read of it goes to the archive: sound checkpoints as they are; what can be read of the others, and those that
//! came after, as copies. Where a commit itself is gone, the log of events says what came before. Then the next checkpoint
//! begins afresh at the base, and reads every file. What is about to write does this first; what only looks, and a dry run,
//! does not.

mod known;

use std::collections::HashSet;

use gix::ObjectId;
use serde::Serialize;

use super::{
    Context,
    draft::{self, Draft},
    follow::known_base,
    reset::archive_name,
    save,
    shadows::{self, Live},
};
use crate::{
    error::{Error, Result},
    git::{
        Repo,
        commit::{Moment, NewCommit},
        new_objects::{NewObjects, Target},
        readable::Reader,
        refs::RefUpdate,
    },
    model::{
        checkpoint::{Checkpoint, Origin},
        event::Event,
        id_text,
        refname::{self, Base, ShadowName},
    },
    state::{self, journal::Journal, lock::Lock},
};
use known::Known;

/// How many objects are named that cannot be read.
const MOST_NAMED: usize = 5;

/// A broken chain that was set aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetAside {
    /// The ref that held it.
    pub shadow: String,
    /// What that pointed to.
    #[serde(serialize_with = "id_text::serialize")]
    pub tip: ObjectId,
    /// The ref that holds what can be read; none if that is nothing.
    pub archive: Option<String>,
    /// The last checkpoint there.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub last: Option<ObjectId>,
    /// How many checkpoints that is.
    pub checkpoints: usize,
    /// Objects that cannot be read; not all, if there are many.
    pub unreadable: Vec<String>,
}

/// How closely chains are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Only at what the next checkpoint reads: the newest checkpoint, its tree, and what stands beside it.
    AtTip,
    /// At all that the newest checkpoint leads to, but not at those before.
    BehindTip,
    /// At all checkpoints, and all that they lead to.
    AtAll,
}

/// Sets those chains aside on which the next checkpoint of this worktree could not stand: of HEAD, and of where HEAD was.
pub(crate) fn set_broken_aside(context: &Context, look: Look, lock: &Lock) -> Result<Vec<SetAside>> {
    let repo = &context.repo;
    let mut bases = vec![Base::of_head(repo.head()?.id)];
    bases.extend(known_base(context).filter(|base| *base != bases[0]));
    let mut done = Vec::new();
    for base in bases {
        for live in shadows::live(repo, base, repo.worktree_id())? {
            if look == Look::AtTip && why_unreadable(repo, live.id).is_none() {
                continue;
            }
            done.extend(set_aside(context, &live, look, lock)?);
        }
    }
    Ok(done)
}

/// Returns why the checkpoint `id` cannot be gone on from, as far as its commit, its tree and what stands beside it tell.
pub(crate) fn why_unreadable(repo: &Repo, id: ObjectId) -> Option<Error> {
    let checkpoint = match repo.checkpoint(id) {
        Ok(Some(checkpoint)) => checkpoint,
        Ok(None) => return Some(Error::corrupt(format!("'{id}' is no checkpoint"))),
        Err(error) => return Some(error),
    };
    let tree = repo.find_entry(checkpoint.tree_id, ".".into()).map(drop);
    let side = checkpoint.side_id.map_or(Ok(()), |id| repo.read_side(id).map(drop));
    tree.and(side).err()
}

/// Sets the chain of `live` aside if it is broken as far as `look` goes.
pub(crate) fn set_aside(context: &Context, live: &Live, look: Look, _lock: &Lock) -> Result<Option<SetAside>> {
    let repo = &context.repo;
    let mut wreck = Wreck::new(repo, live)?;
    let Some(found) = wreck.walk(context, live, look)? else { return Ok(None) };
    // Nothing is given up that is only out of reach now.
    repo.refuse_hidden_objects(&wreck.reader.lost)?;
    repo.grow_wary();
    let mut objects = NewObjects::new(repo, Target::Loose);
    let (tip, copies) = wreck.copy(&found, &mut objects)?;
    // It has looked at more.
    repo.refuse_hidden_objects(&wreck.reader.lost)?;
    let written = objects.write()?;
    let archive = tip.map(|tip| archive_name(repo, tip)).transpose()?;
    let mut updates = Vec::new();
    updates.extend(archive.clone().map(|name| RefUpdate { name, old: None, new: tip }));
    updates.push(RefUpdate { name: live.name.to_ref(), old: Some(live.id), new: None });
    for prefix in [refname::VERIFIED, refname::TAGS] {
        for (name, id) in repo.refs_below(prefix)? {
            let copy = copies.iter().find(|(of, _)| *of == id).map(|(_, copy)| *copy);
            updates.extend(copy.map(|copy| RefUpdate { name, old: Some(id), new: Some(copy) }));
        }
    }
    repo.update_refs(&updates)?;
    let damaged = state::ensure_directory(repo.common_dir())?.join("damaged");
    if let Err(error) = repo.put_damaged_away(&wreck.reader.lost, &damaged) {
        tracing::warn!(%error, "damaged objects stay where they are");
    }
    // What it says was stored may be what is gone.
    drop(std::fs::remove_file(save::cache_path(repo)?));
    let unreadable = wreck.reader.lost.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    let (shadow, checkpoints) = (live.name.to_ref(), found.len());
    let done = SetAside { shadow, tip: live.id, archive, last: tip, checkpoints, unreadable };
    context.emit(&Event::Broken {
        shadow: done.shadow.clone(),
        archive: done.archive.clone(),
        tip: live.id.to_string(),
        checkpoints,
        unreadable: done.unreadable.clone(),
    });
    context.note_broken(done.clone());
    if let Err(error) = follow_copies(repo, &copies) {
        tracing::warn!(%error, "the journal of the last restore names checkpoints that git may remove");
    }
    written.settle()?;
    Ok(Some(done))
}

/// Lets the journal of the last restore name copies that hold all of what they are copies of: no ref leads to that now.
fn follow_copies(repo: &Repo, copies: &Copies) -> Result<()> {
    let Some(mut journal) = Journal::read(repo.git_dir())? else { return Ok(()) };
    let named = [journal.target, journal.pre_restore];
    let content = |id| Ok(repo.checkpoint(id)?.map(|checkpoint| (checkpoint.tree_id, checkpoint.side_id)));
    for (of, copy) in copies {
        if named.contains(of) && content(*of)? == content(*copy)? {
            let names = [&mut journal.target, &mut journal.pre_restore];
            names.into_iter().filter(|id| **id == *of).for_each(|id| *id = *copy);
        }
    }
    if named == [journal.target, journal.pre_restore] { Ok(()) } else { journal.write(repo.git_dir()) }
}

/// A look at many chains, in which each object is read once.
pub(crate) struct Survey<'r> {
    repo: &'r Repo,
    reader: Reader<'r>,
    sound: HashSet<ObjectId>,
}

impl<'r> Survey<'r> {
    pub(crate) fn new(repo: &'r Repo) -> Self {
        Self { repo, reader: Reader::new(repo), sound: HashSet::new() }
    }

    /// Returns what cannot be read of the checkpoints that end with `tip`, as far as no other chain was found to lack it.
    pub(crate) fn unreadable_behind(&mut self, tip: ObjectId) -> Vec<ObjectId> {
        let repo = self.repo;
        let (before, mut passed) = (self.reader.lost.clone(), Vec::new());
        for checkpoint in repo.chain(tip).take_while(Result::is_ok).flatten() {
            if self.sound.contains(&checkpoint.id) {
                break;
            }
            let base = checkpoint.base.commit_id().and_then(|id| repo.tree_of_commit(id).ok());
            let side = checkpoint.side_id.and_then(|id| repo.tree_of_commit(id).ok());
            let empty = repo.empty_tree_id();
            let mut is_whole = |id, base| self.reader.is_whole(id, base).unwrap_or(false);
            let is_whole =
                is_whole(checkpoint.tree_id, base.unwrap_or(empty)) && side.is_none_or(|id| is_whole(id, empty));
            if !is_whole {
                return self.reader.lost.difference(&before).copied().chain([checkpoint.tree_id]).take(1).collect();
            }
            passed.push(checkpoint.id);
        }
        self.sound.extend(passed);
        Vec::new()
    }
}

/// Copies, each after the checkpoint that it is one of.
type Copies = Vec<(ObjectId, ObjectId)>;

/// A chain that may be broken.
struct Wreck<'r> {
    repo: &'r Repo,
    name: &'r ShadowName,
    reader: Reader<'r>,
    base_tree_id: ObjectId,
}

impl<'r> Wreck<'r> {
    fn new(repo: &'r Repo, live: &'r Live) -> Result<Self> {
        let base_tree_id = match live.name.base.commit_id() {
            // It is git's, and no loss of the chain.
            Some(id) => Reader::new(repo).tree_of_commit(id)?,
            None => None,
        };
        let base_tree_id = base_tree_id.unwrap_or_else(|| repo.empty_tree_id());
        Ok(Self { repo, name: &live.name, reader: Reader::new(repo), base_tree_id })
    }

    /// Returns the checkpoints of the chain whose commits can be read, newest first; none if it is not broken.
    fn walk(&mut self, context: &Context, live: &Live, look: Look) -> Result<Option<Vec<Checkpoint>>> {
        let (mut found, mut visited) = (Vec::new(), HashSet::new());
        let mut known = None;
        let (mut next, mut is_broken) = (Some(live.id), false);
        while let Some(id) = next.filter(|id| visited.insert(*id)) {
            context.check_interrupt()?;
            match self.repo.checkpoint(id) {
                Ok(Some(checkpoint)) => {
                    if !is_broken && (found.is_empty() || look == Look::AtAll) {
                        is_broken = !self.is_whole(&checkpoint)?;
                    }
                    if !is_broken && look != Look::AtAll {
                        return Ok(None);
                    }
                    let parent = checkpoint.parent_id;
                    next = (checkpoint.base.commit_id() != Some(parent)).then_some(parent);
                    found.push(checkpoint);
                }
                // Somebody has moved the ref there; that is `reset`'s matter.
                Ok(None) if id == live.id => return Ok(None),
                Ok(None) => next = None,
                Err(error) => {
                    is_broken = true;
                    self.reader.lose_commit(id, error)?;
                    let known = known.get_or_insert_with(|| Known::read(context));
                    next = known.before(id, self.name, &visited);
                }
            }
        }
        Ok(is_broken.then_some(found))
    }

    fn is_whole(&mut self, checkpoint: &Checkpoint) -> Result<bool> {
        let is_tree_whole = self.reader.is_whole(checkpoint.tree_id, self.base_tree_id)?;
        let Some(id) = checkpoint.side_id else { return Ok(is_tree_whole) };
        let is_side_whole = match self.reader.tree_of_commit(id)? {
            Some(tree_id) => self.reader.is_whole(tree_id, self.repo.empty_tree_id())?,
            None => false,
        };
        Ok(is_tree_whole && is_side_whole)
    }

    /// Returns the newest of `found`, or of the copies that were made for those that are damaged or follow a damaged one;
    /// and the copies, each after what it is one of.
    fn copy(&mut self, found: &[Checkpoint], objects: &mut NewObjects<'_>) -> Result<(Option<ObjectId>, Copies)> {
        let (mut tip, mut tree_id, mut copies) = (None, self.base_tree_id, Vec::new());
        for checkpoint in found.iter().rev() {
            let parent_id = match tip {
                Some(tip) => tip,
                None => draft::base_commit(self.name.base, objects)?,
            };
            if checkpoint.parent_id == parent_id && self.is_whole(checkpoint)? {
                (tip, tree_id) = (Some(checkpoint.id), checkpoint.tree_id);
                continue;
            }
            let copy = self.copy_one(checkpoint, (parent_id, tree_id), objects)?;
            copies.push((checkpoint.id, copy.0));
            (tip, tree_id) = (Some(copy.0), copy.1);
        }
        Ok((tip, copies))
    }

    fn copy_one(
        &mut self,
        checkpoint: &Checkpoint,
        (parent_id, parent_tree_id): (ObjectId, ObjectId),
        objects: &mut NewObjects<'_>,
    ) -> Result<(ObjectId, ObjectId)> {
        let repo = self.repo;
        let part = self.reader.readable_part(checkpoint.tree_id, self.base_tree_id, objects)?;
        // Where nothing is known of the files, nothing is known to have changed, either.
        let tree_id = part.unwrap_or(parent_tree_id);
        let side_tree_id = checkpoint.side_id.map_or(Ok(None), |id| self.reader.tree_of_commit(id))?;
        let side_part = match side_tree_id {
            Some(id) => self.reader.readable_part(id, repo.empty_tree_id(), objects)?,
            None => None,
        };
        let time = Moment { seconds: checkpoint.seconds, offset: checkpoint.offset };
        let side_id = match side_part {
            Some(tree_id) if Some(tree_id) != side_tree_id => {
                let message = "side data of a checkpoint\n\nWhat can be read of it; see gitcheckpoint-format(5).\n";
                let (author, committer) = (draft::author(repo, &checkpoint.origin), repo.identity());
                let commit = NewCommit { tree_id, parents: Vec::new(), author, committer, time, message };
                Some(Repo::write_commit(&commit, objects)?)
            }
            part => part.and(checkpoint.side_id),
        };
        let if_here = |id: Option<ObjectId>| match id.map_or(Ok(None), |id| repo.checkpoint(id)) {
            Ok(found) => Ok(found.map(|found| found.id)),
            Err(_) if id.map_or(Ok(false), |id| repo.is_commit_lost(id))? => Ok(None),
            Err(error) => Err(error),
        };
        let origin = Origin { carried: if_here(checkpoint.origin.carried)?, ..checkpoint.origin.clone() };
        let body = format!("{}\nA copy of what can be read of {}.\n", checkpoint.body, checkpoint.id);
        let (name, after) = (self.name, if_here(checkpoint.after)?);
        let subject = checkpoint.subject.as_str();
        let draft =
            Draft { name, tree_id, parent_id, after, side_id, origin: &origin, subject, body: body.trim_start(), time };
        Ok((draft.write(repo, objects)?, tree_id))
    }
}
