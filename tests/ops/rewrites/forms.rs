//! The ways to give a message to `git commit`.

use super::{World, lines};
use crate::support::template::Template;

/// Work of session a, staged.
static START: Template = Template::new(|world| {
    let world = world.commit_old();
    world.agent("a", "one", &lines("one", 6));
    world.git(&["add", "-A"]);
});

fn world() -> World {
    World::copied(&START)
}

fn is_linked(world: &World) {
    assert_eq!(world.sessions("HEAD"), ["a"], "{}", world.message("HEAD"));
    assert_eq!(world.named("HEAD").len(), 1, "{}", world.message("HEAD"));
    assert_eq!(world.all().len(), 1);
    world.is_whole();
}

#[rstest::rstest]
#[case::message(&["-m", "words"])]
#[case::messages(&["-m", "words", "-m", "more"])]
#[case::file(&["-F", ".git/words"])]
#[case::reused(&["-C", "HEAD"])]
#[case::signed(&["-s", "-m", "words"])]
#[case::verbatim(&["--cleanup=verbatim", "-m", "words"])]
#[case::whitespace(&["--cleanup=whitespace", "-m", "words"])]
#[case::strip(&["--cleanup=strip", "-m", "words\n# no comment"])]
#[case::scissors(&["--cleanup=scissors", "-m", "words"])]
#[case::trailer(&["--trailer", "Acked-by: me", "-m", "words"])]
#[case::other_trailer(&["-m", "words\n\nFixes: 3\nAcked-by: me"])]
#[case::no_verify(&["--no-verify", "-m", "words"])]
#[case::author(&["--author", "X <x@example.com>", "-m", "words"])]
#[case::all(&["-a", "-m", "words"])]
#[case::only(&["-m", "words", "--", "one"])]
#[case::include(&["-i", "one", "-m", "words"])]
fn without_an_editor(#[case] arguments: &[&str]) {
    let world = world();
    world.write(".git/words", "words from a file\n");
    world.git(&[&["commit", "-q"], arguments].concat());
    is_linked(&world);
}

#[rstest::rstest]
#[case::plain(&[])]
#[case::verbose(&["-v"])]
#[case::more_verbose(&["-v", "-v"])]
#[case::template(&["-t", ".git/words"])]
#[case::edited_copy(&["-c", "HEAD"])]
#[case::edited_file(&["-e", "-F", ".git/words"])]
#[case::scissors(&["--cleanup=scissors"])]
#[case::scissors_verbose(&["--cleanup=scissors", "-v"])]
#[case::whitespace(&["--cleanup=whitespace", "--no-status"])]
#[case::no_status(&["--no-status"])]
fn with_an_editor(#[case] arguments: &[&str], #[values("#", "auto")] comment: &str) {
    assert_is_linked_after_an_editor(arguments, comment);
}

/// The same where comments begin with something else.
#[rstest::rstest]
#[case::character(";")]
#[case::text("//")]
fn with_an_editor_and_other_comments(
    #[case] comment: &str,
    #[values(&[][..], &["-v"], &["--cleanup=scissors", "-v"])] arguments: &[&str],
) {
    assert_is_linked_after_an_editor(arguments, comment);
}

fn assert_is_linked_after_an_editor(arguments: &[&str], comment: &str) {
    let world = world();
    world.write(".git/words", "words from a file\n");
    let key = if comment.len() == 2 { "core.commentString" } else { "core.commentChar" };
    world.git(&["config", key, comment]);
    let output = world.git_edited("sed -i '1s/^/more words /'", "true", &[&["commit", "-q"], arguments].concat());
    assert!(output.status.success(), "{output:?}");
    assert!(world.message("HEAD").starts_with("more words"), "{}", world.message("HEAD"));
    is_linked(&world);
}

