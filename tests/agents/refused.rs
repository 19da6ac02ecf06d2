//! A command that an agent has asked for and that no event follows: the user refuses it, or is still asked.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use git_checkpoint::testing::model::turns::Turns;

use super::words;
use crate::support::{World, processes::described};

/// Runs a line of its standard input and waits for it, or starts it, or ends what it has started.
const AGENT: &str = "
started=
while read -r word rest; do
    case $word in
    run) sh -c \"$rest\" </dev/null; echo $? ;;
    start) sh -c \"$rest\" </dev/null >/dev/null & started=\"$started $!\"; echo 0 ;;
    *) kill -s KILL $started; wait; started=; echo 0 ;;
    esac
done
";

/// An agent that is a process of its own; the test itself acts as a person beside it.
struct Agent {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Agent {
    fn new(world: &World) -> Self {
        let mut agent = Self::silent(world);
        agent.event(world, "UserPromptSubmit", "");
        agent
    }

    /// An agent that has reported nothing yet.
    fn silent(world: &World) -> Self {
        world.git(&["config", "checkpoint.agents.preToolScan", "0"]);
        // A shell with a name of its own: our program never takes a process called `sh` for an agent.
        world.sh("ln -s \"$(command -v sh)\" ../agent");
        let mut command = world.command(world.root().join("agent").to_str().expect("in UTF-8"));
        let child =
            command.args(["-c", AGENT]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("a shell starts");
        let orders = child.stdin.take().expect("it is piped");
        let answers = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, orders, answers }
    }

    fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("it reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("it answers");
        assert_eq!(answer.trim(), "0", "{order}");
    }

    /// Reports an event of the session `s`.
    fn event(&mut self, world: &World, event: &str, call: &str) {
        self.tell(world, &world.claude(event, "s", call));
    }

