//! Finds commits by the content of their files: where git may have taken a file from.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::Instant,
};

use bstr::{BString, ByteSlice as _};
use gix::{
    ObjectId,
    objs::{Kind as ObjectKind, TreeRefIter},
    revision::walk::Sorting,
    traverse::commit::simple::CommitTimeOrder,
};

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
    /// True if a commit may have it at any path.
    pub(crate) has_any_name: bool,
}

/// What a search for files has found.
pub(crate) struct Found {
    /// For each file, a commit that has it, and its path there.
    pub(crate) places: Vec<Option<(ObjectId, BString)>>,
    /// False if commits are left that were not looked at.
    pub(crate) is_complete: bool,
}

impl Repo {
    /// Looks for each of `wanted` in `first`, the commits that HEAD left lately or git fetched last, the branches and tags, and their
    /// ancestors, newest first.
    ///
    /// Passes over commits and trees that cannot be read. Ends at the moment `until`, or after many trees, with what it has
    /// found by then.
    pub(crate) fn commits_with(&self, wanted: &[Version], first: &[ObjectId], until: Instant) -> Result<Found> {
        let components = wanted.iter().map(|version| version.path.split_str("/").map(BString::from).collect());
        let mut search = Search {
            repo: self,
            wanted,
            components: components.collect(),
            trees: HashSet::new(),
            whole_trees: HashSet::new(),
            places: vec![None; wanted.len()],
        };
        let mut is_complete = true;
        if !wanted.is_empty() {
            let mut tips: Vec<ObjectId> = self.left_lately(MOST_MOVES).into_iter().map(|(id, _)| id).collect();
            tips.extend(self.head()?.id);
            tips.extend(self.fetched_heads());
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
                if search.places.iter().all(Option::is_some) {
                    break;
                }
                if search.trees.len() + search.whole_trees.len() > MOST_TREES || Instant::now() > until {
                    is_complete = false;
                    break;
                }
                search.look_in(commit);
            }
        }
        Ok(Found { places: search.places, is_complete })
    }

    fn fetched_heads(&self) -> Vec<ObjectId> {
        let text = std::fs::read(self.git_dir().join("FETCH_HEAD")).unwrap_or_default();
        let id = |line: &[u8]| ObjectId::from_hex(line.split_str("\t").next()?).ok();
        text.lines().filter_map(id).filter_map(|id| self.tagged_commit(id)).collect()
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
    /// The components of the path of each.
    components: Vec<Vec<BString>>,
    /// The trees that were read, each with the number of the first file that was looked for below it, and its depth:
    /// neighbouring commits share most trees.
    trees: HashSet<(ObjectId, usize, usize)>,
    /// The trees in which files of any name were looked for.
    whole_trees: HashSet<ObjectId>,
    places: Vec<Option<(ObjectId, BString)>>,
}

impl Search<'_> {
    fn look_in(&mut self, commit: ObjectId) {
        if let Ok(tree_id) = self.repo.tree_of_commit(commit) {
            self.look_below(commit, tree_id, 0, &(0..self.wanted.len()).collect::<Vec<_>>());
            if (0..self.wanted.len()).any(|at| self.wanted[at].has_any_name && self.places[at].is_none()) {
                self.look_for_any_name(commit, tree_id, &BString::default());
            }
        }
    }

    /// Looks for the files that may have any name, in the tree `tree_id` of the directory `directory`.
    fn look_for_any_name(&mut self, commit: ObjectId, tree_id: ObjectId, directory: &BString) {
        if self.whole_trees.len() > MOST_TREES || !self.whole_trees.insert(tree_id) {
            return;
        }
        let mut buffer = Vec::new();
        let Ok(data) = self.repo.read_object(tree_id, ObjectKind::Tree, &mut buffer) else { return };
        for entry in TreeRefIter::from_bytes(data, self.repo.object_hash()).flatten() {
            let path = || {
                let mut path = directory.clone();
                path.extend_from_slice(entry.filename);
                path
            };
            if entry.mode.is_tree() {
                let mut path = path();
                path.push(b'/');
                self.look_for_any_name(commit, entry.oid.to_owned(), &path);
                continue;
            }
            for (wanted, place) in self.wanted.iter().zip(&mut self.places) {
                if wanted.has_any_name && wanted.leaf.id == entry.oid {
                    place.get_or_insert_with(|| (commit, path()));
                }
            }
        }
    }

    /// Looks for the files with the numbers `here`, whose first `depth` components lead to the tree `tree_id`.
    fn look_below(&mut self, commit: ObjectId, tree_id: ObjectId, depth: usize, here: &[usize]) {
        let Some(first) = here.first() else { return };
        if !self.trees.insert((tree_id, *first, depth)) {
            return;
        }
        let mut by_name: BTreeMap<BString, Vec<usize>> = BTreeMap::new();
        for at in here {
            by_name.entry(self.components[*at][depth].clone()).or_default().push(*at);
        }
        let mut buffer = Vec::new();
        let Ok(data) = self.repo.read_object(tree_id, ObjectKind::Tree, &mut buffer) else { return };
        let mut directories = Vec::new();
        for entry in TreeRefIter::from_bytes(data, self.repo.object_hash()).flatten() {
            let Some(named) = by_name.get(entry.filename) else { continue };
            for at in named {
                let is_file = self.components[*at].len() == depth + 1;
                if is_file && self.places[*at].is_none() && self.wanted[*at].leaf.id == entry.oid {
                    self.places[*at] = Some((commit, self.wanted[*at].path.clone()));
                }
            }
            if entry.mode.is_tree() {
                let below = named.iter().copied().filter(|at| self.components[*at].len() > depth + 1);
                directories.push((entry.oid.to_owned(), below.collect::<Vec<_>>()));
            }
        }
        for (directory, below) in directories {
            self.look_below(commit, directory, depth + 1, &below);
        }
    }
}
