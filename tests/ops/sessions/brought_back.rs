//! Lines of agents that git brings back or along keep their authors, also where git names no commit that wrote them: a revert or a
//! pick over a rename, and conflicts in which a side has lines of earlier commits.

use crate::support::World;

/// A line of the base, long enough to be found again.
const BASE: &str = "a line of the base that has some words";
const FIRST: &str = "the agent wrote this first line";
const SECOND: &str = "and this is the second of the agent";

fn world() -> World {
    let world = World::with_commit();
    world.done(&["enable", "-q"]);
    let lines: String = (1..=12).map(|number| format!("{BASE}, number {number}\n")).collect();
    world.write("old.txt", lines);
    world.sh("git add -A; git commit -qm base");
    world
}

/// A turn of an agent in which it runs `script`, and its commit.
fn agent(world: &World, script: &str, message: &str) {
    world.done(&["session", "prompt", "s1", "--agent", "claude-code", "--message", message]);
    world.sh(script);
    world.done(&["session", "stop", "s1"]);
    world.sh(&format!("git add -A; git commit -qm '{message}'"));
}

/// Puts `line` below the line of this number.
fn below(number: u32, line: &str, file: &str) -> String {
    format!("sed -i '{number}a {line}' {file}")
}

/// Returns the line of `file` that begins with `text`, with its owner.
#[track_caller]
fn owner(world: &World, file: &str, text: &str) -> String {
    let content = String::from_utf8(world.read(file).into()).expect("text");
    let number = content.lines().position(|line| line.starts_with(text)).expect("it is there") + 1;
    let found = world.json(&["blame", "--json", file]);
    let is_in = |it: &&serde_json::Value| {
        let end = |key: &str| it[key].as_u64().expect("a number");
        (end("start")..=end("end")).contains(&(number as u64))
    };
    let line = found["lines"].as_array().expect("a list").iter().find(is_in).expect("each line has an owner");
    line["owner"].as_str().expect("a word").to_owned()
}

#[track_caller]
fn assert_agents(world: &World, file: &str) {
    assert_eq!([FIRST, SECOND].map(|line| owner(world, file, line)), ["agent", "agent"]);
    assert_eq!(owner(world, file, BASE), "human");
}

#[rstest::rstest]
#[case::before("git mv old.txt new.txt; git commit -qm move", "")]
#[case::after("", "git mv old.txt new.txt; git commit -qm move")]
#[case::twice("git mv old.txt middle.txt; git commit -qm move", "git mv middle.txt new.txt; git commit -qm again")]
fn a_revert_after_a_rename_brings_an_agents_line_back(#[case] before: &str, #[case] after: &str) {
    let world = world();
    agent(&world, &format!("{}; {}", below(3, FIRST, "old.txt"), below(8, SECOND, "old.txt")), "add");
    world.sh(before);
    world.sh(&format!("sed -i 's/{FIRST}/a person has replaced it/' *.txt; git commit -qam replace"));
    world.sh(after);
    let replaced = world.git(&["log", "--format=%H", "--grep=^replace$"]);
    world.git(&["revert", "--no-edit", replaced.trim()]);
    assert_agents(&world, "new.txt");
    world.sh("echo more >>new.txt; git commit -qa --amend --no-edit");
    assert_agents(&world, "new.txt");
}

#[test]
fn a_revert_of_what_a_person_took_out_is_no_work_of_the_agents_in_other_files() {
    let world = world();
    agent(&world, &below(3, FIRST, "old.txt"), "add");
    world.sh("git mv old.txt new.txt; git commit -qm move");
    world.write("own.txt", "a person's file\nwith two lines\n");
    world.sh("git add -A; git commit -qm own; sed -i 1d own.txt; git commit -qam less; git revert --no-edit HEAD");
    assert_eq!(world.json(&["attribution", "--json"])["summary"]["agent_lines"], 0);
    assert_eq!(owner(&world, "own.txt", "a person's file"), "human");
}

#[test]
fn several_picks_at_once_over_a_rename() {
    let world = world();
    world.git(&["switch", "-qc", "topic"]);
    agent(&world, &below(3, FIRST, "old.txt"), "first");
    agent(&world, &below(9, SECOND, "old.txt"), "second");
    world.sh("git switch -q main; git mv old.txt new.txt; git commit -qm move");
    world.sh("git cherry-pick -n topic~1 topic; git commit -qm both");
    assert_agents(&world, "new.txt");
}

/// The picked commit has replaced the line below one that an earlier commit of its branch has added: in the conflict, its side has
/// both.
#[test]
fn a_conflict_of_a_pick_has_lines_of_earlier_commits() {
    let world = world();
    world.git(&["switch", "-qc", "topic"]);
    agent(&world, &below(6, FIRST, "old.txt"), "first");
    agent(&world, &format!("sed -i '8s/.*/{SECOND}/' old.txt"), "second");
    world.sh("git switch -q main; sed -i '7s/.*/a person has changed it/' old.txt; git commit -qam person");
    assert!(!world.try_git(&["cherry-pick", "topic"]).status.success());
    world.sh("sed -i '/^[<=>|]\\{7\\}/d' old.txt; git add -A; git -c core.editor=true cherry-pick --continue");
    assert_agents(&world, "old.txt");
}

