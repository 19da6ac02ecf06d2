//! Trailers in messages, through real `git commit` with real hooks.

use std::{fs, path::Path, process::Output};

use git_checkpoint::testing::git::Repo;

use crate::support::{World, files, processes::described, this_program};

const ID: &str = "0123456789abcdef";
const FILE: &str = "TEST_MESSAGE_FILE";

/// Run by the hook below, in the environment that git gives to hooks.
#[test]
#[ignore = "a part of the other tests"]
fn child() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let repo = Repo::open_from_environment(Path::new(".")).expect("a repository");
    repo.add_lines(Path::new(&file), &[format!("Checkpoint: {ID}")]).expect("added");
}

/// Makes a repository in which every commit gets a trailer by a hook, and our own hooks are enabled.
fn world() -> World {
    let world = World::with_commit();
    let hook = world.repo().join(".git/hooks/prepare-commit-msg");
    let call = format!("'{}' --quiet --exact --ignored ops::message::child >/dev/null", this_program());
    let text = format!("#!/bin/sh\n{FILE}=$PWD/$1 exec {call}\n");
    fs::create_dir_all(hook.parent().expect("a directory")).expect("directories can be made");
    files::write_script(&hook, &text);
    world.done(&["enable"]);
    world
}

/// Commits with an editor that runs `editor` on the file `$1`.
fn commit(world: &World, editor: &str, arguments: &[&str]) -> Output {
    let script = world.root().join("editor");
    files::write_script(&script, &format!("#!/bin/sh\n{editor}\n"));
    let mut command = world.command("git");
    command.env("EDITOR", &script).args(["commit", "--allow-empty", "-q"]).args(arguments);
    command.output().expect("git runs")
}

fn message(world: &World) -> String {
    world.git(&["log", "-1", "--format=%B"]).trim_end().to_owned()
}

fn trailers(world: &World) -> String {
    world.git(&["log", "-1", "--format=%(trailers:key=Checkpoint,valueonly)"]).trim().to_owned()
}

