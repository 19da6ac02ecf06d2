//! Where an agent's file went before a commit: every reader is asked about each history, with git's hooks and without them, and with a
//! save or another commit in between.

use serde_json::Value;

use super::desk::{Desk, numbered, words};
use crate::support::World;

/// How git is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hooks {
    On,
    Off,
}

/// What happens between the moves of a person and the commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Nothing,
    Save,
    Commit,
}

impl Desk {
    /// Returns who owns each line of `path`, according to `blame`.
    fn owners(&self, path: &str) -> Vec<String> {
        owners(&self.json(&["blame", "--", path])["lines"])
    }

    /// The same for a changed file of the worktree, according to `attribution`, which is asked for all files, or for this one.
    fn owners_now(&self, path: &str, is_asked_alone: bool) -> Vec<String> {
        let mut arguments = vec!["attribution", "--worktree"];
        if is_asked_alone {
            arguments.extend(["--", path]);
        }
        let found = self.json(&arguments);
        let file = found["files"].as_array().expect("a list").iter().find(|file| file["path"] == path);
        owners(&file.expect("it is changed")["owners"])
    }

    /// Asks every reader for `path`, which ends with lines of the owners `expected`, before and after the commit that `stage` stages,
    /// and counts the commit's trailers.
    fn ask_everyone(&self, hooks: Hooks, path: &str, stage: &str, expected: &[&str]) {
        let blame = || {
            let owners = self.owners(path);
            owners[owners.len().saturating_sub(expected.len())..].to_vec()
        };
        self.sh(stage);
        assert_eq!(blame(), expected, "blame before the commit");
        assert_eq!(self.owners_now(path, false), expected, "attribution of all files");
        assert_eq!(self.owners_now(path, true), expected, "attribution of the file");
        self.commit();
        if hooks == Hooks::On {
            assert_eq!(blame(), expected, "blame after the commit");
            assert_eq!(self.trailers("HEAD").len(), 1);
        }
        self.json(&["save"]);
        assert_eq!(blame(), expected, "blame after a save");
        assert_eq!(self.records("HEAD").len(), 1);
        self.finish();
    }
}

/// Returns the owner of each line of `spans`.
fn owners(spans: &Value) -> Vec<String> {
    let number = |span: &Value, key: &str| span[key].as_u64().and_then(|number| usize::try_from(number).ok());
    let owners = spans.as_array().expect("a list").iter().flat_map(|span| {
        let (start, end) = number(span, "start").zip(number(span, "end")).expect("lines");
        std::iter::repeat_n(span["owner"].as_str().expect("a word").to_owned(), end + 1 - start)
    });
    owners.collect()
}

