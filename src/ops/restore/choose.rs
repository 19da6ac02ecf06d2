//! `restore --patch`: the user chooses hunks among what a restore would change.

use std::time::Instant;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    RestoreOptions,
    before::{Before, BeforeOptions},
    plan_of, read_target,
};
use crate::{
    error::{Error, Result},
    git::{
        Repo,
        edit_tree::edit_tree,
        new_objects::{NewObjects, Target},
    },
    model::{
        change::Leaf,
        plan::Group,
        step::{Content, Step},
    },
    ops::{Context, restored_target},
};

/// The hunks of a restore that the user has chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenHunks {
    /// The checkpoint that is restored. Its name may be another's by now, since the worktree was saved.
    pub(super) target: ObjectId,
    /// The session to whose paths the restore is limited.
    pub(super) session: Option<String>,
    /// The worktree as it was when the user was asked, and the same with the hunks.
    from: ObjectId,
    to: ObjectId,
}

impl ChosenHunks {
    /// Returns true if no hunk was chosen.
    pub fn is_nothing(&self) -> bool {
        self.from == self.to
    }

    /// Returns those of `steps` that have chosen hunks, with these only.
    ///
    /// # Errors
    /// If the file has changed since the user was asked.
    pub(super) fn limit(&self, repo: &Repo, steps: Vec<Step>) -> Result<Vec<Step>> {
        let mut chosen = Vec::new();
        for step in steps {
            let path = step.path.as_bstr();
            let (from, to) = (repo.find_leaf(self.from, path)?, repo.find_leaf(self.to, path)?);
            chosen.extend(chosen_step(step, from, to)?);
        }
        Ok(chosen)
    }
}

/// Returns `step` as far as the user has chosen: the file was `from` when the user was asked, and is to be `to`.
fn chosen_step(step: Step, from: Option<Leaf>, to: Option<Leaf>) -> Result<Option<Step>> {
    if from == to {
        return Ok(None);
    }
    if from != step.before.map(|content| content.leaf) {
        return Err(Error::race(format!("'{}' has changed since the hunks were chosen", step.path))
            .with_hint("nothing was changed: run the command again"));
    }
    if to == step.after.map(|content| content.leaf) {
        return Ok(Some(step));
    }
    // No state had these bytes: they are what git makes of the blob.
    Ok(Some(Step { after: to.map(|leaf| Content { leaf, raw: None }), ..step }))
}

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

fn edit(step: &Step) -> (BString, Option<(ObjectId, crate::model::change::Mode)>) {
    (step.path.clone(), step.after.map(|content| (content.leaf.id, content.leaf.mode)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::change::Mode;

    fn leaf(text: &str) -> Option<Leaf> {
        let id = |text: &str| ObjectId::from_hex(text.repeat(40).as_bytes()).expect("hexadecimal");
        (!text.is_empty()).then(|| Leaf { id: id(text), mode: Mode::File })
    }

    /// What the file was when the user was asked, and is to be; what it is now, and in the target. Each is a digit, or empty if
    /// there is no file. `=` is the step itself, `-` none, `!` an error.
    #[rstest::rstest]
    #[case::nothing("1", "1", "1", "2", "-")]
    #[case::all("1", "2", "1", "2", "=")]
    #[case::some("1", "3", "1", "2", "3")]
    #[case::edited_since("1", "3", "4", "2", "!")]
    #[case::edited_since_and_not_chosen("1", "1", "4", "2", "-")]
    #[case::new_file("", "2", "", "2", "=")]
    #[case::part_of_a_new_file("", "3", "", "2", "3")]
    #[case::deleted("1", "", "1", "", "=")]
    #[case::not_deleted("1", "1", "1", "", "-")]
    #[case::part_of_a_deletion("1", "3", "1", "", "3")]
    fn a_step_is_limited_to_what_was_chosen(
        #[case] from: &str,
        #[case] to: &str,
        #[case] now: &str,
        #[case] target: &str,
        #[case] expected: &str,
    ) {
        let content = |text| leaf(text).map(|leaf| Content { leaf, raw: None });
        let step = Step { path: "f".into(), before: content(now), after: content(target) };
        let found = chosen_step(step.clone(), leaf(from), leaf(to));
        match expected {
            "!" => assert!(found.is_err()),
            "-" => assert_eq!(found.expect("no error"), None),
            "=" => assert_eq!(found.expect("no error"), Some(step)),
            text => assert_eq!(found.expect("no error"), Some(Step { after: content(text), ..step })),
        }
    }
}
