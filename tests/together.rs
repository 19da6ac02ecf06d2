//! Many processes at once in one repository: every save succeeds, every content is kept, no lock and no rubbish stays.

mod agents;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Output,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use crate::support::{World, processes::described, program};

const PROCESSES: usize = 8;

/// How often each process saves; `GIT_CHECKPOINT_TEST_SAVES` says something else than 8.
fn saves() -> usize {
    std::env::var("GIT_CHECKPOINT_TEST_SAVES").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

/// A save that is done: the file it was made for, and the checkpoint that holds it.
struct Done {
    path: String,
    content: String,
    id: String,
}

/// Saves some times in the worktree `root`, each time a new file; every third looks only at that.
fn work(world: &World, root: &Path, process: usize) -> Vec<Done> {
    let save = |n: usize| {
        let path = format!("p{process}/f{n}");
        let content = format!("{path} of {}\n", root.display());
        std::fs::create_dir_all(root.join(format!("p{process}"))).expect("directories can be made");
        std::fs::write(root.join(&path), &content).expect("files can be written");
        let mut command = world.command(program());
        command.current_dir(root).args(["save", "--json"]);
        if (process + n).is_multiple_of(3) {
            command.args(["--paths", &path]);
        }
        let output = command.output().expect("the program runs");
        assert!(output.status.success(), "{path}: {}", described(&output));
        let saved: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        Done { path, content, id: saved["id"].as_str().expect("an id").to_owned() }
    };
    (0..saves()).map(save).collect()
}

/// Runs all processes in the worktrees `roots`, while `beside` runs until it is stopped.
fn all_work(world: &World, roots: &[PathBuf], beside: &[&(dyn Fn(&AtomicBool) + Sync)]) -> Vec<Done> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let others: Vec<_> = beside.iter().map(|other| scope.spawn(|| other(&is_over))).collect();
        let workers: Vec<_> = (0..PROCESSES)
            .map(|process| {
                let root = &roots[process % roots.len()];
                scope.spawn(move || work(world, root, process))
            })
            .collect();
        let done: Vec<_> = workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::SeqCst);
        for other in others {
            other.join().expect("what runs beside is well");
        }
        done.into_iter().flat_map(|done| done.expect("all saves succeed")).collect()
    })
}

/// Checks that every content is in the checkpoint that was promised, and that in a chain that a ref holds.
fn assert_kept(world: &World, done: &[Done]) {
    assert_eq!(done.len(), PROCESSES * saves());
    world.assert_sound("at the end");
    let kept = world.git(&["rev-list", "--glob=refs/checkpoints/*"]);
    let kept: BTreeSet<&str> = kept.lines().collect();
    for Done { path, content, id } in done {
        assert!(kept.contains(id.as_str()), "{path}: {id} is held by a ref");
        assert_eq!(&world.git(&["cat-file", "blob", &format!("{id}:{path}")]), content);
    }
    for tip in world.shadows() {
        for line in world
            .git(&[
                "log",
                "--first-parent",
                "--format=%H %P %(trailers:key=Checkpoint-Base,valueonly,separator=)",
                &tip,
            ])
            .lines()
        {
            let words: Vec<&str> = line.split(' ').collect();
            let &[id, parent, .., base] = words.as_slice() else { panic!("{line}") };
            if base.is_empty() {
                break;
            }
            assert!(parent == base || kept.contains(parent), "{id} stands on something");
        }
    }
    // One more takes what the crowd left to do.
    world.done(&["save", "--json"]);
    assert_eq!(world.leftovers(), Vec::<PathBuf>::new());
    world.assert_sound("after one more");
}

#[test]
fn one_worktree() {
    let world = World::with_commit();
    let facts = world.facts();
    let done = all_work(&world, &[world.repo()], &[]);
    assert_kept(&world, &done);
    assert_eq!(world.facts(), facts);
    let tips = world.shadows();
    assert_eq!(tips.len(), 1);
    let chain = world.git(&["rev-list", "--first-parent", &tips[0]]);
    let chain: BTreeSet<&str> = chain.lines().collect();
    assert!(done.iter().all(|done| chain.contains(done.id.as_str())), "one chain has them all");
    let tree = world.git(&["ls-tree", "-r", "--name-only", &tips[0]]);
    assert!(done.iter().all(|done| tree.lines().any(|path| path == done.path)), "the last has all files");
    assert_eq!(world.git(&["rev-parse", &format!("{}^{{tree}}", tips[0])]).trim(), world.tree().to_string());
}

#[test]
fn two_worktrees() {
    let world = World::with_commit();
    let linked = world.root().join("linked");
    world.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().expect("a plain path")]);
    let facts = world.facts();
    let done = all_work(&world, &[world.repo(), linked], &[]);
    assert_kept(&world, &done);
    assert_eq!(world.facts(), facts);
    assert_eq!(world.shadows().len(), 2);
}

/// Runs git in a loop until `is_over`; returns what failed.
fn again_and_again(world: &World, is_over: &AtomicBool, pause: Duration, arguments: &[&str]) -> Vec<Output> {
    let mut failed = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        let output = world.command("git").args(arguments).output().expect("git runs");
        if !output.status.success() {
            failed.push(output);
        }
        std::thread::sleep(pause);
    }
    failed
}

#[test]
fn while_git_packs_and_commits() {
    let world = World::with_commit();
    let settings =
        [("maintenance.auto", "true"), ("gc.auto", "40"), ("gc.autoPackLimit", "4"), ("gc.autoDetach", "false")];
    for (key, value) in settings {
        world.git(&["config", key, value]);
    }
    let linked = world.root().join("linked");
    world.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().expect("a plain path")]);
    let gc = |is_over: &AtomicBool| {
        again_and_again(&world, is_over, Duration::from_millis(20), &["gc", "--auto", "--quiet"]);
    };
    let repack = |is_over: &AtomicBool| {
        again_and_again(&world, is_over, Duration::from_millis(20), &["repack", "-adq"]);
    };
    let pack_refs = |is_over: &AtomicBool| {
        again_and_again(&world, is_over, Duration::from_millis(5), &["pack-refs", "--all"]);
    };
    let commit = |is_over: &AtomicBool| {
        let arguments = ["commit", "-q", "--allow-empty", "-m", "beside"];
        let failed = again_and_again(&world, is_over, Duration::from_millis(200), &arguments);
        // Git's own prune may remove an empty directory of objects in which git is about to write one.
        let is_of_git = |said: &String| said.contains("unable to create temporary file: No such file or directory");
        let said: Vec<_> = failed.iter().map(described).filter(|said| !is_of_git(said)).collect();
        assert!(said.is_empty(), "the user's commits succeed: {said:?}");
    };
    let done = all_work(&world, &[world.repo(), linked], &[&gc, &repack, &pack_refs, &commit]);
    assert_kept(&world, &done);
}
