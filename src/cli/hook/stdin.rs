//! Reads what an agent sends. Not every agent closes the pipe after its last byte.

use std::{
    io::{self, Read as _},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::agent::LONGEST;

/// How long to wait for more.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Returns the JSON document on standard input, or what has come of it when nothing more does.
pub(super) fn read() -> Vec<u8> {
    let mut stdin = io::stdin().lock();
    let (mut bytes, mut scanner, mut chunk) = (Vec::new(), Scanner::default(), vec![0; 64 << 10]);
    // Stop reading once the input is longer than the limit.
    while bytes.len() <= LONGEST && is_readable(&stdin) {
        match stdin.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
            Ok(length) => {
                bytes.extend_from_slice(&chunk[..length]);
                if scanner.scan(&chunk[..length]) {
                    break;
                }
            }
        }
    }
    bytes
}

/// Waits until `stdin` has something to read, or its end; returns false if neither comes in time.
fn is_readable(stdin: &io::StdinLock<'_>) -> bool {
    let start = Instant::now();
    loop {
        let Ok(left) = Timespec::try_from(PATIENCE.saturating_sub(start.elapsed())) else { return false };
        match poll(&mut [PollFd::new(stdin, PollFlags::IN)], Some(&left)) {
            Err(Errno::INTR) => {}
            count => return count.is_ok_and(|count| count > 0),
        }
    }
}

/// Knows when an object is complete.
#[derive(Default)]
struct Scanner {
    depth: usize,
    is_string: bool,
    is_escaped: bool,
}

impl Scanner {
    /// Returns true if the object that the bytes so far begin with ends within `bytes`.
    fn scan(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_string => self.is_escaped = true,
                b'"' if self.depth > 0 => self.is_string = !self.is_string,
                _ if self.is_string => {}
                b'{' => self.depth += 1,
                b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::plain(r#"{"a": 1}"#, true)]
    #[case::nested(r#"{"a": {"b": {}}}"#, true)]
    #[case::open(r#"{"a": {}"#, false)]
    #[case::brace_in_text(r#"{"a": "}""#, false)]
    #[case::quote_in_text(r#"{"a": "\"}""#, false)]
    #[case::backslash_at_the_end(r#"{"a": "\\"}"#, true)]
    #[case::no_object("[1, 2]", false)]
    #[case::nothing("", false)]
    fn an_object_is_complete_at_its_last_brace(#[case] text: &str, #[case] is_complete: bool) {
        assert_eq!(Scanner::default().scan(text.as_bytes()), is_complete);
        let mut scanner = Scanner::default();
        let by_byte = text.as_bytes().iter().any(|byte| scanner.scan(&[*byte]));
        assert_eq!(by_byte, is_complete, "however it comes");
    }
}
