//! Work that is stashed while a turn is open, by the agent itself or by another one.

use super::desk::Desk;

/// The tool call `call` of `session`, a shell, runs git.
fn git(desk: &Desk, session: &str, call: &str, arguments: &[&str]) {
    desk.before(session, call, &[]);
    desk.world.git(arguments);
    desk.after(session, call, &[]);
}

/// Session `s` adds a line to `f`, and its turn stays open.
fn at_work() -> Desk {
    let desk = Desk::new();
    desk.prompt("s");
    desk.edit("s", "1", "f", "of s");
    desk
}

#[rstest::rstest]
#[case::by_itself("s")]
#[case::by_another("t")]
fn a_stash_that_a_person_pops_after_a_commit(#[case] who: &str) {
    let desk = at_work();
    if who == "t" {
        desk.prompt("t");
    }
    git(&desk, who, "2", &["stash", "-q"]);
    desk.edit("s", "3", "g", "of s");
    desk.stop("s");
    desk.commit();
    assert_eq!(desk.owners(), ["g agent 1"]);
    desk.world.git(&["stash", "pop", "-q"]);
    desk.commit();
    assert_eq!(desk.owners(), ["f agent 1"]);
    desk.finish();
}

#[test]
fn a_stash_that_the_agent_pops_in_its_next_turn() {
    let desk = at_work();
    git(&desk, "s", "2", &["stash", "-q", "-u"]);
    desk.edit("s", "3", "g", "of s");
    desk.stop("s");
    desk.commit();
    desk.prompt("s");
    git(&desk, "s", "4", &["stash", "pop", "-q"]);
    desk.stop("s");
    desk.commit();
    assert_eq!(desk.owners(), ["f agent 1"]);
    desk.finish();
}