#[rstest::rstest]
#[case::subject(&["-m", "one"], "one\n\nCheckpoint: ID")]
#[case::body(&["-m", "one", "-m", "two"], "one\n\ntwo\n\nCheckpoint: ID")]
#[case::signed(&["-s", "-m", "one"], "one\n\nSigned-off-by: C O Mitter <committer@example.com>\nCheckpoint: ID")]
#[case::divider(&["-m", "one\n\n---\ntwo"], "one\n\n---\ntwo\n\nCheckpoint: ID")]
#[case::not_a_comment(&["-m", "one\n\n#12 is done"], "one\n\n#12 is done\n\nCheckpoint: ID")]
#[case::stripped(&["--cleanup=strip", "-m", "one\n\n#12 is done"], "one\n\nCheckpoint: ID")]
#[case::verbatim(&["--cleanup=verbatim", "-m", "one\n\n# two\n"], "one\n\n# two\n\nCheckpoint: ID")]
#[case::there_already(&["-m", "one\n\nCheckpoint: ID"], "one\n\nCheckpoint: ID")]
#[case::another(&["-m", "one\n\nCheckpoint: 1111111111111111"], "one\n\nCheckpoint: 1111111111111111\nCheckpoint: ID")]
#[case::windows(&["-m", "one\r\n\r\ntwo\r\n"], "one\n\ntwo\n\nCheckpoint: ID")]
#[case::verbose(&["-v", "-m", "one"], "one\n\nCheckpoint: ID")]
fn a_message_of_the_command_line(#[case] arguments: &[&str], #[case] expected: &str) {
    let world = world();
    world.write("f", "changed\n");
    world.git(&["add", "f"]);
    let arguments: Vec<String> = arguments.iter().map(|argument| argument.replace("ID", ID)).collect();
    let output = commit(&world, "exit 1", &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(output.status.success(), "{}", described(&output));
    assert_eq!(message(&world), expected.replace("ID", ID));
    assert!(trailers(&world).ends_with(ID));
}

#[rstest::rstest]
#[case::subject("sed -i 1s/^/one/ \"$1\"", &[], "one\n\nCheckpoint: ID")]
#[case::verbose("sed -i 1s/^/one/ \"$1\"", &["-v"], "one\n\nCheckpoint: ID")]
#[case::signed("sed -i 1s/^/one/ \"$1\"", &["-s"], "one\n\nSigned-off-by: C O Mitter <committer@example.com>\nCheckpoint: ID")]
#[case::scissors("sed -i 1s/^/one/ \"$1\"", &["--cleanup=scissors"], "one\n\nCheckpoint: ID")]
#[case::comment("sed -i 1s/^/one/ \"$1\"", &["-c", "core.commentChar=;"], "one\n\nCheckpoint: ID")]
#[case::auto("sed -i 1s/^/one/ \"$1\"", &["-c", "core.commentChar=auto", "-v"], "one\n\nCheckpoint: ID")]
#[case::edited("sed -i 's/one/two/' \"$1\"", &["-e", "-m", "one"], "two\n\nCheckpoint: ID")]
#[case::auto_edited("true", &["-c", "core.commentChar=auto", "-v", "-e", "-m", "one\n\n#1"], "one\n\n#1\n\nCheckpoint: ID")]
#[case::taken_out("sed -i /Checkpoint/d \"$1\"", &["-e", "-m", "one"], "one")]
#[case::rewritten("echo one >\"$1\"", &[], "one")]
fn a_message_that_is_edited(#[case] editor: &str, #[case] arguments: &[&str], #[case] expected: &str) {
    let world = world();
    world.write("f", "changed\n");
    world.git(&["add", "f"]);
    let mut arguments = arguments.to_vec();
    if arguments.first() == Some(&"-c") {
        let (key, value) = arguments[1].split_once('=').expect("key=value");
        world.git(&["config", key, value]);
        arguments.drain(..2);
    }
    let output = commit(&world, editor, &arguments);
    assert!(output.status.success(), "{}", described(&output));
    assert_eq!(message(&world), expected.replace("ID", ID));
}

#[rstest::rstest]
#[case::nothing_typed("true", &[])]
#[case::verbose("true", &["-v"])]
#[case::only_signed("true", &["-s"])]
#[case::all_deleted(": >\"$1\"", &[])]
#[case::empty_argument("exit 1", &["-m", ""])]
#[case::template("true", &["-t", "../template"])]
#[case::template_and_signed("true", &["-s", "-t", "../template"])]
fn a_message_with_nothing_else_aborts_as_ever(#[case] editor: &str, #[case] arguments: &[&str]) {
    let world = world();
    fs::write(world.root().join("template"), "what:\n\n# why?\nwhy:\n").expect("files can be written");
    world.write("f", "changed\n");
    world.git(&["add", "f"]);
    let head = world.git(&["rev-parse", "HEAD"]);
    let output = commit(&world, editor, arguments);
    assert_eq!((output.status.success(), world.git(&["rev-parse", "HEAD"])), (false, head), "{}", described(&output));
}

#[test]
fn templates_and_files_of_messages() {
    let world = world();
    fs::write(world.root().join("template"), "what: \n\n# why?\n").expect("files can be written");
    let output = commit(&world, "sed -i '1s/$/all/' \"$1\"", &["-t", "../template"]);
    assert!(output.status.success(), "{}", described(&output));
    assert_eq!(message(&world), format!("what: all\n\nCheckpoint: {ID}"));
    // The earlier template differs from the current one.
    fs::write(world.root().join("message"), "what: ").expect("files can be written");
    assert!(commit(&world, "exit 1", &["-F", "../message"]).status.success());
    assert_eq!(message(&world), format!("what:\n\nCheckpoint: {ID}"));
}

#[test]
fn messages_that_git_writes() {
    let world = world();
    assert!(commit(&world, "exit 1", &["-m", "one"]).status.success());
    let amended = [vec!["--amend", "--no-edit"], vec!["--amend", "-m", "one"], vec!["-C", "HEAD"], vec!["-c", "HEAD"]];
    for arguments in amended {
        let output = commit(&world, "true", &arguments);
        assert!(output.status.success(), "{arguments:?}: {}", described(&output));
        assert_eq!(message(&world), format!("one\n\nCheckpoint: {ID}"));
    }
    world.git(&["switch", "-qc", "side"]);
    world.write("g", "1\n");
    world.git(&["add", "g"]);
    assert!(commit(&world, "exit 1", &["-m", "side"]).status.success());
    world.git(&["switch", "-q", "main"]);
    world.git(&["merge", "-q", "--no-ff", "--no-edit", "side"]);
    assert_eq!(message(&world), format!("Merge branch 'side'\n\nCheckpoint: {ID}"));
    world.git(&["reset", "-q", "--hard", "HEAD~"]);
    world.git(&["merge", "-q", "--squash", "side"]);
    assert!(commit(&world, "true", &[]).status.success());
    let squashed = message(&world);
    assert!(squashed.starts_with("Squashed commit of the following:") && trailers(&world) == ID, "{squashed}");
}

#[test]
fn settings_of_trailers_are_not_applied() {
    let world = world();
    world.git(&["config", "trailer.ifexists", "doNothing"]);
    world.git(&["config", "trailer.separators", "#"]);
    world.git(&["config", "trailer.bug.command", "echo 12"]);
    assert!(commit(&world, "exit 1", &["-m", "one"]).status.success());
    assert_eq!(message(&world), format!("one\n\nCheckpoint: {ID}"));
}

#[test]
fn a_linked_worktree_has_its_own_file() {
    let world = world();
    let hook = world.repo().join(".git/hooks/prepare-commit-msg.before-checkpoint");
    let text = fs::read_to_string(&hook).expect("it was set aside").replace("$PWD/", "");
    fs::write(&hook, text).expect("files can be written");
    world.git(&["worktree", "add", "-q", "-b", "side", "../it's\na \"tree\""]);
    let mut command = world.command("git");
    command.current_dir(world.root().join("it's\na \"tree\"")).args(["commit", "-q", "--allow-empty", "-m", "one"]);
    let output = command.output().expect("git runs");
    assert!(output.status.success(), "{}", described(&output));
    let tip = world.git(&["for-each-ref", "--format=%(contents)", "--contains=main", "refs/heads"]);
    assert!(tip.contains(&format!("one\n\nCheckpoint: {ID}")), "{tip}");
}
