//! Finds commits by the content of their files: where git may have taken a file from.

use std::{
    collections::{BTreeSet, HashMap},
    time::Instant,
};

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind, revision::walk::Sorting, traverse::commit::simple::CommitTimeOrder};

use super::Repo;
use crate::{error::Result, model::change::Leaf};

/// How many trees we read for all files together: the user waits for us.
const MOST_TREES: usize = 2_000;
/// How many moves of HEAD back the commits count that HEAD has left.
const MOST_MOVES: usize = 16;

/// A file with a certain content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) path: BString,
    pub(crate) leaf: Leaf,
}

impl Repo {
    /// Returns for each of `wanted` a commit that has it: one of `first`, of the commits that HEAD left lately, the branches and
    /// tags, or of their ancestors, newest first.
    ///
    /// Passes over commits and trees that cannot be read. Ends at the moment `until`, or after many trees, with what it has
    /// found by then.
    pub(crate) fn commits_with(
        &self,
        wanted: &[Version],
        first: &[ObjectId],
        until: Instant,
    ) -> Result<Vec<Option<ObjectId>>> {
        let mut search =
            Search { repo: self, wanted, trees: 0, leaves: HashMap::new(), found: vec![None; wanted.len()] };
        if wanted.is_empty() {
            return Ok(search.found);
        }
        let mut tips: Vec<ObjectId> = self.left_lately(MOST_MOVES).into_iter().map(|(id, _)| id).collect();
        tips.extend(self.head()?.id);
        for prefix in ["refs/heads/", "refs/remotes/", "refs/tags/"] {
            tips.extend(self.refs_below(prefix)?.into_iter().filter_map(|(_, id)| self.tagged_commit(id)));
        }
        let mut known = BTreeSet::new();
        tips.retain(|tip| known.insert(*tip) && self.is_commit(*tip).unwrap_or(false));
        let newest_first = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
        // An unreadable commit ends the walk.
        let walk = self.inner.rev_walk(tips.iter().copied()).sorting(newest_first).all().into_iter().flatten();
        let ancestors = walk.map_while(std::result::Result::ok).map(|commit| commit.id);
        for commit in first.iter().chain(&tips).copied().chain(ancestors) {
            self.check_interrupt()?;
            if search.is_done() || Instant::now() > until {
                break;
            }
            search.look_in(commit);
        }
        Ok(search.found)
    }

    /// Returns the commit that `id`, a commit or an annotated tag, leads to.
    fn tagged_commit(&self, id: ObjectId) -> Option<ObjectId> {
        let object = self.inner.find_object(id).ok()?;
        Some(object.peel_to_kind(ObjectKind::Commit).ok()?.id)
    }
}

struct Search<'s> {
    repo: &'s Repo,
    wanted: &'s [Version],
    /// How many were read.
    trees: usize,
    /// What directories have at a path below them, by their id, the number of the wanted file and the depth: neighbouring
    /// commits share most directories.
    leaves: HashMap<(ObjectId, usize, usize), Option<ObjectId>>,
    found: Vec<Option<ObjectId>>,
}

impl Search<'_> {
    fn is_done(&self) -> bool {
        self.trees > MOST_TREES || self.found.iter().all(Option::is_some)
    }

    fn look_in(&mut self, commit: ObjectId) {
        let Ok(tree_id) = self.repo.tree_of_commit(commit) else { return };
        for at in 0..self.wanted.len() {
            if self.found[at].is_none() && self.leaf(tree_id, at) == Some(self.wanted[at].leaf.id) {
                self.found[at] = Some(commit);
            }
        }
    }

    /// Returns what a tree has at the path of the wanted file with the number `at`.
    fn leaf(&mut self, tree_id: ObjectId, at: usize) -> Option<ObjectId> {
        let mut passed = Vec::new();
        let mut current = Some(tree_id);
        for (depth, component) in self.wanted[at].path.split_str("/").enumerate() {
            let Some(directory) = current else { break };
            let key = (directory, at, depth);
            if let Some(known) = self.leaves.get(&key) {
                current = *known;
                break;
            }
            passed.push(key);
            self.trees += 1;
            current = self.repo.find_entry(directory, component.as_bstr()).ok().flatten().map(|(_, id)| id);
        }
        self.leaves.extend(passed.into_iter().map(|key| (key, current)));
        current
    }
}
