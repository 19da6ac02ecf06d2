//! Dropping shadows from the archive.

use git_checkpoint::{
    Context, Origin,
    testing::{
        model::refname::{archive_ref, verified_ref},
        ops::prune::{self, NeededFor, Options, Pruned, Why},
    },
};
use gix::ObjectId;

use crate::support::{START, World};

const DAY: i64 = 86_400;

/// Five shadows set aside 50, 40, 20, 10 and 1 days ago, each with 100 kB of its own; and a live one.
fn world() -> (World, Vec<ObjectId>) {
    let world = World::with_commit();
    let now = jiff::Timestamp::now().as_second();
    let tips = [50, 40, 20, 10, 1]
        .map(|days| {
            let mut shadow = world.shadow("main", days);
            world.write("big", noise(days, 50_000));
            shadow.save("one", &Origin::default());
            world.write("big", noise(days + 100, 50_000));
            let tip = shadow.save("two", &Origin::default());
            world.git(&["update-ref", &archive_ref(now - days * DAY, tip), &tip.to_string()]);
            world.git(&["update-ref", "-d", &shadow.name()]);
            tip
        })
        .to_vec();
    let mut live = world.shadow("main", 1000);
    world.write("big", noise(7, 50_000));
    live.save("live", &Origin::default());
    (world, tips)
}

/// Bytes that do not compress.
fn noise(seed: i64, length: usize) -> Vec<u8> {
    let mut state = seed.unsigned_abs() * 2 + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

fn prune(world: &World, options: &Options) -> Pruned {
    let context = Context::open(&world.repo()).expect("a repository");
    prune::prune(&context, options).expect("the archive can be pruned")
}

fn archived(world: &World) -> usize {
    world.git(&["for-each-ref", "refs/checkpoints/archive/"]).lines().count()
}

fn reasons(pruned: &Pruned) -> Vec<(ObjectId, Why)> {
    pruned.dropped.iter().map(|dropped| (dropped.tip, dropped.why)).collect()
}

#[test]
fn the_settings_drop_what_is_older_than_a_month() {
    let (world, tips) = world();
    let plan = prune(&world, &Options { dry_run: true, ..Options::default() });
    assert_eq!((plan.dropped.len(), plan.kept, archived(&world)), (2, 3, 5));
    let pruned = prune(&world, &Options::default());
    assert_eq!(reasons(&pruned), [(tips[0], Why::Age), (tips[1], Why::Age)]);
    assert_eq!((pruned.kept, archived(&world), pruned.bytes), (3, 3, plan.bytes));
    let bytes = pruned.bytes.expect("they are few");
    assert!((200_000..210_000).contains(&bytes), "{bytes}");
    assert_eq!(prune(&world, &Options::default()).dropped, []);
}

#[test]
fn age_count_and_bytes_can_be_given() {
    let (world, tips) = world();
    let all = Options { older_than: Some(i64::MAX), ..Options::default() };
    assert_eq!(prune(&world, &all).dropped, []);
    let ample = Options { keep: Some(100), ..Options::default() };
    assert_eq!(prune(&world, &ample).dropped, [], "the settings count only without a limit");
    let earlier = Options { now: Some(START), older_than: Some(0), ..Options::default() };
    assert_eq!(prune(&world, &earlier).dropped, [], "nothing was set aside by then");
    let by_count = prune(&world, &Options { keep: Some(3), ..all.clone() });
    assert_eq!(reasons(&by_count), [(tips[0], Why::Count), (tips[1], Why::Count)]);
    let by_size = prune(&world, &Options { max_size: Some(150_000), ..all.clone() });
    assert_eq!(reasons(&by_size), [(tips[2], Why::Size), (tips[3], Why::Size)]);
    let by_age = prune(&world, &Options { older_than: Some(0), ..Options::default() });
    assert_eq!(reasons(&by_age), [(tips[4], Why::Age)]);
    let live =
        world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow/", "refs/checkpoints/archive/"]);
    assert_eq!(live.lines().count(), 1, "the live shadow stays: {live}");
}

/// Of shadows that were set aside in one second, the one with the older checkpoint is the older one.
#[test]
fn in_one_second_the_older_checkpoint_goes_first() {
    let world = World::with_commit().with_clock();
    let now = jiff::Timestamp::now().as_second();
    let tips = ["ffffffff", "00000000"].map(|end| {
        world.next_second();
        world.add_to("f", "more\n");
        world.done(&["save", "-q"]);
        let tip = world.id(&["rev-parse", &world.shadows()[0]]);
        world.git(&["update-ref", &format!("refs/checkpoints/archive/{now}-{end}"), &tip.to_string()]);
        world.sh("git for-each-ref --format='delete %(refname)' refs/checkpoints/shadow/ | git update-ref --stdin");
        tip
    });
    let pruned = prune(&world, &Options { keep: Some(1), ..Options::default() });
    assert_eq!(reasons(&pruned), [(tips[0], Why::Count)]);
}

#[test]
fn a_shadow_set_aside_with_an_old_commit_date_is_not_old() {
    let world = World::with_commit();
    world.write("f", "1\n");
    for arguments in [&["save"][..], &["verify", "--reset"], &["reset"], &["prune"]] {
        // As in a rebase, the date of commits is long past.
        assert!(world.checkpoint(arguments).status.success(), "{arguments:?}");
    }
    assert_eq!(archived(&world), 1);
}

#[test]
fn a_verified_checkpoint_keeps_its_shadow_until_a_newer_one_is_verified() {
    let (world, tips) = world();
    let first = world.git(&["rev-parse", &format!("{}^", tips[0])]).trim().to_owned();
    world.git(&["update-ref", &verified_ref("main".into()), &first]);
    let options = Options { keep: Some(0), older_than: Some(0), max_size: Some(0), ..Options::default() };
    let pruned = prune(&world, &options);
    assert_eq!((pruned.dropped.len(), pruned.kept), (4, 1));
    let stays: Vec<_> = pruned.stays.iter().map(|it| (it.tip, it.needed_for)).collect();
    assert_eq!(stays, [(tips[0], NeededFor::Verified)]);
    world.git(&["update-ref", &verified_ref("main".into()), &tips[4].to_string()]);
    assert_eq!(reasons(&prune(&world, &options)), [(tips[0], Why::Age)]);
}

/// The index or the worktree has lines again that only an archived shadow says are an agent's.
#[test]
fn what_says_whose_uncommitted_lines_are_stays() {
    let world = World::with_hooks();
    world.done(&["session", "prompt", "-q", "s1", "--agent", "claude-code", "-m", "go"]);
    world.sh("echo 'of the agent' >>f");
    world.done(&["session", "stop", "-q", "s1"]);
    world.done(&["reset", "-q"]);
    let plan = world.json(&["prune", "--keep", "0", "--dry-run", "--json"]);
    assert_eq!(
        (plan["stays"][0]["needed_for"].as_str(), plan["kept"].as_u64()),
        (Some("uncommitted"), Some(1)),
        "{plan}"
    );
    let said = world.done(&["prune", "--keep", "0"]);
    assert!(said.contains("may count as a person's"), "{said}");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "taken"]);
    let blame = world.done(&["blame", "f"]);
    assert!(blame.contains("claude-code"), "{blame}");
    let done = world.json(&["prune", "--keep", "0", "--json"]);
    assert_eq!(done["kept"].as_u64(), Some(0), "{done}");
}

