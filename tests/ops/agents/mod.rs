//! Agents' files, changed by the program: what is in them, and that all is as it was afterwards.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use git_checkpoint::testing::agent::{
    dialect::Dialect,
    dialects::{self, ALL},
    install::{File, Format, Scope},
};

use crate::support::{World, processes::described, program};

mod commits;
mod disabled;
mod doctor;
mod excluded;
mod files;
mod trust;
mod worktrees;

/// Everything below a directory: mode, and bytes or target.
type Picture = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Returns what there is outside of git's directory, and of the state of programs.
fn picture(world: &World) -> Picture {
    let mut picture = Picture::new();
    let mut directories = vec![world.root()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("readable").flatten() {
            let path = entry.path();
            let metadata = fs::symlink_metadata(&path).expect("it is there");
            let bytes = if metadata.is_symlink() {
                fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
            } else if metadata.is_file() {
                fs::read(&path).expect("readable")
            } else if path.ends_with(".git") || path == world.root().join("state") {
                continue;
            } else {
                directories.push(path.clone());
                Vec::new()
            };
            picture.insert(path, (metadata.permissions().mode(), bytes));
        }
    }
    picture
}

fn world() -> World {
    World::with_commit()
}

/// Runs the program in `directory`.
fn done_in(world: &World, directory: &Path, arguments: &[&str]) {
    let output = world.command(program()).args(arguments).current_dir(directory).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {}", described(&output));
}

fn home(world: &World) -> PathBuf {
    world.root().join("home")
}

/// Returns where a file of an agent is.
fn place(world: &World, file: &File) -> PathBuf {
    if file.scope == Scope::User { home(world).join(file.path) } else { world.repo().join(file.path) }
}

