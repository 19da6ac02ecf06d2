//! Moves that no checkpoint has seen: of work that was away, and those that were put back before the commit.

use super::{
    desk::{Desk, words},
    moved,
    moved_on::{MOVE, desk},
};

/// A repository with the files `f`, `g` and `m`, where the session `s` has added six lines to `f`; its turn has ended.
fn with_work() -> Desk {
    let desk = desk();
    desk.sh("git mv g m; git commit -qm m");
    desk.turn_with_tool("s", "f", &format!("{}{}", desk.read("f"), words("agent", 1..=6)));
    desk
}

#[rstest::rstest]
#[case::stashed("git stash -q; git checkpoint save -q", "git stash pop -q", "")]
#[case::stashed_while_a_commit_is_made("git stash -q; echo z >z; git add z; git commit -qm z", "git stash pop -q", "")]
#[case::and_saved_after_the_move(
    "git stash -q; echo z >z; git add z; git commit -qm z",
    "git stash pop -q",
    "git checkpoint save -q"
)]
#[case::saved_twice("git stash -q; git checkpoint save -q", "git stash pop -q", "git checkpoint save -q")]
#[case::without_hooks(
    "git stash -q; echo z >z; git add z; git -c core.hooksPath=/dev/null commit -qm z",
    "git stash pop -q",
    ""
)]
fn work_that_was_away_is_moved(#[case] away: &str, #[case] back: &str, #[case] after: &str) {
    let desk = with_work();
    desk.sh(&format!("{away}; {back}; {MOVE}; {after}"));
    assert_eq!(desk.owners_in("m"), ["s"; 6]);
    desk.sh("git commit -qam all");
    assert_eq!(desk.owners_in("m"), ["s"; 6]);
    assert_eq!(desk.git(&["log", "-1", "--format=%B"]).matches("Checkpoint").count(), 1);
}

/// The lines are committed: a person's copy of them is the person's.
#[test]
fn a_copy_of_work_that_was_away_and_is_moved() {
    let desk = with_work();
    desk.sh(&format!(
        "git stash -q; echo z >z; git add z; git commit -qm z; git stash pop -q; {MOVE}; git commit -qam all"
    ));
    desk.sh("tail -6 m >>h; git add h");
    assert_eq!(desk.owners_in("h"), ["human"; 6]);
    desk.sh("git commit -qm copy");
    assert_eq!(desk.owners_in("h"), ["human"; 6]);
}

#[test]
fn work_that_an_autostash_brings_back_is_moved() {
    let desk = with_work();
    desk.sh(
        "git branch old; git stash -q; git checkout -qb up; echo z >z; git add z; git commit -qm z; git checkout -q main; \
         git stash pop -q; git rebase -q --autostash up",
    );
    desk.sh(MOVE);
    assert_eq!(desk.owners_in("m"), ["s"; 6]);
    desk.sh("git commit -qam all");
    assert_eq!(desk.owners_in("m"), ["s"; 6]);
}

/// The work is not where it was, but nothing was moved.
#[rstest::rstest]
#[case::a_copy("git stash -q; git checkpoint save -q; git stash pop -q; tail -6 f >>m; git add m")]
#[case::still_in_the_stash("tail -6 f >../six; git stash -q; cat ../six >>m; git add m")]
#[case::dismissed_for_a_file_that_begins_alike(
    "head -23 f | tail -3 >../three; git stash -q; git checkpoint save -q; git stash drop -q; \
     { cat ../three; seq -f 'a line %g of a person' 9; } >>m; git add m"
)]
fn work_that_was_away_is_not_moved(#[case] script: &str) {
    let desk = with_work();
    desk.sh(script);
    let owners = desk.owners_in("m");
    assert!(!owners.is_empty() && owners.iter().all(|owner| owner == "human"), "{owners:?}");
    desk.sh("git commit -qm m");
    let owners = desk.owners_in("m");
    assert!(!owners.is_empty() && owners.iter().all(|owner| owner == "human"), "{owners:?}");
    assert_eq!(desk.git(&["log", "-1", "--format=%B"]).matches("Checkpoint").count(), 0);
}

