//! Notes: written, changed, removed and shown as git does it with its own; stored where git shows them.

use std::process::Output;

use serde_json::Value;

use super::tags::{save, world};
use crate::support::{World, processes::described};

pub(super) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the notes by what they are for.
pub(super) fn notes(world: &World) -> Vec<(String, String)> {
    let text = world.done(&["note", "--json"]);
    let value = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
    let field = |value: &Value, name: &str| value[name].as_str().expect("a string").to_owned();
    let mut all: Vec<_> = text.lines().map(value).map(|value| (field(&value, "id"), field(&value, "note"))).collect();
    all.sort();
    all
}

pub(super) fn expected(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut all: Vec<_> = pairs.iter().map(|(id, note)| ((*id).to_owned(), format!("{note}\n"))).collect();
    all.sort();
    all
}

#[test]
fn a_note_is_written_changed_and_removed_and_undo_takes_each_back() {
    let (world, ids) = world(3);
    let facts = world.facts();
    world.done(&["note", "-m", "of the last"]);
    world.done(&["note", &ids[0], "-m", "one", "-m", "two"]);
    let both = expected(&[(&ids[0], "one\n\ntwo"), (&ids[2], "of the last")]);
    assert_eq!(notes(&world), both);
    assert_eq!(world.done(&["note", "@"]), "of the last\n");

    let refused = world.checkpoint(&["note", "@", "-m", "another"]);
    assert_eq!(refused.status.code(), Some(1), "{}", described(&refused));
    assert!(stderr(&refused).contains("has a note already"), "{}", stderr(&refused));
    assert_eq!(notes(&world), both, "nothing has changed");

    let changed = world.json(&["note", "-f", "-m", "another", "--json"]);
    assert_eq!((changed["note"].as_str(), changed["previous"].as_str()), (Some("another\n"), Some("of the last\n")));
    world.done(&["note", "-f", "-m", "another"]);
    world.done(&["note", &ids[0], "--remove"]);
    assert_eq!(notes(&world), expected(&[(&ids[2], "another")]));
    let none = world.checkpoint(&["note", &ids[0], "--remove"]);
    assert_eq!((none.status.code(), stderr(&none).contains("has no note")), (Some(1), true), "{}", described(&none));

    world.done(&["undo"]);
    assert_eq!(notes(&world), expected(&[(&ids[0], "one\n\ntwo"), (&ids[2], "another")]));
    world.done(&["redo"]);
    assert_eq!(notes(&world), expected(&[(&ids[2], "another")]));
    world.done(&["undo"]);
    world.done(&["undo"]);
    assert_eq!(notes(&world), both, "the same note again was no operation");
    world.done(&["undo"]);
    assert_eq!(notes(&world), expected(&[(&ids[2], "of the last")]));
    world.done(&["undo"]);
    assert_eq!(notes(&world), []);
    assert!(!world.checkpoint(&["undo"]).status.success(), "nothing else was done");
    assert_eq!(world.facts(), facts, "git's own refs, HEAD and index stay");
    assert_eq!(world.leftovers(), Vec::<std::path::PathBuf>::new());
    world.assert_sound("after all");
}

