//! `restore --staged`: what was staged comes back, by git's own lock, and goes again with an undo.

use git_checkpoint::{Kind, RestoreOptions, restore};
use gix::ObjectId;

use crate::support::stage::{Stage, picture};

fn staged(stage: &Stage, target: ObjectId) {
    stage.restore_with(target, RestoreOptions { staged: true, ..RestoreOptions::default() });
}

/// Everything the index says, without what git makes of the worktree.
fn index(stage: &Stage) -> String {
    stage.git(&["ls-files", "--stage", "-t"]) + &stage.git(&["diff", "--cached", "--name-status"])
}

#[test]
fn the_staged_tree_comes_back_and_goes_again() {
    let stage = Stage::new();
    stage.write("f", "staged\n");
    stage.write("new", "staged\n");
    stage.git(&["add", "-A"]);
    stage.write("f", "and more\n");
    let at_a = index(&stage);
    let a = stage.save();
    stage.git(&["reset", "-q"]);
    stage.write("other", "only in the index\n");
    stage.write("dir/x", "x\n");
    stage.git(&["add", "other", "dir"]);
    stage.remove("other");
    let later = index(&stage);
    stage.restore(a);
    assert_eq!(index(&stage), later, "without --staged the index stays");
    staged(&stage, a);
    assert_eq!(index(&stage), at_a);
    assert_eq!(stage.read("f"), "and more\n");
    stage.undo();
    assert_eq!(index(&stage), later, "what only the index held is back");
    assert_eq!(stage.git(&["show", ":other"]), "only in the index\n");
    stage.redo();
    assert_eq!(index(&stage), at_a);
    stage.untouchables();
}

#[test]
fn a_checkpoint_with_nothing_staged_unstages() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    let a = stage.save();
    let clean = index(&stage);
    stage.git(&["add", "-A"]);
    staged(&stage, a);
    assert_eq!(index(&stage), clean);
}

#[test]
fn pathspecs_limit_the_index_too() {
    let stage = Stage::new();
    stage.write("a", "one\n");
    stage.write("b", "one\n");
    stage.git(&["add", "-A"]);
    let a = stage.save();
    stage.write("a", "two\n");
    stage.write("b", "two\n");
    stage.git(&["add", "-A"]);
    stage.restore_with(a, RestoreOptions { staged: true, pathspecs: vec!["a".into()], ..RestoreOptions::default() });
    assert_eq!((stage.git(&["show", ":a"]), stage.git(&["show", ":b"])), ("one\n".into(), "two\n".into()));
    stage.undo();
    assert_eq!(stage.git(&["show", ":a"]), "two\n");
}

#[test]
fn unmerged_and_intended_entries_come_back() {
    let stage = Stage::new();
    stage.git(&["checkout", "-qb", "side"]);
    stage.write("f", "theirs\n");
    stage.git(&["commit", "-qam", "theirs"]);
    stage.git(&["checkout", "-q", "main"]);
    stage.write("f", "ours\n");
    stage.git(&["commit", "-qam", "ours"]);
    let merge = stage.command("git").args(["merge", "side"]).output().expect("git runs");
    assert!(!merge.status.success());
    stage.write("intended", "x\n");
    stage.git(&["add", "-N", "intended"]);
    let unmerged = stage.git(&["ls-files", "-u"]);
    let conflicted = index(&stage);
    let a = stage.save();
    stage.write("f", "resolved\n");
    stage.git(&["add", "f", "intended"]);
    let resolved = index(&stage);
    staged(&stage, a);
    assert_eq!(stage.git(&["ls-files", "-u"]), unmerged);
    assert_eq!(index(&stage), conflicted);
    assert!(stage.git(&["diff", "--cached", "--name-only"]).lines().all(|path| path != "intended"));
    stage.undo();
    assert_eq!(index(&stage), resolved);
}

