//! The log of operations.

use std::sync::mpsc;

use git_checkpoint::{
    Context, SaveOptions,
    testing::ops::{events, verify},
};

use crate::support::World;

fn names(world: &World, since: Option<i64>) -> Vec<String> {
    let context = Context::open(&world.repo()).expect("a repository");
    let mut names = Vec::new();
    events::read(&context, since, false, &mut |event| {
        names.push(event["event"].as_str().unwrap_or_default().to_owned());
        Ok(true)
    })
    .expect("the log can be read");
    names
}

#[test]
fn events_are_read_in_order_over_a_rotation() {
    let world = World::with_commit();
    assert!(names(&world, None).is_empty(), "no log is no error");
    let context = Context::open(&world.repo()).expect("a repository");
    world.write("f", "1");
    git_checkpoint::save(&context, &SaveOptions::default()).expect("it can be saved");
    let log = world.repo().join(".git/checkpoint/events.jsonl");
    std::fs::rename(&log, log.with_extension("jsonl.1")).expect("the log is there");
    verify::reset(&context).expect("it can be taken away");
    std::fs::write(&log, [&std::fs::read(&log).expect("the log is there")[..], b"damaged {\n"].concat())
        .expect("files can be written");
    git_checkpoint::verify(&context, Some("@")).expect("the latest is there");
    assert_eq!(names(&world, None), ["initialize", "checkpoint", "verify", "verify"]);
    assert!(names(&world, Some(jiff::Timestamp::now().as_second() + 100)).is_empty());
    assert_eq!(names(&world, Some(0)).len(), 4);
}

#[test]
fn a_followed_log_yields_new_events_until_it_is_interrupted() {
    let world = World::with_commit();
    let mut context = Context::open(&world.repo()).expect("a repository");
    let flag = std::sync::Arc::default();
    context.interrupt_by(std::sync::Arc::clone(&flag));
    world.write("f", "1");
    git_checkpoint::save(&context, &SaveOptions::default()).expect("it can be saved");
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        let follower = scope.spawn(move || {
            events::read(&context, None, true, &mut |event| {
                tell.send(event["event"].as_str().unwrap_or_default().to_owned()).expect("the receiver lives");
                Ok(true)
            })
        });
        let next = || told.recv_timeout(std::time::Duration::from_secs(20)).expect("an event");
        assert_eq!((next(), next()), ("initialize".into(), "checkpoint".into()));
        let other = Context::open(&world.repo()).expect("a repository");
        verify::reset(&other).expect("it can be taken away");
        assert_eq!(next(), "verify");
        flag.store(true, std::sync::atomic::Ordering::Relaxed);
        let end = follower.join().expect("it does not panic").expect_err("it was interrupted");
        assert_eq!(end.message(), "interrupted");
    });
}
