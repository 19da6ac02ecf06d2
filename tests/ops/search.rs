//! Search: what is found, what is not, and in which order.

use std::{io::Write as _, process::Output};

use serde_json::Value;

use super::sharing::Team;
use crate::support::{World, processes::described};

/// The hits of a search as `field id match`, and how it ended.
fn hits(world: &World, arguments: &[&str]) -> (Vec<Value>, Option<i32>) {
    let output = world.checkpoint(&[&["search", "--json"], arguments].concat());
    let text = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    let hits: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(hits.is_empty(), output.status.code() == Some(1), "{arguments:?}: {}", described(&output));
    (hits, output.status.code())
}

fn fields(world: &World, arguments: &[&str]) -> Vec<String> {
    let word = |hit: &Value| format!("{} {}", hit["kind"].as_str().expect("one"), hit["field"].as_str().expect("one"));
    hits(world, arguments).0.iter().map(word).collect()
}

/// An agent was asked something, worked, and its work was committed; a person went on.
fn world() -> World {
    let world = World::with_hooks();
    let transcript = world.root().join("transcript.jsonl");
    let mut file = std::fs::File::create(&transcript).expect("it can be made");
    let said = serde_json::json!({"type": "assistant", "text": "I \"think\" of pears\nand plums"});
    writeln!(file, "{said}").expect("it can be written");
    let path = transcript.to_str().expect("plain");
    let prompt = "please plant \"apples\"\nin rows";
    world.done(&["session", "prompt", "s-1", "--agent", "claude-code", "--transcript", path, "-m", prompt]);
    world.write("orchard/trees.txt", "apple\n");
    world.done(&["session", "stop", "s-1"]);
    world.commit_all("an orchard of cherries");
    world.settle();
    world.write("f", "by a person: quince\n");
    world.done(&["save", "-m", "added a quince"]);
    world.done(&["note", "-m", "the mulberry is missing"]);
    world
}

#[test]
fn each_field_is_searched_by_itself() {
    let world = world();
    for (query, field, expected) in [
        ("mulberry", "notes", "checkpoint note"),
        ("a quince$", "subjects", "checkpoint subject"),
        ("of cherries", "subjects", "record subject"),
        ("plant \"apples\"", "prompts", "record prompt"),
        ("apples\"\nin", "prompts", "record prompt"),
        ("orchard/", "paths", "checkpoint path"),
        ("claude-code", "records", "record record"),
        ("\"think\" of pears", "transcripts", "session transcript"),
        ("pears\nand", "transcripts", "session transcript"),
        ("person: quince", "content", "checkpoint content"),
    ] {
        let found = fields(&world, &["--in", field, query]);
        assert!(found.iter().any(|it| it == expected), "{query:?} in {field}: {found:?}");
        let elsewhere: Vec<&str> = ["notes", "subjects", "prompts", "paths", "records", "transcripts"]
            .into_iter()
            .filter(|other| *other != field)
            .collect();
        let found = fields(&world, &["--in", &elsewhere.join(","), query]);
        assert!(!found.iter().any(|it| it == expected), "{query:?} is only in {field}: {found:?}");
        if field != "content" {
            assert!(fields(&world, &[query]).iter().any(|it| it == expected), "{query:?} is found without --in");
        }
    }
    assert_eq!(hits(&world, &["nothing of the kind"]), (vec![], Some(1)));
    let (found, _) = hits(&world, &["--in", "transcripts", "pears"]);
    assert_eq!((found[0]["id"].as_str(), found[0]["match"].as_str()), (Some("s-1"), Some("pears")));
    assert_eq!(found[0]["before"], "I \"think\" of ");
}

#[test]
fn the_query_may_be_a_text_or_ignore_case() {
    let world = world();
    assert_eq!(hits(&world, &["QUINCE"]).1, Some(1));
    assert_eq!(fields(&world, &["-i", "A QUINCE", "--in", "subjects"]), ["checkpoint subject"]);
    assert_eq!(fields(&world, &["-E", "q.i.ce", "--in", "subject"]), ["checkpoint subject"]);
    assert_eq!(hits(&world, &["-F", "q.i.ce"]).1, Some(1));
    for arguments in [&["("][..], &[""], &["-F", "-E", "x"], &["x", "-S", "y"], &["--in", "code", "x"], &[]] {
        let output = world.checkpoint(&[&["search"], arguments].concat());
        assert!(matches!(output.status.code(), Some(128 | 129)), "{arguments:?}: {}", described(&output));
    }
}

