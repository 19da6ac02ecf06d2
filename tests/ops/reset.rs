//! Setting shadows aside and bringing them back.

use git_checkpoint::{
    Context, Kind, ListOptions, Origin, SaveOptions, Saved,
    testing::{
        model::refname,
        ops::reset::{self, Options, ResetDone},
    },
};

use crate::support::World;

fn save(context: &Context, world: &World, text: &str) -> Saved {
    world.write("f", text);
    git_checkpoint::save(context, &SaveOptions::default()).expect("it can be saved")
}

fn subjects(context: &Context, archived: bool) -> usize {
    let mut count = 0;
    git_checkpoint::list(context, &ListOptions { archived, live: !archived, ..Default::default() }, &mut |_| {
        count += 1;
        Ok(true)
    })
    .expect("the list can be read");
    count
}

/// Returns the ref in the archive, and the id of the last checkpoint, of what was set aside.
fn held(done: &ResetDone) -> (String, String) {
    let tip = done.tip.expect("it was set aside");
    (done.archive.clone().expect("it was set aside"), tip.to_string())
}

#[test]
fn a_reset_moves_the_shadow_and_nothing_else() {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    save(&context, &world, "1");
    let last = save(&context, &world, "2");
    let status = world.git(&["status", "--porcelain"]);
    let foreign = || world.git(&["for-each-ref", "refs/heads", "refs/tags"]);
    let before = foreign();

    let plan = reset::reset(&context, &Options { dry_run: true, ..Options::default() }).expect("there is a shadow");
    assert_eq!((plan.checkpoints, plan.dry_run, subjects(&context, false)), (2, true, 2));
    let done = reset::reset(&context, &Options::default()).expect("there is a shadow");
    assert_eq!((done.tip, done.checkpoints), (last.id, 2));
    assert_eq!((subjects(&context, false), subjects(&context, true)), (0, 2));
    let (archive, tip) = held(&done);
    assert_eq!(world.git(&["rev-parse", &archive]).trim(), tip);
    assert_eq!((world.git(&["status", "--porcelain"]), foreign()), (status, before));
    world.assert_sound("after the reset");

    let error = reset::reset(&context, &Options::default()).expect_err("nothing is left");
    assert_eq!(error.kind(), Kind::Refused);
    let afresh = save(&context, &world, "3");
    assert_eq!(afresh.parent.map(|id| id.to_string()).as_deref(), Some(world.git(&["rev-parse", "HEAD"]).trim()));
}

#[test]
fn an_archived_shadow_is_listed_and_brought_back() {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    let first = save(&context, &world, "1");
    save(&context, &world, "2");
    let done = reset::reset(&context, &Options::default()).expect("there is a shadow");
    let listed = reset::list_archived(&context).expect("the archive can be read");
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].r#ref.as_str(), listed[0].checkpoints), (held(&done).0.as_str(), 2));
    assert_eq!((Some(listed[0].tip), listed[0].worktree.to_string()), (done.tip, "main".into()));

    save(&context, &world, "3");
    let error = reset::restore_archived(&context, &listed[0].name).expect_err("a live one is there");
    assert_eq!((error.kind(), error.hint()), (Kind::Refused, Some("'git checkpoint reset' sets it aside first")));
    let second = reset::reset(&context, &Options::default()).expect("there is a shadow");

    let id = first.id.expect("it was saved").to_string();
    let back = reset::restore_archived(&context, &id[..12]).expect("the place is free");
    assert_eq!((back.tip, back.archive), (done.tip, done.archive));
    assert_eq!((subjects(&context, false), subjects(&context, true)), (2, 1));
    let error = reset::restore_archived(&context, &id).expect_err("it is live");
    assert!(error.message().contains("no shadow in the archive"), "{error}");
    assert_eq!(reset::list_archived(&context).expect("the archive can be read")[0].r#ref, held(&second).0);
}

#[test]
fn a_shadow_of_another_worktree_is_not_brought_back_here() {
    let world = World::with_commit();
    let mut shadow = world.shadow("linked", 0);
    let tip = shadow.save("elsewhere", &Origin::default());
    world.git(&["update-ref", &refname::archive_ref(1, tip), &tip.to_string()]);
    world.git(&["update-ref", "-d", &shadow.name()]);
    let context = Context::open(&world.repo()).expect("a repository");
    let error = reset::restore_archived(&context, &tip.to_string()).expect_err("another worktree's");
    assert!(error.message().ends_with("belongs to the worktree 'linked'"), "{error}");
}

#[test]
fn a_broken_shadow_can_be_set_aside() {
    let world = World::with_commit();
    let shadow = world.shadow("main", 0);
    world.git(&["update-ref", &shadow.name(), "HEAD"]);
    let context = Context::open(&world.repo()).expect("a repository");
    world.write("f", "1");
    let error = git_checkpoint::save(&context, &SaveOptions::default()).expect_err("it is no checkpoint");
    assert!(error.hint().is_some_and(|hint| hint.contains("reset")), "{error:?}");
    assert_eq!(reset::reset(&context, &Options::default()).expect("it can be set aside").checkpoints, 0);
    assert!(save(&context, &world, "1").created);
    assert_eq!(reset::list_archived(&context).expect("it is listed").len(), 1);
}

#[test]
fn resets_within_a_second_get_names_of_their_own() {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    save(&context, &world, "1");
    let done = reset::reset(&context, &Options::default()).expect("there is a shadow");
    // The first name is taken again.
    let (archive, tip) = held(&done);
    reset::restore_archived(&context, &tip).expect("the place is free");
    world.git(&["update-ref", &archive, &tip]);
    let again = reset::reset(&context, &Options::default()).expect("there is a shadow");
    assert_ne!(again.archive, done.archive);
}
