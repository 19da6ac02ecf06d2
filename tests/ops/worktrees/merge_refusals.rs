//! What `worktree merge` refuses so that nothing is lost that no commit and no checkpoint has, and what `undo` says of a merge.

use rstest::rstest;
use serde_json::{Value, json};

use super::{add, json_of, said};
use crate::support::World;

const SIDE: &str = "../repo-wt-side";

/// A repository whose branches `main` and `side` have a commit each, and a rule that ignores `*.ign`; `side` has a worktree.
fn world() -> World {
    let world = World::with_hooks();
    world.git(&["branch", "-M", "main"]);
    world.sh("echo '*.ign' >.gitignore; git add -A; git commit -qm rule");
    let path = add(&world, "side");
    world.sh(&format!("cd '{}'; echo side >side; git add -A; git commit -qm side", path.display()));
    world.sh("echo here >here; git add -A; git commit -qm here");
    world
}

/// Returns what is in both worktrees and on all branches.
fn state(world: &World) -> String {
    world.sh("git for-each-ref refs/heads; for it in . ../repo-wt-side; do (cd $it; git ls-files -s
         find . -path ./.git -prune -o \\( -type f -exec cksum {} + \\) -o -type l -print | sort); done")
}

/// The tracked file is in the other branch; what is here is ignored, so that no checkpoint has it.
#[rstest]
#[case::file("echo theirs >s.ign", "echo mine >s.ign", "'s.ign'")]
#[case::link("echo theirs >s.ign", "ln -s here s.ign", "'s.ign'")]
#[case::below("echo theirs >d.ign", "mkdir -p d.ign/e; echo mine >d.ign/e/f", "'d.ign/e/f'")]
#[case::above("mkdir d.ign; echo theirs >d.ign/f", "echo mine >d.ign", "'d.ign'")]
#[case::beside_tracked("echo theirs >s.ign; echo theirs >t.ign", "echo mine >s.ign; echo mine >t.ign", "are ignored")]
#[case::moved_directory(
    "mkdir dir; echo theirs >dir/s.ign",
    "mkdir to; echo mine >to/s.ign; echo mine >dir.ign; echo mine >s.ign; mkdir -p dir; echo mine >dir/s.ign",
    "'dir/s.ign'"
)]
fn ignored_files_here_are_not_written_over(
    #[case] theirs: &str,
    #[case] mine: &str,
    #[case] words: &str,
    #[values(&[], &["--squash"], &["--ff-only"], &["--rebase"])] options: &[&str],
) {
    let world = world();
    if options == ["--ff-only"] {
        world.sh("git -C ../repo-wt-side merge -q --no-edit main");
    }
    world.sh(&format!("cd {SIDE}; {theirs}; git add -Af .; git commit -qm theirs"));
    world.sh(mine);
    let before = state(&world);
    for more in [&["-n"][..], &[]] {
        let output = world.checkpoint(&[&["worktree", "merge", "side"], options, more].concat());
        assert_eq!(output.status.code(), Some(1), "{more:?}: {}", said(&output));
        assert!(said(&output).contains(words) && said(&output).contains("move "), "{more:?}: {}", said(&output));
        assert_eq!(state(&world), before, "{more:?}");
    }
}

/// As git writes the files of a directory that was renamed here.
#[test]
fn a_file_that_follows_a_renamed_directory_is_looked_for() {
    let world = world();
    world.sh("mkdir from; for it in a b c; do echo $it >from/$it; done; git add -A; git commit -qm from");
    world.sh(&format!(
        "cd {SIDE}; git merge -q --no-edit main; echo theirs >from/s.ign; git add -Af .; git commit -qm theirs"
    ));
    world.sh("git mv from to; git commit -qm to; echo mine >to/s.ign");
    let before = state(&world);
    world.git(&["config", "merge.directoryRenames", "true"]);
    let output = world.checkpoint(&["worktree", "merge", "side"]);
    if world.git(&["--version"]).as_str() >= "git version 2.38" {
        assert_eq!((output.status.code(), state(&world)), (Some(1), before), "{}", said(&output));
    }
}

