//! Why an agent is stopped, and what to do: as text for the agent and its user, and as values for programs.

use serde::Serialize;

use super::{Code, Decision};
use crate::model::session::{SHOWN_OF_ID, is_valid_id};

/// Which state of the worktree it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Where {
    /// As it is, before a tool call.
    #[serde(rename = "working copy")]
    Now,
    /// As it was when the tool call began that has just ended.
    #[serde(rename = "stored original working copy")]
    Original,
}

impl Where {
    /// Returns the words for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Now => "working copy",
            Self::Original => "stored original working copy",
        }
    }
}

/// Why an agent is stopped or warned. Ids are full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The version of this shape.
    pub version: u32,
    /// The state.
    pub code: Code,
    /// The decision.
    pub decision: Decision,
    /// Which state of the worktree it is about.
    pub context: Where,
    /// The commit at HEAD, or jj's change.
    pub change: Option<String>,
    /// The session that wants to continue.
    pub this_session: String,
    /// The other one, where it is known.
    pub other_session: Option<String>,
    /// The name of the other one's agent, where it is known.
    pub other_agent: Option<String>,
    /// True if the repository is used with jj.
    pub is_jj: bool,
    /// What to do, step by step.
    pub fix: Vec<String>,
}

/// How much of a change's id is shown.
const CHANGE: usize = 12;

/// Which steps help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Help {
    /// True if the agent may continue once the other session has ended.
    pub by_end: bool,
    /// True if git-checkpoint knows the session that wants to continue.
    pub is_known: bool,
}

impl Report {
    /// Returns the report of a `decision`, still without its steps.
    pub fn new(code: Code, decision: Decision, context: Where, this_session: &str, is_jj: bool) -> Self {
        Self {
            version: 1,
            code,
            decision,
            context,
            change: None,
            this_session: this_session.to_owned(),
            other_session: None,
            other_agent: None,
            is_jj,
            fix: Vec::new(),
        }
    }

    /// Adds what it is about, and the steps.
    #[must_use]
    pub fn about(mut self, change: Option<String>, other_session: Option<String>, help: Help) -> Self {
        (self.change, self.other_session) = (change, other_session);
        self.fix = self.steps(help);
        self
    }

    /// Returns the text for an agent and its user; people call the other one's agent `agent`.
    pub fn text(&self, agent: &str) -> String {
        let title = match self.code {
            Code::TemporaryWorkspace => "Temporary workspace detected".to_owned(),
            _ => format!("Concurrent {} session detected", plain(agent)),
        };
        let (what, why) = self.sentences();
        let kind = if self.decision == Decision::Deny { "Error" } else { "Warning" };
        let mut text = format!("{kind}: {title}\n\n{what}\n{why}\n\nTo fix:\n");
        for (at, step) in self.fix.iter().enumerate() {
            text.push_str(&format!("{}. {step}\n", at + 1));
        }
        text.push('\n');
        let mut field = |name: &str, value: &str, most: usize| {
            text.push_str(&format!("{name:<15} {}\n", beginning(value, most)));
        };
        if let Some(change) = &self.change {
            field("Current change:", change, CHANGE);
        }
        field("This session:", &self.this_session, SHOWN_OF_ID);
        if let Some(other) = &self.other_session {
            field("Other session:", other, SHOWN_OF_ID);
        }
        text
    }

    fn sentences(&self) -> (String, &'static str) {
        let (place, thing) = (self.context.as_str(), self.thing());
        match self.code {
            Code::AgentWorktree => (
                format!("The {place} is the worktree of another session's agent."),
                "Each agent has a worktree of its own, so that their work is not mixed up.",
            ),
            Code::TemporaryWorkspace => (
                format!("The {place} is a temporary workspace of an agent, not a {thing} of yours."),
                "A session was interrupted here, or another one is at work.",
            ),
            Code::StartingPointMoved => (
                format!("The {place} became a {thing} of another session while a tool was at work."),
                "What the tool has done is kept in the archive, in no session's checkpoints.",
            ),
            Code::StartingPointDiverged => (
                format!("The {place} was rewritten by two at once while a tool was at work."),
                "What the tool has done is kept in the archive, in no session's checkpoints.",
            ),
            Code::ConcurrentSession => (
                format!("The {place} is a {thing} that another session has made."),
                "That session may be at work in this repository.",
            ),
            Code::ToolCallOpen => (
                format!("The {place} is being changed by a tool of another session."),
                "Two at once would mix up what they change.",
            ),
        }
    }

