//! What git and its user do while a purge runs, or have not finished when it begins: nothing of it is lost.

use std::{fs, os::unix::process::ExitStatusExt as _, process::Output};

use git_checkpoint::testing::ops::purge::{self as ops, Options};

use super::{
    purge::{SECRET, places, purge, purged},
    purge_keeps::{purge_while, save, world},
};
use crate::support::{
    World,
    files::write_script,
    processes::{described, halted, signal},
    program,
};

/// Unsets what git sets for its hooks and editors.
const UNSET: &str = "unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE GIT_PREFIX GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY \
                     GIT_ALTERNATE_OBJECT_DIRECTORIES";

/// Returns the status that a script has written.
fn status(world: &World) -> String {
    fs::read_to_string(world.root().join("status")).expect("it ran").trim().to_owned()
}

#[test]
fn another_index_is_refused() {
    let world = World::with_commit();
    let id = save(&world, "k", &format!("one\n{SECRET}\n"));
    world.sh("git add k; rm k; cp .git/index ../index; GIT_INDEX_FILE=../index git rm -q --cached k");
    for arguments in [&["purge", "-f", SECRET][..], &["purge", "-f", "--checkpoint", &id], &["drop", "-f", &id]] {
        let mut command = world.command(program());
        let output = command.args(arguments).env("GIT_INDEX_FILE", "../index").output().expect("it runs");
        assert!(described(&output).contains("'GIT_INDEX_FILE' names another index"), "{}", described(&output));
        assert_eq!(output.status.code(), Some(128), "{}", described(&output));
    }
    world.git(&["commit", "-q", "-m", "k"]);
    world.assert_sound("after the commit");
    // Git names the index of the worktree to its hooks.
    let mut command = world.command(program());
    let output = command.args(["purge", "-n", SECRET]).env("GIT_INDEX_FILE", ".git/index").output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
}

#[test]
fn a_tree_that_only_a_commit_with_an_open_editor_has_stays() {
    let world = World::with_commit();
    world.write("d/x", "d\n");
    world.sh("git add d; git commit -q -m d");
    let id = save(&world, "d/k", "one\n");
    write_script(&world.repo().join(".git/hooks/pre-commit"), "#!/bin/sh\ngit add d/k\n");
    let (program, status_file) = (program(), world.root().join("status"));
    let editor = format!(
        "#!/bin/sh\n{UNSET}\n'{program}' purge -f --checkpoint {id}\necho $? >'{}'\necho message >\"$1\"\n",
        status_file.display()
    );
    write_script(&world.root().join("editor"), &editor);
    world.write("f", "more\n");
    world.git(&["add", "f"]);
    let mut command = world.command("git");
    let output = command.args(["commit", "-q"]).env("GIT_EDITOR", world.root().join("editor")).output();
    let output = output.expect("git runs");
    assert!(output.status.success(), "{}", described(&output));
    assert_eq!((status(&world), world.git(&["show", "HEAD:d/k"])), ("0".to_owned(), "one\n".to_owned()));
    world.assert_sound("after the commit");
}

#[test]
fn a_commit_that_only_a_file_of_git_names_stays() {
    for number in 1.. {
        let world = World::with_commit();
        let old = fs::read_to_string(world.repo().join("f")).expect("it is there");
        let text = format!("{old}{SECRET}\n");
        let id = save(&world, "f", &text);
        save(&world, "f", &old);
        let what = format!("echo '{SECRET}' >>f; git stash create >../stash; git checkout -q f");
        let arguments = if number % 2 == 0 { vec!["--checkpoint", &id] } else { vec![SECRET] };
        let (output, was_done) = purge_while(&world, &arguments, ("*--indexed-objects*", number), &what);
        if !was_done {
            assert!(number > 4, "{number}: {}", described(&output));
            break;
        }
        let stashed = fs::read_to_string(world.root().join("stash")).expect("it was made");
        world.git(&["stash", "apply", "-q", stashed.trim()]);
        assert_eq!(fs::read_to_string(world.repo().join("f")).expect("it is there"), text, "{number}");
        world.assert_sound("after the purge");
    }
}

