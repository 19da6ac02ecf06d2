//! `restore --recurse-submodules`, and `undo` of it.

use std::fs;

use serde_json::Value;

use super::{after, run};
use crate::support::World;

/// Changes in the superproject and at both levels below.
const CHANGE: &str = "echo 2 >>f; echo 2 >>sub/l; echo new >sub/new; echo 2 >>sub/inner/d";

/// Returns the repository with a checkpoint of all levels, and its id; everything was changed since, but not saved.
fn changed() -> (World, String) {
    changed_after("true")
}

/// The same, with `script` run before the checkpoint is taken.
fn changed_after(script: &str) -> (World, String) {
    let world = after(script);
    let saved = world.json(&["save", "--recurse-submodules", "--json"]);
    run(&world, CHANGE);
    (world, saved["id"].as_str().expect("a checkpoint").to_owned())
}

/// Returns what is in the files that [`CHANGE`] changes.
fn content(world: &World) -> Vec<Option<String>> {
    let read = |path: &str| fs::read_to_string(world.repo().join(path)).ok();
    ["f", "sub/l", "sub/new", "sub/inner/d"].map(read).to_vec()
}

/// What they are at the checkpoint, and what [`CHANGE`] makes of them.
fn both() -> (Vec<Option<String>>, Vec<Option<String>>) {
    let text = |text: &str| Some(text.to_owned());
    (
        vec![text("1\n"), text("1\n"), None, text("1\n")],
        vec![text("1\n2\n"), text("1\n2\n"), text("new\n"), text("1\n2\n")],
    )
}

fn restore(world: &World, id: &str) -> Value {
    world.json(&["restore", "--recurse-submodules", "--json", id])
}

/// Returns what is not to move by a restore: HEAD, branches and index at all levels.
fn heads(world: &World) -> String {
    run(
        world,
        "for at in . sub sub/inner; do
        git -C $at rev-parse HEAD; git -C $at for-each-ref refs/heads; git -C $at ls-files --stage
    done",
    )
}

fn assert_sound(world: &World) {
    world.assert_sound("the superproject");
    run(world, "for at in sub sub/inner; do test ! -e $at/.git || git -C $at fsck --strict; done");
}

/// What a restore leaves is the state of all levels, too.
#[test]
fn the_checkpoint_after_a_restore_has_the_submodules() {
    let (world, id) = changed();
    restore(&world, &id);
    let (then, _) = both();
    run(&world, CHANGE);
    restore(&world, "@{0}");
    assert_eq!(content(&world), then);
}

#[test]
fn all_levels_are_restored_undone_and_redone() {
    let (world, id) = changed();
    let (saved, now) = both();
    let before = heads(&world);
    let restored = restore(&world, &id);
    assert_eq!(content(&world), saved);
    let sub = &restored["restored_submodules"][0];
    assert_eq!((&sub["path"], &sub["restored"]["written"][0]), (&Value::from("sub"), &Value::from("l")));
    assert_eq!(sub["restored"]["restored_submodules"][0]["path"], "inner");
    for _ in 0..2 {
        world.json(&["undo", "--json"]);
        assert_eq!(content(&world), now);
        world.json(&["redo", "--json"]);
        assert_eq!(content(&world), saved);
    }
    world.json(&["undo", "--json"]);
    assert_eq!((content(&world), heads(&world)), (now, before));
    assert_sound(&world);
}

#[rstest::rstest]
#[case::only_the_submodule("echo 2 >>sub/l")]
#[case::only_the_inner_one("echo 2 >>sub/inner/d")]
#[case::only_the_superproject("echo 2 >>f")]
#[case::what_was_saved_since("echo 2 >>sub/l; git checkpoint save --recurse-submodules")]
#[case::what_was_committed_since("echo 2 >>sub/l; git -C sub commit -qam 2")]
fn each_level_alone_is_restored_and_undone(#[case] script: &str) {
    let world = after("true");
    let saved = world.json(&["save", "--recurse-submodules", "--json"]);
    let (at_first, id) = (content(&world), saved["id"].as_str().expect("a checkpoint"));
    run(&world, script);
    let changed = content(&world);
    restore(&world, id);
    assert_eq!(content(&world), at_first);
    let again = restore(&world, id);
    assert_eq!((&again["written"], &again["restored_submodules"]), (&Value::Array(Vec::new()), &Value::Null));
    world.json(&["undo", "--json"]);
    assert_eq!(content(&world), changed);
    world.json(&["redo", "--json"]);
    assert_eq!(content(&world), at_first);
    assert_sound(&world);
}

