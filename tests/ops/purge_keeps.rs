//! What a purge must leave alone: objects of the user, whatever git does meanwhile, and the authors of lines.

use std::{fs, process::Output};

use git_checkpoint::testing::ops::purge::{self as ops, Options};
use serde_json::{Value, json};

use super::purge::{SECRET, places, purge, purged};
use crate::support::{World, files::write_script, processes::described, program};

/// A world with a checkpoint that has the text in `k`, which the worktree has no more.
pub(super) fn world() -> World {
    let world = World::with_commit();
    save(&world, "k", &format!("one\n{SECRET}\n"));
    world.remove("k");
    world
}

pub(super) fn save(world: &World, path: &str, text: &str) -> String {
    world.write(path, text);
    world.settle();
    world.json(&["save", "--json"])["id"].as_str().expect("an id").to_owned()
}

/// Runs a purge. Before the git command with `number` that it starts, of those whose arguments match `pattern`, the user does
/// `what`. Returns true with the output if it came to that.
pub(super) fn purge_while(
    world: &World,
    arguments: &[&str],
    (pattern, number): (&str, usize),
    what: &str,
) -> (Output, bool) {
    let (root, path) = (world.root(), std::env::var("PATH").expect("a path"));
    fs::create_dir_all(root.join("bin")).expect("a folder");
    let (count, done) = (root.join("count"), root.join("done"));
    for file in [&count, &done] {
        drop(fs::remove_file(file));
    }
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in {pattern})\necho x >>'{count}'\nif [ $(wc -l <'{count}') = {number} ]; then\n(\n\
         unset GIT_DIR GIT_WORK_TREE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\nPATH='{path}'\ncd '{repo}'\n{what}\n) >/dev/null 2>&1 </dev/null\ntouch '{done}'\nfi;;\n\
         esac\nPATH='{path}' exec git \"$@\"\n",
        count = count.display(),
        done = done.display(),
        repo = world.repo().display(),
    );
    write_script(&root.join("bin/git"), &script);
    let mut command = world.command(program());
    command.args(["purge", "--force"]).args(arguments).env("PATH", format!("{}:{path}", root.join("bin").display()));
    let output = command.output().expect("it runs");
    fs::remove_file(root.join("bin/git")).expect("it was there");
    (output, done.exists())
}

#[test]
fn what_the_user_commits_meanwhile_stays() {
    for is_packed in [false, true] {
        for number in 1.. {
            let world = world();
            if is_packed {
                world.git(&["gc", "-q"]);
            }
            let commit = format!("printf 'one\\n%s\\n' '{SECRET}' >k; git add k; git commit -q -m k");
            let (output, was_done) = purge_while(&world, &[SECRET], ("*", number), &commit);
            let when = format!("{is_packed} {number}: {}", described(&output));
            if !was_done {
                assert!(number > 5, "{when}");
                break;
            }
            world.assert_sound(&when);
            assert_eq!(world.git(&["show", "HEAD:k"]), format!("one\n{SECRET}\n"), "{when}");
            let left = world.repo().join(".git/checkpoint/removed");
            assert!(!left.exists() || fs::read_dir(left).expect("readable").next().is_none(), "{when}");
        }
    }
}

#[test]
fn what_is_staged_while_a_commit_has_its_editor_open_stays() {
    let world = World::with_commit();
    save(&world, "f", &format!("{SECRET}\n"));
    let script = format!(
        "#!/bin/sh\nunset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE\necho clean >f\n'{}' purge -f '{SECRET}'\n\
         echo $? >'{}'\necho message >\"$1\"\n",
        program(),
        world.root().join("status").display()
    );
    write_script(&world.root().join("editor"), &script);
    let mut command = world.command("git");
    let output = command.args(["commit", "-q", "-a"]).env("GIT_EDITOR", world.root().join("editor")).output();
    let output = output.expect("git runs");
    assert!(output.status.success(), "{}", described(&output));
    assert_ne!(fs::read_to_string(world.root().join("status")).expect("it ran").trim(), "0");
    assert_eq!(world.git(&["show", "HEAD:f"]), format!("{SECRET}\n"));
    world.assert_sound("after the commit");
}

