//! Kinds of files and what becomes of them: modes, links, swaps of files and directories, odd names.

use super::{
    bench::{Bench, Scenario},
    child::Order,
};

#[rstest::rstest]
#[case::nothing("base", "true")]
#[case::edit("base", "echo new >>file; echo new >dir/deep/two")]
#[case::create("base", "echo new >new; mkdir -p fresh/sub; echo x >fresh/sub/x")]
#[case::delete("base", "rm file dir/deep/two")]
#[case::delete_all("base", "rm -r file dir")]
#[case::rename("base", "mv file renamed; mv dir/deep dir/shallow")]
#[case::empty_files("base", ": >empty; : >file")]
#[case::from_empty("base; : >empty; commit", "echo x >empty; rm dir/one")]
#[case::empty_file_is_replaced("base; : >empty; commit", "rm empty; : >empty; : >other")]
#[case::same_content_twice("base", "cp file copy; cp dir/one dir/deep/one")]
#[case::executable("base", "chmod +x file")]
#[case::no_longer_executable("base; chmod +x file; commit", "chmod -x file")]
#[case::odd_permissions("base", "chmod 600 file; chmod 700 dir/one; chmod 444 dir/deep/two")]
#[case::group_executable_only("base", "chmod 654 file")]
#[case::read_only("base", "echo x >locked; chmod 400 locked")]
#[case::link("base", "ln -s file link")]
#[case::dangling_link("base", "ln -s nowhere link; ln -s /does/not/exist dir/absolute")]
#[case::circular_link("base", "ln -s a b; ln -s b a; ln -s . dot; ln -s .. dir/up")]
#[case::link_to_directory("base", "ln -s dir link; ln -s dir/deep dir/link")]
#[case::link_is_edited("base; ln -s file link; commit", "ln -sfn dir link")]
#[case::long_link("base", "ln -s \"$(printf 'x%.0s' $(seq 500))\" link")]
#[case::file_to_link("base", "ln -sf dir/one file")]
#[case::link_to_file("base; ln -s file link; commit", "rm link; echo file >link")]
#[case::file_to_directory("base", "rm file; mkdir file; echo inner >file/inner")]
#[case::directory_to_file("base", "rm -r dir; echo now >dir")]
#[case::directory_to_link("base; mkdir other; echo x >other/one; commit", "rm -r dir; ln -s other dir")]
#[case::directory_to_link_outside("base; mkdir -p $W/out; echo x >$W/out/one", "rm -r dir; ln -s $W/out dir")]
#[case::link_to_directory_swap("base; ln -s dir link; commit", "rm link; mkdir link; echo x >link/one")]
#[case::inner_directory_to_link("base", "rm -r dir/deep; ln -s . dir/deep")]
#[case::file_to_empty_directory("base", "rm file; mkdir file")]
#[case::directory_to_executable("base", "rm -r dir; echo '#!/bin/sh' >dir; chmod +x dir")]
#[case::swap_both("base", "mv file t; mv dir file; mv t dir")]
#[case::names_around_a_slash(
    "base; echo 1 >a.b; echo 2 >a0; echo 3 >a; commit",
    "rm a; mkdir a; echo 4 >a/b; echo 5 >a-b"
)]
#[case::names_around_a_slash_back("base; mkdir a; echo 1 >a/b; echo 2 >a.b; echo 3 >a0; commit", "rm -r a; echo 4 >a")]
#[case::case_only_rename("base", "mv file FILE; mv dir t; mv t DIR")]
#[case::case_siblings("base", "echo a >File; echo b >FILE; mkdir Dir; echo c >Dir/one")]
#[case::empty_directories("base", "mkdir -p void/inner/most; mkdir dir/void")]
#[case::last_file_of_a_directory("base", "rm dir/deep/two; echo x >dir/deep/three")]
#[case::deep("base", "d=$(printf 'd%.0s/' $(seq 60)); mkdir -p $d; echo x >$d/x; echo y >d/y")]
#[case::deep_is_deleted(
    "base; d=$(printf 'd%.0s/' $(seq 60)); mkdir -p $d; echo x >$d/x; commit",
    "rm -r d; echo d >d"
)]
#[case::binary("base", "head -c 100000 /dev/urandom >$W/r; cp $W/r bin; printf 'a\\0b' >nul")]
#[case::large("base", "seq 500000 >large")]
#[case::large_is_edited("base; seq 300000 >large; commit", "sed -i 's/^777$/x/' large")]
#[case::many("base", "mkdir many; for i in $(seq 200); do echo $i >many/$i; done")]
#[case::many_edits(
    "base; mkdir many; for i in $(seq 200); do echo $i >many/$i; done; commit",
    "for i in $(seq 2 200); do echo x >>many/$i; done; rm many/1"
)]
#[case::non_utf8("base", r"echo x >$'\xff\xfe'; mkdir $'d\xe9'; echo y >$'d\xe9/caf\xe9'")]
#[case::odd_names("base", r#"echo 1 >$'new\nline'; echo 2 >'back\slash'; echo 3 >'qu"ote'; echo 4 >"it's"; echo 5 >' lead'; echo 6 >'trail '; echo 7 >$'tab\t'; echo 8 >'#hash'; echo 9 >'!bang'; echo 10 >'*'; echo 11 >'[a]'; echo 12 >'?'; echo 13 >:colon; echo 14 >-dash; echo 15 >'{}'; echo 16 >'a b'; echo 17 >$'\x01\x7f'"#)]
#[case::odd_names_edited(
    r"base; echo 1 >$'new\nline'; echo 2 >$'\xff'; echo 3 >'a\b'; commit",
    r"echo x >>$'new\nline'; echo x >>$'\xff'; rm 'a\b'"
)]
#[case::almost_git(
    "base",
    "echo a >.gitx; echo b >git; echo c >.git.txt; mkdir dir/.gitdir; echo d >dir/.gitdir/x; echo e >git~; echo f >.gitattributes; echo g >.gitmodules2"
)]
#[case::long_name("base", "n=$(printf 'n%.0s' $(seq 255)); echo x >$n")]
#[case::unicode_forms("base", r"echo 1 >$'\u00e9'; echo 2 >$'e\u0301'")]
#[case::old_and_new_times(
    "base",
    "touch -d '1980-01-01' file; echo x >future; touch -d '2100-01-01' future; echo y >before; touch -d '1901-01-01' before"
)]
#[case::times_only("base", "touch file dir/one")]
#[case::hard_links("base", "ln file hard; echo x >>hard")]
#[case::atomic_replace("base", "echo new >t; mv t file")]
fn trees_are_those_of_git(#[case] first: &str, #[case] then: &str) {
    Scenario::new(first, then).check();
}

