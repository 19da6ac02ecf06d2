//! Commits from elsewhere: another index, another worktree, a subdirectory.

use super::{World, lines};
use crate::support::program;

#[test]
fn with_another_index() {
    let world = World::with_old_commit();
    world.turn("a", || {
        world.write("one", lines("one", 6));
        world.write("two", lines("two", 6));
    });
    let index = world.root().join("index");
    let run = |arguments: &[&str]| {
        let output = world.command("git").env("GIT_INDEX_FILE", &index).args(arguments).output().expect("git runs");
        assert!(output.status.success(), "{output:?}");
    };
    run(&["read-tree", "HEAD"]);
    run(&["add", "one"]);
    run(&["commit", "-qm", "one"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    assert_eq!(world.named("HEAD").len(), 1);
    world.git(&["reset", "-q"]);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "two"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    assert_eq!(world.all().len(), 2);
    world.is_whole();
}

#[test]
fn a_commit_of_another_index_takes_nothing_from_the_users_index() {
    let world = World::with_old_commit();
    world.agent("a", "one", &lines("one", 6));
    world.git(&["add", "one"]);
    let index = world.root().join("index");
    world.write("hand", "by hand\n");
    for arguments in [&["read-tree", "HEAD"][..], &["add", "hand"], &["commit", "-qm", "hand"]] {
        let output = world.command("git").env("GIT_INDEX_FILE", &index).args(arguments).output().expect("git runs");
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!((world.ids("HEAD"), world.named("HEAD")), (vec![], vec![]));
    world.is_whole();
}

#[test]
fn in_a_subdirectory() {
    let world = World::with_old_commit();
    world.agent("a", "deep/er/one", &lines("one", 6));
    let run = |arguments: &[&str]| {
        let mut command = world.command("git");
        command.current_dir(world.repo().join("deep/er"));
        let output = command.args(arguments).output().expect("git runs");
        assert!(output.status.success(), "{output:?}");
    };
    run(&["add", "."]);
    run(&["commit", "-qm", "one"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    run(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    assert_eq!(world.all().len(), 1);
    world.is_whole();
}

#[test]
fn from_outside_with_git_dir_and_work_tree() {
    let world = World::with_old_commit();
    world.agent("a", "one", &lines("one", 6));
    let run = |arguments: &[&str]| {
        let mut command = world.command("git");
        command.current_dir(world.root()).env("GIT_DIR", "repo/.git").env("GIT_WORK_TREE", "repo");
        let output = command.args(arguments).output().expect("git runs");
        assert!(output.status.success(), "{output:?}");
    };
    run(&["add", "-A"]);
    run(&["commit", "-qm", "one"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.is_whole();
}

#[test]
fn in_a_linked_worktree() {
    let world = World::with_old_commit();
    let linked = world.root().join("linked");
    let name = linked.to_str().expect("it is text");
    world.git(&["worktree", "add", "-q", "-b", "side", name]);
    world.agent("a", "one", &lines("one", 6));
    let run = |program: &str, arguments: &[&str]| {
        let mut command = world.command(program);
        let output = command.current_dir(&linked).args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{arguments:?} {output:?}");
    };
    let ours = program();
    run(ours, &["session", "start", "b"]);
    run(ours, &["session", "prompt", "b", "-m", "x"]);
    std::fs::write(linked.join("two"), lines("two", 6)).expect("it is ours");
    run(ours, &["save", "--session", "b"]);
    run(ours, &["session", "stop", "b"]);
    run("git", &["add", "-A"]);
    run("git", &["commit", "-qm", "two"]);
    assert_eq!(world.sessions("side"), ["b"]);
    run("git", &["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(world.sessions("side"), ["b"]);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "one"]);
    assert_eq!(world.sessions("main"), ["a"]);
    run("git", &["rebase", "-q", "main"]);
    assert_eq!(world.sessions("side"), ["b"]);
    assert_eq!(world.sessions("side~1"), ["a"]);
    assert_eq!(world.all().len(), 2);
    world.is_whole();
}

#[test]
fn on_a_detached_head_and_on_a_branch_without_commits() {
    let world = World::with_old_commit();
    world.git(&["checkout", "-q", "--detach"]);
    world.agent_commit("a", "one");
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.git(&["checkout", "-q", "--orphan", "new"]);
    world.git(&["rm", "-rqf", "."]);
    world.agent_commit("b", "two");
    assert_eq!(world.sessions("HEAD"), ["b"]);
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]).trim(), "1");
    world.is_whole();
}

#[test]
fn in_the_middle_of_a_turn_by_the_agent_itself() {
    let world = World::with_old_commit();
    world.turn("a", || {
        for path in ["one", "two"] {
            world.write(path, lines(path, 6));
            world.done(&["save", "--session", "a"]);
            world.git(&["add", path]);
            world.git(&["commit", "-qm", path]);
            assert_eq!(world.sessions("HEAD"), ["a"]);
        }
        world.git(&["reset", "-q", "--soft", "HEAD~2"]);
        world.git(&["commit", "-qm", "both"]);
        assert_eq!(world.sessions("HEAD"), ["a"]);
        world.write("three", lines("three", 6));
    });
    world.git(&["add", "three"]);
    world.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.is_whole();
}
