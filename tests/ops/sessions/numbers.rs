//! The numbers of turns: `<session>@<turn>` never names two of them.

use crate::support::{World, processes::described};

/// A turn of `session`, asked for by `text`, that appends `line` to `f`.
fn turn(world: &World, session: &str, text: &str, line: &str) -> String {
    let said = world.done(&["session", "prompt", session, "--agent", "x", "-m", text]);
    world.add_to("f", line);
    world.done(&["session", "stop", session]);
    said
}

/// A session with two turns, whose work is uncommitted, committed, or set aside.
fn with_two_turns(and_then: &str) -> World {
    let world = World::with_hooks();
    turn(&world, "S", "one", "one\n");
    turn(&world, "S", "two", "two\n");
    world.sh(and_then);
    world
}

#[rstest::rstest]
fn a_lost_session_goes_on_with_the_next_number(
    #[values("true", "git commit -qam x", "git checkpoint reset -q")] and_then: &str,
    #[values(
        "git checkpoint session forget S",
        "rm -rf .git/checkpoint",
        "git checkpoint session forget S; rm -rf .git/checkpoint"
    )]
    lost: &str,
) {
    let world = with_two_turns(and_then);
    world.sh(lost);
    let said = turn(&world, "S", "three", "three\n");
    assert!(said.contains("turn 3: "), "{said}");
    let prompts = world.done(&["prompts", "S"]);
    let line = |name: &str| prompts.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
    assert!(line("S@3").contains("three") && !line("S@1").contains("three"), "{prompts}");
    world.sh("git add f; git commit -qm y");
    let why = |at: &str| described(&world.checkpoint(&["why", at]));
    assert!(!why("f:2").contains("three"), "{}", why("f:2"));
    assert!(why("f:4").contains("three"), "{}", why("f:4"));
}

/// Another session may come first after the loss.
#[test]
fn each_lost_session_goes_on_with_its_next_number() {
    let world = with_two_turns("true");
    turn(&world, "T", "one", "t one\n");
    world.sh("git commit -qam x; rm -rf .git/checkpoint");
    assert!(turn(&world, "new", "x", "new\n").contains("turn 1: "));
    world.done(&["session", "start", "T"]);
    assert!(turn(&world, "T", "x", "t two\n").contains("turn 2: "));
    assert!(turn(&world, "S", "x", "three\n").contains("turn 3: "));
}

/// Appends `line` to `f`, and reports to the hook for Claude Code that a tool of S has done it.
fn end_of_tool(world: &World, line: &str) {
    world.sh(&format!(
        r#"echo {line} >>f
        {{
            printf '{{"session_id":"S","cwd":"%s","hook_event_name":"PostToolUse","tool_name":"Write",' "$PWD"
            printf '"tool_use_id":"t","tool_input":{{"file_path":"%s/f"}}}}' "$PWD"
        }} | git checkpoint hook --agent claude-code"#
    ));
}

#[test]
fn a_turn_that_begins_with_its_tool_has_the_next_number_too() {
    let world = with_two_turns("git checkpoint session forget S");
    end_of_tool(&world, "three");
    world.done(&["session", "stop", "S"]);
    assert!(world.done(&["list"]).contains("claude-code S"), "it has a checkpoint");
    let turns = world.json(&["prompts", "S", "--json"])["turns"].clone();
    let turns: Vec<u64> = turns.as_array().expect("turns").iter().filter_map(|turn| turn["turn"].as_u64()).collect();
    assert_eq!(turns, [1, 2, 3]);
}

/// A fetched archive may say anything.
#[rstest::rstest]
#[case::archived("git commit -qam x; rm -rf .git/checkpoint; number archive", 2)]
#[case::live("rm -rf .git/checkpoint; number shadow", 2)]
#[case::noted(
    "git commit -qam x; git checkpoint session forget S; echo 4294967295 >.git/checkpoint/sessions/S.turns",
    1
)]
#[case::in_the_session("sed -i 's/^number = .*/number = 4294967295/' .git/checkpoint/sessions/S.toml", u32::MAX)]
fn a_number_that_no_agent_reaches_is_not_noted(#[case] script: &str, #[case] expected: u32) {
    let world = with_two_turns(&format!(
        r"number() {{
            ref=$(git for-each-ref --format='%(refname)' refs/checkpoints/$1 | head -1)
            git update-ref $ref $(git cat-file commit $ref | sed 's/^Checkpoint-Turn: .*/Checkpoint-Turn: 4294967295/' |
                git hash-object -w -t commit --stdin)
        }}
        {script}"
    ));
    let said = turn(&world, "S", "three", "three\n");
    assert!(said.contains(&format!("turn {expected}: ")), "{said}");
    end_of_tool(&world, "four");
    world.done(&["session", "stop", "S"]);
    assert!(turn(&world, "T", "one", "t\n").contains("turn 1: "));
}
