//! What happens while a round ends, or after a start was killed: nothing is removed, or said to be on the branch, that is not there.

use std::{fs, process::Child};

use rstest::rstest;
use serde_json::{Value, json};

use super::{super::worktrees::wait_until_halted, end, everything, field, folder, path, said, start, text};
use crate::support::{World, program};

fn id(round: &Value) -> &str {
    round["round"].as_str().expect("it has an id")
}

/// Begins to end `round`, and waits until it halts at the failpoint `step`.
fn halted(world: &World, round: &Value, step: &str) -> Child {
    let mut command = world.command(program());
    command.args(["round", "end", id(round)]).env("CHECKPOINT_FAILPOINT", format!("stop@{step}"));
    let piped = std::process::Stdio::piped;
    let child = command.stdout(piped()).stderr(piped()).spawn().expect("it runs");
    wait_until_halted(child.id());
    child
}

/// Lets it go on, and returns what it says when it is refused.
fn goes_on(world: &World, child: Child) -> String {
    world.sh(&format!("kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert!(!output.status.success(), "{}", said(&output));
    said(&output)
}

#[cfg(target_os = "linux")]
#[rstest]
#[case::detached("git checkout -q --detach")]
#[case::on_another_branch("git switch -qc other")]
#[case::on_the_branch("true")]
fn a_commit_after_the_look_keeps_the_worktree(#[case] head: &str) {
    let world = World::with_commit();
    let round = start(&world, &[]);
    let child = halted(&world, &round, "round:before-removal");
    world.sh(&format!("cd '{}'; {head}; echo p >p; git add p; git commit -qm p", path(&round).display()));
    let words = goes_on(&world, child);
    assert!(words.contains("has just been moved"), "{words}");
    assert_eq!(fs::read_to_string(path(&round).join("p")).expect("it stays"), "p\n");
    if head == "true" {
        end(&world, &round);
        assert_eq!(world.git(&["show", &format!("{}:p", field(&round, "branch"))]), "p\n");
    }
}

#[test]
fn teardown_commands_that_move_head_keep_the_worktree() {
    let world = World::with_commit();
    let commands = "git checkout -q --detach; echo t >t; git add t; git commit -qm t";
    world.git(&["config", "checkpoint.worktree.teardown", commands]);
    let round = start(&world, &[]);
    let output = world.checkpoint(&["round", "end", id(&round)]);
    assert!(said(&output).contains("moved by its teardown commands"), "{}", said(&output));
    assert_eq!(fs::read_to_string(path(&round).join("t")).expect("it stays"), "t\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_workspace_with_a_commit_after_the_look_does_not_switch() {
    let world = World::with_commit();
    let round = world.json(&["round", "start", "--workspace", ".", "--json"]);
    world.sh("echo idea >.checkpoint_scratch/note");
    let child = halted(&world, &round, "round:before-archive");
    world.sh("git checkout -q --detach; echo p >p; git add p; git commit -qm p");
    assert!(goes_on(&world, child).contains("is on no branch"));
    assert_eq!(world.sh("cat p; git log -1 --format=%s"), "p\np\n");
}

/// The user has switched back: what is not committed there is on no branch of the round.
#[test]
fn a_workspace_that_was_switched_back_is_not_done() {
    let world = World::with_commit();
    let round = world.json(&["round", "start", "--workspace", ".", "--json"]);
    world.sh("git switch -q main; echo precious >work");
    let output = world.checkpoint(&["round", "end", id(&round)]);
    assert!(!output.status.success() && said(&output).contains("is on 'refs/heads/main'"), "{}", said(&output));
    world.sh(&format!("git switch -q {}", field(&round, "branch")));
    end(&world, &round);
    assert_eq!(world.git(&["show", &format!("{}:work", field(&round, "branch"))]), "precious\n");
}

/// Someone works in what a killed start has left: the same call does not remove it, and the end has it.
#[rstest]
#[case::committed("git add w; git commit -qm w", "round:after-worktree")]
#[case::committed_early("git add w; git commit -qm w", "worktree:before-fill")]
#[case::not_committed("true", "round:after-worktree")]
fn work_in_what_a_killed_start_has_left_stays(#[case] commit: &str, #[case] failpoint: &str) {
    let world = World::with_commit();
    let workspace = folder(&world, "ws");
    let words = ["round", "start", "--context", ".", "--workspace", text(&workspace)];
    let output = world.command(program()).args(words).env("CHECKPOINT_FAILPOINT", failpoint).output().expect("it runs");
    assert_eq!(output.status.code(), None);
    world.sh(&format!("cd ../ws/.worktree/ctx_1; echo work >w; {commit}"));
    let before = everything(&world);
    let output = world.checkpoint(&words);
    assert!(!output.status.success() && said(&output).contains("round end"), "{}", said(&output));
    assert_eq!(everything(&world), before);
    let listed = world.json(&["round", "list", "--json"]);
    let ended = end(&world, &listed["rounds"][0]);
    assert_eq!(world.git(&["show", &format!("{}:w", field(&ended, "branch"))]), "work\n");
}

/// A user has made a worktree for a branch of the same name.
#[rstest]
fn a_worktree_that_no_start_has_made_stays(#[values(false, true)] ends: bool) {
    let world = World::with_commit();
    let workspace = folder(&world, "ws");
    let words = ["round", "start", "--context", ".", "--workspace", text(&workspace), "--label", "feature", "--json"];
    let mut command = world.command(program());
    command.args(words).env("CHECKPOINT_FAILPOINT", "round:after-state").output().expect("it runs");
    world.sh("echo '*.ign' >>.git/info/exclude; git worktree add -q ../mine -b feature; echo secret >../mine/x.ign");
    if ends {
        // Nothing was made: nothing is committed or removed.
        world.sh("echo wip >../mine/wip");
        let ended = world.json(&["round", "end", "feature", "--json"]);
        assert_eq!((&ended["contexts"][0]["commit"], &ended["contexts"][0]["gone"]), (&json!(null), &json!(false)));
        assert_eq!(world.sh("cat ../mine/wip ../mine/x.ign"), "wip\nsecret\n");
        return;
    }
    let round = world.json(&words);
    assert!(field(&round, "branch").starts_with("feature_"), "{round}");
    assert_eq!(world.sh("cat ../mine/x.ign"), "secret\n");
}

/// An end has failed after its commit, and the user has gone back, with more work.
#[test]
fn a_workspace_with_work_after_a_failed_end_is_not_done() {
    let world = World::with_commit();
    world.sh("echo theirs >f; git add f; git commit -qm f");
    let round = world.json(&["round", "start", "--workspace", ".", "--json"]);
    world.sh("git rm -q --cached f; echo f >.gitignore; git add .gitignore");
    assert!(!world.checkpoint(&["round", "end", id(&round)]).status.success());
    world.sh("rm f; git switch -q main; echo precious >work");
    let output = world.checkpoint(&["round", "end", id(&round)]);
    assert!(!output.status.success() && said(&output).contains("'work' in"), "{}", said(&output));
    world.sh("git add work; git commit -qm work");
    end(&world, &round);
}

/// The second directory cannot be made: the first one is made again by the next call.
#[test]
fn what_a_failed_start_has_removed_is_made_again() {
    let world = World::with_commit();
    world.sh("git worktree add -q ../second; echo '!/.checkpoint_scratch/' >../second/.gitignore; git -C ../second add .; git -C ../second commit -qm rules");
    let workspace = folder(&world, "ws");
    let words = ["round", "start", "--context", ".", "--context", "../second", "--workspace", text(&workspace)];
    let before = everything(&world);
    assert!(!world.checkpoint(&words).status.success());
    assert_eq!(everything(&world).replace("../ws/.worktree\n", ""), before);
    world.sh("cd ../second; git rm -q .gitignore; git commit -qm none");
    world.done(&words);
}

/// Experiments are in no commit, whatever became of the rule that hides them.
#[test]
fn experiments_that_git_would_show_are_not_committed() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    world.sh(": >.git/info/exclude");
    fs::write(format!("{}/note", field(&round, "scratch")), "an idea\n").expect("writable");
    end(&world, &round);
    assert_eq!(world.git(&["rev-parse", field(&round, "branch")]), world.git(&["rev-parse", "main"]));
    let round = start(&world, &[]);
    let root = path(&round);
    fs::write(format!("{}/note", field(&round, "scratch")), "an idea\n").expect("writable");
    fs::write(root.join(".gitignore"), "!.checkpoint_scratch/\n").expect("writable");
    let refused = |words: &str| {
        let output = world.checkpoint(&["round", "end", id(&round)]);
        assert!(!output.status.success() && said(&output).contains(words), "{}", said(&output));
        assert_eq!(fs::read_to_string(root.join(".checkpoint_scratch/note")).expect("it stays"), "an idea\n");
    };
    refused("a rule in '.gitignore' shows");
    world.sh(&format!(
        "cd '{}'; git add -f .checkpoint_scratch/note; git commit -qm note; rm .gitignore",
        root.display()
    ));
    refused("git tracks files in");
    world.sh(&format!("cd '{}/.checkpoint_scratch'; git rm -qr --cached .", root.display()));
    end(&world, &round);
    assert_eq!(
        world.sh("cat ../ws/.scratch_archive/*-2/note || cat ../ws/.scratch_archive/*/note | tail -1"),
        "an idea\n"
    );
}

/// Something is staged alone after the checkpoint.
#[cfg(target_os = "linux")]
#[test]
fn what_is_staged_after_the_look_stays_staged() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    fs::write(path(&round).join("new"), "work\n").expect("writable");
    let child = halted(&world, &round, "round:after-commit");
    world.sh(&format!("cd '{}'; echo alone >only; git add only; rm only", path(&round).display()));
    assert!(goes_on(&world, child).contains("has just been staged"));
    assert_eq!(world.git(&["-C", text(&path(&round)), "show", ":only"]), "alone\n");
    end(&world, &round);
    assert_eq!(world.git(&["show", &format!("{}:new", field(&round, "branch"))]), "work\n");
}

/// The folder is made again after its content was moved.
#[cfg(target_os = "linux")]
#[test]
fn experiments_after_the_archive_are_named() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    fs::write(format!("{}/note", field(&round, "scratch")), "an idea\n").expect("writable");
    let child = halted(&world, &round, "round:before-removal");
    world.sh(&format!("mkdir '{0}'; echo late >'{0}/late'; kill -CONT {1}", field(&round, "scratch"), child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert!(
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 ignored path"),
        "{output:?}"
    );
}

/// Git gives the id of a worktree to the next one, and so does the workspace its place.
#[test]
fn the_worktree_of_another_round_is_left_alone() {
    let world = World::with_commit();
    let one = start(&world, &["--agent", "one"]);
    world.git(&["worktree", "remove", "--force", field(&one, "path")]);
    let two = start(&world, &["--agent", "two"]);
    assert_eq!(path(&one), path(&two));
    fs::write(path(&two).join("work"), "two\n").expect("writable");
    let workspace = folder(&world, "ws");
    let words = ["round", "start", "--context", ".", "--workspace", text(&workspace), "--agent", "one"];
    let output = world.checkpoint(&words);
    assert!(!output.status.success() && said(&output).contains("is gone"), "{}", said(&output));
    assert_eq!(end(&world, &one)["contexts"][0]["gone"], json!(true));
    assert_eq!(fs::read_to_string(path(&two).join("work")).expect("it stays"), "two\n");
    end(&world, &two);
}

/// A start was killed before it had marked its worktree, and another round has the place of that.
#[rstest]
#[case::end("end")]
#[case::start("start")]
fn the_place_of_a_killed_start_is_another_rounds(#[case] next: &str) {
    let world = World::with_commit();
    let workspace = folder(&world, "ws");
    let words = ["round", "start", "--context", ".", "--workspace", text(&workspace), "--agent", "one", "--json"];
    let mut command = world.command(program());
    command.args(words).env("CHECKPOINT_FAILPOINT", "round:after-worktree").output().expect("it runs");
    world.sh("git worktree remove --force ../ws/.worktree/ctx_1");
    let two = start(&world, &["--agent", "two"]);
    fs::write(path(&two).join("work"), "two\n").expect("writable");
    let killed = world.json(&["round", "list", "--json"])["rounds"][0].clone();
    if next == "end" {
        end(&world, &killed);
    } else {
        assert_ne!(field(&world.json(&words), "path"), field(&two, "path"));
    }
    assert_eq!(fs::read_to_string(path(&two).join("work")).expect("it stays"), "two\n");
    end(&world, &two);
    assert_eq!(world.git(&["show", &format!("{}:work", field(&two, "branch"))]), "two\n");
}

/// What a killed start had made was removed, with work in it: the end names the record that brings it back.
#[test]
fn work_in_a_removed_worktree_of_a_killed_start_is_named() {
    let world = World::with_commit();
    let workspace = folder(&world, "ws");
    let words = ["round", "start", "--context", ".", "--workspace", text(&workspace)];
    let mut command = world.command(program());
    command.args(words).env("CHECKPOINT_FAILPOINT", "round:after-mark").output().expect("it runs");
    let listed = world.json(&["round", "list", "--json"])["rounds"][0].clone();
    world.sh("echo work >../ws/.worktree/ctx_1/w; git checkpoint worktree remove --force ../ws/.worktree/ctx_1");
    let output = world.checkpoint(&["round", "end", id(&listed)]);
    assert!(!output.status.success() && said(&output).contains("worktree restore"), "{}", said(&output));
    world.sh("git checkpoint worktree restore ctx_1");
    let ended = end(&world, &listed);
    assert_eq!(world.git(&["show", &format!("{}:w", field(&ended, "branch"))]), "work\n");
}

/// The mark is lost, and the worktree is where it was.
#[test]
fn a_worktree_without_its_mark_is_found() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    fs::write(path(&round).join("work"), "work\n").expect("writable");
    world.sh("rm .git/worktrees/*/checkpoint/round");
    end(&world, &round);
    assert_eq!(world.git(&["show", &format!("{}:work", field(&round, "branch"))]), "work\n");
}

/// All was committed when the worktree was removed, and the branch has gone on since.
#[test]
fn a_branch_that_has_gone_on_has_all_work() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    world.done(&["worktree", "remove", field(&round, "path")]);
    let branch = field(&round, "branch");
    world.sh(&format!("git switch -q {branch}; git commit -q --allow-empty -m more; git switch -q main"));
    assert_eq!(end(&world, &round)["contexts"][0]["gone"], json!(false));
}

