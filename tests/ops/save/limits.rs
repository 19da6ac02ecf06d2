//! Limits, which skip and list, and refusals.

use super::{bench::Bench, child::Order};
use crate::support::{World, processes::described};

#[test]
fn large_untracked_files_are_skipped_and_listed() {
    let bench = Bench::new("base; head -c 2000 /dev/zero >large; head -c 1000 /dev/zero >small; head -c 5000 /dev/zero >tracked; git add tracked; git commit -qm t; head -c 6000 /dev/zero >tracked")
        .oracle("git add -A . ':!large'");
    let order = Order { max_file_size: Some(1000), ..Order::default() };
    for order in
        [order.clone(), Order { paths: Some(vec!["large".into(), "small".into(), "tracked".into()]), ..order.clone() }]
    {
        let saved = bench.save_with(&order);
        assert_eq!(saved.skipped(), ["large: too large"]);
        assert_eq!(saved.0["skipped"][0]["size"], 2000);
        assert_eq!(saved.tree(), bench.expected_tree());
        assert!(bench.manifest(saved.id().expect("a checkpoint")).contains("too-large"));
    }
    bench.run("head -c 3000 /dev/zero >small");
    let saved = bench.save_with(&order);
    assert_eq!(saved.skipped(), ["large: too large", "small: too large"], "it has grown");
    assert_eq!(saved.paths(), ["D small"]);
    bench.run("head -c 10 /dev/zero >small; head -c 10 /dev/zero >large");
    let bench = bench.oracle("git add -A");
    let saved = bench.save_with(&order);
    assert_eq!(saved.tree(), bench.expected_tree(), "and has shrunk");
    assert!(saved.skipped().is_empty());
}

#[test]
fn messages_about_unchanged_files_mention_that_some_were_skipped() {
    let world = World::new();
    world.git(&["init", "-q", "."]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "base"]);
    world.git(&["config", "checkpoint.save.maxFileSize", "1000"]);
    let said = || described(&world.checkpoint(&["save"]));
    assert!(said().contains("nothing to save"));
    world.write("large", "x".repeat(2000));
    assert!(said().contains("nothing else to save"), "{}", said());
    world.write("small", "x\n");
    world.done(&["save"]);
    assert!(said().contains("nothing else has changed since"), "{}", said());
}

#[test]
fn a_tracked_file_that_comes_back_has_no_limit() {
    let bench = Bench::new("base; mkdir big; head -c 5000 /dev/zero >big/tracked; commit tracked");
    let order = Order { max_file_size: Some(1000), ..Order::default() };
    bench.run("rm -r big");
    bench.save_with(&order);
    bench.run("mkdir big; head -c 6000 /dev/zero >big/tracked");
    let saved = bench.save_with(&order);
    assert_eq!((saved.paths(), saved.skipped()), (vec!["A big/tracked".into()], vec![]));
    assert_eq!(saved.tree(), bench.expected_tree());
}

#[test]
fn a_limit_holds_without_the_stat_cache_too() {
    let bench = Bench::new("base; head -c 900 /dev/zero >grows; echo x >x");
    let order = Order { max_file_size: Some(1000), ..Order::default() };
    bench.save_with(&order);
    bench.run("head -c 1100 /dev/zero >grows");
    let warm = bench.save_with(&order);
    bench.forget();
    let cold = bench.save_with(&order);
    assert_eq!((cold.tree(), cold.skipped()), (warm.tree(), warm.skipped()));
    assert!(!cold.is_created());
}

#[test]
fn huge_untracked_directories_are_skipped_and_listed() {
    let bench = Bench::new("base; mkdir -p huge/in few dir/huge; for i in 1 2 3 4 5 6; do echo $i >huge/in/$i; echo $i >dir/huge/$i; done; echo 1 >few/1; echo 2 >few/2")
        .oracle("git add -A . ':!huge' ':!dir/huge'");
    let order = Order { max_untracked_files: Some(4), ..Order::default() };
    let saved = bench.save_with(&order);
    assert_eq!(saved.skipped(), ["dir/huge: too many new files", "huge: too many new files"]);
    assert_eq!(saved.tree(), bench.expected_tree());
    assert!(!bench.save_with(&order).is_created());
    // What was captured once is not new: a directory may grow beyond the limit bit by bit.
    bench.run("rm -r huge dir/huge; for i in 3 4 5; do echo $i >few/$i; done");
    let bench = bench.oracle("git add -A");
    bench.save_with(&order);
    bench.run("for i in 6 7 8; do echo $i >few/$i; done");
    let saved = bench.save_with(&order);
    assert_eq!(saved.tree(), bench.expected_tree(), "{saved:?}");
    bench.run("for i in 11 12 13 14 15; do echo $i >few/$i; done");
    let many = bench.save_with(&order);
    assert_eq!(many.skipped(), ["few: too many new files"]);
    assert!(many.paths().is_empty(), "what was captured stays: {many:?}");
    bench.run("echo x >>file; git add file");
    let many = bench.save_with(&order);
    assert_eq!(many.skipped(), ["few: too many new files"]);
    assert_eq!(many.paths(), ["M file"], "also if the index has changed");
    bench.run("rm few/1; echo x >few/2");
    let many = bench.save_with(&order);
    assert_eq!(many.paths(), ["D few/1", "M few/2"]);
}

