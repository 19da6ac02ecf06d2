//! Files that open tool calls name are their sessions', even if a person or another session takes the checkpoint.

use std::fs;

use serde_json::{Value, json};

use super::words::{piped, tool};
use crate::support::World;

/// Who takes a checkpoint while a tool of `a` is in use.
#[rstest::rstest]
#[case::stop(|world: &World| world.stop("b"))]
#[case::before_a_command(|world: &World| {
    world.git(&["config", "checkpoint.agents.preToolScan", "0"]);
    world.before("b", "2", &[]);
})]
#[case::prompt(|world: &World| world.prompt("b"))]
#[case::person(|world: &World| drop(world.done(&["save", "-q"])))]
#[case::restore(|world: &World| drop(world.done(&["restore", "-q", "base", "--", "h"])))]
fn files_that_an_open_tool_call_names_are_its_sessions(#[case] checkpoint: fn(&World)) {
    let world = World::with_lines();
    world.prompt("a");
    world.prompt("b");
    world.edit("b", "1", "h", "of b");
    world.before("a", "1", &["f", "new"]);
    world.add("f", "of a");
    world.add("g", "of a person");
    checkpoint(&world);
    world.add("f", "of a, later");
    world.after("a", "1", &["f", "new"]);
    world.stop("a");
    world.commit();
    assert_eq!(world.owners()[..2], ["f agent 2", "g human 1"]);
    world.finish();
}

#[test]
fn a_command_of_another_session_takes_no_file_that_a_tool_has_named() {
    let world = World::with_lines();
    world.prompt("a");
    world.prompt("b");
    world.before("b", "1", &[]);
    world.before("a", "1", &["f"]);
    world.add("f", "of a");
    world.add("g", "of b");
    world.after("b", "1", &[]);
    world.after("a", "1", &["f"]);
    assert_eq!(world.chain(), ["a f", "b g"]);
    world.finish();
}

/// Returns how many lines of the file are an agent's.
fn agents_lines(world: &World, path: &str) -> u64 {
    let blame: Value = serde_json::from_str(&world.done(&["blame", path, "--json"])).expect("JSON");
    let count = |lines: &Value| lines["end"].as_u64().expect("a line") + 1 - lines["start"].as_u64().expect("a line");
    blame["lines"].as_array().expect("lines").iter().filter(|lines| lines["owner"] == "agent").map(count).sum()
}

/// A person renames a file that is not committed onto the name that an agent's next tool writes; some agents report a tool only when it
/// has ended.
#[rstest::rstest]
#[case::new_name(true, true, true, "")]
#[case::new_name_of_a_persons_file(false, false, false, "")]
#[case::onto_an_uncommitted_file(true, true, false, "uncommitted")]
#[case::a_persons_file_onto_an_uncommitted_one(false, false, true, "uncommitted")]
#[case::onto_a_committed_file(true, false, true, "committed")]
#[case::a_persons_file_onto_a_committed_one(false, true, false, "committed")]
fn what_a_person_renames_before_a_tool_keeps_its_authors(
    #[case] is_of_agent: bool,
    #[case] reports_before: bool,
    #[case] has_used_a_tool: bool,
    #[case] y: &str,
) {
    let world = World::with_lines();
    if !y.is_empty() {
        world.write("y", (1..=7).map(|line| format!("another file has {line}\n")).collect::<String>());
    }
    if y == "committed" {
        world.git(&["add", "y"]);
        world.commit();
    }
    let lines: String = (1..=5).map(|line| format!("line {line} of the file\n")).collect();
    if is_of_agent {
        world.prompt("other");
        world.before("other", "1", &["x"]);
        world.write("x", &lines);
        world.after("other", "1", &["x"]);
        world.stop("other");
    } else {
        world.write("x", &lines);
    }
    world.prompt("s");
    if has_used_a_tool {
        world.edit("s", "2", "f", "of s");
    }
    world.sh("mv x y");
    if reports_before {
        world.before("s", "3", &["y"]);
    }
    world.add("y", "of s");
    world.after("s", "3", &["y"]);
    world.stop("s");
    let check = || {
        let blame: Value = serde_json::from_str(&world.done(&["blame", "y", "--json"])).expect("JSON");
        let found: Vec<_> = blame["lines"]
            .as_array()
            .expect("lines")
            .iter()
            .map(|it| (it["end"].as_u64(), it["session"].as_str()))
            .collect();
        assert_eq!(found, [(Some(5), is_of_agent.then_some("other")), (Some(6), Some("s"))]);
    };
    check();
    world.commit();
    check();
    world.finish();
}

