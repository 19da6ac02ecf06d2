//! Warnings reach the user or the model of every agent: those that an agent cannot show at once wait.

use serde_json::Value;

use super::guard::{TEMPORARY, world};
use crate::support::{World, processes::described};

/// Sends a payload of `agent`, and returns the exit code and all that it prints.
fn send(world: &World, agent: &str, name: &str) -> (Option<i32>, String) {
    let payload: Value = world.fixture(agent, name);
    let output = world.send(agent, payload.to_string().as_bytes());
    (output.status.code(), described(&output))
}

fn notes(world: &World) -> String {
    world.json(&["status", "--json"])["notes"].to_string()
}

#[rstest::rstest]
#[case::cursor("cursor", "pre-tool-write", "post-tool-write", 0)]
#[case::windsurf("windsurf", "pre-tool-write", "post-tool-write", 2)]
#[case::kiro("kiro", "pre-tool-write", "prompt", 0)]
fn a_warning_waits_for_an_event_that_can_show_it(
    #[case] agent: &str,
    #[case] before: &str,
    #[case] shown: &str,
    #[case] code: i32,
) {
    let world = world("warn");
    world.git(&["commit", "-q", "--allow-empty", "-m", "wip\n\nClaude-Temp-Change: another"]);
    let (first, said) = send(&world, agent, before);
    assert_eq!(first, Some(0), "the tool runs: {said}");
    assert!(notes(&world).contains(TEMPORARY), "until then, status has it: {}", notes(&world));
    let (second, said) = send(&world, agent, shown);
    assert!(second == Some(code) && said.contains(TEMPORARY), "{said}");
    assert!(!notes(&world).contains(TEMPORARY), "{}", notes(&world));
    assert_eq!(world.trouble(), None);
}

#[test]
fn what_an_agent_never_shows_is_in_status_until_the_next_prompt() {
    let world = world("warn");
    world.git(&["commit", "-q", "--allow-empty", "-m", "wip\n\nClaude-Temp-Change: another"]);
    for name in ["pre-tool-write", "after-file-edit"] {
        let (code, said) = send(&world, "goose", name);
        assert!(code == Some(0) && !said.contains(TEMPORARY), "{said}");
        assert!(notes(&world).contains(TEMPORARY), "{name}: {}", notes(&world));
    }
    send(&world, "goose", "prompt");
    assert!(!notes(&world).contains(TEMPORARY), "{}", notes(&world));
    assert_eq!(world.trouble(), None);
}
