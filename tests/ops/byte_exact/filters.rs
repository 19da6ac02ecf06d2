//! Filters that fail, cannot be started, or apply to the file that names them: a save keeps the bytes and says so.

use std::{collections::BTreeMap, fs};

use super::{FILES, FILTER, NONE, Scene};
use crate::support::{World, files, program};

/// Commands of a filter that cannot be run, or fail.
#[rstest::rstest]
#[case::missing("git config filter.rot.clean /no/such/clean; git config filter.rot.smudge /no/such/smudge")]
#[case::failing("git config filter.rot.clean false; git config filter.rot.smudge false")]
#[case::only_smudge_fails("git config filter.rot.smudge false")]
#[case::server("git config filter.rot.process /no/such/server")]
#[case::dying("git config filter.rot.clean 'kill -9 $$'; git config filter.rot.smudge 'kill -9 $$'")]
fn a_filter_that_fails_stops_nothing(
    #[case] breaks: &str,
    #[values(("", true), ("; git config filter.rot.required true", false))] (required, is_saved_first): (&str, bool),
) {
    let scene = Scene::new(FILTER, true);
    scene.settle();
    if is_saved_first {
        scene.save(&[]);
    }
    let script = format!("{breaks}{required}");
    let output = scene.command("bash").args(["-ec", &script]).output().expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    scene.write("lf.txt", b"edited, and again\n");
    scene.write("new.txt", b"new\r\n");
    let before = scene.files();
    let id = scene.save(&[]);
    scene.run(&["status"]);
    scene.run(&["show", &id]);
    scene.run(&["session", "start", "s1", "--agent", "claude-code"]);
    scene.run(&["session", "prompt", "s1"]);
    scene.write("mixed.txt", b"an agent's work\r\n");
    scene.run(&["session", "stop", "s1"]);
    scene.write("mixed.txt", b"a\r\nb\nc\r\n");
    scene.write("new.txt", b"other\n");
    scene.damage();
    let damaged = scene.files();
    // What was stored while the filter worked cannot be brought back without it; what was saved since can.
    let output = scene.checkpoint(&["restore", "--all", &id]);
    let restored = scene.files();
    assert_eq!(restored.get("lf.txt"), before.get("lf.txt"), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read(scene.repo().join("new.txt")).expect("there"), b"new\r\n");
    for (path, bytes) in &restored {
        assert!(before.get(path) == Some(bytes) || damaged.get(path) == Some(bytes), "'{path}' is another");
    }
    let undone = scene.checkpoint(&["undo"]);
    assert_eq!(scene.files(), damaged, "{}", String::from_utf8_lossy(&undone.stderr));
    // Once the filter works again, everything does.
    let mend = "git config filter.rot.clean 'tr ab bc'; git config filter.rot.smudge 'tr bc ab'; git config filter.rot.required false; git config --unset filter.rot.process || true";
    assert!(scene.command("bash").args(["-c", mend]).output().expect("bash runs").status.success());
    scene.restore(&id, &before, "the filter works again");
}

#[rstest::rstest]
fn a_failing_filter_is_reported_once_and_its_files_are_listed(
    #[values("/no/such/clean", "false")] clean: &str,
    #[values("true", "false")] required: &str,
) {
    let scene = Scene::new(FILTER, true);
    scene.git(&["config", "filter.rot.clean", clean]);
    scene.git(&["config", "filter.rot.required", required]);
    scene.write("lf.txt", b"edited\n");
    scene.settle();
    let said = |arguments: &[&str]| String::from_utf8(scene.run(arguments).stderr).expect("UTF-8");
    let first = said(&["save"]);
    assert!(first.contains("warning: filter 'rot' failed") && first.contains("unfiltered: 'lf.txt'"), "{first}");
    scene.write("plain", b"other\n");
    assert!(!said(&["save"]).contains("filter"), "only once");
    scene.write("crlf.txt", b"edited\r\n");
    let third = said(&["save", "--paths", "crlf.txt"]);
    assert!(third.contains("unfiltered: 'crlf.txt'"), "{third}");
    scene.write("plain", b"another\n");
    let saved: serde_json::Value = serde_json::from_slice(&scene.run(&["save", "--json"]).stdout).expect("JSON");
    let listed: Vec<_> = saved["unfiltered"].as_array().expect("a list").iter().collect();
    let paths: Vec<_> = listed.iter().filter_map(|file| file["path"].as_str()).collect();
    assert_eq!(paths, ["crlf.txt", "lf.txt"]);
    assert!(listed.iter().all(|file| file["filter"] == "rot" && file["reason"] != "" && file["new"] == false));
    let id = saved["id"].as_str().expect("an id");
    let shown = String::from_utf8(scene.run(&["show", id]).stdout).expect("UTF-8");
    assert!(shown.contains("lf.txt (filter 'rot'"), "{shown}");
    let status = String::from_utf8(scene.run(&["status"]).stdout).expect("UTF-8");
    assert!(status.contains("Saved unfiltered") && status.contains("lf.txt"), "{status}");
    let blob = scene.git(&["cat-file", "blob", &format!("{id}:lf.txt")]);
    assert_eq!(blob, "edited\n");
}

