//! Commits the files that a round has in a directory to its branch, and compares the directory with the branch.

use std::path::Path;

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    super::{Context, Worktree, chain::peek::worktree_tree, enter::Purpose, save::save_before, sessions},
    ended::EndOptions,
    listing::bytes,
    scratch,
};
use crate::{
    error::{Error, Result},
    git::{Repo, commit::Identity},
    model::{
        manifest::{Manifest, Reason},
        path_text,
    },
    state::{
        failpoint,
        rounds::{Committed, Place, Round},
    },
};

/// The message of the commit.
const MESSAGE: &str = "[ROUND] Auto-commit";
/// What to do if something changes meanwhile.
pub(super) const AGAIN: &str = "run it again when the agent has ended";
/// The message of the checkpoint.
const BEFORE_END: &str = "Before the end of the round";

/// Takes a checkpoint of the worktree of `there`, without a commit.
pub(super) fn checkpoint(there: &Context) -> Result<ObjectId> {
    let worktree = Worktree::enter(there, Purpose::Change)?;
    save_before(&worktree, BEFORE_END, true)?.saved.id.ok_or_else(|| Error::internal("no checkpoint was taken"))
}

/// Takes a checkpoint of the worktree of `there`, with the message `of_checkpoint`, and commits all of its files, by `author`, to
/// `branch`, the branch of `place`. The commit gets its
/// record. Then compares the worktree with the branch: they have the same files when this returns. Neither the checkpoint nor the commit
/// has the folder for experiments.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if HEAD is not on this branch, if git has something under way, or if something
/// would not be in the commit; [`Kind::Race`](crate::error::Kind::Race) if the worktree is changed meanwhile.
pub(super) fn commit_all(
    there: &Context,
    author: Identity,
    place: &Place,
    branch: &str,
    message: &str,
    of_checkpoint: &str,
) -> Result<Committed> {
    let repo = &there.repo;
    let root = repo.worktree_root().display();
    if let Some((what, end)) = Repo::under_way(repo.git_dir()) {
        return Err(Error::refused(format!("{what} is under way in '{root}'")).with_hint(format!(
            "finish it, or 'git -C {} {}'",
            path_text::shell_word(&root.to_string()),
            end.trim_start_matches("git ")
        )));
    }
    if let Some(scratch) = &place.scratch {
        scratch::keep_ignored(there, scratch)?;
    }
    let worktree = Worktree::enter(there, Purpose::Change)?;
    let taken = save_before(&worktree, of_checkpoint, true)?;
    let checkpoint = taken.saved.id.ok_or_else(|| Error::internal("no checkpoint was taken"))?;
    let tip = tip_at_head(repo, branch)?;
    refuse_left_out(&taken.side.manifest, &root.to_string())?;
    let (tree_id, tip_tree_id) = (repo.tree_of_commit(checkpoint)?, repo.tree_of_commit(tip)?);
    failpoint::hit("round:before-commit");
    let full = format!("refs/heads/{branch}");
    let is_new = tree_id != tip_tree_id;
    let commit =
        is_new.then(|| repo.commit_to_as(full.as_str().into(), Some(tip), tree_id, message, author)).transpose()?;
    failpoint::hit("round:after-commit");
    if is_new || taken.side.index_tree_id.is_some_and(|staged| staged != tree_id) {
        refuse_staged_since(there, taken.side.index_tree_id.unwrap_or(tip_tree_id))?;
        repo.stage_head()?;
    }
    drop(worktree);
    // No hook of git runs: this makes the record of the commit.
    drop(Worktree::enter(there, Purpose::Change)?);
    let tip = tip_at_head(repo, branch)?;
    verify(there, tip)?;
    // An end that failed later may have made the commit.
    let commit = commit.or_else(|| place.committed.as_ref()?.commit);
    Ok(Committed { checkpoint, commit, tip })
}

