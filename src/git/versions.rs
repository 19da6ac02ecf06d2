//! The versions of files that git commands may take content from: in the commits that a command names, stash entries,
//! branches, and what these descend from.

use std::collections::{BTreeSet, HashMap, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::{
    ObjectId,
    objs::{Kind as ObjectKind, TreeRefIter},
    revision::walk::Sorting,
    traverse::commit::simple::CommitTimeOrder,
};

use super::Repo;
use crate::{
    error::Result,
    model::change::{Leaf, Mode},
};

/// How many trees are read, for all files together: tools wait for us.
const MOST_TREES: usize = 2_000;
/// How many branches are looked at.
const MOST_BRANCHES: usize = 256;
/// How many moves of HEAD back the commits count that HEAD has left.
const MOST_MOVES: usize = 16;
/// More versions of a file than these say nothing new.
const MOST_VERSIONS: usize = 32;
/// The commits that git notes while it picks, merges or rebases, and afterwards.
const NOTED: [&str; 6] = ["CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_HEAD", "REBASE_HEAD", "ORIG_HEAD", "FETCH_HEAD"];

/// A file in a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) commit: ObjectId,
    pub(crate) leaf: Leaf,
}

impl Repo {
    /// Returns for each of `paths` the different versions of the file that git may have taken content from, the likeliest
    /// first: those of `first` (stash entries, say), of commits that git notes, of branches, and of older commits.
    ///
    /// Commits and trees that cannot be read are passed over. The search ends after a while, without an error.
    pub(crate) fn versions(&self, paths: &[BString], first: &[ObjectId]) -> Result<Vec<Vec<Version>>> {
        let mut search = Search::new(self, paths);
        let mut tips = first.to_vec();
        for name in NOTED {
            tips.extend(self.find_ref(name).ok().flatten());
        }
        tips.extend(self.head()?.id);
        tips.extend(self.left_lately(MOST_MOVES).into_iter().map(|(id, _)| id));
        let branches = self.refs_below("refs/heads/")?.into_iter().chain(self.refs_below("refs/remotes/")?);
        tips.extend(branches.take(MOST_BRANCHES).map(|(_, id)| id));
        let mut known = BTreeSet::new();
        tips.retain(|tip| known.insert(*tip) && self.is_commit(*tip).unwrap_or(false));
        for tip in &tips {
            search.look_in(*tip);
        }
        let sorting = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
        // What cannot be read ends the search, as what is too far away does.
        let walk = self.inner.rev_walk(tips).sorting(sorting).all().into_iter().flatten();
        for commit in walk.map_while(std::result::Result::ok) {
            self.check_interrupt()?;
            if search.is_over() {
                break;
            }
            search.look_in(commit.id);
        }
        Ok(search.found)
    }
}

/// A directory on the way to the files, or one of them.
#[derive(Debug, Default)]
struct Node {
    /// By name.
    below: HashMap<BString, usize>,
    /// The number of the file.
    file: Option<usize>,
}

struct Search<'s> {
    repo: &'s Repo,
    /// The first one is the root.
    nodes: Vec<Node>,
    /// The trees that were read, each with its node: reading one again finds nothing new.
    read: HashSet<(usize, ObjectId)>,
    found: Vec<Vec<Version>>,
}

impl<'s> Search<'s> {
    fn new(repo: &'s Repo, paths: &[BString]) -> Self {
        let mut nodes = vec![Node::default()];
        for (number, path) in paths.iter().enumerate() {
            let mut at = 0;
            for name in path.split_str("/") {
                let next = nodes.len();
                at = *nodes[at].below.entry(name.into()).or_insert(next);
                if at == next {
                    nodes.push(Node::default());
                }
            }
            nodes[at].file = Some(number);
        }
        Self { repo, nodes, read: HashSet::new(), found: vec![Vec::new(); paths.len()] }
    }

    fn is_over(&self) -> bool {
        self.read.len() >= MOST_TREES
    }

    fn look_in(&mut self, commit: ObjectId) {
        if let Ok(tree_id) = self.repo.tree_of_commit(commit) {
            self.read(commit, 0, tree_id);
        }
    }

    /// Notes the files that the tree `tree_id` has at the node `at` and below.
    fn read(&mut self, commit: ObjectId, at: usize, tree_id: ObjectId) {
        if self.is_over() || !self.read.insert((at, tree_id)) {
            return;
        }
        let mut buffer = Vec::new();
        let Ok(data) = self.repo.read_object(tree_id, ObjectKind::Tree, &mut buffer) else { return };
        let entries = TreeRefIter::from_bytes(data, self.repo.object_hash()).map_while(std::result::Result::ok);
        let below = &self.nodes[at].below;
        let found = entries.filter_map(|entry| Some((*below.get(entry.filename)?, entry.mode, entry.oid.to_owned())));
        for (node, mode, id) in found.collect::<Vec<_>>() {
            if mode.is_tree() {
                self.read(commit, node, id);
                continue;
            }
            let mode =
                Mode::from_bits(u32::from(mode.value())).filter(|it| matches!(it, Mode::File | Mode::Executable));
            if let (Some(file), Some(mode)) = (self.nodes[node].file, mode) {
                let versions = &mut self.found[file];
                if versions.len() < MOST_VERSIONS && !versions.iter().any(|known| known.leaf.id == id) {
                    versions.push(Version { commit, leaf: Leaf { id, mode } });
                }
            }
        }
    }
}
