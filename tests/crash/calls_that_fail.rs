//! System calls that fail, and deaths between two of them, by way of strace; `tests/crash/every-call` goes through them all.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::support::{World, processes::described, program};

const SIGKILL: i32 = 9;
const HOOK: [&str; 3] = ["hook", "--agent", "claude-code"];

/// Returns false, and says so, if there is no `strace` to test with, or it may trace nothing.
fn can_inject(world: &World) -> bool {
    let tried = world.command("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    let can = tried.is_ok_and(|output| output.status.success());
    if !can {
        // Not by the macro, whose words are only seen when the test fails.
        let word = b"SKIPPED: there is no 'strace' that works; it lets system calls fail\n";
        drop(std::io::Write::write_all(&mut std::io::stderr(), word));
    }
    can
}

/// Returns the program with `arguments`, under strace with `options`.
fn traced(world: &World, options: &[&str], arguments: &[&str]) -> Command {
    let mut command = world.command("strace");
    command.args(["-f", "-qq", "-o", "/dev/null"]).args(options).arg("--");
    command.arg(program()).args(arguments);
    command
}

/// Both calls start a thread; which one does is the C library's choice.
const THREAD: &str = "inject=clone,clone3:error=EAGAIN";

/// Runs the program with `arguments` where no thread can be started after the first `count`; it must have tried.
fn without_threads(world: &World, count: usize, arguments: &[&str]) -> Output {
    let (refused, log) = (format!("{THREAD}:when={}+", count + 1), world.root().join("strace"));
    let options = ["-o", text_of(&log), "-e", "trace=clone,clone3", "-e", &refused];
    let output = traced(world, &options, arguments).output().expect("strace runs");
    assert_injected(&log);
    output
}

fn assert_injected(log: &Path) {
    let calls = std::fs::read_to_string(log).expect("strace writes it");
    // With one processor, there is no reason to start any.
    if std::thread::available_parallelism().is_ok_and(|count| count.get() > 1) {
        assert!(calls.contains("EAGAIN") && calls.contains("(INJECTED)"), "a thread was refused: {calls}");
    }
}

fn assert_done(output: &Output) {
    assert!(output.status.success(), "{}", described(output));
    assert_eq!(output.stderr, b"", "not a word of it: {}", described(output));
}

fn saved_tree(output: &Output) -> String {
    assert_done(output);
    let saved: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    saved["tree"].as_str().expect("an id").to_owned()
}

/// Makes a repository with more files than one thread looks at.
fn large() -> World {
    let world = World::with_commit();
    for n in 0..1100 {
        world.write(&format!("d{}/{n}", n % 40), format!("{n}\n"));
    }
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "many"]);
    world.done(&["save", "-q", "--allow-empty"]);
    world
}

#[rstest::rstest]
fn a_save_needs_no_thread(#[values(0, 1)] count: usize) {
    let world = large();
    if !can_inject(&world) {
        return;
    }
    for n in 0..100 {
        world.write(&format!("d{}/{n}", n % 40), format!("now {n}\n"));
    }
    let output = without_threads(&world, count, &["save", "--json"]);
    assert_eq!(saved_tree(&output), world.tree().to_string());
}

#[test]
fn the_users_index_needs_no_thread() {
    let world = large();
    if !can_inject(&world) {
        return;
    }
    // Git then writes where each thread may begin to read.
    world.git(&["config", "index.threads", "4"]);
    world.write("f", "staged\n");
    world.git(&["add", "f"]);
    let output = without_threads(&world, 0, &["save", "--json"]);
    assert_eq!(saved_tree(&output), world.tree().to_string());
}

#[test]
fn restore_and_undo_need_no_thread() {
    let world = large();
    if !can_inject(&world) {
        return;
    }
    let before = world.tree().to_string();
    world.write("d1/1", "changed\n");
    world.write("new", "new\n");
    let changed = world.tree().to_string();
    let output = without_threads(&world, 0, &["restore", "@{0}", "--json"]);
    assert_done(&output);
    assert_eq!(world.tree().to_string(), before);
    assert_done(&without_threads(&world, 0, &["undo", "--json"]));
    assert_eq!(world.tree().to_string(), changed);
}

#[test]
fn a_turn_needs_no_thread() {
    let world = World::with_commit();
    if !can_inject(&world) {
        return;
    }
    for arguments in [&["session", "start", "s1"][..], &["session", "prompt", "s1", "-m", "do it"]] {
        world.done(arguments);
    }
    for n in 0..40 {
        world.write(&format!("many/{n}"), format!("an agent's {n}\n"));
    }
    assert_done(&without_threads(&world, 0, &["session", "stop", "s1"]));
    assert_eq!(world.git(&["rev-parse", &format!("{}^{{tree}}", world.shadows()[0])]).trim(), world.tree().to_string());
}