/// Only git knows this encoding, in which the content has the same bytes.
#[test]
fn an_encoding_that_changes_nothing_is_no_filter_that_failed() {
    let scene = Scene::new(NONE, false);
    scene.apply(FILTER);
    scene.write(".gitattributes", b"lf.txt working-tree-encoding=CP437\n");
    scene.write("lf.txt", b"plain letters\n");
    scene.settle();
    let saved: serde_json::Value = serde_json::from_slice(&scene.run(&["save", "--json"]).stdout).expect("JSON");
    assert_eq!(saved["unfiltered"].as_array().map(Vec::len), Some(0), "{saved}");
}

/// A filter that the system does not start at this moment, as its program is being written, is tried again by the next save.
#[rstest::rstest]
fn a_filter_that_cannot_be_started_is_tried_again(
    #[values("clean", "process")] command: &str,
    #[values("true", "false")] required: &str,
) {
    let scene = Scene::new(NONE, false);
    for (path, _) in FILES {
        fs::remove_file(scene.repo().join(path)).expect("removed");
    }
    scene.apply(FILTER);
    let program = scene.root().join("rot");
    let server = "0016git-filter-server\\n000eversion=2\\n00000015capability=clean\\n0000";
    let script = match command {
        "clean" => "#!/bin/sh\nexec tr ab bc\n".to_owned(),
        // It is asked once.
        _ => format!(
            "#!/bin/sh\nprintf '{server}0013status=success\\n0000000acbbc\\n\\n00000000'\nexec cat >/dev/null\n"
        ),
    };
    files::write_script(&program, &script);
    scene.git(&["config", &format!("filter.rot.{command}"), program.to_str().expect("plain")]);
    scene.git(&["config", "filter.rot.required", required]);
    scene.write("lf.txt", b"baab\n\n");
    scene.settle();
    let save = || serde_json::from_slice::<serde_json::Value>(&scene.run(&["save", "--json"]).stdout).expect("JSON");
    let blob = |saved: &serde_json::Value| {
        scene.git(&["cat-file", "blob", &format!("{}:lf.txt", saved["id"].as_str().expect("a checkpoint"))])
    };
    let busy = fs::OpenOptions::new().write(true).open(&program).expect("opened");
    let first = save();
    assert_eq!(blob(&first), "baab\n\n");
    let unfiltered = &first["unfiltered"][0];
    assert_eq!(unfiltered["path"], "lf.txt", "{first}");
    assert!(unfiltered["reason"].as_str().is_some_and(|reason| reason.contains("busy")), "{first}");
    assert_eq!(save()["created"], false, "it is still busy");
    drop(busy);
    // A process that another test starts just now may still have it.
    let mut saved = save();
    for _ in 0..100 {
        if saved["unfiltered"].as_array().is_some_and(Vec::is_empty) {
            break;
        }
        scene.settle();
        saved = save();
    }
    assert_eq!(blob(&saved), "cbbc\n\n", "{saved}");
    assert_eq!(saved["unfiltered"].as_array().map(Vec::len), Some(0), "{saved}");
    assert_eq!(save()["created"], false, "it is settled");
    fs::write(scene.repo().join("lf.txt"), "damaged").expect("written");
    scene.run(&["restore", "--all", first["id"].as_str().expect("a checkpoint")]);
    assert_eq!(fs::read(scene.repo().join("lf.txt")).expect("there"), b"baab\n\n");
}

