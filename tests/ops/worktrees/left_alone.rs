//! What others have put into a worktree, or mounted there, is never deleted; nor is what only a submodule has.

use std::{fs, process::Output};

use rstest::rstest;

use super::{adds::write_hook, by_git, json_of, removal_races::wait_until_halted, said};
use crate::support::World;

/// The worktree stays, with what others have written, and a command that is named removes it, from where it can be restored.
fn stays(world: &World, output: &Output) {
    let path = world.root().join("repo-wt-side");
    assert_eq!(fs::read(path.join("theirs")).unwrap_or_default(), b"work\n", "{}", said(output));
    let command = format!("git checkpoint worktree remove {}", path.display());
    assert!(said(output).contains(&format!("'{command}' removes it")), "{}", said(output));
    world.settle();
    world.sh(&command.replace(" remove ", " remove --force "));
    world.sh("git checkpoint worktree restore side");
    assert_eq!(fs::read(path.join("theirs")).expect("it is back"), b"work\n");
}

/// A signal comes while files are copied to the new worktree, in which somebody works already.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_add_leaves_the_work_of_others() {
    let world = World::with_commit();
    world.sh("echo '*.ign' >.gitignore; echo '*.ign' >.worktreeinclude; echo 1 >1.ign");
    let child = world.start_with(&["worktree", "add", "-c", "side"], "stop@worktree:before-fill");
    wait_until_halted(child.id());
    world.sh(&format!("echo work >../repo-wt-side/theirs; kill -INT {0}; kill -CONT {0}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    stays(&world, &output);
}

/// The session of the new worktree cannot be noted.
#[test]
fn an_add_that_fails_leaves_the_work_of_others() {
    let world = World::with_commit();
    write_hook(&world, "echo work >theirs; mkdir -p $(git rev-parse --git-dir)/checkpoint/owner/x");
    let output = world.checkpoint(&["worktree", "add", "-c", "side", "--session", "s9"]);
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    world.sh("rm -r .git/worktrees/repo-wt-side/checkpoint/owner");
    stays(&world, &output);
}

/// After an add that failed, the worktree is no session's: the session can begin elsewhere.
#[test]
fn a_worktree_that_is_left_is_for_no_session() {
    let world = World::with_commit();
    world.sh("echo 1 >new; git checkpoint save -q; rm new
         id=$(git rev-parse $(git for-each-ref --format='%(objectname)' refs/checkpoints/shadow):new)
         rm -f .git/objects/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-)");
    let output = world.checkpoint(&["worktree", "add", "-c", "side", "--base", "@", "--session", "s1"]);
    assert!(!output.status.success(), "{}", said(&output));
    assert!(!world.repo().join(".git/worktrees/repo-wt-side/checkpoint/owner").exists());
    assert!(world.checkpoint(&["session", "prompt", "s1", "--agent", "ag"]).status.success());
}

/// What a hook writes into the new worktree is in neither the checkpoint nor its commit: it stays.
#[rstest]
#[case::from_here(&["--from-here"])]
#[case::base(&["--base", "@"])]
fn files_of_a_hook_stay_beside_those_of_a_checkpoint(#[case] arguments: &[&str]) {
    let world = World::with_commit();
    world.sh("echo gone >gone; echo 1 >changed; git add .; git commit -qm 1; rm gone; echo 2 >changed; echo new >new
         git checkpoint save -q");
    write_hook(&world, "mkdir -p d; echo generated >d/generated; echo other >changed");
    let output = world.checkpoint(&[&["worktree", "add", "-c", "side"], arguments].concat());
    assert!(output.status.success(), "{}", said(&output));
    let there = world.sh("cd ../repo-wt-side; cat d/generated changed new; ls");
    assert_eq!(there, "generated\n2\nnew\nchanged\nd\nf\nnew\n");
}

/// Git still has a worktree on another branch at the place that the new one would have.
#[rstest]
#[case::gone("rm -rf ../repo-wt-topic")]
#[case::locked_and_moved("git worktree lock ../repo-wt-topic; mv ../repo-wt-topic ../away")]
fn a_worktree_whose_directory_is_gone_keeps_its_place(#[case] script: &str) {
    let world = World::with_commit();
    world.sh("git worktree add -q -b topic ../repo-wt-topic; git -C ../repo-wt-topic switch -qc other");
    world.sh(script);
    let known = || world.sh("ls -A .git/worktrees/repo-wt-topic; git -C .git/worktrees/repo-wt-topic reflog HEAD 2>&1");
    let before = known();
    let added = json_of(&world, &["worktree", "add", "topic", "--json"]);
    let path = added["path"].as_str().unwrap_or_else(|| panic!("{added}"));
    assert!(path.contains("/repo-wt-topic-"), "{path}");
    assert_eq!((known(), by_git(&world).len()), (before, 3));
    // Where that is taken as well, nothing is made.
    world.sh(&format!("git -C '{path}' switch -qc more; rm -rf '{path}'"));
    let output = world.checkpoint(&["worktree", "add", "topic"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("git checkpoint worktree prune"), "{}", said(&output));
    assert_eq!(by_git(&world).len(), 3);
}

/// A refusal takes no checkpoint.
#[rstest]
#[case::branch_exists("git branch side", "the branch 'side' exists already")]
#[case::too_many("git worktree add -q ../w -b w; git config checkpoint.worktree.max 1", "'worktree.max' allows 1")]
#[case::no_commit("git checkout -q --orphan empty; git rm -q --cached f", "'HEAD' is no commit")]
fn a_refused_add_from_here_saves_nothing(#[case] script: &str, #[case] words: &str) {
    let world = World::with_commit();
    world.sh(script);
    world.sh("echo new >new");
    let output = world.checkpoint(&["worktree", "add", "-c", "side", "--from-here"]);
    assert!(!output.status.success() && said(&output).contains(words), "{}", said(&output));
    assert_eq!(world.git(&["for-each-ref", "refs/checkpoints/shadow"]), "");
}