#[test]
fn a_branch_whose_worktree_another_command_has_removed_can_go() {
    let world = World::with_commit();
    let round = start(&world, &["--group", "run"]);
    world.done(&["worktree", "remove", field(&round, "path")]);
    let ended = world.json(&["round", "end", "--group", "run", "--branches", "delete", "--json"]);
    assert_eq!(ended["retired"][0]["branch"], field(&round, "branch"), "{ended}");
}

#[test]
fn a_damaged_file_is_named() {
    let world = World::with_commit();
    let round = start(&world, &["--agent", "agent1"]);
    let file = world.repo().join(format!(".git/checkpoint/rounds/{}.json", id(&round)));
    let whole = fs::read_to_string(&file).expect("it is there");
    fs::write(&file, whole.replace("\"agent1\"", "\"../../evil\"")).expect("writable");
    let listed = world.checkpoint(&["round", "list"]);
    assert!(listed.status.success() && said(&listed).contains("is damaged"), "{}", said(&listed));
    let output = world.checkpoint(&["round", "end", id(&round)]);
    assert!(!output.status.success() && said(&output).contains("is damaged"), "{}", said(&output));
    fs::write(&file, whole).expect("writable");
    assert_eq!(end(&world, &round)["contexts"][0]["gone"], json!(false));
}

