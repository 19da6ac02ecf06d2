//! Files that HEAD does not have keep their owners when they are renamed.

use serde_json::Value;

use super::{
    desk::{Desk, changed, numbered},
    moved,
};

impl Desk {
    /// Returns how many lines of the last commit agents and people have.
    pub(super) fn lines(&self) -> (u64, u64) {
        lines(&self.json(&["attribution", "HEAD"]))
    }

    /// The same for what is not committed.
    pub(super) fn lines_now(&self) -> (u64, u64) {
        lines(&self.json(&["attribution", "--worktree"]))
    }

    /// Returns how often the record of HEAD names its only session: its turns, and its checkpoints there.
    fn part(&self) -> (Vec<u32>, u32) {
        let records = self.records("HEAD");
        let [record] = records.as_slice() else { panic!("one record: {records:?}") };
        let [part] = record.sessions.as_slice() else { panic!("one session: {record:?}") };
        (part.turns.clone(), part.checkpoints)
    }
}

fn lines(found: &Value) -> (u64, u64) {
    let number = |key: &str| found["summary"][key].as_u64().expect("a number");
    (number("agent_lines"), number("human_added"))
}

#[test]
fn a_persons_new_file_that_an_agent_moves_stays_the_persons() {
    let desk = Desk::new();
    desk.write("mine", numbered(1..=9));
    desk.prompt("a");
    desk.sh("mv mine ours");
    desk.stop("a");
    assert_eq!(desk.lines_now(), (0, 9));
    desk.commit_all();
    assert_eq!(desk.lines(), (0, 9));
    desk.finish();
}

#[test]
fn lines_that_an_agent_adds_to_a_file_it_moves_are_its_own() {
    let desk = Desk::new();
    desk.write("mine", numbered(1..=9));
    desk.prompt("a");
    desk.sh("mv mine between");
    desk.json(&["save", "--session", "a"]);
    desk.sh("mkdir d; mv between d/ours; echo more >>d/ours");
    desk.stop("a");
    assert_eq!(desk.lines_now(), (1, 9));
    desk.commit_all();
    assert_eq!(desk.lines(), (1, 9));
    assert_eq!(desk.part(), (vec![1], 2));
    desk.finish();
}

#[test]
fn an_agents_new_file_that_a_person_moves_stays_the_agents() {
    for saves in [true, false] {
        let desk = Desk::new();
        desk.prompt("a");
        desk.write("new", numbered(1..=9));
        desk.stop("a");
        desk.sh("mv new other");
        if saves {
            desk.json(&["save"]);
        }
        assert_eq!(desk.lines_now(), (9, 0), "{saves}");
        desk.commit_all();
        assert_eq!((desk.lines(), desk.trailers("HEAD").len()), ((9, 0), 1), "{saves}");
        assert_eq!(desk.part(), (vec![1], 1), "{saves}");
        desk.finish();
    }
}

#[test]
fn a_prompt_continues_the_work_in_a_file_that_a_person_renamed() {
    for edit in ["", "; echo mine >>other"] {
        let desk = Desk::new();
        desk.prompt("a");
        desk.write("new", numbered(1..=9));
        desk.stop("a");
        desk.sh(&format!("mv new other{edit}"));
        let prompted = desk.json(&["session", "prompt", "a", "-m", "more"]);
        assert_eq!((&prompted["reason"], &prompted["overlap"][0]), (&"overlap".into(), &"other".into()), "{prompted}");
        desk.sh("echo more >>other");
        desk.stop("a");
        let people = u64::from(!edit.is_empty());
        assert_eq!(desk.lines_now(), (10, people), "{edit}");
        desk.commit_all();
        assert_eq!((desk.lines(), desk.trailers("HEAD").len()), ((10, people), 1), "{edit}");
        desk.finish();
    }
}

