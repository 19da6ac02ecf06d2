//! What a person decides about changed lines, and what of that still holds for the lines as they are now.
//!
//! A decision belongs to a [`Piece`] of a file, known by its content and its neighbours: not by the number of a line, nor by a commit.
//! So it holds after an amend, a rebase or a partial commit, as long as the piece itself is the same.

mod holding;
mod mark;
mod piece;
mod stored;
mod verdict;
mod waiting;

pub(crate) use self::{
    holding::{alike, holding, number},
    mark::Mark,
    piece::{Piece, Span, pieces, reverted, split},
    stored::{Decision, Part, added_to, read},
    verdict::{State, Verdict},
    waiting::{Changed, Line, Stage, Waiting, Waits, words, words_of_restores},
};
