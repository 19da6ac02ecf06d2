//! Whose change it is, by when it was made.

use serde_json::{Value, json};

use super::words::tool;
use crate::support::World;

#[test]
fn changes_between_an_agents_events_are_the_users() {
    let world = World::with_lines();
    world.add("h", "before the prompt");
    world.prompt("s");
    world.add("g", "after the prompt");
    world.edit("s", "1", "f", "a");
    world.add("f", "between two tools");
    world.edit("s", "2", "f", "b");
    world.add("g", "before a shell");
    world.git(&["config", "checkpoint.agents.preToolScan", "0"]);
    world.shell("s", "3", "new", "c");
    assert_eq!(world.chain(), ["human h", "s f", "human f", "s f", "human g", "s new"]);
    world.stop("s");
    world.add("g", "after the stop");
    world.prompt("s");
    world.edit("s", "4", "f", "d");
    assert_eq!(world.chain()[6..], ["human g", "s f"]);
    world.commit();
    assert_eq!(world.owners(), ["f agent 3 human 1", "g human 3", "h human 1", "new agent 1"]);
    world.finish();
}

#[rstest::rstest]
#[case::save(&["save", "-q"])]
#[case::restore(&["restore", "-q", "base", "--", "h"])]
fn changes_saved_during_a_tool_call_are_its_sessions(#[case] command: &[&str]) {
    let world = World::with_lines();
    world.done(&["save", "-q"]);
    world.git(&["tag", "base"]);
    world.prompt("s");
    world.before("s", "1", &[]);
    world.add("f", "a");
    world.done(command);
    world.after("s", "1", &[]);
    world.stop("s");
    world.commit();
    assert!(world.owners().contains(&"f agent 1".to_owned()), "{:?}", world.owners());
    world.finish();
}

#[test]
fn in_a_clean_worktree_a_tool_takes_its_own_files_only() {
    let world = World::with_lines();
    world.prompt("s");
    world.add("g", "of a human");
    world.edit("s", "1", "f", "a");
    assert_eq!(world.chain(), ["s f"]);
    world.stop("s");
    assert_eq!(world.chain(), ["s f", "human g"]);
    world.finish();
}

/// Sends an event of a session as the agent does, or as its helper, if one is named.
fn recorded_by(world: &World, agent: &str, event: &str, helper: Option<&str>) {
    let cwd = world.repo().display().to_string();
    let payload = if agent == "opencode" {
        let hook = match event {
            "UserPromptSubmit" => "chat.message",
            "SubagentStart" => "session.created",
            _ => "session.idle",
        };
        let (id, parent) = (helper.unwrap_or("s"), helper.map(|_| "s"));
        let properties = json!({ "sessionID": id, "info": { "id": helper, "parentID": parent } });
        json!({ "plugin": agent, "hook": hook, "directory": cwd, "parent": parent,
            "input": { "sessionID": id, "properties": properties },
            "output": { "parts": [{ "type": "text", "text": "why?" }] } })
    } else {
        let name = match (agent, event) {
            ("gemini", "UserPromptSubmit") => "BeforeAgent",
            ("gemini", "Stop") => "AfterAgent",
            _ => event,
        };
        let time = (agent == "gemini").then_some("2026-11-21T20:52:14.927Z");
        json!({ "hook_event_name": name, "session_id": "s", "cwd": cwd, "prompt": "why?", "agent_id": helper,
            "timestamp": time })
    };
    let answer = world.tell(agent, &payload);
    assert!(["", "{}\n"].contains(&answer.as_str()), "{agent} {event}: {answer}");
}

#[rstest::rstest]
#[case::claude_code("claude-code", "human g")]
#[case::gemini("gemini", "human g")]
#[case::opencode("opencode", "human g")]
#[case::codex("codex", "s g")]
fn changes_in_a_turn_without_tools_are_the_users_if_the_agent_reports_all_tools(
    #[case] agent: &str,
    #[case] whose: &str,
) {
    let world = World::with_lines();
    recorded_by(&world, agent, "UserPromptSubmit", None);
    world.add("g", "while the agent answers");
    recorded_by(&world, agent, "Stop", None);
    assert_eq!(world.chain(), [whose]);
    world.finish();
}

