//! `worktree add` beside other processes, and with hooks and filters that fail.

use std::{fs, process::Output, time::Duration};

use rstest::rstest;
use serde_json::{Value, json};

use super::{add, by_git, by_us, json_of, removal_races::wait_until_halted, run_in, said};
use crate::support::{World, program};

/// Runs the program with `arguments`; each git that it starts first runs `script`, a part of a shell script, with its own words.
fn beside(world: &World, script: &str, arguments: &[&str]) -> Output {
    let folder = world.root().join("wrapper");
    fs::create_dir_all(&folder).expect("a directory can be made");
    let text = format!("#!/bin/sh\nPATH=${{PATH#*:}}\n{script}\nexec git \"$@\"\n");
    fs::write(folder.join("text"), text).expect("a file can be written");
    world.sh("cd ../wrapper; cat text >git; chmod +x git");
    let mut command = world.command(program());
    let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path).map(ToOwned::to_owned);
    let path = format!("{}:{}", folder.display(), path.expect("it is set").display());
    command.args(arguments).env("PATH", path).output().expect("it runs")
}

/// Writes the hook `post-checkout`.
pub(super) fn write_hook(world: &World, text: &str) {
    fs::create_dir_all(world.repo().join(".git/hooks")).expect("a directory can be made");
    fs::write(world.repo().join(".git/hooks/text"), format!("#!/bin/sh\n{text}\n")).expect("a file can be written");
    world.sh("cd .git/hooks; cat text >post-checkout; chmod +x post-checkout");
}

/// Another process makes the branch just before git does: its branch stays, whichever commit it is at.
#[rstest]
#[case::at_the_same_commit("HEAD")]
#[case::at_another_one("$(git commit-tree -m other 'HEAD^{tree}')")]
fn a_branch_that_another_process_makes_meanwhile_stays(#[case] commit: &str) {
    let world = World::with_commit();
    let script = format!(
        "case \" $* \" in *' update-ref -m '*|*' worktree add '*) git branch theirs \"{commit}\" 2>/dev/null;; esac"
    );
    let output = beside(&world, &script, &["worktree", "add", "--create", "theirs"]);
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    assert!(said(&output).contains("the branch 'theirs' exists already"), "{}", said(&output));
    assert_eq!(world.git(&["branch", "--list", "theirs"]).lines().count(), 1);
    assert_eq!(by_us(&world).len(), 1);
    assert_eq!(world.sh("ls -d ../repo-wt-* 2>/dev/null || true"), "");
}

/// The branch was made here, but somebody has moved it before git failed.
#[test]
fn a_branch_that_has_moved_stays() {
    let world = World::with_commit();
    let other = world.sh("git commit-tree -m other 'HEAD^{tree}'").trim().to_owned();
    let script = format!(
        "case \" $* \" in *' worktree add '*) git branch -f mine {other} || git branch mine {other}; exit 128;; esac"
    );
    let output = beside(&world, &script, &["worktree", "add", "--create", "mine"]);
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    assert_eq!(world.git(&["rev-parse", "mine"]).trim(), other);
}

