//! A checkpoint stands for the very bytes of each file, whatever rules convert files when it is saved, later, and when it
//! is restored.

use std::{collections::BTreeMap, fs, process::Output};

use crate::support::World;

/// What a rule is: lines of `.gitattributes`, and a setting.
#[derive(Clone, Copy)]
struct Rule {
    attributes: &'static str,
    setting: (&'static str, &'static str),
}

const fn attributes(attributes: &'static str) -> Rule {
    Rule { attributes, setting: ("", "") }
}

const fn setting(name: &'static str, value: &'static str) -> Rule {
    Rule { attributes: "", setting: (name, value) }
}

const NONE: Rule = attributes("");
const CRLF: Rule = attributes("*.txt text eol=crlf\n");
const TEXT: Rule = attributes("*.txt text\n");
const AUTO: Rule = attributes("* text=auto\n");
const IDENT: Rule = attributes("*.txt ident\n");
const FILTER: Rule = attributes("*.txt filter=rot\n");
const ENCODING: Rule = attributes("utf16.txt working-tree-encoding=UTF-16LE eol=lf\n");
const AUTO_CRLF: Rule = setting("core.autocrlf", "true");
const AUTO_INPUT: Rule = setting("core.autocrlf", "input");
const EOL_CRLF: Rule = Rule { attributes: "* text=auto\n", setting: ("core.eol", "crlf") };

/// Files of all kinds, in the worktree as they are however git stores them.
const FILES: [(&str, &[u8]); 9] = [
    ("lf.txt", b"a\nb\n"),
    ("crlf.txt", b"a\r\nb\r\n"),
    ("mixed.txt", b"a\r\nb\nc\r\n"),
    ("binary.txt", b"a\r\n\0b\n"),
    ("ident.txt", b"$Id$\n$Id: 0123 $\r\n"),
    ("utf16.txt", b"a\0\n\0b\0\n\0"),
    ("dir/deep/crlf.txt", b"x\r\ny\r\n"),
    ("plain", b"a\r\nb\n"),
    ("empty.txt", b""),
];

type Files = BTreeMap<String, Vec<u8>>;

struct Scene {
    world: World,
}

impl Scene {
    fn new(rule: Rule, commits: bool) -> Self {
        let world = World::new();
        world.git(&["init", "-q", "-b", "main"]);
        world.git(&["config", "filter.rot.clean", "tr ab bc"]);
        world.git(&["config", "filter.rot.smudge", "tr bc ab"]);
        let scene = Self { world };
        scene.apply(rule);
        for (path, bytes) in FILES {
            scene.write(path, bytes);
        }
        if commits {
            scene.world.git(&["add", "-A"]);
            scene.world.git(&["commit", "-qm", "base"]);
        } else {
            scene.world.git(&["commit", "-q", "--allow-empty", "-m", "base"]);
        }
        // Git normalizes what it stores, not what is in the worktree.
        for (path, bytes) in FILES {
            assert_eq!(fs::read(scene.world.repo().join(path)).expect("readable"), bytes);
        }
        scene
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.world.repo().join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("made");
        fs::write(path, bytes).expect("written");
    }

    /// Lets the files grow old enough that their times tell whether they change.
    fn settle() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }

    fn apply(&self, rule: Rule) {
        for name in ["core.autocrlf", "core.eol"] {
            drop(self.world.command("git").args(["config", "--unset-all", name]).output().expect("git runs"));
        }
        if !rule.setting.0.is_empty() {
            self.world.git(&["config", rule.setting.0, rule.setting.1]);
        }
        let path = self.world.repo().join(".gitattributes");
        match rule.attributes {
            "" => drop(fs::remove_file(path)),
            text => fs::write(path, text).expect("written"),
        }
    }

    fn files(&self) -> Files {
        let names = FILES.iter().map(|(name, _)| *name).chain([".gitattributes"]);
        names.filter_map(|name| Some((name.to_owned(), fs::read(self.world.repo().join(name)).ok()?))).collect()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let output = self.world.checkpoint(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{arguments:?}: {said}");
        output
    }

    fn save(&self, arguments: &[&str]) -> String {
        let all: Vec<&str> = ["save", "--json", "--allow-empty"].iter().chain(arguments).copied().collect();
        let saved: serde_json::Value = serde_json::from_slice(&self.run(&all).stdout).expect("JSON");
        saved["id"].as_str().expect("a checkpoint").to_owned()
    }

    /// An agent that overwrites, deletes and adds.
    fn damage(&self) -> Files {
        for (at, (path, _)) in FILES.iter().enumerate() {
            match at % 3 {
                0 => self.write(path, b"damaged\r\n"),
                1 => drop(fs::remove_file(self.world.repo().join(path))),
                _ => self.write(path, b"damaged\n"),
            }
        }
        self.files()
    }

    /// Restores `id`, which must bring `expected` back, and undoes that.
    fn restore(&self, id: &str, expected: &Files, when: &str) {
        let before = self.files();
        self.run(&["restore", "--all", id]);
        assert_eq!(&self.files(), expected, "restored, {when}");
        self.run(&["undo"]);
        assert_eq!(self.files(), before, "undone, {when}");
    }
}

