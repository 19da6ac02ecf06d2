//! Reads what a child process prints.

use std::{
    fs::File,
    io::{ErrorKind, Read as _},
    os::fd::OwnedFd,
    process::{Child, Output},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};

/// Returns what `child` prints, and how it ends. Its standard input is closed first.
///
/// This is `Child::wait_with_output`, except that a pipe that cannot be read is an error, not a panic.
pub(super) fn output_of(mut child: Child) -> std::io::Result<Output> {
    drop(child.stdin.take());
    let pipes = [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
    // Whatever fails, the child must be waited for; without its pipes, it does not wait for us.
    let read = read_all(pipes);
    let status = child.wait()?;
    let [stdout, stderr] = read?;
    Ok(Output { status, stdout, stderr })
}

/// Reads both pipes beside each other, as the child may fill either first.
fn read_all(pipes: [Option<OwnedFd>; 2]) -> std::io::Result<[Vec<u8>; 2]> {
    let mut files = pipes.map(|pipe| pipe.map(File::from));
    let mut texts = [Vec::new(), Vec::new()];
    let mut buffer = vec![0; 1 << 16];
    while files.iter().any(Option::is_some) {
        let open: Vec<usize> = (0..files.len()).filter(|at| files[*at].is_some()).collect();
        let ready: Vec<usize> = {
            let mut polled: Vec<_> = files.iter().flatten().map(|file| PollFd::new(file, PollFlags::IN)).collect();
            match poll(&mut polled, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            open.into_iter().zip(&polled).filter(|(_, file)| !file.revents().is_empty()).map(|(at, _)| at).collect()
        };
        for at in ready {
            let Some(file) = &mut files[at] else { continue };
            match file.read(&mut buffer) {
                Ok(0) => files[at] = None,
                Ok(length) => texts[at].extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use std::process as run;

    use super::*;

    #[test]
    fn both_pipes_are_read_to_their_ends() {
        let script = "head -c 300000 /dev/zero >&2; head -c 200000 /dev/zero; echo end; exit 3";
        #[expect(clippy::disallowed_methods, reason = "a child with two full pipes")]
        let mut command = run::Command::new("sh");
        let child = command.args(["-c", script]).stdout(run::Stdio::piped()).stderr(run::Stdio::piped()).spawn();
        let output = output_of(child.expect("sh runs")).expect("read");
        assert_eq!((output.status.code(), output.stderr.len(), output.stdout.len()), (Some(3), 300_000, 200_004));
    }
}