/// What git-notes(1) stores for a commit, ours stores for a checkpoint, with the same exit status.
#[test]
fn git_and_ours_accept_the_same_notes() {
    let (world, ids) = world(1);
    world.write("f0", "a\n# b\n\n\n\nc  \n\n");
    world.write("f1", "");
    for arguments in [
        &["-m", "x"][..],
        &["-m", "other"],
        &["-f", "-m", "  x  \n\n\n y "],
        &["-f", "-m", "a", "-m", "b"],
        &["-f", "-m", "# no comment"],
        &["-f", "-F", "f0"],
        &["-f", "-F", "nothere"],
        &["-f", "-m", ""],
        &["-m", ""],
        &["-F", "f1"],
        &["-m", "again"],
        &["-m", ""],
    ] {
        let by_git = world.try_git(&[&["notes", "add"], arguments, &["HEAD"]].concat());
        let ours = world.checkpoint(&[&["note"], arguments, &[&ids[0]]].concat());
        let what = format!("{arguments:?}: {} {}", described(&by_git), described(&ours));
        assert_eq!(by_git.status.code(), ours.status.code(), "{what}");
        let (by_git, ours) = (world.try_git(&["notes", "show"]), world.checkpoint(&["note", &ids[0]]));
        assert_eq!((by_git.status.code(), by_git.stdout), (ours.status.code(), ours.stdout), "{what}");
    }
    for script in ["cat \"$1\" >seen; echo more >>\"$1\"", ": >\"$1\"", "printf 'x\\n#y\\n\\n' >\"$1\"", "exit 3"] {
        world.script("editor", script);
        let editor = world.repo().join("editor");
        let run = |mut command: std::process::Command| {
            command.env("GIT_EDITOR", &editor).stdin(std::process::Stdio::null()).output().expect("it runs")
        };
        let mut by_git = world.command("git");
        by_git.args(["notes", "edit"]);
        let mut ours = world.command(crate::support::program());
        ours.args(["note", &ids[0], "--edit"]);
        let (by_git, ours) = (run(by_git), run(ours));
        let what = format!("{script}: {} {}", described(&by_git), described(&ours));
        assert_eq!(by_git.status.code(), ours.status.code(), "{what}");
        let (by_git, ours) = (world.try_git(&["notes", "show"]), world.checkpoint(&["note", &ids[0]]));
        assert_eq!((by_git.status.code(), by_git.stdout), (ours.status.code(), ours.stdout), "{what}");
    }
    assert!(world.read("seen").starts_with(b"again\n\n#\n# The note of"), "{}", world.read("seen"));
}

/// `git log` shows them, and says who wrote them.
#[test]
fn git_shows_notes() {
    let (world, ids) = world(2);
    world.done(&["note", &ids[0], "-m", "as git sees it"]);
    world.git(&["config", "notes.displayRef", "refs/checkpoints/notes"]);
    let log = world.git(&["log", "-1", "--format=%N", &ids[0]]);
    assert_eq!(log.trim(), "as git sees it");
    assert!(world.git(&["log", "-1", &ids[0]]).contains("\nNotes (checkpoints/notes):\n    as git sees it\n"));
    assert_eq!(
        world.git(&["log", "-1", "--format=%an %s", "refs/checkpoints/notes"]).trim(),
        "C O Mitter note written"
    );
    let shown = world.json(&["note", &ids[0], "--json"]);
    assert_eq!(shown["author"], "C O Mitter <committer@example.com>");
    assert_eq!((shown["kind"].as_str(), shown["subject"].as_str()), (Some("checkpoint"), Some("number 1")));
    // Notes that git has written, in any of its layouts.
    world.git(&["notes", "add", "-m", "by git", &ids[1]]);
    let tree = world.git(&["rev-parse", "refs/notes/commits^{tree}"]);
    let merged = world.sh(&format!(
        "git ls-tree refs/checkpoints/notes >all; git ls-tree {} >>all; git mktree <all | xargs git commit-tree -m merged",
        tree.trim()
    ));
    world.git(&["update-ref", "refs/checkpoints/notes", merged.trim()]);
    assert_eq!(notes(&world), expected(&[(&ids[0], "as git sees it"), (&ids[1], "by git")]));
    world.done(&["note", &ids[1], "-f", "-m", "changed"]);
    assert_eq!(notes(&world), expected(&[(&ids[0], "as git sees it"), (&ids[1], "changed")]));
    world.git(&["update-ref", "-d", "refs/notes/commits"]);
    assert_eq!(world.git(&["log", "-1", "--format=%N", &ids[1]]).trim(), "changed", "it is there once");
}

