//! `worktree merge`: git merges, nothing else is merged than what was looked at, and lines keep their authors.

use std::{fs, path::PathBuf};

use rstest::rstest;
use serde_json::{Value, json};

use super::{add, json_of, run_in, said};
use crate::support::World;

/// A repository with our hooks, and a worktree of the branch `side`, where a session has committed a line of `f` and the file `new`.
/// If it `is_apart`, the branch `main` has a commit of `h` since.
fn world(is_apart: bool) -> (World, PathBuf) {
    let world = World::with_lines();
    world.git(&["branch", "-M", "main"]);
    let path = add(&world, "side");
    turn(&world, "s1", "sed -i '1s/.*/of an agent/' f; echo new >new");
    world.sh(&format!("cd '{}'; echo by hand >>g; git add -A; git commit -qm work", path.display()));
    if is_apart {
        world.sh("echo here >>h; git commit -qam here");
    }
    world.settle();
    (world, path)
}

/// Runs a turn of `session` in the worktree of `side` that does what `script` does.
fn turn(world: &World, session: &str, script: &str) {
    let side = world.root().join("repo-wt-side");
    for words in
        [&["session", "prompt", session, "--agent", "claude-code", "-m", "do it"][..], &["session", "stop", session]]
    {
        let output = run_in(world, &side, words);
        assert!(output.status.success(), "{}", said(&output));
        if words.contains(&"prompt") {
            world.sh(&format!("cd '{}'; {script}", side.display()));
        }
    }
}

/// Returns what is on both branches and in both worktrees, but for ids.
fn state(world: &World) -> String {
    world.sh(
        "for it in main side; do git log --format='%s %T %P' $it | cut -d' ' -f-2; done
         for it in . ../repo-wt-side; do git -C $it status --porcelain=v2 --branch --ignored | grep -v oid
         git -C $it stash list; (cd $it; git ls-files -s; find . -path ./.git -prune -o -type f -exec cksum {} + | sort); done",
    )
}

/// Returns the session of each line of `f`, `g`, `h` and `new`.
fn owners(world: &World) -> Vec<Value> {
    let lines = |file: &&str| world.json(&["blame", "--json", file])["lines"].as_array().cloned().expect("lines");
    ["f", "g", "h", "new"].iter().flat_map(lines).map(|line| line["session"].clone()).collect()
}

#[rstest]
#[case::fast_forward(&[], false, "fast-forward", "git merge -q side")]
#[case::commit(&[], true, "merged", "git merge -q --no-edit side")]
#[case::ff_only(&["--ff-only"], false, "fast-forward", "git merge -q --ff-only side")]
#[case::squash(&["--squash"], true, "staged", "git merge -q --squash side; git commit -q --no-edit")]
#[case::squash_of_a_fast_forward(&["--squash"], false, "staged", "git merge -q --squash side; git commit -q --no-edit")]
#[case::rebase(&["--rebase"], true, "fast-forward", "git -C ../repo-wt-side rebase -q main; git merge -q --ff-only side")]
#[case::rebase_of_nothing(&["--rebase"], false, "fast-forward", "git merge -q --ff-only side")]
fn each_kind_is_gits(#[case] options: &[&str], #[case] is_apart: bool, #[case] result: &str, #[case] by_git: &str) {
    let ((ours, _), (gits, _)) = (world(is_apart), world(is_apart));
    let before = ours.git(&["rev-parse", "HEAD"]);
    let merged = json_of(&ours, &[&["worktree", "merge", "side", "--json"], options].concat());
    assert_eq!((&merged["result"], &merged["commits"], &merged["version"]), (&json!(result), &json!(1), &json!(1)));
    assert_eq!((&merged["source"], &merged["branch"]), (&json!("side"), &json!("main")));
    assert_eq!((merged["before"].as_str(), &merged["moved"]), (Some(before.trim()), &json!(false)));
    assert_eq!(merged["after"].as_str(), Some(ours.git(&["rev-parse", "HEAD"]).trim()));
    assert!(merged["checkpoint"].is_string() && merged["source_checkpoint"].is_string(), "{merged}");
    if result == "staged" {
        ours.git(&["commit", "-q", "--no-edit"]);
    }
    gits.sh(by_git);
    assert_eq!(state(&ours), state(&gits));
    let lines = owners(&ours);
    assert_eq!(lines, owners(&gits));
    let of_agent = lines.iter().filter(|session| **session == json!("s1")).count();
    assert_eq!(of_agent, 2, "{lines:?}");
    for world in [&ours, &gits] {
        world.assert_sound("after the merge");
        world.assert_accounted("after the merge");
    }
    // All is here by now.
    let again = ours.checkpoint(&["worktree", "merge", "side", "--ff-only"]);
    if result != "staged" {
        assert!(again.status.success(), "{}", said(&again));
        let printed = String::from_utf8_lossy(&again.stdout);
        assert_eq!(printed, "nothing to merge: main has all commits of side\n");
    }
}

