//! Whose change it is does not depend on whether sessions share a shadow.

use crate::support::World;

/// Two agents and a human take turns at the same files; returns whose lines the commit has, and its sessions.
fn play(storage: &str) -> (Vec<String>, Vec<String>) {
    let world = World::with_lines();
    world.git(&["config", "checkpoint.storage", storage]);
    world.add("h", "before all");
    world.prompt("a");
    world.prompt("b");
    world.edit("a", "1", "f", "a");
    world.edit("b", "1", "f", "b");
    world.add("f", "of a human");
    world.edit("a", "2", "g", "a");
    world.shell("b", "2", "f", "b again");
    world.stop("a");
    world.add("g", "of a human");
    world.prompt("a");
    world.edit("a", "3", "g", "a again");
    world.before("b", "3", &["new"]);
    world.edit("a", "4", "f", "a at last");
    world.add("new", "b");
    world.after("b", "3", &["new"]);
    world.stop("b");
    world.stop("a");
    let shadows = world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow/"]);
    let ends = shadows.lines().filter_map(|name| name.rsplit_once("/main")).map(|(_, end)| end.to_owned()).collect();
    world.commit();
    let owners = world.owners();
    assert_eq!(world.git(&["for-each-ref", "refs/checkpoints/shadow/"]), "");
    world.finish();
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
