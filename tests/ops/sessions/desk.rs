//! A repository with git's hooks enabled, where agents and people work through the programs alone.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    io::Write as _,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use git_checkpoint::{
    Context,
    testing::{
        model::record::{Record, RecordId},
        ops::{records, status},
        repo,
    },
};
use gix::ObjectId;
use serde_json::Value;

use crate::support::{
    START, World,
    processes::described,
    program,
    stage::{Disk, disk},
    template::Template,
};

/// A world in which hooks are enabled.
pub(super) struct Desk {
    pub(super) world: World,
    /// The worktree that is worked in, relative to the world.
    place: RefCell<String>,
    /// How many programs have been run: each in a minute of its own.
    minutes: Cell<i64>,
}

impl Desk {
    /// A repository with one commit: `f` of twenty lines, `g` and `h`.
    pub(super) fn new() -> Self {
        Self::on(&World::with_lines())
    }

    /// Makes that repository in `world`, which is new: how a template begins.
    pub(super) fn begin(world: &World) -> Self {
        world.commit_lines();
        Self::on(world)
    }

    /// A copy of what `template` has made.
    pub(super) fn after(template: &Template) -> Self {
        let desk = Self::on(&template.world());
        // Later than all that was done there.
        desk.minutes.set(1000);
        desk
    }

    /// Works on in `world`, which another template has made.
    pub(super) fn later_on(world: &World) -> Self {
        let desk = Self::on(world);
        desk.minutes.set(500);
        desk
    }

    /// A repository without a commit.
    pub(super) fn unborn() -> Self {
        Self::on(&World::unborn_with_hooks())
    }

    pub(super) fn on(world: &World) -> Self {
        Self { world: world.clone(), place: RefCell::new("repo".into()), minutes: Cell::new(0) }
    }

    /// Works on in the worktree `place`.
    pub(super) fn go(&self, place: &str) {
        place.clone_into(&mut self.place.borrow_mut());
    }

