//! Which of our hooks Codex runs: the hashes are those that its own program has written.

use super::super::{
    codex::{is_project_trusted, untrusted},
    install::if_there,
};

const HOOKS: &str = r#"{"hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "/bin/git-checkpoint hook --agent codex", "timeout": 30}]}],
    "PreToolUse": [{"hooks": []}, {"matcher": "*", "hooks": [
        {"type": "command", "command": "theirs"},
        {"type": "command", "command": "/bin/git-checkpoint hook --agent codex", "timeout": 30}]}]
}}"#;

const CONFIG: &str = r#"
[hooks.state."/h/hooks.json:stop:0:0"]
trusted_hash = "sha256:cf2ef5e76b53bd0fb669472ad0bc9d12ee946960811a2e779672c52295823967"

[hooks.state."/h/hooks.json:pre_tool_use:1:1"]
trusted_hash = "sha256:efebfd4c0e13ff41245074978d5ac3e69402d3a2d7c91d3e4b9888eeafd00406"

[projects."/src/app"]
trust_level = "trusted"
"#;

#[test]
fn trust_is_bound_to_place_and_content() {
    let untrusted = |hooks: &str, place: &str, config: &str| untrusted(hooks, &[place.to_owned()], config);
    assert_eq!(untrusted(HOOKS, "/h/hooks.json", CONFIG), Vec::<String>::new());
    assert_eq!(untrusted(HOOKS, "/other/hooks.json", CONFIG), ["Stop", "PreToolUse"]);
    assert_eq!(untrusted(HOOKS, "/h/hooks.json", ""), ["Stop", "PreToolUse"]);
    assert_eq!(untrusted(HOOKS, "/h/hooks.json", "not = [toml"), ["Stop", "PreToolUse"]);
    assert_eq!(untrusted(&HOOKS.replacen("30", "31", 1), "/h/hooks.json", CONFIG), ["Stop"]);
    assert_eq!(untrusted(&HOOKS.replace("{\"hooks\": []}, ", ""), "/h/hooks.json", CONFIG), ["PreToolUse"]);
    let off = CONFIG.replacen("trusted_hash", "enabled = false\ntrusted_hash", 1);
    assert_eq!(untrusted(HOOKS, "/h/hooks.json", &off), ["Stop"]);
}

/// Codex hashes the whole command, including the test for the program.
#[test]
fn trust_of_a_command_that_looks_for_the_program_first() {
    let plain = "/bin/git-checkpoint hook --agent codex";
    let hooks = HOOKS.replacen(plain, &if_there(plain), 1);
    assert_eq!(untrusted(&hooks, &["/h/hooks.json".to_owned()], CONFIG), ["Stop"]);
    let config = CONFIG.replace(
        "cf2ef5e76b53bd0fb669472ad0bc9d12ee946960811a2e779672c52295823967",
        "24f9dbdd05d56ac2ca9c9066aa343c4bdf39aad31333c162851f905ec334c353",
    );
    assert_eq!(untrusted(&hooks, &["/h/hooks.json".to_owned()], &config), Vec::<String>::new());
}

#[test]
fn a_project_has_to_be_trusted_too() {
    assert!(is_project_trusted(&["/x".into(), "/src/app".into()], CONFIG));
    assert!(!is_project_trusted(&["/src".into()], CONFIG));
}
