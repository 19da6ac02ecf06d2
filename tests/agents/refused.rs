//! A command that an agent has asked for and that no event follows: the user refuses it, or is still asked.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use git_checkpoint::testing::model::turns::Turns;

use super::{desk::Desk, guard::claude};

/// Runs a line of its standard input and waits for it, or starts it, or ends what it has started.
const AGENT: &str = "
import subprocess, sys
started = []
for line in sys.stdin:
    word, _, rest = line.strip().partition(' ')
    if word == 'run':
        print(subprocess.call(rest, shell=True, stdin=subprocess.DEVNULL), flush=True)
    elif word == 'start':
        started.append(subprocess.Popen(rest, shell=True, stdin=subprocess.DEVNULL))
        print(0, flush=True)
    else:
        for it in started:
            it.kill()
            it.wait()
        print(0, flush=True)
";

/// An agent that is a process of its own; the test itself acts as a person beside it.
struct Agent {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Agent {
    fn new(desk: &Desk) -> Self {
        desk.git(&["config", "checkpoint.agents.preToolScan", "0"]);
        let mut command = desk.command("python3");
        let child =
            command.args(["-c", AGENT]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("python starts");
        let orders = child.stdin.take().expect("it is piped");
        let answers = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut agent = Self { child, orders, answers };
        agent.event(desk, "UserPromptSubmit", "");
        agent
    }

    fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("it reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("it answers");
        assert_eq!(answer.trim(), "0", "{order}");
    }

    /// Reports an event of the session `s`.
    fn event(&mut self, desk: &Desk, event: &str, call: &str) {
        let path = desk.root().join("event.json");
        fs::write(path, claude(&desk.world, event, "s", call).to_string()).expect("it can be written");
        self.order("run git checkpoint hook --agent claude-code <../event.json");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(writeln!(self.orders, "end"));
        drop(self.answers.read_line(&mut String::new()));
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A desk where the agent has asked for a command.
fn asked() -> (Desk, Agent) {
    let desk = Desk::new();
    let mut agent = Agent::new(&desk);
    agent.event(&desk, "PreToolUse", "1");
    (desk, agent)
}

#[test]
fn a_persons_saves_after_an_interruption_are_not_the_agents() {
    let (desk, _agent) = asked();
    desk.add("f", "of a person, or of a command that was interrupted");
    desk.done(&["save", "-q"]);
    desk.add("g", "of a person");
    desk.done(&["save", "-q"]);
    assert_eq!(desk.chain(), ["unknown f", "human g"]);
    desk.finish();
}

#[test]
fn a_persons_commits_after_an_interruption_are_not_the_agents() {
    let (desk, _agent) = asked();
    desk.add("f", "of a person, or of a command that was interrupted");
    desk.commit();
    assert_eq!(desk.owners(), ["f unknown 1"]);
    desk.add("g", "of a person");
    desk.commit();
    assert_eq!(desk.owners(), ["g human 1"]);
    desk.finish();
}

#[test]
fn while_the_command_runs_a_change_is_the_agents() {
    let (desk, mut agent) = asked();
    agent.order("start exec sleep 600");
    desk.add("f", "of the command");
    desk.done(&["save", "-q"]);
    assert_eq!(desk.chain(), ["s f"]);
    agent.order("end");
    desk.add("g", "of a person, or of the command before it ended");
    desk.done(&["save", "-q"]);
    assert_eq!(desk.chain()[1..], ["unknown g"]);
    agent.event(&desk, "PostToolUse", "1");
    agent.event(&desk, "Stop", "");
    assert_eq!(desk.chain().len(), 2);
    desk.finish();
}

#[test]
fn a_commit_by_the_command_itself_is_the_agents() {
    let (desk, mut agent) = asked();
    agent.order("run echo of the command >>f && git commit -qam of-the-command");
    agent.event(&desk, "PostToolUse", "1");
    assert_eq!(desk.owners(), ["f agent 1"]);
    agent.event(&desk, "Stop", "");
    desk.finish();
}

/// As long as the command runs, a change is the agent's.
#[rstest::rstest]
#[case::prompt("UserPromptSubmit", "")]
#[case::tool("PreToolUse", "2")]
#[case::helper("SubagentStop", "1")]
#[case::stop("Stop", "")]
#[case::end("SessionEnd", "")]
fn changes_before_the_next_event_are_the_agents_only_while_its_command_runs(
    #[case] event: &str,
    #[case] call: &str,
    #[values(true, false)] rests: bool,
) {
    let (desk, mut agent) = asked();
    if !rests {
        agent.order("start exec sleep 600");
    }
    desk.add("f", "of a person, or of the command");
    agent.event(&desk, event, call);
    assert_eq!(desk.chain(), [if rests { "unknown f" } else { "s f" }]);
    desk.finish();
}

#[test]
fn however_long_ago_it_asked() {
    let (desk, mut agent) = asked();
    let path = desk.repo().join(".git/checkpoint/turns.toml");
    let mut turns = Turns::parse(&fs::read_to_string(&path).expect("it is there")).expect("it is sound");
    turns.find_mut("s").expect("it has a turn").calls[0].started = 1;
    fs::write(path, turns.to_toml()).expect("it is ours");
    desk.add("f", "of a person, or of a command that was interrupted");
    agent.event(&desk, "UserPromptSubmit", "");
    assert_eq!(desk.chain(), ["unknown f"]);
    desk.finish();
}

/// An agent reports no interruption, or reports it late: while it waited, a person may have been at work.
#[rstest::rstest]
#[case::while_it_writes_text(&[], "prompt")]
#[case::while_it_asks_about_a_file(&["f"], "interrupt")]
#[case::while_it_asks_and_the_next_prompt_comes(&["f"], "prompt")]
fn changes_before_a_late_report_of_an_interruption_are_not_the_agents(
    #[case] asks_about: &[&str],
    #[case] event: &str,
) {
    let desk = Desk::new();
    desk.prompt("s");
    desk.shell("s", "1", "g", "of the shell");
    if !asks_about.is_empty() {
        desk.before("s", "2", asks_about);
    }
    desk.add("h", "of a person, or of what the shell has left running");
    desk.event(event, "s", &serde_json::json!({}));
    assert_eq!(desk.chain(), ["s g", "unknown h"]);
    desk.finish();
}

/// The author of changes since the command began is unknown; changes after the commit are a person's.
#[rstest::rstest]
fn a_commit_after_an_agent_was_killed_in_a_tool_has_an_unknown_author(
    #[values("Bash", "Write")] tool: &str,
    #[values(false, true)] goes_on: bool,
) {
    let desk = Desk::new();
    let mut agent = Agent::new(&desk);
    let mut payload = claude(&desk.world, "PreToolUse", "s", "1");
    payload["tool_name"] = tool.into();
    if tool == "Write" {
        payload["tool_input"] = serde_json::json!({ "file_path": desk.repo().join("f"), "content": "" });
    }
    fs::write(desk.root().join("event.json"), payload.to_string()).expect("it can be written");
    agent.order("run git checkpoint hook --agent claude-code <../event.json");
    agent.child.kill().expect("it is ours");
    agent.child.wait().expect("it has ended");
    desk.add("f", "half of it, or of a person");
    let status = desk.json(&["status", "--json"]);
    assert_eq!(status["sessions"][0]["life"], "dead", "{status}");
    assert!(desk.done(&["status"]).contains(", its process is gone\n"));
    desk.commit();
    assert_eq!(desk.owners(), ["f unknown 1"]);
    assert!(desk.done(&["explain"]).contains("f (1 line of an unknown author)\n"));
    desk.add("g", "of a person");
    if goes_on {
        desk.prompt("s");
    }
    desk.commit();
    assert_eq!(desk.owners(), ["g human 1"]);
    desk.finish();
}