#[test]
fn notes_are_shown_where_their_checkpoints_are() {
    let (world, ids) = world(3);
    world.done(&["note", &ids[1], "-m", "first line\nsecond line"]);
    let list = world.done(&["list"]);
    let row = |subject: &str| list.lines().find(|line| line.contains(subject)).expect("listed").to_owned();
    assert!(row("number 2").contains("[note: first line]"), "{list}");
    assert!(!row("number 1").contains("note:"), "{list}");
    assert_eq!(world.done(&["list", "--format", "%s", "--grep", "second"]), "number 2\n");
    assert_eq!(world.done(&["list", "--format", "%(note)", "--grep", "second"]), "first line\nsecond line\n");
    let json = world.done(&["list", "--json", "--grep", "second"]);
    assert!(json.contains(r#""note":"first line\nsecond line\n""#), "{json}");
    let show = world.done(&["show", &ids[1]]);
    let block =
        "\nNote by C O Mitter <committer@example.com>, 2025-06-01T12:00:00+00:00:\n    first line\n    second line\n";
    assert!(show.contains(block), "{show}");
    let json = world.json(&["show", &ids[1], "--json"]);
    assert_eq!(json["note"], "first line\nsecond line\n");
    assert_eq!(json["note_author"], "C O Mitter <committer@example.com>");
}

/// The note belongs to the record: it is found through each commit that has it.
#[test]
fn a_note_on_a_record_survives_amend_and_rebase() {
    let world = World::with_hooks();
    world.write("f", "by an agent\n");
    world.done(&["save", "--agent", "tester", "--session", "s1"]);
    world.commit_all("with a record");
    let refused = world.checkpoint(&["note", "HEAD^", "-m", "x"]);
    assert_eq!(refused.status.code(), Some(128), "{}", described(&refused));
    assert!(stderr(&refused).contains("has no record"), "{}", stderr(&refused));

    let first = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let explained = world.json(&["explain", "--json"]);
    let record = explained["records"][0]["id"].as_str().expect("an id").to_owned();
    world.done(&["note", "HEAD", "-m", "why it is so"]);
    world.git(&["commit", "-q", "--amend", "-m", "in other words"]);
    world.git(&["checkout", "-q", "-b", "other", "HEAD^"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "another base"]);
    world.git(&["rebase", "-q", "other", "main"]);
    assert_ne!(world.git(&["rev-parse", "HEAD"]).trim(), first);
    let explained = world.json(&["explain", "HEAD", "--json"]);
    assert_eq!(explained["records"][0]["notes"][0]["note"], "why it is so\n");
    assert_eq!(explained["records"][0]["notes"][0]["id"].as_str(), Some(&*first));
    let text = world.done(&["explain", "HEAD"]);
    let short = world.git(&["rev-parse", "--short", &first]);
    assert!(text.contains(&format!("\nNote on {} by C O Mitter", short.trim())), "{text}");
    assert!(world.done(&["show", "HEAD"]).contains("    why it is so\n"));
    // By any of its names, it is the same note.
    assert_eq!(world.done(&["note", &record]), "why it is so\n");
    assert_eq!(world.checkpoint(&["note", "HEAD", "-m", "x"]).status.code(), Some(1), "there is one");
    world.done(&["note", "HEAD", "-f", "-m", "changed"]);
    assert_eq!(notes(&world), expected(&[(&first, "changed")]));
    let listed = world.json(&["note", "HEAD", "--json"]);
    assert_eq!((listed["kind"].as_str(), listed["records"][0].as_str()), (Some("commit"), Some(&*record)));
}

/// Each undo is about one note: what other worktrees do to other notes does not stand in its way.
#[test]
fn worktrees_undo_their_own_notes() {
    let (world, ids) = world(2);
    world.git(&["worktree", "add", "-q", "../side"]);
    let side = world.root().join("side");
    let in_side = |arguments: &[&str]| -> Output {
        let mut command = world.command(crate::support::program());
        command.args(arguments).current_dir(&side).output().expect("it runs")
    };
    world.done(&["note", &ids[0], "-m", "of main"]);
    assert!(in_side(&["note", &ids[1], "-m", "of the side"]).status.success());
    world.done(&["undo"]);
    assert_eq!(notes(&world), expected(&[(&ids[1], "of the side")]));
    world.done(&["redo"]);
    assert!(in_side(&["note", &ids[0], "-f", "-m", "of both"]).status.success());
    let refused = world.checkpoint(&["undo"]);
    assert_eq!(refused.status.code(), Some(1), "{}", described(&refused));
    assert!(stderr(&refused).contains("has changed since"), "{}", stderr(&refused));
    assert_eq!(notes(&world), expected(&[(&ids[0], "of both"), (&ids[1], "of the side")]));
    assert!(in_side(&["undo"]).status.success());
    world.done(&["undo"]);
    assert_eq!(notes(&world), expected(&[(&ids[1], "of the side")]));
    world.assert_sound("after all");
}

/// Of many writers at once, each note is there afterwards.
#[test]
fn no_note_is_lost_when_many_write() {
    let (world, ids) = world(8);
    let started: Vec<_> = ids.iter().map(|id| world.start(&["note", id, "-m", id])).collect();
    for child in started {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", described(&output));
    }
    let pairs: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), id.as_str())).collect();
    assert_eq!(notes(&world), expected(&pairs));
    world.assert_sound("after all");
}

