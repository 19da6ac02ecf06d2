//! Ranges of which a shallow clone has only a part: what a check does not see it must not pass.

use super::{
    ci::{json, sh, states, topic},
    sharing::Team,
};
use crate::support::processes::described;

/// A clone of the topic with its three commits and the last one of main, as a job with a depth of 3 has it, with the records.
fn shallow() -> Team {
    let team = topic();
    team.world.sh("git clone -q --depth=3 --branch topic file://$PWD/../server.git ../ci");
    sh(&team, "ci", "git fetch -q --depth=1 origin main:refs/remotes/origin/main");
    team.done("ci", &["fetch"]);
    team
}

/// The clone stays, and a job of a later pipeline cuts its history off: the objects of the commits before are still here.
fn used_again() -> Team {
    let team = shallow();
    sh(
        &team,
        "dev",
        "for at in 1 2; do echo $at >>k; git add k; git commit -qm \"by hand $at\"; done; git push -q origin topic",
    );
    let both = "+topic:refs/remotes/origin/topic +main:refs/remotes/origin/main";
    sh(&team, "ci", &format!("git fetch -q --depth=2 origin {both}; git checkout -qf --detach origin/topic"));
    let cut = team.git("ci", &["rev-list", "--count", "origin/main..HEAD"]);
    assert_eq!((cut.as_str(), team.git("ci", &["cat-file", "-t", "refs/heads/topic"]).as_str()), ("2", "commit"));
    team
}

#[rstest::rstest]
#[case::check(&["ci", "check", "origin/main..HEAD", "--max-agent-percentage", "10"])]
#[case::check_of_both_sides(&["ci", "check", "origin/main...HEAD"])]
#[case::relink(&["ci", "relink", "origin/main..HEAD"])]
#[case::attribution(&["attribution", "origin/main..HEAD"])]
#[case::export(&["attribution", "--format", "git-ai", "origin/main..HEAD"])]
fn commits_that_were_cut_off_are_missed(#[case] arguments: &[&str]) {
    let team = used_again();
    let output = team.run("ci", arguments);
    let said = described(&output);
    assert_eq!(output.status.code(), Some(if arguments[0] == "ci" { 128 } else { 1 }), "{said}");
    assert!(said.contains("this shallow clone begins at") && said.contains("--deepen"), "{said}");
    // The whole history has them.
    sh(&team, "ci", "git fetch -q --unshallow origin");
    let checked = json(&team.run("ci", &["ci", "check", "--format", "json", "origin/main..HEAD"]));
    assert_eq!(checked["commits"], 5, "{checked}");
    team.done("ci", arguments.strip_suffix(&["--max-agent-percentage", "10"]).unwrap_or(arguments));
}

/// One commit needs no more than its parent, and a range that ends where the clone begins is whole.
#[test]
fn what_a_shallow_clone_has_is_checked() {
    let team = shallow();
    let first = team.git("ci", &["rev-list", "--reverse", "origin/main..HEAD"]).lines().next().expect("one").to_owned();
    let checked = json(&team.run("ci", &["ci", "check", "--format", "json", "origin/main..HEAD"]));
    assert_eq!((&checked["commits"], &checked["summary"]["agent_lines"]), (&3.into(), &9.into()), "{checked}");
    for action in ["check", "relink"] {
        team.done("ci", &["ci", action, "origin/main..HEAD"]);
        team.done("ci", &["ci", action, &first]);
    }
}

/// A merge is one, even where the clone begins with it.
#[test]
fn the_first_merge_of_a_shallow_clone_is_left_out() {
    let team = topic();
    sh(&team, "forge", "git merge -q --no-ff -m 'Merge pull request #7' origin/topic; git push -q origin main");
    team.world.sh("git clone -q --depth=1 --branch main file://$PWD/../server.git ../ci");
    team.done("ci", &["fetch"]);
    let relinked = json(&team.run("ci", &["ci", "relink", "--json", "HEAD"]));
    assert_eq!(states(&relinked), [""; 0], "{relinked}");
}
