//! One agent's conversation: its phases as a table, and what is stored of it between events.

use bstr::BString;
use gix::ObjectId;
use serde::{Deserialize, Serialize};

use super::{id_text, process::Process, refname::Base};

/// The phase of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It is known and waits for a prompt.
    Idle,
    /// A turn is open.
    Active,
    /// It was ended; it may be resumed.
    Ended,
}

/// What happens to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// The agent was started, or resumed an old conversation.
    Start,
    /// The user sent a prompt.
    Prompt,
    /// A tool was or is to be used.
    Tool,
    /// The agent has answered.
    Stop,
    /// The agent was left.
    End,
}

/// What to do when something happens to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Close the turn that was never stopped.
    CloseInterrupted,
    /// Begin the next turn.
    BeginTurn,
    /// Close the turn.
    CloseTurn,
    /// Note that an ended session has been resumed.
    Resume,
}

/// What becomes of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The phase afterwards; none: there is still no session.
    pub phase: Option<Phase>,
    /// The actions, in order.
    pub actions: &'static [Action],
}

/// Returns what becomes of a session in `phase` (none: not known yet) when `event` happens.
#[expect(clippy::match_same_arms, reason = "a row each: it is read beside the table of the manual")]
pub fn transition(phase: Option<Phase>, event: SessionEvent) -> Transition {
    use Action::{BeginTurn, CloseInterrupted, CloseTurn, Resume};
    use Phase::{Active, Ended, Idle};
    use SessionEvent::{End, Prompt, Start, Stop, Tool};
    let (phase, actions): (Option<Phase>, &'static [Action]) = match (phase, event) {
        (None, Start) => (Some(Idle), &[]),
        (None, Prompt | Tool) | (Some(Idle), Prompt) => (Some(Active), &[BeginTurn]),
        (None, Stop | End) => (None, &[]),
        (Some(Idle), Start | Stop) => (Some(Idle), &[]),
        (Some(Idle), Tool) => (Some(Active), &[BeginTurn]),
        (Some(Idle | Ended), End) => (Some(Ended), &[]),
        (Some(Active), Start) => (Some(Active), &[]),
        (Some(Active), Prompt) => (Some(Active), &[CloseInterrupted, BeginTurn]),
        (Some(Active), Tool) => (Some(Active), &[]),
        (Some(Active), Stop) => (Some(Idle), &[CloseTurn]),
        (Some(Active), End) => (Some(Ended), &[CloseTurn]),
        (Some(Ended), Start) => (Some(Idle), &[Resume]),
        (Some(Ended), Prompt | Tool) => (Some(Active), &[Resume, BeginTurn]),
        (Some(Ended), Stop) => (Some(Ended), &[]),
    };
    Transition { phase, actions }
}

/// The current turn, or the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Turn {
    /// Counted from 1; 0 before the first.
    pub number: u32,
    /// The id of the prompt's text as a blob.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_digest: Option<String>,
}

impl Turn {
    /// No agent gets that far: a higher number comes from elsewhere, or is damaged.
    const MOST: u32 = 1_000_000;

    /// Returns the number of the turn after this one.
    pub(crate) fn next(&self) -> u32 {
        self.number.saturating_add(1)
    }

    /// Returns `number` if it may be that of a turn of ours, or else 0: the turns of a session must not go on after it.
    pub(crate) fn sane(number: u32) -> u32 {
        if number > Self::MOST { 0 } else { number }
    }
}

/// A turn under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct UnderWay {
    /// When it began, in Unix seconds.
    pub started: i64,
    /// The last checkpoint of the shadow when it began: another one since then is not this turn's to set aside.
    #[serde(skip_serializing_if = "Option::is_none", with = "id_text::optional")]
    pub shadow_tip: Option<ObjectId>,
    /// True if its first checkpoint sets the shadow aside.
    pub should_reset_shadow: bool,
    /// True if it has taken a checkpoint.
    pub has_checkpoint: bool,
}

/// Where the conversation is written down by the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Transcript {
    /// The file.
    pub path: String,
    /// How much of it is in records already, in bytes.
    pub offset: u64,
}

