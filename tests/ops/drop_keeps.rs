//! No line of an agent becomes a person's because a checkpoint was dropped, wherever the work is.

use std::fs;

use git_checkpoint::testing::ops::drop::{self as ops, Options};

use super::drop::refused;
use crate::support::{World, program};

fn agent(world: &World, script: &str) -> String {
    world.done(&["session", "prompt", "s", "--agent", "claude-code"]);
    world.sh(script);
    world.settle();
    world.done(&["session", "stop", "s"]);
    world.shadows().join(" ")
}

#[rstest::rstest]
#[case::archived("git checkpoint reset -q", "the worktree")]
#[case::applied_elsewhere(
    "git stash -q; git checkout -q -b o; echo o >o; git add o; git commit -q -m o; git stash apply -q; git stash drop -q",
    "the worktree"
)]
#[case::staged("git add f; git show HEAD:f >f; sleep 0.03; git checkpoint save -q", "the index")]
#[case::in_another_worktree("git stash -q; git worktree add -q ../w; cd ../w; git stash pop -q", "the worktree 'w'")]
#[case::stashed_with_more("echo mine >>f; git stash -q", "'stash@{0}'")]
#[case::renamed("mv f g", "the worktree")]
#[case::put_aside_by_a_rebase(
    "git stash -q; git checkout -q -b side; echo x >b; git add b; git commit -q -m b; git checkout -q main; echo y >b; git add b; \
     git commit -q -m c; git stash pop -q; git rebase -q --autostash side || :",
    "the autostash"
)]
#[case::put_aside_by_a_merge(
    "git stash -q; git checkout -q -b side; echo x >b; git add b; git commit -q -m b; git checkout -q main; echo y >b; git add b; \
     git commit -q -m c; git stash pop -q; git merge -q --autostash side || :",
    "the autostash"
)]
fn what_an_agent_wrote_and_nobody_committed_keeps_its_checkpoint(#[case] then: &str, #[case] place: &str) {
    let world = World::with_hooks();
    let tip = agent(&world, "echo 'line of the agent' >>f");
    world.sh(then);
    refused(&world, &["drop", "-f", &tip], place);
    // Other commits of the archive that have the same work are not dropped either.
    for id in world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive"]).lines() {
        let output = world.checkpoint(&["drop", "-f", id]);
        let is_agents = world.git(&["log", "-1", "--format=%an %B", id]).contains("Contributor: agent");
        assert!(!(is_agents && output.status.success()), "{id}");
    }
}

#[test]
fn what_was_carried_on_or_restored_keeps_its_checkpoints() {
    let world = World::with_hooks();
    let tip = agent(&world, "echo 'line of the agent' >>f");
    world.done(&["restore", "-q", "base"]);
    world.done(&["restore", "-q", &tip]);
    let restored = world.shadows().join(" ");
    world.sh("mv f g");
    refused(&world, &["drop", "-f", &tip, &restored], "the worktree has lines");
    world.sh("mv g f; echo g >g; git add g; git commit -q -m g");
    let carried = world.shadows().join(" ");
    assert_ne!(carried, restored);
    world.sh("mv f r");
    refused(&world, &["drop", "-f", &carried], "the worktree has lines");
}

#[test]
fn what_is_committed_or_gone_can_be_dropped() {
    let world = World::with_hooks();
    agent(&world, "echo 'line of the agent' >>f");
    world.sh("git commit -q -a -m f");
    let archived = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive"]);
    for id in archived.lines() {
        world.done(&["drop", "-f", id]);
    }
    let tip = agent(&world, "echo 'another line of it' >>f");
    world.sh("git checkout -q f");
    world.settle();
    world.done(&["drop", "-f", &tip]);
}

#[test]
fn the_lock_is_free_while_it_asks() {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.lock-timeout", "100ms"]);
    world.write("f", "only there\n");
    world.settle();
    world.done(&["save", "-q"]);
    world.write("f", "other\n");
    world.settle();
    let context = World::context_at(&world.repo());
    let options = Options { targets: vec![world.shadows().join(" ")], ..Options::default() };
    let mut asked = 0;
    let done = ops::drop_checkpoints(&context, &options, &mut |_| {
        asked += 1;
        if asked == 1 {
            world.done(&["save", "-q", "-m", "meanwhile"]);
        }
        Ok(true)
    });
    let done = done.expect("it is done");
    // With a checkpoint after it, other things happen: the question comes again if anything is still lost.
    assert_eq!((done.rewritten, asked <= 2), (1, true));
    world.assert_sound("after the drop");
}

#[test]
fn undo_survives_a_crash_and_a_collection() {
    let world = World::with_commit();
    for number in 1..=3 {
        world.write("k", format!("{number}\n"));
        world.settle();
        world.done(&["save", "-q", "-m", &format!("s{number}")]);
    }
    world.write("k", "unsaved\n");
    world.settle();
    world.done(&["restore", "-q", "@{1}"]);
    let mut command = world.command(program());
    command.args(["drop", "-f", "@{4}"]).env("CHECKPOINT_FAILPOINT", "drop:after-refs");
    assert_eq!(command.output().expect("it runs").status.code(), None);
    world.git(&["gc", "-q", "--prune=now"]);
    // First the drop is undone, then the restore.
    world.done(&["undo", "-q"]);
    world.done(&["undo", "-q"]);
    assert_eq!(fs::read_to_string(world.repo().join("k")).expect("it is there"), "unsaved\n");
}

/// Where no agent has ever worked, what a restore brings back is nobody's but the person's.
#[rstest::rstest]
#[case::drop("drop -f @{1}")]
#[case::purge("purge -f --checkpoint @{1}")]
fn a_person_drops_what_they_have_restored(#[case] command: &str) {
    let world = World::with_commit();
    world.sh(
        "echo edit >>f; git checkpoint save -q -m work; git checkpoint restore -q base; git checkpoint restore -q @{1}
         git checkpoint reset -q; git checkpoint save -q",
    );
    world.sh(&format!("git checkpoint {command}"));
}
