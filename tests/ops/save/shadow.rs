//! The chain of checkpoints: parents, messages, marks; and many processes at once.

use super::{
    bench::Bench,
    child::{Order, read_answer},
};
use crate::support::this_program;

#[test]
fn a_chain_begins_at_the_base() {
    let bench = Bench::new("base; echo 1 >>file");
    let first = bench.save_with(&Order { message: Some("the first\n\nwith a body".into()), ..Order::default() });
    bench.run("echo 2 >>file");
    let second = bench.save_with(&Order { session: Some("s-1".into()), ..Order::default() });
    let (first_id, second_id) = (first.id().expect("a checkpoint"), second.id().expect("a checkpoint"));
    let head = bench.git(&["rev-parse", "HEAD"]);
    assert_eq!((first.text("parent"), second.text("parent")), (head.as_str(), first_id));
    assert_eq!(
        bench.git(&["log", "--first-parent", "--format=%H", second_id]),
        format!("{second_id}\n{first_id}\n{head}")
    );
    assert_eq!(second.text("ref"), format!("refs/checkpoints/shadow/{head}/main"));
    assert_eq!(second.paths(), ["M file"]);
    let show = |id: &str, format: &str| bench.git(&["show", "-s", &format!("--format={format}"), id]);
    assert_eq!(
        show(first_id, "%s%n%an <%ae>%n%cn"),
        "the first\ngit-checkpoint <checkpoint@agent.invalid>\ngit-checkpoint"
    );
    assert!(show(first_id, "%b").starts_with("with a body\n\nCheckpoint-Contributor: human\n"));
    assert_eq!(show(second_id, "%s%n%ae"), "file\ns-1@agent.invalid");
    assert_eq!(show(second_id, "%(trailers:key=Checkpoint-Session,valueonly)").trim(), "s-1");
    assert_eq!(show(second_id, "%(trailers:key=Checkpoint-Contributor,valueonly)").trim(), "agent");
    assert!(first.0["verified"] == false && second.0["verified"] == false, "none is verified by itself");
    bench.run("echo 3 >>file");
    let third = bench.save_with(&Order { verify: true, ..Order::default() });
    assert_eq!(bench.git(&["rev-parse", "refs/checkpoints/verified/main"]), third.id().expect("a checkpoint"));
    let events = std::fs::read_to_string(bench.git_dir().join("checkpoint/events.jsonl")).expect("events are logged");
    let kinds: Vec<_> = events
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .map(|event| event["event"].as_str().or(event["type"].as_str()).unwrap_or("?").to_owned())
        .collect();
    assert_eq!(kinds, ["initialize", "checkpoint", "checkpoint", "checkpoint"], "{events}");
}

#[rstest::rstest]
#[case::user("git config user.name 'U <S> er'; git config user.email u@example.com", "U S er|u@example.com")]
#[case::committer(
    "git config user.name U; git config user.email u@x; git config committer.name C; git config committer.email c@x",
    "C|c@x"
)]
#[case::no_identity("true", "git-checkpoint|checkpoint@agent.invalid")]
fn an_identity_is_the_users(#[case] script: &str, #[case] expected: &str) {
    let bench = Bench::new(&format!("base; {script}; echo x >>file"));
    let saved = bench.save();
    let id = saved.id().expect("a checkpoint");
    assert_eq!(bench.git(&["show", "-s", "--format=%an|%ae%n%cn|%ce", id]), format!("{expected}\n{expected}"));
}

#[rstest::rstest]
#[case::trailers("subject\n\nCheckpoint-Session: forged")]
#[case::control("sub\u{1b}[31mject\r\n\nbody\u{0}")]
#[case::comment("# not a comment\n# at all")]
#[case::empty("")]
#[case::blank("  \n\n  ")]
#[case::long("x")]
fn any_message_makes_a_sound_commit(#[case] message: &str) {
    let bench = Bench::new("base; echo x >>file");
    let message = if message == "x" { "long ".repeat(20_000) } else { message.to_owned() };
    let saved = bench.save_with(&Order { message: Some(message), ..Order::default() });
    let id = saved.id().expect("a checkpoint");
    bench.check_repository();
    let contributor = bench.git(&["show", "-s", "--format=%(trailers:key=Checkpoint-Contributor,valueonly)", id]);
    assert_eq!(contributor.trim(), "human");
    assert!(!bench.git(&["show", "-s", "--format=%s", id]).is_empty());
    bench.run("echo y >>file");
    bench.save_warm_and_cold();
}