/// A person renames two files with an agent's work, and the next tool names only one of them.
#[test]
fn a_renamed_file_keeps_its_authors_if_a_tool_names_another_one() {
    let world = World::with_lines();
    world.prompt("a");
    world.edit("a", "1", "f", "of a");
    world.edit("a", "2", "g", "of a, too");
    world.sh("mv f moved; mv g elsewhere");
    world.edit("a", "3", "moved", "of a, later");
    world.stop("a");
    assert_eq!((agents_lines(&world, "moved"), agents_lines(&world, "elsewhere")), (2, 1));
    world.sh("git add -A");
    world.commit();
    assert_eq!((agents_lines(&world, "moved"), agents_lines(&world, "elsewhere")), (2, 1));
    world.finish();
}

/// A tool deletes the file that it names: a person's new file beside it is not that file, even if it is like it.
#[test]
fn a_file_that_a_tool_deletes_has_no_other_name() {
    let world = World::with_lines();
    world.prompt("a");
    world.sh("cp f theirs");
    world.add("theirs", "of a person");
    world.before("a", "1", &["f"]);
    world.sh("rm f");
    world.after("a", "1", &["f"]);
    world.stop("a");
    let blame: Value = serde_json::from_str(&world.done(&["blame", "theirs", "--json"])).expect("JSON");
    let last = blame["lines"].as_array().and_then(|lines| lines.last()).expect("a line");
    assert_eq!(last["owner"], "human", "{blame}");
    world.finish();
}

/// A person renames a file in mid-turn, and the next tool names only the new path.
#[rstest::rstest]
#[case::staged("git mv f moved")]
#[case::not_staged("mv f moved")]
#[case::two_files("git mv f moved; git mv g elsewhere")]
#[case::by_a_person_who_edits("git mv f moved; echo 'of a person' >>moved")]
fn a_file_that_a_person_renames_before_a_tool_names_it_keeps_its_authors(#[case] script: &str) {
    let world = World::with_lines();
    world.prompt("a");
    world.edit("a", "1", "f", "of a");
    world.edit("a", "2", "f", "of a, too");
    world.sh(script);
    world.edit("a", "3", "moved", "of a, later");
    world.stop("a");
    world.sh("git add -A");
    world.commit();
    assert_eq!(agents_lines(&world, "moved"), 3);
    world.finish();
}

#[test]
fn a_file_that_two_sessions_name_has_an_unknown_author() {
    let world = World::with_lines();
    for session in ["a", "b", "c"] {
        world.prompt(session);
    }
    world.before("a", "1", &["f", "g"]);
    world.before("b", "1", &["g", "h"]);
    for path in ["f", "g", "h"] {
        world.add(path, "of a session");
    }
    world.stop("c");
    assert_eq!(world.chain(), ["unknown g", "a f", "b h"]);
    world.finish();
}

#[test]
fn a_commit_in_the_middle_of_a_tool_takes_what_it_has_named() {
    let world = World::with_lines();
    world.prompt("a");
    world.before("a", "1", &["f"]);
    world.add("f", "of a");
    world.add("g", "of a person");
    world.commit();
    assert_eq!(world.owners(), ["f agent 1", "g human 1"]);
    world.after("a", "1", &["f"]);
    world.stop("a");
    world.finish();
}

/// The agent goes on with another tool.
#[rstest::rstest]
#[case::by_a_person("g", |world: &World| drop(world.done(&["save", "-q"])))]
#[case::by_the_next_command("g", |world: &World| world.shell("a", "3", "h", "of a"))]
#[case::by_another_session("g", |world: &World| world.stop("b"))]
#[case::at_the_stop("g", |_: &World| ())]
#[case::before_it_names_the_same_file("f", |_: &World| ())]
fn a_file_that_a_refused_tool_has_named_is_of_an_unknown_author(#[case] next: &str, #[case] checkpoint: fn(&World)) {
    let world = World::with_lines();
    world.git(&["config", "checkpoint.agents.preToolScan", "0"]);
    world.prompt("a");
    world.prompt("b");
    world.shell("b", "1", "h", "of b");
    world.before("a", "1", &["f"]);
    world.add("f", "of a person");
    world.edit("a", "2", next, "of a");
    checkpoint(&world);
    world.stop("a");
    world.commit();
    let owners = if next == "f" { "f agent 1 unknown 1" } else { "f unknown 1" };
    assert_eq!(world.owners()[0], owners);
    world.finish();
}

