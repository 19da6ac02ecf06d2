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

/// A person's change, which no checkpoint has seen, is popped by an agent, which then adds a line of its own.
#[rstest::rstest]
#[case::of_a_file(&["stash", "-q"], &["stash", "pop", "-q"])]
#[case::with_a_new_file(&["stash", "-q", "-u"], &["stash", "pop", "-q"])]
#[case::and_keeps_it(&["stash", "-q", "-u"], &["stash", "apply", "-q"])]
fn what_an_agent_pops_stays_a_persons(#[case] push: &[&str], #[case] pop: &[&str]) {
    let desk = Desk::new();
    desk.add("f", "of a person");
    desk.add("new", "of a person, too");
    desk.world.git(push);
    desk.prompt("s");
    git(&desk, "s", "1", pop);
    desk.shell("s", "2", "g", "of s");
    desk.stop("s");
    desk.commit();
    assert_eq!(desk.owners(), ["f human 1", "g agent 1", "new human 1"]);
    desk.finish();
}

#[test]
fn what_an_agent_pops_stays_another_sessions() {
    let desk = Desk::new();
    desk.prompt("t");
    desk.edit("t", "1", "f", "of t");
    desk.edit("t", "2", "new", "of t, too");
    desk.stop("t");
    desk.world.git(&["stash", "-q", "-u"]);
    desk.prompt("s");
    git(&desk, "s", "3", &["stash", "pop", "-q"]);
    desk.shell("s", "4", "g", "of s");
    desk.stop("s");
    desk.commit();
    assert_eq!(desk.owners(), ["f agent 1", "g agent 1", "new agent 1"]);
    let sessions = |path: &str| {
        let lines = desk.world.json(&["blame", "--json", path])["lines"].clone();
        lines
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|line| line["session"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    assert_eq!((sessions("f"), sessions("new"), sessions("g")), (vec!["t".into()], vec!["t".into()], vec!["s".into()]));
    desk.finish();
}

#[test]
fn what_an_agent_stashes_and_pops_in_one_turn_stays_its_own() {
    let desk = at_work();
    desk.edit("s", "2", "new", "of s, too");
    git(&desk, "s", "3", &["stash", "-q", "-u"]);
    git(&desk, "s", "4", &["stash", "pop", "-q"]);
    desk.stop("s");
    desk.commit();
    assert_eq!(desk.owners(), ["f agent 1", "new agent 1"]);
    desk.finish();
}
