//! The operation log: what is recorded, and what undo, redo and `op` take back.

use std::{collections::BTreeMap, fs};

use serde_json::Value;

use crate::support::{World, processes::described};

/// Returns the refs of checkpoints without the operation logs.
fn refs(world: &World) -> BTreeMap<String, String> {
    let all = world.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/checkpoints/"]);
    let pair = |line: &str| line.split_once(' ').map(|(name, id)| (name.to_owned(), id.to_owned()));
    all.lines().filter_map(pair).filter(|(name, _)| !name.contains("/operations/")).collect()
}

/// Returns the operations, newest first.
fn log(world: &World) -> Vec<Value> {
    let log = world.json(&["op", "log", "--json"]);
    log["operations"].as_array().expect("a list").clone()
}

fn kinds(world: &World) -> Vec<String> {
    log(world).iter().map(|it| it["kind"].as_str().expect("a word").to_owned()).collect()
}

fn text(world: &World, name: &str) -> Option<String> {
    fs::read_to_string(world.repo().join(name)).ok()
}

fn save(world: &World, content: &str) -> String {
    world.write("f", content);
    world.json(&["save", "--json"])["id"].as_str().expect("an id").to_owned()
}

#[rstest::rstest]
#[case::files(false)]
#[case::reftable(true)]
fn each_command_is_one_operation_that_can_be_undone_and_redone(#[case] is_reftable: bool) {
    let world = World::with_commit();
    if is_reftable {
        world.sh("rm -rf .git/logs && git refs migrate --ref-format=reftable");
    }
    save(&world, "old\n");
    world.done(&["reset"]);
    let first = save(&world, "one\n");
    save(&world, "two\n");
    let setup = log(&world).len();
    let commands: &[&[&str]] = &[
        &["prune", "--keep", "0"],
        &["verify"],
        &["verify", &first],
        &["verify", "--reset"],
        &["restore", "--all", &first],
        &["reset"],
        &["reset", "--restore-archived", &first],
        &["reset"],
    ];
    let mut states = vec![(refs(&world), text(&world, "f"))];
    for command in commands {
        world.done(command);
        states.push((refs(&world), text(&world, "f")));
        let newest = &log(&world)[0];
        assert_eq!(newest["command"], format!("git checkpoint {}", command.join(" ")), "{command:?}");
    }
    assert_eq!(log(&world).len(), commands.len() + setup, "{:?}", kinds(&world));
    for (number, state) in states.iter().enumerate().rev().skip(1) {
        world.done(&["undo"]);
        assert_eq!((refs(&world), text(&world, "f")), *state, "undo of {:?}", commands[number]);
    }
    for (number, state) in states.iter().enumerate().skip(1) {
        world.done(&["redo"]);
        assert_eq!((refs(&world), text(&world, "f")), *state, "redo of {:?}", commands[number - 1]);
    }
    assert_eq!(world.checkpoint(&["redo"]).status.code(), Some(128));
    world.assert_sound("at the end");
}

#[test]
fn what_changes_nothing_leaves_no_entry() {
    let world = World::with_commit();
    save(&world, "one\n");
    let before = log(&world);
    world.done(&["save"]);
    world.done(&["restore", "--all", "@"]);
    world.done(&["prune"]);
    for reading in [["list"], ["status"], ["events"], ["diff"], ["doctor"]] {
        world.checkpoint(&reading);
    }
    assert_eq!(log(&world), before);
}

#[test]
fn a_new_operation_ends_redo_and_a_save_does_not() {
    let world = World::with_commit();
    let first = save(&world, "one\n");
    save(&world, "two\n");
    world.done(&["restore", "--all", &first]);
    world.done(&["undo"]);
    world.write("other", "saved\n");
    world.done(&["save"]);
    world.done(&["redo"]);
    assert_eq!(text(&world, "f").as_deref(), Some("one\n"));
    world.done(&["undo"]);
    world.done(&["verify"]);
    let refused = world.checkpoint(&["redo"]);
    assert_eq!(refused.status.code(), Some(128));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("nothing to redo"));
}