    /// Returns the path of the worktree that is worked in.
    pub(super) fn folder(&self) -> PathBuf {
        self.world.root().join(&*self.place.borrow())
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        self.minutes.set(self.minutes.get() + 1);
        let date = format!("@{} +0000", START + 60 * self.minutes.get());
        let mut command = self.world.command(program);
        if !self.world.has_clock() {
            command.env("GIT_AUTHOR_DATE", date);
        }
        command.args(arguments).current_dir(self.folder());
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Output {
        self.command(program, arguments).output().expect("it runs")
    }

    /// Hands the event `payload` of an agent to our program, which must succeed.
    pub(super) fn hear(&self, payload: &str) {
        let mut command = self.command(program(), &["hook", "--agent", "claude-code"]);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("it starts");
        // It may end without reading it.
        drop(child.stdin.take().expect("piped").write_all(payload.as_bytes()));
        let output = child.wait_with_output().expect("it runs");
        assert!(output.status.success(), "{payload}: {}", described(&output));
    }

    /// Runs git, which must succeed.
    pub(super) fn git(&self, arguments: &[&str]) -> String {
        let output = self.run("git", arguments);
        assert!(output.status.success(), "git {arguments:?}: {}", described(&output));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Runs git, which may fail.
    pub(super) fn try_git(&self, arguments: &[&str]) -> Output {
        self.run("git", arguments)
    }

    /// Runs a shell script with what is worked on as its directory.
    pub(super) fn sh(&self, script: &str) {
        let output = self.run("sh", &["-ec", script]);
        assert!(output.status.success(), "{script}: {}", described(&output));
    }

    /// Runs the built program; nothing of others may move, whatever comes of it.
    pub(super) fn ours(&self, arguments: &[&str]) -> Output {
        let before = (self.world.facts(), self.files(arguments));
        let output = self.run(program(), arguments);
        assert_eq!((self.world.facts(), self.files(arguments)), before, "{arguments:?}");
        output
    }

    /// The same, which must succeed; returns the JSON it prints.
    pub(super) fn json(&self, arguments: &[&str]) -> Value {
        let (words, names) = arguments.split_at(arguments.iter().position(|it| *it == "--").unwrap_or(arguments.len()));
        let output = self.ours(&[words, &["--json"], names].concat());
        assert!(output.status.success(), "{arguments:?}: {}", described(&output));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {}", described(&output)))
    }

    /// Returns what a command must leave unchanged: all files, byte for byte; or, for a command that writes files, the output of
    /// git status.
    fn files(&self, arguments: &[&str]) -> Result<Disk, String> {
        // The index of another worktree is not among the facts.
        let is_here = *self.place.borrow() == "repo";
        if is_here && !["restore", "reset", "undo"].contains(&arguments[0]) {
            Ok(disk(&self.world.repo()))
        } else {
            Err(self.git(&["--no-optional-locks", "status", "--porcelain"]))
        }
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.folder().join(path);
        std::fs::create_dir_all(path.parent().expect("it is in the world")).expect("directories can be made");
        std::fs::write(path, content).expect("files can be written");
    }

    pub(super) fn read(&self, path: &str) -> String {
        let path = self.folder().join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(super) fn remove(&self, path: &str) {
        std::fs::remove_file(self.folder().join(path)).expect("it is there");
    }

    /// Sends a prompt to `session`, and returns why the shadow is continued or set aside.
    pub(super) fn prompt(&self, session: &str) -> String {
        let prompted = self.prompted(session);
        prompted["reason"].as_str().expect("a word").to_owned()
    }

    pub(super) fn prompted(&self, session: &str) -> Value {
        let message = format!("a wish for {session}");
        self.json(&["session", "prompt", session, "--message", &message, "--agent", "tester"])
    }

    /// Writes files and takes a checkpoint as `session`.
    pub(super) fn work(&self, session: &str, files: &[(&str, &str)]) -> Value {
        for (path, content) in files {
            self.write(path, content);
        }
        self.json(&["save", "--session", session])
    }

    pub(super) fn stop(&self, session: &str) -> Value {
        self.json(&["session", "stop", session])
    }

    /// A whole turn; returns why the shadow was continued or set aside.
    pub(super) fn turn(&self, session: &str, files: &[(&str, &str)]) -> String {
        let reason = self.prompt(session);
        for (path, content) in files {
            self.write(path, content);
        }
        // It saves what has changed.
        self.stop(session);
        reason
    }

    /// A whole turn of a session whose tool names the file that it writes: git did not write it.
    pub(super) fn turn_with_tool(&self, session: &str, path: &str, content: &str) {
        self.turn_with_calls(session, &[(path, &|| self.write(path, content))]);
    }

    /// A whole turn of a session with tool calls that each name a file, and what they do.
    pub(super) fn turn_with_calls(&self, session: &str, calls: &[(&str, &dyn Fn())]) {
        let tell = |event: &str, rest: &str| {
            let place = self.folder();
            let payload = format!(
                r#"{{"session_id":"{session}","cwd":"{}","hook_event_name":"{event}"{rest}}}"#,
                place.display()
            );
            self.hear(&payload);
        };
        tell("UserPromptSubmit", r#","prompt":"do it""#);
        for (number, (path, act)) in calls.iter().enumerate() {
            let tool = format!(
                r#","tool_name":"Write","tool_input":{{"file_path":"{path}"}},"tool_response":{{}},"tool_use_id":"t{number}""#
            );
            tell("PreToolUse", &tool);
            act();
            tell("PostToolUse", &tool);
        }
        tell("Stop", "");
    }

    /// A whole turn that only answers questions.
    pub(super) fn question(&self, session: &str) -> String {
        let reason = self.prompt(session);
        let stopped = self.stop(session);
        assert!(stopped["checkpoint"].is_null(), "{stopped}");
        reason
    }

    /// Commits everything.
    pub(super) fn commit_all(&self) {
        self.git(&["add", "-A"]);
        self.commit();
    }

    /// Commits what is staged.
    pub(super) fn commit(&self) {
        self.git(&["commit", "-qm", "a commit"]);
    }

    pub(super) fn context(&self) -> Context {
        Context::open(&self.folder()).expect("a repository")
    }

    /// Returns the trailers of `commit`.
    pub(super) fn trailers(&self, commit: &str) -> Vec<String> {
        let text = self.git(&["log", "-1", "--format=%(trailers:key=Checkpoint,valueonly)", commit]);
        text.lines().filter(|line| !line.is_empty()).map(Into::into).collect()
    }

    /// Returns the records of `commit`; each of its trailers must be one of them, and each must be of a commit.
    pub(super) fn records(&self, commit: &str) -> Vec<Record> {
        let id = ObjectId::from_hex(self.git(&["rev-parse", commit]).as_bytes()).expect("an id");
        let context = self.context();
        let ids = records::of_commit(repo(&context), id).expect("sound");
        for trailer in self.trailers(commit) {
            let trailer = RecordId::parse(&trailer).expect("a record's id");
            assert!(ids.contains(&trailer), "{trailer} has no record");
        }
        ids.iter().map(|id| records::find(repo(&context), id).expect("sound").expect("it is there")).collect()
    }

    /// Returns, by path, the sessions with a part in what the record of `commit` says was committed; nothing if there
    /// is no record. There must not be several.
    pub(super) fn recorded(&self, commit: &str) -> Vec<(String, String)> {
        let records = self.records(commit);
        assert!(records.len() < 2, "{records:?}");
        let Some(record) = records.first() else { return Vec::new() };
        let changed = self.git(&["diff-tree", "-r", "--root", "--no-commit-id", "-M", "--name-only", commit]);
        let files: Vec<String> = record.files.iter().map(|file| file.path.to_string()).collect();
        assert_eq!(files, changed.lines().collect::<Vec<_>>(), "a record has the files of its commit only");
        let part = |at: &usize| record.sessions[*at].id.clone();
        let named = |sessions: &[usize]| sessions.iter().map(part).collect::<Vec<_>>().join("+");
        record.files.iter().map(|file| (file.path.to_string(), named(&file.sessions))).collect()
    }

    /// Returns the refs below `refs/checkpoints/<kind>`.
    pub(super) fn refs(&self, kind: &str) -> Vec<String> {
        let text = self.git(&["for-each-ref", "--format=%(refname)", &format!("refs/checkpoints/{kind}/")]);
        text.lines().map(Into::into).collect()
    }

    /// Returns the ref of the live shadow here, if there is one.
    pub(super) fn shadow(&self) -> Option<String> {
        status::status(&self.context()).expect("a status").shadow.map(|shadow| shadow.r#ref)
    }

    /// Returns what `path` is in the latest checkpoint.
    pub(super) fn saved(&self, path: &str) -> Option<String> {
        let output = self.try_git(&["show", &format!("{}:{path}", self.shadow()?)]);
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Returns who took the checkpoints of the live shadow, oldest first: a session, or `human`; a star for one that
    /// carries work on.
    pub(super) fn chain(&self) -> Vec<String> {
        let Some(shadow) = self.shadow() else { return Vec::new() };
        let base = self.git(&["rev-parse", "-q", "--verify", "HEAD"]);
        let range = format!("{base}..{shadow}");
        let format = "--format=%(trailers:key=Checkpoint-Contributor,valueonly,separator=)/\
            %(trailers:key=Checkpoint-Session,valueonly,separator=)/%(trailers:key=Checkpoint-Carried,valueonly,separator=)";
        let text = self.git(&["log", "--first-parent", "--reverse", format, &range]);
        let name = |line: &str| {
            let parts: Vec<&str> = line.split('/').collect();
            let who = if parts[1].is_empty() { parts[0] } else { parts[1] };
            format!("{who}{}", if parts[2].is_empty() { "" } else { "*" })
        };
        text.lines().map(name).collect()
    }

    /// Checks that all is sound, in the end.
    pub(super) fn finish(&self) {
        self.world.assert_sound("in the end");
        let left: Vec<_> = self.world.leftovers().into_iter().filter(|path| !path.ends_with("hooks.lock")).collect();
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(status::status(&self.context()).expect("a status").last_error, None);
    }

    /// Returns what is known of the sessions, by id.
    pub(super) fn sessions(&self) -> BTreeMap<String, Value> {
        let output = self.ours(&["session", "list", "--all", "--json"]);
        let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let sessions = listed["sessions"].as_array().expect("a list").clone();
        sessions.into_iter().map(|it| (it["id"].as_str().expect("an id").to_owned(), it)).collect()
    }
}

/// Returns numbered lines.
pub(super) fn numbered(lines: std::ops::RangeInclusive<u32>) -> String {
    lines.map(|line| format!("line {line}\n")).collect()
}

/// Returns lines of `who`, by the numbers that they name.
pub(super) fn words(who: &str, lines: std::ops::RangeInclusive<u32>) -> String {
    lines.map(|line| format!("{who} has written these words of the number {line}\n")).collect()
}

/// Returns twenty numbered lines, some of which are other ones.
pub(super) fn changed(lines: &[(u32, &str)]) -> String {
    let other = |line: u32| {
        let found = lines.iter().find(|(number, _)| *number == line);
        found.map(|(number, text)| format!("the {number}th line is of {text}"))
    };
    (1..=20).map(|line| other(line).unwrap_or_else(|| format!("line {line}")) + "\n").collect()
}

/// Returns pairs as [`Desk::recorded`] does.
pub(super) fn parts(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(path, sessions)| ((*path).to_owned(), (*sessions).to_owned())).collect()
}
