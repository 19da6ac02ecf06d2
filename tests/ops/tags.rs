//! Tags: made, moved, deleted and listed as git does it with its own.

use std::process::{Child, Output};

use serde_json::Value;

use crate::support::{World, processes::described};

/// A world with a commit and `count` checkpoints, with their ids from the first on.
pub(super) fn world(count: usize) -> (World, Vec<String>) {
    let world = World::with_commit();
    let ids = (1..=count).map(|number| save(&world, number)).collect();
    (world, ids)
}

pub(super) fn save(world: &World, number: usize) -> String {
    world.write("f", "line\n".repeat(number + 1));
    world.settle();
    let saved = world.json(&["save", "-m", &format!("number {number}"), "--json"]);
    saved["id"].as_str().expect("an id").to_owned()
}

/// Returns the tags with what they name.
pub(super) fn tags(world: &World) -> Vec<(String, String)> {
    let text = world.done(&["tag", "--json"]);
    let value = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
    let field = |value: &Value, name: &str| value[name].as_str().expect("a string").to_owned();
    text.lines().map(value).map(|value| (field(&value, "tag"), field(&value, "id"))).collect()
}

pub(super) fn pairs(expected: &[(&str, &String)]) -> Vec<(String, String)> {
    expected.iter().map(|(tag, id)| ((*tag).to_owned(), (*id).clone())).collect()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_tag_is_made_moved_and_deleted_and_undo_takes_each_back() {
    let (world, ids) = world(3);
    let facts = world.facts();
    world.done(&["tag", "good"]);
    world.done(&["tag", "first", &ids[0]]);
    let both = pairs(&[("first", &ids[0]), ("good", &ids[2])]);
    assert_eq!(tags(&world), both);

    let refused = world.checkpoint(&["tag", "good", "@{1}"]);
    assert_eq!(refused.status.code(), Some(128), "{}", described(&refused));
    assert!(stderr(&refused).starts_with("fatal: tag 'good' already exists\n"), "{}", stderr(&refused));
    assert_eq!(tags(&world), both, "nothing has changed");

    let moved = world.json(&["tag", "-f", "good", "@{1}", "--json"]);
    assert_eq!((moved["id"].as_str(), moved["previous"].as_str()), (Some(&*ids[1]), Some(&*ids[2])));
    let again = world.json(&["tag", "-f", "good", "@{1}", "--json"]);
    assert_eq!(again["previous"], Value::Null, "it names the same");

    let deleted = world.checkpoint(&["tag", "-d", "good", "nothere", "first"]);
    assert_eq!(deleted.status.code(), Some(1), "{}", described(&deleted));
    assert!(stderr(&deleted).contains("error: tag 'nothere' not found"), "{}", stderr(&deleted));
    assert_eq!(tags(&world), []);

    let moved = pairs(&[("first", &ids[0]), ("good", &ids[1])]);
    world.done(&["undo"]);
    assert_eq!(tags(&world), moved, "both at once");
    world.done(&["redo"]);
    assert_eq!(tags(&world), []);
    world.done(&["undo"]);
    world.done(&["undo"]);
    assert_eq!(tags(&world), both, "a tag that named the same checkpoint already was no operation");
    world.done(&["undo"]);
    world.done(&["undo"]);
    assert_eq!(tags(&world), []);
    assert!(!world.checkpoint(&["undo"]).status.success(), "nothing else was done");
    assert_eq!(world.facts(), facts, "git's own refs, HEAD and index stay");
    world.assert_sound("after all");
}

/// Ours say what git says, with the same exit codes.
#[test]
fn git_and_ours_accept_the_same_names() {
    let (world, _) = world(1);
    let names = [
        "v1",
        "v1.0",
        "rc/1",
        "a-b_c",
        "vóór",
        "a+b",
        "a%2Fb",
        "100%",
        "#1",
        "a,b",
        "(x)",
        "x y",
        "x..y",
        "x.lock",
        ".x",
        "x.",
        "/x",
        "x/",
        "x//y",
        "x/.y",
        "x~1",
        "x^",
        "x:y",
        "x?",
        "x*",
        "x[",
        "x\\y",
        "x\u{7f}",
        "x\ty",
        "x@{1}",
        "@x",
        "abc",
        "claude-code",
        "refs/x",
        "a/b.lock/c",
    ];
    for name in names {
        let (by_git, ours) = (world.try_git(&["tag", "--", name]), world.checkpoint(&["tag", "--", name]));
        assert_eq!(by_git.status.code(), ours.status.code(), "{name:?}: {} {}", described(&by_git), described(&ours));
        if !by_git.status.success() {
            assert!(stderr(&ours).contains("is not a valid tag name"), "{name:?}: {}", stderr(&ours));
        }
    }
    for name in ["", "-x"] {
        let ours = world.checkpoint(&["tag", "--", name]);
        assert_eq!(ours.status.code(), Some(128), "{name:?}: {}", described(&ours));
    }
    let by_git = world.git(&["tag", "--list"]);
    let mut by_git: Vec<String> = by_git.lines().map(str::to_owned).collect();
    by_git.sort();
    let ours: Vec<String> = tags(&world).into_iter().map(|(tag, _)| tag).collect();
    assert_eq!(ours, by_git);
    for pattern in ["v*", "*", "?c/1", "a*b", "rc", "[va]*", "*.0", "nothing"] {
        let by_git = world.git(&["tag", "--list", pattern]);
        let mut by_git: Vec<&str> = by_git.lines().collect();
        by_git.sort_unstable();
        let text = world.done(&["tag", "--list", pattern]);
        let ours: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(ours, by_git, "{pattern}");
    }
}

#[rstest::rstest]
#[case::latest("@")]
#[case::number("@{0}")]
#[case::base("base")]
#[case::verified("verified")]
#[case::start("start")]
#[case::head("HEAD")]
#[case::hex("deadbeef")]
#[case::turn("s1@1")]
#[case::long(
    "a-name-that-goes-on-and-on-a-name-that-goes-on-and-on-a-name-that-goes-on-and-on-a-name-that-goes-on-and-on-a-name-that-goes-on-and-on-a-name-that-goes-on-and-on-a-name-that-goes-on-and-on-a-name-that-goes-on-and-on-a-name-that-goes-on-and-on-a-name-that"
)]
fn a_name_that_means_another_checkpoint_is_refused(#[case] name: &str) {
    let (world, _) = world(1);
    let refs = world.git(&["for-each-ref"]);
    let output = world.checkpoint(&["tag", name]);
    assert_eq!(output.status.code(), Some(128), "{}", described(&output));
    assert_eq!(world.git(&["for-each-ref"]), refs);
}

