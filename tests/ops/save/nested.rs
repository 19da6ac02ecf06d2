//! Repositories inside the worktree: submodules are commits, all others are boundaries.

use std::os::unix::fs::MetadataExt as _;

use super::bench::{Bench, Scenario};

/// A library with two commits, and a repository that has it as the submodule `sub`.
const SUBMODULE: &str = "
git init -q -b main ../lib; echo 1 >../lib/l; git -C ../lib add l; git -C ../lib commit -qm 1
base; git -c protocol.file.allow=always submodule --quiet add ../lib sub; commit sub
";

/// Makes a repository with a commit.
const NESTED: &str =
    "nest() { git init -q -b main $1; echo inner >$1/inner; git -C $1 add inner; git -C $1 commit -qm inner; }; base;";

#[rstest::rstest]
#[case::untouched("true", "echo x >>file")]
#[case::moved_head("true", "git -C sub commit -q --allow-empty -m 2")]
#[case::dirty("true", "echo dirty >>sub/l; echo new >sub/new; echo x >>file")]
#[case::not_populated("git submodule --quiet deinit -f sub", "echo x >>file")]
#[case::deinitialized_later("true", "git submodule --quiet deinit -f sub; echo x >>file")]
#[case::removed("true", "rm -rf sub")]
#[case::directory_is_left_empty("true", "rm -rf sub; mkdir sub")]
#[case::replaced_by_a_file("true", "rm -rf sub; echo x >sub")]
#[case::replaced_by_a_link("true", "rm -rf sub; ln -s dir sub")]
#[case::replaced_by_files("true", "rm -rf sub; git rm -q --cached sub; mkdir sub; echo x >sub/x")]
#[case::detached_head("true", "git -C sub checkout -q --detach; git -C sub commit -q --allow-empty -m 3")]
#[case::staged_other_commit(
    "git -C sub commit -q --allow-empty -m 2; git add sub",
    "git -C sub commit -q --allow-empty -m 3"
)]
#[case::new("true", "git -c protocol.file.allow=always submodule --quiet add ../lib other")]
#[case::reftable(
    "git init -q --ref-format=reftable other; git -C other commit -q --allow-empty -m 1; git add other",
    "git -C other commit -q --allow-empty -m 2"
)]
#[case::ignore_all("git config submodule.sub.ignore all", "git -C sub commit -q --allow-empty -m 2; echo x >>file")]
#[case::skip_worktree("git update-index --skip-worktree sub", "rm -rf sub")]
fn submodules_are_commits(#[case] first: &str, #[case] then: &str) {
    Scenario::new(&format!("{SUBMODULE}{first}"), then).without_hints().check();
}

#[rstest::rstest]
#[case::removed("mv sub $W/home/t", "mv $W/home/t sub")]
#[case::left_empty("mv sub $W/home/t", "mkdir sub")]
#[case::a_file_in_between("mv sub $W/home/t; echo x >sub", "rm sub; mv $W/home/t sub")]
#[case::a_file_and_then_empty("mv sub $W/home/t; echo x >sub", "rm sub; mkdir sub")]
#[case::ignored("echo sub >.gitignore; mv sub $W/home/t", "mv $W/home/t sub")]
fn a_submodule_that_comes_back_is_a_commit_again(#[case] leave: &str, #[case] come_back: &str) {
    let bench = Bench::new(SUBMODULE);
    bench.save();
    bench.run(leave);
    bench.save();
    let inode = || bench.git_dir().join("checkpoint/index").metadata().expect("it is there").ino();
    let before = inode();
    assert!(!bench.save().is_created(), "nothing has changed");
    // While a file is in its place, the index is read again, and the cache written.
    assert!(inode() == before || bench.root().join("sub").is_file());
    bench.run(come_back);
    bench.save_warm_and_cold();
}