/// What is stored of a session between events. Only intent and hints: the facts are in refs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Session {
    /// The version of this shape.
    pub version: u32,
    /// Its id, as the agent names it.
    pub id: String,
    /// The agent's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its phase.
    pub phase: Phase,
    /// `main`, or git's id of the linked worktree it works in (encoded as a ref component).
    pub worktree: String,
    /// The path of that worktree.
    #[serde(default)]
    pub worktree_path: String,
    /// When git made that worktree, if it is a linked one, in nanoseconds since 1970: git may give its id to another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_made: Option<i64>,
    /// When it was first seen, in Unix seconds.
    #[serde(default)]
    pub started: i64,
    /// When in that second, in nanoseconds: an agent may be seen first in two repositories within one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub started_nanos: i32,
    /// When it was last seen, in Unix seconds.
    #[serde(default)]
    pub last_seen: i64,
    /// The commit at HEAD then, or `unborn`.
    #[serde(default)]
    pub base: String,
    /// The last turn.
    #[serde(default)]
    pub turn: Turn,
    /// The turn under way; not in the session's file, but in that of its worktree, which has all that is open there.
    #[serde(skip)]
    pub under_way: Option<UnderWay>,
    /// The agent's own record of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Transcript>,
    /// The records that commits in mid-turn made, oldest first; the end of the turn completes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_records: Vec<String>,
    /// True if it has reported tools in an earlier turn: then a turn without any may have changed nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_reported_tools: bool,
    /// True if its last turn ended with its process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_interrupted: bool,
    /// The agent's process, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}

/// The longest id that is taken, in bytes of its form as a name of files and refs.
pub const LONGEST_ID: usize = 200;

/// How many characters of an id people see in columns. A UUID of version 7 begins with the time; its random digits begin at the
/// 16th character, so that ids of the same moment look different.
pub const SHOWN_OF_ID: usize = 18;

/// Returns true if `id` may name a session: not empty, not too long, printable, without blanks at its ends.
pub fn is_valid_id(id: &str) -> bool {
    let is_plain = !id.is_empty() && id.trim() == id && !id.chars().any(char::is_control);
    is_plain && super::refname::encode_component(id.into()).len() <= LONGEST_ID
}

impl Session {
    /// Returns a session seen for the first time at `seconds` in `worktree`.
    pub fn new(id: &str, worktree: &BString, seconds: i64) -> Self {
        Self {
            version: 1,
            id: id.to_owned(),
            agent: None,
            model: None,
            phase: Phase::Idle,
            worktree: super::refname::encode_component(worktree.as_ref()),
            worktree_path: String::new(),
            worktree_made: None,
            started: seconds,
            started_nanos: 0,
            last_seen: seconds,
            base: String::new(),
            turn: Turn::default(),
            under_way: None,
            transcript: None,
            open_records: Vec::new(),
            has_reported_tools: false,
            is_interrupted: false,
            process: None,
        }
    }

    /// Returns the commit that HEAD was at when it was last seen.
    pub fn base(&self) -> Option<Base> {
        Base::parse(&self.base)
    }

    /// Returns true if it works in `worktree`.
    pub fn is_in(&self, worktree: &bstr::BStr) -> bool {
        super::refname::decode_component(&self.worktree).is_some_and(|id| id == worktree)
    }

    /// Lets `turn` be the one under way; without one, the session is idle, or ended as before.
    #[must_use]
    pub fn with_turn(self, turn: Option<&UnderWay>) -> Self {
        let phase = match (turn, self.phase) {
            (Some(_), _) => Phase::Active,
            (None, Phase::Active) => Phase::Idle,
            (None, phase) => phase,
        };
        Self { phase, under_way: turn.cloned(), ..self }
    }