/// Without hooks, the records are there at once all the same.
#[rstest]
#[case::merge(&[])]
#[case::rebase(&["--rebase"])]
fn no_hook_is_needed(#[case] options: &[&str]) {
    let (world, _) = world(true);
    world.done(&["disable"]);
    world.done(&[&["worktree", "merge", "side"], options].concat());
    let of_agent = owners(&world).iter().filter(|session| **session == json!("s1")).count();
    assert_eq!(of_agent, 2, "{:?}", owners(&world));
    world.assert_accounted("after the merge");
}

#[rstest]
#[case::merge(&[], "'git merge --continue' ends it", "UU f")]
#[case::squash(&["--squash"], "'git commit' ends it", "UU f")]
#[case::rebase(&["--rebase"], "rebase --continue' ends it", "")]
fn conflicts_stay_where_git_leaves_them(#[case] options: &[&str], #[case] hint: &str, #[case] here: &str) {
    let (world, path) = world(false);
    world.sh("sed -i '1s/.*/of a person/' f; echo more >>h; git commit -qam here; echo mine >untracked");
    let before = state(&world);
    let output = world.checkpoint(&[&["worktree", "merge", "side"], options].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "f (conflict)\n");
    assert!(said(&output).contains("CONFLICT (content)") && said(&output).contains(hint), "{}", said(&output));
    let is_rebase = options == ["--rebase"];
    let side = path.to_str().expect("plain");
    let status = world.git(&["status", "--porcelain"]);
    assert!(status.contains(here) && status.contains("?? untracked"), "{status}");
    let status = world.git(&["-C", side, "status", "--porcelain"]);
    assert_eq!(status.contains("UU f"), is_rebase, "{status}");
    // The next one does not touch it.
    let again = world.checkpoint(&["worktree", "merge", "side"]);
    assert_eq!(again.status.code(), Some(1), "{}", said(&again));
    assert!(
        said(&again).contains(if options == ["--squash"] { "'f' has a conflict" } else { "is under way in" }),
        "{}",
        said(&again)
    );
    let at = if is_rebase { side } else { "." };
    let give_up = match options {
        ["--squash"] => "git reset -q --merge",
        ["--rebase"] => "git rebase --abort",
        _ => "git merge --abort",
    };
    world.sh(&format!("cp '{at}/f' ../conflict; cd '{at}'; {give_up}"));
    assert_eq!(state(&world), before);
    // Once more, and to its end.
    let output = world.checkpoint(&[&["worktree", "merge", "side", "--json"], options].concat());
    let merged: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&merged["result"], &merged["conflicts"]), (&json!("conflicts"), &json!(["f"])), "{merged}");
    let go_on = match options {
        ["--squash"] => "git commit -qm squashed",
        ["--rebase"] => "git -c core.editor=true rebase --continue",
        _ => "git -c core.editor=true merge --continue",
    };
    world.sh(&format!("cd '{at}'; sed -i '/^<<<<<<</d; /^=======/,/^>>>>>>>/d' f; git add f; {go_on}"));
    if is_rebase {
        world.done(&["worktree", "merge", "side"]);
    }
    let lines = owners(&world);
    assert_eq!(lines.iter().filter(|session| **session == json!("s1")).count(), 1, "{lines:?}");
    world.assert_sound("after the conflict");
}