#[rstest]
#[case::of_main("echo main >s.ign; git add -f s.ign; git commit -qm main", "echo mine >s.ign")]
#[case::of_a_commit_between(
    "true",
    "echo side >s.ign; git add -f s.ign; git commit -qm one; git rm -q s.ign; git commit -qm two; echo mine >s.ign"
)]
fn ignored_files_of_the_source_are_not_written_over(#[case] here: &str, #[case] there: &str) {
    let world = world();
    world.sh(here);
    world.sh(&format!("cd {SIDE}; {there}"));
    let before = state(&world);
    for more in [&["-n"][..], &[]] {
        let output = world.checkpoint(&[&["worktree", "merge", "side", "--rebase"], more].concat());
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains("'s.ign'") && said(&output).contains("repo-wt-side"), "{}", said(&output));
        assert_eq!(state(&world), before);
    }
    if here == "true" {
        world.done(&["worktree", "merge", "side"]);
    }
}

/// What git leaves alone does not refuse it.
#[rstest]
#[case::elsewhere("echo mine >t.ign; mkdir e; echo mine >e/s.ign")]
#[case::tracked(
    "echo mine >s.ign; git add -f s.ign; git commit -qm mine; git rm -q --cached s.ign; git commit -qm not"
)]
fn other_ignored_files_stay(#[case] mine: &str) {
    let world = world();
    world.sh(mine);
    world.sh(&format!("cd {SIDE}; mkdir e; echo theirs >e/f; git add -A; git commit -qm theirs"));
    world.done(&["worktree", "merge", "side"]);
    assert_eq!(world.sh("cat *.ign e/f | sort -u"), "mine\ntheirs\n");
}

/// A file that was taken out of the branch here, and is ignored since, is not written again.
#[test]
fn a_file_that_is_no_longer_tracked_here_stays() {
    let world = world();
    world.sh("echo old >s.ign; git add -f s.ign; git commit -qm old; git -C ../repo-wt-side merge -q --no-edit main");
    world.sh("git rm -q --cached s.ign; git commit -qm 'not tracked'; echo mine >s.ign");
    world.sh(&format!("cd {SIDE}; echo more >>side; git commit -qam more"));
    if world.git(&["--version"]).as_str() >= "git version 2.38" {
        world.done(&["worktree", "merge", "side"]);
        assert_eq!(world.sh("cat s.ign"), "mine\n");
    }
}

#[rstest]
#[case::source("git worktree add -qf ../g side", &["../g"])]
#[case::by_its_branch("git worktree add -qf ../g side", &["side"])]
#[case::here("git worktree add -qf ../g main", &["side"])]
fn a_branch_of_two_worktrees_is_refused(
    #[case] prepare: &str,
    #[case] arguments: &[&str],
    #[values(&[], &["--rebase"], &["-n"])] options: &[&str],
) {
    let world = world();
    world.sh(prepare);
    let before = state(&world);
    let output = world.checkpoint(&[&["worktree", "merge"], arguments, options].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("is checked out in 2 worktrees"), "{}", said(&output));
    assert!(!said(&output).contains("git merge"), "{}", said(&output));
    assert_eq!(state(&world), before);
}

/// A reset would delete what git ignores, and what was done since: no hint names one.
#[test]
fn undo_says_where_the_branch_was() {
    let world = world();
    let before = world.git(&["rev-parse", "HEAD"]);
    world.done(&["worktree", "merge", "side"]);
    for arguments in [&["undo"][..], &["op", "undo", "@{0}"]] {
        let undone = world.checkpoint(arguments);
        assert!(!undone.status.success(), "{}", said(&undone));
        assert!(said(&undone).contains(&format!("'main' was at {} before", before.trim())), "{}", said(&undone));
        assert!(!said(&undone).contains("git reset"), "{}", said(&undone));
    }
}

/// A rebase would drop what only the merge commit has.
#[test]
fn merges_are_not_rebased() {
    let world = world();
    world.sh(&format!(
        "cd {SIDE}; git switch -qc part HEAD~; echo part >part; git add -A; git commit -qm part; git switch -q side
         git merge -q --no-commit --no-ff part 2>&1; echo only >only; git add -A; git commit -qm merged"
    ));
    let before = state(&world);
    for more in [&["-n"][..], &[]] {
        let output = world.checkpoint(&[&["worktree", "merge", "side", "--rebase"], more].concat());
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains("without '--rebase'"), "{}", said(&output));
        assert_eq!(state(&world), before);
    }
    world.done(&["worktree", "merge", "side"]);
    assert_eq!(world.sh("cat only part side"), "only\npart\nside\n");
}

