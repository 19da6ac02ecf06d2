//! Where the agent works: in a directory below the root, and in linked worktrees.

use serde_json::json;

use super::words::piped;
use crate::support::{World, processes::described};

#[test]
fn paths_count_from_where_the_agent_is() {
    let world = World::with_lines();
    world.write("sub/deep/x", "x\n");
    world.commit();
    let cwd = world.repo().join("sub/deep").display().to_string();
    let tool = |paths: &[&str]| json!({ "cwd": cwd, "tool": { "name": "write", "id": "1", "paths": paths } });
    world.event("prompt", "s", &json!({ "cwd": cwd }));
    world.add("g", "of a human");
    world.event("pre-tool", "s", &tool(&["x", "../y"]));
    world.add("sub/deep/x", "a");
    world.add("sub/y", "b");
    world.event("post-tool", "s", &tool(&["x", "../y"]));
    assert_eq!(world.chain(), ["s sub/deep/x sub/y"]);
    world.event("stop", "s", &json!({ "cwd": cwd }));
    world.finish();
}

#[test]
fn an_agent_moves_to_another_worktree_and_back() {
    let world = World::with_lines();
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = world.root().join("side");
    let there = |more: serde_json::Value| {
        let mut more = more;
        more["cwd"] = side.display().to_string().into();
        more
    };
    world.prompt("s");
    world.edit("s", "1", "f", "here");
    world.event("pre-tool", "s", &there(json!({ "tool": { "name": "shell", "id": "2" } })));
    std::fs::write(side.join("g"), "there\n").expect("a file can be written");
    world.event("post-tool", "s", &there(json!({ "tool": { "name": "shell", "id": "2" } })));
    world.write("h", "here, and not reported\n");
    world.event("stop", "s", &there(json!({})));
    let session = &world.json(&["session", "show", "s", "--json"])["session"];
    assert_eq!((&session["phase"], &session["checkpoints"]), (&json!("idle"), &json!(2)), "{session}");
    assert_eq!(world.chain().len(), 2, "{:?}", world.chain());
    assert_eq!(world.shadows().len(), 2);
    world.event("prompt", "s", &there(json!({ "prompt": "on" })));
    std::fs::write(side.join("f"), "there\n").expect("a file can be written");
    world.event("session-end", "s", &there(json!({})));
    assert_eq!(world.json(&["session", "show", "s", "--json"])["session"]["phase"], "ended");
    world.finish();
}

/// Returns a world, and the path of a second worktree.
fn with_side(path: &str) -> (World, std::path::PathBuf) {
    let world = World::with_lines();
    world.git(&["worktree", "add", "-q", "-b", "side", path]);
    let side = world.repo().join(path).canonicalize().expect("it was made");
    (world, side)
}