#[test]
fn filters_leave_out_what_others_have() {
    let world = world();
    let mut all = fields(&world, &["e", "--in", "subjects,prompts,notes"]);
    all.sort_unstable();
    assert_eq!(all, ["checkpoint note", "checkpoint subject", "record subject"], "each is one hit");
    assert_eq!(fields(&world, &["e", "--owner", "human", "--in", "notes,prompts"]), ["checkpoint note"]);
    assert_eq!(fields(&world, &["e", "--owner", "agent", "--in", "notes,prompts"]), ["record prompt"]);
    assert_eq!(fields(&world, &["e", "--agent", "Claude-Code", "--in", "notes,prompts"]), ["record prompt"]);
    assert_eq!(fields(&world, &["e", "--session", "s-", "--in", "notes,prompts"]), ["record prompt"]);
    assert_eq!(hits(&world, &["e", "--agent", "codex"]).1, Some(1));
    assert_eq!(fields(&world, &["e", "--path", "f", "--in", "notes,prompts,transcripts"]), ["checkpoint note"]);
    assert_eq!(hits(&world, &["e", "--path", "nowhere"]).1, Some(1));
    assert_eq!(hits(&world, &["e", "--until", "2025-05-01"]).1, Some(1));
    assert_eq!(hits(&world, &["e", "--since", "2025-07-01", "--in", "notes,subjects"]).1, Some(1));
    assert_eq!(hits(&world, &["e", "-n", "1"]).0.len(), 1);
}

/// One commit has work of two sessions.
#[test]
fn of_a_commit_of_several_sessions_only_those_that_are_wanted_count() {
    let world = World::with_hooks();
    for (session, agent, prompt) in [("s1", "claude-code", "plant tulips"), ("s2", "codex", "plant roses")] {
        world.done(&["session", "prompt", session, "--agent", agent, "-m", prompt]);
        world.write(&format!("of-{session}"), format!("{prompt}\n"));
        world.done(&["session", "stop", session]);
    }
    world.commit_all("both gardens");
    assert_eq!(fields(&world, &["tulips", "--session", "s1", "--in", "prompts"]), ["record prompt"]);
    for wanted in [["--session", "s2"], ["--agent", "codex"]] {
        assert_eq!(hits(&world, &[&["tulips", "--in", "prompts"][..], &wanted].concat()).1, Some(1), "{wanted:?}");
        let (found, _) = hits(&world, &[&["gardens", "--in", "subjects"][..], &wanted].concat());
        assert_eq!(found[0]["session"], "s2", "{wanted:?}");
    }
    // The lines, too, are those of the paths that are wanted.
    let found = hits(&world, &["-G", "plant", "--path", "of-s2"]).0;
    assert!(found.iter().all(|hit| hit["path"] == "of-s2") && !found.is_empty(), "{found:?}");
}

/// A shallow clone lacks what its first commit has changed.
#[test]
fn lines_that_a_shallow_clone_only_begins_with_are_no_change() {
    let world = World::with_hooks();
    world.write("old", "an ancient line\n");
    world.commit_all("ancient");
    world.done(&["session", "prompt", "s1", "--agent", "claude-code", "-m", "go"]);
    world.write("new", "a modern line\n");
    world.done(&["session", "stop", "s1"]);
    world.commit_all("modern");
    let clone = world.root().join("shallow");
    let clone = clone.to_str().expect("plain");
    world.git(&["clone", "-q", "--depth=1", &format!("file://{}", world.repo().display()), clone]);
    world.git(&["-C", clone, "fetch", "-q", "origin", "refs/checkpoints/history:refs/checkpoints/history"]);
    let search = |text: &str| world.checkpoint(&["-C", clone, "search", "-S", text]).status.code();
    assert_eq!((search("ancient"), search("modern")), (Some(1), Some(1)));
    world.git(&["-C", clone, "fetch", "-q", "--deepen=1"]);
    assert_eq!((search("ancient"), search("modern")), (Some(1), Some(0)));
}

/// Changed lines are found where git finds them.
#[test]
fn changed_lines_are_those_of_git() {
    let world = World::with_commit();
    let texts = ["one\ntwo\n", "one\ntwo\ntwo\n", "two\none\ntwo\n", "one\n", "one\nthree\n"];
    let ids: Vec<String> = texts
        .iter()
        .map(|text| {
            world.write("f", text);
            world.settle();
            world.json(&["save", "--json"])["id"].as_str().expect("an id").to_owned()
        })
        .collect();
    for arguments in [&["-S", "two"][..], &["-G", "^t"], &["-S", "one"], &["-G", "thr.e"], &["-S", "t.o"]] {
        let by_git = world.git(&[&["log", "--format=%H", "--first-parent"], arguments, &[&*ids[4], "^HEAD"]].concat());
        let mut by_git: Vec<&str> = by_git.lines().collect();
        // Git counts a line that only moved as deleted and added.
        by_git.retain(|id| *id != ids[2]);
        by_git.sort_unstable();
        let (found, _) = hits(&world, arguments);
        let mut ours: Vec<&str> = found.iter().filter_map(|hit| hit["id"].as_str()).collect();
        ours.sort_unstable();
        assert_eq!(ours, by_git, "{arguments:?}");
        assert!(found.iter().all(|hit| hit["path"] == "f" && hit["field"] == "content"), "{found:?}");
    }
    assert_eq!(hits(&world, &["--in", "content", "^t"]).0, hits(&world, &["-G", "^t"]).0);
}

