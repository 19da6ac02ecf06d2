//! Random commands are undone one after the other back to the first state, and redone to the last: refs and files, byte for byte.
//! A command that is killed leaves the state before it or the one after it; what is half-way is taken back.
//!
//! All that the commands do can be undone. What people, agents and hooks save is never undone, by design: it is in the history before
//! the first state. After it, a command only saves what it is about to change. That is unsaved again after the undo, and the archive
//! has it. If an agent has made it, its checkpoint may also stay live.
//!
//! In other histories, files are edited at any time, also after a kill. There, only one thing is asked for: nothing is lost.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};

use crate::support::{World, dice::Dice, processes::described, program, versions::Versions};

/// The refs of checkpoints without the operation logs, and the files of the worktree.
type State = (BTreeMap<String, String>, BTreeMap<String, Vec<u8>>);

// In the root: the checkpoint after a restore does not know of directories that became empty.
const NAMES: [&str; 4] = ["f", "a", "b", "c"];

/// Where a command may be killed: before its entry, between the entry and the journal, and half-way.
const POINTS: [&str; 8] = [
    "restore:after-save",
    "restore:after-sync",
    "restore:after-log",
    "restore:after-journal",
    "restore:after-write",
    "restore:after-write:2",
    "restore:after-write:3",
    "restore:before-done",
];

fn state(world: &World) -> State {
    let all = world.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/checkpoints/"]);
    let pair = |line: &str| line.split_once(' ').map(|(name, id)| (name.to_owned(), id.to_owned()));
    let refs = all.lines().filter_map(pair).filter(|(name, _)| !name.contains("/operations/")).collect();
    let read = |name: &&str| Some(((*name).to_owned(), fs::read(world.repo().join(name)).ok()?));
    (refs, NAMES.iter().filter_map(read).collect())
}

/// Returns the operations that `undo` takes back, the next one first.
fn undoable(world: &World) -> Vec<String> {
    let list = world.json(&["undo", "--list", "--json"]);
    let list = list["operations"].as_array().expect("a list").iter().filter(|it| it["undoable"] == true);
    list.map(|it| it["id"].as_str().expect("an id").to_owned()).collect()
}

/// Edits some files.
fn edit(world: &World, dice: &mut Dice) {
    for _ in 0..=dice.below(2) {
        let name = NAMES[dice.roll(NAMES.len())];
        let path = world.repo().join(name);
        if dice.below(4) == 0 && path.exists() {
            fs::remove_file(path).expect("it is ours");
        } else {
            world.write(name, format!("{}\r\n{}\0", dice.below(1000), dice.below(1000)));
        }
    }
}

/// Returns a command that may be refused.
fn command(dice: &mut Dice, saved: &[String], has_agent: bool) -> Vec<String> {
    let target = saved[dice.roll(saved.len())].as_str();
    let operation = format!("@{{{}}}", dice.below(5));
    let line: &[&str] = match dice.below(18) {
        0 => &["verify"],
        1 => &["verify", target],
        2 => &["verify", "--reset"],
        3..=5 => &["reset"],
        6 => &["reset", "--restore-archived", target],
        7 => &["prune", "--keep", "1"],
        8 => &["drop", "--force", target],
        9 | 10 => &["op", "restore", operation.as_str()],
        11 if has_agent => &["session", "adopt", "s1"],
        11 | 12 => &["restore", "--all", "base"],
        13 => &["restore", "--all", target, "--", NAMES[dice.roll(NAMES.len())]],
        14 if has_agent => &["session", "forget", "s1"],
        _ => &["restore", "--all", target],
    };
    line.iter().map(|word| (*word).to_owned()).collect()
}

