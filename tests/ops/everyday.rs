//! What a new user does: types a part of an id, copies a path that is printed, asks what a restore was.

use std::process::Output;

use crate::support::{World, processes::described, program};

/// Runs the program in `directory` of the repository.
fn run_in(world: &World, directory: &str, arguments: &[&str]) -> Output {
    let mut command = world.command(program());
    command.args(arguments).current_dir(world.repo().join(directory)).output().expect("it runs")
}

/// Returns what a command that succeeds prints, without what it says on standard error.
fn printed_in(world: &World, directory: &str, arguments: &[&str]) -> String {
    let output = run_in(world, directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", described(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

const SESSION: &str = "0198f3c2-7d41-7b02-9a53-5d1c0e8f1a2b";

#[test]
fn a_person_may_type_the_beginning_of_a_session() {
    let world = World::with_commit();
    world.done(&["session", "start", SESSION, "--agent", "claude-code"]);
    world.done(&["session", "prompt", SESSION, "-m", "x"]);
    world.write("f", "new\n");
    world.done(&["session", "stop", "0198"]);
    let said = world.done(&["session", "prompt", SESSION, "-m", "y"]);
    assert!(said.starts_with("turn 2: "), "{said}");
    world.done(&["session", "end", "0198f3"]);
    let listed = world.json(&["session", "list", "--all", "--json"]);
    let sessions = listed["sessions"].as_array().expect("a list");
    assert_eq!(sessions.len(), 1, "{listed}");
    assert_eq!((&sessions[0]["id"], &sessions[0]["phase"]), (&SESSION.into(), &"ended".into()));
}

#[test]
fn the_first_prompt_of_an_unknown_session_says_that_it_begins() {
    let world = World::with_commit();
    let said = world.done(&["session", "prompt", "s1", "-m", "x"]);
    assert!(said.starts_with("session s1 begins\nturn 1: "), "{said}");
    assert!(!world.done(&["session", "prompt", "s1", "-m", "x"]).contains("s1 begins"));
    for other in ["s2-a", "s2-b"] {
        assert_eq!(world.done(&["session", "start", other]), format!("{other}\n"));
        assert!(!world.done(&["session", "prompt", other, "-m", "x"]).contains(&format!("{other} begins")));
    }
    // A script may give ids that begin alike.
    let begun = world.checkpoint(&["session", "prompt", "s2", "-m", "x", "--agent", "bot"]);
    let said = described(&begun);
    assert!(said.contains("session s2 begins") && said.contains("type its whole id: s2-"), "{said}");
    assert_eq!(world.json(&["session", "list", "--all", "--json"])["sessions"].as_array().map(Vec::len), Some(4));
    let begun = world.json(&["session", "prompt", "s3", "-m", "x", "--json"]);
    assert_eq!((&begun["begins"], &begun["session"]["id"]), (&true.into(), &"s3".into()));
}

/// Saves notes.txt, which git never gets; then `by_agent` or a person deletes it, and the rest is committed.
fn with_deleted_notes(by_agent: bool) -> World {
    let world = World::with_hooks();
    world.write("notes.txt", "ideas\n");
    world.done(&["save", "-m", "notes"]);
    world.done(&["session", "prompt", "d", "--agent", "claude-code", "-m", "one"]);
    world.write("f", "1\n");
    world.done(&["session", "stop", "d"]);
    world.done(&["session", "prompt", "d", "-m", "two"]);
    world.write("f", "2\n");
    if by_agent {
        world.remove("notes.txt");
    }
    world.done(&["session", "stop", "d"]);
    if !by_agent {
        world.remove("notes.txt");
        world.done(&["save", "-m", "no notes"]);
    }
    world.git(&["commit", "-qam", "x"]);
    world
}

#[test]
fn what_an_agent_deleted_comes_back_after_a_commit_that_never_had_it() {
    let world = with_deleted_notes(true);
    let said = world.done(&["restore", "d@1"]);
    assert!(said.contains("written  notes.txt"), "{said}");
    assert_eq!(world.read("notes.txt"), "ideas\n");
}

#[test]
fn what_a_person_deleted_stays_deleted_after_a_commit() {
    let world = with_deleted_notes(false);
    let output = world.checkpoint(&["restore", "d@1"]);
    assert!(described(&output).contains("kept     notes.txt (changed by a human since)"), "{}", described(&output));
    assert!(!world.exists("notes.txt"));
}

/// An agent's session with files in a directory, in a commit and after it.
fn with_directory() -> World {
    let world = World::with_hooks();
    world.done(&["session", "prompt", "s1", "--agent", "claude-code", "-m", "one"]);
    world.write("src/a.py", "1\n");
    world.write("top", "1\n");
    world.done(&["session", "stop", "s1"]);
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "x"]);
    world.write("src/a.py", "2\n");
    world
}

