//! Random histories: whatever git does to commits, and whichever way it compares, sums are git's and all commands agree.

use crate::support::play::{FILES, Play, SESSIONS, check_sums};

/// Something that people and agents do.
fn step(play: &mut Play) {
    let file = FILES[play.roll(2)];
    match play.roll(16) {
        0 | 1 => play.human(file),
        2..=5 => {
            let session = SESSIONS[play.roll(2)];
            play.agent(session, file);
        }
        6..=8 => play.commit_all(),
        9 => {
            play.git(&["add", file]);
            play.git(&["commit", "-q", "--allow-empty", "-m", "one file"]);
        }
        10 => commit_hunks(play, file),
        11 => drop(play.git(&["commit", "-q", "-a", "--amend", "--allow-empty", "--no-edit"])),
        _ => rewrite(play),
    }
}

/// Something that git does to commits; it begins with nothing uncommitted.
fn rewrite(play: &mut Play) {
    play.commit_all();
    let count = play.git(&["rev-list", "--count", "HEAD"]).trim().parse::<usize>().expect("a number");
    match play.roll(5) {
        0 if count > 2 => {
            let script = "GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i HEAD~2";
            drop(play.command("sh").args(["-c", script]).output());
            abort(play, "rebase");
        }
        1 if count > 1 => {
            play.git(&["reset", "-q", "--soft", "HEAD~1"]);
            if play.roll(2) == 0 {
                play.agent(SESSIONS[1], FILES[0]);
            }
            play.git(&["commit", "-q", "-a", "--allow-empty", "-m", "once more"]);
        }
        2 if count > 1 => {
            play.git(&["checkout", "-q", "--detach", "HEAD~1"]);
            play.human(FILES[0]);
            play.commit_all();
            drop(play.command("git").args(["cherry-pick", "main"]).output());
            abort(play, "cherry-pick");
            play.git(&["checkout", "-q", "-B", "main"]);
        }
        3 => {
            play.agent("s1", FILES[1]);
            play.git(&["stash", "-q"]);
            play.human(FILES[0]);
            play.commit_all();
            play.git(&["stash", "pop", "-q"]);
        }
        _ if count > 1 => {
            play.git(&["checkout", "-q", "--detach", "HEAD~1"]);
            play.human(FILES[1]);
            play.commit_all();
            drop(play.command("git").args(["rebase", "-q", "HEAD", "main"]).output());
            abort(play, "rebase");
            play.git(&["checkout", "-q", "main"]);
        }
        _ => {}
    }
}

/// Conflicts are not what this is about.
fn abort(play: &Play, what: &str) {
    drop(play.command("git").args([what, "--abort"]).output());
}

/// Commits some of the hunks of `file`, as `git add -p` does.
fn commit_hunks(play: &mut Play, file: &str) {
    play.git(&["reset", "-q"]);
    let answers: String = (0..20).map(|_| if play.roll(2) == 0 { "y\n" } else { "n\n" }).collect();
    let script = format!("printf '{answers}' | git add -p {file}").replace('\n', "\\n");
    drop(play.command("sh").args(["-c", &script]).output());
    play.git(&["commit", "-q", "--allow-empty", "-m", "some hunks"]);
}

fn walk(seed: u64, algorithm: &str) {
    let mut play = Play::new(seed);
    play.git(&["config", "diff.algorithm", algorithm]);
    // From the first record on, what has none is known to be people's.
    play.agent("s1", FILES[0]);
    play.commit_all();
    for _ in 0..14 {
        step(&mut play);
    }
    // With what is not committed.
    for file in FILES {
        play.check_blame(file, &[]);
    }
    play.commit_all();
    play.check_all();
}

#[rstest::rstest]
#[case::myers("myers", 200)]
#[case::myers_again("myers", 201)]
#[case::minimal("minimal", 210)]
#[case::patience("patience", 220)]
#[case::histogram("histogram", 230)]
#[case::histogram_again("histogram", 231)]
fn all_commands_tell_the_truth(#[case] algorithm: &str, #[case] seed: u64) {
    walk(seed, algorithm);
}