#[rstest::rstest]
#[case::before("note:before-refs", "")]
#[case::after("note:after-refs", "b")]
fn a_note_that_was_killed_is_written_or_not(#[case] failpoint: &str, #[case] text: &str) {
    let (world, ids) = world(1);
    world.done(&["note", &ids[0], "-m", "a"]);
    let child = world.start_with(&["note", &ids[0], "-f", "-m", "b"], failpoint);
    let output = child.wait_with_output().expect("it ends");
    assert!(!output.status.success(), "{}", described(&output));
    let before = if text.is_empty() { "a" } else { text };
    assert_eq!(notes(&world), expected(&[(&ids[0], before)]));
    world.done(&["undo"]);
    assert_eq!(notes(&world), if text.is_empty() { vec![] } else { expected(&[(&ids[0], "a")]) });
    world.assert_sound("after a kill");
}

#[rstest::rstest]
#[case::before("undo:before-refs", &["b", "a"])]
#[case::after("undo:after-refs", &["a"])]
fn an_undo_of_a_note_that_was_killed_can_be_run_again(#[case] failpoint: &str, #[case] texts: &[&str]) {
    let (world, ids) = world(1);
    world.done(&["note", &ids[0], "-m", "a"]);
    world.done(&["note", &ids[0], "-f", "-m", "b"]);
    let output = world.start_with(&["undo"], failpoint).wait_with_output().expect("it ends");
    assert!(!output.status.success(), "{}", described(&output));
    for text in texts {
        assert_eq!(notes(&world), expected(&[(&ids[0], text)]));
        world.done(&["undo"]);
    }
    world.assert_sound("after a kill");
}

#[test]
fn an_edit_does_not_write_over_what_others_have_written() {
    let (world, ids) = world(1);
    world.done(&["note", &ids[0], "-m", "a"]);
    let program = crate::support::program();
    world.script("editor", &format!("'{program}' note {} -f -m meanwhile && echo mine >\"$1\"", ids[0]));
    let mut command = world.command(program);
    command.args(["note", &ids[0], "--edit"]).env("GIT_EDITOR", world.repo().join("editor"));
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    assert!(stderr(&output).contains("has changed meanwhile"), "{}", stderr(&output));
    let hint = stderr(&output);
    let file = hint.split('\'').find(|word| word.ends_with("NOTES_EDITMSG")).expect("the file is named");
    assert_eq!(std::fs::read_to_string(file).expect("it is there"), "mine\n");
    assert_eq!(notes(&world), expected(&[(&ids[0], "meanwhile")]));
}