#[test]
fn what_is_pushed_meanwhile_stays() {
    let world = world();
    let clone = format!(
        "git clone -q . ../clone; cd ../clone; printf 'one\\n%s\\n' '{SECRET}' >k; git add k; git commit -q -m k"
    );
    world.sh(&clone);
    let hook = format!(
        "#!/bin/sh\n{UNSET}\ncd '{}'\n'{}' purge -f '{SECRET}'\necho $? >'{}'\n",
        world.repo().display(),
        program(),
        world.root().join("status").display()
    );
    write_script(&world.repo().join(".git/hooks/pre-receive"), &hook);
    world.sh("cd ../clone; git push -q origin HEAD:refs/heads/new");
    assert_eq!(status(&world), "128");
    assert_eq!(world.git(&["show", "new:k"]), format!("one\n{SECRET}\n"));
    world.assert_sound("after the push");
}

#[test]
fn a_second_question_comes_if_more_would_be_lost() {
    let world = World::with_commit();
    let id = save(&world, "k", "the only copy\n");
    let context = World::context_at(&world.repo());
    let options = Options { checkpoints: vec![id], ..Options::default() };
    let mut asked = Vec::new();
    let refused = ops::purge(&context, &options, &mut |plan| {
        asked.push(plan.paths.iter().map(ToString::to_string).collect::<Vec<_>>());
        drop(fs::remove_file(world.repo().join("k")));
        Ok(asked.len() == 1)
    });
    assert!(refused.is_err_and(|error| error.to_string().contains("nothing was purged")));
    assert_eq!(asked, [vec![], vec!["k".to_owned()]]);
}

#[test]
fn a_path_with_the_same_content_can_still_be_restored() {
    let world = World::with_commit();
    world.write("conf", "same\n");
    save(&world, "g", "same\n");
    save(&world, "g", "other\n");
    world.done(&["restore", "-q", "@{1}"]);
    world.remove("conf");
    world.settle();
    world.done(&["save", "-q"]);
    world.done(&["purge", "-q", "-f", "--path", "conf"]);
    assert_eq!(world.checkpoint(&["undo"]).status.code(), Some(128), "undo begins anew");
    let text = || fs::read_to_string(world.repo().join("g")).expect("it is there");
    let chain = world.git(&["rev-list", "--first-parent", &world.shadows()[0], "--not", "HEAD"]);
    let other = chain.lines().find(|id| world.git(&["show", &format!("{id}:g")]) == "other\n").expect("it is there");
    world.done(&["restore", "-q", "--all", other]);
    assert_eq!(text(), "other\n");
    world.done(&["undo", "-q"]);
    assert_eq!(text(), "same\n");
}

#[test]
fn what_is_aside_after_a_crash_is_reported_and_put_back() {
    for (failpoint, code) in [("purge:set-aside", 1), ("purge:condemned", 0)] {
        let world = world();
        world.git(&["gc", "-q"]);
        let mut command = world.command(program());
        command.args(["purge", "--force", SECRET]).env("CHECKPOINT_FAILPOINT", failpoint);
        let died = command.output().expect("it runs");
        assert_eq!(died.status.signal(), Some(6), "{}", described(&died));
        let aside = |name: &str| world.repo().join(".git/objects").join(name);
        if code == 1 {
            // A file of a kind that purge does not make.
            std::os::unix::fs::symlink("elsewhere", aside("checkpoint-removed/pack/link")).expect("a link");
        }
        let output = world.checkpoint(&["doctor"]);
        assert!(described(&output).contains("checkpoint-removed"), "{failpoint}: {}", described(&output));
        assert_eq!(output.status.code(), Some(1), "{failpoint}");
        world.done(&["doctor", "--fix"]);
        assert!(!aside("checkpoint-removed").exists() && !aside("checkpoint-removed.old").exists(), "{failpoint}");
        assert_eq!(aside("pack/link").symlink_metadata().is_ok(), code == 1, "nothing is deleted unseen");
        drop(fs::remove_file(aside("pack/link")));
        let again = purge(&world, &["--force"], SECRET);
        assert!(again.status.success(), "{failpoint}: {}", described(&again));
        assert_eq!(places(&world, SECRET), Vec::<String>::new());
        world.assert_sound(failpoint);
    }
}

#[test]
fn a_ref_of_another_worktree_holds_what_it_leads_to() {
    let world = world();
    let id = world.shadows().join(" ");
    world.sh(&format!("git worktree add -q ../w; git -C ../w update-ref refs/worktree/keep {id}"));
    let output = purge(&world, &["--force"], SECRET);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    assert!(described(&output).contains("another worktree"), "it is named: {}", described(&output));
    world.sh("git -C ../w show refs/worktree/keep:k; git -C ../w fsck --strict");
}

