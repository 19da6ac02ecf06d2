//! What is printed on a terminal of 60 columns fits there: no line is longer, and none is broken within a word.

use std::process::Stdio;

use crate::support::{World, processes::described, program, terminal::Terminal};

const COLUMNS: usize = 60;
const WORDS: &str = "numbers are spelled out in words that everybody can read without a dictionary";

/// Long names and long messages: an agent's session with a commit, and what is not committed yet.
fn world() -> World {
    let world = World::with_hooks();
    let session = "0196b1f2-aaaa-7bbb-8ccc-0123456789ab";
    world.done(&["session", "start", session, "--agent", "claude-code", "--model", "claude-opus-with-a-long-name"]);
    for turn in 1..4 {
        world.done(&["session", "prompt", session, "-m", WORDS]);
        world.write("a/directory/with/a/name/of-some-length.txt", format!("{turn}\n").repeat(turn));
        world.done(&["save", "--session", session, "-m", WORDS]);
        world.write("f", "2\n");
        world.done(&["session", "stop", session]);
        if turn == 2 {
            world.git(&["add", "-A"]);
            world.git(&["commit", "-qm", WORDS]);
        }
    }
    world.write("f", "3\n");
    world.write("long", format!("{WORDS}\n\u{6570}{WORDS}\n"));
    world.done(&[
        "save",
        "--verify",
        "-m",
        "\u{6570}\u{5b57}\u{7528}\u{6587}\u{5b57}\u{62fc}\u{5199}".repeat(4).as_str(),
    ]);
    world
}

/// Returns the lines that the program prints on a terminal of 60 columns, without colours.
fn shown(world: &World, arguments: &[&str]) -> Vec<String> {
    let words: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
    let line = format!("stty cols {COLUMNS}; exec {} --no-pager --color=never {}", program(), words.join(" "));
    let mut command = world.command("script");
    command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::null());
    let output = command.output().expect("script(1) runs");
    let text = String::from_utf8(output.stdout.clone()).unwrap_or_else(|_| panic!("{}", described(&output)));
    text.lines().map(|line| line.trim_end_matches('\r').to_owned()).collect()
}

/// Returns how many columns a terminal takes for `line`.
fn columns(line: &str) -> usize {
    let tabs = line.len() - line.trim_start_matches('\t').len();
    tabs * 8 + line.trim_start_matches('\t').chars().map(|c| if c >= '\u{2e80}' { 2 } else { 1 }).sum::<usize>()
}

#[rstest::rstest]
#[case::list(&["list"])]
#[case::list_all(&["list", "--all"])]
#[case::list_of_all_worktrees(&["list", "--all-worktrees"])]
#[case::archive(&["reset", "--list"])]
#[case::operations(&["op", "log"])]
#[case::why(&["why", "f:1"])]
#[case::stat(&["diff", "--stat", "base", "@{0}"])]
#[case::verified(&["verify", "--show"])]
#[case::doctor(&["doctor"])]
#[case::status(&["status"])]
#[case::sessions(&["session", "list", "--all"])]
#[case::prompts(&["prompts"])]
#[case::explain(&["explain"])]
#[case::events(&["events"])]
#[case::attribution(&["attribution"])]
#[case::patch(&["attribution", "-p"])]
#[case::blame(&["blame", "a/directory/with/a/name/of-some-length.txt"])]
#[case::blame_of_long_lines(&["blame", "long"])]
#[case::an_operation(&["op", "show"])]
#[case::the_operation_of_a_commit(&["op", "show", "@{5}"])]
#[case::nothing_to_save(&["save", "-m", WORDS])]
#[case::hints(&["restore", "--before", "@{1}"])]
#[case::settings(&["config", "list"])]
#[case::errors(&["restore", "main..HEAD"])]
#[case::a_long_message(&["show", "@{2}"])]
fn what_is_printed_fits_a_narrow_terminal(#[case] arguments: &[&str]) {
    let world = world();
    let lines = shown(&world, arguments);
    assert!(!lines.is_empty());
    let long: Vec<&String> = lines.iter().filter(|line| columns(line) > COLUMNS).collect();
    assert!(long.is_empty(), "{long:#?}\nof {lines:#?}");
}

