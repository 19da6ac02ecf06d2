//! Work that is stashed while a turn is open, by the agent itself or by another one.

use serde_json::{Value, json};

use super::desk::Desk;

/// The tool call `call` of `session`, a shell, runs git.
fn git(desk: &Desk, session: &str, call: &str, arguments: &[&str]) {
    desk.before(session, call, &[]);
    desk.git(arguments);
    desk.after(session, call, &[]);
}

/// Session `s` adds a line to `f`, and its turn stays open.
fn at_work() -> Desk {
    let desk = Desk::new();
    desk.prompt("s");
    desk.edit("s", "1", "f", "of s");
    desk
}

#[rstest::rstest]
#[case::by_itself("s")]
#[case::by_another("t")]
fn a_stash_that_a_person_pops_after_a_commit(#[case] who: &str) {
    let desk = at_work();
    if who == "t" {
        desk.prompt("t");
    }
    git(&desk, who, "2", &["stash", "-q"]);
    desk.edit("s", "3", "g", "of s");
    desk.stop("s");
    desk.commit();
    assert_eq!(desk.owners(), ["g agent 1"]);
    desk.git(&["stash", "pop", "-q"]);
    desk.commit();
    assert_eq!(desk.owners(), ["f agent 1"]);
    desk.finish();
}

/// The stash is the last thing that the agent does, and nothing is saved before the commit.
#[rstest::rstest]
#[case::alone(&[])]
#[case::with_a_person_before(&["of a person"])]
fn a_stash_of_the_agents_own_that_a_person_pops_at_once(#[case] before: &[&str]) {
    let desk = Desk::new();
    before.iter().for_each(|line| desk.add("f", line));
    desk.prompt("s");
    desk.edit("s", "1", "f", "of s");
    git(&desk, "s", "2", &["stash", "-q"]);
    desk.stop("s");
    desk.git(&["stash", "pop", "-q"]);
    let owners = desk.json(&["blame", "--json", "f"])["lines"].as_array().expect("a list").clone();
    assert_eq!(owners.last().expect("a line")["session"], json!("s"));
    desk.commit();
    let expected: &[&str] = if before.is_empty() { &["f agent 1"] } else { &["f agent 1 human 1"] };
    assert_eq!(desk.owners(), expected);
    desk.finish();
}

#[test]
fn a_stash_that_the_agent_pops_in_its_next_turn() {
    let desk = at_work();
    git(&desk, "s", "2", &["stash", "-q", "-u"]);
    desk.edit("s", "3", "g", "of s");
    desk.stop("s");
    desk.commit();
    desk.prompt("s");
    git(&desk, "s", "4", &["stash", "pop", "-q"]);
    desk.stop("s");
    desk.commit();
    assert_eq!(desk.owners(), ["f agent 1"]);
    desk.finish();
}

/// A person's change, which no checkpoint has seen, is popped by an agent, which then adds a line of its own.
#[rstest::rstest]
#[case::of_a_file(&["stash", "-q"], &["stash", "pop", "-q"])]
#[case::with_a_new_file(&["stash", "-q", "-u"], &["stash", "pop", "-q"])]
#[case::and_keeps_it(&["stash", "-q", "-u"], &["stash", "apply", "-q"])]
fn what_an_agent_pops_stays_a_persons(#[case] push: &[&str], #[case] pop: &[&str]) {
    let desk = Desk::new();
    desk.add("f", "of a person");
    desk.add("new", "of a person, too");
    desk.git(push);
    desk.prompt("s");
    git(&desk, "s", "1", pop);
    desk.shell("s", "2", "g", "of s");
    desk.stop("s");
    desk.commit();
    assert_eq!(desk.owners(), ["f human 1", "g agent 1", "new human 1"]);
    desk.finish();
}

#[test]
fn what_an_agent_pops_stays_another_sessions() {
    let desk = Desk::new();
    desk.prompt("t");
    desk.edit("t", "1", "f", "of t");
    desk.edit("t", "2", "new", "of t, too");
    desk.stop("t");
    desk.git(&["stash", "-q", "-u"]);
    desk.answer("prompt", "s", &json!({ "prompt": "a wish" }));
    git(&desk, "s", "3", &["stash", "pop", "-q"]);
    desk.shell("s", "4", "g", "of s");
    desk.stop("s");
    desk.commit();
    assert_eq!(desk.owners(), ["f agent 1", "g agent 1", "new agent 1"]);
    let sessions = |path: &str| {
        let lines = desk.json(&["blame", "--json", path])["lines"].clone();
        lines
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|line| line["session"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    assert_eq!((sessions("f"), sessions("new"), sessions("g")), (vec!["t".into()], vec!["t".into()], vec!["s".into()]));
    desk.finish();
}

#[test]
fn what_an_agent_stashes_and_pops_in_one_turn_stays_its_own() {
    let desk = at_work();
    desk.edit("s", "2", "new", "of s, too");
    git(&desk, "s", "3", &["stash", "-q", "-u"]);
    git(&desk, "s", "4", &["stash", "pop", "-q"]);
    desk.stop("s");
    desk.commit();
    assert_eq!(desk.owners(), ["f agent 1", "new agent 1"]);
    desk.finish();
}

/// What the hook of `agent` answers to a prompt of a new session, in its own words.
fn answer_to_prompt(desk: &Desk, agent: &str) -> Value {
    let (cwd, event) = (desk.repo(), if agent == "gemini" { "BeforeAgent" } else { "UserPromptSubmit" });
    let time = (agent == "gemini").then_some("2026-11-21T20:52:14.927Z");
    let mut payload =
        json!({ "hook_event_name": event, "session_id": "t", "cwd": cwd, "prompt": "why?", "timestamp": time });
    if agent == "generic" {
        payload = json!({ "event": "prompt", "session": "t", "cwd": cwd, "prompt": "why?" });
    }
    let answer = desk.tell(agent, &payload);
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
    let desk = at_work();
    desk.stop("s");
    desk.git(&["stash", "-q"]);
    let answer = answer_to_prompt(&desk, agent);
    for place in places {
        assert_eq!(answer.pointer(place).and_then(Value::as_str), Some(STASHED), "{agent}: {answer}");
    }
    // It is said once.
    desk.prompt("u");
    desk.finish();
}

/// An agent that cannot be held back is told of both at once.
#[test]
fn it_does_not_hide_the_question_about_other_sessions() {
    let desk = at_work();
    desk.git(&["config", "checkpoint.enableMultisessionWarning", "true"]);
    desk.stop("s");
    desk.git(&["stash", "-q"]);
    let answer = answer_to_prompt(&desk, "copilot");
    let message = answer["message"].as_str().expect("a text");
    assert!(message.starts_with(STASHED) && message.contains("uncommitted work on this base"), "{message}");
    desk.finish();
}
