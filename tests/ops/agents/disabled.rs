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

/// The repositories that are noted, by the names of their directories.
fn repositories(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.root().join("state/git-checkpoint/repositories")).unwrap_or_default();
    let name = |line: &str| line.strip_suffix("/.git").and_then(|root| root.rsplit('/').next()).map(str::to_owned);
    text.lines().map(|line| name(line).unwrap_or_else(|| line.to_owned())).collect()
}

#[test]
fn disable_leaves_the_files_of_all_projects_while_another_repository_uses_them() {
    let world = world();
    elsewhere(&world, &["status"]);
    let before = picture(&world);
    world.done(&["enable", "--agent", "codex", "--agent", "goose"]);
    assert_eq!(repositories(&world), ["repo"]);
    let with = picture(&world);
    let said = elsewhere(&world, &["disable"]);
    assert!(said.contains("codex still calls git-checkpoint: '~/.codex/hooks.json' is for all projects"), "{said}");
    assert!(said.contains("hint: 'git checkpoint disable --agent codex --agent goose --user' takes it out"), "{said}");
    let said = elsewhere(&world, &["disable", "--agent", "codex"]);
    let left = format!("\tleft for the repository '{}'; with '--user'", world.repo().display());
    assert!(said.contains("unchanged         codex: ~/.codex/hooks.json") && said.contains(&left), "{said}");
    assert_eq!(picture(&world), with);
    elsewhere(&world, &["disable", "--agent", "codex", "--user"]);
    assert!(!home(&world).join(".codex/hooks.json").exists() && home(&world).join(".agents").exists());
    elsewhere(&world, &["disable", "--all-agents", "--user"]);
    assert!(!home(&world).join(".agents/plugins/git-checkpoint").exists(), "what has our name goes with us");
    // The directories above it are known where they were made.
    world.done(&["disable"]);
    assert_eq!(picture(&world), before);
    assert_eq!(repositories(&world), Vec::<String>::new());
}

#[test]
fn the_last_repository_takes_the_files_of_all_projects_along() {
    let world = world();
    world.done(&["enable", "--agent", "codex"]);
    elsewhere(&world, &["enable", "--agent", "codex"]);
    assert_eq!(repositories(&world), ["repo", "other"]);
    let hooks = home(&world).join(".codex/hooks.json");
    let disabled = world.json(&["disable", "--json"]);
    assert_eq!(disabled["agents"][0]["action"], "unchanged", "{disabled}");
    assert!(disabled["agents"][0]["note"].as_str().expect("a note").contains("/other'"), "{disabled}");
    assert!(hooks.exists() && !world.repo().join(".git/checkpoint/installed.toml").exists());
    assert_eq!(repositories(&world), ["other"]);
    assert_eq!(actions(&world, &["disable", "--agent", "codex", "--json", "-n"]), ["unchanged"]);
    elsewhere(&world, &["disable"]);
    assert!(!hooks.exists());
    assert_eq!(repositories(&world), Vec::<String>::new());
}

#[test]
fn repositories_that_are_gone_are_forgotten() {
    let world = world();
    world.done(&["enable", "--agent", "codex"]);
    elsewhere(&world, &["enable"]);
    let hooks = home(&world).join(".codex/hooks.json");
    // A repository with git's hooks alone relies on those of the user.
    assert_eq!(actions(&world, &["disable", "--json", "-n"]), ["unchanged"]);
    fs::remove_dir_all(world.root().join("other")).expect("it is ours");
    assert_eq!(repositories(&world), ["repo", "other"]);
    world.done(&["enable"]);
    assert_eq!(repositories(&world), ["repo"]);
    world.done(&["disable"]);
    assert!(!hooks.exists());
    // A list that cannot be written hinders nothing.
    let state = world.root().join("state/git-checkpoint");
    fs::remove_dir_all(&state).expect("it is ours");
    fs::write(&state, "").expect("it is ours");
    let said = ends(&world, 0, &["enable", "--agent", "codex"]);
    assert!(said.contains("warning: other repositories do not know of this one"), "{said}");
    world.done(&["disable"]);
    assert!(!hooks.exists());
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

#[test]
fn disable_of_the_user_takes_the_files_of_all_projects_out() {
    let world = world();
    world.done(&["enable", "--agent", "codex"]);
    elsewhere(&world, &["enable", "--agent", "codex"]);
    let hooks = home(&world).join(".codex/hooks.json");
    world.done(&["disable", "-n", "--user"]);
    assert!(hooks.exists());
    world.done(&["disable", "--user"]);
    assert!(!hooks.exists() && !world.repo().join(".git/hooks/post-commit").exists());
}

/// No matter which repository has noted the files, and whether it still has.
#[test]
fn disable_of_the_user_finds_what_another_repository_has_installed() {
    let world = world();
    world.done(&["enable", "--agent", "claude-code", "--user"]);
    let settings = home(&world).join(".claude/settings.json");
    elsewhere(&world, &["enable"]);
    elsewhere(&world, &["disable", "-n", "--user"]);
    assert!(settings.exists());
    let said = elsewhere(&world, &["disable", "--user"]);
    assert!(said.contains("claude-code: ~/.claude/settings.json") && !said.contains("still calls"), "{said}");
    assert!(!settings.exists());
    // The repository that it was enabled from has left it to another one.
    world.done(&["enable", "--agent", "claude-code", "--user"]);
    elsewhere(&world, &["enable"]);
    world.done(&["disable"]);
    assert!(settings.exists());
    world.done(&["disable", "--user"]);
    assert!(!settings.exists());
}
