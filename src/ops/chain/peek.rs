//! Looks at the worktree as a save would, and writes nothing.

use gix::ObjectId;

use super::look::limits;
use crate::{
    error::{Kind, Result},
    git::{
        Repo,
        snapshot::{Keep, full_pass},
        stat_cache::StatCache,
    },
    model::manifest::Manifest,
    ops::Context,
    state,
};

/// The worktree as a tree that is written nowhere.
pub(crate) struct Worktree {
    /// The repository, with the tree and its blobs in its object memory.
    pub(crate) repo: Repo,
    /// The tree.
    pub(crate) tree_id: ObjectId,
    /// The tree of the user's index, without unmerged and intent-to-add entries.
    pub(crate) index_tree_id: ObjectId,
    /// What the tree cannot say.
    pub(crate) manifest: Manifest,
    /// The state of each path.
    pub(crate) cache: StatCache,
}

/// Looks at the worktree as a save would, and writes nothing.
pub(crate) fn worktree_tree(context: &Context) -> Result<Worktree> {
    let repo = context.repo.with_object_memory();
    // No directory is made for it: this may be a repository that we may not write to.
    let path = state::directory(repo.git_dir()).join("index");
    let cache = StatCache::load(&path, repo.object_hash()).filter(|_| !repo.distrusts_objects());
    let had_cache = cache.is_some();
    let limits = limits(context);
    let (snapshot, _) = match full_pass(&repo, &limits, cache, Keep::InMemory) {
        // What the cache relies on may have been pruned.
        Err(error) if error.kind() == Kind::Corrupt && had_cache => full_pass(&repo, &limits, None, Keep::InMemory)?,
        other => other?,
    };
    let (tree_id, index_tree_id) = (snapshot.tree_id, snapshot.index_tree_id);
    Ok(Worktree { repo, tree_id, index_tree_id, manifest: snapshot.manifest, cache: snapshot.cache })
}
