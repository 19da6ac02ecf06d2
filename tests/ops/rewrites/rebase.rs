//! `git rebase`: reword, fixup, squash, reorder, edit, drop, exec, and onto another base.

use super::{World, lines};
use crate::support::template::Template;

/// Three commits of three sessions: one, two, three.
static START: Template = Template::new(|world| {
    let world = world.commit_old();
    for (session, path) in [("a", "one"), ("b", "two"), ("c", "three")] {
        world.agent_commit(session, path);
    }
    world.git(&["branch", "before"]);
});

fn world() -> World {
    World::copied(&START)
}

fn is(world: &World, revision: &str, sessions: &[&str]) {
    assert_eq!(world.sessions(revision), sessions, "{}", world.message(revision));
}

#[test]
fn reword() {
    let world = world();
    let count = world.all().len();
    let editor = "sed -i '1s/.*/other words/'";
    let output = world.git_edited(editor, "sed -i 's/^pick/reword/'", &["rebase", "-q", "-i", "HEAD~3"]);
    assert!(output.status.success());
    assert_eq!(world.git(&["log", "--format=%s", "HEAD~3..HEAD"]), "other words\n".repeat(3));
    for (revision, session) in [("HEAD~2", "a"), ("HEAD~1", "b"), ("HEAD", "c")] {
        is(&world, revision, &[session]);
        assert_eq!(world.named(revision).len(), 1);
    }
    assert_eq!(world.all().len(), count);
    world.is_whole();
}

#[test]
fn reword_that_takes_the_trailer_out() {
    let world = world();
    let editor = "sed -i '/^Checkpoint:/d'";
    assert!(world.git_edited(editor, "sed -i '2s/^pick/reword/'", &["rebase", "-q", "-i", "HEAD~3"]).status.success());
    assert_eq!(world.named("HEAD~1"), [""; 0]);
    is(&world, "HEAD~1", &["b"]);
    is(&world, "HEAD", &["c"]);
    world.is_whole();
}

#[test]
fn fixup_commits_and_autosquash() {
    let world = world();
    world.agent("d", "one", &(lines("one", 6) + &lines("fixed", 3)));
    world.git(&["commit", "-qa", "--fixup", "HEAD~2"]);
    is(&world, "HEAD", &["d"]);
    world.agent("e", "two", &(lines("two", 6) + &lines("fixed", 3)));
    world.git(&["commit", "-qa", "--squash", "HEAD~2", "-m", "more"]);
    is(&world, "HEAD", &["e"]);
    world.rebase("true", &["--autosquash", "HEAD~5"]);
    is(&world, "HEAD~2", &["a", "d"]);
    is(&world, "HEAD~1", &["b", "e"]);
    is(&world, "HEAD", &["c"]);
    assert_eq!(world.all().len(), 5);
    world.is_whole();
}

#[test]
fn fixup_amend_and_reword_commits() {
    let world = world();
    world.agent("d", "one", &(lines("one", 6) + &lines("fixed", 3)));
    world.git(&["commit", "-qa", "--fixup=amend:HEAD~2"]);
    // Its message is that of the other commit with a word before it, trailers and all.
    is(&world, "HEAD", &["a", "d"]);
    world.git(&["commit", "-q", "--fixup=reword:HEAD~2", "--allow-empty"]);
    world.rebase("true", &["--autosquash", "HEAD~5"]);
    is(&world, "HEAD~2", &["a", "d"]);
    is(&world, "HEAD~1", &["b"]);
    is(&world, "HEAD", &["c"]);
    world.is_whole();
}

#[test]
fn squash_of_several() {
    let world = world();
    world.rebase("sed -i '2,$s/^pick/squash/'", &["HEAD~3"]);
    is(&world, "HEAD", &["a", "b", "c"]);
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]).trim(), "2");
    world.is_whole();
}

#[test]
fn fixup_of_several() {
    let world = world();
    world.rebase("sed -i '2,$s/^pick/fixup/'", &["HEAD~3"]);
    is(&world, "HEAD", &["a", "b", "c"]);
    world.is_whole();
}

