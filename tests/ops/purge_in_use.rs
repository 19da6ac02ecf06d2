//! Objects that a command of git uses while a purge runs, and repositories of which a purge cannot see all.

use super::{
    purge::{SECRET, places, purge, purged},
    purge_keeps::{save, world},
    purge_meanwhile::purge_halted,
};
use crate::support::{World, processes::described, program};

/// Stores a file with the text as a script does that names it only later; the id goes to a file beside the repository.
fn stored(number: &str) -> String {
    format!("printf '{number}\\n%s\\n' '{SECRET}' | git hash-object -w --stdin >../id")
}

/// Makes a commit of what [`stored`] has stored, and reads it.
fn committed(world: &World) -> String {
    world.sh("tree=$(printf '100644 blob %s\\tk\\n' $(cat ../id) | git mktree --missing); \
         git update-ref refs/heads/script $(git commit-tree -m script $tree)");
    world.git(&["show", "script:k"])
}

#[rstest::rstest]
#[case::loose(false)]
#[case::packed(true)]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn what_a_command_uses_from_the_beginning_on_stays(#[case] is_packed: bool) {
    for step in ["purge:before-files", "purge:before-refs", "purge:after-refs", "purge:set-aside"] {
        let world = world();
        if is_packed {
            world.git(&["gc", "-q"]);
        }
        let output = purge_halted(&world, step, &stored("one"));
        assert_eq!(output.status.code(), Some(1), "{step}: {}", described(&output));
        assert!(described(&output).contains("git is using it"), "{step}: {}", described(&output));
        assert_eq!(committed(&world), format!("one\n{SECRET}\n"), "{step}");
        world.assert_sound(step);
    }
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn what_git_writes_while_others_are_aside_stays_when_these_come_back() {
    let world = world();
    save(&world, "k2", &format!("two\n{SECRET}\n"));
    world.remove("k2");
    let what = format!("{}; printf 'two\\n%s\\n' '{SECRET}' >k2; git add k2; rm k2", stored("one"));
    let output = purge_halted(&world, "purge:set-aside", &what);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    assert_eq!(committed(&world), format!("one\n{SECRET}\n"));
    world.assert_sound("after the commit");
}

#[test]
fn after_a_full_disk_nothing_is_left() {
    let world = World::with_commit();
    let noise: String =
        (0..40_000_u64).map(|number| format!("{:x}\n", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    world.write("noise", noise);
    world.sh("git add noise; git commit -q -m noise");
    save(&world, "k", &format!("one\n{SECRET}\n"));
    world.remove("k");
    world.settle();
    world.done(&["save", "-q"]);
    world.git(&["gc", "-q"]);
    let mut command = world.command("sh");
    // No file may get longer than this: git is killed while it writes the pack.
    let output = command.args(["-c", "ulimit -f 100; exec \"$0\" purge -f \"$1\"", program(), SECRET]).output();
    let output = output.expect("it runs");
    assert!(!output.status.success(), "{}", described(&output));
    assert!(described(&output).contains("'git index-pack"), "it is what has failed: {}", described(&output));
    let left = world.sh("find .git/objects -name 'tmp_*' -o -name 'checkpoint-*'");
    assert_eq!(left, "", "{}", described(&output));
    world.assert_sound("after the failure");
    purged(&world, SECRET);
    assert_eq!(places(&world, SECRET), Vec::<String>::new());
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn what_was_purged_is_told_though_a_later_round_is_refused() {
    let world = world();
    world.git(&["gc", "-q"]);
    let what = format!("printf 'one\\n%s\\n' '{SECRET}' >k; '{}' save -q", program());
    let output = purge_halted(&world, "purge:after-pack", &what);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    let said = described(&output);
    assert!(said.contains("found in 1 checkpoint") && said.contains("purged; removed"), "{said}");
    assert!(said.contains("error: the worktree still has the text in 'k'"), "{said}");
}

#[test]
fn what_a_merge_with_conflicts_has_written_stays() {
    let world = World::with_commit();
    world.sh("git checkout -q -b other; echo theirs >f; git commit -q -a -m other; git checkout -q -; echo ours >f; \
         git commit -q -a -m ours; git merge -q other || :");
    world.settle();
    let id = world.json(&["save", "--json"])["id"].as_str().expect("an id").to_owned();
    save(&world, "f", "resolved\n");
    let shown = world.git(&["show", "AUTO_MERGE:f"]);
    world.done(&["purge", "-q", "-f", "--checkpoint", &id]);
    assert_eq!(world.git(&["show", "AUTO_MERGE:f"]), shown);
}

#[rstest::rstest]
#[case::a_worktree("git worktree add -q ../w; echo x >.git/worktrees/w/HEAD", "worktrees/w'")]
#[case::a_branch("echo 1234567890123456789012345678901234567890 >.git/refs/heads/lost", "'refs/heads/lost'")]
fn where_something_of_the_user_is_damaged_nothing_is_purged(#[case] damage: &str, #[case] named: &str) {
    let world = world();
    world.sh(damage);
    let refs = world.git(&["for-each-ref", "refs/checkpoints"]);
    let output = purge(&world, &["--force"], SECRET);
    assert_eq!(output.status.code(), Some(128), "{}", described(&output));
    let said = described(&output);
    assert!(said.contains(named) && said.contains("hint: "), "{said}");
    assert_eq!(world.git(&["for-each-ref", "refs/checkpoints"]), refs);
}
