//! Helper threads. If the system refuses to start one (too many processes, no memory), the others do the work.

use std::{
    sync::Mutex,
    thread::{Builder, JoinHandle, Scope, ScopedJoinHandle},
};

use crate::error::{Error, Result};

/// Starts `work` on another thread that ends before `scope` does; none if the system has no thread left.
pub(crate) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    let started = Builder::new().spawn_scoped(scope, work);
    started.map_err(|cause| tracing::debug!(%cause, "cannot start a thread")).ok()
}

/// Starts `work` on another thread, which ends with the process at the latest.
pub(crate) fn detach<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> std::io::Result<JoinHandle<T>> {
    Builder::new().spawn(work)
}

/// Runs `work` in this thread and in up to `others` more, and returns all results.
///
/// `work` takes its share from a queue, so the result does not depend on the number of threads.
pub(super) fn share<T: Send>(others: usize, work: impl Fn() -> T + Sync) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (0..others).map_while(|_| start(scope, &work)).collect();
        let own = work();
        std::iter::once(Ok(own)).chain(helpers.into_iter().map(end)).collect()
    })
}

/// Applies `work` to each of `parts` on all available threads, and returns the results in order.
pub(super) fn each<P: Send, T: Send>(parts: Vec<P>, work: impl Fn(P) -> T + Sync) -> Result<Vec<T>> {
    let others = parts.len().saturating_sub(1);
    let queue = Mutex::new(parts.into_iter().enumerate());
    // The lock is held only while a part is taken.
    let next = || queue.lock().ok()?.next();
    let done = share(others, || std::iter::from_fn(next).map(|(at, part)| (at, work(part))).collect::<Vec<_>>())?;
    let mut results = done.into_iter().flatten().collect::<Vec<_>>();
    results.sort_unstable_by_key(|(at, _)| *at);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Waits for a thread, and returns what it returned.
pub(super) fn end<T>(thread: ScopedJoinHandle<'_, T>) -> Result<T> {
    thread.join().map_err(|_| Error::internal("a thread has panicked"))
}

/// Returns how many threads, of at most `most`, work at the same time on this machine.
pub(super) fn useful(most: usize) -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(most)
}
