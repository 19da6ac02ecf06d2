//! What is ignored, and what git tracks all the same.

use super::{
    bench::{Bench, Scenario},
    child::Order,
};

#[rstest::rstest]
#[case::patterns(
    "printf '*.o\\n/top\\nbuild/\\n!keep.o\\n' >.gitignore",
    "touch a.o keep.o top dir/top; mkdir build dir/build; echo x >build/x; echo y >dir/build/y; echo z >z"
)]
#[case::nested(
    "echo '*.log' >.gitignore; echo '!wanted.log' >dir/.gitignore",
    "touch a.log dir/a.log dir/wanted.log dir/deep/wanted.log"
)]
#[case::nothing_below_an_ignored_directory(
    "printf 'out/\\n!out/keep\\n' >.gitignore",
    "mkdir out; touch out/keep out/other"
)]
#[case::directory_contents("printf 'out/*\\n!out/keep\\n' >.gitignore", "mkdir out; touch out/keep out/other")]
#[case::stars(
    "printf 'a/**/z\\n**/any\\ndeep/**\\n' >.gitignore",
    "mkdir -p a/b/c deep/er; touch a/z a/b/z a/b/c/z any dir/any deep/er/x"
)]
#[case::classes(
    "printf '[abc].txt\\nq?\\n\\\\#hash\\n\\\\!bang\\ntrail\\\\ \\n' >.gitignore",
    "touch a.txt d.txt qq qqq '#hash' '!bang' 'trail ' trail"
)]
#[case::carriage_return("printf 'x.o\\r\\ny.o\\n' >.gitignore", "touch x.o y.o z.o")]
#[case::byte_order_mark("printf '\\xef\\xbb\\xbfx.o\\n' >.gitignore", "touch x.o y.o")]
#[case::info_exclude("echo '*.o' >.git/info/exclude", "touch a.o a.c")]
#[case::info_exclude_and_negation("echo '*.o' >.git/info/exclude; echo '!keep.o' >.gitignore", "touch a.o keep.o")]
#[case::excludes_file("echo '*.o' >$W/ignore; git config core.excludesFile $W/ignore", "touch a.o a.c")]
#[case::excludes_file_by_default(
    "mkdir -p $W/home/.config/git; echo '*.o' >$W/home/.config/git/ignore",
    "touch a.o a.c"
)]
#[case::empty_excludes_file(
    "mkdir -p $W/home/.config/git; echo '*.o' >$W/home/.config/git/ignore; git config core.excludesFile ''",
    "touch a.o a.c"
)]
#[case::empty_excludes_file_after_another(
    "echo '*.o' >$W/ignore; git config core.excludesFile $W/ignore; git config --add core.excludesFile ''",
    "touch a.o a.c"
)]
#[case::excludes_file_in_home("echo '*.o' >$W/home/ignore; git config core.excludesFile '~/ignore'", "touch a.o a.c")]
#[case::ignored_by_itself("echo .gitignore >.gitignore", "touch a")]
#[case::everything("echo '*' >.gitignore", "touch a; echo x >>file")]
#[case::everything_but("printf '/*\\n!/src\\n!/.gitignore\\n' >.gitignore", "mkdir src other; touch src/a other/b")]
#[case::ignore_case("git config core.ignoreCase true; echo '*.O' >.gitignore", "touch a.o b.O")]
#[case::link_is_no_directory("echo 'build/' >.gitignore", "ln -s dir build")]
#[case::link_to_ignored_directory("echo 'build/' >.gitignore; mkdir build; echo x >build/x", "ln -s build b")]
#[case::gitignore_is_a_link("echo '*.o' >rules; ln -s rules .gitignore", "touch a.o")]
#[case::gitignore_is_a_directory("mkdir .gitignore; echo x >.gitignore/x", "touch a.o")]
#[case::odd_patterns(r"printf 'caf\xe9\na b\n*\\\n' >.gitignore", r"touch $'caf\xe9' 'a b' 'c\'")]
#[case::deep_rules(
    "mkdir -p p/q/r; echo 'x' >p/.gitignore; echo '!x' >p/q/.gitignore; echo '/x' >p/q/r/.gitignore",
    "touch p/x p/q/x p/q/r/x p/q/r/y"
)]
fn rules_are_those_of_git(#[case] rules: &str, #[case] then: &str) {
    Scenario::new(&format!("base; {rules}"), then).check();
    Scenario::new(&format!("base; {rules}; {then}"), "echo x >>dir/one").check();
}