/// An agent has a new file `n`, which is not committed. A person moves it to `m`, or out of the way.
#[rstest::rstest]
#[case::moved("mv n m", "m", &["agent"; 3])]
#[case::moved_and_made_executable("mv n m; chmod +x m", "m", &["agent"; 3])]
#[case::moved_and_edited("mv n m; sed -i 1s/words/texts/ m", "m", &["mixed", "agent", "agent"])]
#[case::moved_and_its_name_taken("mv n m; echo mine >n", "m", &["agent"; 3])]
#[case::moved_and_edited_and_its_name_taken(
    "mv n m; sed -i 1s/words/texts/ m; echo mine >n",
    "m",
    &["mixed", "agent", "agent"]
)]
#[case::moved_into_a_directory_and_its_name_taken("mkdir d; mv n d/n; echo mine >n", "d/n", &["agent"; 3])]
#[case::moved_and_its_name_taken_by_another_one_of_the_agent("mv n m; mv p n", "m", &["agent"; 3])]
#[case::two_lines_cut_out("head -2 n >m; sed -i 1,2d n", "m", &["agent"; 2])]
#[case::copied_and_written_anew("cp n m; printf 'mine one\nmine two\n' >n", "m", &["agent"; 3])]
#[case::moved_over_a_committed_file("mv n f", "f", &["agent"; 3])]
#[case::copied_over_a_committed_file("cat n >f; rm n", "f", &["agent"; 3])]
#[case::moved_over_a_similar_file("mv n similar", "similar", &["agent"; 3])]
fn a_new_file(
    #[case] moves: &str,
    #[case] path: &str,
    #[case] expected: &[&str],
    #[values(Hooks::On, Hooks::Off)] hooks: Hooks,
    #[values(Between::Nothing, Between::Save, Between::Commit)] between: Between,
) {
    let desk = Desk::new();
    desk.write("similar", "a first line\na second line\na third line\n");
    desk.git(&["add", "similar"]);
    desk.commit();
    if hooks == Hooks::Off {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    desk.turn("a", &[("n", &words("a", 1..=3)), ("p", &words("a", 11..=13))]);
    desk.sh(moves);
    match between {
        Between::Nothing => {}
        Between::Save => drop(desk.json(&["save"])),
        Between::Commit => {
            desk.write("other", "of a person\n");
            desk.sh("git add other; git commit -qm other");
        }
    }
    desk.ask_everyone(hooks, path, &format!("git add {path}"), expected);
}

/// An agent has added four lines to `f`, and has a new file `n`; neither is committed. Somebody moves lines to another file.
#[rstest::rstest]
#[case::to_a_committed_file("tail -4 f >>g; sed -i '21,$d' f", "g", "-a", &["agent"; 4])]
#[case::to_a_committed_file_and_only_that_is_staged("tail -4 f >>g; sed -i '21,$d' f", "g", "g", &["agent"; 4])]
#[case::to_a_new_file("tail -4 f >m; sed -i '21,$d' f", "m", "m", &["agent"; 4])]
#[case::to_a_new_file_and_edited("tail -4 f >m; echo mine >>m; sed -i '21,$d' f", "m", "m", &["agent", "agent", "agent", "agent", "human"])]
#[case::in_part("tail -3 f >m; sed -i '22,$d' f", "m", "m", &["agent"; 3])]
#[case::with_much_more(
    "seq 1 9 >m; cat n >>m; rm n",
    "m",
    "m",
    &["human", "human", "human", "human", "human", "human", "human", "human", "human", "agent", "agent", "agent"]
)]
fn a_block(
    #[case] moves: &str,
    #[case] path: &str,
    #[case] stages: &str,
    #[case] expected: &[&str],
    #[values(Hooks::On, Hooks::Off)] hooks: Hooks,
    #[values(Mover::Person, Mover::Agent)] mover: Mover,
) {
    let desk = Desk::new();
    if hooks == Hooks::Off {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    desk.turn("a", &[("f", &format!("{}{}", desk.read("f"), words("a", 1..=4))), ("n", &words("a", 11..=13))]);
    match mover {
        Mover::Person => {
            desk.sh(moves);
            desk.json(&["save"]);
        }
        Mover::Agent => {
            desk.prompt("b");
            desk.sh(moves);
            desk.stop("b");
        }
    }
    // What the mover types is theirs.
    let expected: Vec<&str> =
        expected.iter().map(|owner| if mover == Mover::Agent { "agent" } else { *owner }).collect();
    let stage = if stages == "-a" { "git add -u".to_owned() } else { format!("git add {stages}") };
    desk.ask_everyone(hooks, path, &stage, &expected);
    let sessions = desk.json(&["blame", "--", path])["lines"].as_array().expect("a list").clone();
    let last = sessions.iter().rev().find(|line| line["session"] == "a");
    assert!(last.is_some(), "{sessions:?}");
}

/// Who moves lines, and lets a checkpoint see it: a save, or the end of a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mover {
    Person,
    Agent,
}

