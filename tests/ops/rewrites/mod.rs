//! What git does to commits, through real git and our hooks: the record of each commit with a session's work is found.

mod amend;
mod copies;
mod forms;
mod hooks;
mod parts;
mod places;
mod rebase;
mod thrown;
mod two_parts;
mod undone;
mod unreported;

use std::{collections::BTreeSet, process::Output};

use git_checkpoint::testing::{
    model::record::{How, Record, RecordId},
    ops::records,
    repo,
};
use gix::ObjectId;

use crate::support::{World, processes::described, sound::promises_something, template::Template};

/// Makes a file of `count` lines that are like no others.
fn lines(what: &str, count: usize) -> String {
    (1..=count).map(|at| format!("{what} has a line with the number {at}\n")).collect()
}

/// A repository with our hooks, and a commit with `f` and `g`.
static BASE: Template = Template::new(|world| {
    world.init();
    world.write("f", lines("base", 9));
    world.write("g", lines("other", 9));
    world.git(&["add", "-A"]);
    // So old that no commit of the tests has the same date.
    let mut first = world.command("git");
    first.env("GIT_AUTHOR_DATE", "@1700000000 +0000").env("GIT_COMMITTER_DATE", "@1700000000 +0000");
    assert!(first.args(["commit", "-qm", "base"]).status().expect("git runs").success());
    world.git(&["checkpoint", "enable"]);
});

impl World {
    /// A repository with our hooks, a commit with `f` and `g`, and a clock that runs.
    fn with_old_commit() -> Self {
        Self::copied(&BASE)
    }

    /// Makes that repository here, where nothing is yet: how a template begins.
    fn commit_old(&self) -> Self {
        BASE.make(self);
        self.clone().with_clock()
    }

    /// A copy of what `template` has made, with a clock that runs.
    fn copied(template: &Template) -> Self {
        template.world().with_clock()
    }

    /// Runs git, which must stop: a conflict, an edit, a refusal.
    fn stops(&self, arguments: &[&str]) {
        let output = self.try_git(arguments);
        assert!(!output.status.success(), "git {arguments:?}: {}", described(&output));
    }

    /// Runs git with a shell command as editor of messages, and one as editor of what a rebase is to do.
    fn git_edited(&self, editor: &str, sequence: &str, arguments: &[&str]) -> Output {
        let mut command = self.command("git");
        command.env("GIT_EDITOR", editor).env("GIT_SEQUENCE_EDITOR", sequence);
        command.args(arguments).output().expect("git runs")
    }

    fn rebase(&self, sequence: &str, arguments: &[&str]) {
        let output = self.git_edited("true", sequence, &[&["rebase", "-q", "-i"], arguments].concat());
        assert!(output.status.success(), "{sequence}: {}", described(&output));
    }

    /// Runs a turn of `session` that writes `content` to `path`.
    fn agent(&self, session: &str, path: &str, content: &str) {
        self.turn(session, || self.write(path, content));
    }

