//! What a restore can do in the repositories inside the worktree.

use super::{carry_out::RunBelow, restored::RestoredSubmodule};
use crate::{error::Result, model::step_below::StepBelow, ops::Context};

/// What can be done.
#[derive(Default)]
pub(super) struct Possible {
    pub(super) steps: Vec<StepBelow>,
    /// True if one of them has something to do.
    pub(super) has_work: bool,
    /// The submodules that are left alone.
    pub(super) left: Vec<RestoredSubmodule>,
}

/// Looks at what `steps` would do. A submodule that only git's setting includes does not keep the rest from being restored.
///
/// # Errors
/// If a step that was asked for cannot be done.
pub(super) fn possible(context: &Context, steps: Vec<StepBelow>, run_below: RunBelow) -> Result<Possible> {
    let mut found = Possible::default();
    for step in steps {
        match run_below(context, &step, true) {
            Ok(looked) => {
                found.has_work |= looked.has_changed;
                found.steps.push(step);
            }
            Err(error) if step.only_submodules => {
                context.check_interrupt()?;
                let why = error.causes().pop().unwrap_or_else(|| error.to_string());
                found.left.push(RestoredSubmodule {
                    path: step.path,
                    restored: None,
                    why: Some(why),
                    has_changed: false,
                });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
