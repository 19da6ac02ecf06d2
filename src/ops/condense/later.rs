//! Work of other worktrees that is later than a commit, which cannot have taken it.
//!
//! The next command in a worktree may find a commit there long after it was made. Meanwhile, a session elsewhere may have written
//! the same lines, or copied them from the commit.

use gix::ObjectId;

use crate::{
    error::Result,
    git::Repo,
    model::{
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
        head_move::When,
    },
    ops::provenance::step::Step,
    state::sessions,
};

/// Whether work was there when a commit was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Before,
    Perhaps,
    After,
}

/// Returns whether work was there when a commit was `made`. It was `begun` at one of these times or later, and then `taken` into a
/// checkpoint. A time of `begun` that is later than `taken` comes from a wrong clock, and says nothing.
fn order(made: When, begun: [Option<i64>; 2], taken: i64) -> Order {
    if taken <= made.earliest {
        Order::Before
    } else if begun.into_iter().flatten().any(|begun| (made.latest.saturating_add(1)..=taken).contains(&begun)) {
        Order::After
    } else {
        Order::Perhaps
    }
}

/// Returns true if the shadow that ends with `tip` may have work that is later than a commit of the time `made`. Work of this
/// worktree is not: here, each command looks for new commits before it takes a checkpoint.
pub(super) fn has_later(repo: &Repo, tip: &Checkpoint, made: Option<When>) -> bool {
    made.is_some_and(|made| tip.seconds > made.earliest) && tip.worktree != *repo.worktree_id()
}

/// Leaves out of `steps`, those of the shadow that ends with `tip`, all that are later than a commit of the time `made`. Of those
/// that may be, the author is unknown.
pub(super) fn leave_out_later(
    repo: &Repo,
    tip: &Checkpoint,
    made: Option<When>,
    steps: Vec<Step>,
) -> Result<Vec<Step>> {
    let Some(made) = made.filter(|_| has_later(repo, tip, made)) else { return Ok(steps) };
    let mut kept = Vec::with_capacity(steps.len());
    for mut step in steps {
        if let Some((taken, before_id)) = step.taken.filter(|(taken, _)| *taken > made.earliest) {
            match order(made, begun(repo, &step.origin, before_id)?, taken) {
                Order::Before => {}
                Order::Perhaps => {
                    let unknown = Origin { contributor: Contributor::Unknown, ..Origin::default() };
                    (step.origin, step.moved) = (unknown, None);
                }
                Order::After => continue,
            }
        }
        kept.push(step);
    }
    Ok(kept)
}

/// Returns the times that are known to be before the work of a checkpoint of `origin`, which follows `before_id`: those of the
/// checkpoint before it, and of the prompt of its turn. The date of another commit proves nothing: `GIT_COMMITTER_DATE` sets it.
fn begun(repo: &Repo, origin: &Origin, before_id: ObjectId) -> Result<[Option<i64>; 2]> {
    let before = repo.checkpoint(before_id)?.map(|checkpoint| checkpoint.seconds);
    let Some(session) = &origin.session else { return Ok([before, None]) };
    let prompts = sessions::prompts(repo.common_dir(), session)?;
    let prompt = prompts.iter().rev().find(|prompt| Some(prompt.turn) == origin.turn);
    Ok([before, prompt.map(|prompt| prompt.seconds)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::long_before(1, 2, Order::Before)]
    #[case::in_the_same_second(9, 10, Order::Before)]
    #[case::while_the_commit_was_made(9, 11, Order::Perhaps)]
    #[case::begun_in_the_same_second(10, 11, Order::Perhaps)]
    #[case::begun_later(11, 11, Order::After)]
    #[case::begun_in_the_future(12, 11, Order::Perhaps)]
    fn a_commit_takes_what_was_there(#[case] begun: i64, #[case] taken: i64, #[case] expected: Order) {
        assert_eq!(order(When { earliest: 10, latest: 10 }, [Some(begun), None], taken), expected);
        assert_eq!(order(When { earliest: 10, latest: 10 }, [None, Some(begun)], taken), expected);
    }

    #[rstest::rstest]
    #[case::before_both(10, Order::Before)]
    #[case::between_them(15, Order::Perhaps)]
    #[case::after_both(30, Order::Perhaps)]
    fn a_commit_may_have_been_made_at_any_time_between(#[case] taken: i64, #[case] expected: Order) {
        assert_eq!(order(When { earliest: 10, latest: 20 }, [Some(9), None], taken), expected);
    }
}