/// Git does not take a file for a renamed one if most of it is new.
#[test]
fn remaining_lines_of_a_renamed_and_rewritten_file_keep_their_authors() {
    let desk = Desk::new();
    desk.write("old", (1..=20).map(|line| format!("person wrote {line}\n")).collect::<String>());
    desk.commit_all();
    desk.prompt("s");
    desk.sh("for i in 1 2 3 4 5 6 7 8; do echo \"session s added $i\"; done >>old");
    desk.stop("s");
    desk.commit_all();
    desk.prompt("t");
    desk.sh("git mv old new; sed -i '1,16s/.*/rewritten from top to bottom &&/;1,16s/person wrote//g' new");
    desk.stop("t");
    desk.commit_all();
    let blamed = desk.json(&["blame", "new"]);
    let (mut person, mut first, mut second, mut unknown) = (0, 0, 0, 0);
    for part in blamed["lines"].as_array().expect("a list") {
        let count = part["end"].as_u64().expect("a number") - part["start"].as_u64().expect("a number") + 1;
        match (part["owner"].as_str(), part["session"].as_str()) {
            (Some("human"), None) => person += count,
            (Some("agent"), Some("s")) => first += count,
            (Some("agent"), Some("t")) => second += count,
            _ => unknown += count,
        }
    }
    assert_eq!((person, first, second, unknown), (4, 8, 16, 0), "{blamed}");
    desk.finish();
}

#[test]
fn a_file_of_head_that_a_person_moves_after_an_agents_edit_is_in_the_record() {
    for saves in [true, false] {
        let desk = Desk::new();
        desk.prompt("a");
        desk.sh("echo more >>f");
        desk.stop("a");
        desk.sh("mv f other");
        if saves {
            desk.json(&["save"]);
        }
        assert_eq!(desk.lines_now(), (1, 0), "{saves}");
        desk.commit_all();
        assert_eq!((desk.lines(), desk.trailers("HEAD").len()), ((1, 0), 1), "{saves}");
        assert_eq!(desk.part(), (vec![1], 1), "{saves}");
        desk.finish();
    }
}

#[test]
fn a_persons_file_beside_an_agents_that_is_not_committed_has_no_record() {
    let desk = Desk::new();
    desk.turn("a", &[("new", &numbered(1..=9))]);
    desk.write("mine", "something\nelse\n");
    desk.git(&["add", "mine"]);
    desk.commit();
    assert_eq!((desk.lines().0, desk.trailers("HEAD")), (0, Vec::new()));
    assert_eq!(desk.recorded("HEAD"), Vec::new());
    desk.commit_all();
    assert_eq!((desk.lines(), desk.trailers("HEAD").len()), ((9, 0), 1));
    desk.finish();
}

#[test]
fn a_copy_of_an_agents_new_file_is_looked_at_alone_and_is_a_persons() {
    let desk = Desk::new();
    desk.turn("a", &[("new", &numbered(1..=9))]);
    desk.sh("cp new copy");
    assert_eq!(lines(&desk.json(&["attribution", "--worktree", "--", "copy"])), (0, 9));
    assert_eq!(desk.lines_now(), (9, 9));
    desk.finish();
}

/// Returns whose the lines of `path` are, as `blame` says.
fn blamed(desk: &Desk, path: &str) -> Vec<(u64, String)> {
    let blame = desk.json(&["blame", path]);
    let lines = blame["lines"].as_array().expect("a list");
    let owner = |line: &Value| line["session"].as_str().or(line["owner"].as_str()).unwrap_or_default().to_owned();
    lines.iter().map(|line| (line["start"].as_u64().unwrap_or_default(), owner(line))).collect()
}

/// HEAD has the file under its first name.
#[rstest::rstest]
#[case::moved("mv f renamed")]
#[case::moved_by_git("git mv f renamed")]
fn blame_knows_a_file_that_was_renamed_and_is_not_committed(#[case] rename: &str) {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.commit_all();
    desk.turn("b", &[("f", &changed(&[(3, "a"), (12, "b")]))]);
    desk.sh(&format!("{rename}; sed -i '1s/.*/words of a person/' renamed"));
    let owners: Vec<String> = blamed(&desk, "renamed").into_iter().map(|(_, owner)| owner).collect();
    assert_eq!(owners, ["human", "human", "a", "human", "b", "human"]);
    desk.finish();
}

/// The checkpoint that the hook takes has both names, so that the lines which the agent has left alone are only moved.
#[test]
fn a_file_that_people_rename_and_of_which_they_commit_only_the_end_is_known_by_its_new_name() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.sh("mv f renamed; echo human >h; git commit -qam people");
    assert_eq!(desk.lines_now(), (1, 0));
    desk.commit_all();
    assert_eq!(desk.lines(), (1, 0));
    desk.finish();
}