    fn tell(&mut self, world: &World, payload: &serde_json::Value) {
        fs::write(world.root().join("event.json"), payload.to_string()).expect("it can be written");
        self.order("run git checkpoint hook --agent claude-code <../event.json");
    }
}

/// Returns the payload of `event` of a command that the agent runs in the background.
fn in_background(world: &World, event: &str) -> serde_json::Value {
    let mut payload = world.claude(event, "s", "1");
    payload["tool_input"]["run_in_background"] = true.into();
    payload
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(writeln!(self.orders, "end"));
        drop(self.answers.read_line(&mut String::new()));
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A world where the agent has asked for a command.
fn asked() -> (World, Agent) {
    let world = World::with_lines();
    let mut agent = Agent::new(&world);
    agent.event(&world, "PreToolUse", "1");
    (world, agent)
}

#[test]
fn a_persons_saves_after_an_interruption_are_not_the_agents() {
    let (world, _agent) = asked();
    world.add("f", "of a person, or of a command that was interrupted");
    world.done(&["save", "-q"]);
    world.add("g", "of a person");
    world.done(&["save", "-q"]);
    assert_eq!(world.chain(), ["unknown f", "human g"]);
    world.finish();
}

#[test]
fn a_persons_commits_after_an_interruption_are_not_the_agents() {
    let (world, _agent) = asked();
    world.add("f", "of a person, or of a command that was interrupted");
    world.commit();
    assert_eq!(world.owners(), ["f unknown 1"]);
    world.add("g", "of a person");
    world.commit();
    assert_eq!(world.owners(), ["g human 1"]);
    world.finish();
}

#[test]
fn while_the_command_runs_a_change_is_the_agents() {
    let (world, mut agent) = asked();
    agent.order("start exec sleep 600");
    world.add("f", "of the command");
    world.done(&["save", "-q"]);
    assert_eq!(world.chain(), ["s f"]);
    agent.order("end");
    world.add("g", "of a person, or of the command before it ended");
    world.done(&["save", "-q"]);
    assert_eq!(world.chain()[1..], ["unknown g"]);
    agent.event(&world, "PostToolUse", "1");
    agent.event(&world, "Stop", "");
    assert_eq!(world.chain().len(), 2);
    world.finish();
}

#[test]
fn a_commit_by_the_command_itself_is_the_agents() {
    let (world, mut agent) = asked();
    agent.order("run echo of the command >>f && git commit -qam of-the-command");
    agent.event(&world, "PostToolUse", "1");
    assert_eq!(world.owners(), ["f agent 1"]);
    agent.event(&world, "Stop", "");
    world.finish();
}

/// As long as the command runs, a change is the agent's. `model::turns::involvement` has all states of a command.
#[rstest::rstest]
#[case::prompt("UserPromptSubmit", "", true)]
#[case::prompt_while_it_runs("UserPromptSubmit", "", false)]
#[case::tool("PreToolUse", "2", true)]
#[case::helper_while_it_runs("SubagentStop", "1", false)]
#[case::stop("Stop", "", true)]
#[case::end_while_it_runs("SessionEnd", "", false)]
fn changes_before_the_next_event_are_the_agents_only_while_its_command_runs(
    #[case] event: &str,
    #[case] call: &str,
    #[case] rests: bool,
) {
    let (world, mut agent) = asked();
    if !rests {
        agent.order("start exec sleep 600");
    }
    world.add("f", "of a person, or of the command");
    agent.event(&world, event, call);
    assert_eq!(world.chain(), [if rests { "unknown f" } else { "s f" }]);
    world.finish();
}

#[test]
fn however_long_ago_it_asked() {
    let (world, mut agent) = asked();
    let path = world.repo().join(".git/checkpoint/turns.toml");
    let mut turns = Turns::parse(&fs::read_to_string(&path).expect("it is there")).expect("it is sound");
    turns.find_mut("s").expect("it has a turn").calls[0].started = 1;
    fs::write(path, turns.to_toml()).expect("it is ours");
    world.add("f", "of a person, or of a command that was interrupted");
    agent.event(&world, "UserPromptSubmit", "");
    assert_eq!(world.chain(), ["unknown f"]);
    world.finish();
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
    let world = World::with_lines();
    world.prompt("s");
    world.shell("s", "1", "g", "of the shell");
    if !asks_about.is_empty() {
        world.before("s", "2", asks_about);
    }
    world.add("h", "of a person, or of what the shell has left running");
    world.event(event, "s", &serde_json::json!({}));
    assert_eq!(world.chain(), ["s g", "unknown h"]);
    world.finish();
}

/// The author of changes since the command began is unknown; changes after the commit are a person's.
#[rstest::rstest]
#[case::command("Bash", false)]
#[case::tool_that_names_its_files_and_the_session_goes_on("Write", true)]
fn a_commit_after_an_agent_was_killed_in_a_tool_has_an_unknown_author(#[case] tool: &str, #[case] goes_on: bool) {
    let world = World::with_lines();
    let mut agent = Agent::new(&world);
    let mut payload = world.claude("PreToolUse", "s", "1");
    payload["tool_name"] = tool.into();
    if tool == "Write" {
        payload["tool_input"] = serde_json::json!({ "file_path": world.repo().join("f"), "content": "" });
    }
    agent.tell(&world, &payload);
    agent.child.kill().expect("it is ours");
    agent.child.wait().expect("it has ended");
    world.add("f", "half of it, or of a person");
    let status = world.json(&["status", "--json"]);
    assert_eq!(status["sessions"][0]["life"], "dead", "{status}");
    assert!(world.done(&["status"]).contains("process gone"));
    world.commit();
    assert_eq!(world.owners(), ["f unknown 1"]);
    assert!(world.done(&["explain"]).contains("f (1 line of an unknown author)\n"));
    world.add("g", "of a person");
    if goes_on {
        world.prompt("s");
    }
    world.commit();
    assert_eq!(world.owners(), ["g human 1"]);
    world.finish();
}

/// The same however it is saved: by a person, by a person's `doctor` or `session stop`, by the next prompt or tool, and not at all
/// yet. `model::turns::involvement` has all tools in all states.
#[rstest::rstest]
#[case::command("", "Bash")]
#[case::named_file("", "Write")]
#[case::in_the_background("", "in the background")]
#[case::named_file_and_save("save -q", "Write")]
#[case::command_and_save("save -q", "Bash")]
#[case::in_the_background_and_doctor("doctor --fix", "in the background")]
#[case::command_and_doctor("doctor --fix", "Bash")]
#[case::command_and_stop("session stop s", "Bash")]
#[case::named_file_and_stop("session stop s", "Write")]
#[case::command_and_prompt("prompt s", "Bash")]
#[case::command_and_prompt_to_another("prompt t", "Bash")]
#[case::named_file_and_tool_of_another("tool t", "Write")]
#[case::named_file_and_prompt("prompt s", "Write")]
#[case::in_the_background_and_prompt_to_another("prompt t", "in the background")]
#[case::command_and_tool_of_another("tool t", "Bash")]
fn what_is_there_after_an_agent_was_killed_in_a_tool_is_of_an_unknown_author(#[case] then: &str, #[case] tool: &str) {
    let world = World::with_lines();
    let mut agent = Agent::new(&world);
    let mut payload = world.claude("PreToolUse", "s", "1");
    match tool {
        "Write" => {
            payload["tool_name"] = tool.into();
            payload["tool_input"] = serde_json::json!({ "file_path": world.repo().join("f"), "content": "" });
        }
        "Bash" => {}
        _ => payload["tool_input"]["run_in_background"] = true.into(),
    }
    agent.tell(&world, &payload);
    if tool == "in the background" {
        agent.order("start exec sleep 2");
        payload["hook_event_name"] = "PostToolUse".into();
        agent.tell(&world, &payload);
    }
    world.add("f", "half of it");
    agent.child.kill().expect("it is ours");
    agent.child.wait().expect("it has ended");
    if tool != "Write" {
        world.add("g", "of a person");
    }
    match then.split_once(' ') {
        Some(("prompt", session)) => drop(world.answer("prompt", session, &serde_json::json!({}))),
        Some(("tool", session)) => drop(world.answer("pre-tool", session, &words::tool("9", &["h"]))),
        None => {}
        Some(_) => drop(world.done(&then.split(' ').collect::<Vec<_>>())),
    }
    for file in ["f", "g"].iter().take(if tool == "Write" { 1 } else { 2 }) {
        let lines = world.json(&["blame", "--json", file])["lines"].as_array().expect("a list").clone();
        assert_eq!(lines.last().expect("a line")["owner"], "unknown", "{file}: {lines:?}");
    }
    world.done(&["save", "-q"]);
    world.finish();
}

/// The call is older than `stale-after`.
#[rstest::rstest]
#[case::command("Bash", "")]
#[case::named_file_and_save("Write", "save")]
#[case::command_and_commit("Bash", "commit")]
fn what_is_there_long_after_an_agent_was_killed_in_a_tool_is_of_an_unknown_author(
    #[case] tool: &str,
    #[case] then: &str,
) {
    let world = World::with_lines();
    let mut agent = Agent::new(&world);
    let mut payload = world.claude("PreToolUse", "s", "1");
    if tool == "Write" {
        payload["tool_name"] = tool.into();
        payload["tool_input"] = serde_json::json!({ "file_path": world.repo().join("f"), "content": "" });
    }
    agent.tell(&world, &payload);
    agent.child.kill().expect("it is ours");
    agent.child.wait().expect("it has ended");
    world.add("f", "half of it");
    let path = world.repo().join(".git/checkpoint/turns.toml");
    let turns = std::fs::read_to_string(&path).expect("it is there");
    let aged = |line: &str| if line.starts_with("started = ") { "started = 1".to_owned() } else { line.to_owned() };
    std::fs::write(&path, turns.lines().map(aged).collect::<Vec<_>>().join("\n")).expect("it is ours");
    match then {
        "save" => drop(world.done(&["save", "-q"])),
        "commit" => world.commit(),
        _ => {}
    }
    let lines = world.json(&["blame", "--json", "f"])["lines"].as_array().expect("a list").clone();
    assert_eq!(lines.last().expect("a line")["owner"], "unknown", "{lines:?}");
    world.done(&["save", "-q"]);
    world.finish();
}

/// Its author is unknown while it runs, and from its end until a save or the next event sees that it has ended.
#[rstest::rstest]
fn a_command_in_the_background_outlives_its_turn(
    #[values("save", "commit", "quiet commit", "prompt", "end")] then: &str,
) {
    let world = World::with_lines();
    let mut agent = Agent::new(&world);
    agent.tell(&world, &in_background(&world, "PreToolUse"));
    agent.order("start exec sleep 600");
    agent.tell(&world, &in_background(&world, "PostToolUse"));
    agent.event(&world, "Stop", "");
    world.add("f", "of the command, or of a person");
    let lines = world.json(&["blame", "--json", "f"])["lines"].clone();
    assert_eq!(lines[lines.as_array().map_or(0, Vec::len) - 1]["owner"], "unknown", "{lines}");
    world.done(&["save", "-q"]);
    agent.order("end");
    world.add("g", "of the command before it ended, or of a person");
    match then {
        "save" => drop(world.done(&["save", "-q"])),
        "commit" => {
            world.commit();
            assert_eq!(world.owners(), ["f unknown 1", "g unknown 1"]);
        }
        "quiet commit" => {
            world.sh("git add -A; git -c core.hooksPath=/dev/null commit -qm quiet");
            world.done(&["save", "-q"]);
            assert_eq!(world.owners(), ["f unknown 1", "g unknown 1"]);
        }
        "prompt" => {
            agent.event(&world, "UserPromptSubmit", "");
            agent.event(&world, "Stop", "");
        }
        _ => agent.event(&world, "SessionEnd", ""),
    }
    if !then.ends_with("commit") {
        assert_eq!(world.chain(), ["unknown f", "unknown g"]);
    }
    world.add("h", "of a person");
    world.commit();
    assert_eq!(world.owners().last().map(String::as_str), Some("h human 1"));
    world.finish();
}

/// The session reports no tools. It may have made the changes before it died, or a person since.
#[rstest::rstest]
fn what_is_there_when_a_session_without_tools_goes_on_in_another_process_has_an_unknown_author(
    #[values(false, true)] starts: bool,
) {
    let world = World::with_lines();
    let mut agent = Agent::new(&world);
    agent.order("run git checkpoint session prompt t -q");
    agent.child.kill().expect("it is ours");
    agent.child.wait().expect("it has ended");
    world.add("f", "of the agent, or of a person");
    if starts {
        world.done(&["session", "start", "t", "-q"]);
    }
    world.done(&["session", "prompt", "t", "-q"]);
    assert_eq!(world.chain(), ["unknown f"]);
    world.finish();
}

/// The session reports no tools, and is killed in its turn: it may have made the changes before, or a person since.
#[rstest::rstest]
fn what_is_there_after_a_session_without_tools_was_killed_has_an_unknown_author(
    #[values(
        "",
        "save -q",
        "doctor --fix",
        "session stop t -q",
        "session end t -q",
        "session adopt t --force -q",
        "session prompt u -q",
        "commit"
    )]
    then: &str,
) {
    let world = World::with_lines();
    let mut agent = Agent::silent(&world);
    agent.order("run git checkpoint session prompt t -q");
    agent.child.kill().expect("it is ours");
    agent.child.wait().expect("it has ended");
    world.add("f", "of the agent, or of a person");
    match then {
        "" => {}
        "commit" => world.commit(),
        _ => drop(world.done(&then.split(' ').collect::<Vec<_>>())),
    }
    let lines = world.json(&["blame", "--json", "f"])["lines"].as_array().expect("a list").clone();
    assert_eq!(lines.last().expect("a line")["owner"], "unknown", "{lines:?}");
    world.finish();
}