#[rstest::rstest]
#[case::prompts(&["prompts"])]
#[case::session(&["session", "show", "s1"])]
#[case::show(&["show", "s1@1"])]
#[case::commit(&["show", "HEAD"])]
#[case::explain(&["explain"])]
#[case::attribution(&["attribution"])]
#[case::stat(&["attribution", "--stat"])]
#[case::worktree(&["attribution", "--worktree", "--stat"])]
fn paths_are_relative_to_the_current_directory(#[case] arguments: &[&str]) {
    let world = with_directory();
    let printed = printed_in(&world, "src", arguments);
    assert!(printed.contains("a.py") && !printed.contains("src/a.py"), "{printed}");
    assert!(!printed.contains("top") || printed.contains("../top"), "{printed}");
    let plain = printed_in(&world, ".", arguments);
    assert!(plain.contains("src/a.py"), "{plain}");
}

#[rstest::rstest]
#[case::restore(&["restore", "s1@1", "src/a.py"], ":/src/a.py")]
#[case::list(&["list", "src/a.py"], ":/src/a.py")]
#[case::attribution(&["attribution", "--worktree", "--", "src/a.py"], ":/src/a.py")]
#[case::diff(&["diff", "--", "src/a.py"], ":/src/a.py")]
#[case::blame(&["blame", "src/a.py"], "a.py")]
#[case::why(&["why", "src/a.py:1"], "a.py")]
#[case::save(&["save", "--paths", "src/a.py"], "a.py")]
fn a_path_from_the_root_gets_a_hint_in_a_directory(#[case] arguments: &[&str], #[case] instead: &str) {
    let world = with_directory();
    let output = run_in(&world, "src", arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let hint = format!("hint: 'src/a.py' begins at the root: type '{instead}'\n");
    assert!(said.contains(&hint), "{}", described(&output));
    let without = run_in(&world, ".", arguments);
    assert!(!described(&without).contains("begins at the root"), "{}", described(&without));
}

#[test]
fn a_deleted_file_of_the_target_gets_the_hint_too() {
    let world = with_directory();
    world.write("src/new", "1\n");
    world.done(&["save"]);
    world.remove("src/new");
    let output = run_in(&world, "src", &["restore", "@{0}", "src/new"]);
    assert!(described(&output).contains("type ':/src/new'"), "{}", described(&output));
}

#[rstest::rstest]
#[case::restore(&["restore", "s1"], "'s1' is a session: 's1@<turn>' names the state after a turn")]
#[case::show(&["show", "s1"], "'git checkpoint prompts s1' lists them")]
#[case::diff(&["diff", "s1"], "'s1' is a session")]
#[case::save(&["save", "a text"], "hint: a message follows -m: 'git checkpoint save -m 'a text''")]
#[case::why(&["why", "f", "3"], "hint: the line follows the file after a colon: '<file>:3'")]
#[case::undo(&["undo", "@{1}"], "hint: undo takes no name; 'git checkpoint op undo @{1}' takes back one that undo --list shows")]
#[case::log(&["log", "-p"], "hint: 'git checkpoint show -p <checkpoint>' shows the lines")]
#[case::last(&["restore", "--last"], "hint: '@{0}' names the latest checkpoint")]
fn what_users_type_first_gets_a_hint(#[case] arguments: &[&str], #[case] hint: &str) {
    let world = with_directory();
    let output = world.checkpoint(arguments);
    let said = described(&output);
    assert!(!output.status.success() && said.contains(hint) && !said.contains("as a value"), "{said}");
}

/// A restore has one name, and ids as short as the user wants them, wherever it is listed.
#[test]
fn a_restore_has_one_name() {
    let world = World::with_commit();
    world.git(&["config", "core.abbrev", "12"]);
    world.write("f", "1\n");
    world.write("g", "1\n");
    world.done(&["save", "-m", "A"]);
    let id = |name: &str| world.json(&["show", name, "--json"])["id"].as_str().expect("an id")[..12].to_owned();
    let of_a = id("@{0}");
    world.write("f", "2\n");
    world.write("g", "2\n");
    world.done(&["restore", "--all", "@{0}", "f"]);
    let first = |name: &str| {
        let shown = world.done(&["show", name]);
        shown.lines().find_map(|line| line.strip_prefix("    ")).expect("a message").to_owned()
    };
    let parts = format!("restored parts of 'A' ({of_a})");
    assert!(world.done(&["list"]).contains(&parts), "{}", world.done(&["list"]));
    assert_eq!(first("@{0}"), parts);
    let tab = world.done(&["completions", "fish", "--", "git", "checkpoint", "restore", ""]);
    assert!(tab.contains(&parts), "{tab}");
    let of_parts = id("@{0}");
    world.write("g", "3\n");
    world.done(&["restore", "--all", &of_parts]);
    assert_eq!(first("@{0}"), format!("restored the result of an earlier restore ({of_parts})"));
    world.done(&["restore", "--all", &of_a]);
    assert_eq!(first("@{0}"), format!("restored 'A' ({of_a})"));
    world.done(&["reset", "--force"]);
    let archive = world.done(&["reset", "--list"]);
    assert!(archive.contains(&format!("restored 'A' ({of_a})")), "{archive}");
}

#[test]
fn only_a_restore_of_everything_says_what_comes_from_the_other_base() {
    let world = World::with_commit();
    world.write("g", "1\n");
    world.done(&["save", "-m", "A"]);
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "x"]);
    world.write("g", "2\n");
    let id = world.json(&["show", "@{0}", "--json"])["id"].as_str().expect("an id").to_owned();
    let some = world.checkpoint(&["restore", "-n", &id, "g"]);
    assert!(!described(&some).contains("what is different there"), "{}", described(&some));
    let all = world.checkpoint(&["restore", "-n", "--all", &id]);
    assert!(described(&all).contains("what is different there"), "{}", described(&all));
}

