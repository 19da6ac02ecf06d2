//! commit-msg, which is there only while a message has to be checked.

use std::{fs, path::Path, process::Output};

use super::{git, health, hooks, picture, put, shell};
use crate::support::{World, files, site::described};

/// Writes and stages work of a session.
fn work(world: &World, file: &str) {
    shell(
        world,
        &format!("git checkpoint session prompt s; echo {file} >{file}; git checkpoint session stop s; git add {file}"),
    );
}

/// Commits in `directory` with an editor that runs `editor` on the file `$1`.
fn edit(world: &World, directory: &Path, editor: &str) -> Output {
    let script = world.root().join("editor");
    files::write_script(&script, &format!("#!/bin/sh\n{editor}\n"));
    let mut command = world.command("git");
    command.current_dir(directory).env("EDITOR", &script).args(["commit", "-q"]).output().expect("git runs")
}

fn head(world: &World) -> String {
    world.git(&["log", "-1", "--format=%H %B"])
}

#[test]
fn it_comes_with_the_editor_and_goes_with_the_check() {
    let world = World::with_commit();
    let before = picture(&hooks(&world));
    world.done(&["enable"]);
    let hook = hooks(&world).join("commit-msg");
    let is_healthy = || health(&world)["commit-msg"] == "ok";
    assert!(!hook.exists() && is_healthy());
    work(&world, "one");
    assert!(git(&world, &["commit", "-qm", "one"]).status.success());
    assert!(!hook.exists() && head(&world).contains("Checkpoint: "));

    work(&world, "two");
    let last = head(&world);
    let look = "test -x .git/hooks/commit-msg && git checkpoint status --json >../seen";
    let output = edit(&world, &world.repo(), look);
    assert_eq!((output.status.success(), head(&world)), (false, last), "{}", described(&output));
    let seen = fs::read_to_string(world.root().join("seen")).expect("it was there for the editor");
    assert!(seen.contains(r#""commit-msg":"ok""#) && !hook.exists() && is_healthy(), "{seen}");
    assert!(edit(&world, &world.repo(), "sed -i 1s/^/two/ \"$1\"").status.success());
    assert!(!hook.exists() && head(&world).contains("two\n\nCheckpoint: "), "{}", head(&world));

    // A message that nothing was added to needs no check.
    world.write("mine", "1\n");
    world.git(&["add", "mine"]);
    assert!(edit(&world, &world.repo(), "test ! -e .git/hooks/commit-msg && echo mine >\"$1\"").status.success());
    world.done(&["disable"]);
    assert_eq!(picture(&hooks(&world)), before);
}

#[test]
fn an_editor_that_fails_leaves_it_for_the_next_commit() {
    let world = World::with_hooks();
    let hook = hooks(&world).join("commit-msg");
    work(&world, "one");
    assert!(!edit(&world, &world.repo(), "exit 1").status.success());
    assert!(hook.exists());
    // It is needed as long as the message may still be edited.
    world.done(&["enable"]);
    assert!(hook.exists());
    assert!(git(&world, &["commit", "-qm", "one"]).status.success());
    assert!(!hook.exists() && head(&world).contains("Checkpoint: "));
}

#[test]
fn it_stays_while_another_worktree_edits() {
    let world = World::with_hooks();
    let hook = hooks(&world).join("commit-msg");
    world.git(&["worktree", "add", "-q", "../other"]);
    let other = world.root().join("other");
    shell(&world, "cd ../other; git checkpoint session prompt o; echo o >o; git checkpoint session stop o; git add o");
    work(&world, "one");
    let commit = format!("cd '{}' && git -c core.editor='sed -i 1s/^/one/' commit -q", world.repo().display());
    // The inner commit is checked first, then the outer one finds its hook there, and is refused.
    let inner = format!("unset GIT_DIR GIT_INDEX_FILE GIT_EDITOR GIT_PREFIX EDITOR; {commit}");
    let output = edit(&world, &other, &inner);
    assert!(head(&world).contains("one\n\nCheckpoint: "), "{}", described(&output));
    assert!(!output.status.success() && !hook.exists(), "{}", described(&output));
}

#[test]
fn one_that_was_installed_for_good_goes_with_the_next_enable() {
    let world = World::with_hooks();
    let (prepare, hook) = (hooks(&world).join("prepare-commit-msg"), hooks(&world).join("commit-msg"));
    let text = fs::read_to_string(prepare).expect("text").replace("prepare-commit-msg'", "commit-msg'");
    put(&hook, &text, 0o755);
    assert!(world.done(&["enable", "--dry-run"]).contains("would remove      commit-msg") && hook.exists());
    assert!(world.done(&["enable"]).contains("removed           commit-msg") && !hook.exists());
    // What was edited, or called another hook first, stays.
    let edited = text.clone() + "# mine\n";
    put(&hook, &edited, 0o755);
    world.done(&["enable"]);
    assert_eq!(fs::read_to_string(&hook).expect("it stays"), edited);
    put(&hook, &text, 0o755);
    put(&hooks(&world).join("commit-msg.before-checkpoint"), "#!/bin/sh\nexit 1\n", 0o755);
    world.done(&["enable"]);
    assert!(hook.exists() && !git(&world, &["commit", "-q", "--allow-empty", "-m", "x"]).status.success());
    work(&world, "one");
    assert!(!edit(&world, &world.repo(), "sed -i 1s/^/one/ \"$1\"").status.success() && hook.exists());
}