#[rstest::rstest]
#[case::claude_code("claude-code", "human g")]
#[case::opencode("opencode", "human g")]
#[case::codex("codex", "s+h g")]
fn a_helper_that_only_talks_has_changed_nothing(#[case] agent: &str, #[case] whose: &str) {
    let world = World::with_lines();
    recorded_by(&world, agent, "UserPromptSubmit", None);
    recorded_by(&world, agent, "SubagentStart", Some("h"));
    world.add("g", "while the helper thinks");
    recorded_by(&world, agent, "SubagentStop", Some("h"));
    recorded_by(&world, agent, "Stop", None);
    assert_eq!(world.chain(), [whose]);
    world.finish();
}

/// What agents report of a tool call before it begins decides who gets its changes. Once a command has ended, a person may have
/// made them as well as a process that the command has left.
#[rstest::rstest]
#[case::of_an_open_call("gemini", ["captured-0.61.0.jsonl:2", "captured-0.61.0.jsonl:7", "captured-0.61.0.jsonl:26"], "694ad403-7190-425e-84c2-6a60499578dd")]
#[case::of_a_call_that_has_ended("opencode", ["prompt", "post-tool-bash", "stop"], "unknown")]
fn changes_by_a_process_that_a_shell_left_running(#[case] agent: &str, #[case] names: [&str; 3], #[case] author: &str) {
    let world = World::with_lines();
    let [prompt, tool, stop] = names;
    std::fs::create_dir(world.root().join("home/.gemini")).expect("a folder can be made");
    for name in [prompt, tool] {
        world.tell(agent, &world.fixture(agent, name));
    }
    // The agent is this process.
    let mut left = world.command("sleep").arg("600").spawn().expect("sleep starts");
    world.add("g", "of what the shell has started");
    world.tell(agent, &world.fixture(agent, stop));
    left.kill().and_then(|()| left.wait()).expect("it is ours");
    assert_eq!(world.chain(), [format!("{author} g")]);
    world.finish();
}

/// The pages say so, and a save at that moment makes them the person's.
#[rstest::rstest]
#[case::a_stop("stop")]
#[case::an_interruption("interrupt")]
fn a_persons_edit_after_the_last_command_of_a_turn_is_not_the_agents(#[case] end: &str) {
    let world = World::with_lines();
    world.prompt("s");
    world.shell("s", "1", "f", "a");
    world.add("g", "of a person");
    world.edit("s", "2", "h", "b");
    world.event(end, "s", &json!({}));
    assert_eq!(world.chain(), ["s f", "s h", "unknown g"]);
    world.finish();
}

/// A person's new file is in a checkpoint before a command takes it away, however soon that comes.
#[rstest::rstest]
#[case::claude_code("claude-code", "/tool_input/command", "pre-tool-bash", "/hook_event_name", ["PreToolUse", "PostToolUse"])]
#[case::gemini("gemini", "/tool_input/command", "captured-0.61.0.jsonl:7", "/hook_event_name", ["BeforeTool", "AfterTool"])]
#[case::windsurf("windsurf", "/tool_info/command_line", "pre-tool-command", "/agent_action_name", ["pre_run_command", "post_run_command"])]
#[case::generic("generic", "/tool/command", "post-tool", "/event", ["pre-tool", "post-tool"])]
fn nothing_of_a_persons_is_deleted_unsaved(
    #[case] agent: &str,
    #[case] command: &str,
    #[case] payload: &str,
    #[case] event: &str,
    #[case] events: [&str; 2],
) {
    let world = World::with_lines();
    for folder in [".claude", ".gemini", ".mine"] {
        std::fs::create_dir(world.root().join("home").join(folder)).expect("a folder can be made");
    }
    let mut payload = world.fixture(agent, payload);
    if agent == "generic" {
        payload["tool"] = json!({ "name": "shell", "command": "" });
    }
    let tell = |name: &str, text: &str| {
        let mut payload = payload.clone();
        for (pointer, value) in [(event, name), (command, text)] {
            *payload.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value.into();
        }
        world.tell(agent, &payload);
    };
    tell(events[0], "make");
    world.add("f", "of the agent");
    tell(events[1], "make");
    world.write("new", "of a person, a moment ago\n");
    tell(events[0], "git clean -fdq");
    world.git(&["clean", "-fdq"]);
    tell(events[1], "git clean -fdq");
    let chain = world.chain();
    assert_eq!((chain.len(), chain[1].as_str()), (3, "human new"), "{chain:?}");
    assert!(chain[2].ends_with(" new"), "{chain:?}");
}

