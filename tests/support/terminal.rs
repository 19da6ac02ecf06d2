//! A program in a terminal, as a person uses it: script(1) makes the terminal.

use std::{
    io::{Read as _, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use bstr::ByteSlice as _;

use super::World;

/// How long a shell may take to answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Terminal {
    child: Child,
    keys: ChildStdin,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// Starts the shell command `line` in a terminal; `prepare` may change its environment.
    pub(crate) fn start(world: &World, line: &str, prepare: impl FnOnce(&mut Command)) -> Self {
        let mut command = world.command("script");
        command.args(["-qec", line, "/dev/null"]).env("TERM", "vt100").env("SHELL", "/bin/sh");
        prepare(&mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script(1) starts");
        let (keys, mut output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let shown: Arc<Mutex<Vec<u8>>> = Arc::default();
        let screen = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                screen.lock().expect("no panic").extend_from_slice(&buffer[..count]);
            }
        });
        Self { child, keys, shown }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
        self.keys.flush().expect("the terminal takes keys");
    }

    /// Waits until what was shown since the last call of [`wait_for`](Self::wait_for) is as `is_right` says; `what` names that.
    pub(crate) fn wait_until(&self, what: &str, is_right: impl Fn(&[u8]) -> bool) {
        let begin = Instant::now();
        loop {
            let shown = self.shown.lock().expect("no panic").clone();
            if is_right(&shown) {
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "'{what}' is not shown, but: {:?}", shown.as_bstr());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until `text` is shown, and returns what was shown since the last call, up to its end.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        let begin = Instant::now();
        loop {
            let mut shown = self.shown.lock().expect("no panic");
            if let Some(at) = shown.find(text) {
                let seen: Vec<u8> = shown.drain(..at + text.len()).collect();
                return String::from_utf8_lossy(&seen).into_owned();
            }
            let seen = shown.as_bstr();
            assert!(begin.elapsed() < PATIENCE, "'{text}' is not shown, but: {seen:?}");
            drop(shown);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
