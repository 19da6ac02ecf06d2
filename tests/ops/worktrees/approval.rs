//! Commands in the project's committed file: anyone who can commit writes it, so none runs before the user has approved it.

use std::{fs, path::PathBuf};

use rstest::rstest;
use serde_json::{Value, json};

use super::{run_in, said, setup::printed};
use crate::support::{World, processes::described, terminal::Terminal};

/// A world whose project has this file, committed.
fn with_project(text: &str) -> World {
    let world = World::with_commit();
    commit(&world, text);
    world
}

fn commit(world: &World, text: &str) {
    world.write(".checkpoint.toml", text);
    world.git(&["add", ".checkpoint.toml"]);
    world.git(&["commit", "-q", "-m", "settings"]);
}

/// Makes a worktree of a new branch, which must succeed, and returns its path and what is said of its set-up.
fn added(world: &World, branch: &str) -> (PathBuf, Value) {
    let output = world.checkpoint(&["worktree", "add", "-c", branch, "--json"]);
    assert!(output.status.success(), "{}", described(&output));
    let added = printed(&output);
    (added["path"].as_str().expect("a path").into(), added["setup"].clone())
}

fn has_run(path: &std::path::Path) -> bool {
    path.join("ran").exists()
}

const SETUP: &str = "worktree.setup = ['touch ran', 'true']\n";

