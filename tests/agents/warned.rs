//! Warnings reach the user or the model of every agent: those that an agent cannot show at once wait.

use serde_json::Value;

use super::{
    desk::{Desk, fixture},
    guard::{TEMPORARY, desk},
};
use crate::support::site::described;

/// Sends a payload of `agent`, and returns the exit code and all that it prints.
fn send(desk: &Desk, agent: &str, name: &str) -> (Option<i32>, String) {
    let payload: Value = fixture(&desk.world, agent, name);
    let output = desk.send(agent, payload.to_string().as_bytes());
    (output.status.code(), described(&output))
}

fn notes(desk: &Desk) -> String {
    desk.json(&["status", "--json"])["notes"].to_string()
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
    let desk = desk("warn");
    desk.git(&["commit", "-q", "--allow-empty", "-m", "wip\n\nClaude-Temp-Change: another"]);
    let (first, said) = send(&desk, agent, before);
    assert_eq!(first, Some(0), "the tool runs: {said}");
    assert!(notes(&desk).contains(TEMPORARY), "until then, status has it: {}", notes(&desk));
    let (second, said) = send(&desk, agent, shown);
    assert!(second == Some(code) && said.contains(TEMPORARY), "{said}");
    assert!(!notes(&desk).contains(TEMPORARY), "{}", notes(&desk));
    assert_eq!(desk.trouble(), None);
}

#[test]
fn what_an_agent_never_shows_is_in_status_until_the_next_prompt() {
    let desk = desk("warn");
    desk.git(&["commit", "-q", "--allow-empty", "-m", "wip\n\nClaude-Temp-Change: another"]);
    for name in ["pre-tool-write", "after-file-edit"] {
        let (code, said) = send(&desk, "goose", name);
        assert!(code == Some(0) && !said.contains(TEMPORARY), "{said}");
        assert!(notes(&desk).contains(TEMPORARY), "{name}: {}", notes(&desk));
    }
    send(&desk, "goose", "prompt");
    assert!(!notes(&desk).contains(TEMPORARY), "{}", notes(&desk));
    assert_eq!(desk.trouble(), None);
}
