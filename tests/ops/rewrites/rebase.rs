//! `git rebase`: reword, fixup, squash, reorder, edit, drop, exec, and onto another base.

use super::{Bench, lines};

/// Three commits of three sessions: one, two, three.
fn bench() -> Bench {
    let bench = Bench::new();
    for (session, path) in [("a", "one"), ("b", "two"), ("c", "three")] {
        bench.agent_commit(session, path);
    }
    bench.git(&["branch", "before"]);
    bench
}

fn is(bench: &Bench, revision: &str, sessions: &[&str]) {
    assert_eq!(bench.sessions(revision), sessions, "{}", bench.message(revision));
}

#[test]
fn reword() {
    let bench = bench();
    let count = bench.all().len();
    let editor = "sed -i '1s/.*/other words/'";
    let output = bench.edit(editor, "sed -i 's/^pick/reword/'", &["rebase", "-q", "-i", "HEAD~3"]);
    assert!(output.status.success());
    assert_eq!(bench.git(&["log", "--format=%s", "HEAD~3..HEAD"]), "other words\n".repeat(3));
    for (revision, session) in [("HEAD~2", "a"), ("HEAD~1", "b"), ("HEAD", "c")] {
        is(&bench, revision, &[session]);
        assert_eq!(bench.named(revision).len(), 1);
    }
    assert_eq!(bench.all().len(), count);
    bench.is_whole();
}

#[test]
fn reword_that_takes_the_trailer_out() {
    let bench = bench();
    let editor = "sed -i '/^Checkpoint:/d'";
    assert!(bench.edit(editor, "sed -i '2s/^pick/reword/'", &["rebase", "-q", "-i", "HEAD~3"]).status.success());
    assert_eq!(bench.named("HEAD~1"), [""; 0]);
    is(&bench, "HEAD~1", &["b"]);
    is(&bench, "HEAD", &["c"]);
    bench.is_whole();
}

#[test]
fn fixup_commits_and_autosquash() {
    let bench = bench();
    bench.agent("d", "one", &(lines("one", 6) + &lines("fixed", 3)));
    bench.git(&["commit", "-qa", "--fixup", "HEAD~2"]);
    is(&bench, "HEAD", &["d"]);
    bench.agent("e", "two", &(lines("two", 6) + &lines("fixed", 3)));
    bench.git(&["commit", "-qa", "--squash", "HEAD~2", "-m", "more"]);
    is(&bench, "HEAD", &["e"]);
    bench.rebase("true", &["--autosquash", "HEAD~5"]);
    is(&bench, "HEAD~2", &["a", "d"]);
    is(&bench, "HEAD~1", &["b", "e"]);
    is(&bench, "HEAD", &["c"]);
    assert_eq!(bench.all().len(), 5);
    bench.is_whole();
}

#[test]
fn fixup_amend_and_reword_commits() {
    let bench = bench();
    bench.agent("d", "one", &(lines("one", 6) + &lines("fixed", 3)));
    bench.git(&["commit", "-qa", "--fixup=amend:HEAD~2"]);
    // Its message is that of the other commit with a word before it, trailers and all.
    is(&bench, "HEAD", &["a", "d"]);
    bench.git(&["commit", "-q", "--fixup=reword:HEAD~2", "--allow-empty"]);
    bench.rebase("true", &["--autosquash", "HEAD~5"]);
    is(&bench, "HEAD~2", &["a", "d"]);
    is(&bench, "HEAD~1", &["b"]);
    is(&bench, "HEAD", &["c"]);
    bench.is_whole();
}

#[test]
fn squash_of_several() {
    let bench = bench();
    bench.rebase("sed -i '2,$s/^pick/squash/'", &["HEAD~3"]);
    is(&bench, "HEAD", &["a", "b", "c"]);
    assert_eq!(bench.git(&["rev-list", "--count", "HEAD"]).trim(), "2");
    bench.is_whole();
}

#[test]
fn fixup_of_several() {
    let bench = bench();
    bench.rebase("sed -i '2,$s/^pick/fixup/'", &["HEAD~3"]);
    is(&bench, "HEAD", &["a", "b", "c"]);
    bench.is_whole();
}

