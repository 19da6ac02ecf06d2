//! Reads the log of operations, and follows it as it grows.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::Context;
use crate::{error::Result, state};

/// How often we look for new events.
const PAUSE: Duration = Duration::from_millis(100);

/// Calls `each` with the events of all worktrees, oldest first, until it returns false: those at or after `since` (Unix
/// seconds), and with `follow` those that happen from now on, until the context is interrupted.
///
/// # Errors
/// If the log cannot be read; lines that are damaged are left out.
pub fn read(
    context: &Context,
    since: Option<i64>,
    follow: bool,
    each: &mut dyn FnMut(&Value) -> Result<bool>,
) -> Result<()> {
    let mut reader = state::events::Reader::open(context.repo.common_dir())?;
    let mut line = |line: &[u8]| match serde_json::from_slice::<Value>(line) {
        Ok(event) if is_since(&event, since) => each(&event),
        Ok(_) => Ok(true),
        Err(error) => {
            tracing::warn!(%error, "damaged line in the log of events");
            Ok(true)
        }
    };
    while reader.read(&mut line)? && follow {
        context.check_interrupt()?;
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn is_since(event: &Value, since: Option<i64>) -> bool {
    let Some(since) = since else { return true };
    let time = event.get("time").and_then(Value::as_str).and_then(|time| time.parse::<Timestamp>().ok());
    time.is_some_and(|time| time.as_second() >= since)
}
