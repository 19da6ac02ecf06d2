//! `round apply`: what a round has changed comes into a worktree, and nothing that is there is lost.

use std::{
    fs,
    io::Write as _,
    process::{Output, Stdio},
};

use rstest::rstest;
use serde_json::{Value, json};

use super::{end, field, path, said, start};
use crate::support::World;

/// A round that has ended: it has changed `t` at two places, deleted `gone`, and added `d/new`, `link` and an executable file.
fn ended(world: &World) -> Value {
    world.sh("seq 30 >t; echo 1 >gone; echo 1 >other; mkdir s; echo 1 >s/f; git add .; git commit -qm files");
    let round = start(world, &["--agent", "a"]);
    world.sh(&format!(
        "cd '{}'; sed -i -e 's/^3$/three/' -e 's/^27$/twenty-seven/' t; git commit -qam t; rm gone
         mkdir d; echo n >d/new; ln -s t link; echo x >run; chmod +x run",
        path(&round).display()
    ));
    end(world, &round);
    round
}

/// Returns all that is in the worktree, and what is staged.
fn state(world: &World) -> String {
    world.sh(
        "find . -path ./.git -prune -o -print | sort; find . -path ./.git -prune -o -type f -exec cksum {} + | sort; readlink link || true
         git ls-files --stage; git status --porcelain --ignored; git rev-parse HEAD",
    )
}

fn apply(world: &World, round: &Value, more: &[&str]) -> Output {
    world.checkpoint(&[&["round", "apply", field(round, "branch")], more].concat())
}

