//! `save --recurse-submodules`: checkpoints in the repositories inside the worktree, tied to the one of the worktree.

use serde_json::Value;

use super::{after, run, superproject};
use crate::support::World;

/// Saves with submodules.
fn save(world: &World) -> Value {
    world.json(&["save", "--recurse-submodules", "--json"])
}

/// Returns the ids of the checkpoints in submodules, with the paths from the root, and whether they were taken.
fn saved_submodules(saved: &Value, above: &str) -> Vec<(String, String, bool)> {
    let mut found = Vec::new();
    for submodule in saved["saved_submodules"].as_array().into_iter().flatten() {
        let path = format!("{above}{}", submodule["path"].as_str().expect("a path"));
        let saved = &submodule["saved"];
        let id = saved["id"].as_str().expect("an id").to_owned();
        found.push((path.clone(), id, saved["created"] == true));
        found.extend(saved_submodules(saved, &format!("{path}/")));
    }
    found
}

/// Returns the part of the manifest of the checkpoint `id` of the repository in `path` that ties checkpoints to it.
fn ties(world: &World, path: &str, id: &str) -> String {
    let manifest = run(world, &format!("git -C {path} cat-file blob {id}^2:manifest.toml"));
    manifest.lines().skip_while(|line| *line != "[[submodule]]").take(3).collect::<Vec<_>>().join(" ")
}

fn paths(saved: &[(String, String, bool)]) -> Vec<&str> {
    saved.iter().map(|(path, ..)| path.as_str()).collect()
}

#[test]
fn submodules_are_saved_with_the_superproject_at_all_levels() {
    let world = after("echo 2 >>f; echo 2 >>sub/l; echo new >sub/inner/new");
    let before =
        run(&world, "git -C sub status --porcelain=2 --branch; git -C sub/inner status --porcelain=2 --branch");
    let saved = save(&world);
    let found = saved_submodules(&saved, "");
    assert_eq!(paths(&found), ["sub", "sub/inner"]);
    let (sub, inner) = (&found[0].1, &found[1].1);
    assert_eq!(run(&world, &format!("git -C sub show {sub}:l")), "1\n2\n");
    assert_eq!(run(&world, &format!("git -C sub/inner show {inner}:new")), "new\n");
    let id = saved["id"].as_str().expect("a checkpoint");
    assert_eq!(ties(&world, ".", id), format!("[[submodule]] path = \"sub\" checkpoint = \"{sub}\""));
    assert_eq!(ties(&world, "sub", sub), format!("[[submodule]] path = \"inner\" checkpoint = \"{inner}\""));
    assert!(run(&world, "git -C sub for-each-ref refs/checkpoints/shadow").contains(sub));
    assert_eq!(saved["submodules"].as_array().map(Vec::len), Some(0), "nothing is left out");
    let now = run(&world, "git -C sub status --porcelain=2 --branch; git -C sub/inner status --porcelain=2 --branch");
    assert_eq!(before, now, "HEAD, index and files stay");
    world.assert_sound("the superproject");
    run(&world, "git -C sub fsck --strict; git -C sub/inner fsck --strict");
}

#[test]
fn what_only_a_submodule_has_is_reason_enough_and_nothing_new_is_none() {
    let world = superproject();
    let first = save(&world);
    assert_eq!((&first["created"], first["paths"].as_array().map(Vec::len)), (&Value::Bool(true), Some(0)));
    world.add_to("sub/inner/d", "2\n");
    let second = save(&world);
    assert!(second["created"] == true && second["id"] != first["id"]);
    assert_eq!(saved_submodules(&second, "").iter().filter(|it| it.2).count(), 2, "the middle one names the inner one");
    assert!(world.done(&["list", "-n", "1"]).contains("changes in sub"), "{}", world.done(&["list"]));
    let third = save(&world);
    assert_eq!((&third["created"], &third["id"]), (&Value::Bool(false), &second["id"]));
    let ids = |saved: &Value| saved_submodules(saved, "").into_iter().map(|it| it.1).collect::<Vec<_>>();
    assert_eq!(ids(&second), ids(&third));
    let without = world.json(&["save", "--json"]);
    assert_eq!(&without["created"], &Value::Bool(false), "what was saved is the worktree still");
}