/// Another process goes on with the session, and has not changed anything.
#[rstest::rstest]
#[case::command("Bash", ".", false)]
#[case::command_elsewhere("Bash", "../side", true)]
#[case::in_the_background("in the background", ".", true)]
#[case::in_the_background_elsewhere("in the background", "../side", false)]
fn what_is_there_when_a_killed_session_is_resumed_has_an_unknown_author(
    #[case] tool: &str,
    #[case] place: &str,
    #[case] starts: bool,
) {
    let world = World::with_lines();
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let mut agent = Agent::new(&world);
    let mut payload = world.claude("PreToolUse", "s", "1");
    payload["tool_input"]["run_in_background"] = (tool != "Bash").into();
    agent.tell(&world, &payload);
    if tool != "Bash" {
        agent.order("start exec sleep 2");
        payload["hook_event_name"] = "PostToolUse".into();
        agent.tell(&world, &payload);
    }
    agent.child.kill().expect("it is ours");
    agent.child.wait().expect("it has ended");
    world.add("f", "of a person");
    let there = serde_json::json!({ "cwd": world.repo().join(place).canonicalize().expect("it was made") });
    if starts {
        world.event("session-start", "s", &there);
    }
    world.event("prompt", "s", &there);
    assert_eq!(world.chain(), ["unknown f"]);
    world.finish();
}

