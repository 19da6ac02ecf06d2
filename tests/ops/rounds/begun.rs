//! What a start leaves behind that fails or is killed, and what no round can begin with.

use std::fs;

use rstest::rstest;
use serde_json::json;

use super::{dies, end, everything, field, folder, path, said, text};
use crate::support::{World, program};

/// The words that begin an isolated round, or one of another mode.
fn words<'w>(workspace: &'w str, mode: &'w str) -> Vec<&'w str> {
    vec!["round", "start", "--mode", mode, "--context", ".", "--workspace", workspace, "--json"]
}

/// Lets the check-out of `f` run `script` in the copy, and fail.
fn failing(world: &World, script: &str) {
    world.sh("echo 1 >f; echo 'f filter=bad' >.gitattributes; git add .; git commit -qm f");
    world.script("../bin/bad", &format!("#!/bin/sh\n{script}\nexit 1\n"));
    world.git(&["config", "filter.bad.smudge", text(&world.root().join("bin/bad"))]);
    world.git(&["config", "filter.bad.required", "true"]);
}

#[test]
fn a_start_that_fails_leaves_no_copy() {
    let world = World::with_commit();
    failing(&world, "cat >/dev/null");
    let workspace = folder(&world, "ws");
    let output = world.checkpoint(&words(text(&workspace), "isolated"));
    assert!(!output.status.success() && !said(&output).contains("what was made"), "{}", said(&output));
    assert_eq!(world.sh("ls -A ../ws/.worktree; find .git/checkpoint/rounds -mindepth 1 -type d"), "");
    assert_eq!(world.json(&["round", "list", "--all", "--json"])["rounds"], json!([]));
    assert_eq!(world.git(&["for-each-ref", "refs/heads/agents"]), "");
}

/// Something else has written to it: it is kept, also on another file system, until it is pruned.
#[rstest]
#[case::here(false)]
#[case::elsewhere(true)]
fn a_copy_with_more_than_what_was_copied_is_kept(#[case] is_elsewhere: bool) {
    use std::os::unix::fs::MetadataExt as _;
    let world = World::with_commit();
    failing(&world, "cat >/dev/null; echo precious >foreign");
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let device = |path: &std::path::Path| fs::metadata(path).expect("it is there").dev();
    if is_elsewhere && device(elsewhere.path()) == device(&world.repo()) {
        return;
    }
    let workspace = if is_elsewhere { elsewhere.path().to_owned() } else { folder(&world, "ws") };
    let output = world.checkpoint(&words(text(&workspace), "isolated"));
    let said = said(&output);
    let place = said.split_once("what was made by then is in '").unwrap_or_else(|| panic!("{said}")).1;
    let place = std::path::Path::new(place.split('\'').next().expect("it ends"));
    assert_eq!(fs::read_to_string(place.join("foreign")).expect("it is there"), "precious\n");
    assert_eq!(world.json(&["prune", "--older-than", "1d", "--json"])["copies"], json!([]));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(world.json(&["prune", "--older-than", "0s", "--json"])["copies"][0]["path"], json!(text(place)));
    assert!(!place.exists());
    assert_eq!(world.sh("find .git/checkpoint/rounds -mindepth 1 -type d"), "");
}

/// A program that begins rounds repeats the call.
#[rstest]
#[case::isolated("isolated")]
#[case::worktree("worktree")]
fn the_same_call_goes_on_with_the_set_up(#[case] mode: &str) {
    let world = World::with_commit();
    let list = r#"["echo 1 >>../said", "test -e ../may", "echo 2 >>../said"]"#;
    world.done(&["config", "set", "worktree.setup", list]);
    let workspace = folder(&world, "ws");
    let words = words(text(&workspace), mode);
    // Killed before the first command.
    dies(&world, "round:after-place", &words);
    for _ in 0..2 {
        let output = world.checkpoint(&words);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains("'test -e ../may' has failed"), "{}", said(&output));
    }
    world.sh("touch ../ws/.worktree/may");
    for _ in 0..2 {
        world.done(&words);
        assert_eq!(world.sh("cat ../ws/.worktree/said"), "1\n2\n");
    }
}

