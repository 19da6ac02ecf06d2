//! What `overlap` does not merge, and what it cannot know: neither counts as clean, and nothing makes it wait.

use std::{
    fs,
    process::{Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{World, program};

/// A repository with a second worktree in `../side`, which have changed lines apart of `a` and the same line of `b`.
fn world() -> World {
    let world = World::with_commit();
    let lines: String = (0..10).map(|n| format!("{n}\n")).collect();
    for path in ["a", "b"] {
        world.write(path, &lines);
    }
    world.commit_all("lines");
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    world.sh("sed -i s/^1$/x/ a && sed -i s/^8$/y/ ../side/a && sed -i s/^4$/x/ b && sed -i s/^4$/y/ ../side/b");
    world
}

/// Runs `overlap`, which does not wait for anything that never comes.
fn overlap(world: &World, arguments: &[&str]) -> Output {
    let mut command = world.command(program());
    let mut child = command
        .arg("overlap")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let begin = Instant::now();
    while child.try_wait().expect("it can be waited for").is_none() {
        if begin.elapsed() > Duration::from_secs(60) {
            child.kill().expect("it runs");
            panic!("it waits");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().expect("it has ended")
}

/// Returns what is found of the only other worktree.
fn found(world: &World) -> Value {
    let output = overlap(world, &["--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Value>(&output.stdout).expect("it is JSON")["worktrees"][0].clone()
}

/// Returns each path here with its state, and why it is unknown.
fn states(world: &World) -> Vec<String> {
    let found = found(world);
    assert_eq!(found["unknown"], Value::Null);
    let paths = found["paths"].as_array().expect("a list").iter();
    let words = |it: &Value| {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        let parts = [word(&it["here"]["path"]), word(&it["state"]), word(&it["kind"]), word(&it["unknown"])];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    paths.map(words).collect()
}

#[rstest::rstest]
#[case::head("rm .git/worktrees/side/HEAD; mkfifo .git/worktrees/side/HEAD", "HEAD' is a pipe")]
#[case::endless_head("ln -sf /dev/zero .git/worktrees/side/HEAD", "HEAD' is a device")]
#[case::long_head("truncate -s 2G .git/worktrees/side/HEAD", "HEAD' has more than 64 KiB")]
#[case::branch("rm .git/refs/heads/side; mkfifo .git/refs/heads/side", "refs/heads/side' is a pipe")]
#[case::branch_of_a_branch(
    "git symbolic-ref refs/heads/side refs/heads/next; mkfifo .git/refs/heads/next",
    "refs/heads/next' is a pipe"
)]
#[case::index("rm .git/worktrees/side/index; mkfifo .git/worktrees/side/index", "index' is a pipe")]
#[case::long_index("truncate -s 2G .git/worktrees/side/index", "index' has more than")]
#[case::commondir("rm .git/worktrees/side/commondir; mkfifo .git/worktrees/side/commondir", "commondir' is a pipe")]
#[case::long_commondir("truncate -s 2G .git/worktrees/side/commondir", "commondir' has more than")]
#[case::log("rm .git/worktrees/side/logs/HEAD; mkfifo .git/worktrees/side/logs/HEAD", "logs/HEAD' is a pipe")]
#[case::own_index(
    "mkdir .git/worktrees/side/checkpoint; mkfifo .git/worktrees/side/checkpoint/index",
    "checkpoint/index' is a pipe"
)]
#[case::note("rm .git/worktrees/side/gitdir; mkfifo .git/worktrees/side/gitdir", "git's note of the worktree 'side'")]
#[case::long_note("truncate -s 2G .git/worktrees/side/gitdir", "git's note of the worktree 'side'")]
#[case::dot_git("rm ../side/.git; mkfifo ../side/.git", "no longer the worktree")]
#[case::dot_git_is_a_link("rm ../side/.git; ln -s /dev/zero ../side/.git", "no longer the worktree")]
#[case::ignore_rules("mkfifo ../side/.gitignore", "side/.gitignore' is a pipe")]
#[case::long_rules("truncate -s 2G ../side/.gitignore", ".gitignore' has more than")]
#[case::head_is_no_ref("echo garbage >.git/worktrees/side/HEAD", "")]
#[case::head_is_gone("rm .git/worktrees/side/HEAD", "")]
fn nothing_makes_it_wait(#[case] script: &str, #[case] expected: &str) {
    let world = world();
    world.sh(script);
    let found = found(&world);
    assert!(found["unknown"].as_str().expect("a reason").contains(expected), "{found}");
    assert_eq!(overlap(&world, &["--exit-code"]).status.code(), Some(1));
    assert!(world.checkpoint(&["worktree", "list"]).status.success());
}

#[rstest::rstest]
#[case::new("mkfifo ../side/.gitattributes")]
#[case::known_to_git("rm ../side/.gitattributes; mkfifo ../side/.gitattributes")]
#[case::above_two_files(
    "sed -i 1s/$/x/ d/*; sed -i 9s/$/x/ ../side/d/*; git -C ../side commit -qam x; mkfifo ../side/.gitattributes"
)]
#[case::committed("git commit -qam x; git -C ../side commit -qam y; mkfifo ../side/.gitattributes")]
fn a_pipe_for_attributes_is_unknown(#[case] script: &str) {
    let world = World::with_commit();
    world.write("b", "1\n2\n");
    world.write(".gitattributes", if script.starts_with("rm") { "* text\n" } else { "" });
    world.sh("[ -s .gitattributes ] || rm .gitattributes; mkdir d; seq 10 >d/x; seq 10 >d/y");
    world.commit_all("lines");
    world.sh("git worktree add -q -b side ../side; echo x >>b; sed -i s/1/y/ ../side/b");
    world.sh(script);
    let found = found(&world);
    let is_unknown = found["unknown"].is_string() || found["paths"][0]["unknown"].is_string();
    assert!(is_unknown && found.to_string().contains("side/.gitattributes' is a pipe"), "{found}");
    let clean = found["paths"].as_array().expect("a list").iter().find(|path| path["state"] == "clean");
    assert_eq!(clean, None);
}

/// Each case says how git merges `a`, of which lines apart have changed, and `b`, of which the same line has.
#[rstest::rstest]
#[case::lines("", &["a clean", "b conflict content"])]
#[case::unset("* -merge", &["a conflict binary", "b conflict binary"])]
#[case::binary("a binary", &["a conflict binary", "b conflict content"])]
#[case::binary_driver("a merge=binary", &["a conflict binary", "b conflict content"])]
#[case::union("* merge=union", &["a clean", "b clean"])]
#[case::set("* merge", &["a clean", "b conflict content"])]
#[case::text("* merge=text", &["a clean", "b conflict content"])]
#[case::no_such_driver("* merge=none", &["a clean", "b conflict content"])]
fn attributes_say_how_git_merges(
    #[case] attributes: &str,
    #[case] expected: &[&str],
    #[values(".git/info/attributes", ".gitattributes")] file: &str,
) {
    let world = world();
    world.sh("mkdir -p .git/info");
    world.write(file, format!("{attributes}\n"));
    world.sh("[ ! -e .gitattributes ] || cp .gitattributes ../side");
    assert_eq!(states(&world), expected);
    let stops = overlap(&world, &["--exit-code"]).status.code() == Some(1);
    world.sh("for dir in . ../side; do git -C $dir add -A && git -C $dir commit -q -m all; done");
    let output = world.try_git(&["merge-tree", "--write-tree", "HEAD", "side"]);
    assert_eq!(output.status.code(), Some(i32::from(stops)), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_other_worktree_has_attributes_as_well() {
    let world = world();
    world.sh("echo 'a -merge' >../side/.gitattributes");
    assert_eq!(states(&world), ["a conflict binary", "b conflict content"]);
}

#[test]
fn a_merge_driver_is_not_run() {
    let world = world();
    world.git(&["config", "merge.mine.driver", "touch ran; exit 0"]);
    world.write(".gitattributes", "a merge=mine\n");
    let expected = "a unknown the merge driver 'mine' decides, which is not run";
    assert_eq!(states(&world), [expected, "b conflict content"]);
    assert!(!world.repo().join("ran").exists());
    world.sh("rm .gitattributes && git config merge.default mine");
    assert_eq!(states(&world)[0], expected);
    world.git(&["config", "merge.default", "binary"]);
    assert_eq!(states(&world)[0], "a conflict binary");
}

#[test]
fn what_saves_skip_is_unknown() {
    let world = world();
    world.git(&["config", "checkpoint.save.max-file-size", "1k"]);
    world.sh(
        "rm a ../side/a && git commit -qam gone && git -C ../side commit -qam gone
         for at in . ../side; do head -c 3000 /dev/zero >$at/both; done; head -c 3000 /dev/zero >one; echo small >../side/one
         head -c 3000 /dev/zero >alone; mkdir d && echo x >d/x && mkfifo ../side/d
         rm b && mkfifo b",
    );
    let why = |side: &str, what: &str| format!("saves skip it {side}: {what}");
    let expected = [
        format!("b unknown {}", why("here", "special file")),
        format!("both unknown {}", why("here", "too large")),
        format!("d/x unknown {}", why("there", "special file")),
        format!("one unknown {}", why("here", "too large")),
    ];
    assert_eq!(states(&world), expected);
    assert_eq!(overlap(&world, &["--exit-code", "one"]).status.code(), Some(1));
    assert_eq!(overlap(&world, &["--exit-code", "alone"]).status.code(), Some(0));
}

#[test]
fn files_that_are_too_large_are_not_merged() {
    let world = World::with_commit();
    let large: String = (0..(16 << 20) / 16).map(|n| format!("{n:015}\n")).collect();
    world.write("large", format!("first\n{large}"));
    world.write("enough", &large[..large.len() - 32]);
    world.commit_all("large");
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    world.sh("for file in large enough; do echo here >>$file; sed -i '1s/.*/there/' ../side/$file; done");
    assert_eq!(states(&world), ["enough clean", "large unknown it is larger than 16 MiB"]);
}

#[test]
fn a_long_chain_is_not_searched_as_a_whole() {
    let world = world();
    let there = |arguments: &[&str]| world.done(&[&["-C", "../side"], arguments].concat());
    there(&["session", "start", "early"]);
    there(&["session", "prompt", "early", "-m", "first"]);
    world.sh("echo more >>../side/a");
    there(&["save", "--session", "early"]);
    there(&["session", "start", "late"]);
    there(&["session", "prompt", "late", "-m", "then"]);
    world.sh("cd ../side; for n in $(seq 200); do echo $n >n; git checkpoint save -q --session late; done");
    let sessions = |found: &Value| found["paths"][0]["there"]["sessions"].as_array().map(Vec::len);
    let before = found(&world);
    assert_eq!((sessions(&before), &before["sessions_unknown"]), (Some(1), &Value::Null));
    world.sh("cd ../side; for n in $(seq 100); do echo more $n >n; git checkpoint save -q --session late; done");
    let after = found(&world);
    assert_eq!(after["sessions_unknown"], "only the last 256 checkpoints were searched");
    assert_eq!(sessions(&after), Some(0));
}

#[test]
fn a_git_directory_of_its_own_does_not_hide_a_worktree() {
    let world = World::with_commit();
    world.sh(
        "cd .. && git init -q --separate-git-dir=apart.git apart && cd apart && echo a >a && git add a && git commit -qm a
         git worktree add -q -b side ../apart-side && echo x >>a && echo y >>../apart-side/a",
    );
    let names = |at: &str| {
        let found = world.json(&["-C", at, "overlap", "--json"]);
        let worktrees = found["worktrees"].as_array().expect("a list").iter();
        worktrees.map(|it| (it["worktree"].clone(), it["paths"].clone(), it["unknown"].clone())).collect::<Vec<_>>()
    };
    let [(name, paths, Value::Null)] = &names("../apart")[..] else { panic!("one is known") };
    assert_eq!((name, &paths[0]["state"]), (&json!("apart-side"), &json!("conflict")));
    // Git has noted nowhere where the main worktree is.
    let [(name, _, why)] = &names("../apart-side")[..] else { panic!("one is named") };
    assert_eq!(name, "main");
    assert!(why.as_str().expect("a reason").contains("has not noted where"), "{why}");
}

#[rstest::rstest]
#[case::submodule(
    "cd .. && git init -q of && cd of && git commit -q --allow-empty -m base
     git -c protocol.file.allow=always submodule --quiet add ../repo-of-it sub && cd sub && git worktree add -q -b side ../../side",
    "../of/sub",
    &["main", "side"]
)]
#[case::bare(
    "cd .. && git clone -q --bare repo-of-it bare.git && cd bare.git && git worktree add -q -b one ../one
     git worktree add -q -b side ../side",
    "../one",
    &["one", "side"]
)]
fn each_worktree_is_found(#[case] script: &str, #[case] root: &str, #[case] names: &[&str]) {
    let world = World::with_commit();
    world.sh("cd .. && git init -q repo-of-it && cd repo-of-it && echo a >a && git add a && git commit -qm a");
    world.sh(script);
    world.sh(&format!("echo x >>{root}/a; echo y >>../side/a"));
    for (at, other) in [(root, names[1]), ("../side", names[0])] {
        let found = world.json(&["-C", at, "overlap", "--json"]);
        let [it] = &found["worktrees"].as_array().expect("a list")[..] else { panic!("{found}") };
        assert_eq!((&it["worktree"], &it["paths"][0]["state"]), (&json!(other), &json!("conflict")), "{found}");
    }
}