/// The file has its new name when the work comes back; another session changes it as well.
#[rstest::rstest]
#[case::alone("true", 0)]
#[case::with_a_persons("sed -i '19s/.*/more words of a person/' renamed", 1)]
fn work_that_was_stashed_is_known_in_a_file_that_was_renamed_since(#[case] edit: &str, #[case] human: u64) {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.sh("git stash -q; git mv f renamed; sed -i '1s/.*/words of a person/' renamed; git commit -qam people");
    desk.sh(&format!("git stash pop -q; {edit}"));
    desk.prompt("b");
    desk.sh("sed -i '15s/.*/something else of an agent/' renamed");
    desk.stop("b");
    assert_eq!(desk.lines_now(), (2, human));
    desk.commit_all();
    assert_eq!(desk.lines(), (2, human));
    desk.finish();
}

/// Git applies the change to the new name; the record has the old one.
#[rstest::rstest]
#[case::rebase("git rebase -q main")]
#[case::pick("git switch -q main; git cherry-pick topic")]
fn lines_that_git_applies_to_a_file_renamed_upstream_keep_their_owners(#[case] script: &str) {
    let desk = Desk::new();
    desk.git(&["switch", "-qc", "topic"]);
    desk.turn("a", &[("f", &changed(&[(3, "a"), (9, "a")]))]);
    desk.write("f", changed(&[(3, "a"), (9, "a"), (15, "a person")]));
    desk.commit_all();
    desk.git(&["switch", "-q", "main"]);
    desk.git(&["mv", "f", "moved"]);
    desk.sh("echo of upstream >>moved");
    desk.commit_all();
    desk.git(&["switch", "-q", "topic"]);
    desk.sh(script);
    assert_eq!(desk.lines(), (2, 1));
    let blamed = desk.json(&["blame", "moved"]);
    let owned = |owner: &str| -> u64 {
        let lines = blamed["lines"].as_array().expect("a list").iter().filter(|it| it["owner"] == owner);
        lines.map(|it| it["end"].as_u64().expect("a number") + 1 - it["start"].as_u64().expect("a number")).sum()
    };
    assert_eq!(owned("agent"), 2, "{blamed}");
    desk.finish();
}

/// A person renames the only file of a session after its turn, and the session is prompted again before the commit.
#[rstest::rstest]
#[case::moved("mv new renamed", None)]
#[case::moved_before_more_work("mv new renamed", Some("g"))]
#[case::moved_by_git("git add new; git mv new renamed", None)]
#[case::moved_and_changed("mv new renamed; echo 'words of a person' >>renamed", Some("g"))]
#[case::moved_and_changed_before_a_question("mv new renamed; echo 'words of a person' >>renamed", None)]
#[case::moved_into_a_directory("mkdir d; mv new d/new", Some("g"))]
fn a_prompt_after_a_person_renames_the_only_file_keeps_its_author(
    #[case] rename: &str,
    #[case] works_on: Option<&str>,
) {
    let desk = Desk::new();
    desk.turn("a", &[("new", &numbered(1..=9))]);
    desk.sh(rename);
    match works_on {
        Some(path) => drop(desk.turn("a", &[(path, "of a\n")])),
        None => drop(desk.question("a")),
    }
    let person = u64::from(rename.contains("words"));
    let agent = 9 + u64::from(works_on.is_some());
    assert_eq!(desk.lines_now(), (agent, person));
    desk.commit_all();
    assert_eq!(desk.lines(), (agent, person));
    let path = if rename.contains("d/new") { "d/new" } else { "renamed" };
    let owners: Vec<String> = blamed(&desk, path).into_iter().map(|(_, owner)| owner).collect();
    assert_eq!(owners, if person == 1 { vec!["a", "human"] } else { vec!["a"] });
    desk.finish();
}

/// Five lines of a person, and one that stays where it is.
fn five_and_one() -> String {
    let lines: String = (1..=5).map(|line| format!("person wrote the words {line}\n")).collect();
    lines + "the end\n"
}

