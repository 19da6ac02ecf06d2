//! `round archive` and `round end --keep-worktree`: what stays when a round, or its experiments, come to an end.

use std::fs;

use serde_json::json;

use super::{end, field, path, said, start};
use crate::support::World;

#[test]
fn experiments_are_archived_while_the_round_goes_on() {
    let world = World::with_commit();
    let round = start(&world, &["--agent", "a"]);
    let (id, scratch) = (round["round"].as_str().expect("it has an id"), field(&round, "scratch"));
    let mut archives = Vec::new();
    for note in ["one\n", "two\n"] {
        fs::write(format!("{scratch}/note"), note).expect("writable");
        let kept = world.json(&["round", "archive", id, "--json"]);
        assert_eq!(kept["contexts"][0]["scratch"], json!(scratch));
        let archive = field(&kept, "archive").to_owned();
        assert_eq!(fs::read_to_string(format!("{archive}/note")).expect("it is kept"), note);
        assert_eq!(fs::read_dir(scratch).expect("it is there").count(), 0);
        archives.push(archive);
    }
    assert_eq!(fs::read_to_string(format!("{}/note", archives[0])).expect("it stays"), "one\n");
    assert!(archives[0].ends_with("/ws/.scratch_archive/a") && archives[1].ends_with("/a-2"), "{archives:?}");
    // Nothing new.
    assert_eq!(world.json(&["round", "archive", id, "--json"])["contexts"][0]["archive"], json!(null));
    assert_eq!(world.json(&["round", "show", id, "--json"])["round"]["contexts"][0]["archive"], json!(archives[1]));
    assert_eq!(world.json(&["round", "show", id, "--json"])["round"]["phase"], json!("live"));
    fs::write(format!("{scratch}/note"), "three\n").expect("writable");
    let named = world.json(&["round", "archive", id, "--label", "tried", "--json"]);
    assert!(field(&named, "archive").ends_with("/tried"));
    assert!(!world.checkpoint(&["round", "archive", id, "--label", "../x"]).status.success());
    end(&world, &round);
    let output = world.checkpoint(&["round", "archive", id]);
    assert!(said(&output).contains("has ended"), "{}", said(&output));
}

#[test]
fn the_worktree_stays_if_that_is_asked_for() {
    let world = World::with_commit();
    world.sh("echo ignored >.gitignore; git add .; git commit -qm rules");
    let round = start(&world, &["--agent", "a"]);
    let id = round["round"].as_str().expect("it has an id");
    fs::write(path(&round).join("new"), "work\n").expect("writable");
    fs::write(path(&round).join("ignored"), "built\n").expect("writable");
    fs::write(format!("{}/note", field(&round, "scratch")), "idea\n").expect("writable");
    // A shell may be there.
    let mut child = world.command("sleep").arg("60").current_dir(path(&round)).spawn().expect("it runs");
    let ended = world.json(&["round", "end", id, "--keep-worktree", "--json"]);
    child.kill().and_then(|()| child.wait()).expect("it ends");
    assert_eq!((field(&ended, "kept"), &ended["contexts"][0]["removed"]), (field(&round, "path"), &json!(null)));
    assert_eq!(world.git(&["show", &format!("{}:new", field(&round, "branch"))]), "work\n");
    assert_eq!(fs::read_to_string(path(&round).join("ignored")).expect("it stays"), "built\n");
    assert_eq!(fs::read_to_string(format!("{}/note", field(&ended, "archive"))).expect("it is kept"), "idea\n");
    assert_eq!(world.json(&["round", "list", "--json"])["rounds"], json!([]));
    // Asked again, it is the same; the next round of the agent is another one.
    assert_eq!(field(&world.json(&["round", "end", id, "--json"]), "kept"), field(&round, "path"));
    assert_ne!(start(&world, &["--agent", "a"])["round"], round["round"]);
    world.done(&["worktree", "remove", field(&round, "path")]);
}