    /// The same by a tool that names the file: git did not write it.
    fn agent_with_tool(&self, session: &str, path: &str, content: &str) {
        let event = |event: &str, rest: &str| {
            let payload = format!(r#"{{"event":"{event}","session":"{session}","agent":"tester"{rest}}}"#);
            self.sh(&format!("printf '%s' '{payload}' | git checkpoint hook --agent generic"));
        };
        let tool = format!(r#","tool":{{"name":"write","id":"1","paths":["{path}"]}}"#);
        event("prompt", r#","prompt":"do it""#);
        event("pre-tool", &tool);
        self.write(path, content);
        event("post-tool", &tool);
        event("stop", "");
    }

    fn turn(&self, session: &str, work: impl FnOnce()) {
        let message = format!("do what {session} does");
        self.done(&["session", "prompt", session, "--agent", "claude-code", "-m", &message]);
        work();
        // It saves what has changed.
        self.done(&["session", "stop", session]);
    }

    /// A turn of `session` that makes the file `path`, and a commit of all.
    fn agent_commit(&self, session: &str, path: &str) -> ObjectId {
        self.agent(session, path, &lines(path, 6));
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", &format!("{session}: {path}")]);
        self.commit_id("HEAD")
    }

    /// A commit of a file that no session knows.
    fn human_commit(&self, path: &str) -> ObjectId {
        self.write(path, lines(path, 4));
        self.git(&["add", "--", path]);
        self.git(&["commit", "-qm", &format!("by hand: {path}"), "--", path]);
        self.commit_id("HEAD")
    }

    fn commit_id(&self, revision: &str) -> ObjectId {
        let hex = self.git(&["rev-parse", "--verify", "-q", revision]);
        ObjectId::from_hex(hex.trim().as_bytes()).expect("git prints an id")
    }

    fn message(&self, revision: &str) -> String {
        self.git(&["log", "-1", "--format=%B", revision])
    }

    /// Returns the ids in the trailers of a commit.
    fn named(&self, revision: &str) -> Vec<String> {
        let all = self.git(&["log", "-1", "--format=%(trailers:key=Checkpoint,valueonly)", revision]);
        all.lines().filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect()
    }

    fn ids(&self, revision: &str) -> Vec<RecordId> {
        self.ids_of(self.commit_id(revision))
    }

    fn ids_of(&self, commit: ObjectId) -> Vec<RecordId> {
        records::of_commit(repo(&self.context()), commit).expect("sound")
    }

    /// Returns the sessions in the records of a commit.
    fn sessions(&self, revision: &str) -> Vec<String> {
        let (context, commit) = (self.context(), self.commit_id(revision));
        let mut sessions = BTreeSet::new();
        for id in records::of_commit(repo(&context), commit).expect("sound") {
            let record = records::find(repo(&context), &id).expect("sound").expect("it is there");
            sessions.extend(record.sessions.into_iter().map(|part| part.id));
        }
        sessions.into_iter().collect()
    }

    /// Returns how a commit is linked to its records.
    fn how(&self, revision: &str) -> Vec<How> {
        let (context, commit) = (self.context(), self.commit_id(revision));
        let ids = records::of_commit(repo(&context), commit).expect("sound");
        let links = ids.into_iter().flat_map(|id| records::links(repo(&context), &id).expect("sound"));
        links.filter(|link| link.commit == commit).map(|link| link.how).collect()
    }

    fn all(&self) -> Vec<RecordId> {
        records::all(repo(&self.context())).expect("sound")
    }

    /// Finds the records of commits that were made behind our back.
    fn relink(&self) {
        self.done(&["doctor", "--relink"]);
    }

    /// Returns the operations of ours that failed.
    fn failures(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.repo().join(".git/checkpoint/events.jsonl")).unwrap_or_default();
        log.lines().filter(|line| line.contains("\"error\"")).map(ToOwned::to_owned).collect()
    }

    /// Checks what holds after everything: no trailer without a record, no record without a commit, each commit of a
    /// branch that has a record is linked to it, nothing is left half done, and the repository is sound.
    fn is_whole(&self) {
        assert_eq!(self.failures(), [""; 0]);
        self.assert_sound("after all");
        let context = self.context();
        let sequence = ["rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD"];
        let is_in_sequence = sequence.iter().any(|name| self.repo().join(".git").join(name).exists());
        // An amend that makes the same commit again leaves one that promises nothing, as people's own commits do.
        let note = std::fs::read_to_string(self.repo().join(".git/checkpoint/commit.toml")).unwrap_or_default();
        assert!(is_in_sequence || !promises_something(&note), "a note is left: {note}");
        let named = "--format=%H %(trailers:key=Checkpoint,valueonly,separator=%x20)";
        for line in self.git(&["log", named, "--branches", "HEAD"]).lines() {
            let (commit, named) = line.split_once(' ').expect("an id, and the trailers");
            let named: Vec<&str> = named.split_whitespace().collect();
            let unique: BTreeSet<&&str> = named.iter().collect();
            assert_eq!(unique.len(), named.len(), "{}", self.message(commit));
            let id = ObjectId::from_hex(commit.as_bytes()).expect("an id");
            let ids = records::of_commit(repo(&context), id).expect("sound");
            let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
            for name in &named {
                assert!(
                    texts.iter().any(|text| text == name),
                    "no record for the trailer of: {}",
                    self.message(commit)
                );
            }
            for record in &ids {
                let links = records::links(repo(&context), record).expect("sound");
                assert!(links.iter().any(|link| link.commit == id), "not linked: {}", self.message(commit));
            }
        }
        let ids = records::all(repo(&context)).expect("sound").into_iter();
        let all: Vec<_> =
            ids.map(|id| records::find(repo(&context), &id).expect("sound").expect("it is there")).collect();
        let change = |record: &Record| {
            record.files.iter().map(|file| (file.path.clone(), file.before, file.after)).collect::<Vec<_>>()
        };
        for record in &all {
            // A person may have made the same change as a session.
            let of_session = |other: &&Record| !other.sessions.is_empty() && change(other) == change(record);
            assert!(all.iter().any(|other| of_session(&other)), "a record without a session: {record:?}");
            let links = records::links(repo(&context), &record.id).expect("sound");
            assert!(!links.is_empty(), "a record of no commit: {}", record.id);
        }
    }
}
