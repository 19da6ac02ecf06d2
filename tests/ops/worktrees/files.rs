//! `worktree diff`, `worktree status` and `worktree files`: what is in another worktree, and nothing outside of it.

use rstest::rstest;
use serde_json::{Value, json};

use super::{json_of, removed::with_work, run_in, said};
use crate::support::{World, program};

#[test]
fn diff_and_status_are_those_of_the_other_worktree() {
    let world = World::with_commit();
    let path = with_work(&world);
    for (arguments, there) in [
        (&["worktree", "diff", "side", "--name-status"][..], &["diff", "--name-status"][..]),
        (&["worktree", "diff", "side", "--json", "main", "--", "t"], &["diff", "--json", "main", "--", "t"]),
        (&["worktree", "status", "side", "--json"], &["status", "--json"]),
        (&["worktree", "status", "side"], &["status"]),
    ] {
        let (here, there) = (world.checkpoint(arguments), run_in(&world, &path, there));
        assert!(here.status.success(), "{arguments:?}: {}", said(&here));
        assert_eq!(String::from_utf8_lossy(&here.stdout), String::from_utf8_lossy(&there.stdout), "{arguments:?}");
    }
    let status = json_of(&world, &["worktree", "status", "side", "--json"]);
    assert_eq!(status["branch"], "side");
    assert_eq!(world.checkpoint(&["worktree", "diff", "nope"]).status.code(), Some(128));
}

/// What is in a directory counts as git says, also while a merge has stopped there.
#[test]
fn find_lists_the_files_that_git_lists() {
    let world = World::with_commit();
    world.sh("mkdir -p a/b c ignored 'sp ace'; echo 1 | tee a/b/f c/g ignored/tracked 'sp ace/h' gone >/dev/null");
    world.sh("echo ignored/ >.gitignore; echo '*.o' >a/.gitignore; git add -A; git add -f ignored/tracked");
    world.sh("git commit -qm base; git checkout -qb other; echo o >c/g; git commit -qam o; git checkout -q main");
    world.sh("echo m >c/g; git commit -qam m; ! git merge -q other >&2; rm gone; ln -s a link; ln -s no dangling");
    world.sh("touch ignored/x a/x.o a/b/y.o a/b/new c/new; mkdir c/.git empty; git init -q nested; touch nested/in");
    world.sh("echo i >intended; git add -N intended; mkfifo pipe");
    let listed = world.git(&["ls-files", "--cached", "--others", "--exclude-standard"]);
    let is_file = |path: &&str| !path.ends_with('/') && world.repo().join(path).symlink_metadata().is_ok();
    let expected: std::collections::BTreeSet<&str> = listed.lines().filter(is_file).collect();
    let found = json_of(&world, &["worktree", "files", "find", "main", "", "--json"]);
    let mut found: Vec<_> = paths(&found).iter().filter_map(|it| Some(it.split_once(' ')?.1.to_owned())).collect();
    found.sort();
    assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
}