/// A copy is its maker's: the lines are still where the agent wrote them.
#[rstest::rstest]
fn a_copy(#[values(false, true)] is_saved: bool) {
    let desk = Desk::on(&World::with_lines().with_clock());
    desk.world.next_second();
    desk.turn("a", &[("f", &format!("{}{}", desk.read("f"), words("a", 1..=4)))]);
    desk.sh("tail -4 f >>g; git add g");
    if is_saved {
        desk.json(&["save"]);
    }
    desk.commit();
    let owners = desk.owners("g");
    assert_eq!(owners[owners.len() - 4..], ["human"; 4]);
    assert!(desk.trailers("HEAD").is_empty());
    desk.finish();
}

/// A person moves an agent's uncommitted lines to another file, and commits that file without a save in between. Git's hook has to find
/// out.
#[rstest::rstest]
#[case::to_a_committed_file("tail -4 f >>g; sed -i '21,$d' f", "g", "add -u", &["agent"; 4])]
#[case::to_a_committed_file_and_only_that_is_staged("tail -4 f >>g; sed -i '21,$d' f", "g", "add g", &["agent"; 4])]
#[case::to_a_new_file("tail -4 f >m; sed -i '21,$d' f", "m", "add m", &["agent"; 4])]
#[case::to_a_new_file_and_edited("tail -4 f >m; echo mine >>m; sed -i '21,$d' f", "m", "add m", &["agent", "agent", "agent", "agent", "human"])]
#[case::in_part("tail -3 f >m; sed -i '22,$d' f", "m", "add m", &["agent"; 3])]
#[case::out_of_a_new_file("tail -3 n >m; sed -i '3,$d' n", "m", "add m", &["agent"; 3])]
#[case::all_of_a_new_file("cat n >>g; rm n", "g", "add g", &["agent"; 5])]
#[case::with_another_file("tail -4 f >m; sed -i '21,$d' f; echo mine >>g", "m", "add g m", &["agent"; 4])]
fn a_block_that_no_save_has_seen(
    #[case] moves: &str,
    #[case] path: &str,
    #[case] stage: &str,
    #[case] expected: &[&str],
    #[values(false, true)] has_later_turn: bool,
) {
    let desk = Desk::new();
    desk.turn("a", &[("f", &format!("{}{}", desk.read("f"), words("a", 1..=4))), ("n", &words("a", 11..=15))]);
    if has_later_turn {
        desk.prompt("b");
        desk.stop("b");
    }
    desk.sh(moves);
    desk.ask_everyone(Hooks::On, path, &format!("git {stage}"), expected);
}

/// The lines that a person moves go to two files, which are committed one after the other.
#[test]
fn a_block_that_two_commits_take() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &format!("{}{}", desk.read("f"), words("a", 1..=6)))]);
    desk.sh("sed -n 21,23p f >m; sed -n 24,26p f >p; sed -i '21,$d' f; git add m");
    desk.commit();
    assert_eq!(desk.owners("m"), ["agent"; 3]);
    assert_eq!(desk.owners("p"), ["agent"; 3]);
    desk.sh("git add p");
    desk.commit();
    assert_eq!(desk.owners("p"), ["agent"; 3]);
    assert_eq!(desk.trailers("HEAD").len(), 1);
    desk.finish();
}

/// Who wrote lines that an agent moves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    Person,
    PersonWhoSaved,
    OtherSession,
}

