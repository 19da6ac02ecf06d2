//! Files that are not plain text, and files and lines that are too large.

use super::support::{AGENT, DIFFER, HUMAN, History, OTHER, bytes, letters, replayed};
use crate::model::attribution::{Change, Committed, Content, Limits, Owner, Replay};

#[rstest::rstest]
#[case::newline_at_the_end("", &[(AGENT, "x1\ny2"), (HUMAN, "x1\ny2\n")], "aa")]
#[case::newline_and_a_line("", &[(AGENT, "x1\ny2"), (HUMAN, "x1\ny2\nz3\n")], "aah")]
#[case::newline_gone("", &[(AGENT, "x1\ny2\n"), (HUMAN, "x1\ny2")], "aa")]
#[case::base_gets_newline("x1\ny2", &[(AGENT, "x1\ny2\n")], ".b")]
#[case::to_crlf("", &[(AGENT, "x1\n}\ny2\n"), (HUMAN, "x1\r\n}\r\ny2\r\n")], "aaa")]
#[case::to_lf("x1\r\n\r\ny2\r\n", &[(AGENT, "x1\n\ny2\n")], "bbb")]
#[case::crlf_and_a_line("", &[(AGENT, "x1\ny2\n"), (HUMAN, "x1\r\nnew\r\ny2\r\n")], "aha")]
#[case::not_ascii("", &[(AGENT, "\u{e9}1\ny2\n"), (HUMAN, "\u{e9}1\nz3\ny2\n")], "aha")]
fn ends_of_lines(#[case] base: &str, #[case] steps: &[(u32, &str)], #[case] expected: &str) {
    assert_eq!(replayed(base, steps).0, expected);
}

#[test]
fn binary_files_are_owned_as_a_whole() {
    let made = || History::new(&[("f", "\0base")]).step(AGENT, &[("f", Some("\0agent"))]);
    let file = made().commit(HUMAN, None).files.remove(0);
    assert_eq!((file.whole, file.added(), file.deleted()), (Some(Owner::Author(AGENT)), 0, 0));
    let file = made().step(HUMAN, &[("f", Some("\0human"))]).commit(HUMAN, None).files.remove(0);
    assert_eq!(file.whole, Some(Owner::Author(HUMAN)));
    let file = made().commit(OTHER, Some(&[("f", "\0staged")])).files.remove(0);
    assert_eq!(file.whole, Some(Owner::Author(OTHER)));
    let file = made().commit(OTHER, Some(&[])).files.remove(0);
    assert_eq!(file.whole, Some(Owner::Author(OTHER)));
}

#[test]
fn text_that_was_binary_is_the_last_authors() {
    let history =
        History::new(&[("f", "x1\n")]).step(AGENT, &[("f", Some("\0"))]).step(HUMAN, &[("f", Some("x1\ny2\n"))]);
    let file = history.commit(HUMAN, None).files.remove(0);
    assert_eq!((letters(&file, "1\n2\n"), file.deleted()), (".h".to_owned(), 0));
}

#[test]
fn links_and_submodules_have_no_lines() {
    let opaque = |text: &str| Some(Content::Opaque(text.into()));
    let mut replay = Replay::new(DIFFER);
    let change = Change { path: "f".into(), from: None, before: bytes("x1\n"), after: opaque("target"), moved: None };
    replay.step(AGENT, vec![change]);
    let entry = Committed {
        path: "f".into(),
        from: None,
        before: bytes("x1\n"),
        after: opaque("target"),
        edits: None,
        author: HUMAN,
    };
    let file = replay.finish(&[entry]).files.remove(0);
    assert_eq!((file.whole, file.added(), file.deleted()), (Some(Owner::Author(AGENT)), 0, 0));
}