/// Two sessions of which only the ends of the ids differ.
#[rstest::rstest]
#[case::blame(&["blame", "f"])]
#[case::list(&["list"])]
#[case::status(&["status"])]
#[case::sessions(&["session", "list"])]
#[case::worktrees(&["worktree", "list"])]
fn sessions_do_not_look_the_same(#[case] arguments: &[&str]) {
    let world = World::with_commit();
    for end in ["11", "22"] {
        let session = format!("5b1f3c9e-7a44-4f0e-9f43-2f3a5b1f1c{end}");
        world.done(&["session", "prompt", &session, "--agent", "claude-code", "-m", "x"]);
        world.add_to("f", "x\n");
        world.done(&["session", "stop", &session]);
    }
    let lines = shown(&world, arguments);
    for what in ["1f1c11", "1f1c22", "claude-code"] {
        assert!(lines.iter().any(|line| line.contains(what)), "{lines:#?}");
    }
    let long: Vec<&String> = lines.iter().filter(|line| columns(line) > COLUMNS || line.ends_with("...")).collect();
    assert!(long.is_empty(), "{long:#?}\nof {lines:#?}");
}

#[test]
fn a_mark_leaves_room_for_the_message() {
    let world = World::with_commit();
    let session = "019ac5b1-7aaa-4f0e-9f43-2f3a5b1f1c11";
    world.done(&["session", "prompt", session, "--agent", "claude-code", "-m", "x"]);
    world.add_to("f", "x\n");
    world.done(&["save", "--session", session, "-m", "fix the thing", "--verify"]);
    let lines = shown(&world, &["list"]);
    assert!(lines.iter().any(|line| line.contains("fix the") && line.contains("[verified]")), "{lines:#?}");
}

