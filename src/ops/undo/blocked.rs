//! What is in the way of taking an operation back, as far as the log, the refs and the sessions say it.

use gix::ObjectId;

use crate::{
    error::Result,
    git::read_operations::Recorded,
    model::{obstacle::Obstacle, refname, way_back::Hindrance},
    ops::{
        Context,
        operations::{Log, back_over, causes},
    },
    state::sessions,
};

/// What is in the way of one operation.
pub(super) struct Blocked {
    /// The latest last; nothing if the operation can be taken back.
    pub(super) hindrances: Vec<Hindrance>,
    /// The same in words.
    pub(super) causes: String,
}

/// Returns what is in the way of taking `entry` back.
///
/// A restore is always taken back as far as its paths allow. What moves other refs than live shadows is taken back as a whole.
pub(super) fn blocked(context: &Context, log: &Log, entry: &Recorded) -> Result<Blocked> {
    let last = |causes: String| Blocked { hindrances: vec![Hindrance::Final], causes };
    let free = Blocked { hindrances: Vec::new(), causes: String::new() };
    if entry.operation.not_undone.is_some() {
        return Ok(last("it cannot be undone".to_owned()));
    }
    if let Some(file) = context.repo.session_file_of(entry)? {
        let is_same = sessions::bytes(context.repo.common_dir(), &file.id)? == file.after;
        return Ok(if is_same { free } else { last(format!("the session '{}' went on since", file.id)) });
    }
    if entry.operation.has_files && !log.is_of_more(entry) {
        return Ok(free);
    }
    let latest = log.entries.first().map(|entry| entry.id);
    let back = back_over(context, log, (entry, latest), entry.operation.has_files, &|_, _| true)?;
    let mut aged: Vec<(usize, Hindrance)> = back.obstacles.iter().map(|obstacle| hindrance(log, obstacle)).collect();
    aged.sort_by_key(|(age, _)| std::cmp::Reverse(*age));
    let hindrances = aged.into_iter().map(|(_, hindrance)| hindrance).collect();
    Ok(Blocked { hindrances, causes: causes(&context.repo, log, &back.obstacles) })
}

/// Returns what `obstacle` is, and how many operations are later than the one that it is about.
fn hindrance(log: &Log, obstacle: &Obstacle) -> (usize, Hindrance) {
    let Obstacle::Moved { by: Some(by), .. } = obstacle else { return (usize::MAX, Hindrance::Final) };
    match log.entries.iter().enumerate().find(|(_, entry)| entry.id == *by) {
        Some((age, entry)) if entry.operation.is_undoable() => (age, Hindrance::Later(*by)),
        Some((age, _)) => (age, Hindrance::Saved),
        None => (usize::MAX, Hindrance::Final),
    }
}

/// Returns the end of the chain that `entry` has set aside, if it is a reset that set one aside.
pub(super) fn set_aside(entry: &Recorded) -> Option<ObjectId> {
    let moves = entry.operation.moves.iter().filter(|_| entry.operation.kind == "reset");
    let mut ends = moves.filter(|moved| moved.name.starts_with(refname::ARCHIVE) && moved.old.is_none());
    let (first, second) = (ends.next(), ends.next());
    first.filter(|_| second.is_none()).and_then(|moved| moved.new)
}
