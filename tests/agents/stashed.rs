//! Work that is stashed while a turn is open, by the agent itself or by another one.

use serde_json::{Value, json};

use crate::support::{World, template::Template};

/// The tool call `call` of `session`, a shell, runs git.
fn git(world: &World, session: &str, call: &str, arguments: &[&str]) {
    world.before(session, call, &[]);
    world.git(arguments);
    world.after(session, call, &[]);
}

/// Session `s` adds a line to `f`, and its turn stays open.
static AT_WORK: Template = Template::new(|world| {
    world.commit_lines();
    world.prompt("s");
    world.edit("s", "1", "f", "of s");
});

fn at_work() -> World {
    AT_WORK.world()
}

#[rstest::rstest]
#[case::by_itself("s")]
#[case::by_another("t")]
fn a_stash_that_a_person_pops_after_a_commit(#[case] who: &str) {
    let world = at_work();
    if who == "t" {
        world.prompt("t");
    }
    git(&world, who, "2", &["stash", "-q"]);
    world.edit("s", "3", "g", "of s");
    world.stop("s");
    world.commit();
    assert_eq!(world.owners(), ["g agent 1"]);
    world.git(&["stash", "pop", "-q"]);
    world.commit();
    assert_eq!(world.owners(), ["f agent 1"]);
    world.finish();
}

/// The stash is the last thing that the agent does, and nothing is saved before the commit.
#[rstest::rstest]
#[case::alone(&[])]
#[case::with_a_person_before(&["of a person"])]
fn a_stash_of_the_agents_own_that_a_person_pops_at_once(#[case] before: &[&str]) {
    let world = World::with_lines();
    for line in before {
        world.add("f", line);
    }
    world.prompt("s");
    world.edit("s", "1", "f", "of s");
    git(&world, "s", "2", &["stash", "-q"]);
    world.stop("s");
    world.git(&["stash", "pop", "-q"]);
    let owners = world.json(&["blame", "--json", "f"])["lines"].as_array().expect("a list").clone();
    assert_eq!(owners.last().expect("a line")["session"], json!("s"));
    world.commit();
    let expected: &[&str] = if before.is_empty() { &["f agent 1"] } else { &["f agent 1 human 1"] };
    assert_eq!(world.owners(), expected);
    world.finish();
}

/// A person pops it in a turn that began without it, and another author adds a line beside it.
#[rstest::rstest]
#[case::by_the_session("s", "of s, too", &["f agent 2"])]
#[case::by_a_person("", "of a person", &["f agent 1 human 1"])]
fn a_stash_that_comes_back_in_a_later_turn(#[case] who: &str, #[case] line: &str, #[case] expected: &[&str]) {
    let world = at_work();
    world.stop("s");
    world.git(&["config", "checkpoint.agents.preToolScan", "0"]);
    world.git(&["stash", "-q"]);
    world.answer("prompt", "s", &json!({ "prompt": "a wish" }));
    world.shell("s", "2", "g", "of s");
    world.git(&["stash", "pop", "-q"]);
    world.before("s", "3", &[]);
    world.after("s", "3", &[]);
    match who {
        "" => world.add("f", line),
        session => world.edit(session, "4", "f", line),
    }
    world.before("s", "5", &[]);
    world.after("s", "5", &[]);
    world.stop("s");
    world.commit();
    assert_eq!(world.owners(), [expected, &["g agent 1"]].concat());
    world.finish();
}

/// The agent renames the file of another session's line, a third one stashes both, and a person pops them.
#[test]
fn a_stash_of_a_renamed_file() {
    let world = at_work();
    world.before("s", "2", &[]);
    world.sh("mv f moved");
    world.after("s", "2", &[]);
    world.stop("s");
    world.prompt("t");
    git(&world, "t", "3", &["stash", "-q", "-u"]);
    world.stop("t");
    world.git(&["stash", "pop", "-q"]);
    let lines = world.json(&["blame", "--json", "moved"])["lines"].as_array().expect("a list").clone();
    assert_eq!(lines.last().expect("a line")["session"], json!("s"), "{lines:?}");
    world.commit();
    assert_eq!(world.owners(), ["moved agent 1"]);
    world.finish();
}

