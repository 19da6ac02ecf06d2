//! What models have used: each token is in one record, under the turn that used it.

use std::fs;

use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::program;

/// Adds a message of Claude Code's, with `output` tokens and some others, to the conversation `file` beside the repository.
fn message(desk: &Desk, file: &str, id: &str, output: u64) {
    line(desk, file, id, output, &jiff::Timestamp::now().to_string());
}

fn line(desk: &Desk, file: &str, id: &str, output: u64, time: &str) {
    let usage = json!({ "input_tokens": 1, "output_tokens": output, "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 10 });
    let message = json!({ "id": id, "model": "claude-x-1", "usage": usage });
    let line = json!({ "type": "assistant", "timestamp": time, "message": message }).to_string();
    let path = desk.world.root().join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
    let before = fs::read_to_string(&path).unwrap_or_default();
    fs::write(path, format!("{before}{line}\n")).expect("writable");
}

/// Begins the session `a`, which writes its conversation to `log.jsonl` beside the repository.
fn started() -> Desk {
    let desk = Desk::new();
    let log = desk.world.root().join("log.jsonl");
    desk.json(&["session", "start", "a", "--transcript", log.to_str().expect("plain"), "--agent", "claude-code"]);
    desk
}

/// Returns what the records of `commit` have of the output, by turn.
fn output(desk: &Desk, commit: &str) -> Vec<(u32, u64)> {
    let records = desk.records(commit);
    let parts = records.iter().flat_map(|record| &record.sessions);
    parts.flat_map(|part| &part.usage).map(|used| (used.turn, used.tokens.output)).collect()
}

#[test]
fn each_record_has_what_was_used_since_the_one_before() {
    let desk = started();
    desk.prompt("a");
    for output in [1, 1, 30] {
        message(&desk, "log.jsonl", "m1", output);
    }
    desk.write("f", "one\n");
    desk.stop("a");
    desk.commit_all();
    let part = &desk.records("HEAD")[0].sessions[0].usage;
    assert_eq!(part.len(), 1, "{part:?}");
    let used = (part[0].turn, part[0].model.as_deref(), part[0].tokens.numbers());
    assert_eq!(used, (1, Some("claude-x-1"), [1, 30, 100, 10, 0]), "a message counts once");
    // Two commits in one turn, and what comes after them.
    desk.prompt("a");
    message(&desk, "log.jsonl", "m2", 5);
    desk.work("a", &[("g", "two\n")]);
    desk.commit_all();
    assert_eq!(output(&desk, "HEAD"), [(2, 5)]);
    message(&desk, "log.jsonl", "m3", 7);
    desk.work("a", &[("h", "three\n")]);
    desk.commit_all();
    assert_eq!((output(&desk, "HEAD^"), output(&desk, "HEAD")), (vec![(2, 5)], vec![(2, 7)]));
    message(&desk, "log.jsonl", "m4", 9);
    desk.stop("a");
    assert_eq!((output(&desk, "HEAD^"), output(&desk, "HEAD")), (vec![(2, 5)], vec![(2, 16)]));
    desk.finish();
}

/// The agent may write its last message after it has said that it is done.
#[test]
fn what_is_written_late_is_of_the_turn_before() {
    let desk = started();
    desk.prompt("a");
    desk.write("f", "one\n");
    desk.stop("a");
    message(&desk, "log.jsonl", "late", 3);
    desk.prompt("a");
    message(&desk, "log.jsonl", "next", 20);
    desk.write("f", "two\n");
    desk.stop("a");
    desk.commit_all();
    assert_eq!(output(&desk, "HEAD"), [(1, 3), (2, 20)]);
    desk.finish();
}

/// A conversation that is gone on with may begin with a copy of another one, and one may be long when we hear of it first.
#[test]
fn what_was_used_before_is_of_no_turn() {
    let desk = Desk::new();
    let old = "2020-01-01T00:00:00.000Z";
    line(&desk, "log.jsonl", "old", 1000, old);
    let log = desk.world.root().join("log.jsonl");
    let log = log.to_str().expect("plain");
    desk.json(&["session", "start", "a", "--transcript", log]);
    message(&desk, "log.jsonl", "before the prompt", 500);
    desk.prompt("a");
    line(&desk, "log.jsonl", "old", 1000, old);
    message(&desk, "log.jsonl", "mine", 4);
    desk.write("f", "one\n");
    desk.stop("a");
    // Its file is only known at the end.
    desk.prompt("b");
    line(&desk, "other.jsonl", "old", 1000, old);
    message(&desk, "other.jsonl", "mine", 6);
    desk.write("g", "two\n");
    let other = desk.world.root().join("other.jsonl");
    desk.json(&["session", "stop", "b", "--transcript", other.to_str().expect("plain")]);
    desk.commit_all();
    let mut found = output(&desk, "HEAD");
    found.sort_unstable();
    assert_eq!(found, [(1, 4), (1, 6)]);
    desk.finish();
}

#[test]
fn subagents_count_once() {
    let desk = started();
    desk.prompt("a");
    message(&desk, "log.jsonl", "m1", 1);
    message(&desk, "log/subagents/agent-1.jsonl", "s1", 20);
    message(&desk, "a/child.jsonl", "s2", 300);
    message(&desk, "log/subagents/notes.txt", "s3", 4000);
    desk.write("f", "one\n");
    desk.stop("a");
    desk.prompt("a");
    message(&desk, "log/subagents/agent-1.jsonl", "s1", 20);
    message(&desk, "log/subagents/agent-1.jsonl", "s4", 50000);
    desk.write("f", "two\n");
    desk.stop("a");
    desk.commit_all();
    assert_eq!(output(&desk, "HEAD"), [(1, 321), (2, 50000)]);
    desk.finish();
}

/// A file that is written anew, a line that is not written to its end, a pipe, and a link to elsewhere.
#[test]
fn strange_files_count_nothing_twice() {
    let desk = started();
    desk.prompt("a");
    message(&desk, "log.jsonl", "m1", 1);
    desk.sh("printf '{\"type\":\"assistant\",\"message\":{\"usage\"' >>../log.jsonl");
    desk.sh("mkdir -p ../log/subagents; mkfifo ../log/subagents/agent-1.jsonl; ln -s ../../link ../log/subagents/agent-2.jsonl");
    message(&desk, "link", "linked", 1000);
    desk.work("a", &[("f", "one\n")]);
    desk.stop("a");
    desk.prompt("a");
    // As the same command would write it again, with another line.
    desk.sh("mv ../log.jsonl ../old; head -n 1 ../old >../log.jsonl; rm ../old");
    message(&desk, "log.jsonl", "m2", 20);
    desk.write("f", "two\n");
    desk.stop("a");
    // For a moment, it is not there. The time of a turn is in seconds.
    desk.world.next_second();
    desk.sh("mv ../log.jsonl ../old");
    desk.question("a");
    desk.sh("mv ../old ../log.jsonl");
    desk.question("a");
    desk.commit_all();
    assert_eq!(output(&desk, "HEAD"), [(1, 1), (2, 20)]);
    // A damaged file of ours is none.
    fs::write(desk.world.repo().join(".git/checkpoint/sessions/a.usage"), "{").expect("writable");
    desk.turn("a", &[("f", "three\n")]);
    desk.commit_all();
    assert_eq!(output(&desk, "HEAD"), []);
    desk.finish();
}

/// A command that is killed between the record and what it notes then.
#[rstest::rstest]
#[case::record("condense:after-record")]
#[case::before("condense:before-record")]
#[case::sessions("condense:after-sessions")]
fn a_crash_counts_nothing_twice(#[case] step: &str) {
    let desk = started();
    desk.prompt("a");
    message(&desk, "log.jsonl", "m1", 5);
    desk.write("f", "one\n");
    desk.stop("a");
    desk.git(&["add", "-A"]);
    let mut command = desk.world.command("git");
    command.args(["commit", "-qm", "killed"]).env("CHECKPOINT_FAILPOINT", step);
    drop(command.output().expect("it runs"));
    desk.turn("a", &[("g", "two\n")]);
    message(&desk, "log.jsonl", "m2", 7);
    desk.prompt("a");
    desk.work("a", &[("h", "three\n")]);
    desk.commit_all();
    let all: u64 = ["HEAD^", "HEAD"].iter().flat_map(|commit| output(&desk, commit)).map(|(_, output)| output).sum();
    assert_eq!((output(&desk, "HEAD^"), all), (vec![(1, 5)], 12));
    desk.stop("a");
    desk.world.assert_sound("in the end");
}

/// The same for the end of a turn, which completes the record of a commit in its middle.
#[test]
fn a_crash_of_the_end_counts_nothing_twice() {
    let desk = started();
    desk.prompt("a");
    message(&desk, "log.jsonl", "m1", 5);
    desk.work("a", &[("f", "one\n")]);
    desk.commit_all();
    message(&desk, "log.jsonl", "m2", 7);
    let mut command = desk.world.command(program());
    command.args(["session", "stop", "a"]).env("CHECKPOINT_FAILPOINT", "complete:after-record");
    drop(command.output().expect("it runs"));
    desk.prompt("a");
    desk.stop("a");
    assert_eq!(output(&desk, "HEAD"), [(1, 12)]);
}

/// Returns what `arguments` print.
fn json(desk: &Desk, arguments: &[&str]) -> Value {
    desk.json(arguments)
}

#[test]
fn commands_show_what_was_used() {
    let desk = started();
    desk.world.git(&["config", "checkpoint.usage.prices", "[\"claude-x* input=1000 output=200000 cache-read=0\"]"]);
    desk.world.git(&["config", "checkpoint.usage.currency", "EUR"]);
    desk.prompt("a");
    message(&desk, "log.jsonl", "m1", 5);
    desk.stop("a");
    desk.prompt("a");
    message(&desk, "log.jsonl", "m2", 7);
    desk.write("f", "one\n");
    desk.stop("a");
    desk.turn("b", &[("g", "two\n")]);
    desk.commit_all();
    let explained = json(&desk, &["explain"]);
    let sessions = explained["records"][0]["sessions"].as_array().expect("a list");
    let part = |id: &str| sessions.iter().find(|it| it["id"] == id).expect("it has a part");
    let numbers = json!({ "input": 2, "output": 12, "cache_read": 200, "cache_write": 20, "reasoning": 0, "total": 234,
        "cost": { "amount": 2.402, "currency": "EUR", "unpriced": 20 } });
    assert_eq!(part("a")["usage"], numbers);
    assert_eq!((&part("b")["usage"], &part("b")["used"]), (&Value::Null, &json!([])), "not zero, but unknown");
    let turns: Vec<_> = part("a")["used"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| json!([it["turn"], it["changed"], it["output"]]))
        .collect();
    assert_eq!(turns, [json!([1, false, 5]), json!([2, true, 7])]);
    let text = String::from_utf8(desk.ours(&["explain"]).stdout).expect("text");
    assert!(
        text.contains(
            "tokens: 2 input, 12 output, 200 from cache, 20 into cache  (2.4020 EUR, and 20 without a price)"
        ),
        "{text}"
    );
    assert!(text.contains("of these, 116 in turns that changed nothing in the commit"), "{text}");
    let usage = json(&desk, &["attribution"])["usage"].clone();
    assert_eq!(
        (&usage["total"], &usage["sessions"][0]["id"], &usage["unreported"]),
        (&json!(234), &json!("a"), &json!(["b"]))
    );
    let report = json(&desk, &["report"]);
    assert_eq!(report["usage"], usage);
    let page = String::from_utf8(desk.ours(&["report"]).stdout).expect("text");
    assert!(
        page.contains("<caption>Tokens</caption>")
            && page.contains("2.4020")
            && page.contains("1 session reported nothing"),
        "{page}"
    );
    let comment = String::from_utf8(desk.ours(&["report", "--format", "markdown"]).stdout).expect("text");
    assert!(comment.contains("Tokens: 2 input, 12 output"), "{comment}");
    // What is in no record is said to be so.
    message(&desk, "log.jsonl", "m3", 9);
    desk.prompt("a");
    desk.stop("a");
    let of_session = json(&desk, &["explain", "a"]);
    assert_eq!(of_session["unrecorded_usage"]["output"], json!(9));
    // Without prices, there is no money; with one that makes no sense, an error that names it.
    desk.world.git(&["config", "--unset", "checkpoint.usage.prices"]);
    assert_eq!(json(&desk, &["attribution"])["usage"]["cost"], Value::Null);
    let refused = desk.ours(&["config", "set", "usage.prices", "claude inputs=1"]);
    desk.world.git(&["config", "checkpoint.usage.prices", "claude inputs=1"]);
    for output in [refused, desk.ours(&["explain"])] {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("bad value for 'usage.prices'"), "{said}");
        assert!(said.contains("prices such as") && said.contains("claude inputs=1"), "{said}");
    }
}

/// Who can commit says nothing of money.
#[test]
fn the_project_sets_no_prices_and_may_stop_the_count() {
    let desk = started();
    desk.write(".checkpoint.toml", "[usage]\ncount = false\nprices = [\"claude* output=1\"]\n");
    desk.prompt("a");
    message(&desk, "log.jsonl", "m1", 5);
    desk.write("f", "one\n");
    desk.stop("a");
    desk.commit_all();
    assert_eq!(output(&desk, "HEAD"), []);
    assert!(!desk.world.repo().join(".git/checkpoint/sessions/a.usage").exists());
    desk.write(".checkpoint.toml", "[usage]\nprices = [\"claude* output=1\"]\n");
    desk.prompt("a");
    message(&desk, "log.jsonl", "m2", 6);
    desk.write("f", "two\n");
    desk.stop("a");
    desk.commit_all();
    // The next prompt counts the turn that was not counted.
    let usage = json(&desk, &["attribution"])["usage"].clone();
    assert_eq!((&usage["output"], &usage["cost"]), (&json!(11), &Value::Null));
}