#[rstest::rstest]
#[case::command(
    "clean",
    "sh -c 'exit 3 # a command that is long, and tells nothing of what went wrong'",
    "'clean' failed (exit status: 3)"
)]
#[case::missing("clean", "/no/such/program", "'clean' cannot be run: No such file or directory (os error 2)")]
#[case::killed("clean", "kill -9 $$", "'clean' failed (signal: 9 (SIGKILL))")]
#[case::silent_server("process", "sh -c 'exit 3 # long'", "'process' failed (it hung up)")]
#[case::no_server(
    "process",
    "read line; echo 0000; cat >/dev/null",
    "'process' failed (it does not speak version 2 of the protocol)"
)]
#[case::babble(
    "process",
    "read line; echo hello, world; cat >/dev/null",
    "'process' failed (it does not speak the protocol)"
)]
fn a_warning_names_the_filter_and_says_shortly_why(#[case] command: &str, #[case] line: &str, #[case] expected: &str) {
    let scene = Scene::new(FILTER, true);
    scene.git(&["config", &format!("filter.rot.{command}"), line]);
    scene.git(&["config", "filter.rot.required", "true"]);
    scene.write("lf.txt", b"edited\n");
    let said = String::from_utf8(scene.run(&["save"]).stderr).expect("UTF-8");
    let warning = said.lines().find(|line| line.starts_with("warning:")).unwrap_or_default();
    assert_eq!(
        warning,
        format!("warning: filter 'rot' failed: {expected}; saved 1 file unfiltered: 'lf.txt'"),
        "{said}"
    );
}

