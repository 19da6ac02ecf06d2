//! What a session has done here that attribution does not know the author of: which lines it deleted, which files it renamed or deleted,
//! and their executable bits.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{
        Context,
        chain::{changes, shadows::latest_on},
        lookup,
        restored_target::restored,
    },
    hunks::{File, Item, What, digest, is_executable},
};
use crate::{
    error::Result,
    git::{Repo, line_edits::counted_edits},
    model::{
        change::{Change, Leaf, Mode},
        checkpoint::Checkpoint,
        line_diff::hunks,
        refname::Base,
        review::pieces,
    },
};

/// The steps of a session on the commit at HEAD in this worktree.
pub(super) struct Own<'c> {
    repo: &'c Repo,
    /// What each of its checkpoints has changed.
    steps: Vec<Change>,
}

impl<'c> Own<'c> {
    /// Reads what `session` has done since the commit `head`, or in one `turn` of it.
    ///
    /// # Errors
    /// If the checkpoints cannot be read, or there is no such turn.
    pub(super) fn read(context: &'c Context, session: &str, turn: Option<u32>, head: Option<ObjectId>) -> Result<Self> {
        let repo = &context.repo;
        if let Some(turn) = turn {
            lookup::resolve(context, &format!("{session}@{turn}"))?;
        }
        let mut own = Self { repo, steps: Vec::new() };
        let Some(last) = latest_on(repo, Base::of_head(head))? else { return Ok(own) };
        let is_its = |it: &Checkpoint| {
            let is_copy = it.origin.carried.is_some() || restored(&it.origin).is_some();
            let is_of_turn = turn.is_none_or(|turn| it.origin.turn == Some(turn));
            it.origin.session.as_deref() == Some(session) && is_of_turn && !is_copy
        };
        for checkpoint in repo.chain_in_time(last.id) {
            context.check_interrupt()?;
            let checkpoint = checkpoint?;
            if is_its(&checkpoint) {
                own.steps.extend(repo.detect_renames(changes(repo, &checkpoint)?)?);
            }
        }
        Ok(own)
    }

    /// Returns true if one of the steps has done what `item` of `file` does, of which no author is known.
    pub(super) fn has(&self, file: &File, item: &Item) -> Result<bool> {
        let change = &file.change;
        let is_name = |path: &BString| *path == change.path || change.old_path.as_ref() == Some(path);
        let mut steps = self.steps.iter().filter(|step| is_name(&step.path) || step.old_path.iter().any(is_name));
        Ok(match &item.what {
            // Lines that were moved have none.
            What::Lines(_) if item.lines.1 > 0 => false,
            What::Name => steps.any(|step| step.path == change.path && step.old_path == change.old_path),
            What::Mode => steps.any(|step| mode_change(step).is_some_and(|it| Some(it) == mode_change(change))),
            What::Content => steps.any(|step| step.path == change.path && step.after == change.after),
            What::Lines(_) if change.after.is_none() => {
                steps.any(|step| step.path == change.path && step.after.is_none())
            }
            What::Lines(_) => {
                for step in steps {
                    if self.has_removed(step, item)? {
                        return Ok(true);
                    }
                }
                false
            }
        })
    }

    /// Returns true if `step` has removed the lines that `item` removes, at the same place.
    fn has_removed(&self, step: &Change, item: &Item) -> Result<bool> {
        let is_text = |leaf: &Leaf| leaf.mode == Mode::File || leaf.mode == Mode::Executable;
        let (Some(before), Some(after)) = (step.before.filter(is_text), step.after.filter(is_text)) else {
            return Ok(false);
        };
        let (before, after) = (self.repo.read_blob(before.id)?, self.repo.read_blob(after.id)?);
        let edits = counted_edits(self.repo.diff_algorithm(), &before, &after);
        let found = hunks(&before, &after, &edits, 1);
        let mark = &item.mark;
        let mut all = found.iter().flat_map(|hunk| pieces(hunk, &|_| Some(())));
        Ok(all.any(|piece| {
            let [above, below] = [piece.before, piece.after].map(|line| line.map(|line| digest(&[line.as_bytes()])));
            digest(&[&piece.removed]) == mark.removed && (above == mark.before || below == mark.after)
        }))
    }
}

fn mode_change(change: &Change) -> Option<(bool, bool)> {
    let (before, after) = (is_executable(change.before?.mode), is_executable(change.after?.mode));
    (before != after).then_some((before, after))
}
