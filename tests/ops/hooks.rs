//! Git's hooks, installed by the program and run by real git.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Output,
};

use crate::support::{World, processes::described, program};

mod managers;

const NAMES: [&str; 6] =
    ["prepare-commit-msg", "commit-msg", "post-commit", "post-rewrite", "post-checkout", "post-merge"];

/// Writes what a hook gets to know, with `$0` left out.
const LOGGER: &str = "#!/bin/sh\n\
    { printf 'HOOK %s:' \"$#\"; printf ' <%s>' \"$@\"; printf '\\n%s|%s|%s\\n' \"$PWD\" \"${name-}\" \"${status-}\"; \
    env | grep '^GIT_[A-Z]*=' | sort; cat; } >>\"$LOG\"\n";

fn hooks(world: &World) -> PathBuf {
    world.repo().join(".git/hooks")
}

fn put(path: &Path, text: impl AsRef<[u8]>, mode: u32) {
    fs::create_dir_all(path.parent().expect("it is in a directory")).expect("directories can be made");
    fs::write(path, text).expect("files can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

fn shell(world: &World, script: &str) {
    assert!(world.command("sh").args(["-ec", script]).status().expect("sh runs").success());
}

/// Runs git with some variables that a hook must not see changed.
fn git(world: &World, arguments: &[&str]) -> Output {
    let mut command = world.command("git");
    command.env("LOG", world.root().join("log")).env("name", "a").env("status", "b");
    command.args(arguments).output().expect("git runs")
}

/// Returns bytes, mode and link target of every file in `directory`.
fn picture(directory: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("readable").flatten() {
        let metadata = fs::symlink_metadata(entry.path()).expect("it is there");
        let bytes = if metadata.is_symlink() {
            fs::read_link(entry.path()).expect("a link").into_os_string().into_encoded_bytes()
        } else if metadata.is_file() {
            fs::read(entry.path()).expect("readable")
        } else {
            Vec::new()
        };
        let name = entry.file_name().to_string_lossy().into_owned();
        files.insert(name, (metadata.permissions().mode(), bytes));
    }
    files
}

/// A setting that every hook of ours complains about, so that it can be seen to have run, and a turn, so that each has
/// something to do.
fn complain(world: &World) {
    world.done(&["session", "prompt", "busy"]);
    world.git(&["config", "checkpoint.archive.keep-days", "many"]);
}

/// Returns the hooks that have complained since the last call.
fn complaints(world: &World) -> Vec<String> {
    let path = world.repo().join(".git/checkpoint/events.jsonl");
    let text = fs::read_to_string(&path).unwrap_or_default();
    drop(fs::remove_file(path));
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let operations = lines.filter_map(|event| event["operation"].as_str().map(ToOwned::to_owned));
    operations.filter_map(|name| name.strip_prefix("hook ").map(ToOwned::to_owned)).collect()
}

fn health(world: &World) -> BTreeMap<String, String> {
    serde_json::from_value(world.json(&["status", "--json"])["hooks"].clone()).expect("names and states")
}

#[test]
fn a_foreign_hook_sees_what_it_saw_before() {
    let log = |is_enabled: bool| {
        let world = World::with_commit();
        for name in NAMES {
            put(&hooks(&world).join(name), LOGGER, 0o755);
        }
        if is_enabled {
            world.done(&["enable"]);
        }
        world.write("g", "1");
        for arguments in [
            vec!["add", "-A"],
            vec!["commit", "-qm", "one"],
            vec!["commit", "-q", "--amend", "-m", "two"],
            vec!["switch", "-qc", "side"],
            vec!["commit", "-q", "--allow-empty", "-m", "three"],
            vec!["commit", "-q", "--allow-empty", "-m", "four"],
            vec!["rebase", "-q", "--force-rebase", "HEAD~2"],
            vec!["checkout", "-q", "main", "--", "f"],
            vec!["checkout", "-q", "main"],
            vec!["merge", "-q", "--no-ff", "--no-edit", "side"],
        ] {
            let output = git(&world, &arguments);
            assert!(output.status.success(), "{arguments:?}: {}", described(&output));
        }
        let text = fs::read_to_string(world.root().join("log")).expect("hooks have run");
        text.replace(world.root().to_str().expect("plain"), "$WORLD")
    };
    let (before, after) = (log(false), log(true));
    assert!(before.matches("HOOK").count() > 12, "{before}");
    assert_eq!(before, after);
}

#[test]
fn hooks_of_all_kinds_come_back_as_they_were() {
    let world = World::with_commit();
    let directory = hooks(&world);
    put(&directory.join("helpers/real"), "#!/bin/sh\ntouch linked\n", 0o755);
    symlink("helpers/real", directory.join("post-commit")).expect("links can be made");
    symlink("nowhere", directory.join("post-merge")).expect("links can be made");
    put(&directory.join("commit-msg"), "#!/bin/sh\nexit 1\n", 0o640);
    put(&directory.join("prepare-commit-msg"), fs::read("/bin/true").expect("a program"), 0o700);
    put(&directory.join("post-checkout"), "touch without-interpreter", 0o755);
    let before = picture(&directory);

    let plan = world.json(&["enable", "--dry-run", "--json"]);
    assert_eq!((plan["dry_run"].as_bool(), picture(&directory)), (Some(true), before.clone()));
    world.done(&["enable"]);
    let enabled = picture(&directory);
    world.done(&["enable"]);
    assert_eq!(picture(&directory), enabled, "twice is once");
    assert!(health(&world).values().all(|state| state == "ok"), "{:?}", health(&world));
    // The one that may not be run is not run.
    assert!(git(&world, &["commit", "-q", "--allow-empty", "-m", "x"]).status.success());
    assert!(world.repo().join("linked").exists());
    git(&world, &["checkout", "-q", "--detach"]);
    assert!(world.repo().join("without-interpreter").exists());

    world.done(&["disable", "--dry-run"]);
    assert_eq!(picture(&directory), enabled);
    world.done(&["disable"]);
    assert_eq!(picture(&directory), before);
    assert!(health(&world).is_empty());
    world.done(&["disable"]);
    assert_eq!(picture(&directory), before);
}

#[rstest::rstest]
#[case::before_the_message("prepare-commit-msg", false)]
#[case::after_the_message("commit-msg", false)]
#[case::after_the_commit("post-commit", true)]
fn the_status_of_a_foreign_hook_is_kept(#[case] name: &str, #[case] is_committed: bool) {
    let world = World::with_commit();
    put(&hooks(&world).join(name), "#!/bin/sh\nexit 3\n", 0o755);
    world.done(&["enable"]);
    complain(&world);
    let output = git(&world, &["commit", "-q", "--allow-empty", "-m", "x"]);
    assert_eq!(output.status.success(), is_committed, "{}", described(&output));
    assert_eq!(complaints(&world).contains(&name.to_owned()), is_committed, "after a refusal, ours does not run");
}

#[test]
fn a_checkout_ends_as_the_foreign_hook_says() {
    let world = World::with_commit();
    put(&hooks(&world).join("post-checkout"), "#!/bin/sh\nexit 7\n", 0o755);
    let without = git(&world, &["checkout", "-q", "--detach"]).status.code();
    world.done(&["enable"]);
    complain(&world);
    assert_eq!((git(&world, &["checkout", "-q", "main"]).status.code(), without), (Some(1), Some(1)));
    assert_eq!(complaints(&world), ["post-checkout"]);
}

#[test]
fn hooks_that_users_put_in_place_of_ours_are_kept() {
    let world = World::with_commit();
    let directory = hooks(&world);
    let original = "#!/bin/sh\n# original\n";
    for name in ["post-commit", "post-merge", "post-rewrite"] {
        put(&directory.join(name), original, 0o755);
    }
    world.done(&["enable"]);
    put(&directory.join("post-commit"), "#!/bin/sh\n# new\n", 0o755);
    fs::remove_file(directory.join("post-merge")).expect("it is there");
    let edited = fs::read_to_string(directory.join("post-rewrite")).expect("text") + "# mine\n";
    put(&directory.join("post-rewrite"), &edited, 0o755);
    fs::set_permissions(directory.join("commit-msg"), fs::Permissions::from_mode(0o644)).expect("it is ours");
    let states = health(&world);
    let state = |name: &str| states[name].as_str();
    let found = ["post-commit", "post-merge", "post-rewrite", "commit-msg", "post-checkout"].map(state);
    assert_eq!(found, ["replaced", "missing", "ok", "missing", "ok"]);
    let text = world.done(&["status"]);
    assert!(text.contains("post-commit (replaced)") && !text.contains("post-checkout"), "{text}");

    let output = world.checkpoint(&["disable"]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    let files = picture(&directory);
    let text = |name: &str| String::from_utf8_lossy(&files[name].1).into_owned();
    assert_eq!(text("post-commit"), "#!/bin/sh\n# new\n");
    assert_eq!(text("post-commit.before-checkpoint"), original);
    assert_eq!(text("post-merge"), original);
    assert_eq!((text("post-rewrite"), text("post-rewrite.before-checkpoint")), (edited, original.into()));
    assert!(!files.contains_key("commit-msg") && !files.contains_key("post-checkout"));
}

#[test]
fn nothing_that_was_set_aside_is_overwritten() {
    let world = World::with_commit();
    let hook = hooks(&world).join("post-commit");
    put(&hook, "#!/bin/sh\n# first\n", 0o755);
    world.done(&["enable"]);
    put(&hook, "#!/bin/sh\ntouch second\n", 0o755);
    let said = world.done(&["enable"]);
    assert!(said.contains("set aside earlier"), "{said}");
    git(&world, &["commit", "-q", "--allow-empty", "-m", "x"]);
    assert!(world.repo().join("second").exists());
    let first = hooks(&world).join("post-commit.before-checkpoint.1");
    assert_eq!(fs::read_to_string(first).expect("it is kept"), "#!/bin/sh\n# first\n");
    world.done(&["disable"]);
    assert_eq!(fs::read_to_string(hook).expect("it is back"), "#!/bin/sh\ntouch second\n");
}

#[test]
fn a_hook_that_asks_for_its_name_stays_where_it_is() {
    let world = World::with_commit();
    let hook = hooks(&world).join("post-commit");
    let text = "#!/bin/sh\ntouch \"ran-$(basename \"$0\")\"\n";
    put(&hook, text, 0o755);
    let output = world.checkpoint(&["enable"]);
    assert_eq!((output.status.code(), fs::read_to_string(&hook).expect("text").as_str()), (Some(1), text));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find_map(|line| line.trim().strip_prefix("checkpoint=$?")).expect("it says the line");
    put(&hook, format!("{text}checkpoint=$?{line}\n"), 0o755);
    assert!(world.done(&["enable"]).contains("it calls git-checkpoint"));
    complain(&world);
    git(&world, &["commit", "-q", "--allow-empty", "-m", "x"]);
    assert!(world.repo().join("ran-post-commit").exists() && complaints(&world).contains(&"post-commit".into()));
}

#[test]
fn a_repository_without_the_program_commits_as_ever() {
    let world = World::with_hooks();
    for name in NAMES {
        let path = hooks(&world).join(name);
        let text = fs::read_to_string(&path).expect("a script");
        put(&path, text.replace(program(), "/nowhere/git-checkpoint"), 0o755);
    }
    let mut command = world.command("git");
    let output = command.env("PATH", "/usr/bin:/bin").args(["commit", "--allow-empty", "-qm", "x"]).output();
    let output = output.expect("git runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", described(&output));
    // Elsewhere on PATH will do.
    complain(&world);
    assert!(git(&world, &["commit", "--allow-empty", "-qm", "x"]).status.success());
    assert_eq!(complaints(&world), ["prepare-commit-msg", "post-commit"]);
}

#[rstest::rstest]
#[case::nothing_here("", &[], false)]
#[case::checkpoints_of_people("git checkpoint save", &[], false)]
#[case::a_turn("git checkpoint session prompt s", &[], true)]
#[case::work_that_continues("git checkpoint session prompt s; echo s >s; git checkpoint session stop s", &[], true)]
#[case::an_editor("", &["--edit"], true)]
#[case::an_amend("", &["--amend"], true)]
#[case::a_name("", &["-m", "(cherry picked from commit 1)"], true)]
fn post_commit_starts_us_if_there_is_something_to_do(
    #[case] before: &str,
    #[case] options: &[&str],
    #[case] is_started: bool,
) {
    let world = World::with_hooks();
    shell(&world, before);
    world.git(&["config", "checkpoint.archive.keep-days", "many"]);
    let arguments = [&["-c", "core.editor=true", "commit", "-q", "--allow-empty", "-m", "x"], options].concat();
    assert!(git(&world, &arguments).status.success());
    assert_eq!(complaints(&world).contains(&"post-commit".into()), is_started);
}

#[rstest::rstest]
#[case::of_files(&["HEAD", "--", "f"], false)]
#[case::of_a_commit(&["--detach"], true)]
fn a_checkout_starts_us_if_it_moves_head(#[case] arguments: &[&str], #[case] is_started: bool) {
    let world = World::with_hooks();
    shell(&world, "echo f >f; git add f; git commit -q -m f");
    complain(&world);
    drop(complaints(&world));
    assert!(git(&world, &[&["checkout", "-q"], arguments].concat()).status.success());
    assert_eq!(complaints(&world).contains(&"post-checkout".into()), is_started);
}

#[test]
fn the_note_of_an_aborted_commit_is_forgotten() {
    let world = World::with_hooks();
    let refusal = hooks(&world).join("commit-msg.before-checkpoint");
    put(&refusal, "#!/bin/sh\nexit 1\n", 0o755);
    assert!(!git(&world, &["commit", "-q", "--allow-empty", "-m", "x"]).status.success());
    fs::remove_file(refusal).expect("it is ours");
    shell(&world, "git checkpoint session prompt s; echo s >s; git checkpoint session stop s; git add s");
    assert!(git(&world, &["commit", "-q", "-m", "work"]).status.success());
    let message = world.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains("Checkpoint: "), "{message}");
    let explained = world.done(&["explain", "HEAD"]);
    assert!(explained.contains("session s"), "{explained}");
}

#[test]
fn a_client_without_our_path_finds_the_program() {
    let world = World::with_hooks();
    complain(&world);
    let mut command = world.command("git");
    let output = command.env("PATH", "/usr/bin:/bin").args(["commit", "--allow-empty", "-qm", "x"]).output();
    assert!(output.expect("git runs").status.success());
    assert_eq!(complaints(&world), ["prepare-commit-msg", "post-commit"]);
}

#[test]
fn paths_may_hold_anything() {
    let world = World::new();
    let name = "it's \"a\"\n$(touch x) \\ @HOOK@ repo";
    let repo = world.root().join(name);
    let program = world.root().join("bin 'of'\nus").join("git-checkpoint");
    fs::create_dir(program.parent().expect("a directory")).expect("directories can be made");
    let built = crate::support::program();
    fs::hard_link(built, &program).or_else(|_| fs::copy(built, &program).map(drop)).expect("it can be copied");
    let run = |program: &str, arguments: &[&str]| {
        let mut command = world.command(program);
        let output = command.env("PATH", "/usr/bin:/bin").current_dir(&repo).args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{arguments:?}: {}", described(&output));
    };
    fs::create_dir(&repo).expect("directories can be made");
    run("git", &["init", "-q", "."]);
    put(&repo.join(".git/hooks/post-commit"), "#!/bin/sh\ntouch before\n", 0o755);
    run(program.to_str().expect("UTF-8"), &["enable"]);
    run(program.to_str().expect("UTF-8"), &["session", "prompt", "busy"]);
    run("git", &["config", "checkpoint.archive.keep-days", "many"]);
    run("git", &["commit", "-q", "--allow-empty", "-m", "x"]);
    let log = fs::read_to_string(repo.join(".git/checkpoint/events.jsonl")).expect("hooks have run");
    assert!(log.contains("hook post-commit") && repo.join("before").exists() && !repo.join("x").exists(), "{log}");
    run("git", &["config", "--unset", "checkpoint.archive.keep-days"]);
    run(program.to_str().expect("UTF-8"), &["disable"]);
    assert!(!repo.join(".git/hooks/commit-msg").exists());
}

#[test]
fn hooks_are_enabled_from_anywhere_in_the_repository() {
    let world = World::with_commit();
    world.git(&["worktree", "add", "-q", "../linked"]);
    let linked = world.root().join("linked");
    fs::create_dir(linked.join("inner")).expect("directories can be made");
    let inner = linked.join("inner");
    world.done(&["-C", inner.to_str().expect("plain"), "enable"]);
    assert!(hooks(&world).join("post-commit").exists());
    complain(&world);
    let output = world.command("git").args(["commit", "-q", "--allow-empty", "-m", "x"]).current_dir(&inner).output();
    assert!(output.expect("git runs").status.success());
    let log = fs::read_to_string(world.repo().join(".git/checkpoint/events.jsonl")).expect("hooks have run");
    assert!(log.contains("\"worktree\":\"linked\""), "{log}");
}

#[test]
fn without_a_worktree_nothing_is_enabled() {
    let world = World::new();
    let output = world.checkpoint(&["enable"]);
    assert_eq!(output.status.code(), Some(128), "{}", described(&output));
    world.git(&["init", "-q", "--bare", "bare"]);
    let before = picture(&world.repo().join("bare/hooks"));
    let output = world.checkpoint(&["-C", "bare", "enable"]);
    assert_eq!(output.status.code(), Some(128), "{}", described(&output));
    assert_eq!(picture(&world.repo().join("bare/hooks")), before);
}

#[test]
fn hooks_can_be_switched_off_by_a_setting() {
    let world = World::with_hooks();
    world.git(&["config", "checkpoint.enabled", "false"]);
    let output = world.checkpoint(&["enable"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("'enabled' is false"), "{}", described(&output));
    complain(&world);
    assert!(git(&world, &["commit", "-q", "--allow-empty", "-m", "x"]).status.success());
    assert_eq!(complaints(&world), Vec::<String>::new());
}

#[test]
fn a_hook_that_fails_is_noted_and_breaks_nothing() {
    let world = World::with_hooks();
    let elsewhere = world.root().join("objects");
    fs::create_dir(&elsewhere).expect("directories can be made");
    let mut command = world.command("git");
    command.env("GIT_OBJECT_DIRECTORY", &elsewhere);
    command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", world.repo().join(".git/objects"));
    let output = command.args(["commit", "-q", "--allow-empty", "-m", "x"]).output().expect("git runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", described(&output));
    world.git(&["reset", "-q", "--soft", "HEAD@{1}"]);
    let error = world.json(&["status", "--json"])["last_error"].to_string();
    assert!(error.contains("hook post-commit") && error.contains("GIT_"), "{error}");

    let output = world.checkpoint(&["hook", "pre-rebase"]);
    assert!(output.status.success() && !output.stderr.is_empty(), "{}", described(&output));
}

#[test]
fn the_objects_of_the_repository_itself_may_be_named() {
    let world = World::with_hooks();
    complain(&world);
    let mut command = world.command("git");
    command.env("GIT_OBJECT_DIRECTORY", world.repo().join(".git/objects"));
    let output = command.args(["commit", "-q", "--allow-empty", "-m", "x"]).output().expect("git runs");
    assert!(output.status.success(), "{}", described(&output));
    let log = fs::read_to_string(world.repo().join(".git/checkpoint/events.jsonl")).expect("hooks have run");
    assert!(!log.contains("GIT_OBJECT_DIRECTORY"), "{log}");
}

#[test]
fn tools_that_call_each_other_come_to_an_end() {
    let world = World::with_hooks();
    let hook = hooks(&world).join("post-commit");
    // What a tool does that moves hooks away under a name made up as it goes.
    fs::rename(&hook, hooks(&world).join("post-commit.theirs")).expect("it is there");
    let text = "#!/bin/sh\necho >>calls\nx=theirs; \"$(dirname \"$0\")/post-commit.$x\" \"$@\"\n";
    put(&hook, text, 0o755);
    world.done(&["enable"]);
    assert!(git(&world, &["commit", "-q", "--allow-empty", "-m", "x"]).status.success());
    let calls = fs::read_to_string(world.repo().join("calls")).expect("it was called").lines().count();
    assert!((1..10).contains(&calls), "{calls}");
}

/// `enable` cannot install a hook in the place of one that uses its own name, so nothing else may say that it does.
#[test]
fn a_hook_that_needs_a_line_is_reported_as_such() {
    let world = World::with_commit();
    let text = "#!/bin/sh\n[ \"$(basename \"$0\")\" = post-commit ] && echo mine\n";
    put(&hooks(&world).join("post-commit"), text, 0o755);
    let quiet = world.checkpoint(&["enable", "-q"]);
    let said = String::from_utf8(quiet.stdout).expect("UTF-8");
    let path = hooks(&world).join("post-commit").display().to_string();
    assert!(said.starts_with(&format!("\tadd to {path}:\n\t    ")), "{said}");
    let line = said.lines().nth(1).expect("the line").trim();
    let doctor = world.checkpoint(&["doctor", "--fix"]);
    let found = described(&doctor);
    assert!(found.contains("post-commit: the hook is not one of git-checkpoint's, and does not call it"), "{found}");
    let why = "it uses the name it is called by, so it would not work under another name";
    assert!(found.contains(&format!("add this line to '{path}' ({why}): {line}\n")), "{found}");
    let status = world.done(&["status"]);
    assert!(status.contains("\tpost-commit (not one of git-checkpoint's, and without its line)\n"), "{status}");
    assert!(status.contains("(use \"git checkpoint enable\" to see the line to add)"), "{status}");
    assert!(!status.contains("to mend that"), "{status}");
    put(&hooks(&world).join("post-commit"), format!("{text}{line}\n"), 0o755);
    assert!(world.checkpoint(&["doctor"]).status.success());
    assert!(!world.done(&["status"]).contains("post-commit"));
}

#[test]
fn a_hook_without_a_file_is_missing_and_one_of_another_language_needs_no_line_of_shell() {
    let world = World::with_hooks();
    put(&world.repo().join(".husky/post-commit"), "npx x\n", 0o755);
    put(&world.repo().join(".husky/post-merge"), "#!/bin/sh\ntrue\n", 0o755);
    world.git(&["config", "core.hooksPath", ".husky"]);
    let status = world.done(&["status"]);
    assert!(status.contains("\tcommit-msg (missing)\n"), "{status}");
    for name in ["post-commit", "post-merge"] {
        assert!(
            status.contains(&format!("\t{name} (not one of git-checkpoint's, and without its line)\n")),
            "{status}"
        );
    }
    assert!(!status.contains("to mend that"), "{status}");
    let found = described(&world.checkpoint(&["doctor"]));
    assert!(found.contains("commit-msg: the hook does not exist"), "{found}");
    assert!(found.contains("post-merge: the hook is not one of git-checkpoint's, and does not call it"), "{found}");
    let path = world.repo().join(".husky/post-commit").display().to_string();
    let note = "it is not a shell script, so call 'git-checkpoint hook' from it its own way";
    assert!(found.contains(&format!("'{path}': {note}\n")), "{found}");
    assert!(!found.contains("add this line"), "{found}");
}

#[test]
fn status_says_that_hooks_do_nothing_while_the_setting_is_off() {
    let world = World::with_hooks();
    assert!(!world.done(&["status"]).contains("'enabled'"));
    world.git(&["config", "checkpoint.enabled", "false"]);
    let status = world.done(&["status"]);
    assert!(status.contains("\tthe setting 'enabled' is false, so that hooks do nothing here"), "{status}");
}
