//! One path that a restore changes: what it holds before and after.

use bstr::BString;
use gix::ObjectId;

use super::change::{Leaf, Mode};

/// What a path holds at one moment, byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Content {
    /// The entry of the tree.
    pub leaf: Leaf,
    /// The bytes of the worktree, where the conversions of git would not bring them back from the blob.
    pub raw: Option<ObjectId>,
}

/// One path to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The path relative to the worktree's root.
    pub path: BString,
    /// What it must hold for the step to be taken; none if it must not exist.
    pub before: Option<Content>,
    /// What it holds then; none if it is deleted.
    pub after: Option<Content>,
}

impl Step {
    /// Returns what the path is before and after.
    pub fn modes(&self) -> impl Iterator<Item = Mode> {
        self.before.iter().chain(&self.after).map(|content| content.leaf.mode)
    }

    /// Returns true if only the executable bit changes.
    pub fn is_mode_only(&self) -> bool {
        match (self.before, self.after) {
            (Some(old), Some(new)) => {
                old.leaf.id == new.leaf.id
                    && old.raw == new.raw
                    && old.leaf.mode != new.leaf.mode
                    && old.leaf.mode.same_type(new.leaf.mode)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::executable_bit(Some((1, Mode::File)), Some((1, Mode::Executable)), true)]
    #[case::type_of_file(Some((1, Mode::File)), Some((1, Mode::Link)), false)]
    #[case::content(Some((1, Mode::File)), Some((2, Mode::File)), false)]
    #[case::nothing(Some((1, Mode::File)), Some((1, Mode::File)), false)]
    fn an_executable_bit_alone_is_recognized(
        #[case] before: Option<(u8, Mode)>,
        #[case] after: Option<(u8, Mode)>,
        #[case] expected: bool,
    ) {
        let content =
            |(byte, mode)| Content { leaf: Leaf { id: ObjectId::from_bytes_or_panic(&[byte; 20]), mode }, raw: None };
        let step = Step { path: "f".into(), before: before.map(content), after: after.map(content) };
        assert_eq!(step.is_mode_only(), expected);
    }
}