/// A file of the base is missing, so git cannot check it out.
#[test]
fn a_checkout_that_fails_leaves_nothing() {
    let world = World::with_commit();
    let commit = world
        .sh("tree=$(printf '100644 blob 1234567890123456789012345678901234567890\\tz\\n' | git mktree --missing)
         git commit-tree -m broken $tree");
    let output = world.checkpoint(&["worktree", "add", "--create", "broken", "--base", commit.trim()]);
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    assert_eq!(world.git(&["branch", "--list", "broken"]), "");
    assert_eq!(world.sh("ls -d ../repo-wt-* .git/worktrees/* .git/logs/refs/heads/broken 2>/dev/null || true"), "");
}

/// Git is killed in the middle of its checkout, and cannot remove what it has made: others may have put something there.
#[cfg(target_os = "linux")]
#[test]
fn what_a_killed_git_has_made_stays() {
    let world = World::with_commit();
    world.sh("echo 'filtered filter=kill' >.gitattributes; echo 1 >filtered; git add .; git commit -qm filtered
         git config filter.kill.smudge 'echo 1 >theirs; kill -9 $(cut -d\" \" -f4 /proc/$PPID/stat); cat'");
    let output = world.checkpoint(&["worktree", "add", "--create", "killed"]);
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    assert_eq!(fs::read(world.root().join("repo-wt-killed/theirs")).unwrap_or_default(), b"1\n", "{}", said(&output));
    let command = format!("git worktree remove -f -f {}/repo-wt-killed", world.root().display());
    assert!(said(&output).contains(&format!("'{command}' removes")), "{}", said(&output));
    world.sh(&command);
    assert_eq!(by_us(&world).len(), 1);
}

/// Git has completed the worktree before it runs the hook: both stay, and the hook's status is named.
#[rstest]
#[case::status("echo for the hook; exit 3", 3)]
#[case::killed("echo for the hook; kill -9 $$", 137)]
fn a_hook_that_fails_is_a_warning(#[case] hook: &str, #[case] status: i32) {
    let world = World::with_commit();
    write_hook(&world, hook);
    let output = world.checkpoint(&["worktree", "add", "--create", "side", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let words =
        format!("warning: the worktree is made, but the hook 'post-checkout' has failed (exit status {status})");
    assert!(said(&output).contains(&words) && said(&output).contains("warning: for the hook"), "{}", said(&output));
    let added: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!((&added["hook_status"], &added["created"]), (&json!(status), &json!(true)));
    assert_eq!(by_us(&world), by_git(&world));
    let path = world.root().join("repo-wt-side");
    assert_eq!(added["path"].as_str(), path.to_str());
    assert_eq!(run_in(&world, &path, &["worktree", "path", "side"]).stdout, format!("{}\n", path.display()).as_bytes());
    // With the branch, which exists by then, it is the same.
    world.sh("git worktree remove --force ../repo-wt-side");
    let output = world.checkpoint(&["worktree", "add", "side", "--json"]);
    let added: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!((&added["hook_status"], &added["created"]), (&json!(status), &json!(false)), "{}", said(&output));
}

#[test]
fn adds_at_once_are_no_more_than_the_setting_allows() {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.worktree.max", "3"]);
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let world = &world;
        let run = |number: usize| world.checkpoint(&["worktree", "add", "--create", &format!("agent/{number}")]);
        let adds: Vec<_> = (0..8).map(|number| scope.spawn(move || run(number))).collect();
        adds.into_iter().map(|add| add.join().expect("it ends")).collect()
    });
    let made = outputs.iter().filter(|output| output.status.success()).count();
    assert_eq!((made, by_git(&world).len()), (3, 4), "{:?}", outputs.iter().map(said).collect::<Vec<_>>());
    for output in outputs.iter().filter(|output| !output.status.success()) {
        assert!(said(output).contains("'worktree.max' allows 3"), "{}", said(output));
    }
    assert_eq!(world.git(&["branch", "--list", "agent/*"]).lines().count(), 3);
}

/// The lock is released when git has registered the worktree: the checkout and the hooks may take long.
#[test]
fn an_add_does_not_wait_for_the_hook_of_another_one() {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.lock-timeout", "1"]);
    let wait = "touch ../hook-runs; for i in $(seq 200); do [ -e ../go-on ] && exit; sleep 0.1; done";
    write_hook(&world, &format!("case $(git branch --show-current) in slow) {wait};; esac"));
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| add(&world, "slow"));
        while !world.root().join("hook-runs").exists() && !slow.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let fast = world.checkpoint(&["worktree", "add", "--create", "fast"]);
        let was_running = !slow.is_finished();
        world.sh("touch ../go-on");
        slow.join().expect("it is made");
        assert!(fast.status.success() && was_running, "{}", said(&fast));
    });
    assert_eq!(by_us(&world), by_git(&world));
}

