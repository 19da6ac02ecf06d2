//! A sign of life on the terminal while work takes long.

use std::{
    io::{self, IsTerminal as _},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::output;
use crate::git::threads;

/// Work that is done by then is not worth a word.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often the elapsed time is updated.
const PAUSE: Duration = Duration::from_millis(100);

/// Shows the current operation and its elapsed time until it is dropped.
pub(super) struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// Begins to show `what`, unless `is_quiet`, or standard error is no terminal.
    pub(super) fn start(what: &'static str, is_quiet: bool) -> Self {
        if is_quiet || !io::stderr().is_terminal() {
            return Self(None);
        }
        let (done, is_done) = mpsc::channel();
        let start = Instant::now();
        let thread = threads::detach(move || {
            let mut wait = PATIENCE;
            let mut is_shown = false;
            while is_done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                output::stderr(&format!("\r{what}... {:.1} s", start.elapsed().as_secs_f32()));
                (wait, is_shown) = (PAUSE, true);
            }
            if is_shown {
                // To the line's begin, and clear it.
                output::stderr("\r\x1b[K");
            }
        });
        Self(thread.ok().map(|thread| (done, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.0.take() {
            drop(done);
            // A thread that failed to print has nothing to add.
            drop(thread.join());
        }
    }
}