/// An agent moves lines by two tool calls that each name one file: no checkpoint has both.
#[rstest::rstest]
#[case::added_first("m", &[("m", "tail -4 f >m"), ("f", "sed -i '21,$d' f")])]
#[case::cut_first("m", &[("f", "tail -4 f >../cut; sed -i '21,$d' f"), ("m", "cat ../cut >m")])]
#[case::to_a_committed_file("g", &[("g", "tail -4 f >>g"), ("f", "sed -i '21,$d' f")])]
#[case::with_another_edit("g", &[("g", "tail -4 f >>g"), ("n", "echo new >n"), ("f", "sed -i '21,$d' f; echo more >>f")])]
fn a_block_that_two_calls_move(
    #[case] path: &str,
    #[case] calls: &[(&str, &str)],
    #[values(Writer::Person, Writer::PersonWhoSaved, Writer::OtherSession)] writer: Writer,
) {
    let desk = Desk::on(&World::with_lines().with_clock());
    desk.world.next_second();
    let with_block = format!("{}{}", desk.read("f"), words("b", 1..=4));
    match writer {
        Writer::Person => desk.write("f", with_block),
        Writer::PersonWhoSaved => {
            desk.write("f", with_block);
            desk.json(&["save"]);
        }
        Writer::OtherSession => desk.turn_with_tool("b", "f", &with_block),
    }
    let acts: Vec<_> = calls.iter().map(|(_, script)| || desk.sh(script)).collect();
    let calls: Vec<(&str, &dyn Fn())> =
        calls.iter().zip(&acts).map(|((path, _), act)| (*path, act as &dyn Fn())).collect();
    desk.turn_with_calls("a", &calls);
    let expected = if writer == Writer::OtherSession { "agent" } else { "human" };
    let check = || {
        let owners = desk.owners(path);
        assert_eq!(owners[owners.len() - 4..], [expected; 4]);
        let lines = desk.json(&["blame", "--", path])["lines"].clone();
        let last = lines.as_array().expect("a list").last().expect("there are lines").clone();
        assert_eq!(last["session"], if expected == "agent" { "b".into() } else { Value::Null });
    };
    check();
    desk.git(&["add", path]);
    desk.commit();
    check();
    desk.finish();
}

/// A person splits an agent's new file in two. Git takes one of the parts for the renamed file.
#[rstest::rstest]
#[case::in_halves("head -4 n >m; tail -4 n >p; rm n", "m p", 4, 4)]
#[case::into_a_large_and_a_small_part("head -5 n >m; tail -3 n >p; rm n", "m p", 5, 3)]
#[case::only_the_small_part_is_committed("head -5 n >m; tail -3 n >p; rm n", "p", 5, 3)]
fn a_new_file_that_is_split(
    #[case] script: &str,
    #[case] staged: &str,
    #[case] large: usize,
    #[case] small: usize,
    #[values(false, true)] is_large_asked: bool,
) {
    if is_large_asked && staged == "p" {
        return;
    }
    let (path, lines) = if is_large_asked { ("m", large) } else { ("p", small) };
    let desk = Desk::new();
    desk.turn("a", &[("n", &words("a", 1..=8))]);
    desk.sh(script);
    desk.ask_everyone(Hooks::On, path, &format!("git add {staged}"), &vec!["agent"; lines]);
}

/// Lines that are committed are moved to another file: before the commit, too, they are their authors'.
#[rstest::rstest]
fn a_committed_block(#[values("f", "m")] path: &str, #[values(false, true)] has_shadow: bool) {
    let desk = Desk::on(&World::with_lines().with_clock());
    desk.world.next_second();
    desk.turn("a", &[("g", &format!("{}{}", desk.read("g"), words("a", 1..=4)))]);
    desk.commit_all();
    desk.sh(&format!("tail -4 g >>{path}; head -n -4 g >../rest; cat ../rest >g"));
    if has_shadow {
        desk.turn("b", &[("n", "another file\n")]);
    }
    let last = || {
        let owners = desk.owners(path);
        owners[owners.len() - 4..].to_vec()
    };
    assert_eq!(last(), ["agent"; 4]);
    desk.git(&["add", path, "g"]);
    desk.commit();
    assert_eq!(last(), ["agent"; 4]);
    desk.finish();
}

