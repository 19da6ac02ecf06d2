//! Temporary files in the worktree, left by a restore that was killed and of which nothing is noted any more.

use bstr::{BStr, ByteSlice as _};

use super::Problem;
use crate::{
    error::Result,
    git::{
        checkout::{Checkout, Stop},
        checkout_names::is_temporary_name_of,
    },
    model::path_text,
    ops::{Context, Worktree, enter::Purpose},
    state::{
        journal::{Journal, Progress},
        temporary,
    },
};

/// Returns the temporary files that no restore will look for. `fix` gives them names that saves see: another program may
/// have written what is in them, and nothing is known of what is nowhere else.
pub(super) fn strays(context: &Context, fix: bool) -> Result<Vec<Problem>> {
    let repo = &context.repo;
    // A restore that is at work has such files for a moment.
    let _worktree = if fix { Some(Worktree::enter(context, Purpose::Repair)?) } else { None };
    let found = repo.temporary_files()?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    // `journals` reports one that makes no sense.
    let Ok(journal) = Journal::read(repo.git_dir()) else { return Ok(Vec::new()) };
    let under_way = journal.filter(|journal| journal.progress == Progress::Applying).map(|journal| journal.nonce);
    let is_known = |path: &BStr| {
        let name = path.rsplit_once_str("/").map_or(path.as_bytes(), |(_, name)| name);
        under_way.as_ref().is_some_and(|nonce| is_temporary_name_of(nonce, name))
    };
    let mut checkout = Checkout::open(repo.worktree_root(), temporary::nonce())?;
    let mut problems = Vec::new();
    for path in found.iter().map(|path| path.as_bstr()).filter(|path| !is_known(path)) {
        // Meanwhile it may have gone with its restore.
        if !matches!(checkout.stat(path), Ok(Some(_))) {
            continue;
        }
        let message = "a restore that was killed has left this file, which no checkpoint holds";
        let mut problem = Problem::new("restore-left", path_text::escape(path), message).hint(
            "'git checkpoint doctor --fix' gives it a name that the next checkpoint takes: look at it, and delete it",
        );
        if fix {
            match checkout.keep_unknown(path) {
                Ok(Some(kept)) => {
                    problem.fixed = true;
                    problem.message = format!("{message}; it is '{}' now", path_text::escape(kept.as_bstr()));
                }
                Ok(None) => continue,
                Err(Stop::Left(why)) => problem.message = format!("{message}; it cannot be renamed: {why}"),
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
        problems.push(problem);
    }
    Ok(problems)
}