/// A person may have made the changes, or the command.
#[test]
fn what_changes_beside_a_command_in_the_background_has_an_unknown_author_at_the_stop() {
    let world = World::with_lines();
    let mut agent = Agent::new(&world);
    agent.tell(&world, &in_background(&world, "PreToolUse"));
    agent.order("start exec sleep 600");
    agent.tell(&world, &in_background(&world, "PostToolUse"));
    world.add("f", "of the command, or of a person");
    agent.event(&world, "Stop", "");
    assert_eq!(world.chain(), ["unknown f"]);
    agent.order("end");
    world.finish();
}

/// The shell that the agent keeps runs both the command and the hooks.
#[test]
fn a_command_in_the_background_of_the_shell_that_runs_the_hooks_outlives_its_turn() {
    let world = World::with_lines();
    let mut agent = Agent::new(&world);
    for event in ["PreToolUse", "PostToolUse", "Stop"] {
        let mut payload = world.claude(event, "s", "1");
        payload["tool_input"]["run_in_background"] = true.into();
        fs::write(world.root().join(event), payload.to_string()).expect("it can be written");
    }
    let hook = |event: &str| format!("git checkpoint hook --agent claude-code <../{event}");
    let script = format!(
        "sleep 0.1; {}; sleep 600 >/dev/null 2>&1 & {}; {}; echo $! >../pid",
        hook("PreToolUse"),
        hook("PostToolUse"),
        hook("Stop")
    );
    agent.order(&format!("run {script}"));
    world.add("f", "of the command, or of a person");
    world.done(&["save", "-q"]);
    assert_eq!(world.chain(), ["unknown f"]);
    world.sh("kill $(cat ../pid)");
    world.finish();
}

