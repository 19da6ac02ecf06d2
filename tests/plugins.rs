//! The plugins that are installed for opencode and Amp, run by node: what they send is read, and a no is passed on.

use std::{fs, process::Command};

use git_checkpoint::testing::agent::{self, dialect, dialects};

use crate::support::files;

/// Calls the plugin in `plugin.mjs` as opencode does.
const OPENCODE: &str = r#"
import plugin from "./plugin.mjs";
const toasts = [];
const client = { tui: { showToast: async ({ body }) => toasts.push(body.message) } };
const hooks = await plugin({ directory: "/src/app", client });
const created = (id, parentID) => ({ type: "session.created", properties: { info: { id, parentID } } });
await hooks.event({ event: created("ses_1") });
await hooks.event({ event: created("ses_2", "ses_1") });
await hooks.event({ event: { type: "file.edited", properties: {} } });
await hooks["chat.message"]({ sessionID: "ses_1", model: { modelID: "m" } }, { parts: [{ type: "text", text: "go" }, { type: "file" }] });
const args = { filePath: "a.ts", content: "x" };
await hooks["tool.execute.before"]({ tool: "write", sessionID: "ses_2", callID: "c1" }, { args });
await hooks["tool.execute.after"]({ tool: "write", sessionID: "ses_2", callID: "c1", args }, { output: "x".repeat(9) });
let no = "";
try { await hooks["tool.execute.before"]({ tool: "bash", sessionID: "ses_1", callID: "DENY" }, { args: {} }); } catch (error) { no = error.message; }
await hooks["tool.execute.before"]({ tool: "bash", sessionID: "ses_1", callID: "BROKEN" }, { args: {} });
await hooks["tool.execute.before"]({ tool: "bash", sessionID: "ses_1", callID: "WARN" }, { args: {} });
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } });
console.log(JSON.stringify({ no, toasts }));
"#;

/// Calls the plugin as Amp does.
const AMP: &str = r#"
import plugin from "./plugin.mjs";
const handlers = {}, toasts = [];
const helpers = { filesModifiedByToolCall: () => ["file:///src/app/a%20b.go"] };
plugin({ helpers, on: (name, handler) => { handlers[name] = handler; } });
const context = { ui: { notify: async (text) => toasts.push(text) } };
const thread = { id: "T-1" };
await handlers["session.start"]({ thread }, context);
await handlers["agent.start"]({ id: 1, message: "go", thread }, context);
const event = { toolUseID: "t1", tool: "create_file", input: { path: "/src/app/a b.go" }, thread };
const yes = (await handlers["tool.call"](event, context)).action;
await handlers["tool.result"]({ ...event, status: "done", output: "ok" }, context);
const no = (await handlers["tool.call"]({ ...event, toolUseID: "DENY" }, context)).message;
await handlers["tool.result"]({ ...event, toolUseID: "DENY", status: "done", output: "ok" }, context);
const broken = (await handlers["tool.call"]({ ...event, toolUseID: "BROKEN" }, context)).action;
await handlers["tool.call"]({ ...event, toolUseID: "WARN" }, context);
await handlers["agent.end"]({ status: "done", messages: [] }, context);
console.log(JSON.stringify({ no, toasts, yes, broken }));
"#;

/// Stands for the program: keeps what it is sent, and answers.
const PROGRAM: &str = r#"#!/bin/sh
input=$(cat)
printf '%s\n' "$input" >>"$LOG"
case $input in
*DENY*) echo '{"deny":"no"}' ;;
*BROKEN*) echo 'not JSON'; exit 3 ;;
*WARN*) echo '{"warn":"careful"}' ;;
esac
"#;

/// Returns what was sent, an event a line, and what the caller saw; none where there is no node.
#[expect(clippy::print_stderr, reason = "says what was not tested")]
fn run(name: &str, caller: &str) -> Option<(Vec<String>, String)> {
    if Command::new("node").arg("--version").output().is_err() {
        eprintln!("skipped: there is no node");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("a b")).expect("writable");
    let program = path("a b/git-checkpoint");
    files::write_script(&program, PROGRAM);
    let dialect = dialects::named(name).expect("it is known");
    let command = agent::install::command(program.to_str().expect("a plain path"), name);
    let text = dialect.files[0].install(None, &command).expect("installed");
    fs::write(path("plugin.mjs"), text).expect("writable");
    fs::write(path("caller.mjs"), caller).expect("writable");
    let output = Command::new("node")
        .arg("caller.mjs")
        .current_dir(folder.path())
        .env("LOG", path("log"))
        .output()
        .expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = fs::read_to_string(path("log")).expect("something was sent");
    let events = log.lines().map(|line| {
        let (event, dialect) = agent::read(line.as_bytes(), &dialect::Environment::new(), None).expect("it is read");
        assert_eq!(dialect.name, name);
        let paths = event.tool.map(|tool| tool.paths.join(",")).unwrap_or_default();
        let helper = event.agent_id.unwrap_or_default();
        format!("{} {} {helper} {paths}", event.moment.as_str(), event.session).trim_end().to_owned()
    });
    Some((events.collect(), String::from_utf8(output.stdout).expect("JSON")))
}

#[test]
fn opencode_reports_its_events_and_shows_the_answers() {
    let Some((events, seen)) = run("opencode", OPENCODE) else { return };
    let expected = [
        "session-start ses_1",
        "subagent-start ses_1 ses_2",
        "prompt ses_1",
        "pre-tool ses_1 ses_2 a.ts",
        "post-tool ses_1 ses_2 a.ts",
        "pre-tool ses_1",
        "pre-tool ses_1",
        "pre-tool ses_1",
        "stop ses_1",
    ];
    assert_eq!(events, expected);
    assert_eq!(seen, "{\"no\":\"no\",\"toasts\":[\"no\",\"careful\"]}\n");
}

#[test]
fn amp_reports_its_events_and_shows_the_answers() {
    let Some((events, seen)) = run("amp", AMP) else { return };
    let tool = |moment: &str| format!("{moment} T-1  /src/app/a b.go");
    let mut expected = vec!["session-start T-1".to_owned(), "prompt T-1".to_owned()];
    expected.extend(["pre-tool", "post-tool", "pre-tool", "post-tool", "pre-tool", "pre-tool"].map(tool));
    expected.push("stop T-1".to_owned());
    assert_eq!(events, expected);
    assert_eq!(seen, "{\"no\":\"no\",\"toasts\":[\"no\",\"careful\"],\"yes\":\"allow\",\"broken\":\"allow\"}\n");
}
