//! What others have put into a worktree, or mounted there, is never deleted; nor is what only a submodule has.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output},
};

use rstest::rstest;
use serde_json::{Value, json};

use super::{
    add,
    adds::write_hook,
    by_git, json_of,
    removal_races::{dies, wait_until_halted},
    removed::{state, with_work},
    run_in, said,
};
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

/// The repository of a submodule is in git's directory of the worktree, also after the submodule was deinitialized.
#[rstest]
#[case::checked_out("true")]
#[case::deinitialized("git submodule --quiet deinit lib")]
fn a_worktree_with_the_repository_of_a_submodule_is_not_removed(#[case] script: &str) {
    let world = World::with_commit();
    world.sh("git init -q ../lib; (cd ../lib; echo l >l; git add .; git commit -qm l)
         git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -qam sub
         git worktree add -q -b side ../w; cd ../w; git -c protocol.file.allow=always submodule --quiet update --init
         cd lib; git commit -q --allow-empty -m unpushed; git switch -qc work; git switch -q --detach HEAD^");
    world.sh(&format!("cd ../w; {script}"));
    world.settle();
    assert_eq!(world.try_git(&["worktree", "remove", "../w"]).status.code(), Some(128));
    world.sh("echo mine >../w/new");
    let output = world.checkpoint(&["worktree", "remove", "--force", "side"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("submodules") && !said(&output).contains("deinit"), "{}", said(&output));
    // No hint names a command that deletes what no checkpoint has; and one has the other files.
    assert!(!said(&output).contains("worktree remove"), "{}", said(&output));
    assert_eq!(world.sh("cd ../w; git checkpoint list --json | grep -c Before").trim(), "1");
    world.sh("rm ../w/new");
    let log = world.sh("git --git-dir=.git/worktrees/w/modules/lib log --format=%s work");
    assert_eq!(log, "unpushed\nl\n");
    // Git leaves the empty directory behind.
    world.sh("cd ../w; git submodule --quiet deinit -f lib; rm -rf ../repo/.git/worktrees/w/modules/*");
    world.settle();
    let output = world.checkpoint(&["worktree", "remove", "--force", "side"]);
    assert!(output.status.success(), "{}", said(&output));
}

/// Runs `script` with mounts of its own; returns nothing where that is not allowed.
pub(super) fn with_mounts(world: &World, script: &str) -> Option<String> {
    let can = world.command("sh").args(["-c", "unshare --map-root-user --mount true 2>/dev/null"]).status();
    if !can.expect("there is a shell").success() {
        return None;
    }
    fs::write(world.root().join("script"), script).expect("it can be written");
    Some(world.sh("unshare --map-root-user --mount sh -e ../script 2>&1"))
}

/// A process that does not see the mount has removed the worktree.
#[cfg(target_os = "linux")]
#[rstest]
#[case::inside("repo-wt-side/data.ign", ".git/checkpoint/removed/*/tree/data.ign")]
#[case::its_root("other", ".git/checkpoint/removed/*/tree")]
fn what_is_mounted_in_a_removed_worktree_is_not_deleted(#[case] place: &str, #[case] moved: &str) {
    let world = World::with_commit();
    let path = add(&world, "side");
    world.sh("mkdir ../repo-wt-side/data.ign ../precious ../other; echo gold >../precious/gold");
    world.settle();
    let script = format!(
        "mount --bind ../precious ../{place}
         unshare --mount sh -ec 'umount ../{place}; git checkpoint worktree remove --force side'
         [ {place} != other ] || mount --bind ../precious {moved}
         git checkpoint worktree prune --removed -n --json; echo ---
         git checkpoint worktree prune --removed --json; echo ---
         umount {moved}"
    );
    let Some(printed) = with_mounts(&world, &script) else { return };
    assert_eq!(fs::read(world.root().join("precious/gold")).unwrap_or_default(), b"gold\n", "{printed}");
    let left = json!([{ "path": path, "why": "mounted" }]);
    for pruned in printed.split("---\n").filter_map(|part| Some(&part[part.find("{\"version")?..])) {
        let pruned: Value = serde_json::from_str(pruned).unwrap_or_else(|_| panic!("{printed}"));
        assert_eq!((&pruned["left"], &pruned["deleted"], &pruned["kept"]), (&left, &json!([]), &json!(1)));
    }
    assert_eq!(printed.matches("\"mounted\"").count(), 2, "{printed}");
    // Without the mount, it can be restored, and deleted.
    assert!(world.checkpoint(&["worktree", "restore", "side"]).status.success());
}

/// The deletion was killed, and something is mounted there when the next one goes on with it.
#[cfg(target_os = "linux")]
#[test]
fn a_deletion_does_not_go_on_through_a_mount() {
    let world = World::with_commit();
    add(&world, "side");
    world.sh("mkdir ../repo-wt-side/data.ign ../precious; echo gold >../precious/gold");
    world.settle();
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    dies(&world, &["worktree", "prune", "--removed"], "worktree:after-dropped");
    let place = ".git/checkpoint/removed/dropped-*/tree/data.ign";
    let script = format!("mount --bind ../precious {place}; git checkpoint worktree prune; umount {place}");
    let Some(printed) = with_mounts(&world, &script) else { return };
    assert_eq!(fs::read(world.root().join("precious/gold")).unwrap_or_default(), b"gold\n", "{printed}");
    world.done(&["worktree", "prune"]);
    assert_eq!(world.sh("ls -A .git/checkpoint/removed"), "");
}

/// Starts a process that works in `directory`.
pub(super) fn sleeper(directory: &Path) -> Child {
    Command::new("sleep").arg("60").current_dir(directory).spawn().expect("it starts")
}

pub(super) fn end(mut sleeper: Child) {
    sleeper.kill().expect("it is ours");
    sleeper.wait().expect("it has ended");
}

/// A process goes on to work in the removed worktree.
#[cfg(target_os = "linux")]
#[test]
fn a_removed_worktree_is_not_deleted_under_a_process() {
    let world = World::with_commit();
    let path = with_work(&world);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let tree = PathBuf::from(world.sh("echo $PWD/.git/checkpoint/removed/*/tree").trim());
    let process = sleeper(&tree);
    let left = json!([{ "path": path, "why": "in-use", "process": process.id() }]);
    for arguments in
        [&["worktree", "prune", "--removed", "-n", "--json"][..], &["worktree", "prune", "--removed", "--json"]]
    {
        let pruned = json_of(&world, arguments);
        assert_eq!((&pruned["left"], &pruned["deleted"], &pruned["kept"]), (&left, &json!([]), &json!(1)), "{pruned}");
    }
    let text = world.done(&["worktree", "prune", "--removed"]);
    assert!(text.contains(&format!("the process {} works in its files", process.id())), "{text}");
    end(process);
    // Nor does a deletion that was killed go on.
    dies(&world, &["worktree", "prune", "--removed"], "worktree:after-dropped");
    let tree = PathBuf::from(world.sh("echo $PWD/.git/checkpoint/removed/dropped-*/tree").trim());
    let process = sleeper(&tree);
    world.done(&["worktree", "prune"]);
    assert!(tree.join(".env").exists());
    end(process);
    world.done(&["worktree", "prune"]);
    assert_eq!(world.sh("ls -A .git/checkpoint/removed"), "");
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

/// Makes a worktree of the branch `side` on another file system than the repository's; none if there is no other.
pub(super) fn on_another_file_system(world: &World) -> Option<(tempfile::TempDir, PathBuf)> {
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let device = |path: &Path| fs::metadata(path).expect("it is there").dev();
    if device(elsewhere.path()) == device(&world.repo()) {
        return None;
    }
    let path = fs::canonicalize(elsewhere.path()).expect("it is there").join("w");
    world.git(&["worktree", "add", "-q", "-b", "side", path.to_str().expect("plain")]);
    fs::write(path.join("new"), "mine\n").expect("writable");
    world.settle();
    std::thread::sleep(std::time::Duration::from_millis(50));
    Some((elsewhere, path))
}

/// A copy of the repository does not take the files that the original has removed.
#[test]
fn a_copy_does_not_restore_the_files_of_the_original() {
    let world = World::with_commit();
    let Some((_elsewhere, path)) = on_another_file_system(&world) else { return };
    let before = state(&world, &path);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    world.sh("cp -a . ../copy");
    let output = run_in(&world, &world.root().join("copy"), &["worktree", "restore", "side"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let words = format!("are those of another repository, '{}'", world.repo().join(".git").display());
    assert!(said(&output).contains(&words), "{}", said(&output));
    assert!(world.checkpoint(&["worktree", "restore", "side"]).status.success());
    assert_eq!(state(&world, &path), before);
}

/// The repository was moved after the worktree was removed: the files are its own, and name it again.
#[test]
fn a_moved_repository_restores_files_that_are_elsewhere() {
    let world = World::with_commit();
    let Some((_elsewhere, path)) = on_another_file_system(&world) else { return };
    let before = state(&world, &path);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    world.sh("mkdir ../moved; mv .git ../moved/.git");
    let moved = world.root().join("moved");
    world.git(&["-C", moved.to_str().expect("plain"), "reset", "-q", "--hard"]);
    let pruned = run_in(&world, &moved, &["worktree", "prune", "--removed", "--json"]);
    let pruned: Value = serde_json::from_slice(&pruned.stdout).unwrap_or_else(|_| panic!("{}", said(&pruned)));
    assert_eq!(pruned["left"], json!([{ "path": path, "why": "repository-gone" }]), "{pruned}");
    let output = run_in(&world, &moved, &["worktree", "restore", "side"]);
    assert!(output.status.success(), "{}", said(&output));
    // Its `.git` alone is another one.
    let files = |state: &str| state.lines().filter(|line| !line.ends_with(" ./.git")).collect::<Vec<_>>().join("\n");
    assert_eq!(files(&state(&world, &path)), files(&before));
}

/// The deletion was killed, and the file system of the files is not there when the next one goes on with it.
#[test]
fn a_deletion_waits_for_a_file_system_that_is_not_mounted() {
    let world = World::with_commit();
    let Some((elsewhere, path)) = on_another_file_system(&world) else { return };
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    dies(&world, &["worktree", "prune", "--removed"], "worktree:after-dropped");
    let place = elsewhere.path().display();
    world.sh(&format!("mv '{place}' '{place}-absent'; mkdir '{place}'"));
    world.done(&["worktree", "prune"]);
    world.sh(&format!("rmdir '{place}'; mv '{place}-absent' '{place}'"));
    world.done(&["worktree", "prune"]);
    assert_eq!(world.sh(&format!("ls -A '{place}' .git/checkpoint/removed | grep removed- || true")), "");
    drop(path);
}

/// The restore was killed when the worktree was back, but still locked.
#[test]
fn a_restore_that_was_killed_at_its_end_is_done() {
    let world = World::with_commit();
    let path = with_work(&world);
    let before = state(&world, &path);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    dies(&world, &["worktree", "restore", "side"], "worktree:after-tree-back");
    let back = json_of(&world, &["worktree", "restore", "side", "--json"]);
    assert_eq!((&back["branch"], &back["created"], &back["detached"]), (&json!("side"), &json!(false), &Value::Null));
    assert_eq!(state(&world, &path), before);
    assert!(!world.git(&["worktree", "list", "--porcelain"]).contains("locked"));
    assert_eq!(world.sh("ls -A .git/checkpoint/removed"), "");
}

/// Only a directory that does not exist is gone; of another error, nobody knows what it means.
#[test]
fn a_worktree_that_cannot_be_looked_at_is_not_forgotten() {
    let world = World::with_commit();
    let path = format!("{}/{}", world.root().display(), "x".repeat(300));
    world.sh(&format!("git worktree add -q ../w -b side; echo '{path}/.git' >.git/worktrees/w/gitdir"));
    let pruned = json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!(pruned["left"], json!([{ "path": path, "why": "unreadable" }]), "{pruned}");
    assert!(world.repo().join(".git/worktrees/w").exists());
}

/// A refusal takes no checkpoint.
#[rstest]
#[case::branch_exists("git branch side", "the branch 'side' exists already")]
#[case::too_many("git worktree add -q ../w -b w; git config checkpoint.worktree.max 1", "'worktree.max' allows 1")]
#[case::no_commit("git checkout -q --orphan empty; git rm -q --cached f", "there is no commit yet")]
fn a_refused_add_from_here_saves_nothing(#[case] script: &str, #[case] words: &str) {
    let world = World::with_commit();
    world.sh(script);
    world.sh("echo new >new");
    let output = world.checkpoint(&["worktree", "add", "-c", "side", "--from-here"]);
    assert!(!output.status.success() && said(&output).contains(words), "{}", said(&output));
    assert_eq!(world.git(&["for-each-ref", "refs/checkpoints/shadow"]), "");
}
