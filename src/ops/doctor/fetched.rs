//! Checks of the refs that follow the logs of remotes.

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
        let fetch = match refname::import_name(&remote) {
            Some(name) => format!("git checkpoint import --as {} <file>", shell_word(&printable(name.into()))),
            None => format!("git checkpoint fetch {}", shell_word(&printable(remote.as_str().into()))),
        };
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
