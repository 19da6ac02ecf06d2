//! `round end`: the branch has all work before anything is removed, and what is in no branch is kept.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use super::{end, field, path, refused, said, start, text};
use crate::support::World;

fn write(round: &Value, name: &str, content: &str) {
    let file = path(round).join(name);
    fs::create_dir_all(file.parent().expect("it is in a directory")).expect("a directory can be made");
    fs::write(file, content).expect("writable");
}

#[test]
fn the_work_is_committed_and_the_branch_stays() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    let branch = field(&round, "branch");
    write(&round, "new", "work\n");
    let ended = end(&world, &round);
    assert!(!path(&round).exists());
    assert_eq!(world.git(&["show", &format!("{branch}:new")]), "work\n");
    assert_eq!(
        world.git(&["log", "-1", "--format=%s%n%an <%ae>", branch]),
        "[ROUND] Auto-commit\nC O Mitter <committer@example.com>\n"
    );
    assert_eq!(world.git(&["rev-list", "--count", &format!("main..{branch}")]), "1\n");
    assert_eq!(field(&ended, "commit"), world.git(&["rev-parse", branch]).trim());
    // What is asked again is the same.
    assert_eq!(field(&end(&world, &round), "removed"), field(&ended, "removed"));
    assert_eq!(world.json(&["round", "list", "--json"])["rounds"], json!([]));
    let all = world.json(&["round", "list", "--all", "--json"]);
    assert_eq!(
        (&all["rounds"][0]["phase"], &all["rounds"][0]["contexts"][0]["scratch"]),
        (&json!("ended"), &json!(null))
    );
    world.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_clean_worktree_gets_no_commit() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    let ended = end(&world, &round);
    assert_eq!(ended["contexts"][0]["commit"], json!(null));
    assert_eq!(world.git(&["rev-parse", field(&round, "branch")]), world.git(&["rev-parse", "main"]));
}

/// All kinds of changes, and nothing that is staged alone, is left behind.
#[test]
fn the_commit_has_what_the_worktree_has() {
    let world = World::with_commit();
    world.sh("echo 1 >gone; echo 1 >changed; echo 1 >mode; git add .; git commit -qm files");
    let round = start(&world, &[]);
    let root = path(&round);
    world.sh(&format!(
        "cd '{}'; rm gone; echo 2 >changed; chmod +x mode; ln -s nowhere link; mkdir -p 'a b'; echo new >'a b/n'
         echo staged >both; git add both; echo unstaged >both; echo alone >alone; git add alone; rm alone",
        root.display()
    ));
    let expected = world.sh(&format!("cd '{}'; GIT_INDEX_FILE=$PWD/../index; export GIT_INDEX_FILE; git read-tree HEAD; git add -A; git write-tree; rm ../index", root.display()));
    end(&world, &round);
    assert_eq!(world.git(&["rev-parse", &format!("{}^{{tree}}", field(&round, "branch"))]), expected);
}

