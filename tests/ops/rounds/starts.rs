//! `round start`: what it makes, what it refuses, and what it leaves when it fails.

use std::{collections::BTreeSet, fs};

use rstest::rstest;
use serde_json::json;

use super::{everything, field, folder, is_anonymous, path, said, start, text};
use crate::support::{World, program};

#[test]
fn a_worktree_has_a_folder_for_experiments_that_git_ignores() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    assert_eq!(path(&round), world.root().join("ws/.worktree/ctx_1"));
    let scratch = field(&round, "scratch");
    assert_eq!(scratch, text(&path(&round).join(".checkpoint_scratch")));
    assert_eq!((field(&round, "mode"), field(&round, "context")), ("worktree", text(&world.repo())));
    assert_eq!(field(&round, "base"), world.git(&["rev-parse", "HEAD"]).trim());
    fs::write(format!("{scratch}/note"), "an idea\n").expect("writable");
    fs::write(path(&round).join("new"), "work\n").expect("writable");
    let root = path(&round);
    assert_eq!(world.git(&["-C", text(&root), "status", "--porcelain", "-uall"]), "?? new\n");
    let saved = world.json(&["-C", text(&root), "save", "--json"]);
    let id = saved["id"].as_str().unwrap_or_else(|| panic!("{saved}"));
    let names = world.git(&["ls-tree", "-r", "--name-only", id]);
    assert!(names.contains("new") && !names.contains("note"), "{names}");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

/// A program works in the same subdirectory, which git may not track.
#[rstest]
#[case::root(".", "")]
#[case::tracked("src", "/src")]
#[case::not_tracked("new/deep", "/new/deep")]
#[case::of_another_worktree("../linked/src", "/src")]
fn the_directory_is_where_the_given_one_is(#[case] context: &str, #[case] inside: &str) {
    let world = World::with_commit();
    world.sh("mkdir -p src new/deep; echo 1 >src/f; git add .; git commit -qm src; git worktree add -q ../linked");
    let round = world.json(&["round", "start", "--context", context, "--agent", "a", "--json"]);
    let expected = format!("{}{inside}", field(&round, "path"));
    assert_eq!(field(&round, "directory"), expected);
    assert!(std::path::Path::new(&expected).is_dir());
    assert_eq!(world.git(&["-C", &expected, "status", "--porcelain"]), "");
    assert_eq!(
        world.json(&["round", "show", field(&round, "branch"), "--json"])["round"]["contexts"],
        round["contexts"]
    );
}

#[rstest]
#[case::link("git rm -rq src; ln -s .. src")]
#[case::file("git rm -rq src; echo 1 >src")]
fn a_base_that_has_something_else_there_is_refused(#[case] script: &str) {
    let world = World::with_commit();
    world.sh(&format!(
        "mkdir src; echo 1 >src/f; git add .; git commit -qm src; git switch -qc b; {script}; git add .; git commit -qm b
         git switch -q main"
    ));
    let before = everything(&world);
    let output = world.checkpoint(&["round", "start", "--context", "src", "--base", "b"]);
    assert!(said(&output).contains("'src' is no directory"), "{}", said(&output));
    assert_eq!(everything(&world), before);
}

#[test]
fn a_branch_says_nothing_of_agent_session_and_round() {
    let world = World::with_commit();
    let round = start(&world, &["--agent", "agent1", "--session", "s1"]);
    assert!(is_anonymous(field(&round, "branch")), "{round}");
    assert!(!field(&round, "branch").contains(round["round"].as_str().expect("it has an id")));
    world.git(&["config", "checkpoint.round.branchprefix", "massgen"]);
    let round = start(&world, &[]);
    assert!(field(&round, "branch").starts_with("massgen/"), "{round}");
}

#[test]
fn a_label_is_the_name_of_the_branch_if_that_is_free() {
    let world = World::with_commit();
    assert_eq!(field(&start(&world, &["--label", "presenter"]), "branch"), "presenter");
    world.git(&["branch", "below/x"]);
    for label in ["presenter", "below"] {
        let round = start(&world, &["--label", label, "--agent", "agent2"]);
        let digits = field(&round, "branch").strip_prefix(&format!("{label}_")).map(str::len);
        assert_eq!(digits, Some(8), "{round}");
    }
}