/// Notes of others may have any bytes; what is no text is refused, and a secret is not stored.
#[test]
fn what_is_stored_and_shown_is_harmless() {
    let (world, ids) = world(2);
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let output = world.checkpoint(&["note", &ids[0], "-m", &format!("use {token}")]);
    assert!(stderr(&output).contains("a secret in the note was replaced"), "{}", described(&output));
    assert_eq!(world.done(&["note", &ids[0]]), "use [redacted github-token]\n");
    let all = world.sh("git cat-file --batch-all-objects --batch --unordered");
    assert!(!all.contains(token), "it was never stored");
    std::fs::write(world.repo().join("latin"), b"caf\xe9\n").expect("writable");
    let refused = world.checkpoint(&["note", &ids[1], "-F", "latin"]);
    assert_eq!(refused.status.code(), Some(128), "{}", described(&refused));
    let large = vec![b'a'; (1 << 20) + 1];
    std::fs::write(world.repo().join("large"), large).expect("writable");
    assert_eq!(world.checkpoint(&["note", &ids[1], "-F", "large"]).status.code(), Some(128));
    // Written by git: it would control a terminal.
    world.sh(&format!(
        "blob=$(printf '\\033[31mred \\342\\200\\256x\\n' | git hash-object -w --stdin)
        printf '100644 blob %s\\t%s\\n' $blob {} | git mktree | xargs git commit-tree -m x |
            xargs git update-ref refs/checkpoints/notes",
        ids[1]
    ));
    for arguments in
        [&["note", &*ids[1]][..], &["note"], &["list"], &["show", &ids[1]], &["list", "--format", "%(note)"]]
    {
        let text = world.done(arguments);
        assert!(text.contains("red") && !text.contains(['\u{1b}', '\u{202e}']), "{arguments:?}: {text:?}");
    }
}

/// A damaged ref of notes hides no checkpoint.
#[test]
fn checkpoints_are_listed_without_notes_that_cannot_be_read() {
    let (world, ids) = world(1);
    world.done(&["note", &ids[0], "-m", "a"]);
    let tree = world.git(&["rev-parse", "refs/checkpoints/notes^{tree}"]);
    let tree = tree.trim();
    std::fs::remove_file(world.repo().join(format!(".git/objects/{}/{}", &tree[..2], &tree[2..]))).expect("loose");
    assert!(world.done(&["list"]).contains("number 1"));
    assert!(world.done(&["show", &ids[0]]).contains("number 1"));
    let output = world.checkpoint(&["note", &ids[0]]);
    assert_eq!(output.status.code(), Some(128), "{}", described(&output));
    save(&world, 5);
}

/// Adds an entry to the tree of the notes, which we would not write.
fn add_entry(world: &World, entry: &str, id: &str) {
    world.sh(&format!(
        "tree=$( (git ls-tree refs/checkpoints/notes; printf '%s\t%s\n' \"{entry}\" {id}) | git mktree)
         git update-ref refs/checkpoints/notes $(git commit-tree -p refs/checkpoints/notes -m x $tree)"
    ));
}

#[test]
fn only_a_blob_is_a_note() {
    let (world, ids) = world(2);
    world.done(&["note", &ids[0], "-m", "a"]);
    add_entry(&world, "160000 commit $(git rev-parse HEAD)", &ids[1]);
    assert_eq!(notes(&world), expected(&[(&ids[0], "a")]));
    world.done(&["note", &ids[0], "-f", "-m", "b"]);
}

/// What the editor cannot show as it is, it would lose.
#[rstest::rstest]
#[case::too_large("yes | head -c 1200000", "is too large to be edited")]
#[case::latin_1("printf 'caf\\351\\n'", "is no text in UTF-8")]
fn a_note_that_is_no_text_is_not_edited(#[case] content: &str, #[case] why: &str) {
    let (world, ids) = world(2);
    world.done(&["note", &ids[0], "-m", "a"]);
    add_entry(&world, &format!("100644 blob $({content} | git hash-object -w --stdin)"), &ids[1]);
    let before = world.git(&["rev-parse", "refs/checkpoints/notes"]);
    let mut edit = world.command(crate::support::program());
    edit.args(["note", &ids[1], "--edit"]).env("GIT_EDITOR", "echo more >>");
    let output = edit.output().expect("it runs");
    assert!(output.status.code() == Some(128) && stderr(&output).contains(why), "{}", described(&output));
    assert_eq!(world.git(&["rev-parse", "refs/checkpoints/notes"]), before);
}
