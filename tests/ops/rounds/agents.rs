//! `round race --agents`: agents that get one prompt, each by its own command.

use std::process::Output;

use rstest::rstest;
use serde_json::{Value, json};

use super::{everything, said, text};
use crate::support::{World, program};

/// Makes programs that write down how they were called, and returns the folder with them.
fn programs(world: &World, names: &[&str]) -> String {
    let folder = world.root().join("bin");
    for name in names {
        let script = format!("#!/bin/sh\nprintf '%s\\n' {name} \"$@\" >called\n");
        world.write(&format!("../bin/{name}"), &script);
    }
    world.sh("chmod +x ../bin/*");
    text(&folder).to_owned()
}

fn race(world: &World, bin: &str, words: &[&str]) -> Output {
    let mut command = world.command(program());
    let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, value)| value).expect("it is set");
    let path = format!("{bin}:{}", path.to_str().expect("it is text"));
    command.env("PATH", path).args(["round", "race"]).args(words).output().expect("it runs")
}

fn printed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(output)))
}

/// Returns how the program of the round `at` was called.
fn called(world: &World, race: &Value, at: usize) -> Vec<String> {
    let branch = race["rounds"][at]["branch"].as_str().expect("it has a branch");
    world.git(&["show", &format!("{branch}:called")]).lines().map(str::to_owned).collect()
}

#[test]
fn each_agent_gets_the_prompt_by_its_own_command() {
    let world = World::with_commit();
    let bin = programs(&world, &["claude", "codex", "gemini"]);
    let prompt = "--yolo; $(touch run)";
    let words = ["--agents", "claude-code", "codex", "gemini", "--group", "g", "--json", "--", prompt, "now"];
    let output = race(&world, &bin, &words);
    assert!(output.status.success(), "{}", said(&output));
    let all = printed(&output);
    let whole = "--yolo; $(touch run) now";
    assert_eq!(called(&world, &all, 0), ["claude", "-p", "--permission-mode", "acceptEdits", "--", whole]);
    assert_eq!(called(&world, &all, 1), ["codex", "exec", "--sandbox", "workspace-write", "--", whole]);
    assert_eq!(called(&world, &all, 2), ["gemini", "--approval-mode", "auto_edit", &format!("--prompt={whole}")]);
    let agents: Vec<&Value> = all["rounds"].as_array().expect("a list").iter().map(|it| &it["agent"]).collect();
    assert_eq!(agents, ["claude-code", "codex", "gemini"]);
    // What they have done is theirs, with the prompt.
    for (at, agent) in ["claude-code", "codex", "gemini"].into_iter().enumerate() {
        let branch = all["rounds"][at]["branch"].as_str().expect("it has a branch");
        let why = world.json(&["explain", branch, "--json"]);
        let session = &why["records"][0]["sessions"][0];
        assert_eq!((&session["agent"], &session["prompts"][0]["text"]), (&json!(agent), &json!(whole)), "{why}");
        assert_eq!(world.json(&["round", "show", branch, "--json"])["round"]["agent"], json!(agent));
    }
    let compared = world.json(&["round", "compare", "--group", "g", "--json"]);
    let agents: Vec<&Value> = compared["rounds"].as_array().expect("a list").iter().map(|it| &it["agent"]).collect();
    assert_eq!(agents, ["claude-code", "codex", "gemini"]);
    world.assert_sound("after a race of agents");
}

#[test]
fn agents_take_turns_if_there_are_more_rounds() {
    let world = World::with_commit();
    let bin = programs(&world, &["codex", "opencode"]);
    let words = ["--count", "3", "--agents", "opencode", "codex", "--json", "--", "fix it"];
    let all = printed(&race(&world, &bin, &words));
    let programs: Vec<String> = (0..3).map(|at| called(&world, &all, at)[0].clone()).collect();
    assert_eq!(programs, ["opencode", "codex", "opencode"]);
    let agents: Vec<&Value> = all["rounds"].as_array().expect("a list").iter().map(|it| &it["agent"]).collect();
    assert_eq!(agents, ["opencode", "codex", "opencode-2"]);
}

/// A program of that name in the worktree is not the agent.
#[test]
fn the_program_is_the_one_that_the_user_has() {
    let world = World::with_commit();
    world.write("codex", "#!/bin/sh\ntouch forged\n");
    world.sh("chmod +x codex; git add .; git commit -qm forged");
    let bin = programs(&world, &["codex"]);
    let output = race(&world, &format!(".::{bin}"), &["--agents", "codex", "--json", "--", "x"]);
    assert_eq!(called(&world, &printed(&output), 0)[0], "codex");
}

#[rstest]
#[case::unknown(&["--agents", "nemo", "--", "x"], "possible values: claude-code, codex")]
#[case::no_command(&["--agents", "windsurf", "--", "x"], "possible values: claude-code, codex")]
#[case::missing(&["--agents", "codex", "goose", "--", "x"], "cannot find the program 'goose' of the agent goose")]
#[case::too_few(&["--agents", "codex", "codex", "--count", "1", "--", "x"], "1 rounds are not enough for 2 agents")]
#[case::empty(&["--agents", "codex", "--", " "], "the prompt is empty")]
#[case::nothing(&["--agents", "codex"], "--agents")]
fn a_race_of_agents_that_makes_no_sense_begins_nothing(#[case] words: &[&str], #[case] what: &str) {
    let world = World::with_commit();
    let bin = programs(&world, &["codex"]);
    let before = everything(&world);
    let output = race(&world, &bin, words);
    assert!(!output.status.success() && said(&output).contains(what), "{}", said(&output));
    assert_eq!(everything(&world), before);
}
