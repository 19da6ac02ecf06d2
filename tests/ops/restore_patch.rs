//! `restore --patch`: hunks of what a restore would change, chosen by the user.

use std::{
    io::Write as _,
    process::{Output, Stdio},
    time::{Duration, Instant},
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
    let state = || {
        world.sh("sha256sum f new .git/index; git for-each-ref; git checkpoint list; git checkpoint status; git checkpoint op log")
    };
    let before = state();
    let output = answer(&world, &["restore", "--patch", "@{0}"], "q\n");
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("no hunk was chosen: nothing was restored\n"));
    assert_eq!(state(), before);
    // The end of the input says no to all that was not asked.
    answer(&world, &["restore", "-p", "@{0}"], "");
    assert_eq!(state(), before);
}

#[test]
fn pathspecs_and_the_directory_limit_what_is_offered() {
    let world = two_hunks();
    let output = answer(&world, &["restore", "-p", "@{0}", "new"], "y\ny\ny\n");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(state(&world), "three\ntwenty-seven\nuntracked\n");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("+++ b/f"));
    // In a directory, a pathspec is relative to it.
    world.sh("mkdir d; echo 1 >d/new; git checkpoint save -qm more; echo 2 >d/new; echo 3 >new");
    let output = answer(&world, &["-C", "d", "restore", "-p", "@{0}", "new"], "y\ny\n");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(world.sh("cat d/new new"), "1\n3\n");
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

/// Returns what a command says on standard error, after its exit code.
fn said(output: &Output) -> String {
    format!("{:?} {}", output.status.code(), String::from_utf8_lossy(&output.stderr))
}

/// A file with line endings that git would not write, of which two places and the mode have changed since the last checkpoint.
fn exact_bytes() -> World {
    let world = World::new();
    world.sh("git init -q -b main .; git config core.autocrlf input; seq 30 | sed 's/$/\\r/' >f; git add f 2>/dev/null
        git commit -qm base; git checkpoint save -qm good --allow-empty
        sed -i -e 's/^3\\r/three\\r/' -e 's/^27\\r/twenty-seven\\r/' f; chmod +x f");
    world
}

#[test]
fn a_file_with_exact_bytes_is_restored_as_a_whole_or_not_at_all() {
    let world = exact_bytes();
    let before = world.sh("sha256sum f");
    let output = answer(&world, &["restore", "-p", "@{0}"], "n\ny\nn\n");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("'f' has bytes that git would not write"), "{}", said(&output));
    assert_eq!(world.sh("sha256sum f"), before);
    let output = answer(&world, &["restore", "-p", "@{0}"], "y\na\n");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(world.sh("seq 30 | sed 's/$/\\r/' | cmp - f; test ! -x f"), "");
}

#[test]
fn the_bytes_stay_if_only_the_mode_is_chosen() {
    let world = exact_bytes();
    let before = world.sh("sha256sum f");
    let output = answer(&world, &["restore", "-p", "@{0}"], "y\nn\nn\n");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(world.sh("test ! -x f; sha256sum f"), before);
}

#[test]
fn a_directory_in_the_place_of_a_file_is_not_offered() {
    let world = World::new();
    world.sh("git init -q -b main .; echo x >x; echo file >a; git add .; git commit -qm base
        git checkpoint save -qm good --allow-empty
        rm a; mkdir a; echo b >a/b; echo c >a/c; echo y >x");
    let output = answer(&world, &["restore", "-p", "@{0}"], "y\ny\ny\ny\n");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(world.sh("cat x a/b a/c"), "x\nb\nc\n");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(stdout.contains("not offered  a (only together with 'a/b')"), "{stdout}");
    assert!(stdout.contains("not offered  a/c (only together with 'a/b')"), "{stdout}");
}

#[test]
fn a_dry_run_is_refused_and_saves_nothing() {
    let world = two_hunks();
    let before = world.git(&["for-each-ref"]);
    let output = answer(&world, &["restore", "-p", "-n", "@{0}"], "y\n");
    assert!(said(&output).contains("cannot be used with"), "{}", said(&output));
    assert_eq!(world.git(&["for-each-ref"]), before);
}

#[test]
fn the_hint_names_the_checkpoint_whose_name_is_another_by_now() {
    let world = two_hunks();
    let id = world.sh("git checkpoint list | sed -n 's/.* \\([0-9a-f]\\{7,\\}\\) .*/\\1/p' | head -1");
    let hint = format!("git checkpoint restore -p {}'", id.trim());
    let output = answer(&world, &["restore", "-p", "@{0}"], "q\n");
    assert!(said(&output).contains(&hint), "{hint} {}", said(&output));
    world.sh("printf '#!/bin/sh\\necho edited >>f\\n' >../editor; chmod +x ../editor");
    let mut command = world.command("sh");
    let script = format!("printf 'e\\ny\\nn\\nn\\n' | GIT_EDITOR=\"$PWD/../editor\" git checkpoint restore -p {id}");
    let output = command.args(["-c", &script]).output().expect("a shell");
    assert!(said(&output).contains(&hint), "{hint} {}", said(&output));
}

#[test]
fn what_git_cannot_show_is_named() {
    let world = World::new();
    world.sh("git init -q -b main .; git config core.autocrlf input; printf 'a\\0b' >bin; seq 3 >lf; git add .; git commit -qm base
        git checkpoint save -qm good --allow-empty; printf 'a\\0c' >bin; seq 3 | sed 's/$/\\r/' >lf");
    let output = answer(&world, &["restore", "-p", "@{0}"], "y\ny\n");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "not offered  bin (binary)\nnot offered  lf (differs only in bytes that git does not show, such as line endings)\n\
         there is no hunk to choose: nothing was restored\n"
    );
    world.sh("git checkpoint restore -q --all '@{0}'");
    let output = answer(&world, &["restore", "-p", "@{0}"], "");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("nothing to do: the worktree is as in "));
}

