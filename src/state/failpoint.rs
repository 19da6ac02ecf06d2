//! Where crash tests stop the process, and others count its opens of our files; nothing at all without the feature
//! `failpoints`.

use std::path::Path;

/// Aborts the process if `CHECKPOINT_FAILPOINT` is `name`, or `name:n` and this is the n-th time; with `stop@` before
/// the name, halts it until it gets SIGCONT. `stop@rename:*` halts it at each name that begins with `rename:`.
#[cfg(feature = "failpoints")]
#[expect(clippy::disallowed_methods, reason = "a crash test has no other way to reach its victim")]
pub(crate) fn hit(name: &str) {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static HITS: AtomicUsize = AtomicUsize::new(0);
    let Some(wanted) = std::env::var_os("CHECKPOINT_FAILPOINT") else { return };
    let Some(wanted) = wanted.to_str() else { return };
    let (wanted, only_stops) = wanted.strip_prefix("stop@").map_or((wanted, false), |wanted| (wanted, true));
    let halt = || {
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)
            .expect("a process may stop itself");
    };
    if let (true, Some(start)) = (only_stops, wanted.strip_suffix('*')) {
        if name.starts_with(start) {
            halt();
        }
        return;
    }
    let nth = |text: &str| text.parse::<usize>().ok();
    let (wanted, count) = match wanted.rsplit_once(':').map(|(name, count)| (name, nth(count))) {
        Some((name, Some(count))) => (name, count),
        _ => (wanted, 1),
    };
    if wanted != name || HITS.fetch_add(1, Ordering::SeqCst) + 1 != count {
        return;
    }
    if only_stops {
        halt();
    } else {
        std::process::abort();
    }
}

/// Does nothing: the feature `failpoints` is off.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub(crate) fn hit(_name: &str) {}

/// Appends a line to the file that `CHECKPOINT_OPENED` names: our process, `how` it opens a file, and the file.
#[cfg(feature = "failpoints")]
#[expect(clippy::disallowed_methods, reason = "a test has no other way to see what a hook opens")]
pub(crate) fn opened(how: &str, path: &Path) {
    use std::io::Write as _;
    let Some(log) = std::env::var_os("CHECKPOINT_OPENED") else { return };
    let mut log = std::fs::File::options().append(true).create(true).open(log).expect("the test can read it");
    let line = format!("{} {how} {}\n", std::process::id(), path.display());
    log.write_all(line.as_bytes()).expect("the test can read it");
}

/// Does nothing: the feature `failpoints` is off.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub(crate) fn opened(_how: &str, _path: &Path) {}
