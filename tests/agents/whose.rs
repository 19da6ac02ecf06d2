//! Whose change it is, by when it was made.

use serde_json::json;

use super::desk::{Desk, fixture, tool};

#[test]
fn changes_between_an_agents_events_are_the_users() {
    let desk = Desk::new();
    desk.add("h", "before the prompt");
    desk.prompt("s");
    desk.add("g", "after the prompt");
    desk.edit("s", "1", "f", "a");
    desk.add("f", "between two tools");
    desk.edit("s", "2", "f", "b");
    desk.add("g", "before a shell");
    desk.git(&["config", "checkpoint.agents.preToolScan", "0"]);
    desk.shell("s", "3", "new", "c");
    assert_eq!(desk.chain(), ["human h", "s f", "human f", "s f", "human g", "s new"]);
    desk.stop("s");
    desk.add("g", "after the stop");
    desk.prompt("s");
    desk.edit("s", "4", "f", "d");
    assert_eq!(desk.chain()[6..], ["human g", "s f"]);
    desk.commit();
    assert_eq!(desk.owners(), ["f agent 3 human 1", "g human 3", "h human 1", "new agent 1"]);
    desk.finish();
}

#[rstest::rstest]
#[case::save(&["save", "-q"])]
#[case::restore(&["restore", "-q", "base", "--", "h"])]
fn changes_saved_during_a_tool_call_are_its_sessions(#[case] command: &[&str]) {
    let desk = Desk::new();
    desk.done(&["save", "-q"]);
    desk.git(&["tag", "base"]);
    desk.prompt("s");
    desk.before("s", "1", &[]);
    desk.add("f", "a");
    desk.done(command);
    desk.after("s", "1", &[]);
    desk.stop("s");
    desk.commit();
    assert!(desk.owners().contains(&"f agent 1".to_owned()), "{:?}", desk.owners());
    desk.finish();
}

#[test]
fn in_a_clean_worktree_a_tool_takes_its_own_files_only() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.add("g", "of a human");
    desk.edit("s", "1", "f", "a");
    assert_eq!(desk.chain(), ["s f"]);
    desk.stop("s");
    assert_eq!(desk.chain(), ["s f", "human g"]);
    desk.finish();
}

/// Sends an event of a session as the agent does, or as its helper, if one is named.
fn recorded_by(desk: &Desk, agent: &str, event: &str, helper: Option<&str>) {
    let cwd = desk.repo().display().to_string();
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
    let answer = desk.tell(agent, &payload);
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
    let desk = Desk::new();
    recorded_by(&desk, agent, "UserPromptSubmit", None);
    desk.add("g", "while the agent answers");
    recorded_by(&desk, agent, "Stop", None);
    assert_eq!(desk.chain(), [whose]);
    desk.finish();
}

#[rstest::rstest]
#[case::claude_code("claude-code", "human g")]
#[case::opencode("opencode", "human g")]
#[case::codex("codex", "s+h g")]
fn a_helper_that_only_talks_has_changed_nothing(#[case] agent: &str, #[case] whose: &str) {
    let desk = Desk::new();
    recorded_by(&desk, agent, "UserPromptSubmit", None);
    recorded_by(&desk, agent, "SubagentStart", Some("h"));
    desk.add("g", "while the helper thinks");
    recorded_by(&desk, agent, "SubagentStop", Some("h"));
    recorded_by(&desk, agent, "Stop", None);
    assert_eq!(desk.chain(), [whose]);
    desk.finish();
}

