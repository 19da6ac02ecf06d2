//! What a turn's end and git's own work must not lose.

use super::desk::Desk;

#[test]
fn an_undo_of_a_restore_at_the_beginning_of_a_turn_outlives_it() {
    let desk = Desk::new();
    desk.write("g", "human\n");
    desk.prompt("a");
    desk.world.done(&["restore", "base"]);
    desk.write("g", "human\n");
    desk.stop("a");
    desk.write("g", "later\n");
    desk.git(&["gc", "-q", "--prune=now"]);
    desk.world.done(&["undo", "--all"]);
    assert_eq!(desk.read("g"), "human\n");
    desk.finish();
}

#[test]
fn content_staged_when_a_turn_began_outlives_it() {
    let desk = Desk::new();
    desk.write("g", "staged\n");
    desk.git(&["add", "g"]);
    desk.write("g", "worktree\n");
    desk.prompt("a");
    let blob = desk.git(&["rev-parse", ":g"]);
    desk.git(&["reset", "-q"]);
    desk.stop("a");
    let objects = desk.git(&["rev-list", "--objects", "--all"]);
    assert!(objects.contains(&blob), "what was staged is in no ref");
    desk.finish();
}

#[test]
fn a_damaged_stash_stops_no_save() {
    let desk = Desk::new();
    desk.write("g", "work\n");
    desk.write("new", "work\n");
    desk.json(&["save"]);
    desk.git(&["stash", "-q", "-u"]);
    let tree = desk.git(&["rev-parse", "stash^3^{tree}"]);
    desk.sh(&format!("rm -f .git/objects/{}/{}", &tree[..2], &tree[2..]));
    let output = desk.world.checkpoint(&["save", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
