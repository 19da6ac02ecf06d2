//! Runs an event again after a race.

use std::time::{Duration, Instant};

use crate::error::{Kind, Result};

/// Runs `event` again if others have moved a ref under way: `git pack-refs` may show one as it was a moment before.
pub(super) fn retry_on_race<T>(event: impl Fn() -> Result<T>) -> Result<T> {
    const LONGEST: Duration = Duration::from_secs(2);
    let start = Instant::now();
    loop {
        match event() {
            Err(error) if error.kind() == Kind::Race && start.elapsed() < LONGEST => {
                std::thread::sleep(Duration::from_millis(25));
            }
            outcome => return outcome,
        }
    }
}
