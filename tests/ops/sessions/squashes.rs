//! Lines that `git merge --squash` brings keep their authors: after a conflict, under a new name, and when a person deletes
//! most of them before the commit.

use super::{
    desk::{Desk, words},
    moved::{blamed, command, expected, lines},
};
use crate::support::template::Template;

/// `f` and `w` of twenty lines. On `topic`, the session `a` has changed a line near the end of each, and added `n`.
static TOPIC: Template = Template::new(|world| {
    let desk = Desk::begin(world);
    desk.write("f", lines(&[]));
    desk.write("w", lines(&[]));
    desk.commit_all();
    desk.git(&["checkout", "-q", "-b", "topic"]);
    let script = "sed -i 's/^line 15$/a fifteen/; s/^line 16$/a sixteen/' f; sed -i 's/^line 18$/a eighteen/' w
        for at in 1 2 3 4 5 6 7 8 9; do echo \"a has line $at\" >>n; done";
    command(&desk, "a", script);
    desk.commit_all();
    desk.git(&["checkout", "-q", "main"]);
});

fn with_topic() -> Desk {
    Desk::after(&TOPIC)
}

/// A person's rewrite of the lines 1 to 12 of `w`.
fn rewritten() -> String {
    let texts: Vec<String> = (1..=12).map(|at| format!("human words of the number {at}")).collect();
    lines(&texts.iter().zip(1..).map(|(text, at)| (at, text.as_str())).collect::<Vec<_>>())
}

/// Commits what is staged, with a person's message or with git's.
fn commit(desk: &Desk, has_message: bool) {
    let arguments: &[&str] = if has_message { &["-m", "of a person"] } else { &["--no-edit"] };
    desk.git(&[&["commit", "-q"], arguments].concat());
}

#[rstest::rstest]
fn the_agents_side_of_a_conflict_is_the_agents(
    #[values(false, true)] has_message: bool,
    #[values(false, true)] is_rewritten_before: bool,
) {
    let desk = with_topic();
    desk.write("f", lines(&[(3, "human three"), (15, "human fifteen")]));
    if is_rewritten_before {
        desk.write("w", rewritten());
    }
    desk.commit_all();
    assert!(!desk.try_git(&["merge", "-q", "--squash", "topic"]).status.success(), "a conflict");
    desk.git(&["checkout", "-q", "--theirs", "f"]);
    if !is_rewritten_before {
        desk.write("w", rewritten().replace("line 18\n", "a eighteen\n"));
    }
    desk.git(&["add", "f", "w"]);
    commit(&desk, has_message);
    assert_eq!(blamed(&desk, "f"), ["a fifteen: a", "a sixteen: a"]);
    assert_eq!(blamed(&desk, "w"), expected(&desk, "w"));
    assert_eq!(blamed(&desk, "w").len(), 13);
    assert_eq!(blamed(&desk, "n"), expected(&desk, "n"));
    desk.finish();
}

/// Both changed the same line of both files; a person takes the agent's side in one, and the person's in the other.
#[rstest::rstest]
fn each_side_of_a_conflict_has_its_author(#[values(false, true)] has_message: bool) {
    let desk = with_topic();
    desk.write("f", lines(&[(15, "human fifteen")]));
    desk.write("w", rewritten().replace("line 18\n", "human eighteen\n"));
    desk.commit_all();
    assert!(!desk.try_git(&["merge", "-q", "--squash", "topic"]).status.success(), "a conflict");
    desk.git(&["checkout", "-q", "--theirs", "f"]);
    desk.git(&["checkout", "-q", "--ours", "w"]);
    desk.git(&["add", "f", "w"]);
    commit(&desk, has_message);
    assert_eq!(blamed(&desk, "f"), ["a fifteen: a", "a sixteen: a"]);
    assert_eq!(blamed(&desk, "w"), expected(&desk, "w"));
    assert_eq!(blamed(&desk, "w").len(), 13);
    desk.finish();
}

/// Renames the agent's files on `topic`, and returns the repository with the squash committed on `main`.
fn squashed_after(script: &str, has_message: bool, is_ahead: bool) -> Desk {
    let desk = with_topic();
    if is_ahead {
        desk.write("g", "of a person\n");
        desk.commit_all();
    }
    desk.sh(&format!("git checkout -q topic; {script}; git commit -qam renamed; git checkout -q main"));
    desk.git(&["merge", "-q", "--squash", "topic"]);
    commit(&desk, has_message);
    desk
}

