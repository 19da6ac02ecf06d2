//! Lists of paths that may be long.

use crate::{cli::call::Call, error::Result};

/// Prints `lines`: on a terminal the first ones and how many more there are, unless the user asked for all. If they are not
/// `wanted`, `--quiet` leaves them out.
pub(super) fn print_listed(lines: &[String], wanted: bool, call: &mut Call) -> Result<()> {
    for line in call.long_lists().cut(lines.to_vec()) {
        if wanted { call.out.line(&line)? } else { call.out.row(&line)? }
    }
    Ok(())
}