#[rstest::rstest]
#[case::semicolon("core.commentChar", ";")]
#[case::automatic("core.commentChar", "auto")]
#[case::two_characters("core.commentString", "//")]
fn a_conflict_where_git_has_another_comment_character(#[case] key: &str, #[case] value: &str) {
    let world = world();
    world.git(&["config", key, value]);
    world.git(&["switch", "-qc", "topic"]);
    agent(&world, &below(6, FIRST, "old.txt"), "first");
    agent(&world, &format!("sed -i '8s/.*/{SECOND}/' old.txt"), "second");
    world.sh("git switch -q main; sed -i '7s/.*/a person has changed it/' old.txt; git commit -qam person");
    assert!(!world.try_git(&["cherry-pick", "topic"]).status.success());
    world.sh("sed -i '/^[<=>|]\\{7\\}/d' old.txt; git add -A; git -c core.editor=true cherry-pick --continue");
    assert_agents(&world, "old.txt");
}

/// Commits to `file` on top of HEAD, more than we look at for one name.
fn many_commits(world: &World, file: &str) {
    world.sh(&format!(
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/dev/null
        for number in $(seq 105); do echo \"entry $number\" >>{file}; git add {file}; git commit -qm \"c$number\"; done"
    ));
}

#[test]
fn a_revert_of_a_commit_that_also_changes_a_file_of_many_commits() {
    let world = world();
    agent(&world, &format!("{}; {}", below(3, FIRST, "old.txt"), below(8, SECOND, "old.txt")), "add");
    many_commits(&world, "CHANGELOG");
    world.sh("sed -i -e '/the agent/d' -e '/of the agent/d' old.txt; echo less >>CHANGELOG; git commit -qam less");
    world.git(&["revert", "--no-edit", "HEAD"]);
    assert_agents(&world, "old.txt");
}

/// Another branch has more commits to the file than we look at.
#[test]
fn a_conflict_of_a_pick_beside_a_busy_branch() {
    let world = world();
    world.git(&["switch", "-qc", "topic"]);
    agent(&world, &below(6, FIRST, "old.txt"), "first");
    agent(&world, &format!("sed -i '8s/.*/{SECOND}/' old.txt"), "second");
    world.sh("git switch -q main; sed -i '7s/.*/a person has changed it/' old.txt; git commit -qam person");
    world.git(&["switch", "-qc", "busy"]);
    many_commits(&world, "old.txt");
    world.git(&["switch", "-q", "main"]);
    assert!(!world.try_git(&["cherry-pick", "topic"]).status.success());
    world.sh("sed -i '/^[<=>|]\\{7\\}/d' old.txt; git add -A; git -c core.editor=true cherry-pick --continue");
    assert_agents(&world, "old.txt");
}

#[rstest::rstest]
#[case::squash("git merge -q --squash topic", "git commit -qm result")]
#[case::pick("git cherry-pick topic", "git -c core.editor=true cherry-pick --continue")]
fn a_file_that_one_side_has_deleted_keeps_its_authors(#[case] bring: &str, #[case] end: &str) {
    let world = world();
    agent(&world, &below(6, FIRST, "old.txt"), "first");
    world.git(&["switch", "-qc", "topic"]);
    agent(&world, &below(10, SECOND, "old.txt"), "second");
    world.sh("git switch -q main; git rm -q old.txt; git commit -qm remove");
    world.sh(&format!("! {bring}"));
    assert!(world.exists("old.txt"), "git has left the file of the other side");
    world.sh(&format!("git add -A; {end}"));
    assert_eq!([FIRST, SECOND].map(|line| owner(&world, "old.txt", line)), ["agent", "agent"]);
}

/// An agent wrote a line, a person took it out; after a rename, the person types the same, takes it out and reverts that.
#[test]
fn a_short_line_of_a_person_is_no_agents_after_a_revert() {
    let world = world();
    agent(&world, "sed -i '1i import os' old.txt", "add");
    world.sh("sed -i 1d old.txt; git commit -qam out; git mv old.txt new.txt; git commit -qm move");
    world.sh("sed -i '1i import os' new.txt; git commit -qam typed; sed -i 1d new.txt; git commit -qam out");
    world.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(owner(&world, "new.txt", "import os"), "human");
}

/// A person's commit of another branch has the very line that an agent wrote here. Git picks it; another file has a conflict.
#[rstest::rstest]
#[case::same_name("")]
#[case::renamed("git mv old.txt new.txt; git commit -qm move")]
fn a_pick_of_a_persons_commit_stays_the_persons(#[case] before: &str) {
    let world = world();
    world.git(&["switch", "-qc", "topic"]);
    world.sh("sed -i '1i the very same line' old.txt; echo topic >c.txt; git add -A; git commit -qm typed; git switch -q main");
    agent(&world, "sed -i '1i the very same line' old.txt", "add");
    world.sh("sed -i 1d old.txt; git commit -qam out");
    world.sh(before);
    world.sh("echo main >c.txt; git add -A; git commit -qm c; ! git cherry-pick topic");
    world.sh("echo both >c.txt; git add -A; git -c core.editor=true cherry-pick --continue");
    let file = if before.is_empty() { "old.txt" } else { "new.txt" };
    assert_eq!(owner(&world, file, "the very same line"), "human");
}