#[rstest]
#[case::label("--label", "../../x")]
#[case::option("--label", "-x")]
#[case::dots("--label", "a..b")]
#[case::lock("--label", "x.lock")]
#[case::agent("--agent", "../x")]
#[case::session("--session", "")]
#[case::base("--base", "nothing")]
#[case::context("--context", "nowhere")]
#[case::file("--context", "../ws/file")]
#[case::git("--context", ".git")]
#[case::another_repository("--context", "../other")]
#[case::no_repository("--context", "/")]
fn what_is_refused_leaves_nothing(#[case] option: &str, #[case] value: &str) {
    let world = World::with_commit();
    let workspace = folder(&world, "ws");
    world.sh("touch ../ws/file; git init -q ../other; git -C ../other commit -q --allow-empty -m other; mkdir ../ws/.worktree");
    // The second directory is the one that fails.
    let words =
        ["round", "start", "--context", ".", "--workspace", text(&workspace), &format!("{option}={value}"), "--json"];
    let before = everything(&world);
    let output = world.checkpoint(&words);
    assert!(!output.status.success() && output.stdout.is_empty(), "{}", said(&output));
    assert_eq!(everything(&world), before, "{}", said(&output));
    assert_eq!(world.json(&["round", "list", "--all", "--json"])["rounds"], json!([]));
}

#[test]
fn the_same_call_again_is_the_same_round() {
    let world = World::with_commit();
    let round = start(&world, &["--agent", "agent1"]);
    assert_eq!(start(&world, &["--agent", "agent1"]), round);
    let other = start(&world, &["--agent", "agent2"]);
    assert_ne!(other["round"], round["round"]);
    assert_eq!(path(&other), world.root().join("ws/.worktree/ctx_2"));
    // Without anything that says for which agent, each call is for another one.
    let anonymous = || world.json(&["round", "start", "--context", ".", "--json"]);
    assert_ne!(anonymous()["round"], anonymous()["round"]);
    let listed = world.json(&["round", "list", "--json"]);
    assert_eq!(listed["rounds"].as_array().map(Vec::len), Some(4));
    let id = round["round"].as_str().expect("it has an id");
    assert_eq!(world.json(&["round", "show", id, "--json"])["round"]["contexts"], round["contexts"]);
    assert_eq!(world.json(&["round", "show", field(&round, "branch"), "--json"])["round"]["round"], round["round"]);
}

#[test]
fn a_round_begins_at_its_base() {
    let world = World::with_commit();
    world.sh("git switch -qc feature; echo its >its; git add its; git commit -qm its; git switch -q main");
    let round = start(&world, &["--base", "feature"]);
    assert_eq!(fs::read_to_string(path(&round).join("its")).expect("it is there"), "its\n");
    assert_eq!(field(&round, "base"), world.git(&["rev-parse", "feature"]).trim());
}

#[rstest]
#[case::tracked("mkdir s; echo 1 >s/f; git add s; git commit -qm s", "git tracks files in it")]
#[case::a_file("echo 1 >s; git add s; git commit -qm s", "git tracks files in it")]
#[case::there("mkdir s; echo mine >s/f", "it is there already")]
#[case::there_in_another_worktree("git worktree add -q ../w; mkdir ../w/s; echo mine >../w/s/f", "it is there already")]
#[case::shown("echo '!/s/' >.gitignore; git add .; git commit -qm rules", "shows it to git")]
#[case::tracked_at_the_base(
    "git switch -qc b; mkdir s; echo 1 >s/f; git add s; git commit -qm s; git switch -q main",
    "git tracks files in it"
)]
fn a_folder_that_may_have_files_of_others_is_refused(#[case] script: &str, #[case] why: &str) {
    let world = World::with_commit();
    world.sh(&format!("mkdir -p ../ws/.worktree; git config checkpoint.round.scratch s; git branch b; {script}")
        .replace("git branch b; git switch -qc b", "git switch -qc b"));
    let base = if world.git(&["ls-tree", "b", "s"]).is_empty() { "HEAD" } else { "b" };
    let before = everything(&world);
    let output = world.checkpoint(&["round", "start", "--context", ".", "--workspace", "../ws", "--base", base]);
    assert!(said(&output).contains(why), "{}", said(&output));
    assert_eq!(everything(&world), before);
    if why == "it is there already" {
        assert!(!world.git(&["status", "--porcelain", "--ignored"]).contains("!!"), "it is not ignored by now");
    }
}

#[rstest]
#[case::scratch("scratch", ".git")]
#[case::parent("scratch", "..")]
#[case::deep("scratch", "a/b")]
#[case::archive("archive", ".worktree")]
#[case::same("archive", ".checkpoint_scratch")]
#[case::prefix("branchPrefix", "a//b")]
fn a_bad_name_in_the_settings_is_refused(#[case] key: &str, #[case] value: &str) {
    let world = World::with_commit();
    world.git(&["config", &format!("checkpoint.round.{key}"), value]);
    folder(&world, "ws");
    let before = everything(&world);
    let output = world.checkpoint(&["round", "start", "--context", ".", "--workspace", "../ws"]);
    assert!(said(&output).contains("the setting 'round."), "{}", said(&output));
    assert_eq!(everything(&world), before);
}