    /// Returns the file's text. It says nothing of a turn under way: that is elsewhere, and may end without this file.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.clone().with_turn(None)).expect("plain values have a TOML form")
    }

    /// Returns the session that `text` holds, without a turn under way; none if it is damaged, or of a version that is not
    /// known.
    pub fn parse(text: &str) -> Option<Self> {
        let session: Self = toml::from_str(text).ok()?;
        (session.version == 1 && is_valid_id(&session.id)).then(|| session.with_turn(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Action::{BeginTurn, CloseInterrupted, CloseTurn, Resume};

    const PHASES: [Option<Phase>; 4] = [None, Some(Phase::Idle), Some(Phase::Active), Some(Phase::Ended)];
    const EVENTS: [SessionEvent; 5] =
        [SessionEvent::Start, SessionEvent::Prompt, SessionEvent::Tool, SessionEvent::Stop, SessionEvent::End];

    #[rstest::rstest]
    #[case::none(0, 0, 1)]
    #[case::usual(7, 7, 8)]
    #[case::the_highest(1_000_000, 1_000_000, 1_000_001)]
    #[case::no_turn_of_ours(1_000_001, 0, 1_000_002)]
    #[case::nothing_after_it(u32::MAX, 0, u32::MAX)]
    fn a_turn_has_a_number(#[case] number: u32, #[case] sane: u32, #[case] next: u32) {
        assert_eq!((Turn::sane(number), Turn { number, ..Turn::default() }.next()), (sane, next));
    }

    #[test]
    fn the_manual_draws_the_table() {
        let page = include_str!("../../man/git-checkpoint-session.1").replace("\\-", "-");
        for phase in PHASES {
            let word = |phase: Phase| match phase {
                Phase::Idle => "idle",
                Phase::Active => "active",
                Phase::Ended => "ended",
            };
            let name = |phase: Option<Phase>, none| phase.map_or(none, word);
            let cells = EVENTS.map(|event| name(transition(phase, event).phase, "-"));
            let is_row = |line: &str| {
                let words: Vec<&str> = line.split_whitespace().collect();
                words.first() == Some(&name(phase, "(none)")) && words[1..] == cells
            };
            assert!(page.lines().any(is_row), "{phase:?}: {cells:?}");
        }
    }

    /// The table of the manual, cell by cell: rows are phases, columns what happens.
    #[test]
    fn every_cell_of_the_table() {
        type Cell = (Option<Phase>, &'static [Action]);
        let (idle, active, ended) = (Some(Phase::Idle), Some(Phase::Active), Some(Phase::Ended));
        let table: [(Option<Phase>, [Cell; 5]); 4] = [
            (None, [(idle, &[]), (active, &[BeginTurn]), (active, &[BeginTurn]), (None, &[]), (None, &[])]),
            (idle, [(idle, &[]), (active, &[BeginTurn]), (active, &[BeginTurn]), (idle, &[]), (ended, &[])]),
            (
                active,
                [
                    (active, &[]),
                    (active, &[CloseInterrupted, BeginTurn]),
                    (active, &[]),
                    (idle, &[CloseTurn]),
                    (ended, &[CloseTurn]),
                ],
            ),
            (
                ended,
                [
                    (idle, &[Resume]),
                    (active, &[Resume, BeginTurn]),
                    (active, &[Resume, BeginTurn]),
                    (ended, &[]),
                    (ended, &[]),
                ],
            ),
        ];
        for (phase, cells) in table {
            for (event, (expected, actions)) in EVENTS.into_iter().zip(cells) {
                let found = transition(phase, event);
                assert_eq!((found.phase, found.actions), (expected, actions), "{phase:?} {event:?}");
            }
        }
    }

    #[rstest::rstest]
    #[case::plain("2026-01-31-abc123", true)]
    #[case::path("../../etc/passwd", true)]
    #[case::unicode("täglich", true)]
    #[case::empty("", false)]
    #[case::newline("a\nb", false)]
    #[case::escape("a\u{1b}[2J", false)]
    #[case::blank(" a", false)]
    #[case::long(&"a".repeat(201), false)]
    fn ids_are_checked_at_the_door(#[case] id: &str, #[case] is_valid: bool) {
        assert_eq!(is_valid_id(id), is_valid);
    }

    #[test]
    fn files_round_trip_and_damage_is_noticed() {
        let mut session = Session::new("s1", &"main".into(), 7);
        session.turn = Turn { number: 2, prompt_digest: Some("d".into()) };
        session.transcript = Some(Transcript { path: "/t".into(), offset: 3 });
        session.process = Some(Process { pid: 1, start: 2, place: super::super::process::Place::default() });
        session.open_records = vec!["r".into()];
        assert_eq!(Session::parse(&session.to_toml()), Some(session.clone()));
        for damage in ["", "version = 1", "version = 2\nid = 's'", "\0"] {
            assert_eq!(Session::parse(damage), None);
        }
        let forged = session.to_toml().replace("id = \"s1\"", "id = \"\"");
        assert_eq!(Session::parse(&forged), None);
        let active = session.clone().with_turn(Some(&UnderWay::default()));
        assert_eq!((active.phase, Session::parse(&active.to_toml())), (Phase::Active, Some(session)));
    }
}