#[test]
fn a_registration_that_cannot_be_read_is_named() {
    let world = world();
    world.sh("rm .git/worktrees/side/gitdir && mkdir .git/worktrees/side/gitdir");
    assert!(found(&world)["unknown"].is_string());
    fs::remove_dir(world.repo().join(".git/worktrees/side/gitdir")).expect("it is empty");
    // As for git, there is no worktree then.
    assert_eq!(found(&world), Value::Null);
}

#[rstest::rstest]
#[case::alone("mkdir ../side/n; echo 2 >../side/n/f", "here")]
#[case::in_both("git init -q ../side/n; echo 2 >../side/n/f", "here")]
fn a_nested_repository_without_a_commit_is_unknown(#[case] script: &str, #[case] side: &str) {
    let world = world();
    world.sh("git init -q n; echo 1 >n/f");
    world.sh(script);
    let found = found(&world);
    let paths = found["paths"].as_array().expect("a list");
    let nested = paths.iter().find(|it| it["here"]["path"] == "n").expect("it is named");
    let why = format!("saves leave it out {side}: a nested repository without a commit");
    assert_eq!((&nested["state"], &nested["unknown"]), (&json!("unknown"), &json!(why)));
    assert_eq!(overlap(&world, &["--exit-code", "n"]).status.code(), Some(1));
}

