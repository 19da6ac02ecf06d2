//! Large inputs: what is compared grows with what changed, not faster.

use std::cell::Cell;

use super::support::{AGENT, HUMAN, bytes, counted, edits};
use crate::model::{
    attribution::{AuthorId, Change, Committed, Differ, Owner, Replay, Span},
    line_diff::Edit,
};

thread_local! {
    static COMPARED: Cell<usize> = const { Cell::new(0) };
}

/// Counts the bytes that the algorithm is given.
fn counting(old: &[u8], new: &[u8]) -> Vec<Edit> {
    COMPARED.set(COMPARED.get() + old.len() + new.len());
    edits(old, new)
}

/// Returns how many bytes were compared in the steps of a history that begins with the first version.
fn compared(versions: &[(AuthorId, String)]) -> usize {
    COMPARED.set(0);
    let mut replay = Replay::new(Differ::new(&counting, &counted));
    for pair in versions.windows(2) {
        let (author, after) = &pair[1];
        let change =
            Change { path: "f".into(), from: None, before: bytes(&pair[0].1), after: bytes(after), moved: None };
        replay.step(*author, vec![change]);
    }
    let (first, last) = (&versions[0].1, &versions[versions.len() - 1].1);
    let (before, after) = (bytes(first), bytes(last));
    drop(replay.finish(&[Committed { path: "f".into(), from: None, before, after, edits: None, author: HUMAN }]));
    COMPARED.get()
}

fn all_new(lines: usize) -> Vec<String> {
    let version = |word: &str| (0..lines).fold(String::new(), |text, line| text + &format!("{word} {line};\n"));
    ["base", "first", "second", "third"].map(version).into()
}

fn alike(lines: usize) -> Vec<String> {
    let kinds = ["}\n", "\n", "return nil;\n", "x = 1\n", "if a {\n"];
    let version = |step: usize| (0..lines).map(|line| kinds[(line * line + step * line / 7) % 5]).collect();
    (0..4).map(version).collect()
}

fn formatted_and_moved(lines: usize) -> Vec<String> {
    let list = |indent: &str| -> Vec<String> { (0..lines).map(|line| format!("{indent}call {line}\n")).collect() };
    let mut moved = list("  ");
    moved.rotate_left(lines / 3);
    vec![String::new(), list("").concat(), list("  ").concat(), moved.concat()]
}

fn deleted_and_back(lines: usize) -> Vec<String> {
    let version =
        |kept: usize| (0..lines).filter(|line| line % kept == 0).map(|line| format!("line {line}\n")).collect();
    vec![version(1), version(2), version(1), version(3)]
}

fn a_long_line(length: usize) -> Vec<String> {
    let version = |end: usize| format!("{}{end}\n", "x=1;".repeat(length));
    (0..4).map(version).collect()
}

#[rstest::rstest]
#[case::all_new(all_new)]
#[case::alike(alike)]
#[case::formatted_and_moved(formatted_and_moved)]
#[case::deleted_and_back(deleted_and_back)]
#[case::a_long_line(a_long_line)]
fn twice_the_lines_are_twice_the_work(#[case] make: fn(usize) -> Vec<String>) {
    let cost = |lines: usize| {
        let versions: Vec<_> = [HUMAN, AGENT].into_iter().cycle().zip(make(lines)).collect();
        let size: usize = versions.iter().map(|(_, text)| text.len()).sum();
        (compared(&versions), size)
    };
    let ((once, _), (twice, size)) = (cost(10_000), cost(20_000));
    assert!(twice <= once * 5 / 2, "{once} bytes compared of so many lines, {twice} of twice as many");
    assert!(twice <= size * 8, "{twice} bytes compared of {size}");
}

/// Three of every four lines of a file go to another one, by two steps, in either order: each row was moved.
#[rstest::rstest]
#[case::cut_first([0, 1])]
#[case::copied_first([1, 0])]
fn many_rows_are_moved(#[case] order: [usize; 2]) {
    let lines = 16_000;
    let line = |line: usize| format!("this is line {line} of it\n");
    let whole: String = (0..lines).map(line).collect();
    let rest: String = (0..lines).filter(|at| at % 4 == 3).map(line).collect();
    // The rows are apart in the other file, too.
    let other: String = (0..lines).map(|at| if at % 4 == 3 { format!("mine {at}\n") } else { line(at) }).collect();
    let change = |path: &str, before: Option<&str>, after: &str| Change {
        path: path.into(),
        from: None,
        before: before.and_then(bytes),
        after: bytes(after),
        moved: None,
    };
    let mine: String = (0..lines).filter(|at| at % 4 == 3).map(|at| format!("mine {at}\n")).collect();
    let steps = [change("f", Some(&whole), &rest), change("g", Some(&mine), &other)];
    let mut replay = Replay::new(Differ::new(&edits, &counted));
    for (author, step) in [AGENT, HUMAN].into_iter().zip(order) {
        replay.step(author, vec![steps[step].clone()]);
    }
    let (before, after) = (bytes(&mine), bytes(&other));
    let committed = Committed { path: "g".into(), from: None, before, after, edits: None, author: HUMAN };
    let found = replay.finish(&[committed]);
    let moved = found.files[0].spans.iter().filter(|span| span.owner == Owner::Base).map(Span::count).sum::<u32>();
    assert_eq!(moved, 12_000);
}

#[test]
fn a_long_chain_compares_what_changed() {
    let (lines, steps) = (5_000, 300);
    let mut list: Vec<String> = (0..lines).map(|line| format!("line {line} of it\n")).collect();
    let mut versions = vec![(HUMAN, list.concat())];
    for step in 0..steps {
        list[step * 7919 % lines] = format!("step {step} wrote this\n");
        versions.push((if step % 2 == 0 { AGENT } else { HUMAN }, list.concat()));
    }
    let most = steps * 400 * 24;
    assert!(compared(&versions) <= most, "{} bytes compared, {most} are what is near a change", COMPARED.get());
}
