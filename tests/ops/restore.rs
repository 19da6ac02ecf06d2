//! `restore` and `undo`: what comes back, whose changes stay, and that both can be taken back.

use git_checkpoint::{Kind, RestoreOptions, UndoOptions, restore, testing::ops::reset, undo};
use std::os::unix::fs::MetadataExt as _;

use crate::support::{
    checkpoints::agent,
    stage::{Stage, picture},
};

fn kind_of(result: git_checkpoint::Result<impl Sized>) -> (Kind, String) {
    let error = result.map(drop).expect_err("it must fail");
    (error.kind(), error.message().to_owned())
}

#[test]
fn jumps_back_and_forth_follow_exactly() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    stage.write("new", "new\n");
    let a = stage.save();
    let at_a = stage.disk();
    stage.write("f", "two\n");
    stage.remove("new");
    stage.write("dir/other", "other\n");
    let b = stage.save();
    let at_b = stage.disk();
    let before = stage.untouchables();

    assert_eq!(picture(&stage.restore(a)), ["+f", "+new", "-dir/other"]);
    assert_eq!(stage.disk(), at_a);
    assert_eq!(picture(&stage.restore(b)), ["+dir/other", "+f", "-new"]);
    assert_eq!(stage.disk(), at_b);
    let base = stage.restore_with(a, RestoreOptions::default());
    assert_eq!(base.target, a);
    let to_base = restore(&stage.context, &RestoreOptions { target: "base".into(), ..RestoreOptions::default() })
        .expect("restored");
    assert_eq!(picture(&to_base), ["+f", "-new"]);
    assert_eq!(stage.read("f"), "base\n");
    stage.restore(b);
    assert_eq!(stage.disk(), at_b);
    assert_eq!(stage.untouchables(), before, "HEAD, refs and the index stay as they are");
}

#[test]
fn unsaved_work_is_saved_first_and_undo_brings_it_back() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    let a = stage.save();
    stage.write("f", "unsaved\n");
    stage.write("untracked", "unsaved too\n");
    let unsaved = stage.disk();
    let restored = stage.restore(a);
    assert_eq!(picture(&restored), ["+f", "-untracked"]);
    assert_eq!(stage.read("f"), "one\n");
    let undone = stage.undo();
    assert_eq!(picture(&undone), ["+f", "+untracked"]);
    assert_eq!(Some(undone.target), restored.pre_restore);
    assert_eq!(stage.disk(), unsaved);
    assert_eq!(picture(&stage.redo()), ["+f", "-untracked"], "redo restores again");
    assert_eq!(stage.read("f"), "one\n");
    stage.undo();
    assert_eq!(stage.disk(), unsaved);
}

#[test]
fn a_restore_or_an_undo_of_nothing_takes_no_checkpoint() {
    let stage = Stage::new();
    let nothing = |restored: &git_checkpoint::Restored| {
        assert!(picture(restored).iter().all(|line| line.starts_with('=')), "{:?}", picture(restored));
        assert!(!restored.dry_run);
    };
    let refs = || stage.git(&["for-each-ref"]);
    let before = refs();
    let base = RestoreOptions { target: "base".into(), ..RestoreOptions::default() };
    nothing(&restore(&stage.context, &base).expect("restored"));
    assert_eq!(refs(), before);
    stage.write("f", "one\n");
    let a = stage.save();
    stage.write("f", "unsaved\n");
    stage.restore(a);
    let before = refs();
    nothing(&stage.restore(a));
    assert_eq!(refs(), before);
    stage.write("f", "since\n");
    nothing(&stage.undo());
    assert_eq!(refs(), before, "the only path that the restore changed was changed since: nothing is taken back");
    assert_eq!(stage.read("f"), "since\n");
}

#[test]
fn an_undo_removes_a_directory_that_is_all_a_restore_has_made() {
    let stage = Stage::new();
    let directory = stage.repo().join("empty");
    std::fs::create_dir(&directory).expect("it can be made");
    stage.write("f", "one\n");
    let a = stage.save();
    std::fs::remove_dir(&directory).expect("it is empty");
    assert_eq!(picture(&stage.restore(a)), ["+empty/"]);
    stage.undo();
    assert!(!directory.exists());
}

