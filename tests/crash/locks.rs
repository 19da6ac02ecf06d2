//! Git's locks: those that we leave when we are killed go with the next command, those of others stay.

use std::{
    fs,
    os::unix::{fs::MetadataExt as _, process::ExitStatusExt as _},
    path::PathBuf,
    process::Output,
    time::Duration,
};

use crate::support::{World, processes::described, program};

const SIGABRT: i32 = 6;

/// Between each two changes of git's files by a change of refs.
const STEPS: [&str; 5] =
    ["refs:before-lock", "refs:after-lock", "refs:after-packed-lock", "refs:after-removal", "refs:after-change"];

/// More of one step are in none of these commands.
const MOST: usize = 40;

fn site() -> World {
    World::with_hooks()
}

/// Sets two shadows aside, and begins one; there are no others.
fn archive(world: &World, trial: usize) {
    world.done(&["prune", "-q", "--keep", "0"]);
    for n in 0..2 {
        world.write("f", format!("trial {trial}, archived {n}\n"));
        world.done(&["save", "-q"]);
        world.done(&["reset", "-q", "--force"]);
    }
    save(world, trial);
}

fn archive_and_pack(world: &World, trial: usize) {
    archive(world, trial);
    world.git(&["pack-refs", "--all"]);
}

fn save(world: &World, trial: usize) {
    world.write("f", format!("trial {trial}, saved\n"));
    world.done(&["save", "-q"]);
}

fn change(world: &World, trial: usize) {
    save(world, trial);
    world.write("f", format!("trial {trial}, only in the worktree\n"));
}

/// The checkpoints are on another commit than HEAD.
fn move_head(world: &World, trial: usize) {
    save(world, trial);
    world.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qam", "moved"]);
    world.write("f", format!("trial {trial}, only in the worktree\n"));
}

fn stage(world: &World, trial: usize) {
    world.write("f", format!("trial {trial}, staged\n"));
    world.git(&["add", "f"]);
    world.done(&["save", "-q"]);
    world.git(&["reset", "-q"]);
    world.write("f", format!("trial {trial}, only in the worktree\n"));
}

fn turn(world: &World, trial: usize) {
    world.done(&["session", "prompt", "one", "-m", "do it", "--agent", "claude-code"]);
    world.write("f", format!("trial {trial}, of an agent\n"));
    world.done(&["save", "-q", "--session", "one"]);
    world.git(&["add", "-A"]);
    world.write("b", format!("trial {trial}, only in the worktree\n"));
}

fn locks(world: &World) -> Vec<PathBuf> {
    let mut left = world.leftovers();
    left.retain(|path| path.extension().is_some_and(|end| end == "lock"));
    left
}

fn run(world: &World, line: &[&str], failpoint: &str) -> Output {
    world.command(line[0]).args(&line[1..]).env("CHECKPOINT_FAILPOINT", failpoint).output().expect("it runs")
}

/// Checks that git can do all that takes a lock.
fn assert_free(world: &World, when: &str) {
    for line in [
        &["pack-refs", "--all"][..],
        &["branch", "another"],
        &["branch", "-q", "-d", "another"],
        &["update-index", "--refresh", "-q"],
    ] {
        let output = world.command("git").args(line).output().expect("git runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("lock"), "{when}: git {line:?}: {said}");
    }
    world.assert_sound(when);
}

#[rstest::rstest]
#[case::prune(archive, &["git", "checkpoint", "prune", "-q", "--keep", "0"])]
#[case::prune_packed(archive_and_pack, &["git", "checkpoint", "prune", "-q", "--keep", "0"])]
#[case::reset(save, &["git", "checkpoint", "reset", "-q", "--force"])]
#[case::save(change, &["git", "checkpoint", "save", "-q"])]
#[case::save_after_head_moved(move_head, &["git", "checkpoint", "save", "-q"])]
#[case::restore_staged(stage, &["git", "checkpoint", "restore", "-q", "--staged", "--all", "@{0}"])]
#[case::stop(turn, &["git", "checkpoint", "session", "stop", "one"])]
#[case::commit(turn, &["git", "commit", "-qm", "work"])]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn locks_of_a_killed_process_go_with_the_next_command(#[case] prepare: fn(&World, usize), #[case] line: &[&str]) {
    let world = site();
    let (mut trial, mut left) = (0, 0);
    for step in STEPS {
        for nth in 1..=MOST {
            let when = format!("{line:?} at {step}:{nth}");
            trial += 1;
            prepare(&world, trial);
            let died = run(&world, line, &format!("{step}:{nth}"));
            let is_hook = line[1] == "commit";
            let is_met =
                died.status.code() != Some(0) || is_hook && String::from_utf8_lossy(&died.stderr).contains("Abort");
            if !is_met {
                assert!(nth < MOST, "{when}: is never over");
                break;
            }
            assert!(is_hook || [Some(134), None].contains(&died.status.code()), "{when}: {}", described(&died));
            left += usize::from(!locks(&world).is_empty());
            // Nothing has changed, maybe.
            world.done(&["save", "-q"]);
            assert_eq!(world.leftovers(), Vec::<PathBuf>::new(), "{when}");
            if line.contains(&"restore") {
                // The log says that all is done before the journal does.
                world.checkpoint(&["restore", "--continue"]);
            }
        }
        assert_free(&world, &format!("{line:?} at {step}"));
    }
    assert!(left > 0, "a lock was left at all");
}