/// The command of the first turn still runs in the second, which only edits a file.
#[test]
fn a_command_that_an_earlier_turn_has_left_does_not_make_a_persons_work_the_agents() {
    let world = World::with_lines();
    let mut agent = Agent::new(&world);
    let mut payload = world.claude("PreToolUse", "s", "1");
    payload["tool_input"]["run_in_background"] = true.into();
    agent.tell(&world, &payload);
    agent.order("start exec sleep 600");
    payload["hook_event_name"] = "PostToolUse".into();
    agent.tell(&world, &payload);
    agent.event(&world, "Stop", "");
    agent.event(&world, "UserPromptSubmit", "");
    for event in ["PreToolUse", "PostToolUse"] {
        let mut payload = world.claude(event, "s", "2");
        payload["tool_name"] = "Write".into();
        payload["tool_input"] = serde_json::json!({ "file_path": world.repo().join("f"), "content": "" });
        agent.tell(&world, &payload);
        if event == "PreToolUse" {
            world.add("f", "of the agent");
        }
    }
    world.add("g", "of the command, or of a person");
    agent.event(&world, "Stop", "");
    world.commit();
    assert_eq!(world.owners(), ["f agent 1", "g unknown 1"]);
    agent.order("end");
    world.finish();
}

/// Some models count their calls from zero in every answer, and some agents report no ids at all.
#[rstest::rstest]
fn a_command_in_the_background_is_no_later_call_with_the_same_id(
    #[values("0", "")] id: &str,
    #[values(false, true)] stops: bool,
) {
    let world = World::with_lines();
    let mut agent = Agent::new(&world);
    let payload = |event: &str, in_background: bool| {
        let mut payload = world.claude(event, "s", id);
        payload["tool_input"]["run_in_background"] = in_background.into();
        if id.is_empty() {
            payload.as_object_mut().expect("an object").remove("tool_use_id");
        }
        payload
    };
    agent.tell(&world, &payload("PreToolUse", true));
    agent.order("start exec sleep 600");
    agent.tell(&world, &payload("PostToolUse", true));
    if stops {
        agent.event(&world, "Stop", "");
        agent.event(&world, "UserPromptSubmit", "");
    }
    world.add("g", "of the first command, or of a person");
    agent.tell(&world, &payload("PreToolUse", false));
    agent.order("run echo of the second command >>f");
    agent.tell(&world, &payload("PostToolUse", false));
    assert_eq!(world.chain(), ["unknown g", "s f"]);
    agent.event(&world, "Stop", "");
    world.add("h", "of the first command, or of a person");
    world.commit();
    assert_eq!(world.owners(), ["f agent 1", "g unknown 1", "h unknown 1"]);
    agent.order("end");
    world.finish();
}

/// The agent starts another process later: the server of a tool, say.
#[test]
fn what_an_agent_starts_later_is_no_command_that_it_has_left_in_the_background() {
    let world = World::with_lines();
    let mut agent = Agent::new(&world);
    let mut payload = world.claude("PreToolUse", "s", "1");
    payload["tool_input"]["run_in_background"] = true.into();
    agent.tell(&world, &payload);
    agent.order("start exec sleep 600");
    payload["hook_event_name"] = "PostToolUse".into();
    agent.tell(&world, &payload);
    agent.event(&world, "Stop", "");
    agent.order("end");
    agent.order("start exec sleep 601");
    world.add("f", "of the command before it ended, or of a person");
    world.done(&["save", "-q"]);
    world.add("g", "of a person");
    world.commit();
    assert_eq!(world.owners(), ["f unknown 1", "g human 1"]);
    agent.order("end");
    world.finish();
}

