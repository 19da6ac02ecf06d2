//! Commits that git told nobody of, seen at the next event of an agent.

use super::super::{Context, condense};
use crate::{error::Result, state::lock::Lock};

/// Makes the records of commits that no hook of git told of.
pub(super) fn look_for_unseen(context: &Context, lock: &Lock) -> Result<()> {
    let looked = condense::commits_unseen(context, lock);
    if looked.is_err() {
        context.check_interrupt()?;
    }
    // The work stays where it is, and the event is handled all the same.
    context.tell_failure("condense", looked).or(Ok(()))
}
