//! Copies of isolated rounds that have ended, once they are to be deleted; and copies that cannot be moved aside.

use std::{
    fs,
    path::PathBuf,
    process::{Output, Stdio},
};

use rstest::rstest;
use serde_json::{Value, json};

use super::{end, field, folder, path, said, text};
use crate::support::{World, program};

fn start(world: &World) -> Value {
    let workspace = folder(world, "ws");
    world.json(&["round", "start", "--mode", "isolated", "--context", ".", "--workspace", text(&workspace), "--json"])
}

fn id(round: &Value) -> &str {
    round["round"].as_str().expect("it has an id")
}

/// Ends the round, and returns where its copy is.
fn ended(world: &World, round: &Value) -> PathBuf {
    let aside = PathBuf::from(field(&end(world, round), "aside"));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    aside
}

/// Runs the program as a user who is not the superuser, and to whom all belongs.
fn as_user(world: &World, arguments: &[&str]) -> Output {
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        world.sh("chmod 755 ..; chown -hR 65534 ..");
    }
    let user: &[&str] = if is_root { &["setpriv", "--reuid=65534", "--clear-groups"] } else { &["env"] };
    let mut command = world.command(user[0]);
    command.args(&user[1..]).arg(program()).args(arguments).output().expect("it runs")
}

const NOW: [&str; 4] = ["prune", "--older-than", "0s", "--json"];