/// Four files, renamed and changed here, and changed there.
#[rstest::rstest]
#[case::of_diffs_alone("git config merge.renameLimit 100; git config diff.renameLimit 1", true)]
#[case::of_merges("git config merge.renameLimit 1; git config diff.renameLimit 100", false)]
#[case::of_diffs_for_merges("git config diff.renameLimit 1", false)]
#[case::none_for_diffs("git config diff.renameLimit 0", true)]
fn renames_are_searched_as_far_as_a_merge_does(#[case] script: &str, #[case] are_found: bool) {
    let world = World::with_commit();
    world.sh("for f in a b c d; do for n in $(seq 10); do echo $f $n; done >$f; done");
    world.commit_all("lines");
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    world.sh(script);
    world.sh("for f in a b c d; do mv $f q-$f-z; echo more >>q-$f-z; sed -i 1s/^/x/ ../side/$f; done");
    if are_found {
        assert_eq!(states(&world), ["q-a-z clean", "q-b-z clean", "q-c-z clean", "q-d-z clean"]);
    } else {
        assert!(found(&world)["unknown"].as_str().expect("a reason").contains("renames cannot be searched"));
    }
    world.sh("for dir in . ../side; do git -C $dir add -A && git -C $dir commit -q -m all; done");
    let output = world.try_git(&["merge-tree", "--write-tree", "HEAD", "side"]);
    assert_eq!(output.status.code(), Some(i32::from(!are_found)), "{}", String::from_utf8_lossy(&output.stdout));
}

