//! Where worktrees are: submodules, git directories elsewhere, bare repositories, and directories that were moved and linked.

use std::path::Path;

use serde_json::{Value, json};

use super::{add, json_of, removal_races::dies, run_in, said};
use crate::support::{World, program};

/// Runs the program in `directory`, which must succeed, and returns what it printed.
fn printed(world: &World, directory: &Path, arguments: &[&str]) -> String {
    let output = run_in(world, directory, arguments);
    assert!(output.status.success(), "{arguments:?} in {}: {}", directory.display(), said(&output));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Asserts that the program refuses `arguments` in `directory`, prints nothing and says `words`.
fn refused(world: &World, directory: &Path, arguments: &[&str], words: &str) {
    let output = run_in(world, directory, arguments);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{arguments:?}: {}", said(&output));
    assert!(said(&output).contains(words), "{arguments:?}: {}", said(&output));
}

/// Returns the code that `validate` prints for `path` in `directory`.
fn code(world: &World, directory: &Path, path: &Path) -> Option<String> {
    let output = run_in(world, directory, &["worktree", "validate", "--json", path.to_str().expect("plain")]);
    let answer: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    answer["code"].as_str().map(str::to_owned)
}

fn first_of_list(world: &World, directory: &Path) -> Value {
    let listed = printed(world, directory, &["worktree", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed).expect("it prints JSON");
    listed["worktrees"][0].clone()
}

/// Asserts that `main` is the main worktree, for commands in `directory`.
fn assert_main_is(world: &World, main: &Path, directory: &Path) {
    let shown = main.display().to_string();
    assert_eq!(printed(world, directory, &["worktree", "path", "main"]), shown);
    assert_eq!(printed(world, directory, &["worktree", "exec", "main", "--", "pwd"]), shown);
    assert_eq!(printed(world, directory, &["worktree", "path", &shown]), shown);
    assert_eq!(code(world, directory, main), None);
    let first = first_of_list(world, directory);
    assert_eq!((&first["path"], &first["bare"], &first["dirty"]), (&json!(shown), &json!(false), &json!(0)), "{first}");
}

#[test]
fn a_submodule_has_its_worktree_in_the_superproject() {
    let world = World::with_commit();
    world.sh("git init -q ../lib; git -C ../lib commit -q --allow-empty -m lib
         git -c protocol.file.allow=always submodule --quiet add ../lib sub; git commit -qm sub
         git -C sub checkout -q -B trunk");
    let sub = world.repo().join("sub");
    assert_main_is(&world, &sub, &sub);
    let added = printed(&world, &sub, &["worktree", "add", "--create", "z", "--json"]);
    let added: Value = serde_json::from_str(&added).expect("it prints JSON");
    let linked = world.repo().join("sub-wt-z");
    assert_eq!(added["path"].as_str(), linked.to_str());
    assert_main_is(&world, &sub, &linked);
    assert_eq!(printed(&world, &linked, &["worktree", "path", "trunk"]), sub.display().to_string());
    assert_eq!(code(&world, &sub, &world.repo().join(".git/modules/sub")), Some("not-registered".into()));
    // Another repository in its place is not taken for it.
    world.sh("rm -rf sub; git init -q sub");
    refused(&world, &linked, &["worktree", "path", "main"], "is no longer the worktree");
    world.sh("rm -rf sub");
    refused(&world, &linked, &["worktree", "exec", "main", "--", "pwd"], "is gone");
}

/// Only a command in the main worktree knows where that is.
#[test]
fn a_git_directory_elsewhere_is_no_worktree() {
    let world = World::with_commit();
    world.sh("git init -q --separate-git-dir ../apart.git ../apart; git -C ../apart commit -q --allow-empty -m base");
    let (main, linked) = (world.root().join("apart"), world.root().join("apart-wt-y"));
    assert_main_is(&world, &main, &main);
    printed(&world, &main, &["worktree", "add", "--create", "y"]);
    assert_eq!(printed(&world, &main, &["worktree", "path", "y"]), linked.display().to_string());
    for arguments in [&["worktree", "path", "main"][..], &["worktree", "exec", "main", "--", "pwd"]] {
        refused(&world, &linked, arguments, "git has not noted where the main worktree");
    }
    let first = first_of_list(&world, &linked);
    assert_eq!((&first["bare"], &first["dirty"], &first["prunable"]), (&json!(false), &json!(null), &json!(false)));
    assert_eq!(code(&world, &linked, &world.root().join("apart.git")), Some("unknown".into()));
    printed(&world, &linked, &["worktree", "add", "--create", "x"]);
}

#[test]
fn the_main_worktree_is_where_the_configuration_has_it() {
    let world = World::with_commit();
    world.sh("mkdir ../elsewhere; git init -q ../with; cd ../with; git commit -q --allow-empty -m base
         git config core.worktree ../../elsewhere; git worktree add -q ../linked -b linked");
    let (main, linked) = (world.root().join("elsewhere"), world.root().join("linked"));
    assert_eq!(printed(&world, &linked, &["worktree", "path", "main"]), main.display().to_string());
    let mut command = world.command(program());
    command.args(["worktree", "exec", "main", "--", "pwd"]).env("GIT_DIR", world.root().join("with/.git"));
    let output = command.current_dir(&main).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), main.display().to_string(), "{}", said(&output));
    // Git moves the setting to a file of the main worktree's own.
    world.sh("cd ../with; git config extensions.worktreeConfig true
         git config -f .git/config.worktree core.worktree ../../elsewhere
         git config -f .git/config core.worktree ../../nowhere");
    assert_eq!(printed(&world, &linked, &["worktree", "path", "main"]), main.display().to_string());
}

#[test]
fn a_bare_repository_has_no_path_to_work_in() {
    let world = World::with_commit();
    world.sh("git clone -q --bare . ../bare.git; git -C ../bare.git worktree add -q ../linked -b linked");
    let linked = world.root().join("linked");
    for arguments in [
        &["worktree", "path", "main"][..],
        &["worktree", "path", "bare.git"],
        &["worktree", "path", "../bare.git"],
        &["worktree", "exec", "main", "--", "pwd"],
        &["session", "start", "s1", "--worktree", "bare.git"],
    ] {
        refused(&world, &linked, arguments, "is a bare repository and no worktree");
    }
    let shown: Value = serde_json::from_str(&printed(&world, &linked, &["worktree", "show", "bare.git", "--json"]))
        .expect("it prints JSON");
    assert_eq!((&shown["worktree"]["bare"], &shown["worktree"]["main"]), (&json!(true), &json!(true)));
    printed(&world, &linked, &["worktree", "add", "--create", "more"]);
    assert!(world.root().join("bare-wt-more").is_dir());
}

/// Git 2.48 registers a worktree so with `worktree.useRelativePaths`. Each part is relative to where it is.
#[test]
fn a_worktree_that_is_registered_by_relative_paths() {
    let world = World::with_commit();
    let path = add(&world, "side");
    world.sh("echo '../../../../repo-wt-side/.git' >.git/worktrees/repo-wt-side/gitdir
         echo 'gitdir: ../repo/.git/worktrees/repo-wt-side' >../repo-wt-side/.git
         cd ../repo-wt-side; echo new >new; git add new; echo secret >ignored; echo ignored >.gitignore");
    world.settle();
    let shown = path.display().to_string();
    let main = world.repo();
    let links = || {
        world.sh("cat .git/worktrees/repo-wt-side/gitdir ../repo-wt-side/.git; git -C ../repo-wt-side status --short")
    };
    let before = links();
    for directory in [&main, &path] {
        assert_eq!(printed(&world, directory, &["worktree", "path", "side"]), shown);
        assert_eq!(code(&world, directory, &path), None);
        assert_eq!(printed(&world, directory, &["worktree", "exec", "side", "--", "pwd"]), shown);
        let it: Value = serde_json::from_str(&printed(&world, directory, &["worktree", "show", "side", "--json"]))
            .expect("it prints JSON");
        assert_eq!((&it["worktree"]["path"], &it["worktree"]["dirty"]), (&json!(shown), &json!(2)), "{it}");
    }
    printed(&world, &main, &["session", "start", "s1", "--worktree", "side"]);
    assert_eq!(printed(&world, &main, &["session", "cwd", "s1"]), shown);
    printed(&world, &path, &["session", "end", "s1"]);
    world.settle();
    assert_eq!(json_of(&world, &["worktree", "prune", "--json"])["forgotten"], json!([]));
    // The files go, and come back.
    dies(&world, &["worktree", "remove", "--force", "side"], "worktree:after-tree");
    assert_eq!(json_of(&world, &["worktree", "prune", "--json"])["left"], json!([]));
    assert_eq!(links(), before);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    assert!(!path.exists());
    dies(&world, &["worktree", "restore", "side"], "worktree:after-admin-back");
    json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!(links(), before);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    printed(&world, &main, &["worktree", "restore", "side"]);
    assert_eq!(links(), before);
    assert_eq!(printed(&world, &main, &["session", "cwd", "s1"]), shown);
}

/// Git follows the link; so do we, and print the real path. Only `validate` wants what git has registered.
#[test]
fn a_directory_that_was_moved_and_linked() {
    let world = World::with_commit();
    world.sh("mkdir ../old; git clone -q . ../old/r");
    let old = world.root().join("old/r");
    printed(&world, &old, &["worktree", "add", "--create", "fx"]);
    printed(&world, &old, &["session", "start", "s1", "--worktree", "fx"]);
    world.sh("mv ../old ../new; ln -s new ../old");
    let new = world.root().join("new/r-wt-fx");
    let shown = new.display().to_string();
    let linked = world.root().join("old/r-wt-fx");
    let linked = linked.to_str().expect("plain");
    for directory in [&old, &world.root().join("new/r"), &new] {
        for name in ["fx", "r-wt-fx", linked, &shown] {
            assert_eq!(printed(&world, directory, &["worktree", "path", name]), shown, "{name}");
            assert_eq!(printed(&world, directory, &["worktree", "exec", name, "--", "pwd"]), shown, "{name}");
        }
        assert_eq!(printed(&world, directory, &["session", "cwd", "s1"]), shown);
        let it = printed(&world, directory, &["worktree", "show", "fx", "--json"]);
        let it: Value = serde_json::from_str(&it).expect("it prints JSON");
        assert_eq!((&it["worktree"]["path"], &it["worktree"]["dirty"]), (&json!(shown), &json!(0)));
        assert_eq!(code(&world, directory, Path::new(linked)), Some("link".into()));
        assert_eq!(code(&world, directory, &new), Some("not-registered".into()));
    }
    assert_eq!(printed(&world, &new, &["worktree", "path"]), shown);
    // What leads to another worktree is not taken for it.
    world.sh("cd ../new; mv r-wt-fx r-wt-gx; git -C r worktree add -q ../r-wt-hx; ln -s r-wt-hx r-wt-fx");
    refused(&world, &old, &["worktree", "path", "fx"], "is no longer the worktree");
}
