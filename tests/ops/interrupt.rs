//! Interrupted operations leave nothing behind that breaks the next command.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use git_checkpoint::{Context, SaveOptions};

use crate::support::World;

#[test]
fn a_save_ends_and_the_next_one_works() {
    let world = World::with_commit();
    world.write("new", "content\n");
    let flag = Arc::new(AtomicBool::new(true));
    let mut context = Context::open(&world.repo()).expect("a repository");
    context.interrupt_by(flag.clone());
    let error = git_checkpoint::save(&context, &SaveOptions::default()).expect_err("it was interrupted");
    assert_eq!(error.message(), "interrupted");
    assert_eq!(world.git(&["for-each-ref", "refs/checkpoints"]), "");
    flag.store(false, Ordering::Relaxed);
    let saved = git_checkpoint::save(&context, &SaveOptions::default()).expect("nothing is locked");
    assert!(saved.created);
}