#[test]
fn the_users_index_gets_no_files_and_the_editor_the_users_language() {
    let world = two_hunks();
    world.sh("git config core.splitIndex true; printf '#!/bin/sh\\necho \"$LC_ALL\" >../language\\n' >../editor; chmod +x ../editor");
    let mut command = world.command("sh");
    command.args(["-c", "printf 'e\\nn\\nn\\n' | GIT_EDITOR=\"$PWD/../editor\" git checkpoint restore -p '@{0}'"]);
    let output = command.output().expect("a shell");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(world.sh("cat ../language; ls .git | grep sharedindex || true"), "C.UTF-8\n");
}

#[test]
fn git_decides_what_ctrl_c_in_the_editor_means() {
    let world = two_hunks();
    // The terminal and git each send it once.
    world
        .sh("printf '#!/bin/sh\\nkill -INT $(cat ../pid); sleep 0.3; kill -INT $(cat ../pid); sleep 0.3\\n' >../editor
        chmod +x ../editor");
    let mut command = world.command("sh");
    let script = "printf 'e\\nn\\nn\\n' >../answers; export GIT_EDITOR=\"$PWD/../editor\"
        echo $$ >../pid; exec git-checkpoint restore -p '@{0}' <../answers";
    let output = command.args(["-c", script]).output().expect("a shell");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(state(&world), "twenty-seven\nother\n");
}

#[test]
fn a_signal_to_end_ends_git_too() {
    let world = two_hunks();
    let left = || world.sh("ls -A .. | grep -v output");
    let before = left();
    let refs = world.git(&["for-each-ref"]);
    let mut command = world.command("sh");
    command.args(["-c", "exec git-checkpoint restore -p '@{0}' >../output 2>&1"]).stdin(Stdio::piped());
    let mut child = command.spawn().expect("a shell");
    let start = Instant::now();
    let is_late = || start.elapsed() > Duration::from_secs(60);
    while !world.sh("cat ../output 2>/dev/null || true").contains("[y,n") {
        assert!(!is_late(), "git never asked");
    }
    world.sh(&format!("kill -TERM {}", child.id()));
    let status = loop {
        // Git reads from this process, and waits for it.
        match child.try_wait().expect("it is a child") {
            Some(status) => break status,
            None => assert!(!is_late(), "git goes on"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(130));
    assert_eq!(left(), before, "the index of git's own is gone");
    assert_eq!(world.git(&["for-each-ref"]), refs, "nothing was saved");
    assert_eq!(state(&world), "three\ntwenty-seven\nother\n");
}

/// What was chosen is the session's; what was not is still a person's, though the checkpoint after the restore names the target.
#[rstest::rstest]
#[case::of_a_person("sed -i 's/^18$/human/' f", false)]
#[case::of_the_session("true", true)]
fn what_was_not_chosen_is_whose_it_was(#[case] script: &str, #[case] is_own: bool) {
    let world = World::new();
    let turn = |change: &str| {
        world.sh(&format!(
            "git checkpoint session prompt s --agent x -m x >/dev/null; {change}
            git checkpoint session stop s >/dev/null"
        ));
    };
    world.sh("git init -q -b main .; git checkpoint enable -q; seq 30 >f; git add .; git commit -qm base");
    turn("sed -i 's/^3$/three/' f");
    let one = world.read("f");
    turn("sed -i -e 's/^9$/nine/' -e 's/^27$/twenty-seven/' f");
    world.sh(script);
    let output = answer(&world, &["restore", "-p", "s@1"], if is_own { "n\ny\n" } else { "n\nn\ny\n" });
    assert!(output.status.success(), "{}", said(&output));
    let before = world.read("f");
    assert!(world.sh("cat f").contains("nine") && !world.sh("cat f").contains("twenty"), "{}", world.sh("cat f"));
    let output = world.checkpoint(&["restore", "s@1"]);
    assert_eq!(world.read("f"), if is_own { one } else { before }, "{}", said(&output));
    assert_eq!(output.status.success(), is_own, "{}", said(&output));
}

#[test]
fn the_words_about_gits_questions_come_only_before_a_question() {
    let world = two_hunks();
    let aside = "git's questions name an index";
    let said = |arguments: &[&str]| String::from_utf8_lossy(&answer(&world, arguments, "q\n").stderr).into_owned();
    assert!(said(&["restore", "-p", "@{0}"]).contains(aside));
    for arguments in [["restore", "-p", "@{0}", "nope"], ["restore", "-p", "@{0}", "new"]] {
        let said = said(&arguments);
        assert_eq!(said.contains(aside), arguments[3] == "new", "{said}");
    }
    world.sh("git checkpoint restore -q --all @{0}");
    let said = said(&["restore", "-p", "@{0}"]);
    assert!(!said.contains(aside), "{said}");
}