/// The log names where the other branch was, and the counts are those of what came.
#[test]
fn a_rebase_is_in_the_log() {
    let world = world();
    let log = || world.done(&["op", "log", "--json"]);
    let text = |what: &str, id: &str| format!("'{what}' was at {} before", id.trim());
    // One of its two commits is here already.
    world.sh(&format!(
        "cd {SIDE}; echo two >two; git add -A; git commit -qm two; git -C ../repo cherry-pick side >/dev/null"
    ));
    let (main, side) = (world.git(&["rev-parse", "main"]), world.git(&["rev-parse", "side"]));
    let merged = json_of(&world, &["worktree", "merge", "side", "--rebase", "--json"]);
    assert_eq!((&merged["result"], &merged["commits"]), (&json!("fast-forward"), &json!(1)), "{merged}");
    let hint = |world: &World| said(&world.checkpoint(&["undo"]));
    assert!(hint(&world).contains(&text("main", &main)), "{}", hint(&world));
    world.sh("git commit -q --allow-empty -m later");
    let id = serde_json::from_str::<Value>(&log()).expect("JSON")["operations"]
        .as_array()
        .and_then(|all| all.iter().find(|it| it["kind"] == json!("worktree")))
        .and_then(|it| it["id"].as_str().map(str::to_owned))
        .expect("it is there");
    let said = said(&world.checkpoint(&["op", "undo", &id]));
    assert!(said.contains(&text("main", &main)) && said.contains(&text("side", &side)), "{said}");
}

/// A rebase that stops has moved nothing yet, but it will.
#[test]
fn a_rebase_that_stops_is_in_the_log() {
    let world = world();
    world.sh(&format!(
        "echo main >both; git add -A; git commit -qm m; cd {SIDE}; echo side >both; git add -A; git commit -qm s"
    ));
    let side = world.git(&["rev-parse", "side"]);
    assert_eq!(world.checkpoint(&["worktree", "merge", "side", "--rebase"]).status.code(), Some(1));
    let undone = said(&world.checkpoint(&["undo"]));
    assert!(undone.contains(&format!("'side' was at {} before", side.trim())), "{undone}");
}

/// Git would stash what is not committed, and say so where it is not seen.
#[rstest]
#[case::merge(&["merge.autoStash", "true"], &[])]
#[case::squash(&["merge.autoStash", "true"], &["--squash"])]
#[case::option(&["branch.main.mergeOptions", "--autostash --no-commit"], &[])]
fn nothing_is_stashed(#[case] setting: &[&str], #[case] options: &[&str]) {
    let world = world();
    world.sh(&format!("cd {SIDE}; git merge -q --no-edit main; echo more >>here; git commit -qam more"));
    world.git(&[&["config"], setting].concat());
    world.sh("echo mine >>here");
    let before = state(&world);
    let output = world.checkpoint(&[&["worktree", "merge", "side"], options].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        ["would be overwritten", "'here' is changed in"].iter().any(|it| said(&output).contains(it)),
        "{}",
        said(&output)
    );
    assert_eq!(state(&world), before);
    assert!(!world.repo().join(".git/MERGE_AUTOSTASH").exists());
}

/// When git refuses a merge, it checks out HEAD, and deletes what is in the place of its files: nothing of it is in a checkpoint.
#[rstest]
#[case::ignored("echo '*.ign' >.git/info/exclude; rm k; mkdir k; echo mine >k/x.ign; echo l >>both", "k/x.ign")]
#[case::staged("echo '*.ign' >.git/info/exclude; rm k; mkdir k; echo mine >k/x.ign; echo s >s; git add s", "k/x.ign")]
#[case::a_repository("rm k; git init -q k; git -C k commit -q --allow-empty -m x; echo l >>both", "k/.git/HEAD")]
#[case::untracked_in_the_way(
    "echo '*.ign' >.git/info/exclude; rm k; mkdir k; echo mine >k/x.ign; echo mine >their",
    "k/x.ign"
)]
#[case::below_a_file("echo d >.git/info/exclude; rm -r d; echo mine >d; echo mine >their", "d")]
fn what_is_in_the_place_of_a_file_stays(
    #[case] script: &str,
    #[case] file: &str,
    #[values(&[], &["--squash"])] options: &[&str],
) {
    let world = world();
    world.sh(&format!(
        "echo 1 >k; echo 1 >both; mkdir d; echo 1 >d/f; git add -A; git commit -qm files
         cd {SIDE}; git merge -q main; echo 2 >both; echo 2 >their; git add -A; git commit -qm theirs
         cd ../repo; echo 3 >ours; git add -A; git commit -qm ours"
    ));
    world.sh(script);
    let before = world.sh(&format!("cksum {file}; git status --porcelain --ignored"));
    let output = world.checkpoint(&[&["worktree", "merge", "side"], options].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(world.sh(&format!("cksum {file}; git status --porcelain --ignored")), before, "{}", said(&output));
}
