//! The content of a worktree's `turns.toml`: open turns, tool calls in use, and the events that were handled last.
//!
//! [`Turns`] is the file, [`Entry`] what it has of one session, [`Call`] a tool call. Pure: `state::turns` reads and writes the
//! file, and commands that hold the worktree's lock change it by `Worktree::edit_turns`. Each list has a limit, because agents
//! may report the beginning of a call and never its end.

mod call;
mod involvement;

use serde::{Deserialize, Serialize};

pub use call::{Call, Command, Start};
pub(crate) use involvement::{Involvement, Maker, maker};

use super::{
    process::Process,
    session::{UnderWay, is_valid_id},
    unsaid::Unsaid,
};

/// Which kind of tools an agent, or one of its subagents, has reported in a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Account {
    /// The id of the subagent; none for the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// True if it used a tool that may change any file, for example a shell command.
    pub used_anything: bool,
}

/// What a session has open in a worktree: its turn, its tool calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Entry {
    /// The session.
    pub id: String,
    /// When the guard (`ops::guard`, the check before and after each tool call) last saw a call of the session, in Unix
    /// seconds; 0 if never.
    #[serde(default)]
    pub seen: i64,
    /// The agent's process at that time, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// Its open turn. None if only a command of an ended turn still runs in the background, or if a tool was reported outside a
    /// turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<UnderWay>,
    /// The tool calls in use, oldest first.
    #[serde(default, rename = "call", skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// Which kinds of tools were reported in this turn: one account for the agent and for each subagent.
    #[serde(default, rename = "account", skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<Account>,
}

impl Entry {
    fn new(id: &str) -> Self {
        Self { id: id.to_owned(), seen: 0, process: None, turn: None, calls: Vec::new(), accounts: Vec::new() }
    }

    /// Returns true if the guard has seen a tool call of this session here.
    pub fn has_claim(&self) -> bool {
        self.seen != 0
    }

    /// Returns true if the guard has allowed a tool call and not yet checked its end.
    pub fn is_at_work(&self) -> bool {
        self.calls.iter().any(|call| call.start.is_some())
    }

    /// Adds `call`. Removes a call with the same key: that is the same call, reported twice. Also removes one with the same id:
    /// agents use ids again, so that call has ended without a report.
    pub fn open(&mut self, call: Call) {
        self.calls.retain(|it| it.key != call.key && (call.id.is_none() || it.id != call.id));
        self.calls.push(call);
    }

    /// Joins the two oldest commands in the background into one; returns false if there are not two.
    fn join_oldest(&mut self) -> bool {
        let mut background = (0..self.calls.len()).filter(|at| self.calls[*at].is_background);
        let (Some(first), Some(second)) = (background.next(), background.next()) else { return false };
        let older = self.calls[first].clone();
        self.calls[second].join(older);
        self.calls.remove(first);
        true
    }

    /// Notes that the agent, or its subagent `agent_id`, begins the call `key`. The user may have refused its other calls.
    pub fn overtake(&mut self, agent_id: Option<&str>, key: &str) {
        let others = self.calls.iter_mut().filter(|call| call.agent_id.as_deref() == agent_id && call.key != key);
        others.for_each(|call| call.is_overtaken = true);
    }

    /// Removes and returns the `start` of the call `id`, with which the guard compares the worktree after the call. Some agents
    /// give the id only before or only after a call: then takes it from the oldest open call that may be this one.
    pub fn take_start(&mut self, id: Option<&str>) -> Option<Start> {
        let mut waiting = self.calls.iter_mut().filter(|call| call.start.is_some()).collect::<Vec<_>>();
        let named = waiting.iter().position(|call| call.id.as_deref() == id);
        let at = named.or_else(|| match id {
            Some(_) => waiting.iter().position(|call| call.id.is_none()),
            None => (!waiting.is_empty()).then_some(0),
        })?;
        waiting[at].start.take()
    }

    /// Returns the account of the agent, or of its subagent; adds one if there is none.
    pub fn account(&mut self, agent_id: Option<&str>) -> &mut Account {
        let at = self.accounts.iter().position(|it| it.agent_id.as_deref() == agent_id).unwrap_or_else(|| {
            self.accounts.push(Account { agent_id: agent_id.map(str::to_owned), used_anything: false });
            self.accounts.len() - 1
        });
        &mut self.accounts[at]
    }
}

/// How we know that a turn has ended, and so what became of a tool call that is still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndEvidence {
    /// The agent has reported the end. The open call was interrupted.
    Reported,
    /// The next turn begins, the agent's process is gone, or the user resets the session. How the open call ended is unknown.
    Inferred,
}

/// An event of an agent that was handled. Some agents report each event twice; the second report is then ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Handled {
    /// The session.
    pub session: String,
    /// What two reports of the same event have in common.
    pub key: String,
    /// When, in Unix seconds.
    pub seconds: i64,
}

