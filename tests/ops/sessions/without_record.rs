//! Who wrote the lines of commits that have no record.

use super::desk::Desk;
use crate::support::World;

impl Desk {
    /// Returns the owner of the last line of `path`.
    fn last_owner(&self, path: &str) -> String {
        let blame = self.json(&["blame", path]);
        let last = blame["lines"].as_array().and_then(|lines| lines.last()).expect("a line");
        last["owner"].as_str().expect("a word").to_owned()
    }
}

/// A commit of a topic branch was made before `enable`, so that nothing is known of its author. Git makes it again.
#[rstest::rstest]
#[case::rebased("git rebase -q main")]
#[case::amended("git commit -q --amend -m amended")]
#[case::squashed("GIT_SEQUENCE_EDITOR=\"sed -i '2s/pick/squash/'\" git rebase -q -i HEAD~2")]
#[case::picked("git switch -q main; git cherry-pick topic~; git cherry-pick topic")]
fn lines_from_before_enable_stay_unknown(#[case] script: &str, #[values(true, false)] with_hooks: bool) {
    let desk = Desk::on(&World::with_commit().with_clock());
    desk.sh("git switch -qc topic; echo one >x; git add x; git commit -qm one; echo two >>x; git commit -qam two");
    desk.sh("git switch -q main; git commit -q --allow-empty -m other");
    desk.world.next_second();
    desk.sh("git checkpoint enable -q; git switch -q topic");
    if !with_hooks {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    assert_eq!(desk.last_owner("x"), "unknown");
    desk.sh(script);
    assert_eq!(desk.last_owner("x"), "unknown");
    desk.json(&["save"]);
    assert_eq!(desk.last_owner("x"), "unknown");
    // What is committed from now on is a person's.
    desk.sh("echo three >>x; git commit -qam three");
    assert_eq!(desk.last_owner("x"), "human");
    desk.finish();
}

/// A commit from before `enable` is made again together with an agent's work, so that the new commit has a record.
#[rstest::rstest]
#[case::amended("git commit -qa --amend --no-edit")]
#[case::fixup("git commit -qam A; GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -qi HEAD~2")]
fn lines_from_before_enable_stay_unknown_beside_an_agents(
    #[case] script: &str,
    #[values(true, false)] with_hooks: bool,
) {
    let desk = Desk::on(&World::with_commit().with_clock());
    desk.sh("printf 'old one\nold two\n' >x; echo other >y; git add x y; git commit -qm old");
    desk.world.next_second();
    desk.git(&["checkpoint", "enable", "-q"]);
    if !with_hooks {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    desk.turn("a", &[("x", "old one\nold two\nan agent has written this line\n")]);
    desk.sh("echo mine >z; git add z");
    desk.sh(script);
    desk.json(&["save"]);
    let owners = |path: &str| {
        let blame = desk.json(&["blame", path]);
        let lines = blame["lines"].as_array().expect("lines");
        lines.iter().map(|line| line["owner"].as_str().expect("a word").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(owners("x"), ["unknown", "agent"]);
    assert_eq!(owners("y"), ["unknown"]);
    // The record has the person's line.
    assert_eq!(owners("z"), ["human"]);
    desk.finish();
}

/// A branch begins at an agent's checkpoint, or git copies one to a branch. A person may have changed it.
#[rstest::rstest]
#[case::itself("")]
#[case::amended("echo mine >>n; git commit -q --amend -a --no-edit")]
#[case::of_the_person("echo mine >>n; git commit -q --amend -a --no-edit --reset-author")]
#[case::picked("git branch -q copied; git switch -q main; git cherry-pick copied")]
fn an_agents_checkpoint_in_a_branch_is_unknown(#[case] script: &str) {
    let desk = Desk::on(&World::with_lines().with_clock());
    desk.turn("a", &[("n", "an agent has written this line\n")]);
    let checkpoint = desk.json(&["show"])["id"].as_str().expect("an id").to_owned();
    desk.remove("n");
    desk.git(&["switch", "-qc", "rescue", &checkpoint]);
    desk.sh(script);
    assert_eq!(desk.last_owner("n"), "unknown");
    desk.finish();
}
