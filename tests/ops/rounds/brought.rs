//! What comes from a copy, and goes into one: all of the work, and nothing else.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use super::{end, field, folder, path, said, text};
use crate::support::World;

/// Begins an isolated round on this repository.
fn start(world: &World, more: &[&str]) -> Value {
    let workspace = folder(world, "ws");
    let words = ["round", "start", "--mode", "isolated", "--context", ".", "--workspace", text(&workspace), "--json"];
    world.json(&[&words[..], more].concat())
}

fn id(round: &Value) -> &str {
    round["round"].as_str().expect("it has an id")
}

/// Tries to end the round, which is refused: the copy stays.
fn refused(world: &World, round: &Value) -> String {
    let output = world.checkpoint(&["round", "end", id(round)]);
    assert!(!output.status.success() && path(round).exists(), "{}", said(&output));
    said(&output)
}

/// An agent fetches a part of a history, or cuts its own: this repository keeps the whole one.
#[test]
fn a_history_that_is_cut_off_in_the_copy_is_not_cut_off_here() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    let copy = path(&round);
    world.sh(&format!(
        "cd '{}'; for i in 1 2 3; do echo $i >a; git add a; git commit -qm a$i; done; git rev-parse HEAD~1 >.git/shallow",
        copy.display()
    ));
    for words in [&["round", "branches"][..], &["round", "context", id(&round)]] {
        world.done(words);
        assert!(!world.exists(".git/shallow"), "{words:?}");
    }
    let said = refused(&world, &round);
    assert!(said.contains("is cut off at") && said.contains("fetch --unshallow"), "{said}");
    fs::remove_file(copy.join(".git/shallow")).expect("it is there");
    end(&world, &round);
    assert_eq!(world.git(&["log", "--format=%s", &format!("main..{}", field(&round, "branch"))]), "a3\na2\na1\n");
    assert!(!world.exists(".git/shallow"));
    world.git(&["fsck", "--strict", "--no-dangling"]);
}

/// What the agent has fetched and not merged cuts nothing of the branch off.
#[test]
fn a_part_of_another_history_in_the_copy_is_no_obstacle() {
    let world = World::with_commit();
    world.sh("git init -q ../other; cd ../other; for i in 1 2; do git commit -q --allow-empty -m $i; done");
    let round = start(&world, &[]);
    world.sh(&format!(
        "cd '{}'; git fetch -q --depth 1 \"file://{}/other\"; test -s .git/shallow; echo work >new",
        path(&round).display(),
        world.root().display()
    ));
    end(&world, &round);
    assert_eq!(world.git(&["show", &format!("{}:new", field(&round, "branch"))]), "work\n");
    assert!(!world.exists(".git/shallow"));
}

/// Stands in for Git LFS: the repository keeps the content, and git a pointer.
fn with_lfs(world: &World) {
    world.script(
        "../bin/clean",
        "#!/bin/sh\nset -e\nt=$(mktemp)\ncat >$t\nh=$(sha256sum <$t | cut -c1-64)\n\
         d=$(git rev-parse --git-common-dir)/lfs/objects/$(echo $h | cut -c1-2)/$(echo $h | cut -c3-4)\nmkdir -p $d\n\
         size=$(wc -c <$t)\nmv $t $d/$h\n\
         printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' $h $size\n",
    );
    world.script(
        "../bin/smudge",
        "#!/bin/sh\nh=$(sed -n 's/^oid sha256://p')\n\
         exec cat $(git rev-parse --git-common-dir)/lfs/objects/$(echo $h | cut -c1-2)/$(echo $h | cut -c3-4)/$h\n",
    );
    let bin = world.root().join("bin");
    for (key, value) in [("clean", bin.join("clean")), ("smudge", bin.join("smudge"))] {
        world.git(&["config", &format!("filter.lfs.{key}"), text(&value)]);
    }
    world.git(&["config", "filter.lfs.required", "true"]);
    world.sh("echo '*.bin filter=lfs' >.gitattributes; echo first >a.bin; git add .; git commit -qm lfs");
}