/// All commands that take a checkpoint take a tag, also where a branch has the same name.
#[test]
fn a_tag_stands_for_its_checkpoint() {
    let (world, ids) = world(3);
    world.git(&["branch", "good"]);
    let output = world.checkpoint(&["tag", "good", &ids[1]]);
    assert!(stderr(&output).contains("git has a commit of the name 'good'"), "{}", described(&output));
    world.done(&["tag", "rc/1", &ids[1]]);
    for name in ["good", "rc/1"] {
        assert!(world.done(&["show", name]).starts_with(&format!("checkpoint {}", ids[1])));
        assert!(world.done(&["diff", name, "@", "--stat"]).contains("f | 1 +"));
        assert!(world.done(&["restore", "-n", name]).contains("would write f"));
        assert_eq!(world.json(&["verify", name, "--json"])["id"].as_str(), Some(&*ids[1]));
        assert!(world.done(&["drop", "-n", name]).contains("number 2"));
        assert_eq!(world.json(&["tag", "-f", "copy", name, "--json"])["id"].as_str(), Some(&*ids[1]));
    }
    assert!(world.done(&["show", "heads/good"]).starts_with("commit "));
}

#[test]
fn what_is_no_checkpoint_gets_no_tag() {
    let world = World::with_hooks();
    world.write("f", "by an agent\n");
    world.done(&["save", "--agent", "tester", "--session", "s1"]);
    world.commit_all("with a record");
    let record = world.git(&["rev-parse", "refs/checkpoints/history"]).trim().to_owned();
    for (target, why) in [
        ("HEAD", "is a commit"),
        ("base", "is a commit"),
        (&*record, "is a commit"),
        ("nothing", "no checkpoint matches"),
    ] {
        let output = world.checkpoint(&["tag", "x", target]);
        assert_eq!(output.status.code(), Some(128), "{}", described(&output));
        assert!(stderr(&output).contains(why), "{target}: {}", stderr(&output));
        assert_eq!(why == "is a commit", stderr(&output).contains("'git tag' names commits"), "{}", stderr(&output));
    }
    assert_eq!(tags(&world), []);
    let tree = world.git(&["rev-parse", "HEAD^{tree}"]);
    let output = world.checkpoint(&["tag", "x", tree.trim()]);
    assert_eq!(output.status.code(), Some(128), "{}", described(&output));
}