/// From one rule to another while the files stay as they are, between two saves.
#[rstest::rstest]
#[case::none_to_crlf(NONE, CRLF)]
#[case::crlf_to_none(CRLF, NONE)]
#[case::none_to_text(NONE, TEXT)]
#[case::text_to_none(TEXT, NONE)]
#[case::crlf_to_text(CRLF, TEXT)]
#[case::text_to_crlf(TEXT, CRLF)]
#[case::none_to_auto(NONE, AUTO)]
#[case::auto_to_none(AUTO, NONE)]
#[case::none_to_ident(NONE, IDENT)]
#[case::ident_to_none(IDENT, NONE)]
#[case::none_to_filter(NONE, FILTER)]
#[case::filter_to_none(FILTER, NONE)]
#[case::filter_to_crlf(FILTER, CRLF)]
#[case::encoding_to_none(ENCODING, NONE)]
#[case::none_to_encoding(NONE, ENCODING)]
#[case::auto_crlf_on(NONE, AUTO_CRLF)]
#[case::auto_crlf_off(AUTO_CRLF, NONE)]
#[case::input_to_auto_crlf(AUTO_INPUT, AUTO_CRLF)]
#[case::auto_crlf_to_input(AUTO_CRLF, AUTO_INPUT)]
#[case::auto_crlf_to_eol_crlf(AUTO_CRLF, EOL_CRLF)]
#[case::eol_crlf_to_auto(EOL_CRLF, AUTO)]
fn bytes_stay_when_rules_change(
    #[case] first: Rule,
    #[case] then: Rule,
    #[values(true, false)] commits: bool,
    #[values(true, false)] is_saved_first: bool,
) {
    let scene = Scene::new(first, commits);
    Scene::settle();
    let as_first = scene.files();
    let first_id = is_saved_first.then(|| scene.save(&[]));
    scene.apply(then);
    Scene::settle();
    let as_then = scene.files();
    let then_id = scene.save(&[]);
    assert_eq!(scene.files(), as_then, "a save writes no file");
    scene.damage();
    scene.restore(&then_id, &as_then, "under the same rule");
    scene.apply(first);
    scene.restore(&then_id, &as_then, "under the rule before");
    if let Some(id) = &first_id {
        scene.restore(id, &as_first, "under its own rule");
        scene.apply(then);
        scene.restore(id, &as_first, "under the other rule");
    }
}

/// The same where a save looks at `.gitattributes` alone.
#[rstest::rstest]
#[case::none_to_crlf(NONE, CRLF)]
#[case::crlf_to_none(CRLF, NONE)]
#[case::none_to_ident(NONE, IDENT)]
#[case::filter_to_crlf(FILTER, CRLF)]
fn bytes_stay_when_only_the_rules_are_saved(#[case] first: Rule, #[case] then: Rule) {
    let scene = Scene::new(first, true);
    Scene::settle();
    let as_first = scene.files();
    let first_id = scene.save(&[]);
    scene.apply(then);
    let as_then = scene.files();
    let then_id = scene.save(&["--paths", ".gitattributes"]);
    scene.damage();
    scene.restore(&then_id, &as_then, "the rule alone was saved");
    scene.restore(&first_id, &as_first, "the one before");
    scene.run(&["restore", &first_id, "--", "crlf.txt"]);
    assert_eq!(scene.files().get("crlf.txt"), as_first.get("crlf.txt"));
    // What the restore has put back has a checkpoint of its own, under the rules of now.
    let list = String::from_utf8(scene.run(&["list", "--json", "-n", "1"]).stdout).expect("UTF-8");
    let last: serde_json::Value = serde_json::from_str(list.lines().next().expect("a line")).expect("JSON");
    let here = scene.files();
    scene.damage();
    scene.run(&["restore", last["id"].as_str().expect("an id"), "--", "crlf.txt"]);
    assert_eq!(scene.files().get("crlf.txt"), here.get("crlf.txt"));
}