/// The same on top of content that is untracked, so that only checkpoints know it.
#[rstest::rstest]
#[case::edit("echo x >>u/a; echo new >u/c")]
#[case::delete("rm u/a")]
#[case::delete_directory("rm -r u")]
#[case::file_to_directory("rm u/a; mkdir u/a; echo x >u/a/b")]
#[case::directory_to_file("rm -r u; echo x >u")]
#[case::directory_to_link("rm -r u; ln -s dir u")]
#[case::executable("chmod +x u/a")]
#[case::staged_meanwhile("git add u/a; echo more >>u/a")]
#[case::committed_meanwhile("git add u/a; echo y >>u/b")]
#[case::rename("mv u v; mv v/a v/z")]
#[case::emptied("rm u/*")]
fn untracked_files_are_followed(#[case] then: &str) {
    Scenario::new("base; mkdir u; echo a >u/a; echo b >u/b; echo w >>file", then).check();
}

#[rstest::rstest]
#[case::executable_bit_is_not_trusted(
    "base; chmod +x file; commit; git config core.fileMode false",
    "chmod -x file; chmod +x dir/one; echo x >>dir/one; echo n >new; chmod +x new"
)]
#[case::links_are_files(
    "base; ln -s file link; commit; git config core.symlinks false",
    "rm link; printf dir/one >link; echo plain >>file"
)]
#[case::case_is_ignored("base; git config core.ignoreCase true", "echo x >>file; echo n >new")]
#[case::precomposed("base; git config core.precomposeUnicode true", r"echo 1 >$'e\u0301'")]
#[case::no_ctime("base; git config core.trustCtime false", "echo x >>file")]
#[case::minimal_stat("base; git config core.checkStat minimal", "echo x >>file")]
fn settings_of_file_systems(#[case] first: &str, #[case] then: &str) {
    Scenario::new(first, then).check();
}

