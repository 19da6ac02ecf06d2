//! Takes rejected pieces out of the worktree: a restore of the lines of HEAD in their place, and of nothing else.

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice as _};
use gix::objs::Kind as ObjectKind;

use super::{
    super::{
        Context,
        chain::commit::base_commit,
        restore::{ChosenHunks, RestoreOptions, Restored, restore_known_by},
    },
    Review,
    hunks::{File, What},
    outcome::Decided,
};
use crate::{
    error::Result,
    git::{
        Repo,
        edit_tree::{Edit, edit_tree},
        new_objects::{NewObjects, Target},
    },
    model::{
        change::{Leaf, Mode},
        operation::RESTORE,
        refname::Base,
        review::reverted,
        verdict::{Left, Why},
    },
};

/// Takes the pieces `rejected` out of the worktree, by the numbers of their files in `review`, and notes in `decided` what became of
/// them. The journal of that is known by `nonce`, if there is one.
///
/// # Errors
/// As [`restore_known_by`]: if one of these files has changed since it was looked at, nothing is changed.
pub(super) fn take_out(
    context: &Context,
    review: &Review,
    rejected: BTreeMap<usize, Vec<usize>>,
    nonce: Option<&str>,
    decided: &mut Decided,
) -> Result<()> {
    let rejected: Vec<(usize, Vec<usize>)> = rejected.into_iter().collect();
    let (restored, mut left) = restore_without(context, review, &rejected, nonce)?;
    left.retain(|left| rejected.iter().any(|(file, _)| review.files[*file].is_at(&left.path)));
    decided.left = left;
    if let Some(restored) = restored {
        decided.checkpoint = restored.pre_restore;
        (decided.written, decided.deleted) = (restored.written, restored.deleted);
    }
    Ok(())
}

/// Restores the files of `rejected`, each with the numbers of its pieces, without these. Returns what was done, none if nothing can be,
/// and what was left.
///
/// # Errors
/// As [`restore_known_by`]: if one of these files has changed since it was looked at, nothing is changed.
fn restore_without(
    context: &Context,
    review: &Review,
    rejected: &[(usize, Vec<usize>)],
    nonce: Option<&str>,
) -> Result<(Option<Restored>, Vec<Left>)> {
    let repo = &context.repo;
    let mut objects = NewObjects::new(repo, Target::Loose);
    let mut from: Vec<(BString, Edit)> = Vec::new();
    let mut to: Vec<(BString, Edit)> = Vec::new();
    let mut moved = BTreeMap::new();
    let mut left = Vec::new();
    for (file, items) in rejected {
        let file = &review.files[*file];
        let (path, leaf) = without(review, file, items, &mut objects)?;
        // Both steps of a rename are taken back, or none.
        if leaf.is_some() && path != file.change.path {
            if let Some(why) = taken(repo, path.as_bstr()) {
                left.push(Left { path, why });
                continue;
            }
            moved.insert(path.clone(), file.change.path.clone());
        }
        // Only what is stored can be read later; no checkpoint may have it yet.
        if let Some(now) = file.change.after {
            if now.mode != Mode::Gitlink {
                objects.add(ObjectKind::Blob, &review.repo.read_blob(now.id)?)?;
            }
            from.push((file.change.path.clone(), Some((now.id, now.mode))));
        }
        to.extend(leaf.map(|leaf| (path, Some((leaf.id, leaf.mode)))));
    }
    if from.is_empty() && to.is_empty() {
        return Ok((None, left));
    }
    let nothing = repo.empty_tree_id();
    if from.is_empty() || to.is_empty() {
        objects.add(ObjectKind::Tree, b"")?;
    }
    let (from, to) = (edit_tree(nothing, &from, &mut objects)?, edit_tree(nothing, &to, &mut objects)?);
    let target = base_commit(Base::of_head(review.head), &mut objects)?;
    let written = objects.write()?;
    let chosen = ChosenHunks::of(target, from, to, moved);
    let options = RestoreOptions { all: true, chosen: Some(chosen), ..RestoreOptions::default() };
    let restored = {
        // What was decided is an operation of its own.
        let _way = repo.on_the_way(RESTORE);
        restore_known_by(context, &options, nonce)?
    };
    written.check_and_release()?;
    left.extend(restored.kept.iter().chain(&restored.conflicts).cloned());
    Ok((Some(restored), left))
}

/// Returns why no file can be written at `path`, where HEAD has one and the worktree none that is known; none if one can.
fn taken(repo: &Repo, path: &BStr) -> Option<Why> {
    let inside = gix::path::from_bstr(path).unwrap_or_default();
    let above = inside.ancestors().skip(1).filter(|it| !it.as_os_str().is_empty());
    for directory in above {
        match repo.worktree_root().join(directory).symlink_metadata() {
            Ok(found) if found.is_symlink() => return Some(Why::BelowLink),
            Ok(found) if !found.is_dir() => return Some(Why::InTheWay),
            _ => {}
        }
    }
    repo.worktree_root().join(&inside).symlink_metadata().is_ok().then_some(Why::InTheWay)
}

/// Returns where `file` is without its pieces `items`, and what it has; none if it is gone.
fn without(
    review: &Review,
    file: &File,
    items: &[usize],
    objects: &mut NewObjects<'_>,
) -> Result<(BString, Option<Leaf>)> {
    let change = &file.change;
    let old_path = change.old_path.as_ref().unwrap_or(&change.path);
    if items.len() == file.items.len() {
        return Ok((old_path.clone(), change.before));
    }
    let is_out = |what: &What| items.iter().any(|at| file.items[*at].what == *what);
    let path = if is_out(&What::Name) { old_path } else { &change.path };
    // A file that is gone is one piece.
    let Some(mut leaf) = change.after else { return Ok((path.clone(), None)) };
    if let Some(before) = change.before {
        if is_out(&What::Content) {
            leaf = before;
        }
        if is_out(&What::Mode) {
            leaf.mode = before.mode;
        }
    }
    let spans = items.iter().filter_map(|at| match &file.items[*at].what {
        What::Lines(span) => Some(span.clone()),
        _ => None,
    });
    let spans: Vec<_> = spans.collect();
    if !spans.is_empty() {
        let old = change.before.map_or_else(|| Ok(Vec::new()), |before| review.repo.read_blob(before.id))?;
        let new = review.repo.read_blob(leaf.id)?;
        leaf.id = objects.add(ObjectKind::Blob, &reverted(&old, &new, &spans))?;
    }
    Ok((path.clone(), Some(leaf)))
}
