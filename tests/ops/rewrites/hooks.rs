//! Commits that are refused, missing hooks, and a lock that another process holds.

use std::{fs, time::Instant};

use super::{Bench, lines};

fn bench() -> Bench {
    let bench = Bench::new();
    bench.agent("a", "one", &lines("one", 6));
    bench.git(&["add", "-A"]);
    bench
}

fn script(bench: &Bench, path: &str, text: &str) {
    bench.world.script(path, text);
}

/// After a commit that failed: nothing is there, other commits have nothing, and the work is found when it is committed.
fn assert_failed_commit_left_nothing(bench: &Bench) {
    assert_eq!(bench.all(), []);
    bench.git(&["reset", "-q"]);
    bench.human_commit("hand");
    assert_eq!((bench.ids("HEAD"), bench.named("HEAD")), (vec![], vec![]));
    bench.git(&["commit", "-q", "--amend", "-m", "by hand, too"]);
    assert_eq!((bench.ids("HEAD"), bench.named("HEAD")), (vec![], vec![]));
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "one"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    assert_eq!(bench.all().len(), 1);
    bench.is_whole();
}

#[test]
fn refused_before_the_message() {
    let bench = bench();
    script(&bench, ".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    bench.stops(&["commit", "-qm", "one"]);
    bench.stops(&["commit", "-q", "--amend", "-m", "one"]);
    fs::remove_file(bench.world.repo().join(".git/hooks/pre-commit")).expect("it is ours");
    assert_failed_commit_left_nothing(&bench);
}

#[test]
fn refused_for_its_message() {
    let bench = bench();
    script(&bench, ".git/hooks/commit-msg", "#!/bin/sh\nexit 1\n");
    bench.stops(&["commit", "-qm", "one"]);
    bench.stops(&["commit", "-q", "--amend", "-m", "one"]);
    fs::remove_file(bench.world.repo().join(".git/hooks/commit-msg")).expect("it is ours");
    assert_failed_commit_left_nothing(&bench);
}

#[test]
fn refused_because_it_is_empty() {
    let bench = bench();
    bench.stops(&["commit", "-qm", ""]);
    bench.stops(&["commit", "-q"]);
    assert_failed_commit_left_nothing(&bench);
}

#[test]
fn refused_because_head_moved_meanwhile() {
    let bench = bench();
    let editor = "git -c core.hooksPath=/dev/null commit-tree HEAD^{tree} -p HEAD -m other | \
        xargs git update-ref HEAD && sed -i '1s/^/one/'";
    let output = bench.edit(editor, "true", &["commit", "-q"]);
    assert!(!output.status.success(), "{output:?}");
    assert_failed_commit_left_nothing(&bench);
}

#[test]
fn a_note_that_was_left_does_not_reach_an_amend() {
    let bench = bench();
    bench.git(&["commit", "-qm", "one"]);
    bench.agent("b", "two", &lines("two", 6));
    bench.git(&["add", "-A"]);
    bench.stops(&["commit", "-qm", ""]);
    bench.git(&["reset", "-q", "--hard", "HEAD~1"]);
    bench.human_commit("hand");
    assert_eq!(bench.ids("HEAD"), []);
    bench.is_whole();
}

#[test]
fn a_squash_that_is_not_committed_is_not_in_the_next() {
    let bench = bench();
    bench.git(&["commit", "-qm", "one"]);
    bench.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    bench.git(&["merge", "-q", "--squash", "main"]);
    bench.stops(&["commit", "-qm", ""]);
    bench.git(&["reset", "-q", "--hard"]);
    bench.git(&["checkout", "-q", "main"]);
    bench.human_commit("hand");
    assert_eq!(bench.ids("HEAD"), []);
    bench.is_whole();
}

#[test]
fn committed_while_the_program_is_missing() {
    let bench = bench();
    for name in ["prepare-commit-msg", "post-commit"] {
        let path = bench.world.repo().join(".git/hooks").join(name);
        fs::rename(&path, path.with_extension("gone")).expect("it is there");
    }
    bench.git(&["commit", "-qm", "one"]);
    assert_eq!(bench.named("HEAD"), [""; 0]);
    bench.git(&["checkpoint", "enable"]);
    bench.agent_commit("b", "two");
    assert_eq!(bench.sessions("HEAD"), ["b"]);
    bench.is_whole();
}

/// The record was promised, and the hook that keeps the promise is gone.
#[test]
fn committed_while_the_last_hook_is_missing() {
    let bench = bench();
    let hook = bench.world.repo().join(".git/hooks/post-commit");
    let gone = bench.world.repo().join(".git/gone");
    fs::rename(&hook, &gone).expect("it is there");
    bench.git(&["commit", "-qm", "one"]);
    assert_eq!(bench.named("HEAD").len(), 1);
    assert_eq!(bench.all(), []);
    fs::rename(&gone, &hook).expect("it is there");
    bench.checkpoint(&["session", "start", "b"]);
    bench.checkpoint(&["session", "prompt", "b", "-m", "x"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.is_whole();
}

#[rstest::rstest]
#[case::save(&["save", "--allow-empty"])]
#[case::hook(&["hook", "post-checkout", "HEAD", "HEAD", "1"])]
#[case::prompt(&["session", "prompt", "a", "-m", "x"])]
#[case::stop(&["session", "stop", "a"])]
fn a_missing_post_commit_is_made_up_for_by(#[case] command: &[&str]) {
    let bench = bench();
    let hook = bench.world.repo().join(".git/hooks/post-commit");
    fs::remove_file(&hook).expect("it is there");
    bench.git(&["commit", "-qm", "one"]);
    bench.checkpoint(command);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.is_whole();
}

#[test]
fn a_missing_post_commit_is_made_up_for_by_the_next_commit() {
    let bench = bench();
    fs::rename(bench.world.repo().join(".git/hooks/post-commit"), bench.world.repo().join(".git/gone")).expect("there");
    bench.git(&["commit", "-qm", "one"]);
    fs::rename(bench.world.repo().join(".git/gone"), bench.world.repo().join(".git/hooks/post-commit")).expect("there");
    bench.human_commit("hand");
    assert_eq!(bench.sessions("HEAD~1"), ["a"]);
    assert_eq!(bench.sessions("HEAD"), [""; 0]);
    bench.is_whole();
}

#[test]
fn a_missing_post_commit_is_made_up_for_by_an_amend() {
    let bench = bench();
    fs::rename(bench.world.repo().join(".git/hooks/post-commit"), bench.world.repo().join(".git/gone")).expect("there");
    bench.git(&["commit", "-qm", "one"]);
    fs::rename(bench.world.repo().join(".git/gone"), bench.world.repo().join(".git/hooks/post-commit")).expect("there");
    bench.git(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.is_whole();
}

/// Another process holds the lock for longer than a hook waits.
#[test]
fn committed_while_the_lock_is_held() {
    let bench = bench();
    bench.git(&["config", "checkpoint.lock-timeout", "1s"]);
    let lock = bench.world.lock();
    let start = Instant::now();
    bench.git(&["commit", "-qm", "one"]);
    assert!(start.elapsed().as_secs() < 30);
    assert_eq!(bench.named("HEAD").len(), 1);
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::Unlock).expect("it is ours");
    bench.checkpoint(&["save", "--allow-empty"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    let failures = bench.failures();
    assert!(failures.len() == 1 && failures[0].contains("locked"), "{failures:?}");
    bench.world.assert_sound("after all");
    // Only the log mentions it.
    fs::remove_file(bench.world.repo().join(".git/checkpoint/events.jsonl")).expect("it is there");
    bench.human_commit("hand");
    assert_eq!(bench.ids("HEAD"), []);
    bench.is_whole();
}

#[test]
fn two_commits_while_the_lock_is_held() {
    let bench = Bench::new();
    bench.turn("a", || {
        bench.write("one", lines("one", 6));
        bench.write("two", lines("two", 6));
    });
    bench.git(&["config", "checkpoint.lock-timeout", "100ms"]);
    let lock = bench.world.lock();
    for path in ["one", "two"] {
        bench.git(&["add", path]);
        bench.git(&["commit", "-qm", path]);
    }
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::Unlock).expect("it is ours");
    bench.checkpoint(&["save", "--allow-empty"]);
    fs::remove_file(bench.world.repo().join(".git/checkpoint/events.jsonl")).expect("it is there");
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    assert_eq!(bench.sessions("HEAD~1"), ["a"]);
    bench.is_whole();
}