/// Moves the five lines to the end of `a`.
const MOVE_FIVE: &str = "sed -n 1,5p z >>a; sed -i 1,5d z";

/// An agent's copy of the lines is in `m`, which the same commit may change.
#[rstest::rstest]
#[case::unchanged("true")]
#[case::grown("echo unrelated >>m")]
#[case::changed("sed -i '1s/.*/unrelated/' m")]
#[case::renamed("mv m o")]
#[case::renamed_and_grown("mv m o; echo unrelated >>o")]
fn blame_does_not_take_moved_lines_from_a_file_that_still_has_them(#[case] edit: &str) {
    let desk = Desk::new();
    for (path, content) in [("z", five_and_one()), ("a", "first\n".into()), ("m", "one\n".into())] {
        desk.write(path, content);
    }
    desk.commit_all();
    desk.prompt("s");
    desk.sh("sed -n 1,5p z >>m");
    desk.stop("s");
    desk.commit_all();
    desk.prompt("s");
    desk.sh(&format!("{MOVE_FIVE}; {edit}"));
    desk.stop("s");
    desk.commit_all();
    let owners: Vec<String> = blamed(&desk, "a").into_iter().map(|(_, owner)| owner).collect();
    assert!(owners.iter().all(|owner| owner == "human"), "{owners:?}");
    desk.finish();
}

/// The lines that a person indented, and those that an agent moves in a commit that changes many files.
#[rstest::rstest]
#[case::lines_replaced("sed -i '3s/.*/changed by an agent/'")]
#[case::lines_added("sed -i '$aadded by an agent'")]
fn blame_finds_moved_and_reformatted_lines_beside_a_commit_of_many_files(#[case] edit: &str) {
    let desk = Desk::new();
    desk.write("z", five_and_one());
    for file in 1..=40 {
        desk.write(&format!("m{file:02}"), numbered(1..=9));
    }
    desk.commit_all();
    let written: String = (1..=6).map(|line| format!("the agent wrote the words {line}\n")).collect();
    desk.turn("s", &[("a", &written)]);
    desk.commit_all();
    desk.sh("sed -i 's/^/    /' a");
    desk.commit_all();
    let person = desk.git(&["rev-parse", "HEAD"]);
    desk.prompt("t");
    desk.sh(&format!("{edit} m??; {MOVE_FIVE}"));
    desk.stop("t");
    desk.commit_all();
    // Blame follows the lines of commits in the order of their ids.
    for attempt in 0.. {
        if desk.git(&["rev-parse", "HEAD"]) < person {
            break;
        }
        desk.git(&["commit", "-q", "--amend", "-m", &format!("attempt {attempt}")]);
    }
    let found = blamed(&desk, "a");
    let owner = |line: u64| found.iter().rfind(|(start, _)| *start <= line).map(|(_, owner)| owner.as_str());
    let owners: Vec<Option<&str>> = (1..=11).map(owner).collect();
    assert_eq!(owners, [[Some("s"); 6].as_slice(), &[Some("human"); 5]].concat(), "{found:?}");
    desk.finish();
}

/// A person moves lines to another file and commits that without any session.
#[rstest::rstest]
#[case::to_a_file_that_is_there("first\n")]
#[case::to_a_new_file("")]
fn lines_that_a_person_moves_between_files_keep_their_authors(#[case] before: &str) {
    let desk = Desk::new();
    desk.write("z", five_and_one());
    if !before.is_empty() {
        desk.write("b", before);
    }
    desk.commit_all();
    let written: String = (1..=6).map(|line| format!("the agent wrote the words {line}\n")).collect();
    desk.turn("s", &[("a", &format!("{written}the last line\n"))]);
    desk.commit_all();
    desk.sh("sed -n 1,6p a >>b; sed -i 1,6d a; sed -n 1,5p z >>b; sed -i 1,5d z; echo typed >>b");
    desk.commit_all();
    let found = blamed(&desk, "b");
    let owner = |line: u64| found.iter().rfind(|(start, _)| *start <= line).map(|(_, owner)| owner.as_str());
    let first = before.lines().count() as u64;
    let owners: Vec<Option<&str>> = (first + 1..=first + 12).map(owner).collect();
    assert_eq!(owners, [[Some("s"); 6], [Some("human"); 6]].concat(), "{found:?}");
    assert_eq!(desk.lines(), (0, 1));
    let of_path = desk.json(&["attribution", "HEAD", "--", "b"]);
    assert_eq!(of_path["summary"]["human_added"], 1, "the other files count, too: {of_path:#}");
    desk.finish();
}

