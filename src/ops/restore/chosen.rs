//! The hunks of a restore that the user has chosen.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};
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
    /// The checkpoint that is restored. Its number is another one once the worktree was saved.
    pub(super) target: ObjectId,
    /// The tree of what was offered, as it was when the user was asked, and the same with the chosen hunks.
    pub(super) from: ObjectId,
    pub(super) to: ObjectId,
    /// The files that `to` has in another place than `from`: each with its path in `from`.
    pub(super) moved: BTreeMap<BString, BString>,
    /// True if git had something to ask.
    pub(super) is_asked: bool,
    pub(super) not_offered: Vec<NotOffered>,
}

/// A path that differs, but of which the user was offered nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotOffered {
    /// The path, relative to the worktree's root.
    pub path: BString,
    /// Why it was left out.
    pub why: String,
}

impl ChosenHunks {
    /// Returns the choice of what leads from the tree `from`, the files as they are now, to the tree `to`: both have the files only that
    /// are chosen from. `target` is the commit whose lines `to` has beside those of `from`;
    /// `moved` are files that `to` has in another place: each with its path in `from`.
    pub(crate) fn of(target: ObjectId, from: ObjectId, to: ObjectId, moved: BTreeMap<BString, BString>) -> Self {
        Self { target, from, to, moved, is_asked: true, not_offered: Vec::new() }
    }

    /// Returns true if no hunk was chosen.
    pub fn is_nothing(&self) -> bool {
        self.from == self.to
    }

    /// Returns false if there was nothing to choose.
    pub fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Returns the paths that differ and of which the user was offered nothing.
    pub fn not_offered(&self) -> &[NotOffered] {
        &self.not_offered
    }

    /// Returns the id of the checkpoint whose hunks were chosen.
    pub fn target(&self) -> ObjectId {
        self.target
    }

    /// Returns those of `steps` that have chosen hunks, with these only.
    ///
    /// # Errors
    /// If the file has changed since the user was asked, or if a part was chosen of a file that has no parts.
    pub(super) fn limit(&self, repo: &Repo, steps: Vec<Step>) -> Result<Vec<Step>> {
        let mut chosen = Vec::new();
        let is_source = |step: &&Step| self.moved.values().any(|from| *from == step.path);
        let sources: BTreeMap<BString, Content> =
            steps.iter().filter(is_source).filter_map(|step| Some((step.path.clone(), step.before?))).collect();
        for step in steps {
            let path = step.path.as_bstr();
            let (from, to) = (repo.find_leaf(self.from, path)?, repo.find_leaf(self.to, path)?);
            let source = self.moved.get(&step.path).and_then(|from| sources.get(from)).copied();
            chosen.extend(chosen_step(step, from, to, source)?);
        }
        Ok(chosen)
    }
}

/// Returns `step` as far as the user has chosen: the file was `from` when the user was asked, and is to be `to`;
/// `source` is the file elsewhere that comes here.
fn chosen_step(step: Step, from: Option<Leaf>, to: Option<Leaf>, source: Option<Content>) -> Result<Option<Step>> {
    if from == to {
        return Ok(None);
    }
    if from != step.before.map(|content| content.leaf) {
        return Err(Error::race(format!(
            "'{}' has changed since the hunks were chosen; nothing was changed",
            step.path
        )));
    }
    let after = to.map(|leaf| chosen_content(&step, leaf, source)).transpose()?;
    Ok(Some(Step { after, ..step }))
}

/// Returns what the chosen `leaf` stands for, byte for byte.
fn chosen_content(step: &Step, leaf: Leaf, source: Option<Content>) -> Result<Content> {
    let sides = || step.before.into_iter().chain(source).chain(step.after);
    // If only the mode is chosen, the bytes stay. If all is chosen, they are the target's.
    if let Some(side) = sides().find(|side| side.leaf.id == leaf.id && side.leaf.mode.same_type(leaf.mode)) {
        return Ok(Content { leaf, raw: side.raw });
    }
    // Neither state has these bytes. Git would convert the whole file, and so change lines that were not chosen.
    if sides().any(|side| side.raw.is_some()) {
        let path = &step.path;
        return Err(Error::refused(format!(
            "'{path}' has bytes that git would not write, such as line endings, and is restored as a whole or not at all, but \
             only a part of it was chosen; nothing was changed"
        )));
    }
    Ok(Content { leaf, raw: None })
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
        let found = chosen_step(step.clone(), leaf(from), leaf(to), None);
        match expected {
            "!" => assert!(found.is_err()),
            "-" => assert_eq!(found.expect("no error"), None),
            "=" => assert_eq!(found.expect("no error"), Some(step)),
            text => assert_eq!(found.expect("no error"), Some(Step { after: content(text), ..step })),
        }
    }

    /// As above, for a file with exact bytes: `r` before, `R` in the target. `x` after a digit is the executable bit.
    #[rstest::rstest]
    #[case::all("2", "R", "1", "2", Some("2R"))]
    #[case::some("3", "R", "1", "2", None)]
    #[case::some_and_git_would_write_the_target("3", "", "1", "2", None)]
    #[case::the_mode_alone("1x", "R", "1", "2x", Some("1xr"))]
    #[case::all_but_the_mode("2", "R", "1", "2x", Some("2R"))]
    #[case::the_mode_where_only_bytes_differ_too("1x", "R", "1", "1x", Some("1xr"))]
    fn a_file_with_exact_bytes_has_no_parts(
        #[case] to: &str,
        #[case] raw: &str,
        #[case] now: &str,
        #[case] target: &str,
        #[case] expected: Option<&str>,
    ) {
        let id = |digit: &str| ObjectId::from_hex(digit.repeat(40).as_bytes()).expect("hexadecimal");
        let raws = |text: &str| match text {
            "r" => Some(id("a")),
            "R" => Some(id("b")),
            _ => None,
        };
        let leaf = |text: &str| Leaf {
            id: id(&text[..1]),
            mode: if text[1..].starts_with('x') { Mode::Executable } else { Mode::File },
        };
        let content = |text, raw| Content { leaf: leaf(text), raw: raws(raw) };
        let step = Step { path: "f".into(), before: Some(content(now, "r")), after: Some(content(target, raw)) };
        let found = chosen_step(step, Some(leaf(now)), Some(leaf(to)), None);
        let found = found.ok().map(|step| step.expect("something is chosen").after.expect("a file"));
        assert_eq!(found, expected.map(|text| content(text, &text[text.len() - 1..])));
    }
}
