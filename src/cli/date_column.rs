//! The column of a list that says when something was.

use super::{call::Call, date, layout};
use crate::model::moment;

/// Returns a moment (in Unix seconds, with an offset) in a column of its own: how long ago on a terminal, ISO 8601 elsewhere.
pub(super) fn date_column((seconds, offset): (i64, i32), now: i64, call: &Call) -> String {
    match call.out.columns() {
        None => moment::iso(seconds, offset),
        columns if layout::is_narrow(columns) => format!("{:<4}", date::brief(seconds, now)),
        Some(_) => format!("{:<14}", date::relative(seconds, now)),
    }
}
