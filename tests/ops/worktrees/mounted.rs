//! A worktree that a process has mounted at another path, as a container or a sandbox has.

use std::fs;

use serde_json::{Value, json};

use super::{add, left_alone::with_mounts};
use crate::support::World;

/// Lets a process `$P` with mounts of its own have the directory `$D` at another path, where it writes a file when `../go` is
/// there.
fn sandbox(what: &str) -> String {
    format!(
        "rm -f ../ready ../go ../done; unshare --mount sh -c 'mount --bind '$D' ../mnt; {what}; touch $T/ready
         for i in $(seq 200); do [ -e $T/go ] && break; sleep 0.1; done; echo work >$T/mnt/agent.txt; touch $T/done
         sleep 1' &
         P=$!; for i in $(seq 100); do [ -e ../ready ] && break; sleep 0.1; done"
    )
}

/// Lets it write that, and waits for its end.
const GO: &str = "touch ../go; wait $P";

/// It works there, or it only could, as an idle container could.
#[cfg(target_os = "linux")]
#[rstest::rstest]
#[case::works("cd ../mnt")]
#[case::idle("true")]
fn a_worktree_that_a_sandbox_has_mounted_stays(#[case] what: &str) {
    let world = World::with_commit();
    let path = add(&world, "side");
    world.sh("mkdir ../mnt");
    world.settle();
    // The removed one is found at its new place.
    let script = format!(
        "export T=$(cd ..; pwd); D=../repo-wt-side; {sandbox}
         set +e; git checkpoint worktree remove --force side; echo status $?
         {GO}
         git checkpoint worktree remove --force side; echo status $?
         D=$(echo .git/checkpoint/removed/*/tree); {sandbox}
         echo --- $P; git checkpoint worktree prune --removed -n --json; echo ---
         git checkpoint worktree prune --removed --json; echo ---
         {GO}",
        sandbox = sandbox(what)
    );
    let Some(printed) = with_mounts(&world, &script) else { return };
    let statuses: Vec<_> = printed.lines().filter(|line| line.starts_with("status ")).collect();
    assert_eq!(statuses, ["status 1", "status 0"], "{printed}");
    assert!(printed.contains(&format!(" has '{}' mounted", path.display())), "{printed}");
    let pid = printed.split("--- ").nth(1).and_then(|rest| rest.lines().next()?.parse::<u32>().ok());
    let left = json!([{ "path": path, "why": "in-use", "process": pid }]);
    let reports: Vec<_> = printed.lines().filter(|line| line.starts_with('{')).collect();
    let texts: Vec<Value> = reports.iter().map(|text| serde_json::from_str(text).expect("JSON")).collect();
    assert_eq!(texts.len(), 2, "{printed}");
    for pruned in texts {
        assert_eq!((&pruned["left"], &pruned["deleted"], &pruned["kept"]), (&left, &json!([]), &json!(1)));
    }
    // What it wrote is there.
    assert!(world.checkpoint(&["worktree", "restore", "side"]).status.success());
    assert_eq!(fs::read(path.join("agent.txt")).expect("it is there"), b"work\n");
}

/// The mount is where this command sees it, too.
#[cfg(target_os = "linux")]
#[test]
fn a_worktree_that_is_mounted_elsewhere_stays() {
    let world = World::with_commit();
    add(&world, "side");
    world.sh("mkdir ../mnt ../repo-wt-side/d.ign; echo '*.ign' >>.git/info/exclude");
    world.settle();
    let script = "mount --bind ../repo-wt-side/d.ign ../mnt
         set +e; git checkpoint worktree remove --force side; echo status $?
         umount ../mnt; git checkpoint worktree remove --force side; echo status $?
         mount --bind .git/checkpoint/removed/*/tree/d.ign ../mnt
         git checkpoint worktree prune --removed; umount ../mnt";
    let Some(printed) = with_mounts(&world, script) else { return };
    let statuses: Vec<_> = printed.lines().filter(|line| line.starts_with("status ")).collect();
    assert_eq!(statuses, ["status 1", "status 0"], "{printed}");
    assert!(printed.contains(&format!("is mounted at '{}'", world.root().join("mnt").display())), "{printed}");
    assert!(world.checkpoint(&["worktree", "restore", "side"]).status.success(), "{printed}");
}

/// A process works in the worktree by a mount of the directory above it, with mounts of its own or without them.
#[cfg(target_os = "linux")]
#[rstest::rstest]
#[case::here("")]
#[case::in_a_sandbox("unshare --mount")]
fn a_worktree_in_a_mounted_directory_stays_while_a_process_works_there(#[case] sandbox: &str) {
    let world = World::with_commit();
    add(&world, "side");
    world.sh("mkdir ../mnt");
    world.settle();
    let script = format!(
        "T=$(cd ..; pwd); rm -f ../ready
         {sandbox} sh -c \"mount --bind $T $T/mnt; cd $T/mnt/repo-wt-side; touch $T/ready; exec sleep 60\" &
         P=$!; for i in $(seq 100); do [ -e ../ready ] && break; sleep 0.1; done
         set +e; git checkpoint worktree remove --force side; echo status $?
         kill $P; wait $P; umount ../mnt 2>/dev/null
         git checkpoint worktree remove --force side; echo status $?"
    );
    let Some(printed) = with_mounts(&world, &script) else { return };
    let statuses: Vec<_> = printed.lines().filter(|line| line.starts_with("status ")).collect();
    assert_eq!(statuses, ["status 1", "status 0"], "{printed}");
}

/// What a sandbox has at the path of the worktree is another directory.
#[cfg(target_os = "linux")]
#[test]
fn a_process_in_another_directory_of_that_path_is_not_in_the_worktree() {
    let world = World::with_commit();
    add(&world, "side");
    world.sh("mkdir ../other");
    world.settle();
    let script = "T=$(cd ..; pwd); rm -f ../ready
         unshare --mount sh -c \"mount --bind $T/other $T/repo-wt-side; cd $T/repo-wt-side; touch $T/ready; exec sleep 60\" &
         P=$!; for i in $(seq 100); do [ -e ../ready ] && break; sleep 0.1; done
         set +e; git checkpoint worktree remove --force side; echo status $?; kill $P; wait $P; true";
    let Some(printed) = with_mounts(&world, script) else { return };
    let statuses: Vec<_> = printed.lines().filter(|line| line.starts_with("status ")).collect();
    assert_eq!(statuses, ["status 0"], "{printed}");
}