/// An undo in a submodule takes the submodule's part back; the superproject's undo names it then.
#[test]
fn what_was_undone_in_a_submodule_is_named() {
    let (world, id) = changed();
    restore(&world, &id);
    run(&world, "git -C sub checkpoint undo");
    let output = world.checkpoint(&["undo"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("left alone submodule sub") && said.contains("is undone already"), "{said}");
    assert_eq!((output.status.code(), content(&world)), (Some(1), both().1));
}

#[test]
fn a_dry_run_lists_all_and_changes_nothing() {
    let (world, id) = changed();
    let output = world.done(&["restore", "--recurse-submodules", "-n", &id]);
    for line in ["would write f", "would write sub/l", "would delete sub/new", "would write sub/inner/d"] {
        assert!(output.contains(line), "{output}");
    }
    let listed = world.done(&["restore", "--recurse-submodules", "-n", "-z", &id]);
    assert!(listed.contains("W\0sub/inner/d\0") && listed.contains("D\0sub/new\0"), "{listed}");
    assert_eq!(content(&world), both().1);
    assert_eq!(run(&world, "git -C sub for-each-ref refs/checkpoints/shadow").lines().count(), 1);
}

#[test]
fn without_the_option_submodules_are_left_alone_and_named() {
    let (world, id) = changed();
    let output = world.checkpoint(&["restore", &id]);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.contains("kept     sub (a submodule: modified content, untracked content)"), "{said}");
    assert!(said.contains("restore --recurse-submodules"), "{said}");
    assert_eq!(content(&world), [vec![both().0[0].clone()], both().1[1..].to_vec()].concat());
    // Nothing else is to be restored.
    let output = world.checkpoint(&["restore", &id]);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.contains("nothing to do: the other files are as in"), "{said}");
    assert!(said.contains("restore --recurse-submodules"), "{said}");
}

#[rstest::rstest]
#[case::setting(&[], true)]
#[case::not_this_time(&["--no-recurse-submodules"], false)]
fn the_setting_is_that_of_git(#[case] options: &[&str], #[case] is_restored: bool) {
    let (world, id) = changed();
    run(&world, "git config submodule.recurse true");
    world.json(&[&["restore", "--json"], options, &[&id]].concat());
    assert_eq!(content(&world)[1] == both().0[1], is_restored);
}

/// HEAD of the submodule has moved since: its files are those of the checkpoint, and HEAD stays.
#[test]
fn head_of_a_submodule_stays() {
    let (world, id) = changed();
    run(&world, "git -C sub add -A; git -C sub commit -qm 2");
    let head = run(&world, "git -C sub rev-parse HEAD");
    let output = world.checkpoint(&["restore", "--recurse-submodules", &id]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("HEAD of sub stays where it is"), "{said}");
    assert_eq!((content(&world), run(&world, "git -C sub rev-parse HEAD")), (both().0, head));
    world.json(&["undo", "--json"]);
    assert_eq!(content(&world), both().1);
}

#[rstest::rstest]
#[case::submodule("sub", &[1, 2, 3])]
#[case::superproject("f", &[0])]
fn a_pathspec_names_whole_submodules(#[case] pathspec: &str, #[case] restored: &[usize]) {
    let (world, id) = changed();
    world.json(&["restore", "--recurse-submodules", "--json", &id, "--", pathspec]);
    let (saved, now) = both();
    let expected: Vec<_> =
        (0..4).map(|at| if restored.contains(&at) { saved[at].clone() } else { now[at].clone() }).collect();
    assert_eq!(content(&world), expected);
}

