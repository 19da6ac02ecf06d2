//! `worktree merge` where clocks differ, where several merges meet, and where a merge is given up.

use rstest::rstest;
use serde_json::{Value, json};

use super::{add, json_of, said};
#[cfg(target_os = "linux")]
use super::{removal_races::wait_until_halted, run_in};
use crate::support::{World, program};

const SIDE: &str = "../repo-wt-side";

/// A repository whose branches `main` and `side` have a commit each; `side` has a worktree.
fn world() -> World {
    let world = World::with_hooks();
    world.git(&["branch", "-M", "main"]);
    world.sh("echo '*.ign' >.gitignore; seq 9 >both; git add -A; git commit -qm rule");
    let path = add(&world, "side");
    world.sh(&format!("cd '{}'; echo side >side; git add -A; git commit -qm side", path.display()));
    world.sh("echo here >here; git add -A; git commit -qm here");
    world
}

/// Commits the file `name` in `directory` at the time `date`.
fn commit_at(world: &World, directory: &str, name: &str, date: &str) {
    world.sh(&format!(
        "cd {directory}; echo {name} >{name}; git add -A; GIT_COMMITTER_DATE={date} git commit -qm {name}"
    ));
}

/// A descendant may be older than its ancestor.
#[rstest]
#[case::merge(&[], "merged")]
#[case::squash(&["--squash"], "staged")]
#[case::rebase(&["--rebase"], "fast-forward")]
fn dates_say_nothing_of_what_is_merged(#[case] options: &[&str], #[case] result: &str) {
    let world = world();
    commit_at(&world, SIDE, "future", "@2100000000");
    let merged = json_of(&world, &[&["worktree", "merge", "side", "--json"], options].concat());
    assert_eq!((&merged["result"], &merged["commits"]), (&json!(result), &json!(2)), "{merged}");
    if result == "staged" {
        return;
    }
    assert_eq!(json_of(&world, &["worktree", "merge", "side", "--json"])["result"], json!("nothing"));
    // All of the branch is in a commit that is older than it.
    commit_at(&world, ".", "past", "@1000000000");
    assert_eq!(json_of(&world, &["worktree", "merge", "side", "--json"])["result"], json!("nothing"));
}

#[rstest]
#[case::ff_only("--ff-only")]
#[case::rebase("--rebase")]
fn dates_refuse_no_fast_forward(#[case] option: &str) {
    let world = world();
    commit_at(&world, ".", "future", "@2100000000");
    world.sh(&format!("cd {SIDE}; git merge -q --ff-only main 2>&1 || git reset -q --hard main"));
    commit_at(&world, SIDE, "past", "@1000000000");
    let tip = world.git(&["rev-parse", "side"]);
    let merged = json_of(&world, &["worktree", "merge", "side", option, "--json"]);
    assert_eq!((&merged["result"], &merged["rebased"]), (&json!("fast-forward"), &Value::Null), "{merged}");
    assert_eq!((merged["after"].as_str(), world.git(&["rev-parse", "side"])), (Some(tip.trim()), tip.clone()));
}

/// While a merge is under way, its two worktrees are left alone: a rebase there is the other process's.
#[cfg(target_os = "linux")]
#[rstest]
#[case::from_a_third("../repo-wt-third", &["worktree", "merge", "side", "--rebase"])]
#[case::into_the_source(SIDE, &["worktree", "merge", "main", "--rebase"])]
#[case::dry_run("../repo-wt-third", &["worktree", "merge", "side", "--rebase", "-n"])]
#[case::removal("../repo-wt-third", &["worktree", "remove", "side"])]
fn the_source_of_a_merge_is_left_alone(
    #[case] directory: &str,
    #[case] arguments: &[&str],
    #[values("worktree:before-merge", "worktree:after-rebase")] step: &str,
) {
    let world = world();
    let third = add(&world, "third");
    world.sh(&format!("cd '{}'; echo third >third; git add -A; git commit -qm third", third.display()));
    world.git(&["config", "checkpoint.lock-timeout", "100ms"]);
    let child = world.start_with(&["worktree", "merge", "side", "--rebase"], &format!("stop@{step}"));
    wait_until_halted(child.id());
    let output = run_in(&world, &world.repo().join(directory), arguments);
    world.sh(&format!("kill -CONT {}", child.id()));
    let first = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    assert!(said(&output).contains("another process merges"), "{}", said(&output));
    assert!(first.status.success(), "{}", said(&first));
    assert_eq!(world.git(&["rev-parse", "main"]), world.git(&["rev-parse", "side"]));
    if arguments.contains(&"-n") || arguments.contains(&"remove") {
        return;
    }
    // By then, it is as after any other merge.
    let output = run_in(&world, &world.repo().join(directory), arguments);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(world.git(&["rev-list", "--count", "--merges", "--all"]).trim(), "0");
}

