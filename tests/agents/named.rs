//! Files that open tool calls name are their sessions', even if a person or another session takes the checkpoint.

use std::fs;

use serde_json::{Value, json};

use super::desk::{Desk, piped, tool};

/// Who takes a checkpoint while a tool of `a` is in use.
#[rstest::rstest]
#[case::stop(|desk: &Desk| desk.stop("b"))]
#[case::before_a_command(|desk: &Desk| {
    desk.git(&["config", "checkpoint.agents.preToolScan", "0"]);
    desk.before("b", "2", &[]);
})]
#[case::prompt(|desk: &Desk| desk.prompt("b"))]
#[case::person(|desk: &Desk| drop(desk.done(&["save", "-q"])))]
#[case::restore(|desk: &Desk| drop(desk.done(&["restore", "-q", "base", "--", "h"])))]
fn files_that_an_open_tool_call_names_are_its_sessions(#[case] checkpoint: fn(&Desk)) {
    let desk = Desk::new();
    desk.prompt("a");
    desk.prompt("b");
    desk.edit("b", "1", "h", "of b");
    desk.before("a", "1", &["f", "new"]);
    desk.add("f", "of a");
    desk.add("g", "of a person");
    checkpoint(&desk);
    desk.add("f", "of a, later");
    desk.after("a", "1", &["f", "new"]);
    desk.stop("a");
    desk.commit();
    assert_eq!(desk.owners()[..2], ["f agent 2", "g human 1"]);
    desk.finish();
}

#[test]
fn a_command_of_another_session_takes_no_file_that_a_tool_has_named() {
    let desk = Desk::new();
    desk.prompt("a");
    desk.prompt("b");
    desk.before("b", "1", &[]);
    desk.before("a", "1", &["f"]);
    desk.add("f", "of a");
    desk.add("g", "of b");
    desk.after("b", "1", &[]);
    desk.after("a", "1", &["f"]);
    assert_eq!(desk.chain(), ["a f", "b g"]);
    desk.finish();
}

/// A person renames a file in mid-turn, and the next tool names only the new path.
#[rstest::rstest]
#[case::staged("git mv f moved")]
#[case::not_staged("mv f moved")]
#[case::two_files("git mv f moved; git mv g elsewhere")]
#[case::by_a_person_who_edits("git mv f moved; echo 'of a person' >>moved")]
fn a_file_that_a_person_renames_before_a_tool_names_it_keeps_its_authors(#[case] script: &str) {
    let desk = Desk::new();
    desk.prompt("a");
    desk.edit("a", "1", "f", "of a");
    desk.edit("a", "2", "f", "of a, too");
    desk.sh(script);
    desk.edit("a", "3", "moved", "of a, later");
    desk.stop("a");
    desk.sh("git add -A");
    desk.commit();
    let blame: Value = serde_json::from_str(&desk.done(&["blame", "moved", "--json"])).expect("JSON");
    let agents: u64 = blame["lines"]
        .as_array()
        .expect("lines")
        .iter()
        .map(|lines| match lines["owner"].as_str() {
            Some("agent") => lines["end"].as_u64().expect("a line") + 1 - lines["start"].as_u64().expect("a line"),
            _ => 0,
        })
        .sum();
    assert_eq!(agents, 3, "{blame}");
    desk.finish();
}

#[test]
fn a_file_that_two_sessions_name_has_an_unknown_author() {
    let desk = Desk::new();
    for session in ["a", "b", "c"] {
        desk.prompt(session);
    }
    desk.before("a", "1", &["f", "g"]);
    desk.before("b", "1", &["g", "h"]);
    for path in ["f", "g", "h"] {
        desk.add(path, "of a session");
    }
    desk.stop("c");
    assert_eq!(desk.chain(), ["unknown g", "a f", "b h"]);
    desk.finish();
}

