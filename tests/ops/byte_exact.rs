//! A checkpoint holds the exact bytes of each file, whatever rules convert files when it is saved, later, and when it is
//! restored.

mod filters;

use std::{cell::Cell, collections::BTreeMap, fs, process::Output};

use crate::support::{World, template::Template};

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

/// A repository with the filter `rot` and no commit.
static WITH_FILTER: Template = Template::new(|world| {
    world.init();
    world.git(&["config", "filter.rot.clean", "tr ab bc"]);
    world.git(&["config", "filter.rot.smudge", "tr bc ab"]);
});

/// The same with a commit of no file.
static WITH_EMPTY_COMMIT: Template = Template::new(|world| {
    WITH_FILTER.make(world);
    world.git(&["commit", "-q", "--allow-empty", "-m", "base"]);
});

struct Scene {
    world: World,
    /// The name of the setting that a rule has made; empty if none has.
    setting: Cell<&'static str>,
}

impl std::ops::Deref for Scene {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Scene {
    fn new(rule: Rule, commits: bool) -> Self {
        let world = if commits { WITH_FILTER.world() } else { WITH_EMPTY_COMMIT.world() };
        let scene = Self { world, setting: Cell::default() };
        scene.apply(rule);
        for (path, bytes) in FILES {
            scene.write(path, bytes);
        }
        if commits {
            scene.commit_all("base");
        }
        // Git normalizes what it stores, not what is in the worktree.
        for (path, bytes) in FILES {
            assert_eq!(fs::read(scene.repo().join(path)).expect("readable"), bytes);
        }
        scene
    }

    fn apply(&self, rule: Rule) {
        let before = self.setting.replace(rule.setting.0);
        if !before.is_empty() {
            self.git(&["config", "--unset-all", before]);
        }
        if !rule.setting.0.is_empty() {
            self.git(&["config", rule.setting.0, rule.setting.1]);
        }
        let path = self.repo().join(".gitattributes");
        match rule.attributes {
            "" => drop(fs::remove_file(path)),
            text => fs::write(path, text).expect("written"),
        }
    }