#[test]
fn the_content_of_git_lfs_goes_along_and_comes_back() {
    let world = World::with_commit();
    with_lfs(&world);
    let round = start(&world, &[]);
    assert_eq!(fs::read_to_string(path(&round).join("a.bin")).expect("it is there"), "first\n");
    fs::write(path(&round).join("new.bin"), "second\n").expect("writable");
    end(&world, &round);
    world.done(&["prune", "--older-than", "0s"]);
    world.git(&["merge", "-q", field(&round, "branch")]);
    assert_eq!(world.sh("cat new.bin a.bin"), "second\nfirst\n");
}

/// The content is nowhere any more, or another one.
#[rstest]
#[case::gone("rm -r .git/lfs", "has not kept the content of 'new.bin'")]
#[case::another("for it in $(find .git/lfs -type f); do echo else >$it; done", "is not what its name says")]
fn a_copy_without_the_content_of_git_lfs_stays(#[case] script: &str, #[case] words: &str) {
    let world = World::with_commit();
    with_lfs(&world);
    let round = start(&world, &[]);
    world
        .sh(&format!("cd '{}'; echo second >new.bin; git add .; git commit -qm new; {script}", path(&round).display()));
    let said = refused(&world, &round);
    assert!(said.contains(words), "{said}");
    assert_eq!(fs::read_to_string(path(&round).join("new.bin")).expect("it stays"), "second\n");
}

/// Work in other repositories, and other worktrees, of the copy.
#[rstest]
#[case::submodule(
    "git -c protocol.file.allow=always submodule --quiet add ../../../sub sm; git commit -qm sm; cd sm; echo deep >deep; git add .; git commit -qm deep",
    "has submodules"
)]
#[case::worktree_inside("git worktree add -q -b helper .claude/h; echo precious >.claude/h/p", "another worktree: '")]
#[case::worktree_beside("git worktree add -q -b helper ../helper; echo precious >../helper/p", "another worktree: '")]
#[case::round(
    "mkdir ../inner; git checkpoint round start --context . --mode isolated --workspace ../inner >/dev/null",
    "which was begun in the copy"
)]
fn a_copy_with_more_than_its_own_work_stays(#[case] script: &str, #[case] words: &str) {
    let world = World::with_commit();
    world.sh("git init -q ../sub; cd ../sub; echo 1 >s; git add s; git commit -qm s");
    let round = start(&world, &[]);
    world.sh(&format!("cd '{}'; {script}", path(&round).display()));
    fs::write(path(&round).join("new"), "work\n").expect("writable");
    let said = refused(&world, &round);
    assert!(said.contains(words) && said.contains("--keep-worktree"), "{said}");
    if words != "has submodules" {
        return;
    }
    let ended = world.json(&["round", "end", "--keep-worktree", id(&round), "--json"]);
    assert_eq!(ended["contexts"][0]["kept"], json!(text(&path(&round))), "{ended}");
    assert_eq!(world.git(&["show", &format!("{}:new", field(&round, "branch"))]), "work\n");
}

/// The records come with the commits, and not only at the end.
#[test]
fn the_lines_of_a_round_that_goes_on_are_the_agents_when_they_are_applied() {
    let world = World::with_commit();
    world.done(&["enable"]);
    let round = start(&world, &["--agent", "a", "--session", "s1"]);
    let root = path(&round);
    let there = |arguments: &[&str]| world.done(&[&["-C", text(&root)], arguments].concat());
    there(&["session", "prompt", "s1", "-m", "write it"]);
    fs::write(root.join("new"), "a line that is long enough\nand another one of them\n").expect("writable");
    there(&["session", "stop", "s1"]);
    world.sh(&format!("cd '{}'; git add new; git commit -qm new", root.display()));
    world.done(&["round", "apply", id(&round)]);
    world.sh("git add new; git commit -qm applied");
    let blamed = world.json(&["blame", "--json", "new"]);
    assert!(blamed["lines"].as_array().expect("a list").iter().all(|line| line["session"] == "s1"), "{blamed}");
}

