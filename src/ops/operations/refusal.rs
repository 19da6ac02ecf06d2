//! Says why operations cannot be taken back.

use super::log::Log;
use crate::{
    error::{Error, Result},
    git::read_operations::Recorded,
    model::operation_stack::Obstacle,
};

/// Returns an error that names all `obstacles`, if there are some; `what` is what cannot be done. If that is to take `entry` back,
/// the hint says how to go back to before it.
pub(crate) fn refuse(log: &Log, obstacles: &[Obstacle], what: &str, entry: Option<&Recorded>) -> Result<()> {
    const MOST_NAMED: usize = 5;
    if obstacles.is_empty() {
        return Ok(());
    }
    let mut causes: Vec<String> = obstacles.iter().take(MOST_NAMED).map(|obstacle| cause(log, obstacle)).collect();
    let more = obstacles.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        causes.push(format!("and {more} more"));
    }
    Err(Error::refused(format!("{what}: {}", causes.join("\n"))).with_hint(way(log, obstacles, entry)))
}

/// Returns what can be done instead. A later operation that only saved cannot be taken back first.
fn way(log: &Log, obstacles: &[Obstacle], entry: Option<&Recorded>) -> String {
    if obstacles.iter().any(|obstacle| matches!(obstacle, Obstacle::Elsewhere { .. })) {
        return "'git checkpoint restore --all <checkpoint>' puts the files of then back, and leaves all refs"
            .to_owned();
    }
    let stays = |obstacle: &Obstacle| match obstacle {
        Obstacle::Moved { name, now } => log.mover(name, *now).is_some_and(|by| !log.stack.undo.contains(&by.id)),
        Obstacle::Missing { .. } | Obstacle::Elsewhere { .. } => false,
    };
    let earlier = entry.and_then(|entry| log.before(entry.id).next());
    if let Some(earlier) = earlier.filter(|_| obstacles.iter().any(stays)) {
        let id = earlier.id.to_hex_with_len(8);
        return format!("'git checkpoint op restore {id}' brings files and refs back to what they were before it");
    }
    "'git checkpoint op log' shows the operations; 'git checkpoint op undo <op>' takes a later one back first"
        .to_owned()
}

fn cause(log: &Log, obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Moved { name, now } => match log.mover(name, *now) {
            Some(by) => {
                let id = by.id.to_hex_with_len(8);
                format!("'{name}' has moved since: {id} '{}'", by.operation.command)
            }
            None => format!("'{name}' has moved since, by another worktree or by git"),
        },
        Obstacle::Missing { name, id } => format!("'{name}' pointed to '{id}', which is missing or damaged"),
        Obstacle::Elsewhere { base } => format!("HEAD was at another commit then ({base})"),
    }
}
