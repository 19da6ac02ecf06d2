//! What a restore, and commands around it, say of what they leave alone, and what can be typed next.

use crate::support::{World, processes::described};

#[test]
fn a_file_with_commits_and_an_uncommitted_line_is_not_changed_by_commits_alone() {
    let world = World::with_hooks();
    world.done(&["session", "prompt", "S", "--agent", "x", "-m", "one"]);
    world.sh("echo committed >>f; git checkpoint save -q --session S; git commit -qam x; echo left >>f");
    world.done(&["session", "stop", "S"]);
    let output = world.checkpoint(&["restore", "--before", "S@1"]);
    let said = described(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("kept     f (changed since, in commits and uncommitted)"), "{said}");
    assert!(said.contains("nothing restored: commits and uncommitted work have changed 1 path"), "{said}");
    world.sh("git checkout -q f");
    let said = described(&world.checkpoint(&["restore", "--before", "S@1"]));
    assert!(said.contains("only commits have changed 1 path"), "{said}");
}

#[test]
fn an_undo_says_which_path_it_keeps_in_the_index() {
    let world = World::with_commit();
    world.sh("echo one >f; git add f; git checkpoint save -q; echo two >f; git checkpoint restore -q --staged base; git add f");
    world.sh("echo three >f; git add f; git checkout-index -f f; git cat-file blob HEAD:f >f");
    let said = described(&world.checkpoint(&["undo"]));
    assert!(said.contains("written  f\n"), "{said}");
    assert!(said.contains("kept     f (in the index: changed since the restore)"), "{said}");
}

/// What git commits without hooks is recorded by the next save: until then, its authors are unknown.
#[rstest::rstest]
#[case::blame(&["blame", "f"])]
#[case::why(&["why", "f:2"])]
#[case::explain(&["explain"])]
#[case::attribution(&["attribution"])]
#[case::stat(&["attribution", "--stat"])]
fn a_commit_without_hooks_gets_a_hint_that_works(#[case] arguments: &[&str]) {
    const HINT: &str = "hint: 'git checkpoint save' records what git has committed without hooks";
    let world = World::with_commit();
    let said = || described(&world.checkpoint(arguments));
    assert!(!said().contains(HINT), "{}", said());
    world.done(&["session", "prompt", "S", "--agent", "x", "-m", "one"]);
    world.add_to("f", "S\n");
    world.done(&["session", "stop", "S"]);
    world.git(&["commit", "-qam", "x"]);
    assert!(said().contains(HINT), "{}", said());
    world.checkpoint(&["save"]);
    assert!(!said().contains(HINT) && said().contains("agent"), "{}", said());
}

/// Without an agent's checkpoints, no save makes a record: the hint says from when on commits get one.
#[rstest::rstest]
#[case::blame(&["blame", "f"])]
#[case::why(&["why", "f:2"])]
#[case::explain(&["explain"])]
#[case::attribution(&["attribution"])]
fn a_commit_before_enable_gets_a_hint_at_enable(#[case] arguments: &[&str]) {
    const HINT: &str = "hint: commits made before 'git checkpoint enable' have no record of who wrote their lines\n";
    let world = World::with_commit();
    let said = || described(&world.checkpoint(arguments));
    world.add_to("f", "z\n");
    world.done(&["save"]);
    world.git(&["commit", "-qam", "z"]);
    assert!(said().contains(HINT) && !said().contains("git checkpoint save"), "{}", said());
    world.checkpoint(&["save"]);
    assert!(said().contains(HINT), "{}", said());
    world.done(&["enable"]);
    assert!(!said().contains("hint: "), "{}", said());
}

#[test]
fn a_repository_that_is_gone_cannot_be_restored() {
    let world = World::with_commit();
    world.sh("git init -q nested; git -C nested commit -q --allow-empty -m x; echo y >nested/y");
    world.done(&["save"]);
    let id = world.json(&["show", "@{0}", "--json"])["id"].as_str().expect("an id").to_owned();
    let there = world.checkpoint(&["restore", &id]);
    assert_eq!(there.status.code(), Some(0), "{}", described(&there));
    world.sh("rm -rf nested; echo 1 >>f");
    for arguments in [&["restore", "-n", &id], &["restore", &id]] as [&[&str]; 2] {
        let output = world.checkpoint(arguments);
        let said = described(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("kept     nested (a repository that is gone; no checkpoint has its files)"), "{said}");
    }
    assert_eq!(world.read("f"), "base\n", "the rest is restored");
}

