//! Lines of a commit that one of its parents has in another file, or elsewhere in the same file: they were moved.
//!
//! In a commit that is one step, `Replay` finds them. A merge, a squash or a second commit after a reset has the work of several steps, of
//! which only the first and the last state are known. `model::attribution::moved_on` says what is evidence of a move then.

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashSet},
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    left::{MOST_BYTES, key, left_with_counts},
    moved_on::{Gained, Left, spans_from},
};
use crate::{
    error::Result,
    git::{
        Repo,
        line_edits::{Algorithm, counted_edits},
    },
    model::{
        attribution::{FileOwnership, Owner, Span, TELLING_LETTERS, is_letter_or_digit, moved_on::Enough, spans},
        change::Change,
    },
};

/// The parents of a commit, and the lines that the commit does not have any more. These are read when the first file of the commit needs
/// them, and kept for the other files.
pub(crate) struct Parents<'r> {
    repo: &'r Repo,
    /// The tree of the commit.
    tree_id: ObjectId,
    all: Vec<Parent>,
    /// How many more bytes of files may be read.
    budget: u64,
}

struct Parent {
    tree_id: ObjectId,
    lost: OnceCell<Vec<LostFile>>,
}

/// A file that lost lines.
struct LostFile {
    path: BString,
    /// The lines, without blanks.
    lines: HashSet<Vec<u8>>,
}

impl<'r> Parents<'r> {
    /// Returns the commits `parents` of one with the tree `tree_id`.
    pub(crate) fn of(repo: &'r Repo, parents: &[ObjectId], tree_id: ObjectId) -> Result<Self> {
        let parent = |id: &ObjectId| Ok(Parent { tree_id: repo.tree_of_commit(*id)?, lost: OnceCell::new() });
        Ok(Self { repo, tree_id, all: parents.iter().map(parent).collect::<Result<_>>()?, budget: MOST_BYTES })
    }

    /// Returns those of the lines `added` (from 1) that were moved to a changed file, which is `after` in the commit, or within it. Lines
    /// that one of the parents has at the same place are not among them.
    pub(crate) fn moved(&mut self, change: &Change, after: &[u8], added: &BTreeSet<u32>) -> Result<BTreeSet<u32>> {
        let (mut own, mut files) = (added.clone(), Vec::with_capacity(self.all.len()));
        for parent in &self.all {
            let path = the_name_in(self.repo, parent.tree_id, change)?;
            let leaf = self.repo.find_leaf(parent.tree_id, path.as_bstr())?;
            let Some(before) = self.repo.text_of(leaf)? else { return Ok(BTreeSet::new()) };
            let edits = counted_edits(Algorithm::Myers, &before, after);
            let new: BTreeSet<u32> = edits.into_iter().flat_map(|(_, new)| new).map(number).collect();
            own.retain(|line| new.contains(line));
            files.push((path, before));
        }
        if files.is_empty() || own.is_empty() {
            return Ok(BTreeSet::new());
        }
        let lines = (1..).zip(after.lines_with_terminator());
        let (own_lines, rest): (Vec<_>, Vec<_>) = lines.partition(|(number, _)| own.contains(number));
        let rest: Vec<u8> = rest.into_iter().flat_map(|(_, line)| line).copied().collect();
        let Some(gained) = Gained::of(&rest, after) else { return Ok(BTreeSet::new()) };
        let keys = own_lines.into_iter().map(|(_, line)| key(line)).filter(|key| !key.is_empty());
        let keys: HashSet<Vec<u8>> = keys.collect();
        let mut moved = BTreeSet::new();
        for (number, (path, text)) in files.into_iter().enumerate() {
            let mut left = self.left_in(number, &path, &keys)?;
            left.extend(Left::of_texts(path, vec![all_lines()], text, rest.clone()));
            let found = spans_from(&left.iter().collect::<Vec<_>>(), &[&gained], Enough::HalfOrAll, &|_, _| false);
            let found = found.into_iter().flatten().flatten().flat_map(|span| span.start..=span.end);
            moved.extend(found.filter(|line| own.contains(line)));
        }
        Ok(moved)
    }

    /// Returns the files other than `path` that have lost enough of the lines `keys` since the parent with this number.
    fn left_in(&mut self, number: usize, path: &BString, keys: &HashSet<Vec<u8>>) -> Result<Vec<Left>> {
        let Self { repo, tree_id, all, budget } = self;
        let parent = &all[number];
        if parent.lost.get().is_none() {
            let trees = (parent.tree_id, *tree_id);
            let sources = left_with_counts(repo, trees, BStr::new(""), b"", std::iter::empty(), budget)?;
            let lost = sources.into_iter().map(|(_, source)| LostFile {
                path: source.path,
                lines: source.text.lines_with_terminator().map(key).filter(|key| !key.is_empty()).collect(),
            });
            drop(parent.lost.set(lost.collect()));
        }
        let mut left = Vec::new();
        for file in parent.lost.get().into_iter().flatten().filter(|file| file.path != *path) {
            // Fewer are no evidence of a move, in whatever rows they are.
            let letters = file.lines.intersection(keys).flatten().filter(|byte| is_letter_or_digit(**byte)).count();
            if letters >= TELLING_LETTERS {
                let before = repo.find_leaf(parent.tree_id, file.path.as_bstr())?;
                let now = repo.find_leaf(*tree_id, file.path.as_bstr())?;
                let spans = [all_lines()];
                left.extend(before.and_then(|leaf| Left::of(repo, (&file.path, &spans), leaf.id, now, budget)));
            }
        }
        Ok(left)
    }

    /// Makes the lines of a file base lines that the merge of the parents has only moved. `change` is what the merge does to the file.
    pub(crate) fn leave_out_moved(&mut self, change: &Change, ownership: &mut FileOwnership) -> Result<()> {
        let added: BTreeSet<u32> = ownership.spans.iter().flat_map(|span| span.start..=span.end).collect();
        let (Some(after), false) = (change.after, added.is_empty() || self.all.is_empty()) else { return Ok(()) };
        if let Some(after) = self.repo.text_of(Some(after))? {
            let moved = self.moved(change, &after, &added)?;
            give_to_base(&moved, ownership);
        }
        Ok(())
    }
}

fn number(line: usize) -> u32 {
    u32::try_from(line + 1).unwrap_or(u32::MAX)
}

/// Returns the name that the file of `change` has in the tree of a parent.
fn the_name_in(repo: &Repo, tree_id: ObjectId, change: &Change) -> Result<BString> {
    if let Some(old_path) = &change.old_path
        && repo.find_leaf(tree_id, change.path.as_bstr())?.is_none()
    {
        return Ok(old_path.clone());
    }
    Ok(change.path.clone())
}

fn all_lines() -> Span {
    Span { start: 1, end: u32::MAX, owner: Owner::Base }
}

/// Makes the lines `moved` base lines, if an author has them.
fn give_to_base(moved: &BTreeSet<u32>, ownership: &mut FileOwnership) {
    let lines = std::mem::take(&mut ownership.spans).into_iter();
    let lines = lines.flat_map(|span| (span.start..=span.end).map(move |line| (line, span.owner)));
    let owner = |line: u32, owner: Owner| match owner {
        Owner::Author(_) if moved.contains(&line) => Owner::Base,
        owner => owner,
    };
    ownership.spans = spans(lines.map(|(line, it)| (line as usize - 1, owner(line, it))));
}