/// Who wrote the lines in the worktree may be in what cannot be read.
#[test]
fn what_cannot_be_read_stays() {
    let world = World::with_hooks();
    for turn in ["one", "two"] {
        world.done(&["session", "prompt", "-q", "s1", "--agent", "claude-code", "-m", "go"]);
        world.sh(&format!("echo '{turn} of the agent' >>f"));
        world.done(&["session", "stop", "-q", "s1"]);
    }
    world.done(&["reset", "-q"]);
    let tip = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive"]);
    let lost = world.git(&["rev-parse", &format!("{}~1", tip.trim())]);
    let lost = lost.trim();
    std::fs::remove_file(world.repo().join(".git/objects").join(&lost[..2]).join(&lost[2..])).expect("it is loose");
    let done = world.json(&["prune", "--keep", "0", "--json"]);
    assert_eq!((done["stays"][0]["needed_for"].as_str(), done["kept"].as_u64()), (Some("damaged"), Some(1)), "{done}");
}

/// What neither undo nor redo goes back to is not kept for them.
#[test]
fn what_a_restore_left_stays_only_while_undo_or_redo_can_reach_it() {
    let world = World::with_commit();
    world.write("f", "1\n");
    world.done(&["save", "-q"]);
    world.write("f", "2\n");
    world.done(&["restore", "-q", "@{0}"]);
    world.done(&["reset", "-q"]);
    let said = world.done(&["prune", "--keep", "0"]);
    assert!(said.contains("'git checkpoint undo' needs it"), "{said}");
    // The restore is undone, and what was done since ends what can be redone.
    world.done(&["undo", "-q"]);
    world.done(&["undo", "-q"]);
    let said = world.done(&["prune", "--keep", "0", "-n"]);
    assert!(!said.contains("would keep") || said.contains("undo"), "{said}");
    world.done(&["verify", "-q"]);
    world.done(&["verify", "--reset"]);
    world.done(&["reset", "-q"]);
    let said = world.done(&["prune", "--keep", "0"]);
    assert!(!said.contains("needs it") && said.contains("; 0 stay"), "{said}");
    assert_eq!(archived(&world), 0);
    // All can still be undone and redone, to both ends.
    while world.checkpoint(&["undo", "-q"]).status.success() {}
    while world.checkpoint(&["redo", "-q"]).status.success() {}
    assert_eq!(archived(&world), 0);
}

/// Saves on commits that HEAD has left are live: work may go on there. `prune` says that they stay.
#[test]
fn saves_on_commits_that_were_left_stay_and_are_counted() {
    let world = World::with_commit();
    for at in ["1", "2"] {
        world.write("f", at);
        world.done(&["save", "-q", "-m", at]);
        world.git(&["commit", "-qam", at]);
    }
    let said = world.done(&["prune", "--keep", "0"]);
    assert!(said.contains("; 0 stay in the archive, and 2 on commits that HEAD has left"), "{said}");
    assert_eq!(world.shadows().len(), 2);
}