#[test]
fn errors_of_git_are_not_announced_twice() {
    let world = World::with_commit();
    world.git(&["config", "core.abbrev", "3"]);
    let said = described(&world.checkpoint(&["blame", "f"]));
    assert!(!said.contains("fatal: error:") && !said.contains("fatal: fatal:") && said.contains("abbrev"), "{said}");
}

#[test]
fn what_a_person_restores_is_no_checkpoint_of_the_session() {
    let world = World::with_commit();
    world.done(&["session", "prompt", "s1", "--agent", "claude-code", "-m", "one"]);
    world.write("f", "1\n");
    world.done(&["session", "stop", "s1"]);
    world.done(&["restore", "--before", "s1@1"]);
    world.done(&["restore", "s1@1"]);
    let listed = world.json(&["session", "list", "--json"]);
    assert_eq!(listed["sessions"][0]["checkpoints"], 1, "{listed}");
    assert_eq!(listed["sessions"][0]["files"][0], "f", "{listed}");
    assert_eq!(world.json(&["status", "--json"])["sessions"][0]["checkpoints"], 1);
}

/// Of a session that only `save` names, no turn can be listed.
#[test]
fn a_session_without_turns_is_called_so() {
    const HINT: &str = "'7f3a' is a session without turns: 'git checkpoint list --session 7f3a' shows its checkpoints";
    let world = World::with_commit();
    world.write("f", "a\n");
    world.done(&["save", "-q", "--session", "7f3a"]);
    let said = |line: &[&str]| described(&world.checkpoint(line));
    assert!(said(&["restore", "7f3a"]).contains(HINT), "{}", said(&["restore", "7f3a"]));
    assert!(said(&["restore", "7f3a@0"]).contains(HINT), "{}", said(&["restore", "7f3a@0"]));
    assert!(said(&["prompts"]).contains("7f3a"), "{}", said(&["prompts"]));
    world.done(&["session", "prompt", "S", "-m", "x"]);
    world.done(&["session", "stop", "S"]);
    let turn = said(&["restore", "S@0^"]);
    assert!(turn.contains("turns are counted from 1: 'git checkpoint prompts S' lists them"), "{turn}");
}

#[rstest::rstest]
#[case::verify(&["verify", "base"])]
#[case::verify_head(&["verify", "HEAD"])]
#[case::drop(&["drop", "base"])]
fn a_commit_is_called_a_commit(#[case] line: &[&str]) {
    let said = described(&World::with_commit().checkpoint(line));
    assert!(said.contains("is a commit, not a checkpoint"), "{said}");
    assert!(said.lines().all(|line| line.len() < 100), "ids are short: {said}");
}

