//! The claim of a session on a worktree while its tools are running there.

use serde::{Deserialize, Serialize};

use super::{process::Process, session::is_valid_id};

/// Where a worktree stood when a tool call began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Start {
    /// The commit at HEAD; none if HEAD is unborn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The id of jj's change at `@`, in a colocated repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The other session that its message named already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named: Option<String>,
}

/// A tool call that was not seen to end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Call {
    /// Its id, where the agent has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Where it began.
    pub start: Start,
}

/// A session's claim on a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Claim {
    /// The version of this shape.
    pub version: u32,
    /// The session.
    pub session: String,
    /// When it was last seen, in Unix seconds.
    pub seen: i64,
    /// The agent's process, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// The open tool calls, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
}

/// No agent waits for more open calls than this: the oldest ones are dropped.
const MOST_CALLS: usize = 64;

impl Claim {
    /// Returns the claim of `session` without a call.
    pub fn new(session: &str) -> Self {
        Self { version: 1, session: session.to_owned(), seen: 0, process: None, calls: Vec::new() }
    }

    /// Notes that the call `id` begins at `start`. An open call with the same id is replaced: agents reuse ids.
    pub fn open(&mut self, id: Option<&str>, start: Start) {
        self.calls.retain(|call| id.is_none() || call.id.as_deref() != id);
        self.calls.push(Call { id: id.map(Into::into), start });
        let surplus = self.calls.len().saturating_sub(MOST_CALLS);
        self.calls.drain(..surplus);
    }

    /// Notes that the call `id` has ended, and returns where it began.
    ///
    /// If an agent names its calls only at their begin or only at their end, they are matched in order.
    pub fn close(&mut self, id: Option<&str>) -> Option<Start> {
        let named = self.calls.iter().position(|call| call.id.as_deref() == id);
        let at = named.or_else(|| match id {
            Some(_) => self.calls.iter().position(|call| call.id.is_none()),
            None => (!self.calls.is_empty()).then_some(0),
        })?;
        Some(self.calls.remove(at).start)
    }

    /// Returns the file's text.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("plain values have a TOML form")
    }

    /// Parses a claim; none if it is damaged, or of an unknown version.
    pub fn parse(text: &str) -> Option<Self> {
        let claim: Self = toml::from_str(text).ok()?;
        (claim.version == 1 && is_valid_id(&claim.session)).then_some(claim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::process::Place;

    fn start(head: &str) -> Start {
        Start { head: Some(head.into()), ..Start::default() }
    }

    #[test]
    fn calls_in_parallel_end_in_any_order() {
        let mut claim = Claim::new("s");
        claim.open(Some("a"), start("1"));
        claim.open(Some("b"), start("2"));
        claim.open(Some("a"), start("3"));
        assert_eq!(claim.calls.len(), 2, "told of twice");
        assert_eq!(claim.close(Some("b")), Some(start("2")));
        assert_eq!(claim.close(Some("b")), None);
        assert_eq!(claim.close(Some("a")), Some(start("3")));
        assert_eq!(claim.calls, []);
    }

    #[test]
    fn calls_without_a_name_end_in_order() {
        let mut claim = Claim::new("s");
        claim.open(None, start("1"));
        claim.open(None, start("2"));
        assert_eq!(claim.close(Some("x")), Some(start("1")));
        claim.open(Some("y"), start("3"));
        assert_eq!(claim.close(None), Some(start("2")));
        assert_eq!(claim.close(None), Some(start("3")));
        assert_eq!(claim.close(None), None);
    }

    #[test]
    fn there_is_an_end_to_calls_that_never_end() {
        let mut claim = Claim::new("s");
        (0..200).for_each(|n| claim.open(Some(&n.to_string()), Start::default()));
        assert_eq!(claim.calls.len(), MOST_CALLS);
        assert_eq!(claim.calls[MOST_CALLS - 1].id.as_deref(), Some("199"));
    }

    #[test]
    fn files_round_trip_and_damage_is_noticed() {
        let mut claim = Claim::new("a/b");
        claim.open(Some("a"), start("1"));
        claim.open(None, Start::default());
        let place = Place { host: "h".into(), boot: "b".into(), namespace: "n".into(), machine: "m".into() };
        claim.process = Some(Process { pid: 1, start: 2, place });
        assert_eq!(Claim::parse(&claim.to_toml()), Some(claim.clone()));
        for damage in ["", "version = 1", "version = 1\nsession = ''\nseen = 1", "\0"] {
            assert_eq!(Claim::parse(damage), None);
        }
    }
}
