//! What agents do in a repository with git's hooks enabled: their events come as JSON on standard input.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use git_checkpoint::testing::{model::turns::Turns, ops::status};
use serde_json::{Value, json};

use crate::support::{World, processes::described, program};

impl World {
    /// Adds a line to a file.
    pub(super) fn add(&self, path: &str, line: &str) {
        self.add_to(path, &format!("{line}\n"));
    }

    /// Returns the program as an agent called `agent` runs it.
    pub(super) fn hook(&self, agent: &str) -> Command {
        let mut command = self.command(program());
        command.args(["hook", "--agent", agent]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Sends `payload` to the hook of `agent`; nothing of the user's may move.
    pub(super) fn send(&self, agent: &str, payload: &[u8]) -> Output {
        self.run(self.hook(agent), payload)
    }

    pub(super) fn run(&self, command: Command, payload: &[u8]) -> Output {
        let before = self.facts();
        let output = piped(command, payload);
        assert_eq!(self.facts(), before, "what is the user's does not move");
        output
    }

    /// The same, which must go well and without a word on standard error.
    pub(super) fn tell(&self, agent: &str, payload: &Value) -> String {
        let output = self.send(agent, payload.to_string().as_bytes());
        assert!(output.status.success() && output.stderr.is_empty(), "{payload}: {}", described(&output));
        String::from_utf8(output.stdout).expect("it answers in text")
    }

    /// Sends `event` of `session` in the neutral protocol, with the fields `more`; there is nothing to say.
    pub(super) fn event(&self, event: &str, session: &str, more: &Value) {
        let answer = self.answer(event, session, more);
        assert_eq!(answer, json!({ "version": 1, "decision": "allow" }), "{event} {session} {more}");
    }

    /// The same, where there may be something to say; returns the answer.
    pub(super) fn answer(&self, event: &str, session: &str, more: &Value) -> Value {
        let mut payload =
            json!({ "event": event, "session": session, "agent": "tester", "cwd": self.repo().display().to_string() });
        for (key, value) in more.as_object().expect("an object") {
            payload[key] = value.clone();
        }
        serde_json::from_str(&self.tell("generic", &payload)).expect("it answers in JSON")
    }

    pub(super) fn prompt(&self, session: &str) {
        self.event("prompt", session, &json!({ "prompt": format!("a wish for {session}") }));
    }

    pub(super) fn stop(&self, session: &str) {
        self.event("stop", session, &json!({}));
    }

    pub(super) fn before(&self, session: &str, call: &str, paths: &[&str]) {
        self.event("pre-tool", session, &tool(call, paths));
    }

    pub(super) fn after(&self, session: &str, call: &str, paths: &[&str]) {
        self.event("post-tool", session, &tool(call, paths));
    }

    /// A tool that adds a line to a file it names.
    pub(super) fn edit(&self, session: &str, call: &str, path: &str, line: &str) {
        self.before(session, call, &[path]);
        self.add(path, line);
        self.after(session, call, &[path]);
    }

    /// A shell command that adds a line to a file.
    pub(super) fn shell(&self, session: &str, call: &str, path: &str, line: &str) {
        self.before(session, call, &[]);
        self.add(path, line);
        self.after(session, call, &[]);
    }

    /// Returns who made the checkpoints of the live shadow and in which files, oldest first.
    pub(super) fn chain(&self) -> Vec<String> {
        let status = status::status(&World::context_at(&self.repo())).expect("a status");
        let Some(shadow) = status.shadow.map(|shadow| shadow.r#ref) else { return Vec::new() };
        let format = "--format=*%(trailers:key=Checkpoint-Contributor,valueonly,separator=)\
            /%(trailers:key=Checkpoint-Session,valueonly,separator=)/%(trailers:key=Checkpoint-Agent-Id,valueonly,separator=)";
        let text =
            self.git(&["log", "--first-parent", "-m", "--reverse", "--name-only", format, &format!("HEAD..{shadow}")]);
        let mut chain: Vec<String> = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            match (line.strip_prefix('*'), chain.last_mut()) {
                (Some(who), _) => chain.push(named(who)),
                (None, Some(last)) => last.push_str(&format!(" {line}")),
                (None, None) => panic!("a file before a checkpoint: {line}"),
            }
        }
        chain
    }

    /// Commits everything.
    pub(super) fn commit(&self) {
        self.commit_all("a commit");
    }

    /// Returns whose the lines are that HEAD has added: `agent`, `human` or `unknown`, by file.
    pub(super) fn owners(&self) -> Vec<String> {
        let value = self.json(&["attribution", "--json", "HEAD"]);
        let files = value["files"].as_array().cloned().unwrap_or_default();
        let owner = |file: &Value| {
            let mut lines = BTreeMap::new();
            for part in file["owners"].as_array().into_iter().flatten() {
                let number = |key: &str| part[key].as_u64().expect("a number");
                let kind = part["owner"].as_str().unwrap_or_default().to_owned();
                *lines.entry(kind).or_insert(0) += number("end") + 1 - number("start");
            }
            let parts: Vec<_> = lines.iter().map(|(kind, lines)| format!("{kind} {lines}")).collect();
            format!("{} {}", file["path"].as_str().unwrap_or_default(), parts.join(" "))
        };
        files.iter().map(owner).collect()
    }

    /// Returns the sessions that have something open here.
    pub(super) fn open(&self) -> Vec<String> {
        let text = fs::read_to_string(self.repo().join(".git/checkpoint/turns.toml")).unwrap_or_default();
        let turns = Turns::parse(&text).unwrap_or_default();
        turns.entries.into_iter().map(|entry| entry.id).collect()
    }

    /// Returns the last error that `status` shows.
    pub(super) fn trouble(&self) -> Option<String> {
        status::status(&World::context_at(&self.repo())).expect("a status").last_error
    }

    /// Returns all of our files but the lock, and what is in them.
    pub(super) fn ours(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.repo().join(".git/checkpoint")];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if !path.ends_with("lock") {
                    files.insert(path.clone(), fs::read(&path).expect("it is readable"));
                }
            }
        }
        files
    }

    /// Returns the payload that a client sent, with the places of this world for those in it.
    pub(super) fn fixture(&self, agent: &str, name: &str) -> Value {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents").join(agent);
        let text = match name.split_once(':') {
            Some((file, line)) => {
                let line: usize = line.parse().expect("a number");
                read(&folder.join(file)).lines().nth(line - 1).expect("as many lines").to_owned()
            }
            None => read(&folder.join(format!("{name}.json"))),
        };
        let (repo, home) = (self.repo(), self.root().join("home"));
        let text = ["app", "codex", "gemini"]
            .iter()
            .fold(text, |text, project| text.replace(&format!("/home/dev/src/{project}"), &repo.display().to_string()));
        serde_json::from_str(&text.replace("/home/dev", &home.display().to_string())).expect("it is JSON")
    }

    /// Checks that all is sound, in the end.
    pub(super) fn finish(&self) {
        self.assert_sound("in the end");
        let left = self.leftovers();
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(self.trouble(), None);
    }
}

fn named(who: &str) -> String {
    let parts: Vec<&str> = who.split('/').collect();
    let name = if parts[1].is_empty() { parts[0] } else { parts[1] };
    if parts[2].is_empty() { name.to_owned() } else { format!("{name}+{}", parts[2]) }
}

/// Runs `command` with `payload` on its standard input.
pub(super) fn piped(mut command: Command, payload: &[u8]) -> Output {
    let mut child = command.spawn().expect("the program runs");
    let mut input = child.stdin.take().expect("it is piped");
    // A reader that stops early has what it needs.
    drop(input.write_all(payload));
    drop(input);
    child.wait_with_output().expect("it ends")
}

/// Returns a tool of the neutral protocol; without paths, it may change anything.
pub(super) fn tool(call: &str, paths: &[&str]) -> Value {
    let name = if paths.is_empty() { "shell" } else { "write" };
    json!({ "tool": { "name": name, "id": call, "paths": paths } })
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