/// It is of an earlier turn, or of this one, in which a person commits.
#[rstest::rstest]
fn a_helper_that_stops_leaves_its_command_in_the_background(#[values(true, false)] is_of_earlier_turn: bool) {
    let world = World::with_lines();
    let mut agent = Agent::new(&world);
    let of_helper = |event: &str| {
        let mut payload = world.claude(event, "s", "1");
        payload["tool_input"]["run_in_background"] = true.into();
        payload["agent_id"] = "h".into();
        payload
    };
    agent.tell(&world, &of_helper("PreToolUse"));
    agent.order("start exec sleep 600");
    agent.tell(&world, &of_helper("PostToolUse"));
    if is_of_earlier_turn {
        agent.event(&world, "Stop", "");
        agent.event(&world, "UserPromptSubmit", "");
        world.add("f", "of the command, or of a person");
    }
    agent.tell(&world, &of_helper("SubagentStop"));
    world.add("g", "of the command, or of a person");
    if is_of_earlier_turn {
        agent.event(&world, "Stop", "");
    }
    world.commit();
    let owners = world.owners();
    assert!(owners.iter().all(|owner| owner.ends_with(" unknown 1")), "{owners:?}");
    agent.order("end");
    world.finish();
}

/// The agent asks whether it may edit a file, and the user edits it instead.
#[rstest::rstest]
fn what_a_person_commits_while_the_agent_asks_about_a_file_is_not_the_agents(
    #[values("commit", "save", "blame")] then: &str,
) {
    let world = World::with_lines();
    let mut agent = Agent::new(&world);
    let mut payload = world.claude("PreToolUse", "s", "1");
    payload["tool_name"] = "Write".into();
    payload["tool_input"] = serde_json::json!({ "file_path": world.repo().join("f"), "content": "" });
    agent.tell(&world, &payload);
    world.add("f", "of a person");
    world.add("g", "of a person");
    match then {
        "save" => drop(world.done(&["save", "-q"])),
        "blame" => {
            let lines = world.json(&["blame", "--json", "f"])["lines"].as_array().expect("a list").clone();
            assert_eq!(lines.last().expect("a line")["owner"], "unknown", "{lines:?}");
        }
        _ => {}
    }
    world.commit();
    assert_eq!(world.owners(), ["f unknown 1", "g human 1"]);
    world.add("f", "of the agent");
    payload["hook_event_name"] = "PostToolUse".into();
    agent.tell(&world, &payload);
    agent.event(&world, "Stop", "");
    world.commit();
    assert_eq!(world.owners(), ["f agent 1"]);
    world.finish();
}

/// A command that saves says what it has saved, also if a tool that names the file is still open, and that the author is unknown.
#[test]
fn a_save_says_that_it_does_not_know_the_author() {
    const HINT: &str = "hint: an agent may have made it; 'git checkpoint save --contributor human' saves what is yours";
    let world = World::with_lines();
    let mut agent = Agent::new(&world);
    let mut payload = world.claude("PreToolUse", "s", "1");
    payload["tool_name"] = "Edit".into();
    payload["tool_input"] = serde_json::json!({ "file_path": world.repo().join("f").display().to_string() });
    agent.tell(&world, &payload);
    world.add("f", "of a person who has refused it, or of the tool");
    let said = described(&world.checkpoint(&["save"]));
    assert!(said.contains("saved ") && said.contains("(1 path, author unknown)") && said.contains(HINT), "{said}");
    assert_eq!(world.chain(), ["unknown f"]);
    world.add("f", "of a person or the tool");
    world.add("g", "of a person");
    let said = described(&world.checkpoint(&["save"]));
    assert!(said.contains("(2 paths, author of 1 unknown)") && said.contains(HINT), "{said}");
    world.add("f", "of a person, who says so");
    let saved = world.json(&["save", "--contributor", "human", "--json"]);
    assert_eq!((&saved["created"], &saved["contributor"]), (&true.into(), &"human".into()), "{saved}");
    assert_eq!(world.chain(), ["unknown f", "unknown f", "human g", "human f"]);
    let said = described(&world.checkpoint(&["save"]));
    assert!(said.contains("nothing has changed since") && !said.contains("unknown"), "{said}");
    world.finish();
}