/// What a submodule has committed is still in the superproject's git directory.
#[test]
fn a_submodule_that_is_gone_gets_a_hint() {
    let world = World::with_commit();
    world.sh("git init -q ../lib; git -C ../lib commit -q --allow-empty -m x
        git -c protocol.file.allow=always submodule --quiet add ../lib sub; git commit -qm sub; git checkpoint save -q --allow-empty");
    world.sh("rm -rf sub");
    let output = world.checkpoint(&["restore", "base"]);
    let said = described(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("kept     sub (a submodule that is not there)"), "{said}");
    assert!(said.contains("warning: nothing restored: 1 path kept"), "{said}");
    assert!(said.contains("'git submodule update --init sub' brings back what was committed there\n"), "{said}");
    world.sh("git -c protocol.file.allow=always submodule --quiet update --init sub; test -e sub/.git");
}

#[test]
fn the_files_of_a_submodule_that_is_gone_come_back_from_its_checkpoint() {
    let world = World::with_commit();
    world.sh("git init -q ../lib; git -C ../lib commit -q --allow-empty -m x
        git -c protocol.file.allow=always submodule --quiet add ../lib sub; git commit -qm sub
        echo u >sub/u; git checkpoint save -q --recurse-submodules; rm -rf sub");
    let said = described(&world.checkpoint(&["restore", "@"]));
    let id = world.json(&["show", "@", "--json"])["id"].as_str().expect("an id")[..8].to_owned();
    let rest = format!("; then 'git checkpoint restore --recurse-submodules {id} -- sub' restores the files in it\n");
    assert!(
        said.contains(&format!("'git submodule update --init sub' brings back what was committed there{rest}")),
        "{said}"
    );
    world.sh(&format!(
        "git -c protocol.file.allow=always submodule --quiet update --init sub
        git checkpoint restore -q --recurse-submodules {id} -- sub"
    ));
    assert_eq!(world.read("sub/u"), "u\n");
}

/// It has checkpoints of its own.
#[test]
fn a_linked_worktree_inside_is_no_change() {
    let world = World::with_commit();
    world.sh("git worktree add -q .wt/x -b x; echo x >.wt/x/f; git -C .wt/x commit -qam x; echo 1 >>f");
    let status = world.done(&["status"]);
    assert!(status.contains("\tf\n") && !status.contains(".wt"), "{status}");
    assert!(described(&world.checkpoint(&["save"])).contains("(1 path)"));
    world.sh("git -C .wt/x commit -q --allow-empty -m y");
    assert!(described(&world.checkpoint(&["save"])).contains("nothing"), "its commits are no change here");
    let output = world.checkpoint(&["restore", "base"]);
    let said = described(&output);
    assert!(output.status.success() && said.contains("restored 1 path") && !said.contains(".wt"), "{said}");
    let said = described(&world.checkpoint(&["restore", "base"]));
    assert!(said.contains("nothing to do: the worktree is as in"), "{said}");
    assert_eq!(world.read(".wt/x/f"), "x\n");
}

/// What every restore leaves is no reason to say that nothing was restored.
#[test]
fn a_restore_that_leaves_only_an_agents_hooks_has_nothing_to_do() {
    let world = World::with_commit();
    world.done(&["save", "--allow-empty"]);
    world.done(&["enable", "--agent", "claude-code", "--project"]);
    let output = world.checkpoint(&["restore", "@"]);
    let said = described(&output);
    assert!(output.status.success() && said.contains("kept     .claude/settings.json"), "{said}");
    assert!(said.contains("nothing to do: the other files are as in"), "{said}");
}

#[test]
fn a_file_that_a_limit_left_out_is_named_with_the_setting() {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.save.max-file-size", "1KiB"]);
    world.write("b", vec![b'x'; 3000]);
    world.write("f", "two\n");
    world.checkpoint(&["save"]);
    let output = world.checkpoint(&["restore", "@{0}", "--", "b"]);
    let said = described(&output);
    assert!(!output.status.success() && said.contains("'b' cannot be restored: it was skipped (too large)"), "{said}");
    assert!(said.contains("'git checkpoint config set save.max-file-size 1MiB'"), "{said}");
    world.write("b", "small\n");
    let said = described(&world.checkpoint(&["restore", "@{0}", "--", "b"]));
    assert!(said.contains("kept     b (skipped: too large, save.max-file-size)"), "{said}");
}

#[test]
fn a_dropped_checkpoint_is_called_as_in_the_list() {
    let world = World::with_commit();
    world.write("f", "1\n");
    world.done(&["save", "-m", "one"]);
    world.write("f", "2\n");
    world.done(&["save", "-m", "two"]);
    world.done(&["restore", "@{1}"]);
    let listed = world.done(&["list"]);
    let called = listed.lines().next().and_then(|line| line.split_once("restored")).expect("a restore").1;
    let id = world.json(&["show", "@{0}", "--json"])["id"].as_str().expect("an id").to_owned();
    world.sh("git checkout -q f");
    let said = world.done(&["drop", "--force", &id]);
    assert!(said.contains(&format!("restored{called}")), "{said} {listed}");
}

/// Long messages are wrapped on a terminal.
#[test]
fn a_failure_is_called_one_once() {
    let world = World::with_commit();
    world.sh("mkdir -p some/long/directory/name; echo 1 >some/long/directory/name/file-of-code; git add .; git commit -qm x; rm -r some");
    let said = world
        .sh("script -qec 'stty cols 60; git checkpoint blame some/long/directory/name/file-of-code || true' /dev/null");
    assert_eq!(said.matches("fatal:").count(), 1, "{said}");
}

/// Agents make such worktrees, and remove them. Their checkpoints are their own.
#[test]
fn a_linked_worktree_that_was_removed_is_no_repository_that_is_gone() {
    let world = World::with_commit();
    world.sh("git worktree add -q .wt/x -b x; git checkpoint save -q --allow-empty");
    let id = world.json(&["show", "@{0}", "--json"])["id"].as_str().expect("an id").to_owned();
    world.sh("git worktree remove --force .wt/x; echo 1 >>f; git checkpoint save -q");
    let output = world.checkpoint(&["restore", &id]);
    let said = described(&output);
    assert!(output.status.success() && !said.contains("gone"), "{said}");
    assert_eq!(world.read("f"), "base\n");
}

#[test]
fn a_repository_whose_files_are_there_is_not_gone() {
    let world = World::with_commit();
    world.sh(
        "git init -q nested; echo y >nested/y; git -C nested add y; git -C nested commit -qm y; git checkpoint save -q",
    );
    let id = world.json(&["show", "@{0}", "--json"])["id"].as_str().expect("an id").to_owned();
    world.sh("rm -rf nested/.git; echo 1 >>f; git checkpoint save -q");
    let output = world.checkpoint(&["restore", &id]);
    let said = described(&output);
    assert!(output.status.success() && !said.contains("gone"), "{said}");
    assert_eq!((world.read("f").as_slice(), world.read("nested/y").as_slice()), (&b"base\n"[..], &b"y\n"[..]));
}

#[test]
fn verified_without_a_mark_says_that_it_is_the_start() {
    const WORDS: &str = "no checkpoint is verified: this goes back to the start, ";
    let world = World::with_commit();
    world.sh("echo mine >n; git checkpoint save -q; echo more >>n");
    for arguments in [&["restore", "-n", "verified"], &["restore", "--json", "verified"]] as [&[&str]; 2] {
        let said = described(&world.checkpoint(arguments));
        assert!(said.contains(WORDS), "{said}");
    }
    world.sh("git checkpoint verify -q '@{0}'; echo even more >>n");
    let said = described(&world.checkpoint(&["restore", "verified"]));
    assert!(said.contains("written  n") && !said.contains(WORDS), "{said}");
}

#[test]
fn a_path_below_a_link_gets_a_hint() {
    let world = World::with_commit();
    world.sh("mkdir d; echo v >d/v; git checkpoint save -qm directory; rm -r d; mkdir e; ln -s e d");
    let id = world.json(&["show", "@{0}", "--json"])["id"].as_str().expect("an id").to_owned();
    let output = world.checkpoint(&["restore", &id, "--", "d/v"]);
    let said = described(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("-- <link>' puts the directory in the place of the link"), "{said}");
    assert!(said.contains("nothing restored: 1 path kept") && !said.contains("restored 0 paths"), "{said}");
    world.done(&["restore", &id, "--", "d"]);
    assert_eq!(world.read("d/v"), "v\n");
}

#[rstest::rstest]
#[case::before_a_commit(&["restore", "--before", "base"], "'git checkpoint restore base', without '--before'")]
#[case::no_such_path(&["restore", "base", "nosuch"], "'git checkpoint list -- nosuch' shows which checkpoints have changed it")]
#[case::no_such_path_to_save(&["save", "--paths", "nosuch"], "'git checkpoint save', without '--paths'")]
#[case::a_turn_of_a_save(&["restore", "x@1"], "'git checkpoint list --session x' names them")]
#[case::a_deleted_file(&["blame", "gone"], "'--rev HEAD' takes it as the last commit has it")]
#[case::a_line_of_a_deleted_file(&["why", "gone:1"], "'--rev HEAD' takes it as the last commit has it")]
fn a_mistake_gets_a_hint(#[case] arguments: &[&str], #[case] hint: &str) {
    let world = World::with_commit();
    world.sh("echo x >gone; git add gone; git commit -qm gone; rm gone; echo y >>f
        git checkpoint save -q --session x --agent foo");
    let said = described(&world.checkpoint(arguments));
    assert!(said.starts_with("exit status: 128") && said.contains(hint), "{said}");
}

#[test]
fn a_commit_of_people_is_explained() {
    let world = World::with_hooks().with_clock();
    world.next_second();
    world.sh("echo mine >>f; git commit -qam mine");
    let said = described(&world.checkpoint(&["explain"]));
    assert!(
        said.contains("has no record: no agent is known to have written in it, its lines count as human"),
        "{said}"
    );
}

/// No checkpoint has the files of a repository inside the worktree, so a restore cannot bring it back, and says so.
#[rstest::rstest]
#[case::no_commit("true")]
#[case::commit("git -C nested commit -q --allow-empty -m x")]
fn a_repository_that_is_gone_is_listed(
    #[case] script: &str,
    #[values("save", "save --recurse-submodules")] save: &str,
) {
    const LISTED: &str = "kept     nested (a repository that is gone; no checkpoint has its files)\n";
    let world = World::with_commit();
    world.sh(&format!("git init -q nested; echo n >nested/n; {script}; echo c >>f; git checkpoint {save} -q -m N"));
    let output = world.checkpoint(&["restore", "@"]);
    assert_eq!(output.status.code(), Some(0), "{}", described(&output));
    world.sh("rm -rf nested");
    for arguments in [["restore", "@"].as_slice(), &["restore", "-n", "@"], &["restore", "@", "nested"]] {
        let output = world.checkpoint(arguments);
        let said = described(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(LISTED), "{arguments:?}: {said}");
        // There is nothing to recurse into.
        assert!(!said.contains("--recurse-submodules"), "{arguments:?}: {said}");
    }
    world.sh("echo d >>f");
    let said = described(&world.checkpoint(&["restore", "@"]));
    assert!(said.contains(LISTED) && said.contains("written  f\n"), "{said}");
    let output = world.checkpoint(&["restore", "@", "f"]);
    assert_eq!(output.status.code(), Some(0), "{}", described(&output));
}

/// A dry run names what the restore then does.
#[rstest::rstest]
#[case::file("echo f >g")]
#[case::link("ln -s f g")]
#[case::nothing("true")]
#[case::below_a_file("echo f >deep")]
fn a_dry_run_names_empty_directories(#[case] script: &str) {
    let world = World::with_commit();
    world.sh("mkdir g; mkdir -p deep/inner; echo c >>f; git checkpoint save -q -m A");
    world.sh(&format!("rmdir -p g deep/inner; {script}"));
    let would = described(&world.checkpoint(&["restore", "-n", "@"]));
    let done = described(&world.checkpoint(&["restore", "@"]));
    let paths = |said: &str, word: &str| {
        let path = |line: &str| line.split_once(word).map(|(_, path)| path.trim().to_owned());
        said.lines().filter_map(path).collect::<Vec<_>>()
    };
    assert_eq!(paths(&would, "would write"), paths(&done, "written "), "{would}{done}");
    assert_eq!(paths(&would, "would delete"), paths(&done, "deleted "), "{would}{done}");
    assert!(done.contains("written  g/\n") && done.contains("written  deep/inner/\n"), "{done}");
}
