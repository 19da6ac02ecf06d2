//! Agents that work at the same time: each prompts, saves and commits in processes of their own, while git packs.
//!
//! `GIT_CHECKPOINT_TEST_SECONDS` says for how long; the default keeps it short.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use super::again_and_again;
use crate::support::{World, processes::described, program};

fn time() -> Duration {
    let seconds = std::env::var("GIT_CHECKPOINT_TEST_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1))
}

/// Held while a commit is made.
static COMMITS: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// What an agent has done.
#[derive(Default)]
struct Deeds {
    checkpoints: Vec<String>,
    contents: Vec<String>,
    commits: usize,
}

/// A process whose clock runs, so that no two commits are the same.
fn process(world: &World, root: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = world.command(program);
    command.env_remove("GIT_AUTHOR_DATE").env_remove("GIT_COMMITTER_DATE");
    command.current_dir(root).args(arguments);
    command
}

/// Runs git, again while another process is at the index or a ref; returns false if that never ends.
fn git(world: &World, root: &Path, arguments: &[&str]) -> bool {
    for _ in 0..40 {
        let output = process(world, root, "git", arguments).output().expect("git runs");
        if output.status.success() {
            return true;
        }
        let said = described(&output);
        let is_race = [
            ".lock",
            "cannot lock ref",
            "but expected",
            "nothing to commit",
            "no changes added",
            "nothing added",
            // 'git repack' removes directories that it has emptied.
            "unable to create temporary file: No such file",
        ];
        assert!(is_race.iter().any(|part| said.contains(part)), "git {arguments:?}: {said}");
        if said.contains("nothing to commit") || said.contains("no changes added") || said.contains("nothing added") {
            return false;
        }
        std::thread::sleep(Duration::from_millis(15));
    }
    false
}

fn ours(world: &World, root: &Path, arguments: &[&str]) -> String {
    let program = program();
    let output = process(world, root, program, arguments).output().expect("the program runs");
    assert!(output.status.success(), "{arguments:?}: {}", described(&output));
    String::from_utf8(output.stdout).expect("text")
}

fn agent(world: &World, root: &Path, session: &str, until: Instant) -> Deeds {
    let mut done = Deeds::default();
    for turn in 1.. {
        // On a machine that is busy with something else, nothing may have been committed until then.
        if Instant::now() > until && turn > 2 && (done.commits > 0 || turn > 30) {
            break;
        }
        ours(world, root, &["session", "prompt", session, "-m", &format!("turn {turn}"), "--agent", "claude-code"]);
        for file in 0..2 {
            let path = format!("{session}/f{}", (turn + file) % 5);
            let content: String =
                (0..8).map(|line| format!("{session} turn {turn} file {file} line {line}\n")).collect();
            std::fs::create_dir_all(root.join(session)).expect("directories can be made");
            std::fs::write(root.join(&path), &content).expect("files can be written");
            let saved = ours(world, root, &["save", "--json", "--session", session]);
            let saved: serde_json::Value = serde_json::from_str(&saved).expect("JSON");
            // Another session's save may have taken it a moment before.
            done.checkpoints.push(saved["id"].as_str().expect("an id").to_owned());
            done.contents.push(content);
        }
        // Commits in mid-turn, after it, and not at all.
        if turn % 3 == 0 {
            ours(world, root, &["session", "stop", session]);
        }
        if turn % 3 != 1 && git(world, root, &["add", session]) {
            let message = format!("{session}: turn {turn}");
            // One at a time: all commits in a worktree have their messages in the same file, and git mixes them up.
            let _turn = COMMITS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            done.commits += usize::from(git(world, root, &["commit", "-qm", &message]));
        }
    }
    ours(world, root, &["session", "end", session]);
    done
}

fn work(world: &World, agents: &[(&Path, &str)], git_dirs: &[PathBuf]) {
    let is_over = AtomicBool::new(false);
    let until = Instant::now() + time();
    // Not 'repack -ad': git itself loses the tree of a commit in the making to that.
    let beside: [(&[&str], u64); 3] =
        [(&["gc", "--auto", "--quiet"], 40), (&["repack", "-dq"], 60), (&["pack-refs", "--all"], 15)];
    let done: Vec<Deeds> = std::thread::scope(|scope| {
        let is_over = &is_over;
        for (arguments, pause) in beside {
            scope.spawn(move || drop(again_and_again(world, is_over, Duration::from_millis(pause), arguments)));
        }
        let agents: Vec<_> =
            agents.iter().map(|(root, session)| scope.spawn(move || agent(world, root, session, until))).collect();
        let done: Vec<_> = agents.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::SeqCst);
        done.into_iter().map(|done| done.expect("all goes well")).collect()
    });
    for (root, _) in agents {
        ours(world, root, &["save", "-q"]);
    }
    let when = "at the end";
    let by_commit = world.assert_accounted(when);
    world.assert_tidy(when, git_dirs);
    let held_by_refs = world.git(&["rev-list", "--glob=refs/checkpoints/*"]);
    let held = world.held();
    for done in &done {
        assert!(done.commits > 0, "there was time for a commit");
        for id in &done.checkpoints {
            assert!(held_by_refs.contains(id.as_str()), "{id} is held by a ref");
        }
        for content in &done.contents {
            assert!(held.contains(content.as_bytes()), "lost: {content}");
        }
    }
    assert!(by_commit.len() >= agents.len(), "{by_commit:?}");
    let errors = world.git(&["log", "--diff-filter=D", "--name-only", "--format=", "refs/checkpoints/history"]);
    assert_eq!(errors, "", "no record goes");
    // Each commit that took an agent's work has a record of that.
    for line in world.git(&["log", "--branches", "--format=%H %s"]).lines() {
        let (commit, subject) = line.split_once(' ').expect("two words");
        if subject.contains(": turn ") {
            let id = gix::ObjectId::from_hex(commit.as_bytes()).expect("an id");
            assert!(by_commit.contains_key(&id), "{line} has a record; {}", said(world));
        }
    }
}

/// Returns what went wrong behind the scenes.
fn said(world: &World) -> String {
    let events = std::fs::read_to_string(world.repo().join(".git/checkpoint/events.jsonl")).unwrap_or_default();
    events.lines().filter(|line| line.contains("\"error\"")).collect::<Vec<_>>().join("\n")
}

fn site() -> World {
    let world = World::with_commit();
    let settings =
        [("maintenance.auto", "true"), ("gc.auto", "60"), ("gc.autoPackLimit", "6"), ("gc.autoDetach", "false")];
    for (key, value) in settings {
        world.git(&["config", key, value]);
    }
    world.done(&["enable"]);
    world
}

#[test]
fn two_agents_in_one_worktree() {
    let world = site();
    let root = world.repo();
    work(&world, &[(&root, "one"), (&root, "two")], &[root.join(".git")]);
}

#[test]
fn two_agents_in_two_worktrees() {
    let world = site();
    let (root, linked) = (world.repo(), world.root().join("linked"));
    world.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().expect("a plain path")]);
    let git_dirs = [root.join(".git"), root.join(".git/worktrees/linked")];
    work(&world, &[(&root, "one"), (&linked, "two")], &git_dirs);
}