/// However few files may be open, an error names what could not be read.
#[test]
fn an_error_for_want_of_files_names_the_path() {
    let scene = Scene::new(FILTER, true);
    scene.write("lf.txt", b"edited\n");
    let mut ends = BTreeMap::new();
    for most in 4..40 {
        let script = format!("ulimit -n {most}; exec \"$0\" save");
        let program = program();
        let output = scene.command("bash").args(["-c", &script, program]).output().expect("bash runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("''"), "with {most} files: {said}");
        ends.insert(most, (output.status.code(), said));
        if output.status.success() {
            break;
        }
    }
    assert!(ends.values().any(|(code, _)| *code == Some(128)), "{ends:?}");
    assert!(ends.values().any(|(code, _)| *code == Some(0)), "{ends:?}");
}

/// A filter that applies to the very file that names it: what git stores of that file names no filter.
#[rstest::rstest]
#[case::committed("git add -A; git commit -qm more")]
#[case::ignored("echo .gitattributes >.git/info/exclude; git add -A; git commit -qm more")]
#[case::changed_since("git add -A; git commit -qm more; sleep 0.05; echo '* -filter' >.gitattributes")]
#[case::gone_since("git add -A; git commit -qm more; sleep 0.05; rm .gitattributes")]
fn a_filter_of_the_attributes_themselves_changes_no_byte(#[case] commit: &str) {
    let scene = Scene::new(NONE, false);
    scene.git(&["config", "filter.rot.clean", "tr a-z n-za-m"]);
    scene.git(&["config", "filter.rot.smudge", "tr a-z n-za-m"]);
    scene.write(".gitattributes", b"* filter=rot text\n");
    // Git takes what is old enough for unchanged without a look at it.
    scene.settle();
    let output = scene.command("bash").args(["-ec", commit]).output().expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let before = scene.files();
    let id = scene.save(&[]);
    scene.damage();
    for attributes in ["* filter=rot text\n", "* text eol=crlf\n", ""] {
        scene.write(".gitattributes", attributes.as_bytes());
        scene.run(&["restore", "--all", &id]);
        for (path, _) in FILES {
            assert_eq!(scene.files().get(path), before.get(path), "'{path}' under '{attributes}'");
        }
    }
}

/// Git takes the blob for the file where an optional filter fails, or is not configured; a restore must not.
#[rstest::rstest]
#[case::missing(&["filter.rot.smudge", "nosuch"], "")]
#[case::failing(&["filter.rot.smudge", "false"], "")]
#[case::not_configured_any_more(&["--unset", "filter.rot.smudge"], "")]
#[case::gone(&["--remove-section", "filter.rot"], "")]
#[case::gone_as_its_rule_is(&["--remove-section", "filter.rot"], "* -filter\n")]
fn a_filter_that_fails_in_a_restore_is_a_conflict(#[case] setting: &[&str], #[case] attributes: &str) {
    let scene = Scene::new(FILTER, true);
    scene.git(&["config", "filter.rot.clean", "tr a-z A-Z"]);
    scene.git(&["config", "filter.rot.smudge", "tr A-Z a-z"]);
    scene.write("lf.txt", b"yy\n");
    let id = scene.save(&[]);
    scene.write("lf.txt", b"zz\n");
    scene.git(&[&["config"], setting].concat());
    if !attributes.is_empty() {
        scene.write(".gitattributes", attributes.as_bytes());
    }
    let output = scene.checkpoint(&["restore", &id]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(fs::read(scene.repo().join("lf.txt")).expect("there"), b"zz\n", "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("its filter failed"), "{said}");
}

/// The file is as it was when it was saved; without its filter, a restore cannot know that.
#[rstest::rstest]
#[case::all(&["save"])]
#[case::one_path(&["save", "--paths", "plain"])]
fn a_committed_file_is_left_alone_without_its_filter(#[case] save: &[&str]) {
    let scene = Scene::new(FILTER, true);
    scene.git(&["config", "filter.rot.required", "true"]);
    let bash = |script: &str| {
        assert!(scene.command("bash").args(["-ec", script]).output().expect("bash runs").status.success());
    };
    let read = |path: &str| fs::read_to_string(scene.repo().join(path)).expect("readable");
    scene.write("lf.txt", b"abba\n");
    scene.git(&["commit", "-qam", "with work for the filter"]);
    assert_eq!(scene.git(&["cat-file", "blob", "HEAD:lf.txt"]), "bccb\n");
    scene.write("plain", b"good\n");
    scene.run(save);
    scene.write("plain", b"bad\n");
    bash("cp .git/config ../config; git config --remove-section filter.rot");
    let output = scene.checkpoint(&["restore", "@{0}"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!((read("lf.txt").as_str(), read("plain").as_str()), ("abba\n", "good\n"), "{said}");
    assert!(output.status.code() == Some(1) && said.contains("its filter failed"), "{said}");
    bash("cp ../config .git/config");
    scene.run(&["undo"]);
    assert_eq!((read("lf.txt").as_str(), read("plain").as_str()), ("abba\n", "bad\n"));
}

/// What git has committed comes back as git checks it out, whether a filter was configured or not.
#[rstest::rstest]
#[case::all(&["save", "--allow-empty"])]
#[case::one_path(&["save", "--paths", "plain"])]
fn a_filter_that_was_never_configured_stops_no_restore(#[case] save: &[&str]) {
    let world = World::new();
    world.git(&["init", "-q", "-b", "main"]);
    let scene = Scene { world, setting: std::cell::Cell::default() };
    for (path, bytes) in
        [(".gitattributes", "*.txt filter=other\n"), ("a.txt", "a\n"), ("b.txt", "b\n"), ("plain", "p\n")]
    {
        scene.write(path, bytes.as_bytes());
    }
    scene.git(&["add", "-A"]);
    scene.git(&["commit", "-qm", "base"]);
    scene.git(&["commit", "-q", "--allow-empty", "-m", "later"]);
    scene.write("plain", b"edited\n");
    scene.write("b.txt", b"edited\n");
    scene.run(save);
    let first = scene.save(&[]);
    let read = |path: &str| fs::read_to_string(scene.repo().join(path)).expect("readable");
    scene.write("a.txt", b"mine\n");
    scene.write("b.txt", b"mine\n");
    scene.run(&["save"]);
    scene.run(&["restore", "--all", &first]);
    assert_eq!((read("a.txt").as_str(), read("b.txt").as_str()), ("a\n", "edited\n"));
    scene.run(&["undo"]);
    assert_eq!((read("a.txt").as_str(), read("b.txt").as_str()), ("mine\n", "mine\n"));
    // The work continues on another commit, and then again on the one below.
    scene.git(&["commit", "-qm", "mine", "a.txt"]);
    scene.run(&["restore", "--all", "base"]);
    assert_eq!((read("a.txt").as_str(), read("b.txt").as_str()), ("mine\n", "b\n"));
    let of_base = scene.save(&[]);
    scene.write("a.txt", b"x\n");
    scene.write("b.txt", b"x\n");
    scene.run(&["restore", "--all", &of_base]);
    assert_eq!((read("a.txt").as_str(), read("b.txt").as_str()), ("mine\n", "b\n"));
}

/// Git refuses such a file; a save keeps its bytes, and says so.
#[test]
fn a_required_filter_without_a_command_is_named() {
    let scene = Scene::new(FILTER, true);
    let unset = ["config", "--unset-all", "filter.rot.clean"];
    drop(scene.command("git").args(unset).output().expect("git runs"));
    scene.git(&["config", "filter.rot.required", "true"]);
    scene.git(&["config", "filter.rot.smudge", "cat"]);
    scene.write("lf.txt", b"edited\n");
    let output = scene.run(&["save"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("filter 'rot' failed: it has no command 'clean'"), "{said}");
}

/// Nobody has changed the file since the restore: only its filter cannot say so.
#[test]
fn a_filter_that_fails_in_an_undo_is_a_conflict() {
    let scene = Scene::new(FILTER, true);
    scene.write("lf.txt", b"abba\n");
    scene.git(&["commit", "-qam", "with work for the filter"]);
    scene.git(&["config", "filter.rot.smudge", "tr bc ab"]);
    scene.git(&["config", "filter.rot.clean", "tr ab bc"]);
    let undo = |code: i32| {
        let output = scene.checkpoint(&["undo"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        said
    };
    let read = |path: &str| fs::read_to_string(scene.repo().join(path)).expect("readable");
    for others in [false, true] {
        scene.write("lf.txt", b"baab\n");
        if others {
            scene.write("plain", b"bad\n");
        }
        scene.run(if others { &["restore", "base"] } else { &["restore", "base", "--", "lf.txt"] });
        scene.git(&["config", "filter.rot.smudge", "false"]);
        let said = undo(1);
        assert!(said.contains("conflict lf.txt (its filter failed"), "{said}");
        assert_eq!(said.contains("mend it, and run the command again"), !others, "{said}");
        scene.git(&["config", "filter.rot.smudge", "tr bc ab"]);
        let hint = said.split_once("restore --all ").map(|(_, rest)| rest.split(' ').next().unwrap_or_default());
        match hint {
            Some(id) if others => drop(scene.run(&["restore", "--all", id, "--", "lf.txt"])),
            _ => drop(undo(0)),
        }
        assert_eq!(read("lf.txt"), "baab\n", "{said}");
    }
    assert_eq!(read("plain"), "bad\n");
}

/// The edit is the same for git as what the restore wrote, or has the very bytes that git stores: only the filter knows that it is
/// an edit.
#[rstest::rstest]
#[case::same_for_git("cat", "BOOM base\n")]
#[case::bytes_that_git_stores("tr a-z A-Z", "boom base\n")]
fn an_undo_overwrites_no_edit_because_a_filter_fails(#[case] smudge: &str, #[case] edit: &str) {
    let scene = Scene::new(FILTER, true);
    scene.git(&["config", "filter.rot.clean", "tr A-Z a-z"]);
    scene.git(&["config", "filter.rot.smudge", smudge]);
    scene.write("lf.txt", b"boom base\n");
    scene.git(&["commit", "-qam", "base"]);
    scene.write("lf.txt", b"hello\n");
    scene.run(&["restore", "base", "--", "lf.txt"]);
    scene.write("lf.txt", edit.as_bytes());
    let fails = "x=$(cat); case \"$x\" in *oom*) exit 1;; esac; echo \"$x\" #";
    scene.git(&["config", "filter.rot.smudge", fails]);
    let undo = |code: i32, expected: &str| {
        let output = scene.checkpoint(&["undo"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(expected), "{said}");
        assert_eq!(fs::read_to_string(scene.repo().join("lf.txt")).expect("readable"), edit, "{said}");
    };
    undo(1, "conflict lf.txt (its filter failed");
    scene.git(&["config", "filter.rot.smudge", smudge]);
    undo(1, "lf.txt (changed since the restore)");
    scene.run(&["undo", "--all"]);
    assert_eq!(fs::read_to_string(scene.repo().join("lf.txt")).expect("readable"), "hello\n");
}
