//! What the user's index may hold or look like: conflicts, flags, formats.

use super::{
    bench::{Bench, Scenario},
    child::Order,
};

/// Two branches that disagree about everything.
const DISAGREE: &str = r"
base; git checkout -qb side
echo side >file; git rm -q dir/one; echo both >both; echo theirs >dir/deep/two; ln -s side link; chmod +x file; echo d >df
commit side; git checkout -q main
sed -i s/1/main/ file; echo main >dir/one; echo me >both; git rm -q dir/deep/two; ln -s main link; mkdir df; echo x >df/x
commit main
";

#[rstest::rstest]
#[case::new("echo n >new; git add -N new", "echo m >>new")]
#[case::new_and_deleted("echo n >new; git add -N new", "rm new")]
#[case::in_directory("mkdir n; echo n >n/new; git add -N n/new", "true")]
#[case::empty(": >new; git add -N new", "true")]
#[case::executable("echo n >new; chmod +x new; git add -N new", "chmod -x new")]
#[case::becomes_staged("echo n >new; git add -N new", "git add new; echo m >>new")]
#[case::ignored("echo n >new; git add -N new; echo new >.gitignore", "echo m >>new")]
#[case::only_entry_of_directory("mkdir -p p/q; echo n >p/q/new; git add -N p/q/new; rm p/q/new", "true")]
fn intent_to_add(#[case] first: &str, #[case] then: &str) {
    Scenario::new(&format!("base; {first}"), then).check();
}

#[rstest::rstest]
#[case::as_git_left_it("git merge -q side >/dev/null 2>&1 || true", "true")]
#[case::resolved_by_hand("git merge -q side >/dev/null 2>&1 || true", "echo resolved >file; echo resolved >both")]
#[case::resolved_and_added("git merge -q side >/dev/null 2>&1 || true", "echo resolved >file; git add file; rm both")]
#[case::ours_removed("git merge -q side >/dev/null 2>&1 || true; rm -f file both dir/one", "true")]
#[case::merge_before_first_pass(
    "git merge -q side >/dev/null 2>&1 || true; echo x >new",
    "git add -A; git commit -qm merged"
)]
#[case::aborted("git merge -q side >/dev/null 2>&1 || true", "git merge --abort")]
#[case::cherry_pick("git cherry-pick side >/dev/null 2>&1 || true", "echo resolved >both")]
#[case::rebase("git rebase side >/dev/null 2>&1 || true", "echo resolved >both; git add both")]
#[case::rebase_continues(
    "git rebase side >/dev/null 2>&1 || true",
    "git add -A; GIT_EDITOR=true git rebase --continue >/dev/null 2>&1"
)]
#[case::revert("echo again >file; commit; git revert --no-edit HEAD~1 >/dev/null 2>&1 || true", "echo resolved >file")]
#[case::stash_pop(
    "echo mine >file; git stash -q; echo other >file; commit; git stash pop >/dev/null 2>&1 || true",
    "echo resolved >file"
)]
#[case::merge_of_nothing_yet("git merge -q --no-commit -s ours side", "echo x >>file")]
fn unfinished_business(#[case] first: &str, #[case] then: &str) {
    // HEAD may move in between, which begins another shadow: no hints on the one before.
    Scenario::new(&format!("{DISAGREE}{first}"), then).without_hints().check();
}

#[test]
fn unmerged_stages_are_kept() {
    let bench = Bench::new(&format!("{DISAGREE} git merge -q side >/dev/null 2>&1 || true"));
    let unmerged = bench.git(&["ls-files", "-u", "--format=%(objectname) %(stage) %(path)"]);
    assert!(unmerged.lines().count() > 5, "{unmerged}");
    let saved = bench.save_warm_and_cold();
    let id = saved.id().expect("a checkpoint");
    let mut kept = bench.side(id, "unmerged");
    kept.sort();
    let mut expected: Vec<_> = unmerged
        .lines()
        .map(|line| {
            let mut fields = line.splitn(3, ' ');
            let (object, stage, path) =
                (fields.next().unwrap_or(""), fields.next().unwrap_or(""), fields.next().unwrap_or(""));
            format!("{stage}/{path} {object}")
        })
        .collect();
    expected.sort();
    assert_eq!(kept, expected);
    assert!(!bench.save().is_created(), "nothing has changed");
    bench.run("git checkout -q --theirs both; git add both");
    assert!(bench.save_warm_and_cold().is_created(), "fewer conflicts are a change");
}

