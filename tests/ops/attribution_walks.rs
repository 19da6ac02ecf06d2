//! Random histories: whatever git does to commits, and whichever way it compares, sums are git's and all commands agree.

use crate::support::play::{FILES, Play, SESSIONS};

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
            play.world.git(&["add", file]);
            play.world.git(&["commit", "-q", "--allow-empty", "-m", "one file"]);
        }
        10 => commit_hunks(play, file),
        11 => drop(play.world.git(&["commit", "-q", "-a", "--amend", "--allow-empty", "--no-edit"])),
        _ => rewrite(play),
    }
}

/// Something that git does to commits; it begins with nothing uncommitted.
fn rewrite(play: &mut Play) {
    play.commit_all();
    let count = play.world.git(&["rev-list", "--count", "HEAD"]).trim().parse::<usize>().expect("a number");
    match play.roll(5) {
        0 if count > 2 => {
            let script = "GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i HEAD~2";
            drop(play.world.command("sh").args(["-c", script]).output());
            abort(play, "rebase");
        }
        1 if count > 1 => {
            play.world.git(&["reset", "-q", "--soft", "HEAD~1"]);
            if play.roll(2) == 0 {
                play.agent(SESSIONS[1], FILES[0]);
            }
            play.world.git(&["commit", "-q", "-a", "--allow-empty", "-m", "once more"]);
        }
        2 if count > 1 => {
            play.world.git(&["checkout", "-q", "--detach", "HEAD~1"]);
            play.human(FILES[0]);
            play.commit_all();
            drop(play.world.command("git").args(["cherry-pick", "main"]).output());
            abort(play, "cherry-pick");
            play.world.git(&["checkout", "-q", "-B", "main"]);
        }
        3 => {
            play.agent("s1", FILES[1]);
            play.world.git(&["stash", "-q"]);
            play.human(FILES[0]);
            play.commit_all();
            play.world.git(&["stash", "pop", "-q"]);
        }
        _ if count > 1 => {
            play.world.git(&["checkout", "-q", "--detach", "HEAD~1"]);
            play.human(FILES[1]);
            play.commit_all();
            drop(play.world.command("git").args(["rebase", "-q", "HEAD", "main"]).output());
            abort(play, "rebase");
            play.world.git(&["checkout", "-q", "main"]);
        }
        _ => {}
    }
}

/// Conflicts are not what this is about.
fn abort(play: &Play, what: &str) {
    drop(play.world.command("git").args([what, "--abort"]).output());
}

/// Commits some of the hunks of `file`, as `git add -p` does.
fn commit_hunks(play: &mut Play, file: &str) {
    play.world.git(&["reset", "-q"]);
    let answers: String = (0..20).map(|_| if play.roll(2) == 0 { "y\n" } else { "n\n" }).collect();
    let script = format!("printf '{answers}' | git add -p {file}").replace('\n', "\\n");
    drop(play.world.command("sh").args(["-c", &script]).output());
    play.world.git(&["commit", "-q", "--allow-empty", "-m", "some hunks"]);
}

fn walk(seed: u64, algorithm: &str) {
    let mut play = Play::new(seed);
    play.world.git(&["config", "diff.algorithm", algorithm]);
    // From the first record on, what has none is known to be people's.
    play.agent("s1", FILES[0]);
    play.commit_all();
    for _ in 0..14 {
        step(&mut play);
    }
    play.commit_all();
    play.check();
    play.check_agreement();
}

#[rstest::rstest]
#[case::myers("myers", 200)]
#[case::minimal("minimal", 210)]
#[case::patience("patience", 220)]
#[case::histogram("histogram", 230)]
fn all_commands_tell_the_truth(#[case] algorithm: &str, #[case] seed: u64) {
    for seed in seed..seed + 3 {
        walk(seed, algorithm);
    }
}

#[test]
fn work_that_is_committed_once_more_with_other_work_keeps_its_owners() {
    let mut play = Play::new(240);
    play.agent("s1", FILES[0]);
    play.human(FILES[0]);
    play.commit_all();
    play.world.git(&["reset", "-q", "--soft", "HEAD~1"]);
    play.agent("s2", FILES[0]);
    play.commit_all();
    play.check();
    play.check_agreement();
    // And so after a rewrite.
    play.world.git(&["commit", "-q", "--amend", "-m", "another message"]);
    play.check();
    play.check_agreement();
}

#[test]
fn a_record_that_is_not_here_makes_the_rest_unknown() {
    let mut play = Play::new(250);
    play.agent("s1", FILES[0]);
    play.commit_all();
    // Of another clone, whose records were not fetched.
    play.agent("s1", FILES[0]);
    play.human(FILES[1]);
    play.world.git(&["add", "-A"]);
    play.world.git(&["commit", "-q", "-m", "squashed", "-m", "Checkpoint: 0123456789abcdef"]);
    let found = play.world.json(&["attribution", "--json"]);
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
    play.world.git(&["mv", "new.txt", "other.txt"]);
    play.world.git(&["commit", "-q", "--amend", "--no-edit"]);
    play.check();
    play.check_agreement();
    let blame = play.world.json(&["blame", "--json", "other.txt"]);
    assert_eq!(blame["lines"][0]["session"], "s1", "{blame:#}");
}
