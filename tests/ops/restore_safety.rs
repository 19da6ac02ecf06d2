//! What a restore must never do: lose content, follow links, write forged names.

mod kinds;
mod states;

use std::{fs, path::Path};

use gix::ObjectId;

use crate::support::stage::{Stage, picture};

/// Makes a checkpoint with a tree that no save would make, from `git mktree` lines by directory.
fn forge(stage: &Stage, build: impl FnOnce(&dyn Fn(&str) -> String, &dyn Fn(&[u8]) -> String) -> String) -> ObjectId {
    use std::io::Write as _;
    let feed = |arguments: &[&str], input: &[u8]| {
        let mut command = stage.command("git");
        command.args(arguments).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().expect("git runs");
        child.stdin.take().expect("piped").write_all(input).expect("git reads");
        let output = child.wait_with_output().expect("git ends");
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let blob = |content: &str| feed(&["hash-object", "-w", "--stdin"], content.as_bytes());
    // `git mktree` refuses what is to be forged here.
    let tree = |raw: &[u8]| feed(&["hash-object", "-w", "--literally", "-t", "tree", "--stdin"], raw);
    let tree_id = build(&blob, &tree);
    let seed = stage.save();
    let message = stage.git(&["log", "-1", "--format=%B", &seed.to_string()]);
    let commit = stage.git(&["commit-tree", &tree_id, "-p", &seed.to_string(), "-m", &message]);
    ObjectId::from_hex(commit.trim().as_bytes()).expect("an id")
}

fn entry(mode: &str, name: &str, id: &str) -> Vec<u8> {
    let id = ObjectId::from_hex(id.as_bytes()).expect("an id");
    [mode.as_bytes(), b" ", name.as_bytes(), b"\0", id.as_slice()].concat()
}

#[rstest::rstest]
#[case::plain(".git")]
#[case::folded(".GIT")]
#[case::short_name("git~1")]
#[case::trailing_dot(".git.")]
#[case::trailing_blank(".git ")]
#[case::hfs(".g\u{200c}it")]
#[case::parent("..")]
fn forged_names_are_refused(#[case] name: &str) {
    let stage = Stage::new();
    let before = stage.untouchables();
    let target = forge(&stage, |blob, tree| {
        let evil = tree(&entry("100755", "config", &blob("[core]\n\thooksPath = /tmp\n")));
        let mut entries = vec![entry("100644", "f", &blob("restored\n"))];
        entries.push(entry("40000", name, &evil));
        entries.sort_by(|a, b| a[6..].cmp(&b[6..]));
        tree(&entries.concat())
    });
    let config = fs::read(stage.repo().join(".git/config")).expect("it is there");
    let restored = stage.restore(target);
    assert_eq!(picture(&restored), ["+f".to_owned(), format!("!{name}/config: invalid name")]);
    assert_eq!(fs::read(stage.repo().join(".git/config")).expect("it is there"), config);
    assert!(!stage.root().join("config").exists());
    assert_eq!(stage.git(&["rev-parse", "HEAD", "main"]).lines().count(), 2);
    assert_eq!(before.1, fs::read(stage.repo().join(".git/index")).expect("it is there"));
}

#[test]
fn a_symbolic_link_in_a_parent_is_never_followed() {
    let stage = Stage::new();
    stage.write("dir/file", "one\n");
    stage.write("dir/gone", "one\n");
    let a = stage.save();
    let outside = stage.root().join("outside");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("file"), "precious").expect("written");
    fs::write(outside.join("kept"), "precious").expect("written");
    stage.remove("dir");
    stage.link("dir", "../outside");
    // The worktree has the link now, so it is saved and replaced; the directory behind it is not part of the worktree.
    assert_eq!(picture(&stage.restore(a)), ["+dir/file", "+dir/gone", "-dir"]);
    assert_eq!(fs::read(outside.join("file")).expect("still there"), b"precious");
    assert_eq!(fs::read_dir(&outside).expect("readable").count(), 2);
    assert_eq!(stage.read("dir/file"), "one\n");
    stage.undo();
    assert_eq!(fs::read_link(stage.repo().join("dir")).expect("a link"), Path::new("../outside"));
    assert_eq!(fs::read(outside.join("file")).expect("still there"), b"precious");
}

#[test]
fn an_ignored_link_in_a_parent_is_a_conflict() {
    let stage = Stage::new();
    stage.write("dir/file", "one\n");
    let a = stage.save();
    stage.remove("dir");
    let outside = stage.root().join("outside");
    fs::create_dir(&outside).expect("made");
    stage.write(".git/info/exclude", "dir\n");
    stage.link("dir", "../outside");
    assert_eq!(picture(&stage.restore(a)), ["!dir/file: below a symbolic link"]);
    assert_eq!(fs::read_dir(&outside).expect("readable").count(), 0);
}

