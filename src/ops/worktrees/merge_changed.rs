//! What a merge would not leave alone of uncommitted changes. Git refuses most of it, too, but a refusal by git checks out all files
//! of HEAD, and deletes what is in their place.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, index::entry::Flags};

use super::{
    super::{Context, chain::peek::worktree_tree},
    merge_in_way::{shown, there_at},
};
use crate::{
    error::{Error, Result},
    git::{Repo, merge_branch::Foreseen},
};

/// Refuses a merge of `theirs` into `ours`, the commit of the worktree of `context`, which is no fast-forward, if something is staged
/// here, if a file that the merge changes has changed here, or if something else is in the place of a file.
pub(super) fn refuse_changed(
    context: &Context,
    (ours, theirs): (ObjectId, ObjectId),
    foreseen: Option<&Foreseen>,
) -> Result<()> {
    let repo = &context.repo;
    let root = repo.worktree_root().display();
    let staged = names(repo, &["--cached"])?;
    if !staged.is_empty() {
        return Err(Error::refused(format!("{} staged in '{root}'", shown(&staged, "is", "are"))).with_hint(
            "git merges only where nothing is staged: commit it, or 'git restore --staged' puts the index back",
        ));
    }
    let mut changed = names(repo, &[])?;
    changed.extend(hidden_changes(context, ours)?);
    if changed.is_empty() {
        return Ok(());
    }
    let is_replaced = |path: &&BString| {
        let found = there_at(repo, path.as_bstr());
        // Where nothing is, nothing can be lost.
        found.is_some_and(|(at, is_directory)| at.len() < path.len() || is_directory) && !is_submodule(repo, path)
    };
    let replaced: BTreeSet<BString> = changed.iter().filter(is_replaced).cloned().collect();
    if !replaced.is_empty() {
        let what = format!("in '{root}', {} something else in the place of a file", shown(&replaced, "is", "are"));
        return Err(Error::refused(what).with_hint("commit that, or move it away, and run it again"));
    }
    let touched = touched(repo, (ours, theirs), foreseen)?;
    let both: BTreeSet<BString> = changed.intersection(&touched).cloned().collect();
    if !both.is_empty() {
        let what = format!("{} changed in '{root}', and by the merge, too", shown(&both, "is", "are"));
        return Err(Error::refused(what).with_hint("commit the changes, and run it again"));
    }
    Ok(())
}

/// Returns the paths that the merge changes here.
fn touched(
    repo: &Repo,
    (ours, theirs): (ObjectId, ObjectId),
    foreseen: Option<&Foreseen>,
) -> Result<BTreeSet<BString>> {
    let mut paths = BTreeSet::new();
    let mut add = |from: ObjectId, to: ObjectId| -> Result<()> {
        paths.extend(repo.diff_trees(from, to)?.into_iter().map(|change| change.path));
        Ok(())
    };
    if let Some(foreseen) = foreseen {
        add(repo.tree_of_commit(ours)?, foreseen.tree)?;
        paths.extend(foreseen.conflicts.iter().cloned());
        return Ok(paths);
    }
    for base in repo.common_commits(ours, theirs)? {
        add(repo.tree_of_commit(base)?, repo.tree_of_commit(theirs)?)?;
    }
    Ok(paths)
}

/// Returns the paths of tracked files that differ from HEAD, in the worktree or, with `--cached`, in the index.
fn names(repo: &Repo, more: &[&str]) -> Result<BTreeSet<BString>> {
    let words = ["diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", "--ignore-submodules=dirty"];
    let printed = repo.run_git(&[&words[..], more, &["HEAD", "--"]].concat(), None)?;
    Ok(printed.split_str("\0").filter(|path| !path.is_empty()).map(BString::from).collect())
}

/// Returns the paths that have changed since the commit `ours`, and that git takes for unchanged (`git update-index
/// --assume-unchanged`): it refuses to merge over them, and resets them in doing so.
fn hidden_changes(context: &Context, ours: ObjectId) -> Result<BTreeSet<BString>> {
    let index = context.repo.user_index()?;
    let is_hidden = |path: &BString| {
        let entry = index.as_ref().and_then(|index| index.entry_by_path(path.as_bstr()));
        entry.is_some_and(|entry| entry.flags.contains(Flags::ASSUME_VALID))
    };
    if !index.as_ref().is_some_and(|index| index.entries().iter().any(|it| it.flags.contains(Flags::ASSUME_VALID))) {
        return Ok(BTreeSet::new());
    }
    let now = worktree_tree(context)?;
    let changes = now.repo.diff_trees(now.repo.tree_of_commit(ours)?, now.tree_id)?;
    Ok(changes.into_iter().map(|change| change.path).filter(is_hidden).collect())
}

/// Returns the paths of the checkpoint `id` whose changes git has reset: they are as the commit `ours` has them now.
///
/// # Errors
/// If the worktree cannot be looked at.
pub(super) fn reset_since(context: &Context, id: ObjectId, ours: ObjectId) -> Result<BTreeSet<BString>> {
    let now = worktree_tree(context)?;
    let head = now.repo.tree_of_commit(ours)?;
    let mut reset = BTreeSet::new();
    for change in now.repo.diff_trees(now.repo.tree_of_commit(id)?, now.tree_id)? {
        if now.repo.find_leaf(head, change.path.as_bstr())? == change.after {
            reset.insert(change.path);
        }
    }
    Ok(reset)
}

/// Returns true if the index has a submodule at `path`.
fn is_submodule(repo: &Repo, path: &BString) -> bool {
    let index = repo.user_index().ok().flatten();
    index
        .as_ref()
        .and_then(|index| index.entry_by_path(path.as_bstr()))
        .is_some_and(|entry| entry.mode == gix::index::entry::Mode::COMMIT)
}