#[test]
fn the_work_in_a_file_that_is_renamed_and_put_back_is_under_the_new_name() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &(changed(&[]) + "a line of the agent\nand another one\n"))]);
    desk.sh("mv f ren; git checkout -q f");
    assert_eq!(desk.lines_now(), (2, 0));
    desk.commit_all();
    assert_eq!(desk.lines(), (2, 0));
    desk.finish();
}

/// A desk with the branch `up`, which renames `f` to `ren` and, on request, changes its first line; a session has since added
/// two lines to `f`.
fn renamed_upstream(changes: bool) -> Desk {
    let desk = Desk::new();
    desk.git(&["switch", "-q", "-c", "up"]);
    desk.git(&["mv", "f", "ren"]);
    desk.git(&["commit", "-qm", "renamed"]);
    if changes {
        desk.write("ren", changed(&[(1, "upstream")]));
        desk.git(&["commit", "-qam", "changed"]);
    }
    desk.git(&["switch", "-q", "main"]);
    desk.turn("a", &[("f", &(changed(&[]) + "a line of the agent\nand another one\n"))]);
    desk
}

#[rstest::rstest]
#[case::rebase("git rebase -q --autostash up", true, true)]
#[case::rebase_without_hooks("git rebase -q --autostash up", false, false)]
#[case::pull("git pull -q --rebase --autostash . up", false, true)]
#[case::merge("git merge -q --autostash up", true, false)]
#[case::merge_with_hooks("git merge -q --autostash up", false, true)]
#[case::checkout("git checkout -q -m up", false, false)]
#[case::checkout_with_hooks("git checkout -q -m up", true, true)]
#[case::stash("git stash -q && git switch -q up && git stash pop -q", true, false)]
#[case::stash_with_hooks("git stash -q && git switch -q up && git stash pop -q", false, true)]
#[case::rebase_with_a_commit("echo x >h; git commit -qm h h; git rebase -q --autostash up", true, true)]
#[case::rebase_with_a_commit_without_hooks("echo x >h; git commit -qm h h; git rebase -q --autostash up", false, false)]
fn uncommitted_lines_in_a_file_that_git_renames_stay_the_agents(
    #[case] command: &str,
    #[case] changes: bool,
    #[case] has_hooks: bool,
) {
    let desk = renamed_upstream(changes);
    if !has_hooks {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    desk.sh(command);
    assert_eq!(desk.lines_now(), (2, 0));
    desk.git(&["commit", "-qam", "x"]);
    if !has_hooks {
        desk.json(&["save"]);
    }
    assert_eq!(desk.lines(), (2, 0));
    desk.finish();
}

/// A person renames a file that has a session's committed lines, and commits or resets between its deletion and its new name.
#[rstest::rstest]
#[case::amended("mv f r0; git commit -qa --amend --no-edit; git add -A; git commit -qm x", false)]
#[case::amended_without_hooks("mv f r0; git commit -qa --amend --no-edit; git add -A; git commit -qm x", true)]
#[case::amended_with_a_line(
    "mv f r0; echo human >>r0; git commit -qa --amend --no-edit; git add -A; git commit -qm x",
    true
)]
#[case::amended_and_renamed_again(
    "mv f r; git commit -qa --amend --no-edit; mv r r0; git add -A; git commit -qm x",
    false
)]
#[case::amended_twice_without_hooks(
    "mv f r0; git commit -qa --amend --no-edit; git commit -q --amend -m y --allow-empty; git add -A; git commit -qm x",
    true
)]
#[case::committed("mv f r0; git commit -qam gone; git add -A; git commit -qm x", false)]
#[case::committed_without_hooks("mv f r0; git commit -qam gone; git add -A; git commit -qm x", true)]
#[case::committed_with_a_line("mv f r0; echo human >>r0; git commit -qam gone; git add -A; git commit -qm x", false)]
#[case::committed_with_a_line_without_hooks(
    "mv f r0; echo human >>r0; git commit -qam gone; git add -A; git commit -qm x",
    true
)]
fn a_sessions_lines_in_a_file_that_is_renamed_over_two_commits_stay_its_own(
    #[case] script: &str,
    #[case] are_hooks_off: bool,
) {
    let desk = Desk::new();
    if are_hooks_off {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.commit_all();
    desk.json(&["save"]);
    desk.sh(script);
    desk.json(&["save"]);
    let parts = desk.json(&["blame", "r0"])["lines"].as_array().expect("lines").clone();
    let owner = |line: u64| parts.iter().find(|it| it["start"] == line).map(|it| it["owner"].clone());
    assert_eq!(owner(3), Some("agent".into()), "{parts:?}");
    desk.finish();
}

/// HEAD moves before any checkpoint has seen the new name.
#[rstest::rstest]
#[case::a_new_file("n", "mv n m")]
#[case::a_file_that_is_put_back("f", "mv f m; git checkout -q f")]
fn a_moved_file_keeps_its_authors_when_something_else_is_committed(
    #[case] path: &str,
    #[case] script: &str,
    #[values(
        "git commit -qm x",
        "git -c core.hooksPath=/dev/null commit -qm x",
        "git checkout -qb x; git commit -qm x"
    )]
    commit: &str,
) {
    let desk = Desk::new();
    let lines: String = (1..=4).map(|at| format!("line {at} that the agent has written\n")).collect();
    let content = if path == "f" { changed(&[]) + &lines } else { lines };
    desk.turn("a", &[(path, &content)]);
    desk.sh(&format!("{script}; echo human >h; git add h; {commit}"));
    let parts = desk.json(&["blame", "m"])["lines"].as_array().expect("lines").clone();
    let number = |it: &Value, key: &str| it[key].as_u64().expect("a number");
    let agents = parts.iter().filter(|it| it["owner"] == "agent").map(|it| number(it, "end") + 1 - number(it, "start"));
    assert_eq!(agents.sum::<u64>(), 4, "{parts:?}");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-q", "-m", "all"]);
    assert_eq!(desk.lines().0, 4);
    desk.finish();
}

