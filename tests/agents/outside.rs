//! An agent that goes on in a directory outside of the repository that it was started in, and still changes files there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{agents::words::piped, support::World};

const SESSION: &str = "5b1f3c9e-7a44-4f0e-9f43-2f8f0c6f1c11";

/// Claude Code, as it reports its events.
struct Claude<'w> {
    world: &'w World,
    /// What its hooks have in their environment.
    project: Option<PathBuf>,
}

impl Claude<'_> {
    fn tell(&self, event: &str, cwd: &Path, more: &Value) {
        let mut payload = json!({ "session_id": SESSION, "cwd": cwd, "hook_event_name": event, "prompt_id": "p-1" });
        for (key, value) in more.as_object().expect("an object") {
            payload[key] = value.clone();
        }
        let mut hook = self.world.hook("claude-code");
        // Claude Code runs hooks where it is.
        hook.current_dir(cwd);
        if let Some(project) = &self.project {
            hook.env("CLAUDE_PROJECT_DIR", project);
        }
        let output = piped(hook, payload.to_string().as_bytes());
        assert!(output.status.success() && output.stderr.is_empty(), "{event}: {output:?}");
    }

    fn edit(&self, cwd: &Path, file: &Path, line: &str) {
        let input = json!({ "tool_name": "Edit", "tool_use_id": line, "tool_input": {
            "file_path": file, "old_string": "", "new_string": line } });
        self.tell("PreToolUse", cwd, &input);
        add(file, line);
        self.tell("PostToolUse", cwd, &input);
    }

    fn bash(&self, cwd: &Path, command: &str, files: &[(&Path, &str)]) {
        let input = json!({ "tool_name": "Bash", "tool_use_id": command, "tool_input": { "command": command } });
        self.tell("PreToolUse", cwd, &input);
        for (file, line) in files {
            if line.is_empty() { fs::remove_file(file).expect("it is there") } else { add(file, line) }
        }
        self.tell("PostToolUse", cwd, &input);
    }
}

fn add(file: &Path, line: &str) {
    let text = fs::read_to_string(file).unwrap_or_default();
    fs::write(file, format!("{text}{line}\n")).expect("writable");
}

/// Makes a second repository beside that of `world`.
fn other(world: &World) -> PathBuf {
    world.sh("git init -q -b main ../other; cd ../other; echo o >o; git add -A; git commit -qm o");
    world.root().join("other").canonicalize().expect("it was made")
}

#[rstest::rstest]
#[case::in_another_repository("../other", true)]
#[case::in_none("/", true)]
#[case::in_none_and_nothing_says_where_it_began("/", false)]
#[case::in_another_one_and_nothing_says_where_it_began("../other", false)]
fn what_it_changes_in_its_repository_is_saved(#[case] cwd: &str, #[case] is_named: bool) {
    let world = World::with_lines();
    world.done(&["enable"]);
    let (repo, other) = (world.repo(), other(&world));
    let away = repo.join(cwd).canonicalize().expect("it is there");
    let claude = Claude { world: &world, project: is_named.then(|| repo.clone()) };
    claude.tell("UserPromptSubmit", &repo, &json!({ "prompt": "work" }));
    claude.edit(&repo, &repo.join("f"), "at home");
    world.write("notes", "of a person, and nowhere else\n");
    claude.edit(&away, &repo.join("g"), "from outside");
    let command = format!("rm {0}/notes; echo x >>{0}/h", repo.display());
    claude.bash(&away, &command, &[(&repo.join("notes"), ""), (&repo.join("h"), "by a command")]);
    claude.tell("Stop", &away, &json!({}));
    let ours = |files: &str| format!("{SESSION} {files}");
    assert_eq!(world.chain(), [ours("f"), ours("g"), "human notes".into(), ours("h notes")]);
    let session = &world.json(&["session", "show", SESSION, "--json"])["session"];
    assert_eq!(session["phase"], "idle");
    world.commit();
    assert_eq!(world.owners(), ["f agent 1", "g agent 1", "h agent 1"]);
    assert!(!other.join(".git/checkpoint").exists(), "nothing is to be kept there");
    world.finish();
}

