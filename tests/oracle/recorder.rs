//! A repository in which people and agents work; what they run is kept as a shell script.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use super::{
    common::Typed,
    step::{Choice, Who},
};
use crate::support::{World, template::Template};

/// The script up to the first step.
const HEAD: &str = r#"#!/bin/sh
# Needs git and git-checkpoint in PATH.
set -eu
top=$(mktemp -d) && mkdir "$top/home" "$top/repo" && cd "$top/repo"
export HOME="$top/home" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_EDITOR=true TZ=UTC
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.com
hook() { # event, session, more
	printf '{"event":"%s","session":"%s","agent":"tester","cwd":"%s"%s}' "$1" "$2" "$PWD" "$3" |
		git-checkpoint hook --agent generic >/dev/null
}
"#;

/// What each history begins with: what people type between two tools is seen before the second one.
const BEGIN: &str = r#"git init -q -b main .
git checkpoint enable
git config checkpoint.agents.preToolScan 0
base() { # from, to
	for number in $(seq -f %04g "$1" "$2"); do
		echo "personx${number}a personx${number}b personx${number}c"
	done
}
base 1 8 >a
base 9 18 >b
base 19 30 >c
git add -A
git commit -qm base
"#;

/// How many lines there are at the beginning.
const LINES: u32 = 30;

static BEGUN: Template = Template::new(|world| begin(world, BEGIN));

/// The same if git runs no hooks from then on.
static BEGUN_WITHOUT_HOOKS: Template = Template::new(|world| begin(world, &format!("{BEGIN}{NO_HOOKS}")));

const NO_HOOKS: &str = "git config core.hooksPath /dev/null\n";

