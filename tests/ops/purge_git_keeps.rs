//! A purge of what git itself keeps, too: nothing of ours has it afterwards, and the words say how git's objects go.

use serde_json::{Value, json};

use super::{
    purge::{SECRET, places, purge, purged},
    purge_keeps::save,
};
use crate::support::{World, processes::described};

/// Returns the checkpoints and logs of ours that have the text where their base, or the commit, does not.
fn ours(world: &World) -> String {
    world.sh(
        "for id in $(git rev-list --glob='refs/checkpoints/*' --not --branches --tags); do git log -1 --format=%B $id; \
         git grep -h 'caf.* 4711' $id; done | grep 'caf.* 4711' || :",
    )
}

#[rstest::rstest]
#[case::dropped_stash("git stash -q -u; git stash drop -q", "to which no ref leads", "git gc -q --prune=now")]
#[case::lost_commit(
    "git add -A; git commit -q -m x; git reset -q --hard HEAD~; git reflog expire --expire=all --all",
    "to which no ref leads",
    "git gc -q --prune=now"
)]
#[case::reflog(
    "git add -A; git commit -q -m x; git reset -q --hard HEAD~",
    "of a reflog",
    "git reflog expire --expire-unreachable=now HEAD main; git gc -q --prune=now"
)]
#[case::branch(
    "git checkout -q -b side; git add -A; git commit -q -m x; git checkout -q main",
    "on side, which stays",
    "git branch -q -D side; git reflog expire --expire-unreachable=now HEAD main; git gc -q --prune=now"
)]
#[case::committed(
    "git add -A; git commit -q -m x",
    "on main, which stays",
    "git reset -q --hard HEAD~; git reflog expire --expire-unreachable=now HEAD main; git gc -q --prune=now"
)]
fn ours_are_rewritten_whatever_git_keeps(#[case] then: &str, #[case] named: &str, #[case] remove: &str) {
    for is_prompted in [false, true] {
        let world = World::with_hooks();
        let message = if is_prompted { format!("the key is {SECRET}") } else { "x".to_owned() };
        world.done(&["session", "prompt", "s", "--agent", "claude-code", "--message", &message]);
        world.write("d/t.env", format!("one\n{SECRET}\nthree\n"));
        world.settle();
        world.done(&["session", "stop", "s"]);
        world.sh(then);
        let (facts, before) = (world.facts(), ours(&world));
        assert!(before.contains("4711"), "{then}: {before}");
        let plan = purge(&world, &["--dry-run"], SECRET);
        assert_eq!(plan.status.code(), Some(1), "{then}: {}", described(&plan));
        let done = purge(&world, &["--force"], SECRET);
        let words = described(&done);
        assert_eq!(done.status.code(), Some(1), "{then}: {words}");
        assert!(words.contains("found in 1 checkpoint") && words.contains("d/t.env"), "{then}: {words}");
        assert!(words.contains(named) && words.contains("'git gc --prune=now'"), "{then}: {words}");
        assert_eq!(ours(&world), "", "{then}: {words}");
        assert_eq!(world.facts(), facts, "{then}");
        world.assert_accounted(then);
        assert!(!places(&world, SECRET).is_empty(), "{then}: git keeps it");
        // It is not found again.
        let again = purge(&world, &["--force"], SECRET);
        assert_eq!(again.status.code(), Some(1), "{then}: {}", described(&again));
        let again = described(&again);
        assert!(again.contains("nothing to purge was found"), "{then}: {again}");
        assert!(again.contains("warning: objects of git's that are not git-checkpoint's have it"), "{then}: {again}");
        world.sh(remove);
        let last = purge(&world, &["--force"], SECRET);
        assert_eq!(last.status.code(), Some(0), "{then}: {}", described(&last));
        assert!(described(&last).contains("nothing of it is left: no object has it"), "{then}: {}", described(&last));
        assert_eq!(places(&world, SECRET), Vec::<String>::new(), "{then}: {words}");
        world.assert_sound(then);
    }
}

/// What only a lost commit has is not ours to remove, and is counted, also if it is another content with the text.
#[test]
fn other_contents_of_lost_commits_are_counted() {
    let world = World::with_commit();
    save(&world, "k", &format!("{SECRET}\n"));
    world.remove("k");
    world.write("f", format!("a line\n{SECRET}\n"));
    world.sh("git add -A; git stash -q; git stash drop -q");
    let output = purge(&world, &["--force"], SECRET);
    let words = described(&output);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("found in 1 object without a ref; 'git gc --prune=now' removes"), "{words}");
    assert!(!places(&world, SECRET).is_empty(), "{words}");
    world.git(&["gc", "-q", "--prune=now"]);
    purged(&world, SECRET);
}