    /// A denied agent can only ask its user: the guard would hold back the commands of the other steps, too.
    fn steps(&self, help: Help) -> Vec<String> {
        let mut steps = Vec::new();
        if self.decision == Decision::Deny {
            let reading = if self.context == Where::Now { "; until then, only tools that read may run" } else { "" };
            steps.push(format!("Agent: stop, and show this to your user{reading}"));
        }
        let (first, second) = self.steps_of_user(help);
        steps.extend([format!("User: {first}"), format!("User: {second}")]);
        if self.decision == Decision::Deny {
            steps.push("Retry in this session".to_owned());
        }
        steps
    }

    fn steps_of_user(&self, help: Help) -> (String, String) {
        let leave = if self.is_jj { "jj edit <your-work>" } else { "git switch <your-branch>" };
        let leave = format!("run `{leave}` to return to your own work");
        let end = format!("let the other session finish, or end it: `{}`", self.end_command());
        let change = self.change.as_deref().map(|change| beginning(change, CHANGE));
        match (self.code, change) {
            (Code::AgentWorktree, _) => {
                let adopt = take_over(&self.this_session, help.is_known);
                ("find this session's own worktree: `git worktree list`".to_owned(), adopt)
            }
            (Code::TemporaryWorkspace, Some(change)) if self.is_jj => {
                (leave, format!("drop the workspace if nothing in it is needed: `jj abandon {change}`"))
            }
            (Code::TemporaryWorkspace, Some(change)) => {
                (leave, format!("look at what was left behind: `git show {change}`"))
            }
            (Code::TemporaryWorkspace, None) => (leave, end),
            (Code::StartingPointMoved | Code::StartingPointDiverged, _) => {
                ("see what was kept: `git checkpoint list --archived`".to_owned(), leave)
            }
            (Code::ConcurrentSession, _) if help.by_end => (end, leave),
            (Code::ConcurrentSession, _) => {
                let own = if self.is_jj { "jj new" } else { "git commit --allow-empty" };
                (leave, format!("or put a {} of your own on top: `{own}`", self.thing()))
            }
            (Code::ToolCallOpen, _) => {
                let another = "git checkpoint worktree add --create <branch>";
                (end, format!("or let this one work in another worktree: `{another}`"))
            }
        }
    }

    fn thing(&self) -> &'static str {
        if self.is_jj { "change" } else { "commit" }
    }

    /// The id comes from a commit message, which may contain any text: only a plain id is put into a command.
    fn end_command(&self) -> String {
        match self.other_session.as_deref().filter(|id| is_plain(id)) {
            Some(id) => format!("git checkpoint session end {id}"),
            None => "git checkpoint session list".to_owned(),
        }
    }
}

/// Only a session that is known can be adopted.
fn take_over(session: &str, is_known: bool) -> String {
    let session = if is_plain(session) { session } else { "<session>" };
    let start = if is_known { String::new() } else { format!("git checkpoint session start {session} && ") };
    format!("or take this one over: `{start}git checkpoint session adopt {session}`")
}