/// Attributes outside the worktree, and a `.gitattributes` that git ignores, are in no checkpoint.
#[rstest::rstest]
#[case::info(
    "info=.git/info/attributes; mkdir -p .git/info; echo '*.txt text eol=crlf' >$info",
    "rm .git/info/attributes"
)]
#[case::global(
    "echo '*.txt text eol=crlf' >$HOME/attributes; git config core.attributesFile $HOME/attributes",
    "rm $HOME/attributes"
)]
#[case::ignored(
    "echo .gitattributes >.git/info/exclude; echo '*.txt text eol=crlf' >.gitattributes",
    "rm .gitattributes"
)]
#[case::filter_outside("echo '*.txt filter=rot' >.git/info/attributes", "echo >.git/info/attributes")]
fn rules_from_outside_may_go(#[case] first: &str, #[case] then: &str) {
    let scene = Scene::new(NONE, false);
    fs::create_dir_all(scene.world.repo().join(".git/info")).expect("made");
    let bash = |script: &str| {
        let output = scene.world.command("bash").args(["-ec", script]).output().expect("bash runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    bash(first);
    bash("git add *.txt; git commit -qm more");
    Scene::settle();
    let before = scene.files();
    let first_id = scene.save(&[]);
    bash(then);
    let after = scene.files();
    let then_id = scene.save(&[]);
    scene.damage();
    let same = |files: Files| files.into_iter().filter(|(name, _)| name != ".gitattributes").collect::<Files>();
    scene.run(&["restore", "--all", &then_id]);
    assert_eq!(same(scene.files()), same(after));
    scene.damage();
    if !first.contains("filter=rot") {
        scene.run(&["restore", "--all", &first_id]);
        assert_eq!(same(scene.files()), same(before));
    }
}

/// A filter that has not converted a file when it was saved, and would later.
#[rstest::rstest]
#[case::named_outside_later("true", "mkdir -p .git/info; echo '*.txt filter=rot' >.git/info/attributes")]
#[case::configured_later(
    "git config --remove-section filter.rot; echo '*.txt filter=rot' >.gitattributes",
    "git config filter.rot.clean 'tr ab bc'; git config filter.rot.smudge 'tr bc ab'"
)]
#[case::configured_later_beside_line_endings(
    "git config --remove-section filter.rot; echo '*.txt filter=rot text eol=crlf' >.gitattributes",
    "git config filter.rot.clean 'tr ab bc'; git config filter.rot.smudge 'tr bc ab'"
)]
#[case::smudge_configured_later(
    "git config --unset filter.rot.smudge; echo '*.txt filter=rot text eol=crlf' >.gitattributes",
    "git config filter.rot.smudge 'tr bc ab'"
)]
#[case::named_outside_no_more(
    "mkdir -p .git/info; echo '*.txt filter=rot' >.git/info/attributes",
    "rm .git/info/attributes"
)]
fn a_filter_of_another_time_changes_no_byte(
    #[case] first: &str,
    #[case] then: &str,
    #[values(true, false)] commits: bool,
) {
    let scene = Scene::new(NONE, commits);
    let bash = |script: &str| {
        let output = scene.world.command("bash").args(["-ec", script]).output().expect("bash runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    bash(first);
    scene.write("lf.txt", b"abba\n");
    Scene::settle();
    let before = scene.files();
    let id = scene.save(&[]);
    scene.damage();
    bash(then);
    scene.restore(&id, &before, "with another filter");
    let damaged = scene.files();
    scene.run(&["restore", "--all", &id]);
    bash(first);
    let undone = scene.world.checkpoint(&["undo"]);
    // What was saved by way of a command that is gone cannot come back: it stays, and is a conflict.
    let is_gone = first.contains("remove-section") || first.contains("unset");
    assert_eq!(undone.status.code(), Some(i32::from(is_gone)), "{}", String::from_utf8_lossy(&undone.stdout));
    for (path, bytes) in scene.files() {
        let is_kept = is_gone && path.ends_with(".txt") && Some(&bytes) == before.get(&path);
        assert!(path == ".gitattributes" || is_kept || Some(&bytes) == damaged.get(&path), "'{path}' is {bytes:?}");
    }
}

/// Commands of a filter that cannot be run, or fail.
#[rstest::rstest]
#[case::missing("git config filter.rot.clean /no/such/clean; git config filter.rot.smudge /no/such/smudge")]
#[case::failing("git config filter.rot.clean false; git config filter.rot.smudge false")]
#[case::only_smudge_fails("git config filter.rot.smudge false")]
#[case::server("git config filter.rot.process /no/such/server")]
#[case::dying("git config filter.rot.clean 'kill -9 $$'; git config filter.rot.smudge 'kill -9 $$'")]
fn a_filter_that_fails_stops_nothing(
    #[case] breaks: &str,
    #[values("", "; git config filter.rot.required true")] required: &str,
    #[values(true, false)] is_saved_first: bool,
) {
    let scene = Scene::new(FILTER, true);
    Scene::settle();
    if is_saved_first {
        scene.save(&[]);
    }
    let script = format!("{breaks}{required}");
    let output = scene.world.command("bash").args(["-ec", &script]).output().expect("bash runs");
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
    let output = scene.world.checkpoint(&["restore", "--all", &id]);
    let restored = scene.files();
    assert_eq!(restored.get("lf.txt"), before.get("lf.txt"), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read(scene.world.repo().join("new.txt")).expect("there"), b"new\r\n");
    for (path, bytes) in &restored {
        assert!(before.get(path) == Some(bytes) || damaged.get(path) == Some(bytes), "'{path}' is another");
    }
    let undone = scene.world.checkpoint(&["undo"]);
    assert_eq!(scene.files(), damaged, "{}", String::from_utf8_lossy(&undone.stderr));
    // Once the filter works again, everything does.
    let mend = "git config filter.rot.clean 'tr ab bc'; git config filter.rot.smudge 'tr bc ab'; git config filter.rot.required false; git config --unset filter.rot.process || true";
    assert!(scene.world.command("bash").args(["-c", mend]).output().expect("bash runs").status.success());
    scene.restore(&id, &before, "the filter works again");
}

#[test]
fn a_filter_that_fails_is_said_once_and_listed() {
    let scene = Scene::new(FILTER, true);
    scene.world.git(&["config", "filter.rot.clean", "/no/such/clean"]);
    scene.world.git(&["config", "filter.rot.required", "true"]);
    scene.write("lf.txt", b"edited\n");
    Scene::settle();
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
    let blob = scene.world.git(&["cat-file", "blob", &format!("{id}:lf.txt")]);
    assert_eq!(blob, "edited\n");
}

/// A filter that the system does not start at this moment, as its program is being written, is tried again by the next save.
#[rstest::rstest]
fn a_filter_that_cannot_be_started_is_tried_again(
    #[values("clean", "process")] command: &str,
    #[values("true", "false")] required: &str,
) {
    let scene = Scene::new(NONE, false);
    for (path, _) in FILES {
        fs::remove_file(scene.world.repo().join(path)).expect("removed");
    }
    scene.apply(FILTER);
    let program = scene.world.root().join("rot");
    let server = "0016git-filter-server\\n000eversion=2\\n00000015capability=clean\\n0000";
    let script = match command {
        "clean" => "#!/bin/sh\nexec tr ab bc\n".to_owned(),
        // It is asked once.
        _ => format!(
            "#!/bin/sh\nprintf '{server}0013status=success\\n0000000acbbc\\n\\n00000000'\nexec cat >/dev/null\n"
        ),
    };
    fs::write(&program, script).expect("written");
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("made executable");
    scene.world.git(&["config", &format!("filter.rot.{command}"), program.to_str().expect("plain")]);
    scene.world.git(&["config", "filter.rot.required", required]);
    scene.write("lf.txt", b"baab\n\n");
    Scene::settle();
    let save = || serde_json::from_slice::<serde_json::Value>(&scene.run(&["save", "--json"]).stdout).expect("JSON");
    let blob = |saved: &serde_json::Value| {
        scene.world.git(&["cat-file", "blob", &format!("{}:lf.txt", saved["id"].as_str().expect("a checkpoint"))])
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
        Scene::settle();
        saved = save();
    }
    assert_eq!(blob(&saved), "cbbc\n\n", "{saved}");
    assert_eq!(saved["unfiltered"].as_array().map(Vec::len), Some(0), "{saved}");
    assert_eq!(save()["created"], false, "it is settled");
    fs::write(scene.world.repo().join("lf.txt"), "damaged").expect("written");
    scene.run(&["restore", "--all", first["id"].as_str().expect("a checkpoint")]);
    assert_eq!(fs::read(scene.world.repo().join("lf.txt")).expect("there"), b"baab\n\n");
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
#[case::no_server("process", "read line; echo 0000", "'process' failed (it does not speak version 2 of the protocol)")]
#[case::babble("process", "read line; echo hello, world", "'process' failed (it does not speak the protocol)")]
fn a_warning_names_the_filter_and_says_shortly_why(#[case] command: &str, #[case] line: &str, #[case] expected: &str) {
    let scene = Scene::new(FILTER, true);
    scene.world.git(&["config", &format!("filter.rot.{command}"), line]);
    scene.world.git(&["config", "filter.rot.required", "true"]);
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
        let program = env!("CARGO_BIN_EXE_git-checkpoint");
        let output = scene.world.command("bash").args(["-c", &script, program]).output().expect("bash runs");
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
    scene.world.git(&["config", "filter.rot.clean", "tr a-z n-za-m"]);
    scene.world.git(&["config", "filter.rot.smudge", "tr a-z n-za-m"]);
    scene.write(".gitattributes", b"* filter=rot text\n");
    // Git takes what is old enough for unchanged without a look at it.
    Scene::settle();
    let output = scene.world.command("bash").args(["-ec", commit]).output().expect("bash runs");
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
    scene.world.git(&["config", "filter.rot.clean", "tr a-z A-Z"]);
    scene.world.git(&["config", "filter.rot.smudge", "tr A-Z a-z"]);
    scene.write("lf.txt", b"yy\n");
    let id = scene.save(&[]);
    scene.write("lf.txt", b"zz\n");
    scene.world.git(&[&["config"], setting].concat());
    if !attributes.is_empty() {
        scene.write(".gitattributes", attributes.as_bytes());
    }
    let output = scene.world.checkpoint(&["restore", &id]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(fs::read(scene.world.repo().join("lf.txt")).expect("there"), b"zz\n", "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("its filter failed"), "{said}");
}

/// What git has committed comes back as git checks it out, whether a filter was configured or not.
#[rstest::rstest]
#[case::all(&["save", "--allow-empty"])]
#[case::one_path(&["save", "--paths", "plain"])]
fn a_filter_that_was_never_configured_stops_no_restore(#[case] save: &[&str]) {
    let world = World::new();
    world.git(&["init", "-q", "-b", "main"]);
    let scene = Scene { world };
    for (path, bytes) in
        [(".gitattributes", "*.txt filter=other\n"), ("a.txt", "a\n"), ("b.txt", "b\n"), ("plain", "p\n")]
    {
        scene.write(path, bytes.as_bytes());
    }
    scene.world.git(&["add", "-A"]);
    scene.world.git(&["commit", "-qm", "base"]);
    scene.world.git(&["commit", "-q", "--allow-empty", "-m", "later"]);
    scene.write("plain", b"edited\n");
    scene.write("b.txt", b"edited\n");
    scene.run(save);
    let first = scene.save(&[]);
    let read = |path: &str| fs::read_to_string(scene.world.repo().join(path)).expect("readable");
    scene.write("a.txt", b"mine\n");
    scene.write("b.txt", b"mine\n");
    scene.run(&["save"]);
    scene.run(&["restore", "--all", &first]);
    assert_eq!((read("a.txt").as_str(), read("b.txt").as_str()), ("a\n", "edited\n"));
    scene.run(&["undo"]);
    assert_eq!((read("a.txt").as_str(), read("b.txt").as_str()), ("mine\n", "mine\n"));
    // The work goes on upon another commit, and from there back to the one below.
    scene.world.git(&["commit", "-qm", "mine", "a.txt"]);
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
    drop(scene.world.command("git").args(unset).output().expect("git runs"));
    scene.world.git(&["config", "filter.rot.required", "true"]);
    scene.world.git(&["config", "filter.rot.smudge", "cat"]);
    scene.write("lf.txt", b"edited\n");
    let output = scene.run(&["save"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("filter 'rot' failed: it has no command 'clean'"), "{said}");
}
