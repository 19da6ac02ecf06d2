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

/// What reads nothing but git's files is not in the way of the others.
#[rstest::rstest]
#[case::in_git("mkfifo .git/worktrees/side/some .git/some .git/info/some .git/worktrees/side/logs/some")]
#[case::in_ours("mkdir -p .git/worktrees/side/checkpoint; mkfifo .git/worktrees/side/checkpoint/some")]
#[case::null("ln -sf /dev/null .git/worktrees/side/ORIG_HEAD")]
fn a_file_that_is_not_read_does_not_matter(#[case] script: &str) {
    let world = World::with_commit();
    world.sh("git worktree add -q -b side ../side; echo x >../side/new");
    world.sh(script);
    let mut child = world.start(&["worktree", "list"]);
    assert!(processes::ended(&mut child, Duration::from_secs(20)).success());
    let list = world.json(&["worktree", "list", "--json"]);
    let dirty: Vec<_> = list["worktrees"].as_array().expect("a list").iter().map(|it| &it["dirty"]).collect();
    assert_eq!(dirty, [&json!(0), &json!(1)], "{list}");
}

/// What git reads to look at a worktree.
#[rstest::rstest]
fn what_is_read_is_looked_at_before(
    #[values("HEAD", "index", "commondir", "config.worktree", "logs/HEAD", "MERGE_HEAD", "info/sparse-checkout")]
    name: &str,
) {
    let world = World::with_commit();
    world.sh("git worktree add -q -b side ../side; git config extensions.worktreeConfig true; echo x >../side/new");
    world.sh("git -C ../side config --worktree core.sparseCheckout true");
    world.sh(&format!("cd .git/worktrees/side; mkdir -p info; rm -f {name}; mkfifo {name}"));
    let mut child = world.start(&["worktree", "list"]);
    assert!(processes::ended(&mut child, Duration::from_secs(20)).success());
    let list = world.json(&["worktree", "list", "--json"]);
    assert_eq!(list["worktrees"][1]["dirty"], Value::Null, "{list}");
}