/// What agents report of a tool call before it begins decides who gets its changes.
#[rstest::rstest]
#[case::gemini("gemini", "captured-0.61.0.jsonl:2", "captured-0.61.0.jsonl:7", "captured-0.61.0.jsonl:26")]
#[case::opencode("opencode", "prompt", "post-tool-bash", "stop")]
fn changes_by_a_process_that_a_shell_left_running_are_the_agents(
    #[case] agent: &str,
    #[case] prompt: &str,
    #[case] tool: &str,
    #[case] stop: &str,
) {
    let desk = Desk::new();
    let session = if agent == "gemini" { "694ad403-7190-425e-84c2-6a60499578dd" } else { "ses_01" };
    std::fs::create_dir(desk.root().join("home/.gemini")).expect("a folder can be made");
    for name in [prompt, tool] {
        desk.tell(agent, &fixture(&desk.world, agent, name));
    }
    // The agent is this process.
    let mut left = desk.command("sleep").arg("600").spawn().expect("sleep starts");
    desk.add("g", "of what the shell has started");
    desk.tell(agent, &fixture(&desk.world, agent, stop));
    left.kill().and_then(|()| left.wait()).expect("it is ours");
    assert_eq!(desk.chain(), [format!("{session} g")]);
    desk.finish();
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
    let desk = Desk::new();
    for folder in [".claude", ".gemini", ".mine"] {
        std::fs::create_dir(desk.root().join("home").join(folder)).expect("a folder can be made");
    }
    let mut payload = fixture(&desk.world, agent, payload);
    if agent == "generic" {
        payload["tool"] = json!({ "name": "shell", "command": "" });
    }
    let tell = |name: &str, text: &str| {
        let mut payload = payload.clone();
        for (pointer, value) in [(event, name), (command, text)] {
            *payload.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value.into();
        }
        desk.tell(agent, &payload);
    };
    tell(events[0], "make");
    desk.add("f", "of the agent");
    tell(events[1], "make");
    desk.write("new", "of a person, a moment ago\n");
    tell(events[0], "git clean -fdq");
    desk.git(&["clean", "-fdq"]);
    tell(events[1], "git clean -fdq");
    let chain = desk.chain();
    assert_eq!((chain.len(), chain[1].as_str()), (3, "human new"), "{chain:?}");
    assert!(chain[2].ends_with(" new"), "{chain:?}");
}

#[test]
fn the_end_of_a_turn_closes_calls_that_still_run() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.shell("s", "1", "f", "a");
    desk.add("late", "of a process that no event named");
    desk.stop("s");
    assert_eq!(desk.chain(), ["s f", "s late"]);
    desk.prompt("s");
    desk.before("s", "2", &[]);
    desk.add("f", "b");
    desk.event("post-tool", "s", &json!({ "tool": { "name": "shell", "id": "2", "background": true } }));
    desk.add("g", "of whom?");
    desk.edit("s", "3", "g", "c");
    assert_eq!(desk.chain()[2..], ["s f", "unknown g", "s g"]);
    desk.add("h", "late");
    desk.stop("s");
    assert_eq!(desk.chain()[5..], ["s h"]);
    desk.finish();
}

#[test]
fn an_interrupted_tool_has_made_what_is_there() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.before("s", "1", &["f"]);
    desk.add("f", "a half");
    desk.event("interrupt", "s", &json!({}));
    assert_eq!(desk.chain(), ["s f"]);
    // The shell that kept running reports its end.
    desk.add("g", "late");
    desk.after("s", "2", &[]);
    assert_eq!(desk.chain(), ["s f", "s g"]);
    desk.prompt("s");
    desk.before("s", "3", &[]);
    desk.add("h", "then the next prompt comes");
    desk.prompt("s");
    assert_eq!(desk.chain()[2..], ["s h"]);
    desk.event("session-end", "s", &json!({}));
    desk.finish();
}

#[test]
fn parallel_tools_of_a_session_are_its_own() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.before("s", "1", &["f"]);
    desk.before("s", "2", &["g"]);
    desk.before("s", "3", &[]);
    desk.add("f", "1");
    desk.add("g", "2");
    desk.add("new", "3");
    desk.after("s", "2", &["g"]);
    desk.before("s", "4", &["new"]);
    desk.add("new", "4");
    desk.after("s", "4", &["new"]);
    desk.after("s", "1", &["f"]);
    desk.after("s", "3", &[]);
    desk.stop("s");
    assert!(desk.chain().iter().all(|it| it.starts_with("s ")), "{:?}", desk.chain());
    desk.commit();
    assert_eq!(desk.owners(), ["f agent 1", "g agent 1", "new agent 2"]);
    desk.finish();
}

#[test]
fn two_sessions_work_on_one_chain() {
    let desk = Desk::new();
    desk.prompt("a");
    desk.prompt("b");
    desk.before("a", "1", &["f"]);
    desk.before("b", "1", &["g"]);
    desk.add("f", "of a");
    desk.add("g", "of b");
    desk.after("b", "1", &["g"]);
    desk.after("a", "1", &["f"]);
    assert_eq!(desk.chain(), ["b g", "a f"]);
    desk.before("a", "2", &[]);
    desk.add("h", "of a");
    desk.edit("b", "2", "h", "of b");
    desk.after("a", "2", &[]);
    assert_eq!(desk.chain()[2..], ["a h", "b h"], "while a tool is in use, a change is its session's");
    desk.stop("a");
    desk.stop("b");
    desk.commit();
    assert_eq!(desk.owners(), ["f agent 1", "g agent 1", "h agent 2"]);
    desk.finish();
}