#[test]
fn neither_hooks_nor_a_missing_identity_keep_the_work_from_its_commit() {
    let world = World::with_commit();
    world.script(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    let round = start(&world, &[]);
    world.script(".git/hooks/reference-transaction", "#!/bin/sh\nexit 1\n");
    write(&round, "new", "work\n");
    let mut command = world.command(crate::support::program());
    for name in ["GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"] {
        command.env_remove(name);
    }
    let id = round["round"].as_str().expect("it has an id");
    let output = command.args(["round", "end", id]).env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("it runs");
    assert!(output.status.success(), "{}", said(&output));
    let author = world.git(&["log", "-1", "--format=%an <%ae>", field(&round, "branch")]);
    assert_eq!(author, "git-checkpoint <checkpoint@agent.invalid>\n");
}

#[rstest]
#[case::another_branch("git switch -qc other", "is on 'refs/heads/other', and not on")]
#[case::detached("git checkout -q --detach", "is on no branch")]
#[case::too_large("head -c 3000 /dev/zero >big", "'big' in ")]
#[case::special("mkfifo pipe", "'pipe' in ")]
#[case::repository("git init -q sub; echo 1 >sub/f", "is a repository of its own")]
#[case::merge(
    "git switch -qc o; echo 1 >f; git add f; git commit -qm o; git switch -q -; echo 2 >f; git add f; git commit -qm p; git merge o || true",
    "under way"
)]
#[case::conflict(
    "echo 1 >f; git add f; git commit -qm f; echo 2 >f; git stash -q; echo 3 >f; git commit -qam p; git stash pop || true",
    "has a conflict"
)]
#[case::locked("git worktree lock .", "is locked")]
#[case::git_at_work("touch \"$(git rev-parse --git-dir)/index.lock\"", "another git command is at work")]
fn what_the_branch_would_not_have_stays(#[case] script: &str, #[case] why: &str) {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.save.maxfilesize", "1000"]);
    let round = start(&world, &[]);
    write(&round, "new", "work\n");
    write(&round, ".checkpoint_scratch/note", "an idea\n");
    world.sh(&format!("cd '{}'; {script}", path(&round).display()));
    let said = refused(&world, &round);
    assert!(said.contains(why), "{said}");
    assert_eq!(world.json(&["round", "list", "--json"])["rounds"][0]["phase"], json!("live"));
}

/// A process, or a session, still works there.
#[test]
fn a_worktree_in_use_stays() {
    let world = World::with_commit();
    let round = start(&world, &["--session", "s1"]);
    write(&round, "new", "work\n");
    let root = path(&round);
    world.done(&["-C", text(&root), "session", "prompt", "s1", "-m", "go"]);
    assert!(refused(&world, &round).contains("has a turn under way"));
    world.done(&["-C", text(&root), "session", "end", "s1"]);
    let mut child = world.command("sleep").arg("60").current_dir(&root).spawn().expect("it runs");
    let words = refused(&world, &round);
    child.kill().and_then(|()| child.wait()).expect("it ends");
    assert!(words.contains("works in '"), "{words}");
    end(&world, &round);
}

/// Teardown commands change something after the commit: the branch does not have that.
#[test]
fn what_changes_after_the_commit_stays() {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.worktree.teardown", "echo late >late"]);
    let round = start(&world, &[]);
    write(&round, "new", "work\n");
    let id = round["round"].as_str().expect("it has an id");
    let output = world.checkpoint(&["round", "end", id]);
    assert!(said(&output).contains("the teardown commands have changed"), "{}", said(&output));
    assert_eq!(fs::read_to_string(path(&round).join("late")).expect("it stays"), "late\n");
    world.done(&["round", "end", "--no-teardown", id]);
    assert_eq!(world.git(&["show", &format!("{}:late", field(&round, "branch"))]), "late\n");
}

#[test]
fn experiments_are_kept_under_the_agents_name_and_never_replaced() {
    let world = World::with_commit();
    let mut archives = Vec::new();
    for number in 1..=3 {
        let round = start(&world, &["--agent", "agent1"]);
        write(&round, ".checkpoint_scratch/note", &format!("{number}\n"));
        write(&round, ".checkpoint_scratch/deep/x", "x\n");
        let ended = end(&world, &round);
        archives.push(field(&ended, "archive").to_owned());
    }
    let folder = world.root().join("ws/.scratch_archive");
    let expected = ["agent1", "agent1-2", "agent1-3"].map(|name| text(&folder.join(name)).to_owned());
    assert_eq!(archives, expected);
    for (number, archive) in (1..=3).zip(&archives) {
        assert_eq!(fs::read_to_string(format!("{archive}/note")).expect("it is kept"), format!("{number}\n"));
    }
    assert_eq!(world.sh("cd ../ws/.scratch_archive; find . -name .checkpoint_scratch"), "");
    // Without experiments, there is nothing to keep.
    assert_eq!(end(&world, &start(&world, &["--agent", "agent1"]))["contexts"][0]["archive"], json!(null));
}