/// A copy is what may be mounted in a container: what does not come along is not to be found in it.
#[rstest]
#[case::tracked(&["--mirror", "tracked"], &["secret", "earlier", "hidden"])]
#[case::all(&["--mirror", "all"], &["earlier"])]
#[case::checkpoint(&["--base", "@{0}"], &["earlier"])]
fn what_does_not_come_along_is_in_no_object_of_the_copy(#[case] more: &[&str], #[case] words: &[&str]) {
    let world = World::with_commit();
    world.sh("echo 1 >tracked; git add tracked; git commit -qm tracked; echo earlier-4711 >notes");
    world.done(&["save", "-m", "one"]);
    world.sh("rm notes; echo secret-4711 >secret; echo hidden-4711 >staged; echo 2 >tracked");
    world.done(&["save", "-m", "two"]);
    let round = start(&world, more);
    let objects = world.sh(&format!(
        "cd '{}'; git cat-file --batch-all-objects --batch-check='%(objectname)' | while read id; do git cat-file -p $id; done",
        path(&round).display()
    ));
    for word in words {
        assert!(!objects.contains(&format!("{word}-4711")) || *word == "hidden" && more.contains(&"all"), "{word}");
    }
    assert_eq!(world.sh(&format!("cat '{}/tracked'", path(&round).display())), "2\n");
    let has_secret = path(&round).join("secret").exists();
    assert_eq!(has_secret, more != ["--mirror", "tracked"]);
    world.git(&["-C", text(&path(&round)), "fsck", "--strict", "--no-dangling"]);
}

/// Stashes, other branches and tags go with the copy: the archive holds them.
#[test]
fn what_other_refs_of_a_copy_lead_to_is_held_and_named() {
    let world = World::with_commit();
    world.sh("echo 1 >f; git add f; git commit -qm f");
    let round = start(&world, &[]);
    world.sh(&format!(
        "cd '{}'; echo stashed >>f; git stash -q; git switch -qc wip; echo wip >wip; git add wip; git commit -qm wip; git tag -am it it
         git switch -q {}; git branch same; echo work >new",
        path(&round).display(),
        field(&round, "branch")
    ));
    let ended = end(&world, &round);
    world.done(&["prune", "--older-than", "0s"]);
    let left_out = field(&ended, "left_out");
    let commit = |name: &str| {
        let rest = left_out.split_once(&format!("'{name}' of the copy is the commit ")).expect(left_out).1;
        rest.split(' ').next().expect("an id").to_owned()
    };
    assert_eq!(world.git(&["show", &format!("{}:wip", commit("wip"))]), "wip\n");
    assert_eq!(commit("it"), commit("wip"));
    assert_eq!(world.git(&["show", &format!("{}:f", commit("stash@{0}"))]), "1\nstashed\n");
    assert!(!left_out.contains("'same'"), "{left_out}");
    assert_eq!(world.git(&["show", &format!("{}:new", field(&round, "branch"))]), "work\n");
}

