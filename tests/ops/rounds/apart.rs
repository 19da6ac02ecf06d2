//! `round archive` and `round end --keep-worktree`: what stays when a round, or its experiments, come to an end.

use std::fs;

use serde_json::json;

use super::{end, everything, field, folder, path, said, start, text};
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

/// The directory is the user's: what is in it stays, and nothing leads out of it.
#[test]
fn experiments_go_to_a_directory_of_the_users() {
    let world = World::with_commit();
    let round = start(&world, &["--agent", "a"]);
    let (id, scratch) = (round["round"].as_str().expect("it has an id"), field(&round, "scratch"));
    let kept = folder(&world, "kept");
    fs::create_dir(kept.join("a")).expect("a directory can be made");
    fs::write(kept.join("a/mine"), "mine\n").expect("writable");
    std::os::unix::fs::symlink(folder(&world, "elsewhere"), kept.join("a-2")).expect("a link can be made");
    let keep = |note: &str, to: &str, more: &[&str]| {
        fs::write(format!("{scratch}/note"), note).expect("writable");
        let printed = world.json(&[&["round", "archive", id, "--to", to, "--json"], more].concat());
        let archive = field(&printed, "archive").to_owned();
        assert_eq!(fs::read_to_string(format!("{archive}/note")).expect("it is kept"), note);
        assert_eq!(fs::read_dir(scratch).expect("it is there").count(), 0);
        archive
    };
    // Neither in a folder that is there, nor through a link.
    assert_eq!(keep("one\n", text(&kept), &[]), text(&kept.join("a-3")));
    assert_eq!(fs::read_dir(kept.join("a")).expect("it is there").count(), 1);
    assert_eq!(fs::read_dir(world.root().join("elsewhere")).expect("it is there").count(), 0);
    // Relative to the current directory, and made if need be.
    assert_eq!(keep("two\n", "../new", &["--label", "tried"]), text(&world.root().join("new/tried")));
    assert_eq!(keep("three\n", "../new/", &["--label", "tried"]), text(&world.root().join("new/tried-2")));
    let shown = world.json(&["round", "show", id, "--json"]);
    assert_eq!(shown["round"]["contexts"][0]["archive"], json!(world.root().join("new/tried-2")));
    // The end has its own archive all the same.
    fs::write(format!("{scratch}/note"), "four\n").expect("writable");
    assert!(field(&end(&world, &round), "archive").ends_with("/ws/.scratch_archive/a"));
    world.assert_sound("after an archive elsewhere");
}

#[test]
fn experiments_go_nowhere_else() {
    let world = World::with_commit();
    let round = start(&world, &["--agent", "a"]);
    let (id, scratch) = (round["round"].as_str().expect("it has an id"), field(&round, "scratch"));
    fs::write(format!("{scratch}/note"), "idea\n").expect("writable");
    fs::write(world.root().join("file"), "mine\n").expect("writable");
    std::os::unix::fs::symlink(folder(&world, "elsewhere"), world.root().join("link")).expect("a link can be made");
    let inside = format!("{}/sub", field(&round, "path"));
    let deeper = format!("{scratch}/deeper");
    let before = everything(&world);
    for (to, label, what) in [
        ("../link", "x", "link' is not a folder"),
        ("../file", "x", "file' is not a folder"),
        ("../nowhere/deep", "x", "cannot find the directory of '../nowhere/deep'"),
        (".git", "x", "is in a directory of git's own"),
        (".git/hooks", "x", "is in a directory of git's own"),
        (&inside, "x", "works in '"),
        (&deeper, "x", "works in '"),
        (scratch, "x", "works in '"),
        ("../elsewhere", "../x", "is not a plain name"),
        ("../elsewhere", "a/b", "is not a plain name"),
        ("../elsewhere", "", "is not a plain name"),
    ] {
        let output = world.checkpoint(&["round", "archive", id, "--to", to, "--label", label]);
        assert!(!output.status.success() && said(&output).contains(what), "{to}: {}", said(&output));
        assert_eq!(everything(&world), before, "{to}");
    }
}

/// Neither git's own directory nor the worktree of another round may have it, wherever they are.
#[test]
fn an_archive_is_neither_in_a_bare_repository_nor_where_another_round_works() {
    let world = World::with_commit();
    world.sh("git clone -q --bare . ../bare.git; git -C ../bare.git worktree add -q ../linked main");
    let start =
        |agent: &str| world.json(&["-C", "../linked", "round", "start", "--context", ".", "--agent", agent, "--json"]);
    let (round, other) = (start("a"), start("b"));
    fs::write(format!("{}/note", field(&round, "scratch")), "idea\n").expect("writable");
    let id = round["round"].as_str().expect("it has an id");
    let inside = format!("{}/kept", field(&other, "path"));
    for (to, what) in [("../bare.git/refs", "is in a directory of git's own"), (&inside, "works in '")] {
        let output = world.checkpoint(&["-C", "../linked", "round", "archive", id, "--to", to]);
        assert!(!output.status.success() && said(&output).contains(what), "{to}: {}", said(&output));
        assert!(fs::exists(format!("{}/note", field(&round, "scratch"))).expect("it can be looked at"));
    }
    world.git(&["-C", "../bare.git", "log", "--all"]);
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
