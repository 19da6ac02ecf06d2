//! Permissions that git does not know: files of the user that come back, and our own files.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use crate::support::World;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o777
}

fn set(world: &World, path: &str, mode: u32) {
    fs::set_permissions(world.repo().join(path), Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn what_a_restore_deletes_comes_back_as_private_as_it_was() {
    let world = World::with_commit();
    let files = [(".secret", 0o600), ("d/read-only", 0o444), ("d/tool", 0o700), ("plain", 0o644)];
    for (path, mode) in files {
        world.write(path, "x\n");
        set(&world, path, mode);
    }
    world.settle();
    world.done(&["save", "-q"]);
    let as_they_were = |when: &str| {
        for (path, expected) in files {
            let found = mode(&world.repo().join(path));
            assert_eq!(found, expected, "{when}: {path} has {found:o}");
        }
    };
    world.done(&["restore", "-q", "base"]);
    assert!(!world.repo().join(".secret").exists());
    world.done(&["undo"]);
    as_they_were("undo");
    world.done(&["redo"]);
    world.done(&["undo"]);
    as_they_were("undo, redo, undo");
    // Another restore in between, and a checkpoint that is put back.
    world.done(&["restore", "-q", "base"]);
    world.write("f", "other\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "base", "f"]);
    world.done(&["undo"]);
    world.done(&["restore", "-q", "--all", "@{2}"]);
    as_they_were("another restore");
    // What was written wider since stays so.
    set(&world, ".secret", 0o644);
    world.done(&["restore", "-q", "base"]);
    world.done(&["undo"]);
    assert_eq!(mode(&world.repo().join(".secret")), 0o644);
    world.assert_sound("afterwards");
}

/// A link or a directory has taken the place of the file, or the umask has changed since.
#[rstest::rstest]
#[case::a_link("ln -s f secret", "umask 022")]
#[case::a_directory("mkdir secret; echo 1 >secret/x", "umask 022")]
#[case::another_umask("true", "umask 077")]
fn a_private_file_comes_back_so_whatever_took_its_place(#[case] place: &str, #[case] umask: &str) {
    let world = World::with_commit();
    world
        .sh(&format!("{place}; git checkpoint save -q --allow-empty; rm -rf secret; echo x >secret; chmod 600 secret"));
    world.settle();
    world.done(&["save", "-q"]);
    world.sh(&format!("{umask}; git checkpoint restore -q --all @{{1}}"));
    let file = world.repo().join("secret");
    assert!(!fs::symlink_metadata(&file).is_ok_and(|file| file.is_file()), "it is gone");
    world.sh("umask 022; git checkpoint undo -q");
    assert_eq!(mode(&file), 0o600);
    assert_eq!(fs::read(&file).expect("it is there"), b"x\n");
}

#[test]
fn a_private_file_comes_back_so_after_a_crash() {
    for point in ["restore:after-journal", "restore:after-delete", "restore:after-steps", "restore:before-done"] {
        let world = World::with_commit();
        world.write(".secret", "x\n");
        set(&world, ".secret", 0o600);
        world.settle();
        world.done(&["save", "-q"]);
        let child = world.start_with(&["restore", "base"], point);
        assert!(!child.wait_with_output().expect("it ends").status.success(), "{point}");
        world.done(&["undo"]);
        assert_eq!(mode(&world.repo().join(".secret")), 0o600, "{point}");
        let child = world.start_with(&["restore", "base"], point);
        drop(child.wait_with_output());
        world.done(&["restore", "--continue"]);
        let child = world.start_with(&["undo"], "restore:after-journal");
        assert!(!child.wait_with_output().expect("it ends").status.success(), "{point}");
        world.done(&["restore", "--continue"]);
        assert_eq!(mode(&world.repo().join(".secret")), 0o600, "{point}");
    }
}

#[test]
fn others_may_read_our_files_as_they_may_read_those_of_git() {
    let world = World::with_hooks();
    world.done(&["session", "prompt", "s", "--agent", "claude-code", "-m", "go"]);
    world.write("f", "of the agent\n");
    world.settle();
    world.done(&["save", "-q"]);
    world.done(&["session", "stop", "s"]);
    world.done(&["restore", "-q", "base"]);
    world.write("ordinary", "");
    let ordinary = mode(&world.repo().join("ordinary"));
    let mut directories = vec![world.repo().join(".git/checkpoint")];
    let mut count = 0;
    while let Some(directory) = directories.pop() {
        for path in fs::read_dir(directory).expect("readable").map(|entry| entry.expect("readable").path()) {
            if path.is_dir() {
                directories.push(path);
            } else {
                count += 1;
                assert_eq!(mode(&path) & ordinary, ordinary, "{}", path.display());
            }
        }
    }
    assert!(count > 5, "{count}");
}

/// Git's own `git add` by another user of the group needs what we have made in the directory of objects.
#[test]
fn objects_of_a_shared_repository_are_for_the_group() {
    let world = World::with_commit();
    world.sh("git init -q --shared=group ../shared; cd ../shared; umask 077; git -C . checkpoint enable -q
        for i in 1 2 3 4 5 6 7 8; do echo $i >n$i; done; git checkpoint save -q");
    let objects = world.root().join("shared/.git/objects");
    let directories = fs::read_dir(&objects).expect("it is there").map(|entry| entry.expect("it can be read").path());
    let directories = directories.filter(|path| path.file_name().is_some_and(|name| name.len() == 2));
    let mut seen = 0;
    for directory in directories {
        let found = fs::metadata(&directory).expect("it is there").permissions().mode() & 0o7777;
        assert_eq!(found & 0o2770, 0o2770, "{} has {found:o}", directory.display());
        for file in fs::read_dir(&directory).expect("it is there") {
            let path = file.expect("it can be read").path();
            assert_eq!(mode(&path), 0o440, "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen}");
}