#[rstest::rstest]
#[case::fifo("base", "mkfifo pipe; mkfifo dir/pipe", &["dir/pipe: special file", "pipe: special file"])]
#[case::socket("base", "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'", &["sock: special file"])]
#[case::fifo_in_new_directory("base", "mkdir new; mkfifo new/pipe; echo x >new/file", &["new/pipe: special file"])]
#[case::dot_git_in_capitals("base", "mkdir .GIT; echo x >.GIT/config; echo y >dir/.Git", &[".GIT: invalid name", "dir/.Git: invalid name"])]
#[case::short_name("base", "echo x >git~1; mkdir dir/GIT~1; echo y >dir/GIT~1/config", &["dir/GIT~1: invalid name", "git~1: invalid name"])]
#[case::ignorable_characters("base", r"mkdir $'.g\u200cit'; echo x >$'.g\u200cit/config'", &[".g\u{200c}it: invalid name"])]
#[case::trailing_dot("base", "mkdir .git.; echo x >.git./config", &[".git.: invalid name"])]
#[case::stream("base", "mkdir .git::x; echo x >'.git::x/config'", &[".git::x: invalid name"])]
#[case::link_called_gitmodules("base", "ln -s file .gitmodules", &[".gitmodules: invalid name"])]
fn files_that_git_cannot_store_are_skipped_and_listed(
    #[case] first: &str,
    #[case] then: &str,
    #[case] skipped: &[&str],
) {
    // Git refuses such names; without them it must see the same.
    let oracle = "find . -path ./.git -prune -o \\( -iname '.git*' ! -name .gitignore -o -iname 'git~*' -o -name $'.g\\u200cit' \\) -printf '/%P\\n' >$GIT_INDEX_FILE.x; git -c core.excludesFile=$GIT_INDEX_FILE.x add -A";
    let (bench, _, saved) = Scenario::new(first, then).oracle(oracle).without_hints().check();
    assert_eq!(saved.skipped(), skipped);
    let next = bench.save();
    assert_eq!(next.skipped(), skipped, "also when nothing has changed");
}

#[rstest::rstest]
#[case::file("base", "rm file; mkfifo file", "file")]
#[case::directory("base", "rm -r dir; mkfifo dir", "dir")]
#[case::untracked("base; echo u >u", "rm u; mkfifo u", "u")]
fn a_special_file_in_the_place_of_another_is_listed(#[case] first: &str, #[case] then: &str, #[case] path: &str) {
    let bench = Bench::new(first);
    bench.save();
    bench.run(then);
    let bench =
        bench.oracle(&format!("rm -rf x; git rm -rq --cached --ignore-unmatch {path}; git add -A . ':!{path}'"));
    let saved = bench.save_warm_and_cold();
    assert_eq!(saved.skipped(), [format!("{path}: special file")]);
}

#[test]
fn empty_directories_are_in_the_manifest() {
    let bench = Bench::new("base; mkdir -p void/inner dir/void; mkdir ignored; echo ignored >.gitignore");
    let saved = bench.save_warm_and_cold();
    let manifest = bench.manifest(saved.id().expect("a checkpoint"));
    assert!(manifest.contains("\"void/inner\"") && manifest.contains("\"dir/void\""), "{manifest}");
    assert!(!manifest.contains("ignored"), "{manifest}");
}

#[test]
fn files_that_all_look_executable_are_not_read_each_time() {
    let bench = Bench::new(
        "base; git config core.fileMode false; git config filter.count.clean \"echo run >>$W/oracle/way; cat\"; \
        echo '* filter=count' >.gitattributes; find . -name .git -prune -o -type f -exec chmod +x {} +; sleep 0.1",
    );
    bench.save_with(&Order::default());
    bench.run("rm -f $W/oracle/way; sleep 0.1");
    bench.save_with(&Order::default());
    bench.run("rm -f $W/oracle/way");
    bench.save_with(&Order::default());
    bench.run("test ! -e $W/oracle/way");
}