#[test]
fn while_git_collects_nothing_is_changed() {
    let world = world();
    let refs = world.git(&["for-each-ref"]);
    world.write(".git/gc.pid", "1 elsewhere\n");
    let output = purge(&world, &["--force"], SECRET);
    assert_eq!(output.status.code(), Some(128), "{}", described(&output));
    assert_eq!(world.git(&["for-each-ref"]), refs);
    world.remove(".git/gc.pid");
    purged(&world, SECRET);
}

#[test]
fn packs_that_git_lists_meanwhile_are_not_missed() {
    let world = world();
    world.git(&["gc", "-q"]);
    save(&world, "k", &format!("two\n{SECRET}\n"));
    world.remove("k");
    world.sh("git add -A; git commit -q --allow-empty -m more; git repack -q -d");
    let what = "git multi-pack-index write";
    let (output, was_done) = purge_while(&world, &[SECRET], ("*pack-objects*", 1), what);
    assert!(was_done && output.status.success(), "{}", described(&output));
    world.assert_sound("after the purge");
    assert_eq!(world.git(&["log", "-1", "--format=%s"]), "more\n");
}

#[test]
fn a_save_meanwhile_waits_for_no_pack_and_loses_nothing() {
    let mut saved = 0;
    for number in 1.. {
        let world = world();
        world.git(&["gc", "-q"]);
        world.git(&["config", "checkpoint.lock-timeout", "100ms"]);
        let what = format!("printf 'one\\n%s\\n' '{SECRET}' >k; '{}' save -q && touch ../saved", program());
        let (output, was_done) = purge_while(&world, &[SECRET], ("*", number), &what);
        if !was_done {
            assert!(number > 5, "{number}: {}", described(&output));
            break;
        }
        world.assert_sound(&format!("{number}: {}", described(&output)));
        if world.root().join("saved").exists() {
            saved += 1;
            let text = world.git(&["show", &format!("{}:k", world.shadows().join(" "))]);
            assert_eq!(text, format!("one\n{SECRET}\n"), "{number}");
        }
    }
    assert!(saved > 0, "the locks are free while packs are written");
}

/// Runs a purge of the text. While it halts at `step`, the user does `what`.
pub(super) fn purge_halted(world: &World, step: &str, what: &str) -> Output {
    let child = world.start_with(&["purge", "--force", SECRET], &format!("stop@{step}"));
    halted(&child);
    world.sh(what);
    signal(&child, "CONT");
    child.wait_with_output().expect("it ends")
}

#[rstest::rstest]
#[case::gc("git gc -q --keep-largest-pack")]
#[case::automatic_gc(
    "git config gc.bigPackThreshold 10k; git config gc.autoPackLimit 1; git config gc.autoDetach false; \
     git config maintenance.autoDetach false; git commit -q --allow-empty -m more"
)]
#[case::geometric("git repack --geometric=2 -d -q")]
#[case::in_spite_of_the_keep_file(
    "cd .git/objects/pack; rm -f $(for it in *.keep; do echo ${it%.keep}.idx ${it%.keep}.pack; done)"
)]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_new_pack_is_not_removed_as_a_redundant_one(#[case] what: &str) {
    let world = World::with_commit();
    let lines: String = (0..20_000).map(|number| format!("{number} {}\n", number * 7_919 % 10_007)).collect();
    save(&world, "k", &format!("{lines}{SECRET}\n"));
    world.remove("k");
    world.settle();
    world.done(&["save", "-q"]);
    world.git(&["gc", "-q"]);
    let output = purge_halted(&world, "purge:after-pack", what);
    assert!(output.status.success(), "{}", described(&output));
    world.assert_sound("after the purge");
    assert_eq!(places(&world, SECRET), Vec::<String>::new());
    let kept = fs::read_dir(world.repo().join(".git/objects/pack")).expect("readable").flatten();
    assert_eq!(kept.filter(|it| it.path().extension().is_some_and(|end| end == "keep")).count(), 0);
}

#[test]
fn where_a_hook_keeps_objects_nothing_is_purged() {
    let world = world();
    world.git(&["config", "gc.recentObjectsHook", "true"]);
    let refs = world.git(&["for-each-ref"]);
    let output = purge(&world, &["--force"], SECRET);
    assert!(described(&output).contains("gc.recentObjectsHook"), "{}", described(&output));
    assert_eq!((output.status.code(), world.git(&["for-each-ref"])), (Some(128), refs));
}