/// What a person changes in the middle of a turn is saved as theirs before the agent moves HEAD.
#[rstest::rstest]
#[case::reset("git reset -q --hard HEAD~1")]
#[case::switch("git switch -q -c other HEAD~1")]
#[case::rebase("git branch -q side HEAD~1; git rebase -q --autostash --onto side HEAD~1")]
fn a_persons_changes_stay_theirs_when_the_agent_moves_head(#[case] command: &str) {
    let world = World::with_lines();
    world.git(&["config", "checkpoint.agents.preToolScan", "0"]);
    world.sh("echo second >second; git add second; git commit -qm second");
    world.prompt("s");
    world.before("s", "1", &[]);
    world.after("s", "1", &[]);
    world.sh("echo 'of a person' >of-a-person");
    world.before("s", "2", &[]);
    world.after("s", "2", &[]);
    world.before("s", "3", &[]);
    world.sh(command);
    world.after("s", "3", &[]);
    world.shell("s", "4", "g", "of s");
    world.stop("s");
    world.commit();
    assert_eq!(world.owners(), ["g agent 1", "of-a-person human 1"]);
    world.finish();
}

#[test]
fn a_stash_that_the_agent_pops_in_its_next_turn() {
    let world = at_work();
    git(&world, "s", "2", &["stash", "-q", "-u"]);
    world.edit("s", "3", "g", "of s");
    world.stop("s");
    world.commit();
    world.prompt("s");
    git(&world, "s", "4", &["stash", "pop", "-q"]);
    world.stop("s");
    world.commit();
    assert_eq!(world.owners(), ["f agent 1"]);
    world.finish();
}

/// A person's change, which no checkpoint has seen, is popped by an agent, which then adds a line of its own.
#[rstest::rstest]
#[case::of_a_file(&["stash", "-q"], &["stash", "pop", "-q"])]
#[case::with_a_new_file(&["stash", "-q", "-u"], &["stash", "pop", "-q"])]
#[case::and_keeps_it(&["stash", "-q", "-u"], &["stash", "apply", "-q"])]
fn a_persons_stash_stays_theirs_when_an_agent_pops_it(#[case] push: &[&str], #[case] pop: &[&str]) {
    let world = World::with_lines();
    world.add("f", "of a person");
    world.add("new", "of a person, too");
    world.git(push);
    world.prompt("s");
    git(&world, "s", "1", pop);
    world.shell("s", "2", "g", "of s");
    world.stop("s");
    world.commit();
    assert_eq!(world.owners(), ["f human 1", "g agent 1", "new human 1"]);
    world.finish();
}