#[test]
fn undo_of_an_operation_refuses_what_has_moved_since_and_names_it() {
    let world = World::with_commit();
    save(&world, "one\n");
    world.done(&["reset"]);
    save(&world, "two\n");
    let before = refs(&world);
    let refused = world.checkpoint(&["undo"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("the shadow of ") && said.contains("'git checkpoint save --json'"), "{said}");
    assert_eq!(refs(&world), before);
}

#[test]
fn op_undo_takes_one_operation_in_the_middle_back() {
    let world = World::with_commit();
    let first = save(&world, "one\n");
    world.done(&["verify", &first]);
    let verified = log(&world)[0]["id"].as_str().expect("an id").to_owned();
    save(&world, "two\n");
    world.done(&["restore", "--all", &first]);
    let before = refs(&world);
    world.done(&["op", "undo", &verified[..8]]);
    let mut expected = before.clone();
    expected.retain(|name, _| !name.contains("/verified/"));
    assert_eq!(refs(&world), expected);
    assert_eq!(text(&world, "f").as_deref(), Some("one\n"));
    assert_eq!(world.checkpoint(&["op", "undo", &verified]).status.code(), Some(1), "undone already");
    world.done(&["redo"]);
    assert_eq!(refs(&world), before);
}

/// To take an undo back by its name is a redo, and says so; what it names goes back.
#[rstest::rstest]
#[case::of_files("restore @{0}", "would write f", "redone: restored 1 path")]
#[case::of_refs("reset", "would redo", "redone: git checkpoint reset")]
fn op_undo_of_an_undo_is_a_redo(#[case] command: &str, #[case] plan: &str, #[case] expected: &str) {
    let world = World::with_commit();
    save(&world, "one\n");
    world.write("f", "two\n");
    world.sh(&format!("git checkpoint {command} -q; git checkpoint undo -q"));
    let before = text(&world, "f");
    let planned = described(&world.checkpoint(&["op", "undo", "-n", "@{0}"]));
    assert!(planned.contains(plan), "{planned}");
    let said = described(&world.checkpoint(&["op", "undo", "@{0}"]));
    assert!(said.contains(expected), "{said}");
    assert!(!said.contains("'git checkpoint redo'"), "{said}");
    assert!(described(&world.checkpoint(&["redo"])).contains("nothing to redo"));
    world.done(&["undo"]);
    assert_eq!(text(&world, "f"), before);
}

#[test]
fn a_save_is_not_taken_back_by_name() {
    let world = World::with_commit();
    save(&world, "one\n");
    let before = refs(&world);
    let output = world.checkpoint(&["op", "undo", "@{0}"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(refs(&world), before);
}

/// An edit since the restore was saved, so the undo restores nothing. The next undo is still that of this restore.
#[test]
fn an_undo_that_keeps_every_path_leaves_the_restore_to_be_undone() {
    let world = World::with_commit();
    let first = save(&world, "one\n");
    save(&world, "two\n");
    world.done(&["restore", "--all", &first]);
    save(&world, "edited\n");
    assert_eq!(world.checkpoint(&["undo"]).status.code(), Some(1));
    assert_eq!(text(&world, "f").as_deref(), Some("edited\n"));
    world.done(&["undo", "--all"]);
    assert_eq!(text(&world, "f").as_deref(), Some("two\n"));
}

#[test]
fn an_agents_work_is_recorded_and_never_undone_unasked() {
    let world = World::with_commit();
    let first = save(&world, "one\n");
    world.write("f", "two\n");
    world.done(&["restore", "--all", &first]);
    world.done(&["session", "start", "s1", "--agent", "claude-code"]);
    world.done(&["session", "prompt", "s1", "-m", "a secret prompt"]);
    world.write("g", "of the agent\n");
    world.done(&["session", "stop", "s1"]);
    let tip = refs(&world);
    let commands: Vec<String> =
        log(&world).iter().map(|it| it["command"].as_str().expect("a line").to_owned()).collect();
    assert!(commands.iter().any(|line| line.starts_with("git checkpoint session stop")), "{commands:?}");
    assert!(!commands.iter().any(|line| line.contains("secret")), "{commands:?}");
    world.done(&["undo"]);
    assert_eq!(text(&world, "f").as_deref(), Some("two\n"));
    assert_eq!(text(&world, "g").as_deref(), Some("of the agent\n"));
    for (name, id) in tip.iter().filter(|(name, _)| name.contains("/shadow/")) {
        let now = refs(&world)[name].clone();
        world.git(&["merge-base", "--is-ancestor", id, &now]);
    }
}

#[test]
fn messages_and_secrets_stay_out_of_the_log() {
    let world = World::with_commit();
    world.write("f", "one\n");
    world.done(&["save", "-m", "my message"]);
    world.write("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "x\n");
    world.done(&["save", "--paths", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"]);
    let messages = world.git(&["log", "--format=%B", "refs/checkpoints/operations/main"]);
    let own = messages.split("Operation-").next().expect("a part");
    assert!(!own.contains("ghp_"), "{own}");
    let commands: Vec<Value> = log(&world).iter().map(|it| it["command"].clone()).collect();
    assert_eq!(commands, ["git checkpoint save --paths [redacted github-token]", "git checkpoint save -m ..."]);
}

#[test]
fn a_log_that_cannot_be_written_stops_the_command_before_anything_is_moved() {
    let world = World::with_commit();
    let first = save(&world, "one\n");
    save(&world, "two\n");
    let lock = world.repo().join(".git/refs/checkpoints/operations/main.lock");
    fs::write(&lock, "").expect("it can be written");
    let before = refs(&world);
    for command in [vec!["verify"], vec!["reset"], vec!["restore", "--all", &first]] {
        let failed = world.checkpoint(&command);
        assert_ne!(failed.status.code(), Some(0), "{command:?}");
        assert_eq!((refs(&world), text(&world, "f").as_deref()), (before.clone(), Some("two\n")), "{command:?}");
    }
    fs::remove_file(&lock).expect("it is ours");
    world.done(&["reset"]);
}

/// Saves of people and agents go on where the log cannot be written, in each of these ways, and `doctor` names it.
#[rstest::rstest]
#[case::directory("rm main; mkdir main; cp ../../heads/main main/x", "a directory is in the place of its file")]
#[case::symbolic("echo 'ref: refs/heads/main' >main", "it is a symbolic ref")]
#[case::file_for_all("cd ..; rm -r operations; echo junk >operations", "operations")]
fn a_log_that_cannot_be_written_stops_no_save(#[case] damage: &str, #[case] named: &str) {
    let world = World::with_commit();
    save(&world, "one\n");
    world.sh(&format!("cd .git/refs/checkpoints/operations; {damage}"));
    save(&world, "two\n");
    world.done(&["session", "start", "s1", "--agent", "claude-code"]);
    world.done(&["session", "prompt", "s1", "-m", "ask"]);
    world.write("f", "three\n");
    world.done(&["session", "stop", "s1"]);
    assert_eq!(world.done(&["list", "--json"]).matches("\"id\"").count(), 3);
    let doctor = world.checkpoint(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(said.contains(named), "{said}");
}

#[test]
fn old_entries_leave_the_log_with_their_objects() {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.operations.keepCount", "3"]);
    save(&world, "first\n");
    world.done(&["reset"]);
    let dropped = refs(&world).into_values().next().expect("one");
    world.done(&["prune", "--keep", "0"]);
    for number in 0..10 {
        save(&world, &format!("{number}\n"));
        let count = log(&world).len();
        assert!(count <= 6, "{count} entries");
    }
    assert!(log(&world).len() >= 3);
    world.git(&["gc", "-q", "--prune=now"]);
    assert!(!world.sh(&format!("git cat-file -t {dropped} 2>&1 || true")).contains("commit\n"));
    world.assert_sound("after the old part is gone");
}

#[test]
fn undo_never_moves_a_ref_to_a_missing_object() {
    let world = World::with_commit();
    save(&world, "one\n");
    world.done(&["verify"]);
    save(&world, "two\n");
    let old = refs(&world).into_iter().find(|(name, _)| name.contains("/verified/")).expect("marked").1;
    world.done(&["verify"]);
    let before = refs(&world);
    fs::remove_file(world.repo().join(format!(".git/objects/{}/{}", &old[..2], &old[2..]))).expect("loose");
    let refused = world.checkpoint(&["undo"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_ne!(refused.status.code(), Some(0), "{said}");
    assert_eq!(refs(&world).get("refs/checkpoints/verified/main"), before.get("refs/checkpoints/verified/main"));
}

#[test]
fn another_worktree_has_a_log_of_its_own() {
    let world = World::with_commit();
    save(&world, "one\n");
    world.git(&["worktree", "add", "-q", "../side", "-b", "side"]);
    world.sh("cd ../side && echo x >g && git checkpoint save -q");
    assert_eq!(kinds(&world), ["save"]);
    let other = world.sh("cd ../side && git checkpoint op log");
    assert_eq!(other.lines().count(), 1, "{other}");
    let logs = || world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/operations/"]);
    assert!(logs().contains("/side"));
    world.git(&["worktree", "remove", "--force", "../side"]);
    world.done(&["prune"]);
    assert!(!logs().contains("/side"), "it goes with its worktree");
}

#[test]
fn forgotten_operations_hold_nothing() {
    let world = World::with_commit();
    save(&world, "a secret\n");
    world.done(&["reset"]);
    world.done(&["prune", "--keep", "0"]);
    let context = git_checkpoint::Context::open(&world.repo()).expect("a repository");
    assert_eq!(git_checkpoint::testing::ops::operations::forget_all(&context).expect("forgotten"), 1);
    git_checkpoint::testing::ops::verify::reset(&context).expect("no mark");
    assert_eq!(log(&world), [] as [Value; 0], "what follows leaves no entry either");
    world.git(&["gc", "-q", "--prune=now"]);
    let blob = "$(echo a secret | git hash-object --stdin)";
    assert!(!world.sh(&format!("git cat-file -e {blob} 2>/dev/null && echo there || true")).contains("there"));
}

#[rstest::rstest]
#[case::the_latest_entry(0)]
#[case::one_before(1)]
fn a_damaged_log_stops_nothing_and_is_mended(#[case] number: usize) {
    let world = World::with_commit();
    save(&world, "one\n");
    world.done(&["verify"]);
    let first = save(&world, "two\n");
    world.done(&["verify"]);
    let lost = log(&world)[number]["id"].as_str().expect("an id").to_owned();
    fs::remove_file(world.repo().join(format!(".git/objects/{}/{}", &lost[..2], &lost[2..]))).expect("loose");
    let named = world.checkpoint(&["doctor"]);
    assert!(String::from_utf8_lossy(&named.stdout).contains("refs/checkpoints/operations/main"), "{named:?}");
    save(&world, "three\n");
    world.done(&["restore", "--all", &first]);
    world.done(&["undo"]);
    assert_eq!(text(&world, "f").as_deref(), Some("three\n"));
    world.checkpoint(&["doctor", "--fix"]);
    world.assert_sound("after the doctor");
    assert!(log(&world).len() >= 3, "what can be read stays: {:?}", kinds(&world));
    world.done(&["redo"]);
    assert_eq!(text(&world, "f").as_deref(), Some("two\n"));
}

#[test]
fn what_a_person_had_not_saved_is_unsaved_again_after_undo() {
    let world = World::with_commit();
    let first = save(&world, "one\n");
    world.done(&["reset"]);
    let before = refs(&world);
    world.write("f", "unsaved\n");
    world.done(&["restore", "--all", &first]);
    let restored = refs(&world);
    world.done(&["undo"]);
    // The archive has it, too.
    let but_for_that = |mut refs: BTreeMap<String, String>| {
        refs.retain(|name, _| !name.ends_with("-undone"));
        refs
    };
    assert_eq!((but_for_that(refs(&world)), text(&world, "f").as_deref()), (before.clone(), Some("unsaved\n")));
    assert_eq!(refs(&world).len(), before.len() + 1);
    world.done(&["redo"]);
    assert_eq!((refs(&world), text(&world, "f").as_deref()), (restored, Some("one\n")));
    world.done(&["undo"]);
    assert_eq!((but_for_that(refs(&world)), text(&world, "f").as_deref()), (before, Some("unsaved\n")));
    // The reset before the restore can be undone, too, because nothing has moved since.
    world.done(&["undo"]);
    assert_eq!(text(&world, "f").as_deref(), Some("unsaved\n"));
    assert_eq!(but_for_that(refs(&world)).into_values().collect::<Vec<_>>(), [first]);
}

/// Between the restore and its undo, or the undo and its redo, a person or an agent saves.
#[rstest::rstest]
#[case::before_the_undo("echo mine >g; git checkpoint save -q -m mine; git checkpoint undo; git checkpoint redo")]
#[case::before_the_undo_twice(
    "echo mine >g; git checkpoint save -q -m mine; git checkpoint undo; git checkpoint redo; git checkpoint undo; git checkpoint redo"
)]
#[case::undone_by_its_name(
    "echo mine >g; git checkpoint save -q -m mine; git checkpoint undo; git checkpoint op undo @{0}"
)]
#[case::between("git checkpoint undo; echo mine >g; git checkpoint save -q -m mine; git checkpoint redo")]
#[case::of_an_agent(
    "git checkpoint session prompt s1 -m go >/dev/null; echo mine >g; git checkpoint save -q --session s1 -m mine
    git checkpoint session stop s1 >/dev/null; git checkpoint undo; git checkpoint redo"
)]
#[case::after_a_commit(
    "git add -A; git commit -qm c; echo mine >g; git checkpoint save -q -m mine; git checkpoint undo; git checkpoint redo"
)]
fn a_redo_keeps_every_checkpoint(#[case] script: &str) {
    let world = World::with_commit();
    save(&world, "one\n");
    world.write("f", "two\n");
    world.done(&["restore", "--all", "@{0}"]);
    world.sh(&format!("set -e; exec >/dev/null; {script}"));
    let listed =
        world.git(&["log", "--format=%s", "--glob=refs/checkpoints/shadow/*", "--glob=refs/checkpoints/archive/*"]);
    assert!(listed.lines().any(|line| line == "mine"), "{listed}");
    world.assert_sound("after the redo");
}

/// Returns the command lines in the log, newest first.
fn commands(world: &World) -> Vec<String> {
    log(world).iter().map(|it| it["command"].as_str().expect("a line").to_owned()).collect()
}

#[test]
fn what_hooks_did_is_named_by_the_event() {
    let world = World::with_commit();
    world.done(&["enable"]);
    let report = |event: &str, more: &str| {
        let cwd = world.repo();
        let payload =
            format!(r#"{{"session_id":"s1","hook_event_name":"{event}","cwd":"{}"{more}}}"#, cwd.to_string_lossy());
        world.sh(&format!("printf %s '{payload}' | git-checkpoint hook --agent claude-code"));
    };
    for turn in 1..3 {
        // What was unsaved before the prompt is saved as the state at its beginning.
        world.write("f", format!("of a person, {turn}\n"));
        report("UserPromptSubmit", &format!(r#","prompt":"the secret words {turn}""#));
        let tool = format!(
            r#","tool_name":"Write","tool_use_id":"t{turn}","tool_input":{{"file_path":"{}/f"}}"#,
            world.repo().to_string_lossy()
        );
        report("PreToolUse", &tool);
        world.write("f", format!("of turn {turn}\n"));
        report("PostToolUse", &tool);
        world.write("g", format!("of turn {turn}\n"));
        report("Stop", "");
    }
    let of_agent: Vec<String> = commands(&world).into_iter().filter(|line| line.starts_with("claude-code: ")).collect();
    for expected in ["prompt of turn 1", "tool of turn 1", "end of turn 1", "prompt of turn 2", "end of turn 2"] {
        let is_it = |line: &String| line.strip_prefix("claude-code: ") == Some(expected);
        assert!(of_agent.iter().any(is_it), "{expected}: {of_agent:?}");
    }
    assert!(log(&world).iter().all(|it| !it.to_string().contains("secret")));
    assert!(log(&world).iter().all(|it| !it.to_string().contains("by a program")), "{:?}", commands(&world));
    world.sh("git add -A && git commit -qm turns");
    let named = |digits| {
        let commit = world.git(&["rev-parse", &format!("--short={digits}"), "HEAD"]);
        format!("hook post-commit: recorded {}", commit.trim())
    };
    assert!(commands(&world).contains(&named(10)), "{}: {:?}", named(10), commands(&world));
    // For people, ids are as short as they want them.
    world.git(&["config", "core.abbrev", "6"]);
    let shown = world.done(&["op", "show", "@{0}"]);
    assert!(shown.contains(&format!("{}\n", named(6))) && shown.contains("refs/checkpoints/history"), "{shown}");
    let listed = world.done(&["op", "log", "-n", "1"]);
    assert!(listed.contains(&format!("{}\n", named(6))), "{listed}");
    world.write("f", "else\n");
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    world.done(&["save"]);
    assert!(commands(&world).iter().all(|line| !line.contains("by a program")), "{:?}", commands(&world));
}

fn session(world: &World) -> Value {
    let mut shown = world.json(&["session", "list", "--json"])["sessions"][0].clone();
    // Prompts that were forgotten stay so.
    for name in ["last_seen", "age", "first_prompt"] {
        shown.as_object_mut().map(|it| it.remove(name));
    }
    shown
}

#[rstest::rstest]
#[case::adopted("adopt")]
#[case::forgotten("forget")]
fn a_session_is_taken_back_and_what_its_turn_saved_stays(#[case] action: &str) {
    let world = World::with_commit();
    world.git(&["worktree", "add", "-q", "../side", "-b", "side"]);
    world.sh("cd ../side && git checkpoint session start s1 --agent claude-code >/dev/null && \
         git checkpoint session prompt -q s1 -m go && echo agent >f && git checkpoint session stop -q s1");
    let (before, moved) = (session(&world), refs(&world));
    world.done(&["session", action, "s1"]);
    let after = world.json(&["session", "list", "--json"]);
    world.done(&["undo", "--dry-run"]);
    assert_eq!(world.json(&["session", "list", "--json"]), after, "a dry run changes nothing");
    let said = world.done(&["undo"]);
    assert!(said.contains("a turn that was ended stays ended"), "{said}");
    assert_eq!(session(&world), before);
    world.done(&["redo"]);
    assert_eq!(world.json(&["session", "list", "--json"])["sessions"], after["sessions"]);
    world.done(&["undo"]);
    assert_eq!((session(&world), refs(&world)), (before, moved));
    world.assert_sound("at the end");
}

/// The command ends the turn, and saves what that had left unsaved as the agent's: no undo takes that off.
#[rstest::rstest]
#[case::adopted("adopt", "../side")]
#[case::forgotten("forget", ".")]
fn the_work_of_a_turn_that_was_ended_stays_the_agents(#[case] action: &str, #[case] dir: &str) {
    let world = World::with_commit();
    world.git(&["worktree", "add", "-q", "../side", "-b", "side"]);
    world.sh(&format!(
        "cd {dir} && git checkpoint session start s1 --agent claude-code >/dev/null && \
         git checkpoint session prompt -q s1 -m go && echo agent >f"
    ));
    world.done(&["session", action, "--force", "s1"]);
    let saved = refs(&world);
    assert!(saved.keys().any(|name| name.contains("/shadow/")), "{saved:?}");
    world.done(&["undo"]);
    world.sh(&format!("cd {dir} && git checkpoint undo || true"));
    assert_eq!(refs(&world), saved);
    let blame = world.sh(&format!("cd {dir} && git checkpoint blame f"));
    assert!(blame.contains("claude-code"), "{blame}");
}

#[test]
fn a_session_that_went_on_is_not_taken_back() {
    let world = World::with_commit();
    world.git(&["worktree", "add", "-q", "../side", "-b", "side"]);
    world.sh("cd ../side && git checkpoint session start s1 --agent claude-code");
    world.done(&["session", "adopt", "s1"]);
    world.done(&["session", "prompt", "-q", "s1", "-m", "go"]);
    let output = world.checkpoint(&["undo"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the session 's1' went on since"), "{said}");
}

#[test]
fn migrated_settings_are_in_the_log_and_not_undone() {
    let world = World::with_commit();
    world.write(".checkpoint.toml", "disable-multisession-warning = false\n");
    save(&world, "one\n");
    world.done(&["config", "migrate"]);
    assert_eq!(commands(&world)[0], "git checkpoint config migrate");
    let output = world.checkpoint(&["op", "undo", "@{0}"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot be undone") && said.contains("copy of each file"), "{said}");
    let entries = log(&world).len();
    world.done(&["config", "migrate"]);
    assert_eq!(log(&world).len(), entries, "nothing was left to migrate");
}

/// Before its own checkpoint, the save that a restore begins with puts work of an agent back on the shadow.
#[test]
fn an_undo_leaves_work_on_the_shadow_that_the_save_before_the_restore_took_up() {
    let world = World::with_commit();
    world.done(&["session", "prompt", "s1", "-m", "go"]);
    world.write("g", "the first line of the agent\nthe second line of the agent\n");
    world.done(&["save", "--session", "s1"]);
    world.done(&["session", "stop", "s1"]);
    world.done(&["reset"]);
    world.write("f", "of a person\n");
    world.done(&["restore", "--all", "HEAD"]);
    world.done(&["undo"]);
    assert_eq!(text(&world, "f").as_deref(), Some("of a person\n"));
    world.done(&["prune", "--keep", "0"]);
    let authors = world.git(&["log", "--format=%an", "--glob=refs/checkpoints/shadow/*"]);
    assert!(authors.lines().any(|line| line == "s1" || line == "agent"), "{authors}");
}

/// A session that is here already is only seen anew: there is nothing to take back, and the restore before it comes next.
#[test]
fn a_session_that_is_here_already_is_no_operation() {
    let world = World::with_commit();
    world.sh(
        "git checkpoint session start s1; echo x >>f; git checkpoint save -q; echo y >>f; git checkpoint restore -q @",
    );
    let before = log(&world).len();
    world.done(&["session", "adopt", "s1"]);
    assert_eq!(log(&world).len(), before, "{:?}", kinds(&world));
    world.done(&["undo"]);
    assert!(text(&world, "f").expect("it is there").ends_with("x\ny\n"));
}
