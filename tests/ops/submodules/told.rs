//! `save`, `status` and `restore` name the repositories inside the worktree that have changes of their own.

use serde_json::Value;

use super::{after, run, superproject};
use crate::support::{World, processes::described};

/// Returns the submodules in `json` as `path: words`.
fn submodules(json: &Value) -> Vec<String> {
    let words = |submodule: &Value| {
        let known = [
            ("new_commits", "new commits"),
            ("modified_content", "modified content"),
            ("untracked_content", "untracked content"),
        ];
        let words: Vec<&str> = known.into_iter().filter(|(key, _)| submodule[key] == true).map(|it| it.1).collect();
        format!("{}: {}", submodule["path"].as_str().expect("a path"), words.join(", "))
    };
    json["submodules"].as_array().expect("a list").iter().map(words).collect()
}

/// Returns the same as `git status` says it.
fn said_by_git(world: &World) -> Vec<String> {
    let status = run(world, "git status --porcelain=2");
    let words = |line: &str| {
        let (state, path) = (line.split(' ').nth(2)?.strip_prefix('S')?, line.split(' ').nth(8)?);
        let known = [("C", "new commits"), ("M", "modified content"), ("U", "untracked content")];
        let words: Vec<&str> = known.into_iter().filter(|(letter, _)| state.contains(letter)).map(|it| it.1).collect();
        (!words.is_empty()).then(|| format!("{path}: {}", words.join(", ")))
    };
    status.lines().filter(|line| line.starts_with("1 ")).filter_map(words).collect()
}

#[rstest::rstest]
#[case::clean("true", &[])]
#[case::only_in_the_superproject("echo 2 >>f; echo new >new", &[])]
#[case::modified("echo 2 >>sub/l", &["sub: modified content"])]
#[case::staged("echo 2 >>sub/l; git -C sub add l", &["sub: modified content"])]
#[case::removed("rm sub/l", &["sub: modified content"])]
#[case::executable("chmod +x sub/l", &["sub: modified content"])]
#[case::touched("touch -d 2020-01-01 sub/l", &[])]
#[case::untracked("echo new >sub/new", &["sub: untracked content"])]
#[case::ignored("echo new >sub/new; git -C sub config core.excludesFile $PWD/../x; echo new >../x", &[])]
#[case::new_commits("git -C sub commit -q --allow-empty -m 2", &["sub: new commits"])]
#[case::new_commits_are_staged("git -C sub commit -q --allow-empty -m 2; git add sub", &[])]
#[case::all(
    "git -C sub commit -q --allow-empty -m 2; echo 2 >>sub/l; echo new >sub/new",
    &["sub: new commits, modified content, untracked content"]
)]
#[case::deep_modified("echo 2 >>sub/inner/d", &["sub: modified content"])]
#[case::deep_untracked("echo new >sub/inner/new", &["sub: untracked content"])]
#[case::deep_commits("git -C sub/inner commit -q --allow-empty -m 2", &["sub: modified content"])]
#[case::two("git submodule --quiet add ../deep b; git commit -qm b; echo 2 >>b/d; echo new >sub/new",
    &["b: modified content", "sub: untracked content"])]
#[case::not_populated("git submodule --quiet deinit -f sub", &[])]
#[case::a_file_where_it_was_not("git submodule --quiet deinit -f sub; echo x >sub/x", &[])]
#[case::removed_directory("rm -rf sub", &[])]
#[case::without_gitmodules("git rm -q --cached .gitmodules; rm .gitmodules; echo 2 >>sub/l", &["sub: modified content"])]
#[case::git_directory_inside(
    "rm sub/.git; cp -r .git/modules/sub sub/.git; sed -i /worktree/d sub/.git/config; echo new >sub/new",
    &["sub: untracked content"]
)]
#[case::ignores_untracked("git config submodule.sub.ignore untracked; echo new >sub/new", &[])]
#[case::ignores_content(
    "git config submodule.sub.ignore dirty; echo 2 >>sub/l; git -C sub commit -q --allow-empty -m 2",
    &["sub: new commits"]
)]
#[case::ignores_all("git config -f .gitmodules submodule.sub.ignore all; git commit -qam x; echo 2 >>sub/l", &[])]
#[case::ignores_by_default("git config diff.ignoreSubmodules untracked; echo new >sub/new", &[])]
#[case::unborn("git -C sub checkout -q --orphan new", &["sub: modified content"])]
fn submodules_are_named_in_the_words_of_git(#[case] script: &str, #[case] expected: &[&str]) {
    let world = after(script);
    assert_eq!(said_by_git(&world), expected, "git");
    assert_eq!(submodules(&world.json(&["status", "--json"])), expected, "status");
    assert_eq!(submodules(&world.json(&["save", "--json"])), expected, "save");
    assert_eq!(submodules(&restored(&world)), expected, "restore");
    world.assert_sound("afterwards");
}

