//! Lines that one step takes out of a file, and another one adds to a file.

use rstest::rstest;

use super::support::{AGENT, HUMAN, History, OTHER, letters};
use crate::model::attribution::AuthorId;

const BLOCK: &str = "let first = compute();\nlet second = first + 1;\n\nreturn second * first;\n";

/// A step: its author, a path, and the content afterwards; `#` stands for the block.
type Steps<'t> = &'t [(AuthorId, &'static str, Option<&'t str>)];

/// Returns the letters of the file at `to` after the steps.
fn after(base: &[(&'static str, &str)], steps: Steps<'_>, to: &str) -> String {
    let whole = |text: &str| text.replace('#', BLOCK);
    let base: Vec<(&'static str, String)> = base.iter().map(|(path, text)| (*path, whole(text))).collect();
    let base: Vec<(&'static str, &str)> = base.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let mut history = History::new(&base);
    for (author, path, text) in steps {
        history = history.step(*author, &[(path, text.map(whole).as_deref())]);
        // Another author's work in between.
        history = history
            .step(if *author == OTHER { HUMAN } else { OTHER }, &[("between", Some(&format!("{author}{path}")))]);
    }
    let text = steps.iter().rev().find(|(_, path, _)| *path == to).and_then(|(_, _, text)| text.map(whole));
    let ownership = history.commit(HUMAN, None);
    let file = ownership.files.iter().find(|file| file.path == to).expect("it has changed");
    letters(file, &text.expect("it is there"))
}

#[rstest]
#[case::copied_then_deleted(&[("a", "x\n#y\n")], &[(AGENT, "b", Some("#")), (AGENT, "a", Some("x\ny\n"))], "bbbb")]
#[case::by_two(&[("a", "x\n#y\n")], &[(AGENT, "b", Some("#")), (HUMAN, "a", Some("x\ny\n"))], "bbbb")]
#[case::deleted_then_added(&[("a", "x\n#y\n")], &[(AGENT, "a", Some("x\ny\n")), (AGENT, "b", Some("#"))], "bbbb")]
#[case::with_the_file(&[("a", "#")], &[(AGENT, "b", Some("#")), (AGENT, "a", None)], "bbbb")]
#[case::uncommitted_lines(&[("a", "x\n")], &[(HUMAN, "a", Some("x\n#")), (AGENT, "b", Some("#")), (AGENT, "a", Some("x\n"))], "hhhh")]
#[case::uncommitted_lines_deleted_first(&[("a", "x\n")], &[(HUMAN, "a", Some("x\n#")), (AGENT, "a", Some("x\n")), (AGENT, "b", Some("#"))], "hhhh")]
#[case::replaced(&[("a", "x\n#y\n")], &[(AGENT, "b", Some("#")), (AGENT, "a", Some("x\nuse the other one;\ny\n"))], "bbbb")]
#[case::edited_afterwards(&[("a", "#")], &[(AGENT, "b", Some("#")), (AGENT, "a", Some("")), (AGENT, "b", Some("m\n#n\n"))], "abbbba")]
#[case::twice_on(&[("a", "#")], &[(AGENT, "b", Some("#")), (AGENT, "a", Some("")), (AGENT, "c", Some("#")), (AGENT, "b", Some(""))], "bbbb")]
fn lines_that_two_steps_move_keep_their_owners(
    #[case] base: &[(&'static str, &str)],
    #[case] steps: Steps<'_>,
    #[case] expected: &str,
) {
    let to = if steps.iter().any(|(_, path, _)| *path == "c") { "c" } else { "b" };
    assert_eq!(after(base, steps, to), expected);
}

#[rstest]
#[case::copied(&[("a", "x\n#")], &[(AGENT, "b", Some("#"))], "aaaa")]
#[case::not_all_lines(&[("a", "#let third = 3;\n")], &[(AGENT, "b", Some("#")), (AGENT, "a", Some(""))], "aaaa")]
#[case::the_copy_is_deleted(&[], &[(HUMAN, "b", Some("#")), (AGENT, "a", Some("#")), (AGENT, "a", None)], "hhhh")]
#[case::back_and_then_copied(&[("a", "#")], &[(HUMAN, "a", Some("")), (HUMAN, "a", Some("#")), (AGENT, "b", Some("#"))], "aaaa")]
#[case::put_back(&[("a", "x\n#y\n")], &[(AGENT, "b", Some("#")), (HUMAN, "a", Some("x\ny\n")), (HUMAN, "a", Some("x\n#y\n"))], "aaaa")]
#[case::put_back_and_edited(&[("a", "#")], &[(HUMAN, "a", Some("")), (HUMAN, "a", Some("#")), (HUMAN, "a", Some("let once = compute();\nlet second = first + 1;\n\nreturn second * first;\n")), (AGENT, "b", Some("#"))], "aaaa")]
#[case::begins_as_what_was_thrown_away(&[("a", "x\n#")], &[(HUMAN, "a", Some("x\n")), (AGENT, "b", Some("#mine();\n"))], "aaaaa")]
#[case::every_line_is_edited(&[("a", "#")], &[(AGENT, "b", Some("#")), (HUMAN, "a", Some("let one = compute();\nlet two = first + 1;\n\nreturn second + first;\n"))], "aaaa")]
#[case::taken_once(&[("a", "#")], &[(HUMAN, "a", Some("")), (HUMAN, "c", Some("#")), (AGENT, "b", Some("#"))], "aaaa")]
fn lines_that_are_only_copied_are_the_authors(
    #[case] base: &[(&'static str, &str)],
    #[case] steps: Steps<'_>,
    #[case] expected: &str,
) {
    assert_eq!(after(base, steps, "b"), expected);
}

/// Lines of a person that the commit leaves out are still in the worktree.
#[test]
fn a_part_that_is_not_committed_was_not_moved() {
    let history = History::new(&[("a", "x\n")])
        .step(HUMAN, &[("a", Some(&format!("x\n{BLOCK}")))])
        .step(AGENT, &[("b", Some(BLOCK))]);
    let ownership = history.commit(HUMAN, Some(&[("a", "x\n"), ("b", BLOCK)]));
    assert_eq!(letters(&ownership.files[0], BLOCK), "aaaa");
}

/// The commit does not take the file that lost them, nor has it changed in the end.
#[rstest]
#[case::by_the_agent(AGENT)]
#[case::by_the_committer(HUMAN)]
fn the_last_step_has_moved_the_lines(#[case] by: AuthorId) {
    let history = History::new(&[("a", "x\n")])
        .step(OTHER, &[("a", Some(&format!("x\n{BLOCK}")))])
        .step(AGENT, &[("b", Some(BLOCK))])
        .step(by, &[("a", Some("x\n"))]);
    let ownership = history.commit(HUMAN, Some(&[("a", "x\n"), ("b", BLOCK)]));
    assert_eq!(letters(&ownership.files[0], BLOCK), "oooo");
}

/// The last checkpoint is older than the deletion, which the commit shows.
#[test]
fn a_commit_that_deletes_the_first_place_has_moved_the_lines() {
    let history = History::new(&[("a", BLOCK)]).step(AGENT, &[("b", Some(BLOCK))]);
    let ownership = history.commit(HUMAN, Some(&[("a", ""), ("b", BLOCK)]));
    let of = |path: &str| ownership.files.iter().find(|file| file.path == path).expect("it has changed");
    assert_eq!(letters(of("b"), BLOCK), "bbbb");
    assert_eq!((of("a").kept, of("a").removed.len()), (4, 0));
}

/// One step moves the lines, and a later one puts them back in the file that lost them: the other file has a copy.
#[rstest]
#[case::put_back(BLOCK, "oooo", "aaaa")]
#[case::put_back_with_more(
    "// more\nlet first = compute();\nlet second = first + 1;\n\nreturn second * first;\n",
    "hoooo",
    "aaaa"
)]
#[case::only_one_line("let second = first + 1;\n", "h", "oooo")]
fn lines_that_are_put_back_after_a_move(#[case] again: &str, #[case] in_first: &str, #[case] in_other: &str) {
    let history = History::new(&[])
        .step(OTHER, &[("a", Some(&format!("x\n{BLOCK}")))])
        .step(AGENT, &[("b", Some(BLOCK)), ("a", Some("x\n"))])
        .step(HUMAN, &[("a", Some(&format!("x\n{again}")))]);
    let ownership = history.commit(HUMAN, None);
    let of = |path: &str| ownership.files.iter().find(|file| file.path == path).expect("it has changed");
    assert_eq!(letters(of("b"), BLOCK), in_other);
    assert_eq!(letters(of("a"), &format!("x\n{again}")), format!("o{in_first}"));
}

/// The file that lost the lines has others like them all the time: they are not back.
#[test]
fn one_of_two_equal_blocks_is_moved() {
    let history = History::new(&[])
        .step(OTHER, &[("a", Some(&format!("{BLOCK}x\n{BLOCK}")))])
        .step(AGENT, &[("b", Some(BLOCK)), ("a", Some(&format!("{BLOCK}x\n")))])
        .step(HUMAN, &[("c", Some("c\n"))]);
    let ownership = history.commit(HUMAN, None);
    let of = |path: &str| ownership.files.iter().find(|file| file.path == path).expect("it has changed");
    assert_eq!(letters(of("b"), BLOCK), "oooo");
    assert_eq!(letters(of("a"), &format!("{BLOCK}x\n")), "ooooo");
}

/// Base lines that are put back are those that the commit does not change.
#[test]
fn base_lines_that_are_put_back_after_a_move() {
    let history = History::new(&[("a", BLOCK)])
        .step(AGENT, &[("b", Some(BLOCK)), ("a", Some(""))])
        .step(HUMAN, &[("a", Some(BLOCK))]);
    let ownership = history.commit(HUMAN, None);
    assert_eq!(ownership.files.iter().map(|file| letters(file, BLOCK)).collect::<Vec<_>>(), ["aaaa"]);
}
