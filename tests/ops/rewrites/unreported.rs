//! The same records whether git runs our hooks or not.

use rstest::rstest;

use super::*;

/// Returns the session of each line of `path` at HEAD; `-` for the user's own lines.
pub(super) fn sessions_of_lines(world: &World, path: &str) -> Vec<String> {
    sessions_of_lines_at(world, "HEAD", path)
}

fn sessions_of_lines_at(world: &World, revision: &str, path: &str) -> Vec<String> {
    let json = world.done(&["blame", "--json", "--rev", revision, path]);
    let blame: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let mut sessions = Vec::new();
    for span in blame["lines"].as_array().expect("lines") {
        let count = span["end"].as_u64().expect("a number") + 1 - span["start"].as_u64().expect("a number");
        let session = span["session"].as_str().unwrap_or("-").to_owned();
        sessions.extend((0..count).map(|_| session.clone()));
    }
    sessions
}

/// Two agents make `a` and `b`, each in a commit, and a person commits `h` in between.
static SEEN: Template = Template::new(|world| {
    let world = world.commit_old();
    world.agent_commit("one", "a");
    world.human_commit("h");
    world.agent_commit("two", "b");
});

/// The same where git runs no hook.
static UNSEEN: Template = Template::new(|world| {
    let world = world.commit_old();
    world.git(&["config", "core.hooksPath", "/dev/null"]);
    world.agent_commit("one", "a");
    world.human_commit("h");
    world.agent_commit("two", "b");
});

const REBASE: &str =
    "git switch -qc base HEAD~3; echo x >x; git add x; git commit -qm x; git switch -q main; git rebase -q base";
const FIXUP: &str = "GIT_SEQUENCE_EDITOR='sed -i 2,3s/^pick/fixup/' git rebase -qi HEAD~3";
const EDIT_STOP: &str = "GIT_SEQUENCE_EDITOR='sed -i 1s/^pick/edit/' git rebase -qi HEAD~3
    git reset -q HEAD^; git add -A; git commit -qm again; git rebase --continue";
const SQUASH: &str = "git switch -qc other HEAD~3; git merge -q --squash main >/dev/null; git commit -qm all";
const MERGE: &str = "git switch -qc other HEAD~3; echo x >x; git add x; git commit -qm x; git merge -q -m both main";

/// After these commits, `script` runs without any hook. `model::reconcile` has the plan of these moves known at once, and known
/// one by one, as where hooks run; that of a rebase only at once, because a hook reports all of its moves together.
#[rstest]
#[case::nothing("true")]
#[case::reword_by_plumbing("git update-ref HEAD $(git commit-tree HEAD^{tree} -p HEAD^ -m other)")]
#[case::filter_branch("git filter-branch -f --msg-filter 'sed 1q' HEAD~3..HEAD")]
#[case::new_root("git filter-branch -f --msg-filter 'sed 1q' HEAD")]
#[case::amend("echo more >>h; git commit -qa --amend -m reworded")]
#[case::rebase(REBASE)]
#[case::pull_rebase(
    "git init -q --bare ../up; git push -q ../up HEAD~3:refs/heads/main; git clone -q -b main ../up ../other
    (cd ../other && echo x >x && git add x && git commit -qm x && git push -q)
    git pull -q --rebase ../up main"
)]
#[case::fixup(FIXUP)]
#[case::reorder("GIT_SEQUENCE_EDITOR='sed -i \"1{h;d};3G\"' git rebase -qi HEAD~3")]
#[case::edit_stop(EDIT_STOP)]
#[case::pick("git switch -qc other HEAD~3; git cherry-pick main~2 main")]
#[case::pick_of_the_last("git switch -qc other HEAD~3; git cherry-pick main~2; git cherry-pick main")]
#[case::squash(SQUASH)]
#[case::merge(MERGE)]
#[case::reset_and_commit_again("git reset -q HEAD~3; git add a; git commit -qm a; git add -A; git commit -qm rest")]
#[case::soft_reset("git reset -q --soft HEAD~3; git commit -qm all")]
#[case::reverted_twice("git revert --no-edit HEAD >/dev/null; git revert --no-edit HEAD >/dev/null")]
#[case::made_and_left("git commit -q --allow-empty -m x; git reset -q --hard HEAD~2; git reset -q --hard HEAD@{1}")]
#[case::moved_without_a_reflog(
    "git branch other HEAD~1; git symbolic-ref HEAD refs/heads/other; git reset -q --hard main"
)]
fn lines_keep_their_sessions(#[case] script: &str) {
    lines_of_two_agents_stay_theirs(&UNSEEN, script);
}

