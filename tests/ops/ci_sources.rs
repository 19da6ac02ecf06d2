//! What makes a commit the copy of an agent's, and what does not: a record that is written for it goes to all clones.

use super::{
    ci::{json, sh, states},
    sharing::Team,
};

/// A commit by hand in a clone without git-checkpoint.
const BY_HAND: &str = "git add -A; git -c core.hooksPath=/dev/null commit -qm 'by hand'";

/// An agent works on a branch that is never merged; then main is checked out.
fn given_up(works: &[(&str, &str)]) -> Team {
    let team = Team::of(&["dev"]);
    sh(&team, "dev", "git switch -qc given-up");
    for (file, text) in works {
        team.work("dev", file, text);
    }
    sh(&team, "dev", "git switch -q main");
    team
}

/// Returns what `ci relink` finds for the last commit: its state, and by which sign.
fn relinked(team: &Team, more: &[&str]) -> (String, Vec<String>) {
    let relinked = json(&team.run("dev", &[&["ci", "relink", "--json", "HEAD"], more].concat()));
    let by = relinked["commits"][0]["sources"].as_array().expect("a list");
    (states(&relinked).remove(0), by.iter().map(|it| it["by"].as_str().expect("a word").to_owned()).collect())
}

/// Half of a short work is soon there by chance.
#[rstest::rstest]
#[case::line("a.py", "import os", "seq 1 20 >a.py; echo 'import os' >>a.py; seq 30 50 >>a.py")]
#[case::frame("b.py", "    return None\n}", "seq 1 30 >b.py; printf '    return None\\n}\\n' >>b.py")]
#[case::half_of_a_branch(
    "c.py",
    "import telling_one\nimport telling_two\nimport telling_three\nthe_work()",
    "printf 'import telling_%s\\n' one two three >c.py; seq 1 9 >>c.py"
)]
fn some_lines_that_a_branch_has_as_well_make_no_source(#[case] file: &str, #[case] text: &str, #[case] by_hand: &str) {
    let team = given_up(&[(file, text)]);
    sh(&team, "dev", &format!("{by_hand}; {BY_HAND}"));
    assert_eq!(relinked(&team, &[]), ("none".to_owned(), Vec::new()));
    let checked = json(&team.run("dev", &["ci", "check", "HEAD", "--format", "json"]));
    assert_eq!(checked["summary"]["agent_lines"], 0, "{checked}");
}

/// That a person has taken over one commit says nothing of those before it.
#[test]
fn the_commit_before_a_source_is_none() {
    let frame = "import sys\ndef main():\n    return 0\nif __name__ == \"__main__\":\n    main()";
    let functions: String = (1..60).map(|at| format!("def work_{at}():\n")).collect();
    let telling = "the first line of a work\nthe second line of a work\nthe third line of a work";
    let team = given_up(&[("b.py", &format!("{functions}{frame}")), ("c", telling)]);
    sh(&team, "dev", &format!("printf '%s\\n' '{telling}' >c; printf '%s\\n' '{frame}' 'print(1)' >b.py; {BY_HAND}"));
    assert_eq!(relinked(&team, &[]), ("written".to_owned(), vec!["content".to_owned()]));
    let checked = json(&team.run("dev", &["ci", "check", "HEAD", "--format", "json"]));
    assert_eq!(checked["summary"]["agent_lines"], 3, "{checked}");
}

/// Half of a longer work is one, once its branch is gone; and what the forge says needs less.
#[rstest::rstest]
#[case::branch_is_gone("echo mine >x; head -n 3 ../work >>x", "git branch -qD given-up;", false, "content")]
#[case::named_by_the_forge("echo mine >x; head -n 2 ../work >>x", "", true, "merged")]
fn a_squash_of_a_part_is_found(
    #[case] by_hand: &str,
    #[case] before: &str,
    #[case] is_named: bool,
    #[case] expected: &str,
) {
    let lines = ["the first line of a work", "the second line of a work", "the third line of a work", "and one more"];
    let team = given_up(&[("x", &lines.join("\n"))]);
    let tip = team.git("dev", &["rev-parse", "given-up"]);
    sh(&team, "dev", &format!("git show given-up:x >../work; {before} {by_hand}; {BY_HAND}"));
    let merged: &[&str] = if is_named { &["--merged", &tip] } else { &[] };
    assert_eq!(relinked(&team, merged), ("written".to_owned(), vec![expected.to_owned()]));
}
