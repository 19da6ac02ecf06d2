//! An error in one line.

use crate::error::Error;

/// Returns the message of `error` with its innermost cause.
pub(super) fn with_cause(error: &Error) -> String {
    let message = error.message();
    error.causes().last().map_or_else(|| message.to_owned(), |cause| format!("{message}: {cause}"))
}
