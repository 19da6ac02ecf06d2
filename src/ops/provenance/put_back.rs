//! Commits whose files `git checkpoint restore`, or `round apply`, has put into the worktree.

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{chain::timeline::live_tips, records::Log, restored_target::restored},
    earlier::beyond,
    thrown_away,
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
    /// The files that git has put back as HEAD has them since the last one.
    thrown_away: Vec<BString>,
}

/// Returns the records whose work restores have put into this worktree since HEAD is at `head`, as a whole: all files of the record
/// are as in the target afterwards, and no checkpoint since has one of them as it was before. Each comes with the only files whose work
/// the commit of the target has; none: all.
pub(super) fn records_put_back(
    repo: &Repo,
    log: &Log<'_>,
    head: Option<ObjectId>,
) -> Result<Vec<(RecordId, Vec<BString>)>> {
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
    fn records(&self, repo: &Repo, log: &Log<'_>, head: Option<ObjectId>) -> Result<Vec<(RecordId, Vec<BString>)>> {
        let mut ids = Vec::new();
        for commit in beyond(repo, head, vec![self.commit])? {
            for id in log.of_commit(commit)? {
                // A damaged record is no reason to refuse a commit.
                let Some(mut record) = log.find(&id).ok().flatten() else { continue };
                let only = log.limit(&id, commit)?.certain();
                record.files.retain(|file| only.is_empty() || only.contains(&file.path));
                if self.has_put(repo, &record)? {
                    ids.push((id, only));
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
            if leaf(self.tree_id, path)? != wanted || before != wanted && self.thrown_away.contains(&file.path) {
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
        let (mut since, mut thrown) = (Vec::new(), None);
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
            if thrown.is_none() {
                let last = repo.find_checkpoint(tip.id)?;
                let changes = last.map(|last| thrown_away::since(repo, &last)).transpose()?.unwrap_or_default();
                thrown = Some(changes.into_iter().map(|change| change.path).collect::<Vec<_>>());
            }
            restores.push(PutBack {
                commit,
                target_tree_id,
                before_tree_id: repo.tree_of_commit(checkpoint.before_id())?,
                tree_id: checkpoint.tree_id,
                since: since.clone(),
                thrown_away: thrown.clone().unwrap_or_default(),
            });
        }
    }
    Ok(restores)
}