/// What a tool is at is not what was there before another session's prompt.
#[test]
fn a_prompt_comes_while_another_sessions_tool_is_at_work() {
    let desk = Desk::new();
    desk.prompt("a");
    desk.before("a", "1", &[]);
    desk.add("f", "of a");
    desk.prompt("b");
    desk.edit("b", "1", "g", "of b");
    desk.after("a", "1", &[]);
    desk.stop("b");
    desk.stop("a");
    assert_eq!(desk.chain(), ["a f", "b g"]);
    desk.prompt("a");
    desk.prompt("b");
    desk.before("a", "2", &[]);
    desk.before("b", "2", &[]);
    desk.add("h", "of one of them");
    desk.prompt("c");
    assert_eq!(desk.chain()[2..], ["unknown h"]);
    desk.finish();
}

#[test]
fn changes_while_two_sessions_run_shells_have_an_unknown_author() {
    let desk = Desk::new();
    desk.prompt("a");
    desk.prompt("b");
    desk.before("a", "1", &[]);
    desk.before("b", "1", &[]);
    desk.add("f", "of one of them");
    desk.after("b", "1", &[]);
    desk.add("g", "of a");
    desk.after("a", "1", &[]);
    assert_eq!(desk.chain(), ["unknown f", "a g"]);
    desk.finish();
}

#[test]
fn helpers_are_named() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.event("subagent-start", "s", &json!({ "agent_id": "h1" }));
    let mut told = tool("1", &["f"]);
    told["agent_id"] = "h1".into();
    desk.event("pre-tool", "s", &told);
    desk.add("f", "a");
    desk.event("post-tool", "s", &told);
    desk.event("subagent-stop", "s", &json!({ "agent_id": "h1" }));
    assert_eq!(desk.chain(), ["s+h1 f"]);
    desk.event("subagent-start", "s", &json!({ "agent_id": "h2" }));
    desk.add("g", "of a helper that reports no tools");
    desk.event("subagent-stop", "s", &json!({ "agent_id": "h2" }));
    assert_eq!(desk.chain()[1..], ["s+h2 g"]);
    desk.stop("s");
    let told = desk.json(&["attribution", "--worktree", "--json"]);
    let owners = told["files"].as_array().expect("files").iter();
    let owners: Vec<_> = owners.map(|file| file["owners"][0]["agent_id"].clone()).collect();
    assert_eq!(owners, ["h1", "h2"]);
    desk.finish();
}

#[test]
fn tools_begin_a_turn_without_a_prompt() {
    let desk = Desk::new();
    desk.add("g", "of a human");
    desk.edit("s", "1", "f", "a");
    assert_eq!(desk.chain(), ["human g", "s f"]);
    desk.after("late", "1", &["h"]);
    desk.add("h", "reported afterwards only");
    desk.after("later", "1", &["h"]);
    assert_eq!(desk.chain()[2..], ["later h"]);
    desk.stop("s");
    desk.stop("never-seen");
    desk.finish();
}

#[test]
fn a_conversation_continues_under_another_id() {
    let desk = Desk::new();
    desk.git(&["config", "checkpoint.enableMultisessionWarning", "true"]);
    desk.prompt("old");
    desk.shell("old", "1", "f", "a");
    desk.add("g", "b");
    desk.event("session-start", "new", &json!({ "resumed_from": "old" }));
    assert_eq!(desk.chain(), ["old f", "old g"]);
    desk.prompt("new");
    desk.edit("new", "1", "f", "c");
    desk.stop("new");
    assert_eq!(desk.chain()[2..], ["new f"]);
    desk.finish();
}

#[test]
fn ignored_files_and_gits_own_are_in_no_checkpoint() {
    let desk = Desk::new();
    desk.write(".gitignore", "*.log\n");
    desk.prompt("s");
    desk.edit("s", "1", "x.log", "ignored");
    desk.before("s", "2", &[".git/description"]);
    desk.after("s", "2", &[".git/description"]);
    desk.before("s", "3", &["f"]);
    std::fs::remove_file(desk.repo().join("f")).expect("it is there");
    desk.after("s", "3", &["f"]);
    desk.stop("s");
    assert_eq!(desk.chain(), ["human .gitignore", "s f"]);
    desk.finish();
}

#[test]
fn changes_after_a_refused_tool_are_not_the_agents() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.before("s", "1", &["g"]);
    desk.add("h", "of a human, after the tool was refused");
    desk.prompt("s");
    assert_eq!(desk.chain(), ["unknown h"]);
    desk.stop("s");
    desk.finish();
}