#[test]
fn reorder() {
    let world = world();
    world.rebase("sed -i '1{h;d};2G'", &["HEAD~3"]);
    is(&world, "HEAD~2", &["b"]);
    is(&world, "HEAD~1", &["a"]);
    is(&world, "HEAD", &["c"]);
    world.is_whole();
}

#[test]
fn split_of_one_commit() {
    let world = World::with_old_commit();
    world.turn("a", || {
        world.write("one", lines("one", 6));
        world.write("two", lines("two", 6));
    });
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "one and two"]);
    world.agent_commit("b", "three");
    let count = world.all().len();
    world.rebase("sed -i '1s/^pick/edit/'", &["HEAD~2"]);
    world.git(&["reset", "-q", "HEAD~1"]);
    for path in ["one", "two"] {
        world.git(&["add", path]);
        world.git(&["commit", "-qm", &format!("only {path}")]);
    }
    world.git(&["rebase", "--continue"]);
    is(&world, "HEAD~2", &["a"]);
    is(&world, "HEAD~1", &["a"]);
    is(&world, "HEAD", &["b"]);
    assert_eq!(world.all().len(), count);
    world.is_whole();
}

#[test]
fn work_of_an_agent_while_a_rebase_waits() {
    let world = world();
    world.rebase("sed -i '1s/^pick/edit/'", &["HEAD~3"]);
    world.agent("d", "four", &lines("four", 6));
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "while it waits"]);
    world.git(&["rebase", "--continue"]);
    is(&world, "HEAD~3", &["a"]);
    // When the rebase continues, git takes HEAD for the rewritten commit.
    is(&world, "HEAD~2", &["a", "d"]);
    is(&world, "HEAD~1", &["b"]);
    is(&world, "HEAD", &["c"]);
    world.is_whole();
}

#[test]
fn edit_and_amend() {
    let world = world();
    world.rebase("sed -i '2s/^pick/edit/'", &["HEAD~3"]);
    world.add_to("two", "by hand\n");
    world.git(&["commit", "-qa", "--amend", "-m", "other words"]);
    world.git(&["rebase", "--continue"]);
    is(&world, "HEAD~2", &["a"]);
    is(&world, "HEAD~1", &["b"]);
    is(&world, "HEAD", &["c"]);
    assert_eq!(world.all().len(), 3);
    world.is_whole();
}

#[test]
fn drop_of_one() {
    let world = world();
    world.rebase("sed -i '2s/^pick/drop/'", &["HEAD~3"]);
    is(&world, "HEAD~1", &["a"]);
    is(&world, "HEAD", &["c"]);
    world.is_whole();
}

#[test]
fn onto_another_base_with_branches_between() {
    let world = world();
    world.git(&["branch", "middle", "HEAD~1"]);
    world.git(&["checkout", "-q", "-b", "base", "HEAD~3"]);
    world.human_commit("hand");
    world.git(&["checkout", "-q", "main"]);
    world.git(&["rebase", "-q", "--update-refs", "--onto", "base", "HEAD~3"]);
    is(&world, "HEAD~2", &["a"]);
    is(&world, "middle", &["b"]);
    assert_eq!(world.commit_id("middle"), world.commit_id("HEAD~1"));
    is(&world, "HEAD", &["c"]);
    world.is_whole();
}

#[rstest::rstest]
#[case::merge("--merge")]
#[case::apply("--apply")]
fn with_each_backend(#[case] backend: &str) {
    let world = world();
    world.git(&["checkout", "-q", "-b", "base", "HEAD~3"]);
    world.human_commit("hand");
    world.git(&["checkout", "-q", "main"]);
    world.git(&["rebase", "-q", backend, "base"]);
    is(&world, "HEAD~2", &["a"]);
    is(&world, "HEAD~1", &["b"]);
    is(&world, "HEAD", &["c"]);
    assert_eq!(world.all().len(), 3);
    world.is_whole();
}