const SIDE: &str = "../repo-wt-side";

#[rstest]
#[case::itself("", &["main"], 1, "this command runs in the worktree")]
#[case::unknown("", &["nope"], 128, "'nope' names no worktree")]
#[case::no_worktree("git branch free", &["free"], 128, "'git merge free' merges it")]
#[case::changed("echo x >>../repo-wt-side/f", &["side"], 1, "'f' in '")]
#[case::untracked("echo x >../repo-wt-side/u", &["side"], 1, "'u' in '")]
#[case::staged("cd ../repo-wt-side; echo x >u; git add u; rm u", &["side"], 1, "'u' in '")]
#[case::several("cd ../repo-wt-side; echo x >u; echo x >>f", &["side"], 1, "2 paths in '")]
#[case::turn("git -C ../repo-wt-side checkpoint session prompt s2 --agent ag", &["side"], 1, "has a turn under way")]
#[case::merge_there("git rev-parse HEAD >.git/worktrees/repo-wt-side/MERGE_HEAD", &["side"], 1, "a merge is under way")]
#[case::merge_here("git rev-parse side >.git/MERGE_HEAD", &["side"], 1, "a merge is under way")]
#[case::rebase_here("mkdir .git/rebase-merge", &["side"], 1, "a rebase is under way")]
#[case::pick_there("git rev-parse HEAD >.git/worktrees/repo-wt-side/CHERRY_PICK_HEAD", &["side"], 1, "a cherry-pick is under way")]
#[case::git_at_work("touch .git/index.lock", &["side"], 128, "another git command is at work")]
#[case::detached_here("git checkout -q --detach", &["side"], 1, "HEAD is on no branch in '")]
#[case::detached_there("git -C ../repo-wt-side checkout -q --detach", &["repo-wt-side"], 1, "switch -c <branch>'")]
#[case::unborn_there("git -C ../repo-wt-side switch -q --orphan none", &["none"], 1, "has no commit yet")]
#[case::not_apart("", &["side", "--ff-only"], 1, "no fast-forward is possible")]
#[case::two_kinds("", &["side", "--squash", "--rebase"], 129, "cannot be used with")]
#[case::locked_out("echo 'exit 1' >.git/hooks/pre-rebase; chmod +x .git/hooks/pre-rebase", &["side", "--rebase"], 1, "git cannot rebase 'side'")]
fn what_is_refused_changes_nothing(
    #[case] prepare: &str,
    #[case] arguments: &[&str],
    #[case] status: i32,
    #[case] words: &str,
) {
    let (world, _) = world(true);
    world.sh(prepare);
    let everything = |world: &World| {
        state(world)
            + &world.sh("git for-each-ref refs/heads; cat .git/HEAD; ls .git .git/worktrees/*/ | grep -v index")
    };
    let before = everything(&world);
    let output = world.checkpoint(&[&["worktree", "merge"], arguments].concat());
    assert_eq!(output.status.code(), Some(status), "{}", said(&output));
    assert!(said(&output).contains(words), "{}", said(&output));
    assert_eq!(everything(&world).replace("ORIG_HEAD\n", ""), before.replace("ORIG_HEAD\n", ""));
}

/// What is not committed there is in a checkpoint, though nothing is merged. Ignored files do not count.
#[test]
fn uncommitted_work_there_is_saved() {
    let (world, path) = world(true);
    fs::write(path.join("u"), "mine\n").expect("writable");
    assert!(!world.checkpoint(&["worktree", "merge", "side"]).status.success());
    let saved = String::from_utf8(run_in(&world, &path, &["list"]).stdout).expect("text");
    assert!(saved.contains("Before the merge of its branch"), "{saved}");
    world.sh("mkdir -p .git/info; echo u >>.git/info/exclude");
    world.done(&["worktree", "merge", "side"]);
    assert_eq!(world.sh(&format!("cat {SIDE}/u")), "mine\n");
}

