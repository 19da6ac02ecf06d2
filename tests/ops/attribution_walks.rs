//! Random histories: whatever git does to commits, and whichever way it compares, sums are git's and all commands agree.

use crate::support::signed_lines::{FILES, SESSIONS, SignedLines, check_sums};

/// Something that people and agents do.
fn step(work: &mut SignedLines) {
    let file = FILES[work.roll(2)];
    match work.roll(16) {
        0 | 1 => work.human(file),
        2..=5 => {
            let session = SESSIONS[work.roll(2)];
            work.agent(session, file);
        }
        6..=8 => work.commit_all(),
        9 => {
            work.git(&["add", file]);
            work.git(&["commit", "-q", "--allow-empty", "-m", "one file"]);
        }
        10 => commit_hunks(work, file),
        11 => drop(work.git(&["commit", "-q", "-a", "--amend", "--allow-empty", "--no-edit"])),
        _ => rewrite(work),
    }
}

/// Something that git does to commits; it begins with nothing uncommitted.
fn rewrite(work: &mut SignedLines) {
    work.commit_all();
    let count = work.git(&["rev-list", "--count", "HEAD"]).trim().parse::<usize>().expect("a number");
    match work.roll(5) {
        0 if count > 2 => {
            let script = "GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i HEAD~2";
            drop(work.command("sh").args(["-c", script]).output());
            abort(work, "rebase");
        }
        1 if count > 1 => {
            work.git(&["reset", "-q", "--soft", "HEAD~1"]);
            if work.roll(2) == 0 {
                work.agent(SESSIONS[1], FILES[0]);
            }
            work.git(&["commit", "-q", "-a", "--allow-empty", "-m", "once more"]);
        }
        2 if count > 1 => {
            work.git(&["checkout", "-q", "--detach", "HEAD~1"]);
            work.human(FILES[0]);
            work.commit_all();
            drop(work.command("git").args(["cherry-pick", "main"]).output());
            abort(work, "cherry-pick");
            work.git(&["checkout", "-q", "-B", "main"]);
        }
        3 => {
            work.agent("s1", FILES[1]);
            work.git(&["stash", "-q"]);
            work.human(FILES[0]);
            work.commit_all();
            work.git(&["stash", "pop", "-q"]);
        }
        _ if count > 1 => {
            work.git(&["checkout", "-q", "--detach", "HEAD~1"]);
            work.human(FILES[1]);
            work.commit_all();
            drop(work.command("git").args(["rebase", "-q", "HEAD", "main"]).output());
            abort(work, "rebase");
            work.git(&["checkout", "-q", "main"]);
        }
        _ => {}
    }
}

/// Conflicts are not what this is about.
fn abort(work: &SignedLines, what: &str) {
    drop(work.command("git").args([what, "--abort"]).output());
}

/// Commits some of the hunks of `file`, as `git add -p` does.
fn commit_hunks(work: &mut SignedLines, file: &str) {
    work.git(&["reset", "-q"]);
    let answers: String = (0..20).map(|_| if work.roll(2) == 0 { "y\n" } else { "n\n" }).collect();
    let script = format!("printf '{answers}' | git add -p {file}").replace('\n', "\\n");
    drop(work.command("sh").args(["-c", &script]).output());
    work.git(&["commit", "-q", "--allow-empty", "-m", "some hunks"]);
}

fn walk(seed: u64, algorithm: &str) {
    let mut work = SignedLines::new(seed);
    work.git(&["config", "diff.algorithm", algorithm]);
    // From the first record on, what has none is known to be people's.
    work.agent("s1", FILES[0]);
    work.commit_all();
    for _ in 0..14 {
        step(&mut work);
    }
    // With what is not committed.
    for file in FILES {
        work.check_blame(file, &[]);
    }
    work.commit_all();
    work.check_all();
}

#[rstest::rstest]
#[case::myers("myers", 200)]
#[case::minimal("minimal", 210)]
#[case::patience("patience", 220)]
#[case::histogram("histogram", 230)]
fn all_commands_tell_the_truth(#[case] algorithm: &str, #[case] seed: u64) {
    walk(seed, algorithm);
}

/// A history in which lines are moved and indented and files renamed, by people and agents alike.
fn walk_with_moves(seed: u64) {
    let mut work = SignedLines::new(seed);
    work.agent("s1", FILES[0]);
    work.commit_all();
    let mut names = FILES.map(str::to_owned);
    for step in 0..16 {
        let (session, name) = (SESSIONS[work.roll(2)], work.roll(2));
        let file = names[name].clone();
        match work.roll(10) {
            0 => work.human(&file),
            1 | 2 => work.rearrange(&file),
            3 | 4 => work.agent(session, &file),
            5 | 6 => work.turn(session, |work| {
                work.rearrange(&file);
                work.edit(&file, session);
            }),
            7 => {
                work.commit_all();
                names[name] = format!("{step}.txt");
                work.git(&["mv", &file, &names[name]]);
            }
            8 => drop(work.git(&["commit", "-q", "-a", "--amend", "--allow-empty", "--no-edit"])),
            _ => work.commit_all(),
        }
    }
    // With what is not committed, and then without.
    for _ in 0..2 {
        for file in &names {
            work.check_blame(file, &[]);
        }
        work.commit_all();
    }
    for (commit, found) in work.check_commits() {
        work.check_agreement_of(&commit, &found);
    }
}