/// Returns who made the checkpoints of the worktree `side` and in which files, oldest first.
fn chain_of(world: &World, side: &std::path::Path) -> Vec<String> {
    let shadows = world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow/"]);
    let shadow = shadows.lines().find(|name| name.ends_with("/side") || name.ends_with("/inside"));
    let Some(shadow) = shadow else { return Vec::new() };
    let format = "--format=%x00%(trailers:key=Checkpoint-Contributor,valueonly,separator=)\
        /%(trailers:key=Checkpoint-Session,valueonly,separator=)";
    let range = format!("side..{shadow}");
    let log = ["-C", side.to_str().expect("it is text"), "log", "--first-parent", "-m", "--reverse", "--name-only"];
    let text = world.git(&[&log[..], &[format, &range]].concat());
    text.split('\0').skip(1).map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[rstest::rstest]
#[case::beside("../side")]
#[case::inside("sub/inside")]
fn a_tool_names_files_of_another_worktree(#[case] path: &str) {
    let (world, side) = with_side(path);
    world.write(".git/info/exclude", "sub\n");
    let named = side.join("f").display().to_string();
    world.prompt("s");
    let write = |call: &str, paths: &[&str], line: &str| {
        world.before("s", call, paths);
        for path in paths {
            world.add(path, line);
        }
        world.after("s", call, paths);
    };
    std::fs::write(side.join("g"), "of a person\n").expect("it can be written");
    write("1", &[&named], "of s, there");
    write("2", &[&named, "h"], "of s, in both");
    assert_eq!(world.chain(), ["s h"]);
    assert_eq!(chain_of(&world, &side), ["agent/s f", "agent/s f"]);
    // A tool that is interrupted.
    world.before("s", "3", &[&named]);
    world.add(&named, "a half");
    world.stop("s");
    assert_eq!(chain_of(&world, &side)[2..], ["unknown/ f"]);
    let there = side.to_str().expect("it is text");
    world.git(&["-C", there, "commit", "-qam", "there"]);
    let value = world.json(&["attribution", "--json", "side"]);
    let owners: Vec<_> = value["files"].as_array().expect("files").iter().map(|it| &it["owners"][0]["owner"]).collect();
    assert_eq!(owners, ["agent", "human"], "{value}");
    world.commit();
    assert_eq!(world.owners(), ["h agent 1"]);
    world.finish();
}

/// A command that the agent runs here commits there: it is not known who has made what was unsaved there.
#[test]
fn a_command_commits_in_another_worktree() {
    let (world, side) = with_side("../side");
    let there = side.to_str().expect("it is text");
    world.prompt("s");
    world.edit("s", "0", "f", "the first that is recorded");
    world.commit();
    let payload = |event: &str| {
        json!({ "hook_event_name": event, "session_id": "s", "cwd": world.repo(), "tool_name": "Bash",
            "tool_use_id": "1", "tool_input": { "command": "make" } })
    };
    world.tell("claude-code", &payload("PreToolUse"));
    std::fs::write(side.join("f"), "of s\n").expect("it can be written");
    world.git(&["-C", there, "commit", "-qam", "there"]);
    world.tell("claude-code", &payload("PostToolUse"));
    world.stop("s");
    let value = world.json(&["attribution", "--json", "side"]);
    assert_eq!(value["files"][0]["owners"][0]["owner"], "unknown", "{value}");
    std::fs::write(side.join("f"), "of s\nof a person\n").expect("it can be written");
    world.git(&["-C", there, "commit", "-qam", "later"]);
    let value = world.json(&["attribution", "--json", "side"]);
    assert_eq!(value["files"][0]["owners"][0]["owner"], "human", "{value}");
    world.finish();
}

#[test]
fn an_agent_deletes_the_directory_that_it_works_in() {
    let world = World::with_lines();
    world.write("sub/deep/x", "x\n");
    world.commit();
    let cwd = world.repo().join("sub/deep").display().to_string();
    let event = |event: &str| {
        world.event(event, "s", &json!({ "cwd": cwd, "tool": { "name": "shell", "id": "1" } }));
    };
    for name in ["prompt", "pre-tool"] {
        event(name);
    }
    std::fs::remove_dir_all(world.repo().join("sub")).expect("it is there");
    world.add("f", "of s");
    event("post-tool");
    assert_eq!(world.chain(), ["s f sub/deep/x"]);
    world.add("g", "later, of whom?");
    event("stop");
    assert_eq!(world.chain()[1..], ["unknown g"]);
    assert_eq!(world.open(), Vec::<String>::new());
    // A session that is not known here is none of ours.
    world.event("pre-tool", "t", &json!({ "cwd": cwd, "tool": { "name": "shell", "id": "1" } }));
    assert_eq!(world.open(), Vec::<String>::new());
    world.finish();
}

/// What a person had there before the turn is in the archive, though nothing of that worktree is left.
#[test]
fn an_agent_deletes_the_worktree_that_it_works_in() {
    let (world, side) = with_side("sub/inside");
    world.write(".git/info/exclude", "sub\n");
    let event = |event: &str| {
        let cwd = side.display().to_string();
        world.event(event, "s", &json!({ "cwd": cwd, "tool": { "name": "shell", "id": "1" } }));
    };
    std::fs::write(side.join("f"), "of a person\n").expect("it can be written");
    event("prompt");
    event("pre-tool");
    std::fs::remove_dir_all(&side).expect("it is there");
    event("post-tool");
    event("stop");
    assert_eq!(world.git(&["for-each-ref", "refs/checkpoints/pending"]), "");
    let kept = world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/archive"]);
    assert_eq!(world.git(&["show", &format!("{}:f", kept.trim())]), "of a person\n");
    assert_eq!(world.chain(), Vec::<String>::new());
    world.finish();
}

/// Another repository is in the place of a worktree that is gone: nothing is written there.
#[test]
fn another_repository_in_the_place_of_a_worktree_is_left_alone() {
    let (world, side) = with_side("../side");
    std::fs::remove_dir_all(&side).expect("it is there");
    world.git(&["init", "-q", "../side"]);
    world.prompt("s");
    let path = side.join("n").display().to_string();
    let tool = json!({ "tool": { "name": "write", "id": "1", "paths": [path] } });
    world.event("pre-tool", "s", &tool);
    std::fs::write(side.join("n"), "new\n").expect("a file can be written");
    world.event("post-tool", "s", &tool);
    world.event("stop", "s", &json!({}));
    assert!(!side.join(".git/checkpoint").exists());
    assert_eq!(world.git(&["-C", "../side", "for-each-ref"]), "");
    world.finish();
}

/// A commit that the next command there finds late. An agent writes its lines before that, or takes them.
#[rstest::rstest]
#[case::written("", false, false)]
#[case::picked_from_a_known_worktree("", true, true)]
#[case::picked_without_hooks("-c core.hooksPath=/dev/null", false, true)]
#[case::written_without_hooks_beside_a_known_worktree("-c core.hooksPath=/dev/null", true, false)]
fn lines_that_an_agent_takes_from_a_commit_elsewhere_stay_a_persons(
    #[case] how: &str,
    #[case] is_known: bool,
    #[case] picks: bool,
) {
    let (world, side) = with_side("../side");
    let world = world.with_clock();
    if is_known {
        world.sh("cd ../side; git-checkpoint save -q --allow-empty");
    }
    world.sh(&format!("cd ../side; echo 'of a person' >>f; git {how} commit -qam person"));
    world.next_second();
    world.prompt("s");
    if picks {
        world.before("s", "1", &[]);
        world.sh("git cherry-pick -n side; git reset -q");
        world.after("s", "1", &[]);
    } else {
        world.edit("s", "1", "f", "of a person");
    }
    world.stop("s");
    assert_eq!(last_owner(&world, &side), "human");
    world.finish();
}

/// It is unknown whether the command had the lines when the commit was made, even if its base has a date in the future: then the
/// work seems to have begun after the commit.
#[rstest::rstest]
#[case::on_a_base_of_now("true")]
#[case::on_a_base_of_the_future(
    "GIT_COMMITTER_DATE='@3000000000 +0000' git commit -q --amend --no-edit
    cd ../side; git reset -q --hard main; git-checkpoint save -q --allow-empty"
)]
fn lines_that_a_command_commits_elsewhere_are_no_persons(#[case] first: &str) {
    let (world, side) = with_side("../side");
    let world = world.with_clock();
    world.sh(first);
    world.prompt("s");
    world.before("s", "1", &[]);
    world.add("f", "of s");
    world.sh("cp f ../side/f; cd ../side; git -c core.hooksPath=/dev/null commit -qam s");
    world.next_second();
    world.after("s", "1", &[]);
    world.stop("s");
    assert_eq!(last_owner(&world, &side), "unknown");
    world.finish();
}