/// The same where git runs our hooks: one of each kind of move.
#[rstest]
#[case::reword_by_plumbing("git update-ref HEAD $(git commit-tree HEAD^{tree} -p HEAD^ -m other)")]
#[case::rebase(REBASE)]
#[case::fixup(FIXUP)]
#[case::edit_stop(EDIT_STOP)]
#[case::pick("git switch -qc other HEAD~3; git cherry-pick main~2 main")]
#[case::squash(SQUASH)]
#[case::merge(MERGE)]
#[case::reset_and_commit_again("git reset -q HEAD~3; git add a; git commit -qm a; git add -A; git commit -qm rest")]
fn lines_keep_their_sessions_with_hooks(#[case] script: &str) {
    lines_of_two_agents_stay_theirs(&SEEN, script);
}

fn lines_of_two_agents_stay_theirs(template: &Template, script: &str) {
    let world = World::copied(template);
    world.sh(script);
    world.done(&["save", "-q"]);
    assert_eq!(sessions_of_lines(&world, "a"), ["one"; 6]);
    assert_eq!(sessions_of_lines(&world, "b"), ["two"; 6]);
    assert_eq!(sessions_of_lines(&world, "f"), ["-"; 9]);
    world.is_whole();
}

/// Work that a person takes along to another branch and commits there.
#[rstest]
#[case::switch(true, "git switch -qc other HEAD~1")]
#[case::reset_without_hooks(false, "git reset -q HEAD~1")]
#[case::stash(true, "git stash -qu; git switch -qc other HEAD~1; git stash pop -q")]
#[case::stash_without_hooks(false, "git stash -qu; git switch -qc other HEAD~1; git stash pop -q")]
fn work_is_committed_on_another_branch(#[case] has_hooks: bool, #[case] moves: &str) {
    let world = World::with_old_commit();
    world.human_commit("h");
    if !has_hooks {
        world.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    world.agent("one", "a", &lines("a", 6));
    let script = format!("{moves}; git add -A; git commit -qm 'the work'; git switch -q main; git switch -q -");
    world.sh(&script);
    world.done(&["save", "-q"]);
    assert_eq!(world.sessions("HEAD"), ["one"]);
    assert_eq!(sessions_of_lines(&world, "a"), ["one"; 6]);
    world.is_whole();
}

/// Git keeps no reflog of HEAD.
#[rstest]
#[case::commits(true, "true")]
#[case::commits_without_hooks(false, "true")]
#[case::amend(true, "git commit -q --amend -m reworded")]
#[case::rebase_without_hooks(false, REBASE)]
fn without_a_reflog(#[case] has_hooks: bool, #[case] script: &str) {
    let world = World::with_old_commit();
    world.git(&["config", "core.logAllRefUpdates", "false"]);
    std::fs::remove_file(world.repo().join(".git/logs/HEAD")).expect("git has kept one");
    if !has_hooks {
        world.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    world.agent_commit("one", "a");
    world.human_commit("h");
    world.agent_commit("two", "b");
    world.done(&["save", "-q"]);
    world.sh(script);
    world.done(&["save", "-q"]);
    assert_eq!(sessions_of_lines(&world, "a"), ["one"; 6]);
    assert_eq!(sessions_of_lines(&world, "b"), ["two"; 6]);
    world.is_whole();
}

/// Another program has rewritten a branch that was never checked out since.
#[rstest]
#[case::reworded(
    "git branch side; export GIT_COMMITTER_DATE=\"@$(($(date +%s) + 1)) +0000\"
    git update-ref refs/heads/side $(git commit-tree side^{tree} -p side^ -m other)"
)]
#[case::restacked(
    "git switch -qc base HEAD~3; echo x >x; git add x; git commit -qm x; git switch -q main
    export GIT_COMMITTER_DATE=\"@$(($(date +%s) + 1)) +0000\"
    for commit in main~2 main~1 main; do
        tree=$(git merge-tree --write-tree --merge-base=$commit^ base $commit)
        git update-ref refs/heads/base $(git commit-tree $tree -p base -m other)
    done
    git branch -m base side"
)]
#[case::joined_with_a_new_root("git branch side; git filter-branch -f --msg-filter 'sed 1q' side")]
fn a_branch_that_is_not_checked_out_is_rewritten(#[case] script: &str) {
    let world = World::with_old_commit();
    world.git(&["config", "checkpoint.link", "none"]);
    world.agent_commit("one", "a");
    world.human_commit("h");
    world.agent_commit("two", "b");
    world.sh(script);
    assert_eq!(world.named("side"), [""; 0]);
    assert_eq!(sessions_of_lines_at(&world, "side", "a"), ["one"; 6]);
    assert_eq!(sessions_of_lines_at(&world, "side", "b"), ["two"; 6]);
    assert_eq!(sessions_of_lines_at(&world, "side", "f"), ["-"; 9]);
    let explained: serde_json::Value = serde_json::from_str(&world.done(&["explain", "--json", "side"])).expect("JSON");
    assert_eq!(explained["records"][0]["sessions"][0]["id"], "two");
    world.is_whole();
}