#[test]
fn moments_are_relative_on_a_terminal() {
    let world = World::with_commit();
    world.sh("git checkpoint worktree add -q -c a/branch/with/a/long-name
        git checkpoint worktree remove -q a/branch/with/a/long-name; echo 1 >f; git checkpoint save -q; git checkpoint reset -q");
    for arguments in [
        &["worktree", "restore", "--list"][..],
        &["worktree", "prune", "--removed", "-n"],
        &["prune", "--keep", "0", "-n"],
    ] {
        let lines = shown(&world, arguments);
        assert!(lines.iter().any(|line| line.contains(" ago")), "{lines:#?}");
        // A path that is a word of a sentence is whole.
        let fits = |line: &String| columns(line) <= COLUMNS || line.starts_with('/') && !line.contains(' ');
        assert!(lines.iter().all(|line| fits(line) && !line.contains("+00:00")), "{lines:#?}");
    }
}

#[test]
fn texts_of_doctor_and_questions_break_between_words() {
    let world = World::with_commit();
    world.done(&["enable", "--agent", "claude-code"]);
    let lines = shown(&world, &["doctor"]);
    assert!(lines.iter().all(|line| columns(line) <= COLUMNS), "{lines:#?}");
    world.sh("git worktree add -q -b side ../a-worktree-with-a-long-name; echo 1 >../a-worktree-with-a-long-name/n");
    let line = format!("stty cols {COLUMNS}; git checkpoint worktree remove side");
    let mut terminal = Terminal::start(&world, &line, |_| {});
    let asked = terminal.wait_for("[y/N] ");
    let asked = asked.rsplit("\r\n\r\n").next().unwrap_or_default();
    assert!(asked.lines().all(|line| columns(line.trim_end_matches('\r')) <= COLUMNS), "{asked}");
    terminal.press("n\n");
    terminal.wait_for("brings it back");
}

/// Returns `text` without the sequences that set colours.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// Enter plays the whole tour.
#[test]
fn all_steps_of_the_tour_fit_a_narrow_terminal() {
    let world = World::new();
    let mut terminal = Terminal::start(&world, &format!("stty cols {COLUMNS}; git checkpoint tour"), |_| {});
    let mut text = terminal.wait_for("[1/");
    let rest = terminal.wait_for("] ");
    let steps: usize = rest.trim_end_matches("] ").parse().expect("the number of steps");
    assert!(steps > 10, "{text}{rest}");
    text += &rest;
    for step in 1..=steps {
        if step > 1 {
            text += &terminal.wait_for(&format!("[{step}/{steps}] "));
        }
        terminal.press("\n");
    }
    text += &terminal.wait_for("git checkpoint enable --agent");
    text += &terminal.wait_for("\n");
    let lines: Vec<String> =
        without_colours(&text).lines().map(|line| line.trim_end_matches('\r').to_owned()).collect();
    let long: Vec<&String> = lines.iter().filter(|line| columns(line) > COLUMNS).collect();
    assert!(long.is_empty(), "{long:#?}\nof {lines:#?}");
}

/// A command of a hint can be pasted: it is on one line.
#[rstest::rstest]
#[case::a_hint(&["blame", "f"], "'git checkpoint enable'")]
#[case::of_a_wrong_argument(&["undo", "0a1b2c3d"], "'git checkpoint op undo 0a1b2c3d'")]
#[case::of_an_error(&["op", "undo", "0a1b2c3d4e5f"], "'git checkpoint op log'")]
#[case::of_a_purge(&["purge", "-n", "base"], "'git log --all --reflog -S<text>'")]
fn a_command_in_quotes_is_not_broken(#[case] arguments: &[&str], #[case] command: &str) {
    let world = World::with_commit();
    let lines = shown(&world, arguments);
    assert!(lines.iter().any(|line| line.contains(command)), "{lines:#?}");
    assert!(lines.iter().all(|line| columns(line) <= COLUMNS || line.starts_with("hint: 'git ")), "{lines:#?}");
}

/// With a terminal of 60 columns, too, each row shows which session it is of.
#[test]
fn two_sessions_of_one_agent_can_be_told_apart() {
    let world = World::with_hooks();
    let sessions = ["0196b1f2-aaaa-7bbb-8ccc-0123456789ab", "0196b1f2-aabb-7bbb-8ccc-0123456789ab"];
    for (number, session) in sessions.iter().enumerate() {
        world.done(&["session", "prompt", session, "-q", "--agent", "claude-code", "-m", WORDS]);
        for line in 1..4 {
            world.write(&format!("file-{number}"), format!("{line}\n").repeat(line));
            world.done(&["save", "-q", "--session", session]);
        }
        world.done(&["session", "stop", session, "-q"]);
    }
    world.git(&["add", "-A"]);
    let listed = shown(&world, &["list"]).join("\n");
    assert!(listed.contains("0196b1f2-aaa") && listed.contains("0196b1f2-aab"), "{listed}");
    assert!(listed.contains(" [2 more]"), "a mark is whole: {listed}");
    world.git(&["commit", "-qm", WORDS]);
    for (number, session) in sessions.iter().enumerate() {
        let blamed = shown(&world, &["blame", &format!("file-{number}")]);
        assert!(blamed.iter().all(|line| line.contains(&format!("claude-code {}", &session[..6]))), "{blamed:#?}");
    }
}

#[test]
fn a_long_list_of_files_says_how_to_see_all() {
    let world = World::with_hooks();
    world.done(&["session", "prompt", "s", "-q", "--agent", "mine", "-m", WORDS]);
    for number in 0..30 {
        world.write(&format!("file-{number}"), "1\n");
    }
    world.done(&["session", "stop", "s", "-q"]);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "files"]);
    for arguments in [&["explain"][..], &["attribution"], &["prompts"], &["session", "show", "s"], &["show", "HEAD"]] {
        let count = |lines: &[String]| lines.iter().filter(|line| line.contains("file-")).count();
        let lines = shown(&world, arguments);
        assert_eq!(count(&lines), 20, "{lines:#?}");
        assert!(lines.iter().any(|line| line.trim() == "and 10 more (-v lists all)"), "{lines:#?}");
        assert_eq!(count(&shown(&world, &[arguments, &["-v"]].concat())), 30);
        let piped = world.done(arguments);
        assert_eq!(piped.matches("file-").count(), 30, "{piped}");
    }
    // With a text that each file has; the branch has all of them, too.
    for number in 0..30 {
        world.write(&format!("file-{number}"), format!("a long text {number}\n"));
    }
    world.done(&["save", "-q"]);
    let count = |lines: &[String], start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    let lines = shown(&world, &["purge", "-n", "long text"]);
    for start in ["  file-", "warning: still in the worktree: file-"] {
        assert_eq!(count(&lines, start), 20, "{lines:#?}");
        assert_eq!(count(&shown(&world, &["purge", "-n", "-v", "long text"]), start), 30);
        let output = world.checkpoint(&["purge", "-n", "long text"]);
        let piped = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
        assert_eq!(count(&piped.lines().map(str::to_owned).collect::<Vec<_>>(), start), 30, "{piped}");
    }
    assert!(lines.iter().any(|line| line.trim() == "and 10 more (-v lists all)"), "{lines:#?}");
}