/// Commits all that `there` has to `branch`, notes that in the file of the round, and returns the commit of the branch.
pub(super) fn commit_noted(
    context: &Context,
    there: &Context,
    round: &mut Round,
    at: usize,
    branch: &str,
    options: &EndOptions,
) -> Result<ObjectId> {
    sessions::stand_down(there)?;
    let message = options.message.as_deref().unwrap_or(MESSAGE);
    let committed = commit_all(there, context.repo.identity(), &round.places[at], branch, message, BEFORE_END)?;
    let tip = committed.tip;
    round.places[at].committed = Some(committed);
    round.write(context.repo.common_dir())?;
    Ok(tip)
}

/// Refuses if something else is staged than `staged`, which the checkpoint has: it would be nowhere.
fn refuse_staged_since(there: &Context, staged: ObjectId) -> Result<()> {
    if worktree_tree(there)?.index_tree_id == staged {
        return Ok(());
    }
    let root = there.repo.worktree_root().display();
    Err(Error::race(format!("something has just been staged in '{root}'")).with_hint(AGAIN))
}

/// Refuses if HEAD of `repo` is not on `branch`, a short name, at `tip`.
pub(super) fn refuse_moved(repo: &Repo, branch: &str, tip: ObjectId) -> Result<()> {
    if tip_at_head(repo, branch)? == tip {
        return Ok(());
    }
    let root = repo.worktree_root().display();
    Err(Error::race(format!("something has just been committed in '{root}'")).with_hint(AGAIN))
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
    Err(Error::race(format!("'{what}' has just been changed")).with_hint(AGAIN))
}

/// Returns the commit at HEAD, which must be on `branch`, a short name.
fn tip_at_head(repo: &Repo, branch: &str) -> Result<ObjectId> {
    let (head, root) = (repo.head()?, repo.worktree_root().display());
    let full = format!("refs/heads/{branch}");
    let word = path_text::shell_word;
    if head.branch.as_ref().is_none_or(|at| *at != full.as_str()) {
        let at = head
            .branch
            .as_ref()
            .map_or_else(|| "no branch".to_owned(), |at| format!("'{}'", path_text::printable(at.as_ref())));
        return Err(Error::refused(format!(
            "HEAD of '{root}' is on {at}, and not on '{branch}', the branch of the round"
        ))
        .with_hint(match &head.branch {
            // Git has renamed it there, or it was deleted.
            Some(at) if repo.find_ref(&full)?.is_none() => format!(
                "the branch '{branch}' is no more; if it was renamed, 'git -C {} branch -m {} {}' renames it back",
                word(&root.to_string()),
                word(&at.strip_prefix(b"refs/heads/").unwrap_or(at).to_str_lossy()),
                word(branch)
            ),
            _ => format!("commit there, and switch back: 'git -C {} switch {}'", word(&root.to_string()), word(branch)),
        }));
    }
    head.id.ok_or_else(|| {
        let hint = format!("the reflog has its commits: 'git -C {} reflog'", word(&root.to_string()));
        Error::refused(format!("the branch '{branch}' is no more")).with_hint(hint)
    })
}

/// Refuses if a commit of what was looked at would lack something that git could commit.
pub(super) fn refuse_left_out(manifest: &Manifest, root: &str) -> Result<()> {
    let refuse = |path: &bstr::BString, why: &str, hint: &str| {
        let path = path_text::printable(path.as_ref());
        Err(Error::refused(format!("'{path}' in '{root}' {why}")).with_hint(hint))
    };
    if let Some(left) = manifest.skipped.first() {
        let hint = match left.reason {
            Reason::SkipWorktree => "'git update-index --no-skip-worktree' lets git look at it again",
            _ => "commit it, ignore it or move it away; the settings below 'save' say what is left out",
        };
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

/// Returns the error for the worktree, or the copy, at `path`, which is not as it was committed once its teardown has run.
pub(super) fn torn_down(path: &Path) -> Error {
    let (shown, word) = (path_text::printable(bytes(path).as_bstr()), path_text::shell_word(&path.to_string_lossy()));
    Error::refused(format!("the teardown commands have changed '{shown}'")).with_hint(format!(
        "'git -C {word} status' shows what; '--no-teardown' commits what they have left, and ends the round without them"
    ))
}
