//! Lines that the resolution of a merge moves, and those of several steps that one commit has.

use super::{
    desk::{Desk, words},
    moved_on::{LICENCE, desk},
};

/// Who has written the lines on the branch, and who resolves the merge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Person,
    Agent,
}

/// A merge that is not committed yet: the branch has six lines at the end of `f`; `HEAD` is at main.
fn merging(writer: Who, on_main: &str) -> Desk {
    let desk = desk();
    desk.sh(&format!(
        "git mv g m; printf '%s' '{}' >>f; git commit -qam m; git checkout -qb side",
        words("old", 1..=6)
    ));
    let text = format!("{}{}", desk.read("f"), words("agent", 1..=6));
    match writer {
        Who::Agent => desk.turn_with_tool("s", "f", &text),
        Who::Person => desk.write("f", text),
    }
    desk.commit_all();
    desk.sh(&format!(
        "git checkout -q main; {on_main}; git commit -qam on-main; git merge -q --no-commit side || true"
    ));
    desk
}

const CONFLICT: &str = "grep old f >>m; sed -i /old/d f";
const RESOLVE: &str = "grep agent f >>m; sed -i '/^<<<\\|^===\\|^>>>\\|old\\|agent/d' f";

#[rstest::rstest]
#[case::to_another_file("echo z >z; git add z", "grep agent f >>m; sed -i /agent/d f", "m")]
#[case::within_the_file("echo z >z; git add z", "{ grep agent f; grep -v agent f; } >k; mv k f", "f")]
#[case::in_a_conflict(CONFLICT, RESOLVE, "m")]
fn lines_that_the_resolution_moves(
    #[case] on_main: &str,
    #[case] script: &str,
    #[case] path: &str,
    #[values(Who::Person, Who::Agent)] writer: Who,
    #[values(Who::Person, Who::Agent)] mover: Who,
) {
    let desk = merging(writer, on_main);
    match mover {
        Who::Person => desk.sh(script),
        Who::Agent => desk.turn_with_calls("t", &[(path, &|| desk.sh(script)), ("f", &|| {})]),
    }
    let expected = if writer == Who::Agent { "s" } else { "human" };
    desk.sh("git add -A");
    assert_eq!(desk.owners_in(path), [expected; 6]);
    desk.sh("git commit -q --no-edit");
    assert_eq!(desk.owners_in(path), [expected; 6]);
    let found = desk.json(&["attribution", "HEAD"]);
    assert_eq!(found["summary"]["agent_lines"].as_u64(), Some(0), "{found}");
    assert_eq!(found["summary"]["human_added"].as_u64(), Some(0), "{found}");
}

/// A copy belongs to who makes it, and new lines to who writes them.
#[rstest::rstest]
#[case::a_copy("grep agent f >>m", 6)]
#[case::new_lines("seq -f 'line %g of a person, not of an agent' 4 >>m", 4)]
fn what_the_resolution_adds(#[case] script: &str, #[case] count: usize) {
    let desk = merging(Who::Agent, "echo z >z; git add z");
    desk.sh(&format!("{script}; git add -A"));
    assert_eq!(desk.owners_in("m"), vec!["human"; count]);
    desk.sh("git commit -q --no-edit");
    assert_eq!(desk.owners_in("m"), vec!["human"; count]);
    assert_eq!(desk.owners_in("f"), ["s"; 6]);
}

/// A person's file begins with the licence of an agent's file, of which another agent changes a line, or all: nothing was moved.
#[rstest::rstest]
#[case::edited("sed -i 1s/copyright/COPYRIGHT/ s", "git checkout -q main; git merge -q --squash x; git commit -qm sq")]
#[case::cut("sed -i 1,3d s; echo more of it >>s", "git checkout -q main; git merge -q --squash x; git commit -qm sq")]
#[case::amended("sed -i 1s/copyright/COPYRIGHT/ s", "git reset -q --soft HEAD~1; git commit -q --amend --no-edit")]
#[case::committed_again("sed -i 1s/copyright/COPYRIGHT/ s", "git reset -q --soft HEAD~2; git commit -qm both")]
fn a_licence_is_not_moved(#[case] edit: &str, #[case] commit: &str) {
    let desk = desk();
    desk.turn_with_tool("s", "s", &format!("{LICENCE}{}", words("some agent", 1..=10)));
    desk.commit_all();
    desk.sh("git checkout -qb x");
    desk.write("own", format!("{LICENCE}{}", words("the person", 1..=10)));
    desk.commit_all();
    desk.turn_with_calls("t", &[("s", &|| desk.sh(edit))]);
    desk.commit_all();
    assert_eq!(desk.owners_in("own"), ["human"; 3]);
    desk.sh(commit);
    assert_eq!(desk.owners_in("own"), ["human"; 3]);
}

/// The record of the commit calls lines moved, and an earlier record is linked to the commit, too.
#[rstest::rstest]
#[case::before_it("git reset -q --soft HEAD~1", "git commit -qam again")]
#[case::before_the_move("", "git commit -qam more; git reset -q --soft HEAD~2; git commit -qm both")]
fn moved_lines_beside_an_earlier_record(#[case] before: &str, #[case] commit: &str) {
    let desk = desk();
    desk.sh("git mv g m; git commit -qm m");
    desk.write_and_commit();
    let write = || desk.sh("seq -f 'more of u, number %g' 3 >>m; grep agent f >>m");
    desk.turn_with_calls("u", &[("m", &write), ("f", &|| desk.sh("sed -i /agent/d f"))]);
    desk.commit_all();
    assert_eq!(desk.owners_in("m"), ["s"; 6]);
    desk.sh(before);
    desk.turn_with_tool("v", "h", "h\nwords of v\n");
    desk.sh(commit);
    assert_eq!(desk.owners_in("m"), ["s"; 6]);
}

/// One or two lines are moved, all that their row has: a record need not be of the step that moves them.
#[rstest::rstest]
#[case::amended("", "git commit -qa --amend --no-edit")]
#[case::committed_again("git reset -q --soft HEAD~1", "git commit -qam again")]
#[case::squashed("", "git commit -qam 3; git reset -q --soft HEAD~2; git commit -qm both")]
fn few_lines_of_an_older_commit(
    #[case] before: &str,
    #[case] commit: &str,
    #[values(1, 2)] count: u32,
    #[values("", "sed -i '1i a line of a person' g")] beside: &str,
) {
    let desk = desk();
    desk.turn_with_tool("s", "f", &format!("{}{}", desk.read("f"), words("some agent of the session s", 1..=count)));
    desk.commit_all();
    desk.turn_with_tool("t", "h", "h\nmore words of t\nand yet more\n");
    desk.commit_all();
    desk.sh(before);
    desk.sh("grep agent f >>g; sed -i /agent/d f");
    desk.sh(beside);
    desk.sh(commit);
    assert_eq!(desk.owners_in("g"), vec!["s"; count as usize]);
}
