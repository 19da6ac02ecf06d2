//! `round race`: one program in several rounds; whatever it does, its work is kept.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::Stdio,
    time::Duration,
};

use rstest::rstest;
use serde_json::{Value, json};

use super::{everything, folder, said, text};
use crate::support::{World, program};

/// Runs a race with `more` words, and returns what it prints, and its exit status.
pub(super) fn race(world: &World, more: &[&str]) -> (Value, Option<i32>) {
    let output = world.checkpoint(&[&["round", "race", "--json"], more].concat());
    let printed = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(&output)));
    (printed, output.status.code())
}

fn show(world: &World, branch: &Value, path: &str) -> String {
    world.git(&["show", &format!("{}:{path}", branch.as_str().expect("it has a branch"))])
}

#[test]
fn each_program_works_on_a_branch_of_its_own_from_one_commit() {
    let world = World::with_commit();
    folder(&world, "repo/sub dir");
    let base = world.git(&["rev-parse", "HEAD"]);
    let script = "printf '%s\\n' \"$1\" $GIT_CHECKPOINT_NUMBER \"$PWD\" >new; echo out; echo err >&2; cat; exit 0";
    let words =
        ["--count", "3", "--group", "run", "--context", "sub dir", "--", "sh", "-c", script, "sh", "a b; $HOME"];
    let (printed, code) = race(&world, &words);
    assert_eq!((code, &printed["group"]), (Some(0), &json!("run")), "{printed}");
    for (at, round) in printed["rounds"].as_array().expect("a list").iter().enumerate() {
        let new = show(&world, &round["branch"], "sub dir/new");
        let lines: Vec<&str> = new.lines().collect();
        // No shell has read the words, and a shell knows where it is.
        assert_eq!(lines[..2], ["a b; $HOME", &(at + 1).to_string()]);
        assert!(lines[2].ends_with("/sub dir"), "{new}");
        assert_eq!((&round["number"], &round["status"], &round["message"]), (&json!(at + 1), &json!(0), &json!(null)));
        let branch = round["branch"].as_str().expect("it has one");
        assert_eq!(world.git(&["rev-parse", &format!("{branch}^")]), base);
        let log = round["log"].as_str().expect("it has one");
        assert_eq!(fs::read_to_string(log).expect("it is there"), "out\nerr\n");
        let shown = world.json(&["round", "show", branch, "--json"]);
        let ran = json!({ "number": at + 1, "status": 0, "duration_ms": round["duration_ms"], "log": log });
        assert_eq!((&shown["round"]["ran"], &shown["round"]["phase"]), (&ran, &json!("ended")));
    }
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(world.git(&["status", "--short"]), "");
    world.assert_sound("after a race");
}