#[test]
fn a_commit_in_the_middle_of_a_tool_takes_what_it_has_named() {
    let desk = Desk::new();
    desk.prompt("a");
    desk.before("a", "1", &["f"]);
    desk.add("f", "of a");
    desk.add("g", "of a person");
    desk.commit();
    assert_eq!(desk.owners(), ["f agent 1", "g human 1"]);
    desk.after("a", "1", &["f"]);
    desk.stop("a");
    desk.finish();
}

/// The user may still be asked, and edit the file before the answer.
#[test]
fn a_named_file_has_an_unknown_author_if_its_tool_call_takes_long() {
    let desk = Desk::new();
    desk.prompt("a");
    desk.before("a", "1", &["f"]);
    let path = desk.repo().join(".git/checkpoint/turns.toml");
    let text = fs::read_to_string(&path).expect("it is there");
    let earlier = |line: &str| match line.strip_prefix("started = ") {
        Some(seconds) => format!("started = {}\n", seconds.parse::<i64>().expect("a number") - 60),
        None => format!("{line}\n"),
    };
    fs::write(&path, text.lines().map(earlier).collect::<String>()).expect("it is ours");
    desk.add("f", "of whom?");
    desk.done(&["save", "-q"]);
    desk.add("f", "of a");
    desk.after("a", "1", &["f"]);
    assert_eq!(desk.chain(), ["unknown f", "a f"]);
    desk.stop("a");
    desk.finish();
}

/// An interrupted tool has changed what it has named, and nothing else.
#[test]
fn changes_beside_the_files_of_an_interrupted_tool_are_the_persons() {
    let desk = Desk::new();
    desk.prompt("a");
    desk.before("a", "1", &["f"]);
    desk.add("f", "a half");
    desk.add("g", "of a person");
    desk.event("interrupt", "a", &json!({}));
    assert_eq!(desk.chain(), ["a f", "human g"]);
    desk.prompt("a");
    let mut told = tool("2", &["h"]);
    told["agent_id"] = "helper".into();
    desk.event("pre-tool", "a", &told);
    desk.add("h", "a half");
    desk.add("g", "of a person");
    desk.event("subagent-stop", "a", &json!({ "agent_id": "helper" }));
    assert_eq!(desk.chain()[2..], ["a+helper h"]);
    desk.stop("a");
    assert_eq!(desk.chain()[3..], ["human g"]);
    desk.finish();
}

const SESSIONS: usize = 8;

/// Each session writes its own files, as fast as it can.
#[test]
fn sessions_that_write_at_once_each_get_their_own() {
    let desk = &Desk::new();
    let tell = &|session: usize, event: &str, path: &str| {
        let payload = json!({
            "hook_event_name": event, "session_id": format!("s{session}"), "cwd": desk.repo(), "prompt": "write",
            "tool_name": "Write", "tool_use_id": path, "tool_input": { "file_path": path, "content": "" },
        });
        let output = piped(desk.hook("claude-code"), payload.to_string().as_bytes());
        assert!(output.status.success() && output.stderr.is_empty(), "{event}: {output:?}");
    };
    for round in 0..3 {
        std::thread::scope(|scope| {
            for session in 0..SESSIONS {
                scope.spawn(move || {
                    tell(session, "UserPromptSubmit", "");
                    for file in 0..2 {
                        let path = format!("of-{session}-{round}-{file}");
                        tell(session, "PreToolUse", &path);
                        fs::write(
                            desk.repo().join(&path),
                            format!("a line of {session}, the {file}. of round {round}\n"),
                        )
                        .expect("it can be written");
                        tell(session, "PostToolUse", &path);
                    }
                    tell(session, "Stop", "");
                });
            }
        });
        desk.commit();
        let value: Value = desk.json(&["attribution", "--json", "HEAD"]);
        for file in value["files"].as_array().expect("files") {
            let path = file["path"].as_str().expect("a path");
            let session = path.split('-').nth(1).expect("a session");
            assert_eq!(file["owners"][0]["session"], format!("s{session}"), "round {round}: {path}: {file}");
        }
    }
    desk.finish();
}
