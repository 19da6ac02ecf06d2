//! A program that saves its files while a restore puts other versions in their place.
//!
//! `GIT_CHECKPOINT_TEST_RACES` says how many rounds; the default keeps it short. The writer is this test program again, with one
//! test of it selected: it sees the restore change a file, and a moment later changes the next one itself.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use crate::support::{World, dice::Dice, processes::described, this_program};

const DIRECTORY: &str = "GIT_CHECKPOINT_TEST_DIRECTORY";
const SEED: &str = "GIT_CHECKPOINT_TEST_SEED";
/// How many files each round is about.
const PAIRS: usize = 16;

/// How many rounds by default.
const ROUNDS: u64 = 30;

fn rounds() -> u64 {
    std::env::var("GIT_CHECKPOINT_TEST_RACES").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS)
}

/// Returns a file that the writer watches and the one that the restore changes after it, which the writer changes too.
///
/// The first ones are in all states, the others only in one: they are deleted, and created again.
fn pair(number: usize) -> (String, String) {
    let kind = if number < PAIRS / 2 { "always" } else { "sometimes" };
    (format!("{kind}/{number:02}-a"), format!("{kind}/{number:02}-b"))
}

/// All texts have the same length, so that sizes show no difference.
fn text(what: &str, number: u64) -> String {
    format!("{what:<12} {number:<24}\n").repeat(8)
}

/// Changes a file as editors and other programs do, and returns what must not be lost of it.
fn change(path: &Path, spare: &Path, kind: u64, words: &[String; 3], pause: &mut dyn FnMut()) -> Option<String> {
    let prepared: Vec<PathBuf> = (0..3).map(|n| spare.with_extension(n.to_string())).collect();
    let save = |n: usize| fs::rename(&prepared[n], path).is_ok();
    match kind {
        // Saves once, twice or three times, each a new file that is renamed over the old one.
        0..=2 => {
            let count = usize::try_from(kind).expect("small");
            for n in 0..=count {
                pause();
                assert!(save(n), "the directory stays");
            }
            Some(words[count].clone())
        }
        3 => {
            pause();
            drop(fs::remove_file(path));
            pause();
            assert!(save(0), "the directory stays");
            Some(words[0].clone())
        }
        // Writes into the file: what lands in one that has left its name already is no longer a file of the worktree.
        _ => {
            pause();
            let mut file = fs::File::options().write(true).open(path).ok()?;
            file.write_all(words[0].as_bytes()).expect("written");
            let is_there = fs::metadata(path).is_ok_and(|it| it.ino() == file.metadata().expect("open").ino());
            is_there.then(|| words[0].clone())
        }
    }
}

#[test]
fn a_writer() {
    let (Some(directory), Ok(seed)) = (std::env::var_os(DIRECTORY), std::env::var(SEED)) else { return };
    let root = PathBuf::from(directory);
    let (repo, seed) = (root.join("repo"), seed.parse::<u64>().expect("a number"));
    let mut dice = Dice(seed);
    let mut plans = Vec::new();
    for number in 0..PAIRS {
        let spare = root.join(format!("spare-{number}"));
        let words = [0, 1, 2].map(|n| text(&format!("writer {number} {n}"), seed));
        for (n, word) in words.iter().enumerate() {
            fs::write(spare.with_extension(n.to_string()), word).expect("written");
        }
        plans.push((pair(number), spare, words));
    }
    let inode = |path: &str| fs::symlink_metadata(repo.join(path)).ok().map(|it| it.ino());
    let before: Vec<_> = plans.iter().map(|((watched, _), _, _)| inode(watched)).collect();
    fs::write(root.join("ready"), "").expect("written");
    let mut kept = BTreeMap::new();
    let start = Instant::now();
    for (((watched, changed), spare, words), before) in plans.iter().zip(before) {
        while inode(watched) == before && start.elapsed() < Duration::from_secs(10) {}
        let kind = dice.below(6);
        let mut pause = || {
            let pause = Duration::from_nanos(dice.below(60_000));
            let start = Instant::now();
            while start.elapsed() < pause {}
        };
        kept.insert(changed, change(&repo.join(changed), spare, kind, words, &mut pause));
    }
    let kept: BTreeMap<_, _> = kept.into_iter().filter_map(|(path, word)| Some((path, word?))).collect();
    fs::write(root.join("said"), serde_json::to_vec(&kept).expect("JSON")).expect("written");
}