#[test]
fn what_was_staged_comes_back_too() {
    let (world, id) = changed_after("echo staged >>sub/l; git -C sub add l; git -C sub show HEAD:l >sub/l");
    run(&world, "git -C sub reset -q");
    world.json(&["restore", "--recurse-submodules", "--staged", "--json", &id]);
    assert_eq!(run(&world, "git -C sub show :l"), "1\nstaged\n");
}

#[test]
fn a_nested_repository_is_restored_too() {
    let (world, id) = changed_after("git init -q n; echo 1 >n/x");
    run(&world, "echo 2 >>n/x");
    restore(&world, &id);
    assert_eq!((content(&world), world.read("n/x").to_string()), (both().0, "1\n".to_owned()));
    world.json(&["undo", "--json"]);
    assert_eq!((content(&world), world.read("n/x").to_string()), (both().1, "1\n2\n".to_owned()));
}

/// An undo takes back what has not changed since, and names the rest.
#[rstest::rstest]
#[case::edited("echo 3 >>sub/l", "sub/l")]
#[case::not_populated("git submodule --quiet deinit -f sub", "left alone submodule sub: no repository is there")]
#[case::damaged("echo nonsense >sub/.git", "left alone submodule sub")]
#[case::lost_log("git -C sub update-ref -d refs/checkpoints/operations/main", "does not have the operation")]
#[case::another_restore("git -C sub checkpoint restore --all base; echo 4 >sub/l", "sub/l")]
fn an_undo_names_what_has_moved(#[case] script: &str, #[case] named: &str) {
    let (world, id) = changed();
    restore(&world, &id);
    run(&world, script);
    let output = world.checkpoint(&["undo"]);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.contains(named), "{said}");
    assert_eq!(world.read("f"), "1\n2\n", "{said}");
}

/// After a crash, `restore --continue` finishes all, and `undo` takes all back.
#[rstest::rstest]
fn a_crash_is_finished_or_taken_back(
    #[values(
        "restore:after-log",
        "restore:after-journal",
        "restore:before-submodule",
        "restore:after-log:2",
        "restore:after-journal:2",
        "restore:before-submodule:2",
        "restore:after-journal:3",
        "restore:before-done",
        "restore:after-done",
        "restore:after-submodules",
        "restore:after-submodules:2",
        "restore:after-submodules:3",
        "restore:before-done:3"
    )]
    failpoint: &str,
    #[values(true, false)] is_continued: bool,
) {
    let (world, id) = changed();
    let killed = world.start_with(&["restore", "--recurse-submodules", &id], failpoint).wait();
    assert!(!killed.expect("it ends").success());
    let (saved, now) = both();
    if is_continued {
        let output = world.checkpoint(&["restore", "--continue"]);
        if failpoint == "restore:after-log" {
            // Nothing had begun.
            assert!(!output.status.success());
            restore(&world, &id);
        } else {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(content(&world), saved);
        world.json(&["undo", "--json"]);
    } else {
        let output = world.checkpoint(&["undo"]);
        // Nothing had begun.
        let is_undone = failpoint != "restore:after-log";
        assert_eq!(output.status.success(), is_undone, "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(content(&world), now);
    assert_sound(&world);
}

/// The same for an undo that is interrupted.
#[rstest::rstest]
fn an_undo_that_crashed_is_finished_or_taken_back(
    #[values(
        "restore:after-journal",
        "restore:before-submodule",
        "restore:after-log:2",
        "restore:after-log:3",
        "restore:after-journal:2",
        "restore:after-submodules:3"
    )]
    failpoint: &str,
    #[values(true, false)] is_continued: bool,
) {
    let (world, id) = changed();
    restore(&world, &id);
    let killed = world.start_with(&["undo"], failpoint).wait();
    assert!(!killed.expect("it ends").success());
    let command: &[&str] = if is_continued { &["restore", "--continue"] } else { &["undo"] };
    let output = world.checkpoint(command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(content(&world), if is_continued { both().1 } else { both().0 });
    if is_continued {
        world.done(&["redo"]);
        assert_eq!(content(&world), both().0);
    }
    world.done(&["undo"]);
    assert_eq!(content(&world), both().1);
    assert_sound(&world);
}

/// What takes an interrupted restore back is interrupted, too: `undo` and `restore --continue` both get to the state before it.
#[rstest::rstest]
fn taking_back_that_crashed_too_is_finished(
    #[values("restore:before-submodule:2", "restore:after-journal:2", "restore:before-done:3")] first: &str,
    #[values(
        "restore:after-log:2",
        "restore:after-journal:2",
        "restore:after-journal:3",
        "restore:after-submodules:2"
    )]
    second: &str,
    #[values(true, false)] is_continued: bool,
) {
    let (world, id) = changed();
    assert!(!world.start_with(&["restore", "--recurse-submodules", &id], first).wait().expect("it ends").success());
    let is_killed = !world.start_with(&["undo"], second).wait().expect("it ends").success();
    if is_killed {
        world.done(if is_continued { &["restore", "--continue"] } else { &["undo"] });
    }
    assert_eq!(content(&world), both().1);
    restore(&world, &id);
    assert_eq!(content(&world), both().0);
    world.done(&["undo"]);
    assert_eq!(content(&world), both().1);
    assert_sound(&world);
}