/// Before the first checkpoint on a commit, a dry run knows as well as the restore that the commit is the target's own.
#[test]
fn a_dry_run_without_a_checkpoint_on_the_base_says_what_the_restore_does() {
    let stage = Stage::new();
    stage.write("g", "g\n");
    stage.save();
    stage.write("f", "one\n");
    let a = stage.save_as(&agent("s", 1));
    stage.write("f", "base\n");
    stage.remove("g");
    reset::reset(&stage.context, &reset::Options::default()).expect("there is a shadow");
    let planned = stage.restore_with(a, RestoreOptions { dry_run: true, ..RestoreOptions::default() });
    assert_eq!(picture(&planned), ["+f", "+g"]);
    assert_eq!(picture(&planned), picture(&stage.restore(a)));
}

#[test]
fn a_restore_does_not_touch_unchanged_files() {
    let stage = Stage::new();
    stage.write("same", "same\n");
    stage.write("f", "one\n");
    let a = stage.save();
    stage.write("f", "two\n");
    let stat = |path: &str| {
        let metadata = std::fs::metadata(stage.repo().join(path)).expect("it is there");
        (metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec())
    };
    let before = stat("same");
    stage.restore(a);
    assert_eq!(stat("same"), before);
    assert_eq!(stage.read("f"), "one\n");
}

#[test]
fn the_executable_bit_alone_changes_no_inode_and_other_bits_stay() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    stage.chmod("f", 0o640);
    let a = stage.save();
    stage.chmod("f", 0o750);
    let inode = |path: &str| std::fs::metadata(stage.repo().join(path)).expect("it is there").ino();
    let before = inode("f");
    stage.restore(a);
    assert_eq!((stage.mode("f"), inode("f")), (0o640, before));
    stage.write("f", "two\n");
    stage.chmod("f", 0o600);
    stage.restore(a);
    assert_eq!(stage.mode("f"), 0o600, "the user's bits stay when the content is replaced");
    assert_eq!(stage.read("f"), "one\n");
}

#[test]
fn pathspecs_limit_what_is_restored() {
    let stage = Stage::new();
    for path in ["a/x.rs", "a/y.txt", "b/x.rs"] {
        stage.write(path, "one\n");
    }
    let a = stage.save();
    for path in ["a/x.rs", "a/y.txt", "b/x.rs", "a/new.rs"] {
        stage.write(path, "two\n");
    }
    assert_eq!(picture(&stage.restore_paths(a, &["*.rs", ":(exclude)b"])), ["+a/x.rs", "-a/new.rs"]);
    assert_eq!(stage.read("b/x.rs"), "two\n");
    assert_eq!(picture(&stage.restore_paths(a, &["a"])), ["+a/y.txt"]);
    assert_eq!(picture(&stage.restore_paths(a, &["f"])), Vec::<String>::new(), "an unchanged file is no error");
    let options = RestoreOptions { target: a.to_string(), pathspecs: vec!["nope".into()], ..RestoreOptions::default() };
    assert_eq!(
        kind_of(restore(&stage.context, &options)),
        (Kind::User, "pathspec 'nope' did not match any file of the checkpoint or the worktree".to_owned())
    );
}

#[test]
fn another_sessions_files_and_a_humans_are_kept() {
    let stage = Stage::new();
    stage.write("mine", "one\n");
    let a = stage.save_as(&agent("s1", 1));
    stage.write("mine", "two\n");
    stage.save_as(&agent("s1", 2));
    stage.write("theirs", "s2\n");
    stage.save_as(&agent("s2", 1));
    stage.write("human", "saved\n");
    stage.save();
    stage.write("f", "not saved yet\n");
    let restored = stage.restore(a);
    let expected = [
        "+mine",
        "=f: changed by a human since",
        "=human: changed by a human since",
        "=theirs: changed by session 's2'",
    ];
    assert_eq!(picture(&restored), expected);
    assert_eq!(stage.read("theirs"), "s2\n");
    assert_eq!(picture(&stage.restore_paths(a, &["theirs"])), ["-theirs"], "naming a path is asking for it");
    let all = stage.restore_with(a, RestoreOptions { all: true, ..RestoreOptions::default() });
    assert_eq!(picture(&all), ["+f", "-human"]);
}

