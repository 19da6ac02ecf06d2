//! Checks of what was fetched from remotes: their logs, and the checkpoints that others have shared.

use super::problem::Problem;
use crate::{
    error::Result,
    git::Repo,
    model::{
        path_text::{printable, shell_word},
        refname,
    },
    ops::remotes,
};

/// Logs that were fetched from remotes and are damaged; `fix` sets them aside, so that the next fetch gets them anew.
pub(super) fn logs(repo: &Repo, fix: bool) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for (name, id) in repo.sound_and_broken_refs(refname::FETCHED)? {
        let Some((remote, _)) = refname::fetched_log(&name) else { continue };
        let damaged = match id {
            Some(id) => remotes::is_damaged(repo, id),
            None => Ok(true),
        };
        let is_damaged = match damaged {
            Ok(is_damaged) => is_damaged,
            Err(error) => {
                problems.push(Problem::unlooked("fetched-log-broken", &name, &error));
                continue;
            }
        };
        if !is_damaged {
            continue;
        }
        let fixed = fix && remotes::set_aside(repo, &name, id)?;
        let fetch = way(&remote, "");
        let message = if fixed {
            format!("what was fetched could not all be read, and was set aside: '{fetch}' gets it anew")
        } else {
            "what was fetched cannot all be read".to_owned()
        };
        let hint = format!("'git checkpoint doctor --fix' and '{fetch}' get it anew");
        problems.push(Problem { fixed, ..Problem::new("fetched-log-broken", name, message).hint(hint) });
    }
    Ok(problems)
}

/// Returns the command that gets anew what was fetched from `remote`, or imported; `options` are those of a fetch.
fn way(remote: &str, options: &str) -> String {
    match refname::import_name(remote) {
        Some(name) => format!("git checkpoint import --as {} <file>", shell_word(&printable(name.into()))),
        None => format!("git checkpoint fetch{options} {}", shell_word(&printable(remote.into()))),
    }
}

/// Checkpoints that were shared and are damaged, as they were fetched, or in this repository itself if others share them here; `fix`
/// sets their refs aside, at which git would stop.
pub(super) fn checkpoints(repo: &Repo, fix: bool) -> Result<Vec<Problem>> {
    const CODE: &str = "shared-checkpoint-broken";
    let mut problems = Vec::new();
    let refs = [repo.sound_and_broken_refs(refname::FETCHED)?, repo.sound_and_broken_refs(refname::SHARED)?].concat();
    for (name, id) in refs {
        let remote = match refname::fetched_carrier(&name) {
            Some(remote) => Some(remote),
            None if refname::shared_id(&name).is_some() => None,
            None => continue,
        };
        let is_damaged = match id.map_or(Ok(true), |id| remotes::is_checkpoint_damaged(repo, id)) {
            Ok(is_damaged) => is_damaged,
            Err(error) => {
                problems.push(Problem::unlooked(CODE, &name, &error));
                continue;
            }
        };
        if !is_damaged {
            continue;
        }
        let fixed = fix && remotes::set_aside(repo, &name, id)?;
        let again = match remote {
            Some(remote) => format!("'{}' gets it anew", way(&remote, " --checkpoints")),
            None => "the one who has shared it can push it again".to_owned(),
        };
        let message = if fixed {
            format!("the shared checkpoint could not all be read, and was set aside: {again}")
        } else {
            "the shared checkpoint cannot all be read".to_owned()
        };
        let hint = format!("git stops at such a ref; 'git checkpoint doctor --fix' sets it aside, then {again}");
        problems.push(Problem { fixed, ..Problem::new(CODE, name, message).hint(hint) });
    }
    Ok(problems)
}
