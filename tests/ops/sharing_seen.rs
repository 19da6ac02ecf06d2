//! What a clone says of records that others have: that they are to be had, and where they come from.

use std::fs;

use crate::{
    ops::sharing::{HISTORY, TRACKING, Team},
    support::processes::described,
};

fn json(team: &Team, name: &str, arguments: &[&str]) -> serde_json::Value {
    let output = team.run(name, arguments);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {}", described(&output)))
}

/// Two members; the commit of the first one is in both clones, and its record with the server.
fn shared() -> Team {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of an agent");
    team.done("a", &["push"]);
    team.git("b", &["pull", "-q", "../a", "HEAD"]);
    team
}

#[test]
fn records_that_may_be_had_are_named() {
    let team = shared();
    team.work("b", "y", "of b");
    let status = json(&team, "b", &["status", "--json"]);
    let expected = serde_json::json!({"commits": 1, "records": 1, "remote": "origin", "is_approved": true});
    assert_eq!(status["to_fetch"], expected, "{status}");
    let said = team.done("b", &["status"]);
    assert!(said.contains("1 commit of HEAD names 1 record that is not here, and that 'origin' may have"), "{said}");
    assert!(said.contains("(use \"git checkpoint fetch origin\" to get them)"), "{said}");
    let said = team.done("b", &["doctor"]);
    assert!(said.contains("'git checkpoint fetch origin' gets those that it has"), "{said}");
    team.done("b", &["fetch"]);
    assert_eq!(json(&team, "b", &["status", "--json"])["to_fetch"], serde_json::Value::Null);
    assert!(!team.done("b", &["doctor"]).contains("not here"));
}

/// What a remote does not have is named once, and not in each status.
#[test]
fn records_that_the_remote_does_not_have_are_not_named_again() {
    let team = shared();
    team.git("b", &["commit", "-q", "--allow-empty", "-m", "x", "-m", "Checkpoint: 0123456789abcdef"]);
    assert_eq!(json(&team, "b", &["status", "--json"])["to_fetch"]["records"], 2);
    team.done("b", &["fetch", "-n"]);
    assert_eq!(json(&team, "b", &["status", "--json"])["to_fetch"]["records"], 2);
    team.done("b", &["fetch"]);
    assert_eq!(json(&team, "b", &["status", "--json"])["to_fetch"], serde_json::Value::Null);
    let said = team.fails("b", &["doctor"]);
    assert!(said.contains("it names the record 0123456789abcdef, which is not here"), "{said}");
    // Another one of the same kind is new.
    team.git("b", &["commit", "-q", "--allow-empty", "-m", "x", "-m", "Checkpoint: 1123456789abcdef"]);
    assert_eq!(json(&team, "b", &["status", "--json"])["to_fetch"]["records"], 1);
}

#[test]
fn where_records_may_be_depends_on_the_remotes() {
    let team = shared();
    let remote = || json(&team, "b", &["status", "--json"])["to_fetch"].clone();
    team.git("b", &["remote", "set-url", "origin", "../other.git"]);
    assert_eq!((&remote()["remote"], &remote()["is_approved"]), (&"origin".into(), &false.into()));
    team.git("b", &["remote", "rename", "origin", "o\u{301}ne"]);
    team.git("b", &["remote", "add", "two", "../two.git"]);
    assert_eq!(remote()["remote"], serde_json::Value::Null);
    let said = team.done("b", &["status"]);
    assert!(said.contains("that a remote may have") && said.contains("git checkpoint fetch <remote>"), "{said}");
    for name in ["o\u{301}ne", "two"] {
        team.git("b", &["remote", "remove", name]);
    }
    assert_eq!(remote(), serde_json::Value::Null);
}

