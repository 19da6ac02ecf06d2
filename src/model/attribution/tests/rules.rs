//! The rules where a plain diff is wrong, one table each.

use rstest::rstest;

use super::support::{AGENT, HUMAN, History, OTHER, letters, replayed};
use crate::model::attribution::{AuthorId, FileOwnership, Owner, Span};

type Steps<'s> = &'s [(AuthorId, &'s str)];

#[rstest]
#[case::nothing_changed("a\nb\n", &[(AGENT, "a\nb\n")], "..")]
#[case::inserted("a\nb\n", &[(AGENT, "a\nx\nb\n")], ".a.")]
#[case::new_file("", &[(AGENT, "x\ny\n")], "aa")]
#[case::unchanged_lines_keep("a\n", &[(AGENT, "a\nx1\n"), (HUMAN, "a\nx1\ny2\n"), (OTHER, "z3\na\nx1\ny2\n")], "o.ah")]
#[case::human_next_to_agent("", &[(AGENT, "x1\nx2\n"), (HUMAN, "x1\nmine\nx2\nmine too\n")], "ahah")]
#[case::replaced_is_the_replacers("old\n", &[(AGENT, "first\n"), (HUMAN, "second\n")], "h")]
fn plain(#[case] base: &str, #[case] steps: Steps<'_>, #[case] expected: &str) {
    assert_eq!(replayed(base, steps).0, expected);
}

#[rstest]
#[case::indented("", &[(AGENT, "if a {\nrun(a);\n}\n"), (HUMAN, "if a {\n    run(a);\n}\n")], "aaa")]
#[case::blanks_within("", &[(AGENT, "x=1\n"), (HUMAN, "x = 1\n")], "a")]
#[case::agent_formats_human("", &[(HUMAN, "x=1\ny=2\n"), (AGENT, "x = 1\ny = 2\n")], "hh")]
#[case::base_formatted("x=1\n", &[(AGENT, "x = 1\n")], "b")]
#[case::wrapped("", &[(AGENT, "call(alpha, beta, gamma);\n"), (HUMAN, "call(\n    alpha,\n    beta,\n    gamma,\n);\n")], "aaaaa")]
#[case::joined("", &[(AGENT, "call(\n    alpha,\n    beta\n);\n"), (HUMAN, "call(alpha, beta);\n")], "a")]
#[case::prose_wrapped("", &[(AGENT, "one two three four\nfive six\n"), (HUMAN, "one two three\nfour five six\n")], "aa")]
#[case::formatted_and_added("", &[(AGENT, "a(1);\nb(2);\n"), (HUMAN, "  a(1);\n  new_one();\n  b(2);\n")], "aha")]
#[case::wrapped_and_edited("", &[(AGENT, "call(alpha, beta, gamma);\n"), (HUMAN, "call(\n    alpha,\n    delta,\n    gamma\n);\n")], "aahaa")]
#[case::trailing_blanks("", &[(AGENT, "x1  \ny2\n"), (HUMAN, "x1\ny2\n")], "aa")]
#[case::brackets_of_another_depth("", &[(AGENT, "f {\n  g {\n    h1\n  }\n  i {\n    j1\n  }\n}\n"), (HUMAN, "f {\n    g {\n        h1\n    }\n    i {\n        j1\n    }\n}\n")], "aaaaaaaa")]
#[case::words_of_another_depth("", &[(AGENT, "f\n  g\n    h1\n  end\n  i\n    if j\n      k1\n    end\n  end\nend\n"), (HUMAN, "f\n    g\n        h1\n    end\n    i\n        if j\n            k1\n        end\n    end\nend\n")], "aaaaaaaaaa")]
fn formatting_keeps_owners(#[case] base: &str, #[case] steps: Steps<'_>, #[case] expected: &str) {
    assert_eq!(replayed(base, steps).0, expected);
}

#[rstest]
#[case::human_over_agent("", &[(AGENT, "let total = first + second;\n"), (HUMAN, "let total = first + third;\n")], "(ha)")]
#[case::agent_over_human("", &[(HUMAN, "let total = first + second;\n"), (AGENT, "let total = first + third;\n")], "(ah)")]
#[case::agent_over_base("let total = first + second;\n", &[(AGENT, "let total = first + third;\n")], "(ab)")]
#[case::own_line("", &[(AGENT, "let total = first + second;\n"), (HUMAN, "x\nlet total = first + second;\n"), (AGENT, "x\nlet total = first + third;\n")], "ha")]
#[case::unlike_lines("", &[(AGENT, "let total = first + second;\n"), (HUMAN, "for item in list {\n")], "h")]
#[case::the_alike_one_of_two("", &[(AGENT, "alpha(one, two);\nbeta(three);\n"), (HUMAN, "completely { different }\nbeta(three, four);\n")], "h(ha)")]
#[case::braces_are_not_alike("", &[(AGENT, "});\n"), (HUMAN, "}));\n")], "h")]
#[case::words_removed("", &[(AGENT, "alpha beta gamma delta\n"), (HUMAN, "alpha beta gamma\n")], "(ha)")]
#[case::back_by_its_owner("", &[(AGENT, "let total = first;\n"), (HUMAN, "let total = firsts;\n"), (AGENT, "let total = first;\n")], "a")]
#[case::three_hands("", &[(AGENT, "let total = first + second;\n"), (HUMAN, "let total = first + third;\n"), (OTHER, "let sum = first + third;\n")], "(oa)")]
fn edited_lines_are_mixed(#[case] base: &str, #[case] steps: Steps<'_>, #[case] expected: &str) {
    assert_eq!(replayed(base, steps).0, expected);
}

#[rstest]
#[case::down("", &[(AGENT, "fn a() {\nwork(1);\n}\nm1\nm2\nm3\nm4\n"), (HUMAN, "m1\nm2\nm3\nm4\nfn a() {\nwork(1);\n}\n")], "aaaaaaa")]
#[case::and_indented("", &[(AGENT, "one()\ntwo()\nthree()\n"), (HUMAN, "h1\nh2\nh3\nh4\n"), (AGENT, "h1\nh2\nh3\nh4\n  one()\n  two()\n  three()\n")], "hhhhaaa")]
#[case::base_block("one()\ntwo()\nthree()\nm1\nm2\nm3\nm4\n", &[(AGENT, "m1\nm2\nm3\nm4\none()\ntwo()\nthree()\n")], "....bbb")]
#[case::two_lines_are_no_block("m0\none()\ntwo()\nm1\nm2\nm3\nm4\n", &[(AGENT, "m0\nm1\nm2\nm3\nm4\none()\ntwo()\n")], ".....aa")]
#[case::copy_is_new("one()\ntwo()\nthree()\nm1\n", &[(AGENT, "one()\ntwo()\nthree()\nm1\none()\ntwo()\nthree()\n")], "....aaa")]
#[case::braces_are_no_block("}\n}\n}\nm1\nm2\nm3\nm4\n", &[(AGENT, "m1\nm2\nm3\nm4\n}\n}\n}\n")], "....aaa")]
#[case::a_block_that_passes_a_line("", &[(HUMAN, "m0\nlet total = first_of(items) + last;\nm1\nm2\nm3\nm4\n"), (AGENT, "m0\nm1\nm2\nm3\nlet total = first_of(items) + last;\nm4\n")], "hhhhhh")]
#[case::a_line_and_its_neighbours("", &[(HUMAN, "if let Some(first) = items.first() {\n}\nm1\nm2\nm3\n"), (AGENT, "m1\nm2\nm3\n  if let Some(first) = items.first() {\n  }\nx5\n")], "hhhhha")]
#[case::a_line_twice("let total = first_of(items) + last;\nm1\nm2\nm3\nm4\n", &[(AGENT, "m1\nm2\nlet total = first_of(items) + last;\nm3\nm4\nlet total = first_of(items) + last;\n")], "..b..a")]
fn moved_blocks_keep_owners(#[case] base: &str, #[case] steps: Steps<'_>, #[case] expected: &str) {
    assert_eq!(replayed(base, steps).0, expected);
}

#[test]
fn blocks_move_between_files() {
    let ownership = History::new(&[("a", "keep\n"), ("b", "stay\n")])
        .step(AGENT, &[("a", Some("keep\nfn x() {\n  body();\n}\n"))])
        .step(HUMAN, &[("a", Some("keep\n")), ("b", Some("stay\nfn x() {\n  body();\n}\nmore\n"))])
        .commit(HUMAN, None);
    assert_eq!(ownership.files.len(), 1);
    assert_eq!(letters(&ownership.files[0], "stay\n1\n2\n3\n4\n"), ".aaah");
}

#[test]
fn files_are_renamed() {
    let renamed = |history: History, text: &str| {
        let ownership = history.commit(HUMAN, None);
        let file = ownership.files.iter().find(|file| file.path == "b").expect("it is committed");
        letters(file, text)
    };
    let made = || History::new(&[]).step(AGENT, &[("a", Some("x1\nx2\n"))]);
    assert_eq!(renamed(made().rename(HUMAN, "a", "b", "x1\nx2\nmine\n"), "1\n2\n3\n"), "aah");
    let unpaired = made().step(HUMAN, &[("a", None), ("b", Some("x1\nx2\n"))]);
    assert_eq!(renamed(unpaired, "1\n2\n"), "aa");
    let twice = made().rename(HUMAN, "a", "c", "x1\nx2\n").rename(HUMAN, "c", "b", "x1\nx2\n");
    assert_eq!(renamed(twice, "1\n2\n"), "aa");
    let base = History::new(&[("a", "x1\nx2\n")]).rename(AGENT, "a", "b", "x1\nx2\nnew\n");
    assert_eq!(renamed(base, "1\n2\n3\n"), "bba");
    let copied = made().step(HUMAN, &[("b", Some("x1\nx2\n"))]);
    assert_eq!(renamed(copied, "1\n2\n"), "hh");
}

#[rstest]
#[case::brace_of_the_new_function("fn a() {\n  x();\n}\n", &[(AGENT, "fn a() {\n  x();\n}\n\nfn b() {\n  y();\n}\n")], "...aaaa")]
#[case::above("\nfn a() {\n  x();\n}\n", &[(AGENT, "\nfn b() {\n  y();\n}\n\nfn a() {\n  x();\n}\n")], "aaaa....")]
#[case::same_text_two_owners("return nil\n", &[(AGENT, "return nil\nx1\nreturn nil\n"), (HUMAN, "return nil\nx1\nreturn nil\ny2\nreturn nil\n")], ".aahh")]
#[case::only_blank_lines("x1\nx2\n", &[(AGENT, "x1\n\nx2\n"), (HUMAN, "x1\n\n\nx2\n")], ".ah.")]
fn common_lines_go_by_position(#[case] base: &str, #[case] steps: Steps<'_>, #[case] expected: &str) {
    // Equal lines in a row cannot be distinguished.
    let same = |letters: &str| letters.replace(".ha.", ".ah.").replace("aaaa....", ".aaaa...");
    assert_eq!(same(&replayed(base, steps).0), same(expected));
}

#[rstest]
#[case::base_line("x1\nx2\nx3\n", &[(AGENT, "x1\nx3\n"), (HUMAN, "x1\nx2\nx3\ny4\n")], "...h")]
#[case::agents_line("", &[(AGENT, "x1\nx2\nx3\n"), (HUMAN, "x1\nx3\n"), (HUMAN, "x1\nx3\nz\n"), (OTHER, "x1\nx2\nx3\nz\n")], "aaah")]
#[case::in_a_replaced_place("", &[(AGENT, "x1\nx2\nx3\n"), (HUMAN, "x1\nother\nx3\n"), (OTHER, "x1\nx2\nx3\n")], "aaa")]
#[case::taken_back_by_its_author("b1\n", &[(AGENT, "b1\nx1\n"), (AGENT, "b1\n"), (HUMAN, "b1\nx1\n")], ".a")]
#[case::taken_back_with_a_persons("b1\n", &[(HUMAN, "b1\nx1\n"), (AGENT, "b1\nx1\ny2\n"), (AGENT, "b1\n"), (HUMAN, "b1\nx1\ny2\n")], ".ha")]
#[case::deleted_at_different_times("b1\nb2\n", &[(AGENT, "b1\nb2\nx1\n"), (HUMAN, "b1\nb2\n"), (AGENT, ""), (HUMAN, "b1\nb2\nx1\n")], "..a")]
#[case::edited_and_back("let total = first;\nq\n", &[(AGENT, "let total = second;\nq\n"), (HUMAN, "let total = first;\nq\nr\n")], "..h")]
#[case::not_a_lone_brace("", &[(AGENT, "aa {\nbb\n}\n"), (HUMAN, "\n"), (OTHER, "cc {\ndd\n}\n")], "ooo")]
#[case::elsewhere_is_new("", &[(AGENT, "x1\nx2\nx3\nx4\n"), (HUMAN, "x2\nx3\nx4\n"), (OTHER, "x2\nx3\nx4\nx1\n")], "aaao")]
#[case::all_of_a_small_deletion("", &[(AGENT, "x1\nreturn None\nx3\n"), (HUMAN, "x1\nx3\n"), (OTHER, "x1\nreturn None\nx3\n")], "aaa")]
#[case::a_common_line_typed_anew("", &[(AGENT, "fn a\nreturn None\n}\n"), (HUMAN, ""), (HUMAN, "fn mine\nreturn None\n}\n")], "hhh")]
#[case::and_after_a_base_line("b1\n", &[(AGENT, "b1\nfn a\nreturn None\n}\n"), (HUMAN, "b1\n"), (HUMAN, "b1\nfn mine\nreturn None\n}\n")], ".hhh")]
#[case::common_lines_apart("", &[(AGENT, "import os\nx1\nif __name__ == 1:\nmain()\nx2\nx3\nreturn None\nx4\n"), (HUMAN, ""), (HUMAN, "import os\ny1\nif __name__ == 1:\nmain()\ny2\nreturn None\n")], "hhhhhh")]
#[case::a_telling_line("", &[(AGENT, "x1\nlet total = first_of(items) + last;\n}\nx2\nx3\n"), (HUMAN, ""), (OTHER, "y1\nlet total = first_of(items) + last;\n}\n")], "oaa")]
fn restored_lines_go_back(#[case] base: &str, #[case] steps: Steps<'_>, #[case] expected: &str) {
    assert_eq!(replayed(base, steps).0, expected);
}

/// Nested code of an agent with two lines of a person in it, which a person indents by four blanks instead of two.
#[rstest]
#[case::braces("{", "}")]
#[case::words("do", "end")]
fn nested_code_that_is_indented_anew_keeps_owners(#[case] open: &str, #[case] close: &str) {
    let code = |width: usize| {
        let mut lines = Vec::new();
        for block in 0..12 {
            let mut depth = 0;
            let mut line = |depth: usize, text: String| lines.push(format!("{}{text}\n", " ".repeat(width * depth)));
            line(depth, format!("fn f{block}() {open}"));
            for name in ["if", "for", "while"].iter().take(1 + block % 3) {
                depth += 1;
                line(depth, format!("{name} {block} {open}"));
                line(depth + 1, "step();".into());
            }
            while depth > 0 {
                line(depth, close.into());
                depth -= 1;
            }
            line(0, close.into());
        }
        lines
    };
    let (narrow, wide) = (code(2), code(4));
    let both = |lines: &[String], width: usize| {
        let mut lines = lines.to_vec();
        for (at, name) in [(7, "mine"), (23, "too")] {
            lines.insert(at, format!("{}{name}\n", " ".repeat(width)));
        }
        lines.concat()
    };
    let expected: String = (0..narrow.len() + 2).map(|line| if [7, 23].contains(&line) { 'h' } else { 'a' }).collect();
    let steps = [(AGENT, &*narrow.concat()), (HUMAN, &*both(&narrow, 2)), (OTHER, &*both(&wide, 4))];
    assert_eq!(replayed("", &steps).0, expected);
}

#[test]
fn a_renamed_file_that_is_put_back_has_its_owners() {
    let renamed = || {
        let made = History::new(&[("a", "b1\n")]).step(AGENT, &[("a", Some("b1\nx1\n"))]);
        made.rename(HUMAN, "a", "b", "b1\nx1\n")
    };
    let of = |history: History, path: &str, text: &str| {
        let ownership = history.commit(HUMAN, None);
        letters(ownership.files.iter().find(|file| file.path == path).expect("it has changed"), text)
    };
    let copy = renamed().step(OTHER, &[("a", Some("b1\nx1\ny2\n"))]);
    assert_eq!(of(copy, "a", "1\n2\n3\n"), ".ao");
    let back = renamed().step(HUMAN, &[("b", Some("b1\nx1\nmine\n"))]);
    let back = back.step(OTHER, &[("b", None), ("a", Some("b1\nx1\nmine\n"))]);
    assert_eq!(of(back, "a", "1\n2\n3\n"), ".ah");
}

#[test]
fn a_deleted_file_that_is_back_has_its_owners() {
    let ownership = History::new(&[])
        .step(AGENT, &[("a", Some("x1\nx2\n"))])
        .step(HUMAN, &[("a", None)])
        .step(OTHER, &[("a", Some("x1\nx2\ny3\n"))])
        .commit(HUMAN, None);
    assert_eq!(letters(&ownership.files[0], "1\n2\n3\n"), "aao");
}

#[rstest]
#[case::by_two("x1\nx2\nx3\n", &[(AGENT, "x2\nx3\n"), (HUMAN, "x3\n")], &[(HUMAN, 1), (AGENT, 1)], 0)]
#[case::own_lines_are_not_counted("x1\n", &[(AGENT, "x1\ny2\ny3\n"), (HUMAN, "x1\ny2\n")], &[], 0)]
#[case::edited("let total = first;\n", &[(AGENT, "let total = second;\n")], &[(AGENT, 1)], 0)]
#[case::first_editor("let total = first;\n", &[(AGENT, "let total = second;\n"), (HUMAN, "")], &[(AGENT, 1)], 0)]
#[case::formatted("x=1\n", &[(AGENT, "x = 1\n")], &[], 1)]
#[case::restored("x1\nx2\n", &[(AGENT, "x1\n"), (HUMAN, "x1\nx2\ny3\n")], &[], 0)]
#[case::emptied("x1\nx2\n", &[(AGENT, "")], &[(AGENT, 2)], 0)]
fn deletions_are_attributed(
    #[case] base: &str,
    #[case] steps: Steps<'_>,
    #[case] removed: &[(AuthorId, u32)],
    #[case] kept: u32,
) {
    let file = replayed(base, steps).1;
    assert_eq!((file.removed.as_slice(), file.kept), (removed, kept));
}

/// A step of the agent's with lines that are a human's, or another agent's: their owners are the letters, `.` for the agent's.
#[rstest]
#[case::inserted("a1\nb2\n", "a1\nx3\ny4\nb2\n", "..h.", ".ah.", &[])]
#[case::all("", "x1\ny2\n", "oo", "oo", &[])]
#[case::replaces_a_line("a1\nb2\nc3\n", "a1\nx4\nc3\n", ".o.", ".o.", &[(OTHER, 1)])]
#[case::deletes_besides("a1\nb2\nc3\nd4\n", "x5\na1\nc3\nd4\n", "h...", "h...", &[(HUMAN, 1)])]
#[case::agent_deletes_besides("a1\nb2\nc3\nd4\n", "x5\na1\nc3\nd4\ny6\n", "h....", "h...a", &[(AGENT, 1)])]
#[case::kept_lines_keep_their_owner("a1\nb2\n", "a1\nb2\n", "oo", "..", &[])]
fn lines_from_elsewhere_keep_their_owners(
    #[case] base: &str,
    #[case] text: &str,
    #[case] owners: &str,
    #[case] expected: &str,
    #[case] removed: &[(AuthorId, u32)],
) {
    let spans = (1..).zip(owners.chars()).filter_map(|(line, letter)| {
        let id = "ho".find(letter).map(|at| [HUMAN, OTHER][at])?;
        Some(Span { start: line, end: line, owner: Owner::Author(id) })
    });
    let moved = FileOwnership { path: "f".into(), spans: spans.collect(), ..FileOwnership::default() };
    // What comes before and after it is no part of the step.
    let history = History::new(&[("f", base)]).step(AGENT, &[("g", Some("1\n"))]).bring(AGENT, "f", text, moved);
    let ownership = history.step(AGENT, &[("g", Some("1\n2\n"))]).commit(HUMAN, None);
    let file = ownership.files.iter().find(|file| file.path == "f").cloned().unwrap_or_default();
    assert_eq!((letters(&file, text).as_str(), file.removed.as_slice()), (expected, removed));
}

/// A line that an earlier step deleted is its owner's when it comes back, whatever git says.
#[test]
fn a_line_that_the_steps_know_is_not_from_elsewhere() {
    let owner = Owner::Author(OTHER);
    let moved =
        FileOwnership { path: "f".into(), spans: vec![Span { start: 1, end: 2, owner }], ..FileOwnership::default() };
    let history = History::new(&[("f", "")]).step(HUMAN, &[("f", Some("one line\n"))]).step(AGENT, &[("f", Some(""))]);
    let ownership = history.bring(AGENT, "f", "one line\nanother\n", moved).commit(HUMAN, None);
    assert_eq!(letters(&ownership.files[0], "one line\nanother\n"), "ho");
}
