//! Whether a path exists.

use std::path::Path;

/// Returns false only if `path` certainly does not exist.
pub(super) fn may_exist(path: &Path) -> bool {
    !matches!(path.try_exists(), Ok(false))
}