#[test]
fn what_is_shown_of_others_names_their_remote() {
    let team = shared();
    team.done("b", &["fetch"]);
    team.work("b", "x", "of an agent here");
    let blame = json(&team, "b", &["blame", "x", "--json"]);
    let remotes: Vec<_> =
        blame["lines"].as_array().expect("lines").iter().map(|it| it["record_remote"].clone()).collect();
    assert_eq!(remotes, ["origin".into(), serde_json::Value::Null], "{blame}");
    let said = described(&team.run("b", &["blame", "x"]));
    assert!(said.contains("the authors of 1 line were recorded in 'origin', not in this clone"), "{said}");
    let said = team.done("b", &["blame", "x", "--porcelain"]);
    assert_eq!(said.matches("record-remote origin\n").count(), 1, "{said}");

    let found = json(&team, "b", &["attribution", "HEAD~1", "--json"]);
    assert_eq!(found["fetched_records"][0]["remote"], "origin", "{found}");
    assert_eq!(found["fetched_records"][0]["id"], found["records"][0], "{found}");
    assert!(team.done("b", &["attribution", "HEAD~1"]).contains("\nrecorded in 'origin', not in this clone\n"));
    let said = team.done("b", &["attribution", "HEAD~2..HEAD"]);
    assert!(said.contains("\n1 record: recorded in 'origin', not in this clone\n"), "{said}");
    assert!(team.done("b", &["attribution", "HEAD~1", "--porcelain"]).contains("\nfetched-record "));
    let own = json(&team, "b", &["attribution", "HEAD", "--json"]);
    assert_eq!(own["fetched_records"], serde_json::json!([]), "{own}");

    let shown = json(&team, "b", &["show", "HEAD~1", "--json"]);
    assert_eq!(shown["records"][0]["remote"], "origin", "{shown}");
    assert!(team.done("b", &["show", "HEAD~1"]).contains("(recorded in 'origin')"));
    assert_eq!(json(&team, "b", &["show", "HEAD", "--json"])["records"][0]["remote"], serde_json::Value::Null);
}

/// An object below the root of what was fetched is gone: doctor sees it, sets the ref aside, and the next fetch has all again.
#[rstest::rstest]
#[case::shard("git rev-parse {}:$(git ls-tree --name-only {} | head -1)")]
#[case::file("git rev-parse {}:$(git ls-tree -r --name-only {} | grep /attribution$)")]
fn what_was_fetched_and_is_damaged_is_fetched_anew(#[case] object: &str) {
    let team = shared();
    team.done("b", &["fetch"]);
    let tip = team.id("b", TRACKING);
    let object = team.world.sh(&format!("cd ../b; {}", object.replace("{}", TRACKING)));
    let object = object.trim();
    // Packs are unpacked, so that one object can go.
    team.world.sh("cd ../b; mkdir ../packs; mv .git/objects/pack/* ../packs; cat ../packs/*.pack >/dev/null
        for pack in ../packs/*.pack; do git unpack-objects -q <$pack; done");
    fs::remove_file(team.path("b/.git/objects").join(&object[..2]).join(&object[2..])).expect("it is loose");
    let said = team.fails("b", &["doctor"]);
    assert!(said.contains("what was fetched cannot all be read"), "{said}");
    // What can be read does not stop for that.
    for arguments in [&["explain", "HEAD"][..], &["blame", "x"], &["session", "list", "--all"], &["list"]] {
        let output = team.run("b", arguments);
        assert_ne!(output.status.code(), Some(128), "{arguments:?}: {}", described(&output));
    }
    let said = described(&team.run("b", &["doctor", "--fix"]));
    assert!(said.contains("set aside") && said.contains("'git checkpoint fetch origin' gets it anew"), "{said}");
    assert_eq!(team.id("b", TRACKING), "");
    team.done("b", &["fetch"]);
    assert_eq!([team.id("b", TRACKING), team.id("server.git", HISTORY)], [tip.clone(), tip]);
    assert!(team.done("b", &["blame", "x"]).contains("claude-code"));
    team.assert_sound(&["b"]);
}