/// The content of a worktree's `turns.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Turns {
    /// The version of the format.
    version: u32,
    /// When a checkpoint before or after a tool call last looked at the whole worktree, in Unix milliseconds.
    #[serde(default)]
    pub scanned: i64,
    /// The sessions whose user was warned that other sessions have uncommitted work here. Each gets this warning once.
    #[serde(default)]
    pub asked: Vec<String>,
    /// The session whose file disappeared during a tool call. `status` reports that until the next turn begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// The entries of the stash when the last turn began. If one of them is popped since, its lines keep their authors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stashes: Vec<String>,
    /// The stash entries that a save has seen since then. If one of them is popped, its lines keep their authors, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stashed: Vec<String>,
    /// The paths that no checkpoint has because of a limit, of which an agent's user was warned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unprotected: Vec<String>,
    /// Digests of the warnings about changes in other worktrees that sessions have got, oldest first: each comes once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlaps: Vec<String>,
    /// By session, the last warning that its agent could not show. It stays until the agent can, or until the next turn begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsaid: Vec<Unsaid>,
    /// What each session has open.
    #[serde(default, rename = "session", skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<Entry>,
    /// The last events, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handled: Vec<Handled>,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            version: 1,
            scanned: 0,
            asked: Vec::new(),
            lost: None,
            stashes: Vec::new(),
            stashed: Vec::new(),
            unprotected: Vec::new(),
            overlaps: Vec::new(),
            unsaid: Vec::new(),
            entries: Vec::new(),
            handled: Vec::new(),
        }
    }
}

/// The limit of the lists `asked`, `stashed`, `unsaid` and `handled`, and of the calls and accounts of a session. Of `overlaps`, four
/// times as many are kept: a warning that is forgotten comes again.
const MOST: usize = 64;

/// The limit of `entries`. It is needed because a turn whose end is never reported keeps its entry.
const MOST_SESSIONS: usize = 256;

impl Turns {
    /// Returns what `session` has open.
    pub fn find(&self, session: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == session)
    }

    /// The same, to change it.
    pub fn find_mut(&mut self, session: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.id == session)
    }

    /// Returns the turn that `session` has under way.
    pub fn turn_of(&self, session: &str) -> Option<&UnderWay> {
        self.find(session)?.turn.as_ref()
    }

    /// Returns the entry of `session`; adds one if there is none.
    pub fn entry(&mut self, session: &str) -> &mut Entry {
        let at = self.entries.iter().position(|entry| entry.id == session).unwrap_or_else(|| {
            self.entries.push(Entry::new(session));
            self.entries.len() - 1
        });
        &mut self.entries[at]
    }

    /// Returns the tool calls of all sessions, each with its session.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &Call)> {
        self.entries.iter().flat_map(|entry| entry.calls.iter().map(|call| (entry.id.as_str(), call)))
    }

    /// Sets the open turn of `session`, or notes that it has none.
    pub fn set_turn(&mut self, session: &str, turn: Option<&UnderWay>) {
        if turn.is_some() {
            self.entry(session).turn = turn.cloned();
        } else if let Some(entry) = self.find_mut(session) {
            entry.turn = None;
        }
    }

    /// Removes the entry of `session`: all that it has open.
    pub fn end(&mut self, session: &str) {
        self.entries.retain(|entry| entry.id != session);
    }

    /// Removes the claim of `session`: its tool calls, and when and with which process the guard has seen it. Its open turn
    /// stays.
    pub fn release(&mut self, session: &str) {
        self.entries.retain(|entry| entry.id != session || entry.turn.is_some());
        if let Some(entry) = self.find_mut(session) {
            (entry.seen, entry.process) = (0, None);
            entry.calls.clear();
        }
    }

    /// Shortens each list to its limit, and keeps the newest elements. If a session has too many calls, first joins its
    /// commands in the background, because the oldest of them may still run.
    pub fn forget_oldest(&mut self) {
        fn cut<T>(list: &mut Vec<T>, most: usize) {
            list.drain(..list.len().saturating_sub(most));
        }
        cut(&mut self.asked, MOST);
        cut(&mut self.stashed, MOST);
        cut(&mut self.overlaps, 4 * MOST);
        cut(&mut self.unsaid, MOST);
        cut(&mut self.handled, MOST);
        cut(&mut self.entries, MOST_SESSIONS);
        for entry in &mut self.entries {
            while entry.calls.len() > MOST && entry.join_oldest() {}
            cut(&mut entry.calls, MOST);
            cut(&mut entry.accounts, MOST);
        }
    }

    /// Returns the file's text.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("plain values have a TOML form")
    }

    /// Returns the content of the file `text`; none if it is damaged, or of an unknown version.
    pub fn parse(text: &str) -> Option<Self> {
        let turns: Self = toml::from_str(text).ok()?;
        let mut ids = turns.entries.iter().map(|entry| &entry.id).chain(&turns.lost);
        (turns.version == 1 && ids.all(|id| is_valid_id(id))).then_some(turns)
    }
}

#[cfg(test)]
mod tests {
    use gix::ObjectId;

    use super::*;
    use crate::model::{process::Place, unsaid};

    fn entry() -> Entry {
        Entry::new("s")
    }

    fn call(id: Option<&str>, head: &str) -> Call {
        let start = Some(Start { head: Some(head.into()), ..Start::default() });
        Call { key: format!("{id:?}{head}"), id: id.map(Into::into), start, ..Call::default() }
    }

