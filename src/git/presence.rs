//! Whether something is at a path.

use std::path::Path;

/// Returns false only if nothing is at `path`: where that cannot be found out, something may be.
pub(super) fn may_exist(path: &Path) -> bool {
    !matches!(path.try_exists(), Ok(false))
}