/// Leaves a prune killed that holds all its locks.
fn killed_prune() -> World {
    let world = site();
    archive(&world, 1);
    let line = [program(), "prune", "-q", "--keep", "0"];
    let died = run(&world, &line, "refs:after-packed-lock");
    assert_eq!(died.status.signal(), Some(SIGABRT), "{}", described(&died));
    assert_eq!(locks(&world).len(), 4, "two refs, the operation log, and the packed refs");
    world
}

#[rstest::rstest]
#[case::prune(&["prune", "-q", "--keep", "1"])]
#[case::nothing_to_prune(&["prune", "-q", "--keep", "9"])]
#[case::verify(&["verify", "-q"])]
#[case::prompt(&["session", "prompt", "one", "-m", "go on"])]
#[case::enable(&["enable"])]
#[case::restore(&["restore", "-q", "--all", "@{0}"])]
#[case::hook(&["hook", "post-checkout", "a", "b", "1"])]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn any_command_that_locks_removes_them(#[case] next: &[&str]) {
    let world = killed_prune();
    drop(world.checkpoint(next));
    assert_eq!(world.leftovers(), Vec::<PathBuf>::new());
    assert_free(&world, &format!("{next:?}"));
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn doctor_names_the_locks_of_a_killed_process_and_removes_them_if_asked() {
    let world = killed_prune();
    let blocked = world.command("git").args(["pack-refs", "--all"]).output().expect("git runs");
    assert!(!blocked.status.success(), "git needs the lock");
    let before = locks(&world);
    world.done(&["status"]);
    let named = world.checkpoint(&["doctor"]);
    let said = described(&named);
    assert_eq!(named.status.code(), Some(1), "{said}");
    for path in &before {
        let line = format!("problem: {}: a git-checkpoint that was killed has left this lock", path.display());
        assert!(said.contains(&line), "{said}");
    }
    assert_eq!(locks(&world), before, "only named");
    let fixed = described(&world.checkpoint(&["doctor", "--fix"]));
    assert_eq!(fixed.matches("fixed: ").count(), 4, "{fixed}");
    assert_eq!(world.leftovers(), Vec::<PathBuf>::new());
    assert_free(&world, "doctor --fix");
    world.done(&["doctor"]);
}

/// A prune that lives holds its locks, whatever comes meanwhile.
#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn the_locks_of_a_living_process_stay() {
    let world = site();
    archive(&world, 1);
    let child = world.start_with(&["prune", "--keep", "0"], "stop@refs:after-packed-lock");
    crate::support::processes::halted(&child);
    let before = locks(&world);
    assert_eq!(before.len(), 4);
    world.write("f", "changed\n");
    // It waits in vain for the lock of the operation log, and goes on without an entry.
    world.done(&["save", "-q"]);
    world.done(&["doctor", "--fix"]);
    assert_eq!(locks(&world), before);
    crate::support::processes::signal(&child, "CONT");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", described(&output));
    world.done(&["save", "-q"]);
    assert_eq!(world.leftovers(), Vec::<PathBuf>::new());
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_lock_that_another_has_made_in_place_of_ours_stays() {
    let world = killed_prune();
    let ours = locks(&world);
    for path in &ours {
        // By the same name, and with the same content.
        fs::remove_file(path).expect("it is there");
        fs::write(path, "").expect("written");
    }
    change(&world, 2);
    world.done(&["save", "-q"]);
    world.done(&["doctor", "--fix"]);
    assert_eq!(world.leftovers(), ours);
}

/// While we are about to remove dead locks, a user deletes them and git takes new ones.
#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_lock_that_git_takes_while_we_remove_ours_stays() {
    let world = killed_prune();
    let all = locks(&world);
    let child = world.start_with(&["doctor", "--fix"], "stop@refs:before-unlock");
    crate::support::processes::halted(&child);
    let inodes: Vec<u64> = all
        .iter()
        .map(|path| {
            fs::remove_file(path).expect("it is there");
            fs::write(path, "git's").expect("written");
            fs::metadata(path).expect("there").ino()
        })
        .collect();
    crate::support::processes::signal(&child, "CONT");
    let output = child.wait_with_output().expect("it ends");
    let now: Vec<u64> = all.iter().filter_map(|path| Some(fs::metadata(path).ok()?.ino())).collect();
    assert_eq!(now, inodes, "{}", described(&output));
    assert_eq!(world.leftovers(), all, "{}", described(&output));
}

