//! `worktree merge` while others are at work, when it is killed, and in repositories that are not as usual.

use std::path::Path;

use rstest::rstest;
use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use super::removal_races::wait_until_halted;
use super::{add, json_of, removal_races::dies, run_in, said};
use crate::support::World;

/// A repository with our hooks, whose branch `main` and whose worktrees of `branches` have a commit each.
fn world(branches: &[&str]) -> World {
    let world = World::with_hooks();
    world.git(&["branch", "-M", "main"]);
    for branch in branches {
        let path = add(&world, branch);
        commit(&world, &path, &branch.replace(['/', '\'', '"', '$', ';'], "-"));
    }
    world.sh("echo here >here; git add -A; git commit -qm here");
    world
}

/// Commits the file `name` in the worktree at `path`.
fn commit(world: &World, path: &Path, name: &str) {
    world.sh(&format!("cd '{}'; echo new >'{name}'; git add -A; git commit -qm '{name}'", path.display()));
}

/// What the branch has at the look is merged, and nothing that is committed afterwards.
#[cfg(target_os = "linux")]
#[rstest]
#[case::merge(&[])]
#[case::squash(&["--squash"])]
fn a_branch_that_moves_on_is_merged_as_it_was(#[case] options: &[&str]) {
    let world = world(&["side"]);
    let path = world.root().join("repo-wt-side");
    let looked = world.git(&["rev-parse", "side"]);
    let child = world.start_with(&[&["worktree", "merge", "side"], options].concat(), "stop@worktree:before-merge");
    wait_until_halted(child.id());
    commit(&world, &path, "late");
    world.sh(&format!("kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("side has moved on since it was looked at"), "{}", said(&output));
    assert!(!world.repo().join("late").exists() && world.repo().join("side").exists());
    if options.is_empty() {
        assert_eq!(world.git(&["rev-parse", "HEAD^2"]), looked);
    }
}

/// A rebase takes the branch as it is: it does not begin.
#[cfg(target_os = "linux")]
#[test]
fn a_branch_that_moves_on_is_not_rebased() {
    let world = world(&["side"]);
    let path = world.root().join("repo-wt-side");
    let main = world.git(&["rev-parse", "main"]);
    let child = world.start_with(&["worktree", "merge", "side", "--rebase"], "stop@worktree:before-merge");
    wait_until_halted(child.id());
    commit(&world, &path, "late");
    let side = world.git(&["rev-parse", "side"]);
    world.sh(&format!("kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    assert!(said(&output).contains("has just been moved"), "{}", said(&output));
    assert_eq!((world.git(&["rev-parse", "main"]), world.git(&["rev-parse", "side"])), (main, side));
}

/// What a hook commits during the rebase was not looked at.
#[test]
fn what_is_committed_during_a_rebase_is_not_merged() {
    let world = world(&["side"]);
    let main = world.git(&["rev-parse", "main"]);
    let hook = "#!/bin/sh\n[ -e ../once ] || { touch ../once; git commit -q --allow-empty -m late; }\n";
    world.script(".git/hooks/post-rewrite", hook);
    let output = world.checkpoint(&["worktree", "merge", "side", "--rebase"]);
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    assert!(said(&output).contains("it is rebased, and nothing was merged"), "{}", said(&output));
    assert_eq!(world.git(&["rev-parse", "main"]), main);
    world.done(&["worktree", "merge", "side", "--rebase"]);
    assert_eq!(world.git(&["log", "-1", "--format=%s"]), "late\n");
}

/// This worktree may go to another branch meanwhile: that one gets nothing.
#[cfg(target_os = "linux")]
#[test]
fn another_branch_here_gets_nothing() {
    let world = world(&["side"]);
    let child = world.start_with(&["worktree", "merge", "side"], "stop@worktree:before-merge");
    wait_until_halted(child.id());
    world.git(&["switch", "-q", "-c", "other"]);
    world.sh(&format!("kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    assert_eq!(world.git(&["rev-parse", "main"]), world.git(&["rev-parse", "other"]));
}

#[rstest]
#[case::before("worktree:before-merge", &[])]
#[case::after("worktree:after-merge", &[])]
#[case::between("worktree:after-rebase", &["--rebase"])]
#[case::after_a_rebase("worktree:after-merge", &["--rebase"])]
fn a_killed_merge_is_done_by_the_next_one(#[case] step: &str, #[case] options: &[&str]) {
    let world = world(&["side"]);
    let arguments = [&["worktree", "merge", "side"], options].concat();
    dies(&world, &arguments, step);
    world.done(&arguments);
    assert_eq!(world.sh("cat side here"), "new\nhere\n");
    assert_eq!(
        world.git(&["rev-list", "--count", "side..main", "--merges"]).trim(),
        if options.is_empty() { "1" } else { "0" }
    );
    world.assert_sound("after the second");
    world.assert_accounted("after the second");
}

#[test]
fn two_merges_at_once_are_done_one_after_the_other() {
    let world = world(&["one", "two", "three"]);
    let children: Vec<_> = ["one", "two", "three"].iter().map(|it| world.start(&["worktree", "merge", it])).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", said(&output));
    }
    assert_eq!(world.sh("cat one two three here"), "new\nnew\nnew\nhere\n");
    world.assert_sound("after three");
}

#[rstest]
#[case::quote("it's")]
#[case::command("a$(touch${IFS}run)")]
#[case::semicolon("x;y\"z")]
#[case::slashes("feature/of/many")]
#[case::direction("a\u{202e}b")]
fn names_of_branches_are_only_names(#[case] branch: &str) {
    let world = world(&[branch]);
    let merged = json_of(&world, &["worktree", "merge", branch, "--json"]);
    assert_eq!((&merged["source"], &merged["result"]), (&json!(branch), &json!("merged")), "{merged}");
    assert_eq!(world.git(&["log", "-1", "--format=%s"]).trim(), format!("Merge branch '{branch}'"));
    assert!(!world.repo().join("run").exists());
}

#[test]
fn names_of_files_are_shown_as_names() {
    let world = world(&["side"]);
    let name = "-\u{1b}[31m\n'x";
    for (directory, text) in [("../repo-wt-side", "one"), (".", "two")] {
        let path = world.repo().join(directory).join(name);
        std::fs::write(path, text).expect("writable");
        world.git(&["-C", directory, "add", "-A"]);
        world.git(&["-C", directory, "commit", "-qm", "file"]);
    }
    let output = world.checkpoint(&["worktree", "merge", "side"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "\"-\\033[31m\\n'x\" (conflict)\n");
    assert!(!output.stderr.contains(&0x1b), "{}", said(&output));
    world.git(&["merge", "--abort"]);
    let output = world.checkpoint(&["worktree", "merge", "side", "--json"]);
    let merged: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(merged["conflicts"].as_array().map(Vec::len), Some(1), "{merged}");
}

#[test]
fn from_a_subdirectory_and_by_a_relative_path() {
    let world = world(&["side"]);
    world.sh("mkdir -p a/b; git -C . checkpoint config set overlap off");
    let output = run_in(&world, &world.repo().join("a/b"), &["worktree", "merge", "../../../repo-wt-side"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(world.repo().join("side").exists() && world.repo().join("a/b").exists());
}

/// No worktree is the main one.
#[test]
fn of_a_bare_repository() {
    let world = World::with_hooks();
    world.sh("git branch -M main; git clone -q --bare . ../bare; cd ../bare
              git worktree add -q ../one main; git worktree add -q -b side ../two; cd ../two; echo x >x; git add x; git commit -qm x");
    let output = run_in(&world, &world.root().join("one"), &["worktree", "merge", "side"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(world.root().join("one/x").exists());
}

/// The repository is known by variables alone, and another one is around it.
#[test]
fn of_a_repository_that_variables_name() {
    let world = world(&["side"]);
    world.sh("mkdir ../around; git init -q ../around; mkdir ../around/tree; cp -a . ../around/tree/; mv ../around/tree/.git ../git-of-tree
              git -C ../around add -A >/dev/null 2>&1; git -C ../around commit -qm around
              export GIT_DIR=$PWD/../git-of-tree GIT_WORK_TREE=$PWD/../around/tree; git update-index -q --refresh
              git worktree add -q -b extra ../extra; cd ../extra; unset GIT_WORK_TREE GIT_DIR; echo x >x; git add x; git commit -qm x");
    let (git_dir, tree) = (world.root().join("git-of-tree"), world.root().join("around/tree"));
    let mut command = world.command("git");
    let output = command.arg("--git-dir").arg(&git_dir).arg("--work-tree").arg(&tree).args([
        "checkpoint",
        "worktree",
        "merge",
        "extra",
    ]);
    let output = output.output().expect("git runs");
    assert!(output.status.success(), "{}", said(&output));
    assert!(tree.join("x").exists());
    assert_eq!(world.sh("git -C ../around rev-list --count HEAD").trim(), "1");
}

/// What is not committed in a submodule is in no commit here; the commit of a submodule comes along.
#[test]
fn of_a_repository_with_a_submodule() {
    let world = world(&["side"]);
    world.sh(
        "git init -q ../lib; git -C ../lib commit -q --allow-empty -m lib; cd ../repo-wt-side
         git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -qm lib; echo x >lib/x; git -C lib add x",
    );
    let output = world.checkpoint(&["worktree", "merge", "side"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("the submodule 'lib' has changes"), "{}", said(&output));
    world.sh("git -C ../repo-wt-side/lib reset -q --hard");
    world.done(&["worktree", "merge", "side"]);
    assert_eq!(world.git(&["rev-parse", "HEAD:lib"]), world.git(&["-C", "../lib", "rev-parse", "HEAD"]));
}

/// A hook that refuses the merge commit leaves the merge under way.
#[test]
fn hooks_of_the_user_count() {
    let world = world(&["side"]);
    world.script(".git/hooks/pre-merge-commit", "#!/bin/sh\necho 'tests fail' >&2; exit 1\n");
    let output = world.checkpoint(&["worktree", "merge", "side"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    for words in
        ["tests fail", "git has stopped in the merge of side", "'git checkpoint save', then 'git merge --abort'"]
    {
        assert!(said(&output).contains(words), "{}", said(&output));
    }
    world.git(&["merge", "--abort"]);
    world.remove(".git/hooks/pre-merge-commit");
    world.git(&["config", "merge.ff", "false"]);
    let merged = json_of(&world, &["worktree", "merge", "side", "--squash", "--json"]);
    assert_eq!(merged["result"], json!("staged"), "{merged}");
}

/// The commit of a round has no trailer: its record says whose its lines are, after each kind of merge, too.
#[rstest]
#[case::merge(&[])]
#[case::squash(&["--squash"])]
#[case::rebase(&["--rebase"])]
fn a_branch_of_a_round_keeps_its_authors(#[case] options: &[&str], #[values(true, false)] is_kept: bool) {
    let world = world(&[]);
    let workspace = world.root().join("ws");
    std::fs::create_dir(&workspace).expect("it can be made");
    let workspace = workspace.to_str().expect("plain");
    let round =
        world.json(&["round", "start", "--context", ".", "--workspace", workspace, "--session", "r1", "--json"]);
    let of = |field: &str| round["contexts"][0][field].as_str().expect("text").to_owned();
    let (path, branch) = (of("path"), of("branch"));
    for words in [&["session", "prompt", "r1", "--agent", "claude-code"][..], &["session", "stop", "r1"]] {
        assert!(run_in(&world, Path::new(&path), words).status.success());
        world.sh(&format!("echo 'of an agent' >'{path}/new'"));
    }
    assert!(run_in(&world, Path::new(&path), &["session", "end", "r1"]).status.success());
    let id = round["round"].as_str().expect("an id");
    let kept = if is_kept { &["--keep-worktree"][..] } else { &[] };
    world.done(&[&["round", "end", id], kept].concat());
    let output = world.checkpoint(&[&["worktree", "merge", &branch], options].concat());
    if !is_kept {
        assert_eq!(output.status.code(), Some(128));
        assert!(said(&output).contains(&format!("'git merge {branch}' merges it")), "{}", said(&output));
        let by_id = world.checkpoint(&["worktree", "merge", id]);
        assert!(said(&by_id).contains(&format!("git checkpoint round apply {id}")), "{}", said(&by_id));
        return;
    }
    assert!(output.status.success(), "{}", said(&output));
    if options == ["--squash"] {
        world.git(&["commit", "-qm", "all of the round"]);
    }
    let blame = world.json(&["blame", "--json", "new"]);
    assert_eq!(blame["lines"][0]["session"], json!("r1"), "{blame}");
    let attribution = world.json(&["attribution", "--json", "HEAD~1..HEAD"]);
    assert!(attribution.to_string().contains("r1"), "{attribution}");
    let why = world.done(&["why", "new:1"]);
    assert!(why.contains("r1"), "{why}");
    world.assert_accounted("after the merge");
}