#[test]
fn the_end_of_a_turn_closes_calls_that_still_run() {
    let world = World::with_lines();
    world.prompt("s");
    world.shell("s", "1", "f", "a");
    world.add("late", "of a process that no event named");
    world.stop("s");
    assert_eq!(world.chain(), ["s f", "unknown late"]);
    world.prompt("s");
    world.before("s", "2", &[]);
    world.add("f", "b");
    world.event("post-tool", "s", &json!({ "tool": { "name": "shell", "id": "2", "background": true } }));
    world.add("g", "of whom?");
    world.edit("s", "3", "g", "c");
    assert_eq!(world.chain()[2..], ["s f", "unknown g", "s g"]);
    world.add("h", "of a person, or of the command in the background");
    world.stop("s");
    assert_eq!(world.chain()[5..], ["unknown h"]);
    world.finish();
}

/// Nobody has deleted the lines before.
#[rstest::rstest]
#[case::restore("git restore -s HEAD~2 f")]
#[case::checkout("git checkout -q HEAD~ -- f")]
#[case::revert("git revert -n HEAD")]
#[case::by_hand("sed -i '/^of a person/d' f")]
fn lines_that_a_command_deletes_with_an_earlier_version_are_no_persons(#[case] script: &str) {
    let world = World::with_lines().with_clock();
    for number in [1, 2] {
        world.add("f", &format!("of a person {number}"));
        world.sh("GIT_COMMITTER_DATE='@1748779300 +0000' git commit -qam older");
    }
    world.prompt("s");
    world.before("s", "1", &[]);
    world.sh(script);
    world.after("s", "1", &[]);
    world.stop("s");
    world.commit();
    let summary = &world.json(&["attribution", "--json", "HEAD"])["summary"];
    assert_eq!(summary["human_removed"], 0, "{summary}");
    world.finish();
}

#[rstest::rstest]
fn beside_a_command_in_the_background_a_commit_knows_no_more_than_a_save(#[values(true, false)] saves: bool) {
    let world = World::with_lines();
    world.prompt("s");
    world.before("s", "1", &[]);
    world.add("f", "a");
    world.event("post-tool", "s", &json!({ "tool": { "name": "shell", "id": "1", "background": true } }));
    world.add("g", "of whom?");
    if saves {
        world.done(&["save", "-q"]);
    }
    world.git(&["commit", "-qam", "in the middle"]);
    assert_eq!(world.owners(), ["f agent 1", "g unknown 1"]);
    world.finish();
}

#[rstest::rstest]
fn what_a_turn_has_not_saved_when_it_is_given_up_is_no_persons(#[values(true, false)] reports: bool) {
    let world = World::with_lines();
    world.add("h", "before the prompt");
    world.prompt("s");
    if reports {
        world.shell("s", "1", "f", "a");
        world.before("s", "2", &[]);
    } else {
        world.add("f", "a");
    }
    world.add("g", "b");
    world.done(&["reset", "-q", "--session", "s"]);
    world.git(&["commit", "-qam", "all"]);
    assert_eq!(world.owners(), ["f agent 1", "g agent 1", "h human 1"]);
    world.finish();
}

#[test]
fn an_interrupted_tool_may_have_made_what_is_there() {
    let world = World::with_lines();
    world.prompt("s");
    world.before("s", "1", &["f"]);
    world.add("f", "a half");
    world.event("interrupt", "s", &json!({}));
    assert_eq!(world.chain(), ["unknown f"]);
    // The shell that kept running reports its end.
    world.add("g", "late");
    world.after("s", "2", &[]);
    assert_eq!(world.chain(), ["unknown f", "s g"]);
    world.prompt("s");
    world.before("s", "3", &[]);
    world.add("h", "then the next prompt comes");
    world.prompt("s");
    assert_eq!(world.chain()[2..], ["s h"]);
    world.event("session-end", "s", &json!({}));
    world.finish();
}

