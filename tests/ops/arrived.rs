//! A forge squashes or rebases a branch without hooks and trailers, and the commits come back into the clone that has the records.

use super::{
    ci::sh,
    sharing::{HISTORY, Team},
};
use crate::support::processes::described;

const FIRST: &str =
    "the first line of a work\nthe second line of a work\nthe third line of a work\nand one more of the work";
const SECOND: &str = "another file begins here\nit has a second telling line\nand it ends with the third";

/// Two commits of an agent and one of a person on a branch, which is pushed; then main is checked out.
fn on_a_branch() -> Team {
    let team = Team::of(&["dev"]);
    sh(&team, "dev", "git switch -qc topic");
    team.work("dev", "x", FIRST);
    sh(
        &team,
        "dev",
        "printf 'a line of a person\\nand another one of the person\\n' >y; git add y; git commit -qm mine",
    );
    team.work("dev", "z", SECOND);
    sh(&team, "dev", "git push -q origin topic; git switch -q main");
    team
}

/// Runs `script` in a clone without hooks, and pushes its main.
fn forge(team: &Team, script: &str) {
    sh(
        team,
        "dev",
        &format!(
            "git clone -qb main ../server.git ../forge; cd ../forge
            git config user.name Forge; git config user.email forge@example.com; git config core.hooksPath /dev/null
            {script}
            git push -q origin HEAD:main"
        ),
    );
}

/// Returns how many lines of the file are the agent's, and how many it has.
fn lines(team: &Team, file: &str) -> (usize, usize) {
    let blamed = team.done("dev", &["blame", file]);
    (blamed.lines().filter(|line| line.contains("s-dev")).count(), blamed.lines().count())
}

const SQUASH: &str = "git merge -q --squash origin/topic >../log; git commit -qm 'buttons (#12)'";
const EDITED: &str =
    "git merge -q --squash origin/topic >../log; echo 'the forge has one, too' >>x; git commit -qam 'edited'";
const REBASE: &str =
    "echo other >other; git add other; git commit -qm other; git cherry-pick origin/main..origin/topic >../log";
const PULL: &str = "git pull -q --ff-only origin main; git branch -qD topic";
/// The next command that writes looks, if no hook has.
const NEXT: &str = "git checkpoint save -q || :";

#[rstest::rstest]
#[case::squash(SQUASH, PULL, (4, 4))]
#[case::squash_with_a_message_of_another("git merge -q --squash origin/topic >../log; git commit -qm x --author 'F <f@example.com>'", PULL, (4, 4))]
#[case::squash_while_the_branch_is_kept(SQUASH, "git pull -q --ff-only origin main", (4, 4))]
#[case::branch_deleted_before(SQUASH, "git branch -qD topic; git pull -q --ff-only origin main", (4, 4))]
#[case::edited(EDITED, PULL, (4, 5))]
#[case::rebase(REBASE, PULL, (4, 4))]
#[case::reset(SQUASH, "git fetch -q; git reset -q --hard origin/main", (4, 4))]
#[case::switch(SQUASH, "git fetch -q; git switch -qc other origin/main", (4, 4))]
#[case::no_hooks(SQUASH, "git -c core.hooksPath=/dev/null pull -q --ff-only origin main", (4, 4))]
#[case::merge(SQUASH, "echo o >own; git add own; git commit -qm own; git pull -q --no-rebase --no-edit origin main", (4, 4))]
#[case::reset_then_commit(SQUASH, "git fetch -q; git reset -q --hard origin/main; echo o >own; git add own; git commit -qm own", (4, 4))]
#[case::merged_into_the_branch(SQUASH, "git fetch -q; git switch -q topic; git merge -q --no-edit origin/main; git switch -q main; git pull -q --ff-only origin main", (4, 4))]
#[case::rebased_on_it(SQUASH, "echo o >own; git add own; git commit -qm own; git pull -q --rebase origin main", (4, 4))]
#[case::worktree(SQUASH, "git worktree add -q ../linked topic; git pull -q --ff-only origin main", (4, 4))]
fn what_a_forge_has_made_is_found(#[case] button: &str, #[case] arrival: &str, #[case] expected: (usize, usize)) {
    let team = on_a_branch();
    forge(&team, button);
    sh(&team, "dev", &format!("{arrival}; {NEXT}"));
    assert_eq!((lines(&team, "x"), lines(&team, "y"), lines(&team, "z")), (expected, (0, 2), (3, 3)));
    let before = team.id("dev", HISTORY);
    assert!(!before.is_empty());
    sh(&team, "dev", NEXT);
    sh(&team, "dev", "git switch -qc more HEAD~1; git switch -q -");
    assert_eq!(team.id("dev", HISTORY), before);
    team.assert_sound(&["dev"]);
}

/// A person has typed three of the lines in another clone.
#[rstest::rstest]
#[case::branch_is_kept(":")]
#[case::branch_is_gone("git branch -qD topic; git push -q origin :topic; git fetch -qp")]
fn common_lines_stay_human(#[case] branch: &str) {
    let team = Team::of(&["dev"]);
    sh(&team, "dev", "git switch -qc topic");
    let work = [
        "import os",
        "import sys",
        "import re",
        "def work_of_the_agent():",
        "    return os.getcwd()",
        "work()",
        "end()",
    ];
    team.work("dev", "x", &work.join("\n"));
    sh(&team, "dev", &format!("git push -q origin topic; git switch -q main; {branch}"));
    forge(&team, "printf 'import os\\nimport sys\\nimport re\\nmine()\\n' >x; git add x; git commit -qm 'by hand'");
    sh(&team, "dev", &format!("git pull -q --ff-only origin main; {NEXT}"));
    assert_eq!(lines(&team, "x"), (0, 4));
}

