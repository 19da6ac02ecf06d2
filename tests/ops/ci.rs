//! Jobs of continuous integration: clones without hooks, forges that squash and rebase, and policies over what agents wrote.

use std::{fs, process::Output};

use super::sharing::{HISTORY, Team};
use crate::support::{processes::described, program};

/// Makes a team with one developer, whose topic has two commits with work of agents and one of a person. All is pushed.
///
/// The forge is a clone without hooks, and so is the job's.
pub(super) fn topic() -> Team {
    topic_with("")
}

/// The same, after the developer has run `before`.
fn topic_with(before: &str) -> Team {
    let team = Team::of(&["dev"]);
    sh(&team, "dev", before);
    sh(&team, "dev", "seq 1 8 >f; git add f; git commit -qm base; git push -q origin HEAD:main; git switch -qc topic");
    sh(
        &team,
        "dev",
        "turn() {
            git checkpoint session prompt $1 --agent claude-code --model opus-5 -q -m please
            printf '%s\\n' \"$3 first line of it\" \"$3 second line of it\" \"$3 third line of it\" >>$2
            git checkpoint session stop $1 -q
        }
        turn s1 f one; git add -A; git commit -qm 'topic: one'
        turn s2 f two; turn s2 g more; git add -A; git commit -qm 'topic: two'
        printf 'by hand\\nby hand as well\\n' >>g; git add -A; git commit -qm 'topic: by hand'
        git push -q origin topic",
    );
    team.done("dev", &["push"]);
    team.world.sh("git clone -q ../server.git ../forge; git -C ../forge switch -q main");
    team
}