/// Runs an agent's event under strace with `options`; the agent's end of standard input stays open.
fn told(world: &World, options: &[&str], name: &str, more: &str) -> Output {
    let repo = world.repo();
    let event = format!(
        r#"{{"session_id":"s1","cwd":"{}","hook_event_name":"{name}","transcript_path":"",{more}}}"#,
        repo.display()
    );
    let mut command = traced(world, options, &HOOK);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("strace runs");
    let mut stdin = child.stdin.take().expect("piped");
    std::io::Write::write_all(&mut stdin, event.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    drop(stdin);
    output
}

#[test]
fn an_agents_event_needs_no_thread() {
    let world = large();
    if !can_inject(&world) {
        return;
    }
    for n in 0..100 {
        world.write(&format!("d{}/{n}", n % 40), format!("now {n}\n"));
    }
    let log = world.root().join("strace");
    let options = ["-o", text_of(&log), "-e", "trace=clone,clone3", "-e", THREAD];
    assert_done(&told(&world, &options, "UserPromptSubmit", r#""prompt":"do it""#));
    assert_injected(&log);
    assert!(world.done(&["session", "list", "--json"]).contains("s1"), "the event has been heard");
}

#[test]
fn leftovers_of_killed_agent_events_are_swept() {
    let world = World::with_commit();
    if !can_inject(&world) {
        return;
    }
    assert_done(&told(&world, &[], "UserPromptSubmit", r#""prompt":"do it""#));
    let mut deaths = 0;
    for (call, nth) in (1..14).flat_map(|nth| [("write", nth), ("pwrite64", nth)]) {
        world.write("f", format!("{call} {nth}\n"));
        let kill = format!("inject={call}:signal=SIGKILL:when={nth}");
        let call = format!(
            r#""tool_name":"Write","tool_use_id":"{call}{nth}","tool_input":{{"file_path":"{}/new","content":""}}"#,
            world.repo().display()
        );
        let output = told(&world, &["-e", &kill], "PreToolUse", &call);
        deaths += usize::from(output.status.signal() == Some(SIGKILL));
        world.done(&["save", "-q", "--allow-empty"]);
        assert_eq!(world.leftovers(), Vec::<PathBuf>::new(), "{nth}");
    }
    assert!(deaths > 3, "{deaths} deaths");
}

/// A process that dies while it keeps its new pack leaves nothing that keeps it for ever.
#[test]
fn the_keep_file_of_a_killed_process_is_removed() {
    let world = World::with_commit();
    if !can_inject(&world) {
        return;
    }
    let mut deaths = 0;
    for call in ["write", "renameat2", "linkat", "unlink"] {
        for nth in 1..12 {
            for n in 0..100 {
                world.write(&format!("many/{n}"), format!("{call} {nth} {n}\n"));
            }
            let kill = format!("inject={call}:signal=SIGKILL:when={nth}");
            let output = traced(&world, &["-e", &kill], &["save", "--json"]).output().expect("strace runs");
            let has_died = output.status.signal() == Some(SIGKILL);
            deaths += usize::from(has_died);
            world.done(&["save", "-q", "--allow-empty"]);
            assert_eq!(world.leftovers(), Vec::<PathBuf>::new(), "{call} {nth}");
            // It makes no more of these calls.
            if !has_died {
                break;
            }
        }
    }
    assert!(deaths > 10, "{deaths} deaths");
}

/// All of them take more than an hour: `tests/crash/every-call`.
#[test]
fn a_few_of_all_calls() {
    let world = World::new();
    if !can_inject(&world) || !world.command("python3").arg("--version").output().is_ok_and(|it| it.status.success()) {
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/crash/every-call");
    let program = program();
    let output = world.command(script).arg("--quick").env("GIT_CHECKPOINT", program).output().expect("it runs");
    assert!(output.status.success(), "{}", described(&output));
}

/// A file that cannot be opened is not taken for absent.
#[test]
fn an_index_that_cannot_be_read_is_not_an_empty_one() {
    let world = World::with_commit();
    if !can_inject(&world) {
        return;
    }
    world.write("staged", "staged\n");
    world.git(&["add", "staged"]);
    world.write("f", "only in the worktree\n");
    let index = world.repo().join(".git/index");
    let expected = world.git(&["write-tree"]);
    let before = world.facts();
    let mut refusals = 0;
    for error in ["EACCES", "EIO"] {
        // Once, and from then on.
        for nth in ["1", "2", "3", "1+", "2+", "3+"] {
            let refused = format!("inject=statx:error={error}:when={nth}");
            let options = ["-P", text_of(&index), "-e", &refused];
            let output = traced(&world, &options, &["save", "--json"]).output().expect("strace runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() {
                // It has looked again, or not so often: then all is held.
                let saved: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
                let id = saved["id"].as_str().expect("an id");
                let staged = world.git(&["rev-parse", &format!("{id}^2:index")]);
                assert_eq!(staged, expected, "{error} {nth}");
                world.done(&["reset"]);
            } else {
                refusals += 1;
                assert_eq!(output.status.code(), Some(128), "{error} {nth}: {}", described(&output));
                assert!(said.starts_with("fatal: cannot read the index"), "{error} {nth}: {said}");
            }
            assert_eq!(world.facts(), before, "{error} {nth}");
        }
    }
    assert_eq!(refusals, 6, "all commands that would continue are refused");
}

/// Runs the program with `arguments` while the system call `call` fails for `path`; checks that the call was made.
fn refused(world: &World, call: &str, error: &str, path: &Path, arguments: &[&str]) -> Output {
    let (inject, log) = (format!("inject={call}:error={error}"), world.root().join("strace"));
    let options = ["-P", text_of(path), "-o", text_of(&log), "-e", &inject];
    let output = traced(world, &options, arguments).output().expect("strace runs");
    let calls = std::fs::read_to_string(&log).expect("strace writes it");
    assert!(calls.contains("(INJECTED)"), "{call} of {}: {calls}{}", path.display(), described(&output));
    output
}

fn assert_refused(output: &Output, word: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(128), "{}", described(output));
    assert!(output.stdout.is_empty() && said.starts_with("fatal: ") && said.contains(word), "{}", described(output));
}

const RENAMES: &str = "rename,renameat,renameat2";

/// The first checkpoint and its mark are two refs, beside the operation log.
#[test]
fn a_mark_that_cannot_be_written_leaves_no_checkpoint() {
    let world = World::new();
    world.git(&["init", "-q", "-b", "main", "."]);
    world.write("f", "only in the worktree\n");
    if !can_inject(&world) {
        return;
    }
    let refs = || world.git(&["for-each-ref", "--format=%(refname)"]);
    // What is renamed to it.
    let mark = world.repo().join(".git/refs/checkpoints/verified/main.lock");
    assert_refused(&refused(&world, RENAMES, "EIO", &mark, &["save", "--verify", "--json"]), "verified/main");
    assert_eq!(refs(), "");
    assert_eq!(world.leftovers(), Vec::<PathBuf>::new());
    let saved = world.json(&["save", "--verify", "--json"]);
    assert_eq!((&saved["created"], &saved["verified"]), (&true.into(), &true.into()));
    assert_eq!(refs().lines().count(), 3);
}

#[test]
fn a_shadow_that_cannot_go_is_not_in_the_archive_either() {
    let world = World::with_commit();
    world.write("f", "only in the worktree\n");
    world.done(&["save", "-q"]);
    if !can_inject(&world) {
        return;
    }
    let refs = || world.git(&["for-each-ref"]);
    let before = refs();
    let shadow = world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow/"]);
    let path = world.repo().join(".git").join(shadow.trim());
    assert_refused(&refused(&world, "unlink,unlinkat", "EIO", &path, &["reset"]), shadow.trim());
    assert_eq!(refs(), before);
    world.done(&["reset"]);
    assert!(world.held().contains("only in the worktree\n".as_bytes()));
}

#[test]
fn a_repository_that_cannot_be_looked_at_has_settings_that_are_not_known() {
    let world = World::with_commit();
    world.write(".checkpoint.toml", "disable-multisession-warning = true\n");
    if !can_inject(&world) {
        return;
    }
    let path = world.repo().join(".git");
    for arguments in [&["config", "migrate"][..], &["config", "list"], &["save", "--json"]] {
        for error in ["EIO", "EACCES"] {
            let output = refused(&world, "stat,lstat,statx,newfstatat", error, &path, arguments);
            assert_refused(&output, "cannot open the repository");
        }
    }
    world.done(&["config", "migrate"]);
    let text = std::fs::read_to_string(world.repo().join(".checkpoint.toml")).expect("there");
    assert_eq!(text, "enable-multisession-warning = false\n");
}

#[test]
fn a_hook_that_cannot_be_looked_at_is_not_left_in_silence() {
    let world = World::with_commit();
    if !can_inject(&world) {
        return;
    }
    let hook = world.repo().join(".git/hooks/prepare-commit-msg");
    let calls = ["statx,newfstatat,lstat,stat", "open,openat"];
    for (call, nth) in calls.into_iter().flat_map(|call| (1..8).map(move |nth| (call, nth))) {
        world.done(&["enable"]);
        let refused = format!("inject={call}:error=EACCES:when={nth}");
        let output = traced(&world, &["-P", text_of(&hook), "-e", &refused], &["disable"]).output();
        let output = output.expect("strace runs");
        assert!(!output.status.success() || !hook.exists(), "{call} {nth}: {}", described(&output));
    }
}

#[test]
fn leftovers_of_a_killed_settings_change_are_named_and_swept() {
    let world = World::with_commit();
    if !can_inject(&world) {
        return;
    }
    let project = world.repo().join(".checkpoint.toml");
    let kill = format!("inject={RENAMES}:signal=SIGKILL");
    for next in [&["doctor", "--fix"][..], &["config", "migrate"]] {
        world.write(".checkpoint.toml", "disable-multisession-warning = true\n");
        let output = traced(&world, &["-P", text_of(&project), "-e", &kill], &["config", "migrate"]).output();
        assert_eq!(output.expect("strace runs").status.signal(), Some(SIGKILL));
        let left = world.leftovers();
        assert_eq!(left.len(), 1, "{left:?}");
        let said = described(&world.checkpoint(&["doctor"]));
        assert!(said.contains(&format!("note: {}: ", left[0].display())), "{said}");
        assert_eq!(world.leftovers(), left, "looking changes nothing");
        world.done(next);
        assert_eq!(world.leftovers(), Vec::<PathBuf>::new(), "{next:?}");
    }
}

#[test]
fn a_log_that_cannot_be_written_is_no_reason_to_stop() {
    let world = World::with_commit();
    world.write("f", "changed\n");
    let line = "exec git checkpoint save -q -vv 2>/dev/full";
    let output = world.command("sh").args(["-c", line]).output().expect("sh runs");
    if Path::new("/dev/full").exists() {
        assert!(output.status.success(), "{}", described(&output));
        assert_eq!(world.shadows().len(), 1);
    }
}

fn text_of(path: &Path) -> &str {
    path.to_str().expect("temporary paths are plain")
}

/// A directory that a checkpoint holds becomes unreadable, as one that a container has taken over.
#[test]
fn ignore_rules_that_cannot_be_read_stop_no_save() {
    let world = World::with_commit();
    if !can_inject(&world) {
        return;
    }
    world.write("new/s", "only in the worktree\n");
    world.done(&["save"]);
    world.write("new/t", "another\n");
    let rules = world.repo().join("new/.gitignore");
    let output = refused(&world, "open,openat", "EACCES", &rules, &["-v", "save", "--json"]);
    assert!(output.status.success(), "{}", described(&output));
    let warning = String::from_utf8_lossy(&output.stderr);
    assert_eq!(warning.matches("some ignore rules for 'new/").count(), 1, "{warning}");
    let saved: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let id = saved["id"].as_str().expect("an id");
    assert_eq!(world.git(&["show", &format!("{id}:new/s"), &format!("{id}:new/t")]), "only in the worktree\nanother\n");
}

/// A lock of ours that the disk does not let go is known as ours by the next command.
#[test]
fn a_lock_that_cannot_be_removed_stops_no_later_save() {
    let world = World::with_commit();
    if !can_inject(&world) {
        return;
    }
    world.write("f", "only in the worktree\n");
    world.done(&["save"]);
    let shadow = world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow/"]);
    let lock = world.repo().join(".git").join(format!("{}.lock", shadow.trim()));
    let output = refused(&world, "unlink,unlinkat", "EIO", &lock, &["reset"]);
    assert!(lock.exists(), "{}", described(&output));
    world.write("f", "edited\n");
    world.done(&["save"]);
    assert!(!lock.exists());
}

/// The file of open turns belongs to another user, as after a command that ran as root.
#[test]
fn a_turn_does_not_end_while_the_file_of_open_turns_cannot_be_read() {
    let world = World::with_commit();
    if !can_inject(&world) {
        return;
    }
    world.write("mine", "by hand\n");
    world.done(&["session", "prompt", "s"]);
    world.write("new", "by the agent\n");
    let turns = world.repo().join(".git/checkpoint/turns.toml");
    let saved = refused(&world, "statx", "EACCES", &turns, &["save", "--json"]);
    let saved: serde_json::Value = serde_json::from_slice(&saved.stdout).expect("a person's save succeeds");
    assert_eq!(saved["contributor"], "unknown");
    let output = refused(&world, "statx", "EACCES", &turns, &["session", "stop", "s", "--json"]);
    assert_refused(&output, "turns.toml");
    // What is unsaved is saved, by an unknown author.
    let last = world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow/"]);
    let last = last.trim();
    let format = "--format=%(trailers:key=Checkpoint-Contributor,valueonly,separator=%x2C)";
    assert_eq!(world.git(&["log", "-1", format, last]), "unknown\n");
    assert_eq!(world.git(&["show", &format!("{last}:mine"), &format!("{last}:new")]), "by hand\nby the agent\n");
    world.write("new", "by the agent\nand more\n");
    let stopped = world.json(&["session", "stop", "s", "--json"]);
    assert_eq!(stopped["checkpoint"]["contributor"], "agent");
}