/// A person writes and commits a file `m` that has some of the lines that a file of an agent has, or had.
#[rstest::rstest]
#[case::the_file_is_thrown_away("rm n; mine")]
#[case::the_file_is_stashed("git stash -qu; mine")]
#[case::the_file_is_stashed_when_the_other_is_staged("mine; git add m; git stash -qu -k")]
#[case::the_file_is_left_on_another_branch("git branch other; git stash -qu; git switch -q other; mine")]
#[case::a_committed_line_was_moved("mine; tail -1 f >>m; sed -i '$d' f")]
#[case::a_line_of_the_file_was_thrown_away("mine; sed -i '$d' n")]
#[case::the_file_is_thrown_away_after_a_save("mine; git checkpoint save -q; rm n; git checkpoint save -q")]
#[case::the_files_are_converted(
    "git config filter.up.clean 'tr a-z A-Z'; echo 'n filter=up' >.git/info/attributes; touch n; mine"
)]
fn what_a_person_types_like_a_file_beside_it(#[case] script: &str) {
    const LICENCE: &str = "// SPDX-License-Identifier: MIT OR Apache-2.0";
    let desk = Desk::on(&World::with_lines().with_clock());
    desk.world.next_second();
    desk.turn("a", &[("n", &format!("{LICENCE}\n{}", words("a", 1..=9)))]);
    let mine = format!("mine() {{ printf '%s\\n' '{LICENCE}' 'struct Mine(String);' 'struct AndMine(u64);' >m; }}");
    desk.sh(&format!("{mine}; {script}; git add m"));
    desk.commit();
    assert!(desk.owners("m").iter().all(|owner| owner == "human"), "{:?}", desk.owners("m"));
    assert!(desk.trailers("HEAD").is_empty());
}

/// An agent deletes a person's file in one worktree, and another one moves that file over another one in a second worktree. The lines
/// stay the person's, and the deletion is that of the second agent.
#[rstest::rstest]
#[case::deleted("rm p")]
#[case::renamed("mv p m")]
fn a_file_that_two_worktrees_lack(#[case] script: &str) {
    let desk = Desk::on(&World::with_lines().with_clock());
    desk.world.next_second();
    desk.write("p", words("person", 1..=9));
    desk.commit_all();
    desk.prompt("a");
    desk.sh(script);
    desk.stop("a");
    desk.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    desk.go("side");
    desk.prompt("b");
    desk.sh("mv p g");
    desk.stop("b");
    desk.commit_all();
    assert_eq!(desk.owners("g"), ["human"; 9]);
    assert_eq!(desk.lines().0, 0);
    let sessions: Vec<String> = desk.records("HEAD")[0].sessions.iter().map(|session| session.id.clone()).collect();
    assert_eq!(sessions, ["b"]);
    desk.finish();
}

/// Another agent's file is away while a commit takes moved lines: the checkpoint that the hook takes leaves it alone.
#[test]
fn a_file_that_is_away_when_lines_are_moved() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &format!("{}{}", desk.read("f"), words("a", 1..=4))), ("n", &words("a", 11..=15))]);
    desk.sh("tail -4 f >>g; sed -i '21,$d' f; git add g; mv n ../n");
    desk.commit();
    let owners = desk.owners("g");
    assert_eq!(owners[owners.len() - 4..], ["agent"; 4]);
    desk.sh("mv ../n n; git add n");
    desk.commit();
    assert_eq!(desk.owners("n"), ["agent"; 5]);
    assert_eq!(desk.trailers("HEAD").len(), 1);
    desk.finish();
}

