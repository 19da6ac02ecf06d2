//! What is staged is known in every kind of index, as `git commit` leaves it to its hooks.

use super::desk::{Desk, changed, parts};

#[rstest::rstest]
#[case::usual("true")]
#[case::version_4("git update-index --index-version 4")]
#[case::extended("git update-index --skip-worktree other")]
#[case::intent_to_add("echo later >later; git add --intent-to-add later")]
#[case::split("git update-index --split-index")]
#[case::many_names("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i >name$i; name=$name$i; done; git add name*")]
#[case::untracked_cache("git update-index --untracked-cache; mkdir u; echo u >u/TREE; git status >/dev/null")]
#[case::end_of_entries(
    "git config index.recordEndOfIndexEntries true; git config index.threads 2; echo e >e; git add e"
)]
#[case::named_as_the_extension("for i in 1 2 3 4 5 6 7 8; do mkdir TREE$i; echo $i >TREE$i/TREE; done; git add TREE*")]
#[case::long_name(
    "long=$(printf 'd/%1990s' | tr ' ' x); long=$long/$long; \
     git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:f),$long"
)]
fn work_is_linked_and_other_work_is_not(#[case] setting: &str) {
    let desk = Desk::new();
    desk.write("other", "of a person\n");
    desk.git(&["add", "other"]);
    desk.git(&["commit", "-q", "-m", "other"]);
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    let output = desk.world.command("sh").args(["-c", setting]).output().expect("sh runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    desk.write("mine", "of a person\n");
    desk.git(&["add", "mine"]);
    desk.git(&["commit", "-q", "-m", "mine"]);
    assert_eq!(desk.recorded("HEAD"), parts(&[]));
    desk.git(&["add", "f"]);
    desk.git(&["commit", "-q", "-m", "the agent's"]);
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    assert!(desk.git(&["log", "-1", "--format=%B"]).contains("Checkpoint: "));
    desk.finish();
}
