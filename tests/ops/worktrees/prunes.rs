//! `worktree prune` and `worktree move`.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use super::{
    add, by_git, by_us, json_of,
    left_alone::{end, sleeper},
    removal_races::{dies, wait_until_halted},
    removed::{state, with_work},
    run_in, said,
};
use crate::support::{World, program};

/// A worktree whose directory is gone, and why git still knows it after a prune; none: git has forgotten it.
#[rstest]
#[case::gone("mv ../a/w ../away", None)]
#[case::locked("git worktree lock ../a/w; mv ../a/w ../away", Some("locked"))]
#[case::locked_at_length(
    "git worktree lock --reason \"$(head -c 70000 /dev/zero | tr '\\0' x)\" ../a/w; mv ../a/w ../away",
    Some("locked")
)]
#[case::absent_mount("mv ../a/w ../away; rm -r ../a/beside", Some("not-mounted"))]
#[case::absent_parent("mv ../a ../away", Some("not-mounted"))]
#[case::without_dot_git("mv ../a/w/.git ../away", Some("no-dot-git"))]
#[case::root_that_cannot_be_looked_into("mv ../a/w ../away; ln -s w ../a/w", Some("unreadable"))]
#[case::submodules("mkdir -p .git/worktrees/w/modules/lib; mv ../a/w ../away", Some("submodules"))]
#[case::in_use("cd ../a/w; git checkpoint session start s1 --agent ag >/dev/null; mv ../w ../../away", Some("in-use"))]
fn only_what_is_gone_for_good_is_forgotten(#[case] script: &str, #[case] why: Option<&str>) {
    let world = World::with_commit();
    world.sh("mkdir ../a; touch ../a/beside; git worktree add -q ../a/w -b side; echo new >../a/w/new");
    world.sh(script);
    let path = world.root().join("a/w");
    let before = by_git(&world);
    let dry = json_of(&world, &["worktree", "prune", "-n", "--json"]);
    assert_eq!(by_git(&world), before);
    let pruned = json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!((dry["dry_run"].clone(), pruned["dry_run"].clone()), (json!(true), json!(false)));
    if let Some(why) = why {
        let mut left = json!({ "path": path, "why": why });
        if why == "in-use" {
            left["session"] = json!("s1");
        } else if why == "submodules" {
            left["files"] = json!(world.repo().join(".git/worktrees/w/modules"));
        }
        assert_eq!((&pruned["left"], &pruned["forgotten"]), (&json!([left]), &json!([])));
        assert_eq!(by_git(&world), before);
        return;
    }
    assert_eq!((&pruned["left"], &pruned["forgotten"][0]["path"]), (&json!([]), &json!(path)));
    assert_eq!(by_git(&world).len(), 1);
    // It was there after all: nothing is lost.
    let output = world.checkpoint(&["worktree", "restore", "side"]);
    assert!(said(&output).contains("was gone before it was pruned"), "{}", said(&output));
    world.sh("mv ../away ../a/w");
    let output = world.checkpoint(&["worktree", "restore", "side"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(world.git(&["-C", "../a/w", "status", "--porcelain"]), "?? new\n");
    assert_eq!(by_git(&world).len(), 2);
}

/// Whether it is locked is not known then, and no hint says how to unlock it.
#[test]
fn a_registration_that_cannot_be_read_is_not_called_locked() {
    let world = World::with_commit();
    world.sh("mkdir ../a; touch ../a/beside; git worktree add -q ../a/w -b side; chmod 000 .git/worktrees/w");
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        world.sh("chmod 755 ..; chown -R 65534 ..");
    }
    let user: &[&str] = if is_root { &["setpriv", "--reuid=65534", "--clear-groups"] } else { &["env"] };
    let run = |arguments: &[&str]| {
        let mut command = world.command(user[0]);
        command.args(&user[1..]).arg(program()).args(arguments).output().expect("it runs")
    };
    let git_dir = world.repo().join(".git/worktrees/w");
    let pruned: Value = serde_json::from_slice(&run(&["worktree", "prune", "--json"]).stdout).expect("it is JSON");
    assert_eq!(pruned["left"], json!([{ "path": git_dir, "why": "unreadable" }]), "{pruned}");
    let list = run(&["worktree", "list", "--json"]);
    let list: Value = serde_json::from_slice(&list.stdout).unwrap_or_else(|_| panic!("it is JSON: {}", said(&list)));
    let listed = &list["worktrees"][1];
    assert_eq!((&listed["locked"], &listed["prunable"]), (&Value::Null, &json!(false)), "{list}");
    for command in ["remove", "move"] {
        let name = git_dir.display().to_string();
        let to: &[&str] = if command == "move" { &["../to"] } else { &[] };
        let output = run(&[&["worktree", command, &name], to].concat());
        assert!(!output.status.success() && !said(&output).contains("lock"), "{}", said(&output));
    }
    world.sh("chmod 700 .git/worktrees/w");
    assert!(git_dir.join("gitdir").exists());
}

#[test]
fn removed_worktrees_are_deleted_when_they_are_old() {
    let world = World::with_commit();
    let path = with_work(&world);
    let removed = json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let pruned = json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!((&pruned["deleted"], &pruned["kept"]), (&json!([]), &json!(1)));
    // The date in the record is what counts.
    world.sh("sed -i 's/\"removed\": [0-9]*/\"removed\": 1000/' .git/checkpoint/removed/*/worktree.json");
    let dry = json_of(&world, &["worktree", "prune", "--dry-run", "--json"]);
    assert_eq!(dry["deleted"][0]["id"], removed["id"]);
    let pruned = json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!((&pruned["deleted"][0]["id"], &pruned["kept"]), (&removed["id"], &json!(0)));
    assert_eq!(world.sh("ls -A .git/checkpoint/removed"), "");
    let output = world.checkpoint(&["worktree", "restore", "side"]);
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    // What was saved is still there.
    let checkpoint = removed["checkpoint"].as_str().expect("an id");
    assert_eq!(world.git(&["show", &format!("{checkpoint}:t")]), "unstaged\n");
    drop(path);
    // And all of them, if that is asked for. No link is followed.
    world.sh("mkdir ../precious; echo 1 >../precious/file");
    let other = add(&world, "other");
    world.sh(&format!("ln -s ../precious '{}/link'", other.display()));
    world.settle();
    json_of(&world, &["worktree", "remove", "--force", "other", "--json"]);
    assert_eq!(
        json_of(&world, &["worktree", "prune", "--removed", "--json"])["deleted"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(fs::read(world.root().join("precious/file")).expect("it stays"), b"1\n");
}

#[test]
fn a_worktree_moves_with_all_that_is_in_it() {
    let world = World::with_commit();
    let path = with_work(&world);
    run_in(&world, &path, &["save", "-q", "-m", "mine"]);
    let before = state(&world, &path);
    let to = world.root().join("new place");
    let moved = json_of(&world, &["worktree", "move", "side", "../new place", "--json"]);
    let expected = json!({ "version": 1, "id": "repo-wt-side", "from": path, "path": to });
    assert_eq!(moved, expected);
    assert_eq!(state(&world, &to), before);
    assert_eq!(by_us(&world), by_git(&world));
    let saved = run_in(&world, &to, &["list"]);
    assert!(String::from_utf8_lossy(&saved.stdout).contains("mine"), "{}", said(&saved));
    // Below a directory, it has the name that it has.
    world.sh("mkdir ../below");
    let moved = json_of(&world, &["worktree", "move", "side", "../below", "--json"]);
    assert_eq!(moved["path"].as_str(), world.root().join("below/new place").to_str());
    let log = world.done(&["op", "log"]);
    assert_eq!(log.lines().filter(|line| line.contains("worktree move")).count(), 2, "{log}");
}

#[rstest]
#[case::main("true", "main", "../x", 1, "is the main worktree")]
#[case::locked("git worktree lock ../repo-wt-side", "side", "../x", 1, "is locked")]
#[case::a_file_is_there("touch ../x", "side", "../x", 1, "exists already")]
#[case::no_parent("true", "side", "../no/x", 128, "cannot find the directory")]
#[case::into_itself("true", "side", "../repo-wt-side/x", 1, "is inside the worktree itself")]
#[case::empty("true", "side", "", 128, "is empty")]
#[case::outside_roots(
    "git config checkpoint.worktree.roots $(dirname $PWD)/repo-wt-side",
    "side",
    "../x",
    1,
    "worktree.roots"
)]
#[case::turn(
    "cd ../repo-wt-side; git checkpoint session prompt s1 --agent ag",
    "side",
    "../x",
    1,
    "the session 's1' has a turn under way"
)]
fn what_cannot_be_moved_stays(
    #[case] script: &str,
    #[case] name: &str,
    #[case] to: &str,
    #[case] status: i32,
    #[case] words: &str,
) {
    let world = World::with_commit();
    world.git(&["branch", "-M", "main"]);
    with_work(&world);
    world.sh(script);
    let before = by_git(&world);
    let output = world.checkpoint(&["worktree", "move", name, to]);
    assert_eq!(output.status.code(), Some(status), "{}", said(&output));
    assert!(said(&output).contains(words), "{}", said(&output));
    assert_eq!(by_git(&world), before);
}

