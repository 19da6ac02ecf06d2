//! What many saves cost later ones: bytes on disk, files in the object directory, time to count them.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use git_checkpoint::{Context, SaveOptions, testing::ops::status};

use crate::support::{
    World,
    checkpoints::{Shadow, agent},
    program,
};

fn blocks_below(directory: &Path) -> u64 {
    let items = fs::read_dir(directory).expect("a directory").map(|item| item.expect("readable").path());
    items.map(|path| if path.is_dir() { blocks_below(&path) } else { path.metadata().expect("there").blocks() }).sum()
}

#[test]
fn saves_of_a_few_changed_files_take_little_room_and_git_agrees_with_what_is_there() {
    const SAVES: u64 = 120;
    let world = World::with_commit();
    let text = |seed: u64| {
        (0..200).map(|line| format!("{} {seed}\n", (line + seed).wrapping_mul(0x9e37_79b9))).collect::<String>()
    };
    for number in 0..60 {
        world.write(&format!("src/part{}/file{number}", number % 6), text(number));
    }
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "files"]);
    let context = Context::open(&world.repo()).expect("a repository");
    git_checkpoint::save(&context, &SaveOptions { allow_empty: true, ..SaveOptions::default() }).expect("saved");
    let objects = world.repo().join(".git/objects");
    let before = blocks_below(&objects);
    let mut ids = Vec::new();
    for number in 0..SAVES {
        for file in [3, 4, 5] {
            let path = format!("src/part{file}/file{file}");
            world.write(&path, text(file) + &format!("version {number}\n"));
        }
        let saved = git_checkpoint::save(&context, &SaveOptions::default()).expect("saved");
        ids.push(saved.id.expect("a checkpoint"));
    }
    let bytes = (blocks_below(&objects) - before) * 512 / SAVES;
    assert!(bytes <= 6000, "{bytes} bytes a save");
    world.git(&["fsck", "--strict"]);
    let last = world.git(&["show", &format!("{}:src/part4/file4", ids[5])]);
    assert!(last.ends_with("version 5\n"), "every version is still there");
    let packs = fs::read_dir(objects.join("pack")).expect("a directory").count();
    assert!(packs <= 20, "{packs} files of packs");
}

#[test]
fn checkpoints_are_counted_right_with_and_without_the_cache() {
    fn extend(shadow: &mut Shadow<'_>, world: &World, count: usize, session: &str) {
        let tree = world.tree();
        for turn in 0..count {
            shadow.commit(tree, "more", &agent(session, u32::try_from(turn).expect("few")));
        }
    }
    let world = World::with_commit();
    let mut shadow = world.shadow("main", 0);
    let context = Context::open(&world.repo()).expect("a repository");
    let tally = || {
        let status = status::status(&context).expect("a status");
        let sessions: Vec<_> =
            status.sessions.into_iter().map(|session| (session.id, session.turn, session.checkpoints)).collect();
        (status.shadow.map(|shadow| (shadow.checkpoints, shadow.tip_time)), sessions, status.start)
    };
    let cache = world.repo().join(".git/checkpoint/tally");
    for (count, session) in [(70, "one"), (3, "two"), (2, "one"), (80, "three")] {
        extend(&mut shadow, &world, count, session);
        assert_eq!(tally(), tally(), "the same again");
        assert!(!cache.exists(), "status writes nothing");
    }
    let (shadow, sessions, start) = tally();
    assert_eq!(shadow.map(|(count, _)| count), Some(155));
    assert_eq!(
        start.map(|id| id.to_string()),
        Some(world.git(&["rev-parse", "HEAD"]).trim().to_owned()),
        "an agent took the first one"
    );
    let of_agents = [("three".into(), Some(79), 80), ("one".into(), Some(1), 72), ("two".into(), Some(2), 3)];
    assert_eq!(sessions, of_agents);
    // About one save in 64 caches the statistics; that none of so many does happens once in a million times.
    let (mut saves, mut last) = (0, None);
    let options = SaveOptions { allow_empty: true, ..SaveOptions::default() };
    while !cache.exists() {
        last = git_checkpoint::save(&context, &options).expect("saved").id;
        saves += 1;
        assert!(saves < 1000, "no save caches");
    }
    let cached = fs::read_to_string(&cache).expect("it is there");
    assert!(cached.contains(&last.expect("a checkpoint").to_string()), "{cached}");
    git_checkpoint::save(&context, &options).expect("saved");
    for content in [Some(cached.as_str()), Some("{"), None] {
        match content {
            Some(content) => fs::write(&cache, content).expect("written"),
            None => fs::remove_file(&cache).expect("it can be removed"),
        }
        let (shadow, sessions, start_now) = tally();
        assert_eq!(shadow.map(|(count, _)| count), Some(155 + saves + 1), "{content:?}");
        assert_eq!(sessions, of_agents);
        assert_eq!(start_now, start, "{content:?}");
    }
}