    fn head(start: Option<Start>) -> Option<String> {
        start.and_then(|start| start.head)
    }

    #[test]
    fn calls_in_parallel_end_in_any_order() {
        let mut entry = entry();
        entry.open(call(Some("a"), "1"));
        entry.open(call(Some("b"), "2"));
        entry.open(call(Some("a"), "3"));
        assert_eq!(entry.calls.len(), 2, "reported twice");
        assert_eq!(head(entry.take_start(Some("b"))).as_deref(), Some("2"));
        assert_eq!(entry.take_start(Some("b")), None);
        assert!(entry.is_at_work());
        assert_eq!(head(entry.take_start(Some("a"))).as_deref(), Some("3"));
        assert!(!entry.is_at_work());
    }

    #[test]
    fn calls_without_a_name_end_in_order() {
        let mut entry = entry();
        entry.open(call(None, "1"));
        entry.open(call(None, "2"));
        assert_eq!(head(entry.take_start(Some("x"))).as_deref(), Some("1"));
        entry.open(call(Some("y"), "3"));
        assert_eq!(head(entry.take_start(None)).as_deref(), Some("2"));
        assert_eq!(head(entry.take_start(None)).as_deref(), Some("3"));
        assert_eq!(entry.take_start(None), None);
    }

    #[test]
    fn there_is_an_end_to_calls_that_never_end() {
        let mut turns = Turns::default();
        (0..200).for_each(|n| turns.entry("s").open(call(Some(&n.to_string()), "")));
        (0..200).for_each(|n| turns.handled.push(Handled { session: "s".into(), key: String::new(), seconds: n }));
        turns.forget_oldest();
        let calls = &turns.entries[0].calls;
        assert_eq!((calls.len(), calls[MOST - 1].id.as_deref()), (MOST, Some("199")));
        assert_eq!((turns.handled.len(), turns.handled[MOST - 1].seconds), (MOST, 199));
    }

    #[test]
    fn commands_in_the_background_are_joined_if_there_are_too_many() {
        let mut turns = Turns::default();
        for n in 0..100 {
            let mut call = call(Some(&n.to_string()), "");
            let (agent, began, head) = (None, 0, None);
            call.command = Some(Command { agent, since: n, until: None, began, head, is_settled: n == 0 });
            if n > 0 {
                call.leave_running(Some(n + 1));
            }
            turns.entry("s").open(call);
        }
        turns.forget_oldest();
        let calls = &turns.entries[0].calls;
        assert_eq!((calls.len(), calls[0].is_background), (MOST, false));
        let times = |call: &Call| call.command.as_ref().map(|it| (it.since, it.until, it.is_settled));
        assert_eq!([1, 2].map(|at| times(&calls[at])), [Some((1, Some(38), false)), Some((38, Some(39), false))]);
    }

    #[test]
    fn an_end_leaves_nothing() {
        let mut turns = Turns::default();
        for id in ["s", "t"] {
            turns.set_turn(id, Some(&UnderWay::default()));
            turns.entry(id).open(call(Some("a"), "1"));
            turns.entry(id).account(None).used_anything = true;
        }
        turns.release("s");
        assert!(turns.turn_of("s").is_some() && turns.calls().all(|(id, _)| id == "t"));
        turns.end("t");
        turns.set_turn("t", None);
        assert!(turns.find("t").is_none() && turns.find("s").is_some());
    }

    #[test]
    fn files_round_trip_and_damage_is_noticed() {
        let mut turns = Turns { scanned: 5, asked: vec!["q".into()], lost: Some("l".into()), ..Turns::default() };
        let tip = Some(ObjectId::empty_tree(gix::hash::Kind::Sha1));
        turns.set_turn("a/b", Some(&UnderWay { started: 1, shadow_tip: tip, ..UnderWay::default() }));
        let place = Place { host: "h".into(), boot: "b".into(), namespace: "n".into(), machine: "m".into() };
        let entry = turns.entry("a/b");
        (entry.seen, entry.process) = (7, Some(Process { pid: 1, start: 2, place }));
        entry.open(call(Some("a\n\""), "1"));
        entry.open(Call { start: Some(Start::default()), paths: Some(Vec::new()), ..Call::default() });
        entry.account(Some("h")).used_anything = true;
        turns.entry("without a turn");
        unsaid::keep(&mut turns.unsaid, "s", "one\ntwo".into());
        turns.unprotected.push("a \"b".into());
        turns.handled.push(Handled { session: "s".into(), key: "k".into(), seconds: 3 });
        assert_eq!(Turns::parse(&turns.to_toml()), Some(turns.clone()));
        assert_eq!(Turns::parse(&Turns::default().to_toml()), Some(Turns::default()));
        let forged = turns.to_toml().replace("id = \"a/b\"", "id = \"a\\nb\"");
        for damage in ["", "version = 2", "version = 1\n[[session]]\nid = ''", "\0", forged.as_str()] {
            assert_eq!(Turns::parse(damage), None, "{damage}");
        }
    }
}