#[test]
fn what_a_lost_tree_of_the_user_led_to_stays() {
    let world = World::with_commit();
    let text = format!("one\n{SECRET}\n");
    world.write("d/k", &text);
    world.sh("git add d; git commit -q -m d");
    save(&world, "k", &text);
    world.remove("k");
    world.sh("git rm -q -r d; git commit -q -m gone");
    world.done(&["save", "-q"]);
    let tree = world.git(&["rev-parse", "HEAD~:d"]);
    let (start, rest) = tree.trim().split_at(2);
    let path = world.repo().join(format!(".git/objects/{start}/{rest}"));
    fs::rename(&path, world.root().join("tree")).expect("it is loose");
    let output = purge(&world, &["--force"], SECRET);
    assert_eq!(output.status.code(), Some(128), "{}", described(&output));
    assert!(
        described(&output).contains("is missing") && described(&output).contains("git fsck"),
        "{}",
        described(&output)
    );
    fs::rename(world.root().join("tree"), &path).expect("it comes back");
    assert_eq!(world.git(&["show", "HEAD~:d/k"]), text);
    world.assert_sound("with the tree");
}

#[rstest::rstest]
#[case::gone_again("; rm k", Some(0))]
#[case::still_there("", Some(1))]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn what_a_save_brings_back_meanwhile_goes_too_or_is_named(#[case] then: &str, #[case] code: Option<i32>) {
    for (step, is_packed) in [("purge:after-pack", true), ("purge:set-aside", true), ("purge:set-aside", false)] {
        let world = world();
        if is_packed {
            world.git(&["gc", "-q"]);
        }
        let what = format!("printf 'one\\n%s\\n' '{SECRET}' >k; '{}' save -q{then}", program());
        let output = purge_halted(&world, step, &what);
        assert_eq!(output.status.code(), code, "{step}: {}", described(&output));
        let is_left = !places(&world, SECRET).is_empty();
        assert_eq!(is_left, code == Some(1), "{step}: {}", described(&output));
        assert!(!is_left || described(&output).contains("still has the text in 'k'"), "{}", described(&output));
        world.assert_sound(step);
    }
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn what_is_restored_meanwhile_can_be_undone() {
    let world = world();
    let old = world.shadows().join(" ");
    world.done(&["save", "-q"]);
    world.git(&["gc", "-q"]);
    let output = purge_halted(&world, "purge:after-pack", &format!("'{}' restore -q {old}", program()));
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    assert!(world.repo().join("k").exists());
    world.done(&["undo", "-q"]);
    assert!(!world.repo().join("k").exists());
    world.assert_sound("after the undo");
    purged(&world, SECRET);
    assert_eq!(places(&world, SECRET), Vec::<String>::new());
}

#[test]
fn what_cannot_be_put_back_keeps_nothing_from_being_saved() {
    let world = world();
    world.write(".git/objects/checkpoint-removed/pack/file/x", "");
    world.write(".git/objects/pack/file", "in the way");
    world.write("f", "more\n");
    world.settle();
    world.done(&["session", "prompt", "s", "--agent", "claude-code"]);
    world.done(&["session", "stop", "s"]);
    for arguments in [&["doctor"][..], &["doctor", "--fix"]] {
        let output = world.checkpoint(arguments);
        assert!(described(&output).contains("checkpoint-removed"), "{}", described(&output));
        assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    }
    world.remove(".git/objects/pack/file");
    world.done(&["doctor", "--fix"]);
}

#[test]
fn a_text_that_only_the_operation_log_has_goes() {
    for is_packed in [false, true] {
        let world = World::with_commit();
        save(&world, "f", "one\n");
        save(&world, "f", "two\n");
        let secret = "zanzibar-harbour-4711";
        world.done(&["restore", "-q", "@{1}", "--", &format!("{secret}/../f")]);
        if is_packed {
            world.git(&["gc", "-q"]);
        }
        assert_ne!(places(&world, secret), Vec::<String>::new(), "the log has the command line");
        let done = purged(&world, secret);
        // The restore wrote its entry before it changed files, after that, and once it was over.
        assert_eq!((done["operations"].as_u64(), done["checkpoints"].as_u64()), (Some(3), Some(0)), "{done:#}");
        assert_eq!(places(&world, secret), Vec::<String>::new(), "{done:#}");
        world.assert_sound("after the purge");
    }
}
