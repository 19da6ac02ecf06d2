//! `round diff`: what a round has changed, whatever of it is committed.

use std::fs;

use super::{end, field, path, said, start};
use crate::support::World;

#[test]
fn a_diff_shows_all_that_a_round_has_changed() {
    let world = World::with_commit();
    world.sh("printf 'a\\nb\\n' >t; echo 1 >gone; echo /ignored >.gitignore; git add .; git commit -qm t");
    let round = start(&world, &[]);
    let id = round["round"].as_str().expect("it has an id");
    world.sh(&format!(
        "cd '{}'; echo c >>t; git commit -qam c; rm gone; echo n >new; echo s >staged; git add staged; echo i >ignored
         echo idea >.checkpoint_scratch/note",
        path(&round).display()
    ));
    // What others do does not count.
    world.sh("echo theirs >theirs; git add theirs; git commit -qm theirs");
    let status = world.git(&["-C", super::text(&path(&round)), "status", "--porcelain"]);
    let names = "D\tgone\nA\tnew\nA\tstaged\nM\tt\n";
    assert_eq!(world.done(&["round", "diff", "--name-status", id]), names);
    assert_eq!(world.done(&["round", "diff", "--name-only", field(&round, "branch"), "--", "t", "new"]), "new\nt\n");
    assert!(world.done(&["round", "diff", id]).contains("+c\n"));
    assert!(world.done(&["round", "diff", "--stat", id]).contains("4 files changed"));
    let json = world.json(&["round", "diff", "--json", id]);
    assert_eq!(json["contexts"][0]["diff"]["files"].as_array().map(Vec::len), Some(4));
    assert_eq!(
        world.git(&["-C", super::text(&path(&round)), "status", "--porcelain"]),
        status,
        "the index is as before"
    );
    end(&world, &round);
    assert_eq!(world.done(&["round", "diff", "--name-status", id]), names);
}

#[test]
fn a_workspace_has_a_diff_too() {
    let world = World::with_commit();
    let round = world.json(&["round", "start", "--workspace", ".", "--json"]);
    fs::write(world.repo().join("new"), "work\n").expect("writable");
    assert_eq!(world.done(&["round", "diff", "--name-only", field(&round, "branch")]), "new\n");
    end(&world, &round);
    assert_eq!(world.done(&["round", "diff", "--name-only", field(&round, "branch")]), "new\n");
}

#[test]
fn a_diff_of_what_is_gone_is_refused() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    world.done(&["worktree", "remove", field(&round, "path")]);
    let output = world.checkpoint(&["round", "diff", field(&round, "branch")]);
    assert!(!output.status.success() && said(&output).contains("is gone"), "{}", said(&output));
    end(&world, &round);
    world.git(&["branch", "-Dq", field(&round, "branch")]);
    let output = world.checkpoint(&["round", "diff", field(&round, "branch")]);
    assert!(!output.status.success() && said(&output).contains("is no more"), "{}", said(&output));
}