/// The other process's rebase is not named as one to give up, also while git runs it.
#[cfg(target_os = "linux")]
#[test]
fn a_rebase_of_another_merge_is_waited_for() {
    let world = world();
    let third = add(&world, "third");
    world.sh(&format!("cd '{}'; echo third >third; git add -A; git commit -qm third", third.display()));
    world.script(
        ".git/hooks/post-rewrite",
        "#!/bin/sh\n[ -e ../once ] && exit; touch ../once; for i in $(seq 600); do [ -e ../go ] && exit; sleep .1; done\n",
    );
    let first = world.start(&["worktree", "merge", "side", "--rebase"]);
    world.sh("for i in $(seq 600); do [ -e ../once ] && break; sleep .1; done");
    world.git(&["config", "checkpoint.lock-timeout", "100ms"]);
    let output = run_in(&world, &third, &["worktree", "merge", "side", "--rebase"]);
    world.sh("touch ../go");
    let first = first.wait_with_output().expect("it ends");
    assert!(said(&output).contains("another process merges"), "{}", said(&output));
    assert!(!said(&output).contains("abort"), "{}", said(&output));
    assert!(first.status.success(), "{}", said(&first));
}

/// What was done since the merge has stopped is in no checkpoint yet, and git's way to give it up takes it back, too.
#[rstest]
#[case::merge(&[], ".", "git merge --abort")]
#[case::squash(&["--squash"], ".", "git reset --merge")]
#[case::rebase(&["--rebase"], SIDE, "rebase --abort")]
fn work_since_a_conflict_is_saved_before_it_is_given_up(
    #[case] options: &[&str],
    #[case] at: &str,
    #[case] give_up: &str,
) {
    let world = world();
    world.sh(&format!(
        "sed -i 1s/.*/main/ both; git commit -qam m; cd {SIDE}; sed -i 1s/.*/side/ both; git commit -qam s"
    ));
    let output = world.checkpoint(&[&["worktree", "merge", "side"], options].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    world.sh(&format!("cd {at}; echo LATER >>both; echo LATER >new; git add -A"));
    if options != ["--squash"] {
        let again = said(&world.checkpoint(&["worktree", "merge", "side"]));
        let save = if options == ["--rebase"] { "save --allow-empty" } else { "save" };
        assert!(again.contains(&format!("checkpoint {save}', then 'git -C")), "{again}");
    }
    let said = said(&output);
    let hint = said.lines().find_map(|line| line.strip_prefix("hint: to give it up, save what is there first: '"));
    let (save, end) = hint.and_then(|hint| hint.strip_suffix('\'')?.split_once("', then '")).expect(&said);
    assert!(save.trim_end_matches(" --allow-empty").ends_with("checkpoint save") && end.ends_with(give_up), "{said}");
    let saved = world.sh(&format!("{save} 2>&1"));
    let id = saved.split_whitespace().nth(1).expect(&saved);
    world.sh(end);
    assert!(!world.repo().join(at).join("new").exists());
    world.sh(&format!("cd {at}; git checkpoint restore --all {id}"));
    assert_eq!(world.sh(&format!("cd {at}; tail -n1 both new -q")), "LATER\nLATER\n");
}

/// The agent has committed its resolution: git's way to give the rebase up drops that commit, and a checkpoint keeps it.
#[test]
fn a_commit_since_a_conflict_of_a_rebase_is_kept_when_that_is_given_up() {
    let world = world();
    world.sh(&format!(
        "sed -i 1s/.*/main/ both; git commit -qam m; cd {SIDE}; sed -i 1s/.*/side/ both; git commit -qam s"
    ));
    let output = world.checkpoint(&["worktree", "merge", "side", "--rebase"]);
    world.sh(&format!("cd {SIDE}; echo resolved >both; git add both; git commit -qm resolved"));
    let commit = world.git(&["-C", SIDE, "rev-parse", "HEAD"]);
    let again = said(&world.checkpoint(&["worktree", "merge", "side"]));
    for said in [said(&output), again] {
        let hint = said.split_once("to give it up, save what is there first: '").expect(&said).1;
        let (save, end) = hint.split_once("', then '").expect(&said);
        world.sh(&format!("{save} 2>&1"));
        assert!(end.contains("rebase --abort'"), "{said}");
    }
    world.git(&["-C", SIDE, "rebase", "--abort"]);
    world.sh("git reflog expire --expire=now --all; git worktree list | while read path rest; do git -C $path reflog expire --expire=now --all; done
              git gc -q --prune=now");
    assert_eq!(world.git(&["show", &format!("{}:both", commit.trim())]), "resolved\n");
}

/// Git takes such a file for unchanged, until it refuses to write over it; then it resets it.
#[rstest]
#[case::changed_there_too("echo theirs >both; git commit -qam b", "true", "'both' is changed in '")]
#[case::in_the_way("echo theirs >new; git add new; git commit -qm n", "echo mine >new", "git has begun the merge here")]
fn a_change_that_git_does_not_look_at_is_not_lost(#[case] theirs: &str, #[case] mine: &str, #[case] words: &str) {
    let world = world();
    world.sh(&format!("echo 1 >here; git add here; git commit -qm here; (cd {SIDE}; {theirs})"));
    world.sh(&format!("echo MINE >both; git update-index --assume-unchanged both; {mine}"));
    let output = world.checkpoint(&["worktree", "merge", "side"]);
    let said = said(&output);
    assert!(!output.status.success() && said.contains(words), "{said}");
    if let Some((_, hint)) = said.split_once("'git checkpoint restore --staged ") {
        let id = hint.split_once('\'').expect(&said).0;
        world.sh(&format!("git checkpoint restore --staged {id}"));
    }
    assert_eq!(world.sh("cat both"), "MINE\n", "{said}");
}

/// A signal ends git at a hook: the merge is half done, and git does not say so.
#[cfg(target_os = "linux")]
#[test]
fn a_merge_that_a_signal_ends_is_in_the_log() {
    let world = world();
    world.sh("echo mine >>here");
    let before = world.sh("git status --porcelain; git ls-files -s; cat here");
    world.script(".git/hooks/pre-merge-commit", "#!/bin/sh\nkill -INT 0; sleep 1\n");
    let output = world.command("setsid").arg("-w").arg(program()).args(["worktree", "merge", "side"]).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    assert!(world.git(&["status", "--porcelain"]).contains("A  side"));
    let words = said(&output);
    let command =
        words.split_once("'git checkpoint restore ").and_then(|(_, rest)| rest.split_once('\'')).expect(&words).0;
    assert!(said(&world.checkpoint(&["undo"])).contains(&format!("restore {command}")), "{words}");
    world.sh(&format!("git checkpoint restore {command}"));
    assert_eq!(world.sh("git status --porcelain; git ls-files -s; cat here"), before);
}

/// What git refuses before it begins is no operation.
#[test]
fn a_merge_that_git_refuses_is_not_in_the_log() {
    let world = world();
    world.sh("echo mine >side");
    let output = world.checkpoint(&["worktree", "merge", "side"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(!said(&output).contains("restore") && !said(&output).contains("\\t"), "{}", said(&output));
    assert!(!said(&world.checkpoint(&["undo"])).contains("--staged"));
}

/// The checkpoint may take long: a file that is ignored can come meanwhile.
#[cfg(target_os = "linux")]
#[rstest]
#[case::here(&[], ".")]
#[case::there(&["--rebase"], SIDE)]
fn ignored_files_that_come_meanwhile_stay(#[case] options: &[&str], #[case] at: &str) {
    let world = world();
    let from = if at == "." { SIDE } else { "." };
    world.sh(&format!("cd {from}; echo theirs >s.ign; git add -f s.ign; git commit -qm s"));
    let child = world.start_with(&[&["worktree", "merge", "side"], options].concat(), "stop@worktree:before-merge");
    wait_until_halted(child.id());
    world.sh(&format!("echo mine >{at}/s.ign; kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("'s.ign' is ignored in '"), "{}", said(&output));
    assert_eq!(world.sh(&format!("cat {at}/s.ign")), "mine\n");
}

/// After a rebase, both are said: what is in the way, and that the branch is rebased.
#[cfg(target_os = "linux")]
#[test]
fn ignored_files_that_come_during_a_rebase_stay() {
    let world = world();
    world.sh(&format!("cd {SIDE}; echo theirs >s.ign; git add -f s.ign; git commit -qm s"));
    let child = world.start_with(&["worktree", "merge", "side", "--rebase"], "stop@worktree:after-rebase");
    wait_until_halted(child.id());
    world.sh(&format!("echo mine >s.ign; kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    for words in ["'s.ign' is ignored in '", "move them away", "is rebased, and stays so"] {
        assert!(said(&output).contains(words), "{}", said(&output));
    }
    assert_eq!(world.sh("cat s.ign"), "mine\n");
}

/// Git could merge them, by an option, and would not ask about ignored files.
#[test]
fn histories_that_have_nothing_in_common_are_refused() {
    let world = world();
    world.sh(&format!("cd {SIDE}; git switch -q --orphan other; git commit -q --allow-empty -m other"));
    for more in [&["-n"][..], &[]] {
        let output = world.checkpoint(&[&["worktree", "merge", "other"], more].concat());
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains("no commit in common") && !said(&output).contains("hint"), "{}", said(&output));
    }
}

/// `main` was amended, and `side` is where it was before: nothing comes of that but a rebase of `side`.
#[test]
fn undo_names_no_reset_of_a_commit_that_is_the_users() {
    let world = world();
    world.sh(&format!("echo typo >typo; git add -A; git commit -qm typo; cd {SIDE}; git reset -q --hard main"));
    world.git(&["commit", "-q", "--amend", "-m", "right words"]);
    world.done(&["worktree", "merge", "side", "--rebase"]);
    for arguments in [&["undo"][..], &["op", "undo", "@{0}"]] {
        let undone = said(&world.checkpoint(arguments));
        assert!(!undone.contains("reset"), "{arguments:?}: {undone}");
    }
    assert_eq!(world.git(&["log", "-1", "--format=%s", "main"]), "right words\n");
}

/// All that it would stage is here in other commits.
#[test]
fn a_squash_of_what_is_here_stages_nothing() {
    let world = world();
    world.sh("git cherry-pick side 2>&1");
    let output = world.checkpoint(&["worktree", "merge", "side", "--squash"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "nothing to merge: main has all changes of side\n");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

/// Without a reflog, it is not known what else has moved the branch.
#[test]
fn a_branch_without_a_reflog_is_not_said_to_have_moved() {
    let world = world();
    world.sh("git config core.logAllRefUpdates false; rm -rf .git/logs .git/worktrees/*/logs");
    let output = world.checkpoint(&["worktree", "merge", "side", "--rebase"]);
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    assert!(said(&output).contains("the branch 'side' has no reflog"), "{}", said(&output));
    world.done(&["worktree", "merge", "side", "--rebase"]);
}

/// A conflict that was resolved is a commit by then.
#[test]
fn undo_of_a_resolved_merge_says_where_the_branch_was() {
    let world = world();
    world.sh(&format!(
        "sed -i 1s/.*/main/ both; git commit -qam m; cd {SIDE}; sed -i 1s/.*/side/ both; git commit -qam s"
    ));
    let before = world.git(&["rev-parse", "main"]);
    assert_eq!(world.checkpoint(&["worktree", "merge", "side"]).status.code(), Some(1));
    world.sh("seq 9 >both; git add both; git commit -qm resolved");
    let undone = said(&world.checkpoint(&["undo"]));
    assert!(undone.contains(&format!("'main' was at {} before", before.trim())), "{undone}");
}
