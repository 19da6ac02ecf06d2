//! Whose the lines are where several come together: conflicts, merges, worktrees.

use crate::support::{
    World,
    signed_lines::{FILES, SignedLines},
};

/// Two branches that write other things into the same place of a file, `topic` by an agent; `main` is checked out.
fn divided(seed: u64) -> SignedLines {
    let mut work = SignedLines::new(seed);
    work.git(&["checkout", "-q", "-b", "topic"]);
    insert(&mut work, Some("s1"), &[0, 5]);
    work.commit_all();
    work.git(&["checkout", "-q", "main"]);
    insert(&mut work, None, &[5, 12]);
    work.commit_all();
    work
}

/// Inserts two lines at each of `places` of the first file.
fn insert(work: &mut SignedLines, session: Option<&'static str>, places: &[usize]) {
    if let Some(session) = session {
        work.done(&["session", "start", session, "--agent", "claude-code"]);
        work.done(&["session", "prompt", session, "--message", "go"]);
    }
    let mut lines = work.read(FILES[0]);
    for at in places.iter().rev() {
        let new: Vec<String> = (0..2).map(|_| work.line(session.unwrap_or("human"))).collect();
        lines.splice(at..at, new);
    }
    work.write(FILES[0], lines.concat());
    if let Some(session) = session {
        work.done(&["save", "--session", session]);
        work.done(&["session", "stop", session]);
    }
}

/// Resolves the conflict with lines of both sides, and one of its own.
fn resolve(work: &mut SignedLines) {
    let own = work.line("human");
    let mut lines = work.read(FILES[0]);
    let is_mark = |line: &String| ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark));
    let at = lines.iter().position(is_mark).expect("there is a conflict");
    lines.insert(at, own);
    lines.retain(|line| !is_mark(line));
    work.write(FILES[0], lines.concat());
    work.git(&["add", FILES[0]]);
}

#[test]
fn of_a_conflict_in_a_rebase_only_the_resolution_is_new() {
    let mut work = divided(300);
    drop(work.command("git").args(["rebase", "-q", "main", "topic"]).output());
    resolve(&mut work);
    work.git(&["-c", "core.editor=true", "rebase", "--continue"]);
    work.check_all();
    let found = work.json(&["attribution", "--json"]);
    assert_eq!((&found["summary"]["agent_lines"], &found["summary"]["human_added"]), (&4.into(), &1.into()));
}

#[test]
fn of_a_conflict_in_a_merge_only_the_resolution_is_counted() {
    let mut work = divided(310);
    drop(work.command("git").args(["merge", "-q", "topic"]).output());
    resolve(&mut work);
    let before = work.json(&["attribution", "--json", "--worktree"]);
    work.git(&["commit", "-q", "--no-edit"]);
    let found = work.json(&["attribution", "--json"]);
    assert_eq!(before["summary"], found["summary"]);
    let summary = &found["summary"];
    assert_eq!((&summary["total_committed"], &summary["human_added"]), (&1.into(), &1.into()), "{found:#}");
    assert_eq!((&summary["human_removed"], &summary["agent_removed"]), (&0.into(), &0.into()));
    work.check_blame(FILES[0], &["--rev", "HEAD"]);
}

