//! Finds the files that make agents call us: a restore must not end that without a word.

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice as _};

use crate::{
    error::Result,
    git::{Repo, worktrees::inside},
    model::step::{Content, Step},
    state,
};

/// The part of the command line that each file with commands of ours has.
const CALL: &str = "hook --agent ";

/// The name that all our files have somewhere.
const NAME: &str = "git-checkpoint";

/// Returns the paths at which `steps` would change a file so that an agent does not call us any more, each with the agent.
///
/// These are files that `enable` has noted, and that still are as it left them in this respect: if the file of the checkpoint
/// calls us, too, it may be restored. A file that no checkpoint has is never overwritten. `has_file` says whether there is one.
pub(super) fn in_the_way(
    repo: &Repo,
    steps: &[Step],
    has_file: impl Fn(&BStr) -> bool,
) -> Result<BTreeMap<BString, String>> {
    let mut found = BTreeMap::new();
    for entry in state::installed::read(repo.common_dir())? {
        // The file may be a link to another one in the worktree: a restore may change either.
        let real = std::fs::canonicalize(&entry.path).ok();
        for path in [Some(&entry.path), real.as_ref()].into_iter().flatten() {
            let Some(path) = inside(repo.worktree_root(), path) else { continue };
            let step = steps.iter().find(|step| step.path == path).filter(|_| has_file(path.as_bstr()));
            let Some(step) = step else { continue };
            let call = format!("{CALL}{}", entry.agent);
            let now = std::fs::read(&entry.path).unwrap_or_default();
            if (now.contains_str(&call) || now.contains_str(NAME)) && !calls_then(repo, step, &call)? {
                found.insert(path, entry.agent.clone());
            }
        }
    }
    Ok(found)
}

/// Returns true if `step` changes a file of a checkpoint into one that has `call`.
fn calls_then(repo: &Repo, step: &Step, call: &str) -> Result<bool> {
    match (step.before, step.after) {
        (Some(_), Some(Content { leaf, raw })) => {
            repo.read_blob(raw.unwrap_or(leaf.id)).map(|text| text.contains_str(call))
        }
        _ => Ok(false),
    }
}