/// A redo that is killed in a submodule between its entry and its journal.
#[rstest::rstest]
#[case::of_the_submodule("restore:after-log:2")]
#[case::of_the_inner_one("restore:after-log:3")]
fn a_redo_that_crashed_is_finished(#[case] failpoint: &str) {
    let (world, id) = changed();
    restore(&world, &id);
    world.done(&["undo"]);
    assert!(!world.start_with(&["redo"], failpoint).wait().expect("it ends").success());
    world.done(&["restore", "--continue"]);
    assert_eq!(content(&world), both().0);
    world.done(&["undo"]);
    assert_eq!(content(&world), both().1);
    assert_sound(&world);
}

/// What a person has changed in the submodule since is kept, and `--all` takes it back, too.
#[test]
fn an_undo_that_keeps_a_file_says_so() {
    let world = after("true");
    let saved = world.json(&["save", "--recurse-submodules", "--json"]);
    run(&world, "echo 2 >>sub/l");
    restore(&world, saved["id"].as_str().expect("an id"));
    run(&world, "echo mine >>sub/l");
    let output = world.checkpoint(&["undo"]);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("undo --all") && !said.contains("restored 0 paths"), "{said}");
    world.done(&["undo", "--all"]);
    assert_eq!(world.read("sub/l"), "1\n2\n");
}

/// The submodule's own undo still reaches what the undo could not.
#[test]
fn an_undo_without_the_submodule_says_how_to_go_on() {
    let (world, id) = changed();
    restore(&world, &id);
    run(&world, "git submodule --quiet deinit -f sub");
    let output = world.checkpoint(&["undo"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("'git -C sub checkpoint undo'"), "{said}");
    run(&world, "git submodule --quiet update --init sub; git -C sub checkpoint undo || true");
    assert_eq!(world.read("sub/l"), "1\n2\n");
}

#[test]
fn an_interrupted_restore_in_a_submodule_comes_first() {
    let (world, id) = changed();
    let sub = run(&world, "git -C sub for-each-ref --format='%(objectname)' refs/checkpoints/shadow");
    let path = world.repo().join("sub");
    let arguments = ["-C", path.to_str().expect("UTF-8"), "restore", sub.trim()];
    assert!(!world.start_with(&arguments, "restore:after-journal").wait().expect("it ends").success());
    let output = world.checkpoint(&["restore", "--recurse-submodules", &id]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("'sub'") && said.contains("was interrupted"), "{said}");
    assert_eq!(world.read("f"), "1\n2\n", "nothing was changed");
}

/// Returns a copy of the checkpoint `id` that ties the commit `tied` of a repository in `path` to it.
fn forged(world: &World, id: &str, path: &str, tied: &str) -> String {
    let script = format!(
        "manifest=$(printf 'version = 1\\n\\n[[submodule]]\\npath = \"%s\"\\ncheckpoint = \"%s\"\\n' '{path}' {tied} |
            git hash-object -w --stdin)
        tree=$(printf '100644 blob %s\\tmanifest.toml\\n' $manifest | git mktree)
        side=$(git commit-tree $tree -m side </dev/null)
        git log -1 --format=%B {id} | git commit-tree {id}^{{tree}} -p {id}^1 -p $side"
    );
    run(world, &script).trim().to_owned()
}

