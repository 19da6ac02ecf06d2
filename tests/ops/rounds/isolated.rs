//! Rounds in copies that are repositories of their own: of a repository, and of a directory without one.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use rstest::rstest;
use serde_json::{Value, json};

use super::{dies, end, everything, field, folder, is_anonymous, path, said, text};
use crate::support::World;

fn words<'w>(workspace: &'w Path, more: &[&'w str]) -> Vec<&'w str> {
    [&["round", "start", "--mode", "isolated", "--workspace", text(workspace), "--json"], more].concat()
}

/// Begins a round on this repository.
fn start(world: &World, more: &[&str]) -> Value {
    let workspace = folder(world, "ws");
    world.json(&words(&workspace, &[&["--context", "."], more].concat()))
}

/// Makes a directory that is in no repository, with files of many kinds.
fn plain(world: &World) -> PathBuf {
    let path = folder(world, "plain");
    world.sh(
        "cd ../plain; mkdir -p src empty; echo code >src/main; echo '*.log' >.gitignore; echo noise >a.log; chmod +x src/main
         ln -s src/main link; ln -s nowhere dangling; printf '\\0\\377' >binary; echo odd >'a b'",
    );
    path
}

fn id(round: &Value) -> &str {
    round["round"].as_str().expect("it has an id")
}

#[test]
fn the_copy_is_a_repository_of_its_own() {
    let world = World::with_commit();
    world.sh("git remote add origin ../nowhere; git config user.name 'Local Name'; git tag old; git branch other; mkdir src; echo 1 >src/f
              git add .; git commit -qm src; echo dirty >>src/f; echo new >new");
    let before = (world.git(&["status", "--porcelain"]), world.git(&["rev-parse", "HEAD"]));
    let round = world.json(&words(&folder(&world, "ws"), &["--context", "src", "--agent", "agent1"]));
    let root = path(&round);
    assert_eq!((field(&round, "mode"), root.clone()), ("isolated", world.root().join("ws/.worktree/ctx_1")));
    assert_eq!(field(&round, "directory"), text(&root.join("src")));
    let git = |arguments: &[&str]| world.git(&[&["-C", text(&root)], arguments].concat());
    assert!(root.join(".git").is_dir() && !root.join(".git/objects/info/alternates").exists());
    assert_eq!(git(&["remote"]), "");
    assert_eq!(git(&["tag"]), "");
    assert_eq!(git(&["config", "user.name"]), "Local Name\n");
    assert_eq!(git(&["branch", "--show-current"]).trim(), field(&round, "branch"));
    assert!(is_anonymous(field(&round, "branch")));
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(git(&["log", "--format=%s"]), world.git(&["log", "--format=%s"]));
    assert_eq!(git(&["show", "HEAD:src/f"]), "1\n");
    git(&["fsck", "--strict"]);
    assert_eq!((world.git(&["status", "--porcelain"]), world.git(&["rev-parse", "HEAD"])), before);
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
    // It needs this repository no more.
    world.sh("mv .git ../gone");
    git(&["fsck", "--strict"]);
    git(&["log", "-p"]);
    world.sh("mv ../gone .git");
}

#[test]
fn an_agent_is_recorded_in_the_copy_and_its_records_come_back() {
    let world = World::with_commit();
    world.done(&["enable"]);
    let round = start(&world, &["--agent", "agent1", "--session", "s1"]);
    let root = path(&round);
    let there = |arguments: &[&str]| world.done(&[&["-C", text(&root)], arguments].concat());
    there(&["session", "prompt", "s1", "-m", "write it"]);
    fs::write(root.join("one"), "first\n").expect("writable");
    there(&["session", "stop", "s1"]);
    world.git(&["-C", text(&root), "add", "."]);
    world.git(&["-C", text(&root), "commit", "-qm", "one"]);
    there(&["session", "prompt", "s1", "-m", "and more"]);
    fs::write(root.join("two"), "second\n").expect("writable");
    there(&["session", "stop", "s1"]);
    there(&["session", "end", "s1"]);
    fs::write(root.join(".checkpoint_scratch/note"), "an idea\n").expect("writable");
    let ended = end(&world, &round);
    let branch = field(&round, "branch");
    for (name, words) in [("one", "write it"), ("two", "and more")] {
        assert!(world.done(&["blame", "--rev", branch, name]).contains("s1"), "{name} has its record");
        assert!(world.done(&["why", "--rev", branch, &format!("{name}:1")]).contains(words), "{name} has its prompt");
    }
    assert_eq!(world.git(&["log", "--format=%s", &format!("main..{branch}")]), "[ROUND] Auto-commit\none\n");
    assert_eq!(world.sh("cat ../ws/.scratch_archive/agent1/note"), "an idea\n");
    let aside = PathBuf::from(field(&ended, "aside"));
    assert!(aside.starts_with(world.repo().join(".git/checkpoint/rounds").join(id(&round))), "{ended}");
    assert!(!root.exists() && aside.join("two").is_file() && aside.join(".git").is_dir());
    let checkpoint = field(&ended, "checkpoint");
    let held = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive"]);
    assert!(held.contains(checkpoint), "{held}");
    world.git(&["fsck", "--strict", "--no-dangling"]);
    let shown = world.json(&["round", "show", id(&round), "--json"]);
    assert_eq!(shown["round"]["contexts"][0]["aside"], json!(text(&aside)));
    // The round is what it was, without the copy.
    fs::remove_dir_all(&aside).expect("it can be removed");
    assert_eq!(world.done(&["round", "diff", "--name-only", id(&round)]), "one\ntwo\n");
    world.done(&["round", "apply", id(&round)]);
    assert_eq!(world.sh("cat one two"), "first\nsecond\n");
}

#[test]
fn what_is_ignored_stays_in_the_copy_that_is_aside() {
    let world = World::with_commit();
    world.sh("echo .env >.gitignore; echo .env >.worktreeinclude; git add .; git commit -qm rules; echo secret >.env");
    let round = start(&world, &[]);
    assert_eq!(fs::read_to_string(path(&round).join(".env")).expect("copied"), "secret\n");
    fs::write(path(&round).join(".env"), "changed\n").expect("writable");
    let ended = end(&world, &round);
    let aside = PathBuf::from(field(&ended, "aside"));
    assert_eq!(fs::read_to_string(aside.join(".env")).expect("it is there"), "changed\n");
    // It goes when what is archived goes.
    assert_eq!(world.json(&["prune", "--older-than", "1d", "--json"])["copies"], json!([]));
    let name = aside.file_name().and_then(|name| name.to_str()).expect("it is plain");
    let old = aside.with_file_name(name.rsplit_once('-').expect("it has a time").0.to_owned() + "-1000");
    fs::rename(&aside, &old).expect("it can be renamed");
    world.sh("sed -i 's/\"began\": [0-9]*/\"began\": 1000/' .git/checkpoint/rounds/*.json");
    let dry = world.json(&["prune", "-n", "--json"]);
    assert_eq!(dry["copies"][0]["path"], json!(text(&old)), "{dry}");
    assert!(old.exists());
    world.done(&["prune"]);
    assert!(!old.exists());
    assert_eq!(world.git(&["show", &format!("{}:.gitignore", field(&round, "branch"))]), ".env\n");
}

#[test]
fn a_directory_without_a_repository_is_copied_as_it_is() {
    let world = World::with_commit();
    let plain = plain(&world);
    let before = world.sh("cd ../plain; find . -exec stat -c '%A %n' {} + | sort");
    let workspace = folder(&world, "ws");
    // Of itself, without `--mode`.
    let round = world.json(&["round", "start", "--context", text(&plain), "--workspace", text(&workspace), "--json"]);
    assert_eq!(field(&round, "mode"), "isolated");
    let root = path(&round);
    let copied = world.sh(&format!(
        "cd '{}'; find . -name .git -prune -o -name .checkpoint_scratch -prune -o -exec stat -c '%A %n' {{}} + | sort",
        root.display()
    ));
    assert_eq!(copied, before);
    assert_eq!(fs::read_link(root.join("dangling")).expect("a link"), Path::new("nowhere"));
    assert_eq!(fs::read(root.join("binary")).expect("a file"), b"\0\xff");
    assert_eq!(world.git(&["-C", text(&root), "log", "--format=%s"]), "[ROUND] Baseline\n");
    assert_eq!(world.git(&["-C", text(&root), "status", "--porcelain"]), "");
    let names = world.git(&["-C", text(&root), "ls-files"]);
    assert_eq!(names, ".gitignore\na b\nbinary\ndangling\nlink\nsrc/main\n");
    fs::write(root.join("src/main"), "better\n").expect("writable");
    fs::write(root.join("new"), "new\n").expect("writable");
    assert_eq!(world.done(&["round", "diff", "--name-only", id(&round)]), "new\nsrc/main\n");
    end(&world, &round);
    assert_eq!(world.done(&["round", "diff", "--name-only", id(&round)]), "new\nsrc/main\n");
    assert_eq!(world.git(&["log", "--format=%s", field(&round, "branch")]), "[ROUND] Auto-commit\n[ROUND] Baseline\n");
    world.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(world.sh("cd ../plain; find . -exec stat -c '%A %n' {} + | sort"), before);
    // What the hint says brings the changes there.
    let output = world.checkpoint(&["round", "apply", id(&round)]);
    let said = said(&output);
    assert!(!output.status.success() && said.contains("is in no repository"), "{said}");
    let command = said
        .split('\'')
        .find(|word| word.starts_with("git ") && word.contains(" diff --binary "))
        .unwrap_or_else(|| panic!("{said}"));
    world.sh(command);
    assert_eq!(
        world.sh("cat ../plain/src/main ../plain/new; ls -A ../plain"),
        format!("better\nnew\n{}", world.sh("ls -A ../plain"))
    );
}

#[test]
fn without_any_repository_the_workspace_keeps_the_round() {
    let world = World::with_commit();
    let (plain, workspace, elsewhere) = (plain(&world), folder(&world, "ws"), folder(&world, "elsewhere"));
    let output = world.checkpoint(&["-C", text(&elsewhere), "round", "start", "--context", text(&plain)]);
    assert!(said(&output).contains("--workspace"), "{}", said(&output));
    let inside = folder(&world, "plain/inside");
    let output = world.checkpoint(&[
        "-C",
        text(&elsewhere),
        "round",
        "start",
        "--context",
        text(&plain),
        "--workspace",
        text(&inside),
    ]);
    assert!(said(&output).contains("is to be copied"), "{}", said(&output));
    assert!(!inside.join(".git").exists());
    let round = world.json(&[
        "-C",
        text(&elsewhere),
        "round",
        "start",
        "--context",
        "../plain",
        "--workspace",
        "../ws",
        "--agent",
        "a",
        "--json",
    ]);
    assert_eq!(field(&round, "context"), text(&plain));
    fs::write(path(&round).join("new"), "new\n").expect("writable");
    assert_eq!(world.git(&["-C", text(&workspace), "status", "--porcelain"]), "");
    let ended = world.json(&["-C", text(&workspace), "round", "end", id(&round), "--json"]);
    assert!(Path::new(field(&ended, "aside")).starts_with(workspace.join(".git")), "{ended}");
    assert_eq!(world.git(&["-C", text(&workspace), "show", &format!("{}:new", field(&round, "branch"))]), "new\n");
}

#[rstest]
#[case::nested("mkdir -p ../plain/lib; git init -q ../plain/lib", "lib' is a repository")]
#[case::gitfile("mkdir -p ../plain/lib; echo 'gitdir: /nowhere' >../plain/lib/.git", "lib' is a repository")]
#[case::fifo("mkfifo ../plain/pipe", "pipe' is neither a file")]
#[case::unreadable("mkdir ../plain/locked; chmod 0 ../plain/locked", "locked'")]
#[case::read_only_is_no_failure("mkdir ../plain/fixed; echo 1 >../plain/fixed/f; chmod 555 ../plain/fixed", "")]
fn what_cannot_be_copied_is_named(#[case] script: &str, #[case] expected: &str) {
    let world = World::with_commit();
    let (plain, workspace) = (plain(&world), folder(&world, "ws"));
    world.sh(script);
    if expected.contains("locked") && fs::read_dir(plain.join("locked")).is_ok() {
        // The superuser reads everything.
        return;
    }
    world.sh("mkdir ../ws/.worktree");
    let before = everything(&world);
    let output = world.checkpoint(&words(&workspace, &["--context", text(&plain)]));
    if expected.is_empty() {
        assert!(output.status.success(), "{}", said(&output));
        return;
    }
    assert!(!output.status.success() && said(&output).contains(expected), "{}", said(&output));
    let after = everything(&world);
    assert_eq!(after, before, "{}", said(&output));
    assert_eq!(world.json(&["round", "list", "--all", "--json"])["rounds"], json!([]));
    if plain.join("locked").exists() {
        fs::set_permissions(plain.join("locked"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
}

#[rstest]
#[case("round:after-state")]
#[case("round:after-claim")]
#[case("round:after-mark")]
#[case("round:after-objects")]
#[case("round:after-copy")]
#[case("round:after-place")]
fn a_start_that_was_killed_goes_on(#[case] failpoint: &str) {
    let world = World::with_commit();
    let workspace = folder(&world, "ws");
    dies(&world, failpoint, &words(&workspace, &["--context", "."]));
    let round = start(&world, &[]);
    assert_eq!(world.git(&["for-each-ref", "refs/heads/agents"]).lines().count(), 1, "{round}");
    assert_eq!(world.json(&["round", "list", "--all", "--json"])["rounds"].as_array().map(Vec::len), Some(1));
    assert_eq!(world.sh("ls ../ws/.worktree").lines().count(), 1);
    fs::write(path(&round).join("new"), "work\n").expect("writable");
    end(&world, &round);
    assert_eq!(world.git(&["show", &format!("{}:new", field(&round, "branch"))]), "work\n");
}

#[rstest]
#[case("round:after-claim")]
#[case("round:after-objects")]
#[case("round:after-copy")]
#[case("round:after-place")]
fn a_start_that_was_killed_can_be_ended(#[case] failpoint: &str) {
    let world = World::with_commit();
    let workspace = folder(&world, "ws");
    dies(&world, failpoint, &words(&workspace, &["--context", "."]));
    let listed = world.json(&["round", "list", "--json"]);
    assert_eq!(listed["rounds"][0]["phase"], json!("starting"));
    end(&world, &listed["rounds"][0]);
    assert_eq!(world.sh("ls ../ws/.worktree"), "");
}

#[rstest]
#[case("round:before-commit")]
#[case("round:after-commit")]
#[case("condense:before-record")]
#[case("round:after-bring")]
#[case("round:after-records")]
#[case("round:before-archive")]
#[case("round:after-archive")]
#[case("round:before-aside")]
#[case("round:after-aside")]
fn an_end_that_was_killed_goes_on(#[case] failpoint: &str) {
    let world = World::with_commit();
    let round = start(&world, &["--agent", "agent1", "--session", "s1"]);
    let root = path(&round);
    world.done(&["-C", text(&root), "session", "prompt", "s1", "-m", "write it"]);
    for (name, content) in [("new", "work\n"), (".checkpoint_scratch/note", "an idea\n")] {
        fs::write(root.join(name), content).expect("writable");
    }
    world.done(&["-C", text(&root), "session", "stop", "s1"]);
    world.done(&["-C", text(&root), "session", "end", "s1"]);
    dies(&world, failpoint, &["round", "end", id(&round)]);
    let ended = end(&world, &round);
    let branch = field(&round, "branch");
    assert!(!root.exists() && Path::new(field(&ended, "aside")).join("new").is_file(), "{ended}");
    assert_eq!(world.git(&["show", &format!("{branch}:new")]), "work\n");
    assert_eq!(world.git(&["rev-list", "--count", &format!("main..{branch}")]), "1\n");
    assert_eq!(world.sh("cd ../ws/.scratch_archive; find . -type f -exec cat {} +"), "an idea\n", "{ended}");
    assert!(world.done(&["blame", "--rev", branch, "new"]).contains("s1"), "it has its record");
    assert_eq!(end(&world, &round)["contexts"][0]["aside"], ended["contexts"][0]["aside"]);
    world.git(&["fsck", "--strict", "--no-dangling"]);
}

/// A copy on another file system cannot be moved into the git directory.
#[test]
fn a_copy_on_another_file_system_stays_there_under_another_name() {
    use std::os::unix::fs::MetadataExt as _;
    let world = World::with_commit();
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let device = |path: &Path| fs::metadata(path).expect("it is there").dev();
    if device(elsewhere.path()) == device(&world.repo()) {
        return;
    }
    let round = world.json(&words(elsewhere.path(), &["--context", "."]));
    fs::write(path(&round).join("new"), "work\n").expect("writable");
    let ended = end(&world, &round);
    let aside = PathBuf::from(field(&ended, "aside"));
    assert!(aside.starts_with(elsewhere.path().canonicalize().expect("it is there").join(".worktree")), "{ended}");
    assert!(!path(&round).exists() && aside.join("new").is_file());
    assert_eq!(world.json(&["prune", "--older-than", "1d", "--json"])["copies"], json!([]));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(world.json(&["prune", "--older-than", "0s", "--json"])["copies"][0]["path"], json!(text(&aside)));
    assert!(!aside.exists());
}

/// What was purged here while the round went on does not come back, and copies are not changed.
#[test]
fn what_was_purged_here_does_not_come_back_with_the_copy() {
    const SECRET: &str = "swordfish-4711";
    let world = World::with_commit();
    world.done(&["enable"]);
    world.done(&["session", "start", "s0"]);
    world.done(&["session", "prompt", "s0", "-m", SECRET]);
    world.sh("echo work >work");
    world.done(&["session", "stop", "s0"]);
    world.sh("git add work; git commit -qm work");
    let (round, later) = (start(&world, &["--agent", "a"]), start(&world, &["--session", "s2"]));
    let root = path(&round);
    fs::write(root.join("note"), SECRET).expect("writable");
    let aside = PathBuf::from(field(&end(&world, &round), "aside"));
    let purged = world.checkpoint(&["purge", "--force", "--json", SECRET]);
    let report: Value = serde_json::from_slice(&purged.stdout).unwrap_or_else(|_| panic!("{}", said(&purged)));
    let inside = aside.strip_prefix(world.repo().join(".git")).expect("it is in the git directory");
    assert!(report["left"].to_string().contains(text(&inside.join("note"))), "{report}");
    assert_eq!(fs::read_to_string(aside.join("note")).expect("it is there"), SECRET);
    world.git(&["-C", text(&aside), "fsck", "--strict", "--no-dangling"]);
    let root = path(&later);
    world.done(&["-C", text(&root), "session", "prompt", "s2", "-m", "more"]);
    fs::write(root.join("new"), "work\n").expect("writable");
    world.done(&["-C", text(&root), "session", "stop", "s2"]);
    world.done(&["-C", text(&root), "session", "end", "s2"]);
    let ended = end(&world, &later);
    assert!(field(&ended, "left_out").contains("purged"), "{ended}");
    assert_eq!(world.git(&["show", &format!("{}:new", field(&later, "branch"))]), "work\n", "{ended}");
    assert!(!world.git(&["log", "-p", "refs/checkpoints/history"]).contains(SECRET));
}

/// What git finds wrong in other branches of the copy stays there, and what this repository has anyway needs no word.
#[test]
fn other_refs_of_the_copy_keep_no_round_from_its_end() {
    let world = World::with_commit();
    world.sh("git switch -qc release; git commit -q --allow-empty -m released; git tag v1; git switch -q main");
    let round = start(&world, &[]);
    let (root, branch) = (path(&round), field(&round, "branch"));
    world.sh(&format!(
        "repo=$PWD; cd '{}'; echo work >new
        git fetch -q \"$repo\" 'refs/tags/*:refs/tags/*' refs/heads/release:refs/heads/release
        bad=$(printf 'tree %s\\nauthor X <x> 1 +0000\\ncommitter X <x@x> 99999999999999999999 +0000\\n\\nbad\\n' \"$(git rev-parse HEAD^{{tree}})\" |
            git hash-object --literally -t commit -w --stdin)
        git update-ref refs/heads/bad $bad; git update-ref refs/heads/good $(git commit-tree -m good HEAD^{{tree}})",
        root.display()
    ));
    let ended = end(&world, &round);
    let left_out = field(&ended, "left_out");
    assert!(left_out.contains("'bad' of the copy stays there: "), "{left_out}");
    assert!(left_out.contains("'good' of the copy is the commit "), "{left_out}");
    assert!(!left_out.contains("'v1'") && !left_out.contains("'release'"), "{left_out}");
    assert_eq!(world.git(&["show", &format!("{branch}:new")]), "work\n");
    world.git(&["-C", field(&ended, "aside"), "cat-file", "-e", "bad"]);
}

/// The branch is that of the round, and commits that it has got otherwise are not overwritten.
#[test]
fn a_branch_that_was_moved_here_is_refused_and_nothing_is_lost() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    let (root, branch) = (path(&round), field(&round, "branch"));
    fs::write(root.join("new"), "work\n").expect("writable");
    world.sh(&format!("git switch -q {branch}; git commit -q --allow-empty -m mine; git switch -q main"));
    let tip = world.git(&["rev-parse", branch]);
    let output = world.checkpoint(&["round", "end", id(&round)]);
    assert!(said(&output).contains("has commits here that the round does not have"), "{}", said(&output));
    assert_eq!(world.git(&["rev-parse", branch]), tip);
    assert!(root.join("new").is_file());
    world.git(&["branch", "-m", branch, "mine"]);
    end(&world, &round);
    assert_eq!(world.git(&["show", &format!("{branch}:new")]), "work\n");
    assert_eq!(world.git(&["rev-parse", "mine"]), tip);
}

#[test]
fn commits_that_the_agent_makes_anew_replace_those_that_were_read() {
    let world = World::with_commit();
    let round = start(&world, &["--agent", "agent1"]);
    let (root, branch) = (path(&round), field(&round, "branch"));
    world.sh(&format!("cd '{}'; echo 1 >g; git add .; git commit -qm one", root.display()));
    let summary = world.json(&["round", "branches", "--summary", "--json"]);
    assert_eq!(summary["summary"]["agent1"], json!({"files": 1, "added": 1, "removed": 0}), "{summary}");
    let old = world.git(&["rev-parse", branch]);
    world.sh(&format!("cd '{}'; echo 2 >>g; git commit -qa --amend -m two", root.display()));
    world.done(&["round", "context", id(&round)]);
    assert_eq!(world.git(&["log", "--format=%s", &format!("main..{branch}")]), "two\n");
    let held = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive"]);
    assert!(held.contains(old.trim()), "{held}");
    end(&world, &round);
}

#[test]
fn two_at_once_are_compared_with_each_other_and_with_a_worktree() {
    let world = World::with_commit();
    world.sh("seq 20 >f; git add f; git commit -qm f");
    let rounds = std::thread::scope(|scope| {
        let one = |name: &'static str| {
            let world = &world;
            scope.spawn(move || {
                let workspace = folder(world, name);
                world.json(&words(&workspace, &["--context", ".", "--agent", name]))
            })
        };
        ["one", "two"].map(one).map(|it| it.join().expect("it begins"))
    });
    let third = world.json(&["round", "start", "--context", ".", "--json"]);
    for (round, script) in
        [(&rounds[0], "sed -i 3s/3/three/ f"), (&rounds[1], "sed -i 3s/3/drei/ f"), (&third, "sed -i 18s/8/acht/ f")]
    {
        world.sh(&format!("cd '{}'; {script}", path(round).display()));
    }
    assert_ne!(field(&rounds[0], "branch"), field(&rounds[1], "branch"));
    let state = |one: &Value, other: &Value| {
        let compared = world.json(&["round", "compare", "--json", id(one), id(other)]);
        compared["paths"][0]["state"].as_str().unwrap_or_else(|| panic!("{compared}")).to_owned()
    };
    assert_eq!(state(&rounds[0], &rounds[1]), "conflict");
    assert_eq!(state(&rounds[0], &third), "clean");
    let tested = world.json(&["round", "compare", "--json", "--test", "grep -q three f", id(&rounds[0]), id(&third)]);
    assert_eq!([&tested["rounds"][0]["test"]["status"], &tested["rounds"][1]["test"]["status"]], [0, 1], "{tested}");
    let ended = world.json(&["round", "end", "--all", "--branches", "keep", "--json"]);
    assert_eq!(ended["rounds"].as_array().map(Vec::len), Some(3), "{ended}");
    assert_eq!(state(&rounds[0], &rounds[1]), "conflict");
    let tested =
        world.json(&["round", "compare", "--json", "--test", "grep -q three f", id(&rounds[0]), id(&rounds[1])]);
    assert_eq!([&tested["rounds"][0]["test"]["status"], &tested["rounds"][1]["test"]["status"]], [0, 1], "{tested}");
}

/// What an agent does to its repository leads a command nowhere else.
#[rstest]
#[case::gitfile("git init -q ../../../evil; rm -rf .git; echo 'gitdir: ../../../evil/.git' >.git")]
#[case::worktree("git config core.worktree ../../../repo")]
#[case::link("mv .git ../moved; ln -s ../moved .git")]
fn a_copy_that_leads_elsewhere_is_refused(#[case] script: &str) {
    let world = World::with_commit();
    let round = start(&world, &[]);
    world.sh(&format!("cd '{}'; {script}", path(&round).display()));
    let before = world.git(&["log", "--all", "--format=%H"]);
    for command in [["round", "end"], ["round", "diff"]] {
        let output = world.checkpoint(&[&command[..], &[id(&round)]].concat());
        assert!(!output.status.success(), "{command:?}");
    }
    assert_eq!(world.git(&["log", "--all", "--format=%H"]), before);
    assert!(path(&round).exists());
}

#[test]
fn a_session_at_work_keeps_the_copy_where_it_is() {
    let world = World::with_commit();
    let round = start(&world, &["--session", "s1"]);
    let root = path(&round);
    world.done(&["-C", text(&root), "session", "prompt", "s1", "-m", "write it"]);
    let output = world.checkpoint(&["round", "end", id(&round)]);
    assert!(said(&output).contains("has a turn under way"), "{}", said(&output));
    world.done(&["-C", text(&root), "session", "stop", "s1"]);
    world.done(&["-C", text(&root), "session", "end", "s1"]);
    let kept = world.json(&["round", "end", id(&round), "--keep-worktree", "--json"]);
    assert_eq!(field(&kept, "kept"), text(&root), "{kept}");
    assert!(root.is_dir());
}

#[test]
fn a_copy_that_was_moved_is_asked_for() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    fs::write(path(&round).join("new"), "work\n").expect("writable");
    fs::rename(path(&round), world.root().join("moved")).expect("it can be moved");
    let output = world.checkpoint(&["round", "end", id(&round)]);
    assert!(!output.status.success() && said(&output).contains("move it back"), "{}", said(&output));
    fs::rename(world.root().join("moved"), path(&round)).expect("it can be moved");
    end(&world, &round);
    assert_eq!(world.git(&["show", &format!("{}:new", field(&round, "branch"))]), "work\n");
    let round = start(&world, &[]);
    fs::remove_dir_all(path(&round)).expect("it can be removed");
    let ended = world.json(&["round", "end", "--keep-worktree", id(&round), "--json"]);
    assert_eq!(ended["contexts"][0]["gone"], json!(true), "{ended}");
}

#[test]
fn set_up_and_teardown_run_in_the_copy() {
    let world = World::with_commit();
    world.done(&["config", "set", "worktree.setup", "[\"echo $GIT_CHECKPOINT_MAIN $GIT_CHECKPOINT_BRANCH >../said\"]"]);
    world.done(&["config", "set", "worktree.teardown", "[\"echo down >../down\"]"]);
    let round = start(&world, &[]);
    let expected = format!("{} {}\n", world.repo().display(), field(&round, "branch"));
    assert_eq!(world.sh("cat ../ws/.worktree/said"), expected);
    end(&world, &round);
    assert_eq!(world.sh("cat ../ws/.worktree/down"), "down\n");
}

#[test]
fn experiments_are_archived_while_the_round_goes_on() {
    let world = World::with_commit();
    let round = start(&world, &["--agent", "agent1"]);
    fs::write(path(&round).join(".checkpoint_scratch/note"), "an idea\n").expect("writable");
    assert_eq!(world.git(&["-C", text(&path(&round)), "status", "--porcelain"]), "");
    world.done(&["round", "archive", id(&round)]);
    assert_eq!(world.sh("cat ../ws/.scratch_archive/agent1/note"), "an idea\n");
    symlink("nowhere", path(&round).join("link")).expect("it can be made");
    end(&world, &round);
    assert_eq!(world.git(&["ls-tree", field(&round, "branch"), "link"]).split(' ').next(), Some("120000"));
}