#[test]
fn parallel_tools_of_a_session_are_its_own() {
    let world = World::with_lines();
    world.prompt("s");
    world.before("s", "1", &["f"]);
    world.before("s", "2", &["g"]);
    world.before("s", "3", &[]);
    world.add("f", "1");
    world.add("g", "2");
    world.add("new", "3");
    world.after("s", "2", &["g"]);
    world.before("s", "4", &["new"]);
    world.add("new", "4");
    world.after("s", "4", &["new"]);
    world.after("s", "1", &["f"]);
    world.after("s", "3", &[]);
    world.stop("s");
    assert!(world.chain().iter().all(|it| it.starts_with("s ")), "{:?}", world.chain());
    world.commit();
    assert_eq!(world.owners(), ["f agent 1", "g agent 1", "new agent 2"]);
    world.finish();
}

#[test]
fn two_sessions_work_on_one_chain() {
    let world = World::with_lines();
    world.prompt("a");
    world.prompt("b");
    world.before("a", "1", &["f"]);
    world.before("b", "1", &["g"]);
    world.add("f", "of a");
    world.add("g", "of b");
    world.after("b", "1", &["g"]);
    world.after("a", "1", &["f"]);
    assert_eq!(world.chain(), ["b g", "a f"]);
    world.before("a", "2", &[]);
    world.add("h", "of a");
    world.edit("b", "2", "h", "of b");
    world.after("a", "2", &[]);
    assert_eq!(world.chain()[2..], ["a h", "b h"], "while a tool is in use, a change is its session's");
    world.stop("a");
    world.stop("b");
    world.commit();
    assert_eq!(world.owners(), ["f agent 1", "g agent 1", "h agent 2"]);
    world.finish();
}

/// What a tool is at is not what was there before another session's prompt.
#[test]
fn a_prompt_comes_while_another_sessions_tool_is_at_work() {
    let world = World::with_lines();
    world.prompt("a");
    world.before("a", "1", &[]);
    world.add("f", "of a");
    world.prompt("b");
    world.edit("b", "1", "g", "of b");
    world.after("a", "1", &[]);
    world.stop("b");
    world.stop("a");
    assert_eq!(world.chain(), ["a f", "b g"]);
    world.prompt("a");
    world.prompt("b");
    world.before("a", "2", &[]);
    world.before("b", "2", &[]);
    world.add("h", "of one of them");
    world.prompt("c");
    assert_eq!(world.chain()[2..], ["unknown h"]);
    world.finish();
}

#[test]
fn changes_while_two_sessions_run_shells_have_an_unknown_author() {
    let world = World::with_lines();
    world.prompt("a");
    world.prompt("b");
    world.before("a", "1", &[]);
    world.before("b", "1", &[]);
    world.add("f", "of one of them");
    world.after("b", "1", &[]);
    world.add("g", "of a");
    world.after("a", "1", &[]);
    assert_eq!(world.chain(), ["unknown f", "a g"]);
    world.finish();
}

#[test]
fn helpers_are_named() {
    let world = World::with_lines();
    world.prompt("s");
    world.event("subagent-start", "s", &json!({ "agent_id": "h1" }));
    let mut told = tool("1", &["f"]);
    told["agent_id"] = "h1".into();
    world.event("pre-tool", "s", &told);
    world.add("f", "a");
    world.event("post-tool", "s", &told);
    world.event("subagent-stop", "s", &json!({ "agent_id": "h1" }));
    assert_eq!(world.chain(), ["s+h1 f"]);
    world.event("subagent-start", "s", &json!({ "agent_id": "h2" }));
    world.add("g", "of a helper that reports no tools");
    world.event("subagent-stop", "s", &json!({ "agent_id": "h2" }));
    assert_eq!(world.chain()[1..], ["s+h2 g"]);
    world.stop("s");
    let told = world.json(&["attribution", "--worktree", "--json"]);
    let owners = told["files"].as_array().expect("files").iter();
    let owners: Vec<_> = owners.map(|file| file["owners"][0]["agent_id"].clone()).collect();
    assert_eq!(owners, ["h1", "h2"]);
    world.finish();
}

#[test]
fn tools_begin_a_turn_without_a_prompt() {
    let world = World::with_lines();
    world.add("g", "of a human");
    world.edit("s", "1", "f", "a");
    assert_eq!(world.chain(), ["human g", "s f"]);
    world.after("late", "1", &["h"]);
    world.add("h", "reported afterwards only");
    world.after("later", "1", &["h"]);
    assert_eq!(world.chain()[2..], ["later h"]);
    world.stop("s");
    world.stop("never-seen");
    world.finish();
}

