//! Nothing that was ever in a checkpoint is lost by an undo or a redo, also if one is killed and a file is edited meanwhile, or if
//! one keeps a path that was edited.

use std::fs;

use crate::support::{World, processes::described, program, versions::Versions};

const FILES: [&str; 4] = ["f1", "f2", "f3", "f4"];

/// Half-way: two of four files are written.
const HALF_WAY: &str = "restore:after-write:2";

/// A world, and what was ever saved in it.
struct Play {
    world: World,
    versions: Versions,
    log: Vec<String>,
}

impl Play {
    /// Four files are saved, and changed since.
    fn new() -> Self {
        let world = World::with_commit();
        for file in FILES {
            world.write(file, "0\n");
        }
        world.sh("git add . && git commit -qm files");
        let mut play = Self { world, versions: Versions::default(), log: Vec::new() };
        play.write_all("saved");
        play.run("save");
        play.write_all("unsaved");
        play
    }

    fn write_all(&self, text: &str) {
        for file in FILES {
            self.world.write(file, format!("{text} {file}\n"));
        }
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.world.repo().join(file)).unwrap_or_default()
    }

    /// Runs what a person types: our command, a command that is killed (`! <point> <command>`), an edit (`<file> = <text>`, `rm
    /// <file>`), or a shell command (`$ <command>`). After each, nothing is lost. Returns what it said.
    fn run(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        self.log.push(line.to_owned());
        let said = match words.as_slice() {
            ["rm", file] => {
                self.world.remove(file);
                String::new()
            }
            [file, "=", rest @ ..] => {
                self.world.write(file, rest.join(" ") + "\n");
                String::new()
            }
            ["$", rest @ ..] => self.world.sh(&rest.join(" ")),
            ["!", point, rest @ ..] => {
                let died = self.world.command(program()).args(rest).env("CHECKPOINT_FAILPOINT", point).output();
                let died = died.expect("it runs");
                assert!(died.status.code().is_none(), "{line}: {}", described(&died));
                String::new()
            }
            _ => described(&self.world.checkpoint(&words)),
        };
        self.log.push(said.clone());
        let note = self.log.join("\n");
        self.versions.check(&self.world, words[0] == "drop" || words[0] == "prune", &note);
        said
    }

    fn run_all(&mut self, lines: &str) -> String {
        lines.split("; ").map(|line| self.run(line)).last().unwrap_or_default()
    }
}

/// An edit after a kill, which the undo takes back. Unless the property fails, the edit can be restored.
#[rstest::rstest]
#[case::restore("! restore:after-write:2 restore @{0}; f1 = EDIT; undo --all; redo --all; undo --all")]
#[case::restore_and_undo("! restore:after-write:2 restore @{0}; f1 = EDIT; undo; undo --all; redo; undo --all")]
#[case::undo("restore @{0}; ! restore:after-write:2 undo; f1 = EDIT; undo --all; undo --all; redo --all")]
#[case::undo_all_killed_then_plain(
    "restore @{0}; ! restore:after-write:2 undo; f1 = EDIT; ! restore:after-write:2 undo --all; undo"
)]
#[case::redo("restore @{0}; undo; ! restore:after-write:2 redo; f1 = EDIT; undo --all; redo --all; undo --all")]
#[case::twice("! restore:after-write:2 restore @{0}; f1 = EDIT; ! restore:after-write undo --all; undo; undo --all")]
#[case::three_times(
    "restore @{0}; ! restore:after-write:2 undo; f1 = E1; f3 = E3; ! restore:after-write:2 undo --all; f2 = E2; f4 = E4; \
     undo --all; undo --all; redo --all"
)]
#[case::continued(
    "! restore:after-write:2 restore @{0}; f1 = EDIT; ! restore:after-write undo --all; restore --continue; undo --all"
)]
#[case::directory("! restore:after-write:2 restore @{0}; rm f1; $ mkdir f1; f1/x = EDIT; undo --all; redo --all")]
#[case::new_file_seen_by_a_killed_undo("restore @{0}; new = V1; ! restore:after-write undo; rm new; undo; undo; redo")]
#[case::new_file_seen_after_a_killed_restore(
    "! restore:after-write:2 restore @{0}; new = V1; ! restore:after-write undo; rm new; undo"
)]
#[case::new_file_after_the_kill("restore @{0}; ! restore:after-write undo; new = V1; undo; rm new; undo; redo")]
#[case::edit_before_a_killed_undo(
    "restore @{0}; f1 = V1; ! restore:after-write:2 undo; undo; undo; undo --all; redo --all"
)]
#[case::edit_before_a_killed_undo_all("restore @{0}; f1 = V1; ! restore:after-write:2 undo --all; undo; undo; redo")]
#[case::edit_before_a_killed_redo("restore @{0}; undo; f1 = V1; ! restore:after-write:2 redo; f1 = EDIT; undo; redo")]
#[case::op_restore("reset; t = UNT; ! restore:after-write:2 op restore @{1}; f1 = EDIT; undo; undo; redo")]
#[case::undo_of_op_restore("reset; op restore @{1}; ! restore:after-write:2 undo; f1 = EDIT; undo; undo; undo --all")]
#[case::overwritten("! restore:after-write:2 restore @{0}; f1 = EDIT; undo; f1 = OTHER; undo; redo")]
#[case::saved_since("! restore:after-write:2 restore @{0}; f1 = EDIT; save; undo --all; undo --all")]
#[case::an_agent_saved(
    "! restore:after-write:2 restore @{0}; session prompt -q s1 --agent claude-code -m go; f1 = EDIT; session stop -q s1; \
     undo --all"
)]
#[case::an_agent_is_at_work(
    "session prompt -q s1 --agent claude-code -m go; f3 = AGENT; ! restore:after-write:2 restore @{0}; f1 = EDIT; undo; \
     undo --all; session stop -q s1"
)]
fn an_edit_after_a_kill(#[case] lines: &str) {
    let mut play = Play::new();
    play.run_all(lines);
    play.world.assert_sound(lines);
}

