//! Named paths: those that are not there, limits, and what an earlier checkpoint left out.

use super::{bench::Bench, child::Order};

fn named(paths: &[&str]) -> Order {
    Order { paths: Some(paths.iter().map(|path| (*path).into()).collect()), ..Order::default() }
}

#[rstest::rstest]
#[case::nothing_there("base; echo u >u", "no/such")]
#[case::below_a_file("base; echo u >u", "file/x")]
#[case::first_checkpoint("base", "nowhere")]
fn a_path_that_is_nowhere_is_an_error(#[case] script: &str, #[case] path: &str) {
    let bench = Bench::new(script);
    if script.contains('u') {
        bench.save_with(&Order::default());
    }
    let failure = bench.attempt(&named(&["file", path])).expect_err("there is no such path");
    assert_eq!(failure.kind, "User");
    assert_eq!(failure.message, format!("pathspec '{path}' did not match any files"));
}

#[rstest::rstest]
#[case::in_the_tree("rm dir/one", "dir/one")]
#[case::a_directory("rm -r dir", "dir")]
#[case::in_the_index_only("echo n >new; git add new; rm new", "new")]
#[case::directory_in_the_index_only("mkdir n; echo n >n/new; git add n; rm -r n", "n")]
#[case::untracked("rm u", "u")]
#[case::removed_and_saved("git rm -q file", "file")]
#[case::ignored("true", "ignored")]
fn a_path_known_to_be_deleted_is_not(#[case] then: &str, #[case] path: &str) {
    let bench = Bench::new("base; echo ignored >.git/info/exclude; echo u >u");
    bench.save();
    bench.run(then);
    bench.save_paths(vec![path.into()]);
}

#[test]
fn limits_do_not_concern_what_git_tracks() {
    let bench = Bench::new(
        "base; mkdir -p src/in few; for i in 1 2 3 4 5 6; do echo $i >src/$i; echo $i >src/in/$i; done; commit src; echo u >u",
    );
    let limits = Order { max_untracked_files: Some(4), max_file_size: Some(1000), ..Order::default() };
    bench.save_with(&limits);
    bench.run("for i in 1 2 3 4 5 6; do echo more >>src/$i; done; head -c 2000 /dev/zero >src/1; echo new >src/new");
    bench.run(
        "mkdir new; for i in 1 2 3 4 5 6; do echo $i >new/$i; done; head -c 2000 /dev/zero >staged; git add new staged",
    );
    let saved = bench.save_with(&Order { paths: named(&["src", "new", "staged"]).paths, ..limits.clone() });
    assert!(saved.skipped().is_empty(), "{saved:?}");
    assert_eq!(saved.tree(), bench.expected_tree());
    bench.run("mkdir src/many; for i in 1 2 3 4 5 6; do echo $i >src/many/$i; done; head -c 2000 /dev/zero >src/large");
    let saved = bench.save_with(&Order { paths: named(&["src"]).paths, ..limits.clone() });
    assert_eq!(saved.skipped(), ["src/large: too large", "src/many: too many new files"]);
    let full = bench.save_with(&limits);
    assert_eq!((full.tree(), full.skipped()), (saved.tree(), saved.skipped()), "as a pass over all");
}

#[test]
fn a_file_that_is_no_longer_skipped_is_not_listed() {
    let bench = Bench::new(
        "base; head -c 2000 /dev/zero >gone; head -c 2000 /dev/zero >staged; head -c 2000 /dev/zero >stays; mkfifo pipe; echo u >u",
    );
    let limits = Order { max_file_size: Some(1000), ..Order::default() };
    assert_eq!(bench.save_with(&limits).skipped().len(), 4);
    bench.run("rm gone pipe; echo x >>file");
    let saved = bench.save_with(&Order { paths: named(&["file"]).paths, ..limits.clone() });
    let manifest = bench.manifest(saved.id().expect("a checkpoint"));
    assert!(manifest.contains("\"stays\"") && !manifest.contains("gone") && !manifest.contains("pipe"), "{manifest}");
    bench.run("git add staged");
    let saved = bench.save_with(&Order { paths: named(&["staged"]).paths, ..limits });
    assert!(saved.skipped().is_empty(), "{saved:?}");
    assert!(!bench.manifest(saved.id().expect("a checkpoint")).contains("staged"));
}

#[test]
fn the_root_stands_for_everything() {
    let bench = Bench::new("base; echo u >u");
    bench.save();
    bench.run("echo v >v; rm dir/one");
    let saved = bench.save_paths(vec!["".into()]);
    assert_eq!(saved.paths(), ["D dir/one", "A v"]);
}