#[test]
fn another_sessions_stash_stays_its_own_when_an_agent_pops_it() {
    let world = World::with_lines();
    world.prompt("t");
    world.edit("t", "1", "f", "of t");
    world.edit("t", "2", "new", "of t, too");
    world.stop("t");
    world.git(&["stash", "-q", "-u"]);
    world.answer("prompt", "s", &json!({ "prompt": "a wish" }));
    git(&world, "s", "3", &["stash", "pop", "-q"]);
    world.shell("s", "4", "g", "of s");
    world.stop("s");
    world.commit();
    assert_eq!(world.owners(), ["f agent 1", "g agent 1", "new agent 1"]);
    let sessions = |path: &str| {
        let lines = world.json(&["blame", "--json", path])["lines"].clone();
        lines
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|line| line["session"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    assert_eq!((sessions("f"), sessions("new"), sessions("g")), (vec!["t".into()], vec!["t".into()], vec!["s".into()]));
    world.finish();
}

/// A person has changed the same file since the session's last checkpoint. No other checkpoint has that when somebody stashes all.
#[rstest::rstest]
fn a_sessions_lines_in_a_persons_stash_stay_its_own_when_another_session_pops_it(
    #[values(true, false)] is_long_ago: bool,
    #[values(true, false)] has_worked: bool,
) {
    let world = if is_long_ago { World::with_lines() } else { World::with_lines().with_clock() };
    world.prompt("t");
    world.edit("t", "1", "f", "of t");
    world.edit("t", "2", "new", "of t, too");
    world.stop("t");
    world.add("f", "of a person");
    world.git(&["stash", "-q", "-u"]);
    world.answer("prompt", "s", &json!({ "prompt": "a wish" }));
    if has_worked {
        world.edit("s", "3", "g", "of s");
        world.stop("s");
        world.answer("prompt", "s", &json!({ "prompt": "a wish" }));
    }
    git(&world, "s", "4", &["stash", "pop", "-q"]);
    world.stop("s");
    world.git(&["add", "-A"]);
    let check = || {
        let lines = world.json(&["blame", "--json", "f"])["lines"].as_array().expect("a list").clone();
        let of: Vec<&Value> =
            lines.iter().filter(|line| line["session"].is_string()).map(|line| &line["session"]).collect();
        assert_eq!(of, ["t"], "{lines:?}");
        let last = &lines.last().expect("a line")["owner"];
        // Git's dates have no parts of a second: a stash of this second may be of the command.
        assert!(last == "human" || last == "unknown" && !is_long_ago, "{lines:?}");
    };
    check();
    world.commit();
    check();
    world.finish();
}

#[test]
fn work_that_an_agent_stashes_and_pops_in_one_turn_stays_its_own() {
    let world = at_work();
    world.edit("s", "2", "new", "of s, too");
    git(&world, "s", "3", &["stash", "-q", "-u"]);
    git(&world, "s", "4", &["stash", "pop", "-q"]);
    world.stop("s");
    world.commit();
    assert_eq!(world.owners(), ["f agent 1", "new agent 1"]);
    world.finish();
}

/// What the hook of `agent` answers to a prompt of a new session, in its own words.
fn answer_to_prompt(world: &World, agent: &str) -> Value {
    let (cwd, event) = (world.repo(), if agent == "gemini" { "BeforeAgent" } else { "UserPromptSubmit" });
    let time = (agent == "gemini").then_some("2026-11-21T20:52:14.927Z");
    let mut payload =
        json!({ "hook_event_name": event, "session_id": "t", "cwd": cwd, "prompt": "why?", "timestamp": time });
    if agent == "generic" {
        payload = json!({ "event": "prompt", "session": "t", "cwd": cwd, "prompt": "why?" });
    }
    let answer = world.tell(agent, &payload);
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{agent}: {error}: {answer}"))
}

const STASHED: &str = "the stash holds work of s, which stays known and is taken up again with it\n";

#[rstest::rstest]
#[case::claude_code("claude-code", &["/systemMessage"])]
#[case::codex("codex", &["/systemMessage", "/hookSpecificOutput/additionalContext"])]
#[case::gemini("gemini", &["/systemMessage"])]
#[case::copilot("copilot", &["/message"])]
#[case::generic("generic", &["/message"])]
fn the_next_prompt_names_whose_work_the_stash_holds(#[case] agent: &str, #[case] places: &[&str]) {
    let world = at_work();
    world.stop("s");
    world.git(&["stash", "-q"]);
    let answer = answer_to_prompt(&world, agent);
    for place in places {
        assert_eq!(answer.pointer(place).and_then(Value::as_str), Some(STASHED), "{agent}: {answer}");
    }
    // The message is shown once.
    world.prompt("u");
    world.finish();
}

/// An agent that cannot be stopped gets both messages at once.
#[test]
fn it_does_not_hide_the_question_about_other_sessions() {
    let world = at_work();
    world.git(&["config", "checkpoint.enableMultisessionWarning", "true"]);
    world.stop("s");
    world.git(&["stash", "-q"]);
    let answer = answer_to_prompt(&world, "copilot");
    let message = answer["message"].as_str().expect("a text");
    assert!(message.starts_with(STASHED) && message.contains("uncommitted work on this base"), "{message}");
    world.finish();
}

/// Within one turn, the agent stashes what a person and another session have left, HEAD moves, and the agent pops it.
#[rstest::rstest]
#[case::commit("git commit -q --allow-empty -m moved")]
#[case::merge("git merge -q --ff-only side")]
#[case::switch("git switch -q side")]
fn work_that_an_agent_stashes_and_pops_on_another_base_keeps_its_authors(#[case] command: &str) {
    let world = World::with_lines();
    world.sh(
        "git branch side; git switch -q side; echo side >side; git add side; git commit -qm side; git switch -q main",
    );
    world.prompt("t");
    world.edit("t", "1", "f", "of t");
    world.stop("t");
    world.add("g", "of a person");
    world.answer("prompt", "s", &json!({ "prompt": "a wish" }));
    git(&world, "s", "2", &["stash", "-q", "-u"]);
    world.before("s", "3", &[]);
    world.sh(command);
    world.after("s", "3", &[]);
    git(&world, "s", "4", &["stash", "pop", "-q"]);
    world.shell("s", "5", "h", "of s");
    world.stop("s");
    world.commit();
    let session = |path: &str| {
        let lines = world.json(&["blame", "--json", path])["lines"].as_array().expect("a list").clone();
        lines.last().expect("one")["session"].clone()
    };
    assert_eq!(world.owners(), ["f agent 1", "g human 1", "h agent 1"]);
    assert_eq!((session("f"), session("h")), (json!("t"), json!("s")));
    world.finish();
}

/// A person restores a session's checkpoint from the archive, and commits.
#[test]
fn a_restored_checkpoint_of_a_session_is_its_own_in_the_commit() {
    let world = at_work();
    world.stop("s");
    world.done(&["save", "--allow-empty", "-m", "here"]);
    let shadow = world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow"]);
    let id = world.git(&["rev-parse", shadow.trim()]);
    for arguments in [&["restore", "--all", "base"][..], &["reset"], &["restore", "--all", id.trim()]] {
        world.done(arguments);
    }
    world.commit();
    assert_eq!(world.owners(), ["f agent 1"]);
    world.finish();
}

/// An agent that edits and stashes before anything is saved; a person pops it after the turn.
#[rstest::rstest]
#[case::in_a_command(true)]
#[case::in_a_turn_whose_tools_are_not_known(false)]
fn work_that_is_stashed_before_a_save_sees_it(
    #[case] reports: bool,
    #[values(&[], &["-u"], &["--", "f", "new"])] arguments: &[&str],
) {
    let world = World::with_lines();
    world.add("f", "of a person before");
    world.add("h", "of a person before");
    world.prompt("s");
    if reports {
        world.before("s", "1", &[]);
    }
    world.add("f", "of s");
    world.add("g", "of s");
    world.add("new", "of s");
    if arguments.contains(&"new") {
        world.git(&["add", "new"]);
    }
    world.git(&[&["stash", "push", "-q"], arguments].concat());
    if reports {
        world.after("s", "1", &[]);
    }
    world.stop("s");
    world.git(&["stash", "pop", "-q"]);
    let expected = ["f agent 1 human 1", "g agent 1", "h human 1", "new agent 1"];
    let blamed = |path: &str| {
        let lines = world.json(&["blame", "--json", path])["lines"].as_array().expect("a list").clone();
        lines.last().expect("a line")["owner"].as_str().expect("a word").to_owned()
    };
    assert_eq!(["f", "g", "h", "new"].map(blamed), ["agent", "agent", "human", "agent"]);
    world.commit();
    assert_eq!(world.owners(), expected);
    world.finish();
}

/// What a person stashes between turns, or what both may have stashed, is not the agent's.
#[rstest::rstest]
#[case::of_a_person(&["t"], "human")]
#[case::of_whom(&["s", "t"], "unknown")]
fn work_that_others_stash_before_a_save_sees_it(#[case] sessions: &[&str], #[case] owner: &str) {
    let world = World::with_lines();
    if sessions.len() > 1 {
        for session in sessions {
            world.prompt(session);
        }
    }
    world.add("f", "of whom?");
    world.git(&["stash", "-q"]);
    if sessions.len() == 1 {
        for session in sessions {
            world.prompt(session);
        }
        world.shell(sessions[0], "1", "g", "of a tool");
    }
    for session in sessions {
        world.stop(session);
    }
    world.git(&["stash", "pop", "-q"]);
    world.commit();
    assert_eq!(world.owners()[0], format!("f {owner} 1"));
    world.finish();
}

/// All worktrees share one stash. The agent's command runs in the main one meanwhile.
#[rstest::rstest]
fn work_that_is_stashed_in_another_worktree_is_not_the_agents(#[values(true, false)] is_here: bool) {
    let world = World::with_lines();
    world.git(&["worktree", "add", "-q", "-b", "side", "../linked"]);
    let at = world.root().join(if is_here { "repo" } else { "linked" });
    let at = at.to_str().expect("a plain path");
    world.prompt("s");
    world.before("s", "1", &[]);
    world.sh(&format!("cd {at}; echo of whom >>f; git stash -q"));
    world.after("s", "1", &[]);
    world.stop("s");
    world.sh(&format!("cd {at}; git stash pop -q; git commit -qam popped"));
    let lines = world.json(&["-C", at, "blame", "--json", "f"])["lines"].as_array().expect("a list").clone();
    assert_eq!(lines.last().expect("a line")["owner"] == "agent", is_here, "{lines:?}");
    world.finish();
}

/// Between turns, a save for a session has no claim on what a person has stashed.
#[rstest::rstest]
fn work_that_a_person_stashes_between_turns_stays_theirs(#[values(true, false)] had_turn: bool) {
    let world = World::with_lines();
    if had_turn {
        world.prompt("s");
        world.add("g", "of s");
        world.stop("s");
        world.commit();
    }
    world.add("f", "of a person");
    world.git(&["stash", "-q"]);
    world.add("g", "of s, too");
    world.done(&["save", "-q", "--session", "s"]);
    world.git(&["stash", "pop", "-q"]);
    world.commit();
    assert_eq!(world.owners(), ["f human 1", "g agent 1"]);
    world.finish();
}