/// A program writes while the copy is moved aside.
#[cfg(target_os = "linux")]
#[test]
fn what_is_written_while_the_copy_is_moved_stays() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    fs::write(path(&round).join("new"), "work\n").expect("writable");
    let mut command = world.command(crate::support::program());
    command.args(["round", "end", id(&round)]).env("CHECKPOINT_FAILPOINT", "stop@round:before-last-look");
    let child = command.stderr(std::process::Stdio::piped()).spawn().expect("it runs");
    super::super::worktrees::wait_until_halted(child.id());
    world.sh(&format!("(cd .git/checkpoint/rounds/{0}/*/; echo late >late); kill -CONT {1}", id(&round), child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert!(!output.status.success() && said(&output).contains("'late' has just been changed"), "{}", said(&output));
    assert_eq!(fs::read_to_string(path(&round).join("late")).expect("it is back"), "late\n");
    end(&world, &round);
    assert_eq!(world.git(&["show", &format!("{}:late", field(&round, "branch"))]), "late\n");
}

/// In a copy, there are no branches of others.
#[test]
fn an_agent_in_a_copy_reads_of_no_other_branch() {
    let world = World::with_commit();
    let one = start(&world, &["--agent", "one"]);
    let two = start(&world, &["--agent", "two"]);
    let read = world.done(&["round", "context", id(&two)]);
    assert!(read.contains(field(&two, "branch")) && !read.contains(field(&one, "branch")), "{read}");
    assert!(!read.contains("Other agents"), "{read}");
    assert!(world.done(&["round", "branches"]).contains(field(&one, "branch")));
}

/// The hints name the copy: the same words here would be about another repository.
#[rstest]
#[case::renamed("git branch -m zz", "' branch -m zz ")]
#[case::merge(
    "git switch -qc o; echo 1 >f; git add f; git commit -qm o; git switch -q -; echo 2 >f; git add f; git commit -qm p; git merge -q o || true",
    "' merge --abort'"
)]
fn a_hint_is_about_the_copy(#[case] script: &str, #[case] words: &str) {
    let world = World::with_commit();
    let round = start(&world, &[]);
    world.sh(&format!("cd '{}'; {script}", path(&round).display()));
    let said = refused(&world, &round);
    let root = path(&round).display().to_string();
    assert!(said.contains(&format!("git -C {root}")) && said.contains(words.trim_start_matches('\'')), "{said}");
}

/// The agent has set a name of its own in its repository.
#[test]
fn the_commit_of_the_end_is_by_the_user() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    world.sh(&format!(
        "cd '{}'; git config user.name Agent; git config user.email a@b; echo work >new",
        path(&round).display()
    ));
    let mut command = world.command(crate::support::program());
    for name in ["GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"] {
        command.env_remove(name);
    }
    world.sh("git config user.name User; git config user.email u@v");
    let output = command.args(["round", "end", id(&round)]).output().expect("it runs");
    assert!(output.status.success(), "{}", said(&output));
    let author = world.git(&["log", "-1", "--format=%an <%ae> %cn", field(&round, "branch")]);
    assert_eq!(author, "User <u@v> User\n");
}

/// The files that a checkpoint before had, too.
#[test]
fn what_was_purged_here_does_not_come_back_with_a_checkpoint() {
    const SECRET: &str = "swordfish-4711";
    let world = World::with_commit();
    world.write("secret", SECRET);
    world.done(&["save"]);
    let round = start(&world, &["--base", "@{0}"]);
    fs::remove_file(path(&round).join("secret")).expect("it is there");
    fs::remove_file(world.repo().join("secret")).expect("it is there");
    world.done(&["purge", "--force", SECRET]);
    fs::write(path(&round).join("new"), "work\n").expect("writable");
    world.done(&["round", "compare", id(&round)]);
    let ended = end(&world, &round);
    let objects = world.sh(
        "git cat-file --batch-all-objects --batch-check='%(objectname)' | while read id; do git cat-file -p $id; done",
    );
    assert!(!objects.contains(SECRET));
    let checkpoint = field(&ended, "checkpoint");
    assert_eq!(world.git(&["show", &format!("{checkpoint}:new")]), "work\n");
    world.done(&["doctor"]);
}

/// Git would refuse to send such a commit, and other programs would write there.
#[test]
fn a_commit_that_is_malformed_does_not_come() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    world.sh(&format!(
        "cd '{}'; blob=$(echo evil | git hash-object -w --stdin)
         tree=$(printf '100644 blob %s\\t.git\\n' $blob | git mktree); bad=$(git commit-tree -p HEAD -m bad $tree)
         good=$(git commit-tree -p $bad -m good HEAD^{{tree}}); git update-ref HEAD $good",
        path(&round).display()
    ));
    world.done(&["round", "branches"]);
    let said = refused(&world, &round);
    assert!(said.contains("hasDotgit"), "{said}");
    world.git(&["fsck", "--strict", "--no-dangling"]);
}

