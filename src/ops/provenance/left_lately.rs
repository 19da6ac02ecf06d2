//! The commits that HEAD has left lately.

use gix::ObjectId;

use super::earlier::MOST_MOVES;
use crate::{error::Result, git::Repo, model::head_move::MoveKind};

/// Returns true if a move of this kind is a reset.
pub(super) fn is_reset(kind: Option<MoveKind>) -> bool {
    kind == Some(MoveKind::Reset)
}

/// They, and how.
pub(super) struct LeftLately {
    moves: Vec<(ObjectId, Option<MoveKind>)>,
    /// `ORIG_HEAD`, unless it is from an old operation.
    orig_head: Option<ObjectId>,
}

impl LeftLately {
    /// Reads them from the reflog.
    pub(super) fn read(repo: &Repo) -> Result<Self> {
        let moves = repo.left_lately(MOST_MOVES);
        let is_recent = |id: &ObjectId| moves.is_empty() || moves.iter().any(|(left, _)| left == id);
        let orig_head = repo.find_ref("ORIG_HEAD")?.filter(is_recent);
        Ok(Self { moves, orig_head })
    }

    /// Returns those that moves of the kinds that `counts` accepts have left, and `ORIG_HEAD`.
    pub(super) fn starts(&self, counts: fn(Option<MoveKind>) -> bool) -> Vec<ObjectId> {
        let counted = self.moves.iter().filter(|(_, kind)| counts(*kind));
        counted.map(|(id, _)| *id).chain(self.orig_head).collect()
    }
}