#[rstest::rstest]
#[case::untouched("true", &[])]
#[case::emptied(": >", &[])]
#[case::only_comments("sed -i '/^[^#]/d'", &[])]
#[case::verbose("true", &["-v"])]
#[case::signed("true", &["-s"])]
#[case::template("true", &["-t", ".git/words"])]
#[case::failed("false", &[])]
fn an_editor_that_says_nothing_makes_no_commit(#[case] editor: &str, #[case] arguments: &[&str]) {
    let world = world();
    let before = world.commit_id("HEAD");
    world.write(".git/words", "words from a file\n");
    let output = world.git_edited(editor, "true", &[&["commit", "-q"], arguments].concat());
    assert!(!output.status.success(), "{output:?} {}", world.message("HEAD"));
    assert_eq!(world.commit_id("HEAD"), before);
    // The reserved record does no harm, whether the next work is other work or the same.
    world.git(&["reset", "-q"]);
    world.human_commit("hand");
    assert_eq!(world.ids("HEAD"), []);
    assert_eq!(world.all(), []);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "words"]);
    is_linked(&world);
}

#[rstest::rstest]
#[case::editor(true)]
#[case::hook(false)]
fn a_trailer_that_is_deleted_leaves_the_link(#[case] by_editor: bool) {
    let world = world();
    if by_editor {
        let editor = "sed -i -e '1s/^/words/' -e '/^Checkpoint:/d'";
        assert!(world.git_edited(editor, "true", &["commit", "-q"]).status.success());
    } else {
        world.script(".git/hooks/commit-msg", "#!/bin/sh\nsed -i '/^Checkpoint:/d' \"$1\"\n");
        world.git(&["commit", "-qm", "words"]);
    }
    assert_eq!(world.named("HEAD"), [""; 0]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.is_whole();
    // It is linked to the amended commit.
    world.git(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.is_whole();
}

#[test]
fn a_trailer_that_is_changed_names_no_record() {
    let world = world();
    let editor = "sed -i -e '1s/^/words/' -e 's/^Checkpoint:.*/Checkpoint: 0123456789abcdef/'";
    assert!(world.git_edited(editor, "true", &["commit", "-q"]).status.success());
    assert_eq!(world.sessions("HEAD"), ["a"]);
    assert_eq!(world.failures(), [""; 0]);
}

#[test]
fn linked_without_a_trailer() {
    let world = world();
    world.git(&["config", "checkpoint.link", "none"]);
    world.git(&["commit", "-qm", "words"]);
    assert_eq!(world.named("HEAD"), [""; 0]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.git(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(world.named("HEAD"), [""; 0]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.git(&["checkout", "-q", "-b", "base", "HEAD~1"]);
    world.human_commit("hand");
    world.git(&["checkout", "-q", "main"]);
    world.git(&["rebase", "-q", "base"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.git(&["reset", "-q", "--soft", "HEAD~1"]);
    world.git(&["commit", "-qm", "again"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.git(&["checkout", "-q", "base"]);
    world.git(&["merge", "-q", "--squash", "main"]);
    world.git(&["commit", "-qm", "squashed"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    assert_eq!(world.named("HEAD"), [""; 0]);
    assert_eq!(world.all().len(), 1);
    world.is_whole();
}

#[test]
fn a_message_copied_from_a_commit_with_a_record() {
    let world = world();
    world.git(&["commit", "-qm", "words"]);
    let ids = world.ids("HEAD");
    world.agent("b", "two", &lines("two", 6));
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-C", "HEAD"]);
    // The user has copied the trailer; the commit has the new record all the same.
    assert!(world.sessions("HEAD").contains(&"b".to_owned()));
    assert_eq!(world.ids("HEAD~1"), ids);
    world.is_whole();
}

#[test]
fn an_empty_commit_has_no_record() {
    let world = world();
    world.git(&["reset", "-q"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
    assert_eq!(world.ids("HEAD"), []);
    assert_eq!(world.named("HEAD"), [""; 0]);
    world.git(&["commit", "-q", "--allow-empty", "--allow-empty-message", "-m", ""]);
    assert_eq!(world.ids("HEAD"), []);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "words"]);
    is_linked(&world);
}

#[test]
fn a_commit_with_an_empty_message_that_is_allowed() {
    let world = world();
    world.git(&["commit", "-q", "--allow-empty-message", "-m", ""]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.is_whole();
}