/// Kills a command somewhere. If that is half-way, `undo` takes it back; if it was done before, the opposite does.
///
/// Returns true if it was killed before it began: then, what it has saved first stays saved.
fn interrupt(world: &World, dice: &mut Dice, saved: &[String], note: &str) -> bool {
    let (before, list) = (state(world), undoable(world));
    let line = match dice.below(4) {
        0 | 1 => vec!["undo".to_owned()],
        2 => vec!["redo".to_owned()],
        _ => vec!["restore".to_owned(), "--all".to_owned(), saved[dice.roll(saved.len())].clone()],
    };
    let point = POINTS[dice.roll(POINTS.len())];
    let output = world.command(program()).args(&line).env("CHECKPOINT_FAILPOINT", point).output().expect("it runs");
    let journal = fs::read_to_string(world.repo().join(".git/checkpoint/restore.json")).unwrap_or_default();
    let note = format!("{note}: {line:?} at {point}: {}", described(&output));
    if output.status.code().is_some() {
        // It did not come to this point.
        if output.status.success() && undoable(world) != list {
            world.done(&[if line[0] == "undo" { "redo" } else { "undo" }]);
        }
        assert_eq!(undoable(world).len(), list.len(), "{note}");
    } else {
        if journal.contains("\"applying\"") {
            if dice.below(4) == 0 {
                // Taking it back is interrupted, too.
                let again =
                    world.command(program()).arg("undo").env("CHECKPOINT_FAILPOINT", "restore:after-write").output();
                drop(again);
            }
            let journal = fs::read_to_string(world.repo().join(".git/checkpoint/restore.json")).unwrap_or_default();
            if journal.contains("\"applying\"") {
                world.done(&["undo"]);
            }
        }
        assert_eq!(undoable(world), list, "{note}");
    }
    let after = state(world);
    assert_eq!(after.1, before.1, "{note}");
    let point = point.trim_end_matches([':', '2', '3']);
    let has_saved = ["restore:after-save", "restore:after-sync", "restore:after-log"].contains(&point);
    if !has_saved && !note.contains("an agent") {
        assert!(is_held(&after, &before), "{after:?} {before:?} {note}");
    }
    !is_held(&after, &before)
}

/// Asserts that `now` is `then`, but for what is saved since at the end of a shadow.
fn assert_saved(world: &World, now: &State, then: &State, note: &str) {
    assert_eq!(now.1, then.1, "{note}");
    for name in now.0.keys().chain(then.0.keys()) {
        match (now.0.get(name), then.0.get(name)) {
            (now, then) if now == then => {}
            (Some(now), Some(then)) if name.contains("/shadow/") => {
                world.git(&["merge-base", "--is-ancestor", then, now]);
            }
            (Some(_), None) => {}
            other => panic!("{name}: {other:?}, {note}"),
        }
    }
}

/// Returns true if `now` is `then`, but for what the archive holds besides.
fn is_held(now: &State, then: &State) -> bool {
    let is_known = |name: &String| then.0.contains_key(name) || name.starts_with("refs/checkpoints/archive/");
    now.1 == then.1 && now.0.keys().all(is_known) && then.0.iter().all(|(name, id)| now.0.get(name) == Some(id))
}

fn play(seed: u64, is_reftable: bool) {
    let (world, has_agent) = (World::with_commit(), seed.is_multiple_of(4));
    if is_reftable {
        world.sh("rm -rf .git/logs && git refs migrate --ref-format=reftable");
    }
    let mut dice = Dice(seed);
    let mut saved = Vec::new();
    for number in 0..3 {
        if has_agent && number == 1 {
            world.done(&["session", "start", "s1", "--agent", "claude-code"]);
            world.done(&["session", "prompt", "-q", "s1", "-m", "go"]);
            edit(&world, &mut dice);
            world.done(&["session", "stop", "-q", "s1"]);
        } else {
            edit(&world, &mut dice);
            world.done(&["save", "-q"]);
        }
        // The first edits may give the file what the commit has.
        while world.shadows().is_empty() {
            edit(&world, &mut dice);
            world.done(&["save", "-q"]);
        }
        saved.push(world.git(&["rev-parse", &world.shadows()[0]]).trim().to_owned());
    }
    // It has nothing to do.
    world.done(&["restore", "--all", "@{0}"]);
    edit(&world, &mut dice);
    let (mut states, mut lines, mut has_saved) = (vec![state(&world)], Vec::new(), false);
    for _ in 0..8 {
        if dice.below(3) == 0 {
            let who = if has_agent { "an agent" } else { "a person" };
            has_saved |= interrupt(&world, &mut dice, &saved, &format!("seed {seed} of {who}, after {lines:?}"));
            *states.last_mut().expect("the first") = state(&world);
            continue;
        }
        let (before, line) = (undoable(&world), command(&mut dice, &saved, has_agent));
        let output = world.command(program()).args(&line).output().expect("it runs");
        let after = undoable(&world);
        if after != before {
            assert_eq!(after[1..], before, "seed {seed}: {line:?} after {lines:?}: {}", described(&output));
            lines.push(line);
            states.push(state(&world));
        }
    }
    let log = |number: usize| format!("seed {seed}: {lines:?}, {number}\n{}", world.done(&["op", "log"]));
    for number in (0..lines.len()).rev() {
        let undone = world.checkpoint(&["undo"]);
        assert!(undone.status.success(), "{}{}", log(number), described(&undone));
        let (now, then) = (state(&world), &states[number]);
        assert_eq!(now.1, then.1, "undo of {}", log(number));
        if has_agent {
            assert!(number > 0 || has_saved || is_held(&now, then), "{now:?} {then:?} undo of {}", log(number));
        } else if has_saved {
            assert_saved(&world, &now, then, &log(number));
        } else {
            assert!(is_held(&now, then), "{now:?} {then:?} undo of {}", log(number));
        }
    }
    assert_eq!(undoable(&world), [""; 0], "seed {seed}");
    assert!(!world.checkpoint(&["undo"]).status.success(), "seed {seed}: what is not listed is not undone");
    for number in 0..lines.len() {
        let redone = world.checkpoint(&["redo"]);
        assert!(redone.status.success(), "redo of {}{}", log(number), described(&redone));
        let (now, then) = (state(&world), &states[number + 1]);
        assert_eq!(now.1, then.1, "redo of {}", log(number));
        if !has_agent && !has_saved {
            assert!(is_held(&now, then), "{now:?} {then:?} redo of {}", log(number));
        }
    }
    world.assert_sound(&format!("seed {seed}"));
}