/// Its date was set, so it is unknown whether the lines were there before.
#[test]
fn the_date_of_a_commit_is_no_evidence_of_when_it_was_made() {
    let (world, side) = with_side("../side");
    let world = world.with_clock();
    // What is older than the hooks has no known author.
    world.sh("touch -d '2 hours ago' .git/checkpoint/hooks.toml");
    world.sh("cd ../side; git reset -q --hard; git-checkpoint save -q --allow-empty");
    world.next_second();
    world.prompt("s");
    world.edit("s", "1", "f", "of s");
    world.stop("s");
    let date = "export GIT_COMMITTER_DATE=\"@$(($(date +%s) - 3600)) +0000\"";
    world.sh(&format!("cp f ../side/f; cd ../side; {date}; git -c core.hooksPath=/dev/null commit -qam s"));
    assert_eq!(last_owner(&world, &side), "unknown");
    world.finish();
}

/// Returns whose the last line of `f` in the worktree `side` is.
fn last_owner(world: &World, side: &std::path::Path) -> String {
    let side = side.display();
    world.sh(&format!("cd {side}; echo more >>g; git-checkpoint save -q"));
    let blame = world.sh(&format!("cd {side}; git-checkpoint blame --json f"));
    let blame: serde_json::Value = serde_json::from_str(&blame).expect("JSON");
    let last = blame["lines"].as_array().and_then(|lines| lines.last()).expect("a line");
    last["owner"].as_str().unwrap_or_default().to_owned()
}

