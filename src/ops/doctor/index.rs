//! Whether git's index can be read: without it, no save knows what is staged.

use super::problem::Problem;
use crate::git::Repo;

/// Returns the index of this worktree if it cannot be read.
pub(super) fn index(repo: &Repo) -> Option<Problem> {
    let error = repo.user_index().err()?;
    let path = repo.user_index_path().display().to_string();
    let cause = error.causes().last().map(|cause| format!(": {cause}")).unwrap_or_default();
    let hint = "see whether it may be read; if it is damaged, move it away: 'git reset' then makes one from HEAD, and leaves the \
                files alone";
    Some(
        Problem::new("index-unreadable", path, format!("no checkpoint is taken, as it cannot be read{cause}"))
            .hint(hint),
    )
}
