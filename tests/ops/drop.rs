//! Dropping single checkpoints: those after them stay as they are, and no line gets another author.

use std::{os::unix::process::ExitStatusExt as _, process::Output};

use serde_json::Value;

use crate::support::{World, dice::Dice, processes::described, program, signed_lines::SignedLines};

/// A world with one commit and `count` checkpoints of a person, the file `f` being a line longer in each.
fn world(count: usize) -> (World, Vec<String>) {
    let world = World::with_commit();
    let ids = (1..=count).map(|number| save(&world, &"line\n".repeat(number))).collect();
    (world, ids)
}

fn save(world: &World, text: &str) -> String {
    world.write("f", text);
    world.settle();
    id_of(&world.json(&["save", "--json"]))
}

fn id_of(value: &Value) -> String {
    value["id"].as_str().expect("an id").to_owned()
}

fn tip(world: &World) -> String {
    world.shadows().join(" ")
}

fn parse(world: &World, rev: &str) -> String {
    world.git(&["rev-parse", rev]).trim().to_owned()
}

/// What a commit says beside its parents.
fn said(world: &World, commit: &str) -> String {
    world.git(&["log", "-1", "--format=%T%n%an %ae %at %cn %ce %ct%n%B", commit])
}

/// Runs a command that must say `message` and change no ref.
pub(super) fn refused(world: &World, arguments: &[&str], message: &str) -> Output {
    let refs = world.git(&["for-each-ref"]);
    let output = world.checkpoint(arguments);
    assert!(matches!(output.status.code(), Some(1 | 128)), "{}", described(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains(message), "{message}: {}", described(&output));
    assert_eq!(world.git(&["for-each-ref"]), refs, "nothing was dropped");
    output
}

#[test]
fn later_checkpoints_stay_and_what_names_them_follows() {
    let (world, ids) = world(4);
    world.done(&["verify", &ids[2]]);
    world.git(&["update-ref", "refs/checkpoints/tags/dropped", &ids[1]]);
    world.git(&["update-ref", "refs/checkpoints/tags/kept", &ids[3]]);
    let (facts, status) = (world.facts(), world.git(&["status", "--porcelain"]));
    let plan = world.json(&["drop", "--dry-run", "--json", "@{2}"]);
    assert_eq!(
        (tip(&world), plan["rewritten"].as_u64(), plan["dry_run"].as_bool()),
        (ids[3].clone(), Some(2), Some(true))
    );
    let done = world.json(&["drop", "--json", "@{2}"]);
    assert_eq!((&done["dropped"][0]["id"], &done["refs"]), (&Value::from(ids[1].clone()), &plan["refs"]));
    let last = tip(&world);
    assert_ne!(last, ids[3]);
    assert_eq!(said(&world, &last), said(&world, &ids[3]));
    assert_eq!(said(&world, &format!("{last}^")), said(&world, &ids[2]));
    assert_eq!(parse(&world, &format!("{last}^^")), ids[0], "the one before is the same");
    assert_eq!(parse(&world, "refs/checkpoints/verified/main"), parse(&world, &format!("{last}^")));
    assert_eq!(parse(&world, "refs/checkpoints/tags/kept"), last);
    assert!(!world.try_git(&["rev-parse", "-q", "--verify", "refs/checkpoints/tags/dropped"]).status.success());
    assert_eq!((world.facts(), world.git(&["status", "--porcelain"])), (facts, status));
    world.assert_sound("after the drop");
    let again = world.json(&["save", "--json"]);
    assert_eq!((again["created"].as_bool(), id_of(&again)), (Some(false), last), "the worktree is saved already");
    refused(&world, &["drop", &ids[1]], "is dropped already");
}

#[test]
fn the_first_the_last_and_all_can_be_dropped() {
    let (world, ids) = world(3);
    world.done(&["drop", &ids[0]]);
    assert_eq!(parse(&world, &format!("{}^^", tip(&world))), parse(&world, "HEAD"));
    // The worktree has the same, and a person made the change.
    world.done(&["drop", "@{0}"]);
    assert_eq!(said(&world, &tip(&world)), said(&world, &ids[1]));
    let output = refused(&world, &["drop", "@{0}"], "no other checkpoint has this content of f");
    assert!(described(&output).contains("--force"), "{}", described(&output));
    world.done(&["drop", "--force", "@"]);
    assert_eq!(tip(&world), "");
    let saved = world.json(&["save", "--json"]);
    assert_eq!(saved["parent"].as_str(), Some(parse(&world, "HEAD").as_str()));
    world.assert_sound("after all were dropped");
}

#[test]
fn several_are_named_as_before_the_first_is_dropped() {
    let (world, ids) = world(4);
    world.done(&["drop", "@{1}", "@{2}", &ids[2]]);
    assert_eq!(parse(&world, &format!("{}^", tip(&world))), ids[0]);
}

#[test]
fn no_line_gets_another_author() {
    let world = World::with_commit();
    let prompt = || world.done(&["session", "prompt", "s", "--agent", "claude-code"]);
    let stop = || world.done(&["session", "stop", "s"]);
    prompt();
    let first = save(&world, "one\n");
    let second = save(&world, "one\ntwo\n");
    stop();
    prompt();
    let other = save(&world, "one\ntwo\nthree\n");
    stop();
    refused(&world, &["drop", &second], "would count as the work of another author");
    refused(&world, &["drop", &other], "lines of 'f' in the worktree would count as the work of another author");
    world.done(&["drop", &first]);
    let human = save(&world, "zero\none\ntwo\nthree\n");
    refused(&world, &["drop", "@{1}"], "in the checkpoint");
    refused(&world, &["drop", "-f", "@{1}", "@{0}"], "in the worktree");
    let before = world.json(&["blame", "--json", "f"]);
    world.done(&["drop", &human]);
    assert_eq!(world.json(&["blame", "--json", "f"])["lines"], before["lines"]);
    // What was taken back is nobody's.
    world.write("f", "content of f\n");
    world.settle();
    world.done(&["restore", "base", "--quiet"]);
    world.done(&["drop", "--force", "@{0}"]);
}

#[test]
fn a_chain_in_the_archive_gets_another_name() {
    let (world, ids) = world(3);
    world.done(&["reset"]);
    let archived = || world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/archive/"]);
    let before = archived();
    world.done(&["drop", &ids[1]]);
    let after = archived();
    let (seconds, rest) = after.trim().rsplit_once('-').expect("a name");
    assert!(before.starts_with(seconds) && parse(&world, after.trim()).starts_with(rest), "{before} {after}");
    refused(&world, &["drop", "@{1}", "@{0}"], "no other checkpoint has this content of f");
    world.done(&["drop", "-f", "@{1}", "@{0}"]);
    assert_eq!(archived(), "");
    world.assert_sound("after the drop");
}

#[test]
fn what_is_no_checkpoint_of_this_worktree_is_refused() {
    let (world, _) = world(1);
    refused(&world, &["drop", "base"], "'base' is a commit, not a checkpoint");
    refused(&world, &["drop", "HEAD"], "'HEAD' is a commit, not a checkpoint");
    refused(&world, &["drop", "verified^"], "no checkpoint matches");
    refused(&world, &["drop", "\u{1b}[31mx"], "no checkpoint matches");
    world.git(&["worktree", "add", "-q", "../other"]);
    world.write("../other/f", "elsewhere\n");
    let saved = world.sh("cd ../other && git checkpoint save --json");
    let saved = id_of(&serde_json::from_str(&saved).expect("JSON"));
    refused(&world, &["drop", &saved], "belongs to the worktree 'other'");
}

#[test]
fn an_open_turn_and_undo_are_respected() {
    let (world, ids) = world(2);
    world.done(&["session", "prompt", "s", "--agent", "claude-code"]);
    refused(&world, &["drop", &ids[0]], "the session 's' has a turn under way");
    world.done(&["session", "stop", "s"]);
    world.done(&["restore", &ids[0]]);
    world.done(&["drop", "@{0}"]);
    // The checkpoint that was restored, and the one from before the restore, are others now.
    let third = world.git(&["rev-list", "--first-parent", "--count", &tip(&world), "--not", "HEAD"]);
    assert_eq!(third.trim(), "2");
    // A restore that the operation log does not have is over.
    let logs = world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/operations"]);
    logs.lines().for_each(|log| drop(world.git(&["update-ref", "-d", log])));
    assert_eq!(world.checkpoint(&["undo"]).status.code(), Some(128), "there is nothing to undo");
    world.done(&["drop", "-f", &ids[1]]);
    world.done(&["undo"]);
    assert_eq!(world.checkpoint(&["undo"]).status.code(), Some(128), "there is nothing left to undo");
}

fn text(world: &World) -> String {
    std::fs::read_to_string(world.repo().join("f")).expect("it is there")
}

#[test]
fn a_drop_can_be_undone_and_then_what_was_done_before_it() {
    // The one that undo goes back to, another one, and the one that was restored.
    for target in ["@{1}", "@{3}", "@{4}"] {
        let (world, ids) = world(3);
        world.write("f", "unsaved\n");
        world.settle();
        world.done(&["restore", &ids[0]]);
        world.git(&["update-ref", "refs/checkpoints/tags/t", &ids[1]]);
        let refs = || {
            let all = world.git(&["for-each-ref", "refs/checkpoints"]);
            all.lines().filter(|line| !line.contains("/operations/")).collect::<Vec<_>>().join("\n")
        };
        let before = refs();
        world.done(&["drop", "-f", target]);
        let after = refs();
        assert_ne!(before, after, "{target}");
        world.git(&["gc", "-q", "--prune=now"]);
        world.done(&["undo"]);
        assert_eq!((refs(), text(&world)), (before.clone(), "line\n".to_owned()), "{target}");
        world.done(&["redo"]);
        assert_eq!(refs(), after, "{target}");
        world.done(&["undo"]);
        world.done(&["undo"]);
        assert_eq!(text(&world), "unsaved\n", "{target}");
        world.assert_sound(target);
        world.done(&["redo"]);
        assert_eq!((refs(), text(&world)), (before, "line\n".to_owned()), "{target}");
        world.done(&["drop", "-f", target]);
        world.git(&["gc", "-q", "--prune=now"]);
        let restore = id_of(&world.json(&["op", "log", "--json"])["operations"][1]);
        world.done(&["op", "undo", &restore]);
        assert_eq!(text(&world), "unsaved\n", "{target}: the restore can be undone while the checkpoint is dropped");
        world.assert_sound(target);
    }
}

#[test]
fn shadows_of_sessions_keep_their_order() {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.storage", "session"]);
    let save = |session: &str, text: &str| {
        world.write(session, text);
        world.settle();
        id_of(&world.json(&["save", "--json", "--session", session]))
    };
    let ids = [save("a", "1\n"), save("b", "1\n"), save("a", "1\n2\n"), save("a", "1\n2\n3\n"), save("b", "1\n2\n")];
    world.done(&["drop", &ids[2]]);
    let list = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/shadow/"]);
    let tips: Vec<&str> = list.lines().collect();
    assert_eq!(tips.len(), 2);
    let (a, b) = (tips[0], tips[1]);
    assert_eq!((parse(&world, &format!("{a}^1")), parse(&world, &format!("{a}^2"))), (ids[0].clone(), ids[1].clone()));
    assert_eq!((parse(&world, &format!("{b}^1")), parse(&world, &format!("{b}^2"))), (ids[1].clone(), a.to_owned()));
    world.assert_sound("after the drop");
    let last = world.json(&["show", "--json", "@{1}"]);
    assert_eq!(last["paths"].as_array().map(Vec::len), Some(1), "only its own file: {last}");
}

#[test]
fn before_the_first_commit_they_can_be_dropped() {
    let world = World::new();
    world.git(&["init", "-q", "-b", "main", "."]);
    let ids = [save(&world, "1\n"), save(&world, "2\n"), save(&world, "3\n")];
    let base = parse(&world, &format!("{}^", ids[0]));
    world.done(&["drop", &ids[0]]);
    assert_eq!(parse(&world, &format!("{}^^", tip(&world))), base);
    world.done(&["drop", "-f", "@{1}", "@{0}"]);
    assert_eq!(tip(&world), "");
    save(&world, "4\n");
    world.assert_sound("after the drop");
}

#[test]
fn work_that_was_carried_forward_follows() {
    let world = World::with_hooks();
    world.done(&["session", "prompt", "s", "--agent", "claude-code"]);
    let ids = [save(&world, "1\n"), save(&world, "1\n2\n"), save(&world, "1\n2\n3\n")];
    world.done(&["session", "stop", "s"]);
    world.write("g", "committed\n");
    world.sh("git add g; git commit -q -m g");
    let carried = tip(&world);
    assert_eq!(parse(&world, &format!("{carried}^2")), ids[2], "it carries the work forward");
    world.done(&["drop", &ids[1]]);
    let archived = parse(&world, &format!("{}^2", tip(&world)));
    assert_eq!(said(&world, &archived), said(&world, &ids[2]));
    assert!(world.git(&["for-each-ref"]).contains(&archived), "the archive has it");
    // The last of the chain has the last line, which would be nobody's.
    refused(&world, &["drop", "-f", &archived], "would count as the work of another author");
    let lines = world.json(&["blame", "--json", "f"])["lines"].clone();
    world.done(&["drop", "-f", &ids[0]]);
    assert_eq!(world.json(&["blame", "--json", "f"])["lines"], lines);
    world.assert_sound("after the drop");
    world.sh("git add -A; git commit -q -m f");
    world.assert_accounted("after the commit");
}

#[test]
fn what_was_restored_keeps_its_authors() {
    let world = World::with_commit();
    let base = parse(&world, "HEAD");
    world.done(&["session", "prompt", "s", "--agent", "claude-code"]);
    world.write("g", "of the agent\n");
    world.settle();
    world.done(&["session", "stop", "s"]);
    let agents = tip(&world);
    world.done(&["restore", &base]);
    world.done(&["restore", &agents]);
    refused(&world, &["drop", "-f", &agents], "would count as the work of another author");
    let lines = world.json(&["blame", "--json", "g"])["lines"].clone();
    world.done(&["drop", "-f", "@{1}"]);
    assert_eq!(world.json(&["blame", "--json", "g"])["lines"], lines);
    world.assert_sound("after the drop");
}

#[test]
fn a_crash_leaves_all_or_nothing() {
    for (step, is_done) in [("drop:before-refs", false), ("drop:after-refs", true)] {
        let (world, ids) = world(3);
        let mut command = world.command(program());
        let died = command.args(["drop", &ids[1]]).env("CHECKPOINT_FAILPOINT", step).output().expect("it runs");
        assert_eq!(died.status.signal(), Some(6), "{step}: {}", described(&died));
        assert_eq!(tip(&world) != ids[2], is_done, "{step}");
        world.assert_sound(step);
        let again = world.checkpoint(&["drop", &ids[1]]);
        assert_eq!(again.status.success(), !is_done, "{step}: {}", described(&again));
        assert_eq!(parse(&world, &format!("{}^", tip(&world))), ids[0], "{step}");
        save(&world, "more\n");
        world.assert_sound(step);
    }
}

#[test]
fn random_drops_leave_all_lines_to_their_authors() {
    let mut dropped = 0;
    for seed in 0..6 {
        let mut work = SignedLines::new(seed);
        let mut dice = Dice(seed + 100);
        for _ in 0..12 {
            let file = ["a.txt", "dir/b.txt"][dice.roll(2)];
            match dice.roll(4) {
                0 => work.agent("s1", file),
                1 => work.agent("s2", file),
                _ => {
                    work.human(file);
                    work.done(&["save"]);
                }
            }
            if dice.roll(3) == 0 {
                let before = work.json(&["attribution", "--json", "--worktree"]);
                let target = format!("@{{{}}}", dice.roll(4));
                let output = work.checkpoint(&["drop", "-f", &target]);
                assert!(matches!(output.status.code(), Some(0 | 1 | 128)), "{}", described(&output));
                dropped += usize::from(output.status.success());
                assert_eq!(work.json(&["attribution", "--json", "--worktree"])["files"], before["files"], "{seed}");
            }
        }
        work.commit_all();
        work.check();
        work.assert_sound("after drops");
    }
    assert!(dropped > 3, "{dropped} were dropped");
}

#[test]
fn a_drop_says_how_to_take_it_back() {
    let world = World::with_commit();
    world.write("f", "2\n");
    world.done(&["save", "-q"]);
    let said = described(&world.checkpoint(&["drop", "-f", "@{0}"]));
    assert!(said.contains("hint: 'git checkpoint undo' brings it back"), "{said}");
    let said = described(&world.checkpoint(&["undo"]));
    assert!(said.contains("undone: git checkpoint drop"), "{said}");
}
