//! Decides from the tool calls in use who made the unsaved changes. Pure: `ops::author` finds the calls, and whether their
//! processes run.

use std::collections::BTreeSet;

use super::call::{Call, Command};

/// Whether the tool of an open call has made the unsaved changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Involvement {
    /// The tool made the change.
    Made,
    /// The tool may have made the change.
    MayHaveMade,
    /// The tool did not make the change.
    NotMade,
}

/// Who made the unsaved changes, as far as the tool calls in use show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maker<'t> {
    /// No tool did.
    NoTool,
    /// A tool of this session did, and of this subagent.
    Session(&'t str, Option<&'t str>),
    /// Unknown.
    Unknown,
}

/// A tool that names its files is done at once. If its call is open for longer than this many seconds, the agent may be waiting
/// for the user's permission. Meanwhile, the user may edit the file.
const LONGEST_CALL: i64 = 30;

impl Call {
    /// Returns whether the tool made the unsaved changes. A command in the background counts as one that made them:
    /// [`maker`] decides what follows from that.
    ///
    /// `runs` returns whether a process of the command is known to run. `now` is in Unix seconds.
    pub(crate) fn involvement(&self, runs: impl FnOnce(&Command) -> bool, now: i64) -> Involvement {
        let Some(command) = self.command.as_ref().filter(|_| !self.is_background) else {
            let is_in_doubt = self.paths.is_some() && (self.is_overtaken || self.started < now - LONGEST_CALL);
            return if is_in_doubt { Involvement::MayHaveMade } else { Involvement::Made };
        };
        if runs(command) {
            Involvement::Made
        } else if command.is_settled {
            Involvement::NotMade
        } else {
            Involvement::MayHaveMade
        }
    }
}