#[rstest::rstest]
#[case::committed("nest n", "echo x >>file", &["n"])]
#[case::moves_on("nest n", "git -C n commit -q --allow-empty -m 2", &["n"])]
#[case::appears("true", "nest n; mkdir d; nest d/m", &["d/m", "n"])]
#[case::disappears("nest n", "rm -rf n", &[])]
#[case::becomes_plain("nest n", "rm -rf n/.git", &[])]
#[case::dirty("nest n; echo d >n/d", "echo x >>n/inner", &["n"])]
#[case::deep("mkdir -p a/b; nest a/b/n", "echo x >a/b/x", &["a/b/n"])]
#[case::in_nested("nest n; nest n/m", "echo x >>file", &["n"])]
#[case::gitfile("nest n; mv n/.git $W/home/n; echo 'gitdir: ../../home/n' >n/.git", "echo x >>file", &["n"])]
#[case::ignored("nest n; echo n/ >.gitignore", "echo x >>file", &[])]
#[case::replaced_by_a_file("nest n", "rm -rf n; echo x >n", &[])]
#[case::captured_before("mkdir n; echo 1 >n/1; echo 2 >n/2", "nest n", &["n"])]
#[case::sha256_inside("git init -q n", "rm -rf n; nest n", &["n"])]
#[case::objects_are_packed("nest n; git -C n gc -q", "git -C n pack-refs --all", &["n"])]
#[case::reftable("git init -q --ref-format=reftable n; echo inner >n/inner; git -C n add inner; git -C n commit -qm inner", "git -C n commit -q --allow-empty -m 2", &["n"])]
#[case::mid_conflict("nest n; git -C n checkout -qb s; echo s >n/inner; git -C n commit -qam s; git -C n checkout -q main; echo m >n/inner; git -C n commit -qam m; git -C n merge -q s >/dev/null 2>&1 || true", "true", &["n"])]
fn nested_repositories_are_boundaries(#[case] first: &str, #[case] then: &str, #[case] nested: &[&str]) {
    // An unborn repository is an error to git.
    let oracle = "test -f n/inner -o ! -d n/.git && git add -A || git add -A . ':!n'";
    let (bench, _, saved) =
        Scenario::new(&format!("{NESTED}{first}"), &format!("{}{then}", NESTED.trim_end_matches(" base;")))
            .oracle(oracle)
            .without_hints()
            .check();
    let manifest = saved.id().map(|id| bench.manifest(id)).unwrap_or_default();
    for path in nested {
        assert!(manifest.contains(&format!("path = \"{path}\"")), "{path}: {manifest}");
    }
    assert_eq!(manifest.matches("[[nested]]").count(), nested.len(), "{manifest}");
}

#[rstest::rstest]
#[case::clean("nest n", "dirty = false")]
#[case::edited("nest n; echo x >>n/inner", "dirty = true")]
#[case::staged("nest n; echo x >>n/inner; git -C n add inner", "dirty = true")]
#[case::untracked("nest n; echo x >n/new", "dirty = true")]
#[case::removed("nest n; rm n/inner", "dirty = true")]
#[case::executable("nest n; chmod +x n/inner", "dirty = true")]
#[case::intended("nest n; echo x >n/new; git -C n add -N new", "dirty = true")]
#[case::removed_from_the_index("nest n; git -C n rm -q --cached inner", "dirty = true")]
#[case::no_cached_tree("nest n; git -C n read-tree --empty; git -C n add inner", "dirty = false")]
#[case::empty_directory("nest n; mkdir n/empty", "dirty = false")]
#[case::deep("nest n; mkdir -p n/a/b; echo x >n/a/b/new", "dirty = true")]
#[case::ignored_inside("nest n; echo x >n/new; mkdir n/.git/info; echo new >n/.git/info/exclude", "dirty = false")]
fn the_manifest_tells_head_and_dirt(#[case] script: &str, #[case] expected: &str) {
    let bench = Bench::new(&format!("{NESTED}{script}"));
    let saved = bench.save_warm_and_cold();
    let manifest = bench.manifest(saved.id().expect("a checkpoint"));
    let head = bench.git(&["-C", "n", "rev-parse", "HEAD"]);
    assert!(manifest.contains(&head) && manifest.contains(expected), "{manifest}");
}

/// It has checkpoints of its own.
#[test]
fn another_worktree_inside_is_a_boundary_and_no_commit() {
    let bench = Bench::new("base; git worktree add -q n; echo x >>file; echo x >>n/file").oracle("git add -A . ':!n'");
    let saved = bench.save_warm_and_cold();
    let manifest = bench.manifest(saved.id().expect("a checkpoint"));
    assert!(manifest.contains("path = \"n\"") && manifest.contains("worktree = true"), "{manifest}");
    assert!(manifest.contains(&bench.git(&["-C", "n", "rev-parse", "HEAD"])), "{manifest}");
    bench.run("git -C n commit -qam 2");
    assert!(!bench.save().is_created(), "its commits are no change here");
}

