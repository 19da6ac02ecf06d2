//! Children that are waited for, and that a signal asks to end.

use std::{
    io,
    process::Child,
    sync::{Arc, OnceLock, atomic::Ordering},
    time::{Duration, Instant},
};

use super::interrupt::{Interrupt, Listening};
use crate::git::threads;

/// How long to wait at most until the next look at a child.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// A child that is waited for, and how it was asked to end.
///
/// After Ctrl-C, which the terminal sends to it, too, it has a moment to end by itself; another signal is passed on at once. If it
/// does not end, it is left alone at a signal that comes a moment later.
pub(super) struct Awaited {
    child: Child,
    began: Instant,
    /// When it ended, once it has.
    ended: Arc<OnceLock<Instant>>,
    ends_at: Option<Instant>,
    asked_at: Option<Instant>,
}

impl Awaited {
    /// Returns `child`, which has just been started.
    pub(super) fn new(child: Child) -> Self {
        let (began, ended) = (Instant::now(), Arc::<OnceLock<_>>::default());
        let (id, noted) = (child.id(), ended.clone());
        // Without it, the child has ended when that is seen.
        if let Err(error) = threads::detach(move || note_end(id, &noted)) {
            tracing::debug!(%error, "a duration may be too long");
        }
        Self { child, began, ended, ends_at: None, asked_at: None }
    }

    /// Waits until it has ended, and returns its exit status as a shell gives it, as [`Self::look`] does.
    pub(super) fn wait(&mut self, interrupt: &Interrupt, listening: &Listening) -> io::Result<i32> {
        let mut pause = Duration::from_millis(1);
        loop {
            let came = listening.came().swap(false, Ordering::Relaxed);
            if let Some(status) = self.look(interrupt, listening, came)? {
                return Ok(status);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Returns how long it ran, once it has ended.
    pub(super) fn milliseconds(&self) -> Option<u64> {
        let ended = self.ended.get().copied().unwrap_or_else(Instant::now);
        u64::try_from(ended.saturating_duration_since(self.began).as_millis()).ok()
    }

    /// Returns the exit status as a shell gives it once the child has ended, and asks it to end if need be. `came` is true if a signal
    /// came since the last look.
    ///
    /// # Errors
    /// If the child is to be left alone.
    pub(super) fn look(&mut self, interrupt: &Interrupt, listening: &Listening, came: bool) -> io::Result<Option<i32>> {
        use std::os::unix::process::ExitStatusExt as _;
        /// How long it has after Ctrl-C, and then after it was asked to end.
        const MOMENT: Duration = Duration::from_secs(2);
        if let Some(status) = self.child.try_wait()? {
            let status = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
            return Ok(Some(status.unwrap_or(128)));
        }
        if let Some(asked_at) = self.asked_at {
            // Git and the terminal may send one signal twice.
            if came && asked_at.elapsed() >= MOMENT {
                return Err(io::Error::other(format!("the process {} does not end", self.child.id())));
            }
        } else if interrupt.is_raised() {
            let ends_at = *self.ends_at.get_or_insert_with(|| Instant::now() + MOMENT);
            if listening.ends().load(Ordering::Relaxed) || Instant::now() >= ends_at {
                end(&self.child);
                self.asked_at = Some(Instant::now());
            }
        }
        Ok(None)
    }
}

/// Waits until the child `id` has ended, which is still to be waited for then, and notes when that was.
fn note_end(id: u32, ended: &OnceLock<Instant>) {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return };
    while let Err(error) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
        if error != rustix::io::Errno::INTR {
            break;
        }
    }
    let _ = ended.set(Instant::now());
}

/// Asks `child`, which has not been waited for, to end.
fn end(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may just have ended.
        let _ = kill_process(pid, Signal::TERM);
    }
}
