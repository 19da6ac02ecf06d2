//! `worktree remove` and `worktree restore` that are killed, and beside other processes: nothing is lost.

use std::{
    fs,
    os::unix::process::ExitStatusExt as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rstest::rstest;
use serde_json::json;

use super::{
    by_git, by_us, json_of,
    removed::{state, with_work},
    said,
};
use crate::support::{World, program};

const SIGABRT: i32 = 6;

/// Runs the program with `arguments`, which dies at `step`.
pub(super) fn dies(world: &World, arguments: &[&str], step: &str) {
    let output = world.command(program()).args(arguments).env("CHECKPOINT_FAILPOINT", step).output();
    let output = output.expect("the program runs");
    assert_eq!(output.status.signal(), Some(SIGABRT), "{step}: {}", said(&output));
}

/// After each step, the worktree is there, or can be restored, as it was.
#[rstest]
#[case::record("worktree:after-record", false)]
#[case::lock("worktree:after-lock", false)]
#[case::tree("worktree:after-tree", false)]
#[case::admin("worktree:after-admin", true)]
fn a_killed_removal_has_removed_all_or_nothing(#[case] step: &str, #[case] is_removed: bool) {
    let world = World::with_commit();
    let path = with_work(&world);
    let before = state(&world, &path);
    dies(&world, &["worktree", "remove", "--force", "side"], step);
    // Git forgets nothing of it meanwhile, and the next command that is about to move worktrees puts it back.
    world.sh("git worktree prune --expire=now; git -c gc.reflogExpire=never gc -q --prune=now");
    let pruned = json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!((&pruned["forgotten"], &pruned["left"]), (&json!([]), &json!([])), "{step}");
    assert_eq!(path.exists(), !is_removed, "{step}");
    if is_removed {
        let back = world.checkpoint(&["worktree", "restore", "side"]);
        assert!(back.status.success(), "{step}: {}", said(&back));
    }
    assert_eq!(state(&world, &path), before, "{step}");
    assert_eq!(by_us(&world), by_git(&world));
    assert!(!world.git(&["worktree", "list", "--porcelain"]).contains("locked"), "{step}");
    assert_eq!(world.sh("ls -A .git/checkpoint/removed"), "", "{step}");
    // It can be removed once more.
    let output = world.checkpoint(&["worktree", "remove", "--force", "side"]);
    assert!(output.status.success(), "{step}: {}", said(&output));
}

#[rstest]
#[case::admin("worktree:after-admin-back", "true")]
#[case::branch_moved("worktree:after-admin-back", "git branch -qf side main")]
#[case::tree("worktree:after-tree-back", "true")]
fn a_killed_restore_goes_on(#[case] step: &str, #[case] meanwhile: &str) {
    let world = World::with_commit();
    world.git(&["branch", "-M", "main"]);
    let path = with_work(&world);
    let before = state(&world, &path);
    let status = || world.sh(&format!("cd '{}'; git rev-parse HEAD; git status --porcelain", path.display()));
    let facts = status();
    let removed = json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let id = removed["id"].as_str().expect("an id");
    world.sh(meanwhile);
    dies(&world, &["worktree", "restore", id], step);
    world.sh("git worktree prune --expire=now");
    json_of(&world, &["worktree", "prune", "--json"]);
    if meanwhile == "true" {
        assert_eq!(state(&world, &path), before);
    }
    // HEAD is at the commit that the files are from, with the branch or without it.
    assert_eq!(status(), facts, "{step}");
    assert!(!world.git(&["worktree", "list", "--porcelain"]).contains("locked"), "{step}");
    assert_eq!(world.sh("ls -A .git/checkpoint/removed"), "");
}

/// A deletion that is killed goes on, and half of a worktree is never restored.
#[test]
fn a_killed_deletion_goes_on() {
    let world = World::with_commit();
    with_work(&world);
    let id = json_of(&world, &["worktree", "remove", "--force", "side", "--json"])["id"].clone();
    dies(&world, &["worktree", "prune", "--removed"], "worktree:after-dropped");
    assert_eq!(json_of(&world, &["worktree", "restore", "--list", "--json"])["removed"], json!([]));
    for arguments in [&["worktree", "prune", "-n", "--json"][..], &["worktree", "prune", "--json"]] {
        let pruned = json_of(&world, arguments);
        assert_eq!((&pruned["deleted"][0]["id"], &pruned["kept"]), (&id, &json!(0)), "{pruned}");
    }
    assert_eq!(world.sh("ls -A .git/checkpoint/removed"), "");
}

/// Waits until the process `pid` is halted.
pub(in crate::ops) fn wait_until_halted(pid: u32) {
    let start = Instant::now();
    let is_halted = || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|text| text.contains(") T "));
    while !is_halted() {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not get there");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Somebody works in it between the checkpoint and the removal: it stays, with that work.
#[cfg(target_os = "linux")]
#[rstest]
#[case::edits("echo mine >>t", "has just been changed")]
#[case::new_ignored_file("echo mine >out/mine", "has just been changed")]
#[case::removes("rm t", "")]
#[case::commits("git commit -qm mine", "has just been changed")]
#[case::begins_a_turn("git checkpoint session prompt s1 --agent ag", "the session 's1' has a turn under way")]
#[case::locks("git worktree lock .", "is locked")]
fn work_that_begins_meanwhile_is_not_lost(
    #[case] script: &str,
    #[case] words: &str,
    // It is halted before it takes the lock of the worktrees, or just after it has looked at all of them again.
    #[values("worktree:after-save", "worktree:after-record")] step: &str,
) {
    let world = World::with_commit();
    let path = with_work(&world);
    let child = world.start_with(&["worktree", "remove", "--force", "side"], &format!("stop@{step}"));
    wait_until_halted(child.id());
    world.sh(&format!("cd '{}'; {{ {script}; }} >/dev/null", path.display()));
    let after = state(&world, &path);
    world.sh(&format!("kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    if output.status.success() {
        // What is not seen is not lost.
        assert!(words.is_empty(), "{}", said(&output));
        assert!(world.checkpoint(&["worktree", "restore", "side"]).status.success());
    } else {
        assert!(!words.is_empty() && said(&output).contains(words), "{}", said(&output));
    }
    assert_eq!(state(&world, &path), after);
}

/// `--force` beside a process that writes there all the time, from outside.
#[test]
fn what_is_written_beside_a_removal_is_not_lost() {
    let world = World::with_commit();
    let path = with_work(&world);
    let (log, ends) = (path.join("log"), world.root().join("ends"));
    let script = format!(
        "n=0; while [ ! -e '{ends}' ]; do echo line >>'{log}' 2>/dev/null && n=$((n + 1)); done; echo $n",
        ends = ends.display(),
        log = log.display()
    );
    let writer = Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(50));
    let outputs: Vec<_> = (0..3).map(|_| world.checkpoint(&["worktree", "remove", "--force", "side"])).collect();
    fs::write(&ends, "").expect("writable");
    let written = writer.wait_with_output().expect("it ends");
    if outputs.iter().any(|output| output.status.success()) {
        assert!(world.checkpoint(&["worktree", "restore", "side"]).status.success());
    }
    let lines = fs::read_to_string(&log).expect("it is there").lines().count();
    let said: Vec<_> = outputs.iter().map(said).collect();
    assert_eq!(String::from_utf8_lossy(&written.stdout).trim(), lines.to_string(), "{said:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_in_it_keeps_it() {
    let world = World::with_commit();
    let path = with_work(&world);
    let mut sleeper = Command::new("sleep").arg("60").current_dir(path.join("out")).spawn().expect("it starts");
    let output = world.checkpoint(&["worktree", "remove", "--force", "side"]);
    sleeper.kill().expect("it is ours");
    sleeper.wait().expect("it has ended");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(&format!("the process {} (sleep) works in", sleeper.id())), "{}", said(&output));
    assert!(path.join("out/o").exists());
}

/// Of removals at once, one removes the worktree, and the others say so; the same holds for restores.
#[test]
fn removals_at_once_remove_it_once() {
    let world = World::with_commit();
    let path = with_work(&world);
    let before = state(&world, &path);
    let at_once = |arguments: &[&str]| {
        let children: Vec<_> = (0..4).map(|_| world.start(arguments)).collect();
        let outputs: Vec<_> = children.into_iter().map(|it| it.wait_with_output().expect("it ends")).collect();
        let done = outputs.iter().filter(|output| output.status.success()).count();
        assert_eq!(done, 1, "{:?}", outputs.iter().map(said).collect::<Vec<_>>());
    };
    for _ in 0..3 {
        at_once(&["worktree", "remove", "--force", "side"]);
        assert!(!path.exists());
        assert_eq!(
            json_of(&world, &["worktree", "restore", "--list", "--json"])["removed"].as_array().map(Vec::len),
            Some(1)
        );
        at_once(&["worktree", "restore", "side"]);
        assert_eq!(state(&world, &path), before);
    }
}

/// Each removal reads the files of the worktree: that is no work in it which another removal would have to leave alone.
#[cfg(target_os = "linux")]
#[test]
fn a_removal_waits_for_another_one() {
    let world = World::with_commit();
    let path = with_work(&world);
    // Its first look at this file takes until then.
    let wait = "touch ../looks; for i in $(seq 600); do [ -e ../go-on ] && break; sleep 0.1; done; cat";
    world.sh(&format!(
        "cd ../repo-wt-side; echo 'slow filter=slow' >>.gitattributes; git config filter.slow.clean '{wait}'"
    ));
    fs::write(path.join("slow"), "1\n").expect("writable");
    world.settle();
    let arguments = ["worktree", "remove", "--force", "side"];
    let first = world.start(&arguments);
    let start = Instant::now();
    while !world.root().join("looks").exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not look at the file");
        std::thread::sleep(Duration::from_millis(10));
    }
    let second = world.start(&arguments);
    std::thread::sleep(Duration::from_millis(500));
    fs::write(world.root().join("go-on"), "").expect("writable");
    let [first, second] = [first, second].map(|it| it.wait_with_output().expect("it ends"));
    assert!(first.status.success(), "{}", said(&first));
    assert_eq!(second.status.code(), Some(128), "{}", said(&second));
    assert!(said(&second).contains("another process has removed the worktree"), "{}", said(&second));
}

/// The lock of a removal that was killed is nobody's: the next one goes on.
#[test]
fn a_removal_goes_on_after_one_that_was_killed() {
    let world = World::with_commit();
    let path = with_work(&world);
    let before = state(&world, &path);
    dies(&world, &["worktree", "remove", "--force", "side"], "worktree:after-lock");
    let output = world.checkpoint(&["worktree", "remove", "--force", "side"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(world.checkpoint(&["worktree", "restore", "side"]).status.success());
    assert_eq!(state(&world, &path), before);
}

/// Between the look and the removal, the branch is checked out elsewhere: no branch is ever deleted.
#[cfg(target_os = "linux")]
#[test]
fn a_branch_that_gains_a_checkout_stays() {
    let world = World::with_commit();
    let path = with_work(&world);
    let child = world.start_with(&["worktree", "remove", "--force", "side"], "stop@worktree:after-record");
    wait_until_halted(child.id());
    world.sh("git worktree add -q -f ../other side");
    world.sh(&format!("kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(world.git(&["-C", "../other", "branch", "--show-current"]).trim(), "side");
    let back = json_of(&world, &["worktree", "restore", "side", "--json"]);
    assert_eq!(back["detached"], json!("elsewhere"));
    assert_eq!(fs::read(path.join("t")).expect("it is back"), b"unstaged\n");
}
