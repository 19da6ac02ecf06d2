//! What `disable` takes out, and what it leaves because others may want it.

use std::fs;

use super::{World, actions, ends, home, picture, world};
use crate::support::{processes::described, program};

/// A second repository with the same home.
fn elsewhere(world: &World, arguments: &[&str]) -> String {
    let other = world.root().join("other");
    if !other.exists() {
        world.git(&["init", "-q", other.to_str().expect("plain")]);
    }
    let program = program();
    let output = world.command(program).args(arguments).current_dir(&other).output().expect("it runs");
    assert!(output.status.success(), "{}", described(&output));
    String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
}

#[test]
fn disable_leaves_the_files_of_all_projects_unless_it_names_the_agent() {
    let world = world();
    elsewhere(&world, &["status"]);
    let before = picture(&world);
    world.done(&["enable", "--agent", "codex", "--agent", "goose"]);
    let with = picture(&world);
    let said = elsewhere(&world, &["disable"]);
    assert!(said.contains("codex still calls git-checkpoint: '~/.codex/hooks.json' is for all projects"), "{said}");
    assert!(said.contains("hint: 'git checkpoint disable --agent codex"), "{said}");
    assert_eq!(picture(&world), with);
    elsewhere(&world, &["disable", "--agent", "codex"]);
    assert!(!home(&world).join(".codex/hooks.json").exists() && home(&world).join(".agents").exists());
    elsewhere(&world, &["disable", "--all-agents"]);
    assert!(!home(&world).join(".agents/plugins/git-checkpoint").exists(), "what has our name goes with us");
    // The directories above it are known where they were made.
    world.done(&["disable"]);
    assert_eq!(picture(&world), before);
}

#[test]
fn agents_alone_leave_gits_hooks() {
    let world = world();
    world.done(&["enable", "--agent", "claude-code", "--agent", "gemini", "--project"]);
    let post_commit = world.repo().join(".git/hooks/post-commit");
    let disabled = world.json(&["disable", "--agent", "gemini", "--json"]);
    assert_eq!(disabled["agents"][0]["agent"], "gemini");
    assert!(post_commit.exists() && disabled.get("hooks").is_none());
    assert!(world.repo().join(".claude/settings.json").exists());
    assert_eq!(actions(&world, &["disable", "--all-agents", "--local", "--json"]), Vec::<String>::new());
    assert_eq!(actions(&world, &["disable", "--all-agents", "--json", "-n"]), ["removed"]);
    assert_eq!(actions(&world, &["disable", "--all-agents", "--json"]), ["removed"]);
    assert!(post_commit.exists());
    let said = ends(&world, 0, &["disable", "--all-agents"]);
    assert!(said.contains("no agent calls git-checkpoint"), "{said}");
}

#[test]
fn disable_leaves_settings_that_are_committed_with_the_project() {
    let world = world();
    world.done(&["enable", "--agent", "claude-code", "--project"]);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "agents"]);
    // As in a clone: there is no note.
    fs::remove_file(world.repo().join(".git/checkpoint/installed.toml")).expect("it is there");
    let said = ends(&world, 0, &["disable"]);
    assert!(
        said.contains("claude-code still calls git-checkpoint: '.claude/settings.json' is of the project"),
        "{said}"
    );
    assert_eq!(world.git(&["status", "--short"]), "");
    world.done(&["disable", "--agent", "claude-code"]);
    assert_eq!(world.git(&["status", "--short"]), " D .claude/settings.json\n");
}
