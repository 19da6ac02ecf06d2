//! Says why operations cannot be taken back.

use super::log::Log;
use crate::{
    error::{Error, Result},
    git::{Repo, read_operations::Recorded},
    model::{
        note,
        obstacle::Obstacle,
        refname::{self, Base, ShadowName},
    },
    ops::called::with_short_ids,
};

/// Returns an error that names all `obstacles`, if there are some; `what` is what cannot be done.
pub(crate) fn refuse(repo: &Repo, log: &Log, obstacles: &[Obstacle], what: &str) -> Result<()> {
    if obstacles.is_empty() { Ok(()) } else { Err(Error::refused(format!("{what}: {}", causes(repo, log, obstacles)))) }
}

/// Returns the `obstacles` in words.
pub(crate) fn causes(repo: &Repo, log: &Log, obstacles: &[Obstacle]) -> String {
    const MOST_NAMED: usize = 5;
    let mut causes: Vec<String> = Vec::new();
    for cause in obstacles.iter().map(|obstacle| cause(repo, log, obstacle)) {
        // Two refs may be in the way for one reason.
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    let more = causes.len().saturating_sub(MOST_NAMED);
    causes.truncate(MOST_NAMED);
    if more > 0 {
        causes.push(format!("and {more} more"));
    }
    causes.join("; ")
}

fn cause(repo: &Repo, log: &Log, obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Moved { name, now, by } if note::noted(name).is_some() => {
            let by = by.map_or_else(|| log.mover(name, *now), |by| log.entry(by).ok());
            let by = by.map_or_else(|| "by another worktree".to_owned(), |by| title(repo, by));
            format!("{} has changed since: {by}", called(repo, name))
        }
        Obstacle::Moved { name, now, by } => match by.map_or_else(|| log.mover(name, *now), |by| log.entry(by).ok()) {
            Some(by) => format!("{} has moved since: {}", called(repo, name), title(repo, by)),
            None => format!("{} has moved since, by another worktree or by git", called(repo, name)),
        },
        Obstacle::Missing { name, id } => {
            format!("{} pointed to '{}', which is missing or damaged", called(repo, name), repo.short_id(id))
        }
        Obstacle::Elsewhere { base } => format!("HEAD was at another commit then ({})", short_base(repo, *base)),
    }
}

/// Returns what people call the ref `name`.
fn called(repo: &Repo, name: &str) -> String {
    match note::noted(name) {
        Some((refname::REVIEWS, _)) => return "what was decided about a file".to_owned(),
        Some((_, id)) => return format!("the note of {}", repo.short_id(&id)),
        None => {}
    }
    match ShadowName::from_ref(name).map(|shadow| shadow.base) {
        Some(Base::Unborn) => "the shadow before the first commit".to_owned(),
        Some(base) => format!("the shadow of {}", short_base(repo, base)),
        None => format!("'{name}'"),
    }
}

/// Returns the id and the command line of an operation: `1a2b3c4 'git checkpoint reset'`.
pub(crate) fn title(repo: &Repo, entry: &Recorded) -> String {
    format!("{} '{}'", repo.short_id(&entry.id), with_short_ids(repo, &entry.operation.command))
}

/// Returns the same with the command line of what `entry` takes back, if it does.
pub(crate) fn title_of(repo: &Repo, log: &Log, entry: &Recorded) -> String {
    let (title, behind) = (title(repo, entry), behind(repo, log, entry));
    if behind == with_short_ids(repo, &entry.operation.command) { title } else { format!("{title} ({behind})") }
}

/// Returns the command line of what `entry` takes back in the end; its own if it takes nothing back.
pub(crate) fn behind(repo: &Repo, log: &Log, entry: &Recorded) -> String {
    with_short_ids(repo, log.command_behind(entry))
}

/// Returns the commit of `base`, abbreviated for people, or the word for none.
pub(crate) fn short_base(repo: &Repo, base: Base) -> String {
    base.commit_id().map_or_else(|| base.to_string(), |id| repo.short_id(&id))
}