#[test]
fn nothing_runs_before_it_is_approved() {
    let world = with_project(SETUP);
    let output = world.checkpoint(&["worktree", "add", "-c", "one"]);
    let path = world.root().join("repo-wt-one");
    assert!(output.status.success(), "the worktree is made: {}", described(&output));
    assert!(said(&output).contains("2 commands of '.checkpoint.toml' did not run: the list is not approved"));
    assert!(said(&output).contains("'git checkpoint worktree approve' shows them and asks"), "{}", said(&output));
    assert!(
        said(&output).contains(&format!("'git checkpoint worktree setup {}'", path.display())),
        "{}",
        said(&output)
    );
    let (_, setup) = added(&world, "two");
    assert_eq!(setup, json!({ "total": 2, "done": 0, "approved": false, "failed": null }));
    for again in [&["worktree", "setup", "one"][..], &["worktree", "setup", "--again", "one"]] {
        let output = world.checkpoint(again);
        assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    }
    // Without a terminal, nobody answers; JSON alone approves nothing.
    let output = world.checkpoint(&["worktree", "approve"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", described(&output));
    assert!(said(&output).contains("worktree.setup\n   1   touch ran\n   2   true\n"), "{}", said(&output));
    let lists = json!([{ "setting": "worktree.setup", "commands": ["touch ran", "true"], "approved": false, "replaces_own": false }]);
    assert_eq!(world.json(&["worktree", "approve", "--json"])["lists"], lists);
    assert!(!has_run(&path));
    let lists = &world.json(&["worktree", "approve", "--yes", "--json"])["lists"];
    assert_eq!(lists[0]["approved"], json!(true));
    assert!(!has_run(&path), "to approve is not to run");
    world.done(&["worktree", "setup", "one"]);
    assert!(has_run(&path));
    assert!(has_run(&added(&world, "three").0));
    let said = world.done(&["worktree", "approve"]);
    assert!(said.starts_with("worktree.setup (approved)\n") && said.ends_with("they are approved already\n"), "{said}");
}

/// Each of these is another text.
#[rstest]
#[case::one_more("worktree.setup = ['touch ran', 'true', 'true']\n")]
#[case::one_less("worktree.setup = ['touch ran']\n")]
#[case::order("worktree.setup = ['true', 'touch ran']\n")]
#[case::a_blank("worktree.setup = ['touch ran', 'true ']\n")]
#[case::joined("worktree.setup = [\"touch ran\\u0000true\"]\n")]
#[case::another_purpose("worktree.setup = ['touch ran; exit 3']\n")]
fn a_text_that_changed_is_not_approved(#[case] changed: &str) {
    let world = with_project(&format!("{SETUP}worktree.teardown = ['touch ran; exit 3']\n"));
    world.done(&["worktree", "approve", "--yes"]);
    assert!(has_run(&added(&world, "one").0));
    commit(&world, changed);
    let (path, setup) = added(&world, "two");
    assert_eq!((&setup["approved"], &setup["done"], has_run(&path)), (&json!(false), &json!(0), false), "{setup}");
    // Other spellings of the same list in TOML are the same text for the shell.
    commit(&world, "[worktree]\n# once more\nsetup = [\"touch ran\",\n  'true']\n");
    assert!(has_run(&added(&world, "three").0));
}

/// The file of the worktree in which the command runs counts, whatever the new worktree has.
#[test]
fn a_branch_that_changes_the_list_does_not_run_it() {
    let world = with_project(SETUP);
    world.done(&["worktree", "approve", "--yes"]);
    world.git(&["checkout", "-q", "-b", "theirs"]);
    commit(&world, "worktree.setup = ['touch theirs']\n");
    world.git(&["checkout", "-q", "-"]);
    // From here, what was approved here runs.
    let path = world.root().join("repo-wt-theirs");
    world.done(&["worktree", "add", "theirs"]);
    assert_eq!((has_run(&path), path.join("theirs").exists()), (true, false));
    // There, their list is read, and does not run: neither for that worktree nor for another one.
    for arguments in [&["worktree", "setup", "--again"][..], &["worktree", "add", "-c", "more"]] {
        let output = run_in(&world, &path, arguments);
        assert!(said(&output).contains("did not run: the list is not approved"), "{arguments:?}: {}", said(&output));
    }
    assert!(!path.join("theirs").exists() && !world.root().join("repo-wt-more/theirs").exists());
    // The same with a change that nobody has committed.
    fs::write(path.join(".checkpoint.toml"), "worktree.setup = ['touch uncommitted']\n").expect("writable");
    let output = run_in(&world, &path, &["worktree", "setup"]);
    assert_eq!((output.status.code(), path.join("uncommitted").exists()), (Some(1), false), "{}", described(&output));
}

/// What approves is kept in the repository, not in what can be committed or cloned.
#[test]
fn a_clone_approves_nothing() {
    let world = with_project(SETUP);
    world.done(&["worktree", "approve", "--yes"]);
    world.git(&["clone", "-q", ".", "../clone"]);
    let output = run_in(&world, &world.root().join("clone"), &["worktree", "add", "-c", "one", "--json"]);
    assert_eq!(printed(&output)["setup"]["approved"], json!(false), "{}", described(&output));
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_was_approved_is_revoked() {
    let world = with_project(SETUP);
    world.done(&["worktree", "approve", "--yes"]);
    assert_eq!(world.json(&["worktree", "approve", "--revoke", "--json"]), json!({ "version": 1, "revoked": 1 }));
    let (path, setup) = added(&world, "one");
    assert_eq!((&setup["approved"], has_run(&path)), (&json!(false), false));
    world.done(&["worktree", "approve", "--revoke"]);
}

/// The user's own list takes the place of the project's, as with every setting.
#[test]
fn the_users_list_comes_after_the_projects() {
    let world = with_project(SETUP);
    world.git(&["config", "checkpoint.worktree.setup", "touch mine"]);
    let (path, setup) = added(&world, "one");
    assert_eq!((&setup["approved"], path.join("mine").exists(), has_run(&path)), (&json!(true), true, false));
    assert_eq!(world.json(&["worktree", "approve", "--json"])["lists"], json!([]));
    let said = world.done(&["worktree", "approve"]);
    assert!(said.contains("no command of '.checkpoint.toml' in this worktree would run"), "{said}");
}

/// What a terminal would act on is shown as text, each command on rows of its own.
#[test]
fn what_is_shown_is_fit_for_a_terminal() {
    let hostile = r#"worktree.setup = ["true\n   2  harmless", "\u001b[2K\rtrue # \u202e", "\u009b31m\u0007", ""]"#;
    let world = with_project(hostile);
    let mut terminal = Terminal::start(&world, "git checkpoint worktree approve; echo \"status $?.\"", |_| {});
    let shown = terminal.wait_for("Let these 4 commands in 5 rows run? [y/N] ");
    let expected = [
        "worktree.setup",
        r"   1   true\n",
        r"   1 | \{3 blanks}2\{2 blanks}harmless",
        r"   2   \u{1b}[2K\rtrue # \u{202e}",
        r"   3   \u{9b}31m\u{7}",
        r"   4   \{empty}",
    ];
    assert_eq!(shown.lines().take(6).collect::<Vec<_>>(), expected, "{shown}");
    terminal.press("\n");
    terminal.wait_for("status ");
    assert_eq!(terminal.wait_for("."), "1.");
    assert_eq!(added(&world, "one").1["approved"], json!(false));
    let mut terminal =
        Terminal::start(&world, "git checkpoint worktree approve >/dev/null; echo \"status $?.\"", |_| {});
    let shown = terminal.wait_for("run? [y/N] ");
    assert!(shown.contains("harmless"), "the user who answers has seen them: {shown}");
    terminal.press("y\n");
    terminal.wait_for("status ");
    assert_eq!(terminal.wait_for("."), "0.");
    let lists = &world.json(&["worktree", "approve", "--json"])["lists"];
    assert_eq!(lists[0]["approved"], json!(true));
    // The commands fail or not; what is said of them is fit for a terminal, too.
    let output = world.checkpoint(&["worktree", "add", "-c", "two"]);
    assert!(!output.stderr.contains(&0x1b) && !output.stderr.contains(&b'\r'), "{}", described(&output));
}

/// No other text is shown as the one that runs: neither where it is approved, nor where it runs, nor in the error.
#[rstest]
#[case::a_comment_that_ends(r#""true #\ntouch ran; exit 3""#, r"true #\n", r"true #\ntouch ran; exit 3")]
#[case::a_backslash_and_n("'true # \\ntouch ran'", r"true # \\ntouch ran", r"true # \\ntouch ran")]
#[case::an_invisible_name(r#""./set\u200bup.sh""#, r"./set\u{200b}up.sh", r"./set\u{200b}up.sh")]
#[case::a_filler(
    r#""false \u3164\u2800\ufe0f\U000e0041\u00a0\u00ad\u061c""#,
    r"false \u{3164}\u{2800}\u{fe0f}\u{e0041}\u{a0}\u{ad}\u{61c}",
    r"false \u{3164}\u{2800}\u{fe0f}\u{e0041}\u{a0}\u{ad}\u{61c}"
)]
fn what_is_shown_stands_for_one_text(#[case] toml: &str, #[case] row: &str, #[case] named: &str) {
    let world = with_project(&format!("worktree.setup = [{toml}]\n"));
    let shown = world.done(&["worktree", "approve", "--yes"]);
    assert_eq!(shown.lines().nth(1), Some(format!("   1   {row}").as_str()), "{shown}");
    let output = world.checkpoint(&["worktree", "add", "-c", "one"]);
    assert!(said(&output).contains(&format!("set-up: {named}\n")), "{}", said(&output));
    if !output.status.success() {
        assert!(said(&output).contains(&format!("the set-up command '{named}' has failed")), "{}", said(&output));
    }
}

/// On a terminal of 80 columns and 24 rows, blanks push nothing out of sight, and no row of a command looks like another command.
#[test]
fn a_long_command_hides_nothing() {
    let blanks = " ".repeat(80 * 30);
    let forged = format!("echo EVIL; : {blanks}{:80}   1  npm ci", "worktree.setup");
    let world = with_project(&format!("worktree.setup = ['{forged}', 'echo {}']\n", "x".repeat(200)));
    let line = "stty rows 24 cols 80; git checkpoint worktree approve; echo \"status $?.\"";
    let mut terminal = Terminal::start(&world, line, |_| {});
    let shown = terminal.wait_for("Let these 2 commands in 4 rows run? [y/N] ");
    let rows: Vec<&str> = shown.lines().collect();
    assert_eq!(rows[1], r"   1   echo EVIL; :\{2401 blanks}worktree.setup\{69 blanks}1\{2 blanks}npm ci");
    assert!(rows[2].starts_with("   2   echo xxx") && rows[3].starts_with("   2 | xxx"), "{shown}");
    assert!(rows[4].starts_with("   2 | xxx"), "{shown}");
    assert!(rows.iter().all(|row| row.len() <= 80), "{shown}");
    terminal.press("n\n");
    let shown = terminal.wait_for("\nstatus 1.");
    assert!(
        shown.contains("the commands are not approved") && !shown.contains("hint"),
        "the user has answered: {shown}"
    );
}

/// A list that is longer than the screen is shown screen by screen: all of it, or it is not approved.
#[test]
fn a_long_list_is_shown_by_screens() {
    let list: Vec<String> = (0..40).map(|number| format!("'echo {number}'")).collect();
    let world = with_project(&format!("worktree.setup = [{}]\n", list.join(", ")));
    let line = "stty rows 24 cols 80; git checkpoint worktree approve; echo \"status $?.\"";
    let mut terminal = Terminal::start(&world, line, |_| {});
    let shown = terminal.wait_for("[y/N] ");
    assert!(
        shown.contains("40 commands in 40 rows") && shown.contains("   1   echo 0") && shown.lines().count() <= 24,
        "{shown}"
    );
    assert!(!shown.contains("echo 39") && !shown.contains("run?"), "{shown}");
    terminal.press("y\n");
    let shown = terminal.wait_for("[y/N] ");
    assert!(shown.contains("echo 39") && shown.contains("Let these 40 commands in 40 rows run?"), "{shown}");
    terminal.press("n\n");
    terminal.wait_for("status ");
    assert_eq!(terminal.wait_for("."), "1.");
    let mut terminal = Terminal::start(&world, line, |_| {});
    terminal.wait_for("[y/N] ");
    terminal.press("\n");
    terminal.wait_for("status ");
    assert_eq!(terminal.wait_for("."), "1.");
    assert_eq!(world.json(&["worktree", "approve", "--json"])["lists"][0]["approved"], json!(false));
}

/// What the system cannot start is not approved.
#[rstest]
#[case::a_nul(r#""a\u0000b""#, "has a NUL character")]
#[case::too_long(&format!("'true {}'", "x".repeat(128 * 1024)), "is longer than 128 KiB")]
fn a_command_that_cannot_run_is_not_approved(#[case] toml: &str, #[case] why: &str) {
    let world = with_project(&format!("worktree.setup = ['touch ran', {toml}]\n"));
    for arguments in
        [&["worktree", "approve"][..], &["worktree", "approve", "--yes"], &["worktree", "approve", "--json"]]
    {
        let output = world.checkpoint(arguments);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{arguments:?}");
        let words = format!("command 2 of 'worktree.setup' in '.checkpoint.toml' {why}: it cannot run");
        assert!(said(&output).contains(&words) && said(&output).len() < 1000, "{}", said(&output).len());
    }
    let (path, setup) = added(&world, "one");
    assert_eq!((&setup["approved"], has_run(&path)), (&json!(false), false));
}

/// What the file changes to while the question waits is not approved.
#[test]
fn what_was_shown_is_what_is_approved() {
    let world = with_project(SETUP);
    let mut terminal = Terminal::start(&world, "git checkpoint worktree approve; echo \"status $?.\"", |_| {});
    terminal.wait_for("run? [y/N] ");
    commit(&world, "worktree.setup = ['touch evil']\n");
    terminal.press("y\n");
    terminal.wait_for("status ");
    assert_eq!(terminal.wait_for("."), "0.");
    let (path, setup) = added(&world, "one");
    assert_eq!((&setup["approved"], path.join("evil").exists()), (&json!(false), false));
}

/// A list that is none is ignored with a warning; a long one is a list like others.
#[rstest]
#[case::text("worktree.setup = 'touch ran'")]
#[case::number("worktree.setup = 3")]
#[case::table("[worktree.setup]\nx = 'touch ran'")]
#[case::mixed("worktree.setup = ['touch ran', 3]")]
fn what_is_no_list_does_not_run(#[case] text: &str) {
    let world = with_project(text);
    let output = world.checkpoint(&["worktree", "add", "-c", "one", "--json"]);
    assert!(output.status.success(), "{}", described(&output));
    assert_eq!(printed(&output)["setup"], json!(null));
    let warnings = ["'worktree.setup' in '", "unknown setting 'worktree.setup.x' in '"];
    assert!(warnings.iter().any(|it| said(&output).contains(it)), "{}", said(&output));
    assert_eq!(world.json(&["worktree", "approve", "--yes", "--json"])["lists"], json!([]));
    assert!(!has_run(&world.root().join("repo-wt-one")));
}

#[test]
fn many_commands_are_shown_and_run() {
    let list: Vec<String> = (0..300).map(|number| format!("'echo {number} >>ran'")).collect();
    let world = with_project(&format!("worktree.setup = [{}]\n", list.join(", ")));
    let shown = world.done(&["worktree", "approve", "--yes"]);
    assert!(shown.contains("\n 300   echo 299 >>ran\n"), "{shown}");
    let (path, setup) = added(&world, "one");
    assert_eq!(setup["done"], json!(300));
    assert_eq!(fs::read_to_string(path.join("ran")).expect("it ran").lines().count(), 300);
}