#[rstest::rstest]
#[case::by_default("true", &[], false)]
#[case::asked("true", &["--recurse-submodules"], true)]
#[case::yes("true", &["--recurse-submodules=yes"], true)]
#[case::setting("git config submodule.recurse true", &[], true)]
#[case::not_this_time("git config submodule.recurse true", &["--no-recurse-submodules"], false)]
#[case::no("git config submodule.recurse true", &["--recurse-submodules=no"], false)]
#[case::the_last_one_counts("true", &["--no-recurse-submodules", "--recurse-submodules"], true)]
#[case::paths("git config submodule.recurse true", &["--paths", "f"], false)]
fn the_setting_is_that_of_git(#[case] script: &str, #[case] options: &[&str], #[case] is_saved: bool) {
    let world = after(&format!("{script}; echo 2 >>sub/l; echo 2 >>f"));
    let saved = world.json(&[&["save", "--json"], options].concat());
    assert_eq!(!saved_submodules(&saved, "").is_empty(), is_saved);
}

#[rstest::rstest]
#[case::not_populated("git submodule --quiet deinit -f sub", &[])]
#[case::a_link("mv sub ../elsewhere; ln -s ../elsewhere sub", &[])]
#[case::removed("rm -rf sub", &[])]
#[case::nested("git init -q n; echo new >n/new", &["n", "sub", "sub/inner"])]
#[case::ignored("git init -q n; echo n >.gitignore", &["sub", "sub/inner"])]
#[case::worktree_of_its_own("git worktree add -q n", &["sub", "sub/inner"])]
#[case::git_directory_inside(
    "rm sub/.git; cp -r .git/modules/sub sub/.git; sed -i /worktree/d sub/.git/config",
    &["sub", "sub/inner"]
)]
#[case::without_gitmodules("git rm -q --cached .gitmodules; rm .gitmodules", &["sub", "sub/inner"])]
#[case::ignored_changes("git config submodule.sub.ignore all", &["sub", "sub/inner"])]
fn populated_repositories_are_saved(#[case] script: &str, #[case] expected: &[&str]) {
    let world = after(script);
    if script.contains("cp -r") {
        // The gitfile of the inner one named the old place.
        run(
            &world,
            "echo 'gitdir: ../.git/modules/inner' >sub/inner/.git
            git config -f sub/.git/modules/inner/config core.worktree ../../../inner",
        );
    }
    assert_eq!(paths(&saved_submodules(&save(&world), "")), expected);
}

#[test]
fn a_linked_worktree_has_submodules_of_its_own() {
    let world = after(
        "git worktree add -q ../linked; git -C ../linked submodule --quiet update --init; echo new >../linked/sub/new",
    );
    let linked = world.root().join("linked");
    let saved = world.json(&["-C", linked.to_str().expect("UTF-8"), "save", "--recurse-submodules", "--json"]);
    let found = saved_submodules(&saved, "");
    assert_eq!(paths(&found), ["sub"]);
    assert_eq!(run(&world, &format!("git -C ../linked/sub show {}:new", found[0].1)), "new\n");
}

