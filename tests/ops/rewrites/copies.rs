//! Commits copied, undone and merged: cherry-pick, revert, merge, and mail.

use git_checkpoint::testing::model::record::How;

use super::{World, lines};
use crate::support::template::Template;

/// On `main` a base; on `work`, which is not checked out, commits of the sessions a, b and c.
static START: Template = Template::new(|world| {
    let world = world.commit_old();
    world.git(&["checkout", "-q", "-b", "work"]);
    for (session, path) in [("a", "one"), ("b", "two"), ("c", "three")] {
        world.agent_commit(session, path);
    }
    world.git(&["checkout", "-q", "main"]);
});

fn world() -> World {
    World::copied(&START)
}

fn is(world: &World, revision: &str, sessions: &[&str]) {
    assert_eq!(world.sessions(revision), sessions, "{}", world.message(revision));
}

#[rstest::rstest]
#[case::plain(&[])]
#[case::named(&["-x"])]
#[case::signed(&["-s"])]
#[case::edited(&["-e"])]
#[case::onto_the_parent(&["--ff"])]
fn a_cherry_pick_is_a_copy(#[case] arguments: &[&str]) {
    let world = world();
    world.human_commit("hand");
    world.git(&[&["cherry-pick"], arguments, &["work~1"]].concat());
    is(&world, "HEAD", &["b"]);
    assert_eq!(world.how("HEAD"), [How::Copy]);
    assert_eq!(world.ids("HEAD"), world.ids("work~1"));
    assert_eq!(world.all().len(), 3);
    world.is_whole();
}

#[test]
fn a_cherry_pick_of_a_range() {
    let world = world();
    world.human_commit("hand");
    world.git(&["cherry-pick", "main~1..work"]);
    is(&world, "HEAD~2", &["a"]);
    is(&world, "HEAD~1", &["b"]);
    is(&world, "HEAD", &["c"]);
    assert_eq!(world.all().len(), 3);
    world.is_whole();
}

/// Names may be of blanks alone, and of what git prints beside them.
#[rstest::rstest]
#[case::blanks(" /x")]
#[case::blanks_and_an_id(" /0123456789012345678901234567890123456789")]
#[case::a_dash("-/x")]
fn a_cherry_pick_without_a_commit_of_a_strange_name(#[case] path: &str) {
    let world = world();
    world.git(&["checkout", "-q", "work"]);
    world.agent_commit("d", path);
    world.git(&["checkout", "-q", "main"]);
    world.human_commit("hand");
    world.git(&["cherry-pick", "-n", "work~1", "work"]);
    world.git(&["commit", "-qm", "two at once"]);
    is(&world, "HEAD", &["c", "d"]);
    assert!(world.message("HEAD").contains("Checkpoint: "), "{}", world.message("HEAD"));
    world.is_whole();
}

/// One file that many commits change keeps none of another one from being found.
#[test]
fn a_file_that_is_changed_in_each_commit_hides_no_other() {
    let world = world();
    world.git(&["checkout", "-q", "work"]);
    world.sh("for n in $(seq 320); do echo $n >busy; git add busy; git commit -qm $n; done");
    world.git(&["checkout", "-q", "main"]);
    world.sh("git checkout work -- busy; git cherry-pick -n work~320 work~322; git commit -qm 'with it'");
    is(&world, "HEAD", &["a", "c"]);
    world.is_whole();
}

#[test]
fn a_cherry_pick_without_a_commit() {
    let world = world();
    world.human_commit("hand");
    world.git(&["cherry-pick", "-n", "work~2", "work"]);
    world.git(&["commit", "-qm", "two at once"]);
    is(&world, "HEAD", &["a", "c"]);
    world.is_whole();
}

#[test]
fn a_cherry_pick_with_a_conflict() {
    let world = World::with_old_commit();
    world.git(&["checkout", "-q", "-b", "work"]);
    world.agent("a", "f", &lines("agent", 9));
    world.git(&["commit", "-qam", "a"]);
    world.agent_commit("b", "two");
    world.git(&["checkout", "-q", "main"]);
    world.write("f", lines("hand", 9));
    world.git(&["commit", "-qam", "hand"]);
    world.stops(&["cherry-pick", "main~1..work"]);
    world.write("f", &(lines("hand", 3) + &lines("agent", 6)));
    world.git(&["add", "f"]);
    world.git(&["cherry-pick", "--continue"]);
    is(&world, "HEAD~1", &["a"]);
    is(&world, "HEAD", &["b"]);
    assert_eq!(world.all().len(), 2);
    world.is_whole();
}

