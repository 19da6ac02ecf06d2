//! The note of a checkpoint goes along with it; only the clone that has taken the checkpoint writes it.

use std::fs;

use crate::{ops::sharing::Team, support::processes::described};

const NOTES: &str = "refs/checkpoints/shared-notes";
const FETCHED: &str = "refs/checkpoints-remote/origin/shared-notes";

/// Saves a checkpoint with `text` in a file in the clone, and returns its id.
fn saved(team: &Team, name: &str, text: &str) -> String {
    fs::write(team.path(name).join("work"), format!("{text}\n")).expect("written");
    let saved: serde_json::Value =
        serde_json::from_str(&team.done(name, &["save", "-m", text, "--json"])).expect("JSON");
    saved["id"].as_str().expect("an id").to_owned()
}

/// Returns the names of the refs of the clone below `below`.
fn refs(team: &Team, name: &str, below: &str) -> Vec<String> {
    team.git(name, &["for-each-ref", "--format=%(refname)", below]).lines().map(str::to_owned).collect()
}

fn json(team: &Team, name: &str, arguments: &[&str]) -> serde_json::Value {
    serde_json::from_slice(&team.run(name, &[arguments, &["--json"]].concat()).stdout).expect("JSON")
}

#[test]
fn a_note_goes_along_and_follows_what_becomes_of_it() {
    let team = Team::of(&["a", "b"]);
    let id = saved(&team, "a", "half of it");
    team.done("a", &["note", "@", "-m", "loses the order"]);
    saved(&team, "a", "another one");
    team.done("a", &["note", "@", "-m", "not sent"]);
    let planned = json(&team, "a", &["push", "-n", "--checkpoint", &id]);
    assert_eq!(planned["checkpoints"][0]["note"]["state"], "sent", "{planned}");
    assert_eq!(refs(&team, "server.git", NOTES), [""; 0]);
    let said = described(&team.run("a", &["push", "--checkpoint", &id]));
    assert!(said.contains("sent the note of "), "{said}");
    assert_eq!(refs(&team, "server.git", NOTES), [format!("{NOTES}/{id}")]);

    let planned = json(&team, "b", &["fetch", "-n", "--checkpoints"]);
    assert_eq!(planned["notes"][0]["id"], id, "{planned}");
    let said = team.done("b", &["fetch", "--checkpoints"]);
    assert!(said.contains("fetched the note of origin/"), "{said}");
    assert!(team.done("b", &["fetch", "--checkpoints"]).contains("no checkpoint is new"));
    let shown = team.done("b", &["show", &format!("origin/{id}")]);
    assert!(shown.contains("loses the order"), "{shown}");
    let listed = json(&team, "b", &["list", "--fetched"]);
    assert_eq!(listed["note"], "loses the order\n", "{listed}");
    let author = listed["note_author"].as_str().expect("a name").to_owned();
    let list = team.done("b", &["list", "--fetched"]);
    assert!(list.contains(&format!("note by {author}: loses the order")), "{list}");

    // Another text, by the notes alone.
    team.done("a", &["note", &id, "-f", "-m", "keeps it now"]);
    let sent = json(&team, "a", &["push", "--notes"]);
    assert_eq!((&sent["notes"][0]["state"], sent["notes"].as_array().map(Vec::len)), (&"sent".into(), Some(1)));
    assert!(described(&team.run("a", &["push", "--notes"])).contains("no note is new to 'origin'"));
    team.done("b", &["fetch", "--checkpoints"]);
    let shown = team.done("b", &["show", &format!("origin/{id}")]);
    assert!(shown.contains("keeps it now") && !shown.contains("loses the order"), "{shown}");
    // What the clone that wrote it fetches is its own.
    team.done("a", &["fetch", "--checkpoints"]);
    assert_eq!(refs(&team, "a", FETCHED), [""; 0]);

    team.done("a", &["note", &id, "--remove"]);
    let said = described(&team.run("a", &["push", "--notes"]));
    assert!(said.contains("removed the note of "), "{said}");
    assert_eq!(refs(&team, "server.git", NOTES), [""; 0]);
    let said = described(&team.run("b", &["fetch", "--checkpoints"]));
    assert!(said.contains("is gone, as it is in 'origin'"), "{said}");
    assert_eq!(refs(&team, "b", FETCHED), [""; 0]);
    team.assert_sound(&["a", "b", "server.git"]);
}

#[test]
fn a_secret_in_a_note_keeps_the_checkpoint_here() {
    let team = Team::of(&["a"]);
    let id = saved(&team, "a", "work");
    let secret = format!("AKIA{}", "Q3EGRT5SZ7WXVN2L");
    team.git("a", &["config", "checkpoint.transcript.redact", "false"]);
    team.done("a", &["note", "@", "-m", &secret]);
    let said = team.fails("a", &["push", "--shadow"]);
    assert!(said.contains(&format!("the note for {id} looks as if it has a secret")), "{said}");
    assert!(!said.contains(&secret), "{said}");
    assert_eq!(refs(&team, "server.git", "refs/checkpoints"), [""; 0]);
    team.done("a", &["push", "--shadow", "--no-scan"]);
    assert_eq!(refs(&team, "server.git", NOTES).len(), 1);
}

/// What is no note of ours is refused, and nothing of it comes here.
#[test]
fn hostile_notes_are_refused_alone() {
    let team = Team::of(&["a", "b"]);
    let id = saved(&team, "a", "work");
    team.done("a", &["note", "@", "-m", "fine \u{1b}[31m red"]);
    team.done("a", &["push", "--shadow"]);
    let good = team.id("server.git", &format!("{NOTES}/{id}"));
    let other = "1234567890123456789012345678901234567890";
    // That of another checkpoint, a branch, and one that has a parent.
    let third = "2234567890123456789012345678901234567890";
    let tree = format!("{good}^{{tree}}");
    let child = team.git("server.git", &["commit-tree", "-p", &good, "-m", "note written", &tree]);
    let fourth = "3234567890123456789012345678901234567890";
    for (name, at) in [(other, good.as_str()), (third, "main"), (fourth, child.trim()), ("evil", "main")] {
        team.git("server.git", &["update-ref", &format!("{NOTES}/{name}"), at]);
    }
    let output = team.run("b", &["fetch", "--checkpoints"]);
    let said = described(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.matches(" is refused: ").count(), 3, "{said}");
    assert_eq!(refs(&team, "b", FETCHED), [format!("{FETCHED}/{id}")]);
    let inside = team.git("b", &["cat-file", "--batch-all-objects", "--batch-check"]);
    assert!(!inside.contains(child.trim()), "{said}");
    let shown = team.done("b", &["show", &format!("origin/{id}")]);
    assert!(shown.contains("red") && !shown.contains('\u{1b}'), "{shown}");
    assert!(!team.done("b", &["list", "--fetched"]).contains('\u{1b}'));
    team.assert_sound(&["b"]);
    team.done("b", &["remote", "remove", "origin", "--yes"]);
    assert_eq!(refs(&team, "b", "refs/checkpoints-remote"), [""; 0]);
}