#[test]
fn unmerged_submodules_come_back() {
    let stage = Stage::new();
    stage.write("f", "more\n");
    let ids: Vec<String> = (1..=3).map(|number| format!("{number:040}")).collect();
    let mut input = String::new();
    for (id, stage) in ids.iter().zip(1..) {
        input += &format!("160000 {id} {stage}\tsub\n");
    }
    std::fs::write(stage.root().join("input"), input).expect("it can be written");
    let read = "git update-index --index-info <../input";
    assert!(stage.command("sh").args(["-c", read]).status().expect("sh runs").success());
    let unmerged = stage.git(&["ls-files", "-u"]);
    assert_eq!(unmerged.lines().count(), 3);
    let a = stage.save();
    stage.git(&["rm", "-q", "--cached", "sub"]);
    staged(&stage, a);
    assert_eq!(stage.git(&["ls-files", "-u"]), unmerged);
}

#[test]
fn files_and_directories_swap_in_the_index() {
    let stage = Stage::new();
    stage.write("d", "a file\n");
    stage.git(&["add", "-A"]);
    let at_a = index(&stage);
    let a = stage.save();
    stage.remove("d");
    stage.write("d/x", "x\n");
    stage.git(&["add", "-A"]);
    let at_b = index(&stage);
    staged(&stage, a);
    assert_eq!(index(&stage), at_a);
    stage.undo();
    assert_eq!(index(&stage), at_b);
}

#[test]
fn a_locked_index_stops_before_anything_is_written() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    stage.git(&["add", "-A"]);
    let a = stage.save();
    stage.write("f", "two\n");
    stage.git(&["reset", "-q"]);
    stage.write(".git/index.lock", "");
    let options = RestoreOptions { target: a.to_string(), staged: true, ..RestoreOptions::default() };
    let error = restore(&stage.context, &options).map(drop).expect_err("locked");
    assert_eq!(error.kind(), Kind::Race);
    assert_eq!(stage.read("f"), "two\n");
    stage.remove(".git/index.lock");
    restore(&stage.context, &options).expect("restored");
    assert_eq!(stage.git(&["show", ":f"]), "one\n");
}

#[test]
fn sparse_entries_stay_sparse() {
    let stage = Stage::with(|world| {
        world.write("in/f", "one\n");
        world.write("out/f", "one\n");
        world.git(&["add", "-A"]);
        world.git(&["commit", "-qm", "two directories"]);
        world.git(&["sparse-checkout", "set", "in"]);
    });
    stage.write("in/f", "two\n");
    stage.git(&["add", "in/f"]);
    let at_a = index(&stage);
    assert!(at_a.contains("S 100644"), "{at_a}");
    let a = stage.save();
    stage.git(&["reset", "-q"]);
    staged(&stage, a);
    assert_eq!(index(&stage), at_a);
    assert!(!stage.exists("out"));
}

#[test]
fn undo_leaves_what_was_staged_since() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    stage.write("g", "one\n");
    stage.git(&["add", "-A"]);
    let a = stage.save();
    stage.write("f", "two\n");
    stage.write("g", "two\n");
    stage.git(&["add", "-A"]);
    staged(&stage, a);
    stage.write("later", "later\n");
    stage.write("g", "three\n");
    stage.git(&["add", "later", "g"]);
    let undone = stage.undo();
    let show = |path: &str| stage.git(&["show", &format!(":{path}")]);
    assert_eq!((show("f"), show("g"), show("later")), ("two\n".into(), "three\n".into(), "later\n".into()));
    assert_eq!(picture(&undone), ["+f", "=g: changed since the restore"]);
}

#[test]
fn the_checkpoint_after_a_restore_has_the_new_staged_tree() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    stage.git(&["add", "-A"]);
    let a = stage.save();
    stage.write("f", "two\n");
    stage.git(&["add", "-A"]);
    staged(&stage, a);
    let tip = git_checkpoint::resolve(&stage.context, "@{0}").expect("found");
    assert_eq!(stage.git(&["rev-parse", &format!("{tip}^2:index")]), stage.git(&["write-tree"]));
}
