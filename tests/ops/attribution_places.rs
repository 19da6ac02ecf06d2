//! Whose the lines are where several come together: conflicts, merges, worktrees.

use crate::support::play::{FILES, Play};

/// Two branches that write other things into the same place of a file, `topic` by an agent; `main` is checked out.
fn divided(seed: u64) -> Play {
    let mut play = Play::new(seed);
    play.git(&["checkout", "-q", "-b", "topic"]);
    insert(&mut play, Some("s1"), &[0, 5]);
    play.commit_all();
    play.git(&["checkout", "-q", "main"]);
    insert(&mut play, None, &[5, 12]);
    play.commit_all();
    play
}

/// Inserts two lines at each of `places` of the first file.
fn insert(play: &mut Play, session: Option<&'static str>, places: &[usize]) {
    if let Some(session) = session {
        play.done(&["session", "start", session, "--agent", "claude-code"]);
        play.done(&["session", "prompt", session, "--message", "go"]);
    }
    let mut lines = play.read(FILES[0]);
    for at in places.iter().rev() {
        let new: Vec<String> = (0..2).map(|_| play.line(session.unwrap_or("human"))).collect();
        lines.splice(at..at, new);
    }
    play.write(FILES[0], lines.concat());
    if let Some(session) = session {
        play.done(&["save", "--session", session]);
        play.done(&["session", "stop", session]);
    }
}

/// Resolves the conflict with lines of both sides, and one of its own.
fn resolve(play: &mut Play) {
    let own = play.line("human");
    let mut lines = play.read(FILES[0]);
    let is_mark = |line: &String| ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark));
    let at = lines.iter().position(is_mark).expect("there is a conflict");
    lines.insert(at, own);
    lines.retain(|line| !is_mark(line));
    play.write(FILES[0], lines.concat());
    play.git(&["add", FILES[0]]);
}

#[test]
fn of_a_conflict_in_a_rebase_only_the_resolution_is_new() {
    let mut play = divided(300);
    drop(play.command("git").args(["rebase", "-q", "main", "topic"]).output());
    resolve(&mut play);
    play.git(&["-c", "core.editor=true", "rebase", "--continue"]);
    play.check_all();
    let found = play.json(&["attribution", "--json"]);
    assert_eq!((&found["summary"]["agent_lines"], &found["summary"]["human_added"]), (&4.into(), &1.into()));
}

#[test]
fn of_a_conflict_in_a_merge_only_the_resolution_is_counted() {
    let mut play = divided(310);
    drop(play.command("git").args(["merge", "-q", "topic"]).output());
    resolve(&mut play);
    let before = play.json(&["attribution", "--json", "--worktree"]);
    play.git(&["commit", "-q", "--no-edit"]);
    let found = play.json(&["attribution", "--json"]);
    assert_eq!(before["summary"], found["summary"]);
    let summary = &found["summary"];
    assert_eq!((&summary["total_committed"], &summary["human_added"]), (&1.into(), &1.into()), "{found:#}");
    assert_eq!((&summary["human_removed"], &summary["agent_removed"]), (&0.into(), &0.into()));
    play.check_blame(FILES[0], &["--rev", "HEAD"]);
}

