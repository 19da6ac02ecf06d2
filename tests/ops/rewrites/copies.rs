//! Commits copied, undone and merged: cherry-pick, revert, merge, and mail.

use git_checkpoint::testing::model::record::How;

use super::{Bench, lines};

/// On `main` a base; on `work`, which is not checked out, commits of the sessions a, b and c.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.git(&["checkout", "-q", "-b", "work"]);
    for (session, path) in [("a", "one"), ("b", "two"), ("c", "three")] {
        bench.agent_commit(session, path);
    }
    bench.git(&["checkout", "-q", "main"]);
    bench
}

fn is(bench: &Bench, revision: &str, sessions: &[&str]) {
    assert_eq!(bench.sessions(revision), sessions, "{}", bench.message(revision));
}

#[rstest::rstest]
#[case::plain(&[])]
#[case::named(&["-x"])]
#[case::signed(&["-s"])]
#[case::edited(&["-e"])]
#[case::onto_the_parent(&["--ff"])]
fn a_cherry_pick_is_a_copy(#[case] arguments: &[&str]) {
    let bench = bench();
    bench.human_commit("hand");
    bench.git(&[&["cherry-pick"], arguments, &["work~1"]].concat());
    is(&bench, "HEAD", &["b"]);
    assert_eq!(bench.how("HEAD"), [How::Copy]);
    assert_eq!(bench.ids("HEAD"), bench.ids("work~1"));
    assert_eq!(bench.all().len(), 3);
    bench.is_whole();
}

#[test]
fn a_cherry_pick_of_a_range() {
    let bench = bench();
    bench.human_commit("hand");
    bench.git(&["cherry-pick", "main~1..work"]);
    is(&bench, "HEAD~2", &["a"]);
    is(&bench, "HEAD~1", &["b"]);
    is(&bench, "HEAD", &["c"]);
    assert_eq!(bench.all().len(), 3);
    bench.is_whole();
}

#[test]
fn a_cherry_pick_without_a_commit() {
    let bench = bench();
    bench.human_commit("hand");
    bench.git(&["cherry-pick", "-n", "work~2", "work"]);
    bench.git(&["commit", "-qm", "two at once"]);
    is(&bench, "HEAD", &["a", "c"]);
    bench.is_whole();
}

#[test]
fn a_cherry_pick_with_a_conflict() {
    let bench = Bench::new();
    bench.git(&["checkout", "-q", "-b", "work"]);
    bench.agent("a", "f", &lines("agent", 9));
    bench.git(&["commit", "-qam", "a"]);
    bench.agent_commit("b", "two");
    bench.git(&["checkout", "-q", "main"]);
    bench.write("f", lines("hand", 9));
    bench.git(&["commit", "-qam", "hand"]);
    bench.stops(&["cherry-pick", "main~1..work"]);
    bench.write("f", &(lines("hand", 3) + &lines("agent", 6)));
    bench.git(&["add", "f"]);
    bench.git(&["cherry-pick", "--continue"]);
    is(&bench, "HEAD~1", &["a"]);
    is(&bench, "HEAD", &["b"]);
    assert_eq!(bench.all().len(), 2);
    bench.is_whole();
}

#[rstest::rstest]
#[case::commit(&["commit", "-q", "--no-edit"])]
#[case::with_words(&["commit", "-qm", "other words"])]
fn a_cherry_pick_with_a_conflict_and_a_commit(#[case] then: &[&str]) {
    let bench = Bench::new();
    bench.git(&["checkout", "-q", "-b", "work"]);
    bench.agent("a", "f", &lines("agent", 9));
    bench.git(&["commit", "-qam", "a"]);
    bench.git(&["checkout", "-q", "main"]);
    bench.write("f", lines("hand", 9));
    bench.git(&["commit", "-qam", "hand"]);
    bench.stops(&["cherry-pick", "work"]);
    bench.write("f", &(lines("hand", 3) + &lines("agent", 6)));
    bench.git(&["add", "f"]);
    bench.git(then);
    is(&bench, "HEAD", &["a"]);
    bench.is_whole();
    bench.human_commit("hand");
    is(&bench, "HEAD", &[]);
    bench.is_whole();
}

#[test]
fn a_cherry_pick_keeps_the_work_that_waits() {
    let bench = bench();
    bench.agent("d", "four", &lines("four", 6));
    bench.git(&["cherry-pick", "work~1"]);
    is(&bench, "HEAD", &["b"]);
    bench.git(&["add", "four"]);
    bench.git(&["commit", "-qm", "four"]);
    is(&bench, "HEAD", &["d"]);
    bench.is_whole();
}