/// Both write the file while both tools are in use.
#[test]
fn a_session_does_not_take_what_another_one_has_written_in_the_same_file() {
    let world = World::with_lines();
    world.prompt("a");
    world.prompt("b");
    world.before("a", "1", &["f"]);
    world.before("b", "1", &["f", "g"]);
    world.add("f", "of a");
    world.add("f", "of b");
    world.add("g", "of b");
    world.after("b", "1", &["f", "g"]);
    assert_eq!(world.chain(), ["unknown f", "b g"]);
    world.add("f", "of a, later");
    world.after("a", "1", &["f"]);
    assert_eq!(world.chain()[2..], ["a f"]);
    world.finish();
}

/// The user may still be asked, and edit the file before the answer.
#[test]
fn a_named_file_has_an_unknown_author_if_its_tool_call_takes_long() {
    let world = World::with_lines();
    world.prompt("a");
    world.before("a", "1", &["f"]);
    let path = world.repo().join(".git/checkpoint/turns.toml");
    let text = fs::read_to_string(&path).expect("it is there");
    let earlier = |line: &str| match line.strip_prefix("started = ") {
        Some(seconds) => format!("started = {}\n", seconds.parse::<i64>().expect("a number") - 60),
        None => format!("{line}\n"),
    };
    fs::write(&path, text.lines().map(earlier).collect::<String>()).expect("it is ours");
    world.add("f", "of whom?");
    world.done(&["save", "-q"]);
    world.add("f", "of a");
    world.after("a", "1", &["f"]);
    assert_eq!(world.chain(), ["unknown f", "a f"]);
    world.stop("a");
    world.finish();
}

/// An interrupted tool may have changed what it has named, unless the user refused it, and nothing else.
#[test]
fn changes_beside_the_files_of_an_interrupted_tool_are_the_persons() {
    let world = World::with_lines();
    world.prompt("a");
    world.before("a", "1", &["f"]);
    world.add("f", "a half");
    world.add("g", "of a person");
    world.event("interrupt", "a", &json!({}));
    assert_eq!(world.chain(), ["unknown f", "human g"]);
    world.prompt("a");
    let mut told = tool("2", &["h"]);
    told["agent_id"] = "helper".into();
    world.event("pre-tool", "a", &told);
    world.add("h", "a half");
    world.add("g", "of a person");
    world.event("subagent-stop", "a", &json!({ "agent_id": "helper" }));
    assert_eq!(world.chain()[2..], ["a+helper h"]);
    world.stop("a");
    assert_eq!(world.chain()[3..], ["human g"]);
    world.finish();
}

/// An instruction file of one agent is often a link to that of another.
#[test]
fn a_tool_that_names_a_link_changes_the_file_behind_it() {
    let world = World::with_lines();
    world.sh("ln -s f link; git add -A; git commit -qm link");
    world.prompt("a");
    world.add("f", "of a person, and in no checkpoint yet");
    world.before("a", "1", &["link"]);
    world.write("f", "of a\n");
    world.after("a", "1", &["link"]);
    assert_eq!(world.chain(), ["human f", "a f"]);
    world.finish();
}

/// A person may change files after the last command of a subagent.
#[test]
fn what_changes_before_a_subagent_stops_is_not_its_own() {
    let world = World::with_lines();
    world.prompt("a");
    let mut told = tool("1", &[]);
    told["agent_id"] = "helper".into();
    world.event("pre-tool", "a", &told);
    world.add("f", "of the helper");
    world.event("post-tool", "a", &told);
    world.add("g", "of a person");
    world.event("subagent-stop", "a", &json!({ "agent_id": "helper" }));
    assert_eq!(world.chain(), ["a+helper f", "unknown g"]);
    world.finish();
}

const SESSIONS: usize = 8;

/// Each session writes its own files, as fast as it can.
#[test]
fn sessions_that_write_at_once_each_get_their_own() {
    let world = &World::with_lines();
    let tell = &|session: usize, event: &str, path: &str| {
        let payload = json!({
            "hook_event_name": event, "session_id": format!("s{session}"), "cwd": world.repo(), "prompt": "write",
            "tool_name": "Write", "tool_use_id": path, "tool_input": { "file_path": path, "content": "" },
        });
        let output = piped(world.hook("claude-code"), payload.to_string().as_bytes());
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
                            world.repo().join(&path),
                            format!("a line of {session}, the {file}. of round {round}\n"),
                        )
                        .expect("it can be written");
                        tell(session, "PostToolUse", &path);
                    }
                    tell(session, "Stop", "");
                });
            }
        });
        world.commit();
        let value: Value = world.json(&["attribution", "--json", "HEAD"]);
        for file in value["files"].as_array().expect("files") {
            let path = file["path"].as_str().expect("a path");
            let session = path.split('-').nth(1).expect("a session");
            assert_eq!(file["owners"][0]["session"], format!("s{session}"), "round {round}: {path}: {file}");
        }
    }
    world.finish();
}