/// What would be written over is refused, by git or before git begins; all else stays as it is.
#[rstest]
#[case::changed("echo mine >>f", "Your local changes to the following files would be overwritten", "'f' is changed in")]
#[case::staged(
    "echo mine >>f; git add f",
    "Your local changes to the following files would be overwritten",
    "'f' is staged in"
)]
#[case::untracked("echo mine >new", "untracked working tree files would be overwritten", "")]
fn work_here_is_not_written_over(
    #[case] prepare: &str,
    #[case] words: &str,
    #[case] before_git: &str,
    #[values(&[], &["--squash"], &["--rebase"])] options: &[&str],
    #[values(false, true)] is_apart: bool,
) {
    if is_apart && options == ["--rebase"] {
        // The branch there is rebased before.
        return;
    }
    let (world, _) = world(is_apart);
    world.sh(prepare);
    let before = state(&world);
    let output = world.checkpoint(&[&["worktree", "merge", "side"], options].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(state(&world), before);
    if is_apart && !before_git.is_empty() {
        assert!(said(&output).contains(before_git), "{}", said(&output));
        return;
    }
    assert!(said(&output).contains("git cannot merge 'side' into 'main'"), "{}", said(&output));
    assert!(said(&output).contains(words), "{}", said(&output));
    let saved = world.done(&["list"]);
    assert!(saved.contains("Before the merge of side"), "{saved}");
}

#[rstest]
#[case::merge(&[])]
#[case::squash(&["--squash"])]
#[case::rebase(&["--rebase"])]
fn other_work_here_stays(#[case] options: &[&str]) {
    let (world, _) = world(true);
    world.sh("echo mine >>h; echo mine >untracked");
    world.done(&[&["worktree", "merge", "side"], options].concat());
    assert_eq!(world.sh("tail -1 h; cat untracked; cat new"), "mine\nmine\nnew\n");
}

#[test]
fn a_dry_run_says_what_would_be() {
    let (world, path) = world(true);
    let before = state(&world);
    let refs = |world: &World| world.git(&["for-each-ref"]);
    let known = refs(&world);
    let would = |options: &[&str]| json_of(&world, &[&["worktree", "merge", "side", "-n", "--json"], options].concat());
    for (options, result) in [(&[][..], "merged"), (&["--squash"], "staged"), (&["--rebase"], "fast-forward")] {
        let merged = would(options);
        assert_eq!((&merged["result"], &merged["dry_run"]), (&json!(result), &json!(true)), "{options:?}");
        assert_eq!(merged["conflicts"].is_null(), options == ["--rebase"], "{merged}");
        assert_eq!((&merged["before"], &merged["checkpoint"]), (&merged["after"], &Value::Null));
    }
    assert_eq!((refs(&world), state(&world)), (known, before));
    world.sh("sed -i '1s/.*/of a person/' f; git commit -qam more");
    assert_eq!((&would(&[])["result"], &would(&[])["conflicts"]), (&json!("conflicts"), &json!(["f"])));
    assert!(!world.repo().join(".git/MERGE_HEAD").exists());
    fs::write(path.join("u"), "mine\n").expect("writable");
    assert_eq!(world.checkpoint(&["worktree", "merge", "side", "-n"]).status.code(), Some(1));
}

/// One entry says what git has, only as long as that is right.
#[test]
fn the_operation_log_says_what_takes_it_back() {
    let (world, _) = world(true);
    let before = world.git(&["rev-parse", "HEAD"]);
    world.done(&["worktree", "merge", "side"]);
    let operations = world.json(&["op", "log", "--json"]);
    let of_merge = |it: &&Value| it["kind"] == json!("worktree");
    let count = operations["operations"].as_array().into_iter().flatten().filter(of_merge).count();
    assert_eq!(count, 1, "{operations}");
    world.sh("echo staged >>h; git add h; echo not staged >>h");
    world.sh("git commit -qam later");
    let id = world.json(&["op", "log", "--json"])["operations"]
        .as_array()
        .and_then(|all| all.iter().find(of_merge))
        .and_then(|it| it["id"].as_str().map(str::to_owned))
        .expect("it is there");
    let undone = world.checkpoint(&["op", "undo", &id]);
    assert!(!said(&undone).contains("reset"), "{}", said(&undone));
    assert!(said(&undone).contains(&format!("'main' was at {} before", before.trim())), "{}", said(&undone));
}
