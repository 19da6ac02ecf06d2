//! Commits all that a round has in a directory to its branch, and makes sure that the branch has it.

use gix::ObjectId;

use super::super::{
    Context, Worktree,
    chain::peek::worktree_tree,
    enter::Purpose,
    save::{self, Author, Hold, Request, SavedAndSeen},
};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{manifest::Manifest, operation, path_text},
    state::failpoint,
};

/// The message of the commit.
pub(super) const MESSAGE: &str = "[ROUND] Auto-commit";
/// The message of the checkpoint.
const BEFORE_END: &str = "Before the end of the round";

/// What has been committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Committed {
    /// The checkpoint of what was there.
    pub(super) checkpoint: ObjectId,
    /// The commit; none if there was nothing to commit.
    pub(super) commit: Option<ObjectId>,
    /// The commit of the branch now.
    pub(super) tip: ObjectId,
}

/// Takes a checkpoint of the worktree of `there`, without a commit.
pub(super) fn checkpoint(there: &Context) -> Result<ObjectId> {
    let worktree = Worktree::enter(there, Purpose::Change)?;
    save(&worktree)?.saved.id.ok_or_else(|| Error::internal("no checkpoint was taken"))
}

/// Takes a checkpoint of the worktree of `there`, commits all that it has to `branch`, a short name, and looks at the worktree once
/// more: the branch has what is there then. The commit gets its record.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if HEAD is not on this branch, if git has something under way, or if something
/// would not be in the commit; [`Kind::Race`](crate::error::Kind::Race) if the worktree is changed meanwhile.
pub(super) fn commit_all(there: &Context, branch: &str, message: &str) -> Result<Committed> {
    let repo = &there.repo;
    let root = repo.worktree_root().display();
    if let Some((what, end)) = Repo::under_way(repo.git_dir()) {
        return Err(
            Error::refused(format!("{what} is under way in '{root}'")).with_hint(format!("finish it, or '{end}'"))
        );
    }
    let worktree = Worktree::enter(there, Purpose::Change)?;
    let taken = save(&worktree)?;
    let checkpoint = taken.saved.id.ok_or_else(|| Error::internal("no checkpoint was taken"))?;
    let tip = tip_at_head(repo, branch)?;
    refuse_left_out(&taken.side.manifest, &root.to_string())?;
    let (tree_id, tip_tree_id) = (repo.tree_of_commit(checkpoint)?, repo.tree_of_commit(tip)?);
    failpoint::hit("round:before-commit");
    let full = format!("refs/heads/{branch}");
    let is_new = tree_id != tip_tree_id;
    let commit = is_new.then(|| repo.commit_to(full.as_str().into(), Some(tip), tree_id, message)).transpose()?;
    failpoint::hit("round:after-commit");
    if is_new || taken.side.index_tree_id.is_some_and(|staged| staged != tree_id) {
        repo.stage_head()?;
    }
    drop(worktree);
    // No hook of git runs: this makes the record of the commit.
    drop(Worktree::enter(there, Purpose::Change)?);
    let tip = tip_at_head(repo, branch)?;
    verify(there, tip)?;
    Ok(Committed { checkpoint, commit, tip })
}

/// Refuses if the worktree of `there` does not have exactly the tree of the commit `tip`.
pub(super) fn verify(there: &Context, tip: ObjectId) -> Result<()> {
    let (found, root) = (worktree_tree(there)?, there.repo.worktree_root().display());
    refuse_left_out(&found.manifest, &root.to_string())?;
    let tree_id = there.repo.tree_of_commit(tip)?;
    if found.tree_id == tree_id && found.index_tree_id == tree_id {
        return Ok(());
    }
    let changed = found.repo.diff_trees(tree_id, found.tree_id)?.into_iter().next();
    let what = changed.map_or_else(|| root.to_string(), |change| path_text::printable(change.path.as_ref()));
    Err(Error::race(format!("'{what}' has just been changed")).with_hint("run it again when the agent has ended"))
}

fn save(worktree: &Worktree<'_>) -> Result<SavedAndSeen> {
    let request = Request {
        author: Author::Infer,
        message: Some(BEFORE_END.to_owned()),
        hold: Hold::ForRestore { index: true },
        ..Request::default()
    };
    let _way = worktree.repo.on_the_way(operation::SAVE);
    save::save_and_write_turns(worktree, &request)
}

/// Returns the commit at HEAD, which must be on `branch`, a short name.
fn tip_at_head(repo: &Repo, branch: &str) -> Result<ObjectId> {
    let (head, root) = (repo.head()?, repo.worktree_root().display());
    let full = format!("refs/heads/{branch}");
    if head.branch.as_ref().is_none_or(|at| *at != full.as_str()) {
        let at =
            head.branch.map_or_else(|| "no branch".to_owned(), |at| format!("'{}'", path_text::printable(at.as_ref())));
        return Err(Error::refused(format!(
            "HEAD of '{root}' is on {at}, and not on '{branch}', the branch of the round"
        ))
        .with_hint(format!(
            "commit there, and switch back: 'git -C {} switch {}'",
            path_text::shell_word(&root.to_string()),
            path_text::shell_word(branch)
        )));
    }
    head.id.ok_or_else(|| Error::refused(format!("the branch '{branch}' has no commit")))
}

/// Refuses if a commit of what was looked at would lack something that git could commit.
fn refuse_left_out(manifest: &Manifest, root: &str) -> Result<()> {
    let refuse = |path: &bstr::BString, why: &str, hint: &str| {
        let path = path_text::printable(path.as_ref());
        Err(Error::refused(format!("'{path}' in '{root}' {why}")).with_hint(hint))
    };
    if let Some(left) = manifest.skipped.first() {
        let hint = "commit it, ignore it or move it away; the settings below 'save' say what is left out";
        return refuse(&left.path, &format!("would not be in the commit: {}", left.reason.as_str()), hint);
    }
    if let Some(nested) = manifest.nested.iter().find(|nested| !nested.is_worktree) {
        return refuse(&nested.path, "is a repository of its own", "move it out of there");
    }
    if let Some(unmerged) = manifest.unmerged.first() {
        return refuse(&unmerged.path, "has a conflict", "resolve it, then 'git add' it");
    }
    if let Some(unfiltered) = manifest.unfiltered.first() {
        return refuse(&unfiltered.path, "cannot be committed: its filter has failed", "'git add' says why");
    }
    Ok(())
}