#[test]
fn there_may_be_nothing_to_prune() {
    let world = World::with_commit();
    let expected = json!({
        "version": 1, "dry_run": false, "forgotten": [], "left": [], "deleted": [], "kept": 0,
    });
    assert_eq!(json_of(&world, &["worktree", "prune", "--json"]), expected);
    assert_eq!(world.done(&["worktree", "prune"]), "nothing to prune\n");
    assert_eq!(json_of(&world, &["worktree", "restore", "--list", "--json"])["removed"], Value::Array(Vec::new()));
}

/// A worktree was forgotten that has the repository of a submodule.
#[test]
fn the_repositories_of_submodules_are_not_deleted() {
    let world = World::with_commit();
    world.sh("git worktree add -q ../w -b side; rm -rf ../w");
    world.done(&["worktree", "prune"]);
    let modules = world.sh("cd .git/checkpoint/removed/*/admin; mkdir -p modules/lib; echo $PWD/modules");
    let pruned = json_of(&world, &["worktree", "prune", "--removed", "--json"]);
    let left = json!([{ "path": world.root().join("w"), "why": "submodules", "files": modules.trim() }]);
    assert_eq!((&pruned["left"], &pruned["deleted"], &pruned["kept"]), (&left, &json!([]), &json!(1)), "{pruned}");
    // Without them, it can be.
    world.sh(&format!("rm -r '{}'", modules.trim()));
    assert_eq!(json_of(&world, &["worktree", "prune", "--removed", "--json"])["kept"], json!(0));
}