#[test]
fn exec_between_the_commits() {
    let world = world();
    world.git(&["rebase", "-q", "--exec", "git commit -q --amend -m words", "HEAD~3"]);
    is(&world, "HEAD~2", &["a"]);
    is(&world, "HEAD~1", &["b"]);
    is(&world, "HEAD", &["c"]);
    assert_eq!(world.all().len(), 3);
    world.is_whole();
}

#[test]
fn exec_that_commits_by_hand() {
    let world = world();
    let exec = "date +%N >hand; git add hand; git commit -qm hand";
    world.git(&["rebase", "-q", "--exec", exec, "HEAD~2"]);
    is(&world, "HEAD", &[]);
    is(&world, "HEAD~1", &["c"]);
    is(&world, "HEAD~2", &[]);
    is(&world, "HEAD~3", &["b"]);
    world.is_whole();
}

#[rstest::rstest]
#[case::continues(&["rebase", "--continue"])]
#[case::committed(&["commit", "-qm", "by hand"])]
fn conflict_that_a_human_resolves(#[case] then: &[&str]) {
    let world = World::with_old_commit();
    world.agent("a", "f", &lines("agent", 9));
    world.git(&["commit", "-qam", "a"]);
    world.agent_commit("b", "two");
    world.git(&["checkout", "-q", "-b", "base", "HEAD~2"]);
    world.write("f", lines("hand", 9));
    world.git(&["commit", "-qam", "hand"]);
    world.git(&["checkout", "-q", "main"]);
    world.stops(&["rebase", "-q", "base"]);
    world.write("f", &(lines("hand", 4) + &lines("agent", 5)));
    world.git(&["add", "f"]);
    world.git(then);
    if world.repo().join(".git/rebase-merge").exists() {
        world.git(&["rebase", "--continue"]);
    }
    is(&world, "HEAD~1", &["a"]);
    is(&world, "HEAD", &["b"]);
    is(&world, "base", &[]);
    assert_eq!(world.all().len(), 2);
    world.is_whole();
}

#[test]
fn a_rebase_that_is_given_up_changes_nothing() {
    let world = World::with_old_commit();
    world.agent("a", "f", &lines("agent", 9));
    world.git(&["commit", "-qam", "a"]);
    world.git(&["checkout", "-q", "-b", "base", "HEAD~1"]);
    world.write("f", lines("hand", 9));
    world.git(&["commit", "-qam", "hand"]);
    world.git(&["checkout", "-q", "main"]);
    world.stops(&["rebase", "-q", "base"]);
    world.git(&["rebase", "--abort"]);
    is(&world, "HEAD", &["a"]);
    world.is_whole();
    world.agent_commit("b", "two");
    is(&world, "HEAD", &["b"]);
    world.is_whole();
}

#[test]
fn work_that_waits_goes_through_a_rebase_with_autostash() {
    let world = world();
    world.git(&["checkout", "-q", "-b", "base", "HEAD~3"]);
    world.human_commit("hand");
    world.git(&["checkout", "-q", "main"]);
    world.agent("d", "one", &(lines("one", 6) + &lines("new", 6)));
    world.git(&["rebase", "-q", "--autostash", "base"]);
    world.git(&["commit", "-qam", "d"]);
    is(&world, "HEAD", &["d"]);
    is(&world, "HEAD~1", &["c"]);
    world.is_whole();
}

#[test]
fn rebase_with_merges_kept() {
    let world = world();
    world.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    world.agent_commit("d", "four");
    world.git(&["checkout", "-q", "main"]);
    world.git(&["merge", "-q", "--no-edit", "side"]);
    world.git(&["checkout", "-q", "-b", "base", "HEAD~3"]);
    world.human_commit("hand");
    world.git(&["checkout", "-q", "main"]);
    world.git(&["rebase", "-q", "--rebase-merges", "base"]);
    is(&world, "HEAD", &[]);
    is(&world, "HEAD^1", &["c"]);
    is(&world, "HEAD^2", &["d"]);
    is(&world, "HEAD^2^", &["b"]);
    world.is_whole();
}
