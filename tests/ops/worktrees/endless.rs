//! A pipe, an endless device or a file far too long in the place of one of git's files for another worktree.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{World, processes};

#[rstest::rstest]
#[case::head("rm .git/worktrees/side/HEAD; mkfifo .git/worktrees/side/HEAD")]
#[case::endless_head("ln -sf /dev/zero .git/worktrees/side/HEAD")]
#[case::long_head("truncate -s 2G .git/worktrees/side/HEAD")]
#[case::branch("rm .git/refs/heads/side; mkfifo .git/refs/heads/side")]
#[case::index("rm .git/worktrees/side/index; mkfifo .git/worktrees/side/index")]
#[case::long_index("truncate -s 2G .git/worktrees/side/index")]
#[case::note("rm .git/worktrees/side/gitdir; mkfifo .git/worktrees/side/gitdir")]
#[case::reason("mkfifo .git/worktrees/side/locked")]
#[case::dot_git("rm ../side/.git; mkfifo ../side/.git")]
#[case::ignore_rules("mkfifo ../side/.gitignore")]
#[case::long_rules("truncate -s 2G ../side/.gitignore")]
fn the_list_does_not_wait(#[case] script: &str) {
    let world = World::with_commit();
    world.sh("git worktree add -q -b side ../side; echo x >../side/new");
    world.sh(script);
    let mut child = world.start(&["worktree", "list"]);
    assert!(processes::ended(&mut child, Duration::from_secs(20)).success());
    let list = world.json(&["worktree", "list", "--json"]);
    let listed = list["worktrees"].as_array().expect("a list");
    let [_, side] = &listed[..] else { panic!("two are listed: {list}") };
    assert_eq!((&side["id"], &side["dirty"]), (&json!("side"), &Value::Null), "{list}");
}
