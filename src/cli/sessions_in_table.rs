//! Names agents and their sessions in tables: with enough of a session's id to tell it from the others.

use super::{layout, output::printable};

/// The fewest characters of an id that are shown.
const FEWEST: usize = 6;

/// The sessions of a table.
#[derive(Debug)]
pub(super) struct Sessions {
    /// How many characters of an id tell each session from the others.
    length: usize,
    /// How many at its end do.
    tail: usize,
}

/// Stands for the beginning of an id.
const BEGINNING: &str = "...";

impl Sessions {
    /// Takes the ids of the sessions, in any order; one may come more than once.
    pub(super) fn new<'i>(ids: impl Iterator<Item = &'i str>) -> Self {
        let mut ids: Vec<String> = ids.map(printable).collect();
        let length = telling(&mut ids);
        for id in &mut ids {
            *id = id.chars().rev().collect();
        }
        Self { length, tail: telling(&mut ids) }
    }

    /// Returns how many columns `agent` and `rest` need with the shortest id of the session that no other session has.
    pub(super) fn least(&self, agent: &str, session: Option<&str>, rest: &str) -> usize {
        layout::width(agent) + layout::width(&self.part(session, 0)) + layout::width(rest)
    }

    /// Returns `agent`, its session, and the `rest` in at most `columns`. If these are too few, the id of the session is cut
    /// first, as far as it still differs from the others, and then the name of the agent.
    pub(super) fn name(&self, agent: &str, session: Option<&str>, rest: &str, columns: usize) -> String {
        let room = columns.saturating_sub(layout::width(agent) + layout::width(rest) + 1);
        let session = self.part(session, room);
        let tail = format!("{session}{rest}");
        let room = columns.saturating_sub(layout::width(&tail));
        layout::cut(&format!("{}{tail}", layout::cut(agent, room)), columns)
    }

    /// Returns a blank and the first `room` characters of the id, or more if fewer would not distinguish it from the others. If that
    /// does not fit, and the end of the id is shorter and distinguishes it, too, returns the end.
    fn part(&self, session: Option<&str>, room: usize) -> String {
        let Some(id) = session.map(printable) else { return String::new() };
        let count = id.chars().count();
        if count.min(self.length) > room && BEGINNING.len() + self.tail < count.min(self.length) {
            return format!(" {BEGINNING}{}", id.chars().skip(count - self.tail).collect::<String>());
        }
        format!(" {}", id.chars().take(room.max(self.length)).collect::<String>())
    }
}

/// Returns how many characters at the beginning tell each of `ids` from the others, and sorts them.
fn telling(ids: &mut Vec<String>) -> usize {
    ids.sort_unstable();
    ids.dedup();
    let common = |pair: &[String]| pair[0].chars().zip(pair[1].chars()).take_while(|(a, b)| a == b).count();
    ids.windows(2).map(|pair| common(pair) + 1).max().unwrap_or(0).max(FEWEST)
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
    fn sessions_that_differ_at_the_end_show_their_ends() {
        let (one, other) = ("5b1f3c9e-7a44-4f0e-9f43-2f3a5b1f1c11", "5b1f3c9e-7a44-4f0e-9f43-2f3a5b1f1c22");
        let sessions = Sessions::new([one, other, "s"].into_iter());
        assert_eq!(sessions.name("claude-code", Some(one), " t1", 30), "claude-code ...1f1c11 t1");
        assert_eq!(sessions.name("claude-code", Some(other), " t1", 80), format!("claude-code {other} t1"));
        assert_eq!(sessions.name("claude-code", Some("s"), " t1", 30), "claude-code s t1");
        assert_eq!(sessions.least("claude-code", Some(one), ""), "claude-code ...1f1c11".len());
    }

    #[test]
    fn an_id_is_never_raw() {
        let sessions = Sessions::new(["a\x1b[31m"].into_iter());
        assert_eq!(sessions.name("mine", Some("a\x1b[31m"), "", 40), "mine a\\u{1b}[31m");
    }
}