/// Of processes that make the same tag at once, in two worktrees, one makes it, and the others say that it is there.
#[test]
fn one_of_many_makes_the_tag() {
    let (world, ids) = world(3);
    world.git(&["worktree", "add", "-q", "../side"]);
    let side = world.root().join("side");
    for round in 0..8 {
        let name = format!("round-{round}");
        // In every other round, all name the same checkpoint.
        let different = if round % 2 == 0 { 3 } else { 1 };
        let start = |at: usize| -> Child {
            let mut command = world.command(crate::support::program());
            command.args(["tag", &name, &ids[at % different]]).stdout(std::process::Stdio::piped());
            command.stderr(std::process::Stdio::piped());
            if at % 2 == 1 {
                command.current_dir(&side);
            }
            command.spawn().expect("it starts")
        };
        let started: Vec<Child> = (0..6).map(start).collect();
        let ended: Vec<Output> = started.into_iter().map(|it| it.wait_with_output().expect("it ends")).collect();
        let (won, lost): (Vec<_>, Vec<_>) = ended.iter().enumerate().partition(|(_, output)| output.status.success());
        let [(at, _)] = won.as_slice() else { panic!("{ended:?}") };
        assert!(tags(&world).contains(&(name.clone(), ids[at % different].clone())));
        for (_, output) in lost {
            assert_eq!(output.status.code(), Some(128), "{}", described(output));
            assert!(stderr(output).contains(&format!("tag '{name}' already exists")), "{}", described(output));
        }
    }
    assert_eq!(world.leftovers(), Vec::<std::path::PathBuf>::new());
    world.assert_sound("after all");
}

/// Git made these tags: of a commit, of an object that is gone, and with a name that would control a terminal.
#[test]
fn tags_from_outside_are_listed_and_deleted() {
    let (world, ids) = world(2);
    world.git(&["update-ref", "refs/checkpoints/tags/commit", "HEAD"]);
    world.git(&["update-ref", "refs/checkpoints/tags/lost", &ids[0]]);
    world.git(&["update-ref", "refs/checkpoints/tags/%1B%5B31mred", &ids[1]]);
    world.git(&["update-ref", "refs/checkpoints/tags/%E2%80%AEx", &ids[1]]);
    let copy = world.sh(&format!(
        "git cat-file commit {} | sed 's/^author a/author b/;$ a x' | git hash-object -t commit -w --stdin",
        ids[0]
    ));
    let copy = copy.trim();
    world.git(&["update-ref", "refs/checkpoints/tags/lost", copy]);
    std::fs::remove_file(world.repo().join(format!(".git/objects/{}/{}", &copy[..2], &copy[2..]))).expect("loose");
    let text = world.done(&["tag"]);
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).expect(name).to_owned();
    assert!(row("lost").ends_with("(cannot be read)"), "{text}");
    assert!(row("commit").contains(&world.git(&["rev-parse", "--short", "HEAD"]).trim().to_owned()), "{text}");
    let list = world.done(&["list", "--format", "%d %(tags)"]);
    assert!(list.contains("red") && !list.contains(['\u{1b}', '\u{202e}']), "{list:?}");
    world.done(&["tag", "-d", "lost", "commit", "\u{1b}[31mred", "\u{202e}x"]);
    assert_eq!(tags(&world), []);
}