/// The kill hits every point of what the undo does.
#[rstest::rstest]
fn an_edit_after_a_kill_anywhere(
    #[values("restore @{0}", "reset; op restore @{1}", "reset; restore base")] before: &str,
    #[values("undo", "undo --all")] line: &str,
    #[values("", "f1 = EDIT", "rm f1", "new = EDIT")] edit: &str,
) {
    const POINTS: [&str; 12] = [
        "restore:after-sync",
        "restore:after-log",
        "restore:after-journal",
        "restore:after-write",
        HALF_WAY,
        "restore:before-done",
        "restore:after-done",
        "undo:before-refs",
        "undo:after-refs",
        "refs:after-change",
        "refs:after-change:2",
        "restore:after-checkpoint",
    ];
    for point in POINTS {
        let mut play = Play::new();
        play.run_all(before);
        let _ = play.world.command(program()).args(line.split(' ')).env("CHECKPOINT_FAILPOINT", point).output();
        play.run_all(&format!(
            "$ true; f2 = OTHER; {}; undo --all; undo --all; redo --all",
            if edit.is_empty() { "$ true" } else { edit }
        ));
        play.world.assert_sound(point);
    }
}

/// Nobody kills anything, but an undo keeps a path that was edited. It has saved that.
#[rstest::rstest]
#[case::op_restore(
    "save; reset; f1 = WORK; op restore @{1}; restore base; f1 = EDIT; undo; undo; undo --all; redo --all; undo --all"
)]
#[case::reset("save; reset; restore base; f1 = EDIT; undo; undo; rm f1; save; redo")]
#[case::reset_and_more("reset; f1 = WORK; restore base; f1 = EDIT; undo; undo; op undo @{0}")]
#[case::restore("restore @{0}; restore base; f1 = EDIT; undo; undo; undo --all; redo --all")]
#[case::redone("restore @{0}; f1 = EDIT; undo; redo --all; undo --all; undo --all")]
#[case::verify("save; verify; restore base; f1 = EDIT; undo; undo; undo")]
#[case::drop("save; f1 = C; save; drop @{0}; restore base; f1 = EDIT; undo; undo; undo --all; $ git checkout f1; save")]
#[case::adopted(
    "reset; session prompt -q s1 --agent claude-code -m go; f1 = AGENT; session adopt s1; undo; undo; $ git checkout f1; save"
)]
fn an_edit_that_an_undo_keeps(#[case] lines: &str) {
    let mut play = Play::new();
    play.run_all(lines);
    play.world.assert_sound(lines);
}

