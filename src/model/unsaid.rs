//! Warnings that agents could not show: the last one to each session.

use serde::{Deserialize, Serialize};

/// A warning that an agent could not show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsaid {
    /// The session.
    pub session: String,
    /// The text.
    pub text: String,
}

/// Removes the warning to `session` from `list`, and returns it.
pub(crate) fn take(list: &mut Vec<Unsaid>, session: &str) -> Option<String> {
    let at = list.iter().position(|unsaid| unsaid.session == session)?;
    Some(list.remove(at).text)
}

/// Adds a warning to `session` to `list`, in place of an earlier one.
pub(crate) fn keep(list: &mut Vec<Unsaid>, session: &str, text: String) {
    take(list, session);
    list.push(Unsaid { session: session.to_owned(), text });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_warning_to_each_session_is_kept() {
        let mut list = Vec::new();
        for (session, text) in [("a", "1"), ("b", "2"), ("a", "3")] {
            keep(&mut list, session, text.into());
        }
        assert_eq!(list.len(), 2);
        assert_eq!([take(&mut list, "a").as_deref(), take(&mut list, "a").as_deref()], [Some("3"), None]);
        assert_eq!(take(&mut list, "b").as_deref(), Some("2"));
    }
}
