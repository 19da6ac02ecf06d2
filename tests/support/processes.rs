//! Processes of the built program: how tests start, stop and kill them, and what they say.

use std::{
    fs,
    process::{Child, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};

use super::{World, program};

impl World {
    /// Starts the built program with `arguments`.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.start_with(arguments, "")
    }

    /// The same with a failpoint.
    pub(crate) fn start_with(&self, arguments: &[&str], failpoint: &str) -> Child {
        self.command(program())
            .args(arguments)
            .env("CHECKPOINT_FAILPOINT", failpoint)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts")
    }

    /// Runs the built program, which must succeed and not be slow, and returns what it printed.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.checkpoint(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", described(&output));
        String::from_utf8(output.stdout).expect("it prints text")
    }

    /// The same for a command that prints JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.done(arguments)).expect("it prints JSON")
    }
}

/// Returns everything that a process said, for messages.
pub(crate) fn described(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}: {}{}", output.status, text(&output.stdout), text(&output.stderr))
}

/// Returns a running mean of how long a command takes. One run that waited for a busy machine counts as at most twice the mean:
/// otherwise, most of the kills after it would come too late.
pub(crate) fn mean(usual: Duration, took: Duration) -> Duration {
    (usual * 3 + took.min(usual * 2)) / 4
}

/// Kills `child` after `delay`, unless it ends before, and returns how it ended and what it printed.
pub(crate) fn kill_after(mut child: Child, delay: Duration) -> Output {
    std::thread::sleep(delay);
    // A process that is done cannot be killed; that is as good.
    drop(child.kill());
    child.wait_with_output().expect("it ends")
}

/// Waits until `child` has halted itself at a failpoint.
pub(crate) fn halted(child: &Child) {
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it runs");
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    let start = Instant::now();
    while state() != Some('T') {
        assert!(start.elapsed() < Duration::from_secs(20), "it does not halt");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Sends `signal` (a name of kill(1)) to `child`.
pub(crate) fn signal(child: &Child, signal: &str) {
    let status = std::process::Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

/// Waits until `child` ends; it must within `limit`.
pub(crate) fn ended(child: &mut Child, limit: Duration) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it is ours") {
            return status;
        }
        assert!(start.elapsed() < limit, "it still runs");
        std::thread::sleep(Duration::from_millis(2));
    }
}
