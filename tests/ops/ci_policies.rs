//! What a check says of changes that leave no line: of protected files, of the policies themselves, and of commits without a record.

use super::{
    ci::{json, sh, topic},
    sharing::Team,
};
use crate::support::processes::described;

const AS_AGENT: &str = "git checkpoint session prompt s9 --agent claude-code -q -m please";
const DONE: &str = "git checkpoint session stop s9 -q";

fn protected() -> Team {
    let team = topic();
    sh(
        &team,
        "dev",
        "mkdir prot outside; seq 10 15 >prot/r; seq 20 26 >prot/m; : >prot/e; seq 30 37 >outside/o; printf 'a\\0b' >prot/bin
        git add -A; git commit -qm protected",
    );
    team
}

#[rstest::rstest]
#[case::moved("mv prot/r prot/r2", "an agent moved it")]
#[case::moved_away("mv prot/r outside/r", "an agent moved it")]
#[case::moved_in("mv outside/o prot/o", "an agent moved it")]
#[case::moved_by_git("git mv prot/bin prot/bin2", "an agent moved it")]
#[case::mode("chmod +x prot/m", "an agent changed its mode")]
#[case::made(": >prot/new", "an agent made it, empty")]
#[case::deleted("rm prot/e", "an agent deleted it, empty")]
fn a_protected_file_is_as_people_left_it(#[case] script: &str, #[case] expected: &str) {
    let commit = "git add -A; git commit -qm change";
    let check = |team: &Team| {
        let output = team.run("dev", &["ci", "check", "HEAD", "--human-path", "prot"]);
        (output.status.code(), described(&output))
    };
    let team = protected();
    sh(&team, "dev", &format!("{AS_AGENT}; {script}; {DONE}; {commit}"));
    let (code, said) = check(&team);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("this file has to stay without work of agents; {expected}")), "{said}");
    // A person may do that, also after an agent has done something else.
    let team = protected();
    sh(&team, "dev", &format!("{AS_AGENT}; echo more >>outside/o2; {DONE}; {script}; {commit}"));
    let (code, said) = check(&team);
    assert_eq!(code, Some(0), "{said}");
}

const POLICY: &str =
    "printf '[ci]\\nmax-agent-percentage = 100\\n' >.checkpoint.toml; git add -A; git commit -qm policy";
const CHANGES: &str = "this range changes '.checkpoint.toml'";
const ENDS: &str = "'.checkpoint.toml', which may have the policies, is not the same at";
const WORKTREE: &str = "the policies of '.checkpoint.toml' are those of the worktree";

#[rstest::rstest]
#[case::renamed("POLICY; git tag base; git mv .checkpoint.toml old.toml; git commit -qm tidy", CHANGES)]
#[case::renamed_and_changed_later(
    "POLICY; git tag base; git mv .checkpoint.toml old.toml; git commit -qm tidy; echo '# more' >>old.toml; git commit -qam more",
    CHANGES
)]
#[case::deleted("POLICY; git tag base; git rm -q .checkpoint.toml; git commit -qm tidy", CHANGES)]
#[case::newer_than_the_branch(
    "git switch -qc side; POLICY; git tag base; git switch -q topic; echo >z; git add z; git commit -qm z",
    ENDS
)]
#[case::merged_away(
    "git switch -qc side; POLICY; git tag base; git switch -q topic; git merge -q -s ours -m 'Merge main' side",
    ENDS
)]
#[case::changed_in_the_worktree(
    "POLICY; git tag base; echo >z; git add z; git commit -qm z; echo '# x' >>.checkpoint.toml",
    WORKTREE
)]
#[case::only_in_the_worktree(
    "git tag base; echo >z; git add z; git commit -qm z; echo '# x' >>.checkpoint.toml",
    WORKTREE
)]
#[case::unchanged("POLICY; git tag -am x base; echo >z; git add z; git commit -qm z", "")]
#[case::none("git tag base; echo >z; git add z; git commit -qm z", "")]
fn other_policies_are_noted(#[case] script: &str, #[case] expected: &str) {
    let team = topic();
    sh(&team, "dev", &script.replace("POLICY", POLICY));
    let checked = json(&team.run("dev", &["ci", "check", "base..HEAD", "--format", "json"]));
    let notes: Vec<&str> =
        checked["notes"].as_array().expect("a list").iter().map(|it| it.as_str().expect("text")).collect();
    match expected {
        "" => assert_eq!(notes, [""; 0]),
        _ => assert!(notes.len() == 1 && notes[0].starts_with(expected), "{notes:?}"),
    }
    let said = described(&team.run("dev", &["ci", "check", "base..HEAD", "--format", "github"]));
    assert!(said.contains(expected), "{said}");
}

/// Without a record, only the message says that an agent was at work.
#[test]
fn a_message_that_names_an_agent_is_noted() {
    let team = topic();
    let message = "feat: big\n\nCo-Authored-By: Claude <noreply@anthropic.com>";
    sh(&team, "dev", &format!("seq 1 99 >big; git add big; git -c core.hooksPath=/dev/null commit -qm '{message}'"));
    let checked = json(&team.run("dev", &["ci", "check", "HEAD", "--format", "json"]));
    let id = team.git("dev", &["rev-parse", "--short", "HEAD"]);
    let note = "the message of a commit without a record names claude-code, and its lines do not count as an agent's";
    assert_eq!(checked["notes"], serde_json::json!([format!("{note}: {id}")]), "{checked}");
    for format in ["text", "markdown", "github", "gitlab"] {
        let said = described(&team.run("dev", &["ci", "check", "HEAD", "--format", format]));
        assert!(said.contains("names claude-code"), "{format}: {said}");
    }
    // Where there is a record, it says so itself.
    let checked = json(&team.run("dev", &["ci", "check", "HEAD~2", "--format", "json"]));
    assert_eq!(checked["notes"], serde_json::json!([]), "{checked}");
}

/// The attributes of the range decide what has lines that count.
#[test]
fn lines_that_attributes_hide_are_noted() {
    let team = topic();
    sh(&team, "dev", &format!("git tag base; {AS_AGENT}; seq 1 9 >x.py; {DONE}; git add -A; git commit -qm work"));
    let check =
        || json(&team.run("dev", &["ci", "check", "base..HEAD", "--format", "json", "--max-agent-percentage", "10"]));
    assert_eq!(check()["passed"], false, "{}", check());
    sh(&team, "dev", "mkdir d; echo '*.py -diff' >.gitattributes; git add -A; git commit -q --amend --no-edit");
    let notes = check()["notes"].to_string();
    assert!(notes.contains("this range changes '.gitattributes'"), "{notes}");
    assert!(notes.contains("agents changed files without lines that count: x.py"), "{notes}");
    // Nor has a file with a NUL byte, wherever it may run.
    let nul = format!(
        "git rm -q .gitattributes; {AS_AGENT}; printf '// \\0\\nb\\n' >y.js; {DONE}; git add -A; git commit -qm more"
    );
    sh(&team, "dev", &nul);
    let notes = json(&team.run("dev", &["ci", "check", "HEAD", "--format", "json", "--max-agent-percentage", "10"]));
    let notes = notes["notes"].to_string();
    assert!(notes.contains("without lines that count: y.js"), "{notes}");
    // Where the share does not matter, nor does this.
    let checked = json(&team.run("dev", &["ci", "check", "HEAD", "--format", "json"]));
    assert!(!checked["notes"].to_string().contains("y.js"), "{checked}");
}