/// Plays histories for two seconds, at least three. With `UNDO_SEEDS=<first>-<last>`, it plays these.
fn play_all(play: impl Fn(u64, bool) + std::panic::RefUnwindSafe) {
    let wanted = std::env::var("UNDO_SEEDS").ok();
    let wanted = wanted.as_deref().and_then(|text| text.split_once('-'));
    if let Some((first, last)) = wanted {
        let seed = |text: &str| text.parse::<u64>().expect("a number");
        let play = |seed: &u64| std::panic::catch_unwind(|| play(*seed, seed % 10 == 7)).is_err();
        let failed: Vec<u64> = (seed(first)..=seed(last)).filter(play).collect();
        assert_eq!(failed, [0; 0], "these histories fail");
        return;
    }
    let (start, first) = (Instant::now(), 1);
    for seed in first.. {
        let outcome = std::panic::catch_unwind(|| play(seed, false));
        assert!(outcome.is_ok(), "UNDO_SEEDS={seed}-{seed} plays it again");
        if seed > first + 1 && start.elapsed() > Duration::from_secs(2) {
            break;
        }
    }
}

#[test]
fn random_commands_are_undone_to_the_first_state_and_redone() {
    play_all(play);
}

/// Returns a command of a history in which files are edited at any time.
fn command_between_edits(dice: &mut Dice, saved: &[String]) -> Vec<String> {
    let target = saved[dice.roll(saved.len())].as_str();
    let operation = format!("@{{{}}}", dice.below(8));
    let line: &[&str] = match dice.below(27) {
        0..=3 => &["undo"],
        4..=7 => &["undo", "--all"],
        8 => &["redo"],
        9 | 10 => &["redo", "--all"],
        11 | 12 => &["restore", "base"],
        13..=15 => &["restore", "--all", target],
        16 => &["restore", "--continue"],
        17 => &["reset"],
        18 | 19 => &["op", "restore", &operation],
        20 => &["op", "undo", &operation],
        21 => &["verify"],
        22 => &["drop", "--force", target],
        23 => &["restore", target, "--", NAMES[dice.roll(NAMES.len())]],
        24 => &["config", "migrate"],
        25 => &["session", "forget", "s1"],
        _ => &["save"],
    };
    line.iter().map(|word| (*word).to_owned()).collect()
}

/// Plays a history in which files are edited between any two commands, of which some are killed.
fn play_with_edits(seed: u64, is_reftable: bool) {
    let world = World::with_commit();
    if is_reftable {
        world.sh("rm -rf .git/logs && git refs migrate --ref-format=reftable");
    }
    let (mut dice, mut versions, mut lines, mut saved) = (Dice(seed), Versions::default(), Vec::new(), Vec::new());
    for _ in 0..2 {
        edit(&world, &mut dice);
        world.done(&["save", "-q"]);
        // The first edits may give the file what the commit has.
        while world.shadows().is_empty() {
            edit(&world, &mut dice);
            world.done(&["save", "-q"]);
        }
        saved.push(world.git(&["rev-parse", &world.shadows()[0]]).trim().to_owned());
    }
    let (has_turns, mut is_open) = (seed.is_multiple_of(3), false);
    for _ in 0..16 {
        match dice.below(3) {
            0 => edit(&world, &mut dice),
            // Of the same length as what is there, and of new names.
            1 => world.write(NAMES[dice.roll(NAMES.len())], format!("{}\n", 1000 + dice.below(9000))),
            _ => {}
        }
        if has_turns && dice.below(6) == 0 {
            let line: &[&str] = if is_open {
                &["session", "stop", "-q", "s1"]
            } else {
                &["session", "prompt", "-q", "s1", "--agent", "claude-code", "-m", "go"]
            };
            let _ = world.checkpoint(line);
            is_open = !is_open;
        }
        match dice.below(12) {
            0 => drop(world.command("git").args(["commit", "-qam", "part"]).output()),
            1 => {
                world.git(&["add", "-A"]);
                drop(world.command("git").args(["commit", "-qm", "all"]).output());
            }
            2 => fs::write(world.repo().join(".git/checkpoint/config.toml"), "disable-multisession-warning = true\n")
                .expect("it is ours"),
            _ => {}
        }
        let line = command_between_edits(&mut dice, &saved);
        let mut command = world.command(program());
        command.args(&line);
        let mut point = "";
        if dice.below(3) == 0 {
            // Not between the log and the refs: what a killed save did not add to its chain was never in a checkpoint.
            const LATER: [&str; 3] = ["restore:after-done", "undo:before-refs", "undo:after-refs"];
            let points: Vec<&str> = POINTS.into_iter().chain(LATER).collect();
            point = points[dice.roll(points.len())];
            command.env("CHECKPOINT_FAILPOINT", point);
        }
        let output = command.output().expect("it runs");
        lines.push(format!("{line:?} {point}: {}", described(&output)));
        versions.check(&world, line[0] == "drop", &format!("seed {seed}:\n{}", lines.join("\n")));
    }
    world.assert_sound(&format!("seed {seed}"));
}