/// Restores the base, whatever the exit status: a submodule that is not there is kept.
fn restored(world: &World) -> Value {
    let output = world.checkpoint(&["restore", "--json", "base"]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", described(&output)))
}

/// Git itself fails in some of these worktrees.
#[rstest::rstest]
#[case::damaged_gitdir("echo 'gitdir: /nowhere' >sub/.git")]
#[case::no_git_directory("rm -rf .git/modules/sub")]
#[case::not_a_gitfile("echo nonsense >sub/.git")]
#[case::broken_head("echo nonsense >.git/modules/sub/HEAD")]
#[case::a_link("mv sub ../elsewhere; ln -s ../elsewhere sub; echo new >sub/new")]
#[case::a_link_in_the_way("mkdir d; git mv sub d/sub; git commit -qm d; mv d ../d; ln -s ../d d; echo new >d/sub/new")]
#[case::a_file("rm -rf sub; echo x >sub")]
fn what_is_no_submodule_is_no_error(#[case] script: &str) {
    let world = after(script);
    for command in [&["status", "--json"], &["save", "--json"]] {
        assert_eq!(submodules(&world.json(command)), [""; 0], "{command:?}");
    }
    assert_eq!(submodules(&restored(&world)), [""; 0], "restore");
}

#[rstest::rstest]
#[case::clean("git init -q n; git -C n commit -q --allow-empty -m 1", &[])]
#[case::no_commit("git init -q n; echo new >n/new", &["n"])]
#[case::untracked("git init -q n; git -C n commit -q --allow-empty -m 1; echo new >n/new", &["n"])]
#[case::ignored("git init -q n; echo new >n/new; echo n >.gitignore", &[])]
#[case::worktree_of_its_own("git worktree add -q n; echo new >n/new", &[])]
fn nested_repositories_with_changes_are_named(#[case] script: &str, #[case] expected: &[&str]) {
    let world = after(script);
    let paths = |json: &Value, key: &str| -> Vec<String> {
        json[key].as_array().expect("a list").iter().map(|path| path.as_str().expect("a path").to_owned()).collect()
    };
    assert_eq!(paths(&world.json(&["status", "--json"]), "changed_nested"), expected, "status");
    assert_eq!(paths(&world.json(&["save", "--json"]), "nested"), expected, "save");
    assert_eq!(paths(&world.json(&["restore", "--json", "base"]), "nested"), expected, "restore");
}

#[test]
fn submodules_of_a_linked_worktree_are_its_own() {
    let world = after(
        "echo 2 >>sub/l; git worktree add -q ../linked; git -C ../linked submodule --quiet update --init
        echo new >../linked/sub/new",
    );
    let linked = world.root().join("linked");
    let json = world.json(&["-C", linked.to_str().expect("UTF-8"), "save", "--json"]);
    assert_eq!(submodules(&json), ["sub: untracked content"]);
    assert_eq!(submodules(&world.json(&["save", "--json"])), ["sub: modified content"]);
}

/// To look at a submodule runs nothing that it configures.
#[test]
fn nothing_that_a_submodule_configures_is_run() {
    let world = after(
        "git -C sub config filter.evil.clean \"touch $PWD/../ran; cat\"; git -C sub config filter.evil.smudge cat
        git -C sub config core.fsmonitor \"touch $PWD/../ran; false\"; echo '* filter=evil' >sub/.gitattributes
        touch -d 2020-01-01 sub/l; mkdir -p .git/modules/sub/hooks
        printf '#!/bin/sh\\ntouch %s/../ran' $PWD >.git/modules/sub/hooks/post-index-change; chmod +x .git/modules/sub/hooks/*",
    );
    for command in [&["status", "--json"][..], &["save", "--json"], &["restore", "--json", "base"]] {
        assert_eq!(submodules(&world.json(command)), ["sub: untracked content"], "{command:?}");
    }
    assert!(!world.root().join("ran").exists());
}

/// Paths that a save is limited to are all that it looks at.
#[test]
fn a_save_of_paths_looks_into_no_submodule() {
    let world = superproject();
    world.add_to("sub/l", "2\n");
    world.add_to("f", "2\n");
    assert_eq!(submodules(&world.json(&["save", "--json", "--paths", "f"])), [""; 0]);
}

#[test]
fn a_restore_of_paths_names_no_others() {
    let world = superproject();
    world.add_to("sub/l", "2\n");
    world.add_to("f", "2\n");
    assert_eq!(submodules(&world.json(&["restore", "--json", "base", "f"])), [""; 0]);
}
