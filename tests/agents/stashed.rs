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
    for line in before {
        desk.add("f", line);
    }
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

/// A person pops it in a turn that began without it, and another author adds a line beside it.
#[rstest::rstest]
#[case::by_the_session("s", "of s, too", &["f agent 2"])]
#[case::by_a_person("", "of a person", &["f agent 1 human 1"])]
fn a_stash_that_comes_back_in_a_later_turn(#[case] who: &str, #[case] line: &str, #[case] expected: &[&str]) {
    let desk = at_work();
    desk.stop("s");
    desk.git(&["config", "checkpoint.agents.preToolScan", "0"]);
    desk.git(&["stash", "-q"]);
    desk.answer("prompt", "s", &json!({ "prompt": "a wish" }));
    desk.shell("s", "2", "g", "of s");
    desk.git(&["stash", "pop", "-q"]);
    desk.before("s", "3", &[]);
    desk.after("s", "3", &[]);
    match who {
        "" => desk.add("f", line),
        session => desk.edit(session, "4", "f", line),
    }
    desk.before("s", "5", &[]);
    desk.after("s", "5", &[]);
    desk.stop("s");
    desk.commit();
    assert_eq!(desk.owners(), [expected, &["g agent 1"]].concat());
    desk.finish();
}

/// The agent renames the file of another session's line, a third one stashes both, and a person pops them.
#[test]
fn a_stash_of_a_renamed_file() {
    let desk = at_work();
    desk.before("s", "2", &[]);
    desk.sh("mv f moved");
    desk.after("s", "2", &[]);
    desk.stop("s");
    desk.prompt("t");
    git(&desk, "t", "3", &["stash", "-q", "-u"]);
    desk.stop("t");
    desk.git(&["stash", "pop", "-q"]);
    let lines = desk.json(&["blame", "--json", "moved"])["lines"].as_array().expect("a list").clone();
    assert_eq!(lines.last().expect("a line")["session"], json!("s"), "{lines:?}");
    desk.commit();
    assert_eq!(desk.owners(), ["moved agent 1"]);
    desk.finish();
}

/// What a person changes in the middle of a turn is saved as theirs before the agent moves HEAD.
#[rstest::rstest]
#[case::reset("git reset -q --hard HEAD~1")]
#[case::switch("git switch -q -c other HEAD~1")]
#[case::rebase("git branch -q side HEAD~1; git rebase -q --autostash --onto side HEAD~1")]
fn a_persons_changes_stay_theirs_when_the_agent_moves_head(#[case] command: &str) {
    let desk = Desk::new();
    desk.git(&["config", "checkpoint.agents.preToolScan", "0"]);
    desk.sh("echo second >second; git add second; git commit -qm second");
    desk.prompt("s");
    desk.before("s", "1", &[]);
    desk.after("s", "1", &[]);
    desk.sh("echo 'of a person' >of-a-person");
    desk.before("s", "2", &[]);
    desk.after("s", "2", &[]);
    desk.before("s", "3", &[]);
    desk.sh(command);
    desk.after("s", "3", &[]);
    desk.shell("s", "4", "g", "of s");
    desk.stop("s");
    desk.commit();
    assert_eq!(desk.owners(), ["g agent 1", "of-a-person human 1"]);
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
fn a_persons_stash_stays_theirs_when_an_agent_pops_it(#[case] push: &[&str], #[case] pop: &[&str]) {
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
fn another_sessions_stash_stays_its_own_when_an_agent_pops_it() {
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
fn work_that_an_agent_stashes_and_pops_in_one_turn_stays_its_own() {
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
    // The message is shown once.
    desk.prompt("u");
    desk.finish();
}

/// An agent that cannot be stopped gets both messages at once.
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

/// Within one turn, the agent stashes what a person and another session have left, HEAD moves, and the agent pops it.
#[rstest::rstest]
#[case::commit("git commit -q --allow-empty -m moved")]
#[case::merge("git merge -q --ff-only side")]
#[case::switch("git switch -q side")]
fn work_that_an_agent_stashes_and_pops_on_another_base_keeps_its_authors(#[case] command: &str) {
    let desk = Desk::new();
    desk.sh(
        "git branch side; git switch -q side; echo side >side; git add side; git commit -qm side; git switch -q main",
    );
    desk.prompt("t");
    desk.edit("t", "1", "f", "of t");
    desk.stop("t");
    desk.add("g", "of a person");
    desk.answer("prompt", "s", &json!({ "prompt": "a wish" }));
    git(&desk, "s", "2", &["stash", "-q", "-u"]);
    desk.before("s", "3", &[]);
    desk.sh(command);
    desk.after("s", "3", &[]);
    git(&desk, "s", "4", &["stash", "pop", "-q"]);
    desk.shell("s", "5", "h", "of s");
    desk.stop("s");
    desk.commit();
    let session = |path: &str| {
        let lines = desk.json(&["blame", "--json", path])["lines"].as_array().expect("a list").clone();
        lines.last().expect("one")["session"].clone()
    };
    assert_eq!(desk.owners(), ["f agent 1", "g human 1", "h agent 1"]);
    assert_eq!((session("f"), session("h")), (json!("t"), json!("s")));
    desk.finish();
}

/// A person restores a session's checkpoint from the archive, and commits.
#[test]
fn a_restored_checkpoint_of_a_session_is_its_own_in_the_commit() {
    let desk = at_work();
    desk.stop("s");
    desk.done(&["save", "--allow-empty", "-m", "here"]);
    let shadow = desk.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow"]);
    let id = desk.git(&["rev-parse", shadow.trim()]);
    for arguments in [&["restore", "--all", "base"][..], &["reset"], &["restore", "--all", id.trim()]] {
        desk.done(arguments);
    }
    desk.commit();
    assert_eq!(desk.owners(), ["f agent 1"]);
    desk.finish();
}