#[test]
fn a_sessions_file_that_a_human_edited_last_is_kept() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    let a = stage.save_as(&agent("s1", 1));
    stage.write("f", "two\n");
    stage.save_as(&agent("s1", 2));
    stage.write("f", "by hand\n");
    assert_eq!(picture(&stage.restore(a)), ["=f: changed by a human since"]);
    assert_eq!(stage.read("f"), "by hand\n");
}

#[test]
fn sessions_can_be_jumped_through_after_a_restore() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    let a = stage.save_as(&agent("s1", 1));
    stage.write("f", "two\n");
    stage.write("g", "two\n");
    let b = stage.save_as(&agent("s1", 2));
    assert_eq!(picture(&stage.restore(a)), ["+f", "-g"]);
    assert_eq!(picture(&stage.restore(b)), ["+f", "+g"]);
    stage.undo();
    assert_eq!(picture(&stage.restore(b)), ["+f", "+g"]);
    restore(&stage.context, &RestoreOptions { target: "base".into(), ..RestoreOptions::default() }).expect("restored");
    assert_eq!(picture(&stage.restore(b)), ["+f", "+g"]);
}

#[test]
fn files_that_a_restore_put_back_keep_their_sessions() {
    let stage = Stage::new();
    stage.write("f", "s1\n");
    let a = stage.save_as(&agent("s1", 1));
    stage.write("f", "s1 again\n");
    stage.save_as(&agent("s1", 2));
    stage.write("g", "s2\n");
    let b = stage.save_as(&agent("s2", 1));
    stage.write("g", "s2 again\n");
    stage.save_as(&agent("s2", 2));
    assert_eq!(picture(&stage.restore(a)), ["+f", "=g: changed by session 's2'"]);
    assert_eq!(picture(&stage.restore(b)), ["+g", "=f: changed by session 's1'"]);
    assert_eq!(stage.read("f"), "s1\n");
}

#[test]
fn undo_keeps_what_was_edited_since() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    stage.write("g", "one\n");
    let a = stage.save();
    stage.write("f", "two\n");
    stage.write("g", "two\n");
    stage.restore(a);
    stage.write("f", "edited since\n");
    stage.write("other", "made since\n");
    assert_eq!(picture(&stage.undo()), ["+g", "=f: changed since the restore"]);
    assert_eq!((stage.read("f"), stage.read("g")), ("edited since\n".into(), "two\n".into()));
    assert!(stage.exists("other"));
    stage.restore(a);
    stage.write("f", "edited again\n");
    stage.write("unconcerned", "made since\n");
    let all = undo(&stage.context, &UndoOptions { all: true, ..UndoOptions::default() }).expect("undone");
    assert_eq!(picture(&all), ["+f", "+g", "+other"], "with --all, and nothing but what the restore changed");
    assert_eq!(stage.read("f"), "edited since\n");
    assert!(stage.exists("unconcerned"));
}

#[test]
fn undo_skips_a_restore_that_changed_nothing() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    let a = stage.save();
    stage.write("f", "two\n");
    stage.restore(a);
    assert_eq!(picture(&stage.restore(a)), Vec::<String>::new());
    stage.write("f", "edited since\n");
    assert_eq!(picture(&stage.undo()), ["=f: changed since the restore"]);
    let all = undo(&stage.context, &UndoOptions { all: true, ..UndoOptions::default() }).expect("undone");
    assert_eq!(picture(&all), ["+f"]);
    assert_eq!(stage.read("f"), "two\n");
}

