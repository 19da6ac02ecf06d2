//! `restore --patch`: the user chooses hunks among what a restore would change.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::AtomicBool,
    time::Instant,
};

use bstr::BString;
use gix::objs::Kind as ObjectKind;

use super::{
    RestoreOptions,
    before::{Before, BeforeOptions},
    chosen::{ChosenHunks, NotOffered},
    plan_of, read_target,
};
use crate::{
    error::{Error, Result},
    git::{
        edit_tree::{Edit, edit_tree},
        new_objects::{NewObjects, Target},
    },
    model::{
        change::Mode,
        plan::{Group, Plan},
        step::{Content, Step},
        submodule::Recurse,
    },
    ops::{Context, restored_target},
};

/// Shows the user what a restore with `options` would change, hunk by hunk, and returns what the user chooses.
///
/// Takes no checkpoint: the restore of what the user chooses does. Calls `before_asking` once, if there is something to ask. Once `ends`
/// is raised, ends git. While git asks, the interrupt of `context` counts only if git ends, too.
///
/// # Errors
/// As [`restore`](super::restore()), and if git cannot ask.
pub fn choose_hunks(
    context: &Context,
    options: &RestoreOptions,
    ends: &AtomicBool,
    before_asking: &mut dyn FnMut(),
) -> Result<ChosenHunks> {
    context.emit_failure("restore", offer(context, options, ends, before_asking))
}

fn offer(
    context: &Context,
    options: &RestoreOptions,
    ends: &AtomicBool,
    before_asking: &mut dyn FnMut(),
) -> Result<ChosenHunks> {
    let start = Instant::now();
    let (target, session) = read_target(context, options)?;
    let before_options = BeforeOptions {
        recurse: Recurse::No,
        subject: restored_target::subject_before(Some(target.id)),
        is_dry: true,
        keeps_index: false,
        force: options.force,
        after_crash: false,
        saved: None,
    };
    let before = Before::take(context, &before_options, None)?;
    let before = before.ok_or_else(|| Error::internal("the worktree was not saved"))?;
    let planned = plan_of(&before.sight().scene(context, &target), options, session.as_deref())?;
    let target = target.id;
    let plan = &planned.plan;
    let steps: Vec<&Step> = plan.groups.iter().filter(|group| has_parts(group)).flat_map(Group::steps).collect();
    // Git reads only what is stored. No checkpoint needs these objects, so git may delete them in two weeks.
    let mut objects = NewObjects::new(&context.repo, Target::Loose);
    for content in steps.iter().filter_map(|step| step.before).filter(|content| content.leaf.mode != Mode::Gitlink) {
        objects.add(ObjectKind::Blob, &before.repo().read_blob(content.leaf.id)?)?;
    }
    let nothing = context.repo.empty_tree_id();
    let from = edit_tree(nothing, &sides(&steps, |step| step.before), &mut objects)?;
    let to = edit_tree(nothing, &sides(&steps, |step| step.after), &mut objects)?;
    let written = objects.write()?;
    let binary = if from == to { BTreeSet::new() } else { context.repo.binary_paths(from, to)? };
    let not_offered = not_offered(plan, &binary);
    let is_asked = from != to && binary.len() < context.repo.diff_trees(from, to)?.len();
    tracing::debug!(took = ?start.elapsed(), paths = steps.len(), "hunks: offered");
    // Other commands may run while the user chooses.
    drop(before);
    if is_asked {
        before_asking();
    }
    let to = if is_asked { context.repo.choose_hunks(from, to, ends)? } else { from };
    written.check_and_release()?;
    Ok(ChosenHunks { target, from, to, moved: BTreeMap::new(), is_asked, not_offered })
}

/// Returns false if `group` is restored only as a whole, as a file in the place of a directory. Git asks for one path after the
/// other, and half of the group would delete files that nothing replaces.
fn has_parts(group: &Group) -> bool {
    group.clears.is_empty() || group.writes.is_empty()
}

/// Returns the paths of `plan` that are not offered, with the reasons; git shows no hunks of the paths `binary`.
fn not_offered(plan: &Plan, binary: &BTreeSet<BString>) -> Vec<NotOffered> {
    let mut found: Vec<NotOffered> = Vec::new();
    for group in &plan.groups {
        for step in group.steps() {
            let other = group.steps().find(|other| other.path != step.path);
            let why = match other {
                Some(other) if !has_parts(group) => format!("only together with '{}'", other.path),
                _ if binary.contains(&step.path) => "binary".to_owned(),
                _ if differs_in_bytes_only(step) => {
                    "differs only in bytes that git does not show, such as line endings".to_owned()
                }
                _ => continue,
            };
            found.push(NotOffered { path: step.path.clone(), why });
        }
    }
    let left = plan.kept.iter().chain(&plan.conflicts);
    found.extend(left.map(|left| NotOffered { path: left.path.clone(), why: left.why.to_string() }));
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn differs_in_bytes_only(step: &Step) -> bool {
    matches!((step.before, step.after), (Some(before), Some(after)) if before.leaf == after.leaf)
}

/// Returns the files that `steps` have on one side.
fn sides(steps: &[&Step], side: impl Fn(&Step) -> Option<Content>) -> Vec<(BString, Edit)> {
    let files = steps.iter().filter_map(|step| Some((step.path.clone(), side(step)?.leaf)));
    files.map(|(path, leaf)| (path, Some((leaf.id, leaf.mode)))).collect()
}