#[test]
fn a_conversation_continues_under_another_id() {
    let world = World::with_lines();
    world.git(&["config", "checkpoint.enableMultisessionWarning", "true"]);
    world.prompt("old");
    world.shell("old", "1", "f", "a");
    world.add("g", "b");
    world.event("session-start", "new", &json!({ "resumed_from": "old" }));
    assert_eq!(world.chain(), ["old f", "unknown g"]);
    world.prompt("new");
    world.edit("new", "1", "f", "c");
    world.stop("new");
    assert_eq!(world.chain()[2..], ["new f"]);
    world.finish();
}

#[test]
fn ignored_files_and_gits_own_are_in_no_checkpoint() {
    let world = World::with_lines();
    world.write(".gitignore", "*.log\n");
    world.prompt("s");
    world.edit("s", "1", "x.log", "ignored");
    world.before("s", "2", &[".git/description"]);
    world.after("s", "2", &[".git/description"]);
    world.before("s", "3", &["f"]);
    std::fs::remove_file(world.repo().join("f")).expect("it is there");
    world.after("s", "3", &["f"]);
    world.stop("s");
    assert_eq!(world.chain(), ["human .gitignore", "s f"]);
    world.finish();
}

#[test]
fn changes_after_a_refused_tool_are_not_the_agents() {
    let world = World::with_lines();
    world.prompt("s");
    world.before("s", "1", &["g"]);
    world.add("h", "of a human, after the tool was refused");
    world.prompt("s");
    assert_eq!(world.chain(), ["unknown h"]);
    world.stop("s");
    world.finish();
}

/// Returns whose the uncommitted lines of the worktree are, by file, as `blame` and `attribution` say.
fn uncommitted(world: &World) -> Vec<String> {
    let files = world.json(&["attribution", "--worktree", "--json"])["files"].clone();
    let mut all = Vec::new();
    for file in files.as_array().expect("a list") {
        let path = file["path"].as_str().expect("a path");
        let whose = |parts: &Value| {
            let parts = parts.as_array().expect("a list").iter().filter(|part| part["commit"].is_null());
            parts.filter_map(|part| part["owner"].as_str()).collect::<Vec<_>>().join(" ")
        };
        let blamed = whose(&world.json(&["blame", "--json", path])["lines"]);
        assert_eq!(blamed, whose(&file["owners"]), "{path}");
        all.push(format!("{path} {blamed}"));
    }
    all
}

#[rstest::rstest]
#[case::a_turn_whose_tools_are_not_known(|world: &World| world.prompt("s"), &["f agent", "h human"])]
#[case::two_such_turns(|world: &World| ["s", "t"].iter().for_each(|it| world.prompt(it)), &["f unknown", "h human"])]
#[case::between_turns(|_: &World| {}, &["f human", "h human"])]
#[case::a_command(|world: &World| { world.prompt("s"); world.before("s", "1", &[]); }, &["f agent", "h human"])]
#[case::a_tool_with_a_file(|world: &World| { world.prompt("s"); world.before("s", "1", &["f"]); }, &["f agent", "h human"])]
#[case::a_tool_with_another_file(
    |world: &World| { world.prompt("s"); world.before("s", "1", &["g"]); },
    &["f human", "h human"]
)]
#[case::a_command_without_a_turn(|world: &World| world.before("s", "1", &[]), &["f agent", "h human"])]
fn readers_say_what_a_save_records(#[case] begin: fn(&World), #[case] expected: &[&str]) {
    let world = World::with_lines();
    world.add("h", "of a person before");
    begin(&world);
    world.add("f", "of whom?");
    let ours = world.ours();
    assert_eq!(uncommitted(&world), expected);
    assert!(world.ours() == ours, "readers write nothing");
    world.done(&["save", "-q"]);
    assert_eq!(uncommitted(&world), expected);
    world.finish();
}

