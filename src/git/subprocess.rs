//! Communicates with a child process through its pipes, and kills it when the operation is interrupted, or when it makes no progress
//! for longer than there is patience with it.

use std::{
    fs::File,
    io::{self, ErrorKind, Read, Write},
    os::fd::OwnedFd,
    process::{Child, ExitStatus, Output},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid},
};

use super::{
    interrupt::Interrupt,
    patience::{Patience, Waiting},
};

/// How often a wait looks whether it is to end.
const TICK: Duration = Duration::from_millis(50);
/// How long a child has to end by itself after SIGTERM.
const GRACE: Duration = Duration::from_millis(300);

/// More than this is no answer of a program whose words come from another machine.
const MOST_TEXT: usize = 1 << 27;

/// A child process. Dropping it closes its pipes and waits for it, as git does with a filter.
pub(super) struct Subprocess {
    child: Child,
    interrupt: Interrupt,
    /// None: it may take as long as it wants.
    patience: Option<Patience>,
    /// True if the child leads a process group, which then ends as a whole.
    is_leader: bool,
    /// True once nothing is left to wait for.
    is_over: bool,
    stdin: Option<File>,
    stdout: Option<File>,
    stderr: Option<File>,
}

/// Returns what `child` prints, and how it ends. Its standard input is closed first.
pub(super) fn output_of(child: Child) -> io::Result<Output> {
    Subprocess::new(child, false, Interrupt::default())?.output(b"")
}

impl Subprocess {
    /// Returns `child`, which is to end once `interrupt` comes, and with it its process group if `is_leader` of one.
    pub(super) fn new(mut child: Child, is_leader: bool, interrupt: Interrupt) -> io::Result<Self> {
        let stdin = child.stdin.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let stdout = child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let stderr = child.stderr.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let new = Self { child, interrupt, patience: None, is_leader, is_over: false, stdin, stdout, stderr };
        for pipe in [&new.stdin, &new.stdout, &new.stderr].into_iter().flatten() {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(new)
    }

    /// Lets the child be ended once there is no `patience` with it any more.
    pub(super) fn within(mut self, patience: Patience) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Gives `input` to the child, and returns what it prints and how it ends.
    ///
    /// A child that stops reading early says why by its status.
    pub(super) fn output(mut self, input: &[u8]) -> io::Result<Output> {
        let exchanged = self.exchange(input);
        if exchanged.is_err() && self.patience.is_some() {
            // It may wait for the other side for ever, whatever becomes of its pipes.
            self.end();
        }
        // Whatever fails, the child must be waited for; without its pipes, it does not wait for us.
        self.close();
        let status = self.wait()?;
        let [stdout, stderr] = exchanged?;
        Ok(Output { status, stdout, stderr })
    }

    /// Writes and reads all pipes beside each other, as the child may fill either first.
    fn exchange(&mut self, mut input: &[u8]) -> io::Result<[Vec<u8>; 2]> {
        let mut texts = [Vec::new(), Vec::new()];
        let mut buffer = vec![0; 1 << 16];
        if input.is_empty() {
            self.stdin = None;
        }
        while self.stdin.is_some() || self.stdout.is_some() || self.stderr.is_some() {
            let [takes, has_output, has_errors] = self.wait_for([
                (&self.stdin, PollFlags::OUT),
                (&self.stdout, PollFlags::IN),
                (&self.stderr, PollFlags::IN),
            ])?;
            if let Some(stdin) = self.stdin.as_mut().filter(|_| takes) {
                match stdin.write(input) {
                    Ok(length) => input = &input[length..],
                    Err(error) if error.kind() == ErrorKind::BrokenPipe => input = &[],
                    Err(error) if is_momentary(&error) => {}
                    Err(error) => return Err(error),
                }
                if input.is_empty() {
                    self.stdin = None;
                }
            }
            let pipes = [(&mut self.stdout, has_output), (&mut self.stderr, has_errors)];
            for ((pipe, _), text) in pipes.into_iter().zip(&mut texts).filter(|((_, is_ready), _)| *is_ready) {
                match pipe.as_mut().map_or(Ok(0), |pipe| pipe.read(&mut buffer)) {
                    Ok(0) => *pipe = None,
                    Ok(_) if self.patience.is_some() && text.len() > MOST_TEXT => {
                        return Err(io::Error::new(ErrorKind::InvalidData, "the answer has no end"));
                    }
                    Ok(length) => text.extend_from_slice(&buffer[..length]),
                    Err(error) if is_momentary(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(texts)
    }

    /// Waits until some of `pipes` are ready, and returns which.
    fn wait_for<const N: usize>(&self, pipes: [(&Option<File>, PollFlags); N]) -> io::Result<[bool; N]> {
        let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
        let tick = (self.interrupt.may_come() || self.patience.is_some()).then_some(&tick);
        let mut waiting = self.patience.as_ref().map(|patience| patience.begin(self.child.id()));
        let mut polled: Vec<PollFd<'_>> = Vec::with_capacity(N);
        for (pipe, flags) in &pipes {
            polled.extend(pipe.as_ref().map(|pipe| PollFd::new(pipe, *flags)));
        }
        loop {
            self.refuse_interrupt()?;
            match poll(&mut polled, tick) {
                Ok(0) | Err(Errno::INTR) => waiting.as_mut().map_or(Ok(()), Waiting::check)?,
                Ok(_) => break self.patience.as_ref().map_or(Ok(()), Patience::check_size)?,
                Err(errno) => return Err(errno.into()),
            }
        }
        let mut ready = polled.iter().map(|polled| !polled.revents().is_empty());
        Ok(pipes.map(|(pipe, _)| pipe.is_some() && ready.next() == Some(true)))
    }

    /// Returns how much was `moved` through a pipe.
    fn counted(&self, moved: io::Result<usize>) -> io::Result<usize> {
        if let (Some(patience), Ok(bytes)) = (&self.patience, &moved) {
            patience.moved(*bytes);
        }
        moved
    }

    fn refuse_interrupt(&self) -> io::Result<()> {
        // Not the kind `Interrupted`, after which readers try again.
        if self.interrupt.is_raised() { Err(io::Error::other("interrupted")) } else { Ok(()) }
    }

    fn close(&mut self) {
        (self.stdin, self.stdout, self.stderr) = (None, None, None);
    }

    /// Waits for the child; if it is to end before, it is ended.
    fn wait(&mut self) -> io::Result<ExitStatus> {
        let mut pause = Duration::from_micros(50);
        let start = Instant::now();
        let status = loop {
            if !self.interrupt.may_come() && self.patience.is_none() {
                break self.child.wait();
            }
            if self.patience.as_ref().is_some_and(|patience| patience.is_exhausted_by(start.elapsed())) {
                // It has no pipes any more, and nothing left to do.
                self.end();
                break self.child.wait();
            }
            if self.interrupt.is_raised() {
                self.end();
                self.refuse_interrupt()?;
            }
            match self.child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) => sleep(pause),
                Err(error) => break Err(error),
            }
            pause = (pause * 2).min(TICK);
        };
        self.is_over = true;
        status
    }

    /// Ends the child: it may tidy up for a moment.
    pub(super) fn end(&mut self) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let (pid, is_leader) = (Pid::from_child(&self.child), self.is_leader);
        let send = |signal| if is_leader { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
        // A process that has ended needs no signal.
        send(Signal::TERM).ok();
        self.close();
        let start = Instant::now();
        // Until it is waited for, its number stays its own, and its group's.
        let flags = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), flags), Ok(None)) && start.elapsed() < GRACE {
            sleep(Duration::from_millis(1));
        }
        send(Signal::KILL).ok();
        drop(self.child.wait());
    }
}