/// The rules that come back with the undo ignore what the restore wrote.
#[test]
fn undo_deletes_what_the_restore_wrote_though_it_is_ignored_again() {
    let stage = Stage::new();
    stage.write("x", "one\n");
    stage.write("dir/x", "two\n");
    let a = stage.save();
    stage.remove("x");
    stage.remove("dir");
    stage.write("dir", "precious\n");
    stage.write(".gitignore", "x\n");
    stage.save();
    let before = stage.disk();
    stage.restore(a);
    assert_eq!((stage.read("x"), stage.read("dir/x")), ("one\n".into(), "two\n".into()));
    stage.undo();
    assert_eq!(stage.disk(), before);
    // A file of the same name that the user has changed since stays.
    stage.restore(a);
    stage.write("x", "edited since\n");
    stage.undo();
    assert_eq!(stage.read("x"), "edited since\n");
}

#[test]
fn undo_without_a_restore_is_an_error() {
    let stage = Stage::new();
    let (kind, message) = kind_of(undo(&stage.context, &UndoOptions::default()));
    assert_eq!((kind, message.as_str()), (Kind::User, "nothing to undo in this worktree yet"));
}

#[test]
fn a_dry_run_tells_the_same_and_changes_nothing() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    stage.write("dir/gone", "gone\n");
    let a = stage.save_as(&agent("s1", 1));
    stage.write("f", "two\n");
    stage.remove("dir");
    stage.write("dir", "a file now\n");
    stage.save_as(&agent("s1", 2));
    stage.write("by-hand", "unsaved\n");
    stage.write("ignored.log", "x");
    let refs = || stage.git(&["for-each-ref"]);
    let (disk, before, objects) = (stage.disk(), refs(), stage.git(&["count-objects", "-v"]));
    let options = RestoreOptions { dry_run: true, ..RestoreOptions::default() };
    let dry = stage.restore_with(a, options.clone());
    assert!(dry.dry_run && dry.pre_restore.is_none());
    assert_eq!((stage.disk(), refs()), (disk, before));
    assert_eq!(stage.git(&["count-objects", "-v"]), objects, "not even an object is written");
    let real = stage.restore(a);
    assert_eq!(picture(&dry), picture(&real));
    let dry = undo(&stage.context, &UndoOptions { dry_run: true, all: false }).expect("looked at");
    assert_eq!(picture(&dry), picture(&stage.undo()));
}

#[test]
fn an_unknown_target_changes_nothing() {
    let stage = Stage::new();
    stage.write("untracked", "x\n");
    let disk = stage.disk();
    let refs = stage.git(&["for-each-ref"]);
    for target in ["0123456789", "nope", "HEAD~1", &"1".repeat(40)] {
        let options = RestoreOptions { target: target.into(), ..RestoreOptions::default() };
        assert_eq!(kind_of(restore(&stage.context, &options)).0, Kind::User, "{target}");
    }
    assert_eq!((stage.disk(), stage.git(&["for-each-ref"])), (disk, refs));
}

#[test]
fn a_checkpoint_of_the_archive_restores_like_any_other() {
    let stage = Stage::new();
    stage.write("f", "archived\n");
    stage.write("g", "archived\n");
    let a = stage.save_as(&agent("s1", 1));
    let shadow = stage.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow"]);
    stage.git(&["update-ref", "refs/checkpoints/archive/1-abc", &a.to_string()]);
    stage.git(&["update-ref", "-d", shadow.trim()]);
    stage.write("f", "base\n");
    stage.remove("g");
    assert_eq!(picture(&stage.restore(a)), ["+f", "+g"]);
}

#[test]
fn commits_made_since_are_kept_by_default() {
    let stage = Stage::new();
    stage.write("mine", "one\n");
    let a = stage.save_as(&agent("s1", 1));
    stage.write("mine", "two\n");
    stage.save_as(&agent("s1", 2));
    stage.write("upstream", "new\n");
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "more"]);
    // What is a commit's alone is not even worth a word.
    assert_eq!(picture(&stage.restore(a)), ["=mine: changed by commits since"]);
    assert_eq!(picture(&stage.restore_paths(a, &["mine"])), ["+mine"]);
}