/// A stash takes a file of an agent away, and a person commits some of its lines.
#[rstest::rstest]
#[case::a_lone_line_typed_again(
    "git stash -q; sed -i '1i the agent has added a single line of some words here' g; git add g"
)]
#[case::a_copy("tail -4 f >>g; git add g; git stash -qk")]
#[case::a_copy_beside_an_edit("echo mine >>f; sed -n 22,25p f >>g; git add g; git stash push -q -- f")]
#[case::a_copy_with_saves(
    "tail -4 f >>g; git checkpoint save -q; git stash -q -- f; git checkpoint save -q; git add g"
)]
#[case::a_part("sed -n 22,25p f >>g; sed -i 22,25d f; git add g; git stash -qk")]
fn lines_of_a_stashed_file(#[case] script: &str) {
    let desk = Desk::on(&World::with_lines().with_clock());
    desk.world.next_second();
    let line = "the agent has added a single line of some words here\n";
    desk.turn("a", &[("f", &format!("{line}{}{}", desk.read("f"), words("a", 1..=4)))]);
    desk.sh(script);
    desk.commit();
    assert!(desk.owners("g").iter().all(|owner| owner != "agent"), "{:?}", desk.owners("g"));
    assert!(desk.trailers("HEAD").is_empty());
}

/// A commit reads no other file if it has only one line of an agent's file.
#[test]
fn a_common_line_reads_no_other_file() {
    let desk = Desk::on(&World::with_lines().with_clock());
    desk.world.next_second();
    let line = "use std::collections::HashMap; // a common line\n";
    desk.turn("a", &[("f", &format!("{}{line}{}", desk.read("f"), words("a", 1..=4)))]);
    desk.write("g", format!("{}{line}", desk.read("g")));
    desk.write("f", format!("{}mine\n", desk.read("f")));
    desk.git(&["add", "g"]);
    desk.git(&["config", "filter.slow.clean", "echo x >>../was-run; cat"]);
    desk.write(".git/info/attributes", "other filter=slow\n");
    desk.write("other", "of a person\n");
    desk.commit();
    assert!(!desk.folder().join("../was-run").exists());
    assert!(desk.owners("g").iter().all(|owner| owner != "agent"));
}

/// A row of saves in a large file beside it does not hide an older move.
#[test]
fn a_move_below_a_row_of_saves() {
    let desk = Desk::on(&World::with_lines().with_clock());
    let large: String = (1..=9000).map(|line| format!("base line {line} of the large file\n")).collect();
    desk.write("m", large);
    desk.write("p", numbered(1..=9));
    desk.commit_all();
    desk.world.next_second();
    desk.turn("a", &[("f", &format!("{}{}", desk.read("f"), words("a", 1..=4)))]);
    desk.sh("tail -4 f >>m; sed -i '21,$d' f; git checkpoint save -q");
    desk.turn("b", &[("other", "some text of the third\n")]);
    for line in 5..=6 {
        desk.sh(&format!(
            "sed -i '{line}s/$/ some more text {line} for it/' m; sed -i '{line}s/.*/other text {line} in p/' p"
        ));
        desk.json(&["save"]);
    }
    desk.sh("git add m");
    desk.commit();
    let owners = desk.owners("m");
    assert_eq!(owners[owners.len() - 4..], ["agent"; 4]);
    desk.finish();
}

/// A session moves the saved lines of a person: they stay the person's.
#[test]
fn a_persons_block() {
    let desk = Desk::new();
    desk.sh("seq 1 4 | sed 's/^/a person has written the words of this line /' >>f");
    desk.json(&["save"]);
    desk.prompt("b");
    desk.sh("tail -4 f >m; sed -i '21,$d' f; echo 'one line of session b' >>m");
    desk.stop("b");
    desk.sh("git add m");
    desk.commit();
    assert_eq!(desk.owners("m"), ["human", "human", "human", "human", "agent"]);
    desk.finish();
}

/// A file that a checkpoint has changed beside the committed one is damaged: that says nothing of the committed one.
#[test]
fn a_damaged_file_beside_it() {
    let desk = Desk::new();
    desk.turn("a", &[("n", &words("a", 1..=3)), ("p", &words("a", 11..=13))]);
    let id = desk.git(&["hash-object", "p"]);
    desk.turn("a", &[("n", &words("a", 1..=6)), ("p", &words("a", 21..=23))]);
    desk.sh(&format!("rm -f .git/objects/{}/{}", &id[..2], &id[2..]));
    assert!(!desk.try_git(&["cat-file", "-e", &id]).status.success());
    desk.sh("git add n");
    desk.commit();
    assert_eq!(desk.owners("n"), ["agent"; 6]);
    assert_eq!(desk.trailers("HEAD").len(), 1);
    // Only the shadow whose work was committed is in the archive: none was set aside for the damage.
    assert_eq!(desk.git(&["for-each-ref", "refs/checkpoints/archive/"]).lines().count(), 1);
}

