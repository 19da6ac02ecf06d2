//! SIGKILL at random moments.
//!
//! `GIT_CHECKPOINT_TEST_KILLS` says how many processes must die of it in each of the four tests; the default keeps them short.
//! A process that ends before its kill does not count.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::PathBuf,
    process::Output,
    time::{Duration, Instant},
};

use crate::support::{
    World,
    dice::Dice,
    processes::{described, kill_after, mean},
};

fn kills() -> u64 {
    std::env::var("GIT_CHECKPOINT_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(5)
}

/// Counts the processes that died of their kill. Where most trials end too early, something else is wrong.
#[derive(Default)]
struct Kills {
    trials: u64,
    died: u64,
}

impl Kills {
    /// Returns the number of the next trial, or nothing once enough have died.
    fn next_trial(&mut self) -> Option<u64> {
        if self.died >= kills() {
            return None;
        }
        assert!(self.trials < kills() * 20, "only {} of {} died of it", self.died, self.trials);
        self.trials += 1;
        Some(self.trials - 1)
    }

    /// Returns true if the process died of it, and counts it.
    fn has_died(&mut self, died: &Output) -> bool {
        let is_killed = died.status.signal() == Some(SIGKILL);
        self.died += u64::from(is_killed);
        is_killed
    }
}

const SIGKILL: i32 = 9;

/// What is in the worktree: content, and whether it can be executed; of links, the target.
type Disk = BTreeMap<String, (Vec<u8>, bool)>;

fn disk(world: &World) -> Disk {
    let mut disk = Disk::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(world.repo().join(&directory)).expect("it is there").flatten() {
            let path = directory.join(entry.file_name());
            let metadata = entry.metadata().expect("it is there");
            if path.ends_with(".git") {
                continue;
            }
            let name = path.to_str().expect("plain names").to_owned();
            if metadata.is_dir() {
                directories.push(path);
            } else if metadata.is_symlink() {
                let target = fs::read_link(entry.path()).expect("a link");
                disk.insert(name, (target.into_os_string().into_encoded_bytes(), false));
            } else {
                let bytes = fs::read(entry.path()).expect("it can be read");
                disk.insert(name, (bytes, metadata.permissions().mode() & 0o100 != 0));
            }
        }
    }
    disk
}

fn contents(disk: &Disk) -> BTreeSet<Vec<u8>> {
    disk.values().map(|(bytes, _)| bytes.clone()).collect()
}

/// Changes some files of the worktree: a few, or more than are stored one by one. Returns their names.
fn edit(world: &World, dice: &mut Dice, trial: u64) -> Vec<String> {
    let count = if dice.below(5) == 0 { 70 + dice.below(20) } else { 1 + dice.below(5) };
    let mut names = BTreeSet::new();
    for _ in 0..count {
        let name = format!("d{}/f{}", dice.below(6), dice.below(30));
        let path = world.repo().join(&name);
        match dice.below(8) {
            0 => drop(fs::remove_file(&path)),
            1 if path.exists() => {
                let mode = if dice.below(2) == 0 { 0o644 } else { 0o755 };
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
            }
            _ => {
                let line = format!("{trial} {name} {}\n", dice.next());
                let times = 1 + usize::try_from(dice.below(40)).expect("small");
                world.write(&name, line.repeat(times));
            }
        }
        names.insert(name);
    }
    names.into_iter().collect()
}

fn repository() -> World {
    let world = World::with_commit();
    world.write("untracked", "untracked\n");
    world.write("staged", "staged\n");
    world.git(&["add", "staged"]);
    world.write("f", "stashed\n");
    world.git(&["stash", "push", "-q", "f"]);
    world
}

/// Returns how long a save takes here, so that the first kills are not too late either.
fn time_of_a_save(world: &World) -> Duration {
    let start = Instant::now();
    world.done(&["save", "-q"]);
    start.elapsed()
}

/// Returns a moment of a command that takes about `usual`, now and then after its end.
fn moment(dice: &mut Dice, usual: Duration) -> Duration {
    usual.mul_f64(f64::from(u32::try_from(dice.below(1200)).expect("small")) / 1000.0)
}

fn assert_clean(world: &World, when: &str) {
    assert_eq!(world.leftovers(), Vec::<PathBuf>::new(), "{when}: nothing is left behind");
}

