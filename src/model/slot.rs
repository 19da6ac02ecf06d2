//! What the index holds at a path, and what a restore makes of it.

use bstr::BString;
use gix::ObjectId;

use super::{change::Leaf, manifest::Unmerged};

/// What the index holds at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Nothing.
    Absent,
    /// A plain entry.
    Staged(Leaf),
    /// The stages of an unfinished merge, sorted.
    Unmerged(Vec<Unmerged>),
    /// An entry without content, of `git add --intent-to-add`.
    IntentToAdd,
}

impl Slot {
    /// Returns the ids of its blobs, to be changed.
    pub(crate) fn blobs_mut(&mut self) -> Vec<&mut ObjectId> {
        match self {
            Self::Absent | Self::IntentToAdd => Vec::new(),
            Self::Staged(leaf) => vec![&mut leaf.id],
            Self::Unmerged(stages) => stages.iter_mut().map(|stage| &mut stage.id).collect(),
        }
    }
}

/// An entry of the index to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotChange {
    /// The path.
    pub path: BString,
    /// What it must hold to be changed.
    pub before: Slot,
    /// What it holds then.
    pub after: Slot,
}

/// What an interrupted change finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is still to be made.
    Before,
    /// It was made.
    After,
    /// Something else was staged since.
    Other,
}

impl SlotChange {
    /// Returns the change that takes this one back.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self { path: self.path.clone(), before: self.after.clone(), after: self.before.clone() }
    }

    /// Returns how far the change is, where the index holds `now`.
    pub fn find(&self, now: &Slot) -> Found {
        // Git makes such an entry only after removing the earlier one, and only for an existing file.
        let is_between = *now == Slot::Absent && [&self.before, &self.after].contains(&&Slot::IntentToAdd);
        if *now == self.after {
            Found::After
        } else if *now == self.before || is_between {
            Found::Before
        } else {
            Found::Other
        }
    }
}