/// A program with words of its own in the reflog makes the commit of an agent's work, or amends with it.
#[rstest]
#[case::commit(true, "GIT_REFLOG_ACTION=mytool git commit -qm w")]
#[case::commit_without_hooks(false, "GIT_REFLOG_ACTION=mytool git commit -qm w")]
#[case::amend(true, "GIT_REFLOG_ACTION=mytool git commit -q --amend -m w")]
#[case::amend_without_hooks(false, "GIT_REFLOG_ACTION=mytool git commit -q --amend -m w")]
// Plumbing runs no hook of ours.
#[case::plumbing(false, "git update-ref -m 'refresh: w' HEAD $(git commit-tree $(git write-tree) -p HEAD -m w)")]
#[case::plumbing_that_amends(true, "git update-ref HEAD $(git commit-tree $(git write-tree) -p HEAD^ -m w)")]
fn other_words_in_the_reflog(#[case] has_hooks: bool, #[case] script: &str) {
    let world = World::with_old_commit();
    world.human_commit("h");
    if !has_hooks {
        world.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    world.agent("one", "a", &lines("a", 6));
    world.git(&["add", "-A"]);
    world.sh(script);
    world.done(&["save", "-q"]);
    assert_eq!(world.sessions("HEAD"), ["one"]);
    assert_eq!(sessions_of_lines(&world, "a"), ["one"; 6]);
    assert_eq!(sessions_of_lines(&world, "h"), ["-"; 4]);
    world.is_whole();
}

/// A person upstream has a line in common with an agent.
#[rstest]
#[case::rebase("git rebase -q up || { git checkout -q --theirs f; git add f; git rebase --continue; }")]
#[case::reset("git reset -q --hard up")]
fn commits_of_others_stay_theirs(#[values(true, false)] has_hooks: bool, #[case] script: &str) {
    let world = World::with_old_commit();
    let common = "import some_long_common_module_name\n";
    world.git(&["checkout", "-q", "-b", "up"]);
    world.write("f", &(common.to_owned() + &lines("base", 9)));
    world.git(&["commit", "-qam", "a person's"]);
    world.git(&["checkout", "-q", "main"]);
    if !has_hooks {
        world.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    world.agent("one", "f", &(common.to_owned() + &lines("agent", 3) + &lines("base", 9)));
    world.git(&["commit", "-qam", "an agent's"]);
    world.done(&["save", "-q"]);
    world.sh(script);
    world.done(&["save", "-q"]);
    assert_eq!(world.sessions("up"), [""; 0]);
    assert_eq!(sessions_of_lines_at(&world, "up", "f"), ["-"; 10]);
    world.is_whole();
}

/// The oldest commit of a shallow clone has a parent that is not here.
#[test]
fn a_reset_in_a_shallow_clone_stops_no_record() {
    let world = World::with_old_commit();
    world.human_commit("h");
    let script = "git clone -q --depth 1 \"file://$PWD\" ../clone; cd ../clone; git checkpoint enable -q
        echo x >>f; git checkpoint save -q --session s 2>/dev/null || :; git checkpoint session prompt s -m x >/dev/null
        echo agent >>f; git checkpoint session stop s >/dev/null; git commit -qam w; cd - >/dev/null
        echo 1 >>h; git commit -qam up; echo 2 >>h; git commit -qam up; cd ../clone; git fetch -q --depth 1 origin main
        git reset -q --hard origin/main; git checkpoint session prompt s -m x >/dev/null; echo more >>f
        git checkpoint session stop s >/dev/null; git commit -qam w2; git checkpoint save -q
        git checkpoint explain --json HEAD; grep '\"error\"' .git/checkpoint/events.jsonl || :";
    let text = world.sh(script);
    assert!(text.contains("\"id\":\"s\"") && !text.contains("\"error\""), "{text}");
}

/// A squash that was given up says nothing of a patch that is applied instead.
#[test]
fn a_commit_that_was_given_up_says_nothing_of_the_next() {
    let world = World::with_old_commit();
    world.human_commit("h");
    world.git(&["format-patch", "-q", "-1", "-o", ".."]);
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    world.git(&["checkout", "-q", "-b", "side"]);
    world.agent_commit("one", "a");
    world.git(&["checkout", "-q", "main"]);
    world.git(&["merge", "-q", "--squash", "side"]);
    let given_up = world.git_edited("false", "true", &["commit"]);
    assert!(!given_up.status.success());
    world.git(&["reset", "-q", "--hard"]);
    world.sh("git am -q ../0001-*.patch");
    world.done(&["save", "-q"]);
    assert_eq!(world.ids("HEAD"), []);
    world.is_whole();
}

/// A person's change that an agent makes again later stays the person's.
#[test]
fn the_same_change_by_a_person_before() {
    let world = World::with_old_commit();
    world.write("a", lines("a", 4));
    world.git(&["add", "a"]);
    // The record is of a later second than the person's commit.
    world.sh("now=$(date +%s); export GIT_COMMITTER_DATE=\"@$((now - 10)) +0000\"; git commit -qm 'by hand'");
    let person = world.commit_id("HEAD");
    world.git(&["revert", "--no-edit", "HEAD"]);
    world.agent("one", "a", &lines("a", 4));
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "again"]);
    assert_eq!(sessions_of_lines(&world, "a"), ["one"; 4]);
    assert_eq!(sessions_of_lines_at(&world, &person.to_string(), "a"), ["-"; 4]);
}

