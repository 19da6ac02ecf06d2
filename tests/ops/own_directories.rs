//! A repository that git keeps inside its own worktree, under another name than `.git`: no checkpoint contains it, and no
//! restore touches it.

use crate::support::{World, processes::described};

/// Returns what a restore must not change: refs, objects and the stash list.
fn kept(world: &World) -> String {
    world.sh("git for-each-ref refs/heads refs/stash; git rev-parse HEAD; git cat-file --batch-check --batch-all-objects | sort")
}

/// Asserts that all lines of `before` are still there.
fn assert_all_left(world: &World, before: &str) {
    let after = kept(world);
    let lost: Vec<&str> = before.lines().filter(|line| !after.contains(line)).collect();
    assert_eq!(lost, Vec::<&str>::new());
}

#[rstest::rstest]
#[case::a_file_names_it("mv .git .bare; echo 'gitdir: .bare' >.git")]
#[case::a_link_leads_to_it("mv .git store; ln -s store .git")]
#[case::deep_inside("mkdir -p in/side; echo i >in/side/i; mv .git in/side/repo; echo 'gitdir: in/side/repo' >.git")]
#[case::only_its_objects("mv .git/objects objects; ln -s ../objects .git/objects")]
#[case::beside_tracked_files("mkdir d; echo d >d/d; git add .; git commit -qm d; mv .git d/repo; ln -s d/repo .git")]
fn a_repository_in_its_own_worktree_is_no_part_of_it(#[case] moved: &str) {
    let world = World::with_commit();
    world.sh(moved);
    let files = world.sh("git ls-files -co --exclude-standard | grep -vE '(repo|\\.bare|store|objects)/' | sort");
    world.write("f", "one\n");
    world.done(&["save"]);
    let tip = "$(git for-each-ref --format='%(objectname)' refs/checkpoints/shadow)";
    let one = world.sh(&format!("git rev-parse {tip}")).trim().to_owned();
    assert_eq!(world.sh(&format!("git ls-tree -r --name-only {tip}")), files.replace(".git\n", ""));
    world.write("f", "two\n");
    world.done(&["save"]);
    world.sh("git commit -qam 'a commit that a restore must keep'");
    world.write("f", "three\n");
    let before = kept(&world);
    world.done(&["restore", "--all", &one]);
    assert_eq!(world.sh("cat f"), "one\n");
    assert_all_left(&world, &before);
    world.done(&["undo"]);
    assert_eq!(world.sh("cat f; git fsck --no-dangling 2>&1"), "three\n");
    assert_all_left(&world, &before);
}

#[test]
fn a_checkpoint_from_before_the_repository_moved_there_brings_none_of_it_back() {
    let world = World::with_commit();
    world.write("store/HEAD", "not a repository yet\n");
    world.write("store/new", "not a repository yet\n");
    world.done(&["save"]);
    let one = world.sh("git for-each-ref --format='%(objectname)' refs/checkpoints/shadow").trim().to_owned();
    world.sh("rm -r store; mv .git store; ln -s store .git");
    world.write("f", "two\n");
    let before = kept(&world);
    let output = world.checkpoint(&["restore", "--all", &one]);
    assert!(described(&output).contains("kept     store/HEAD"), "{}", described(&output));
    assert_eq!(
        world.sh("git symbolic-ref HEAD; ls store/new 2>&1 || true"),
        "refs/heads/main\nls: cannot access 'store/new': No such file or directory\n"
    );
    assert_all_left(&world, &before);
    world.done(&["save", "--paths", "store/HEAD", "f"]);
    let listed =
        world.sh("git ls-tree -r --name-only $(git for-each-ref --format='%(objectname)' refs/checkpoints/shadow)");
    assert!(!listed.contains("store"), "{listed}");
}

#[test]
fn a_worktree_that_is_its_git_directory_is_refused() {
    let world = World::with_commit();
    let bare = world.root().join("bare");
    world.sh("git init -q --bare ../bare && git -C ../bare config core.bare false");
    world.sh("git --git-dir=../bare config core.worktree \"$(cd ../bare && pwd)\"");
    let mut command = world.command(env!("CARGO_BIN_EXE_git-checkpoint"));
    let output = command.arg("save").current_dir(bare).output().expect("it runs");
    assert_eq!(output.status.code(), Some(128), "{}", described(&output));
    assert!(described(&output).contains("is the git directory itself"), "{}", described(&output));
}