/// Of a process that cannot be seen, nobody knows when it has ended: it counts until the next save of everything.
#[test]
fn a_command_in_the_background_that_cannot_be_seen_counts_once_after_its_turn() {
    let world = World::with_lines();
    world.prompt("s");
    let tool = json!({ "tool": { "name": "shell", "id": "1", "command": "x", "background": true } });
    world.event("pre-tool", "s", &tool);
    world.event("post-tool", "s", &tool);
    let path = world.repo().join(".git/checkpoint/turns.toml");
    let turns = std::fs::read_to_string(&path).expect("it is there");
    let host = turns.lines().rfind(|line| line.starts_with("host = ")).expect("a process");
    std::fs::write(&path, turns.replace(host, "host = \"elsewhere\"")).expect("it is ours");
    world.stop("s");
    world.add("f", "of whom?");
    world.done(&["save", "-q"]);
    world.add("g", "of a person");
    world.done(&["save", "-q"]);
    assert_eq!(world.chain(), ["unknown f", "human g"]);
    world.finish();
}

/// The agent has reported its tools in the turn before. A person works before its first tool of this turn, or while it uses none.
#[rstest::rstest]
#[case::saved("save")]
#[case::committed("commit")]
#[case::at_the_stop("stop")]
fn what_changes_before_the_first_tool_of_a_turn_is_not_the_agents(#[case] then: &str) {
    let world = World::with_lines();
    world.prompt("s");
    world.edit("s", "1", "f", "of s");
    world.stop("s");
    world.commit();
    world.prompt("s");
    world.add("g", "of a person");
    match then {
        "save" => drop(world.done(&["save", "-q"])),
        "stop" => world.stop("s"),
        _ => {}
    }
    world.commit();
    assert_eq!(world.owners(), ["g unknown 1"]);
    world.finish();
}

/// The user refuses the edit, which no event reports, and edits the file. The agent stops.
#[test]
fn a_file_that_a_refused_tool_has_named_is_of_an_unknown_author_at_the_stop() {
    let world = World::with_lines();
    world.prompt("s");
    world.before("s", "1", &["f"]);
    world.add("f", "of a person");
    world.stop("s");
    world.commit();
    assert_eq!(world.owners(), ["f unknown 1"]);
    world.finish();
}

/// One file goes, another one takes its place: nobody has written their lines anew.
#[rstest::rstest]
fn files_that_are_renamed_at_once_keep_their_authors(
    #[values(false, true)] by_agent: bool,
    #[values(false, true)] saves: bool,
) {
    let world = World::with_lines();
    world.prompt("s");
    world.edit("s", "1", "g", "of s, committed");
    world.stop("s");
    world.commit();
    world.prompt("s");
    world.edit("s", "2", "f", "of s");
    world.stop("s");
    world.add("f", "of a person");
    world.done(&["save", "-q"]);
    let renames = "git mv f q; git mv g f";
    if by_agent {
        world.prompt("s");
        world.before("s", "3", &[]);
        world.sh(renames);
        world.after("s", "3", &[]);
        world.stop("s");
    } else {
        world.sh(renames);
    }
    if saves {
        world.done(&["save", "-q"]);
    }
    let owner = |path: &str, from_end: usize| {
        let end = world.sh(&format!("wc -l <{path}")).trim().parse::<usize>().expect("a number") - from_end;
        world.json(&["blame", "--json", path, &format!("-L{end},{end}")])["lines"][0]["owner"].clone()
    };
    assert_eq!([owner("q", 1), owner("q", 0), owner("f", 0)], ["agent", "human", "agent"]);
    assert_ne!(owner("f", 1), "agent");
    world.finish();
}

/// A prompt to one session comes while another one's command is at work.
#[rstest::rstest]
#[case::edit(|world: &World| world.edit("a", "2", "g", "of a"), "g agent 1")]
#[case::save_and_edit(|world: &World| { world.done(&["save", "-q"]); world.edit("a", "2", "g", "of a"); }, "g agent 1")]
#[case::shell(|world: &World| world.shell("a", "2", "g", "of a"), "g unknown 1")]
fn a_prompt_beside_another_sessions_command_leaves_it_its_lines(#[case] work: fn(&World), #[case] of_a: &str) {
    let world = World::with_lines();
    world.prompt("b");
    world.before("b", "1", &[]);
    world.add("f", "of b");
    world.prompt("a");
    work(&world);
    world.after("b", "1", &[]);
    world.stop("a");
    world.stop("b");
    world.commit();
    assert_eq!(world.owners(), ["f agent 1", of_a]);
    world.finish();
}