#[rstest::rstest]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn the_next_command_finishes_a_killed_removal_of_locks(
    #[values("before", "amid")] step: &str,
    #[values(1, 2, 3)] nth: usize,
) {
    let world = killed_prune();
    let line = [program(), "doctor", "--fix"];
    let died = run(&world, &line, &format!("refs:{step}-unlock:{nth}"));
    assert_eq!(died.status.signal(), Some(SIGABRT), "{}", described(&died));
    let left = if step == "before" { 5 - nth } else { 4 - nth };
    assert_eq!(locks(&world).len(), left, "before the next command");
    change(&world, 2);
    world.done(&["save", "-q"]);
    assert_eq!(world.leftovers(), Vec::<PathBuf>::new());
    assert_free(&world, step);
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_lock_from_another_host_is_named_and_stays() {
    let world = killed_prune();
    let before = locks(&world);
    for note in fs::read_dir(world.repo().join(".git/checkpoint/locks")).expect("there").flatten() {
        let name = note.file_name().into_string().expect("plain");
        let (nonce, _) = name.split_once('@').expect("a note");
        fs::rename(note.path(), note.path().with_file_name(format!("{nonce}@another-boot@elsewhere"))).expect("ours");
    }
    age(&before[0]);
    change(&world, 2);
    world.done(&["save", "-q"]);
    let said = described(&world.checkpoint(&["doctor", "--fix"]));
    assert!(said.contains("problem: ") && said.contains("on the host 'elsewhere'"), "{said}");
    assert_eq!(locks(&world), before);
}

/// Makes the file look as if it were old.
fn age(path: &PathBuf) {
    let old = std::time::SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().write(true).open(path).and_then(|file| file.set_modified(old)).expect("it is ours");
}

#[test]
fn a_lock_that_is_none_of_ours_is_named_and_stays() {
    let world = site();
    save(&world, 1);
    let reference = world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow/"]);
    let git_dir = world.repo().join(".git");
    let lock = git_dir.join(format!("{}.lock", reference.trim()));
    let all = [lock.clone(), git_dir.join("packed-refs.lock"), git_dir.join("index.lock"), git_dir.join("HEAD.lock")];
    for path in &all {
        fs::write(path, "").expect("written");
        age(path);
    }
    // A process of ours was killed, too.
    fs::write(git_dir.join("checkpoint/lock"), "1 on nowhere, since yesterday\n0123456789abcdef\n").expect("written");
    world.write("f", "only in the worktree\n");
    let refused = world.checkpoint(&["save", "--json"]);
    let said = described(&refused);
    assert_eq!(refused.status.code(), Some(128), "{said}");
    assert!(refused.stdout.is_empty());
    assert!(said.contains(&format!("'{}' exists", lock.display())) && said.contains("remove the file"), "{said}");
    let said = described(&world.checkpoint(&["doctor", "--fix"]));
    for path in &all {
        assert!(
            said.contains(&format!("problem: {}: a git process holds this lock since 2", path.display())),
            "{said}"
        );
        assert!(path.exists(), "{}", path.display());
    }
    fs::remove_file(&lock).expect("it is there");
    world.done(&["save", "--json"]);
}

/// A lock that git has left keeps a record from being finished: each command tries, and none waits for it.
#[test]
fn a_lock_that_stays_makes_no_command_slow() {
    let world = site();
    world.done(&["session", "prompt", "one", "-m", "do it"]);
    for name in ["a", "b"] {
        world.write(name, format!("{name}, by an agent\n").repeat(6));
        world.done(&["save", "-q", "--session", "one"]);
    }
    world.git(&["add", "a"]);
    let lock = world.repo().join(".git/packed-refs.lock");
    fs::write(&lock, "").expect("written");
    let elapsed = |arguments: &[&str]| {
        let start = std::time::Instant::now();
        let output = world.checkpoint(arguments);
        assert!(output.status.code().is_some_and(|code| [0, 128].contains(&code)), "{}", described(&output));
        start.elapsed()
    };
    world.git(&["commit", "-qm", "a"]);
    // As long as git waits for it, once.
    let first = elapsed(&["session", "prompt", "one", "-m", "go on"]);
    assert!(first < Duration::from_millis(1900), "{first:?}");
    age(&lock);
    for arguments in [&["save", "-q"][..], &["session", "stop", "one"], &["session", "prompt", "two", "-m", "go on"]] {
        world.write("b", format!("{arguments:?}\n"));
        let elapsed = elapsed(arguments);
        assert!(elapsed < Duration::from_millis(900), "{arguments:?}: {elapsed:?}");
    }
    fs::remove_file(&lock).expect("it stays");
    world.done(&["save", "-q"]);
    world.assert_accounted("once it is gone");
    assert_eq!(world.leftovers(), Vec::<PathBuf>::new());
}