/// What is in another repository, in which this one has objects, cannot be removed here.
#[test]
fn objects_of_another_repository_are_not_counted() {
    let world = World::with_commit();
    world.sh("cd ..; mv repo whole; git clone -qs whole repo; cd whole; git checkout -qb feature");
    std::fs::write(world.root().join("whole/k"), format!("a key {SECRET}\n")).expect("writable");
    world.sh("cd ../whole; git add k; git commit -qm k");
    save(&world, "w", &format!("{SECRET}\n"));
    world.remove("w");
    let output = purge(&world, &["--force"], SECRET);
    assert_eq!(output.status.code(), Some(0), "{}", described(&output));
    // A copy here can be removed here, whatever is there; and a line that leads nowhere is no obstacle.
    world.sh("id=$(git -C ../whole rev-parse feature:k); d=.git/objects/${id%${id#??}}; mkdir -p $d; cp ../whole/$d/${id#??} $d; echo /nowhere/objects >>.git/objects/info/alternates");
    let output = purge(&world, &["--force"], SECRET);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
}

#[test]
fn what_the_base_has_stays_in_checkpoints() {
    let world = World::with_commit();
    world.write("k", format!("{SECRET}\n"));
    world.write("other", "1\n");
    world.sh("git add -A; git commit -q -m base");
    save(&world, "other", "2\n");
    // The same content in another place is a change of the checkpoint.
    save(&world, "copy", &format!("{SECRET}\n"));
    world.remove("copy");
    let output = purge(&world, &["--force", "--json"], SECRET);
    let done: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &done["paths"]), (Some(1), &json!(["copy"])), "{done:#}");
    let tip = world.shadows().join(" ");
    assert_eq!(world.git(&["show", &format!("{tip}:k")]), format!("{SECRET}\n"));
    assert_eq!(world.git(&["show", &format!("{tip}:copy")]), "[purged]\n");
    assert_eq!(world.git(&["diff", "--name-only", "HEAD", &tip]), "copy\nother\n");
    world.assert_sound("after the purge");
}

#[test]
fn a_lost_base_is_named() {
    let world = World::with_hooks();
    world.write("k", format!("{SECRET}\n"));
    world.sh("git add -A; git commit -q -m base");
    save(&world, "other", "2\n");
    world.done(&["reset", "-q"]);
    world.sh("echo clean >k; git commit -q -a --amend -m base; git reflog expire --expire=all --all");
    let output = purge(&world, &["--force"], SECRET);
    let words = described(&output);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("because checkpoints are based on it"), "{words}");
    assert!(words.contains("'git checkpoint purge --checkpoint <checkpoint>...'"), "{words}");
    world.sh(
        "git checkpoint purge -q -f --checkpoint $(git for-each-ref --format='%(objectname)' refs/checkpoints/archive); \
         git gc -q --prune=now",
    );
    assert_eq!(places(&world, SECRET), Vec::<String>::new());
    world.assert_sound("after the purge");
}

#[test]
fn a_path_goes_whatever_git_keeps() {
    let world = World::with_commit();
    save(&world, "k", &format!("{SECRET}\n"));
    world.sh("git stash -q -u; git stash drop -q");
    let output = purge(&world, &["--force", "--path", "k"], "");
    assert_eq!(output.status.code(), Some(129), "{}", described(&output));
    let output = world.checkpoint(&["purge", "--force", "--path", "k"]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    assert_eq!(ours(&world), "", "{}", described(&output));
    world.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(places(&world, SECRET), Vec::<String>::new());
}

#[test]
fn records_that_were_fetched_keep_nothing_of_ours() {
    let world = World::with_hooks();
    world.done(&["session", "prompt", "s", "--agent", "claude-code", "--message", &format!("use {SECRET}")]);
    save(&world, "f", "of the agent\n");
    world.done(&["session", "stop", "s"]);
    world.sh("git commit -q -a -m f; git update-ref refs/checkpoints-remote/origin/history refs/checkpoints/history");
    let output = purge(&world, &["--force"], SECRET);
    assert!(described(&output).contains("found in the prompts of 1 session"), "{}", described(&output));
    assert_eq!(ours(&world), "", "{}", described(&output));
    assert!(!world.json(&["explain", "--json", "HEAD"]).to_string().contains("4711"));
}

#[test]
fn a_dry_run_says_what_will_be_refused() {
    let world = World::with_commit();
    save(&world, "k", &format!("{SECRET}\n"));
    let plan = purge(&world, &["--dry-run"], SECRET);
    let words = described(&plan);
    assert_eq!(plan.status.code(), Some(1), "{words}");
    assert!(words.contains("would be refused: the worktree still has the text in 'k'"), "{words}");
    assert_eq!((words.matches("the worktree").count(), words.matches("hint: ").count()), (1, 1), "{words}");
    let plan = purge(&world, &["--dry-run", "--json"], SECRET);
    let plan: Value = serde_json::from_slice(&plan.stdout).expect("JSON");
    assert!(plan["refused"].as_str().is_some_and(|why| why.contains("'k'")), "{plan:#}");
    world.remove("k");
    let plan = purge(&world, &["--dry-run", "--json"], SECRET);
    assert_eq!(plan.status.code(), Some(0), "{}", described(&plan));
    purged(&world, SECRET);
}