/// Returns who made the changes that the tools of `uses`, and no other tools, may have made. Each use is a session, a call of
/// it, and whether that call made the changes.
///
/// The maker is unknown if it is doubtful whether a tool made them, if the tools are of several sessions, or if all are commands
/// in the background.
pub(crate) fn maker<'t>(uses: &[(&'t str, &'t Call, Involvement)]) -> Maker<'t> {
    let makers: Vec<_> = uses.iter().filter(|(_, _, its)| *its == Involvement::Made).collect();
    // Beside a running call that may change any file, doubtful calls of the same session do not matter: the author is the same.
    let is_beside = |session: &str| makers.iter().any(|(its, call, _)| *its == session && call.paths.is_none());
    if uses.iter().any(|(session, _, its)| *its == Involvement::MayHaveMade && !is_beside(session)) {
        return Maker::Unknown;
    }
    let sessions: BTreeSet<&str> = makers.iter().map(|(session, _, _)| *session).collect();
    let is_background = makers.iter().all(|(_, call, _)| call.is_background);
    match (sessions.len(), makers.first()) {
        (0, _) | (_, None) => Maker::NoTool,
        (1, Some((session, call, _))) if !is_background => {
            let is_one = makers.iter().all(|(_, it, _)| it.agent_id == call.agent_id);
            Maker::Session(session, call.agent_id.as_deref().filter(|_| is_one))
        }
        _ => Maker::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Involvement::{Made, MayHaveMade, NotMade},
        *,
    };

    const NOW: i64 = 1000;

    fn command(is_settled: bool) -> Command {
        Command { agent: None, since: 1, until: None, began: 0, head: None, is_settled }
    }

    /// What the columns stand for: a save of the whole worktree has found no process of the command since it began.
    #[rstest::rstest]
    #[case::runs(true, [Made, Made])]
    #[case::has_ended_or_its_agent_was_killed(false, [MayHaveMade, NotMade])]
    fn a_command(#[case] runs: bool, #[case] expected: [Involvement; 2]) {
        for (is_settled, expected) in [false, true].into_iter().zip(expected) {
            for (is_overtaken, started) in [(false, NOW), (true, NOW), (false, 0), (true, 0)] {
                let call = Call { command: Some(command(is_settled)), is_overtaken, started, ..Call::default() };
                assert_eq!(call.involvement(|_| runs, NOW), expected, "{call:?}");
                let call = Call { is_background: true, ..call };
                assert_eq!(call.involvement(|_| runs, NOW), Made, "in the background: {call:?}");
            }
        }
    }

    #[rstest::rstest]
    #[case::just_now(NOW, [Made, MayHaveMade])]
    #[case::not_long_ago(NOW - 30, [Made, MayHaveMade])]
    #[case::long_ago(NOW - 31, [MayHaveMade, MayHaveMade])]
    fn a_tool_that_names_its_files(#[case] started: i64, #[case] expected: [Involvement; 2]) {
        for (is_overtaken, expected) in [false, true].into_iter().zip(expected) {
            let call = Call { paths: Some(vec!["f".into()]), started, is_overtaken, ..Call::default() };
            assert_eq!(call.involvement(|_| unreachable!("it is no command"), NOW), expected, "{call:?}");
            let call = Call { paths: None, ..call };
            assert_eq!(call.involvement(|_| unreachable!("it is no command"), NOW), Made, "any file: {call:?}");
        }
    }

    /// The calls that there are: a command that made the changes, may have made them, or did not; a tool with a named file that
    /// made them, or may have; a command in the background.
    const CALLS: [&str; 6] = ["made", "maybe", "not", "named", "named?", "background"];

    fn call(what: &str) -> (Call, Involvement) {
        let paths = what.starts_with("named").then(|| vec!["f".into()]);
        let call = Call { paths, is_background: what == "background", ..Call::default() };
        let involvement = match what {
            "maybe" | "named?" => MayHaveMade,
            "not" => NotMade,
            _ => Made,
        };
        (call, involvement)
    }

    fn of(uses: &[(&str, &str)]) -> String {
        let calls: Vec<_> = uses.iter().map(|(session, what)| (*session, call(what))).collect();
        let uses: Vec<_> = calls.iter().map(|(session, (call, its))| (*session, call, *its)).collect();
        match maker(&uses) {
            Maker::NoTool => ".".to_owned(),
            Maker::Session(session, _) => session.to_owned(),
            Maker::Unknown => "?".to_owned(),
        }
    }

    /// The columns are those of `CALLS`: one of the same session `s` beside it, and one of another session `t`.
    #[rstest::rstest]
    #[case::made("made", "s", "s s s s s s", "? ? s ? ? ?")]
    #[case::maybe("maybe", "?", "s ? ? ? ? ?", "? ? ? ? ? ?")]
    #[case::not("not", ".", "s ? . s ? ?", "t ? . t ? ?")]
    #[case::named("named", "s", "s ? s s ? s", "? ? s ? ? ?")]
    #[case::named_in_doubt("named?", "?", "s ? ? ? ? ?", "? ? ? ? ? ?")]
    #[case::background("background", "?", "s ? ? s ? ?", "? ? ? ? ? ?")]
    fn one_call_and_two(#[case] what: &str, #[case] alone: &str, #[case] beside_own: &str, #[case] beside_other: &str) {
        assert_eq!(of(&[("s", what)]), alone);
        let with = |session: &str| CALLS.map(|other| of(&[("s", what), (session, other)])).join(" ");
        assert_eq!((with("s").as_str(), with("t").as_str()), (beside_own, beside_other));
    }

    #[rstest::rstest]
    #[case::none(&[], Maker::NoTool)]
    #[case::the_agent(&[None], Maker::Session("s", None))]
    #[case::a_subagent(&[Some("h")], Maker::Session("s", Some("h")))]
    #[case::it_and_the_agent(&[Some("h"), None], Maker::Session("s", None))]
    #[case::two_of_them(&[Some("h"), Some("i")], Maker::Session("s", None))]
    #[case::twice_the_same(&[Some("h"), Some("h")], Maker::Session("s", Some("h")))]
    fn subagents(#[case] agent_ids: &[Option<&str>], #[case] expected: Maker<'_>) {
        let call = |id: Option<&str>| Call { agent_id: id.map(str::to_owned), ..Call::default() };
        let calls: Vec<Call> = agent_ids.iter().map(|id| call(*id)).collect();
        assert_eq!(maker(&calls.iter().map(|call| ("s", call, Made)).collect::<Vec<_>>()), expected);
    }
}
