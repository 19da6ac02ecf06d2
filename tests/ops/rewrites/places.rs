//! Commits from elsewhere: another index, another worktree, a subdirectory.

use super::{Bench, lines};

#[test]
fn with_another_index() {
    let bench = Bench::new();
    bench.turn("a", || {
        bench.write("one", lines("one", 6));
        bench.write("two", lines("two", 6));
    });
    let index = bench.world.root().join("index");
    let run = |arguments: &[&str]| {
        let output = bench.command("git").env("GIT_INDEX_FILE", &index).args(arguments).output().expect("git runs");
        assert!(output.status.success(), "{output:?}");
    };
    run(&["read-tree", "HEAD"]);
    run(&["add", "one"]);
    run(&["commit", "-qm", "one"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    assert_eq!(bench.named("HEAD").len(), 1);
    bench.git(&["reset", "-q"]);
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "two"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    assert_eq!(bench.all().len(), 2);
    bench.is_whole();
}

#[test]
fn a_commit_of_another_index_takes_nothing_from_the_users_index() {
    let bench = Bench::new();
    bench.agent("a", "one", &lines("one", 6));
    bench.git(&["add", "one"]);
    let index = bench.world.root().join("index");
    bench.write("hand", "by hand\n");
    for arguments in [&["read-tree", "HEAD"][..], &["add", "hand"], &["commit", "-qm", "hand"]] {
        let output = bench.command("git").env("GIT_INDEX_FILE", &index).args(arguments).output().expect("git runs");
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!((bench.ids("HEAD"), bench.named("HEAD")), (vec![], vec![]));
    bench.is_whole();
}

#[test]
fn in_a_subdirectory() {
    let bench = Bench::new();
    bench.agent("a", "deep/er/one", &lines("one", 6));
    let run = |arguments: &[&str]| {
        let mut command = bench.command("git");
        command.current_dir(bench.world.repo().join("deep/er"));
        let output = command.args(arguments).output().expect("git runs");
        assert!(output.status.success(), "{output:?}");
    };
    run(&["add", "."]);
    run(&["commit", "-qm", "one"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    run(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    assert_eq!(bench.all().len(), 1);
    bench.is_whole();
}

#[test]
fn from_outside_with_git_dir_and_work_tree() {
    let bench = Bench::new();
    bench.agent("a", "one", &lines("one", 6));
    let run = |arguments: &[&str]| {
        let mut command = bench.command("git");
        command.current_dir(bench.world.root()).env("GIT_DIR", "repo/.git").env("GIT_WORK_TREE", "repo");
        let output = command.args(arguments).output().expect("git runs");
        assert!(output.status.success(), "{output:?}");
    };
    run(&["add", "-A"]);
    run(&["commit", "-qm", "one"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.is_whole();
}

#[test]
fn in_a_linked_worktree() {
    let bench = Bench::new();
    let linked = bench.world.root().join("linked");
    let name = linked.to_str().expect("it is text");
    bench.git(&["worktree", "add", "-q", "-b", "side", name]);
    bench.agent("a", "one", &lines("one", 6));
    let run = |program: &str, arguments: &[&str]| {
        let mut command = bench.command(program);
        let output = command.current_dir(&linked).args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{arguments:?} {output:?}");
    };
    let ours = env!("CARGO_BIN_EXE_git-checkpoint");
    run(ours, &["session", "start", "b"]);
    run(ours, &["session", "prompt", "b", "-m", "x"]);
    std::fs::write(linked.join("two"), lines("two", 6)).expect("it is ours");
    run(ours, &["save", "--session", "b"]);
    run(ours, &["session", "stop", "b"]);
    run("git", &["add", "-A"]);
    run("git", &["commit", "-qm", "two"]);
    assert_eq!(bench.sessions("side"), ["b"]);
    run("git", &["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(bench.sessions("side"), ["b"]);
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "one"]);
    assert_eq!(bench.sessions("main"), ["a"]);
    run("git", &["rebase", "-q", "main"]);
    assert_eq!(bench.sessions("side"), ["b"]);
    assert_eq!(bench.sessions("side~1"), ["a"]);
    assert_eq!(bench.all().len(), 2);
    bench.is_whole();
}

#[test]
fn on_a_detached_head_and_on_a_branch_without_commits() {
    let bench = Bench::new();
    bench.git(&["checkout", "-q", "--detach"]);
    bench.agent_commit("a", "one");
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.git(&["checkout", "-q", "--orphan", "new"]);
    bench.git(&["rm", "-rqf", "."]);
    bench.agent_commit("b", "two");
    assert_eq!(bench.sessions("HEAD"), ["b"]);
    assert_eq!(bench.git(&["rev-list", "--count", "HEAD"]).trim(), "1");
    bench.is_whole();
}

#[test]
fn in_the_middle_of_a_turn_by_the_agent_itself() {
    let bench = Bench::new();
    bench.turn("a", || {
        for path in ["one", "two"] {
            bench.write(path, lines(path, 6));
            bench.checkpoint(&["save", "--session", "a"]);
            bench.git(&["add", path]);
            bench.git(&["commit", "-qm", path]);
            assert_eq!(bench.sessions("HEAD"), ["a"]);
        }
        bench.git(&["reset", "-q", "--soft", "HEAD~2"]);
        bench.git(&["commit", "-qm", "both"]);
        assert_eq!(bench.sessions("HEAD"), ["a"]);
        bench.write("three", lines("three", 6));
    });
    bench.git(&["add", "three"]);
    bench.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.is_whole();
}