/// Another agent has written the lines, which the first one had, too, before its work was dismissed.
#[test]
fn what_another_agent_has_written_again_is_not_moved() {
    let desk = with_work();
    desk.sh("git stash -q; git checkpoint save -q; git stash drop -q");
    desk.turn_with_tool("t", "m", &format!("{}{}", desk.read("m"), words("agent", 1..=6)));
    assert_eq!(desk.owners_in("m"), ["t"; 6]);
    desk.commit_all();
    assert_eq!(desk.owners_in("m"), ["t"; 6]);
}

/// An agent moves a person's lines, and the person puts them back in the first file: the agent's are a copy, before and after the commit.
#[rstest::rstest]
#[case::all("git commit -qam all")]
#[case::only_the_other_file("git commit -qm m m")]
fn a_move_is_put_back(#[case] commit: &str) {
    let desk = desk();
    desk.sh(&format!("git mv g m; printf '%s' '{}' >>f; git commit -qam m", words("no agent", 1..=6)));
    desk.turn_with_calls("s", &[("m", &|| desk.sh("tail -6 f >>m")), ("f", &|| desk.sh("sed -i '21,$d' f"))]);
    desk.sh("git checkout -q f");
    assert_eq!(desk.owners_in("m"), ["s"; 6]);
    desk.sh(commit);
    assert_eq!(desk.owners_in("m"), ["s"; 6]);
    assert_eq!(desk.owners_in("f"), ["human"; 6]);
}

/// The record has the prompt of the turn in which the lines were written, in another file.
#[rstest::rstest]
fn the_prompt_of_moved_lines_is_known(#[values(false, true)] is_moved_by_another: bool) {
    let desk = with_work();
    let mover = if is_moved_by_another { "t" } else { "s" };
    desk.turn_with_calls(mover, &[("m", &|| desk.sh("tail -6 f >>m")), ("f", &|| desk.sh("sed -i '21,$d' f"))]);
    let turn = |found: &serde_json::Value| (found["turn"].clone(), found["prompt"].clone());
    let why = || turn(&desk.json(&["why", "m:4"]));
    let before = why();
    assert!(before.1["text"].is_string(), "{before:?}");
    desk.commit_all();
    assert_eq!(why(), before);
}

/// One command moves a person's uncommitted lines to another file and commits that, before the turn has any checkpoint.
#[rstest::rstest]
#[case::a_persons(None, "human")]
#[case::another_agents(Some("s"), "s")]
fn one_command_moves_uncommitted_lines_and_commits(#[case] writer: Option<&str>, #[case] expected: &str) {
    let desk = desk();
    desk.sh("git mv g m; git commit -qm m");
    let text = format!("{}{}", desk.read("f"), words("agent", 1..=6));
    match writer {
        Some(session) => desk.turn_with_tool(session, "f", &text),
        None => desk.write("f", text),
    }
    moved::command(&desk, "t", &format!("{MOVE}; git commit -qam one"));
    assert_eq!(desk.owners_in("m"), [expected; 6]);
}

/// Of two moves in a row, the second one takes a part; the first file is committed alone. The two lines that are left are known to be moved,
/// though no file has them any more.
#[test]
fn two_lines_are_left_of_two_moves() {
    let desk = desk();
    desk.sh(&format!("git mv g m; printf '%s' '{}' >>f; git commit -qam m", words("person with no agent", 1..=6)));
    desk.turn_with_calls("s", &[("c", &|| desk.sh("tail -6 f >c")), ("f", &|| desk.sh("sed -i '21,$d' f"))]);
    desk.turn_with_calls("s", &[("m", &|| desk.sh("head -4 c >>m")), ("c", &|| desk.sh("sed -i 1,4d c"))]);
    desk.sh("git commit -qm f f");
    assert_eq!(desk.owners_in("c"), ["human"; 2]);
    desk.sh("git add -A; git commit -qm rest");
    assert_eq!(desk.owners_in("c"), ["human"; 2]);
    assert_eq!(desk.owners_in("m"), ["human"; 4]);
}