    fn files(&self) -> Files {
        let names = FILES.iter().map(|(name, _)| *name).chain([".gitattributes"]);
        names.filter_map(|name| Some((name.to_owned(), fs::read(self.repo().join(name)).ok()?))).collect()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let output = self.checkpoint(arguments);
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
                1 => drop(fs::remove_file(self.repo().join(path))),
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
fn bytes_stay_when_rules_change(#[case] first: Rule, #[case] then: Rule) {
    assert_bytes_stay(first, then, true, true);
}

/// The same where neither git nor a save has seen the files under the first rule: from each rule, and to each.
#[rstest::rstest]
#[case::none_to_text(NONE, TEXT)]
#[case::text_to_crlf(TEXT, CRLF)]
#[case::crlf_to_none(CRLF, NONE)]
#[case::auto_to_none(AUTO, NONE)]
#[case::none_to_ident(NONE, IDENT)]
#[case::filter_to_crlf(FILTER, CRLF)]
#[case::none_to_filter(NONE, FILTER)]
#[case::encoding_to_none(ENCODING, NONE)]
#[case::none_to_encoding(NONE, ENCODING)]
#[case::input_to_auto_crlf(AUTO_INPUT, AUTO_CRLF)]
#[case::auto_crlf_to_eol_crlf(AUTO_CRLF, EOL_CRLF)]
fn bytes_stay_when_rules_change_that_nobody_has_met(#[case] first: Rule, #[case] then: Rule) {
    assert_bytes_stay(first, then, false, false);
}

/// The same where git knows the files, and no save has seen them under the first rule, or the other way round.
#[rstest::rstest]
#[case::none_to_crlf(NONE, CRLF)]
#[case::auto_crlf_to_input(AUTO_CRLF, AUTO_INPUT)]
#[case::none_to_filter(NONE, FILTER)]
fn bytes_stay_whether_git_or_a_save_has_seen_them(
    #[case] first: Rule,
    #[case] then: Rule,
    #[values((true, false), (false, true))] (commits, is_saved_first): (bool, bool),
) {
    assert_bytes_stay(first, then, commits, is_saved_first);
}

fn assert_bytes_stay(first: Rule, then: Rule, commits: bool, is_saved_first: bool) {
    let scene = Scene::new(first, commits);
    scene.settle();
    let as_first = scene.files();
    let first_id = is_saved_first.then(|| scene.save(&[]));
    scene.apply(then);
    scene.settle();
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
    scene.settle();
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
    // The restored state has a checkpoint of its own, under the current rules.
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
    fs::create_dir_all(scene.repo().join(".git/info")).expect("made");
    let bash = |script: &str| {
        let output = scene.command("bash").args(["-ec", script]).output().expect("bash runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    bash(first);
    bash("git add *.txt; git commit -qm more");
    scene.settle();
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
#[case::named_outside_later("true", "mkdir -p .git/info; echo '*.txt filter=rot' >.git/info/attributes", true)]
#[case::named_outside_later_of_no_commit(
    "true",
    "mkdir -p .git/info; echo '*.txt filter=rot' >.git/info/attributes",
    false
)]
#[case::configured_later(
    "git config --remove-section filter.rot; echo '*.txt filter=rot' >.gitattributes",
    "git config filter.rot.clean 'tr ab bc'; git config filter.rot.smudge 'tr bc ab'",
    true
)]
#[case::configured_later_of_no_commit(
    "git config --remove-section filter.rot; echo '*.txt filter=rot' >.gitattributes",
    "git config filter.rot.clean 'tr ab bc'; git config filter.rot.smudge 'tr bc ab'",
    false
)]
#[case::configured_later_beside_line_endings(
    "git config --remove-section filter.rot; echo '*.txt filter=rot text eol=crlf' >.gitattributes",
    "git config filter.rot.clean 'tr ab bc'; git config filter.rot.smudge 'tr bc ab'",
    true
)]
#[case::smudge_configured_later(
    "git config --unset filter.rot.smudge; echo '*.txt filter=rot text eol=crlf' >.gitattributes",
    "git config filter.rot.smudge 'tr bc ab'",
    false
)]
#[case::named_outside_no_more(
    "mkdir -p .git/info; echo '*.txt filter=rot' >.git/info/attributes",
    "rm .git/info/attributes",
    true
)]
fn a_filter_of_another_time_changes_no_byte(#[case] first: &str, #[case] then: &str, #[case] commits: bool) {
    let scene = Scene::new(NONE, commits);
    let bash = |script: &str| {
        let output = scene.command("bash").args(["-ec", script]).output().expect("bash runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    bash(first);
    scene.write("lf.txt", b"abba\n");
    scene.settle();
    let before = scene.files();
    let id = scene.save(&[]);
    scene.damage();
    bash(then);
    scene.restore(&id, &before, "with another filter");
    let damaged = scene.files();
    scene.run(&["restore", "--all", &id]);
    bash(first);
    let undone = scene.checkpoint(&["undo"]);
    // What was saved by way of a command that is gone cannot come back: it stays, and is a conflict.
    let is_gone = first.contains("remove-section") || first.contains("unset");
    assert_eq!(undone.status.code(), Some(i32::from(is_gone)), "{}", String::from_utf8_lossy(&undone.stdout));
    for (path, bytes) in scene.files() {
        let is_kept = is_gone && path != "plain" && Some(&bytes) == before.get(&path);
        assert!(path == ".gitattributes" || is_kept || Some(&bytes) == damaged.get(&path), "'{path}' is {bytes:?}");
    }
}

/// An attribute file that git never knew has converted a file, and is gone before the first save.
#[rstest::rstest]
fn a_rule_that_is_gone_has_converted_a_file(
    #[values(".gitattributes", "dir/.gitattributes")] rules: &str,
    #[values("", ".gitattributes\n")] ignored: &str,
) {
    let world = World::new();
    world.git(&["init", "-q", "-b", "main"]);
    let scene = Scene { world, setting: Cell::default() };
    scene.write(".git/info/exclude", ignored.as_bytes());
    scene.write("dir/f", b"a\n");
    scene.git(&["add", "-A"]);
    scene.git(&["commit", "-qm", "base"]);
    scene.write(rules, b"* eol=crlf\n");
    let file = scene.repo().join("dir/f");
    fs::remove_file(&file).expect("it is there");
    scene.git(&["checkout", "-q", "dir/f"]);
    assert_eq!(fs::read(&file).expect("readable"), b"a\r\n");
    scene.settle();
    scene.git(&["status"]);
    fs::remove_file(scene.repo().join(rules)).expect("it is there");
    let id = scene.save(&[]);
    scene.write("dir/f", b"x\n");
    scene.run(&["restore", "--all", &id]);
    assert_eq!(fs::read(&file).expect("readable"), b"a\r\n");
}

/// A commit stands for what git checks out: with the settings of now, and with attributes outside the tree.
#[rstest::rstest]
#[case::setting("git config core.autocrlf true", "")]
#[case::setting_of_text("git config core.eol crlf; echo '* text=auto' >.gitattributes", "")]
#[case::outside("mkdir -p .git/info; echo '*.txt text eol=crlf' >.git/info/attributes", "")]
#[case::input("git config core.autocrlf input", "")]
#[case::with_other_attributes(
    "git config core.autocrlf true; echo '*.txt -text' >.gitattributes",
    "echo >.gitattributes"
)]
#[case::identifiers("echo '*.txt ident' >.gitattributes", "")]
#[case::encoding(
    "printf '\\377\\376a\\0\\n\\0' >utf16.txt; echo 'utf16.txt working-tree-encoding=UTF-16' >.gitattributes",
    ""
)]
#[case::encoding_without_a_mark("echo 'utf16.txt working-tree-encoding=UTF-16LE eol=lf' >.gitattributes", "")]
fn a_commit_comes_back_as_git_checks_it_out(#[case] settings: &str, #[case] later: &str) {
    let scene = Scene::new(NONE, true);
    let bash = |script: &str| {
        let output = scene.command("bash").args(["-ec", script]).output().expect("bash runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    bash(&format!(
        "{settings}; git add -A; git commit -qm rules --allow-empty; rm -rf * .gitattributes && git checkout -q -f ."
    ));
    let checked_out = scene.files();
    // Nothing has changed: nothing is written.
    let ctime =
        || std::os::unix::fs::MetadataExt::ctime_nsec(&fs::metadata(scene.repo().join("lf.txt")).expect("a file"));
    let written_at = ctime();
    scene.run(&["restore", "--all", "base"]);
    assert_eq!((scene.files(), ctime()), (checked_out.clone(), written_at));
    bash(later);
    let damaged = scene.damage();
    for target in ["base", "HEAD"] {
        scene.run(&["restore", "--all", target]);
        assert_eq!(scene.files(), checked_out, "{target}");
        let id = scene.save(&[]);
        scene.run(&["undo"]);
        assert_eq!(scene.files(), damaged, "{target}");
        // What the restore wrote is kept byte for byte, whatever the settings are later.
        bash(
            "git config --unset core.autocrlf || true; git config --unset core.eol || true; rm -f .git/info/attributes",
        );
        scene.run(&["restore", "--all", &id]);
        assert_eq!(scene.files(), checked_out, "{target}");
        scene.run(&["undo"]);
        let first = settings.split(';').next().filter(|first| first.starts_with("git config"));
        bash(first.unwrap_or(if settings.contains("info") { settings } else { "true" }));
    }
}

/// A file has the bytes that git stores, and the filter of git would make others of them, but fails.
#[test]
fn a_commit_whose_filter_fails_is_not_as_the_worktree() {
    let scene = Scene::new(FILTER, true);
    scene.git(&["config", "filter.rot.smudge", "false"]);
    scene.git(&["config", "filter.rot.required", "true"]);
    let stored = scene.git(&["cat-file", "blob", "HEAD:lf.txt"]);
    scene.write("lf.txt", stored.as_bytes());
    let output = scene.checkpoint(&["restore", "base", "lf.txt"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(1) && said.contains("its filter failed"), "{said}");
    assert_eq!(fs::read_to_string(scene.repo().join("lf.txt")).expect("readable"), stored);
}
