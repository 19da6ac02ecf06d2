//! What a person gives up with `git restore` or `git checkout -- <path>`: git's post-checkout says that files were checked out.
//!
//! A later change of these files is typed anew, or brings the work back. We can only distinguish that if we know that the work was
//! gone.

use bstr::{BString, ByteSlice as _};

use super::{
    Context, Worktree,
    chain::{Request, Scope, carry_forward::base_tree, peek::worktree_tree, shadows},
    condense,
    enter::Purpose,
    records,
    rewrite::squashed_commits,
    save::save_and_write_turns,
    session_info::open_turns,
};
use crate::{error::Result, model::refname::Base, state::commit_note::CommitNote};

/// Notes which commits of `git merge --squash` are no longer in the index, and takes a checkpoint of the files that sessions have
/// changed. While a turn is open, its own events do the latter.
pub(crate) fn files_checked_out(context: &Context) -> Result<()> {
    let repo = &context.repo;
    let base = Base::of_head(repo.head()?.id);
    let has_work = !repo.is_rebasing() && open_turns(context)?.is_empty() && condense::has_work_on(repo, base)?;
    if !has_work && squashed_commits(context)?.is_empty() {
        return Ok(());
    }
    let worktree = Worktree::enter(context, Purpose::Change)?;
    note_given_up(&worktree, base)?;
    let Some(tip) = shadows::latest_on(repo, base)?.filter(|_| has_work) else { return Ok(()) };
    let touched = repo.diff_trees(base_tree(repo, &tip)?, tip.tree_id)?;
    // If the work is in a file of another name now, it is not gone.
    let now = worktree_tree(&worktree)?;
    let changes = now.repo.detect_renames(now.repo.diff_trees(base_tree(repo, &tip)?, now.tree_id)?)?;
    let renamed = condense::renamed_since(&now.repo, &touched, &changes)?;
    let is_renamed = |path: &BString| renamed.iter().any(|it| it.path == *path || it.old_path.as_ref() == Some(path));
    let paths = touched.into_iter().map(|change| change.path).filter(|path| !is_renamed(path)).collect();
    save_and_write_turns(&worktree, &Request { scope: Scope::PathsIfThere(paths), ..Request::default() }).map(drop)
}

/// Forgets which squashed commits were given up: `git merge --squash` has brought them again.
pub(crate) fn files_squashed(context: &Context) -> Result<()> {
    let worktree = Worktree::enter(context, Purpose::Change)?;
    edit_note(&worktree, Base::of_head(context.repo.head()?.id), |note| note.given_up.clear())
}

fn note_given_up(worktree: &Worktree<'_>, base: Base) -> Result<()> {
    let repo = &worktree.repo;
    let head_tree_id = base.commit_id().map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
    let mut given_up = Vec::new();
    for commit in squashed_commits(worktree)? {
        let mut paths: Vec<BString> = Vec::new();
        for id in records::of_commit(repo, commit)? {
            // A damaged record is no evidence.
            let files = records::find(repo, &id).ok().flatten().into_iter().flat_map(|record| record.files);
            paths.extend(files.map(|file| file.path));
        }
        let mut is_put_back = !paths.is_empty();
        for (path, leaf) in repo.staged_leaves(&paths)? {
            is_put_back = is_put_back && repo.find_leaf(head_tree_id, path.as_bstr())? == leaf;
        }
        given_up.extend(is_put_back.then(|| commit.to_string()));
    }
    if given_up.is_empty() {
        return Ok(());
    }
    edit_note(worktree, base, |note| {
        given_up.retain(|commit| !note.given_up.contains(commit));
        note.given_up.append(&mut given_up);
    })
}

/// Changes the note of the commit that is being prepared on `base`.
fn edit_note(worktree: &Worktree<'_>, base: Base, edit: impl FnOnce(&mut CommitNote)) -> Result<()> {
    let (head, mut prepared) = (base.to_string(), worktree.prepared()?);
    let before = prepared.on(&head).cloned();
    let mut note = before.clone().unwrap_or_else(|| CommitNote { head, ..CommitNote::default() });
    edit(&mut note);
    let is_new = before.is_none_or(|before| before != note);
    if !is_new || note.is_plain() && note.doubtful.is_empty() && prepared.on(&note.head).is_none() {
        return Ok(());
    }
    prepared.set(note);
    worktree.write_prepared(&prepared)
}