fn put(path: &Path, text: impl AsRef<[u8]>, mode: u32) {
    fs::create_dir_all(path.parent().expect("it is in a directory")).expect("directories can be made");
    fs::write(path, text).expect("files can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("'{}': {error}", path.display()))
}

/// Runs the program, which must end with `code`, and returns what it said.
fn ends(world: &World, code: i32, arguments: &[&str]) -> String {
    let output = world.checkpoint(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", described(&output));
    [output.stdout, output.stderr].concat().iter().map(|byte| char::from(*byte)).collect()
}

/// Returns each agent that has files with each of its scopes.
fn all() -> impl Iterator<Item = (&'static Dialect, Scope)> {
    ALL.iter().flat_map(|dialect| {
        let has = |scope: &Scope| dialect.files.iter().any(|file| file.scope == *scope);
        [Scope::User, Scope::Project, Scope::Local].into_iter().filter(has).map(move |scope| (dialect, scope))
    })
}

fn files(dialect: &'static Dialect, scope: Scope) -> impl Iterator<Item = &'static File> {
    dialect.files.iter().filter(move |file| file.scope == scope)
}

fn actions(world: &World, arguments: &[&str]) -> Vec<String> {
    let value = world.json(arguments);
    let agents = value["agents"].as_array().expect("a list").clone();
    agents.iter().map(|file| file["action"].as_str().expect("a word").to_owned()).collect()
}

#[test]
fn every_agent_is_enabled_and_all_is_as_it_was() {
    for (dialect, scope) in all() {
        let world = world();
        let before = picture(&world);
        let scope_option = format!("--{}", scope.as_str());
        let enable = ["enable", "--agent", dialect.name, &scope_option, "--json"];
        let dry: Vec<&str> = enable.iter().copied().chain(["-n"]).collect();
        assert!(actions(&world, &dry).iter().all(|action| action == "installed"), "{}", dialect.name);
        assert_eq!(picture(&world), before, "nothing is done yet");
        assert!(actions(&world, &enable).iter().all(|action| action == "installed"));
        for file in files(dialect, scope) {
            let path = place(&world, file);
            let text = read(&path);
            assert!(file.is_ours(&text), "{text}");
            let is_committed = scope == Scope::Project;
            assert!(!(is_committed && text.contains('/') && text.contains(program())), "{text}");
            let program = if is_committed { "git-checkpoint".to_owned() } else { program().to_string() };
            for command in file.commands(&text) {
                assert!(command.contains(&format!(" {program} hook --agent {}", dialect.name)), "{command}");
            }
            let is_executable = path.metadata().expect("there").permissions().mode() & 0o111 == 0o111;
            assert_eq!(is_executable, matches!(file.format, Format::Script), "{}", path.display());
        }
        let with = picture(&world);
        assert!(actions(&world, &enable).iter().all(|action| action == "unchanged"));
        assert_eq!(picture(&world), with, "twice is once");
        world.done(&["disable"]);
        assert_eq!(picture(&world), before, "{} {}", dialect.name, scope.as_str());
        assert!(!world.repo().join(".git/checkpoint/installed.toml").exists());
    }
}

/// Settings as people have them.
const SETTINGS: [&str; 6] = [
    "{\n  // mine\n  \"model\": \"x\", /* two */\n}\n",
    "{\r\n  \"a\": 1\r\n}\r\n",
    "\u{feff}{\"a\": 1}",
    "{\n\t\"hooks\": {\n\t\t\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}],\n\t\t\"stop\": [{\"command\": \"./x\"}]\n\t}\n}",
    "",
    "{}",
];

#[test]
fn settings_of_others_are_as_they_were() {
    for dialect in ALL {
        let file = dialect.files.iter().find(|file| matches!(file.format, Format::Json(_)));
        let Some(file) = file else { continue };
        let world = world();
        let scope = format!("--{}", file.scope.as_str());
        for (at, text) in SETTINGS.iter().enumerate() {
            let path = place(&world, file);
            put(&path, text, if at % 2 == 0 { 0o600 } else { 0o664 });
            let before = picture(&world);
            assert_eq!(actions(&world, &["enable", "--agent", dialect.name, &scope, "--json"]), ["added"]);
            let with = read(&path);
            assert!(file.is_ours(&with), "{with}");
            for theirs in ["// mine", "/* two */", "\"say done\"", "\"./x\""] {
                assert_eq!(with.contains(theirs), text.contains(theirs), "{with}");
            }
            assert_eq!(actions(&world, &["disable", "--json"]), ["restored"]);
            assert_eq!(picture(&world), before, "{text:?}");
        }
    }
}

#[test]
fn settings_that_the_user_changes_after_enable_stay() {
    let world = world();
    let path = world.repo().join(".claude/settings.local.json");
    world.done(&["enable", "--agent", "claude-code"]);
    let text = read(&path).replacen('{', "{\n  \"model\": \"mine\",", 1);
    put(&path, &text, 0o640);
    assert_eq!(actions(&world, &["enable", "--agent", "claude-code", "--json"]), ["unchanged"]);
    world.done(&["disable"]);
    let rest: serde_json::Value = serde_json::from_str(&read(&path)).expect("plain JSON");
    assert_eq!(rest, serde_json::json!({ "model": "mine" }));
    assert_eq!(path.metadata().expect("there").permissions().mode() & 0o777, 0o640);
}

#[test]
fn the_most_private_settings_are_taken_unless_others_are_asked_for() {
    let world = world();
    let enabled = world.json(&["enable", "--agent", "claude-code", "--agent", "codex", "--agent", "codex", "--json"]);
    let scopes: Vec<_> = enabled["agents"].as_array().expect("a list").iter().map(|file| &file["scope"]).collect();
    assert_eq!(scopes, ["local", "user"]);
    assert_eq!(enabled["hooks"].as_array().expect("a list").len(), 6, "git's hooks are enabled, too");
    let said = ends(&world, 128, &["enable", "--agent", "codex", "--local"]);
    assert!(
        said.contains("codex has no settings for '--local'") && said.contains("'--user' and '--project'"),
        "{said}"
    );
    let said = ends(&world, 128, &["enable", "--user"]);
    assert!(said.contains("name the agent with '--agent'"), "{said}");
    ends(&world, 129, &["enable", "--agent", "codex", "--user", "--project"]);
    let said = ends(&world, 129, &["enable", "--agent", "cluade-code"]);
    assert!(said.contains("'claude-code'") && dialects::ALL.iter().all(|it| said.contains(it.name)), "{said}");
    let said = ends(&world, 0, &["enable", "--agent", "generic"]);
    assert!(said.contains("gitcheckpoint-agents(7)"), "{said}");
}

#[test]
fn what_is_stored_is_said_when_something_is_installed() {
    let world = world();
    let stored = "\nfiles, and prompts and transcripts with secrets replaced, are stored in refs of this repository; 'git push' \
                  sends these only with --mirror\nto store less: 'git checkpoint config set transcript.store prompts' (no transcripts) or \
                  'none' (no prompts, either)\n";
    for (enable, is_said) in [
        (&["enable", "-n"][..], false),
        (&["enable"], true),
        (&["enable"], false),
        (&["enable", "--agent", "claude-code"], true),
        (&["enable", "--agent", "claude-code"], false),
    ] {
        let said = ends(&world, 0, enable);
        assert_eq!(said.contains(stored), is_said, "{enable:?}: {said}");
    }
    world.done(&["config", "set", "transcript.store", "none"]);
    let said = ends(&world, 0, &["enable", "--agent", "gemini"]);
    assert!(said.contains("\nfiles are stored in refs of this repository"), "{said}");
    assert!(!said.contains("transcript"), "{said}");
}

#[test]
fn all_agents_are_those_on_this_machine() {
    let world = world();
    let path = world.root().join("bin:/usr/bin:/bin");
    let run = |arguments: &[&str]| {
        let program = program();
        let output = world.command(program).env("PATH", &path).args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{}", described(&output));
        String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
    };
    assert!(run(&["enable", "--all-agents"]).contains("no supported agent found"));
    put(&world.root().join("bin/gemini"), "#!/bin/sh\n", 0o755);
    put(&world.root().join("bin/codex"), "not to be run", 0o644);
    fs::create_dir_all(home(&world).join(".cursor")).expect("it can be made");
    let before = picture(&world);
    let said = run(&["enable", "--all-agents"]);
    assert!(said.contains("cursor: ~/.cursor/hooks.json (yours, for all projects)"), "{said}");
    assert!(said.contains("hint: gemini: restart gemini"), "{said}");
    assert!(!said.contains("codex") && !said.contains("claude"), "{said}");
    run(&["disable", "--all-agents"]);
    assert_eq!(picture(&world), before);
    // One file that cannot be changed does not hinder the others.
    put(&home(&world).join(".cursor/hooks.json"), "{ broken", 0o644);
    let said = ends(&world, 1, &["enable", "--all-agents", "--user"]);
    assert!(said.contains("needs you") && said.contains("hooks.json': line 1 is no JSON"), "{said}");
}

#[test]
fn another_place_may_be_set_by_the_environment() {
    let world = world();
    let moved = world.root().join("moved");
    let run = |command: &str, name: &str| {
        let program = program();
        let mut command = {
            let mut it = world.command(program);
            it.args([command, "--agent", name, "--user"]);
            it
        };
        let output = command.env("CODEX_HOME", &moved).env("CLAUDE_CONFIG_DIR", "relative").output().expect("it runs");
        assert!(output.status.success(), "{}", described(&output));
    };
    run("enable", "codex");
    run("enable", "claude-code");
    assert!(moved.join("hooks.json").exists() && home(&world).join(".claude/settings.json").exists());
    // What was noted is found without the variable.
    world.done(&["disable"]);
    assert!(!moved.exists() && !home(&world).join(".claude").exists());
}

#[test]
fn settings_for_all_projects_are_changed_from_within_one() {
    let world = World::new();
    let said = ends(&world, 128, &["enable", "--user", "--agent", "claude-code"]);
    assert!(said.contains("hint: run it in one of your repositories") && !said.contains("git init"), "{said}");
}