/// A history in which lines are moved and indented and files renamed, by people and agents alike.
fn walk_with_moves(seed: u64) {
    let mut play = Play::new(seed);
    play.agent("s1", FILES[0]);
    play.commit_all();
    let mut names = FILES.map(str::to_owned);
    for step in 0..16 {
        let (session, name) = (SESSIONS[play.roll(2)], play.roll(2));
        let file = names[name].clone();
        match play.roll(10) {
            0 => play.human(&file),
            1 | 2 => play.rearrange(&file),
            3 | 4 => play.agent(session, &file),
            5 | 6 => play.turn(session, |play| {
                play.rearrange(&file);
                play.edit(&file, session);
            }),
            7 => {
                play.commit_all();
                names[name] = format!("{step}.txt");
                play.git(&["mv", &file, &names[name]]);
            }
            8 => drop(play.git(&["commit", "-q", "-a", "--amend", "--allow-empty", "--no-edit"])),
            _ => play.commit_all(),
        }
    }
    // With what is not committed, and then without.
    for _ in 0..2 {
        for file in &names {
            play.check_blame(file, &[]);
        }
        play.commit_all();
    }
    for (commit, found) in play.check_commits() {
        play.check_agreement_of(&commit, &found);
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
    let mut play = Play::new(280);
    play.is_rearranged = true;
    play.agent("s1", FILES[1]);
    play.commit_all();
    let mut lines = play.read(FILES[0]);
    let mine = play.line("human");
    lines.insert(2, mine.clone());
    play.write(FILES[0], lines.concat());
    play.turn("s1", |play| {
        // The three lines below it go above it; git's diff says that it went down.
        let mut lines = play.read(FILES[0]);
        lines.swap(2, 3);
        lines.swap(3, 4);
        lines.swap(4, 5);
        assert_eq!(lines[5], mine);
        play.write(FILES[0], lines.concat());
    });
    let found = play.json(&["attribution", "--worktree", "--json"]);
    assert_eq!(
        (&found["summary"]["agent_lines"], &found["summary"]["human_added"]),
        (&0.into(), &1.into()),
        "{found:#}"
    );
    play.commit_all();
    play.check();
}

#[test]
fn an_agents_lines_that_a_person_formats_without_any_agent_stay_the_agents() {
    let mut play = Play::new(290);
    play.is_rearranged = true;
    play.agent("s1", FILES[0]);
    play.commit_all();
    let text = play.read(FILES[0]);
    play.write(FILES[0], text.iter().map(|line| format!("  {line}")).collect::<String>());
    play.human(FILES[1]);
    play.commit_all();
    let found = play.json(&["attribution", "--json"]);
    assert_eq!(found["records"], serde_json::json!([]));
    assert_eq!(
        (&found["summary"]["kept_added"], &found["summary"]["kept_removed"]),
        (&text.len().into(), &text.len().into()),
        "{found:#}"
    );
    check_sums(&play.world, "HEAD");
    for file in FILES {
        play.check_blame(file, &[]);
    }
    play.check_agreement();
}

#[test]
fn a_persons_new_file_that_an_agent_renames_and_edits_stays_the_persons() {
    let mut play = Play::new(310);
    play.agent("s1", FILES[1]);
    play.commit_all();
    play.human("new.txt");
    // Seen under its first name, of which no commit knows.
    play.agent("s2", FILES[1]);
    play.human("new.txt");
    play.turn("s1", |play| {
        std::fs::rename(play.repo().join("new.txt"), play.repo().join("other.txt")).expect("it is there");
        play.edit("other.txt", "s1");
    });
    let found = play.json(&["attribution", "--worktree", "--json"]);
    assert!(found["summary"]["human_added"].as_u64() > Some(0), "{found:#}");
    play.check_blame(FILES[1], &[]);
    play.commit_all();
    play.check();
    play.check_blame("other.txt", &[]);
    play.check_agreement();
}

#[test]
fn a_block_that_an_amend_moves_is_whose_it_was() {
    let mut play = Play::new(300);
    play.agent("s1", FILES[0]);
    play.commit_all();
    let swapped = |play: &mut Play| {
        play.rearrange(FILES[0]);
        let mut lines = play.read(FILES[0]);
        lines.rotate_left(5);
        play.write(FILES[0], lines.concat());
    };
    play.agent("s2", FILES[0]);
    play.commit_all();
    for _ in 0..3 {
        play.turn("s2", swapped);
        play.agent("s1", FILES[0]);
        play.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
        play.check_all();
    }
}

#[test]
fn work_that_is_committed_once_more_with_other_work_keeps_its_owners() {
    let mut play = Play::new(240);
    play.agent("s1", FILES[0]);
    play.human(FILES[0]);
    play.commit_all();
    play.git(&["reset", "-q", "--soft", "HEAD~1"]);
    play.agent("s2", FILES[0]);
    play.commit_all();
    play.check_all();
    // And so after a rewrite.
    play.git(&["commit", "-q", "--amend", "-m", "another message"]);
    play.check_all();
}

#[test]
fn a_record_that_is_not_here_makes_the_rest_unknown() {
    let mut play = Play::new(250);
    play.agent("s1", FILES[0]);
    play.commit_all();
    // Of another clone, whose records were not fetched.
    play.agent("s1", FILES[0]);
    play.human(FILES[1]);
    play.git(&["add", "-A"]);
    play.git(&["commit", "-q", "-m", "squashed", "-m", "Checkpoint: 0123456789abcdef"]);
    let found = play.json(&["attribution", "--json"]);
    let summary = &found["summary"];
    assert!(summary["agent_lines"].as_u64() > Some(0), "{found:#}");
    assert!(summary["unknown"].as_u64() > Some(0), "{found:#}");
    assert_eq!((&summary["human_added"], &summary["human_removed"]), (&0.into(), &0.into()), "{found:#}");
    play.check_agreement();
}

#[test]
fn a_file_that_an_amend_renames_keeps_its_owners() {
    let mut play = Play::new(260);
    play.agent("s1", "new.txt");
    play.commit_all();
    play.git(&["mv", "new.txt", "other.txt"]);
    play.git(&["commit", "-q", "--amend", "--no-edit"]);
    play.check_all();
    let blame = play.json(&["blame", "--json", "other.txt"]);
    assert_eq!(blame["lines"][0]["session"], "s1", "{blame:#}");
}