#[test]
fn after_a_crash_between_all_is_back() {
    for is_packed in [false, true] {
        let world = world();
        if is_packed {
            world.git(&["gc", "-q"]);
        }
        let before = world.git(&["cat-file", "--batch-all-objects", "--unordered", "--batch-check"]);
        let mut command = world.command(program());
        command.args(["purge", "--force", SECRET]).env("CHECKPOINT_FAILPOINT", "purge:set-aside");
        let died = command.output().expect("it runs");
        assert_eq!(died.status.code(), None, "{}", described(&died));
        world.assert_sound("after the crash");
        // Meanwhile, a person relies on an object that was there before.
        world.done(&["list"]);
        world.done(&["save", "-q", "--allow-empty"]);
        let after = world.git(&["cat-file", "--batch-all-objects", "--unordered", "--batch-check"]);
        assert!(before.lines().all(|line| after.contains(line)), "{is_packed}");
        purged(&world, SECRET);
        assert_eq!(places(&world, SECRET), Vec::<String>::new());
        world.assert_sound("after the second purge");
    }
}

#[test]
fn what_a_replaced_commit_has_stays() {
    let world = World::with_commit();
    save(&world, "k", &format!("x\n{SECRET}\n"));
    world.sh("git add k; git commit -q -m k; git tag v1; git reset -q --hard HEAD~; echo clean >k; git add k; git commit -q -m k2");
    world.sh("git replace v1^{commit} HEAD; git reflog expire --expire=all --all");
    let output = purge(&world, &["--force", "--json"], SECRET);
    let done: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(done["kept"][0]["path"], json!("k"), "{done:#}");
    world.sh("git --no-replace-objects fsck --strict");
    assert_eq!(world.git(&["--no-replace-objects", "show", "v1:k"]), format!("x\n{SECRET}\n"));
}

/// Runs a purge that must change nothing, and say `message`.
fn refused(world: &World, arguments: &[&str], message: &str) {
    let refs = world.git(&["for-each-ref"]);
    let output = world.checkpoint(arguments);
    assert!(matches!(output.status.code(), Some(1 | 128)), "{}", described(&output));
    assert!(described(&output).contains(message), "{message}: {}", described(&output));
    assert_eq!(world.git(&["for-each-ref"]), refs, "nothing was purged");
}

#[test]
fn nothing_is_purged_while_a_turn_is_under_way() {
    let world = world();
    world.done(&["session", "prompt", "s", "--agent", "claude-code"]);
    refused(&world, &["purge", "--force", SECRET], "the session 's' has a turn under way");
    refused(&world, &["purge", "--force", "--path", "k"], "the session 's' has a turn under way");
    world.done(&["session", "stop", "s"]);
    world.git(&["worktree", "add", "-q", "../other"]);
    world.sh("cd ../other; git checkpoint session prompt t --agent claude-code");
    refused(&world, &["purge", "--force", SECRET], "the session 't' has a turn under way");
    world.sh("cd ../other; git checkpoint session stop t");
    purged(&world, SECRET);
    assert_eq!(places(&world, SECRET), Vec::<String>::new());
}