pub(super) fn sh(team: &Team, name: &str, script: &str) -> String {
    let output = team.world.command("sh").args(["-ec", script]).current_dir(team.path(name)).output();
    let output = output.expect("there is a shell");
    assert!(output.status.success(), "{name}: {script}: {}", described(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The forge merges the topic by `button`; then a job begins with a fresh clone, called `ci`, with the records, as the action does.
fn merge(team: &Team, button: &str) {
    sh(team, "forge", button);
    sh(team, "forge", "git push -q origin main");
    team.world.sh("rm -rf ../ci; git clone -q file://$PWD/../server.git ../ci");
    sh(team, "ci", "git switch -q main");
    team.done("ci", &["fetch"]);
}

const SQUASH_BY_TITLE: &str = "git merge --squash -q origin/topic >/dev/null; git commit -qm 'Topic (#7)'";
const SQUASH_WITH_MESSAGES: &str = "git merge --squash -q origin/topic >/dev/null
    { echo 'Topic (#7)'; echo; git log --reverse --format='* %B' main..origin/topic; } >../m; git commit -qF ../m";
const REBASE: &str = "git switch -qc other origin/topic; GIT_COMMITTER_NAME=Forge git rebase -q --force-rebase main
    git switch -q main; git merge -q --ff-only other";
const MERGE: &str = "git merge -q --no-ff -m 'Merge pull request #7' origin/topic";
/// Others have changed a file of the topic meanwhile.
const MOVE: &str = "sed -i 's/^1$/one/' f; git commit -qam 'main moves'; git push -q origin main;";

/// Returns how many lines of the commits since the base are agents', people's and of unknown authors, as a clone with all records sees it.
fn lines(team: &Team, name: &str) -> [u64; 3] {
    let base = team.git(name, &["log", "--format=%H", "-1", "--grep=^base$"]);
    let json = team.done(name, &["attribution", "--json", &format!("{base}..HEAD"), "--", "g", "f"]);
    let found: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    ["agent_lines", "human_added", "unknown"].map(|key| found["summary"][key].as_u64().expect("a number"))
}

pub(super) fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {}", described(output)))
}

pub(super) fn states(relinked: &serde_json::Value) -> Vec<String> {
    let commits = relinked["commits"].as_array().expect("a list");
    commits.iter().map(|commit| commit["state"].as_str().expect("a word").to_owned()).collect()
}

#[rstest::rstest]
#[case::squashed_by_title(SQUASH_BY_TITLE, &["written"])]
#[case::squashed_with_messages(SQUASH_WITH_MESSAGES, &["written"])]
#[case::rebased(REBASE, &["none", "found", "found"])]
#[case::merged(MERGE, &["none", "recorded", "recorded"])]
#[case::squashed_onto_others(&[MOVE, SQUASH_BY_TITLE].concat(), &["written", "none"])]
#[case::rebased_onto_others(&[MOVE, REBASE].concat(), &["none", "written", "written", "none"])]
fn what_a_forge_merges_gets_its_records(#[case] button: &str, #[case] expected: &[&str]) {
    let team = topic();
    merge(&team, button);
    let range = ["log", "--format=%H", "-1", "--grep=^base$"];
    let base = team.git("ci", &range);
    let range = format!("{base}..HEAD");
    let dry = json(&team.run("ci", &["ci", "relink", "-n", "--json", &range]));
    assert_eq!(states(&dry), expected, "{dry}");
    assert_eq!(team.id("ci", HISTORY), "");
    let relinked = json(&team.run("ci", &["ci", "relink", "--json", &range]));
    assert_eq!(states(&relinked), expected, "{relinked}");
    // Again, there is nothing left to do.
    let again = json(&team.run("ci", &["ci", "relink", "--json", &range]));
    assert!(!states(&again).contains(&"written".to_owned()), "{again}");
    if expected.contains(&"written") {
        team.done("ci", &["remote", "approve", "origin", "--yes"]);
        team.done("ci", &["push"]);
    }
    // The branch is deleted, and a clone that never had its commits sees the same as the developer.
    team.world.sh("git -C ../server.git branch -qD topic; git clone -q file://$PWD/../server.git ../late");
    sh(&team, "late", "git switch -q main");
    team.done("late", &["fetch"]);
    let moved = u64::from(button.contains("main moves"));
    assert_eq!(lines(&team, "late"), [9, 2, 0].map(|count| if count == 2 { count + moved } else { count }));
    team.assert_sound(&["ci", "late", "server.git"]);
}

#[test]
fn a_rebase_without_trailers_is_found_by_its_patches() {
    let team = topic_with("git config checkpoint.link none");
    merge(&team, &[MOVE, REBASE].concat());
    let base = team.git("ci", &["log", "--format=%H", "-1", "--grep=^base$"]);
    let relinked = json(&team.run("ci", &["ci", "relink", "--json", &format!("{base}..HEAD")]));
    assert_eq!(states(&relinked), ["none", "written", "written", "none"], "{relinked}");
    let by: Vec<&str> =
        [1, 2].iter().filter_map(|at: &usize| relinked["commits"][at]["sources"][0]["by"].as_str()).collect();
    assert_eq!(by, ["patch", "patch"]);
    assert_eq!(lines(&team, "ci"), [9, 3, 0]);
}

#[test]
fn nothing_is_written_while_the_content_is_missing() {
    let team = topic();
    sh(&team, "forge", SQUASH_WITH_MESSAGES);
    sh(&team, "forge", "git push -q origin main; git push -q origin origin/topic:refs/pull/7/head :topic");
    team.world.sh("git clone -q file://$PWD/../server.git ../ci");
    sh(&team, "ci", "git switch -q main");
    team.done("ci", &["fetch"]);
    let output = team.run("ci", &["ci", "relink", "HEAD"]);
    let said = described(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("left alone") && said.contains("refs/pull/<n>/head"), "{said}");
    assert_eq!(team.id("ci", HISTORY), "");
    sh(&team, "ci", "git fetch -q origin refs/pull/7/head");
    let relinked = json(&team.run("ci", &["ci", "relink", "--json", "HEAD"]));
    assert_eq!(states(&relinked), ["written"], "{relinked}");
    assert_eq!(lines(&team, "ci"), [9, 2, 0]);
}

/// On a branch, a person has edited all files of the agents after them: no blob is as a record has it.
#[test]
fn the_event_of_a_merged_pull_request_says_what_was_merged() {
    let team = topic();
    sh(&team, "dev", "sed -i '/second/d' f g; git commit -qam 'topic: shorter'; git push -q origin topic");
    sh(&team, "forge", "git fetch -q");
    merge(&team, SQUASH_BY_TITLE);
    let [base, head, merged] = ["main^", "main", "origin/topic"].map(|name| team.git("ci", &["rev-parse", name]));
    let event = team.world.root().join("event.json");
    let text = format!(
        r#"{{"pull_request": {{"number": 7, "merged": true, "merge_commit_sha": "{head}", "base": {{"sha": "{base}"}}, "head": {{"sha": "{merged}"}}}}}}"#
    );
    fs::write(&event, text).expect("files can be written");
    let run = |arguments: &[&str]| {
        let mut command = team.world.command(program());
        command.env("GITHUB_EVENT_PATH", &event).env("GITHUB_BASE_REF", "main");
        command.current_dir(team.path("ci")).args(arguments).output().expect("the program runs")
    };
    let relinked = json(&run(&["ci", "relink", "--json"]));
    assert_eq!(states(&relinked), ["written"], "{relinked}");
    assert_eq!(relinked["source"], "GITHUB_EVENT_PATH: pull request 7");
    assert_eq!(relinked["commits"][0]["sources"][0]["by"], "merged", "{relinked}");
    // For a check, the event names the commits of the request.
    let checked = json(&run(&["ci", "check", "--format", "json"]));
    assert_eq!((&checked["commits"], &checked["passed"]), (&4.into(), &true.into()), "{checked}");
}

#[test]
fn policies_are_checked() {
    let team = topic();
    team.world.sh("git clone -q file://$PWD/../server.git ../ci");
    sh(&team, "ci", "git switch -q topic; git remote set-head origin main");
    // A clone does not have the records: that is no answer.
    for name in ["text", "json", "github", "gitlab", "markdown"] {
        let output = team.run("ci", &["ci", "check", "--format", name]);
        let said = described(&output);
        assert_eq!(output.status.code(), Some(128), "{said}");
        assert!(said.contains("git checkpoint fetch") && output.stdout.is_empty(), "{said}");
    }
    team.done("ci", &["fetch"]);
    let check = |arguments: &[&str]| {
        let output = team.run("ci", &[&["ci", "check"], arguments].concat());
        (output.status.code(), described(&output))
    };
    let (code, said) = check(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("81.8 % agent") && said.contains("origin/HEAD"), "{said}");
    for (arguments, expected) in [
        (&["--max-agent-percentage", "80"][..], "max-agent-percentage: "),
        (&["--disclosure-trailer", "Assisted-by"], "disclosure-trailers: "),
        (
            &["--review-trailer", "Reviewed-by", "--review-trailer", "Acked-by"],
            "no trailer 'Reviewed-by' or 'Acked-by'",
        ),
        (&["--human-path", "g*"], " g:1: this file has to stay without work of agents; lines: 3 written by agents"),
    ] {
        let (code, said) = check(arguments);
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    for arguments in
        [&["--max-agent-percentage", "82"][..], &["--human-path", "h"], &["--disclosure-trailer", "checkpoint"]]
    {
        let (code, said) = check(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
    }
    // The person's commit needs no trailer.
    let output = team.run("ci", &["ci", "check", "--review-trailer", "Reviewed-by", "--format", "json"]);
    assert_eq!(json(&output)["breaches"].as_array().map(Vec::len), Some(2), "{}", described(&output));
    // The settings of the project, with what others have made of them.
    fs::write(team.path("ci").join(".checkpoint.toml"), "[ci]\nhuman-paths = ['f']\n").expect("files can be written");
    let (code, said) = check(&[]);
    assert!(code == Some(1) && said.contains("human-paths: "), "{said}");
    for (text, expected) in [
        ("review-trailers = ['Reviewed by']", "'ci.review-trailers' has 'Reviewed by'"),
        ("max-agent-percentage = 101", "'ci.max-agent-percentage' is 101"),
        ("human-paths = [':(nonsense)x']", "'ci.human-paths'"),
        ("max-agent-percentage = 'x'", "ci.max-agent-percentage"),
    ] {
        fs::write(team.path("ci").join(".checkpoint.toml"), format!("[ci]\n{text}\n")).expect("files can be written");
        let (code, said) = check(&[]);
        assert!(code == Some(128) && said.contains(expected), "{text}: {said}");
    }
}

/// A file that an agent has written elsewhere, and that gets a guarded name in the same range, has its lines all the same.
#[rstest::rstest]
#[case::renamed("git mv g secret; git commit -qm 'another name'")]
#[case::renamed_twice("git mv g tmp; git commit -qm one; git mv tmp secret; git commit -qm two")]
#[case::renamed_and_changed("git mv g secret; sed -i '$d' secret; git commit -qam 'another name'")]
fn a_guarded_name_that_comes_later_counts(#[case] script: &str) {
    let team = topic();
    sh(&team, "dev", script);
    let output = team.run("dev", &["ci", "check", "origin/main..HEAD", "--human-path", "secret"]);
    let said = described(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(" secret"), "{said}");
}

/// A job of `pull_request_target` has the base checked out.
#[test]
fn a_pull_request_that_is_not_here_is_no_pass() {
    let team = topic();
    let event = team.world.root().join("event.json");
    let base = team.git("dev", &["rev-parse", "origin/main"]);
    let head = "b".repeat(40);
    let request = serde_json::json!({"pull_request": {"number": 1, "base": {"sha": base}, "head": {"sha": head}}});
    fs::write(&event, request.to_string()).expect("files can be written");
    sh(&team, "dev", "git switch -q --detach origin/main");
    let mut command = team.world.command(program());
    command.env("GITHUB_EVENT_PATH", &event).env("GITHUB_BASE_REF", "main");
    let output = command.current_dir(team.path("dev")).args(["ci", "check"]).output().expect("the program runs");
    let said = described(&output);
    assert_eq!(output.status.code(), Some(128), "{said}");
    assert!(said.contains(&head) && said.contains("fetch-depth: 0"), "{said}");
}

#[test]
fn a_range_that_changes_the_policies_says_so() {
    let team = topic();
    sh(
        &team,
        "dev",
        "printf '[ci]\\nmax-agent-percentage = 100\\n' >.checkpoint.toml; git add -A; git commit -qm policy",
    );
    let said = described(&team.run("dev", &["ci", "check", "HEAD"]));
    assert!(said.contains("this range changes '.checkpoint.toml'"), "{said}");
}

#[test]
fn missing_records_are_no_pass() {
    let team = topic();
    sh(
        &team,
        "dev",
        "git commit -q --allow-empty -m 'more

Checkpoint: 0123456789abcdef'",
    );
    let output = team.run("dev", &["ci", "check", "origin/main..HEAD"]);
    let said = described(&output);
    assert_eq!(output.status.code(), Some(128), "{said}");
    assert!(said.contains("0123456789abcdef") && said.contains("git checkpoint fetch"), "{said}");
}

/// The names of files are everyone's who can push: none of them may begin a command of the forge, or reach a terminal.
#[test]
fn annotations_are_escaped() {
    let team = Team::of(&["dev"]);
    let name = "a,b:c%0A\u{1b}[31m::warning::x";
    team.work("dev", &format!("'{name}'"), "a line of an agent");
    let check = |format: &str| {
        let output = team.run("dev", &["ci", "check", "HEAD", "--human-path", ".", "--format", format]);
        assert_eq!(output.status.code(), Some(1), "{}", described(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    let github = check("github");
    let id = team.git("dev", &["rev-parse", "HEAD"]);
    assert!(github.starts_with("::error file=a%2Cb%3Ac%250A"), "{github}");
    assert!(github.contains(&format!("line=1,title=human-paths::{id}: this file")), "{github}");
    assert_eq!((github.lines().count(), github.contains('\u{1b}')), (1, false), "{github}");
    let gitlab: serde_json::Value = serde_json::from_str(&check("gitlab")).expect("JSON");
    let first = &gitlab[0];
    assert_eq!(
        (&first["location"]["path"], &first["location"]["lines"]["begin"]),
        (&name.into(), &1.into()),
        "{gitlab}"
    );
    assert_eq!(first["check_name"], "git-checkpoint/human-paths");
    assert_eq!(first["fingerprint"].as_str().map(str::len), Some(64));
    let markdown = check("markdown");
    assert!(
        markdown.starts_with("**Policies are broken**") && markdown.contains("a,b:c%0A&#92;033&#91;31m"),
        "{markdown}"
    );
    assert!(!markdown.contains('\u{1b}'), "{markdown}");
    let output = team.run("dev", &["ci", "check", "HEAD", "--format", "gitlab"]);
    assert_eq!((output.status.code(), output.stdout.trim_ascii()), (Some(0), &b"[]"[..]));
}

#[rstest::rstest]
#[case::github_branch(&[("GITHUB_BASE_REF", "main")], "GITHUB_BASE_REF", 3)]
#[case::gitlab_request(&[("CI_MERGE_REQUEST_DIFF_BASE_SHA", "BASE"), ("CI_COMMIT_SHA", "HEAD")], "CI_MERGE_REQUEST_DIFF_BASE_SHA", 3)]
#[case::gitlab_push(
    &[("CI_COMMIT_BEFORE_SHA", "HEAD~1"), ("CI_COMMIT_SHA", "HEAD"), ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "")],
    "CI_COMMIT_BEFORE_SHA",
    1
)]
#[case::new_branch(&[("CI_COMMIT_BEFORE_SHA", "0000000000000000000000000000000000000000")], "origin/HEAD", 3)]
fn the_environment_says_which_commits(#[case] variables: &[(&str, &str)], #[case] source: &str, #[case] commits: u64) {
    let team = topic();
    sh(&team, "dev", "git remote set-head origin main");
    let mut command = team.world.command(program());
    for (name, value) in variables {
        let value = match *value {
            "BASE" => team.git("dev", &["rev-parse", "origin/main"]),
            "HEAD" | "HEAD~1" => team.git("dev", &["rev-parse", value]),
            value => value.to_owned(),
        };
        command.env(name, value);
    }
    let output = command.current_dir(team.path("dev")).args(["ci", "check", "--format", "json"]).output();
    let checked = json(&output.expect("the program runs"));
    assert!(checked["source"].as_str().is_some_and(|said| said.starts_with(source)), "{checked}");
    assert_eq!(checked["commits"], commits, "{checked}");
}

#[rstest::rstest]
#[case::no_such_branch(&[("GITHUB_BASE_REF", "gone")], "refs/remotes/origin/gone")]
#[case::option(&[("GITHUB_BASE_REF", "--output=x")], "refs/remotes/origin/--output=x")]
#[case::control(&[("GITHUB_BASE_REF", "a\u{1b}b")], "control characters")]
#[case::no_id(&[("CI_MERGE_REQUEST_DIFF_BASE_SHA", "--all")], "has no commit id")]
#[case::not_here(&[("CI_MERGE_REQUEST_DIFF_BASE_SHA", "1234567890123456789012345678901234567890")], "fetch-depth: 0")]
#[case::no_event(&[("GITHUB_EVENT_PATH", "/nowhere")], "GITHUB_EVENT_PATH")]
fn an_environment_that_lies_is_refused(#[case] variables: &[(&str, &str)], #[case] expected: &str) {
    let team = Team::of(&["dev"]);
    let mut command = team.world.command(program());
    let output = command.envs(variables.iter().copied()).current_dir(team.path("dev")).args(["ci", "check"]).output();
    let output = output.expect("the program runs");
    let said = described(&output);
    assert_eq!(output.status.code(), Some(128), "{said}");
    assert!(said.contains(expected), "{said}");
}

#[test]
fn of_a_shallow_clone_the_error_says_what_it_lacks() {
    let team = topic();
    team.world.sh("git clone -q --depth=1 --branch topic file://$PWD/../server.git ../ci");
    team.done("ci", &["fetch"]);
    let base = team.git("dev", &["rev-parse", "origin/main"]);
    let mut command = team.world.command(program());
    command.env("CI_MERGE_REQUEST_DIFF_BASE_SHA", base);
    let output = command.current_dir(team.path("ci")).args(["ci", "check"]).output().expect("the program runs");
    assert!(output.status.code() == Some(128) && described(&output).contains("GIT_DEPTH: 0"), "{}", described(&output));
    let output = team.run("ci", &["ci", "check", "HEAD"]);
    assert!(output.status.code() == Some(128) && described(&output).contains("--deepen"), "{}", described(&output));
    for action in ["check", "relink"] {
        sh(&team, "ci", "git fetch -q --deepen=1");
        team.done("ci", &["ci", action, "HEAD"]);
    }
}

/// What is in `config/ci` runs as the forges run it: `tests/ci.sh` imitates them.
#[test]
fn the_files_for_forges_work() {
    let world = crate::support::World::new();
    let sources = env!("CARGO_MANIFEST_DIR");
    let mut command = world.command("sh");
    let output = command.args([&format!("{sources}/tests/ci.sh"), sources]).output().expect("there is a shell");
    assert!(output.status.success(), "{}", described(&output));
    let action = fs::read_to_string(format!("{sources}/config/ci/action.yml")).expect("it is there");
    // No expression of GitHub becomes a part of a command: all are variables.
    let commands: Vec<&str> = action.lines().filter(|line| line.trim_start().starts_with("run:")).collect();
    assert_eq!(commands, ["      run: '\"$GITHUB_ACTION_PATH/github.sh\"'"]);
}

#[test]
fn what_names_no_commit_is_an_error() {
    let team = Team::of(&["dev"]);
    team.work("dev", "x", "of an agent");
    for arguments in [
        &["check", "nothing"][..],
        &["check", ""],
        &["check", "main..nothing"],
        &["relink", "nothing"],
        &["relink", "nothing..HEAD"],
        &["relink", "--merged", "nothing", "HEAD"],
    ] {
        let output = team.run("dev", &[&["ci"], arguments].concat());
        let said = described(&output);
        assert_eq!(output.status.code(), Some(128), "{arguments:?}: {said}");
        assert!(said.contains("no commit matches"), "{arguments:?}: {said}");
    }
    // The first commit of all has no parent.
    let root = team.git("dev", &["rev-list", "--max-parents=0", "HEAD"]);
    team.done("dev", &["ci", "relink", &root]);
    team.done("dev", &["ci", "check", &root, "--max-unknown-percentage", "100"]);
    team.done("dev", &["ci", "check", "HEAD..HEAD"]);
}

/// A person who writes the same lines as an agent on a branch that was given up is no agent, as long as it is less than half.
#[test]
fn some_common_lines_make_no_source() {
    let team = Team::of(&["dev"]);
    sh(&team, "dev", "git switch -qc given-up");
    team.work(
        "dev",
        "x",
        "one line that an agent has written\nanother line that an agent has written\na third such line",
    );
    sh(
        &team,
        "dev",
        "git switch -q main; printf 'by hand alone\\na third such line\\n' >x; git add x; git commit -qm mine",
    );
    let relinked = json(&team.run("dev", &["ci", "relink", "--json", "HEAD"]));
    assert_eq!(states(&relinked), ["none"], "{relinked}");
}

/// The log of a clone that has recorded the work itself gets the links, too, so that the prompts are found.
#[test]
fn own_records_are_linked() {
    let team = topic();
    sh(&team, "forge", SQUASH_BY_TITLE);
    sh(&team, "forge", "git push -q origin main");
    sh(&team, "dev", "git fetch -q");
    let relinked = json(&team.run("dev", &["ci", "relink", "--json", "origin/main"]));
    assert_eq!(states(&relinked), ["written"], "{relinked}");
    let explained: serde_json::Value =
        serde_json::from_str(&team.done("dev", &["explain", "--json", "origin/main"])).expect("JSON");
    let records = explained["records"].as_array().expect("a list");
    let how: Vec<_> = records.iter().filter_map(|record| record["how"].as_str()).collect();
    assert!(how.contains(&"relink") && how.contains(&"commit"), "{explained}");
    assert!(explained.to_string().contains("please"), "{explained}");
}