#[rstest::rstest]
fn a_save_killed_at_any_moment(#[values(1, 2)] seed: u64) {
    let mut dice = Dice(seed);
    let world = repository();
    let facts = world.facts();
    let mut known: Vec<String> = Vec::new();
    let mut usual = time_of_a_save(&world);
    let mut kills = Kills::default();
    while let Some(trial) = kills.next_trial() {
        let when = format!("seed {seed}, trial {trial}");
        let names = edit(&world, &mut dice, trial);
        let mut arguments = vec!["save", "--json"];
        if dice.below(3) == 0 {
            let there = names.iter().filter(|name| world.repo().join(name).symlink_metadata().is_ok());
            let there: Vec<&str> = there.map(String::as_str).collect();
            arguments.extend((!there.is_empty()).then_some("--paths"));
            arguments.extend(there);
        }
        let before = disk(&world);
        let died = kill_after(world.start(&arguments), moment(&mut dice, usual));
        if !kills.has_died(&died) {
            assert!(died.status.success(), "{when}: {}", described(&died));
        }
        if !died.stdout.is_empty() && died.stdout.ends_with(b"\n") {
            let said: serde_json::Value = serde_json::from_slice(&died.stdout).expect("whole, or nothing");
            known.push(said["id"].as_str().expect("an id").to_owned());
        }
        world.assert_sound(&when);
        assert_eq!(world.facts(), facts, "{when}");
        assert_eq!(disk(&world), before, "{when}: a save writes no file");

        let start = Instant::now();
        let saved = world.json(&["save", "--json"]);
        usual = mean(usual, start.elapsed());
        known.push(saved["id"].as_str().expect("an id").to_owned());
        assert_eq!(saved["tree"], world.tree().to_string(), "{when}: all is in it");
        assert_clean(&world, &when);
        let chain = world.git(&["rev-list", "--first-parent", &world.shadows()[0]]);
        let chain: BTreeSet<&str> = chain.lines().collect();
        assert!(known.iter().all(|id| chain.contains(id.as_str())), "{when}: earlier checkpoints stay");
    }
    world.assert_sound("at the end");
}

/// Makes two states that differ in every way, and leaves the worktree in a third that is saved nowhere.
fn two_states(world: &World, dice: &mut Dice, trial: u64) -> (String, Disk, Disk) {
    edit(world, dice, trial);
    let swap = world.repo().join("swap");
    let clear = || drop(fs::remove_file(&swap).or_else(|_| fs::remove_dir_all(&swap)));
    clear();
    if trial.is_multiple_of(2) {
        world.write("swap/inner", format!("{trial}\n"));
    } else {
        std::os::unix::fs::symlink(format!("target {trial}"), &swap).expect("links can be made");
    }
    let saved = world.json(&["save", "--json", "--allow-empty"]);
    let target = disk(world);
    edit(world, dice, trial + 1000);
    clear();
    world.write("swap", format!("a file {trial}\n"));
    world.write(&format!("new {trial}"), "only in the worktree\n");
    (saved["id"].as_str().expect("an id").to_owned(), target, disk(world))
}

#[rstest::rstest]
fn a_restore_killed_at_any_moment(#[values(3, 4)] seed: u64) {
    let mut dice = Dice(seed);
    let world = repository();
    let facts = world.facts();
    let mut usual = time_of_a_save(&world) * 3 / 2;
    let mut kills = Kills::default();
    while let Some(trial) = kills.next_trial() {
        let when = format!("seed {seed}, trial {trial}");
        let (id, target, before) = two_states(&world, &mut dice, trial);
        let child = world.start(&["restore", "--all", &id]);
        let died = if dice.below(2) == 0 {
            kill_after(child, moment(&mut dice, usual))
        } else {
            // Most of the time goes into the save before; this one dies after that.
            wait_until(|| is_interrupted(&world));
            kill_after(child, moment(&mut dice, usual / 5))
        };
        kills.has_died(&died);
        world.assert_sound(&when);
        assert_eq!(world.facts(), facts, "{when}");
        let torn = disk(&world);
        for (path, now) in torn.iter().filter(|(path, _)| !path.contains(".git-checkpoint-")) {
            assert!([target.get(path), before.get(path)].contains(&Some(now)), "{when}: {path} is torn");
        }
        let held = world.held();
        for bytes in contents(&before).difference(&contents(&torn)) {
            let is_link_or_held = held.contains(bytes);
            assert!(is_link_or_held, "{when}: lost {}", String::from_utf8_lossy(&bytes[..bytes.len().min(80)]));
        }

        let status = world.json(&["status", "--json"]);
        let is_whole = |wanted: &Disk| disk(&world) == *wanted;
        if is_interrupted(&world) {
            let again = world.checkpoint(&["restore", "--all", &id]);
            assert_eq!(again.status.code(), Some(1), "{when}: {status} {}", described(&again));
            if dice.below(2) == 0 {
                world.done(&["restore", "--continue"]);
                assert!(is_whole(&target), "{when}: gone on");
            }
            world.done(&["undo"]);
            assert!(is_whole(&before), "{when}: taken back");
        } else if is_whole(&target) && target != before {
            world.done(&["undo"]);
            assert!(is_whole(&before), "{when}: undone");
        } else {
            assert!(is_whole(&before), "{when}: not begun");
        }
        let start = Instant::now();
        world.done(&["restore", "--all", &id]);
        usual = mean(usual, start.elapsed());
        assert!(is_whole(&target), "{when}: restored");
        assert_clean(&world, &when);
        assert_eq!(world.facts(), facts, "{when}");
    }
    world.assert_sound("at the end");
}

/// Waits until `is_so`, at most for as long as a restore takes.
fn wait_until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() && start.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn is_interrupted(world: &World) -> bool {
    let journal = fs::read_to_string(world.repo().join(".git/checkpoint/restore.json")).unwrap_or_default();
    journal.contains("\"applying\"")
}