fn is_plain(id: &str) -> bool {
    let has_plain_start = id.starts_with(|c: char| c.is_ascii_alphanumeric());
    has_plain_start && is_valid_id(id) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Returns the first `most` characters of what can be shown of `text`.
fn beginning(text: &str, most: usize) -> String {
    plain(text).chars().take(most).collect()
}

/// Removes control characters that move the cursor or change the writing direction.
fn plain(text: &str) -> String {
    let is_turn = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| !c.is_control() && !is_turn(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: Help = Help { by_end: true, is_known: true };

    fn report(code: Code, context: Where, is_jj: bool, other: Option<&str>) -> Report {
        let change = Some("abc123456789def0".to_owned());
        Report::new(code, Decision::Deny, context, "def45678-90", is_jj).about(change, other.map(Into::into), HELP)
    }

    #[test]
    fn another_sessions_change() {
        let text = report(Code::ConcurrentSession, Where::Now, true, Some("abc12345-67")).text("Claude");
        let expected = "Error: Concurrent Claude session detected\n\n\
            The working copy is a change that another session has made.\n\
            That session may be at work in this repository.\n\n\
            To fix:\n\
            1. Agent: stop, and show this to your user; until then, only tools that read may run\n\
            2. User: let the other session finish, or end it: `git checkpoint session end abc12345-67`\n\
            3. User: run `jj edit <your-work>` to return to your own work\n\
            4. Retry in this session\n\n\
            Current change: abc123456789\n\
            This session:   def45678-90\n\
            Other session:  abc12345-67\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_temporary_workspace() {
        let text = report(Code::TemporaryWorkspace, Where::Original, true, None).text("Claude");
        let expected = "Error: Temporary workspace detected\n\n\
            The stored original working copy is a temporary workspace of an agent, not a change of yours.\n\
            A session was interrupted here, or another one is at work.\n\n\
            To fix:\n\
            1. Agent: stop, and show this to your user\n\
            2. User: run `jj edit <your-work>` to return to your own work\n\
            3. User: drop the workspace if nothing in it is needed: `jj abandon abc123456789`\n\
            4. Retry in this session\n\n\
            Current change: abc123456789\n\
            This session:   def45678-90\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_warning_does_not_ask_to_stop() {
        let report = Report::new(Code::TemporaryWorkspace, Decision::Warn, Where::Now, "x", false);
        let report = report.about(Some("abc".into()), None, HELP);
        let steps = [
            "User: run `git switch <your-branch>` to return to your own work",
            "User: look at what was left behind: `git show abc`",
        ];
        assert_eq!(report.fix, steps);
        assert!(report.text("Claude").starts_with("Warning: Temporary workspace detected\n"));
    }

    #[rstest::rstest]
    #[case::end(Code::ConcurrentSession, Help { by_end: true, ..HELP }, "session end x`")]
    #[case::own_commit(Code::ConcurrentSession, Help { by_end: false, ..HELP }, "`git commit --allow-empty`")]
    #[case::adopt(Code::AgentWorktree, HELP, ": `git checkpoint session adopt def`")]
    #[case::start(Code::AgentWorktree, Help { is_known: false, ..HELP }, "session start def && git checkpoint session adopt def`")]
    fn only_steps_that_help_are_named(#[case] code: Code, #[case] help: Help, #[case] expected: &str) {
        let report = Report::new(code, Decision::Deny, Where::Now, "def", false).about(None, Some("x".into()), help);
        assert!(report.fix[1..3].iter().any(|step| step.ends_with(expected)), "{:?}", report.fix);
        assert_eq!(report.fix.iter().any(|step| step.contains("session end")), expected.contains("session end"));
    }

    #[test]
    fn every_code_has_two_sentences_and_four_steps() {
        let codes = [
            Code::AgentWorktree,
            Code::TemporaryWorkspace,
            Code::StartingPointMoved,
            Code::StartingPointDiverged,
            Code::ConcurrentSession,
            Code::ToolCallOpen,
        ];
        for (code, is_jj) in codes.into_iter().flat_map(|code| [(code, true), (code, false)]) {
            let text = report(code, Where::Now, is_jj, Some("x")).text("Codex");
            let paragraphs: Vec<&str> = text.split("\n\n").collect();
            assert_eq!(paragraphs.len(), 4, "{text}");
            assert_eq!(paragraphs[1].lines().filter(|line| line.ends_with('.')).count(), 2, "{text}");
            assert_eq!(paragraphs[2].lines().count(), 5, "{text}");
            assert!(is_jj || !text.contains("jj "), "{text}");
        }
    }

    #[rstest::rstest]
    #[case::letters("äöüäöüäöüäöüäöüäöüäöü", "äöüäöüäöüäöüäöüäöü")]
    #[case::of_one_moment("0196b1f2-aaaa-7bbb-8ccc-0123456789ab", "0196b1f2-aaaa-7bbb")]
    #[case::short("ä", "ä")]
    #[case::control("\u{1b}[31mred\n\u{7}alert", "[31mredalert")]
    #[case::direction("\u{202e}abcdefghijklmnopqrst", "abcdefghijklmnopqr")]
    #[case::combined(
        "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}",
        "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}"
    )]
    fn ids_are_cut_by_characters(#[case] id: &str, #[case] expected: &str) {
        let report = Report::new(Code::ToolCallOpen, Decision::Deny, Where::Now, id, false);
        let report = report.about(None, Some(id.into()), HELP);
        let text = report.text("A\u{1b}gent");
        assert!(text.starts_with("Error: Concurrent Agent session detected\n"), "{text}");
        assert!(text.ends_with(&format!("\n\nThis session:   {expected}\nOther session:  {expected}\n")), "{text}");
    }

    #[rstest::rstest]
    #[case::plain("a-b_c.1", true)]
    #[case::command("$(rm -r .)", false)]
    #[case::two("a b", false)]
    #[case::option("--all", false)]
    #[case::empty("", false)]
    fn only_plain_ids_stand_in_commands(#[case] id: &str, #[case] expected: bool) {
        let steps = report(Code::ToolCallOpen, Where::Now, false, Some(id)).fix;
        assert_eq!(steps[1].contains(&format!("session end {id}`")), expected, "{steps:?}");
        assert_eq!(steps[1].contains("session list"), !expected, "{steps:?}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_the_shape(agent: String, own: String, other: String, change: String) {
            let report = Report::new(Code::ConcurrentSession, Decision::Deny, Where::Now, &own, false);
            let text = report.about(Some(change), Some(other), HELP).text(&agent);
            proptest::prop_assert_eq!(text.lines().count(), 14);
            proptest::prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
        }
    }
}