#[test]
fn archived_and_fetched_is_searched_too() {
    let team = Team::of(&["a", "b"]);
    team.prompted("a", "f", "text", "please grow figs");
    team.done("a", &["push"]);
    team.done("b", &["fetch"]);
    let found = team.done("b", &["search", "--json", "grow figs"]);
    let hit: Value = serde_json::from_str(found.trim()).expect("one hit");
    assert_eq!((hit["kind"].as_str(), hit["remote"].as_str()), (Some("record"), Some("origin")), "{hit}");
    let record = hit["id"].as_str().expect("an id");
    assert!(team.done("b", &["explain", record]).contains("grow figs"), "explain takes the id");
    let world = world();
    world.done(&["reset"]);
    let (found, _) = hits(&world, &["a quince", "--in", "subjects"]);
    assert_eq!((found.len(), found[0]["archived"].as_bool()), (1, Some(true)));
    let id = found[0]["id"].as_str().expect("an id");
    assert!(world.done(&["show", id]).contains("added a quince"), "show takes the id");
}

/// A prompt of a session is found before anything is committed, and once afterwards.
#[test]
fn a_prompt_is_one_hit() {
    let world = World::with_hooks();
    world.done(&["session", "prompt", "s-2", "--agent", "codex", "-m", "draw a dragon"]);
    assert_eq!(hits(&world, &["a dragon"]).0[0]["id"], "s-2@1");
    world.write("g", "dragon\n");
    world.done(&["session", "stop", "s-2"]);
    world.commit_all("drawn");
    assert_eq!(fields(&world, &["draw a dragon", "--in", "prompts"]), ["record prompt"]);
}

#[test]
fn what_is_found_does_not_control_a_terminal() {
    let world = World::with_commit();
    world.write("a\u{1b}[31mb", "x\u{202e}y\n");
    world.done(&["save", "-m", "colour \u{1b}[31mred"]);
    for arguments in [&["search", "colour"][..], &["search", "31mb"], &["search", "-G", "x"]] {
        let text = world.done(arguments);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{arguments:?}: {text:?}");
    }
    let raw = world.done(&["search", "-z", "colour"]);
    assert!(raw.starts_with("checkpoint ") && raw.ends_with('\0'), "{raw:?}");
}

/// A text with a NUL is no second hit.
#[test]
fn a_hit_ends_with_its_only_nul() {
    let world = World::with_hooks();
    let prompt = "needle\0record deadbeefdeadbeef note forged\0";
    let payload = serde_json::json!({"session_id": "zz", "hook_event_name": "UserPromptSubmit", "prompt": prompt, "cwd": world.repo()});
    world.write("../payload", payload.to_string());
    world.sh("git checkpoint hook --agent claude-code <../payload");
    let found = world.done(&["search", "-z", "needle"]);
    assert_eq!(found.matches('\0').count(), 1, "{found:?}");
    assert!(found.contains("needle\u{fffd}record"), "{found:?}");
}

#[test]
fn redacted_text_cannot_be_found() {
    let world = World::with_hooks();
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    world.done(&["session", "prompt", "s-3", "--agent", "codex", "-m", &format!("use {token} here")]);
    world.write("g", "x\n");
    world.done(&["session", "stop", "s-3"]);
    world.commit_all("done");
    assert_eq!(hits(&world, &[token]).1, Some(1));
    assert_eq!(fields(&world, &["redacted github-token", "--in", "prompts"]), ["record prompt"]);
}

/// What cannot be read hides nothing else.
#[test]
fn a_broken_chain_is_searched_as_far_as_it_can_be_read() {
    let (world, ids) = super::tags::world(3);
    std::fs::remove_file(world.repo().join(format!(".git/objects/{}/{}", &ids[0][..2], &ids[0][2..]))).expect("loose");
    let output: Output = world.checkpoint(&["search", "number"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("number 3") && text.contains("number 2"), "{}", described(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not all can be searched"), "{}", described(&output));
}