#[test]
fn nothing_that_was_saved_is_lost_whatever_is_edited_and_killed() {
    play_all(play_with_edits);
}

#[test]
fn the_same_with_a_reftable() {
    play(7, true);
}

#[rstest::rstest]
#[case::reset_between_refs(&["reset"], "refs:after-change")]
#[case::reset_later(&["reset"], "refs:after-change:2")]
#[case::undo_before_refs(&["undo"], "undo:before-refs")]
#[case::undo_between_refs(&["undo"], "refs:after-change")]
#[case::undo_after_refs(&["undo"], "undo:after-refs")]
fn a_killed_command_leaves_either(#[case] line: &[&str], #[case] point: &str) {
    let world = World::with_commit();
    world.write("f", "one\n");
    world.done(&["save", "-q"]);
    if line == ["undo"] {
        world.done(&["reset", "-q"]);
    }
    let before = state(&world);
    let died = world.command(program()).args(line).env("CHECKPOINT_FAILPOINT", point).output();
    assert!(!died.expect("it runs").status.success());
    let shadows: Vec<String> = state(&world).0.into_values().collect();
    assert!(!shadows.is_empty(), "the chain is held at all times");
    // The killed command is either not done, or can be undone: at most two commands restore the state before it.
    let is_done = state(&world) != before;
    if line == ["undo"] {
        // The log may say that the operation is undone before its refs have moved. Redo and undo work in both cases.
        if is_done || point == "refs:after-change" {
            world.done(&["redo"]);
        }
        assert_eq!(state(&world), before);
        world.done(&["undo"]);
        world.done(&["redo"]);
        assert_eq!(state(&world), before);
    } else if is_done {
        world.done(&["undo"]);
        assert_eq!(state(&world), before);
    }
    world.assert_sound("after the kill");
    world.done(&["save", "-q"]);
    world.done(&["op", "log"]);
}

#[rstest::rstest]
#[case::before_the_log("restore:after-sync", false)]
#[case::between_log_and_journal("restore:after-log", false)]
#[case::after_the_journal("restore:after-journal", true)]
#[case::between_files("restore:after-write", true)]
#[case::before_done("restore:before-done", true)]
#[case::before_the_checkpoint("restore:after-done", false)]
fn a_restore_that_was_killed_is_undone_once(#[case] point: &str, #[case] is_interrupted: bool) {
    let world = World::with_commit();
    world.write("f", "one\n");
    world.write("a", "one\n");
    world.done(&["save", "-q"]);
    let one = world.git(&["rev-parse", &world.shadows()[0]]).trim().to_owned();
    world.write("f", "two\n");
    world.write("a", "two\n");
    world.done(&["save", "-q"]);
    let before = state(&world);
    let line = ["restore", "--all", &one];
    let died = world.command(program()).args(line).env("CHECKPOINT_FAILPOINT", point).output();
    assert!(!died.expect("it runs").status.success());
    if is_interrupted {
        world.done(&["restore", "--continue"]);
        assert_eq!(world.sh("cat f a"), "one\none\n");
    }
    if state(&world).1 != before.1 {
        world.done(&["undo"]);
    }
    assert_eq!(state(&world).1, before.1);
    world.assert_sound("after the kill");
    world.done(&["restore", "--all", &one]);
    world.done(&["undo"]);
    assert_eq!(state(&world).1, before.1);
}