/// Until all is read; an interrupt is an error.
impl Read for Subprocess {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.wait_for([(&self.stdout, PollFlags::IN)])?;
            match self.stdout.as_mut().map_or(Ok(0), |pipe| pipe.read(buffer)) {
                Err(error) if is_momentary(&error) => {}
                read => return self.counted(read),
            }
        }
    }
}

impl Write for Subprocess {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            self.wait_for([(&self.stdin, PollFlags::OUT)])?;
            match self.stdin.as_mut().map_or(Ok(0), |pipe| pipe.write(bytes)) {
                Err(error) if is_momentary(&error) => {}
                written => return self.counted(written),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Subprocess {
    fn drop(&mut self) {
        if !self.is_over {
            self.close();
            drop(self.wait());
        }
    }
}

fn is_momentary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::process as unix,
        process as run,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
    };

    use super::*;

    fn shell(script: &str) -> Child {
        use run::Stdio;
        #[expect(clippy::disallowed_methods, reason = "any child")]
        let mut command = run::Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        unix::CommandExt::process_group(&mut command, 0);
        command.spawn().expect("sh runs")
    }

    #[test]
    fn both_pipes_are_read_to_their_ends() {
        let script = "head -c 300000 /dev/zero >&2; head -c 200000 /dev/zero; echo end; exit 3";
        let output = output_of(shell(script)).expect("read");
        assert_eq!((output.status.code(), output.stderr.len(), output.stdout.len()), (Some(3), 300_000, 200_004));
    }

    #[rstest::rstest]
    #[case::echoed("cat; cat >&2", 1 << 20)]
    #[case::left_unread("exec <&-; head -c 1048576 /dev/zero", 1 << 20)]
    #[case::nothing_printed("cat >/dev/null", 0)]
    #[case::closed_early("exec >&-; cat >/dev/null", 0)]
    fn more_input_than_a_pipe_holds(#[case] script: &str, #[case] expected: usize) {
        for interrupt in [Interrupt::default(), Interrupt::by(Arc::default())] {
            let child = Subprocess::new(shell(script), false, interrupt).expect("made");
            let output = child.output(&vec![b'x'; 1 << 20]).expect("read");
            assert_eq!((output.status.code(), output.stdout.len()), (Some(0), expected), "{script}");
        }
    }

    #[rstest::rstest]
    #[case::reads_nothing("sleep 1000")]
    #[case::never_answers("cat >/dev/null; sleep 1000")]
    #[case::closes_its_pipes("exec <&- >&- 2>&-; sleep 1000")]
    #[case::does_not_mind_signals("trap '' TERM; sleep 1000; sleep 1000")]
    fn an_interrupt_ends_the_child(#[case] script: &str) {
        let flag = Arc::new(AtomicBool::new(false));
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sleep(Duration::from_millis(100));
                flag.store(true, Ordering::Relaxed);
            });
            let child = Subprocess::new(shell(script), true, Interrupt::by(Arc::clone(&flag))).expect("made");
            let error = child.output(&vec![b'x'; 1 << 20]).expect_err("it is ended");
            assert_eq!(error.to_string(), "interrupted");
        });
        assert!(start.elapsed() < Duration::from_secs(10), "{script}");
    }
}
