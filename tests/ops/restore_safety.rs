//! What a restore must never do: lose, follow, guess.

use std::{
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::Path,
};

use bstr::BString;
use git_checkpoint::{
    error::Kind,
    ops::{
        Context,
        restore::{Options, restore},
    },
};
use gix::ObjectId;

use crate::support::stage::{Node, Stage, picture};

/// Makes a checkpoint with a tree that no save would make, from `git mktree` lines by directory.
fn forge(stage: &Stage, build: impl FnOnce(&dyn Fn(&str) -> String, &dyn Fn(&[u8]) -> String) -> String) -> ObjectId {
    use std::io::Write as _;
    let feed = |arguments: &[&str], input: &[u8]| {
        let mut command = stage.world.command("git");
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
    let message = stage.world.git(&["log", "-1", "--format=%B", &seed.to_string()]);
    let commit = stage.world.git(&["commit-tree", &tree_id, "-p", &seed.to_string(), "-m", &message]);
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
    let config = fs::read(stage.world.repo().join(".git/config")).expect("it is there");
    let restored = stage.restore(target);
    assert_eq!(picture(&restored), ["+f".to_owned(), format!("!{name}/config: invalid name")]);
    assert_eq!(fs::read(stage.world.repo().join(".git/config")).expect("it is there"), config);
    assert!(!stage.world.root().join("config").exists());
    assert_eq!(stage.world.git(&["rev-parse", "HEAD", "main"]).lines().count(), 2);
    assert_eq!(before.1, fs::read(stage.world.repo().join(".git/index")).expect("it is there"));
}

#[test]
fn a_symbolic_link_in_a_parent_is_never_followed() {
    let stage = Stage::new();
    stage.write("dir/file", "one\n");
    stage.write("dir/gone", "one\n");
    let a = stage.save();
    let outside = stage.world.root().join("outside");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("file"), "precious").expect("written");
    fs::write(outside.join("kept"), "precious").expect("written");
    stage.remove("dir");
    stage.link("dir", "../outside");
    // The link is what the worktree holds now, so it is saved and goes; the directory behind it is nobody's.
    assert_eq!(picture(&stage.restore(a)), ["+dir/file", "+dir/gone", "-dir"]);
    assert_eq!(fs::read(outside.join("file")).expect("still there"), b"precious");
    assert_eq!(fs::read_dir(&outside).expect("readable").count(), 2);
    assert_eq!(stage.read("dir/file"), "one\n");
    stage.undo();
    assert_eq!(fs::read_link(stage.world.repo().join("dir")).expect("a link"), Path::new("../outside"));
    assert_eq!(fs::read(outside.join("file")).expect("still there"), b"precious");
}

#[test]
fn an_ignored_link_in_a_parent_is_a_conflict() {
    let stage = Stage::new();
    stage.write("dir/file", "one\n");
    let a = stage.save();
    stage.remove("dir");
    let outside = stage.world.root().join("outside");
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
    // Skipped then, captured now: the checkpoint of then does not say that it was absent.
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
    stage.world.git(&["init", "-q", "lib"]);
    stage.write("other/x", "x\n");
    stage.world.git(&["init", "-q", "unborn/deep"]);
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
    stage.world.git(&["init", "-q", "sub"]);
    stage.write("sub/file", "x\n");
    stage.world.git(&["-C", "sub", "add", "-A"]);
    stage.world.git(&["-C", "sub", "commit", "-qm", "inside"]);
    let b = stage.save();
    assert_eq!(picture(&stage.restore(a)), ["=sub: a nested repository"]);
    assert_eq!(stage.read("sub/file"), "x\n");
    stage.remove("sub");
    assert_eq!(picture(&stage.restore(b)), ["=sub: a nested repository"]);
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
    assert!(stage.world.repo().join("d/sub").is_dir(), "and comes back");
}

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
    assert!(
        std::process::Command::new("mkfifo").arg(stage.world.repo().join("pipe")).status().expect("runs").success()
    );
    let restored = stage.restore(a);
    assert!(restored.written.is_empty() && restored.deleted.is_empty(), "{restored:?}");
    assert_eq!(stage.disk().get(&BString::from("pipe")), Some(&Node::Special));
}

#[test]
fn names_of_any_bytes_and_case_come_back() {
    let stage = Stage::new();
    let odd = std::ffi::OsStr::from_bytes(b"new\nline \xff\xfe");
    fs::write(stage.world.repo().join(odd), "odd\n").expect("written");
    stage.write("emoji 🦀/ñ", "x\n");
    stage.write("README", "upper\n");
    stage.write(&"n".repeat(200), "long\n");
    let a = stage.save();
    let at_a = stage.disk();
    fs::remove_file(stage.world.repo().join(odd)).expect("removed");
    fs::rename(stage.world.repo().join("README"), stage.world.repo().join("readme")).expect("renamed");
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
    let outside = stage.world.root().join("twin");
    fs::hard_link(stage.world.repo().join("f"), &outside).expect("linked");
    stage.restore(a);
    assert_eq!(fs::read(&outside).expect("readable"), b"two\n", "a twin outside is not written through");
    assert_eq!(fs::metadata(&outside).expect("there").nlink(), 1);
}

