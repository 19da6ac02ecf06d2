//! Tries again what has lost a race for a ref that all worktrees share.

use std::time::Duration;

use crate::error::{Kind, Result};

/// How often a lost race for a ref is run again.
const ATTEMPTS: u32 = 5;

/// Returns what `attempt` returns, which is tried again if another process has moved the ref meanwhile.
pub(crate) fn retried<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    for number in 1..ATTEMPTS {
        match attempt() {
            Err(error) if error.kind() == Kind::Race => std::thread::sleep(Duration::from_millis(10 << number)),
            outcome => return outcome,
        }
    }
    attempt()
}