#[test]
fn sessions_of_two_worktrees_keep_apart() {
    let mut play = Play::new(320);
    play.git(&["worktree", "add", "-q", "-b", "side", "../linked"]);
    let linked = play.root().join("linked");
    let linked = linked.to_str().expect("temporary paths are plain").to_owned();
    let there = |play: &Play, arguments: &[&str]| {
        let output = play.command("git").current_dir(&linked).args(arguments).output().expect("git runs");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    // Both at work in the same file at the same time, each in its own worktree.
    play.done(&["-C", &linked, "session", "start", "s2", "--agent", "codex"]);
    play.done(&["-C", &linked, "session", "prompt", "s2", "--message", "go"]);
    insert(&mut play, Some("s1"), &[0]);
    let new = play.line("s2");
    let path = std::path::Path::new(&linked).join(FILES[0]);
    let text = std::fs::read_to_string(&path).expect("it is there") + &new;
    std::fs::write(&path, text).expect("it can be written");
    play.done(&["-C", &linked, "save", "--session", "s2"]);
    play.done(&["-C", &linked, "session", "stop", "s2"]);
    there(&play, &["commit", "-qam", "there"]);
    play.commit_all();
    play.git(&["merge", "-q", "--no-edit", "side"]);
    let merge = play.json(&["attribution", "--json"]);
    assert_eq!(merge["summary"]["total_committed"], 0, "{merge:#}");
    play.check_blame(FILES[0], &["--rev", "HEAD"]);
}

/// Asserts that what is not committed yet has the owners that its commit will have, an agent among them.
fn check_before_and_after(play: &Play) {
    let before = play.json(&["attribution", "--json", "--worktree"]);
    play.commit_all();
    let after = play.json(&["attribution", "--json"]);
    assert_eq!(before["summary"], after["summary"]);
    assert!(after["summary"]["agent_lines"].as_u64() > Some(0), "{after:#}");
}

#[rstest::rstest]
#[case::soft(&["reset", "-q", "--soft", "HEAD~1"])]
#[case::mixed(&["reset", "-q", "HEAD~1"])]
fn work_of_a_commit_that_was_taken_back_is_known_before_it_is_committed_again(#[case] reset: &[&str]) {
    let mut play = Play::new(330);
    play.agent("s1", FILES[0]);
    play.commit_all();
    play.git(reset);
    play.human(FILES[1]);
    check_before_and_after(&play);
}

#[rstest::rstest]
#[case::set_aside_by_a_rebase(&["rebase -q --autostash main"])]
#[case::stashed(&["stash -q", "rebase -q main", "stash pop -q"])]
fn work_that_was_stashed_is_known_before_it_is_committed(#[case] commands: &[&str]) {
    let mut play = Play::new(331);
    play.git(&["checkout", "-q", "-b", "topic"]);
    play.human(FILES[1]);
    play.commit_all();
    play.git(&["checkout", "-q", "main"]);
    play.git(&["commit", "-q", "--allow-empty", "-m", "main goes on"]);
    play.git(&["checkout", "-q", "topic"]);
    play.agent("s1", FILES[0]);
    for command in commands {
        play.git(&command.split(' ').collect::<Vec<_>>());
    }
    check_before_and_after(&play);
}

#[test]
fn a_line_that_was_only_formatted_is_whose_it_was_before_the_commit_too() {
    let mut play = Play::new(340);
    // From the first record on, what has none is known to be people's.
    play.agent("s2", "new.txt");
    play.commit_all();
    play.write("old.txt", "a line by which git knows the file again, as it is long\ntwo");
    play.git(&["add", "-A"]);
    play.git(&["commit", "-q", "-m", "by hand"]);
    play.done(&["session", "start", "s1", "--agent", "claude-code"]);
    play.done(&["session", "prompt", "s1", "--message", "go"]);
    play.write("old.txt", "a line by which git knows the file again, as it is long\ntwo\nthree\n");
    play.done(&["save", "--session", "s1"]);
    play.done(&["session", "stop", "s1"]);
    let owners = |file: &str| {
        let blame = play.json(&["blame", "--json", file]);
        let lines = blame["lines"].as_array().expect("lines").clone();
        lines.iter().map(|line| line["owner"].as_str().expect("an owner").to_owned()).collect::<Vec<_>>()
    };
    let before = owners("old.txt");
    play.git(&["commit", "-q", "-a", "-m", "by an agent"]);
    assert_eq!(before, ["human", "human", "agent"]);
    assert_eq!(owners("old.txt"), before);
    // In a file that is renamed, too.
    play.git(&["mv", "old.txt", "other.txt"]);
    play.write("other.txt", "a line by which git knows the file again, as it is long\ntwo \nthree\nfour\nfive\n");
    play.git(&["commit", "-q", "-a", "-m", "by hand"]);
    assert_eq!(owners("other.txt"), ["human", "human", "agent", "human"]);
}

#[test]
fn blamed_lines_of_links_and_binary_files_have_the_files_author() {
    let mut play = Play::new(350);
    // From the first record on, what has none is known to be people's.
    play.agent("s2", "new.txt");
    play.commit_all();
    let link = play.repo().join("link");
    std::os::unix::fs::symlink("a.txt", &link).expect("a link can be made");
    play.write("binary", "\0one\n");
    play.git(&["add", "-A"]);
    play.git(&["commit", "-q", "-m", "by hand"]);
    play.done(&["session", "start", "s1", "--agent", "claude-code"]);
    play.done(&["session", "prompt", "s1", "--message", "go"]);
    std::fs::remove_file(&link).expect("it is there");
    std::os::unix::fs::symlink("dir", &link).expect("a link can be made");
    play.write("binary", "\0one\ntwo\n");
    play.done(&["save", "--session", "s1"]);
    play.done(&["session", "stop", "s1"]);
    let check = || {
        for (file, expected) in [("link", vec!["agent"]), ("binary", vec!["human", "agent"])] {
            let blame = play.json(&["blame", "--json", file]);
            let lines = blame["lines"].as_array().expect("lines");
            let owners: Vec<&str> = lines.iter().map(|line| line["owner"].as_str().expect("an owner")).collect();
            assert_eq!(owners, expected, "{file}");
        }
    };
    check();
    play.git(&["commit", "-q", "-a", "-m", "by an agent"]);
    check();
}