#[rstest::rstest]
#[case::commit(&["commit", "-q", "--no-edit"])]
#[case::with_words(&["commit", "-qm", "other words"])]
fn a_cherry_pick_with_a_conflict_and_a_commit(#[case] then: &[&str]) {
    let world = World::with_old_commit();
    world.git(&["checkout", "-q", "-b", "work"]);
    world.agent("a", "f", &lines("agent", 9));
    world.git(&["commit", "-qam", "a"]);
    world.git(&["checkout", "-q", "main"]);
    world.write("f", lines("hand", 9));
    world.git(&["commit", "-qam", "hand"]);
    world.stops(&["cherry-pick", "work"]);
    world.write("f", &(lines("hand", 3) + &lines("agent", 6)));
    world.git(&["add", "f"]);
    world.git(then);
    is(&world, "HEAD", &["a"]);
    world.is_whole();
    world.human_commit("hand");
    is(&world, "HEAD", &[]);
    world.is_whole();
}

#[test]
fn a_cherry_pick_keeps_the_work_that_waits() {
    let world = world();
    world.agent("d", "four", &lines("four", 6));
    world.git(&["cherry-pick", "work~1"]);
    is(&world, "HEAD", &["b"]);
    world.git(&["add", "four"]);
    world.git(&["commit", "-qm", "four"]);
    is(&world, "HEAD", &["d"]);
    world.is_whole();
}

#[rstest::rstest]
#[case::plain(&[])]
#[case::no_commit(&["-n"])]
fn a_revert_has_no_record(#[case] arguments: &[&str]) {
    let world = world();
    world.git(&["checkout", "-q", "work"]);
    world.git(&[&["revert", "--no-edit"], arguments, &["HEAD~1"]].concat());
    if !arguments.is_empty() {
        world.git(&["commit", "-qm", "undo two"]);
    }
    assert_eq!(world.named("HEAD"), [""; 0]);
    is(&world, "HEAD", &[]);
    world.is_whole();
}

#[test]
fn a_revert_of_a_revert_brings_the_record_back() {
    let world = world();
    world.git(&["checkout", "-q", "work"]);
    world.git(&["revert", "--no-edit", "HEAD"]);
    is(&world, "HEAD", &[]);
    world.git(&["revert", "--no-edit", "HEAD"]);
    is(&world, "HEAD", &["c"]);
    assert_eq!(world.ids("HEAD"), world.ids("HEAD~2"));
    world.is_whole();
}

/// Git can be set to abbreviate the id in the message.
#[rstest::rstest]
#[case::full("false")]
#[case::abbreviated("true")]
fn a_revert_of_a_revert_without_hooks_among_others_brings_the_lines_back(#[case] reference: &str) {
    let world = world();
    world.git(&["checkout", "-q", "work"]);
    let before = world.git(&["show", "HEAD:three"]);
    world.git(&["config", "revert.reference", reference]);
    let quiet = ["-c", "core.hooksPath=/dev/null"];
    world.git(&[&quiet[..], &["revert", "--no-edit", "HEAD"]].concat());
    world.sh("echo a person >person; git add person");
    world.git(&[&quiet[..], &["commit", "-qm", "a person"]].concat());
    world.git(&[&quiet[..], &["revert", "--no-edit", "HEAD~1"]].concat());
    world.done(&["save", "--allow-empty"]);
    assert_eq!(world.git(&["show", "HEAD:three"]), before);
    let blame = world.done(&["blame", "three"]);
    assert!(!blame.contains("human"), "{blame}");
}

/// Long digits, and words that are also the names of branches, are no ids.
#[test]
fn a_message_that_only_looks_like_a_reverts_is_read_quickly() {
    let world = world();
    world.git(&["checkout", "-q", "work"]);
    world.git(&["branch", "feed"]);
    let mention = "This reverts commit feed.\n";
    let message = format!("long\n\nThis reverts commit {}.\n{}", "f".repeat(200_000), mention.repeat(2_000));
    std::fs::write(world.root().join("message"), message).expect("it can be written");
    world.sh("echo a person >person; git add person; git -c core.hooksPath=/dev/null commit -qF ../message");
    world.done(&["save", "--allow-empty"]);
    let blame = world.done(&["blame", "person"]);
    assert!(blame.contains("human"), "{blame}");
}

#[test]
fn a_revert_while_work_waits() {
    let world = world();
    world.git(&["checkout", "-q", "work"]);
    world.agent("d", "four", &lines("four", 6));
    world.git(&["revert", "--no-edit", "HEAD"]);
    is(&world, "HEAD", &[]);
    world.git(&["add", "four"]);
    world.git(&["commit", "-qm", "four"]);
    is(&world, "HEAD", &["d"]);
    world.is_whole();
}