#[rstest::rstest]
#[case::graft("git replace --graft HEAD", "another history")]
#[case::old_graft("mkdir -p .git/info; git rev-parse HEAD >.git/info/grafts", "another history")]
#[case::attributes_of_a_commit(
    "echo 'a -merge' >.gitattributes; git add .gitattributes; git config attr.tree $(git write-tree); git rm -qf .gitattributes",
    "attr.tree"
)]
fn what_git_reads_elsewhere_is_unknown(#[case] script: &str, #[case] expected: &str) {
    let world = world();
    world.sh("git checkout -q b; git -C ../side checkout -q b; git -C ../side commit -qam there; git commit -qam here");
    assert_eq!(states(&world), ["a clean"]);
    world.sh(script);
    assert!(found(&world).to_string().contains(expected), "{}", found(&world));
    assert_eq!(overlap(&world, &["--exit-code"]).status.code(), Some(1));
}

#[test]
fn a_shallow_history_ends_where_git_ends_it() {
    let world = world();
    world.sh("git -C ../side commit -qam there; git commit -qam here");
    assert_eq!(states(&world), ["a clean", "b conflict content"]);
    world.sh("git rev-parse HEAD >.git/shallow");
    assert!(!world.try_git(&["merge-base", "HEAD", "side"]).status.success());
    assert!(found(&world)["unknown"].as_str().expect("a reason").contains("no commit in common"));
    world.sh("git rev-parse HEAD~ >.git/shallow");
    assert_eq!(states(&world), ["a clean", "b conflict content"]);
}

