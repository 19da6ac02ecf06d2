//! Files that an agent renames and changes, and that a person changes or renames further before the commit.

use super::desk::Desk;

/// A desk with a file of 12 lines, which an agent renames; `edit` is what it does to the file.
fn renamed_by_an_agent(edit: &str) -> Desk {
    let desk = Desk::new();
    desk.write("old", (1..=12).map(|line| format!("base v{line}\n")).collect::<String>());
    desk.commit_all();
    desk.prompt("s");
    desk.sh(&format!("git mv old new; {edit}"));
    desk.stop("s");
    desk
}

/// Returns how many lines of `path` an agent has, as `blame` says.
fn blamed(desk: &Desk, path: &str) -> u64 {
    let blame = desk.json(&["blame", path]);
    let lines = blame["lines"].as_array().expect("a list").iter().filter(|it| it["owner"] == "agent");
    lines.map(|it| it["end"].as_u64().expect("a number") + 1 - it["start"].as_u64().expect("a number")).sum()
}

/// The agent adds a line after every second one, so that none is in a block of three.
#[rstest::rstest]
#[case::so_much_that_git_sees_no_rename("sed -i 'n;n;s/$/\\nof a person, with many words/' new", 6, false)]
#[case::so_little_that_git_sees_one("sed -i '1i of a person' new", 1, true)]
fn lines_of_a_file_that_an_agent_renames_stay_whose_they_were(
    #[case] edit: &str,
    #[case] human: u64,
    #[case] is_rename: bool,
    #[values(false, true)] saves: bool,
) {
    let desk = renamed_by_an_agent("sed -i 'n;s/$/\\nof the agent/' new");
    desk.sh(edit);
    if saves {
        desk.json(&["save"]);
    }
    desk.commit_all();
    let status = desk.git(&["show", "-M", "--format=", "--name-status"]);
    assert_eq!(status.starts_with('R'), is_rename, "{status}");
    assert_eq!((desk.lines(), blamed(&desk, "new")), ((6, human), 6));
    let kept = &desk.json(&["attribution", "HEAD"])["summary"]["kept_added"];
    assert_eq!(*kept, if is_rename { 0 } else { 12 });
    desk.finish();
}

/// An agent has renamed its file, in which a person had added lines; then the person adds more to that commit.
#[rstest::rstest]
fn lines_of_a_renamed_file_stay_an_agents_if_an_amend_hides_the_rename(#[values(1, 2)] early: usize) {
    let desk = Desk::new();
    desk.turn("s", &[("old", &(1..=5).map(|line| format!("of the agent {line}\n")).collect::<String>())]);
    desk.commit_all();
    desk.sh(&format!("for i in $(seq {early}); do echo \"of a person $i\" >>old; done"));
    desk.prompt("s");
    desk.sh("mv old new");
    desk.stop("s");
    desk.commit_all();
    desk.sh("for i in $(seq 6); do echo \"of a person, later $i\" >>new; done; git commit -qa --amend --no-edit");
    assert!(!desk.git(&["show", "-M", "--format=", "--name-status"]).starts_with('R'));
    assert_eq!(blamed(&desk, "new"), 5);
    desk.finish();
}

/// What the work left under one name is under another one, which git takes for a rename of the base's file.
#[rstest::rstest]
#[case::again("git mv new newer", "newer", 0, false)]
#[case::again_in_an_amend("git mv new newer", "newer", 0, true)]
#[case::again_and_changed_in_an_amend("git mv new newer; sed -i '1i of a person' newer", "newer", 1, true)]
#[case::back("git mv new old", "old", 0, false)]
#[case::back_in_an_amend("git mv new old", "old", 0, true)]
#[case::back_and_changed("git mv new old; sed -i '1i of a person' old", "old", 1, false)]
#[case::into_a_directory_in_an_amend("mkdir d; git mv new d/old", "d/old", 0, true)]
fn lines_of_a_file_that_an_agent_renames_stay_its_own_if_a_person_renames_it_again(
    #[case] rename: &str,
    #[case] path: &str,
    #[case] human: u64,
    #[case] is_amended: bool,
) {
    let desk = renamed_by_an_agent("for i in 1 2 3; do echo 'of the agent' >>new; done");
    if is_amended {
        desk.commit_all();
    }
    desk.sh(rename);
    if is_amended {
        desk.sh("git add -A; git commit -q --amend --no-edit");
    } else {
        assert_eq!((desk.lines_now(), blamed(&desk, path)), ((3, human), 3));
        desk.commit_all();
    }
    assert_eq!((desk.lines(), blamed(&desk, path)), ((3, human), 3));
    assert_eq!(desk.trailers("HEAD").len(), 1);
    desk.finish();
}

