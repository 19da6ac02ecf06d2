//! Says why operations cannot be taken back.

use gix::ObjectId;

use super::log::Log;
use crate::{
    error::{Error, Result},
    git::{Repo, read_operations::Recorded},
    model::{
        obstacle::Obstacle,
        refname::{self, Base},
    },
};

/// Returns an error that names all `obstacles`, if there are some; `what` is what cannot be done, maybe to the operation `of`.
pub(crate) fn refuse(repo: &Repo, log: &Log, obstacles: &[Obstacle], what: &str, of: Option<&Recorded>) -> Result<()> {
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
        "'git checkpoint restore --all <checkpoint>' puts the files of then back, and leaves all refs".to_owned()
    } else {
        hint(repo, log, obstacles, of)
    }))
}

/// Returns what to type to go back all the same.
fn hint(repo: &Repo, log: &Log, obstacles: &[Obstacle], of: Option<&Recorded>) -> String {
    let movers: Vec<Option<ObjectId>> = obstacles
        .iter()
        .map(|obstacle| match obstacle {
            Obstacle::Moved { by, .. } => *by,
            _ => None,
        })
        .collect();
    let is_in_log = movers.iter().all(Option::is_some);
    // The last one first: an earlier one may stand on it.
    let is_one = |id: &&ObjectId| movers.contains(&Some(**id));
    if let Some(id) = log.stack.undo.iter().rev().find(is_one) {
        return format!("'git checkpoint op undo {}' takes that one back first", repo.short_id(id));
    }
    if let Some(id) = of.filter(|_| is_in_log).and_then(set_aside) {
        return format!(
            "'git checkpoint reset' sets the checkpoints since aside, and then 'git checkpoint reset --restore-archived {}' \
             brings those from before back",
            repo.short_id(&id)
        );
    }
    match of.filter(|_| is_in_log).and_then(|of| log.entry_before(of.id)) {
        Some(before) => format!(
            "'git checkpoint op restore {}' brings files and refs back to before it; what was saved since goes to the archive",
            repo.short_id(&before.id)
        ),
        None => "'git checkpoint op log' shows the operations, 'git checkpoint restore <checkpoint>' puts files back"
            .to_owned(),
    }
}

/// Returns the last checkpoint that the reset `of` has set aside.
fn set_aside(of: &Recorded) -> Option<ObjectId> {
    let moves = of.operation.moves.iter().filter(|_| of.operation.kind == "reset");
    moves.filter(|moved| moved.name.starts_with(refname::ARCHIVE) && moved.old.is_none()).find_map(|moved| moved.new)
}

fn cause(repo: &Repo, log: &Log, obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Moved { name, now, by } => match by.map_or_else(|| log.mover(name, *now), |by| log.entry(by).ok()) {
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