#[test]
fn an_empty_setting_of_the_command_line_names_no_file() {
    let bench = Bench::new("base; mkdir -p $W/home/.config/git; echo '*.o' >$W/home/.config/git/ignore; touch a.o a.c")
        .oracle("git -c core.excludesFile= add -A");
    let order = Order {
        from_environment: true,
        environment: vec![("GIT_CONFIG_PARAMETERS".into(), "'core.excludesFile'=''".into())],
        ..Order::default()
    };
    let saved = bench.save_with(&order);
    assert_eq!(saved.tree(), bench.expected_tree());
    assert_eq!(saved.paths(), ["A a.c", "A a.o"]);
}

#[rstest::rstest]
#[case::file(
    "echo '*.o' >.gitignore; echo 1 >a.o; git add -f a.o .gitignore; git commit -qm x",
    "echo 2 >a.o; echo 3 >b.o"
)]
#[case::directory(
    "mkdir out; echo 1 >out/a; git add out; git commit -qm x; echo out/ >.gitignore",
    "echo 2 >out/a; echo 3 >out/b"
)]
#[case::deep(
    "mkdir -p out/in; echo 1 >out/in/a; git add out; git commit -qm x; echo out >.gitignore",
    "echo 2 >out/in/a; echo 3 >out/in/b; mkdir out/x; echo 4 >out/x/c"
)]
#[case::deleted("echo '*.o' >.gitignore; echo 1 >a.o; git add -f a.o; git commit -qm x", "rm a.o")]
#[case::replaced_by_a_directory(
    "echo 'a.o' >.gitignore; echo 1 >a.o; git add -f a.o; git commit -qm x",
    "rm a.o; mkdir a.o; echo x >a.o/x"
)]
#[case::staged_only("echo '*.o' >.gitignore; echo 1 >a.o; git add -f a.o", "echo 2 >a.o")]
fn tracked_files_are_captured_whatever_the_rules(#[case] first: &str, #[case] then: &str) {
    Scenario::new(&format!("base; {first}"), then).check();
}

/// The index has the path all the time, so that git captures the file when it is there again.
#[rstest::rstest]
#[case::deleted("rm a.o", "echo 2 >a.o")]
#[case::empty("rm a.o", ": >a.o")]
#[case::a_directory_in_between("rm a.o; mkdir a.o; echo x >a.o/x", "rm -r a.o; echo 2 >a.o")]
#[case::a_link_in_between("rm a.o; ln -s file a.o", "rm a.o; echo 2 >a.o")]
#[case::a_special_file_in_between("rm a.o; mkfifo a.o", "rm a.o; echo 2 >a.o")]
#[case::a_repository_in_between(
    "rm a.o; git init -q a.o; git -C a.o commit -q --allow-empty -m 1",
    "rm -r a.o; echo 2 >a.o"
)]
#[case::an_empty_repository_in_between("rm a.o; git init -q a.o", "rm -r a.o; echo 2 >a.o")]
#[case::moved_away_and_back("mv a.o b", "mv b a.o; echo 2 >a.o")]
#[case::its_directory("mv out t", "mv t out; echo 2 >out/in/a")]
#[case::a_file_in_place_of_its_directory("mv out t; echo x >out", "rm out; mv t out; echo 2 >out/in/a")]
#[case::beside_new_ignored_files("rm out/in/a", "echo 2 >out/in/a; echo 3 >out/in/b; echo 4 >out/c")]
#[case::as_a_link("rm a.o", "ln -s file a.o")]
#[case::as_a_program("rm a.o", "echo 2 >a.o; chmod +x a.o")]
fn a_tracked_file_that_comes_back_is_captured(#[case] leave: &str, #[case] come_back: &str) {
    let bench = Bench::new(
        "base; mkdir -p out/in; echo 1 >out/in/a; echo 1 >a.o; commit tracked; printf '*.o\\nout\\n' >.gitignore",
    );
    bench.save();
    for _ in 0..2 {
        bench.run(leave);
        // Git refuses a special file, and records an ignored repository.
        bench.save_with(&Order::default());
        assert!(!bench.save_with(&Order::default()).is_created(), "nothing has changed");
        bench.run(come_back);
        bench.save_warm_and_cold();
    }
}