/// An agent that works in two worktrees stops in the one where its turn did not begin. What no tool named there is a person's, or
/// its author is unknown.
#[rstest::rstest]
#[case::tools_name_their_files(&["h"], "human")]
#[case::a_command(&[], "unknown")]
fn a_stop_away_from_where_the_turn_began(#[case] paths: &[&str], #[case] expected: &str) {
    let (world, side) = with_side("../side");
    let there = json!({ "cwd": side.display().to_string() });
    world.event("prompt", "s", &there);
    world.before("s", "1", paths);
    world.write("h", "of s\n");
    world.after("s", "1", paths);
    world.add("f", "of a person");
    world.stop("s");
    assert_eq!(last_owner(&world, &world.repo()), expected);
    let blame = world.json(&["blame", "--json", "h"]);
    assert_eq!(blame["lines"][0]["owner"], "agent", "{blame}");
    assert_eq!(world.json(&["session", "show", "s", "--json"])["session"]["phase"], "idle");
    world.finish();
}

/// The agent has never worked where it stops.
#[test]
fn a_stop_where_the_agent_has_not_worked_takes_nothing() {
    let (world, side) = with_side("../side");
    world.prompt("s");
    world.edit("s", "1", "g", "of s");
    world.sh("echo 'of a person' >>../side/f");
    world.event("stop", "s", &json!({ "cwd": side.display().to_string() }));
    assert_eq!(last_owner(&world, &side), "human");
    world.finish();
}

#[test]
fn a_denied_prompt_leaves_the_turn_elsewhere_open() {
    let (world, side) = with_side("../side");
    world.git(&["config", "checkpoint.enableMultisessionWarning", "true"]);
    world.prompt("other");
    world.edit("other", "1", "g", "of another session");
    world.stop("other");
    world.event("prompt", "s", &json!({ "cwd": side.display().to_string() }));
    let state = || {
        let session = world.json(&["session", "show", "s", "--json"])["session"].clone();
        (session["phase"].clone(), session["worktree"].clone(), session["turn"].clone())
    };
    let payload =
        json!({ "event": "prompt", "session": "s", "cwd": world.repo().display().to_string(), "prompt": "go" });
    let output = world.send("generic", payload.to_string().as_bytes());
    assert!(described(&output).contains("Send the prompt again to continue."), "{output:?}");
    assert_eq!(state(), (json!("active"), json!("side"), json!(1)));
    world.event("prompt", "s", &json!({ "prompt": "go on" }));
    assert_eq!(state(), (json!("active"), json!("main"), json!(2)));
    world.finish();
}

/// Each copy finds the turn in the other worktree, and the lock is free while one of them ends it.
#[test]
fn copies_of_a_prompt_elsewhere_that_come_at_once_are_one() {
    let (world, side) = with_side("../side");
    for turn in 1..4 {
        let place = if turn % 2 == 1 { world.repo() } else { side.clone() };
        let payload = json!({ "event": "prompt", "session": "s", "cwd": place.display().to_string(), "prompt": turn.to_string() });
        let text = payload.to_string();
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..3).map(|_| scope.spawn(|| piped(world.hook("generic"), text.as_bytes()))).collect();
            for one in all {
                let output = one.join().expect("no panic");
                assert!(output.status.success(), "{output:?}");
            }
        });
        let session = world.json(&["session", "show", "s", "--json"])["session"].clone();
        assert_eq!((&session["phase"], &session["turn"]), (&json!("active"), &json!(turn)), "{session}");
    }
    world.finish();
}

/// Each needs the lock of the other one's worktree to end the turn there.
#[test]
fn two_sessions_change_places_at_once() {
    let (world, side) = with_side("../side");
    let main = world.repo();
    let prompt = |session: &str, place: &std::path::Path, round: usize| {
        let (cwd, text) = (place.display().to_string(), format!("go {round}"));
        let payload = json!({ "event": "prompt", "session": session, "cwd": cwd, "prompt": text });
        piped(world.hook("generic"), payload.to_string().as_bytes())
    };
    let mut places = [&main, &side];
    for round in 0..6 {
        std::thread::scope(|scope| {
            let both = [("a", places[0]), ("b", places[1])]
                .map(|(session, place)| scope.spawn(move || prompt(session, place, round)));
            for one in both {
                let output = one.join().expect("no panic");
                assert!(output.status.success(), "{output:?}");
            }
        });
        for (session, place) in [("a", places[0]), ("b", places[1])] {
            let shown = world.json(&["session", "show", session, "--json"])["session"].clone();
            assert_eq!((&shown["phase"], &shown["turn"]), (&json!("active"), &json!(round + 1)), "{shown}");
            let name = if place == &main { "main" } else { "side" };
            assert_eq!(shown["worktree"], name, "{shown}");
        }
        places.reverse();
    }
    world.finish();
}
