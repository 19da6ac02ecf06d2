//! Names agents and their sessions in tables: with enough of a session's id to tell it from the others.

use super::{layout, output::printable};

/// The fewest characters of an id that are shown.
const FEWEST: usize = 6;

/// The sessions of a table.
#[derive(Debug)]
pub(super) struct Sessions {
    /// How many characters of an id tell each session from the others.
    length: usize,
}

impl Sessions {
    /// Takes the ids of the sessions, in any order; one may come more than once.
    pub(super) fn new<'i>(ids: impl Iterator<Item = &'i str>) -> Self {
        let mut ids: Vec<String> = ids.map(printable).collect();
        ids.sort_unstable();
        ids.dedup();
        let common = |pair: &[String]| pair[0].chars().zip(pair[1].chars()).take_while(|(a, b)| a == b).count();
        let length = ids.windows(2).map(|pair| common(pair) + 1).max().unwrap_or(0);
        Self { length: length.max(FEWEST) }
    }

    /// Returns how many columns `agent` and `rest` need with the shortest id of the session that no other session has.
    pub(super) fn least(&self, agent: &str, session: Option<&str>, rest: &str) -> usize {
        layout::width(agent) + layout::width(&Self::part(session, self.length)) + layout::width(rest)
    }

    /// Returns `agent`, its session, and the `rest` in at most `columns`. If these are too few, the id of the session is cut
    /// first, as far as it still differs from the others, and then the name of the agent.
    pub(super) fn name(&self, agent: &str, session: Option<&str>, rest: &str, columns: usize) -> String {
        let room = columns.saturating_sub(layout::width(agent) + layout::width(rest) + 1);
        let session = Self::part(session, room.max(self.length));
        let tail = format!("{session}{rest}");
        let room = columns.saturating_sub(layout::width(&tail));
        layout::cut(&format!("{}{tail}", layout::cut(agent, room)), columns)
    }

    /// Returns a blank and the first `length` characters of the id.
    fn part(session: Option<&str>, length: usize) -> String {
        session.map_or_else(String::new, |id| format!(" {}", printable(id).chars().take(length).collect::<String>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0196b1f2-aaaa-7bbb-8ccc-0123456789ab";

    #[rstest::rstest]
    #[case::all_fits(51, ONE, "claude-code 0196b1f2-aaaa-7bbb-8ccc-0123456789ab t1")]
    #[case::the_id_gives_way(28, ONE, "claude-code 0196b1f2-aaaa t1")]
    #[case::as_far_as_it_differs(18, ONE, "claud... 0196b1 t1")]
    #[case::of_sessions_that_begin_alike(26, "0196b1f2-abcd", "claude-code 0196b1f2-aa t1")]
    #[case::short(18, "s1", "claude-code s1 t1")]
    #[case::no_room(9, ONE, " 0196b...")]
    fn names_fit_their_column(#[case] columns: usize, #[case] other: &str, #[case] expected: &str) {
        let id = if other.len() < FEWEST { other } else { ONE };
        let sessions = Sessions::new([ONE, other, ONE].into_iter());
        let name = sessions.name("claude-code", Some(id), " t1", columns);
        assert!(layout::width(&name) <= columns, "{name}");
        assert_eq!(name, expected);
    }

    #[test]
    fn two_sessions_never_look_the_same() {
        let ids = ["0196b1f2-aaaa", "0196b1f2-abbb", "0196b1f3", "s"];
        let sessions = Sessions::new(ids.into_iter());
        let least = ids.iter().map(|id| sessions.least("claude-code", Some(id), "")).max().unwrap_or(0);
        let mut names: Vec<String> = ids.iter().map(|id| sessions.name("claude-code", Some(id), "", least)).collect();
        names.dedup();
        assert_eq!(names.len(), ids.len(), "{names:?}");
    }

    #[test]
    fn an_id_is_never_raw() {
        let sessions = Sessions::new(["a\x1b[31m"].into_iter());
        assert_eq!(sessions.name("mine", Some("a\x1b[31m"), "", 40), "mine a\\u{1b}[31m");
    }
}
