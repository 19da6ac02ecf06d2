//! The ways to give a message to `git commit`.

use super::{Bench, lines};

/// Work of session a, staged.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.agent("a", "one", &lines("one", 6));
    bench.git(&["add", "-A"]);
    bench
}

fn is_linked(bench: &Bench) {
    assert_eq!(bench.sessions("HEAD"), ["a"], "{}", bench.message("HEAD"));
    assert_eq!(bench.named("HEAD").len(), 1, "{}", bench.message("HEAD"));
    assert_eq!(bench.all().len(), 1);
    bench.is_whole();
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
    let bench = bench();
    bench.write(".git/words", "words from a file\n");
    bench.git(&[&["commit", "-q"], arguments].concat());
    is_linked(&bench);
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
fn with_an_editor(#[case] arguments: &[&str], #[values("#", ";", "auto", "//")] comment: &str
) {
    let bench = bench();
    bench.write(".git/words", "words from a file\n");
    let key = if comment.len() == 2 { "core.commentString" } else { "core.commentChar" };
    bench.git(&["config", key, comment]);
    let output = bench.edit("sed -i '1s/^/more words /'", "true", &[&["commit", "-q"], arguments].concat());
    assert!(output.status.success(), "{output:?}");
    assert!(bench.message("HEAD").starts_with("more words"), "{}", bench.message("HEAD"));
    is_linked(&bench);
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
    let bench = bench();
    let before = bench.id("HEAD");
    bench.write(".git/words", "words from a file\n");
    let output = bench.edit(editor, "true", &[&["commit", "-q"], arguments].concat());
    assert!(!output.status.success(), "{output:?} {}", bench.message("HEAD"));
    assert_eq!(bench.id("HEAD"), before);
    // The reserved record does no harm, whether the next work is other work or the same.
    bench.git(&["reset", "-q"]);
    bench.human_commit("hand");
    assert_eq!(bench.ids("HEAD"), []);
    assert_eq!(bench.all(), []);
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "words"]);
    is_linked(&bench);
}

#[rstest::rstest]
#[case::editor(true)]
#[case::hook(false)]
fn a_trailer_that_is_deleted_leaves_the_link(#[case] by_editor: bool) {
    let bench = bench();
    if by_editor {
        let editor = "sed -i -e '1s/^/words/' -e '/^Checkpoint:/d'";
        assert!(bench.edit(editor, "true", &["commit", "-q"]).status.success());
    } else {
        bench.world.script(".git/hooks/commit-msg", "#!/bin/sh\nsed -i '/^Checkpoint:/d' \"$1\"\n");
        bench.git(&["commit", "-qm", "words"]);
    }
    assert_eq!(bench.named("HEAD"), [""; 0]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.is_whole();
    // It is linked to the amended commit.
    bench.git(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.is_whole();
}

#[test]
fn a_trailer_that_is_changed_names_no_record() {
    let bench = bench();
    let editor = "sed -i -e '1s/^/words/' -e 's/^Checkpoint:.*/Checkpoint: 0123456789abcdef/'";
    assert!(bench.edit(editor, "true", &["commit", "-q"]).status.success());
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    assert_eq!(bench.failures(), [""; 0]);
}

#[test]
fn linked_without_a_trailer() {
    let bench = bench();
    bench.git(&["config", "checkpoint.link", "none"]);
    bench.git(&["commit", "-qm", "words"]);
    assert_eq!(bench.named("HEAD"), [""; 0]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.git(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(bench.named("HEAD"), [""; 0]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.git(&["checkout", "-q", "-b", "base", "HEAD~1"]);
    bench.human_commit("hand");
    bench.git(&["checkout", "-q", "main"]);
    bench.git(&["rebase", "-q", "base"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.git(&["reset", "-q", "--soft", "HEAD~1"]);
    bench.git(&["commit", "-qm", "again"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.git(&["checkout", "-q", "base"]);
    bench.git(&["merge", "-q", "--squash", "main"]);
    bench.git(&["commit", "-qm", "squashed"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    assert_eq!(bench.named("HEAD"), [""; 0]);
    assert_eq!(bench.all().len(), 1);
    bench.is_whole();
}

#[test]
fn a_message_copied_from_a_commit_with_a_record() {
    let bench = bench();
    bench.git(&["commit", "-qm", "words"]);
    let ids = bench.ids("HEAD");
    bench.agent("b", "two", &lines("two", 6));
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-q", "-C", "HEAD"]);
    // The user has copied the trailer; the commit has the new record all the same.
    assert!(bench.sessions("HEAD").contains(&"b".to_owned()));
    assert_eq!(bench.ids("HEAD~1"), ids);
    bench.is_whole();
}

#[test]
fn an_empty_commit_has_no_record() {
    let bench = bench();
    bench.git(&["reset", "-q"]);
    bench.git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
    assert_eq!(bench.ids("HEAD"), []);
    assert_eq!(bench.named("HEAD"), [""; 0]);
    bench.git(&["commit", "-q", "--allow-empty", "--allow-empty-message", "-m", ""]);
    assert_eq!(bench.ids("HEAD"), []);
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "words"]);
    is_linked(&bench);
}

#[test]
fn a_commit_with_an_empty_message_that_is_allowed() {
    let bench = bench();
    bench.git(&["commit", "-q", "--allow-empty-message", "-m", ""]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.is_whole();
}