/// The workspace is inside the repository, or in one of its own.
#[rstest]
#[case::in_the_repository("mkdir -p agents/one", "agents/one", ".")]
#[case::in_another_one("git init -q ../own; mkdir -p ../own/one", "../own/one", "../own")]
fn the_repository_of_the_workspace_ignores_the_folders_of_rounds(
    #[case] script: &str,
    #[case] workspace: &str,
    #[case] repository: &str,
) {
    let world = World::with_commit();
    world.sh(script);
    let round = world.json(&["round", "start", "--context", ".", "--workspace", workspace, "--json"]);
    fs::write(format!("{}/note", field(&round, "scratch")), "an idea\n").expect("writable");
    assert_eq!(world.git(&["-C", repository, "status", "--porcelain", "-uall"]), "");
    super::end(&world, &round);
    assert_eq!(world.git(&["-C", repository, "status", "--porcelain", "-uall"]), "");
    assert_eq!(world.sh(&format!("cat {workspace}/.scratch_archive/*/note")), "an idea\n");
}

#[test]
fn a_round_for_a_session_has_a_worktree_of_its_own() {
    let world = World::with_commit();
    let round = start(&world, &["--session", "s1"]);
    assert_eq!(world.done(&["session", "cwd", "s1"]).trim_end(), field(&round, "path"));
    let elsewhere = world.checkpoint(&["session", "prompt", "s1", "-m", "go"]);
    assert!(!elsewhere.status.success(), "it is bound");
}

#[test]
fn legacy_is_the_directory_itself() {
    let world = World::with_commit();
    world.sh("echo mine >mine");
    let before = world.sh("git for-each-ref refs/heads; cat .git/info/exclude 2>/dev/null || true; ls -A; ls -A ..");
    let round = world.json(&["round", "start", "--context", ".", "--agent", "a", "--mode", "legacy", "--json"]);
    assert_eq!((path(&round), round["contexts"][0]["branch"].clone()), (world.repo(), json!(null)));
    let ended = super::end(&world, &round);
    assert_eq!(
        world.sh("git for-each-ref refs/heads; cat .git/info/exclude 2>/dev/null || true; ls -A; ls -A .."),
        before
    );
    let checkpoint = ended["contexts"][0]["checkpoint"].as_str().expect("it has a checkpoint");
    assert_eq!(world.git(&["show", &format!("{checkpoint}:mine")]), "mine\n");
    assert_eq!(world.checkpoint(&["round", "start", "--context", ".", "--mode", "else"]).status.code(), Some(129));
}

#[test]
fn a_round_whose_worktree_is_gone_is_not_given_out_again() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    world.done(&["worktree", "remove", field(&round, "path")]);
    let output = world.checkpoint(&["round", "start", "--context", ".", "--workspace", "../ws"]);
    assert!(!output.status.success() && said(&output).contains("is gone"), "{}", said(&output));
    super::end(&world, &round);
    assert_ne!(start(&world, &[])["round"], round["round"]);
}

#[test]
fn the_same_call_eight_times_at_once_is_one_round() {
    let world = World::with_commit();
    folder(&world, "ws");
    let begin = |_| {
        let mut command = world.command(program());
        command.args(["round", "start", "--context", ".", "--workspace", "../ws", "--json"]);
        command.stdout(std::process::Stdio::piped()).spawn().expect("it runs")
    };
    let all: Vec<_> = (0..8).map(begin).collect();
    let outputs = all.into_iter().map(|child| child.wait_with_output().expect("it ends").stdout);
    assert_eq!(outputs.collect::<BTreeSet<_>>().len(), 1);
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 2);
}

#[test]
fn eight_rounds_that_begin_at_once_are_eight() {
    let world = World::with_commit();
    folder(&world, "ws");
    let begin = |number: usize| {
        let mut command = world.command(program());
        command.args(["round", "start", "--context", ".", "--workspace", "../ws", "--json", "--agent"]);
        command.arg(format!("agent{number}")).stdout(std::process::Stdio::piped()).spawn().expect("it runs")
    };
    let all: Vec<_> = (0..8).map(begin).collect();
    let mut paths = BTreeSet::new();
    for child in all {
        let output = child.wait_with_output().expect("it ends");
        let round: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
        paths.insert(path(&round));
    }
    assert_eq!(paths.len(), 8);
    let lines = world.sh("grep -c checkpoint_scratch .git/info/exclude");
    assert_eq!(lines, "1\n");
}