#[test]
fn the_commits_diff_decides_whether_a_file_was_renamed() {
    let replay = || {
        let mut replay = Replay::new(DIFFER);
        let change = Change {
            path: "b".into(),
            from: Some("a".into()),
            before: bytes("x1\nx2\n"),
            after: bytes("x1\nx2\ny3\n"),
            moved: None,
        };
        replay.step(AGENT, vec![change]);
        replay
    };
    let entry = |path: &str, from: Option<&str>, before, after| Committed {
        path: path.into(),
        from: from.map(Into::into),
        before,
        after,
        edits: None,
        author: HUMAN,
    };
    let renamed = entry("b", Some("a"), bytes("x1\nx2\n"), bytes("x1\nx2\ny3\n"));
    let file = replay().finish(std::slice::from_ref(&renamed)).files.remove(0);
    assert_eq!((letters(&file, "1\n2\n3\n"), file.deleted()), ("..a".to_owned(), 0));
    // No checkpoint saw the rename.
    let file = Replay::new(DIFFER).finish(&[renamed]).files.remove(0);
    assert_eq!(letters(&file, "1\n2\n3\n"), "..h");
    let apart = [entry("a", None, bytes("x1\nx2\n"), None), entry("b", None, None, bytes("x1\nx2\ny3\n"))];
    let files = replay().finish(&apart).files;
    assert_eq!((files[0].kept, files[0].removed.as_slice()), (2, &[][..]));
    assert_eq!(letters(&files[1], "1\n2\n3\n"), "bba");
}

const SMALL: Limits = Limits { file_bytes: 64, lines: 8, hunk_bytes: 32, line_bytes: 24 };

#[test]
fn large_files_are_the_last_authors_between_their_common_ends() {
    let long = |middle: &str| format!("top of it\n{middle}\n{}end of it\n", "a line of ten\n".repeat(200));
    let (first, second) = (format!("x1\n{}", "y2\n".repeat(90)), format!("x2\n{}", "y3\n".repeat(90)));
    let file = History::with_limits(&[("f", &long("old"))], SMALL)
        .step(AGENT, &[("f", Some(&long(&first)))])
        .step(HUMAN, &[("f", Some(&long(&second)))])
        .commit(HUMAN, None)
        .files
        .remove(0);
    assert!(file.is_cut_off);
    assert!(file.spans.iter().all(|span| span.owner == Owner::Author(HUMAN)));
}

#[test]
fn long_lines_are_not_compared_word_by_word() {
    let line = |end: &str| format!("let name = one + two + three{end}\n");
    let history = |limits| {
        let history = History::with_limits(&[], limits).step(AGENT, &[("f", Some(&line("")))]);
        history.step(HUMAN, &[("f", Some(&line(" + four")))]).commit(HUMAN, None).files.remove(0)
    };
    assert_eq!(letters(&history(Limits::default()), "1\n"), "(ha)");
    let cut = history(SMALL);
    assert_eq!((letters(&cut, "1\n"), cut.is_cut_off), ("h".to_owned(), true));
}

#[test]
fn a_name_that_is_replaced_all_over_is_an_edit_of_each_line() {
    let many =
        |name: &str| (0..2000).fold(String::new(), |text, n| text + &format!("let value_{n} = {name}({n}) + other;\n"));
    let file = History::new(&[])
        .step(AGENT, &[("f", Some(&many("alpha")))])
        .step(HUMAN, &[("f", Some(&many("beta")))])
        .commit(HUMAN, None)
        .files
        .remove(0);
    let is_mixed = |owner: Owner| matches!(owner, Owner::Mixed { of: HUMAN, over: Some(AGENT), .. });
    assert!(!file.is_cut_off && file.spans.iter().all(|span| is_mixed(span.owner)));
}

#[test]
fn a_line_of_a_megabyte_and_a_hundred_thousand_lines() {
    let long = |end: &str| format!("{}{end}\n", "x=1;".repeat(1 << 18));
    let file =
        History::new(&[("f", &long(""))]).step(AGENT, &[("f", Some(&long("y")))]).commit(HUMAN, None).files.remove(0);
    assert_eq!((letters(&file, "1\n"), file.is_cut_off), ("a".to_owned(), true));
    let many = |extra: &str| (0..100_000).fold(String::new(), |text, n| text + &format!("line {n}\n")) + extra;
    let file = History::new(&[("f", &many(""))])
        .step(AGENT, &[("f", Some(&many("more\n").replace("line 5\n", "five\n")))])
        .step(HUMAN, &[("f", Some(&many("more\n").replace("line 5\n", "five\n").replace('\n', "\r\n")))])
        .commit(HUMAN, None)
        .files
        .remove(0);
    assert_eq!((file.added(), file.deleted(), file.is_cut_off), (100_001, 100_000, false));
    assert_eq!(
        (file.owner(5), file.owner(6), file.owner(100_001)),
        (Owner::Base, Owner::Author(AGENT), Owner::Author(AGENT))
    );
}