#[test]
fn a_row_has_the_note_of_its_checkpoint() {
    let world = World::with_commit();
    world.write("f", "2\n");
    world.done(&["save", "-q", "-m", "two"]);
    let id = world.shadows()[0].clone();
    // No command writes notes yet.
    let script = format!("
        new=$(git cat-file commit {id} | sed '/^Checkpoint-Worktree:/a Checkpoint-Note: remember me, it is a long note' |
            git hash-object -t commit -w --stdin)
        git update-ref $(git for-each-ref --format='%(refname)' refs/checkpoints/shadow) $new
    ");
    world.sh(&script);
    assert!(
        world.done(&["list"]).contains("two [start, note: remember me, it is a long note]"),
        "{}",
        world.done(&["list"])
    );
    let rows = shown(&world, &["list"]);
    assert!(rows[0].contains("[start, note: rem"), "{rows:#?}");
    assert!(rows.iter().all(|row| columns(row) <= COLUMNS), "{rows:#?}");
}

#[test]
fn authors_are_in_one_column_in_a_pipe() {
    let world = World::with_commit();
    world.write("f", "2\n");
    world.done(&["save", "-q", "-m", "mine"]);
    world.write("f", "3\n");
    let session = "0196b1f2-aaaa-7bbb-8ccc-0123456789ab";
    world.done(&["save", "-q", "-m", "theirs", "--session", session, "--agent", "claude-code"]);
    let listed = world.done(&["list"]);
    let at = |what: &str| listed.lines().find_map(|line| line.find(what)).expect("a row");
    assert_eq!(at("mine"), at("theirs"), "{listed}");
}

#[test]
fn a_subject_takes_what_the_author_leaves() {
    let world = World::with_commit();
    world.write("f", "2\n");
    let session = "0196b1f2-aaaa-7bbb-8ccc-0123456789ab";
    world.done(&["save", "-q", "--session", session, "--agent", "claude-code"]);
    world.write("f", "3\n");
    world.done(&["save", "-q", "-m", "restart here"]);
    world.write("f", "4\n");
    world.done(&["save", "-q", "--session", "0196b1f2-aabb-7bbb-8ccc-0123456789ab", "--agent", "claude-code"]);
    world.done(&["verify", "@{1}"]);
    let rows = shown(&world, &["list"]);
    assert!(rows.iter().any(|row| row.contains("human") && row.ends_with("restart here [verified]")), "{rows:#?}");
}

#[test]
fn what_takes_long_counts_files() {
    let world = World::with_commit();
    world.git(&["config", "filter.slow.clean", "sleep 0.2; cat"]);
    world.git(&["config", "filter.slow.smudge", "sleep 0.2; cat"]);
    world.write(".gitattributes", "*.slow filter=slow\n");
    for number in 0..12 {
        world.write(&format!("{number}.slow"), format!("{number}\n"));
    }
    let counts = |text: &[String], what: &str| {
        let text = text.concat();
        let at = text.find(what).unwrap_or_else(|| panic!("{what} in {text:?}"));
        let shown: String = text[at + what.len()..].chars().take_while(|c| *c != '\u{1b}').collect();
        let (percent, counts) = shown.split_once("% (").expect("a percentage");
        let (done, total) = counts.trim_end_matches(')').split_once('/').expect("two counts");
        let [percent, done, total] = [percent, done, total].map(|text| text.parse::<usize>().expect("a number"));
        assert!(percent == done * 100 / total && total >= 12, "{shown}");
    };
    counts(&shown(&world, &["save"]), "Saving, reading files: ");
    for number in 0..12 {
        world.write(&format!("{number}.slow"), "again\n");
    }
    counts(&shown(&world, &["restore", "--all", "@{0}"]), "Restoring, reading files: ");
}

#[test]
fn nothing_is_cut_in_a_pipe() {
    let world = world();
    let piped = |arguments: &[&str]| {
        let output = world.command(program()).args(arguments).env("COLUMNS", "60").output().expect("it runs");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(piped(&["list", "--all"]).contains(WORDS));
    assert!(piped(&["prompts"]).contains(WORDS));
    assert!(piped(&["explain"]).contains(WORDS));
    for arguments in [&["list"][..], &["session", "list", "--all"], &["events"], &["status"]] {
        assert!(!piped(arguments).contains("..."), "{arguments:?}");
    }
}

/// Where one thing is shown, its date is there, and how long ago that is.
#[rstest::rstest]
#[case::explain(&["explain"])]
#[case::why(&["why", "f:1", "--rev", "HEAD"])]
#[case::operation(&["op", "show"])]
#[case::checkpoint(&["show"])]
fn dates_are_relative_too(#[case] arguments: &[&str]) {
    let world = world();
    let lines = shown(&world, arguments);
    let date = lines.iter().find(|line| line.starts_with("Date:")).unwrap_or_else(|| panic!("{lines:#?}"));
    assert!(date.contains("2025-06-01T") && date.ends_with(" ago)"), "{date}");
}
