//! What goes wrong in a hook: it is logged, and neither git nor the agent hears of it.

use crate::{
    error::{Error, Kind},
    model::event::Event,
    ops::Context,
};

/// Logs `error` of `hook`. A hook is not the user's request, so even an error of kind `User` is an internal one.
pub(super) fn log(context: &Context, hook: &str, error: &Error) {
    let kind = match error.kind() {
        Kind::User | Kind::Refused => Kind::Internal,
        kind => kind,
    };
    let mut message = format!("hook {hook}: {error}");
    for cause in error.causes() {
        message.push_str(&format!(": {cause}"));
    }
    context.emit(&Event::Error { operation: format!("hook {hook}"), kind: kind.as_str().into(), message });
}