#[test]
fn experiments_without_a_name_are_kept_under_the_digits_of_the_branch() {
    let world = World::with_commit();
    let round = world.json(&["round", "start", "--context", ".", "--json"]);
    assert!(path(&round).starts_with(world.root()) && !path(&round).starts_with(world.repo()), "{round}");
    write(&round, ".checkpoint_scratch/note", "an idea\n");
    let digits = field(&round, "branch").trim_start_matches("agents/").to_owned();
    let ended = end(&world, &round);
    let expected = world.repo().join(".git/checkpoint/scratch").join(digits);
    assert_eq!(field(&ended, "archive"), text(&expected));
    assert_eq!(fs::read_to_string(expected.join("note")).expect("it is kept"), "an idea\n");
    // It can be called otherwise, but not lead elsewhere.
    let round = start(&world, &[]);
    write(&round, ".checkpoint_scratch/note", "an idea\n");
    let id = round["round"].as_str().expect("it has an id");
    for label in ["../x", "", "-x", "a/b"] {
        assert!(!world.checkpoint(&["round", "end", id, &format!("--archive-label={label}")]).status.success());
    }
    let ended = world.json(&["round", "end", id, "--archive-label", "mine", "-m", "my words", "--json"]);
    assert_eq!(field(&ended, "archive"), text(&world.root().join("ws/.scratch_archive/mine")));
}

#[test]
fn an_archive_that_leads_elsewhere_is_not_used() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    write(&round, ".checkpoint_scratch/note", "an idea\n");
    world.sh("mkdir ../elsewhere; ln -s ../elsewhere ../ws/.scratch_archive");
    assert!(refused(&world, &round).contains("is not a folder"));
    assert_eq!(world.sh("ls -A ../elsewhere"), "");
}

/// Ignored files are in no branch: they come back with the worktree.
#[test]
fn ignored_files_come_back_with_the_worktree() {
    let world = World::with_commit();
    world.sh("echo .env >.gitignore; git add .; git commit -qm rules");
    let round = start(&world, &[]);
    write(&round, ".env", "secret\n");
    write(&round, "new", "work\n");
    let ended = end(&world, &round);
    assert_eq!(ended["contexts"][0]["ignored"], json!([".env"]));
    world.done(&["worktree", "restore", field(&ended, "removed")]);
    assert_eq!(fs::read_to_string(path(&round).join(".env")).expect("it is back"), "secret\n");
}

#[test]
fn a_worktree_that_was_moved_is_found() {
    let world = World::with_commit();
    let round = start(&world, &["--agent", "a"]);
    write(&round, ".checkpoint_scratch/note", "an idea\n");
    write(&round, "new", "work\n");
    world.git(&["worktree", "move", field(&round, "path"), "../moved"]);
    let ended = end(&world, &round);
    assert!(!world.root().join("moved").exists());
    assert_eq!(fs::read_to_string(format!("{}/note", field(&ended, "archive"))).expect("it is kept"), "an idea\n");
    assert_eq!(world.git(&["show", &format!("{}:new", field(&round, "branch"))]), "work\n");
}

/// A person looks at the branch in a worktree of their own: that is not the one of the round.
#[test]
fn another_worktree_with_the_branch_stays() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    let branch = field(&round, "branch");
    world.git(&["-C", field(&round, "path"), "checkout", "-q", "--detach"]);
    world.sh(&format!("git worktree add -q ../look {branch}; echo mine >../look/mine"));
    assert!(refused(&world, &round).contains("is on no branch"));
    world.done(&["worktree", "remove", field(&round, "path")]);
    // It was detached: the branch may lack its commits.
    let output = world.checkpoint(&["round", "end", round["round"].as_str().expect("it has an id")]);
    assert!(!output.status.success() && said(&output).contains("worktree restore"), "{}", said(&output));
    world.done(&["worktree", "prune", "--removed"]);
    let ended = end(&world, &round);
    assert_eq!((&ended["contexts"][0]["gone"], world.sh("cat ../look/mine")), (&json!(true), "mine\n".to_owned()));
}