#[rstest::rstest]
#[case::of_a_new_file("git mv n renamed", "renamed", 9)]
#[case::of_an_old_file("git mv w renamed", "renamed", 1)]
#[case::of_an_old_file_that_is_changed("git mv w renamed; sed -i '1i human zero' renamed", "renamed", 2)]
#[case::into_a_directory("mkdir d; git mv f w n d", "d/n", 9)]
fn a_file_that_was_renamed_on_the_branch_keeps_its_authors(
    #[case] script: &str,
    #[case] path: &str,
    #[case] count: usize,
    #[values((false, false), (true, true))] (has_message, is_ahead): (bool, bool),
) {
    let desk = squashed_after(script, has_message, is_ahead);
    assert_eq!(blamed(&desk, path), expected(&desk, path));
    assert_eq!(blamed(&desk, path).len(), count);
    desk.finish();
}

/// The branch renames a file that the agent has created, and changes it, or has no other work of an agent.
#[rstest::rstest]
#[case::and_changed("git mv n renamed; sed -i '1i human zero' renamed", 10)]
#[case::and_changed_later("git mv n renamed; git commit -qm renamed; echo 'human ten' >>renamed", 10)]
#[case::alone("git mv n renamed; git checkout -q main -- f w", 9)]
fn a_new_file_that_was_renamed_on_the_branch_keeps_its_authors(
    #[case] script: &str,
    #[case] count: usize,
    #[values((false, true), (true, false))] (has_message, is_ahead): (bool, bool),
) {
    let desk = squashed_after(script, has_message, is_ahead);
    assert_eq!(blamed(&desk, "renamed"), expected(&desk, "renamed"));
    assert_eq!(blamed(&desk, "renamed").len(), count);
    desk.finish();
}

#[rstest::rstest]
#[case::at_the_end("sed -i 3,9d n", 2, false)]
#[case::at_the_end_with_a_message("sed -i 3,9d n", 2, true)]
#[case::between("sed -i 2,8d n", 2, true)]
#[case::every_other("sed -i '2d; 4d; 6d; 8d; 9d' n", 4, false)]
#[case::all_but_one("sed -i '1,4d; 6,9d' n", 1, true)]
#[case::and_others_instead("sed -i '3,9s/^a has/human words instead of/' n", 9, false)]
fn what_a_person_leaves_of_a_squash_is_the_agents(
    #[case] script: &str,
    #[case] count: usize,
    #[case] has_message: bool,
) {
    let desk = with_topic();
    desk.git(&["merge", "-q", "--squash", "topic"]);
    desk.sh(&format!("{script}; git checkout -q HEAD -- f w; git add n"));
    commit(&desk, has_message);
    assert_eq!(desk.git(&["diff", "--name-only", "HEAD~"]), "n");
    assert_eq!(blamed(&desk, "n"), expected(&desk, "n"));
    assert_eq!(blamed(&desk, "n").len(), count);
    desk.finish();
}

/// Git has the same notes after a pick that the user gave up, even after a save that saw the lines come. So a few short lines are no
/// evidence.
#[rstest::rstest]
fn what_a_person_leaves_of_a_pick_is_no_persons(
    #[values("sed -i 3,9d n", "sed -i '1,4d; 6,9d' n", "sed -i 6,9d n")] script: &str,
    #[values(false, true)] is_ahead: bool,
    #[values(false, true)] has_message: bool,
    #[values(false, true)] is_saved: bool,
) {
    let desk = with_topic();
    if is_ahead {
        desk.write("g", "of a person\n");
        desk.commit_all();
    }
    desk.sh("git cherry-pick -n topic; git checkout -q HEAD -- f w");
    if is_saved {
        desk.json(&["save"]);
    }
    desk.sh(&format!("{script}; echo 'human line' >>n; git add n"));
    let before = blamed(&desk, "n");
    commit(&desk, has_message);
    let author = if script == "sed -i 6,9d n" { "a" } else { "unknown" };
    let expected: Vec<String> =
        expected(&desk, "n").iter().map(|line| line.replace(": a", &format!(": {author}"))).collect();
    assert_eq!(blamed(&desk, "n"), expected);
    assert_eq!(before, expected);
    desk.finish();
}

