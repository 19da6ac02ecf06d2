//! What to type if an operation cannot be taken back. A hint is printed only if what it names works.

use std::{fs, io::ErrorKind};

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use super::blocked::{Files, Scene};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{change::Change, path_text::shell_word, plan::is_below, refname::Base, way_back::Way},
    ops::{
        operations::{Point, Which, behind, pick},
        restore::{check_way_back, refuse_open_turns},
    },
};

/// The files by which git knows that it is in the middle of something, so that it does not switch (wt-status.c).
const BUSY: [&str; 6] = ["MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"];

/// Returns the hint at the first of `ways` that works now in the place of taking the operation `of` back, as `which` asks for.
///
/// # Errors
/// If the user has interrupted it.
pub(super) fn first_that_works(
    scene: &Scene<'_>,
    (which, of): (&Which, ObjectId),
    ways: &[Way],
) -> Result<Option<String>> {
    for way in ways {
        let found = hint(scene, (which, of), *way);
        scene.context.check_interrupt()?;
        match found {
            Ok(None) => {}
            Ok(hint) => return Ok(hint),
            Err(error) => tracing::debug!(%error, "what does not work either"),
        }
    }
    Ok(None)
}

/// Returns the hint at `way`; none if that does not work.
fn hint(scene: &Scene<'_>, (which, of): (&Which, ObjectId), way: Way) -> Result<Option<String>> {
    let (repo, log) = (&scene.context.repo, scene.log);
    let works = |id: ObjectId, all| {
        let picked = pick(scene.context, &Which::Named(id.to_string()))?;
        Ok::<_, Error>(scene.blocked(&picked, (Files::All, all))?.is_none())
    };
    match way {
        Way::First(id) => {
            let hint = || format!("'git checkpoint op undo {}' takes that one back first", repo.short_id(&id));
            Ok(works(id, false)?.then(hint))
        }
        Way::Other(id, all) => {
            let (entry, option) = (log.entry(id)?, if all { "--all " } else { "" });
            let what = if log.stack.is_undo(id) { "redoes this" } else { "takes this back" };
            // One command is in quotes: the one to type.
            let whose = if all { ", and writes over what was edited or committed since" } else { "" };
            let hint = || {
                let (id, of) = (repo.short_id(&id), behind(repo, log, entry));
                format!("'git checkpoint op undo {option}{id}' {what}{whose}: {of}")
            };
            Ok(works(id, all)?.then(hint))
        }
        Way::WithEdits => {
            let command = match which {
                Which::LastUndo => "redo --all".to_owned(),
                Which::Named(_) => format!("op undo --all {}", repo.short_id(&of)),
                Which::Last | Which::LastOfFiles => "undo --all".to_owned(),
            };
            let hint = || format!("'git checkpoint {command}' saves what was edited since, and takes it back, too");
            Ok(works(of, true)?.then(hint))
        }
        Way::Switch(base) => Ok(what_to_switch_to(repo, base)?
            .map(|target| format!("'git switch {target}' goes to where it can be taken back"))),
        Way::GoBack => {
            refuse_open_turns(scene.context, "a turn counts from the checkpoints as they are")?;
            let Some(before) = log.entry_before(of) else { return Ok(None) };
            check_way_back(scene.context, &Point::find(scene.context, &before.id.to_string())?)?;
            let id = repo.short_id(&before.id);
            Ok(Some(format!(
                "'git checkpoint op restore {id}' brings files and refs back to before it; what was saved since goes to the \
                 archive"
            )))
        }
    }
}

/// Returns what git switches to as things are: a branch at the commit of `base`, as a word for a shell; if there is none, or another
/// worktree has it, the commit itself. If HEAD was at one of the branches before, that is it.
fn what_to_switch_to(repo: &Repo, base: Base) -> Result<Option<String>> {
    let (Some(commit), Some(head)) = (base.commit_id(), repo.head()?.id) else { return Ok(None) };
    if BUSY.iter().any(|name| fs::symlink_metadata(repo.git_dir().join(name)).is_ok()) {
        return Ok(None);
    }
    let at = format!("--points-at={commit}");
    // The first field is not empty if a worktree has the branch.
    let found = repo.run_git(&["for-each-ref", "--format=%(worktreepath)%00%(refname)", &at, "refs/heads/"], None)?;
    let found = found.to_string();
    let branches: Vec<&str> = found.lines().filter_map(|line| line.strip_prefix("\0refs/heads/")).collect();
    let before = repo.run_git(&["rev-parse", "--symbolic-full-name", "@{-1}"], None).map(|name| name.to_string());
    let before = before.unwrap_or_default();
    let is_before = |branch: &&&str| before.trim_end().strip_prefix("refs/heads/") == Some(**branch);
    let target = match branches.iter().find(is_before).or(branches.first()) {
        Some(branch) => shell_word(branch),
        None => format!("--detach {}", repo.short_id(&commit)),
    };
    Ok((repo.is_commit(commit)? && is_free_to_switch(repo, head, commit)?).then_some(target))
}

/// Returns true if nothing that no commit has is where the commits `from` and `to` differ.
fn is_free_to_switch(repo: &Repo, from: ObjectId, to: ObjectId) -> Result<bool> {
    let listed = repo.run_git(&["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"], None)?;
    let dirty: Vec<&BStr> = listed.split_str("\0").filter_map(|entry| Some(entry.get(3..)?.as_bstr())).collect();
    let is_same = |a: &BStr, b: &BStr| a == b || is_below(a, b) || is_below(b, a);
    let changes = repo.diff_trees(repo.tree_of_commit(from)?, repo.tree_of_commit(to)?)?;
    // Git lists a repository inside the worktree with a final slash.
    let is_dirty = |path: &BStr| dirty.iter().any(|it| is_same(it.trim_end_with(|c| c == '/').as_bstr(), path));
    // Git writes over an ignored file, which no checkpoint has.
    let is_taken = |change: &Change| {
        let place = change.path.to_path().map(|path| fs::symlink_metadata(repo.worktree_root().join(path)));
        change.before.is_none() && !place.is_ok_and(|it| it.is_err_and(|error| error.kind() == ErrorKind::NotFound))
    };
    Ok(!changes.iter().any(|change| is_dirty(change.path.as_bstr()) || is_taken(change)))
}
