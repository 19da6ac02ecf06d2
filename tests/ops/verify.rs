//! The verified checkpoint.

use git_checkpoint::{Author, Context, Kind, SaveOptions, Saved, testing::ops::verify};

use crate::support::{World, checkpoints::agent, program};

fn save(context: &Context, world: &World, text: &str) -> Saved {
    world.write("f", text);
    git_checkpoint::save(context, &SaveOptions::default()).expect("it can be saved")
}

fn shown(context: &Context) -> Option<gix::ObjectId> {
    verify::show(context).expect("it can be read").map(|verified| verified.id)
}

#[test]
fn the_mark_is_set_shown_and_taken_away() {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    assert_eq!(shown(&context), None);
    let first = save(&context, &world, "1");
    let second = save(&context, &world, "2");
    assert!(!first.verified && !second.verified, "nothing is marked by itself");
    assert_eq!((shown(&context), is_start(&context)), (first.id, true));

    let verified = git_checkpoint::verify(&context, None).expect("the latest is there");
    assert_eq!((Some(verified.id), verified.previous), (second.id, None));
    assert_eq!((shown(&context), is_start(&context)), (second.id, false));
    assert_eq!(git_checkpoint::resolve(&context, "verified").ok(), second.id);
    let again = git_checkpoint::verify(&context, Some("@")).expect("the same is no error");
    assert_eq!(again.previous, None);

    let reset = verify::reset(&context).expect("it can be taken away");
    assert_eq!((reset.previous, shown(&context), is_start(&context)), (second.id, first.id, true));
    let third = save(&context, &world, "3");
    assert!(third.verified, "the next after a reset is verified");
    assert!(!save(&context, &world, "4").verified, "but only that");
    assert_eq!(shown(&context), third.id);
}

fn save_as_agent(context: &Context, world: &World, text: &str) -> Saved {
    world.write("f", text);
    let options = SaveOptions { author: Author::Is(agent("s", 1)), ..SaveOptions::default() };
    git_checkpoint::save(context, &options).expect("it can be saved")
}

fn is_start(context: &Context) -> bool {
    verify::show(context).expect("it can be read").is_some_and(|verified| verified.start)
}

/// What an agent has made is never verified by itself: the start is what was before, be it the commit.
#[test]
fn the_start_is_what_was_before_the_first_change_of_an_agent() {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    let base = gix::ObjectId::from_hex(world.git(&["rev-parse", "HEAD"]).trim().as_bytes()).expect("an id");
    save_as_agent(&context, &world, "agent\n");
    save(&context, &world, "human\n");
    assert_eq!((shown(&context), is_start(&context)), (Some(base), true));
    let restored = world.checkpoint(&["restore", "verified"]);
    assert!(restored.status.success(), "{restored:?}");
    assert_eq!(world.git(&["status", "--porcelain"]), "");

    world.write("g", "committed\n");
    world.git(&["add", "g"]);
    world.git(&["commit", "-qm", "more"]);
    assert_eq!(shown(&context), None, "no checkpoint is on this base");
    save(&context, &world, "1\n");
    let before = save(&context, &world, "2\n");
    save_as_agent(&context, &world, "3\n");
    save_as_agent(&context, &world, "4\n");
    assert_eq!((shown(&context), is_start(&context)), (before.id, true));
    assert_eq!(git_checkpoint::resolve(&context, "verified").ok(), before.id);
}

/// Whose change it is may not be known: then the start is before it, too. `show` and `list` name it.
#[test]
fn what_may_be_of_an_agent_is_not_the_start() {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    let human = save(&context, &world, "human\n").id.expect("it has changed");
    for session in ["a", "b"] {
        world.done(&["session", "prompt", session, "-q"]);
    }
    world.write("f", "of either\n");
    world.done(&["save", "-q"]);
    assert_eq!((shown(&context), is_start(&context)), (Some(human), true));
    assert_eq!(world.json(&["show", "--json", &human.to_string()])["start"], true);
    assert_eq!(world.json(&["show", "--json", "@"])["start"], false);
}