/// The commits of a submodule are in no repository of ours.
#[test]
fn unmerged_submodules_stay_commits() {
    let bench = Bench::new(
        "git init -q -b main ../lib; git -C ../lib commit -q --allow-empty -m 1
        base; git -c protocol.file.allow=always submodule --quiet add ../lib sub; commit sub
        git checkout -qb side; git -C sub commit -q --allow-empty -m theirs; commit theirs
        git checkout -q main; git -C sub checkout -q --detach HEAD~; git -C sub commit -q --allow-empty -m ours; commit ours
        git merge -q side >/dev/null 2>&1 || true",
    );
    assert_eq!(bench.git(&["ls-files", "-u", "--format=%(objectmode)"]), "160000\n160000\n160000");
    let saved = bench.save_warm_and_cold();
    let id = saved.id().expect("a checkpoint");
    bench.git(&["cat-file", "-e", &format!("{id}^2")]);
    bench.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(
        bench.git(&["ls-tree", "-r", "--format=%(objecttype)", &format!("{id}^2:unmerged")]),
        "commit\ncommit\ncommit"
    );
    bench.check_repository();
}

#[rstest::rstest]
#[case::assume_unchanged("base; git update-index --assume-unchanged file dir/one", "echo x >>file; rm dir/one")]
#[case::assumed_from_the_start("base; git update-index --assume-unchanged file; echo x >>file", "echo y >>file")]
fn assume_unchanged_is_ignored(#[case] first: &str, #[case] then: &str) {
    let oracle = "git ls-files -z | git update-index -z --no-assume-unchanged --stdin; git add -A";
    Scenario::new(first, then).oracle(oracle).check();
}

#[rstest::rstest]
#[case::edited("base; git update-index --skip-worktree file", "echo x >>file; echo y >>dir/one")]
#[case::deleted("base; git update-index --skip-worktree file dir/one", "rm file; echo y >>dir/deep/two")]
#[case::edited_from_the_start("base; git update-index --skip-worktree file; echo x >>file", "echo y >new")]
#[case::flag_is_taken_away(
    "base; git update-index --skip-worktree file; echo x >>file",
    "git update-index --no-skip-worktree file"
)]
fn skip_worktree_by_hand(#[case] first: &str, #[case] then: &str) {
    Scenario::new(first, then).without_hints().check();
}

#[test]
fn edits_of_files_marked_skip_worktree_are_listed() {
    let bench = Bench::new("base; git update-index --skip-worktree file dir/one dir/deep/two; rm dir/one; echo u >u");
    assert!(bench.save_warm_and_cold().skipped().is_empty());
    bench.run("echo x >>file");
    let saved = bench.save_warm_and_cold();
    assert!(!saved.is_created());
    assert_eq!(saved.skipped(), ["file: skip-worktree"]);
    bench.run("git update-index --no-skip-worktree file");
    let saved = bench.save_warm_and_cold();
    assert_eq!((saved.paths(), saved.skipped()), (vec!["M file".to_owned()], Vec::new()));
}

#[test]
fn modes_that_are_no_tree_s_are_an_error() {
    // Without a checksum, the index may contain anything.
    let bench = Bench::new("base; git config index.skipHash true; echo s >s; git add s");
    let path = bench.git_dir().join("index");
    let mut bytes = std::fs::read(&path).expect("an index");
    // The first entry's mode: after the header of 12 bytes and six fields of 4.
    bytes[12 + 24..][..4].copy_from_slice(&0o010_644_u32.to_be_bytes());
    let tree = bytes.windows(4).position(|four| four == b"TREE").expect("a cached tree");
    bytes[tree..][..4].copy_from_slice(b"XXXX");
    std::fs::write(&path, bytes).expect("it can be written");
    let failure = bench.attempt(&Order::default()).expect_err("no tree can hold that");
    assert_eq!(failure.kind, "Corrupt", "{failure:?}");
}