/// The user gives up what git has picked into the index, and types other lines, one of which is common.
#[rstest::rstest]
fn a_common_line_is_not_the_agents_after_the_user_gives_a_pick_up(
    #[values(false, true)] has_hooks: bool,
    #[values(false, true)] is_saved: bool,
) {
    let desk = Desk::new();
    if !has_hooks {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    desk.write("n", "first line of a person\n");
    desk.commit_all();
    desk.git(&["checkout", "-q", "-b", "side"]);
    let work = "first line of a person\ndef compute(alpha):\n    value = alpha * 25\n    return None\n";
    desk.turn("a", &[("n", work)]);
    desk.commit_all();
    desk.git(&["checkout", "-q", "main"]);
    desk.sh("git cherry-pick -n side; git restore -SW .");
    desk.write("n", "first line of a person\ndef other(beta):\n    print(beta)\n    return None\n");
    if is_saved {
        desk.json(&["save"]);
    }
    desk.sh("git commit -qam 'of a person'");
    assert_eq!(desk.git(&["log", "-1", "--format=%B"]).trim(), "of a person");
    let lines = blamed(&desk, "n");
    assert!(lines.iter().all(|line| !line.ends_with(": a")), "{lines:?}");
    desk.json(&["save"]);
    let lines = blamed(&desk, "n");
    assert!(lines[..3].iter().all(|line| line.ends_with(": human")), "{lines:?}");
    let common = if has_hooks { "    return None: unknown" } else { "    return None: human" };
    assert_eq!(lines[3], common);
    desk.finish();
}

/// The agent's commit is on a branch that HEAD has left, and nothing in git's state says that its work is here.
#[rstest::rstest]
fn a_line_that_a_person_and_an_agent_typed_on_two_branches_is_the_persons(
    #[values(false, true)] has_hooks: bool,
    #[values(false, true)] is_saved: bool,
) {
    let desk = Desk::new();
    if !has_hooks {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    desk.git(&["checkout", "-q", "-b", "side"]);
    let import = "from collections import OrderedDict, defaultdict\n";
    desk.turn("a", &[("n", &format!("{import}{}", words("a", 1..=5)))]);
    desk.commit_all();
    desk.git(&["checkout", "-q", "main"]);
    desk.write("n", format!("{import}{}", words("human", 1..=5)));
    if is_saved {
        desk.json(&["save"]);
    }
    desk.sh("git add n; git commit -qm 'of a person'");
    desk.json(&["save"]);
    let lines = blamed(&desk, "n");
    assert!(lines.iter().all(|line| line.ends_with(": human")), "{lines:?}");
    desk.finish();
}

/// Git runs no hooks. A save in between knows the lines of a commit that is based on HEAD; else, nothing but so few lines shows
/// that they are of the agent.
#[rstest::rstest]
fn what_a_person_leaves_of_work_that_git_brings_without_hooks_is_known_if_a_save_saw_it(
    #[values("git merge -q --squash side", "git cherry-pick -n side")] bring: &str,
    #[values(false, true)] is_ahead: bool,
    #[values(false, true)] is_saved: bool,
) {
    let desk = Desk::new();
    desk.git(&["config", "core.hooksPath", "/dev/null"]);
    desk.git(&["checkout", "-q", "-b", "side"]);
    desk.turn("a", &[("n", &words("a", 1..=9))]);
    desk.commit_all();
    desk.git(&["checkout", "-q", "main"]);
    if is_ahead {
        desk.write("g", "of a person\n");
        desk.commit_all();
        desk.json(&["save"]);
    }
    desk.sh(bring);
    if is_saved {
        desk.json(&["save"]);
    }
    desk.sh("sed -i 3,9d n; echo 'human line' >>n; git add n; git commit -qm 'of a person'");
    desk.json(&["save"]);
    let author = if is_saved && !is_ahead { "a" } else { "human" };
    let expected: Vec<String> = words("a", 1..=2).lines().map(|line| format!("{line}: {author}")).collect();
    let expected = [expected, vec!["human line: human".into()]].concat();
    assert_eq!(blamed(&desk, "n"), expected);
    desk.finish();
}
