//! Commits whose files `git checkpoint restore`, or `round apply`, has put into the worktree.

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{chain::timeline::live_tips, records::Log, restored_target::restored},
    earlier::beyond,
};
use crate::{
    error::{Kind, Result},
    git::Repo,
    model::{
        record::{Record, RecordId},
        refname::{Base, ShadowName},
    },
};

/// How many checkpoints of the live shadow we look at.
const MOST_CHECKPOINTS: usize = 200;

/// A restore in this worktree.
struct PutBack {
    /// The commit whose work it has put here: its target, or the base of that if the target is a checkpoint.
    commit: ObjectId,
    /// The tree of its target.
    target_tree_id: ObjectId,
    /// The trees before it and after it.
    before_tree_id: ObjectId,
    tree_id: ObjectId,
    /// The trees of the checkpoints since.
    since: Vec<ObjectId>,
}

/// Returns the records whose work restores have put into this worktree since HEAD is at `head`, as a whole: all files of the record
/// are as in the target afterwards, and no checkpoint since has one of them as it was before.
pub(super) fn records_put_back(repo: &Repo, log: &Log<'_>, head: Option<ObjectId>) -> Result<Vec<RecordId>> {
    let mut ids = Vec::new();
    for restore in restores(repo, head)? {
        match restore.records(repo, log, head) {
            Ok(found) => ids.extend(found),
            // No ref keeps the target of a restore: git may have dropped some of it.
            Err(error) if error.kind() == Kind::Corrupt => {
                tracing::debug!(%error, commit = %restore.commit, "the target of a restore is no evidence");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(ids)
}

impl PutBack {
    /// Returns the records of the commits beyond `head` whose work this restore has put here.
    fn records(&self, repo: &Repo, log: &Log<'_>, head: Option<ObjectId>) -> Result<Vec<RecordId>> {
        let mut ids = Vec::new();
        for commit in beyond(repo, head, vec![self.commit])? {
            for id in log.of_commit(commit)? {
                // A damaged record is no reason to refuse a commit.
                let Some(record) = log.find(&id).ok().flatten() else { continue };
                if self.has_put(repo, &record)? {
                    ids.push(id);
                }
            }
        }
        Ok(ids)
    }

    fn has_put(&self, repo: &Repo, record: &Record) -> Result<bool> {
        let leaf = |tree_id: ObjectId, path: &BStr| repo.find_leaf(tree_id, path);
        for file in record.files.iter().filter(|file| !file.sessions.is_empty()) {
            let path = file.path.as_bstr();
            let (wanted, before) = (leaf(self.target_tree_id, path)?, leaf(self.before_tree_id, path)?);
            if leaf(self.tree_id, path)? != wanted {
                return Ok(false);
            }
            for tree_id in self.since.iter().filter(|_| before != wanted) {
                if leaf(*tree_id, path)? == before {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Returns the restores in this worktree since HEAD is at `head`.
fn restores(repo: &Repo, head: Option<ObjectId>) -> Result<Vec<PutBack>> {
    let base = Base::of_head(head);
    let mut restores = Vec::new();
    for tip in live_tips(repo, Some(repo.worktree_id()))? {
        if ShadowName::from_ref(&tip.name).is_none_or(|shadow| shadow.base != base) {
            continue;
        }
        let mut since = Vec::new();
        for checkpoint in repo.chain(tip.id).take(MOST_CHECKPOINTS) {
            // A broken shadow has no evidence; `status` says that it is broken.
            let Ok(checkpoint) = checkpoint else { break };
            since.push(checkpoint.tree_id);
            let Some(target) = restored(&checkpoint.origin) else { continue };
            let (commit, target_tree_id) = match repo.find_checkpoint(target) {
                Ok(Some(source)) => (source.base.commit_id(), source.tree_id),
                Ok(None) if repo.is_commit(target)? => (Some(target), repo.tree_of_commit(target)?),
                _ => continue,
            };
            let Some(commit) = commit.filter(|commit| repo.has_object(*commit)) else { continue };
            restores.push(PutBack {
                commit,
                target_tree_id,
                before_tree_id: repo.tree_of_commit(checkpoint.before_id())?,
                tree_id: checkpoint.tree_id,
                since: since.clone(),
            });
        }
    }
    Ok(restores)
}