fn begin(world: &World, script: &str) {
    let output = command(world, &world.repo(), "sh").args(["-ec", script]).output().expect("there is a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

pub(super) struct Recorder {
    pub(super) world: World,
    /// The worktree where the work continues.
    pub(super) place: PathBuf,
    /// The sessions with an open turn.
    open: Vec<String>,
    /// People edit during an agent's turn.
    is_amid: bool,
    /// Two sessions have turns at the same time.
    is_together: bool,
    /// Git runs no hooks.
    pub(super) is_without_hooks: bool,
    script: String,
    /// Who typed the lines that do not name their authors.
    pub(super) typed: Typed,
    lines: u32,
    calls: u32,
    /// What our program said that it must not say.
    pub(super) trouble: Vec<String>,
}

impl Recorder {
    pub(super) fn new(choice: &Choice) -> Self {
        let world = if choice.without_hooks { BEGUN_WITHOUT_HOOKS.world() } else { BEGUN.world() };
        let no_hooks = if choice.without_hooks { NO_HOOKS } else { "" };
        let (place, script) = (world.repo(), format!("{HEAD}{BEGIN}{no_hooks}"));
        Self {
            world,
            place,
            open: Vec::new(),
            is_amid: choice.amid,
            is_together: choice.together,
            is_without_hooks: choice.without_hooks,
            script,
            typed: Typed::default(),
            lines: LINES,
            calls: 0,
            trouble: Vec::new(),
        }
    }

    /// Returns the commands of all steps so far.
    pub(super) fn script(&self) -> &str {
        &self.script
    }

    /// Adds `text` to the script as a comment.
    pub(super) fn note(&mut self, text: &str) {
        self.script.push_str(&format!("# {text}\n"));
    }

    /// Lets `who` do `what`: a tool that names `paths`, or a shell command if there are none.
    pub(super) fn act(&mut self, who: Who, paths: &[&str], is_last: bool, what: impl FnOnce(&mut Self)) {
        let Who::Agent(_) = who else {
            if !self.is_amid {
                self.stop_all();
            }
            what(self);
            return self.show();
        };
        let session = self.session(who);
        if !self.open.contains(&session) {
            if !self.is_together {
                self.stop_all();
            }
            self.event("prompt", &session, &json!({ "prompt": "a wish" }));
            self.open.push(session.clone());
        }
        self.calls += 1;
        let name = if paths.is_empty() { "shell" } else { "write" };
        let tool = json!({ "tool": { "name": name, "id": self.calls.to_string(), "paths": paths } });
        self.event("pre-tool", &session, &tool);
        what(self);
        self.event("post-tool", &session, &tool);
        if is_last {
            self.open.retain(|it| *it != session);
            self.event("stop", &session, &json!({}));
        }
    }

    /// Lets a session with an open turn run a command that changes nothing: the changes that it finds came before. Lines that
    /// people type between the last command of a turn and its end look like those of a process that the command left running.
    fn show(&mut self) {
        if let Some(session) = self.open.first().cloned() {
            self.calls += 1;
            let tool = json!({ "tool": { "name": "shell", "id": self.calls.to_string(), "paths": [] } });
            self.event("pre-tool", &session, &tool);
            self.event("post-tool", &session, &tool);
        }
    }

    /// Ends all turns.
    pub(super) fn stop_all(&mut self) {
        for session in std::mem::take(&mut self.open) {
            self.event("stop", &session, &json!({}));
        }
    }

    /// Goes to the worktree at `place`.
    pub(super) fn go_to(&mut self, place: PathBuf) {
        self.stop_all();
        self.script.push_str(&format!("cd \"$top/{}\"\n", place.file_name().unwrap_or_default().display()));
        self.place = place;
    }

    /// Returns the name of the session of `who` in this worktree.
    fn session(&self, who: Who) -> String {
        let suffix = if self.place == self.world.repo() { "" } else { "side" };
        format!("{}{suffix}", who.name())
    }

    /// Returns a new line, which names its author.
    pub(super) fn line(&mut self, who: Who) -> String {
        self.lines += 1;
        let (name, number) = (if who == Who::Person { who.name() } else { self.session(who) }, self.lines);
        ["a", "b", "c"].map(|letter| format!("{name}x{number:04}{letter}")).join(" ") + "\n"
    }

    /// Returns the line `text`, which `who` types in the file at `path` and others may type, too.
    pub(super) fn common_line(&mut self, who: Who, path: &str, text: &str) -> String {
        let author = if who == Who::Person { who.name() } else { self.session(who) };
        let branch = self.branch();
        self.typed.add(branch, path, text, author);
        format!("{text}\n")
    }

    /// Returns the names of the files here, sorted.
    pub(super) fn files(&self) -> Vec<String> {
        let names = fs::read_dir(&self.place).expect("it is there").flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut files: Vec<String> = names.filter(|name| name != ".git").collect();
        files.sort();
        files
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.place.join(path)).unwrap_or_default()
    }

    pub(super) fn write(&mut self, path: &str, content: &str) {
        self.script.push_str(&format!("cat >{path} <<'.'\n{content}.\n"));
        fs::write(self.place.join(path), content).expect("files can be written");
    }

    pub(super) fn remove(&mut self, path: &str) {
        self.script.push_str(&format!("rm {path}\n"));
        fs::remove_file(self.place.join(path)).expect("it is there");
    }

    pub(super) fn mv(&mut self, from: &str, to: &str) {
        self.script.push_str(&format!("mv {from} {to}\n"));
        fs::rename(self.place.join(from), self.place.join(to)).expect("it is there");
    }

    /// Runs git, and returns true if it went well.
    pub(super) fn git(&mut self, arguments: &[&str]) -> bool {
        self.git_with(arguments, &[], "")
    }

    /// The same with variables and standard input.
    pub(super) fn git_with(&mut self, arguments: &[&str], variables: &[(&str, &str)], input: &str) -> bool {
        let mut command = self.command("git");
        command.args(arguments).envs(variables.iter().copied());
        let output = fed(command, input.as_bytes());
        let variables: String = variables.iter().map(|(key, value)| format!("{key}={} ", quoted(value))).collect();
        let here = if input.is_empty() { String::new() } else { format!(" <<'.'\n{input}.") };
        let or = if output.status.success() { "" } else { " || :" };
        self.script.push_str(&format!("{variables}git {}{or}{here}\n", words(arguments)));
        let said = String::from_utf8_lossy(&output.stderr);
        let ours = said.lines().filter(|line| line.contains("checkpoint") && line.contains("rror"));
        self.trouble.extend(ours.map(|line| format!("git {arguments:?}: {line}")));
        output.status.success()
    }

    /// Runs our program, and returns true if it went well.
    pub(super) fn checkpoint(&mut self, arguments: &[&str]) -> bool {
        let mut all = vec!["checkpoint"];
        all.extend(arguments);
        self.git(&all)
    }

    /// Returns what git prints; this is no part of the history.
    pub(super) fn ask(&self, arguments: &[&str]) -> Option<String> {
        answer(self.command("git").args(arguments))
    }

    /// Returns what our program prints; this is no part of the history.
    pub(super) fn ask_checkpoint(&self, arguments: &[&str]) -> Option<String> {
        answer(self.command("git-checkpoint").args(arguments))
    }

    /// Returns true if the git directory of this worktree has `name`.
    pub(super) fn has_in_git_dir(&self, name: &str) -> bool {
        let dot_git = self.place.join(".git");
        let git_dir = match fs::read_to_string(&dot_git) {
            Ok(text) => PathBuf::from(text.trim().trim_start_matches("gitdir: ")),
            Err(_) => dot_git,
        };
        git_dir.join(name).exists()
    }

    fn event(&mut self, event: &str, session: &str, more: &Value) {
        let fields = more.as_object().expect("an object");
        let text: String = fields.iter().map(|(key, value)| format!(",\"{key}\":{value}")).collect();
        self.script.push_str(&format!("hook {event} {session} {}\n", quoted(&text)));
        let mut payload =
            json!({ "event": event, "session": session, "agent": "tester", "cwd": self.place.display().to_string() });
        for (key, value) in fields {
            payload[key] = value.clone();
        }
        let mut command = self.command("git-checkpoint");
        command.args(["hook", "--agent", "generic"]);
        let output = fed(command, payload.to_string().as_bytes());
        if !output.status.success() || !output.stderr.is_empty() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            self.trouble.push(format!("{event} {session}: {} {said}", output.status));
        }
    }

    fn command(&self, program: &str) -> Command {
        command(&self.world, &self.place, program)
    }
}