/// An agent has committed `n` and `p` on a branch that is still there. A person brings `n` to main.
#[rstest::rstest]
#[case::checkout("git checkout -q side -- n", &["agent"; 3])]
#[case::restore("git restore -s side -S -W n", &["agent"; 3])]
#[case::show("git show side:n >n", &["agent"; 3])]
#[case::pick_of_a_part("git cherry-pick -n side; git rm -q -f p", &["agent"; 3])]
#[case::squash_of_a_part("git merge -q --squash side; git rm -q -f p", &["agent"; 3])]
#[case::checkout_and_a_line_more("git checkout -q side -- n; echo mine >>n", &["agent", "agent", "agent", "human"])]
fn a_file_of_another_branch(
    #[case] brings: &str,
    #[case] expected: &[&str],
    #[values(Hooks::On, Hooks::Off)] hooks: Hooks,
    #[values(false, true)] has_main_moved: bool,
    #[values(false, true)] does_other_work_wait: bool,
) {
    let desk = Desk::new();
    if hooks == Hooks::Off {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    desk.git(&["switch", "-qc", "side"]);
    desk.turn("a", &[("n", &words("a", 1..=3)), ("p", &words("a", 11..=13))]);
    desk.commit_all();
    desk.json(&["save"]);
    desk.git(&["switch", "-q", "main"]);
    if has_main_moved {
        desk.write("other", "of a person\n");
        desk.commit_all();
        desk.json(&["save"]);
    }
    if does_other_work_wait {
        desk.turn("b", &[("w", "of b\n")]);
    }
    desk.sh(brings);
    desk.ask_everyone(hooks, "n", "git add n", expected);
}

/// The branch is that of another worktree: HEAD was never there.
#[rstest::rstest]
fn a_file_of_another_worktree(#[values(Hooks::On, Hooks::Off)] hooks: Hooks) {
    // A record of another worktree is only known to be older if its second is.
    let desk = Desk::on(&World::with_lines().with_clock());
    if hooks == Hooks::Off {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    desk.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    desk.write("other", "of a person\n");
    desk.commit_all();
    desk.json(&["save"]);
    desk.go("side");
    desk.turn("a", &[("n", &words("a", 1..=3)), ("p", &words("a", 11..=13))]);
    desk.commit_all();
    desk.json(&["save"]);
    desk.go("repo");
    desk.world.next_second();
    desk.sh("git checkout -q side -- n");
    desk.ask_everyone(hooks, "n", "git add n", &["agent"; 3]);
}

/// What a commit had that a reset has removed comes back by a commit, although a person has edited each line of the agent.
#[rstest::rstest]
#[case::soft(&["reset", "-q", "--soft"])]
#[case::mixed(&["reset", "-q"])]
fn an_edited_line_after_a_reset(#[case] reset: &[&str], #[values(Hooks::On, Hooks::Off)] hooks: Hooks) {
    let desk = Desk::new();
    if hooks == Hooks::Off {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    let text = format!("{}{}", desk.read("g"), words("a", 1..=1));
    desk.turn("a", &[("g", &text)]);
    desk.commit_all();
    desk.json(&["save"]);
    desk.sh("sed -i s/words/texts/ g; git commit -qam edited");
    desk.json(&["save"]);
    desk.git(&[reset, &["HEAD~2"]].concat());
    let expected = desk.owners("g");
    assert_eq!(expected.last().map(String::as_str), Some("mixed"));
    desk.git(&["add", "g"]);
    desk.commit();
    desk.json(&["save"]);
    assert_eq!(desk.owners("g"), expected);
    assert_eq!(desk.records("HEAD").len(), 1);
    desk.finish();
}

/// What is staged differs from what the branch has.
#[rstest::rstest]
#[case::picked("git cherry-pick -n side")]
#[case::squashed("git merge -q --squash side")]
#[case::checked_out("git checkout -q side -- n")]
fn work_of_another_branch_that_is_edited(#[case] brings: &str, #[values(Hooks::On, Hooks::Off)] hooks: Hooks) {
    let desk = Desk::new();
    desk.git(&["switch", "-qc", "side"]);
    desk.turn("a", &[("n", &words("a", 1..=9))]);
    desk.commit_all();
    desk.git(&["switch", "-q", "main"]);
    if hooks == Hooks::Off {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    desk.sh(&format!("{brings}; sed -i '3d; 5d' n; git add n"));
    desk.commit();
    desk.json(&["save"]);
    let expected = if brings.contains("checkout") && hooks == Hooks::On { "human" } else { "agent" };
    assert_eq!(desk.owners("n"), [expected; 7]);
    desk.finish();
}

/// An agent has written something on another branch, and a person writes the same: nothing shows that git has brought it.
#[rstest::rstest]
#[case::a_common_line("printf 'import os\\nfirst\\n' >n", "printf 'import os\\nmine\\n' >n")]
#[case::the_only_line("echo 'import os' >>g", "printf 'import os\\nmine\\n' >>g")]
#[case::a_long_line(
    "echo 'from collections import OrderedDict' >>g",
    "printf 'from collections import OrderedDict\\nmine\\n' >>g"
)]
#[case::a_small_file("echo target/ >n; echo more >m", "echo target/ >n")]
#[case::an_empty_file(
    "mkdir p; : >p/n; printf 'import os\\nimport sys\\n' >m",
    "mkdir p; : >p/n; printf 'import os\\nmine\\n' >m"
)]
#[case::a_deleted_file(
    "git rm -q h; printf 'import os\\nimport sys\\n' >m",
    "git rm -q h; printf 'import os\\nmine\\n' >m"
)]
fn what_a_person_types_like_an_agent_elsewhere(
    #[case] agents: &str,
    #[case] persons: &str,
    #[values(false, true)] was_head_there: bool,
) {
    let desk = Desk::new();
    if was_head_there {
        desk.git(&["switch", "-qc", "side"]);
    } else {
        desk.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
        desk.go("side");
    }
    desk.prompt("a");
    desk.sh(agents);
    desk.stop("a");
    desk.commit_all();
    desk.go("repo");
    if was_head_there {
        desk.git(&["switch", "-q", "main"]);
    }
    desk.sh(persons);
    desk.commit_all();
    assert_eq!(desk.lines().0, 0);
    assert_eq!(desk.trailers("HEAD"), [""; 0]);
    desk.json(&["save"]);
    assert_eq!(desk.lines().0, 0);
    assert!(desk.records("HEAD").is_empty());
    desk.finish();
}

/// Both files begin with the same text. The agent's stays where it is.
#[rstest::rstest]
fn a_persons_file_that_begins_as_an_agents_does(#[values(false, true)] is_staged: bool) {
    let desk = Desk::new();
    let text = words("the text of a licence", 1..=8);
    desk.turn("a", &[("n", &format!("{text}of a\n"))]);
    if is_staged {
        desk.git(&["add", "n"]);
    }
    desk.write("f", format!("{text}of a person\n"));
    desk.sh("git commit -qm one f");
    assert_eq!((desk.lines().0, desk.trailers("HEAD").len()), (0, 0));
    desk.json(&["save"]);
    assert_eq!(desk.lines().0, 0);
    desk.finish();
}