fn start_writer(world: &World, seed: u64) -> Child {
    drop(fs::remove_file(world.root().join("ready")));
    let child = world
        .command(this_program())
        .args(["--exact", "crash::races::a_writer"])
        .env(DIRECTORY, world.root())
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let start = Instant::now();
    while !world.root().join("ready").exists() {
        assert!(start.elapsed() < Duration::from_secs(20), "the writer does not begin");
        std::thread::sleep(Duration::from_micros(500));
    }
    child
}

/// Makes the two states between which the restores go, and returns them.
fn two_states(world: &World) -> [String; 2] {
    [0, 1].map(|state| {
        for number in 0..PAIRS {
            let (watched, changed) = pair(number);
            for path in [watched, changed] {
                if state == 0 || number < PAIRS / 2 {
                    world.write(&path, text("restored", state));
                } else {
                    fs::remove_file(world.repo().join(path)).expect("it is there");
                }
            }
        }
        world.write("sometimes/stays", "");
        let saved = world.json(&["save", "--json", "--allow-empty"]);
        saved["id"].as_str().expect("an id").to_owned()
    })
}

/// Returns the texts of `path` and of all files beside it that a restore has kept for it.
fn on_disk(world: &World, path: &str) -> Vec<Vec<u8>> {
    let path = world.repo().join(path);
    let name = path.file_name().expect("a name").to_str().expect("plain").to_owned();
    let beside = fs::read_dir(path.parent().expect("a directory")).expect("it stays").flatten();
    let is_of = |entry: &fs::DirEntry| {
        let found = entry.file_name().to_string_lossy().into_owned();
        found == name || found.starts_with(&format!("{name}.git-checkpoint-conflict-"))
    };
    beside.filter(is_of).filter_map(|entry| fs::read(entry.path()).ok()).collect()
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures of a long run by hand")]
fn a_file_that_a_program_saves_during_a_restore_is_never_lost() {
    let world = World::with_commit();
    let states = two_states(&world);
    let (mut conflicts, mut kept, mut expected) = (0, 0, 0);
    let (mut away, mut hidden) = (Vec::new(), Vec::new());
    for round in 0..rounds() {
        let when = format!("round {round}");
        let writer = start_writer(&world, round);
        let target = &states[usize::try_from(round % 2).expect("small")];
        let restored = world.checkpoint(&["restore", "--all", "--json", target]);
        let writer = writer.wait_with_output().expect("it ends");
        assert!(writer.status.success(), "{when}: {}", described(&writer));
        assert!(matches!(restored.status.code(), Some(0 | 1)), "{when}: {}", described(&restored));
        let said: serde_json::Value = serde_json::from_slice(&restored.stdout).expect("JSON");
        let listed = said["conflicts"].as_array().expect("a list");
        conflicts += listed.len();
        for name in listed.iter().filter_map(|conflict| conflict["kept_as"].as_str()) {
            kept += 1;
            assert!(world.repo().join(name).exists(), "{when}: {name} is there");
        }
        let must: BTreeMap<String, String> =
            serde_json::from_slice(&fs::read(world.root().join("said")).expect("written")).expect("JSON");
        expected += must.len();
        for (path, text) in must {
            if !on_disk(&world, &path).contains(&text.clone().into_bytes()) {
                away.push((round, path, text));
            }
        }
        // Files that a restore keeps have names that end otherwise.
        let is_hidden = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "tmp");
        hidden.extend(world.leftovers().into_iter().filter(is_hidden).map(|path| (round, path)));
        let saved = world.json(&["save", "--json"]);
        assert_eq!(saved["tree"], world.tree().to_string(), "{when}: a save sees all");
    }
    let held = world.held();
    let replaced = away.len();
    let lost: Vec<_> = away.iter().filter(|(_, _, text)| !held.contains(text.as_bytes())).collect();
    let figures =
        format!("{expected} saves, {conflicts} conflicts, {kept} kept beside, {replaced} only in checkpoints");
    assert_eq!(hidden, Vec::new(), "{figures}, {} lost: temporary files are left", lost.len());
    println!("{} rounds: {figures}, {} lost", rounds(), lost.len());
    assert!(lost.is_empty(), "{figures}, {} lost: {lost:#?}", lost.len());
    assert!(expected > 0, "{figures}: the writer has saved nothing");
    if rounds() >= ROUNDS {
        assert!(conflicts > 0, "{figures}: the restores have met no save");
    }
    world.assert_sound("at the end");
}