/// An untracked repository may say what is to be run: looking whether it is dirty must not.
#[test]
fn nothing_that_a_nested_repository_configures_is_run() {
    let filters = "git -C n config filter.evil.clean \"touch $W/oracle/ran; cat\"; git -C n config filter.evil.smudge cat; \
        git -C n config core.fsmonitor \"touch $W/oracle/ran; false\"; echo '* filter=evil' >n/.gitattributes";
    let bench = Bench::new(&format!("{NESTED}nest n; nest n/m; echo x >>n/inner; {filters}"));
    let saved = bench.save_warm_and_cold();
    assert!(bench.manifest(saved.id().expect("a checkpoint")).contains("dirty = true"));
    bench.run("test ! -e $W/oracle/ran");
}

#[rstest::rstest]
#[case::sha256_in_sha1("sha1", "sha256")]
#[case::sha1_in_sha256("sha256", "sha1")]
fn a_repository_of_another_hash_is_only_listed(#[case] outer: &str, #[case] inner: &str) {
    let nest = format!("git init -q --object-format={inner} n; git -C n commit -q --allow-empty -m 1");
    let bench = Bench::new(&format!("base --object-format={outer}; echo u >u; {nest}")).oracle("git add -A . ':!n'");
    let saved = bench.save_warm_and_cold();
    assert_eq!(saved.paths(), ["A u"]);
    let manifest = bench.manifest(saved.id().expect("a checkpoint"));
    assert!(manifest.contains("path = \"n\"") && !manifest.contains("head = "), "{manifest}");
    bench.run("echo x >>file");
    bench.save_paths(vec!["file".into(), "n".into()]);
}

#[rstest::rstest]
#[case::unborn("git init -q n")]
#[case::empty_dot_git("mkdir n/.git")]
#[case::empty_gitfile(": >n/.git")]
#[case::gitfile_to_nowhere("echo 'gitdir: /no/such/place' >n/.git")]
#[case::garbage_gitfile("head -c 100 /dev/urandom >n/.git")]
#[case::head_is_garbage("git init -q n; echo garbage >n/.git/HEAD")]
#[case::no_head("git init -q n; rm n/.git/HEAD")]
#[case::config_is_garbage("git init -q n; echo '[[[' >n/.git/config")]
#[case::unknown_format("git init -q n; git -C n config core.repositoryFormatVersion 99")]
#[case::dangling_link("ln -s nowhere n/.git")]
#[case::ref_to_missing_object(
    "git init -q -b main n; mkdir -p n/.git/refs/heads; echo 1234567890123456789012345678901234567890 >n/.git/refs/heads/x; echo 'ref: refs/heads/y' >n/.git/HEAD"
)]
fn unborn_and_broken_repositories_are_never_fatal(#[case] script: &str) {
    let bench = Bench::new(&format!("base; echo u >u; mkdir n; echo content >n/content; {script}"))
        .oracle("git add -A . ':!n'");
    let saved = bench.save_warm_and_cold();
    assert_eq!(saved.paths(), ["A u"], "its content is not ours");
    let manifest = bench.manifest(saved.id().expect("a checkpoint"));
    assert!(manifest.contains("path = \"n\""), "{manifest}");
    bench.run("echo v >v; echo more >n/more");
    assert_eq!(bench.save_warm_and_cold().paths(), ["A v"]);
}

/// Git tracks files below a directory that has a `.git` now: they are still the outer repository's.
#[test]
fn tracked_files_in_a_nested_repository_stay_captured() {
    Scenario::new("base; git init -q dir; echo x >>dir/one; echo new >dir/new", "echo y >>dir/deep/two; rm dir/one")
        .check();
    let inner = "git -C dir add -A; git -C dir commit -qm inner";
    Scenario::new(
        &format!("base; git init -q dir; echo x >>dir/one; echo new >dir/new; {inner}"),
        "echo y >>dir/deep/two",
    )
    .check();
    Scenario::new("base", &format!("git init -q dir; {inner}; echo x >>dir/one")).without_hints().check();
}

#[test]
fn named_paths_in_a_nested_repository_are_not_ours() {
    let bench = Bench::new(&format!("{NESTED}nest n; echo u >u"));
    let first = bench.save();
    bench.run("echo x >>n/inner; echo new >n/new");
    let saved = bench.save_paths(vec!["n/inner".into(), "n/new".into()]);
    assert!(!saved.is_created() && saved.id() == first.id(), "{saved:?}");
    bench.run("git -C n commit -qam second");
    let saved = bench.save_paths(vec!["n".into()]);
    assert_eq!(saved.paths(), ["M n"]);
    let full = bench.save();
    assert_eq!(full.tree(), saved.tree());
}