#[test]
fn a_low_disk_lets_nothing_new_in() {
    let bench = Bench::new("base; echo new >new; : >empty; echo x >>file").oracle("git add -A . ':!new'");
    let order = Order { min_free_space: Some(u64::MAX), ..Order::default() };
    let saved = bench.save_with(&order);
    assert_eq!(saved.skipped(), ["new: low disk space"]);
    assert_eq!(saved.tree(), bench.expected_tree());
    let bench = bench.oracle("git add -A");
    assert_eq!(bench.save_warm_and_cold().paths(), ["A new"]);
    // Captured already: it costs nothing to keep it, whatever happens to the index.
    bench.run("git add file");
    let again = bench.save_with(&order);
    assert!(!again.is_created() && again.skipped().is_empty(), "{again:?}");
    let again = bench.save_with(&order);
    assert!(!again.is_created() && again.skipped().is_empty(), "{again:?}");
}

#[test]
fn a_skipped_file_alone_makes_no_checkpoint() {
    let bench = Bench::new("base; mkfifo pipe");
    let saved = bench.save_warm_and_cold();
    assert!(!saved.is_created(), "{saved:?}");
    assert_eq!(saved.skipped(), ["pipe: special file"]);
}

#[rstest::rstest]
#[case::home("home")]
#[case::above_home("")]
#[case::desktop("home/Desktop")]
#[case::documents("home/Documents")]
#[case::downloads("home/Downloads")]
fn protected_directories_are_refused(#[case] directory: &str) {
    let bench = Bench::new("true").at(&format!("../{directory}"));
    bench.run(&format!("mkdir -p $W/{directory}; cd $W/{directory}; git init -q .; echo x >x"));
    let failure = bench.attempt(&Order::default()).expect_err("it is protected");
    assert_eq!(failure.kind, "Refused");
    assert!(failure.message.contains("refusing to checkpoint the protected directory"), "{failure:?}");
    assert!(failure.hint.expect("a way out").contains("--force"));
    assert_eq!(bench.git(&["for-each-ref"]), "");
    let forced = bench.attempt(&Order { force: true, ..Order::default() }).expect("it is wanted");
    assert!(forced.is_created());
}

#[rstest::rstest]
#[case::below_home("home/project")]
#[case::below_desktop("home/Desktop/project")]
#[case::beside("homely")]
fn directories_beside_and_below_are_not(#[case] directory: &str) {
    let bench = Bench::new("true").at(&format!("../{directory}"));
    bench.run(&format!("mkdir -p $W/{directory}; cd $W/{directory}; git init -q .; echo x >x"));
    assert!(bench.save().is_created());
}

#[test]
fn links_to_protected_directories_do_not_help() {
    let bench =
        Bench::new("mkdir $W/home/Desktop; git init -q $W/home/Desktop; ln -s $W/home/Desktop $W/way").at("../way");
    let failure = bench.attempt(&Order::default()).expect_err("it is protected");
    assert_eq!(failure.kind, "Refused");
    let bench = Bench::new("base; echo x >>file");
    let own = Order { protected_paths: Some(vec![bench.root()]), ..Order::default() };
    assert_eq!(bench.attempt(&own).expect_err("the settings say so").kind, "Refused");
    assert!(bench.save().is_created());
}

#[rstest::rstest]
#[case::none("true", "", "not a git repository")]
#[case::bare("git init -q --bare bare.git", "bare.git", "bare repository")]
#[case::unknown_extension(
    "base; git config core.repositoryFormatVersion 1; git config extensions.fromTheFuture true",
    "",
    "unknown repository extension"
)]
#[case::unknown_ref_storage(
    "base; git config core.repositoryFormatVersion 1; git config extensions.refStorage cloud",
    "",
    "invalid value for 'extensions.refstorage': 'cloud'"
)]
#[case::unknown_object_format(
    "base; git config core.repositoryFormatVersion 1; git config extensions.objectFormat md5",
    "",
    ""
)]
#[case::unknown_format("base; git config core.repositoryFormatVersion 99", "", "")]
#[case::broken_config("base; echo '[[[' >.git/config", "", "cannot open")]
#[case::broken_index("base; echo garbage >.git/index", "", "cannot read the index")]
#[case::torn_index("base; head -c 100 .git/index >t; mv t .git/index", "", "cannot read the index")]
#[case::broken_head("base; echo garbage >.git/HEAD", "", "")]
#[case::head_is_missing_object("base; echo 1234567890123456789012345678901234567890 >.git/HEAD", "", "")]
fn a_broken_repository_is_an_error(#[case] script: &str, #[case] at: &str, #[case] message: &str) {
    let bench = Bench::new(script).at(at);
    let failure = bench.attempt(&Order::default()).expect_err(script);
    assert!(failure.message.contains(message), "{failure:?}");
    assert_ne!(failure.kind, "Internal", "{failure:?}");
    if message.contains("repository") && !message.contains("extension") {
        assert!(failure.hint.is_some(), "{failure:?}");
    }
}

#[test]
fn a_shadow_that_is_no_checkpoint_is_an_error() {
    let bench =
        Bench::new("base; echo x >>file; git update-ref refs/checkpoints/shadow/$(git rev-parse HEAD)/main HEAD");
    let failure = bench.attempt(&Order::default()).expect_err("a commit is no checkpoint");
    assert_eq!(failure.kind, "Corrupt");
    assert!(failure.hint.is_some(), "{failure:?}");
}