/// What a person had not saved is unsaved again after an undo, and in the archive: an editor may write over it at any time.
#[test]
fn unsaved_work_is_unsaved_again_and_in_the_archive() {
    let mut play = Play::new();
    let before = play.world.shadows();
    play.run_all("restore @{0}; undo");
    assert_eq!((play.text("f1").as_str(), play.world.shadows()), ("unsaved f1\n", before));
    assert_eq!(archived(&play.world), ["unsaved f1\n"]);
    // The same again adds nothing.
    for _ in 0..3 {
        play.run_all("restore base; undo; redo; undo");
        assert_eq!((play.text("f1").as_str(), archived(&play.world).len()), ("unsaved f1\n", 1));
    }
    play.run_all("redo");
    assert_eq!(play.text("f1"), "0\n");
    play.world.assert_sound("at the end");
}

/// Where nothing was unsaved, nothing goes to the archive.
#[test]
fn a_restore_of_what_is_saved_leaves_nothing_in_the_archive() {
    let mut play = Play::new();
    play.run_all("save");
    let before = play.world.shadows();
    play.run_all("restore @{1}; undo; restore base; undo; redo; undo; ! restore:after-write:2 restore @{1}");
    play.run_all("! restore:after-write undo; ! restore:after-write undo; undo");
    assert_eq!((play.text("f1").as_str(), play.world.shadows()), ("unsaved f1\n", before));
    assert_eq!(archived(&play.world), [""; 0]);
    play.world.assert_sound("at the end");
}

/// What is half-way is only a mixture of two states that are held.
#[test]
fn nor_does_a_half_way_state() {
    let mut play = Play::new();
    play.run_all("restore @{0}; ! restore:after-write:2 undo; ! restore:after-write undo; undo");
    assert_eq!((play.text("f1").as_str(), archived(&play.world)), ("saved f1\n", Vec::new()));
    play.run_all("undo");
    assert_eq!((play.text("f1").as_str(), archived(&play.world)), ("unsaved f1\n", vec!["unsaved f1\n".to_owned()]));
}

/// What is dropped stays dropped when the drop is redone.
#[rstest::rstest]
#[case::of_a_person("f1 = TWO; save; f1 = THREE; save; drop @{1}; undo; redo")]
#[case::of_an_agent(
    "session prompt -q s1 --agent a -m go; f1 = TWO; session stop -q s1; f1 = THREE; save; drop @{1}; undo; redo"
)]
fn a_drop_that_is_redone_drops(#[case] lines: &str) {
    let mut play = Play::new();
    play.run_all("save");
    play.run_all(lines);
    assert_eq!(archived(&play.world), [""; 0]);
}

/// Returns what the ends of archived chains have in the first file.
fn archived(world: &World) -> Vec<String> {
    let ids = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive/"]);
    ids.lines().map(|id| world.git(&["show", &format!("{id}:f1")])).collect()
}

/// A hint of an undo or a redo works.
#[rstest::rstest]
#[case::restored("restore @{0}; undo", "redo", "saved f1\n")]
#[case::edited("restore @{0}; f1 = EDIT; undo --all", "redo", "EDIT\n")]
#[case::interrupted("! restore:after-write:2 restore @{0}; f1 = EDIT; undo --all", "restore", "EDIT\n")]
#[case::undo_interrupted("restore @{0}; ! restore:after-write:2 undo; f1 = EDIT; undo --all", "restore", "EDIT\n")]
fn what_an_undo_hints_at_works(#[case] lines: &str, #[case] command: &str, #[case] expected: &str) {
    let mut play = Play::new();
    let said = play.run_all(lines);
    let hint =
        said.lines().filter_map(|line| line.strip_prefix("hint: ")).next_back().unwrap_or_else(|| panic!("{said}"));
    let hint = hint.split('\'').nth(1).and_then(|hint| hint.strip_prefix("git checkpoint ")).expect("a command");
    assert!(hint.starts_with(command), "{said}");
    let said = play.run(hint);
    assert_eq!(play.text("f1"), expected, "{hint}: {said}");
}

/// Nothing half-way is hinted at, and what was kept can be had.
#[test]
fn after_a_half_way_undo_that_keeps_a_path_the_path_can_be_restored() {
    let mut play = Play::new();
    let said = play.run_all("! restore:after-write:2 restore @{0}; f1 = EDIT; undo");
    assert!(!said.contains("redo"), "{said}");
    let hint = said.lines().find(|line| line.contains("overwrites the kept paths too")).expect("a hint");
    let hint = hint.split('\'').nth(1).expect("a command").replace("<path>...", "f1");
    play.run(hint.strip_prefix("git checkpoint ").expect("ours"));
    assert_eq!(play.text("f1"), "unsaved f1\n");
}