/// The superproject's checkpoint is not taken then: it would lack the submodule.
#[rstest::rstest]
#[case::damaged_gitdir("echo 'gitdir: /nowhere' >sub/.git", "'sub'")]
#[case::worktree_elsewhere(
    "mkdir ../other; git config -f .git/modules/sub/config core.worktree $PWD/../other",
    "'sub'"
)]
#[case::deep("echo nonsense >sub/inner/.git", "'inner'")]
#[case::unknown_extension(
    "git -C sub config core.repositoryFormatVersion 1; git -C sub config extensions.other true",
    "'sub'"
)]
fn one_that_cannot_be_saved_is_named(#[case] script: &str, #[case] named: &str) {
    let world = after(&format!("{script}; echo 2 >>f"));
    let output = world.checkpoint(&["save", "--recurse-submodules"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains(named), "{said}");
    assert!(said.contains("no-recurse-submodules"), "{said}");
    assert_eq!(run(&world, "git for-each-ref refs/checkpoints/shadow"), "");
    assert_eq!(world.json(&["save", "--json"])["created"], true, "without submodules");
}

/// What git would not open for its owner is not opened.
#[test]
fn a_submodule_of_another_user_is_named() {
    let world = superproject();
    if run(&world, "id -u").trim() != "0" {
        return; // only root can give files away
    }
    run(&world, "chown -R 12345 sub .git/modules/sub; echo 2 >>sub/l");
    let output = world.checkpoint(&["save", "--recurse-submodules"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("'sub'") && said.contains("dubious ownership"), "{said}");
    assert!(said.contains("safe.directory"), "{said}");
}

/// `git checkpoint` may run in an environment that is about the superproject.
#[test]
fn variables_about_the_superproject_do_not_reach_submodules() {
    let world = after("echo 2 >>sub/l; cp .git/index ../index");
    run(
        &world,
        "export GIT_DIR=$PWD/.git GIT_WORK_TREE=$PWD GIT_INDEX_FILE=$PWD/../index
        git checkpoint save --recurse-submodules",
    );
    let tree = run(
        &world,
        "git -C sub ls-tree -r --name-only \
        $(git -C sub for-each-ref --format='%(objectname)' refs/checkpoints/shadow)",
    );
    assert_eq!(tree, ".gitmodules\ninner\nl\n");
}

/// A save runs in a submodule what `git add` runs there, and nothing else.
#[test]
fn hooks_and_monitors_of_a_submodule_are_not_run() {
    let world = after(
        "git -C sub config core.fsmonitor \"touch $PWD/../ran; false\"; mkdir -p .git/modules/sub/hooks
        for hook in post-index-change reference-transaction post-commit pre-commit; do
            printf '#!/bin/sh\\ntouch %s/../ran' $PWD >.git/modules/sub/hooks/$hook
        done
        chmod +x .git/modules/sub/hooks/*; rm -f ../ran; echo 2 >>sub/l",
    );
    save(&world);
    assert!(!world.root().join("ran").exists());
}

/// What an agent may have changed in a submodule is not a person's, and what a person may have changed not an agent's.
#[test]
fn the_author_is_unknown_where_no_turn_is() {
    let world = after("echo 2 >>sub/l");
    let saved = world.json(&["save", "--session", "7f3a", "--agent", "claude-code", "--recurse-submodules", "--json"]);
    let below = &saved["saved_submodules"][0]["saved"];
    assert_eq!((&below["contributor"], &below["session"]), (&Value::from("unknown"), &Value::Null));
}

/// A process that was killed leaves checkpoints in submodules that nothing names.
#[rstest::rstest]
#[case::in_the_submodule("save:after-refs", false)]
#[case::before_the_superproject("save:before-objects:3", false)]
#[case::after_the_superproject("save:after-refs:3", true)]
fn a_crash_leaves_no_id_of_nothing(#[case] failpoint: &str, #[case] is_taken: bool) {
    let world = after("echo 2 >>f; echo 2 >>sub/l; echo 2 >>sub/inner/d");
    let mut killed = world.start_with(&["save", "--recurse-submodules"], failpoint);
    assert!(!killed.wait().expect("it ends").success());
    assert_eq!(!run(&world, "git for-each-ref refs/checkpoints/shadow").is_empty(), is_taken);
    let saved = save(&world);
    assert_eq!(saved["created"], !is_taken);
    for (path, id, _) in saved_submodules(&saved, "") {
        run(&world, &format!("git -C {path} cat-file -e {id}^{{commit}}; git -C {path} fsck --strict"));
    }
    world.assert_sound("afterwards");
}