#[test]
fn sessions_of_two_worktrees_keep_apart() {
    let mut work = SignedLines::new(320);
    work.git(&["worktree", "add", "-q", "-b", "side", "../linked"]);
    let linked = work.root().join("linked");
    let linked = linked.to_str().expect("temporary paths are plain").to_owned();
    let there = |work: &SignedLines, arguments: &[&str]| {
        let output = work.command("git").current_dir(&linked).args(arguments).output().expect("git runs");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    // Both at work in the same file at the same time, each in its own worktree.
    work.done(&["-C", &linked, "session", "start", "s2", "--agent", "codex"]);
    work.done(&["-C", &linked, "session", "prompt", "s2", "--message", "go"]);
    insert(&mut work, Some("s1"), &[0]);
    let new = work.line("s2");
    let path = std::path::Path::new(&linked).join(FILES[0]);
    let text = std::fs::read_to_string(&path).expect("it is there") + &new;
    std::fs::write(&path, text).expect("it can be written");
    work.done(&["-C", &linked, "save", "--session", "s2"]);
    work.done(&["-C", &linked, "session", "stop", "s2"]);
    there(&work, &["commit", "-qam", "there"]);
    work.commit_all();
    work.git(&["merge", "-q", "--no-edit", "side"]);
    let merge = work.json(&["attribution", "--json"]);
    assert_eq!(merge["summary"]["total_committed"], 0, "{merge:#}");
    work.check_blame(FILES[0], &["--rev", "HEAD"]);
}

/// Asserts that what is not committed yet has the owners that its commit will have, an agent among them.
fn check_before_and_after(work: &SignedLines) {
    let before = work.json(&["attribution", "--json", "--worktree"]);
    work.commit_all();
    let after = work.json(&["attribution", "--json"]);
    assert_eq!(before["summary"], after["summary"]);
    assert!(after["summary"]["agent_lines"].as_u64() > Some(0), "{after:#}");
}

#[rstest::rstest]
#[case::soft(&["reset", "-q", "--soft", "HEAD~1"])]
#[case::mixed(&["reset", "-q", "HEAD~1"])]
fn work_of_a_commit_that_was_taken_back_is_known_before_it_is_committed_again(#[case] reset: &[&str]) {
    let mut work = SignedLines::new(330);
    work.agent("s1", FILES[0]);
    work.commit_all();
    work.git(reset);
    work.human(FILES[1]);
    check_before_and_after(&work);
}

#[rstest::rstest]
#[case::set_aside_by_a_rebase(&["rebase -q --autostash main"])]
#[case::stashed(&["stash -q", "rebase -q main", "stash pop -q"])]
fn work_that_was_stashed_is_known_before_it_is_committed(#[case] commands: &[&str]) {
    let mut work = SignedLines::new(331);
    work.git(&["checkout", "-q", "-b", "topic"]);
    work.human(FILES[1]);
    work.commit_all();
    work.git(&["checkout", "-q", "main"]);
    work.git(&["commit", "-q", "--allow-empty", "-m", "main goes on"]);
    work.git(&["checkout", "-q", "topic"]);
    work.agent("s1", FILES[0]);
    for command in commands {
        work.git(&command.split(' ').collect::<Vec<_>>());
    }
    check_before_and_after(&work);
}

#[test]
fn a_line_that_was_only_formatted_is_whose_it_was_before_the_commit_too() {
    let mut work = SignedLines::new(340);
    // From the first record on, what has none is known to be people's.
    work.agent("s2", "new.txt");
    work.commit_all();
    work.write("old.txt", "a line by which git knows the file again, as it is long\ntwo");
    work.git(&["add", "-A"]);
    work.git(&["commit", "-q", "-m", "by hand"]);
    work.done(&["session", "start", "s1", "--agent", "claude-code"]);
    work.done(&["session", "prompt", "s1", "--message", "go"]);
    work.write("old.txt", "a line by which git knows the file again, as it is long\ntwo\nthree\n");
    work.done(&["save", "--session", "s1"]);
    work.done(&["session", "stop", "s1"]);
    let owners = |file: &str| {
        let blame = work.json(&["blame", "--json", file]);
        let lines = blame["lines"].as_array().expect("lines").clone();
        lines.iter().map(|line| line["owner"].as_str().expect("an owner").to_owned()).collect::<Vec<_>>()
    };
    let before = owners("old.txt");
    work.git(&["commit", "-q", "-a", "-m", "by an agent"]);
    assert_eq!(before, ["human", "human", "agent"]);
    assert_eq!(owners("old.txt"), before);
    // In a file that is renamed, too.
    work.git(&["mv", "old.txt", "other.txt"]);
    work.write("other.txt", "a line by which git knows the file again, as it is long\ntwo \nthree\nfour\nfive\n");
    work.git(&["commit", "-q", "-a", "-m", "by hand"]);
    assert_eq!(owners("other.txt"), ["human", "human", "agent", "human"]);
}

#[test]
fn blamed_lines_of_links_and_binary_files_have_the_files_author() {
    let mut work = SignedLines::new(350);
    // From the first record on, what has none is known to be people's.
    work.agent("s2", "new.txt");
    work.commit_all();
    let link = work.repo().join("link");
    std::os::unix::fs::symlink("a.txt", &link).expect("a link can be made");
    work.write("binary", "\0one\n");
    work.git(&["add", "-A"]);
    work.git(&["commit", "-q", "-m", "by hand"]);
    work.done(&["session", "start", "s1", "--agent", "claude-code"]);
    work.done(&["session", "prompt", "s1", "--message", "go"]);
    std::fs::remove_file(&link).expect("it is there");
    std::os::unix::fs::symlink("dir", &link).expect("a link can be made");
    work.write("binary", "\0one\ntwo\n");
    work.done(&["save", "--session", "s1"]);
    work.done(&["session", "stop", "s1"]);
    let check = || {
        for (file, expected) in [("link", vec!["agent"]), ("binary", vec!["human", "agent"])] {
            let blame = work.json(&["blame", "--json", file]);
            let lines = blame["lines"].as_array().expect("lines");
            let owners: Vec<&str> = lines.iter().map(|line| line["owner"].as_str().expect("an owner")).collect();
            assert_eq!(owners, expected, "{file}");
        }
    };
    check();
    work.git(&["commit", "-q", "-a", "-m", "by an agent"]);
    check();
}

/// `diff.indentHeuristic` decides which of equal lines are new, for `git diff` and `git blame` alike.
#[rstest::rstest]
#[case("true")]
#[case("false")]
fn of_equal_lines_those_are_new_that_git_shows_as_new(#[case] indent_heuristic: &str) {
    let world = World::with_hooks();
    world.git(&["config", "diff.indentHeuristic", indent_heuristic]);
    let (block, rest) = ("int f() {\n  x;\n}\n\n", "  x;\n\n");
    world.write("g.c", [block, rest].concat());
    world.commit_all("by a person");
    world.done(&["session", "prompt", "s1", "--agent", "claude-code"]);
    world.write("g.c", [block, block, rest].concat());
    world.done(&["session", "stop", "s1"]);
    let uncommitted = world.git(&["diff", "--", "g.c"]);
    assert_eq!(world.done(&["diff", "base", "--", "g.c"]), uncommitted);
    world.commit_all("by an agent");
    assert_eq!(world.done(&["diff", "HEAD^", "HEAD"]), world.git(&["diff", "HEAD^", "HEAD"]));

    let head = world.id(&["rev-parse", "HEAD"]).to_string();
    let blamed = world.git(&["blame", "-l", "-s", "g.c"]);
    let of_git: Vec<bool> = blamed.lines().map(|line| line.starts_with(&head)).collect();
    assert_eq!(of_git.iter().filter(|is_new| **is_new).count(), 4);
    let blame = world.json(&["blame", "--json", "g.c"]);
    for lines in blame["lines"].as_array().expect("a list") {
        let start = usize::try_from(lines["start"].as_u64().expect("a number")).expect("small");
        let expected = if of_git[start - 1] { "agent" } else { "human" };
        assert_eq!(lines["owner"], expected, "line {start} of {blamed}");
    }
}
