//! Restores in repositories in unusual states: missing blobs, conversions, sparse checkouts, merges, linked worktrees,
//! unborn branches.

use std::fs;

use bstr::BString;
use git_checkpoint::{Context, Kind, RestoreOptions, restore};

use crate::support::stage::{Stage, picture};

#[test]
fn a_missing_blob_stops_the_restore_before_anything_is_written() {
    let stage = Stage::new();
    stage.write("f", "only in the checkpoint\n");
    stage.write("g", "one\n");
    let a = stage.save();
    stage.write("f", "two\n");
    stage.write("g", "two\n");
    stage.save();
    let id = stage.git(&["rev-parse", &format!("{a}:f")]);
    let file = format!(".git/objects/{}/{}", &id[..2], id[2..].trim());
    fs::remove_file(stage.repo().join(file)).expect("it is loose");
    let context = Context::open(&stage.repo()).expect("opens");
    let options = RestoreOptions { target: a.to_string(), ..RestoreOptions::default() };
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
    stage.redo();
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
    stage.git(&["checkout", "-q", "."]);
    stage.remove("out/new");
    stage.git(&["sparse-checkout", "set", "in"]);
    assert!(!stage.exists("out"));
    let context = Context::open(&stage.repo()).expect("opens");
    let restored =
        restore(&context, &RestoreOptions { target: a.to_string(), ..RestoreOptions::default() }).expect("restored");
    assert!(restored.written.contains(&"in/f".into()));
    assert!(
        restored.kept.iter().any(|left| left.path == "out/f" && left.why.to_string() == "outside the sparse checkout")
    );
    assert!(!stage.exists("out/f"), "{restored:?}");
}

#[test]
fn a_merge_in_progress_stays_one() {
    let stage = Stage::new();
    stage.git(&["checkout", "-qb", "side"]);
    stage.write("f", "theirs\n");
    stage.git(&["commit", "-qam", "theirs"]);
    stage.git(&["checkout", "-q", "main"]);
    stage.write("f", "ours\n");
    stage.git(&["commit", "-qam", "ours"]);
    stage.write("g", "one\n");
    let a = stage.save();
    let merge = stage.command("git").args(["merge", "side"]).output().expect("git runs");
    assert!(!merge.status.success());
    let unmerged = stage.git(&["ls-files", "-u"]);
    stage.write("g", "two\n");
    assert_eq!(picture(&stage.restore(a)), ["+f", "+g"]);
    assert_eq!(stage.git(&["ls-files", "-u"]), unmerged);
    assert!(stage.exists(".git/MERGE_HEAD"));
    stage.undo();
    assert!(stage.read("f").contains(&b'<'));
}

#[test]
fn a_linked_worktree_has_its_own_restore() {
    let stage = Stage::new();
    let other = stage.root().join("other");
    stage.git(&["worktree", "add", "-q", "-b", "other", other.to_str().expect("plain")]);
    let context = Context::open(&other).expect("opens");
    fs::write(other.join("f"), "there\n").expect("written");
    let a = git_checkpoint::save(&context, &git_checkpoint::SaveOptions::default()).expect("saved");
    fs::write(other.join("f"), "later\n").expect("written");
    stage.write("f", "here\n");
    let options = RestoreOptions { target: a.id.expect("taken").to_string(), ..RestoreOptions::default() };
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
    let tree = stage.git(&["ls-tree", "-r", "--name-only", &stage.save().to_string()]);
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
    stage.git(&["add", "f"]);
    let a = stage.save();
    let at_a = stage.disk();
    stage.write("f", "two\n");
    stage.remove("mixed");
    stage.git(&["reset", "-q"]);
    stage.restore_with(a, RestoreOptions { staged: true, ..RestoreOptions::default() });
    assert_eq!(stage.disk(), at_a);
    assert_eq!(stage.git(&["show", ":f"]), "one\n");
    stage.undo();
    assert_eq!((stage.read("f"), stage.exists("mixed")), ("two\n".into(), false));
    assert_eq!(stage.git(&["show", ":f"]), "base\n");
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

/// The mode and the attributes of a file differ: git stores one blob for both contents, but the bytes are others.
#[rstest::rstest]
#[case::attributes_go(Some("* text eol=crlf\n"), None)]
#[case::attributes_come(None, Some("* text eol=crlf\n"))]
fn a_file_whose_mode_and_attributes_differ(#[case] first: Option<&str>, #[case] second: Option<&str>) {
    let stage = Stage::new();
    let write = |attributes: Option<&str>, mode| {
        match attributes {
            Some(attributes) => stage.write(".gitattributes", attributes),
            None if stage.exists(".gitattributes") => stage.remove(".gitattributes"),
            None => {}
        }
        stage.write("f", if attributes.is_some() { "one\r\ntwo\r\n" } else { "one\ntwo\n" });
        stage.chmod("f", mode);
    };
    write(first, 0o755);
    let a = stage.save();
    let bytes = stage.read("f");
    write(second, 0o644);
    let other = stage.read("f");
    stage.restore(a);
    assert_eq!((stage.read("f"), stage.mode("f") & 0o111 != 0), (bytes, true));
    stage.undo();
    assert_eq!((stage.read("f"), stage.mode("f") & 0o111 != 0), (other, false));
}