#[test]
fn what_changed_a_kept_path_is_not_known() {
    let world = World::with_commit();
    world.sh("git checkpoint session prompt -q K -m go; echo a >>f; git checkpoint session stop -q K");
    world.sh("for s in A B; do git checkpoint session prompt -q $s -m go; done");
    world.sh("echo b >>f; git checkpoint save -q; for s in A B; do git checkpoint session stop -q $s; done");
    let said = described(&world.checkpoint(&["restore", "K@1"]));
    assert!(said.contains("nothing restored: 1 path changed since the checkpoint, by whom is not known"), "{said}");
}

/// Git has removed what the restore wrote: there is nothing to undo in files, but the operation is taken back.
#[test]
fn an_undo_that_changes_no_file_says_what_it_took_back() {
    let world = World::with_commit();
    for name in ["n", "d/x"] {
        world.done(&["session", "prompt", "-q", "S", "-m", "go"]);
        world.write(name, "1\n");
        world.done(&["session", "stop", "-q", "S"]);
    }
    world.sh("git clean -fdq; git checkpoint restore -q S@2; git clean -fdq; git checkpoint restore -q S@1");
    world.sh("git checkpoint undo -q");
    let said = described(&world.checkpoint(&["undo"]));
    assert!(
        said.contains("undone: git checkpoint restore -q S@2; no file had to change: the worktree is as in"),
        "{said}"
    );
}

#[test]
fn a_checkpoint_of_the_index_alone_is_called_so() {
    let world = World::with_commit();
    world.sh("echo 1 >f; git checkpoint save -q; echo 2 >f; git add f; echo 1 >f; git checkpoint save -q");
    let listed = world.done(&["list"]);
    assert!(listed.lines().next().is_some_and(|line| line.ends_with("no file, only the index")), "{listed}");
    world.sh("git checkpoint save -q --allow-empty");
    let listed = world.done(&["list"]);
    assert!(listed.lines().next().is_some_and(|line| line.contains("no change")), "{listed}");
}

/// What was taken back after a save is different from the base in the checkpoint only.
#[rstest::rstest]
#[case("git checkout -q f")]
#[case("git stash -q")]
fn status_names_what_is_as_in_the_base_again(#[case] take_back: &str) {
    let world = World::with_commit();
    world.add_to("f", "more\n");
    world.done(&["save", "-q"]);
    world.sh(take_back);
    let said = world.done(&["status"]);
    assert!(!said.contains("Saved, and different from the base:"), "{said}");
    assert!(said.contains("Saved, and since then as in the base again:\n\tf\n"), "{said}");
}

/// A hint at what gets something says what that is.
#[rstest::rstest]
#[case::blame(&["blame", "f"])]
#[case::why(&["why", "f:2"])]
#[case::stat(&["attribution", "--stat"])]
#[case::patch(&["attribution", "-p"])]
#[case::attribution(&["attribution"])]
fn a_clone_without_records_names_what_is_missing(#[case] arguments: &[&str]) {
    let world = World::with_hooks();
    world.done(&["session", "prompt", "s", "-q", "-m", "p"]);
    world.add_to("f", "of the agent\n");
    world.done(&["session", "stop", "s", "-q"]);
    world.git(&["commit", "-qam", "c"]);
    let message = world.git(&["log", "-1", "--format=%(trailers:key=Checkpoint,valueonly)"]);
    world.git(&["clone", "-q", ".", "../clone"]);
    let output = world.command(program()).args(["-C", "../clone"]).args(arguments).output().expect("it runs");
    let said = described(&output);
    assert!(said.contains("if a remote has the records, 'git checkpoint fetch <remote>' gets them"), "{said}");
    assert!(said.contains(&format!("the record {}", message.trim())), "{said}");
}

/// A save records nothing where only a person has restored a person's file.
#[test]
fn a_restore_of_ones_own_waits_for_no_save() {
    let world = World::with_commit();
    world.write("n", "n\n");
    world.done(&["save", "-q"]);
    world.remove("n");
    world.done(&["restore", "-q", "@{0}"]);
    world.sh("git add -A; git commit -qm c");
    let said = described(&world.checkpoint(&["attribution", "--stat"]));
    assert!(!said.contains("'git checkpoint save' records") && said.contains("'git checkpoint enable'"), "{said}");
}
