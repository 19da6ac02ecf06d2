//! Rounds in the workspace itself.

use std::fs;

use rstest::rstest;

use super::{end, field, folder, is_anonymous, said, text};
use crate::support::World;

#[rstest]
#[case::alone("ws")]
#[case::in_a_repository("repo/ws")]
fn a_workspace_gets_a_repository_and_a_branch_of_its_own(#[case] name: &str) {
    let world = World::with_commit();
    let workspace = folder(&world, name);
    fs::write(workspace.join("file"), "mine\n").expect("writable");
    let before = world.git(&["for-each-ref"]);
    let round = world.json(&["round", "start", "--workspace", text(&workspace), "--json"]);
    assert_eq!((field(&round, "mode"), field(&round, "path")), ("workspace", text(&workspace)));
    assert!(is_anonymous(field(&round, "branch")), "{round}");
    let at = |arguments: &[&str]| world.git(&[&["-C", text(&workspace)], arguments].concat());
    assert_eq!(at(&["branch", "--show-current"]).trim(), field(&round, "branch"));
    fs::write(format!("{}/note", field(&round, "scratch")), "an idea\n").expect("writable");
    assert_eq!(at(&["status", "--porcelain", "-uall"]), "?? file\n");
    // The same again is the same.
    assert_eq!(world.json(&["round", "start", "--workspace", text(&workspace), "--json"]), round);
    assert_eq!(world.git(&["for-each-ref"]), before, "the repository above gets no branch");
    let ended = world.json(&["-C", text(&workspace), "round", "end", field(&round, "branch"), "--json"]);
    assert!(["main\n", "master\n"].contains(&at(&["branch", "--show-current"]).as_str()));
    assert_eq!(at(&["show", &format!("{}:file", field(&round, "branch"))]), "mine\n");
    assert_eq!(fs::read_to_string(format!("{}/note", field(&ended, "archive"))).expect("it is kept"), "an idea\n");
    assert_eq!(at(&["status", "--porcelain", "-uall"]), "");
}

#[rstest]
#[case::branch("git switch -qc topic", "refs/heads/topic")]
#[case::detached("git checkout -q --detach", "HEAD")]
fn head_is_where_it_was_after_the_round(#[case] script: &str, #[case] expected: &str) {
    let world = World::with_commit();
    world.sh(&format!("echo 1 >f; git add f; git commit -qm f; {script}; echo before >mine; echo 2 >f"));
    let head = world.git(&["rev-parse", "HEAD"]);
    let round = world.json(&["round", "start", "--workspace", ".", "--with-changes", "--json"]);
    // What was not committed comes along.
    assert_eq!(world.sh("cat mine f"), "before\n2\n");
    end(&world, &round);
    assert_eq!(world.git(&["rev-parse", "--symbolic-full-name", "HEAD"]).trim(), expected);
    assert_eq!((world.git(&["rev-parse", "HEAD"]), world.git(&["status", "--porcelain"])), (head, String::new()));
    assert_eq!(world.git(&["show", &format!("{}:mine", field(&round, "branch"))]), "before\n");
}

/// A person's work would leave the workspace with the round.
#[rstest]
#[case::new("echo mine >mine", "'mine' in '")]
#[case::changed("echo 2 >f", "'f' in '")]
#[case::staged_alone("echo 2 >f; git add f; echo 1 >f", "'f' in '")]
#[case::deleted("rm f", "'f' in '")]
#[case::mode("chmod +x f", "'f' in '")]
#[case::too_large("head -c 3000 /dev/zero >big", "'big' in '")]
#[case::several("echo 2 >f; echo mine >mine", "2 paths in '")]
fn a_workspace_with_changes_is_refused(#[case] script: &str, #[case] why: &str) {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.save.maxfilesize", "1000"]);
    world.sh(&format!("echo 1 >f; git add f; git commit -qm f; {script}"));
    let state = || world.sh("git status --porcelain -b; git for-each-ref refs/heads; cat f mine 2>&1 || true");
    let before = state();
    let output = world.checkpoint(&["round", "start", "--workspace", "."]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(why) && said(&output).contains("--with-changes"), "{}", said(&output));
    assert_eq!(state(), before);
    assert_eq!(world.json(&["round", "list", "--all", "--json"])["rounds"], serde_json::json!([]));
}

#[test]
fn ignored_files_do_not_keep_a_round_from_a_workspace() {
    let world = World::with_commit();
    world.sh("echo /ignored >.gitignore; git add .; git commit -qm rules; echo 1 >ignored");
    let round = world.json(&["round", "start", "--workspace", ".", "--json"]);
    world.sh("echo work >new; echo idea >.checkpoint_scratch/note");
    end(&world, &round);
    // The archive, which is there now, is none either.
    world.json(&["round", "start", "--workspace", ".", "--json"]);
    assert_eq!(world.sh("cat ignored .scratch_archive/*/note"), "1\nidea\n");
}