#[test]
fn a_worktree_that_another_command_has_removed_is_said() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    write(&round, "new", "work\n");
    world.done(&["worktree", "remove", "--force", field(&round, "path")]);
    let id = round["round"].as_str().expect("it has an id");
    let output = world.checkpoint(&["round", "end", id]);
    let removed = world.json(&["worktree", "restore", "--list", "--json"]);
    let hint = format!("worktree restore {}", removed["removed"][0]["id"].as_str().expect("an id"));
    assert!(!output.status.success() && said(&output).contains(&hint), "{}", said(&output));
    world.done(&["worktree", "restore", field(&round, "branch")]);
    end(&world, &round);
    assert_eq!(world.git(&["show", &format!("{}:new", field(&round, "branch"))]), "work\n");
    // One that has nothing else than the branch can be removed by any command.
    let round = start(&world, &[]);
    world.done(&["worktree", "remove", field(&round, "path")]);
    assert_eq!(end(&world, &round)["contexts"][0]["gone"], json!(false));
}

/// The programs that give tasks to agents end their rounds together.
#[test]
fn rounds_that_end_at_once_all_end() {
    let world = World::with_commit();
    let rounds: Vec<Value> = (0..6).map(|number| start(&world, &["--agent", &format!("agent{number}")])).collect();
    for (number, round) in rounds.iter().enumerate() {
        write(round, "new", &format!("{number}\n"));
        write(round, ".checkpoint_scratch/note", &format!("{number}\n"));
    }
    let end = |round: &Value| {
        let mut command = world.command(crate::support::program());
        command.args(["round", "end", field(round, "branch"), "--archive-label", "all"]);
        command.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().expect("it runs")
    };
    let all: Vec<_> = rounds.iter().map(end).collect();
    for child in all {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", said(&output));
    }
    for (number, round) in rounds.iter().enumerate() {
        assert_eq!(world.git(&["show", &format!("{}:new", field(round, "branch"))]), format!("{number}\n"));
    }
    assert_eq!(world.sh("cd ../ws/.scratch_archive; ls; cat */note | sort").lines().count(), 12);
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
}

/// No hook runs, and the commit has its record all the same.
#[rstest]
#[case::files(&[])]
#[case::sha256(&["--object-format=sha256"])]
#[case::reftable(&["--ref-format=reftable"])]
fn the_commit_has_a_record_of_the_agents_work(#[case] options: &[&str]) {
    let world = World::new();
    world.git(&[&["init", "-q", "-b", "main"], options, &["."]].concat());
    world.git(&["commit", "-q", "--allow-empty", "-m", "base"]);
    let round = start(&world, &["--session", "s1"]);
    let root = path(&round);
    world.done(&["-C", text(&root), "session", "prompt", "s1", "-m", "write it"]);
    write(&round, "by_agent", "one\ntwo\n");
    world.done(&["-C", text(&root), "session", "stop", "s1"]);
    world.done(&["-C", text(&root), "session", "end", "s1"]);
    end(&world, &round);
    let branch = field(&round, "branch");
    assert!(!world.git(&["log", "-1", "--format=%B", branch]).contains("Checkpoint"), "it is anonymous");
    let blamed = world.done(&["blame", "--rev", branch, "by_agent"]);
    assert_eq!(blamed.matches("s1").count(), 2, "{blamed}");
}

/// The repository of a submodule would be lost with the worktree: the hint names the way that commits the rest.
#[test]
fn a_worktree_with_a_submodule_stays_and_its_files_can_be_committed() {
    let world = World::with_commit();
    world.sh("git init -q ../lib; git -C ../lib commit -q --allow-empty -m l
         git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -qm sub");
    let round = start(&world, &[]);
    write(&round, "new", "work\n");
    let root = path(&round);
    world.git(&["-C", text(&root), "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"]);
    let hint = refused(&world, &round);
    let command = format!("round end --keep-worktree {}", round["round"].as_str().expect("it has an id"));
    assert!(hint.contains(&command) && !hint.contains("worktree remove"), "{hint}");
    world.done(&command.split(' ').collect::<Vec<_>>());
    assert_eq!(world.git(&["show", &format!("{}:new", field(&round, "branch"))]), "work\n");
    assert!(root.join("new").exists());
}