/// Git may find replaced commits there.
#[test]
fn another_place_for_replaced_commits_is_not_read() {
    let world = world();
    let mut command = world.command(program());
    command.args(["overlap", "--json"]).env("GIT_REPLACE_REF_BASE", "refs/foo/");
    let found: Value = serde_json::from_slice(&command.output().expect("it runs").stdout).expect("it is JSON");
    let why = found["worktrees"][0]["unknown"].as_str().unwrap_or_else(|| panic!("a reason: {found}"));
    assert!(why.contains("'GIT_REPLACE_REF_BASE' is set"), "{why}");
}

/// Git has to convert these files.
#[rstest::rstest]
#[case::encoding("* working-tree-encoding=CP850")]
#[case::optional_filter("* filter=none")]
fn nothing_is_written(#[case] attributes: &str) {
    let world = world();
    world.git(&["config", "filter.none.clean", "no-such-command"]);
    world.sh("mkdir -p .git/info");
    world.write(".git/info/attributes", format!("{attributes}\n"));
    let files = || world.sh("find .git -type f -printf '%p %s\\n' | sort");
    world.sh("printf 'caf\\202\\n' >>a; printf 'caf\\202\\n' >>../side/a");
    let before = files();
    world.done(&["overlap"]);
    assert_eq!(files(), before);
}
