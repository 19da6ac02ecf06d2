//! What a restore can do in the repositories inside the worktree.

use super::{carry_out::RunBelow, restored::RestoredSubmodule};
use crate::{error::Result, model::step_below::StepBelow, ops::Context};

/// Looks at what `steps` would do. Returns the steps that can be done with what each would do, and the submodules that are left
/// alone: a submodule that only git's setting includes does not keep the rest from being restored.
///
/// # Errors
/// If a step that was asked for cannot be done.
pub(super) fn possible(
    context: &Context,
    steps: Vec<StepBelow>,
    run_below: RunBelow,
) -> Result<(Vec<(StepBelow, RestoredSubmodule)>, Vec<RestoredSubmodule>)> {
    let (mut possible, mut left) = (Vec::new(), Vec::new());
    for step in steps {
        match run_below(context, &step, true) {
            Ok(looked) => possible.push((step, looked)),
            Err(error) if step.only_submodules => {
                context.check_interrupt()?;
                let why = error.causes().pop().unwrap_or_else(|| error.to_string());
                left.push(RestoredSubmodule { path: step.path, restored: None, why: Some(why), has_changed: false });
            }
            Err(error) => return Err(error),
        }
    }
    Ok((possible, left))
}