#[rstest::rstest]
#[case::cone("git sparse-checkout set --cone dir/deep", "echo x >>dir/deep/two; echo n >dir/deep/new; rm file")]
#[case::not_cone("git sparse-checkout set --no-cone '/*' '!/out/'", "echo x >>file; rm dir/one")]
#[case::sparse_index(
    "git sparse-checkout set --cone --sparse-index dir",
    "echo x >>dir/deep/two; echo n >dir/n; rm dir/one"
)]
#[case::present_outside("git sparse-checkout set --cone dir", "mkdir -p out/in; echo changed >out/in/x; echo x >>file")]
#[case::present_outside_not_cone(
    "git sparse-checkout set --no-cone '/*' '!/out/'",
    "mkdir -p out/in; echo changed >out/in/x; echo new >out/new"
)]
#[case::present_outside_sparse_index(
    "git sparse-checkout set --cone --sparse-index dir",
    "mkdir -p out/in; echo changed >out/in/x"
)]
#[case::untracked_outside(
    "git sparse-checkout set --cone dir",
    "mkdir -p out/other; echo new >out/other/new; mkdir far; echo far >far/x"
)]
#[case::file_in_the_place_of_a_left_out_directory("git sparse-checkout set --cone dir", "echo file >out")]
#[case::disabled_again("git sparse-checkout set --cone dir", "git sparse-checkout disable; echo x >>out/in/x")]
#[case::narrowed("git sparse-checkout set --cone dir out", "git sparse-checkout set --cone dir")]
#[case::widened(
    "git sparse-checkout set --cone --sparse-index dir",
    "git sparse-checkout set --cone dir out; echo x >>out/in/x"
)]
fn sparse_checkouts(#[case] first: &str, #[case] then: &str) {
    let first = format!("base; mkdir -p out/in; echo 1 >out/in/x; echo 2 >out/y; commit; {first} >/dev/null 2>&1");
    Scenario::new(&first, then).oracle("git add -A --sparse").without_hints().check();
}

/// A file that sparse checkout leaves out comes, is edited, and goes: then it has its staged content again.
#[rstest::rstest]
#[case::cone("git sparse-checkout set --cone dir")]
#[case::not_cone("git sparse-checkout set --no-cone '/*' '!/out/'")]
#[case::sparse_index("git sparse-checkout set --cone --sparse-index dir")]
fn left_out_files_that_come_and_go(#[case] sparse: &str, #[values(false, true)] had_edits_before: bool) {
    let edits = if had_edits_before { "echo edit >>out/y" } else { ":" };
    let bench = Bench::new(&format!(
        "base; mkdir -p out/in; echo 1 >out/in/x; echo 2 >out/y; commit; {edits}; git add -A; {sparse} >/dev/null 2>&1"
    ))
    .oracle("git add -A --sparse");
    bench.save();
    for change in ["mkdir -p out; echo edited >out/y", "rm out/y", "echo again >out/y; echo x >>dir/one", "rm -r out"] {
        bench.run(change);
        bench.save_warm_and_cold();
    }
    bench.check_repository();
}

#[rstest::rstest]
#[case::cone("git sparse-checkout set --cone dir", "echo x >>dir/deep/two; rm dir/one")]
#[case::present_outside("git sparse-checkout set --cone dir", "mkdir -p out/in; echo changed >out/in/x")]
#[case::untracked_outside("git sparse-checkout set --cone dir", "mkdir -p out/other; echo new >out/other/new")]
#[case::sparse_index("git sparse-checkout set --cone --sparse-index dir", "echo x >>dir/one")]
fn named_paths_in_sparse_checkouts(#[case] first: &str, #[case] then: &str) {
    let first = format!("base; mkdir -p out/in; echo 1 >out/in/x; echo 2 >out/y; commit; {first} >/dev/null 2>&1");
    Scenario::new(&first, then).oracle("git add -A --sparse").check();
}

