//! The versions of files that git commands may take content from: in the commits that a command names, stash entries,
//! branches, and what these descend from.

use std::collections::{BTreeSet, HashMap};

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, revision::walk::Sorting, traverse::commit::simple::CommitTimeOrder};

use super::Repo;
use crate::{
    error::Result,
    model::change::{Leaf, Mode},
};

/// How often we look for a file in a tree, for all files together: tools wait for us.
const MOST_LOOKS: usize = 1_000;
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
        let mut search =
            Search { repo: self, paths, looks: 0, seen: HashMap::new(), found: vec![Vec::new(); paths.len()] };
        let mut tips = first.to_vec();
        for name in NOTED {
            tips.extend(self.find_ref(name).ok().flatten());
        }
        tips.extend(self.head()?.id);
        tips.extend(self.left_lately(MOST_MOVES).into_iter().map(|(id, _)| id));
        for prefix in ["refs/heads/", "refs/remotes/"] {
            tips.extend(self.refs_below(prefix)?.into_iter().map(|(_, id)| id));
        }
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
            if search.looks > MOST_LOOKS {
                break;
            }
            search.look_in(commit.id);
        }
        Ok(search.found)
    }
}

struct Search<'s> {
    repo: &'s Repo,
    paths: &'s [BString],
    looks: usize,
    /// What directories have at a path below them, by their id and the components of the path that are left.
    seen: HashMap<(ObjectId, usize, usize), Option<Leaf>>,
    found: Vec<Vec<Version>>,
}

impl Search<'_> {
    fn look_in(&mut self, commit: ObjectId) {
        let Ok(tree_id) = self.repo.tree_of_commit(commit) else { return };
        for at in 0..self.paths.len() {
            let Some(leaf) = self.leaf(tree_id, at) else { continue };
            let versions = &mut self.found[at];
            let is_file = matches!(leaf.mode, Mode::File | Mode::Executable);
            if is_file && versions.len() < MOST_VERSIONS && !versions.iter().any(|known| known.leaf.id == leaf.id) {
                versions.push(Version { commit, leaf });
            }
        }
    }

    /// Returns the file at the path with the number `at` in a tree. Neighbouring commits share most directories, so that each
    /// directory is read once.
    fn leaf(&mut self, tree_id: ObjectId, at: usize) -> Option<Leaf> {
        let path = &self.paths[at];
        let components: Vec<&[u8]> = path.split_str("/").collect();
        let (mut current, mut passed, mut leaf) = (tree_id, Vec::new(), None);
        for (depth, component) in components.iter().enumerate() {
            let key = (current, at, depth);
            if let Some(known) = self.seen.get(&key) {
                leaf = *known;
                break;
            }
            passed.push(key);
            self.looks += 1;
            let Ok(Some((mode, id))) = self.repo.find_entry(current, component.as_bstr()) else { break };
            if depth + 1 == components.len() {
                leaf = Mode::from_bits(mode).map(|mode| Leaf { id, mode });
            }
            current = id;
        }
        self.seen.extend(passed.into_iter().map(|key| (key, leaf)));
        leaf
    }
}