/// An empty setting names no file, and does not leave the usual one.
#[rstest]
#[case::setting("git config core.excludesFile ''", &[])]
#[case::in_the_environment("", &[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.excludesFile"), ("GIT_CONFIG_VALUE_0", "")])]
#[case::home("", &[("XDG_CONFIG_HOME", "")])]
#[case::not_beside("mv ../home/.config/git/ignore git", &[("XDG_CONFIG_HOME", "")])]
fn the_ignore_file_of_the_user_is_the_one_that_git_reads(#[case] script: &str, #[case] environment: &[(&str, &str)]) {
    let world = World::with_commit();
    world.sh("mkdir -p ../home/.config/git git; echo '*.c' >../home/.config/git/ignore; touch x.c x.o");
    world.sh(script);
    let run = |program: &str, arguments: &[&str]| {
        let mut command = world.command(program);
        let output = command.args(arguments).envs(environment.iter().copied()).output().expect("it runs");
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let listed = run("git", &["ls-files", "--cached", "--others", "--exclude-standard"]);
    let mut listed: Vec<_> = listed.lines().collect();
    listed.sort_unstable();
    let found = run(program(), &["worktree", "files", "find", "main", "", "--json"]);
    let found: Value = serde_json::from_str(&found).expect("it is JSON");
    let mut found: Vec<_> = paths(&found).iter().filter_map(|it| Some(it.split_once(' ')?.1.to_owned())).collect();
    found.sort();
    assert_eq!(found, listed);
    let saved: Value = serde_json::from_str(&run(program(), &["save", "--json"])).expect("it is JSON");
    let saved = world.git(&["ls-tree", "-r", "--name-only", saved["id"].as_str().expect("an id")]);
    assert_eq!(saved.lines().collect::<Vec<_>>(), listed);
}

#[test]
fn a_worktree_with_a_file_that_no_empty_setting_ignores_is_not_removed() {
    let world = World::with_commit();
    world.sh("mkdir -p ../home/.config/git; echo '*.c' >../home/.config/git/ignore; git worktree add -q ../w -b w");
    world.sh("git config core.excludesFile ''; echo precious >../w/x.c");
    let output = world.checkpoint(&["worktree", "remove", "w"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("1 path that differs from HEAD"), "{}", said(&output));
    assert!(world.root().join("w/x.c").exists());
}

fn paths(list: &Value) -> Vec<String> {
    let files = list["files"].as_array().into_iter().flatten();
    files
        .map(|file| format!("{} {}", file["kind"].as_str().unwrap_or("?"), file["path"].as_str().unwrap_or("?")))
        .collect()
}

#[test]
fn files_are_listed_found_and_printed() {
    let world = World::with_commit();
    let path = with_work(&world);
    let list = json_of(&world, &["worktree", "files", "list", "side", "--json"]);
    let expected =
        ["directory empty", "directory out", "file .env", "file .gitignore", "file a b", "link link", "file t"];
    let mut found = paths(&list);
    found.retain(|it| expected.contains(&it.as_str()));
    assert_eq!(found, expected, "{list}");
    assert!(!paths(&list).iter().any(|it| it == "file .git"), "{list}");
    assert_eq!((&list["version"], list["worktree"].as_str()), (&json!(1), path.to_str()));
    let list = json_of(&world, &["worktree", "files", "list", "side", "out", "--json"]);
    assert_eq!((paths(&list), &list["files"][0]["size"]), (vec!["file out/o".to_owned()], &json!(6)));
    // What is ignored is not found.
    let list = json_of(&world, &["worktree", "files", "find", "side", "A B", "--json"]);
    assert_eq!(paths(&list), ["file a b"]);
    assert_eq!(paths(&json_of(&world, &["worktree", "files", "find", "side", ".env", "--json"])), Vec::<String>::new());
    for (text, status) in [("a b", 0), (".env", 1)] {
        let output = world.checkpoint(&["worktree", "files", "find", "side", text]);
        assert_eq!(output.status.code(), Some(status), "{text}: {}", said(&output));
    }
    assert_eq!(world.done(&["worktree", "files", "cat", "side", "out/o"]), "built\n");
    assert_eq!(world.done(&["worktree", "files", "list", "side", "out"]), "out/o\n");
}

#[rstest]
#[case::up("../repo/f", 1, "is no path inside the worktree")]
#[case::absolute("/etc/passwd", 1, "is no path inside the worktree")]
#[case::gits(".git", 1, "is no path inside the worktree")]
#[case::link("outside", 1, "symbolic link")]
#[case::behind_a_link("parent/secret", 1, "symbolic link")]
#[case::a_link_inside("same/t", 1, "symbolic link")]
#[case::none("nope", 128, "does not exist")]
#[case::a_directory("out", 128, "is no file")]
#[case::a_pipe("pipe", 128, "is no file")]
fn nothing_outside_is_read(#[case] file: &str, #[case] status: i32, #[case] words: &str) {
    let world = World::with_commit();
    let path = with_work(&world);
    world.sh(&format!(
        "mkdir ../else; echo secret >../else/secret; cd '{}'
         ln -s ../else/secret outside; ln -s ../else parent; ln -s . same; mkfifo pipe",
        path.display()
    ));
    let output = world.checkpoint(&["worktree", "files", "cat", "side", file]);
    assert_eq!(output.status.code(), Some(status), "{}", said(&output));
    assert!(said(&output).contains(words) && output.stdout.is_empty(), "{}", said(&output));
    if status == 1 {
        let output = world.checkpoint(&["worktree", "files", "list", "side", file]);
        assert!(!output.status.success() && output.stdout.is_empty(), "{}", said(&output));
    }
    // Nor is it found by its name.
    let list = json_of(&world, &["worktree", "files", "find", "side", "secret", "--json"]);
    assert_eq!(paths(&list), Vec::<String>::new());
}