/// The agent has broken its repository, or made another one: the files are there, and the round can end without them.
#[rstest]
#[case::bare("git config core.bare true")]
#[case::no_head("rm .git/HEAD")]
#[case::another("rm -rf .git; git init -q")]
#[case::no_mark("rm -rf .git/checkpoint")]
fn a_copy_with_a_broken_repository_is_not_called_gone(#[case] script: &str) {
    let world = World::with_commit();
    let round = start(&world, &[]);
    world.sh(&format!("cd '{}'; echo work >new; {script}", path(&round).display()));
    let said = refused(&world, &round);
    assert!(said.contains("is not the copy any more") && said.contains("--keep-worktree"), "{said}");
    let ended = world.json(&["round", "end", "--keep-worktree", id(&round), "--json"]);
    let place = &ended["contexts"][0];
    assert_eq!((&place["gone"], &place["kept"]), (&json!(true), &json!(text(&path(&round)))), "{ended}");
    assert_eq!(fs::read_to_string(path(&round).join("new")).expect("it stays"), "work\n");
}

/// An older state of the branch is not what the round has changed.
#[test]
fn a_branch_that_cannot_come_is_not_applied() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    let commit = |name: &str| {
        world.sh(&format!("cd '{}'; echo {name} >{name}; git add .; git commit -qm {name}", path(&round).display()))
    };
    commit("one");
    world.done(&["round", "branches"]);
    world.git(&["worktree", "add", "-q", "../look", field(&round, "branch")]);
    commit("two");
    let output = world.checkpoint(&["round", "apply", id(&round)]);
    assert!(!output.status.success() && said(&output).contains("is checked out in"), "{}", said(&output));
    assert!(!world.exists("one"));
}

/// The directory has become a repository since: its changes are still not this one's.
#[test]
fn changes_of_a_directory_without_a_repository_are_not_applied_here() {
    let world = World::with_commit();
    world.sh("mkdir ../plain; echo 1 >../plain/f");
    let workspace = folder(&world, "ws");
    let round = world.json(&["round", "start", "--context", "../plain", "--workspace", text(&workspace), "--json"]);
    fs::write(path(&round).join("new"), "work\n").expect("writable");
    end(&world, &round);
    world.sh("git init -q ../plain");
    let output = world.checkpoint(&["round", "apply", id(&round)]);
    assert!(!output.status.success() && said(&output).contains("is in no repository"), "{}", said(&output));
    assert!(!world.exists("new"));
}

/// What the agent writes through such a link is in the copy.
#[test]
fn a_link_into_a_directory_leads_into_its_copy() {
    let world = World::with_commit();
    world.sh("mkdir -p ../plain/releases/1; echo orig >../plain/releases/1/app; ln -s \"$PWD/../plain/releases/1\" ../plain/odd
              cd ../plain; ln -s \"$PWD/releases/1\" current; ln -s /usr/bin tools");
    let workspace = folder(&world, "ws");
    let round = world.json(&["round", "start", "--context", "../plain", "--workspace", text(&workspace), "--json"]);
    fs::write(path(&round).join("current/app"), "agent\n").expect("writable");
    assert_eq!(world.sh("cat ../plain/releases/1/app; readlink ../ws/.worktree/ctx_1/tools"), "orig\n/usr/bin\n");
    assert_eq!(fs::read_to_string(path(&round).join("releases/1/app")).expect("it is there"), "agent\n");
}

/// Such an end has not said where the copy is yet.
#[test]
fn a_copy_of_a_round_that_goes_on_is_not_deleted() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    fs::write(path(&round).join("new"), "work\n").expect("writable");
    super::dies(&world, "round:after-aside", &["round", "end", id(&round)]);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let pruned = world.json(&["prune", "--older-than", "0s", "--json"]);
    assert_eq!(pruned["copies"], json!([]));
    let ended = end(&world, &round);
    assert!(std::path::Path::new(field(&ended, "aside")).join("new").is_file(), "{ended}");
}