#[test]
fn ignored_files_are_neither_deleted_nor_overwritten() {
    let stage = Stage::new();
    stage.write("build.log", "saved\n");
    let a = stage.save();
    stage.write("later.log", "saved too\n");
    let b = stage.save();
    // Now both are ignored; one has changed since.
    stage.write(".gitignore", "*.log\n");
    stage.write("build.log", "precious\n");
    assert_eq!(picture(&stage.restore(a)), ["-.gitignore", "!build.log: in the way"]);
    assert_eq!((stage.read("build.log"), stage.read("later.log")), ("precious\n".into(), "saved too\n".into()));
    stage.undo();
    stage.restore(b);
    assert_eq!(stage.read("build.log"), "precious\n");
}

#[test]
fn a_gitignore_that_the_restore_takes_away_still_protects() {
    let stage = Stage::new();
    let a = stage.save();
    stage.write(".gitignore", "out/\n");
    stage.write("out/data", "1 GB of results\n");
    stage.write("dir/out/more", "more\n");
    assert_eq!(picture(&stage.restore(a)), ["-.gitignore"]);
    assert!(stage.exists("out/data") && stage.exists("dir/out/more"));
}

#[test]
fn a_gitignore_that_the_restore_brings_back_already_protects() {
    let stage = Stage::new();
    stage.write(".gitignore", "*.log\n");
    let a = stage.save();
    stage.remove(".gitignore");
    stage.write("x.log", "captured now\n");
    assert_eq!(picture(&stage.restore(a)), ["+.gitignore", "=x.log: ignored"]);
    assert!(stage.exists("x.log"));
}

#[test]
fn skipped_files_are_neither_deleted_nor_overwritten() {
    let mut stage = Stage::new();
    stage.write("small", "one\n");
    let a = stage.save();
    stage.context.settings.save.max_file_size = 100;
    stage.write("big", "x".repeat(1000));
    stage.write("small", "x".repeat(2000));
    let b = stage.save();
    let restored = stage.restore(a);
    assert!(!restored.deleted.contains(&"big".into()) && stage.exists("big"), "{restored:?}");
    assert!(restored.skipped.iter().any(|skipped| skipped.path == "big"));
    assert_eq!(stage.read("small").len(), 2000, "what no checkpoint holds is not overwritten");
    // Skipped then, captured now: the old checkpoint does not say that the file was absent.
    stage.context.settings.save.max_file_size = 10 << 20;
    assert!(!stage.restore(b).deleted.contains(&"big".into()));
    assert!(stage.exists("big"));
}

#[test]
fn nested_repositories_are_a_boundary() {
    let stage = Stage::new();
    stage.write("lib/plain", "one\n");
    let a = stage.save();
    stage.remove("lib");
    stage.write("lib/work", "inside\n");
    stage.git(&["init", "-q", "lib"]);
    stage.write("other/x", "x\n");
    stage.git(&["init", "-q", "unborn/deep"]);
    stage.write("unborn/deep/file", "inside\n");
    stage.save();
    let restored = stage.restore(a);
    assert_eq!(picture(&restored), ["-other/x", "=lib/plain: inside a nested repository"]);
    assert_eq!(stage.read("lib/work"), "inside\n");
    assert!(stage.exists("unborn/deep/file") && stage.exists("unborn/deep/.git") && stage.exists("lib/.git"));
}

#[test]
fn a_nested_repository_with_commits_is_a_boundary_too() {
    let stage = Stage::new();
    let a = stage.save();
    stage.git(&["init", "-q", "sub"]);
    stage.write("sub/file", "x\n");
    stage.git(&["-C", "sub", "add", "-A"]);
    stage.git(&["-C", "sub", "commit", "-qm", "inside"]);
    let b = stage.save();
    assert_eq!(picture(&stage.restore(a)), ["=sub: a nested repository"]);
    assert_eq!(stage.read("sub/file"), "x\n");
    stage.remove("sub");
    assert_eq!(picture(&stage.restore(b)), ["=sub: a repository that is gone; no checkpoint has its files"]);
    assert!(!stage.exists("sub"));
}

#[test]
fn a_directory_with_anything_unsaved_never_gives_way_to_a_file() {
    let stage = Stage::new();
    stage.write(".gitignore", "*.o\n");
    stage.write("d", "a file\n");
    let a = stage.save();
    stage.remove("d");
    stage.write("d/saved", "x\n");
    stage.write("d/sub/precious.o", "ignored\n");
    assert_eq!(picture(&stage.restore(a)), ["!d: in the way", "!d/saved: in the way"]);
    assert!(stage.exists("d/saved") && stage.exists("d/sub/precious.o"));
    stage.remove("d/sub/precious.o");
    let restored = stage.restore(a);
    assert_eq!(picture(&restored), ["+d", "-d/saved"], "an empty directory gives way");
    assert_eq!(stage.read("d"), "a file\n");
    stage.undo();
    assert_eq!(stage.read("d/saved"), "x\n");
    assert!(stage.repo().join("d/sub").is_dir(), "and comes back");
}
