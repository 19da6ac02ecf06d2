//! Archives the state of the worktree if it belongs to no session's chain.

use gix::ObjectId;

use super::{super::Worktree, who::Who};
use crate::{
    error::Result,
    git::{
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
        side::write_side_tree,
        written::Written,
    },
    model::{checkpoint::Origin, contributor::Contributor},
    ops::{
        chain::{
            archive::archive_name,
            commit::{self, Draft},
        },
        save::{self, Shadow},
    },
};

/// Takes a checkpoint of the worktree straight into the archive, and returns it.
pub(super) fn keep(worktree: &Worktree<'_>, who: &Who<'_>) -> Result<ObjectId> {
    let repo = &worktree.repo;
    let shadow = Shadow::without_tip(worktree, None)?;
    let (seen, mut objects) = save::look_at_all(worktree, &shadow)?;
    let side_tree_id = write_side_tree(&seen.side, &mut objects)?;
    if [Some(seen.tree_id), seen.side.index_tree_id].contains(&Some(repo.empty_tree_id())) {
        // git-fsck(1) reports the empty tree as missing unless it is stored.
        objects.add(gix::objs::Kind::Tree, b"")?;
    }
    let written = objects.write()?;
    let origin = Origin {
        contributor: Contributor::Agent,
        session: Some(who.session.to_owned()),
        agent: who.agent.map(Into::into),
        note: Some("kept aside: the commit it was begun on became another session's".into()),
        ..Origin::default()
    };
    let mut commits = NewObjects::new(repo, Target::Loose);
    let side_id = save::side_commit(repo, &shadow, side_tree_id, &origin, &mut commits)?;
    let parent_id = commit::base_commit(shadow.name.base, &mut commits)?;
    let changes = repo.diff_trees_if_damaged(shadow.head_tree_id, seen.tree_id)?;
    let (subject, body) = commit::subject_and_body(None, &changes);
    let (name, tree_id, time) = (&shadow.name, seen.tree_id, repo.now());
    let after = None;
    let new = Draft { name, tree_id, parent_id, after, side_id, origin: &origin, subject: &subject, body, time };
    let id = new.write(repo, &mut commits)?;
    let commits = commits.write()?;
    repo.update_refs(&[RefUpdate { name: archive_name(repo, id)?, old: None, new: Some(id) }])?;
    Written::check_and_release_all([written, commits])?;
    Ok(id)
}