/// What a checkpoint from elsewhere names leads neither out of the worktree nor into git's own directories.
#[rstest::rstest]
#[case::above("../lib")]
#[case::absolute("/tmp")]
#[case::git_directory(".git/modules/sub")]
#[case::folded(".GIT/modules/sub")]
#[case::up_and_down("sub/../../lib")]
#[case::empty("")]
#[case::here(".")]
#[case::a_link("link")]
#[case::through_a_link("out/lib")]
#[case::a_plain_directory("plain")]
fn a_forged_path_leads_nowhere(#[case] path: &str) {
    let (world, id) = changed_after("ln -s ../lib link; ln -s .. out; mkdir plain; echo x >plain/x");
    let lib = run(&world, "git -C ../lib rev-parse HEAD");
    let target = forged(&world, &id, path, lib.trim());
    run(&world, "echo 9 >>../lib/l; git -C ../lib for-each-ref >../before");
    let output = world.checkpoint(&["restore", "--recurse-submodules", &target]);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(run(&world, "cat ../lib/l; git -C ../lib for-each-ref | diff ../before -"), "1\n9\n");
    assert_eq!(content(&world)[1..], both().1[1..]);
}

/// Only a checkpoint of the submodule is restored there; without it, nothing is.
#[rstest::rstest]
#[case::nothing("0123456789012345678901234567890123456789")]
#[case::a_commit("$(git -C sub rev-parse HEAD)")]
fn what_a_submodule_does_not_have_is_named(#[case] tied: &str) {
    let (world, id) = changed();
    let tied = run(&world, &format!("echo {tied}"));
    let target = forged(&world, &id, "sub", tied.trim());
    let output = world.checkpoint(&["restore", "--recurse-submodules", &target]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("cannot restore the submodule 'sub'"), "{said}");
    assert_eq!(content(&world), both().1, "nothing was changed");
}

/// A submodule that only git's setting includes does not keep the worktree from being restored.
#[rstest::rstest]
#[case::lost(
    "rm -rf sub/.git/checkpoint; git submodule --quiet deinit -f sub; rm -rf .git/modules/sub; git submodule --quiet update --init sub",
    "is not in this repository"
)]
#[case::interrupted(
    "cd sub; CHECKPOINT_FAILPOINT=restore:after-journal git checkpoint restore base",
    "was interrupted"
)]
fn gits_setting_leaves_alone_what_cannot_be_restored(#[case] script: &str, #[case] why: &str) {
    let (world, id) = changed();
    run(&world, &format!("git config submodule.recurse true; ({script}) >/dev/null 2>&1 || true; echo 9 >>f"));
    let sub = run(&world, "cat sub/l");
    let output = world.checkpoint(&["restore", &id]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("left alone submodule sub") && said.contains(why), "{said}");
    assert_eq!((run(&world, "cat sub/l; cat f")), sub + "1\n");
    let asked = world.checkpoint(&["restore", "--recurse-submodules", &id]);
    assert!(String::from_utf8_lossy(&asked.stderr).contains("cannot restore the submodule 'sub'"));
}

#[test]
fn a_linked_worktree_restores_its_own_submodules() {
    let world = after("git worktree add -q ../linked; git -C ../linked submodule --quiet update --init");
    let linked = world.root().join("linked");
    let linked = linked.to_str().expect("UTF-8");
    let saved = world.json(&["-C", linked, "save", "--recurse-submodules", "--json"]);
    run(&world, &format!("{CHANGE}; echo 2 >>../linked/sub/l"));
    world.json(&["-C", linked, "restore", "--recurse-submodules", "--json", saved["id"].as_str().expect("an id")]);
    assert_eq!(run(&world, "cat ../linked/sub/l"), "1\n");
    assert_eq!(content(&world), both().1, "the other worktree stays");
}