#[test]
fn reorder() {
    let bench = bench();
    bench.rebase("sed -i '1{h;d};2G'", &["HEAD~3"]);
    is(&bench, "HEAD~2", &["b"]);
    is(&bench, "HEAD~1", &["a"]);
    is(&bench, "HEAD", &["c"]);
    bench.is_whole();
}

#[test]
fn split_of_one_commit() {
    let bench = Bench::new();
    bench.turn("a", || {
        bench.write("one", lines("one", 6));
        bench.write("two", lines("two", 6));
    });
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "one and two"]);
    bench.agent_commit("b", "three");
    let count = bench.all().len();
    bench.rebase("sed -i '1s/^pick/edit/'", &["HEAD~2"]);
    bench.git(&["reset", "-q", "HEAD~1"]);
    for path in ["one", "two"] {
        bench.git(&["add", path]);
        bench.git(&["commit", "-qm", &format!("only {path}")]);
    }
    bench.git(&["rebase", "--continue"]);
    is(&bench, "HEAD~2", &["a"]);
    is(&bench, "HEAD~1", &["a"]);
    is(&bench, "HEAD", &["b"]);
    assert_eq!(bench.all().len(), count);
    bench.is_whole();
}

#[test]
fn work_of_an_agent_while_a_rebase_waits() {
    let bench = bench();
    bench.rebase("sed -i '1s/^pick/edit/'", &["HEAD~3"]);
    bench.agent("d", "four", &lines("four", 6));
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "while it waits"]);
    bench.git(&["rebase", "--continue"]);
    is(&bench, "HEAD~3", &["a"]);
    // When the rebase continues, git takes HEAD for the rewritten commit.
    is(&bench, "HEAD~2", &["a", "d"]);
    is(&bench, "HEAD~1", &["b"]);
    is(&bench, "HEAD", &["c"]);
    bench.is_whole();
}

#[test]
fn edit_and_amend() {
    let bench = bench();
    bench.rebase("sed -i '2s/^pick/edit/'", &["HEAD~3"]);
    bench.add_to("two", "by hand\n");
    bench.git(&["commit", "-qa", "--amend", "-m", "other words"]);
    bench.git(&["rebase", "--continue"]);
    is(&bench, "HEAD~2", &["a"]);
    is(&bench, "HEAD~1", &["b"]);
    is(&bench, "HEAD", &["c"]);
    assert_eq!(bench.all().len(), 3);
    bench.is_whole();
}

#[test]
fn drop_of_one() {
    let bench = bench();
    bench.rebase("sed -i '2s/^pick/drop/'", &["HEAD~3"]);
    is(&bench, "HEAD~1", &["a"]);
    is(&bench, "HEAD", &["c"]);
    bench.is_whole();
}

#[test]
fn onto_another_base_with_branches_between() {
    let bench = bench();
    bench.git(&["branch", "middle", "HEAD~1"]);
    bench.git(&["checkout", "-q", "-b", "base", "HEAD~3"]);
    bench.human_commit("hand");
    bench.git(&["checkout", "-q", "main"]);
    bench.git(&["rebase", "-q", "--update-refs", "--onto", "base", "HEAD~3"]);
    is(&bench, "HEAD~2", &["a"]);
    is(&bench, "middle", &["b"]);
    assert_eq!(bench.id("middle"), bench.id("HEAD~1"));
    is(&bench, "HEAD", &["c"]);
    bench.is_whole();
}

#[rstest::rstest]
#[case::merge("--merge")]
#[case::apply("--apply")]
fn with_each_backend(#[case] backend: &str) {
    let bench = bench();
    bench.git(&["checkout", "-q", "-b", "base", "HEAD~3"]);
    bench.human_commit("hand");
    bench.git(&["checkout", "-q", "main"]);
    bench.git(&["rebase", "-q", backend, "base"]);
    is(&bench, "HEAD~2", &["a"]);
    is(&bench, "HEAD~1", &["b"]);
    is(&bench, "HEAD", &["c"]);
    assert_eq!(bench.all().len(), 3);
    bench.is_whole();
}