#[test]
fn a_squash_merge_has_all_records() {
    let world = world();
    world.human_commit("hand");
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["commit", "-q", "--no-edit"]);
    is(&world, "HEAD", &["a", "b", "c"]);
    assert_eq!(world.all().len(), 3);
    world.is_whole();
}

#[test]
fn a_squash_merge_with_other_words() {
    let world = world();
    world.human_commit("hand");
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["commit", "-qm", "other words"]);
    is(&world, "HEAD", &["a", "b", "c"]);
    world.is_whole();
}

#[rstest::rstest]
#[case::before_the_squash(true)]
#[case::in_the_squash(false)]
fn a_squash_merge_keeps_the_one_line_that_a_person_left(#[case] is_committed: bool) {
    let world = World::with_old_commit();
    world.git(&["checkout", "-q", "-b", "work"]);
    world.agent("a", "one", "an agent's\nreplaced\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "a"]);
    let replace = || {
        world.write("one", "an agent's\na person's\n");
        world.git(&["add", "-A"]);
    };
    if is_committed {
        replace();
        world.git(&["commit", "-qm", "by hand"]);
    }
    world.git(&["checkout", "-q", "main"]);
    world.human_commit("hand");
    world.git(&["merge", "-q", "--squash", "work"]);
    replace();
    world.git(&["commit", "-qm", "other words"]);
    is(&world, "HEAD", &["a"]);
    let blame = world.json(&["blame", "--json", "one"]);
    let sessions: Vec<_> = (0..2).map(|at| blame["lines"][at]["session"].as_str()).collect();
    assert_eq!(sessions, [Some("a"), None], "{blame}");
    world.is_whole();
}

/// On `work`, three sessions write a line that a person removes, and a fourth one writes it again. All commits are of one second.
static IN_TURN: Template = Template::new(|world| {
    super::BASE.make(world);
    world.git(&["checkout", "-q", "-b", "work"]);
    for session in ["a", "b", "c"] {
        world.agent_with_tool(session, "one", "a line that comes and goes\nanother\n");
        world.commit_all(session);
        world.write("one", "another\n");
        world.commit_all("by hand");
    }
    world.agent_with_tool("d", "one", "a line that comes and goes\nanother\n");
    world.commit_all("d");
});

#[rstest::rstest]
#[case::merge("git checkout -q main; git merge -q --squash work; git commit -q --no-edit")]
#[case::with_other_words("git checkout -q main; git merge -q --squash work; git commit -qm squashed")]
#[case::rebase("GIT_EDITOR=true GIT_SEQUENCE_EDITOR=\"sed -i '2,\\$s/^pick/squash/'\" git rebase -q -i main")]
#[case::fixup("GIT_SEQUENCE_EDITOR=\"sed -i '2,\\$s/^pick/fixup/'\" git rebase -q -i main")]
fn a_squash_names_the_last_session_that_wrote_a_line(#[case] script: &str) {
    let world = IN_TURN.world();
    world.sh(script);
    let blame = world.json(&["blame", "--json", "one"]);
    assert_eq!(blame["lines"][0]["session"], "d", "{blame}");
    world.is_whole();
}

#[test]
fn a_squash_merge_whose_work_is_all_replaced() {
    let world = world();
    world.git(&["merge", "-q", "--squash", "work"]);
    for path in ["one", "two", "three"] {
        world.write(path, "Quite\nUnlike\n");
    }
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "other words"]);
    is(&world, "HEAD", &[]);
    world.is_whole();
}

#[test]
fn a_squash_merge_onto_the_base_and_with_new_work() {
    let world = world();
    world.git(&["merge", "-q", "--squash", "work"]);
    world.agent("d", "four", &lines("four", 6));
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "all"]);
    is(&world, "HEAD", &["a", "b", "c", "d"]);
    world.is_whole();
}

#[test]
fn a_squash_merge_that_is_given_up() {
    let world = world();
    world.human_commit("hand");
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["reset", "-q", "--hard"]);
    world.human_commit("more");
    is(&world, "HEAD", &[]);
    world.is_whole();
}

#[rstest::rstest]
#[case::fast_forward(&["--ff-only"], &["c"])]
#[case::with_a_commit(&["--no-ff", "--no-edit"], &[])]
#[case::with_words(&["--no-ff", "-m", "merge it"], &[])]
fn a_merge(#[case] arguments: &[&str], #[case] sessions: &[&str]) {
    let world = world();
    world.git(&[&["merge", "-q"], arguments, &["work"]].concat());
    is(&world, "HEAD", sessions);
    assert_eq!(world.all().len(), 3);
    world.is_whole();
}

