//! Commits that have different files of one record: what one of them has is not what another one has.

use super::{World, parts::owners};
use crate::support::template::Template;

const PARSE: &str = "def parse(line):\n    fields = line.split(\",\")\n    return [f.strip() for f in fields]\n";
const RENDER: &str = "def render(rows):\n    text = join(rows, by_comma)\n    return text.strip()\n";
const TOTAL: &str = "def total(rows):\n    number = sum(rows, by_row)\n    return number.round()\n";

/// What the person types: each line looks like one of the agent's that was edited.
const OWN_TOTAL: &str = "def total(lines):\\n    number = sum(lines, by_line)\\n    return number.floor()\\n";
const OWN_RENDER: &str = "def render(lines):\\n    text = join(lines, by_tab)\\n    return text.rstrip()\\n";

/// On `b1`, session s1 has written three files in one commit.
static START: Template = Template::new(|world| {
    let world = world.commit_old();
    world.git(&["checkout", "-q", "-b", "b1"]);
    world.turn("s1", || {
        world.write("a.py", PARSE);
        world.write("b.py", RENDER);
        world.write("c.py", TOTAL);
    });
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "three files"]);
    world.git(&["checkout", "-q", "main"]);
});

const AGENT: [&str; 3] = ["agent s1"; 3];
const HUMAN: [&str; 3] = ["human -"; 3];

/// Runs `script` with short words for what happens again and again.
fn run(world: &World, script: &str) {
    let own = |path: &str, text: &str| format!("printf '{text}' >{path}");
    let script = script
        .replace("TAKE", "git checkout -q b1 --")
        .replace("OWN C", &own("c.py", OWN_TOTAL))
        .replace("OWN B", &own("b.py", OWN_RENDER))
        .replace("COMMIT", "git add -A; git commit -q");
    world.sh(&script);
}

#[rstest::rstest]
#[case::amended("TAKE a.py; OWN C; COMMIT -m one; TAKE b.py; sed -i s/floor/ceil/ c.py; COMMIT --amend --no-edit")]
#[case::amended_with_the_file_alone("TAKE a.py; OWN C; COMMIT -m one; TAKE b.py; COMMIT --amend --no-edit")]
#[case::amended_with_the_own_file("TAKE a.py b.py; COMMIT -m one; OWN C; COMMIT --amend --no-edit")]
#[case::fixed_up(
    "TAKE a.py; OWN C; COMMIT -m one; TAKE b.py; sed -i s/floor/ceil/ c.py; COMMIT -m 'fixup! one'; \
     GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash HEAD~2"
)]
#[case::fixed_up_and_nothing_beside_the_first(
    "TAKE a.py; COMMIT -m one; TAKE b.py; OWN C; COMMIT -m 'fixup! one'; \
     GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash HEAD~2"
)]
#[case::amended_in_a_rebase(
    "TAKE a.py; OWN C; COMMIT -m one; echo x >x; COMMIT -m two; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~2; \
     TAKE b.py; sed -i s/floor/ceil/ c.py; COMMIT --amend --no-edit; git rebase --continue"
)]
#[case::squashed(
    "git checkout -q -b t; TAKE a.py; COMMIT -m one; TAKE b.py; OWN C; COMMIT -m two; git checkout -q main; \
     git merge -q --squash t; COMMIT -m both"
)]
#[case::reset(
    "TAKE a.py; COMMIT -m one; TAKE b.py; OWN C; COMMIT -m two; git reset -q --soft HEAD~2; git commit -qm both"
)]
fn two_of_three_files(#[case] script: &str) {
    let world = World::copied(&START);
    run(&world, script);
    assert_eq!(owners(&world, "a.py"), AGENT, "a.py");
    assert_eq!(owners(&world, "b.py"), AGENT, "b.py");
    assert_eq!(owners(&world, "c.py"), HUMAN, "c.py");
    world.is_whole();
}

#[test]
fn an_amend_takes_another_file_than_the_commit() {
    let world = World::copied(&START);
    run(&world, "TAKE a.py; OWN B; COMMIT -m one; TAKE c.py; sed -i s/rstrip/lstrip/ b.py; COMMIT --amend --no-edit");
    assert_eq!(owners(&world, "a.py"), AGENT, "a.py");
    assert_eq!(owners(&world, "b.py"), HUMAN, "b.py");
    assert_eq!(owners(&world, "c.py"), AGENT, "c.py");
}

/// A commit with a part of the record is picked, squashed or rebased, with a conflict in the person's file.
#[rstest::rstest]
#[case::picked("git cherry-pick t || :; OWN C; git add -A; git -c core.editor=true cherry-pick --continue")]
#[case::squashed("git merge -q --squash t || :; OWN C; COMMIT -m both")]
#[case::rebased(
    "git checkout -q t; git rebase main || :; OWN C; git add -A; git -c core.editor=true rebase --continue"
)]
fn with_a_conflict(#[case] script: &str) {
    let world = World::copied(&START);
    let before = "git checkout -q -b t; TAKE a.py; OWN C; COMMIT -m one; git checkout -q main; echo other >c.py; COMMIT -m other";
    run(&world, before);
    run(&world, script);
    assert_eq!(owners(&world, "a.py"), AGENT, "a.py");
    assert_eq!(owners(&world, "c.py"), HUMAN, "c.py");
    world.is_whole();
}

/// Another program amends a commit with a part of the record: its author, time and subject stay, its files may not.
#[test]
fn another_program_takes_the_other_file_along() {
    let world = World::copied(&START);
    run(&world, "TAKE a.py; OWN C; COMMIT -m one; TAKE b.py");
    world.sh("git -c core.hooksPath=/nonexistent commit -q --amend --no-edit; git checkpoint save -q || :");
    assert_eq!(owners(&world, "a.py"), AGENT, "a.py");
    assert_eq!(owners(&world, "b.py"), AGENT, "b.py");
    assert_eq!(owners(&world, "c.py"), HUMAN, "c.py");
}

/// Git has put the agent's file back, and writes the message itself.
#[rstest::rstest]
#[case::one_of_two("git rm -qf c.py")]
#[case::all("git rm -qf c.py b.py")]
fn a_file_that_was_put_back_and_git_writes_the_message(#[case] others: &str) {
    let world = World::copied(&START);
    world.sh("printf 'def base(rows):\\n    return rows\\n' >a.py; git add -A; git commit -qm base");
    world.sh("git checkout -q b1; git rebase -q main -X theirs; git checkout -q main; git merge -q --squash b1");
    world.sh(&format!("git checkout -q HEAD -- a.py; {others}; sed -i 's/rows/lines/' a.py"));
    world.sh("printf 'def parse(lines):\\n    fields = lines.split(\";\")\\n    return fields\\n' >a.py");
    assert_eq!(owners(&world, "a.py"), HUMAN, "before the commit");
    world.sh("git -c core.editor=true commit -qa");
    assert_eq!(owners(&world, "a.py"), HUMAN);
}