/// Git cannot have both a branch and one below it.
#[rstest]
#[case::branch("git branch agents", "round.branch-prefix")]
#[case::setting("git config checkpoint.round.branch-prefix main", "there is a branch 'main'")]
fn a_branch_in_the_way_is_named(#[case] script: &str, #[case] words: &str) {
    let world = World::with_commit();
    world.sh(script);
    let before = everything(&world);
    let output = world.checkpoint(&["round", "start", "--context", "."]);
    assert!(!output.status.success() && said(&output).contains(words), "{}", said(&output));
    assert_eq!(everything(&world), before);
}

#[test]
fn a_label_leaves_room_for_other_branches() {
    let world = World::with_commit();
    let first = start(&world, &["--agent", "one"]);
    let labelled = start(&world, &["--agent", "two", "--label", "agents"]);
    assert!(field(&labelled, "branch").starts_with("agents_"), "{labelled}");
    end(&world, &first);
    start(&world, &["--agent", "three"]);
}

#[test]
fn an_agent_without_a_name_can_be_left_out() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    let name = field(&round, "branch").trim_start_matches("agents/").to_owned();
    assert_eq!(world.json(&["round", "branches", "--exclude", &name, "--json"])["branches"], json!({}));
}

/// Another process, or one that was killed, has made a part of the repository.
#[test]
fn eight_starts_in_a_folder_without_a_repository_are_one() {
    let world = World::with_commit();
    folder(&world, "ws");
    let begin = |_| {
        let mut command = world.command(program());
        command.args(["round", "start", "--workspace", "../ws", "--json"]);
        command.stdout(std::process::Stdio::piped()).spawn().expect("it runs")
    };
    let all: Vec<_> = (0..8).map(begin).collect();
    let outputs = all.into_iter().map(|child| child.wait_with_output().expect("it ends").stdout);
    let outputs: std::collections::BTreeSet<_> = outputs.collect();
    assert!(outputs.len() == 1 && !outputs.iter().any(Vec::is_empty), "{outputs:?}");
}