/// A list reads only as many checkpoints as its marks need, and marks what `verify` shows.
#[rstest::rstest]
#[case::people("hhh", Some(0))]
#[case::the_latest("hha", Some(1))]
#[case::in_between("hahah", Some(0))]
#[case::at_first("ahh", None)]
#[case::agents("aaa", None)]
fn a_list_marks_the_start(#[case] authors: &str, #[case] expected: Option<usize>) {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    let save_one = |(at, author)| {
        let content = format!("{at}\n");
        if author == 'a' { save_as_agent(&context, &world, &content) } else { save(&context, &world, &content) }
    };
    let ids: Vec<_> = authors.chars().enumerate().map(save_one).map(|saved| saved.id).collect();
    let start = expected.and_then(|at| ids[at]);
    assert_eq!(shown(&context).filter(|id| ids.contains(&Some(*id))), start);
    for arguments in [&["list", "--json"][..], &["list", "--all", "--json"], &["list", "--json", "-n", "2"]] {
        let output = world.checkpoint(arguments);
        for row in String::from_utf8_lossy(&output.stdout).lines() {
            let row: serde_json::Value = serde_json::from_str(row).expect("JSON");
            let is_it = start.is_some_and(|start| row["id"] == start.to_string());
            assert_eq!(row["start"], is_it, "{arguments:?}: {row}");
        }
    }
}

/// Each worktree has its own mark.
#[test]
fn a_list_marks_what_this_worktree_has_verified() {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    let id = save(&context, &world, "1\n").id.expect("it has changed").to_string();
    world.git(&["worktree", "add", "-q", "../other"]);
    let other = world.root().join("other");
    let ours =
        |arguments: &[&str]| world.command(program()).current_dir(&other).args(arguments).output().expect("it runs");
    assert!(ours(&["verify", &id]).status.success());
    assert_eq!(world.json(&["list", "--json"])["verified"], false);
    assert_eq!(world.json(&["list", "--json", "--all-worktrees"])["verified"], true);
}

#[test]
fn a_save_after_a_reset_marks_only_what_a_person_saves() {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    let first = save(&context, &world, "1");
    verify::reset(&context).expect("it can be taken away");
    assert!(!save_as_agent(&context, &world, "2").verified);
    let unchanged = git_checkpoint::save(&context, &SaveOptions::default()).expect("it can be saved");
    assert!(unchanged.verified && !unchanged.created, "a person finds the state good as it is");
    assert_ne!(unchanged.id, first.id);
}

#[test]
fn marking_by_hand_is_as_good_as_the_next_save() {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    save(&context, &world, "1");
    verify::reset(&context).expect("it can be taken away");
    git_checkpoint::verify(&context, Some("@")).expect("the latest is there");
    assert!(!save(&context, &world, "2").verified);
}

#[test]
fn a_save_that_verifies_needs_no_change() {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    let verifying = SaveOptions { verify: true, ..SaveOptions::default() };
    let first = git_checkpoint::save(&context, &verifying).expect("it can be saved");
    assert!(first.created && first.verified, "{first:?}");
    assert_eq!(shown(&context), first.id);
    verify::reset(&context).expect("it can be taken away");
    let again = git_checkpoint::save(&context, &verifying).expect("it can be saved");
    assert!(!again.created && again.verified && again.id == first.id, "{again:?}");
    assert!(!save(&context, &world, "2").verified, "the note is gone");
}

#[test]
fn only_checkpoints_can_be_verified() {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    assert_eq!(
        git_checkpoint::verify(&context, None).expect_err("none yet").message(),
        "this worktree has no checkpoint yet"
    );
    let error = git_checkpoint::verify(&context, Some("base")).expect_err("a commit");
    assert!(error.message().ends_with("is a commit, not a checkpoint"), "{error}");
    assert_eq!(shown(&context), None);
}

#[test]
fn a_mark_is_not_taken_away_while_a_save_is_at_work() {
    let world = World::with_commit();
    let mut context = Context::open(&world.repo()).expect("a repository");
    save(&context, &world, "1");
    context.settings.lock_timeout = std::time::Duration::ZERO;
    let lock = world.lock();
    for error in [verify::reset(&context).err(), git_checkpoint::verify(&context, None).err()] {
        assert_eq!(error.map(|error| error.kind()), Some(Kind::Race));
    }
    drop(lock);
    // What another test has just forked may hold the lock's file until it runs its program.
    context.settings.lock_timeout = std::time::Duration::from_secs(10);
    verify::reset(&context).expect("the lock is free");
}

#[test]
fn many_at_once_do_not_fail() {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    let ids: Vec<_> = (0..4).filter_map(|n| save(&context, &world, &n.to_string()).id).collect();
    std::thread::scope(|scope| {
        for id in &ids {
            scope.spawn(|| {
                let context = Context::open(&world.repo()).expect("a repository");
                git_checkpoint::verify(&context, Some(&id.to_string())).expect("races are run again");
            });
        }
    });
    assert!(shown(&context).is_some_and(|id| ids.contains(&id)));
}
