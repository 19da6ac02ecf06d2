//! Restores that are killed between two of their steps, and finished with `restore --continue` after the user has changed
//! something.

use std::fs;

use crate::support::{World, processes::described};

/// Runs `restore` and kills it at the step `step`.
fn kill_restore(world: &World, step: &str, arguments: &[&str]) {
    let mut command = world.command(env!("CARGO_BIN_EXE_git-checkpoint"));
    let output = command.arg("restore").args(arguments).env("CHECKPOINT_FAILPOINT", step).output().expect("it runs");
    assert!(!output.status.success(), "{}", described(&output));
}

fn tip(world: &World) -> String {
    world.sh("git for-each-ref --format='%(objectname)' refs/checkpoints/shadow").trim().to_owned()
}

/// What stands behind a link of the user's is another file than the one that was to be deleted.
#[test]
fn a_link_of_the_users_in_the_place_of_a_directory_hides_no_deletion() {
    let world = World::with_commit();
    world.write("d", "a file\n");
    world.done(&["save"]);
    let one = tip(&world);
    world.sh("rm d; mkdir d; echo x >d/x; echo y >d/y");
    kill_restore(&world, "restore:after-journal", &["--all", &one]);
    world.sh("mv d e; ln -s e d");
    let output = world.checkpoint(&["restore", "--continue"]);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("deleted"), "{}", described(&output));
    assert_eq!(world.sh("readlink d; cat e/x e/y"), "e\nx\ny\n");
}

/// The index entry and its mark are written at once.
#[test]
fn a_path_that_sparse_checkout_leaves_out_keeps_its_mark() {
    let world = World::with_commit();
    world.sh("mkdir in out; echo 1 >in/k; echo 1 >out/s; git add .; git commit -qm one; git checkout -qb two");
    world.sh("echo 2 >in/k; echo 2 >out/s; git commit -qam two; git checkout -q main; git sparse-checkout set in");
    world.done(&["save", "--allow-empty"]);
    let one = tip(&world);
    world.git(&["checkout", "-q", "two"]);
    // Git is killed before it runs the command that marks the path, and so is its caller.
    let folder = world.root().join("bin");
    fs::create_dir(&folder).expect("the root is the test's");
    let path = std::env::var("PATH").expect("there is a PATH");
    let script =
        "#!/bin/sh\ncase \"$*\" in *--skip-worktree*) kill -9 $PPID; exit 1;; esac\nPATH=${PATH#*:} exec git \"$@\"\n";
    fs::write(folder.join("git"), script).expect("the folder is new");
    world.sh("chmod +x ../bin/git");
    let mut command = world.command(env!("CARGO_BIN_EXE_git-checkpoint"));
    command.args(["restore", "--all", "--staged", &one]).env("PATH", format!("{}:{path}", folder.display()));
    assert!(!command.output().expect("it runs").status.success());
    world.done(&["restore", "--continue"]);
    assert_eq!(world.sh("git ls-files -t in out; git show :out/s"), "H in/k\nS out/s\n1\n");
}

/// The state in which a kill leaves the files is not what somebody has edited.
#[test]
fn the_undo_of_a_killed_restore_calls_only_edits_edits() {
    let world = World::with_commit().with_clock();
    world.sh("for n in 1 2 3; do seq 9 >f$n; done; git add .; git commit -qm three");
    world.done(&["save", "-q", "--allow-empty"]);
    for is_edited in [false, false, false, true] {
        world.sh("for n in 1 2 3; do seq 1 2 9 >f$n; done");
        kill_restore(&world, "restore:after-write:2", &["base"]);
        if is_edited {
            world.write("f1", "edited\n");
        }
        let output = world.checkpoint(&["undo", "--all"]);
        assert_eq!(world.sh("cat f1"), world.sh("cat f3"));
        assert_eq!(described(&output).contains("brings back what was edited"), is_edited, "{}", described(&output));
    }
}
