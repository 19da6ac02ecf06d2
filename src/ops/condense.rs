//! Turns the part of shadows that a commit took into a record.

use super::Context;
use crate::{error::Result, model::session::Session};

/// Completes the record of a commit that `session` made in the middle of its turn.
pub(crate) fn complete(_context: &Context, _session: &mut Session) -> Result<()> {
    Ok(())
}
