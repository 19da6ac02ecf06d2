//! Counts the files that the current operation has done, so that a terminal can show how far it is, and notes with which other
//! repository it exchanges something.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

/// What is done to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Compared with what is known of them.
    Comparing,
    /// Read and stored.
    Reading,
    /// Written or deleted.
    Writing,
}

/// Counts the files of one phase after the other; threads share it.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    phase: Mutex<Option<(Phase, usize)>>,
    done: AtomicUsize,
    /// With whom it exchanges something, fit for people; empty: with none.
    other_side: Mutex<String>,
}

impl Counter {
    /// Begins `phase`, which is about `total` files.
    pub(crate) fn begin(&self, phase: Phase, total: usize) {
        if let Ok(mut current) = self.phase.lock() {
            self.done.store(0, Ordering::Relaxed);
            *current = (total > 0).then_some((phase, total));
        }
    }

    /// Notes that `count` more files are done.
    pub(crate) fn add(&self, count: usize) {
        self.done.fetch_add(count, Ordering::Relaxed);
    }

    /// Notes that it exchanges something with `name` from now on, which is fit for people.
    pub(crate) fn talk_to(&self, name: &str) {
        if let Ok(mut other_side) = self.other_side.lock() {
            name.clone_into(&mut other_side);
        }
    }

    /// Returns with whom it has begun to exchange something, fit for people.
    pub(crate) fn other_side(&self) -> Option<String> {
        let name = self.other_side.lock().ok()?;
        Some(name.clone()).filter(|name| !name.is_empty())
    }

    /// Returns the phase, how many files are done, and of how many; none if no files are being counted.
    pub(crate) fn read(&self) -> Option<(Phase, usize, usize)> {
        let current = self.phase.lock().ok()?;
        let (phase, total) = (*current)?;
        Some((phase, self.done.load(Ordering::Relaxed).min(total), total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_counts_anew_and_never_too_much() {
        let counter = Counter::default();
        assert_eq!(counter.read(), None);
        counter.begin(Phase::Comparing, 3);
        counter.add(2);
        assert_eq!(counter.read(), Some((Phase::Comparing, 2, 3)));
        counter.add(2);
        assert_eq!(counter.read(), Some((Phase::Comparing, 3, 3)));
        counter.begin(Phase::Writing, 1);
        assert_eq!(counter.read(), Some((Phase::Writing, 0, 1)));
        counter.begin(Phase::Writing, 0);
        assert_eq!(counter.read(), None);
    }
}