#[test]
fn what_a_program_has_done_that_fails_is_committed() {
    let world = World::with_commit();
    let script = "echo work >new; echo idea >.checkpoint_scratch/idea; exit $GIT_CHECKPOINT_NUMBER";
    let output = world.checkpoint(&["round", "race", "--count", "2", "--jobs", "1", "--", "sh", "-c", script]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let marked = printed.lines().filter(|line| line.contains("1 file (+1 -0)  exit status "));
    assert_eq!(marked.count(), 2, "{printed}");
    assert_eq!(printed.lines().filter(|line| line.contains("/checkpoint/rounds/")).count(), 2, "{printed}");
    for branch in world.git(&["branch", "--list", "--format=%(refname:short)", "agents/*"]).lines() {
        assert_eq!(show(&world, &json!(branch), "new"), "work\n");
    }
    assert_eq!(world.sh("cat .git/checkpoint/scratch/*/idea"), "idea\nidea\n");
    let (printed, code) = race(&world, &["--count", "1", "--", "no-such-program"]);
    let round = &printed["rounds"][0];
    assert_eq!((code, &round["status"]), (Some(1), &json!(127)), "{printed}");
    assert!(round["message"].as_str().is_some_and(|it| it.contains("cannot run 'no-such-program'")), "{printed}");
    assert!(round["ended"].is_object());
}

/// The next round may begin minutes later, when the branch has gone on.
#[test]
fn all_begin_where_the_first_began() {
    let world = World::with_commit();
    world.write("before", "saved\n");
    world.done(&["save"]);
    let base = world.git(&["rev-parse", "HEAD"]);
    let commit = format!(
        "#!/bin/sh\nunset $(git rev-parse --local-env-vars)\ngit -C {} commit -q --allow-empty -m later\n",
        text(&world.repo())
    );
    world.write(".git/hooks/post-checkout", &commit);
    world.sh("chmod +x .git/hooks/post-checkout");
    let (printed, code) = race(&world, &["--count", "2", "--", "sh", "-c", "echo >new"]);
    assert_eq!(code, Some(0), "{printed}");
    assert_ne!(world.git(&["rev-parse", "HEAD"]), base);
    for round in printed["rounds"].as_array().expect("a list") {
        assert_eq!(world.git(&["rev-parse", &format!("{}^", round["branch"].as_str().expect("it has one"))]), base);
    }
    world.sh("rm .git/hooks/post-checkout; git reset -q --soft HEAD~2");
    // A checkpoint, too: its files.
    let (printed, code) = race(&world, &["--count", "2", "--base", "@{0}", "--", "sh", "-c", "cat before >copy"]);
    assert_eq!(code, Some(0), "{printed}");
    for round in printed["rounds"].as_array().expect("a list") {
        assert_eq!(show(&world, &round["branch"], "copy"), "saved\n");
    }
}

#[test]
fn a_race_that_cannot_begin_leaves_nothing() {
    let world = World::with_commit();
    let before = everything(&world);
    for (words, what) in [
        (&["--base", "nope"][..], "'nope' is no commit"),
        (&["--context", "nope"], "cannot find the directory 'nope'"),
        (&["--group", "a/b"], "is not a plain name"),
    ] {
        let output = world.checkpoint(&[&["round", "race", "--count", "3"], words, &["--", "true"]].concat());
        assert!(!output.status.success() && said(&output).contains(what), "{}", said(&output));
        assert_eq!(everything(&world), before, "{what}");
    }
    world.git(&["config", "checkpoint.worktree.max", "2"]);
    let output = world.checkpoint(&["round", "race", "--count", "3", "--group", "run", "--", "true"]);
    assert!(!output.status.success() && said(&output).contains("worktree"), "{}", said(&output));
    let left = world
        .sh("git worktree list | wc -l; git for-each-ref refs/heads/agents; ls -d ../repo-wt-* 2>/dev/null || true");
    assert_eq!(left.trim(), "1");
    let list = world.json(&["round", "list", "--json"]);
    assert_eq!(list["rounds"], json!([]));
}

#[test]
fn a_group_is_of_one_race() {
    let world = World::with_commit();
    assert_eq!(race(&world, &["--count", "1", "--group", "run", "--", "true"]).1, Some(0));
    let before = everything(&world);
    let output = world.checkpoint(&["round", "race", "--count", "1", "--group", "run", "--", "true"]);
    assert!(said(&output).contains("there are rounds of the group 'run' already"), "{}", said(&output));
    assert_eq!(everything(&world), before);
}

/// A program that leaves a process at work: nothing is removed below it.
#[test]
fn a_round_in_which_something_works_goes_on() {
    let world = World::with_commit();
    let script = "echo work >new; sleep 60 >/dev/null 2>&1 & echo $! >../pid";
    let (printed, code) = race(&world, &["--count", "1", "--group", "run", "--", "sh", "-c", script]);
    let round = &printed["rounds"][0];
    assert_eq!((code, &round["status"], &round["ended"]), (Some(1), &json!(0), &json!(null)), "{printed}");
    assert!(round["message"].is_string() && round["hint"].is_string(), "{printed}");
    world.sh("kill $(cat ../pid); cat ../repo-wt-*/new");
    std::thread::sleep(Duration::from_millis(100));
    world.done(&["round", "end", "--group", "run"]);
    assert_eq!(show(&world, &round["branch"], "new"), "work\n");
}

/// Starts a race of three, two at a time, whose programs note that they run and then take their time; waits for that.
fn long_race(world: &World) -> std::process::Child {
    let script = "echo work >new; echo >../began$GIT_CHECKPOINT_NUMBER; exec sleep 60";
    let mut command = world.command(program());
    command.args(["round", "race", "--count", "3", "--jobs", "2", "--group", "run", "--", "sh", "-c", script]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs");
    for number in 1..=2 {
        while !world.root().join(format!("began{number}")).exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    child
}

fn assert_kept(world: &World) {
    let list = world.json(&["round", "list", "--group", "run", "--json"]);
    assert_eq!(list["rounds"].as_array().map(Vec::len), Some(3), "{list}");
    assert_eq!(world.sh("cat ../repo-wt-*/new"), "work\nwork\n");
    let ended = world.json(&["round", "end", "--group", "run", "--branches", "keep", "--json"]);
    assert_eq!((ended["rounds"].as_array().map(Vec::len), &ended["failed"]), (Some(3), &json!([])), "{ended}");
    assert!(!world.root().join("began3").exists(), "no program begins after the signal");
    let branches =
        "for it in $(git for-each-ref --format='%(refname)' refs/heads/agents); do git show $it:new || echo; done";
    assert_eq!(world.sh(&format!("{{ {branches}; }} 2>/dev/null | sort")), "\nwork\nwork\n");
    world.assert_sound("after a race");
}

#[test]
fn an_interrupted_race_loses_nothing() {
    for signal in ["-INT", "-TERM"] {
        let world = World::with_commit();
        let child = long_race(&world);
        world.sh(&format!("kill {signal} {}", child.id()));
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{}", said(&output));
        assert!(said(&output).contains("'git checkpoint round list --group run' shows"), "{}", said(&output));
        assert_kept(&world);
    }
}

#[test]
fn a_killed_race_loses_nothing() {
    let world = World::with_commit();
    let mut child = long_race(&world);
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
    // The programs go on until they end.
    let output = world.checkpoint(&["round", "end", "--group", "run"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    world.sh("for at in /proc/[0-9]*; do case $(readlink $at/cwd) in \"$PWD\"-wt-*) kill ${at#/proc/};; esac; done; sleep 0.2");
    let list = world.json(&["round", "list", "--group", "run", "--json"]);
    // The third one has no work, and was ended by the first call.
    assert_eq!(list["rounds"].as_array().map(Vec::len), Some(2), "{list}");
    assert_eq!(world.sh("cat ../repo-wt-*/new"), "work\nwork\n");
    world.done(&["round", "end", "--group", "run"]);
    world.assert_sound("after a race");
}

/// No program is left alone because a row cannot be printed.
#[test]
fn a_row_that_cannot_be_written_ends_no_race() {
    let world = World::with_commit();
    let mut command = world.command(program());
    let script =
        "while test ! -e ../go; do sleep 0.02; done; test $GIT_CHECKPOINT_NUMBER = 1 || sleep 1; echo work >new";
    command.args(["round", "race", "--count", "2", "--group", "run", "--", "sh", "-c", script]);
    let (mut ours, mut theirs) = UnixStream::pair().expect("there are sockets");
    theirs.set_nonblocking(true).expect("it is a socket");
    command.stdout(OwnedFd::from(theirs.try_clone().expect("it is open"))).stderr(Stdio::piped());
    let child = command.spawn().expect("the program runs");
    ours.read_exact(&mut [0]).expect("the race has begun");
    // From now on it is full.
    while theirs.write(&[0]).is_ok() {}
    fs::write(world.root().join("go"), "").expect("writable");
    let output = child.wait_with_output().expect("it ends");
    assert!(said(&output).contains("cannot write to standard output"), "{}", said(&output));
    assert_eq!(world.json(&["round", "list", "--json"])["rounds"], json!([]), "{}", said(&output));
    let branches = world.git(&["branch", "--list", "--format=%(refname:short)", "agents/*"]);
    assert_eq!(branches.lines().map(|branch| show(&world, &json!(branch), "new")).collect::<String>(), "work\nwork\n");
}

#[test]
fn a_base_is_that_of_the_directory() {
    let world = World::with_commit();
    world.sh("git worktree add -qb lw ../lw; git -C ../lw commit -q --allow-empty -m lwc");
    let words = ["--count", "1", "--context", "../lw", "--base", "HEAD", "--", "git", "log", "-1", "--format=%s"];
    let (printed, code) = race(&world, &words);
    let log = printed["rounds"][0]["log"].as_str().expect("it has one");
    assert_eq!((code, fs::read_to_string(log).expect("it is there").as_str()), (Some(0), "lwc\n"));
}

#[test]
fn commands_in_a_race_know_its_variables() {
    let world = World::with_commit();
    let (printed, code) = race(&world, &["--count", "1", "--", program(), "status"]);
    let log = fs::read_to_string(printed["rounds"][0]["log"].as_str().expect("it has one")).expect("it is there");
    assert!(code == Some(0) && !log.contains("no known setting"), "{log}");
}

/// What is done for other rounds meanwhile is no time of the program.
#[test]
fn a_duration_is_that_of_the_program() {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.worktree.setup", "test -e ../second && sleep 3; : >../second"]);
    let (printed, _) = race(&world, &["--count", "2", "--", "true"]);
    let of = |at: usize| printed["rounds"][at]["duration_ms"].as_u64().unwrap_or_else(|| panic!("{printed}"));
    assert!(of(0) < 2500, "{printed}");
}

#[test]
fn of_two_races_of_a_group_one_begins() {
    let world = World::with_commit();
    let start = || {
        let mut command = world.command(program());
        command.args(["round", "race", "--count", "2", "--group", "run", "--", "true"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program runs")
    };
    let both = [start(), start(), start()].map(|child| child.wait_with_output().expect("it ends"));
    assert_eq!(both.iter().filter(|output| output.status.success()).count(), 1);
    let list = world.json(&["round", "list", "--all", "--json"]);
    assert_eq!(list["rounds"].as_array().map(Vec::len), Some(2), "{list}");
}

#[test]
fn a_race_that_cannot_begin_leaves_its_name() {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.worktree.max", "2"]);
    let output = world.checkpoint(&["round", "race", "--count", "3", "--group", "run", "--", "true"]);
    assert!(!output.status.success(), "{}", said(&output));
    assert_eq!(world.json(&["round", "list", "--all", "--json"])["rounds"], json!([]));
    assert_eq!(race(&world, &["--count", "2", "--group", "run", "--", "true"]).1, Some(0));
}

/// While the worktree of the second round is made, somebody commits, or edits, in that of the first.
#[rstest::rstest]
#[case::commit("echo important >new; git add new; git commit -qm work")]
#[case::edit("echo important >new")]
fn a_race_that_cannot_begin_takes_no_work_back(#[case] script: &str) {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.worktree.max", "2"]);
    let hook = format!(
        "#!/bin/sh\nunset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE\n\
         note=$(git rev-parse --git-common-dir)/first\n\
         if test -e \"$note\"; then cd \"$(cat \"$note\")\" && {script}; else pwd >\"$note\"; fi\n"
    );
    fs::create_dir_all(world.repo().join(".git/hooks")).expect("it can be made");
    crate::support::files::write_script(&world.repo().join(".git/hooks/post-checkout"), &hook);
    let output = world.checkpoint(&["round", "race", "--count", "3", "--group", "run", "--", "true"]);
    assert!(said(&output).contains("some rounds stay"), "{}", said(&output));
    let rounds = world.json(&["round", "list", "--all", "--group", "run", "--json"])["rounds"].clone();
    assert_eq!(rounds.as_array().map(Vec::len), Some(1), "{rounds}");
    let branch = rounds[0]["contexts"][0]["branch"].as_str().expect("a branch").to_owned();
    assert_eq!(world.git(&["show", &format!("{branch}:new")]), "important\n");
}

#[test]
fn what_went_with_a_worktree_is_said() {
    let world = World::with_commit();
    world.write(".gitignore", "*.o\n");
    world.sh("git add .; git commit -qm ignore");
    let output = world.checkpoint(&["round", "race", "--count", "1", "--", "sh", "-c", "echo result >new.o"]);
    let said_first = said(&output);
    assert!(said_first.contains("1 ignored path went with the worktree"), "{said_first}");
    assert!(said_first.contains("'git checkpoint worktree restore "), "{said_first}");
    let script = "echo lost >new; git worktree remove --force .";
    let output = world.checkpoint(&["round", "race", "--count", "1", "--", "sh", "-c", script]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("  worktree gone"), "{}", said(&output));
    assert!(said(&output).contains("had removed or moved a worktree"), "{}", said(&output));
}

/// Returns who wrote each line of `file` in `branch`: the kind, and the session.
pub(super) fn authors(world: &World, branch: &Value, file: &str) -> Vec<(String, String)> {
    let blamed = world.json(&["blame", "--json", "--rev", branch.as_str().expect("it has one"), file]);
    let each = |lines: &Value| {
        let word = |key: &str| lines[key].as_str().unwrap_or_default().to_owned();
        let count = lines["end"].as_u64().zip(lines["start"].as_u64()).map_or(0, |(end, start)| end - start + 1);
        (0..count).map(|_| (word("owner"), word("session"))).collect::<Vec<_>>()
    };
    blamed["lines"].as_array().expect("a list").iter().flat_map(each).collect()
}

/// What a program writes, and what it commits, is its own also if it reports nothing.
#[test]
fn the_lines_of_a_program_are_not_a_persons() {
    let world = World::with_hooks();
    let script = "echo mine $GIT_CHECKPOINT_NUMBER >new; git add new; git commit -qm inside; echo later >>new; \
                  echo $GIT_CHECKPOINT_SESSION >session";
    let (printed, code) = race(&world, &["--count", "1", "--", "sh", "-c", script]);
    assert_eq!(code, Some(0), "{printed}");
    let round = &printed["rounds"][0];
    let session = format!("round-{}", round["round"].as_str().expect("it has one"));
    assert_eq!(show(&world, &round["branch"], "session").trim(), session);
    assert_eq!(authors(&world, &round["branch"], "new"), vec![("agent".to_owned(), session.clone()); 2]);
    let shown = world.json(&["session", "show", &session, "--json"]);
    assert_eq!(shown["session"]["agent"], json!("sh"), "{shown:#}");
    assert_eq!(shown["session"]["phase"], json!("ended"), "{shown:#}");
    world.done(&["round", "apply", round["branch"].as_str().expect("it has one")]);
    world.git(&["add", "new"]);
    world.git(&["commit", "-qm", "taken over"]);
    assert_eq!(authors(&world, &json!("HEAD"), "new"), vec![("agent".to_owned(), session); 2]);
}

/// An agent that reports its own session in a round has its lines, and its turns, as anywhere else.
#[test]
fn the_session_that_an_agent_reports_takes_the_place_of_the_other_one() {
    let world = World::with_hooks();
    let script = r#"report() { printf '{"session_id":"real","cwd":"%s","hook_event_name":"%s"%s}' "$PWD" "$1" "$2" |
                        git checkpoint hook --agent claude-code; }
        tool='"tool_name":"Bash","tool_input":{"command":"x"},"tool_use_id":"1"'
        report SessionStart; report UserPromptSubmit ',"prompt":"do it"'; report PreToolUse ",$tool"
        echo line >new; report PostToolUse ",$tool"; report Stop; report SessionEnd"#;
    let (printed, code) = race(&world, &["--count", "1", "--", "sh", "-c", script]);
    assert_eq!(code, Some(0), "{printed}");
    let branch = &printed["rounds"][0]["branch"];
    assert_eq!(authors(&world, branch, "new"), [("agent".to_owned(), "real".to_owned())]);
}

/// A signal ends the sessions as well: what a person changes there later is not the program's.
#[test]
fn after_a_signal_the_worktrees_are_the_users() {
    let world = World::with_hooks();
    let child = long_race(&world);
    world.sh(&format!("kill -INT {}", child.id()));
    child.wait_with_output().expect("it ends");
    let sessions = world.json(&["session", "list", "--all", "--json"]);
    let sessions = sessions["sessions"].as_array().expect("a list");
    assert!(!sessions.is_empty() && sessions.iter().all(|it| it["phase"] == json!("ended")), "{sessions:#?}");
}

/// What was not brought here, or was taken away again, is no evidence: a person has typed the same short line.
#[rstest]
#[case::another_file("git checkpoint restore -q $B -- new; git checkpoint save -q; echo fi >>f", "f")]
#[case::taken_away(
    "git checkpoint round apply -q $B; git checkout -q f; rm new; git checkpoint save -q; echo fi >>f",
    "f"
)]
#[case::undone("git checkpoint round apply -q $B; git checkpoint undo -q; echo end >new", "new")]
fn a_persons_short_line_is_not_the_programs(#[case] script: &str, #[case] file: &str) {
    let world = World::with_hooks();
    world.sh("echo f >f; git add f; git commit -qm f");
    let (printed, _) = race(&world, &["--count", "1", "--", "sh", "-c", "printf 'end\nx = 1\n' >new; echo fi >>f"]);
    let branch = printed["rounds"][0]["branch"].as_str().expect("it has one");
    world.sh(&format!("B={branch}; {script}; git add -A; git commit -qm typed"));
    let found = authors(&world, &json!("HEAD"), file);
    assert_ne!(found.last().map(|(owner, _)| owner.as_str()), Some("agent"), "{found:?}");
}

/// A signal comes while the rounds begin: no program has run, and nothing stays.
#[test]
fn a_race_that_is_interrupted_before_it_begins_leaves_nothing() {
    let world = World::with_commit();
    let hook = "#!/bin/sh\necho >>\"$(git rev-parse --git-common-dir)/../../began\"; sleep 0.5\n";
    fs::create_dir_all(world.repo().join(".git/hooks")).expect("it can be made");
    crate::support::files::write_script(&world.repo().join(".git/hooks/post-checkout"), hook);
    let before = everything(&world);
    let mut command = world.command(program());
    command.args(["round", "race", "--count", "3", "--group", "run", "--", "true"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program runs");
    while fs::read_to_string(world.root().join("began")).unwrap_or_default().lines().count() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    world.sh(&format!("kill -INT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert!(!output.status.success(), "{}", said(&output));
    fs::remove_file(world.root().join("began")).expect("it is there");
    assert_eq!(everything(&world), before, "{}", said(&output));
    assert_eq!(world.json(&["round", "list", "--all", "--json"])["rounds"], json!([]));
}

/// Also where git gives the common directory relative to a linked worktree.
#[test]
fn the_path_of_a_log_is_plain() {
    let world = World::with_commit();
    world.git(&["worktree", "add", "-q", "../linked"]);
    let printed = world.json(&["-C", "../linked", "round", "race", "--count", "1", "--json", "--", "true"]);
    let log = printed["rounds"][0]["log"].as_str().expect("it has one");
    assert!(log.starts_with(text(&world.repo().join(".git/checkpoint"))) && !log.contains(".."), "{log}");
}
