//! Shows on the terminal how far a long operation is.

use std::{
    io::{self, IsTerminal as _},
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::output;
use crate::git::{
    counter::{Counter, Phase},
    threads,
};

/// Work that is done by then is not worth a word.
const PATIENCE: Duration = Duration::from_millis(500);
/// A wait for another repository that is shorter needs no word.
const WHILE: Duration = Duration::from_secs(2);
/// How often the display is updated.
const PAUSE: Duration = Duration::from_millis(100);

/// Shows the current operation, and how far it is, until it is dropped.
pub(super) struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// Begins to show `what` with the counts of `counter`, unless `is_quiet`, or standard error is no terminal.
    pub(super) fn start(what: &'static str, counter: Arc<Counter>, is_quiet: bool) -> Self {
        if is_quiet || !io::stderr().is_terminal() {
            return Self(None);
        }
        let (done, is_done) = mpsc::channel();
        let start = Instant::now();
        let thread = threads::detach(move || {
            let (mut wait, mut is_shown, mut is_said) = (PATIENCE, false, false);
            while is_done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = PAUSE;
                if let Some(whom) = counter.other_side() {
                    // Git may ask for a name or a password there: neither that nor what the user types is erased.
                    if !is_said && start.elapsed() >= WHILE {
                        output::stderr(&format!("\n{}, waiting for '{whom}'...\n", capitalized(what)));
                        (is_said, is_shown) = (true, false);
                    }
                    continue;
                }
                // What was shown before may have been longer.
                output::stderr(&format!("\r{}\x1b[K", line(what, &counter, start.elapsed())));
                is_shown = true;
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

/// Returns the line that is shown while `what` is being done: counts like git's if files are counted, else the elapsed time.
fn line(what: &str, counter: &Counter, elapsed: Duration) -> String {
    let what = capitalized(what);
    match counter.read() {
        Some((phase, done, total)) => {
            let phase = match phase {
                Phase::Comparing => "comparing",
                Phase::Reading => "reading",
                Phase::Writing => "writing",
            };
            format!("{what}, {phase} files: {}% ({done}/{total})", done * 100 / total.max(1))
        }
        None => format!("{what}... {:.1} s", elapsed.as_secs_f32()),
    }
}

fn capitalized(what: &str) -> String {
    let (first, rest) = what.split_at(what.chars().next().map_or(0, char::len_utf8));
    first.to_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::no_files(None, "Saving... 1.5 s")]
    #[case::first(Some((Phase::Comparing, 0, 6000)), "Saving, comparing files: 0% (0/6000)")]
    #[case::some(Some((Phase::Reading, 2700, 6000)), "Saving, reading files: 45% (2700/6000)")]
    #[case::all_but_one(Some((Phase::Writing, 5999, 6000)), "Saving, writing files: 99% (5999/6000)")]
    #[case::all(Some((Phase::Writing, 6000, 6000)), "Saving, writing files: 100% (6000/6000)")]
    fn files_are_counted_as_by_git(#[case] counted: Option<(Phase, usize, usize)>, #[case] expected: &str) {
        let counter = Counter::default();
        if let Some((phase, done, total)) = counted {
            counter.begin(phase, total);
            counter.add(done);
        }
        assert_eq!(line("saving", &counter, Duration::from_millis(1500)), expected);
    }
}