#[rstest::rstest]
#[case::plain(&[])]
#[case::no_commit(&["-n"])]
fn a_revert_has_no_record(#[case] arguments: &[&str]) {
    let bench = bench();
    bench.git(&["checkout", "-q", "work"]);
    bench.git(&[&["revert", "--no-edit"], arguments, &["HEAD~1"]].concat());
    if !arguments.is_empty() {
        bench.git(&["commit", "-qm", "undo two"]);
    }
    assert_eq!(bench.named("HEAD"), [""; 0]);
    is(&bench, "HEAD", &[]);
    bench.is_whole();
}

#[test]
fn a_revert_of_a_revert_brings_the_record_back() {
    let bench = bench();
    bench.git(&["checkout", "-q", "work"]);
    bench.git(&["revert", "--no-edit", "HEAD"]);
    is(&bench, "HEAD", &[]);
    bench.git(&["revert", "--no-edit", "HEAD"]);
    is(&bench, "HEAD", &["c"]);
    assert_eq!(bench.ids("HEAD"), bench.ids("HEAD~2"));
    bench.is_whole();
}

#[test]
fn a_revert_while_work_waits() {
    let bench = bench();
    bench.git(&["checkout", "-q", "work"]);
    bench.agent("d", "four", &lines("four", 6));
    bench.git(&["revert", "--no-edit", "HEAD"]);
    is(&bench, "HEAD", &[]);
    bench.git(&["add", "four"]);
    bench.git(&["commit", "-qm", "four"]);
    is(&bench, "HEAD", &["d"]);
    bench.is_whole();
}

#[test]
fn a_squash_merge_has_all_records() {
    let bench = bench();
    bench.human_commit("hand");
    bench.git(&["merge", "-q", "--squash", "work"]);
    bench.git(&["commit", "-q", "--no-edit"]);
    is(&bench, "HEAD", &["a", "b", "c"]);
    assert_eq!(bench.all().len(), 3);
    bench.is_whole();
}

#[test]
fn a_squash_merge_with_other_words() {
    let bench = bench();
    bench.human_commit("hand");
    bench.git(&["merge", "-q", "--squash", "work"]);
    bench.git(&["commit", "-qm", "other words"]);
    is(&bench, "HEAD", &["a", "b", "c"]);
    bench.is_whole();
}

#[rstest::rstest]
#[case::before_the_squash(true)]
#[case::in_the_squash(false)]
fn a_squash_merge_keeps_the_one_line_that_a_person_left(#[case] is_committed: bool) {
    let bench = Bench::new();
    bench.git(&["checkout", "-q", "-b", "work"]);
    bench.agent("a", "one", "an agent's\nreplaced\n");
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "a"]);
    let replace = || {
        bench.write("one", "an agent's\na person's\n");
        bench.git(&["add", "-A"]);
    };
    if is_committed {
        replace();
        bench.git(&["commit", "-qm", "by hand"]);
    }
    bench.git(&["checkout", "-q", "main"]);
    bench.human_commit("hand");
    bench.git(&["merge", "-q", "--squash", "work"]);
    replace();
    bench.git(&["commit", "-qm", "other words"]);
    is(&bench, "HEAD", &["a"]);
    let blame = bench.world.json(&["blame", "--json", "one"]);
    let sessions: Vec<_> = (0..2).map(|at| blame["lines"][at]["session"].as_str()).collect();
    assert_eq!(sessions, [Some("a"), None], "{blame}");
    bench.is_whole();
}

#[test]
fn a_squash_merge_whose_work_is_all_replaced() {
    let bench = bench();
    bench.git(&["merge", "-q", "--squash", "work"]);
    for path in ["one", "two", "three"] {
        bench.write(path, "Quite\nUnlike\n");
    }
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "other words"]);
    is(&bench, "HEAD", &[]);
    bench.is_whole();
}

#[test]
fn a_squash_merge_onto_the_base_and_with_new_work() {
    let bench = bench();
    bench.git(&["merge", "-q", "--squash", "work"]);
    bench.agent("d", "four", &lines("four", 6));
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "all"]);
    is(&bench, "HEAD", &["a", "b", "c", "d"]);
    bench.is_whole();
}

#[test]
fn a_squash_merge_that_is_given_up() {
    let bench = bench();
    bench.human_commit("hand");
    bench.git(&["merge", "-q", "--squash", "work"]);
    bench.git(&["reset", "-q", "--hard"]);
    bench.human_commit("more");
    is(&bench, "HEAD", &[]);
    bench.is_whole();
}

#[rstest::rstest]
#[case::fast_forward(&["--ff-only"], &["c"])]
#[case::with_a_commit(&["--no-ff", "--no-edit"], &[])]
#[case::with_words(&["--no-ff", "-m", "merge it"], &[])]
fn a_merge(#[case] arguments: &[&str], #[case] sessions: &[&str]) {
    let bench = bench();
    bench.git(&[&["merge", "-q"], arguments, &["work"]].concat());
    is(&bench, "HEAD", sessions);
    assert_eq!(bench.all().len(), 3);
    bench.is_whole();
}

