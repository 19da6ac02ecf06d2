//! A file is moved, copied or put away, and another one has its name: each line keeps its author.

use super::desk::{Desk, words};
use crate::support::World;

impl Desk {
    /// Returns the author of each line of `path`, according to `blame`: the session of an agent, else who else it is.
    fn authors(&self, path: &str) -> Vec<String> {
        let lines = self.json(&["blame", "--", path])["lines"].clone();
        let authors = lines.as_array().expect("a list").iter().flat_map(|span| {
            let number = |key: &str| usize::try_from(span[key].as_u64().expect("a number")).expect("few lines");
            let author = span["session"].as_str().or(span["owner"].as_str()).expect("a word").to_owned();
            std::iter::repeat_n(author, number("end") + 1 - number("start"))
        });
        authors.collect()
    }

    /// Writes `content` to `path` as `author`: a session, or a person, who saves it.
    fn write_as(&self, author: &str, path: &str, content: &str) {
        if author == "human" {
            self.write(path, content);
            self.json(&["save"]);
        } else {
            self.turn(author, &[(path, content)]);
        }
    }
}

/// What happens between the moves of a person and the question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Nothing,
    Save,
    /// Only the file under its new name is committed.
    Commit,
    CommitAll,
}

/// Two files share lines. A person gives one of them another name, and its name to the other one.
#[rstest::rstest]
fn files_that_share_lines(
    #[values(("human", "a"), ("a", "human"), ("a", "b"))] (first, second): (&str, &str),
    #[values("m", "t")] new_name: &str,
    #[values(Then::Nothing, Then::Save, Then::Commit, Then::CommitAll)] then: Then,
) {
    let desk = Desk::on(&World::with_lines().with_clock());
    let shared = words("the text that both files have", 1..=5);
    desk.write_as(first, "n", &format!("{shared}{}", words("the first", 1..=3)));
    desk.write_as(second, "p", &format!("{shared}{}", words("the second", 1..=3)));
    desk.sh(&format!("mv n {new_name}; mv p n"));
    match then {
        Then::Nothing => {}
        Then::Save => drop(desk.json(&["save"])),
        Then::Commit => {
            desk.git(&["add", new_name]);
            desk.commit();
        }
        Then::CommitAll => desk.commit_all(),
    }
    assert_eq!(desk.authors(new_name), [first; 8], "the file under its new name");
    assert_eq!(desk.authors("n"), [second; 8], "the file that has its name");
    if then != Then::CommitAll {
        desk.commit_all();
    }
    assert_eq!((desk.authors(new_name), desk.authors("n")), (vec![first.into(); 8], vec![second.into(); 8]));
    desk.finish();
}

/// A person copies a file of an agent, which stays where it is.
#[rstest::rstest]
#[case::made_executable("cp n m; chmod +x n")]
#[case::made_executable_before("chmod +x n; cp n m")]
#[case::both("cp n m; chmod +x n m")]
#[case::edited("cp n m; echo more >>n")]
#[case::both_edited("cp n m; echo more >>n; echo less >>m")]
fn a_copy_of_a_file_that_stays(#[case] copies: &str, #[values(false, true)] is_saved: bool) {
    let desk = Desk::new();
    desk.turn("a", &[("n", &words("a", 1..=5))]);
    desk.sh(copies);
    if is_saved {
        desk.json(&["save"]);
    }
    desk.sh("git add m n");
    desk.commit();
    assert_eq!(desk.authors("n")[..5], ["a"; 5]);
    assert!(desk.authors("m").iter().all(|author| author == "human"), "{:?}", desk.authors("m"));
    desk.finish();
}

/// A line of an agent, long enough to be found again.
const LINE: &str = "the agent wrote this line, which has some words";

/// A person moves a file of an agent's line, and another file has the old name: a shim, or a file that changes its name with it. Then the
/// person takes the line out, and git brings it back.
#[rstest::rstest]
#[case::alone("git mv util lib; git commit -qm move", "")]
#[case::shim_in_the_same_commit("git mv util lib; echo 'use lib' >util; git add -A; git commit -qm move", "")]
#[case::shim_in_a_later_commit(
    "git mv util lib; git commit -qm move; echo 'use lib' >util; git add -A; git commit -qm shim",
    ""
)]
#[case::shim_after_it("git mv util lib; git commit -qm move", "echo 'use lib' >util; git add -A; git commit -qm shim")]
#[case::exchanged("git mv util x; git mv lib util; git mv x lib; git commit -qm exchange", "")]
fn a_revert_where_another_file_has_the_old_name(
    #[case] moves: &str,
    #[case] later: &str,
    #[values(1, 2)] lines: usize,
    #[values(false, true)] has_other_file: bool,
) {
    let desk = Desk::on(&World::with_lines().with_clock());
    let base = |name: &str| (1..=12).map(|line| format!("a line of {name}, number {line}\n")).collect::<String>();
    desk.write("util", base("util"));
    if moves.contains("exchange") {
        desk.write("lib", base("lib"));
    }
    desk.commit_all();
    desk.world.next_second();
    let text = format!("{}{}{}", base("util"), format!("{LINE}\n").repeat(lines), base("more"));
    desk.turn("a", &[("util", text.as_str()), ("other", "of the agent, too\n")][..=usize::from(has_other_file)]);
    desk.commit_all();
    desk.world.next_second();
    desk.sh(moves);
    desk.sh(&format!("sed -i '/{LINE}/d' lib; git commit -qam less"));
    let less = desk.git(&["rev-parse", "HEAD"]);
    desk.sh(later);
    desk.world.next_second();
    desk.git(&["revert", "--no-edit", &less]);
    let authors = desk.authors("lib");
    assert_eq!(authors[12..12 + lines], vec!["a"; lines]);
    assert_eq!(authors[..12], ["human"; 12]);
    desk.finish();
}

/// During a turn, a person moves a short file of the agent over a committed one, and the agent writes the file anew.
#[test]
fn a_file_that_is_moved_over_another_one_before_a_tool_call_names_it() {
    let desk = Desk::on(&World::with_lines().with_clock());
    desk.turn("a", &[("n", &words("a", 1..=2))]);
    let event = |event: &str, rest: &str| {
        let place = desk.folder();
        desk.hear(&format!(r#"{{"session_id":"a","cwd":"{}","hook_event_name":"{event}"{rest}}}"#, place.display()));
    };
    let tool = r#","tool_name":"Write","tool_input":{"file_path":"n"},"tool_response":{},"tool_use_id":"t0""#;
    event("UserPromptSubmit", r#","prompt":"do it""#);
    desk.sh("mv n f");
    event("PreToolUse", tool);
    desk.write("n", "another text of the agent\n");
    event("PostToolUse", tool);
    assert_eq!(desk.authors("f"), ["a"; 2]);
    event("Stop", "");
    assert_eq!((desk.authors("f"), desk.authors("n")), (vec!["a".to_owned(); 2], vec!["a".to_owned()]));
    desk.finish();
}

/// Git compares no more than a thousand files with each other, but recognizes any number by their content.
#[test]
fn a_directory_of_more_files_than_git_compares() {
    let desk = Desk::new();
    let files: Vec<(String, String)> =
        (1..=1_100).map(|number| (format!("d/{number}"), words(&format!("of {number}"), 1..=2))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    desk.turn("a", &files);
    desk.sh("mv d e");
    desk.json(&["save"]);
    desk.commit_all();
    assert_eq!((desk.authors("e/1"), desk.authors("e/1100")), (vec!["a".into(); 2], vec!["a".into(); 2]));
    desk.finish();
}