/// Lets git run no hook.
const QUIET: &str = "-c core.hooksPath=/dev/null";

/// A person commits in another worktree, and `seconds` later, an agent commits the same change here. Then the person runs `script`.
#[rstest]
#[case::in_the_same_second("", 0, "true", "unknown")]
#[case::later("", 1, "true", "human")]
#[case::amend("", 1, "git commit -q --amend -m x", "human")]
#[case::amend_without_hooks(QUIET, 1, "git commit -q --amend -m x", "human")]
#[case::soft_reset("", 1, "git reset -q --soft HEAD~; git commit -qm x", "human")]
#[case::soft_reset_and_amend_without_hooks(
    QUIET,
    1,
    "git reset -q --soft HEAD~; git commit -qm x; git commit -q --amend -m y --reset-author",
    "human"
)]
#[case::reset_without_hooks(QUIET, 1, "git reset -q HEAD~; git commit -qam x", "human")]
#[case::squash("", 1, "echo x >>g; git commit -qam g; git reset -q --soft HEAD~2; git commit -qm x", "human")]
#[case::squash_without_hooks(
    QUIET,
    1,
    "echo x >>g; git commit -qam g; git reset -q --soft HEAD~2; git commit -qm x",
    "human"
)]
#[case::stash(
    "",
    1,
    "git reset -q --soft HEAD~; git stash -q; git stash pop -q; git commit -qam x; echo x >>g; git commit -qam g",
    "human"
)]
fn the_same_change_by_a_person_elsewhere(
    #[case] how: &str,
    #[case] seconds: i64,
    #[case] script: &str,
    #[case] owner: &str,
) {
    let world = World::with_old_commit();
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let now = world.sh("date +%s").trim().parse::<i64>().expect("a number");
    let hers = now - seconds;
    let commit = |at: i64, command: &str| {
        world.sh(&format!("export GIT_AUTHOR_DATE='@{at} +0000' GIT_COMMITTER_DATE='@{at} +0000'; {command}"));
    };
    let added = lines("added", 4);
    world.sh(&format!("printf '{added}' >>../side/f"));
    commit(hers, "cd ../side; git commit -qam hers");
    world.agent("one", "f", &(lines("base", 9) + &added));
    commit(now, "git commit -qam his");
    let script = script.replace("git commit", &format!("git {how} commit"));
    world.next_second();
    world.sh(&format!("cd ../side; {script}; git checkpoint save -q --allow-empty"));
    let owners = |revision: &str| {
        let blame = world.done(&["blame", "--json", "--rev", revision, "-L", "10,13", "f"]);
        let blame: serde_json::Value = serde_json::from_str(&blame).expect("JSON");
        let spans = blame["lines"].as_array().expect("lines").iter();
        spans.map(|span| span["owner"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((owners("side"), owners("main")), (vec![owner.to_owned()], vec!["agent".to_owned()]));
    assert_eq!(world.named("side"), [""; 0]);
    world.is_whole();
}

/// Git writes the reflog before it moves HEAD.
#[test]
fn a_move_that_is_not_over_does_not_count() {
    let world = World::with_old_commit();
    world.agent("one", "a", &lines("a", 6));
    world.git(&["add", "-A"]);
    let script = "id=$(git commit-tree $(git write-tree) -p HEAD -m w)
        printf '%s %s A <a@example.com> 1700000000 +0000\tcommit: w\n' $(git rev-parse HEAD) $id >>.git/logs/HEAD";
    world.sh(script);
    world.done(&["save", "-q"]);
    assert_eq!(world.all(), []);
}

/// The branch that is checked out next has no commit.
#[test]
fn a_commit_before_an_orphan_branch_has_its_record() {
    let world = World::with_old_commit();
    world.agent("one", "a", &lines("a", 6));
    world.git(&["add", "-A"]);
    world.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qm", "w"]);
    world.git(&["checkout", "-q", "--orphan", "x"]);
    world.done(&["save", "-q"]);
    assert_eq!(world.sessions("main"), ["one"]);
}

/// A record that another commit names has the id that this commit would give its own.
#[test]
fn an_id_that_is_taken_is_not_used_again() {
    let world = World::with_old_commit();
    world.git(&["config", "core.hooksPath", "/dev/null"]);
    world.agent("two", "b", &lines("b", 6));
    let script = "git add b; GIT_AUTHOR_DATE='@1800000000 +0000' GIT_COMMITTER_DATE='@1800000000 +0000' \
        git commit-tree -p HEAD -m two $(git write-tree)";
    let two = world.sh(script);
    let id = &two.trim()[two.trim().len() - 16..];
    world.git(&["stash", "-q"]);
    world.agent("one", "a", &lines("a", 6));
    world.git(&["add", "a"]);
    world.git(&["commit", "-q", "-m", "one", "-m", &format!("Checkpoint: {id}")]);
    world.done(&["save", "-q"]);
    assert_eq!(world.ids("HEAD").iter().map(ToString::to_string).collect::<Vec<_>>(), [id]);
    world.git(&["checkpoint", "save", "-q"]);
    world.git(&["checkout", "-q", "-b", "other", "HEAD~1"]);
    world.git(&["stash", "pop", "-q"]);
    world.git(&["update-ref", "HEAD", two.trim()]);
    world.done(&["save", "-q"]);
    assert_eq!(world.sessions("HEAD"), ["two"]);
    assert_eq!(world.sessions("main"), ["one"]);
    world.is_whole();
}