#[rstest::rstest]
#[case::one(270)]
#[case::two(271)]
#[case::three(272)]
#[case::four(273)]
fn moved_and_indented_lines_keep_their_authors(#[case] seed: u64) {
    walk_with_moves(seed);
}

#[test]
fn a_line_that_an_agents_block_passes_stays_the_persons() {
    let mut work = SignedLines::new(280);
    work.is_rearranged = true;
    work.agent("s1", FILES[1]);
    work.commit_all();
    let mut lines = work.read(FILES[0]);
    let mine = work.line("human");
    lines.insert(2, mine.clone());
    work.write(FILES[0], lines.concat());
    work.turn("s1", |work| {
        // The three lines below it go above it; git's diff says that it went down.
        let mut lines = work.read(FILES[0]);
        lines.swap(2, 3);
        lines.swap(3, 4);
        lines.swap(4, 5);
        assert_eq!(lines[5], mine);
        work.write(FILES[0], lines.concat());
    });
    let found = work.json(&["attribution", "--worktree", "--json"]);
    assert_eq!(
        (&found["summary"]["agent_lines"], &found["summary"]["human_added"]),
        (&0.into(), &1.into()),
        "{found:#}"
    );
    work.commit_all();
    work.check();
}

#[test]
fn an_agents_lines_that_a_person_formats_without_any_agent_stay_the_agents() {
    let mut work = SignedLines::new(290);
    work.is_rearranged = true;
    work.agent("s1", FILES[0]);
    work.commit_all();
    let text = work.read(FILES[0]);
    work.write(FILES[0], text.iter().map(|line| format!("  {line}")).collect::<String>());
    work.human(FILES[1]);
    work.commit_all();
    let found = work.json(&["attribution", "--json"]);
    assert_eq!(found["records"], serde_json::json!([]));
    assert_eq!(
        (&found["summary"]["kept_added"], &found["summary"]["kept_removed"]),
        (&text.len().into(), &text.len().into()),
        "{found:#}"
    );
    check_sums(&work.world, "HEAD");
    for file in FILES {
        work.check_blame(file, &[]);
    }
    work.check_agreement();
}

#[test]
fn a_persons_new_file_that_an_agent_renames_and_edits_stays_the_persons() {
    let mut work = SignedLines::new(310);
    work.agent("s1", FILES[1]);
    work.commit_all();
    work.human("new.txt");
    // Seen under its first name, of which no commit knows.
    work.agent("s2", FILES[1]);
    work.human("new.txt");
    work.turn("s1", |work| {
        std::fs::rename(work.repo().join("new.txt"), work.repo().join("other.txt")).expect("it is there");
        work.edit("other.txt", "s1");
    });
    let found = work.json(&["attribution", "--worktree", "--json"]);
    assert!(found["summary"]["human_added"].as_u64() > Some(0), "{found:#}");
    work.check_blame(FILES[1], &[]);
    work.commit_all();
    work.check();
    work.check_blame("other.txt", &[]);
    work.check_agreement();
}

#[test]
fn a_block_that_an_amend_moves_is_whose_it_was() {
    let mut work = SignedLines::new(300);
    work.agent("s1", FILES[0]);
    work.commit_all();
    let swapped = |work: &mut SignedLines| {
        work.rearrange(FILES[0]);
        let mut lines = work.read(FILES[0]);
        lines.rotate_left(5);
        work.write(FILES[0], lines.concat());
    };
    work.agent("s2", FILES[0]);
    work.commit_all();
    for _ in 0..3 {
        work.turn("s2", swapped);
        work.agent("s1", FILES[0]);
        work.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
        work.check_all();
    }
}

#[test]
fn work_that_is_committed_once_more_with_other_work_keeps_its_owners() {
    let mut work = SignedLines::new(240);
    work.agent("s1", FILES[0]);
    work.human(FILES[0]);
    work.commit_all();
    work.git(&["reset", "-q", "--soft", "HEAD~1"]);
    work.agent("s2", FILES[0]);
    work.commit_all();
    work.check_all();
    // And so after a rewrite.
    work.git(&["commit", "-q", "--amend", "-m", "another message"]);
    work.check_all();
}

#[test]
fn a_record_that_is_not_here_makes_the_rest_unknown() {
    let mut work = SignedLines::new(250);
    work.agent("s1", FILES[0]);
    work.commit_all();
    // Of another clone, whose records were not fetched.
    work.agent("s1", FILES[0]);
    work.human(FILES[1]);
    work.git(&["add", "-A"]);
    work.git(&["commit", "-q", "-m", "squashed", "-m", "Checkpoint: 0123456789abcdef"]);
    let found = work.json(&["attribution", "--json"]);
    let summary = &found["summary"];
    assert!(summary["agent_lines"].as_u64() > Some(0), "{found:#}");
    assert!(summary["unknown"].as_u64() > Some(0), "{found:#}");
    assert_eq!((&summary["human_added"], &summary["human_removed"]), (&0.into(), &0.into()), "{found:#}");
    work.check_agreement();
}

#[test]
fn a_file_that_an_amend_renames_keeps_its_owners() {
    let mut work = SignedLines::new(260);
    work.agent("s1", "new.txt");
    work.commit_all();
    work.git(&["mv", "new.txt", "other.txt"]);
    work.git(&["commit", "-q", "--amend", "--no-edit"]);
    work.check_all();
    let blame = work.json(&["blame", "--json", "other.txt"]);
    assert_eq!(blame["lines"][0]["session"], "s1", "{blame:#}");
}