#[test]
fn nothing_is_purged_that_work_of_today_still_has() {
    let text = format!("one\n{SECRET}\n");
    let has = |what: &str, place: &str, undo: &str| {
        let world = World::with_commit();
        save(&world, "k", &text);
        world.sh(&what.replace("TEXT", SECRET));
        refused(&world, &["purge", "--force", SECRET], place);
        world.sh(undo);
        let output = purge(&world, &["--force"], SECRET);
        assert!(described(&output).contains("purged; removed"), "{what}: {}", described(&output));
        world.assert_sound(what);
    };
    has("true", "the worktree still has the text in 'k'", "rm k");
    has("mv k r", "the worktree still has the text in 'r'", "rm r");
    has("echo more >>k; git add k; rm k", "the index still has the text in 'k'", "git rm -q --cached k");
    has(
        "echo more >>k; git stash -q -u",
        "'stash@{0}' still has the text in 'k'",
        "git stash drop -q; git reflog expire --expire=all --all; git gc -q --prune=now",
    );
    has(
        "git worktree add -q ../other; mv k ../other/k",
        "the worktree 'other' still has the text in 'k'",
        "rm ../other/k",
    );
    has(
        "git checkout -q -b side; echo x >b; git add b; git commit -q -m b; git checkout -q main; echo y >b; git add b; \
         git commit -q -m c; echo more >>k; git add k; git rebase -q --autostash side || :",
        "the autostash",
        "git rebase --abort; git rm -q -f k; git reflog expire --expire=all --all; git gc -q --prune=now",
    );
    let world = World::with_commit();
    save(&world, "k", &text);
    refused(&world, &["purge", "--force", "--path", "k"], "the worktree still has 'k'");
    world.remove("k");
    world.done(&["purge", "--force", "--path", "k"]);
    assert_eq!(places(&world, SECRET), Vec::<String>::new());
}

#[test]
fn what_is_committed_does_not_keep_a_purge_from_the_rest() {
    let world = World::with_commit();
    world.write("committed", format!("{SECRET}\n"));
    world.sh("git add -A; git commit -q -m committed");
    save(&world, "k", &format!("one\n{SECRET}\n"));
    world.remove("k");
    let done = purge(&world, &["--force"], SECRET);
    assert_eq!(done.status.code(), Some(0), "{}", described(&done));
}

#[test]
fn a_text_of_several_lines_goes_from_messages() {
    let world = World::with_commit();
    let text = "BEGIN zanzibar\nharbour 4711\n\nkey 4712\nEND of it";
    world.done(&["save", "-q", "--allow-empty", "-m", text]);
    world.done(&["save", "-q", "--allow-empty", "-m", &format!("key: {text}")]);
    world.done(&["session", "prompt", "s", "--agent", "claude-code", "--message", &format!("use {text} please")]);
    save(&world, "f", "of the agent\n");
    world.done(&["session", "stop", "s"]);
    purged(&world, text);
    for part in ["zanzibar", "harbour", "key 4712", "END of it"] {
        assert_eq!(places(&world, part), Vec::<String>::new(), "{part}");
    }
    let list = world.done(&["list"]);
    assert!(list.contains("use [purged]") && list.contains("key: [purged]"), "{list}");
}

#[test]
fn a_checkpoint_that_the_user_holds_is_named() {
    for hold in ["git branch rescue TIP", "git checkout -q TIP; git checkout -q main"] {
        let world = World::with_commit();
        world.done(&["save", "-q", "--allow-empty", "-m", &format!("use {SECRET}")]);
        let tip = world.shadows().join(" ");
        world.sh(&hold.replace("TIP", &tip));
        let output = purge(&world, &["--force", "--json"], SECRET);
        assert_eq!(output.status.code(), Some(1), "{hold}: {}", described(&output));
        let done: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(done["kept"][0]["commit"], json!(tip), "{hold}: {done:#}");
        assert_eq!(done["kept"][0]["ref"].as_str(), hold.contains("branch").then_some("rescue"), "{done:#}");
        let output = purge(&world, &["--force"], SECRET);
        assert!(described(&output).contains(&tip[..7]), "{hold}: {}", described(&output));
        // The same if the checkpoint is to go with all that it has.
        for more in ["--dry-run", "--force"] {
            let output = world.checkpoint(&["purge", more, "--checkpoint", &tip]);
            assert!(described(&output).contains(&tip[..7]), "{hold}: {}", described(&output));
            assert_eq!(output.status.code(), Some(1), "{hold}: {}", described(&output));
        }
    }
}