#[test]
fn a_merge_of_several() {
    let world = world();
    for (branch, session) in [("left", "d"), ("right", "e")] {
        world.git(&["checkout", "-q", "-b", branch, "main"]);
        world.agent_commit(session, branch);
    }
    world.git(&["checkout", "-q", "main"]);
    world.human_commit("hand");
    world.git(&["merge", "-q", "--no-edit", "left", "right", "work"]);
    assert_eq!(world.git(&["rev-list", "--parents", "-1", "HEAD"]).split(' ').count(), 5);
    is(&world, "HEAD", &[]);
    world.is_whole();
}

#[test]
fn a_merge_with_a_conflict_that_a_human_resolves() {
    let world = World::with_old_commit();
    world.git(&["checkout", "-q", "-b", "work"]);
    world.agent("a", "f", &lines("agent", 9));
    world.git(&["commit", "-qam", "a"]);
    world.git(&["checkout", "-q", "main"]);
    world.write("f", lines("hand", 9));
    world.git(&["commit", "-qam", "hand"]);
    world.stops(&["merge", "-q", "work"]);
    world.write("f", &(lines("hand", 3) + &lines("agent", 6)));
    world.git(&["commit", "-qa", "--no-edit"]);
    is(&world, "HEAD^2", &["a"]);
    is(&world, "HEAD", &[]);
    world.is_whole();
}

#[test]
fn a_merge_with_a_conflict_that_an_agent_resolves() {
    let world = World::with_old_commit();
    world.git(&["checkout", "-q", "-b", "work"]);
    world.agent("a", "f", &lines("agent", 9));
    world.git(&["commit", "-qam", "a"]);
    world.git(&["checkout", "-q", "main"]);
    world.write("f", lines("hand", 9));
    world.git(&["commit", "-qam", "hand"]);
    world.stops(&["merge", "-q", "work"]);
    world.agent("b", "f", &lines("resolved", 9));
    world.git(&["commit", "-qa", "--no-edit"]);
    is(&world, "HEAD", &["b"]);
    world.is_whole();
}

#[test]
fn a_merge_keeps_the_work_that_waits() {
    let world = world();
    world.human_commit("hand");
    world.agent("d", "four", &lines("four", 6));
    world.git(&["merge", "-q", "--no-edit", "work"]);
    is(&world, "HEAD", &[]);
    world.git(&["add", "four"]);
    world.git(&["commit", "-qm", "four"]);
    is(&world, "HEAD", &["d"]);
    world.is_whole();
}

#[rstest::rstest]
#[case::plain(&["am", "-q"])]
#[case::three_way(&["am", "-q", "-3"])]
fn mail_brings_the_records_along(#[case] am: &[&str]) {
    let world = world();
    world.human_commit("hand");
    world.git(&["format-patch", "-q", "-o", ".git/mail", "main~1..work"]);
    let mail: Vec<String> =
        ["0001-a-one.patch", "0002-b-two.patch", "0003-c-three.patch"].map(|name| format!(".git/mail/{name}")).to_vec();
    let mail: Vec<&str> = mail.iter().map(String::as_str).collect();
    world.git(&[am, &mail].concat());
    is(&world, "HEAD~2", &["a"]);
    is(&world, "HEAD~1", &["b"]);
    is(&world, "HEAD", &["c"]);
    assert_eq!(world.all().len(), 3);
    world.human_commit("more");
    is(&world, "HEAD", &[]);
    world.relink();
    world.is_whole();
}

#[test]
fn a_trailer_from_elsewhere_names_no_record_here() {
    let world = World::with_old_commit();
    world.write("hand", "by hand\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "from elsewhere\n\nCheckpoint: 0123456789abcdef"]);
    is(&world, "HEAD", &[]);
    assert_eq!(world.failures(), [""; 0]);
    assert_eq!(world.all(), []);
}

#[test]
fn a_revert_with_a_conflict_that_an_agent_resolves() {
    let world = World::with_old_commit();
    world.agent("a", "f", &lines("agent", 9));
    world.git(&["commit", "-qam", "a"]);
    world.write("f", &(lines("hand", 4) + &lines("agent", 9)));
    world.git(&["commit", "-qam", "hand"]);
    world.stops(&["revert", "--no-edit", "HEAD~1"]);
    world.agent("b", "f", &lines("resolved", 9));
    world.git(&["commit", "-qa", "--no-edit"]);
    is(&world, "HEAD", &["b"]);
    assert_eq!(world.named("HEAD").len(), 1);
    world.is_whole();
}