/// The same, and what it was renamed from is there again.
#[cfg(target_os = "linux")]
#[test]
fn a_deletion_that_cannot_be_taken_back_deletes_nothing() {
    let world = World::with_commit();
    let path = with_work(&world);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let child = world.start_with(&["worktree", "prune", "--removed", "--json"], "stop@worktree:after-dropped");
    wait_until_halted(child.id());
    let dropped = world.sh("cd .git/checkpoint/removed; mkdir -p $(echo * | sed s/dropped-//)/x; echo $PWD/dropped-*");
    let dropped = std::path::Path::new(dropped.trim());
    let process = sleeper(&dropped.join("admin"));
    world.sh(&format!("kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    let pruned: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    let left = json!([{ "path": path, "why": "in-use", "process": process.id() }]);
    assert_eq!((&pruned["left"], &pruned["kept"]), (&left, &json!(0)), "{pruned}");
    assert!(dropped.join("tree/.env").exists());
    end(process);
    assert_eq!(json_of(&world, &["worktree", "prune", "--json"])["left"], json!([]));
}

/// Git cannot list such a worktree, or waits for the pipe, but forgets nothing either.
#[rstest]
fn a_worktree_is_locked_whatever_locks_it(#[values("mkfifo", "mkdir", "ln -s nowhere", "ln -s /dev/zero")] make: &str) {
    let world = World::with_commit();
    let path = with_work(&world);
    world.sh(&format!("{make} .git/worktrees/repo-wt-side/locked"));
    let list = json_of(&world, &["worktree", "list", "--json"]);
    assert_eq!(list["worktrees"][1]["locked"], json!(""), "{list}");
    fs::rename(&path, world.root().join("away")).expect("it is there");
    let pruned = json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!((&pruned["left"][0]["why"], &pruned["forgotten"]), (&json!("locked"), &json!([])), "{pruned}");
    assert!(world.repo().join(".git/worktrees/repo-wt-side/HEAD").exists());
}

/// The restore was killed when the worktree was back: it is neither kept nor deleted.
#[test]
fn a_worktree_that_is_only_locked_is_not_kept() {
    let world = World::with_commit();
    with_work(&world);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    dies(&world, &["worktree", "restore", "side"], "worktree:after-tree-back");
    for arguments in [&["worktree", "prune", "-n", "--json"][..], &["worktree", "prune", "-n", "--removed", "--json"]] {
        let pruned = json_of(&world, arguments);
        let none = &json!([]);
        assert_eq!((&pruned["kept"], &pruned["deleted"], &pruned["left"]), (&json!(0), none, none), "{pruned}");
    }
}

/// A process comes when the deletion has begun, and nothing is deleted yet.
#[cfg(target_os = "linux")]
#[test]
fn a_deletion_that_has_deleted_nothing_is_taken_back() {
    let world = World::with_commit();
    let path = with_work(&world);
    let before = state(&world, &path);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let child = world.start_with(&["worktree", "prune", "--removed", "--json"], "stop@worktree:after-dropped");
    wait_until_halted(child.id());
    let tree = world.sh("echo $PWD/.git/checkpoint/removed/dropped-*/tree");
    let process = sleeper(tree.trim().as_ref());
    world.sh(&format!("kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    let pruned: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    let left = json!([{ "path": path, "why": "in-use", "process": process.id() }]);
    assert_eq!((&pruned["left"], &pruned["kept"]), (&left, &json!(1)), "{pruned}");
    end(process);
    assert!(world.checkpoint(&["worktree", "restore", "side"]).status.success());
    assert_eq!(state(&world, &path), before);
}

/// A deletion that was killed cannot go on: what is left of it is named.
#[cfg(target_os = "linux")]
#[test]
fn what_a_killed_deletion_has_left_is_named() {
    let world = World::with_commit();
    let path = with_work(&world);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    dies(&world, &["worktree", "prune", "--removed"], "worktree:after-dropped");
    let process = sleeper(world.sh("echo $PWD/.git/checkpoint/removed/dropped-*/tree").trim().as_ref());
    let left = json!([{ "path": path, "why": "in-use", "process": process.id() }]);
    for arguments in [&["worktree", "prune", "-n", "--json"][..], &["worktree", "prune", "--json"]] {
        let pruned = json_of(&world, arguments);
        assert_eq!((&pruned["left"], &pruned["kept"]), (&left, &json!(0)), "{pruned}");
    }
    end(process);
    // Without a record that can be read, nobody knows where all of it is.
    world.sh("echo '{}' >$(echo .git/checkpoint/removed/dropped-*)/worktree.json");
    let pruned = json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!(pruned["left"][0]["why"], json!("not-deleted"), "{pruned}");
    assert!(!world.sh("ls .git/checkpoint/removed").is_empty());
}

/// The folder of the removed worktrees cannot be changed.
#[test]
fn what_is_not_deleted_is_kept() {
    let world = World::with_commit();
    with_work(&world);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    world.sh("mkdir -p $(ls -d .git/checkpoint/removed/* | sed 's,removed/,removed/dropped-,')/x");
    world.sh("echo x >$(echo .git/checkpoint/removed/dropped-*)/worktree.json");
    let pruned = json_of(&world, &["worktree", "prune", "--removed", "--json"]);
    assert_eq!((&pruned["deleted"], &pruned["kept"]), (&json!([]), &json!(1)), "{pruned}");
}
