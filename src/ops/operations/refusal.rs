//! Says why operations cannot be taken back.

use super::log::Log;
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{operation_stack::Obstacle, refname::Base},
};

/// Returns an error that names all `obstacles`, if there are some; `what` is what cannot be done.
pub(crate) fn refuse(repo: &Repo, log: &Log, obstacles: &[Obstacle], what: &str) -> Result<()> {
    const MOST_NAMED: usize = 5;
    if obstacles.is_empty() {
        return Ok(());
    }
    let mut causes: Vec<String> =
        obstacles.iter().take(MOST_NAMED).map(|obstacle| cause(repo, log, obstacle)).collect();
    let more = obstacles.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        causes.push(format!("and {more} more"));
    }
    let is_elsewhere = |obstacle: &Obstacle| matches!(obstacle, Obstacle::Elsewhere { .. });
    Err(Error::refused(format!("{what}: {}", causes.join("\n"))).with_hint(if obstacles.iter().any(is_elsewhere) {
        "'git checkpoint restore --all <checkpoint>' puts the files of then back, and leaves all refs"
    } else {
        "'git checkpoint op log' shows the operations; 'git checkpoint op undo <op>' takes a later one back first"
    }))
}

fn cause(repo: &Repo, log: &Log, obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Moved { name, now } => match log.mover(name, *now) {
            Some(by) => {
                let id = repo.short_id(&by.id);
                format!("'{name}' has moved since: {id} '{}'", by.operation.command)
            }
            None => format!("'{name}' has moved since, by another worktree or by git"),
        },
        Obstacle::Missing { name, id } => format!("'{name}' pointed to '{id}', which is missing or damaged"),
        Obstacle::Elsewhere { base } => format!("HEAD was at another commit then ({})", short_base(repo, *base)),
    }
}

/// Returns the commit of `base`, abbreviated for people, or the word for none.
pub(crate) fn short_base(repo: &Repo, base: Base) -> String {
    base.commit_id().map_or_else(|| base.to_string(), |id| repo.short_id(&id))
}
