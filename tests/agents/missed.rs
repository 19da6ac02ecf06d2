//! Hooks that fail: what an agent changes meanwhile is not a person's.

use serde_json::json;

use super::words::{piped, tool};
use crate::support::World;

/// Sends `event` to a hook that can make files, and write nothing to them, as on a disk that is full.
fn on_a_full_disk(world: &World, event: &str, call: &str, paths: &[&str]) {
    let mut payload = tool(call, paths);
    payload["event"] = event.into();
    payload["session"] = "s".into();
    payload["cwd"] = world.repo().display().to_string().into();
    let hook = world.hook("generic");
    let mut command = world.command("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" hook --agent generic"]).arg(hook.get_program());
    for stream in [std::process::Command::stdin, std::process::Command::stdout, std::process::Command::stderr] {
        stream(&mut command, std::process::Stdio::piped());
    }
    let output = piped(command, payload.to_string().as_bytes());
    assert!(output.status.success(), "{event}: {output:?}");
}

/// A world in which the hooks of an edit of `g` have failed, within a turn.
fn world() -> World {
    let world = World::with_lines();
    world.prompt("s");
    world.edit("s", "1", "f", "seen");
    on_a_full_disk(&world, "pre-tool", "2", &["g"]);
    world.add("g", "not seen");
    on_a_full_disk(&world, "post-tool", "2", &["g"]);
    world
}

#[test]
fn a_save_after_hooks_that_failed_has_no_known_author() {
    let world = world();
    world.done(&["save"]);
    assert_eq!(world.chain(), ["s f", "unknown g"]);
    // All is saved, and what follows is known again.
    world.add("h", "of a person");
    world.done(&["save"]);
    assert_eq!(world.chain(), ["s f", "unknown g", "human h"]);
    world.stop("s");
    world.finish();
}

#[test]
fn a_commit_after_hooks_that_failed_has_no_known_author() {
    let world = world();
    world.commit();
    assert_eq!(world.owners(), ["f agent 1", "g unknown 1"]);
    world.stop("s");
    world.finish();
}

#[rstest::rstest]
#[case::another_file("pre-tool", &["f"])]
#[case::a_command("pre-tool", &[])]
#[case::the_end("stop", &[])]
#[case::the_next_prompt("prompt", &[])]
fn the_next_event_saves_it_with_an_unknown_author(#[case] event: &str, #[case] paths: &[&str]) {
    let world = world();
    let more = if event == "pre-tool" { tool("3", paths) } else { json!({}) };
    world.event(event, "s", &more);
    assert_eq!(world.chain(), ["s f", "unknown g"]);
    world.stop("s");
    world.add("h", "of a person");
    world.done(&["save"]);
    assert_eq!(world.chain().last().map(String::as_str), Some("human h"));
    world.finish();
}