#[test]
fn empty_directories_come_back_and_only_emptied_ones_go() {
    let stage = Stage::new();
    fs::create_dir_all(stage.world.repo().join("empty/inner")).expect("made");
    stage.write("d/e/f", "x\n");
    let a = stage.save();
    let at_a = stage.disk();
    stage.remove("empty");
    stage.remove("d");
    stage.write("new/deep/file", "x\n");
    fs::create_dir_all(stage.world.repo().join("users/own")).expect("made");
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

#[test]
fn a_missing_blob_stops_the_restore_before_anything_is_written() {
    let stage = Stage::new();
    stage.write("f", "only in the checkpoint\n");
    stage.write("g", "one\n");
    let a = stage.save();
    stage.write("f", "two\n");
    stage.write("g", "two\n");
    stage.save();
    let id = stage.world.git(&["rev-parse", &format!("{a}:f")]);
    let file = format!(".git/objects/{}/{}", &id[..2], id[2..].trim());
    fs::remove_file(stage.world.repo().join(file)).expect("it is loose");
    let context = Context::open(&stage.world.repo()).expect("opens");
    let options = Options { target: a.to_string(), ..Options::default() };
    let error = restore(&context, &options).map(drop).expect_err("a blob is missing");
    assert_eq!(error.kind(), Kind::Corrupt);
    assert!(error.message().contains(id.trim()) && error.hint().is_some(), "{error}");
    assert_eq!((stage.read("f"), stage.read("g")), ("two\n".into(), "two\n".into()));
    assert!(!stage.exists(".git/checkpoint/restore.json"));
}

#[test]
fn exact_bytes_come_back_whatever_the_conversions() {
    let stage = Stage::with(|world| {
        world.git(&["config", "core.autocrlf", "input"]);
        world.write(".gitattributes", "*.crlf text eol=crlf\n*.id ident\n*.u16 working-tree-encoding=UTF-16LE\n");
    });
    let contents: [(&str, &[u8]); 6] = [
        ("mixed", b"a\r\nb\nc\r\n"),
        ("plain.crlf", b"a\r\nb\r\n"),
        ("odd.crlf", b"a\nb\r\n"),
        ("x.id", b"$Id: not mine $\n"),
        ("x.u16", b"a\0\n\0"),
        ("binary", b"\0\r\n\xff"),
    ];
    for (path, content) in contents {
        stage.write(path, content);
    }
    let a = stage.save();
    for (path, _) in contents {
        stage.write(path, "z\0\n\0");
    }
    stage.save();
    stage.restore(a);
    for (path, content) in contents {
        assert_eq!(stage.read(path), BString::from(content), "{path}");
    }
    // The same for git, other bytes.
    stage.write("mixed", "a\nb\nc\n");
    assert_eq!(picture(&stage.restore(a)), ["+mixed"]);
    assert_eq!(stage.read("mixed"), "a\r\nb\nc\r\n");
    stage.undo();
    assert_eq!(stage.read("mixed"), "a\nb\nc\n");
}

#[test]
fn attributes_are_those_of_the_restored_tree() {
    let stage = Stage::new();
    stage.write(".gitattributes", "*.txt text eol=crlf\n");
    stage.write("a.txt", "a\r\nb\r\n");
    stage.write("sub/b.txt", "unchanged for git\r\n");
    let a = stage.save();
    stage.write(".gitattributes", "*.txt text eol=lf\n");
    stage.write("a.txt", "changed\n");
    stage.write("sub/b.txt", "unchanged for git\n");
    let b = stage.save();
    stage.restore(a);
    assert_eq!(stage.read("a.txt"), "a\r\nb\r\n");
    assert_eq!(stage.read("sub/b.txt"), "unchanged for git\r\n");
    stage.undo();
    assert_eq!(stage.read("sub/b.txt"), "unchanged for git\n");
    stage.undo();
    assert_eq!(stage.read("sub/b.txt"), "unchanged for git\r\n");
    stage.restore(b);
    assert_eq!(stage.read("a.txt"), "changed\n");
    assert_eq!(stage.read("sub/b.txt"), "unchanged for git\n");
}

#[test]
fn a_sparse_checkout_is_not_filled() {
    let stage = Stage::with(|world| {
        world.write("in/f", "one\n");
        world.write("out/f", "one\n");
        world.git(&["add", "-A"]);
        world.git(&["commit", "-qm", "two directories"]);
    });
    stage.write("in/f", "two\n");
    stage.write("out/f", "two\n");
    stage.write("out/new", "two\n");
    let a = stage.save();
    stage.world.git(&["checkout", "-q", "."]);
    stage.remove("out/new");
    stage.world.git(&["sparse-checkout", "set", "in"]);
    assert!(!stage.exists("out"));
    let context = Context::open(&stage.world.repo()).expect("opens");
    let restored = restore(&context, &Options { target: a.to_string(), ..Options::default() }).expect("restored");
    assert!(restored.written.contains(&"in/f".into()));
    assert!(
        restored.kept.iter().any(|left| left.path == "out/f" && left.why.to_string() == "outside the sparse checkout")
    );
    assert!(!stage.exists("out/f"), "{restored:?}");
}

#[test]
fn a_merge_in_progress_stays_one() {
    let stage = Stage::new();
    stage.world.git(&["checkout", "-qb", "side"]);
    stage.write("f", "theirs\n");
    stage.world.git(&["commit", "-qam", "theirs"]);
    stage.world.git(&["checkout", "-q", "main"]);
    stage.write("f", "ours\n");
    stage.world.git(&["commit", "-qam", "ours"]);
    stage.write("g", "one\n");
    let a = stage.save();
    let merge = stage.world.command("git").args(["merge", "side"]).output().expect("git runs");
    assert!(!merge.status.success());
    let unmerged = stage.world.git(&["ls-files", "-u"]);
    stage.write("g", "two\n");
    assert_eq!(picture(&stage.restore(a)), ["+f", "+g"]);
    assert_eq!(stage.world.git(&["ls-files", "-u"]), unmerged);
    assert!(stage.exists(".git/MERGE_HEAD"));
    stage.undo();
    assert!(stage.read("f").contains(&b'<'));
}

#[test]
fn a_linked_worktree_has_its_own_restore() {
    let stage = Stage::new();
    let other = stage.world.root().join("other");
    stage.world.git(&["worktree", "add", "-q", "-b", "other", other.to_str().expect("plain")]);
    let context = Context::open(&other).expect("opens");
    fs::write(other.join("f"), "there\n").expect("written");
    let a = git_checkpoint::ops::save::save(&context, &git_checkpoint::ops::save::Options::default()).expect("saved");
    fs::write(other.join("f"), "later\n").expect("written");
    stage.write("f", "here\n");
    let options = Options { target: a.id.expect("taken").to_string(), ..Options::default() };
    restore(&context, &options).expect("restored");
    assert_eq!(fs::read(other.join("f")).expect("readable"), b"there\n");
    assert_eq!(stage.read("f"), "here\n");
    assert!(stage.exists(".git/worktrees/other/checkpoint/restore.json"));
    assert!(!stage.exists(".git/checkpoint/restore.json"));
}

#[test]
fn temporary_files_of_a_crash_are_no_files_of_the_user() {
    let stage = Stage::new();
    let a = stage.save();
    stage.write(".git-checkpoint-0123456789abcdef-3.tmp", "torn");
    stage.write("d/.git-checkpoint-0123456789abcdef-4.tmp", "torn");
    let restored = stage.restore(a);
    assert_eq!(picture(&restored), Vec::<String>::new());
    let tree = stage.world.git(&["ls-tree", "-r", "--name-only", &stage.save().to_string()]);
    assert_eq!(tree.trim(), "f");
}

#[rstest::rstest]
#[case::sha256(&["--object-format=sha256"])]
#[case::reftable(&["--ref-format=reftable"])]
fn repositories_of_other_formats_restore_too(#[case] format: &[&str]) {
    let stage = Stage::with(|world| {
        fs::remove_dir_all(world.repo().join(".git")).expect("removed");
        world.git(&[&["init", "-q", "-b", "main"], format].concat());
        world.git(&["add", "-A"]);
        world.git(&["commit", "-qm", "base"]);
    });
    stage.write("f", "one\n");
    stage.write("mixed", "a\r\nb\n");
    stage.world.git(&["add", "f"]);
    let a = stage.save();
    let at_a = stage.disk();
    stage.write("f", "two\n");
    stage.remove("mixed");
    stage.world.git(&["reset", "-q"]);
    stage.restore_with(a, Options { staged: true, ..Options::default() });
    assert_eq!(stage.disk(), at_a);
    assert_eq!(stage.world.git(&["show", ":f"]), "one\n");
    stage.undo();
    assert_eq!((stage.read("f"), stage.exists("mixed")), ("two\n".into(), false));
    assert_eq!(stage.world.git(&["show", ":f"]), "base\n");
    stage.untouchables();
}

#[test]
fn an_unborn_branch_restores_too() {
    let stage = Stage::with(|world| {
        fs::remove_dir_all(world.repo().join(".git")).expect("removed");
        world.git(&["init", "-q", "-b", "main"]);
    });
    stage.write("f", "one\n");
    let a = stage.save();
    stage.write("f", "two\n");
    stage.write("g", "two\n");
    assert_eq!(picture(&stage.restore(a)), ["+f", "-g"]);
    assert_eq!(picture(&stage.undo()), ["+f", "+g"]);
}

#[test]
fn file_modes_that_git_does_not_trust_stay() {
    let stage = Stage::with(|world| {
        world.git(&["config", "core.fileMode", "false"]);
    });
    stage.write("f", "one\n");
    let a = stage.save();
    stage.write("f", "two\n");
    stage.chmod("f", 0o755);
    stage.restore(a);
    assert_eq!(stage.read("f"), "one\n");
    assert_eq!(picture(&stage.restore(a)), Vec::<String>::new());
}