/// Before a command has written anything, readers do not say that a person wrote the lines.
#[test]
fn readers_do_not_know_before_a_command_has_looked() {
    let team = on_a_branch();
    forge(&team, SQUASH);
    sh(&team, "dev", "git -c core.hooksPath=/dev/null pull -q --ff-only origin main; git branch -qD topic");
    let before = team.id("dev", HISTORY);
    let blamed = team.done("dev", &["blame", "x"]);
    assert_eq!(blamed.lines().filter(|line| line.contains(" unknown ")).count(), 4, "{blamed}");
    let explained = described(&team.run("dev", &["explain", "HEAD"]));
    assert!(!explained.contains("human") && explained.contains("git checkpoint save"), "{explained}");
    assert_eq!(team.id("dev", HISTORY), before);
    sh(&team, "dev", "git checkpoint save -q || :");
    assert_eq!(lines(&team, "x"), (4, 4));
}

/// What another clone says about the commit decides nothing here.
#[test]
fn records_of_others_decide_nothing() {
    let team = Team::of(&["dev", "eve"]);
    sh(&team, "eve", "git switch -qc topic");
    team.work("eve", "x", FIRST);
    sh(&team, "eve", "git push -q origin topic");
    team.done("eve", &["push"]);
    team.work("dev", "own", SECOND);
    forge(&team, SQUASH);
    sh(&team, "dev", "git fetch -q origin topic");
    team.done("dev", &["fetch"]);
    let before = team.id("dev", HISTORY);
    sh(&team, "dev", &format!("git pull -q --no-rebase --no-edit origin main; {NEXT}"));
    assert_eq!(team.id("dev", HISTORY), before);
}

/// A person has made the same small change by hand, and the branch with the agent's is still there.
#[test]
fn a_small_change_stays_human_while_the_branch_is_there() {
    let team = Team::of(&["dev"]);
    sh(&team, "dev", "git switch -qc topic");
    team.work("dev", "x", "version = 2");
    sh(&team, "dev", "git switch -q main");
    forge(&team, "echo 'version = 2' >x; git add x; git commit -qm 'by hand'");
    sh(&team, "dev", &format!("git pull -q --ff-only origin main; {NEXT}"));
    assert_eq!(lines(&team, "x"), (0, 1));
}

/// A forge has rebased a branch that is kept, without trailers: its commit has the author, the date and the subject of the agent's.
#[test]
fn a_small_change_is_the_agents_if_the_forge_has_copied_its_commit() {
    let team = Team::of(&["dev"]);
    sh(&team, "dev", "seq 20 >x; git add x; git commit -qm base; git push -q origin main; git switch -qc topic");
    let work = "git checkpoint session prompt s-dev -q -m x; sed -i '3s/.*/version = 2/' x; git checkpoint session stop s-dev -q";
    sh(&team, "dev", &format!("{work}; git commit -qam work"));
    sh(&team, "dev", "git push -q origin topic; git switch -q main");
    // The file has other changes there, so that only the patch is the same.
    let script = "sed -i '18s/.*/eighteen/' x; git commit -qam other; git cherry-pick origin/topic >../log
        git commit -q --amend -m \"$(git log -1 --format=%s)\"";
    forge(&team, script);
    sh(&team, "dev", &format!("git pull -q --ff-only origin main; {NEXT}"));
    assert_eq!(lines(&team, "x"), (1, 20));
}

/// In another clone, a person has taken one of the files of an agent's commit, and typed the other one.
#[rstest::rstest]
#[case::branch_is_kept(":")]
#[case::branch_is_gone("git branch -qD topic; git push -q origin :topic")]
fn a_person_took_one_file_of_two(#[case] branch: &str, #[values(":", "git checkpoint ci relink HEAD")] then: &str) {
    let team = Team::of(&["dev"]);
    sh(&team, "dev", "git switch -qc topic");
    let second = "def render(rows):\n    text = join(rows, by_comma)\n    return text.strip()";
    sh(
        &team,
        "dev",
        &format!("git checkpoint session prompt s-dev -q -m x; printf '{FIRST}\\n' >x; printf '{second}\\n' >z"),
    );
    sh(
        &team,
        "dev",
        "git checkpoint session stop s-dev -q; git add x z; git commit -qm both; git push -q origin topic; git switch -q main",
    );
    let own = "def render(lines):\\n    text = join(lines, by_tab)\\n    return text.rstrip()\\n";
    forge(&team, &format!("git checkout -q origin/topic -- x; printf '{own}' >z; git add z; git commit -qm 'by hand'"));
    sh(&team, "dev", &format!("{branch}; git pull -q --ff-only origin main; {NEXT}; {then}"));
    assert_eq!((lines(&team, "x"), lines(&team, "z")), ((4, 4), (0, 3)));
}
