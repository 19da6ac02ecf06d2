//! What is saved before a commit in mid-turn: what is staged, and the rest later, as the same session's.

use super::desk::{Desk, changed, parts};

impl Desk {
    /// Returns how many lines that the last commit has added are of agents, how many of others, and how many are older.
    fn added(&self) -> [u64; 3] {
        let summary = self.json(&["attribution", "HEAD"])["summary"].clone();
        let number = |keys: &[&str]| keys.iter().map(|key| summary[*key].as_u64().expect("a number")).sum();
        let others = ["human_added", "human_modified", "mixed", "unknown"];
        [number(&["agent_lines"]), number(&others), number(&["kept_added"])]
    }
}

/// Each commits some or all of `f`.
#[rstest::rstest]
#[case::staged("git add f; git commit -qm part", false)]
#[case::named("git commit -qm part f", false)]
#[case::beside_what_is_staged("echo of a >>h; git add h; git commit -qm part --only f", false)]
#[case::all("git commit -qam part", false)]
#[case::in_parts("printf 'y\\nn\\n' | git commit -qp -m part >/dev/null", true)]
#[case::staged_in_parts("printf 'y\\nn\\n' | git add -p >/dev/null; git commit -qm part", true)]
fn a_commit_saves_only_what_it_takes(#[case] commit: &str, #[case] leaves_some: bool) {
    let desk = Desk::new();
    desk.prompt("a");
    desk.write("f", changed(&[(3, "a"), (17, "a")]));
    desk.write("new", "of a\n");
    desk.sh(commit);
    assert_eq!((desk.recorded("HEAD"), desk.trailers("HEAD").len()), (parts(&[("f", "a")]), 1));
    // Of the file that it took, what it has left is carried on.
    assert_eq!((desk.chain(), desk.saved("new")), (if leaves_some { vec!["a*".into()] } else { vec![] }, None));
    desk.stop("a");
    assert_eq!(desk.saved("new").as_deref(), Some("of a\n"));
    desk.commit_all();
    assert_eq!(desk.added()[1..], [0, 0]);
    assert!(desk.recorded("HEAD").iter().all(|(_, session)| session == "a"), "{:?}", desk.recorded("HEAD"));
    desk.finish();
}

/// What a person had changed before the turn is nothing that it has done, whether a commit takes it or leaves it.
#[rstest::rstest]
#[case::takes_it(&["mine", "f"])]
#[case::leaves_it(&["f"])]
#[case::takes_nothing_else(&["mine"])]
fn changes_before_the_turn_stay_a_persons(#[case] paths: &[&str]) {
    let desk = Desk::new();
    desk.write("mine", "mine\n");
    desk.prompt("a");
    desk.write("f", changed(&[(3, "a")]));
    desk.git(&[&["add"], paths].concat());
    desk.commit();
    desk.stop("a");
    desk.write("later", "mine\n");
    desk.commit_all();
    let mut taken = [desk.recorded("HEAD^"), desk.recorded("HEAD")].concat();
    taken.retain(|(_, session)| !session.is_empty());
    assert_eq!(taken, parts(&[("f", "a")]));
    desk.finish();
}

/// A file that the commit takes may have another name that is not staged: then the whole worktree is looked at.
#[rstest::rstest]
#[case::new_name("true", "mv f moved; git add moved", [0, 0, 20], [1, 0, 0])]
#[case::old_name("true", "mv f moved; git rm -q --cached f", [0, 0, 0], [1, 0, 20])]
#[case::both("true", "git mv f moved", [0, 0, 0], [1, 0, 0])]
#[case::staged_before_it_was_moved("chmod +x f; git add f", "mv f moved", [0, 0, 0], [1, 0, 0])]
fn lines_that_a_turn_only_moves_are_not_its_own(
    #[case] before: &str,
    #[case] then: &str,
    #[case] taken: [u64; 3],
    #[case] left: [u64; 3],
) {
    let desk = Desk::new();
    desk.prompt("a");
    desk.sh(before);
    desk.json(&["save", "--session", "a"]);
    desk.write("new", "of a\n");
    desk.sh(then);
    desk.commit();
    let added = desk.added();
    desk.stop("a");
    desk.commit_all();
    assert_eq!((added, desk.added()), (taken, left));
    desk.finish();
}