/// The record has a deleted file and a new one, since git saw no rename in the first commit.
#[test]
fn an_amend_that_brings_the_old_name_back_keeps_an_agents_lines() {
    let desk = renamed_by_an_agent("for i in $(seq 20); do echo \"of the agent $i\" >>new; done");
    desk.commit_all();
    desk.sh("git mv new old; git commit -q --amend --no-edit");
    assert_eq!((desk.lines(), blamed(&desk, "old")), ((20, 0), 20));
    desk.finish();
}

/// A person gives up the agent's work, and renames the file as it was.
#[test]
fn a_file_that_a_person_takes_back_and_renames_is_not_the_agents() {
    let desk = renamed_by_an_agent("for i in 1 2 3; do echo 'of the agent' >>new; done");
    desk.sh("git reset -q --hard; git mv old newer; echo 'of a person' >>newer");
    assert_eq!((desk.lines_now(), blamed(&desk, "newer")), ((0, 1), 0));
    desk.commit_all();
    assert_eq!((desk.lines(), blamed(&desk, "newer")), ((0, 1), 0));
    desk.finish();
}

/// The agent changes a file and copies it; a person renames the one and deletes the other.
#[test]
fn a_file_that_the_work_still_has_is_the_one_that_a_person_renames() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.sh("cp f copy; echo 'of the copy' >>copy; echo 'of the file' >>f");
    desk.stop("s");
    desk.sh("mv f newer; rm copy; echo 'of a person' >>newer");
    assert_eq!((desk.lines_now(), blamed(&desk, "newer")), ((1, 1), 1));
    desk.commit_all();
    assert_eq!((desk.lines(), blamed(&desk, "newer")), ((1, 1), 1));
    desk.finish();
}

/// A person renames an agent's new file, and makes another one with its name.
#[rstest::rstest]
#[case::in_the_shadow("mv one renamed", "")]
#[case::in_the_shadow_and_edited("mv one renamed", "echo 'of a person' >>renamed")]
#[case::staged_and_edited("git add one; git mv one renamed", "echo 'of a person' >>renamed")]
#[case::out_of_the_stash("git stash -qu; git stash pop -q; mv one renamed", "")]
#[case::set_aside_and_edited("git stash -qu; other; git stash pop -q; mv one renamed", "echo 'of a person' >>renamed")]
fn an_uncommitted_file_whose_name_another_one_gets_stays_an_agents(#[case] script: &str, #[case] edit: &str) {
    let desk = Desk::new();
    let of = |who: &str, count: usize| (1..=count).map(|line| format!("of {who}, number {line}\n")).collect::<String>();
    desk.turn("s", &[("one", &of("the agent", 5))]);
    for part in script.split("other; ").enumerate() {
        let (at, part) = part;
        if at > 0 {
            desk.turn("t", &[("two", &of("another agent", 5))]);
        }
        desk.sh(part);
    }
    desk.sh(edit);
    desk.write("one", of("a person", 3));
    assert_eq!((blamed(&desk, "one"), blamed(&desk, "renamed")), (0, 5), "not committed");
    desk.commit_all();
    assert_eq!((blamed(&desk, "one"), blamed(&desk, "renamed")), (0, 5));
    desk.finish();
}
