//! `restore --patch`: the user chooses hunks among what a restore would change.

use std::time::Instant;

use bstr::BString;
use gix::ObjectId;

use super::{
    RestoreOptions,
    before::{Before, BeforeOptions},
    chosen::ChosenHunks,
    plan_of, read_target,
};
use crate::{
    error::{Error, Result},
    git::{
        edit_tree::edit_tree,
        new_objects::{NewObjects, Target},
    },
    model::{change::Mode, plan::Group, step::Step},
    ops::{Context, restored_target},
};

/// Shows the user what a restore with `options` would change, hunk by hunk, and returns what the user chooses.
///
/// The worktree is saved before, so that the hunks are those of a checkpoint.
///
/// # Errors
/// As [`restore`](super::restore()), and if git cannot ask.
pub fn choose_hunks(context: &Context, options: &RestoreOptions) -> Result<ChosenHunks> {
    context.emit_failure("restore", offer(context, options))
}

fn offer(context: &Context, options: &RestoreOptions) -> Result<ChosenHunks> {
    let start = Instant::now();
    let (target, session) = read_target(context, options)?;
    let before_options = BeforeOptions {
        subject: restored_target::subject_before(Some(target.id)),
        is_dry: false,
        keeps_index: false,
        force: options.force,
        after_crash: false,
        saved: None,
    };
    let before = Before::take(context, &before_options, None)?;
    let before = before.ok_or_else(|| Error::internal("the worktree was not saved"))?;
    let planned = plan_of(&before.sight().scene(context, &target), options, session.as_deref())?;
    let target = target.id;
    let edits: Vec<_> = planned.plan.groups.iter().flat_map(Group::steps).map(edit).collect();
    let from = before.snapshot.tree_id;
    let mut objects = NewObjects::new(&context.repo, Target::Loose);
    let to = edit_tree(from, &edits, &mut objects)?;
    objects.write()?.check_and_release()?;
    tracing::debug!(took = ?start.elapsed(), paths = edits.len(), "hunks: offered");
    // Others may work while the user thinks.
    drop(before);
    let to = if edits.is_empty() { from } else { context.repo.choose_hunks(from, to)? };
    Ok(ChosenHunks { target, session, from, to })
}

fn edit(step: &Step) -> (BString, Option<(ObjectId, Mode)>) {
    (step.path.clone(), step.after.map(|content| (content.leaf.id, content.leaf.mode)))
}