fn answer(world: &World, arguments: &[&str], answers: &str) -> Output {
    let mut command = world.command(crate::support::program());
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("piped");
    let _ = stdin.write_all(answers.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

#[test]
fn all_changes_come_uncommitted_and_undo_takes_them_back() {
    let world = World::with_commit();
    let round = ended(&world);
    world.sh("echo mine >mine; echo 2 >other; git add other");
    let (before, index) = (state(&world), world.git(&["ls-files", "--stage"]));
    let json = world.json(&["round", "apply", field(&round, "branch"), "--dry-run", "--json"]);
    assert_eq!((state(&world), &json["drift"]), (before.clone(), &json!([])));
    let json = world.json(&["round", "apply", field(&round, "branch"), "--json"]);
    assert_eq!(json["to"].as_str(), Some(world.git(&["rev-parse", field(&round, "branch")]).trim()));
    assert_eq!(json["restored"]["written"], json!(["d/new", "link", "run", "t"]));
    assert_eq!(json["restored"]["deleted"], json!(["gone"]));
    assert_eq!(world.git(&["ls-files", "--stage"]), index, "the index is the user's");
    world.git(&["add", "-A"]);
    assert_eq!(
        world.git(&["diff", "--cached", "--name-only", field(&round, "branch")]),
        "mine\nother\n",
        "all is as on the branch, but for what is mine"
    );
    world.sh("git reset -q; git add other");
    world.done(&["undo"]);
    assert_eq!(state(&world), before);
    world.done(&["redo"]);
    assert_eq!(world.sh("cat d/new; test ! -e gone; test -x run"), "n\n");
    // Nothing is left to do.
    assert_eq!(world.json(&["round", "apply", field(&round, "branch"), "--json"])["restored"]["written"], json!([]));
}

#[test]
fn only_files_that_are_named() {
    let world = World::with_commit();
    let round = ended(&world);
    world.sh("cd s; echo 2 >>../gone");
    world.done(&["round", "apply", field(&round, "branch"), "--files", "d", "t"]);
    assert_eq!(world.git(&["status", "--porcelain", "-uall"]), " M gone\n M t\n?? d/new\n");
    // From a subdirectory, as everywhere.
    world.done(&["-C", "s", "round", "apply", field(&round, "branch"), "--files", "../run"]);
    assert!(world.exists("run"));
    let output = apply(&world, &round, &["--files", "s/f"]);
    assert!(said(&output).contains("did not match any file that the round has changed"), "{}", said(&output));
}

/// What has changed here since the round began, and what the three policies make of it.
#[rstest]
#[case::changed("echo mine >t", "t")]
#[case::committed("echo mine >t; git commit -qam mine", "t")]
#[case::deleted("rm t", "t")]
#[case::changed_where_deleted("echo mine >gone", "gone")]
#[case::added("mkdir d; echo mine >d/new", "d/new")]
#[case::mode("chmod +x t", "t")]
fn files_that_have_changed_here_are_not_replaced_unasked(#[case] script: &str, #[case] drifted: &str) {
    let world = World::with_commit();
    let round = ended(&world);
    world.sh(script);
    let before = state(&world);
    let output = apply(&world, &round, &["--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let printed: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!((&printed["drift"], &printed["restored"]), (&json!([drifted]), &json!(null)));
    let output = apply(&world, &round, &[]);
    assert!(String::from_utf8_lossy(&output.stdout).contains(drifted) && said(&output).contains("--drift skip"));
    assert_eq!(state(&world), before, "nothing has changed");
    let of = |path: &str| world.sh(&format!("ls -l {path} 2>/dev/null | cut -c1-10; cat {path} 2>/dev/null || true"));
    let mine = of(drifted);
    let output = apply(&world, &round, &["--drift", "skip"]);
    assert_eq!((output.status.code(), of(drifted)), (Some(0), mine.clone()), "{}", said(&output));
    assert!(world.exists("link"), "the others are applied");
    world.done(&["undo"]);
    assert_eq!(state(&world), before);
    let output = apply(&world, &round, &["--drift", "prefer"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    world.git(&["add", "-A"]);
    assert_eq!(world.git(&["diff", "--cached", "--name-only", field(&round, "branch"), "--", drifted]), "");
    world.git(&["reset", "-q"]);
    world.done(&["undo"]);
    assert_eq!(of(drifted), mine);
}

/// No checkpoint has it: not even `prefer` replaces it.
#[rstest]
#[case::ignored_file("echo /d/ >.git/info/exclude; mkdir d; echo mine >d/new", "d/new")]
#[case::ignored_below("echo /run/ >.git/info/exclude; mkdir run; echo mine >run/secret", "run/secret")]
#[case::too_large("git config checkpoint.save.maxfilesize 1000; head -c 3000 /dev/zero >run", "run")]
#[case::link("ln -s s d", "d")]
fn what_no_checkpoint_has_stays(#[case] script: &str, #[case] mine: &str) {
    let world = World::with_commit();
    let round = ended(&world);
    world.sh(script);
    let before = state(&world);
    let output = apply(&world, &round, &[]);
    assert_eq!((output.status.code(), state(&world)), (Some(1), before.clone()), "{}", said(&output));
    assert!(said(&output).contains("nothing was applied"), "{}", said(&output));
    let kept = world.sh(&format!("cksum {mine} 2>&1; readlink {mine} || true; ls s"));
    for policy in ["skip", "prefer"] {
        apply(&world, &round, &["--drift", policy]);
        assert_eq!(world.sh(&format!("cksum {mine} 2>&1; readlink {mine} || true; ls s")), kept, "{policy}");
    }
}

/// The round has put a file in the place of a directory, and a directory in the place of a file.
#[test]
fn files_and_directories_change_places() {
    let world = World::with_commit();
    world.sh("mkdir a; echo 1 >a/x; echo 1 >b; git add .; git commit -qm files");
    let round = start(&world, &[]);
    world.sh(&format!("cd '{}'; rm -r a b; echo 2 >a; mkdir b; echo 2 >b/y", path(&round).display()));
    end(&world, &round);
    world.sh("echo mine >a/mine");
    let before = state(&world);
    let output = apply(&world, &round, &[]);
    assert_eq!((output.status.code(), state(&world)), (Some(1), before), "{}", said(&output));
    world.sh("rm a/mine");
    world.done(&["round", "apply", field(&round, "branch")]);
    assert_eq!(world.sh("cat a b/y"), "2\n2\n");
    world.done(&["undo"]);
    assert_eq!(world.sh("cat a/x b"), "1\n1\n");
}

#[test]
fn hunks_can_be_chosen() {
    let world = World::with_commit();
    let round = ended(&world);
    world.sh("echo mine >mine");
    let before = state(&world);
    let output = answer(&world, &["round", "apply", "-p", field(&round, "branch"), "--files", "t"], "n\ny\n");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(world.sh("grep '[a-z]' t"), "twenty-seven\n");
    world.done(&["undo"]);
    assert_eq!(state(&world), before);
    let output = answer(&world, &["round", "apply", "-p", field(&round, "branch")], "q\n");
    assert!(String::from_utf8_lossy(&output.stdout).contains("no hunk was chosen: nothing was applied"));
    assert_eq!(state(&world), before);
    // What only this worktree has is not offered.
    let output = answer(&world, &["round", "apply", "-p", field(&round, "branch")], "");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("mine"));
}

#[test]
fn the_lines_of_the_agent_are_the_agents() {
    let world = World::with_commit().with_clock();
    world.sh("seq 30 >t; git add .; git commit -qm t");
    let round = start(&world, &["--session", "s1"]);
    let root = path(&round);
    let root = super::text(&root);
    world.done(&["-C", root, "session", "prompt", "s1", "-m", "go"]);
    world.sh(&format!(
        "cd '{root}'; sed -i 's/^15$/a fifteen of the agent/' t; for n in 1 2 3; do echo \"agent line $n\" >>new; done"
    ));
    world.done(&["-C", root, "session", "stop", "s1"]);
    world.done(&["-C", root, "session", "end", "s1"]);
    end(&world, &round);
    world.sh("echo a line of a person >mine");
    world.done(&["round", "apply", field(&round, "branch")]);
    let owners = |file: &str| {
        let json = world.json(&["blame", "--json", file]);
        let lines = json["lines"].as_array().expect("lines").iter();
        lines
            .filter_map(|it| it["session"].as_str().map(|session| (it["start"].clone(), session.to_owned())))
            .collect::<Vec<_>>()
    };
    let all = || (owners("t"), owners("new"), owners("mine"));
    let expected = (vec![(json!(15), "s1".to_owned())], vec![(json!(1), "s1".to_owned())], vec![]);
    assert_eq!(all(), expected, "before the commit");
    // Without hooks, what was recorded in another worktree counts as earlier only if it is of an earlier second.
    world.next_second();
    world.sh("git add -A; git commit -qm all");
    world.done(&["save"]);
    assert_eq!(all(), expected, "after the commit");
}

#[test]
fn a_round_that_goes_on_is_applied_as_far_as_it_is_committed() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    world.sh(&format!("cd '{}'; echo 1 >f; git add f; git commit -qm f; echo 2 >later", path(&round).display()));
    let output = apply(&world, &round, &[]);
    assert!(output.status.success() && said(&output).contains("goes on"), "{}", said(&output));
    assert!(world.exists("f") && !world.exists("later"));
    assert_eq!(fs::read_to_string(path(&round).join("later")).expect("it stays"), "2\n");
}

#[test]
fn of_several_branches_one_is_named() {
    let world = World::with_commit();
    world.sh("mkdir s; echo 1 >s/f; git add .; git commit -qm s");
    let round = world.json(&["round", "start", "--context", ".", "--context", "s", "--agent", "a", "--json"]);
    let second = round["contexts"][1]["branch"].as_str().expect("it has a branch");
    fs::write(format!("{}/second", round["contexts"][1]["path"].as_str().expect("a path")), "2\n").expect("writable");
    end(&world, &round);
    let output = world.checkpoint(&["round", "apply", round["round"].as_str().expect("an id")]);
    assert!(said(&output).contains("has several branches") && said(&output).contains(second), "{}", said(&output));
    world.done(&["round", "apply", second]);
    assert!(world.exists("second"));
}

/// The process is killed in the middle: `undo` takes back what is done, as after every restore.
#[test]
fn an_application_that_is_killed_can_be_taken_back() {
    let world = World::with_commit();
    let round = ended(&world);
    let before = state(&world);
    let mut command = world.command(crate::support::program());
    command.args(["round", "apply", field(&round, "branch")]).env("CHECKPOINT_FAILPOINT", "restore:after-write");
    assert_eq!(command.output().expect("it runs").status.code(), None);
    assert_ne!(state(&world), before);
    world.done(&["undo"]);
    assert_eq!(state(&world), before);
}

/// An agent of this worktree changes a file after it was decided what to do with it.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_changes_meanwhile_is_not_replaced() {
    let world = World::with_commit();
    let round = ended(&world);
    let child = world.start_with(&["round", "apply", field(&round, "branch")], "stop@round:before-apply");
    super::super::worktrees::wait_until_halted(child.id());
    world.sh(&format!("echo mine >t; kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert!(!output.status.success() && said(&output).contains("'t' has just been changed"), "{}", said(&output));
    assert_eq!(world.sh("cat t; cat gone; test ! -e run"), "mine\n1\n");
}

/// A round may begin with uncommitted work: what it began with has not changed here.
#[test]
fn the_files_that_a_round_began_with_are_no_drift() {
    let world = World::with_commit();
    world.sh("seq 9 >t; git add t; git commit -qm t; echo ten >>t; echo new >u");
    world.done(&["save", "-q"]);
    let round = start(&world, &["--agent", "a", "--base", "@{0}"]);
    world.sh(&format!("cd '{}'; sed -i 's/^3$/three/' t; echo more >>u", path(&round).display()));
    end(&world, &round);
    let json = world.json(&["round", "apply", field(&round, "branch"), "--dry-run", "--json"]);
    assert_eq!(json["drift"], json!([]), "{json}");
    world.sh("echo mine >>u");
    let json = world.json(&["round", "apply", field(&round, "branch"), "--drift", "skip", "--json"]);
    assert_eq!((&json["drift"], &json["restored"]["written"]), (&json!(["u"]), &json!(["t"])), "{json}");
    assert_eq!(world.sh("cat t u"), "1\n2\nthree\n4\n5\n6\n7\n8\n9\nten\nnew\nmine\n");
}