#[test]
fn the_locks_are_free_while_it_asks() {
    let world = world();
    world.git(&["config", "checkpoint.lock-timeout", "100ms"]);
    let context = World::context_at(&world.repo());
    let options = Options { texts: vec![SECRET.into()], ..Options::default() };
    let mut asked = 0;
    let done = ops::purge(&context, &options, &mut |_| {
        asked += 1;
        if asked == 1 {
            world.done(&["session", "prompt", "s", "--agent", "claude-code"]);
            save(&world, "a", "of the agent\n");
            world.done(&["session", "stop", "s"]);
            // Another worktree is made, which has the text.
            world.sh("git worktree add -q ../other");
            world.write("../other/more", format!("2 {SECRET}\n"));
            world.sh("cd ../other; sleep 0.03; git checkpoint save -q; rm more");
        }
        Ok(true)
    });
    let done = done.expect("it is done");
    assert_eq!((asked, done.0.checkpoints), (2, 2), "{done:?}");
    assert_eq!(places(&world, SECRET), Vec::<String>::new());
    world.assert_sound("after the purge");
}

#[test]
fn names_of_sessions_stay_and_are_mentioned() {
    let world = World::with_hooks();
    let secret = "zanzibar-harbour-4711";
    let id = format!("s-{secret}");
    world.done(&["session", "prompt", &id, "--agent", "claude-code", "--message", secret]);
    save(&world, "f", "of the agent\n");
    world.done(&["session", "stop", &id]);
    world.sh("git commit -q -a -m f");
    let record = world.json(&["explain", "--json", "HEAD"]);
    let output = purge(&world, &["--force", "--json"], secret);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    let done: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(done["in_names"], json!(true), "{done:#}");
    assert!(record.to_string().contains(&id));
    assert!(world.json(&["explain", "--json", "HEAD"]).to_string().contains(&id));
    // The session is still known by its name.
    world.done(&["session", "prompt", &id, "--agent", "claude-code", "--message", "more"]);
    world.done(&["session", "stop", &id]);
    world.assert_accounted("after the purge");
}

#[test]
fn objects_that_nothing_leads_to_are_mentioned() {
    let world = world();
    world.write("../blob", format!("{SECRET} in a blob\n"));
    world.git(&["hash-object", "-w", "../blob"]);
    let output = purge(&world, &["--force", "--json"], SECRET);
    let done: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &done["unreachable"]), (Some(1), &json!(1)), "{done:#}");
    let output = purge(&world, &["--force"], SECRET);
    assert!(described(&output).contains("git gc --prune=now"), "{}", described(&output));
    world.git(&["prune", "--expire=now"]);
    assert_eq!(places(&world, SECRET), Vec::<String>::new());
}

#[test]
fn where_objects_are_missing_the_rest_is_purged() {
    let world = World::with_commit();
    world.write("d/x", "1\n");
    world.sh("git add -A; git commit -q -m d");
    world.write("k", format!("{SECRET}\n"));
    world.write("d/x", "2\n");
    world.settle();
    world.done(&["save", "-q"]);
    let tree = world.git(&["rev-parse", &format!("{}:d", world.shadows().join(" "))]);
    let (start, rest) = tree.trim().split_at(2);
    world.remove(&format!(".git/objects/{start}/{rest}"));
    world.remove("k");
    world.write("d/x", "3\n");
    world.settle();
    world.checkpoint(&["save", "-q"]);
    let output = purge(&world, &["--force"], SECRET);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", described(&output));
    assert_eq!(places(&world, SECRET), Vec::<String>::new(), "{}", described(&output));
}

#[test]
fn a_partial_clone_can_be_purged() {
    let world = World::with_commit();
    world.git(&["config", "uploadpack.allowFilter", "true"]);
    for number in 1..=3 {
        world.write("d/b", format!("{number}\n"));
        world.sh("git add -A; git commit -q -m d");
    }
    for filter in ["blob:none", "tree:0"] {
        world.sh(&format!("rm -rf ../clone; git clone -q --filter={filter} \"file://$PWD\" ../clone"));
        let secret = "zanzibar-harbour-4711";
        world.sh(&format!(
            "cd ../clone; echo {secret} >k; git checkpoint save -q; rm k; git checkpoint save -q; git checkpoint purge -f {secret}"
        ));
        let left = world.sh("cd ../clone; git cat-file --batch-all-objects --unordered --batch");
        assert!(!left.contains(secret), "{filter}");
    }
}
