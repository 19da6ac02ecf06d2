//! After `restore` has removed everything that an agent did, what a person writes and commits is the person's alone.

use super::{
    desk::{Desk, changed},
    moved::blamed,
};

/// Returns all authors that `attribution` names for HEAD, and `blame` for the files at `paths`.
fn authors(desk: &Desk, paths: &[&str]) -> Vec<String> {
    let found = desk.json(&["attribution", "HEAD"]);
    let files = found["files"].as_array().expect("a list").iter();
    let mut groups: Vec<_> = files.flat_map(|file| file["owners"].as_array().cloned().unwrap_or_default()).collect();
    for path in paths {
        groups.extend(desk.json(&["blame", path])["lines"].as_array().cloned().unwrap_or_default());
    }
    let mut authors: Vec<String> =
        groups.iter().map(|group| group["session"].as_str().or(group["owner"].as_str()).expect("one").into()).collect();
    authors.sort_unstable();
    authors.dedup();
    authors
}

/// The agent changes the third line, too.
const CHANGED: &str = "line 1\nline 2\nwords of a person\nline 4\n";

#[rstest::rstest]
#[case::the_same_files(&[("f", "words of a person\n"), ("new", "other words of a person\n")])]
#[case::other_files(&[("g", "words of a person\n")])]
#[case::the_same_lines_in_part(&[("f", CHANGED)])]
fn commits_after_a_full_rewind_are_a_persons(
    #[case] files: &[(&str, &str)],
    #[values((false, false), (true, true))] (is_in_two_steps, is_asked_again): (bool, bool),
) {
    let desk = Desk::new();
    // These commits are dated before the hooks were enabled, so that only a record shows that we were in use.
    desk.turn("a", &[("h", "a wrote it\n")]);
    desk.commit_all();
    desk.turn("a", &[("f", &changed(&[(3, "a"), (9, "a")])), ("new", "a wrote it\n")]);
    if is_in_two_steps {
        desk.turn("a", &[("new", "a wrote it\nand more\n")]);
        desk.git(&["checkpoint", "restore", "-q", "--all", "@{1}"]);
        assert_eq!(desk.read("new"), "a wrote it\n");
    }
    desk.git(&["checkpoint", "restore", "-q", "--all", "base"]);
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    if is_asked_again {
        desk.question("a");
    }
    for (path, content) in files {
        desk.write(path, content);
    }
    desk.commit_all();
    let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
    assert_eq!(authors(&desk, &paths), ["human"]);
    assert!(desk.trailers("HEAD").is_empty() && desk.records("HEAD").is_empty());
    desk.finish();
}

/// A turn with two checkpoints: the second one changes or deletes what the first one has added, and a person restores the first.
#[rstest::rstest]
#[case::changed(&[(3, "a"), (4, "a again")])]
#[case::deleted(&[(3, "a")])]
fn lines_that_a_turn_replaced_are_the_sessions_when_they_are_back(#[case] later: &[(u32, &str)]) {
    let desk = Desk::new();
    desk.prompt("a");
    desk.work("a", &[("f", &changed(&[(3, "a"), (4, "a")]))]);
    desk.work("a", &[("f", &changed(later))]);
    desk.stop("a");
    desk.git(&["checkpoint", "restore", "-q", "@{1}"]);
    assert_eq!(desk.read("f"), changed(&[(3, "a"), (4, "a")]));
    let expected = ["the 3th line is of a: a", "the 4th line is of a: a"];
    assert_eq!(blamed(&desk, "f"), expected);
    desk.commit_all();
    assert_eq!(blamed(&desk, "f"), expected);
    desk.finish();
}