/// On the round's branch, a file is ignored that the branch before has: switching back would replace it.
#[test]
fn an_ignored_file_is_not_overwritten_on_the_way_back() {
    let world = World::with_commit();
    world.sh("echo theirs >f; git add f; git commit -qm f");
    let round = world.json(&["round", "start", "--workspace", ".", "--json"]);
    world.sh("git rm -q --cached f; echo f >.gitignore; echo mine >f; git add .gitignore");
    let id = round["round"].as_str().expect("it has an id");
    let output = world.checkpoint(&["round", "end", id]);
    assert!(said(&output).contains("git cannot switch to 'main'"), "{}", said(&output));
    assert_eq!(world.sh("cat f"), "mine\n");
    world.sh("mv f ../kept");
    world.done(&["round", "end", id]);
    assert_eq!(world.sh("git branch --show-current; cat f"), "main\ntheirs\n");
}

/// The base has a rule that shows the folder for experiments, which only the checkout shows: the workspace is as it was.
#[rstest]
#[case::main(".")]
#[case::linked("../linked")]
fn a_workspace_in_which_no_round_can_begin_stays(#[case] workspace: &str) {
    let world = World::with_commit();
    world.sh("git switch -qc base; echo '!/.checkpoint_scratch/' >.gitignore; git add .; git commit -qm rules; git switch -q main
         git worktree add -q ../linked; echo mine >../linked/mine; echo mine >mine");
    let state = || {
        world.sh(&format!(
            "cd {workspace}; git status --porcelain -b; git for-each-ref refs/heads; git worktree list; cat mine"
        ))
    };
    let before = state();
    let output = world.checkpoint(&["round", "start", "--workspace", workspace, "--base", "base", "--with-changes"]);
    assert!(said(&output).contains("shows it to git"), "{}", said(&output));
    assert_eq!(state(), before);
    assert_eq!(world.json(&["round", "list", "--all", "--json"])["rounds"], serde_json::json!([]));
}

/// A person works on after the commit: the workspace stays on the branch of the round, with that work.
#[cfg(target_os = "linux")]
#[test]
fn work_that_begins_after_the_commit_stays() {
    let world = World::with_commit();
    let round = world.json(&["round", "start", "--workspace", ".", "--json"]);
    world.sh("echo 1 >f; echo idea >.checkpoint_scratch/note");
    let mut command = world.command(crate::support::program());
    command.args(["round", "end", field(&round, "branch")]).env("CHECKPOINT_FAILPOINT", "stop@round:after-commit");
    let child = command.stderr(std::process::Stdio::piped()).spawn().expect("it runs");
    super::super::worktrees::wait_until_halted(child.id());
    world.sh(&format!("echo 2 >f; kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert!(!output.status.success() && said(&output).contains("'f' has just been changed"), "{}", said(&output));
    assert_eq!(
        world.sh("cat f .checkpoint_scratch/note; git branch --show-current").trim(),
        format!("2\nidea\n{}", field(&round, "branch"))
    );
    end(&world, &round);
    assert_eq!(world.git(&["show", &format!("{}:f", field(&round, "branch"))]), "2\n");
}

#[test]
fn a_second_round_in_a_workspace_is_refused() {
    let world = World::with_commit();
    world.json(&["round", "start", "--workspace", ".", "--json"]);
    let output = world.checkpoint(&["round", "start", "--workspace", ".", "--agent", "other"]);
    assert!(said(&output).contains("already"), "{}", said(&output));
}

#[test]
fn a_directory_whose_files_a_repository_tracks_gets_none_of_its_own() {
    let world = World::with_commit();
    world.sh("mkdir ws; echo 1 >ws/f; git add ws; git commit -qm ws");
    let output = world.checkpoint(&["round", "start", "--workspace", "ws"]);
    assert!(said(&output).contains("tracks"), "{}", said(&output));
    assert!(!world.exists("ws/.git"));
}

/// The files of a directory in which no repository was are part of the round: its start says that its end takes them away.
#[rstest]
#[case::files(true)]
#[case::no_files(false)]
fn the_start_says_that_files_leave_with_the_round(#[case] has_files: bool) {
    let world = World::with_commit();
    let workspace = folder(&world, "ws");
    if has_files {
        fs::write(workspace.join("file"), "mine\n").expect("writable");
    }
    let output = world.checkpoint(&["round", "start", "--workspace", text(&workspace)]);
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.contains("leave it when the round ends"), has_files, "{said}");
    assert_eq!(said.contains("then 'git checkpoint round apply agents/"), has_files, "{said}");
    // What it says is true.
    let list = world.json(&["-C", text(&workspace), "round", "list", "--json"]);
    let branch = field(&list["rounds"][0], "branch").to_owned();
    world.json(&["-C", text(&workspace), "round", "end", &branch, "--json"]);
    assert!(!workspace.join("file").exists());
    if has_files {
        assert!(said.contains(&branch), "{said}");
        world.done(&["-C", text(&workspace), "round", "apply", &branch]);
        assert_eq!(fs::read_to_string(workspace.join("file")).expect("it is back"), "mine\n");
    }
}