#[test]
fn an_empty_file_is_not_another_one_that_an_agent_made() {
    let desk = Desk::new();
    desk.turn("a", &[("n", "")]);
    desk.sh("rm n; : >mine; echo human >h; git add h; git commit -qm x");
    assert_eq!(desk.chain(), Vec::<String>::new());
    assert_eq!(desk.read("mine"), "");
    desk.finish();
}

/// The old file was edited, or is as it was: then nothing shows that the other one is the agent's.
#[rstest::rstest]
#[case::copied("cp k m")]
#[case::copied_and_edited("cp k m; echo human >>k")]
fn a_file_like_one_of_an_agent_that_is_still_there_is_a_persons(
    #[case] script: &str,
    #[values("save", "write m")] next: &str,
) {
    let desk = Desk::new();
    moved::tell(&desk, "a", "UserPromptSubmit", r#","prompt":"do it""#);
    moved::write(&desk, "a", "k", "t1", "mod tests;");
    desk.sh(script);
    match next {
        "save" => drop(desk.json(&["save"])),
        _ => moved::write(&desk, "a", "m", "t2", "a two"),
    }
    moved::tell(&desk, "a", "Stop", "");
    assert_eq!(moved::blamed(&desk, "m")[0], "mod tests;: human");
    desk.commit_all();
    assert_eq!(moved::blamed(&desk, "m")[0], "mod tests;: human");
    desk.finish();
}

/// Where the work went is seen by whole contents: the commit waits for no filter, and no file of another size is read.
#[test]
fn a_commit_after_undone_work_runs_no_filter() {
    let desk = Desk::new();
    desk.turn("a", &[("n", "of the agent\n")]);
    desk.sh("git config filter.slow.clean 'echo >>../ran; cat'; echo '*.slow filter=slow' >.git/info/attributes");
    desk.sh("mv n m; echo other >x.slow; echo human >h; git add h; git commit -qm x; test ! -e ../ran");
    assert_eq!(desk.json(&["blame", "m"])["lines"][0]["owner"], "agent");
    desk.finish();
}
