//! What `worktree add` brings along: uncommitted work, the files of a checkpoint, ignored files; and for whom it is.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use rstest::rstest;
use serde_json::{Value, json};

use super::{by_git, json_of, run_in, said};
use crate::support::World;

/// Returns a world with uncommitted work of each kind.
fn with_changes() -> World {
    let world = World::with_commit();
    world.sh("git branch -M main; echo gone >gone; printf 'env\\nout/\\n' >.gitignore; git add .; git commit -qm 1
         echo changed >f; git add f; echo more >>f; rm gone; mkdir -p d; echo new >d/new; ln -s nowhere link
         echo secret >env; chmod 600 env; mkdir -p out/deep; echo built >out/deep/o; chmod +x d/new");
    world.settle();
    world
}

/// Returns the only live checkpoint.
fn latest(world: &World) -> String {
    world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/shadow"]).trim().to_owned()
}

/// Makes a worktree with `arguments`, and returns what is printed, and its path.
fn added(world: &World, arguments: &[&str]) -> (Value, PathBuf) {
    let value = json_of(world, &[&["worktree", "add", "--json"], arguments].concat());
    let path = PathBuf::from(value["path"].as_str().unwrap_or_else(|| panic!("{value}")));
    (value, path)
}

#[test]
fn uncommitted_work_comes_along_and_stays() {
    let world = with_changes();
    let facts =
        || world.sh("git status --porcelain --ignored; git rev-parse HEAD; git ls-files --stage; git stash list");
    let before = facts();
    let (value, path) = added(&world, &["--create", "fork", "--from-here"]);
    assert_eq!(facts(), before);
    let there =
        world.sh(&format!("cd '{}'; git status --porcelain --ignored; cat f d/new; readlink link", path.display()));
    assert_eq!(there, " M f\n D gone\n?? d/\n?? link\nchanged\nmore\nnew\nnowhere\n");
    assert_eq!(world.git(&["rev-parse", "fork"]), world.git(&["rev-parse", "HEAD"]));
    let id = value["checkpoint"].as_str().expect("an id");
    assert_eq!(world.git(&["show", &format!("{id}:f")]), "changed\nmore\n");
    assert_eq!(fs::metadata(path.join("d/new")).expect("it is there").permissions().mode() & 0o100, 0o100);
}

#[rstest]
#[case::latest("@")]
#[case::number("@{0}")]
#[case::tag("good")]
#[case::id("ID")]
fn a_fork_from_a_checkpoint_has_its_files(#[case] base: &str) {
    let world = with_changes();
    world.done(&["save", "-q"]);
    let id = latest(&world);
    world.git(&["update-ref", "refs/checkpoints/tags/good", &id]);
    let commit = world.git(&["rev-parse", "HEAD"]);
    world.sh("echo later >f; echo later >later");
    let base = if base == "ID" { &id } else { base };
    let (value, path) = added(&world, &["-c", "fork", "--base", base]);
    assert_eq!(value["checkpoint"].as_str(), Some(id.as_str()));
    assert_eq!(world.git(&["rev-parse", "fork"]), commit);
    assert_eq!(fs::read_to_string(path.join("f")).expect("it is there"), "changed\nmore\n");
    assert!(!path.join("gone").exists() && !path.join("later").exists() && path.join("d/new").exists());
}

/// The branch begins at the commit that the checkpoint is based on, wherever HEAD is by now.
#[test]
fn a_checkpoint_of_an_earlier_commit_has_its_base() {
    let world = with_changes();
    world.done(&["save", "-q", "-m", "mine"]);
    let id = latest(&world);
    let commit = world.git(&["rev-parse", "HEAD"]);
    world.sh("git stash -q -u; git commit -q --allow-empty -m later");
    let (_, path) = added(&world, &["-c", "fork", "--base", &id]);
    assert_eq!(world.git(&["rev-parse", "fork"]), commit);
    assert_eq!(fs::read_to_string(path.join("f")).expect("it is there"), "changed\nmore\n");
}

#[rstest]
#[case::unknown(&["-c", "x", "--base", "nope"], 128, "'nope' is no commit")]
#[case::no_checkpoint(&["-c", "x", "--base", "@{7}"], 128, "has no checkpoint yet")]
#[case::both(&["-c", "x", "--base", "HEAD", "--from-here"], 129, "--from-here")]
#[case::branch_exists(&["side", "--from-here"], 129, "--create")]
#[case::bad_session(&["-c", "x", "--session", ""], 128, "session")]
fn what_cannot_be_brought_along_leaves_nothing(#[case] arguments: &[&str], #[case] status: i32, #[case] words: &str) {
    let world = with_changes();
    world.git(&["branch", "side"]);
    let before = (by_git(&world), world.git(&["branch", "--list"]));
    let output = world.checkpoint(&[&["worktree", "add"], arguments].concat());
    assert_eq!(output.status.code(), Some(status), "{}", said(&output));
    assert!(said(&output).contains(words), "{}", said(&output));
    assert_eq!((by_git(&world), world.git(&["branch", "--list"])), before);
    assert_eq!(world.sh("ls -d ../repo-wt-* 2>/dev/null || true"), "");
}

/// A file of the checkpoint is lost, which shows only when the worktree is there: others may work in it by then.
#[test]
fn the_worktree_of_a_damaged_checkpoint_is_named() {
    let world = with_changes();
    world.done(&["save", "-q"]);
    world.sh("id=$(git rev-parse $(git for-each-ref --format='%(objectname)' refs/checkpoints/shadow):d/new)
         rm -f .git/objects/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-); rm -r d");
    let output = world.checkpoint(&["worktree", "add", "-c", "fork", "--base", "@"]);
    assert!(!output.status.success(), "{}", said(&output));
    assert_eq!(by_git(&world).len(), 2);
    assert!(said(&output).contains("repo-wt-fork' removes it"), "{}", said(&output));
}

#[test]
fn ignored_files_that_are_named_are_copied() {
    let world = with_changes();
    world.sh("printf 'env\\nout/\\nlink\\nd/\\nmine\\n' >.worktreeinclude; printf 'mine\\n' >>.gitignore; echo 1 >mine
         ln -s env out/to-env; git init -q out/inner");
    fs::create_dir_all(world.repo().join(".git/hooks")).expect("it can be made");
    fs::write(world.repo().join(".git/hooks/text"), "#!/bin/sh\necho theirs >mine\n").expect("writable");
    world.sh("cd .git/hooks; cat text >post-checkout; chmod +x post-checkout");
    let (value, path) = added(&world, &["-c", "fork"]);
    // What is not ignored is not copied, and what is there is not overwritten.
    assert_eq!(value["copied"], json!(["env", "out/deep/o", "out/to-env"]));
    assert_eq!(value["not_copied"], json!([{ "path": "mine", "why": "it is there already" }]));
    assert_eq!(fs::read(path.join("mine")).expect("it is there"), b"theirs\n");
    assert_eq!(fs::read(path.join("out/deep/o")).expect("it is there"), b"built\n");
    assert_eq!(fs::read_link(path.join("out/to-env")).expect("a link"), PathBuf::from("env"));
    let of = |root: PathBuf| {
        let metadata = fs::metadata(root.join("env")).expect("it is there");
        (metadata.permissions().mode(), metadata.modified().expect("known"), metadata.len())
    };
    assert_eq!(of(path), of(world.repo()));
}

#[test]
fn a_worktree_is_made_for_a_session() {
    let world = World::with_commit();
    let (value, path) = added(&world, &["-c", "agent/1", "--session", "s1"]);
    assert_eq!(value["session"], json!("s1"));
    assert_eq!(world.done(&["session", "cwd", "s1"]), format!("{}\n", path.display()));
    let owner = world.repo().join(".git/worktrees/repo-wt-agent-1/checkpoint/owner");
    assert_eq!(fs::read_to_string(owner).expect("it is there"), "s1\n");
    let listed = json_of(&world, &["worktree", "show", "agent/1", "--json"]);
    assert_eq!(listed["worktree"]["sessions"][0]["id"], json!("s1"));
}

/// What fills the new worktree is no operation of a person there.
#[rstest]
#[case::from_here(&["--from-here"])]
#[case::base(&["--base", "@"])]
fn an_undo_in_the_new_worktree_leaves_what_was_brought(#[case] arguments: &[&str]) {
    let world = with_changes();
    world.done(&["save", "-q"]);
    let (_, path) = added(&world, &[&["-c", "fork"], arguments].concat());
    let refused = run_in(&world, &path, &["undo"]);
    assert_eq!(refused.status.code(), Some(128), "{}", said(&refused));
    assert!(said(&refused).contains("nothing to undo in this worktree yet"), "{}", said(&refused));
    let named = run_in(&world, &path, &["op", "undo", "@{0}"]);
    for (output, hint) in [(&refused, "'git checkpoint list' shows"), (&named, "this worktree began with it")] {
        assert!(said(output).contains(hint) && !said(output).contains("remove"), "{}", said(output));
    }
    let script = "git add -A; git commit -qm work; echo more >>f; git checkpoint save -q";
    world.sh(&format!("cd '{}'; {script}", path.display()));
    let refused = run_in(&world, &path, &["undo"]);
    assert!(said(&refused).contains("nothing to undo in this worktree yet"), "{}", said(&refused));
    assert_eq!(fs::read_to_string(path.join("f")).expect("it is there"), "changed\nmore\nmore\n");
    // An operation of a person there is taken back.
    assert!(run_in(&world, &path, &["restore", "--all", "base"]).status.success());
    assert!(run_in(&world, &path, &["undo"]).status.success());
    assert_eq!(fs::read_to_string(path.join("f")).expect("it is there"), "changed\nmore\nmore\n");
    let refused = run_in(&world, &path, &["op", "undo", "@{9}"]);
    assert_eq!(refused.status.code(), Some(128), "{}", said(&refused));
    assert!(run_in(&world, &path, &["doctor"]).status.success());
}

/// If the command is killed while it fills the worktree, `undo` there takes that back.
#[test]
fn an_interrupted_add_can_be_taken_back_or_finished() {
    for (number, command) in [["undo"].as_slice(), &["restore", "--continue"]].into_iter().enumerate() {
        let world = with_changes();
        let killed = world.start_with(&["worktree", "add", "-c", "fork", "--from-here"], "restore:after-write").wait();
        assert!(!killed.expect("it ends").success());
        let path = world.root().join("repo-wt-fork");
        let output = run_in(&world, &path, command);
        assert!(output.status.success(), "{}", said(&output));
        assert_eq!(path.join("gone").exists(), number == 0);
    }
}

#[test]
fn what_is_not_ignored_there_is_not_copied() {
    let world = with_changes();
    // The branch has not got this line of .gitignore.
    world.sh("echo .token >>.gitignore; printf '.token\nenv\n' >.worktreeinclude; echo secret >.token");
    let (value, path) = added(&world, &["-c", "fork"]);
    assert_eq!(value["copied"], json!(["env"]));
    assert_eq!(value["not_copied"], json!([{ "path": ".token", "why": "it is not ignored there" }]));
    assert!(!path.join(".token").exists() && path.join("env").exists());
    let (value, path) = added(&world, &["-c", "fork2", "--from-here"]);
    assert_eq!((&value["copied"], &value["not_copied"]), (&json!([".token", "env"]), &json!([])));
    assert!(path.join(".token").exists());
}

/// The branch has something else where this worktree has a directory with an ignored file.
#[rstest]
#[case::a_symbolic_link("ln -s /tmp dir; git add dir")]
#[case::a_submodule("git init -q dir; git -C dir commit -q --allow-empty -m x; git add -f dir 2>/dev/null")]
fn what_has_no_place_there_is_not_copied(#[case] script: &str) {
    let world = World::with_commit();
    world.sh(&format!(
        "echo '*.ign' | tee .gitignore >.worktreeinclude; git add .; git commit -qm i; git switch -qc side
         {script}; git commit -qm s; git switch -q main; rm -rf dir; mkdir dir; echo x >dir/x.ign; echo t >t.ign; echo u >u.ign"
    ));
    let (value, path) = added(&world, &["side"]);
    assert_eq!(value["copied"], json!(["t.ign", "u.ign"]));
    assert_eq!(value["not_copied"], json!([{ "path": "dir/x.ign", "why": "it is not ignored there" }]));
    assert!(path.join("t.ign").exists());
}

/// A repository inside the worktree is in no checkpoint; all else comes along.
#[rstest]
#[case::without_a_commit("git init -q nested; echo x >nested/x")]
#[case::with_a_commit("git init -q nested; git -C nested commit -q --allow-empty -m x")]
fn a_repository_inside_does_not_come_along(#[case] script: &str) {
    let world = with_changes();
    world.sh(script);
    let (value, path) = added(&world, &["-c", "fork", "--from-here"]);
    assert_eq!(value["not_copied"], json!([{ "path": "nested", "why": "it is another repository" }]));
    assert!(!path.join("nested").exists());
    assert_eq!(fs::read_to_string(path.join("f")).expect("it is there"), "changed\nmore\n");
}
