//! Checks of git's locks: those that we left when we were killed, and those that others hold for long or have left.

use std::{path::Path, time::SystemTime};

use super::{checks::STALE, problem::Problem};
use crate::{
    git::{Repo, found_lock::FoundLock, lock_files::USUAL},
    model::moment,
    state::lock_note::Owner,
};

/// Returns what is wrong with locks; `fix` removes those that are ours, whose owners were killed, and no others.
pub(super) fn locks(repo: &Repo, fix: bool) -> Vec<Problem> {
    let found = repo.locks();
    if fix {
        repo.remove_dead_locks();
        repo.remove_free_locks();
    }
    let still = if fix { repo.locks() } else { Vec::new() };
    let is_left = |path: &Path| still.iter().any(|lock| is_dead(lock) && lock.path == *path);
    let problem = |lock: FoundLock| {
        let mut problem = problem(&lock)?;
        problem.fixed = fix && is_dead(&lock) && !is_left(&lock.path);
        Some(problem)
    };
    found.into_iter().filter_map(problem).collect()
}

fn is_dead(lock: &FoundLock) -> bool {
    lock.owner == Some(Owner::Dead)
}

fn problem(lock: &FoundLock) -> Option<Problem> {
    let path = lock.path.display().to_string();
    let age = SystemTime::now().duration_since(lock.time).unwrap_or_default();
    let made = lock.time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let since = format!("since {}", moment::iso(i64::try_from(made).unwrap_or_default(), 0));
    let stale = |message: String, hint: String| {
        let problem = Problem::new("lock-stale", &path, message).hint(hint);
        // An editor may be open in `git commit`.
        (age >= USUAL).then(|| if age < STALE { problem.note() } else { problem })
    };
    match &lock.owner {
        Some(Owner::Alive) => None,
        Some(Owner::Dead) => {
            let message = format!("a git-checkpoint that was killed has left this lock, {since}");
            let hint = if lock.is_own {
                "'git checkpoint doctor --fix' removes it"
            } else {
                "'git checkpoint doctor --fix' removes it, and so does the next command that takes a lock"
            };
            Some(Problem::new("lock-left", path, message).hint(hint))
        }
        Some(Owner::Elsewhere(host)) => stale(
            format!("a git-checkpoint on the host '{host}' holds this lock {since}, or has left it"),
            "if no git-checkpoint is at work there in this repository, remove the file".to_owned(),
        ),
        None => stale(
            format!("a git process holds this lock {since}, or has crashed and left it"),
            "if no git process is running here, such as an editor opened by 'git commit', remove the file".into(),
        ),
    }
}