/// Git reads them from the index.
#[rstest::rstest]
#[case::of_the_root("echo '*.o' >.gitignore; commit rules; git sparse-checkout set --no-cone /dir/")]
#[case::in_cone_mode("mkdir e; echo '*.o' >e/.gitignore; commit rules; git sparse-checkout set dir")]
#[case::by_hand("echo '*.o' >.gitignore; commit rules; git update-index --skip-worktree .gitignore; rm .gitignore")]
#[case::changed_in_the_worktree(
    "echo '*.o' >.gitignore; commit rules; git sparse-checkout set --no-cone /dir/; echo '*.x' >.gitignore"
)]
fn rules_that_sparse_checkout_leaves_out_count(#[case] first: &str) {
    let bench = Bench::new(&format!("base; {first}")).oracle("git add -A --sparse");
    bench.run("mkdir -p dir e; touch dir/a.o dir/a.x e/a.o e/a.x");
    bench.save_warm_and_cold();
    bench.run("touch dir/b.o dir/b.x e/b.o e/b.x");
    bench.save_warm_and_cold();
    if first.contains("sparse-checkout") {
        bench.run("touch dir/c.o dir/c.x e/c.o e/c.x");
        bench.save_paths(vec!["dir".into(), "e".into()]);
    }
}

/// Only full passes look at unnamed paths.
#[rstest::rstest]
#[case::becomes_ignored("echo u >u.o; mkdir d; echo v >d/v.o", "echo '*.o' >.gitignore")]
#[case::directory_becomes_ignored("mkdir -p d/e; echo u >d/u; echo v >d/e/v", "echo d/ >.gitignore")]
#[case::no_longer_ignored("echo '*.o' >.gitignore; echo u >u.o", "rm .gitignore")]
#[case::negated_later("echo '*.o' >.gitignore; echo u >u.o; echo v >v.o", "echo '!v.o' >>.gitignore")]
#[case::by_info_exclude("echo u >u.o", "echo '*.o' >.git/info/exclude")]
#[case::by_setting("echo u >u.o; echo '*.o' >$W/ignore", "git config core.excludesFile $W/ignore")]
#[case::tracked_stays("echo '*.x' >.gitignore", "echo 'file' >>.gitignore; echo x >>file")]
#[case::becomes_ignored_and_changes("echo u >u.o", "echo '*.o' >.gitignore; echo v >u.o")]
#[case::added_by_force("echo '*.o' >.gitignore; echo u >u.o", "git add -f u.o")]
#[case::untracked_again("echo '*.o' >.gitignore; echo u >u.o; git add -f u.o", "git rm -q --cached u.o")]
fn rules_may_change(#[case] first: &str, #[case] then: &str) {
    Scenario::new(&format!("base; {first}"), then).without_hints().check();
}

#[test]
fn settings_exclude_untracked_files_too() {
    let bench = Bench::new(
        "base; echo t >t.tmp; git add t.tmp; git commit -qm t; echo t >>t.tmp; echo u >u.tmp; mkdir d; echo v >d/v.tmp",
    )
    .oracle("git add -A . ':!u.tmp' ':!d'");
    let order = Order { exclude: vec!["*.tmp".into()], ..Order::default() };
    let saved = bench.save_with(&order);
    assert_eq!(saved.tree(), bench.expected_tree());
    assert_eq!(saved.paths(), ["M t.tmp"]);
    let bench = bench.oracle("git add -A");
    assert_eq!(bench.save_warm_and_cold().paths(), ["A d/v.tmp", "A u.tmp"], "without the setting");
    let bench = bench.oracle("git add -A . ':!u.tmp' ':!d'");
    assert_eq!(bench.save_with(&order).tree(), bench.expected_tree(), "and with it again");
}

#[test]
fn a_named_path_that_is_ignored_is_left_out() {
    let bench = Bench::new("base; echo '*.o' >.gitignore; echo x >>file");
    bench.save();
    bench.run("echo u >u.o; mkdir d; echo v >d/v.o; echo w >d/w");
    let paths = ["u.o", "d/v.o", "d/w", "dir"];
    let saved = bench.save_paths(paths.iter().map(|path| (*path).into()).collect());
    assert_eq!(saved.paths(), ["A d/w"]);
}

#[test]
fn a_named_directory_stands_for_what_is_in_it() {
    let bench = Bench::new("base; echo x >>file; echo '*.o' >.gitignore");
    bench.save();
    bench.run("echo x >>dir/one; rm dir/deep/two; mkdir dir/new; echo n >dir/new/n; touch dir/x.o");
    let saved = bench.save_paths(vec!["dir".into()]);
    assert_eq!(saved.paths(), ["D dir/deep/two", "A dir/new/n", "M dir/one"]);
    bench.run("rm -r dir");
    assert_eq!(bench.save_paths(vec!["dir".into()]).paths(), ["D dir/new/n", "D dir/one"]);
    bench.run("echo all >all; rm file");
    assert_eq!(bench.save_paths(vec!["".into()]).paths(), ["A all", "D file"], "the root stands for everything");
}
