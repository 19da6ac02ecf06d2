//! The same records whether git runs our hooks or not.

use rstest::rstest;

use super::*;

/// Returns the session of each line of `path` at HEAD; `-` for the user's own lines.
fn sessions_of_lines(bench: &Bench, path: &str) -> Vec<String> {
    sessions_of_lines_at(bench, "HEAD", path)
}

fn sessions_of_lines_at(bench: &Bench, revision: &str, path: &str) -> Vec<String> {
    let json = bench.checkpoint(&["blame", "--json", "--rev", revision, path]);
    let blame: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let mut sessions = Vec::new();
    for span in blame["lines"].as_array().expect("lines") {
        let count = span["end"].as_u64().expect("a number") + 1 - span["start"].as_u64().expect("a number");
        let session = span["session"].as_str().unwrap_or("-").to_owned();
        sessions.extend((0..count).map(|_| session.clone()));
    }
    sessions
}

/// Two agents make `a` and `b`, each in a commit, and a person commits `h` in between; then `script` runs.
#[rstest]
#[case::nothing("true")]
#[case::reword_by_plumbing("git update-ref HEAD $(git commit-tree HEAD^{tree} -p HEAD^ -m other)")]
#[case::filter_branch("git filter-branch -f --msg-filter 'sed 1q' HEAD~3..HEAD")]
#[case::new_root("git filter-branch -f --msg-filter 'sed 1q' HEAD")]
#[case::amend("echo more >>h; git commit -qa --amend -m reworded")]
#[case::rebase(
    "git switch -qc base HEAD~3; echo x >x; git add x; git commit -qm x; git switch -q main; git rebase -q base"
)]
#[case::pull_rebase(
    "git init -q --bare ../up; git push -q ../up HEAD~3:refs/heads/main; git clone -q -b main ../up ../other
    (cd ../other && echo x >x && git add x && git commit -qm x && git push -q)
    git pull -q --rebase ../up main"
)]
#[case::fixup("GIT_SEQUENCE_EDITOR='sed -i 2,3s/^pick/fixup/' git rebase -qi HEAD~3")]
#[case::reorder("GIT_SEQUENCE_EDITOR='sed -i \"1{h;d};3G\"' git rebase -qi HEAD~3")]
#[case::edit_stop(
    "GIT_SEQUENCE_EDITOR='sed -i 1s/^pick/edit/' git rebase -qi HEAD~3
    git reset -q HEAD^; git add -A; git commit -qm again; git rebase --continue"
)]
#[case::pick("git switch -qc other HEAD~3; git cherry-pick main~2 main")]
#[case::pick_of_the_last("git switch -qc other HEAD~3; git cherry-pick main~2; git cherry-pick main")]
#[case::squash("git switch -qc other HEAD~3; git merge -q --squash main >/dev/null; git commit -qm all")]
#[case::merge("git switch -qc other HEAD~3; echo x >x; git add x; git commit -qm x; git merge -q -m both main")]
#[case::reset_and_commit_again("git reset -q HEAD~3; git add a; git commit -qm a; git add -A; git commit -qm rest")]
#[case::soft_reset("git reset -q --soft HEAD~3; git commit -qm all")]
#[case::reverted_twice("git revert --no-edit HEAD >/dev/null; git revert --no-edit HEAD >/dev/null")]
#[case::made_and_left("git commit -q --allow-empty -m x; git reset -q --hard HEAD~2; git reset -q --hard HEAD@{1}")]
#[case::moved_without_a_reflog(
    "git branch other HEAD~1; git symbolic-ref HEAD refs/heads/other; git reset -q --hard main"
)]
fn lines_keep_their_sessions(#[values(true, false)] has_hooks: bool, #[case] script: &str) {
    let bench = Bench::new();
    if !has_hooks {
        bench.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    bench.agent_commit("one", "a");
    bench.human_commit("h");
    bench.agent_commit("two", "b");
    let output = bench.command("sh").args(["-ec", script]).output().expect("sh runs");
    assert!(output.status.success(), "{}", described(&output));
    bench.checkpoint(&["save", "-q"]);
    assert_eq!(sessions_of_lines(&bench, "a"), ["one"; 6]);
    assert_eq!(sessions_of_lines(&bench, "b"), ["two"; 6]);
    assert_eq!(sessions_of_lines(&bench, "f"), ["-"; 9]);
    bench.is_whole();
}

/// Work that a person takes along to another branch and commits there.
#[rstest]
fn work_is_committed_on_another_branch(
    #[values(true, false)] has_hooks: bool,
    #[values(
        "git switch -qc other HEAD~1",
        "git reset -q HEAD~1",
        "git stash -qu; git switch -qc other HEAD~1; git stash pop -q"
    )]
    moves: &str,
) {
    let bench = Bench::new();
    bench.human_commit("h");
    if !has_hooks {
        bench.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    bench.agent("one", "a", &lines("a", 6));
    let script = format!("{moves}; git add -A; git commit -qm 'the work'; git switch -q main; git switch -q -");
    let output = bench.command("sh").args(["-ec", &script]).output().expect("sh runs");
    assert!(output.status.success(), "{}", described(&output));
    bench.checkpoint(&["save", "-q"]);
    assert_eq!(bench.sessions("HEAD"), ["one"]);
    assert_eq!(sessions_of_lines(&bench, "a"), ["one"; 6]);
    bench.is_whole();
}

/// Git keeps no reflog of HEAD.
#[rstest]
#[case::commits("true")]
#[case::amend("git commit -q --amend -m reworded")]
#[case::rebase(
    "git switch -qc base HEAD~3; echo x >x; git add x; git commit -qm x; git switch -q main; git rebase -q base"
)]
fn without_a_reflog(#[values(true, false)] has_hooks: bool, #[case] script: &str) {
    let bench = Bench::new();
    bench.git(&["config", "core.logAllRefUpdates", "false"]);
    std::fs::remove_file(bench.world.repo().join(".git/logs/HEAD")).expect("git has kept one");
    if !has_hooks {
        bench.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    bench.agent_commit("one", "a");
    bench.human_commit("h");
    bench.agent_commit("two", "b");
    bench.checkpoint(&["save", "-q"]);
    let output = bench.command("sh").args(["-ec", script]).output().expect("sh runs");
    assert!(output.status.success(), "{}", described(&output));
    bench.checkpoint(&["save", "-q"]);
    assert_eq!(sessions_of_lines(&bench, "a"), ["one"; 6]);
    assert_eq!(sessions_of_lines(&bench, "b"), ["two"; 6]);
    bench.is_whole();
}

/// Another program has rewritten a branch that was never checked out since.
#[rstest]
#[case::reworded("git branch side; git update-ref refs/heads/side $(git commit-tree side^{tree} -p side^ -m other)")]
#[case::restacked(
    "git switch -qc base HEAD~3; echo x >x; git add x; git commit -qm x; git switch -q main
    for commit in main~2 main~1 main; do
        tree=$(git merge-tree --write-tree --merge-base=$commit^ base $commit)
        git update-ref refs/heads/base $(git commit-tree $tree -p base -m other)
    done
    git branch -m base side"
)]
#[case::joined_with_a_new_root("git branch side; git filter-branch -f --msg-filter 'sed 1q' side")]
fn a_branch_that_is_not_checked_out_is_rewritten(#[case] script: &str) {
    let bench = Bench::new();
    bench.git(&["config", "checkpoint.commit.link", "none"]);
    bench.agent_commit("one", "a");
    bench.human_commit("h");
    bench.agent_commit("two", "b");
    let output = bench.command("sh").args(["-ec", script]).output().expect("sh runs");
    assert!(output.status.success(), "{}", described(&output));
    assert_eq!(bench.named("side"), [""; 0]);
    assert_eq!(sessions_of_lines_at(&bench, "side", "a"), ["one"; 6]);
    assert_eq!(sessions_of_lines_at(&bench, "side", "b"), ["two"; 6]);
    assert_eq!(sessions_of_lines_at(&bench, "side", "f"), ["-"; 9]);
    let explained: serde_json::Value =
        serde_json::from_str(&bench.checkpoint(&["explain", "--json", "side"])).expect("JSON");
    assert_eq!(explained["records"][0]["sessions"][0]["id"], "two");
    bench.is_whole();
}