#[test]
fn neither_hooks_nor_signing_nor_templates_take_part() {
    let bench = Bench::new(
        "base; mkdir -p .git/hooks; for h in pre-commit commit-msg post-commit prepare-commit-msg post-index-change reference-transaction; do printf '#!/bin/sh\\ntouch $W/hook-ran; exit 1\\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done; \
         git config commit.gpgSign true; git config gpg.program false; git config commit.template /no/such/file; echo x >>file",
    );
    assert!(bench.save_with(&Order::default()).is_created());
    assert!(!bench.world.root().join("hook-ran").exists());
}

#[test]
fn eight_processes_at_once_all_succeed() {
    let bench = Bench::new("base; echo u >u");
    let children: Vec<_> = (0..8)
        .map(|number| {
            let directory = bench.root();
            std::fs::write(directory.join(format!("of-{number}")), number.to_string()).expect("files can be written");
            let answer = bench.world.root().join(format!("oracle/parallel-{number}"));
            let paths = (number % 2 == 0).then(|| vec![format!("of-{number}").into()]);
            let order = Order { times: Some(8), allow_empty: true, paths, ..Order::default() };
            let mut command = order.prepared(bench.world.command(this_program()), &answer);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            (command.current_dir(directory).spawn().expect("it runs"), answer)
        })
        .collect();
    for (mut child, answer) in children {
        assert!(child.wait().expect("it ends").success());
        read_answer(&answer).expect("each save succeeds");
    }
    let saved = bench.save_warm_and_cold();
    let count = bench.git(&["rev-list", "--first-parent", "--count", &format!("HEAD..{}", saved.text("ref"))]);
    assert_eq!(count, "64", "nothing was lost, {saved:?}");
}

#[test]
fn a_lock_that_stays_taken_is_a_race() {
    let bench = Bench::new("base; echo x >>file; mkdir .git/checkpoint");
    let file = std::fs::File::create(bench.git_dir().join("checkpoint/lock")).expect("a lock file");
    file.lock().expect("it is free");
    let start = std::time::Instant::now();
    let failure = bench.attempt(&Order { lock_timeout: Some(100), ..Order::default() }).expect_err("it is taken");
    assert!(start.elapsed().as_millis() >= 100);
    assert_eq!(failure.kind, "Race");
    drop(file);
    bench.save_warm_and_cold();
}

/// Another git is at work: its lock is neither waited for nor taken.
#[rstest::rstest]
#[case::index("touch .git/index.lock")]
#[case::head("touch .git/HEAD.lock")]
#[case::config("touch .git/config.lock")]
#[case::packed_refs("touch .git/packed-refs.lock")]
#[case::gc("touch .git/gc.pid")]
fn locks_of_git_do_not_matter(#[case] script: &str) {
    let bench = Bench::new(&format!("base; echo x >>file; {script}"));
    let saved = bench.save();
    assert!(saved.is_created());
    bench.check_repository();
}

#[test]
fn a_ref_that_is_locked_for_good_is_a_race_without_an_id() {
    let bench = Bench::new(
        "base; echo x >>file; d=.git/refs/checkpoints/shadow/$(git rev-parse HEAD); mkdir -p $d; touch $d/main.lock",
    );
    let failure = bench.attempt(&Order::default()).expect_err("the ref cannot be moved");
    assert_eq!(failure.kind, "Race");
    bench.run("rm .git/refs/checkpoints/shadow/*/main.lock");
    assert!(bench.save_warm_and_cold().is_created());
}

#[test]
fn a_read_only_object_store_fails_without_an_id() {
    let bench = Bench::new("base; echo x >>file; chmod -R a-w .git/objects");
    let outcome = bench.attempt(&Order::default());
    bench.run("chmod -R u+w .git/objects");
    // Root is not stopped by permissions.
    if let Ok(saved) = outcome {
        assert!(saved.is_created());
    } else {
        assert_eq!(bench.git(&["for-each-ref", "refs/checkpoints"]), "");
    }
    bench.save_warm_and_cold();
}
