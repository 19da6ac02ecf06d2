//! Git's setting `submodule.recurse`, which counts where the option is not given, and repositories that cannot be saved.

use super::{after, run};

/// The setting is for submodules: git leaves other repositories alone. What cannot be saved keeps nobody from saving the rest.
#[rstest::rstest]
#[case::damaged_index("echo garbage >.git/modules/sub/index", Some("sub"))]
#[case::missing_objects("rm -rf .git/modules/sub/objects/??", Some("sub"))]
#[case::unknown_extension(
    "git -C sub config extensions.fancy true; git -C sub config core.repositoryformatversion 1",
    Some("sub")
)]
#[case::damaged_index_below("echo garbage >.git/modules/sub/modules/inner/index; echo 2 >>sub/l", Some("sub/inner"))]
#[case::nested("git init -q n; echo 1 >n/x; git -C n config core.bare true", None)]
#[case::nested_unknown(
    "git init -q n; echo 1 >n/x; git -C n config extensions.fancy true; git -C n config core.repositoryformatversion 1",
    None
)]
fn what_cannot_be_saved_is_left_out(#[case] script: &str, #[case] named: Option<&str>) {
    let world = after(&format!("git config submodule.recurse true; {script}; echo 2 >>f"));
    let output = world.checkpoint(&["save"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert_eq!(
        run(&world, "git show $(git for-each-ref --format='%(objectname)' refs/checkpoints/shadow):f"),
        "1\n2\n"
    );
    if let Some(named) = named {
        assert!(said.contains(&format!("warning: could not save submodule {named}: ")), "{said}");
    }
    let output = world.checkpoint(&["save", "--recurse-submodules"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "the option is strict: {said}");
    assert!(said.matches("--no-recurse-submodules").count() <= 1, "{said}");
}

#[test]
fn the_setting_leaves_other_repositories_alone() {
    // A clone with a commit has the mode of a submodule in the checkpoint's tree.
    let clone = "git init -q n; echo 1 >n/x; git -C n add x; git -C n commit -qm n";
    let world = after(&format!("{clone}; git config submodule.recurse true; echo 2 >>f; echo 2 >>sub/l"));
    let saved = world.json(&["save", "--json"]);
    let paths: Vec<&str> = saved["saved_submodules"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["path"].as_str().expect("a path"))
        .collect();
    assert_eq!(paths, ["sub"]);
    assert_eq!(run(&world, "git -C n for-each-ref refs/checkpoints"), "");
    run(&world, "echo 2 >>n/x");
    // Of a checkpoint that has both, the setting restores the submodule only.
    let saved = world.json(&["save", "--recurse-submodules", "--json"]);
    assert_eq!(saved["saved_submodules"].as_array().expect("a list").len(), 2);
    run(&world, "echo 3 >>sub/l; echo 3 >>n/x");
    world.json(&["restore", "--json", saved["id"].as_str().expect("an id")]);
    assert_eq!(run(&world, "cat sub/l n/x"), "1\n2\n1\n2\n3\n");
}

/// A `.git` file that leads to a repository above: its lock is held already.
#[test]
fn a_way_back_to_a_repository_above_is_left_alone() {
    let world =
        after("mkdir sub/n; echo \"gitdir: $PWD/.git\" >sub/n/.git; echo x >sub/n/x; echo 2 >>f; echo 2 >>sub/l");
    let start = std::time::Instant::now();
    let saved = world.json(&["save", "--recurse-submodules", "--json"]);
    assert!(start.elapsed() < std::time::Duration::from_secs(8), "it does not wait for itself");
    assert_eq!(saved["saved_submodules"][0]["path"], "sub");
}

/// A checkpoint from elsewhere names one that this repository does not have.
#[test]
fn a_checkpoint_that_is_not_here_is_called_so() {
    let world = after("true");
    let saved = world.json(&["save", "--recurse-submodules", "--json"]);
    run(
        &world,
        "for r in $(git -C sub for-each-ref --format='%(refname)' refs/checkpoints); do git -C sub update-ref -d $r; done
        git -C sub gc -q --prune=now; echo 2 >>sub/l",
    );
    let output = world.checkpoint(&["restore", "--recurse-submodules", saved["id"].as_str().expect("an id")]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("is not in this repository") && !output.status.success(), "{said}");
    assert_eq!(run(&world, "cat sub/l"), "1\n2\n");
}
