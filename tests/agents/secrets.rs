//! A secret in an agent's event reaches no object, no file of ours and no log.

use std::{fs, path::Path};

use proptest::prelude::*;
use serde_json::json;

use crate::support::World;

/// Returns true if a file below `folder` holds `secret` as it is.
fn is_anywhere(folder: &Path, secret: &str) -> bool {
    fs::read_dir(folder).expect("readable").flatten().any(|entry| {
        let path = entry.path();
        let holds = |bytes: Vec<u8>| bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        if path.is_dir() { is_anywhere(&path, secret) } else { fs::read(&path).is_ok_and(holds) }
    })
}

/// Returns true if an object of the repository holds it.
fn is_in_an_object(world: &World, secret: &str) -> bool {
    let ids = world.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"]);
    ids.lines().any(|line| {
        let (id, kind) = line.split_once(' ').expect("an id and a kind");
        kind != "tree" && world.git(&["cat-file", kind, id]).contains(secret)
    })
}

fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z0-9]{36}".prop_map(|text| format!("ghp_{text}")),
        "[A-Z2-7]{16}".prop_map(|text| format!("AKIA{text}")),
        "[a-z0-9]{64}".prop_map(|text| format!("password = \"{text}\"")),
    ]
}

/// Returns the part that must not be found.
fn hidden(secret: &str) -> &str {
    secret.trim_start_matches("password = ").trim_matches('"')
}

fn tells_nothing(secret: &str) {
    let world = World::with_lines();
    let conversations = world.root().join("home/.claude/projects/x");
    fs::create_dir_all(&conversations).expect("directories can be made");
    let transcript = conversations.join("s.jsonl");
    fs::write(&transcript, format!("{}\n", json!({ "type": "user", "text": secret }))).expect("a file can be written");
    let event = |name: &str, call: &str, more: serde_json::Value| {
        let mut payload = json!({
            "hook_event_name": name,
            "session_id": "s",
            "prompt_id": "1",
            "transcript_path": transcript.display().to_string(),
            "cwd": world.repo().display().to_string(),
            "tool_name": "Bash",
            "tool_use_id": call,
        });
        for (key, value) in more.as_object().expect("an object") {
            payload[key] = value.clone();
        }
        world.tell("claude-code", &payload);
    };
    event("SessionStart", "", json!({}));
    event("UserPromptSubmit", "", json!({ "prompt": format!("use {secret} for it") }));
    event("PreToolUse", secret, json!({ "tool_input": { "command": format!("deploy --key '{secret}'") } }));
    world.add("f", "a");
    event("PostToolUse", secret, json!({ "tool_response": { "stdout": secret } }));
    event("PreToolUse", "2", json!({ "tool_name": "Write", "tool_input": { "file_path": "g", "content": secret } }));
    event("Stop", "", json!({ "last_assistant_message": secret }));
    world.commit();
    let explained = world.done(&["explain", "HEAD"]);
    assert!(!explained.contains(hidden(secret)), "{explained}");
    assert!(!is_anywhere(&world.repo().join(".git"), hidden(secret)), "a file holds {secret}");
    assert!(!is_in_an_object(&world, hidden(secret)), "an object holds {secret}");
    assert!(explained.contains("for it"), "the prompt itself is kept: {explained}");
    world.finish();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_secret_is_kept(secret in secret()) {
        tells_nothing(&secret);
    }
}

#[rstest::rstest]
#[case::known(".claude/projects/s.jsonl", true)]
#[case::elsewhere("notes/private.txt", false)]
#[case::up(".claude/../notes/private.txt", false)]
#[case::link(".claude/link/private.txt", false)]
fn a_transcript_is_read_only_where_its_agent_keeps_it(#[case] path: &str, #[case] is_read: bool) {
    let world = World::with_lines();
    let home = world.root().join("home");
    for folder in [".claude/projects", "notes"] {
        fs::create_dir_all(home.join(folder)).expect("directories can be made");
    }
    std::os::unix::fs::symlink(home.join("notes"), home.join(".claude/link")).expect("a link can be made");
    fs::write(home.join(path), "{\"text\": \"what was said\"}\n").expect("a file can be written");
    let event = |name: &str| {
        let payload = json!({
            "hook_event_name": name, "session_id": "s", "prompt_id": "1", "prompt": "go",
            "cwd": world.repo().display().to_string(), "transcript_path": home.join(path).display().to_string(),
        });
        world.tell("claude-code", &payload);
    };
    event("UserPromptSubmit");
    assert_eq!(world.trouble().is_none(), is_read, "{:?}", world.trouble());
    world.shell("s", "1", "f", "a");
    event("Stop");
    world.commit();
    let transcripts = world.git(&["for-each-ref", "refs/checkpoints/transcripts"]);
    assert_eq!(!transcripts.is_empty(), is_read, "{transcripts}");
}
