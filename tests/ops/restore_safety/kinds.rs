//! Files of all kinds, names and permissions: a restore brings back what git can store, and leaves the rest alone.

use std::{
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
};

use bstr::BString;

use crate::support::stage::{Node, Stage, picture};

#[test]
fn files_and_directories_and_links_swap_both_ways() {
    let stage = Stage::new();
    stage.write("a", "file\n");
    stage.write("b/c/d", "deep\n");
    stage.write("b/e", "e\n");
    stage.link("l", "a");
    stage.link("dangling", "nowhere");
    stage.link("circle", "circle");
    stage.link("m/n", "../b");
    let first = stage.save();
    let at_first = stage.disk();
    for path in ["a", "b", "l", "m", "dangling", "circle"] {
        stage.remove(path);
    }
    stage.write("a/x/y", "now a directory\n");
    stage.write("b", "now a file\n");
    stage.write("l", "now a file\n");
    stage.link("m", "b");
    stage.write("dangling/x", "x\n");
    stage.link("circle", "a");
    let second = stage.save();
    let at_second = stage.disk();
    assert!(stage.restore(first).conflicts.is_empty());
    assert_eq!(stage.disk(), at_first);
    assert!(stage.restore(second).conflicts.is_empty());
    assert_eq!(stage.disk(), at_second);
    stage.undo();
    assert_eq!(stage.disk(), at_first);
}

#[test]
fn special_files_stay_and_are_in_the_way() {
    let stage = Stage::new();
    stage.write("pipe", "one\n");
    let a = stage.save();
    stage.remove("pipe");
    assert!(std::process::Command::new("mkfifo").arg(stage.repo().join("pipe")).status().expect("runs").success());
    let restored = stage.restore(a);
    assert!(restored.written.is_empty() && restored.deleted.is_empty(), "{restored:?}");
    assert_eq!(stage.disk().get(&BString::from("pipe")), Some(&Node::Special));
}

#[test]
fn names_of_any_bytes_and_case_come_back() {
    let stage = Stage::new();
    let odd = std::ffi::OsStr::from_bytes(b"new\nline \xff\xfe");
    fs::write(stage.repo().join(odd), "odd\n").expect("written");
    stage.write("emoji 🦀/ñ", "x\n");
    stage.write("README", "upper\n");
    stage.write(&"n".repeat(200), "long\n");
    let a = stage.save();
    let at_a = stage.disk();
    fs::remove_file(stage.repo().join(odd)).expect("removed");
    fs::rename(stage.repo().join("README"), stage.repo().join("readme")).expect("renamed");
    stage.remove("emoji 🦀");
    stage.remove(&"n".repeat(200));
    stage.restore(a);
    assert_eq!(stage.disk(), at_a);
    let undone = stage.undo();
    let json = serde_json::to_value(&undone).expect("JSON");
    assert!(json["deleted"].to_string().contains("%FF%FE"), "{json}");
    assert!(!stage.exists("README") && stage.exists("readme"));
}

#[test]
fn read_only_files_are_replaced_and_keep_their_mode() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    let a = stage.save();
    stage.write("f", "two\n");
    stage.chmod("f", 0o444);
    stage.restore(a);
    assert_eq!((stage.read("f"), stage.mode("f")), ("one\n".into(), 0o444));
}

#[test]
fn a_read_only_directory_is_a_conflict() {
    if rustix::process::geteuid().is_root() {
        return; // Nothing is read-only to root.
    }
    let stage = Stage::new();
    stage.write("d/f", "one\n");
    let a = stage.save();
    stage.write("d/f", "two\n");
    stage.chmod("d", 0o555);
    let restored = stage.restore(a);
    stage.chmod("d", 0o755);
    assert_eq!(picture(&restored), ["!d/f: permission denied"]);
    assert_eq!(stage.read("d/f"), "two\n");
}

#[test]
fn hard_links_and_times_of_others_stay() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    let a = stage.save();
    stage.write("f", "two\n");
    let outside = stage.root().join("twin");
    fs::hard_link(stage.repo().join("f"), &outside).expect("linked");
    stage.restore(a);
    assert_eq!(fs::read(&outside).expect("readable"), b"two\n", "a twin outside is not written through");
    assert_eq!(fs::metadata(&outside).expect("there").nlink(), 1);
}

/// The other name may be ignored, outside of the worktree, or still to be deleted by the same restore.
#[test]
fn a_change_of_mode_leaves_other_names_of_the_file_alone() {
    let stage = Stage::new();
    let a = stage.save();
    let outside = stage.root().join("twin");
    stage.chmod("f", 0o755);
    fs::hard_link(stage.repo().join("f"), stage.repo().join("g")).expect("linked");
    fs::hard_link(stage.repo().join("f"), &outside).expect("linked");
    assert_eq!(picture(&stage.restore(a)), ["+f", "-g"]);
    assert_eq!((stage.mode("f"), stage.read("f")), (0o644, "base\n".into()));
    let twin = fs::metadata(&outside).expect("there");
    assert_eq!((twin.mode() & 0o777, twin.nlink()), (0o755, 1));
    assert_eq!(picture(&stage.undo()), ["+f", "+g"]);
    assert_eq!((stage.mode("f"), stage.mode("g")), (0o755, 0o755));
}

#[test]
fn empty_directories_come_back_and_only_emptied_ones_go() {
    let stage = Stage::new();
    fs::create_dir_all(stage.repo().join("empty/inner")).expect("made");
    stage.write("d/e/f", "x\n");
    let a = stage.save();
    let at_a = stage.disk();
    stage.remove("empty");
    stage.remove("d");
    stage.write("new/deep/file", "x\n");
    fs::create_dir_all(stage.repo().join("users/own")).expect("made");
    stage.save();
    let restored = stage.restore(a);
    assert_eq!(picture(&restored), ["+d/e/f", "+empty/inner/", "-new/deep/file"]);
    let mut expected = at_a;
    expected.insert("users".into(), Node::Directory);
    expected.insert("users/own".into(), Node::Directory);
    assert_eq!(stage.disk(), expected);
    stage.undo();
    assert!(!stage.exists("empty/inner") && stage.exists("new/deep/file"));
}
