//! Checks of the refs that follow the logs of remotes.

use super::problem::Problem;
use crate::{
    error::Result,
    git::Repo,
    model::{path_text::printable, refname},
    ops::remotes,
};

/// Logs that were fetched from remotes and cannot be read.
pub(super) fn logs(repo: &Repo) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for (name, id) in repo.sound_and_broken_refs(refname::FETCHED)? {
        let Some((remote, _)) = refname::fetched_log(&name) else { continue };
        if id.is_none_or(|id| remotes::is_unreadable(repo, id)) {
            let remote = printable(remote.as_str().into());
            let hint = format!("'git checkpoint fetch' sets it aside, and gets from '{remote}' what that has");
            problems.push(Problem::new("fetched-log-broken", name, "what was fetched cannot be read").hint(hint));
        }
    }
    Ok(problems)
}
