//! Reads what an agent sends. Not every agent closes its end when all is said.

use std::{
    io::{self, Read as _},
    sync::mpsc::{RecvTimeoutError, channel},
    time::Duration,
};

use crate::agent::LONGEST;

/// How long to wait for more.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Returns the JSON document on standard input, or what has come of it when nothing more does.
pub(super) fn read() -> Vec<u8> {
    let (sender, receiver) = channel();
    // A thread that waits for ever ends with the process.
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        loop {
            let mut chunk = vec![0; 64 << 10];
            match stdin.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return,
                Ok(length) => {
                    chunk.truncate(length);
                    if sender.send(chunk).is_err() {
                        return;
                    }
                }
            }
        }
    });
    let (mut bytes, mut scanner) = (Vec::new(), Scanner::default());
    // What is longer than can be taken is read no further than it takes to see that.
    while bytes.len() <= LONGEST {
        match receiver.recv_timeout(PATIENCE) {
            Ok(chunk) => {
                let is_complete = scanner.scan(&chunk);
                bytes.extend(chunk);
                if is_complete {
                    break;
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    bytes
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
