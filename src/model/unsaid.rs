//! Warnings that agents could not show.

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

/// At most this many bytes wait for a session.
const MOST_BYTES: usize = 4 << 10;

/// Adds a warning to `session` to `list`, after the earlier ones, unless it waits there already. If they are too long together, only the
/// new one is kept.
pub(crate) fn keep(list: &mut Vec<Unsaid>, session: &str, text: String) {
    let earlier = take(list, session).filter(|earlier| earlier.len() + text.len() < MOST_BYTES);
    let text = match earlier {
        Some(earlier) if earlier.contains(text.trim_end()) => earlier,
        Some(earlier) => format!("{}\n{text}", earlier.trim_end()),
        None => text,
    };
    list.push(Unsaid { session: session.to_owned(), text });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warnings_to_each_session_are_kept() {
        let mut list = Vec::new();
        for (session, text) in [("a", "1\n"), ("b", "2"), ("a", "3"), ("a", "1")] {
            keep(&mut list, session, text.into());
        }
        assert_eq!(list.len(), 2);
        assert_eq!([take(&mut list, "a").as_deref(), take(&mut list, "a").as_deref()], [Some("1\n3"), None]);
        assert_eq!(take(&mut list, "b").as_deref(), Some("2"));
    }

    #[test]
    fn what_is_too_long_gives_way_to_the_last_warning() {
        let mut list = Vec::new();
        keep(&mut list, "a", "x".repeat(MOST_BYTES - 2));
        keep(&mut list, "a", "new".into());
        assert_eq!(take(&mut list, "a").as_deref(), Some("new"));
    }
}