/// Returns how many bytes `git-checkpoint` reads when it is run with `arguments`.
#[cfg(target_os = "linux")]
fn bytes_read(world: &World, arguments: &[&str]) -> u64 {
    // What a child has read counts for its parent once it has ended.
    let script = r#""$@" >/dev/null || exit; cat /proc/$$/io"#;
    let mut command = world.command("sh");
    let output = command.args(["-c", script, "sh", program()]).args(arguments).output();
    let output = output.expect("sh runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    let count = printed.lines().find_map(|line| line.strip_prefix("rchar: "));
    count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{arguments:?}: {output:?}"))
}

#[cfg(target_os = "linux")]
#[test]
fn a_restore_reads_what_many_files_share_only_once() {
    const LENGTH: u64 = 1 << 20;
    const COPIES: u64 = 20;
    let world = World::with_commit();
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let content: Vec<u8> = (0..LENGTH).map(|_| noise()).collect();
    for number in 0..COPIES {
        fs::write(world.repo().join(format!("copy{number}")), &content).expect("written");
    }
    world.done(&["save", "--verify"]);
    for number in 0..COPIES {
        fs::remove_file(world.repo().join(format!("copy{number}"))).expect("it is there");
    }
    let target = world.git(&["rev-parse", "refs/checkpoints/verified/main"]).trim().to_owned();
    let looked = bytes_read(&world, &["restore", "--all", "--dry-run", &target]);
    let restored = bytes_read(&world, &["restore", "--all", &target]);
    assert!((LENGTH..4 * LENGTH).contains(&restored), "{looked}, {restored}");
    assert!(looked < LENGTH, "{looked}");
    for number in 0..COPIES {
        assert!(fs::read(world.repo().join(format!("copy{number}"))).expect("it is back") == content, "{number}");
    }
}

#[test]
fn status_does_not_read_all_of_a_long_chain() {
    let world = World::with_commit();
    let mut shadow = world.shadow("main", 0);
    let ids = shadow.commits(world.tree(), &["one", "two", "three"].map(ToOwned::to_owned));
    shadow.commit(world.tree(), "more", &agent("one", 1));
    let cache = world.repo().join(".git/checkpoint/tally");
    let cached = (0..1000).find_map(|_| {
        world.done(&["save", "--allow-empty"]);
        fs::read_to_string(&cache).ok()
    });
    let cached = cached.expect("about one save in 64 caches");
    // What is read is missed.
    let first = ids[0].to_string();
    fs::remove_file(world.repo().join(".git/objects").join(&first[..2]).join(&first[2..])).expect("a loose object");
    let start = || world.json(&["status", "--json"])["start"].clone();
    assert_eq!(start(), ids[2].to_string());
    // As a program wrote it that did not cache the start.
    let without = cached.replace("\"earliest\"", "\"later\"");
    assert_ne!(without, cached);
    fs::write(&cache, without).expect("written");
    assert_eq!(start(), serde_json::Value::Null);
}

/// No other object may have its content.
#[test]
fn a_pack_without_an_index_gets_one() {
    let world = World::with_commit();
    world.sh("for i in $(seq 300); do echo \"file $i\" >f$i; done");
    world.done(&["save"]);
    world.sh("rm f?*");
    world.done(&["save"]);
    let pack = world.sh("echo .git/objects/pack/$(head -1 .git/checkpoint/packs)").trim().to_owned();
    world.sh(&format!("rm -f {pack}.idx && touch -d '2 hours ago' {pack}.pack"));
    // Later, a save packs all of them into one.
    for save in 0..6 {
        world.sh(&format!("for i in $(seq 20); do echo {save} $i >g$i; done"));
        world.done(&["save"]);
    }
    world.sh(&format!("git verify-pack {pack}.pack"));
    assert_eq!(world.sh("git cat-file blob $(echo file 7 | git hash-object --stdin)"), "file 7\n");
}
