//! Agents' hooks in one worktree of several: what the others say, and what `disable` there leaves.

use std::fs;

use super::{World, ends, world};
use crate::support::{processes::described, program};

const LOCAL: &str = ".claude/settings.local.json";

/// Runs the program in the linked worktree, and returns what it said.
fn in_side(world: &World, arguments: &[&str]) -> String {
    let side = world.root().join("side");
    if !side.exists() {
        world.git(&["worktree", "add", "-q", "../side"]);
    }
    let program = program();
    let output = world.command(program).args(arguments).current_dir(&side).output().expect("it runs");
    assert!(output.status.success(), "{}", described(&output));
    String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
}

#[test]
fn a_worktree_without_the_hooks_says_where_they_are() {
    let world = world();
    world.done(&["enable", "--agent", "claude-code"]);
    let said = in_side(&world, &["status"]);
    let text = "Hooks of claude-code are installed in the main worktree, not here.\n  (use \"git checkpoint enable --agent \
                claude-code\" to install them here, too)\n";
    assert!(said.contains(text), "{said}");
    let status: serde_json::Value = serde_json::from_str(&in_side(&world, &["status", "--json"])).expect("JSON");
    let expected = serde_json::json!([{ "agent": "claude-code", "scope": "local", "worktree": "main" }]);
    assert_eq!((&status["agents_elsewhere"], &status["agents"]), (&expected, &serde_json::json!([])));
    let said = in_side(&world, &["doctor"]);
    assert!(said.contains("note: claude-code: its hooks are installed in the main worktree, not here"), "{said}");
    assert!(said.contains("'git checkpoint enable --agent claude-code' installs them here, too"), "{said}");
    assert!(!ends(&world, 0, &["status"]).contains("installed in"));
    // One command, and all is well.
    in_side(&world, &["enable", "--agent", "claude-code"]);
    for said in [in_side(&world, &["status"]), ends(&world, 0, &["status"]), in_side(&world, &["doctor"])] {
        assert!(!said.contains("installed in"), "{said}");
    }
    // The main worktree lacks what a linked one has.
    ends(&world, 0, &["disable", "--agent", "claude-code"]);
    assert!(!world.root().join("side").join(LOCAL).exists(), "the main worktree speaks for all");
    in_side(&world, &["enable", "--agent", "claude-code"]);
    let said = ends(&world, 0, &["status"]);
    assert!(said.contains("Hooks of claude-code are installed in the worktree 'side', not here."), "{said}");
    // What was taken out there by hand is not there.
    fs::remove_file(world.root().join("side").join(LOCAL)).expect("it is ours");
    assert!(!ends(&world, 0, &["status"]).contains("installed in"));
}

#[test]
fn hooks_of_the_user_hold_in_all_worktrees() {
    let world = world();
    world.done(&["enable", "--agent", "claude-code", "--agent", "gemini", "--user"]);
    assert!(!in_side(&world, &["status"]).contains("installed in"));
    // Those of the project do where the branch has them.
    world.done(&["disable"]);
    world.done(&["enable", "--agent", "gemini", "--project"]);
    let said = in_side(&world, &["status"]);
    assert!(said.contains("(use \"git checkpoint enable --agent gemini --project\" to install"), "{said}");
    world.commit_all("agents");
    world.git(&["-C", "../side", "merge", "-q", "main"]);
    assert!(!in_side(&world, &["status"]).contains("installed in"));
}

#[test]
fn disable_in_a_linked_worktree_leaves_the_files_of_the_others() {
    let world = world();
    world.done(&["enable", "--agent", "claude-code"]);
    in_side(&world, &["enable", "--agent", "claude-code"]);
    for disable in [&["disable", "--agent", "claude-code"][..], &["disable"]] {
        let said = in_side(&world, disable);
        assert!(said.contains("claude-code still calls git-checkpoint in another worktree: '"), "{said}");
        assert!(said.contains("/repo/.claude/settings.local.json'"), "{said}");
        assert!(world.repo().join(LOCAL).exists() && !world.root().join("side").join(LOCAL).exists());
    }
    assert_eq!(world.git(&["status", "--short"]), "", "its line is left, too");
    let said = in_side(&world, &["disable"]);
    assert!(said.contains("git's hooks, which all worktrees share, stay for it"), "{said}");
    assert!(world.repo().join(".git/hooks/post-commit").exists(), "the main worktree needs it");
    // What was taken out there by hand needs no hook.
    fs::remove_file(world.repo().join(LOCAL)).expect("it is there");
    in_side(&world, &["disable"]);
    assert!(!world.repo().join(".git/hooks/post-commit").exists());
    world.done(&["enable", "--agent", "claude-code"]);
    world.done(&["disable"]);
    assert!(!world.repo().join(".claude").exists() && !world.repo().join(".git/hooks/post-commit").exists());
}

/// A bare repository has no main worktree.
#[test]
fn disable_in_a_worktree_of_a_bare_repository_names_no_main_worktree() {
    let world = world();
    world.sh(
        "git clone -q --bare . ../bare.git; cd ../bare.git; git worktree add -q ../one; git worktree add -q ../two",
    );
    let run = |directory: &str, arguments: &[&str]| {
        let mut command = world.command(program());
        let output = command.args(arguments).current_dir(world.root().join(directory)).output().expect("it runs");
        assert!(output.status.success(), "{}", described(&output));
        described(&output)
    };
    for directory in ["one", "two"] {
        run(directory, &["enable", "--agent", "claude-code"]);
    }
    let said = run("one", &["disable"]);
    assert!(said.contains("'git checkpoint disable' also in the other worktrees takes out all"), "{said}");
    run("two", &["disable"]);
    assert!(!world.root().join("bare.git/hooks/post-commit").exists());
}

/// Git takes the hooks out of a file that it tracks: nothing of what the agent does is saved then.
#[rstest::rstest]
#[case::reset("reset -q --hard")]
#[case::stash("stash -q")]
#[case::checkout("checkout -q .")]
fn hooks_that_git_has_taken_out_are_shown(#[case] command: &str) {
    let world = world();
    world.sh("mkdir .claude; echo '{}' >.claude/settings.json; git add -A; git commit -qm settings");
    world.done(&["enable", "--agent", "claude-code", "--project"]);
    assert!(!ends(&world, 0, &["status"]).contains("any more"));
    assert_eq!(world.json(&["status", "--json"])["agents_missing"], serde_json::json!([]));
    world.sh(&format!("git {command}"));
    let said = ends(&world, 0, &["status"]);
    assert!(said.contains("claude-code does not call git-checkpoint any more"), "{said}");
    assert!(
        said.contains("(use \"git checkpoint enable --agent claude-code --project\" to put them there again)"),
        "{said}"
    );
    let missing = &world.json(&["status", "--json"])["agents_missing"];
    assert_eq!((&missing[0]["agent"], &missing[0]["scope"]), (&"claude-code".into(), &"project".into()));
    world.done(&["enable", "--agent", "claude-code", "--project"]);
    assert!(!ends(&world, 0, &["status"]).contains("any more"));
    // Another file of the agent makes it call us all the same.
    world.done(&["enable", "--agent", "claude-code", "--user"]);
    world.sh(&format!("git {command}"));
    assert!(!ends(&world, 0, &["status"]).contains("any more"));
}

/// What the user has taken out is not missing.
#[test]
fn hooks_that_were_disabled_are_not_missing() {
    let world = world();
    world.done(&["enable", "--agent", "claude-code"]);
    world.done(&["disable", "--agent", "claude-code"]);
    assert!(!ends(&world, 0, &["status"]).contains("any more"));
}