#[test]
fn a_merge_of_several() {
    let bench = bench();
    for (branch, session) in [("left", "d"), ("right", "e")] {
        bench.git(&["checkout", "-q", "-b", branch, "main"]);
        bench.agent_commit(session, branch);
    }
    bench.git(&["checkout", "-q", "main"]);
    bench.human_commit("hand");
    bench.git(&["merge", "-q", "--no-edit", "left", "right", "work"]);
    assert_eq!(bench.git(&["rev-list", "--parents", "-1", "HEAD"]).split(' ').count(), 5);
    is(&bench, "HEAD", &[]);
    bench.is_whole();
}

#[test]
fn a_merge_with_a_conflict_that_a_human_resolves() {
    let bench = Bench::new();
    bench.git(&["checkout", "-q", "-b", "work"]);
    bench.agent("a", "f", &lines("agent", 9));
    bench.git(&["commit", "-qam", "a"]);
    bench.git(&["checkout", "-q", "main"]);
    bench.write("f", lines("hand", 9));
    bench.git(&["commit", "-qam", "hand"]);
    bench.stops(&["merge", "-q", "work"]);
    bench.write("f", &(lines("hand", 3) + &lines("agent", 6)));
    bench.git(&["commit", "-qa", "--no-edit"]);
    is(&bench, "HEAD^2", &["a"]);
    is(&bench, "HEAD", &[]);
    bench.is_whole();
}

#[test]
fn a_merge_with_a_conflict_that_an_agent_resolves() {
    let bench = Bench::new();
    bench.git(&["checkout", "-q", "-b", "work"]);
    bench.agent("a", "f", &lines("agent", 9));
    bench.git(&["commit", "-qam", "a"]);
    bench.git(&["checkout", "-q", "main"]);
    bench.write("f", lines("hand", 9));
    bench.git(&["commit", "-qam", "hand"]);
    bench.stops(&["merge", "-q", "work"]);
    bench.agent("b", "f", &lines("resolved", 9));
    bench.git(&["commit", "-qa", "--no-edit"]);
    is(&bench, "HEAD", &["b"]);
    bench.is_whole();
}

#[test]
fn a_merge_keeps_the_work_that_waits() {
    let bench = bench();
    bench.human_commit("hand");
    bench.agent("d", "four", &lines("four", 6));
    bench.git(&["merge", "-q", "--no-edit", "work"]);
    is(&bench, "HEAD", &[]);
    bench.git(&["add", "four"]);
    bench.git(&["commit", "-qm", "four"]);
    is(&bench, "HEAD", &["d"]);
    bench.is_whole();
}

#[rstest::rstest]
#[case::plain(&["am", "-q"])]
#[case::three_way(&["am", "-q", "-3"])]
fn mail_brings_the_records_along(#[case] am: &[&str]) {
    let bench = bench();
    bench.human_commit("hand");
    bench.git(&["format-patch", "-q", "-o", ".git/mail", "main~1..work"]);
    let mail: Vec<String> =
        ["0001-a-one.patch", "0002-b-two.patch", "0003-c-three.patch"].map(|name| format!(".git/mail/{name}")).to_vec();
    let mail: Vec<&str> = mail.iter().map(String::as_str).collect();
    bench.git(&[am, &mail].concat());
    is(&bench, "HEAD~2", &["a"]);
    is(&bench, "HEAD~1", &["b"]);
    is(&bench, "HEAD", &["c"]);
    assert_eq!(bench.all().len(), 3);
    bench.human_commit("more");
    is(&bench, "HEAD", &[]);
    bench.relink();
    bench.is_whole();
}

#[test]
fn a_trailer_from_elsewhere_names_no_record_here() {
    let bench = Bench::new();
    bench.write("hand", "by hand\n");
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "from elsewhere\n\nCheckpoint: 0123456789abcdef"]);
    is(&bench, "HEAD", &[]);
    assert_eq!(bench.failures(), [""; 0]);
    assert_eq!(bench.all(), []);
}

#[test]
fn a_revert_with_a_conflict_that_an_agent_resolves() {
    let bench = Bench::new();
    bench.agent("a", "f", &lines("agent", 9));
    bench.git(&["commit", "-qam", "a"]);
    bench.write("f", &(lines("hand", 4) + &lines("agent", 9)));
    bench.git(&["commit", "-qam", "hand"]);
    bench.stops(&["revert", "--no-edit", "HEAD~1"]);
    bench.agent("b", "f", &lines("resolved", 9));
    bench.git(&["commit", "-qa", "--no-edit"]);
    is(&bench, "HEAD", &["b"]);
    assert_eq!(bench.named("HEAD").len(), 1);
    bench.is_whole();
}