#[test]
fn exec_between_the_commits() {
    let bench = bench();
    bench.git(&["rebase", "-q", "--exec", "git commit -q --amend -m words", "HEAD~3"]);
    is(&bench, "HEAD~2", &["a"]);
    is(&bench, "HEAD~1", &["b"]);
    is(&bench, "HEAD", &["c"]);
    assert_eq!(bench.all().len(), 3);
    bench.is_whole();
}

#[test]
fn exec_that_commits_by_hand() {
    let bench = bench();
    let exec = "date +%N >hand; git add hand; git commit -qm hand";
    bench.git(&["rebase", "-q", "--exec", exec, "HEAD~2"]);
    is(&bench, "HEAD", &[]);
    is(&bench, "HEAD~1", &["c"]);
    is(&bench, "HEAD~2", &[]);
    is(&bench, "HEAD~3", &["b"]);
    bench.is_whole();
}

#[rstest::rstest]
#[case::continues(&["rebase", "--continue"])]
#[case::committed(&["commit", "-qm", "by hand"])]
fn conflict_that_a_human_resolves(#[case] then: &[&str]) {
    let bench = Bench::new();
    bench.agent("a", "f", &lines("agent", 9));
    bench.git(&["commit", "-qam", "a"]);
    bench.agent_commit("b", "two");
    bench.git(&["checkout", "-q", "-b", "base", "HEAD~2"]);
    bench.write("f", lines("hand", 9));
    bench.git(&["commit", "-qam", "hand"]);
    bench.git(&["checkout", "-q", "main"]);
    bench.stops(&["rebase", "-q", "base"]);
    bench.write("f", &(lines("hand", 4) + &lines("agent", 5)));
    bench.git(&["add", "f"]);
    bench.git(then);
    if bench.world.repo().join(".git/rebase-merge").exists() {
        bench.git(&["rebase", "--continue"]);
    }
    is(&bench, "HEAD~1", &["a"]);
    is(&bench, "HEAD", &["b"]);
    is(&bench, "base", &[]);
    assert_eq!(bench.all().len(), 2);
    bench.is_whole();
}

#[test]
fn a_rebase_that_is_given_up_changes_nothing() {
    let bench = Bench::new();
    bench.agent("a", "f", &lines("agent", 9));
    bench.git(&["commit", "-qam", "a"]);
    bench.git(&["checkout", "-q", "-b", "base", "HEAD~1"]);
    bench.write("f", lines("hand", 9));
    bench.git(&["commit", "-qam", "hand"]);
    bench.git(&["checkout", "-q", "main"]);
    bench.stops(&["rebase", "-q", "base"]);
    bench.git(&["rebase", "--abort"]);
    is(&bench, "HEAD", &["a"]);
    bench.is_whole();
    bench.agent_commit("b", "two");
    is(&bench, "HEAD", &["b"]);
    bench.is_whole();
}

#[test]
fn work_that_waits_goes_through_a_rebase_with_autostash() {
    let bench = bench();
    bench.git(&["checkout", "-q", "-b", "base", "HEAD~3"]);
    bench.human_commit("hand");
    bench.git(&["checkout", "-q", "main"]);
    bench.agent("d", "one", &(lines("one", 6) + &lines("new", 6)));
    bench.git(&["rebase", "-q", "--autostash", "base"]);
    bench.git(&["commit", "-qam", "d"]);
    is(&bench, "HEAD", &["d"]);
    is(&bench, "HEAD~1", &["c"]);
    bench.is_whole();
}

#[test]
fn rebase_with_merges_kept() {
    let bench = bench();
    bench.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    bench.agent_commit("d", "four");
    bench.git(&["checkout", "-q", "main"]);
    bench.git(&["merge", "-q", "--no-edit", "side"]);
    bench.git(&["checkout", "-q", "-b", "base", "HEAD~3"]);
    bench.human_commit("hand");
    bench.git(&["checkout", "-q", "main"]);
    bench.git(&["rebase", "-q", "--rebase-merges", "base"]);
    is(&bench, "HEAD", &[]);
    is(&bench, "HEAD^1", &["c"]);
    is(&bench, "HEAD^2", &["d"]);
    is(&bench, "HEAD^2^", &["b"]);
    bench.is_whole();
}
