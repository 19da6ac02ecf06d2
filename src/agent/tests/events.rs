//! Each payload of `tests/fixtures/agents` with what it is read as.

use std::{collections::BTreeMap, fs};

use super::{super::dialects::named, fixture, fixtures, line, read};

/// Returns the payloads of an agent, each with the event it is translated to: one payload per file, or per line of a
/// capture.
fn given(agent: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(fixtures().join(agent)).expect("the agent has payloads") {
        let name = entry.expect("readable").file_name().into_string().expect("a plain name");
        if let Some(stem) = name.strip_suffix(".json") {
            all.insert(stem.to_owned(), line(&fixture(agent, &name)));
        } else if name.strip_suffix(".jsonl").is_some() {
            let bytes = fs::read(fixtures().join(agent).join(&name)).expect("readable");
            for (number, payload) in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate() {
                let event = read(payload, None).expect("the payload names its event");
                assert_eq!(event.agent, agent);
                all.insert(format!("captured {:02}", number + 1), line(&event));
            }
        }
    }
    all
}

#[test]
fn every_event_of_every_dialect() {
    let mut seen = String::new();
    for dialect in super::super::dialects::ALL {
        assert!(named(dialect.name).is_some());
        for (name, line) in given(dialect.name) {
            seen.push_str(&format!("{} {name}: {line}\n", dialect.name));
        }
    }
    let expected = fs::read_to_string(fixtures().join("events.txt")).unwrap_or_default();
    if expected != seen {
        let (seen, expected): (Vec<_>, Vec<_>) = (seen.lines().collect(), expected.lines().collect());
        let new = seen.iter().filter(|line| !expected.contains(line)).map(|line| format!("+{line}\n"));
        let old = expected.iter().filter(|line| !seen.contains(line)).map(|line| format!("-{line}\n"));
        panic!("events.txt says otherwise:\n{}", old.chain(new).collect::<String>());
    }
}

/// While a tool runs that writes no files, changes are a person's. While an unknown tool runs, their author is unknown.
#[rstest::rstest]
#[case::tasks(&["TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskOutput", "TaskStop", "TodoWrite"], "-")]
#[case::shells(&["BashOutput", "KillShell"], "-")]
#[case::subagents(&["Agent", "Task", "SendMessage"], "-")]
#[case::reads(&["Read", "Glob", "Grep", "LS", "LSP", "NotebookRead", "ToolSearch", "WebFetch", "WebSearch"], "-")]
#[case::resources(&["ListMcpResourcesTool", "ReadMcpResourceTool"], "-")]
#[case::later(&["CronCreate", "CronDelete", "CronList"], "-")]
#[case::plans(&["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"], "-")]
#[case::commands(&["Bash", "PowerShell", "Skill", "SlashCommand", "EnterWorktree", "ExitWorktree"], "*")]
#[case::in_the_background(&["Monitor"], "*) background=yes")]
#[case::unknown(&["mcp__files__write", "mcp__Task__run", "Tasks", "New"], "*")]
fn tools_of_claude_code(#[case] names: &[&str], #[case] expected: &str) {
    for name in names {
        let payload =
            format!(r#"{{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"{name}","tool_input":{{}}}}"#);
        let event = read(payload.as_bytes(), named("claude-code")).expect("it is an event");
        let expected = format!("session=s tool={name}({expected}");
        let line = line(&event);
        assert!(line.contains(&expected), "{line}: not {expected}");
    }
}