#[rstest::rstest]
#[case::version_4("git update-index --index-version 4")]
#[case::version_3("echo x >i; git add -N i; git update-index --index-version 3")]
#[case::split("git update-index --split-index; echo s >s; git add s")]
#[case::split_by_setting(
    "git config core.splitIndex true; git update-index --split-index; echo s >s; git add s; git rm -q --cached dir/one"
)]
#[case::untracked_cache("git update-index --untracked-cache; git status >/dev/null")]
#[case::fsmonitor_flags(
    "printf '#!/bin/sh\\nprintf \"token\\\\0/\\\\0\"\\n' >$W/bin-fsmonitor; chmod +x $W/bin-fsmonitor; git config core.fsmonitor $W/bin-fsmonitor; git update-index --fsmonitor; git status >/dev/null"
)]
#[case::fsmonitor_that_sees_nothing(
    "printf '#!/bin/sh\\nprintf \"token\\\\0\"\\n' >$W/bin-fsmonitor; chmod +x $W/bin-fsmonitor; git config core.fsmonitor $W/bin-fsmonitor; git update-index --fsmonitor; git status >/dev/null"
)]
#[case::no_checksum("git config index.skipHash true; echo s >s; git add s")]
#[case::many_threads("git config index.threads 4; for i in $(seq 300); do echo $i >f$i; done; git add .")]
#[case::stale("touch -d '+1 hour' file; cp file t; mv t file")]
#[case::staged_then_changed("echo staged >file; git add file; echo worktree >file")]
#[case::staged_then_deleted("echo staged >new; git add new; rm new")]
#[case::removed_from_the_index("git rm -q --cached file dir/one")]
#[case::removed_from_the_index_and_ignored("git rm -q --cached file; echo file >.gitignore")]
#[case::staged_mode_only("git update-index --chmod=+x file")]
#[case::empty("git rm -rq --cached .")]
#[case::deleted("rm .git/index")]
#[case::other_tree("git read-tree HEAD:dir")]
#[case::no_cache_tree("git read-tree HEAD; git update-index --refresh -q")]
#[case::no_nanoseconds("git update-index --refresh -q; git ls-files --debug >/dev/null")]
fn formats_of_the_index(#[case] first: &str) {
    // fsmonitor makes git itself blind, and the oracle has to see.
    let oracle = "git config --get core.fsmonitor >/dev/null && { git read-tree --empty; git add -A; } || git add -A";
    let first = format!("base; {first}");
    Scenario::new(&first, "echo x >>dir/deep/two; echo y >y; rm -f dir/one").oracle(oracle).check();
}

/// The index changes between two saves, the worktree does not.
#[rstest::rstest]
#[case::staged("echo x >>file; echo n >new", "git add -A")]
#[case::unstaged("echo x >>file; git add -A", "git reset -q")]
#[case::removed("true", "git rm -q --cached file")]
#[case::deleted("echo u >u", "rm .git/index")]
#[case::rewritten("echo u >u", "git read-tree --empty; git read-tree HEAD")]
#[case::split("echo u >u", "git update-index --split-index")]
#[case::committed("echo x >>file; echo n >new", "commit")]
#[case::tracked_but_ignored_any_more("echo ign >.gitignore; echo i >ign; git add -f ign", "git rm -q --cached ign")]
#[case::ignored_file_is_added("echo ign >.gitignore; echo i >ign", "git add -f ign")]
fn the_index_may_change_between_saves(#[case] first: &str, #[case] then: &str) {
    Scenario::new(&format!("base; {first}"), then).without_hints().check();
}

#[test]
fn content_that_only_the_index_has_is_kept() {
    let bench =
        Bench::new("base; echo staged >file; git add file; echo worktree >file; echo gone >new; git add new; rm new");
    let saved = bench.save_warm_and_cold();
    let id = saved.id().expect("a checkpoint");
    let staged = bench.git(&["write-tree"]);
    assert_eq!(bench.git(&["rev-parse", &format!("{id}^2:index")]), staged);
    bench.run("echo staged again >file; git add file; echo worktree >file");
    let again = bench.save_warm_and_cold();
    assert!(again.is_created(), "content that only the index holds has changed");
    assert_eq!(again.tree(), saved.tree());
}
