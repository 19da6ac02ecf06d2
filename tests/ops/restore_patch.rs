//! `restore --patch`: hunks of what a restore would change, chosen by the user.

use std::{
    io::Write as _,
    process::{Output, Stdio},
};

use crate::support::World;

/// Runs `git checkpoint` with `arguments`, while the user types `answers`.
fn answer(world: &World, arguments: &[&str], answers: &str) -> Output {
    let mut command = world.command("git");
    command.arg("checkpoint").args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("git runs");
    let mut stdin = child.stdin.take().expect("piped");
    // Where nothing is asked, nothing is read.
    let _ = stdin.write_all(answers.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

/// A file with two places that are far apart, an untracked file, and a checkpoint; then both places and the file change.
fn two_hunks() -> World {
    let world = World::new();
    world.sh("git init -q -b main .; seq 30 >f; git add .; git commit -qm base
        echo untracked >new; git checkpoint save -qm good
        sed -i -e 's/^3$/three/' -e 's/^27$/twenty-seven/' f; echo other >new; git add f");
    world
}

/// Returns the lines of `f` that are words, and `new`.
fn state(world: &World) -> String {
    world.sh("grep '[a-z]' f || true; cat new 2>/dev/null || true")
}

#[test]
fn only_the_chosen_hunk_is_restored_and_undo_takes_it_back() {
    let world = two_hunks();
    let staged = world.git(&["ls-files", "--stage"]);
    let output = answer(&world, &["restore", "-p", "@{0}"], "n\ny\nn\n");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(state(&world), "three\nother\n");
    assert_eq!(world.git(&["ls-files", "--stage"]), staged, "the index is the user's");
    world.sh("git checkpoint undo");
    assert_eq!(state(&world), "three\ntwenty-seven\nother\n");
}

#[test]
fn nothing_is_restored_unless_it_is_chosen() {
    let world = two_hunks();
    let before = world.sh("sha256sum f new .git/index");
    let output = answer(&world, &["restore", "--patch", "@{0}"], "q\n");
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("no hunk was chosen: nothing was restored\n"));
    assert_eq!(world.sh("sha256sum f new .git/index"), before);
    // The end of the input says no to all that was not asked.
    answer(&world, &["restore", "-p", "@{1}"], "");
    assert_eq!(world.sh("sha256sum f new .git/index"), before);
}

#[test]
fn pathspecs_and_the_directory_limit_what_is_offered() {
    let world = two_hunks();
    let output = answer(&world, &["restore", "-p", "@{0}", "new"], "y\ny\ny\n");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(state(&world), "three\ntwenty-seven\nuntracked\n");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("+++ b/f"));
}

#[test]
fn an_untracked_file_that_is_gone_comes_back() {
    let world = two_hunks();
    world.sh("rm new");
    let output = answer(&world, &["restore", "-p", "@{0}", "new"], "y\n");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(state(&world), "three\ntwenty-seven\nuntracked\n");
}

#[test]
fn what_is_edited_while_the_user_thinks_stays() {
    let world = two_hunks();
    // Git asks this editor for the hunk.
    world.sh("printf '#!/bin/sh\\necho edited >>f\\n' >../editor; chmod +x ../editor");
    let mut command = world.command("sh");
    command.args(["-c", "printf 'e\\ny\\nn\\nn\\n' | GIT_EDITOR=\"$PWD/../editor\" git checkpoint restore -p '@{0}'"]);
    let output = command.output().expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("'f' has changed since the hunks were chosen"), "{said}");
    assert_eq!(state(&world), "three\ntwenty-seven\nedited\nother\n");
}

#[test]
fn the_lines_that_come_back_keep_their_agent() {
    let world = World::new();
    world.sh("git init -q -b main .; git checkpoint enable -q; seq 30 >f; git add .; git commit -qm base
        git checkpoint session prompt s1 --agent claude-code -m ask >/dev/null
        sed -i -e 's/^3$/three/' -e 's/^27$/twenty-seven/' f; git checkpoint session stop s1 >/dev/null
        seq 30 >f");
    let output = answer(&world, &["restore", "-p", "s1@1"], "y\nn\n");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(world.sh("grep '[a-z]' f"), "three\n");
    world.sh("git commit -qam part");
    let blame = world.sh("git checkpoint blame f | grep three");
    assert!(blame.contains("agent   claude-code s1 t1"), "{blame}");
}