#[rstest]
#[case::of_a_remote("topic", "--create topic --base origin/topic")]
#[case::named_with_the_remote("origin/topic", "--create topic --base origin/topic")]
#[case::nowhere("other", "--create other")]
#[case::of_a_tag("tagged", "--create tagged --base tagged")]
fn a_hint_makes_the_branch_that_is_meant(#[case] branch: &str, #[case] words: &str) {
    let world = World::with_commit();
    world.sh("git update-ref refs/remotes/origin/topic $(git commit-tree -m theirs 'HEAD^{tree}'); git tag tagged");
    let output = world.checkpoint(&["worktree", "add", branch]);
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    let command = format!("git checkpoint worktree add {words}");
    assert!(said(&output).contains(&format!("hint: '{command}' makes it")), "{}", said(&output));
    world.sh(&command);
}

/// A worktree that no command would take is not made; who is in one can ask for it.
#[test]
fn nothing_is_made_outside_of_the_roots() {
    let world = World::with_commit();
    let inside = add(&world, "before");
    world.sh("git config checkpoint.worktree.roots $PWD");
    let output = world.checkpoint(&["worktree", "add", "-c", "side"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("worktree.roots"), "{}", said(&output));
    assert_eq!(world.sh("git branch --list side; ls -d ../repo-wt-side 2>/dev/null || true"), "");
    assert_eq!(run_in(&world, &inside, &["worktree", "path"]).stdout, format!("{}\n", inside.display()).as_bytes());
    assert_eq!(run_in(&world, &inside, &["worktree", "path", "before"]).status.code(), Some(1));
    world.git(&["config", "checkpoint.worktree.dir", "w"]);
    assert!(world.checkpoint(&["worktree", "add", "-c", "side"]).status.success());
}

/// A program finds its directory in `PWD`, as a shell sets it.
#[test]
fn a_program_has_the_worktree_in_its_environment() {
    let world = World::with_commit();
    let path = add(&world, "side");
    let output = world.checkpoint(&["worktree", "exec", "side", "--", "sh", "-c", "env"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.lines().any(|line| line == format!("PWD={}", path.display())), "{text}");
    assert!(!text.contains("OLDPWD="), "{text}");
}

/// A signal comes while the files of the checkpoint are written: what is offered finishes that, in the new worktree.
#[cfg(target_os = "linux")]
#[rstest]
#[case::finished("checkpoint restore --continue", "two\nnew")]
#[case::taken_back("checkpoint undo", "one")]
fn an_add_that_is_interrupted_while_it_writes_says_what_finishes_it(#[case] command: &str, #[case] files: &str) {
    let world = World::with_commit();
    world.sh("echo one >f; git add .; git commit -qm one; echo two >f; git checkpoint save -q; echo three >f
         git checkpoint restore -q --all '@{0}'; for i in $(seq 200); do echo new >g$i; done");
    let arguments = ["worktree", "add", "-c", "side", "--from-here"];
    let child = world.start_with(&arguments, "stop@restore:after-write");
    wait_until_halted(child.id());
    world.sh(&format!("kill -INT {0}; kill -CONT {0}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    let path = world.root().join("repo-wt-side");
    let hint = said(&output).lines().find_map(|line| line.strip_prefix("hint: ").map(str::to_owned));
    let commands: Vec<String> =
        hint.unwrap_or_default().split('\'').filter(|part| part.starts_with("git ")).map(str::to_owned).collect();
    let expected = ["-C DIR checkpoint restore --continue", "-C DIR checkpoint undo", "checkpoint worktree remove DIR"];
    let expected = expected.map(|words| format!("git {}", words.replace("DIR", &path.display().to_string())));
    assert_eq!(commands, expected, "{}", said(&output));
    let before = world.sh("cat f; git status --porcelain");
    world.sh(commands.iter().find(|it| it.ends_with(command)).expect("it is offered"));
    assert_eq!(world.sh("cd ../repo-wt-side; cat f; cat g200 2>/dev/null || true").trim(), files);
    assert_eq!(world.sh("cat f; git status --porcelain"), before);
    world.settle();
    world.sh(&commands[2].replace(" remove ", " remove --force "));
    assert!(!path.exists());
}

/// Another process has removed the new worktree meanwhile: nothing of it is made again, so that it can be restored.
#[cfg(target_os = "linux")]
#[test]
fn an_add_makes_nothing_again_of_what_was_removed_meanwhile() {
    let world = World::with_commit();
    let child = world.start_with(&["worktree", "add", "-c", "side", "--session", "s1"], "stop@worktree:before-fill");
    wait_until_halted(child.id());
    world.settle();
    world.done(&["worktree", "remove", "--force", "side"]);
    world.sh(&format!("kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    assert!(said(&output).contains("another process has removed the worktree"), "{}", said(&output));
    assert!(!said(&output).contains("is made, but"), "{}", said(&output));
    assert!(!world.repo().join(".git/worktrees/repo-wt-side").exists());
    let output = world.checkpoint(&["worktree", "restore", "side"]);
    assert!(output.status.success(), "{}", said(&output));
}

/// A hook has put something where a file of the checkpoint goes.
#[test]
fn a_file_in_the_way_of_the_checkpoints_is_named() {
    let world = World::with_commit();
    world.sh("echo d >d; git checkpoint save -q");
    write_hook(&world, "mkdir d; echo generated >d/generated");
    let output = world.checkpoint(&["worktree", "add", "-c", "side", "--from-here"]);
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    assert!(said(&output).contains("'d'") && !said(&output).contains("may be invalid"), "{}", said(&output));
    assert_eq!(world.sh("cat ../repo-wt-side/d/generated"), "generated\n");
}

/// Both places are those of locked worktrees, which a prune leaves.
#[test]
fn a_locked_worktree_that_is_gone_has_a_way_out() {
    let world = World::with_commit();
    world.sh("git worktree add -q -b topic ../repo-wt-topic; git -C ../repo-wt-topic switch -qc other");
    let added = json_of(&world, &["worktree", "add", "topic", "--json"]);
    let path = added["path"].as_str().unwrap_or_else(|| panic!("{added}")).to_owned();
    world.sh(&format!(
        "git -C '{path}' switch -qc more; git worktree lock '{path}'; git worktree lock ../repo-wt-topic
         rm -rf ../repo-wt-topic '{path}'"
    ));
    let output = world.checkpoint(&["worktree", "add", "topic"]);
    let command = format!("git worktree unlock {path}");
    assert!(said(&output).contains(&format!("'{command}'")), "{}", said(&output));
    world.sh(&format!("{command}; git checkpoint worktree prune; git checkpoint worktree add topic"));
}

/// The session's former worktree stays its own if the note there cannot be removed.
#[test]
fn an_add_that_cannot_take_the_session_away_says_what_is_made() {
    let world = World::with_commit();
    world.done(&["worktree", "add", "-c", "first", "--session", "s1"]);
    let owner = |name: &str| world.repo().join(format!(".git/worktrees/repo-wt-{name}/checkpoint/owner"));
    write_hook(&world, &format!("o='{}'; rm $o; mkdir -p $o/x", owner("first").display()));
    let output = world.checkpoint(&["worktree", "add", "-c", "second", "--session", "s1"]);
    assert_eq!(output.status.code(), Some(128), "{}", said(&output));
    let command = format!("git checkpoint worktree remove {}/repo-wt-second", world.root().display());
    assert!(said(&output).contains(&format!("'{command}' removes it")), "{}", said(&output));
    assert!(!owner("second").exists());
}
