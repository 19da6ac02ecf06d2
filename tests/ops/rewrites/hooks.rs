//! Commits that are refused, missing hooks, and a lock that another process holds.

use std::{fs, time::Instant};

use super::{World, lines};
use crate::support::template::Template;

static START: Template = Template::new(|world| {
    let world = world.commit_old();
    world.agent("a", "one", &lines("one", 6));
    world.git(&["add", "-A"]);
});

fn world() -> World {
    World::copied(&START)
}

fn script(world: &World, path: &str, text: &str) {
    world.script(path, text);
}

/// After a commit that failed: nothing is there, other commits have nothing, and the work is found when it is committed.
fn assert_failed_commit_left_nothing(world: &World) {
    assert_eq!(world.all(), []);
    world.git(&["reset", "-q"]);
    world.human_commit("hand");
    assert_eq!((world.ids("HEAD"), world.named("HEAD")), (vec![], vec![]));
    world.git(&["commit", "-q", "--amend", "-m", "by hand, too"]);
    assert_eq!((world.ids("HEAD"), world.named("HEAD")), (vec![], vec![]));
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "one"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    assert_eq!(world.all().len(), 1);
    world.is_whole();
}

#[test]
fn refused_before_the_message() {
    let world = world();
    script(&world, ".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    world.stops(&["commit", "-qm", "one"]);
    world.stops(&["commit", "-q", "--amend", "-m", "one"]);
    fs::remove_file(world.repo().join(".git/hooks/pre-commit")).expect("it is ours");
    assert_failed_commit_left_nothing(&world);
}

#[test]
fn refused_for_its_message() {
    let world = world();
    script(&world, ".git/hooks/commit-msg.before-checkpoint", "#!/bin/sh\nexit 1\n");
    world.stops(&["commit", "-qm", "one"]);
    world.stops(&["commit", "-q", "--amend", "-m", "one"]);
    fs::remove_file(world.repo().join(".git/hooks/commit-msg.before-checkpoint")).expect("it is ours");
    assert_failed_commit_left_nothing(&world);
}

#[test]
fn refused_because_it_is_empty() {
    let world = world();
    world.stops(&["commit", "-qm", ""]);
    world.stops(&["commit", "-q"]);
    assert_failed_commit_left_nothing(&world);
}

#[test]
fn refused_because_head_moved_meanwhile() {
    let world = world();
    let editor = "git -c core.hooksPath=/dev/null commit-tree HEAD^{tree} -p HEAD -m other | \
        xargs git update-ref HEAD && sed -i '1s/^/one/'";
    let output = world.git_edited(editor, "true", &["commit", "-q"]);
    assert!(!output.status.success(), "{output:?}");
    assert_failed_commit_left_nothing(&world);
}

#[test]
fn a_note_that_was_left_does_not_reach_an_amend() {
    let world = world();
    world.git(&["commit", "-qm", "one"]);
    world.agent("b", "two", &lines("two", 6));
    world.git(&["add", "-A"]);
    world.stops(&["commit", "-qm", ""]);
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    world.human_commit("hand");
    assert_eq!(world.ids("HEAD"), []);
    world.is_whole();
}

#[test]
fn a_squash_that_is_not_committed_is_not_in_the_next() {
    let world = world();
    world.git(&["commit", "-qm", "one"]);
    world.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    world.git(&["merge", "-q", "--squash", "main"]);
    world.stops(&["commit", "-qm", ""]);
    world.git(&["reset", "-q", "--hard"]);
    world.git(&["checkout", "-q", "main"]);
    world.human_commit("hand");
    assert_eq!(world.ids("HEAD"), []);
    world.is_whole();
}

#[test]
fn committed_while_the_program_is_missing() {
    let world = world();
    for name in ["prepare-commit-msg", "commit-msg", "post-commit"] {
        let path = world.repo().join(".git/hooks").join(name);
        fs::rename(&path, path.with_extension("gone")).expect("it is there");
    }
    world.git(&["commit", "-qm", "one"]);
    assert_eq!(world.named("HEAD"), [""; 0]);
    world.git(&["checkpoint", "enable"]);
    world.agent_commit("b", "two");
    assert_eq!(world.sessions("HEAD"), ["b"]);
    world.is_whole();
}

/// The record was promised, and the hook that keeps the promise is gone.
#[test]
fn committed_while_the_last_hook_is_missing() {
    let world = world();
    let hook = world.repo().join(".git/hooks/post-commit");
    let gone = world.repo().join(".git/gone");
    fs::rename(&hook, &gone).expect("it is there");
    world.git(&["commit", "-qm", "one"]);
    assert_eq!(world.named("HEAD").len(), 1);
    assert_eq!(world.all(), []);
    fs::rename(&gone, &hook).expect("it is there");
    world.done(&["session", "start", "b"]);
    world.done(&["session", "prompt", "b", "-m", "x"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.is_whole();
}

#[rstest::rstest]
#[case::save(&["save", "--allow-empty"])]
#[case::hook(&["hook", "post-checkout", "HEAD", "HEAD", "1"])]
#[case::prompt(&["session", "prompt", "a", "-m", "x"])]
#[case::stop(&["session", "stop", "a"])]
fn a_missing_post_commit_is_made_up_for_by(#[case] command: &[&str]) {
    let world = world();
    let hook = world.repo().join(".git/hooks/post-commit");
    fs::remove_file(&hook).expect("it is there");
    world.git(&["commit", "-qm", "one"]);
    world.done(command);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.is_whole();
}

#[test]
fn a_missing_post_commit_is_made_up_for_by_the_next_commit() {
    let world = world();
    fs::rename(world.repo().join(".git/hooks/post-commit"), world.repo().join(".git/gone")).expect("there");
    world.git(&["commit", "-qm", "one"]);
    fs::rename(world.repo().join(".git/gone"), world.repo().join(".git/hooks/post-commit")).expect("there");
    world.human_commit("hand");
    assert_eq!(world.sessions("HEAD~1"), ["a"]);
    assert_eq!(world.sessions("HEAD"), [""; 0]);
    world.is_whole();
}

#[test]
fn a_missing_post_commit_is_made_up_for_by_an_amend() {
    let world = world();
    fs::rename(world.repo().join(".git/hooks/post-commit"), world.repo().join(".git/gone")).expect("there");
    world.git(&["commit", "-qm", "one"]);
    fs::rename(world.repo().join(".git/gone"), world.repo().join(".git/hooks/post-commit")).expect("there");
    world.git(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.is_whole();
}

/// Another process holds the lock for longer than a hook waits.
#[test]
fn committed_while_the_lock_is_held() {
    let world = world();
    world.git(&["config", "checkpoint.lock-timeout", "1s"]);
    let lock = world.lock();
    let start = Instant::now();
    world.git(&["commit", "-qm", "one"]);
    assert!(start.elapsed().as_secs() < 30);
    assert_eq!(world.named("HEAD").len(), 1);
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::Unlock).expect("it is ours");
    world.done(&["save", "--allow-empty"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    let failures = world.failures();
    assert!(failures.len() == 1 && failures[0].contains("locked"), "{failures:?}");
    world.assert_sound("after all");
    // Only the log mentions it.
    fs::remove_file(world.repo().join(".git/checkpoint/events.jsonl")).expect("it is there");
    world.human_commit("hand");
    assert_eq!(world.ids("HEAD"), []);
    world.is_whole();
}

#[test]
fn two_commits_while_the_lock_is_held() {
    let world = World::with_old_commit();
    world.turn("a", || {
        world.write("one", lines("one", 6));
        world.write("two", lines("two", 6));
    });
    world.git(&["config", "checkpoint.lock-timeout", "100ms"]);
    let lock = world.lock();
    for path in ["one", "two"] {
        world.git(&["add", path]);
        world.git(&["commit", "-qm", path]);
    }
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::Unlock).expect("it is ours");
    world.done(&["save", "--allow-empty"]);
    fs::remove_file(world.repo().join(".git/checkpoint/events.jsonl")).expect("it is there");
    assert_eq!(world.sessions("HEAD"), ["a"]);
    assert_eq!(world.sessions("HEAD~1"), ["a"]);
    world.is_whole();
}
