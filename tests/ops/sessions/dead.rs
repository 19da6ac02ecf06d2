//! A turn whose process is gone: it is in the way of nothing.

use std::fs;

use crate::support::{World, processes::described};

/// A turn of the session `s1`, with unsaved work.
fn world() -> World {
    let world = World::with_commit();
    world.write("k", "a person's\n");
    world.done(&["save", "-q"]);
    world.write("k", "a person's second\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "@{1}"]);
    world.done(&["session", "prompt", "s1", "-q", "-m", "go"]);
    world.write("f", "the agent's\n");
    world
}

/// Lets the process of `s1` be gone: another one has its number now.
fn kill(world: &World) {
    let path = world.repo().join(".git/checkpoint/sessions/s1.toml");
    let text = fs::read_to_string(&path).expect("it is there");
    let dead = text.lines().map(|line| if line.starts_with("start = ") { "start = 1" } else { line });
    let dead = dead.collect::<Vec<_>>().join("\n");
    assert_ne!(dead, text);
    fs::write(&path, dead).expect("it is ours");
}

#[rstest::rstest]
#[case::reset(&["reset"])]
#[case::what_a_reset_would_do(&["reset", "-n"])]
#[case::drop(&["drop", "--force", "@{0}"])]
#[case::purge(&["purge", "--force", "second"])]
#[case::undo_of_a_reset(&["undo"])]
#[case::op_restore(&["op", "restore", "@{1}"])]
fn a_dead_turn_refuses_nothing(#[case] arguments: &[&str], #[values(true, false)] is_dead: bool) {
    let world = world();
    if ["undo", "op"].contains(&arguments[0]) {
        world.done(&["session", "stop", "s1", "-q"]);
        world.done(&["reset", "-q"]);
        if arguments[0] == "undo" {
            // The prompt has nothing to save: no shadow begins in the place of the one that was set aside.
            world.sh("git checkout -q f; rm k");
        }
        world.done(&["session", "prompt", "s1", "-q", "-m", "on"]);
    }
    if is_dead {
        kill(&world);
    }
    let output = world.checkpoint(arguments);
    assert_eq!(output.status.success(), is_dead, "{}", described(&output));
    assert_eq!(described(&output).contains("a turn under way"), !is_dead, "{}", described(&output));
}

#[test]
fn a_reset_saves_first_what_a_dead_session_has_left() {
    let world = world();
    kill(&world);
    let output = world.checkpoint(&["reset"]);
    assert!(
        described(&output).contains("the session 's1' was interrupted: its process is gone"),
        "{}",
        described(&output)
    );
    let listed = world.done(&["list", "--archived"]);
    assert!(listed.contains("unknown"), "{listed}");
    assert!(world.done(&["list", "--live"]).is_empty());
    let status = world.json(&["status", "--json"]);
    assert_eq!(status["sessions"][0]["phase"], "idle", "{status}");
}

/// What a dry run announces is what the reset then does.
#[rstest::rstest]
fn a_dry_run_of_reset_counts_what_would_be_saved_first(#[values(true, false)] has_checkpoints: bool) {
    let world = world();
    if !has_checkpoints {
        world.sh("rm f k");
        world.done(&["session", "stop", "s1", "-q"]);
        world.done(&["reset", "-q"]);
        world.done(&["session", "prompt", "s1", "-q", "-m", "on"]);
        world.write("f", "the agent's\n");
    }
    kill(&world);
    let would = world.checkpoint(&["reset", "-n"]);
    assert!(described(&would).contains("what it may have left would be saved first"), "{}", described(&would));
    let json = world.json(&["reset", "-n", "--json"]);
    assert!(json["tip"].is_null() && json["archive"].is_null(), "{json}");
    let done = world.json(&["reset", "--json"]);
    assert_eq!((&json["checkpoints"], &json["shadow"]), (&done["checkpoints"], &done["shadow"]), "{json} {done}");
    let count = done["checkpoints"].as_u64().expect("a number");
    assert!(described(&would).contains(&format!("would set aside {count} checkpoint")), "{}", described(&would));
}

/// It was saved before the session died.
#[test]
fn a_dry_run_of_reset_announces_no_save_if_nothing_is_unsaved() {
    let world = world();
    world.done(&["save", "-q"]);
    kill(&world);
    let would = world.checkpoint(&["reset", "-n"]);
    assert!(!described(&would).contains("saved first"), "{}", described(&would));
    let (json, done) = (world.json(&["reset", "-n", "--json"]), world.json(&["reset", "--json"]));
    assert_eq!((&json["checkpoints"], &json["tip"]), (&done["checkpoints"], &done["tip"]), "{json} {done}");
}