#[test]
fn both_repositories_have_checkpoints_if_git_checkpoint_is_used_in_both() {
    let world = World::with_lines();
    world.done(&["enable"]);
    let (repo, other) = (world.repo(), other(&world));
    world.sh("cd ../other; git checkpoint enable");
    let claude = Claude { world: &world, project: Some(repo.clone()) };
    claude.tell("UserPromptSubmit", &repo, &json!({ "prompt": "work" }));
    claude.edit(&other, &repo.join("f"), "of its own repository");
    claude.edit(&other, &other.join("o"), "of the other one");
    claude.bash(&other, "make", &[(&repo.join("g"), "of whom?"), (&other.join("o"), "by a command")]);
    claude.tell("Stop", &other, &json!({}));
    assert_eq!(world.chain(), [format!("{SESSION} f"), "unknown g".into()]);
    let there = world.git(&["-C", "../other", "log", "--all", "--format=%(trailers:key=Checkpoint-Session,valueonly)"]);
    assert!(there.matches(SESSION).count() >= 2, "{there}");
    assert_eq!(world.json(&["session", "show", SESSION, "--json"])["session"]["phase"], "idle");
    world.finish();
}

/// An agent without a variable for its project may be seen first in both repositories within one second.
#[test]
fn the_repository_that_saw_the_session_first_stays_its_home() {
    let world = World::with_lines();
    world.done(&["enable"]);
    let (repo, other) = (world.repo(), other(&world));
    world.sh("cd ../other; git checkpoint enable");
    let claude = Claude { world: &world, project: None };
    claude.tell("UserPromptSubmit", &repo, &json!({ "prompt": "work" }));
    claude.edit(&repo, &repo.join("f"), "at home");
    // As if all of it had been within one second.
    let file = |repo: &Path| repo.join(format!(".git/checkpoint/sessions/{SESSION}.toml"));
    let started = |repo: &Path| {
        let text = fs::read_to_string(file(repo)).expect("the session is known");
        text.lines().find(|line| line.starts_with("started =")).expect("it has a time").to_owned()
    };
    claude.bash(&other, "make", &[(&other.join("o"), "by a command")]);
    let text = fs::read_to_string(file(&other)).expect("the session is known there");
    let text = text.replace(&started(&other), &started(&repo));
    let nanos = text.lines().find(|line| line.starts_with("started-nanos =")).expect("it has a time").to_owned();
    fs::write(file(&other), text.replace(&nanos, "started-nanos = 999999999")).expect("writable");
    claude.tell("Stop", &other, &json!({}));
    assert_eq!(world.json(&["session", "show", SESSION, "--json"])["session"]["phase"], "idle");
    world.write("g", "of a person\n");
    world.done(&["save", "-q"]);
    assert_eq!(world.chain(), [format!("{SESSION} f"), "human g".into()]);
    world.finish();
}

/// What the environment names comes from outside.
#[rstest::rstest]
#[case::relative("repo")]
#[case::no_repository("/")]
#[case::not_used("../other")]
#[case::not_there("/no/such/directory")]
#[case::a_control_character("/tmp/\u{1b}[31m")]
fn a_project_that_makes_no_sense_is_ignored(#[case] project: &str) {
    let world = World::with_lines();
    world.done(&["enable"]);
    let (repo, other) = (world.repo(), other(&world));
    let project = if project == "../other" { other.clone() } else { project.into() };
    let claude = Claude { world: &world, project: Some(project) };
    claude.tell("UserPromptSubmit", &repo, &json!({ "prompt": "work" }));
    claude.edit(&repo, &repo.join("f"), "a");
    claude.tell("Stop", &repo, &json!({}));
    assert_eq!(world.chain(), [format!("{SESSION} f")]);
    assert!(!other.join(".git/checkpoint").exists(), "it names a repository in which nothing happens");
    world.finish();
}

/// An agent that was started in no repository changes a file of one that is enabled.
#[test]
fn a_named_file_decides_where_nothing_else_does() {
    let world = World::with_lines();
    world.done(&["enable"]);
    let (repo, other) = (world.repo(), other(&world));
    let claude = Claude { world: &world, project: None };
    claude.tell("UserPromptSubmit", Path::new("/"), &json!({ "prompt": "work" }));
    claude.edit(Path::new("/"), &other.join("o"), "b");
    claude.edit(Path::new("/"), &repo.join("f"), "a");
    claude.tell("Stop", Path::new("/"), &json!({}));
    assert_eq!(world.chain(), [format!("{SESSION} f")]);
    assert_eq!(world.json(&["session", "show", SESSION, "--json"])["session"]["phase"], "idle");
    assert!(!other.join(".git/checkpoint").exists(), "it is not enabled there");
    world.finish();
}
