//! Whose change it is does not depend on whether sessions share a shadow.

use super::desk::Desk;

/// Two agents and a human take turns at the same files; returns whose lines the commit has, and its sessions.
fn play(storage: &str) -> (Vec<String>, Vec<String>) {
    let desk = Desk::new();
    desk.git(&["config", "checkpoint.storage", storage]);
    desk.add("h", "before all");
    desk.prompt("a");
    desk.prompt("b");
    desk.edit("a", "1", "f", "a");
    desk.edit("b", "1", "f", "b");
    desk.add("f", "of a human");
    desk.edit("a", "2", "g", "a");
    desk.shell("b", "2", "f", "b again");
    desk.stop("a");
    desk.add("g", "of a human");
    desk.prompt("a");
    desk.edit("a", "3", "g", "a again");
    desk.before("b", "3", &["new"]);
    desk.edit("a", "4", "f", "a at last");
    desk.add("new", "b");
    desk.after("b", "3", &["new"]);
    desk.stop("b");
    desk.stop("a");
    let shadows = desk.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow/"]);
    let ends = shadows.lines().filter_map(|name| name.rsplit_once("/main")).map(|(_, end)| end.to_owned()).collect();
    desk.commit();
    let owners = desk.owners();
    assert_eq!(desk.git(&["for-each-ref", "refs/checkpoints/shadow/"]), "");
    desk.finish();
    (owners, ends)
}

#[test]
fn each_line_is_the_same_ones() {
    let (shared, of_all) = play("worktree");
    let (apart, of_each) = play("session");
    assert_eq!(shared, ["f agent 4 human 1", "g agent 2 human 1", "h human 1", "new agent 1"]);
    assert_eq!(apart, shared);
    assert_eq!((of_all, of_each), (vec![String::new()], vec!["@/a".into(), "@/b".into()]));
}
