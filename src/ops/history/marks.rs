//! What is said of a checkpoint in a list beside its message: tags, and whether it is verified or the start.

use std::collections::{HashMap, HashSet};

use gix::ObjectId;

use crate::{
    error::Result,
    git::{Repo, ref_names},
    model::{
        checkpoint::Checkpoint,
        refname::{self, verified_ref},
    },
    ops::{start::StartSearch, verified_mark},
};

/// The names of checkpoints besides their ids.
pub(in crate::ops) struct Marks<'r> {
    tags: HashMap<ObjectId, Vec<String>>,
    verified: HashSet<ObjectId>,
    /// What finds the start, if nothing is marked as verified.
    start: Option<StartSearch<'r>>,
}

/// What is said of a checkpoint beside its message.
#[derive(Clone, Debug, Default)]
pub(in crate::ops) struct Marked {
    pub(in crate::ops) tags: Vec<String>,
    pub(in crate::ops) verified: bool,
    pub(in crate::ops) start: bool,
}

impl<'r> Marks<'r> {
    /// Reads the tags, and the marks of this worktree or of all.
    pub(in crate::ops) fn read(repo: &'r Repo, all_worktrees: bool) -> Result<Self> {
        let mut tags: HashMap<_, Vec<_>> = HashMap::new();
        for (name, id) in repo.refs_below(refname::TAGS)? {
            if let Some(tag) = refname::tag_of_ref(&name) {
                tags.entry(id).or_default().push(tag);
            }
        }
        let mut verified = repo.refs_below(refname::VERIFIED)?;
        if !all_worktrees {
            let own = verified_ref(repo.worktree_id());
            verified.retain(|(name, _)| *name == own);
        }
        let verified = verified.into_iter().map(|(_, id)| id).collect();
        let start = match verified_mark::marked(repo)? {
            Some(_) => None,
            // Of a broken chain, the list has what it can read.
            None => StartSearch::new(repo).ok().flatten(),
        };
        Ok(Self { tags, verified, start })
    }

    /// Returns what has a tag that `pattern` matches.
    pub(super) fn matching(&self, pattern: &str) -> HashSet<ObjectId> {
        let patterns = [pattern.to_owned()];
        let has_one = |tags: &Vec<String>| tags.iter().any(|tag| ref_names::matches_one(&patterns, tag));
        self.tags.iter().filter(|(_, tags)| has_one(tags)).map(|(id, _)| *id).collect()
    }

    /// Returns what names `checkpoint`; `read` are checkpoints that were read already.
    pub(in crate::ops) fn of(&mut self, checkpoint: &Checkpoint, read: &HashSet<ObjectId>) -> Marked {
        let is_start = |search: &mut StartSearch<'_>| search.is_start(checkpoint, read).unwrap_or(false);
        Marked {
            tags: self.tags.get(&checkpoint.id).cloned().unwrap_or_default(),
            verified: self.verified.contains(&checkpoint.id),
            start: self.start.as_mut().is_some_and(is_start),
        }
    }
}
