//! The hunks of a restore that the user has chosen.

use bstr::ByteSlice as _;
use gix::ObjectId;

use crate::{
    error::{Error, Result},
    git::Repo,
    model::{
        change::Leaf,
        step::{Content, Step},
    },
};

/// The hunks of a restore that the user has chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenHunks {
    /// The checkpoint that is restored. Its name may be another's by now, since the worktree was saved.
    pub(super) target: ObjectId,
    /// The session to whose paths the restore is limited.
    pub(super) session: Option<String>,
    /// The worktree as it was when the user was asked, and the same with the hunks.
    pub(super) from: ObjectId,
    pub(super) to: ObjectId,
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
