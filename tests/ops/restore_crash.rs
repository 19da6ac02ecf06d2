//! A restore that dies at any step is resumed or taken back, whole.
//!
//! The process that dies is this test program again, with one test of it selected.

use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus};

use git_checkpoint::{
    Context, Kind, RestoreOptions, UndoOptions, restore,
    testing::{
        ops::doctor::{self, Problem, doctor},
        state::journal::{Journal, Progress},
    },
    undo,
};
use gix::ObjectId;

use crate::support::{stage::Stage, template::Template, this_program};

const DIRECTORY: &str = "GIT_CHECKPOINT_TEST_DIRECTORY";
const TARGET: &str = "GIT_CHECKPOINT_TEST_TARGET";

#[test]
fn a_victim() {
    let (Some(directory), Ok(target)) = (std::env::var_os(DIRECTORY), std::env::var(TARGET)) else { return };
    let context = Context::open(directory.as_ref()).expect("opens");
    restore(&context, &RestoreOptions { target, staged: true, ..RestoreOptions::default() }).expect("restored");
}

fn die(stage: &Stage, target: ObjectId, failpoint: &str) -> ExitStatus {
    let mut command = stage.command(this_program());
    command
        .args(["--exact", "ops::restore_crash::a_victim"])
        .env(DIRECTORY, stage.repo())
        .env(TARGET, target.to_string())
        .env("CHECKPOINT_FAILPOINT", failpoint)
        .output()
        .expect("it runs")
        .status
}

/// Changes of every kind since the one checkpoint.
static CHANGED: Template = Template::new(|world| {
    world.commit_base();
    let stage = Stage::on(world.clone());
    for path in ["a", "b", "swap", "gone/x", "gone/y", "mode"] {
        stage.write(path, format!("{path} then\n"));
    }
    stage.write("dir/one", "1\n");
    stage.write("dir/two", "2\n");
    stage.link("link", "a");
    stage.link("to-link", "gone");
    for path in ["to-dir/x", "to-dir/sub/y"] {
        stage.write(path, "then\n");
    }
    stage.git(&["add", "a"]);
    stage.save();
    for path in ["a", "b"] {
        stage.write(path, "now\n");
    }
    for path in ["swap", "dir", "gone", "link", "to-link", "to-dir"] {
        stage.remove(path);
    }
    stage.link("to-dir", "swap");
    for path in ["to-link/x", "to-link/sub/y"] {
        stage.write(path, "now\n");
    }
    stage.write("swap/x", "now\n");
    stage.write("swap/y", "now\n");
    stage.write("dir", "a file now\n");
    stage.link("link", "b");
    stage.write("new", "now\n");
    stage.chmod("mode", 0o755);
    stage.git(&["add", "b"]);
});

/// Returns a stage with changes of every kind, and what to restore.
fn scene() -> (Stage, ObjectId) {
    let stage = Stage::on(CHANGED.world());
    let target = git_checkpoint::resolve(&stage.context, "@{0}").expect("it was saved");
    (stage, target)
}

/// Where the restore of [`scene`] can die, and how often it comes by there.
const FAILPOINTS: [(&str, usize); 13] = [
    ("restore:after-save", 1),
    ("restore:after-sync", 1),
    ("restore:after-journal", 1),
    ("restore:after-temporary", 11),
    ("restore:after-write", 12),
    ("restore:after-delete", 7),
    ("restore:after-room", 2),
    ("restore:after-steps", 1),
    ("restore:after-staged", 1),
    ("restore:before-done", 1),
    ("restore:after-done", 1),
    ("restore:after-checkpoint", 1),
    ("save:after-objects", 1),
];