fn command(world: &World, place: &Path, program: &str) -> Command {
    let given = std::env::var_os("GIT_CHECKPOINT").map(PathBuf::from);
    let program = match &given {
        Some(path) if program == "git-checkpoint" => path.clone(),
        _ if program == "git-checkpoint" => PathBuf::from(crate::support::program()),
        _ => PathBuf::from(program),
    };
    let mut command = world.command(&program.to_string_lossy());
    if let Some(folder) = given.as_deref().and_then(Path::parent) {
        let others = std::env::var_os("PATH").unwrap_or_default();
        let folders = [folder.to_owned()].into_iter().chain(std::env::split_paths(&others));
        command.env("PATH", std::env::join_paths(folders).expect("PATH can be joined"));
    }
    // Hooks of agents have no other clock than the machine's: all else has it, too.
    command.env_remove("GIT_AUTHOR_DATE").env_remove("GIT_COMMITTER_DATE").env("GIT_EDITOR", "true");
    command.current_dir(place);
    command
}

/// Returns what `command` prints, if it succeeds.
fn answer(command: &mut Command) -> Option<String> {
    let output = command.output().expect("it runs");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `command` with `input`, and returns what it printed.
fn fed(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("it is piped");
    // A reader that stops early has what it needs.
    drop(std::io::Write::write_all(&mut stdin, input));
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn words(arguments: &[&str]) -> String {
    arguments.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./~^=:@{}".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