#[test]
fn a_repository_that_a_killed_start_has_begun_is_completed() {
    let world = World::with_commit();
    let workspace = folder(&world, "ws");
    world.sh("git init -q ../ws");
    world.json(&["round", "start", "--workspace", text(&workspace), "--json"]);
    // It may be the user's, with files.
    let mine = folder(&world, "mine");
    world.sh("git init -q ../mine; echo mine >../mine/file");
    let output = world.checkpoint(&["round", "start", "--workspace", text(&mine)]);
    assert!(!output.status.success() && said(&output).contains("'file' in"), "{}", said(&output));
    assert_eq!(fs::read_to_string(mine.join("file")).expect("it stays"), "mine\n");
    // A malformed call makes none.
    let other = folder(&world, "other");
    let output = world.checkpoint(&["round", "start", "--workspace", text(&other), "--label", "-x"]);
    assert!(!output.status.success() && !other.join(".git").exists(), "{}", said(&output));
    world.sh("mkdir -p ../home/.config/git-checkpoint; printf '[round]\\nmode = \"legacy\"\\n' >../home/.config/git-checkpoint/config.toml");
    let output = world.checkpoint(&["round", "start", "--workspace", text(&other)]);
    assert!(!output.status.success() && !other.join(".git").exists(), "{}", said(&output));
}

#[test]
fn a_workspace_in_use_does_not_switch_back() {
    let world = World::with_commit();
    world.sh("git init -q ../sub; git -C ../sub commit -q --allow-empty -m s; git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub");
    let round = world.json(&["round", "start", "--workspace", ".", "--session", "s1", "--json"]);
    world.done(&["session", "prompt", "s1", "-m", "go"]);
    let refused = |words: &str| {
        let output = world.checkpoint(&["round", "end", id(&round)]);
        assert!(!output.status.success() && said(&output).contains(words), "{}", said(&output));
        assert_eq!(world.git(&["branch", "--show-current"]).trim(), field(&round, "branch"));
    };
    refused("has a turn under way");
    world.done(&["session", "end", "s1"]);
    world.sh("echo new >sub/f");
    refused("the submodule 'sub' has changes that are not committed there");
    world.sh("rm sub/f");
    end(&world, &round);
}
