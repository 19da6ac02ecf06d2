//! Follows commits that git has rewritten.

use gix::ObjectId;

use super::Context;
use crate::error::Result;

/// Follows the commits `pairs` (old and new) that `how` (`amend` or `rebase`) has rewritten: git's post-rewrite.
pub fn rewritten(_context: &Context, _how: &str, _pairs: &[(ObjectId, ObjectId)]) -> Result<()> {
    Ok(())
}