/// Go's module cache has such directories.
#[test]
fn a_copy_with_read_only_directories_is_deleted() {
    let world = World::with_commit();
    world.sh("echo gopath >.gitignore; git add .; git commit -qm rules");
    let round = start(&world);
    let root = path(&round);
    world.sh(&format!(
        "cd '{}'; mkdir -p gopath/mod; echo 1 >gopath/mod/f; chmod 555 gopath/mod gopath",
        root.display()
    ));
    let aside = ended(&world, &round);
    let output = as_user(&world, &NOW);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let pruned: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!((&pruned["copies"][0]["path"], &pruned["copies_left"]), (&json!(text(&aside)), &json!([])), "{pruned}");
    assert!(!aside.exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_copy_in_which_a_process_works_stays_and_is_named() {
    let world = World::with_commit();
    let round = start(&world);
    fs::write(path(&round).join("new"), "work\n").expect("writable");
    let aside = ended(&world, &round);
    let mut sleeps = world.command("sleep");
    let mut child = sleeps.arg("60").current_dir(&aside).stdin(Stdio::null()).spawn().expect("it runs");
    let output = world.checkpoint(&NOW);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("stays: the process"), "{}", said(&output));
    let pruned: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!((&pruned["copies"], &pruned["copies_left"][0]["path"]), (&json!([]), &json!(text(&aside))), "{pruned}");
    assert!(aside.join("new").is_file() && aside.join(".git").is_dir());
    child.kill().and_then(|()| child.wait()).expect("it is ours");
    assert_eq!(world.json(&NOW)["copies"][0]["path"], json!(text(&aside)));
    assert!(!aside.exists());
}

/// What is deleted cannot be taken back: that comes last.
#[test]
fn a_prune_that_fails_deletes_no_copy() {
    let world = World::with_commit();
    let round = start(&world);
    fs::write(path(&round).join("new"), "work\n").expect("writable");
    let aside = ended(&world, &round);
    world.sh("git pack-refs --all; touch .git/packed-refs.lock");
    let output = world.checkpoint(&NOW);
    assert!(!output.status.success() && aside.join("new").is_file(), "{}", said(&output));
    world.sh("rm .git/packed-refs.lock");
    let output = world.checkpoint(&NOW[..3]);
    assert!(said(&output).contains("deleted for good"), "{}", said(&output));
    assert!(!aside.exists());
}

/// The clock was behind when the round ended.
#[test]
fn a_copy_is_not_older_than_its_round() {
    let world = World::with_commit();
    let round = start(&world);
    let aside = ended(&world, &round);
    let name = aside.file_name().and_then(|name| name.to_str()).expect("it is plain");
    let old = aside.with_file_name(name.rsplit_once('-').expect("it has a time").0.to_owned() + "-1000");
    fs::rename(&aside, &old).expect("it can be renamed");
    assert_eq!(world.json(&["prune", "--json"])["copies"], json!([]));
    assert!(old.exists());
    // As if another round had begun when the clock was right, which is later than now.
    let round = start(&world);
    world.sh(&format!(
        "sed -i 's/\"began\": [0-9]*/\"began\": 4102444800000000/' .git/checkpoint/rounds/{}.json",
        id(&round)
    ));
    let aside = ended(&world, &round);
    assert!(text(&aside).ends_with("-4102444800"), "{}", aside.display());
    assert_eq!(world.json(&NOW)["copies"].as_array().map(Vec::len), Some(1));
    assert!(aside.exists());
}

#[rstest]
#[case::git_dir(".git", "cannot move the branch")]
#[case::root(".", "chmod u+w ")]
fn a_copy_that_cannot_be_changed_says_so(#[case] place: &str, #[case] words: &str) {
    let world = World::with_commit();
    let round = start(&world);
    let root = path(&round);
    fs::write(root.join("new"), "work\n").expect("writable");
    world.sh(&format!("chmod 555 '{}'", root.join(place).display()));
    let output = as_user(&world, &["round", "end", id(&round)]);
    assert!(!output.status.success() && said(&output).contains(words), "{}", said(&output));
    assert!(!said(&output).contains("just been moved"), "{}", said(&output));
    world.sh(&format!("chmod 755 '{}'", root.join(place).display()));
    let output = as_user(&world, &["round", "end", id(&round)]);
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn teardown_commands_that_change_a_file_are_named() {
    let world = World::with_commit();
    world.done(&["config", "set", "worktree.teardown", r#"["date +%s%N >stamp"]"#]);
    let round = start(&world);
    for _ in 0..2 {
        let output = world.checkpoint(&["round", "end", id(&round)]);
        assert!(!output.status.success() && said(&output).contains("--no-teardown"), "{}", said(&output));
    }
    world.done(&["round", "end", "--no-teardown", id(&round)]);
    assert!(world.git(&["ls-tree", "--name-only", field(&round, "branch")]).contains("stamp"));
}

/// The repository of a submodule may be in the worktree itself.
#[test]
fn a_copy_with_a_submodule_that_has_its_own_repository_stays() {
    let world = World::with_commit();
    let round = start(&world);
    world.sh(&format!(
        "cd '{}'; git init -q in; cd in; echo 1 >f; git add f; git commit -qm f; cd ..; git add in 2>/dev/null; git commit -qm in",
        path(&round).display()
    ));
    let output = world.checkpoint(&["round", "end", id(&round)]);
    assert!(!output.status.success() && path(&round).is_dir(), "{}", said(&output));
    assert!(
        said(&output).contains("'in' in the copy '") && said(&output).contains("--keep-worktree"),
        "{}",
        said(&output)
    );
}

/// Commits on no branch are named, and held.
#[test]
fn what_was_committed_on_no_branch_of_a_copy_is_named() {
    let world = World::with_commit();
    let round = start(&world);
    let commit = world.sh(&format!(
        "cd '{}'; git switch -q --detach; echo d >d; git add d; git commit -qm d; git rev-parse HEAD; git switch -q {}
         git notes add -m noted; echo 1 >f; git add f; git commit -qm f; git commit -q --amend -m amended",
        path(&round).display(),
        field(&round, "branch")
    ));
    let ended = end(&world, &round);
    let left_out = field(&ended, "left_out");
    assert!(left_out.contains(&format!("HEAD of the copy was at the commit {}, ", commit.trim())), "{left_out}");
    assert!(left_out.contains("'commits' of the copy is "), "{left_out}");
    assert_eq!(left_out.matches("commit ").count(), 2, "{left_out}");
    assert_eq!(world.git(&["show", &format!("{}:d", commit.trim())]), "d\n");
}