#[test]
fn a_call_without_set_up_is_not_set_up_later() {
    let world = World::with_commit();
    world.done(&["config", "set", "worktree.setup", r#"["echo 1 >>../said"]"#]);
    let workspace = folder(&world, "ws");
    let words = words(text(&workspace), "isolated");
    world.done(&[&words[..], &["--no-setup"]].concat());
    world.done(&words);
    assert!(!workspace.join(".worktree/said").exists());
}

/// A worktree of the repository that would be made there has nothing of the directory.
#[rstest]
#[case::auto("auto")]
#[case::isolated("isolated")]
fn a_directory_below_the_workspace_is_refused(#[case] mode: &str) {
    let world = World::with_commit();
    world.sh("mkdir -p ../w/proj; echo code >../w/proj/main");
    let root = world.root().join("w");
    let words = ["-C", text(&root), "round", "start", "--mode", mode, "--context", "proj", "--workspace", "."];
    let before = everything(&world);
    let output = world.checkpoint(&words);
    assert!(!output.status.success(), "a round began");
    assert!(said(&output).contains("proj' is in the workspace '"), "{}", said(&output));
    assert_eq!(everything(&world), before);
    assert!(!root.join(".git").exists());
    // A round in the workspace itself makes the repository.
    world.sh("mv ../w/proj ../proj");
    world.done(&["-C", text(&root), "round", "start", "--workspace", "."]);
    world.sh("mv ../proj ../w/proj");
    let output = world.checkpoint(&words);
    assert!(!output.status.success(), "a round began");
    assert!(said(&output).contains("nothing in it is committed"), "{}", said(&output));
    // What the hint says makes it one of the repository.
    world.sh("cd ../w; git add proj; git commit -qm proj");
    let round = world.json(&[&words[..], &["--json"]].concat());
    assert_eq!(fs::read_to_string(path(&round).join("proj/main")).expect("it is there"), "code\n");
}

#[test]
fn a_partial_clone_says_what_completes_it() {
    let world = World::with_commit();
    world.sh(
        "for i in 1 2 3; do echo v$i >f; git add f; git commit -qm $i; done; git config uploadpack.allowFilter true
              git clone -q --filter=blob:none \"file://$PWD\" ../clone",
    );
    let (clone, workspace) = (world.root().join("clone"), folder(&world, "ws"));
    let words = [&["-C", text(&clone)], &words(text(&workspace), "isolated")[..]].concat();
    let output = world.checkpoint(&words);
    let said = said(&output);
    assert!(!output.status.success() && said.contains("is a partial clone"), "{said}");
    let hint = said.split('\'').find(|word| word.starts_with("git fetch")).unwrap_or_else(|| panic!("{said}"));
    world.sh(&format!("cd ../clone; {hint} -q"));
    world.done(&words);
}

/// The branch has the very bytes of the directory, and what the hint says brings those of the round there.
#[test]
fn a_directory_without_a_repository_is_not_converted() {
    let world = World::with_commit();
    world.sh(
        "mkdir ../plain; cd ../plain; printf 'a\\r\\nb\\r\\n' >crlf; printf 'a\\nb\\n' >lf; printf '* text=auto\\n*.x filter=none\\n' >.gitattributes",
    );
    world.git(&["config", "diff.noprefix", "true"]);
    let workspace = folder(&world, "ws");
    let mut command = world.command(program());
    command.args(["round", "start", "--context", "../plain", "--workspace", text(&workspace), "--json"]);
    for (at, key) in ["core.autocrlf", "core.safecrlf"].iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{at}"), key).env(format!("GIT_CONFIG_VALUE_{at}"), "true");
    }
    let output = command.env("GIT_CONFIG_COUNT", "2").output().expect("it runs");
    assert!(output.status.success(), "{}", said(&output));
    let round: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    let branch = field(&round, "branch");
    assert_eq!(world.git(&["show", &format!("{branch}:crlf")]), "a\r\nb\r\n");
    fs::write(path(&round).join("crlf"), "a\r\nb2\r\n").expect("writable");
    fs::write(path(&round).join("lf"), "a\nb2\n").expect("writable");
    end(&world, &round);
    let output = world.checkpoint(&["round", "apply", round["round"].as_str().expect("it has an id")]);
    let said = said(&output);
    let hint = said.split('\'').find(|word| word.starts_with("git ")).unwrap_or_else(|| panic!("{said}"));
    world.sh(hint);
    assert_eq!(world.sh("cat ../plain/crlf ../plain/lf"), "a\r\nb2\r\na\nb2\n");
}

#[rstest]
#[case::dos("git~1")]
#[case::spaces("a/.git ")]
fn a_name_that_git_cannot_have_is_refused_before_anything_is_copied(#[case] name: &str) {
    let world = World::with_commit();
    world.sh(&format!("mkdir -p ../plain/a ../ws/.worktree; echo 1 >'../plain/{name}'"));
    let workspace = folder(&world, "ws");
    let before = everything(&world);
    let output = world.checkpoint(&["round", "start", "--context", "../plain", "--workspace", text(&workspace)]);
    assert!(!output.status.success(), "{}", said(&output));
    assert!(said(&output).contains(&format!("{name}'")), "{}", said(&output));
    assert_eq!(everything(&world), before);
}
