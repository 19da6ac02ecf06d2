//! Ids of sessions.

use crate::{
    error::{Error, Result},
    model::session::{LONGEST_ID, is_valid_id},
};

/// Refuses what cannot be the id of a session.
pub(crate) fn check_id(id: &str) -> Result<()> {
    if is_valid_id(id) {
        return Ok(());
    }
    let shown: String = id.chars().filter(|c| !c.is_control()).take(40).collect();
    Err(Error::user(format!("invalid session id '{shown}'")).with_hint(format!(
        "an id is at most {LONGEST_ID} characters long, without control characters or blanks at its ends"
    )))
}

/// Returns an id for a session that has none: the day, and something random.
pub fn new_id() -> String {
    use std::hash::{BuildHasher as _, Hasher as _};
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!("{}-{:06x}", jiff::Zoned::now().date(), random & 0xff_ffff)
}