fn staged(stage: &Stage) -> String {
    stage.git(&["ls-files", "--stage"])
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn every_crash_can_be_taken_back_and_gone_on_with() {
    let (before, done) = {
        let (stage, target) = scene();
        let before = (stage.disk(), staged(&stage));
        stage.restore_with(target, RestoreOptions { staged: true, ..RestoreOptions::default() });
        (before, (stage.disk(), staged(&stage)))
    };
    let crashes = FAILPOINTS.iter().flat_map(|(name, times)| (1..=*times).map(move |nth| format!("{name}:{nth}")));
    for failpoint in crashes {
        let failpoint = failpoint.as_str();
        for resumes in [false, true] {
            let (stage, target) = scene();
            let status = die(&stage, target, failpoint);
            assert_eq!(status.signal(), Some(6), "{failpoint} is met");
            // It dies in the same way both times.
            if !resumes {
                stage.assert_sound(failpoint);
            }
            let journal = Journal::read(&stage.repo().join(".git")).expect("never torn");
            let is_applying = journal.as_ref().is_some_and(|journal| journal.progress == Progress::Applying);
            let at = format!("{failpoint}, resumes: {resumes}");
            let go_on = RestoreOptions { resume: true, ..RestoreOptions::default() };
            let status = git_checkpoint::testing::ops::status::status(&stage.context).expect("looked at");
            assert_eq!(status.interrupted_restore, Some(target).filter(|_| is_applying), "{at}: status tells");
            match journal {
                None => {
                    assert_eq!((stage.disk(), staged(&stage)), before, "{at}: nothing was begun");
                    stage.restore_with(target, RestoreOptions { staged: true, ..RestoreOptions::default() });
                }
                Some(_) if is_applying => {
                    let again = RestoreOptions { target: target.to_string(), ..RestoreOptions::default() };
                    let refused = restore(&stage.context, &again).map(drop).expect_err("an unfinished one is first");
                    assert_eq!(refused.kind(), Kind::Refused, "{at}");
                    if resumes {
                        let restored = restore(&stage.context, &go_on).expect("resumed");
                        assert!(restored.conflicts.is_empty(), "{at}: {restored:?}");
                    }
                }
                Some(_) => assert!(restore(&stage.context, &go_on).is_err(), "{at}: there is no restore to continue"),
            }
            if !is_applying || resumes {
                assert_eq!((stage.disk(), staged(&stage)), done, "{at}: all is restored");
            }
            let undone = undo(&stage.context, &UndoOptions::default()).expect("undone");
            assert!(undone.conflicts.is_empty() && undone.kept.is_empty(), "{at}: {undone:?}");
            assert_eq!((stage.disk(), staged(&stage)), before, "{at}: all is as before, no temporary file stays");
            stage.assert_sound(failpoint);
        }
    }
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn edits_after_a_crashed_restore_stay() {
    for resumes in [false, true] {
        let (stage, target) = scene();
        die(&stage, target, "restore:after-write:2");
        stage.write("a", "edited after the crash\n");
        let left = if resumes {
            restore(&stage.context, &RestoreOptions { resume: true, ..RestoreOptions::default() })
                .expect("resumed")
                .conflicts
        } else {
            stage.undo().kept
        };
        assert_eq!(left.iter().map(|left| left.path.clone()).collect::<Vec<_>>(), ["a"]);
        assert_eq!(stage.read("a"), "edited after the crash\n");
    }
}

/// What a crash has left half done cannot be finished if the rest was edited; an undo brings the half back nevertheless.
#[rstest::rstest]
#[case::directory_to_file("swap/y", "swap/x", &["swap"])]
#[case::directory_to_link("to-link/x", "to-link/sub/y", &["to-link"])]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn what_a_crashed_restore_deleted_comes_back_though_it_cannot_go_on(
    #[case] edited: &str,
    #[case] deleted: &str,
    #[case] blocked: &[&str],
) {
    let died = |nth: usize| {
        let (stage, target) = scene();
        let content = stage.read(deleted);
        die(&stage, target, &format!("restore:after-delete:{nth}"));
        let has = |path: &str| stage.repo().join(path).exists();
        let is_half = !has(deleted) && has(edited);
        is_half.then_some((stage, content))
    };
    let (stage, content) = (1..=7).find_map(died).expect("it dies between the two");
    stage.write(edited, "edited after the crash\n");
    let resumed =
        restore(&stage.context, &RestoreOptions { resume: true, ..RestoreOptions::default() }).expect("resumed");
    let conflicts: Vec<_> = resumed.conflicts.iter().map(|left| left.path.to_string()).collect();
    assert_eq!(conflicts, [blocked, &[edited]].concat());
    assert!(resumed.deleted.contains(&deleted.into()), "{resumed:?}");
    stage.undo();
    assert_eq!(stage.read(deleted), content);
    assert_eq!(stage.read(edited), "edited after the crash\n");
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn entries_staged_after_a_crashed_restore_stay() {
    for resumes in [false, true] {
        let (stage, target) = scene();
        die(&stage, target, "restore:after-write:2");
        stage.write(".git/precious", "staged after the crash\n");
        let blob = stage.git(&["hash-object", "-w", ".git/precious"]);
        for path in ["b", "other"] {
            stage.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{},{path}", blob.trim())]);
        }
        let left = if resumes {
            let restored = restore(&stage.context, &RestoreOptions { resume: true, ..RestoreOptions::default() })
                .expect("resumed");
            let tip = git_checkpoint::resolve(&stage.context, "@{0}").expect("found");
            assert_eq!(stage.git(&["rev-parse", &format!("{tip}^2:index/b")]), blob);
            restored.conflicts
        } else {
            stage.undo().kept
        };
        assert_eq!(left.iter().map(|left| left.path.clone()).collect::<Vec<_>>(), ["b"]);
        for path in [":b", ":other"] {
            assert_eq!(stage.git(&["show", path]), "staged after the crash\n");
        }
    }
}

/// Without the journal, the names of temporary files are unknown.
#[rstest::rstest]
#[case::new("restore:after-temporary:3")]
#[case::old("rename:after")]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_temporary_file_of_a_restore_without_journal_gets_a_visible_name(#[case] failpoint: &str) {
    let (stage, target) = scene();
    die(&stage, target, failpoint);
    let left = stage.leftovers();
    assert_eq!(left.len(), 1, "{left:?}");
    let content = std::fs::read(&left[0]).expect("there");
    let look = |fix| -> Vec<Problem> {
        let found = doctor(&stage.context, doctor::Options { fix, relink: false }).expect("it can look");
        found.problems.into_iter().filter(|problem| problem.code == "restore-left").collect()
    };
    assert_eq!([look(false), look(true)], [[], []], "the restore can be continued");
    let journal = stage.repo().join(".git/checkpoint/restore.json");
    let text = std::fs::read_to_string(&journal).expect("there");
    std::fs::write(&journal, "damaged").expect("written");
    assert_eq!(look(true), [], "what is damaged may be mended");
    std::fs::write(&journal, text.replace("\"applying\"", "\"done\"")).expect("written");
    assert_eq!(look(false).len(), 1, "a finished restore has no leftovers to look for");
    std::fs::remove_file(&journal).expect("there");

    let name = left[0].strip_prefix(stage.repo()).expect("in the worktree").to_str().expect("plain");
    let named = look(false);
    assert_eq!(
        named.iter().map(|problem| (problem.subject.as_str(), problem.fixed)).collect::<Vec<_>>(),
        [(name, false)]
    );
    let saved = stage.save();
    assert!(!stage.git(&["ls-tree", "-r", "--name-only", &saved.to_string()]).contains(".tmp"));
    stage.restore(target);
    assert_eq!(std::fs::read(&left[0]).expect("it stays"), content);

    assert!(look(true).iter().all(|problem| problem.fixed && problem.message.contains("unknown.git-checkpoint")));
    assert_eq!(look(false), []);
    let kept = left[0].with_file_name("unknown.git-checkpoint-conflict-1");
    assert_eq!(std::fs::read(&kept).expect("kept"), content);
    stage.save();
    assert!(stage.held().contains(&content));
}
